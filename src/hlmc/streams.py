"""Named random streams: who draws what depends on names, never on order.

A stream's key is a hash of the seed and the stream's number; the seed of a policy within an experiment is a hash of the
experiment's seed and the policy's name. Adding a policy or a run to an experiment leaves all other numbers as they are.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np

from hlmc import checks
from hlmc.checks import whole

SCHEME = "hlmc-streams-1"
"""Changes when the same seeds begin to give other numbers."""


def derive_seed(seed: int, *names: Any) -> int:
    """A 64-bit seed derived from a master seed and ``names``.

    >>> derive_seed(0, "HLMC") == derive_seed(0, "HLMC") != derive_seed(0, "EXP3")
    True
    """
    text = "\0".join([SCHEME, str(checks.seed(seed)), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def given_seed(seed: int | None) -> int:
    """A seed as it is, or 64 bits of the system's entropy for None.

    >>> given_seed(7), given_seed(None) != given_seed(None)
    (7, True)
    """
    return int.from_bytes(os.urandom(8), "little") if seed is None else checks.seed(seed)


def keys(seed: int, first: int, count: int, step: int = 1) -> np.ndarray:
    """The keys of the streams first, first + step, ... of a seed, so many of them, as uint64.

    >>> bool(keys(0, 0, 3)[1] == keys(0, 1, 1)[0])
    True
    """
    base = np.uint64(derive_seed(seed))
    streams = np.arange(whole("stream", first, 0), first + count * step, step, dtype=np.uint64)
    with np.errstate(over="ignore"):
        return _mixed(base + (streams + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def _mixed(x: np.ndarray) -> np.ndarray:
    from hlmc.engine.stream import mix

    return mix(x)  # type: ignore[arg-type, return-value]
