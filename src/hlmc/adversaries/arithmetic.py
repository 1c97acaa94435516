"""Exact integer arithmetic without division, which would be slow in every step."""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel

_WORD = 2**64
_WORD_BITS = np.uint64(64)
_SIX_BITS = np.uint64(63)


@kernel
def quotient(x: int, by: int, inverse: float) -> int:
    """floor(x / by) for 0 <= x <= 2^53, where ``inverse`` is 1 / by, rounded.

    The product is off by less than one: quotients by 1 and 2 are exact, and others are below 2^52. Comparing with
    x corrects it.
    """
    q = int(x * inverse)
    if q * by > x:
        return q - 1
    if x - q * by >= by:
        return q + 1
    return q


def divisor(n: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The arguments of :func:`divides`: inverse of the odd part, number of factors 2, largest quotient."""
    twos = (n & -n).bit_length() - 1
    return np.uint64(pow(n >> twos, -1, _WORD)), np.uint64(twos), np.uint64((_WORD - 1) // n)


@kernel
def divides(x: np.uint64, inverse: np.uint64, twos: np.uint64, most: np.uint64) -> bool:
    """Whether the divisor divides x.

    Multiplying by the inverse of the odd part modulo 2^64, and rotating by the number of factors 2, permutes the
    64-bit words. It maps the multiples of the divisor, and nothing else, to their quotients (Granlund and
    Montgomery, "Division by invariant integers using multiplication", 1994).

    >>> import numpy as np
    >>> with np.errstate(over="ignore"):
    ...     [x for x in range(50) if divides(np.uint64(x), *divisor(12))]
    [0, 12, 24, 36, 48]
    """
    product = x * inverse
    return bool(((product >> twos) | (product << ((_WORD_BITS - twos) & _SIX_BITS))) <= most)
