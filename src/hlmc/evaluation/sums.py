"""Sums in two words: the total and its rounding error (Knuth's two-sum, Dekker's product)."""

from __future__ import annotations

from hlmc.engine.kernel import kernel

_SPLIT = 134217729.0  # 2^27 + 1 cuts a float into two halves whose products are exact


@kernel
def added(total: float, error: float, x: float) -> tuple[float, float]:
    """total + x, and its rounding error."""
    after = total + x
    part = after - total
    return after, error + ((total - (after - part)) + (x - part))


@kernel
def added_product(total: float, error: float, x: float, n: float) -> tuple[float, float]:
    """total + x n, and its rounding error."""
    product = x * n
    x_high = _SPLIT * x - (_SPLIT * x - x)
    n_high = _SPLIT * n - (_SPLIT * n - n)
    x_low = x - x_high
    n_low = n - n_high
    lost = ((x_high * n_high - product) + x_high * n_low + x_low * n_high) + x_low * n_low
    return added(total, error + lost, product)
