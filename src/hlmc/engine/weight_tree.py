"""n positive weights in n - 1 words, as a tree: draw in proportion to them, multiply one, at any range.

Word ``b`` belongs to the boundary between slots b and b+1 and holds the logarithm of the mean weight on its left over
the mean weight on its right, within the node that the boundary splits: a range of m slots is split after its largest
power of two below m. n slots have n - 1 boundaries, equal weights are all zeros, nothing overflows, nothing cancels,
and a draw or a change of one weight costs log2(n) exponentials.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.arithmetic import exponential, exponential_less_one, logarithm, logarithm_one_plus
from hlmc.engine.kernel import kernel

Array = np.ndarray


@kernel
def _height(n: int) -> int:
    """The least h with 2^h >= n."""
    h = 0
    while (1 << h) < n:
        h += 1
    return h


@kernel
def _odds(row: Array, at: int, n: int, middle: int, half: int) -> float:
    """The logarithm of the weight left of a boundary over the weight right of it, within its node."""
    right = min(half, n - middle)
    odds: float = row[at + middle - 1]
    return odds if right == half else odds + logarithm(float(half) / float(right))


@kernel
def tree_draw(row: Array, at: int, n: int, u: float) -> int:
    """Walk down from the root: left with the share of the left part, else right."""
    low = 0
    half = (1 << _height(n)) >> 1
    while half > 0:
        middle = low + half
        if middle < n:
            share = share_at_odds(_odds(row, at, n, middle, half))
            # Rounding can carry u to 1; what has the whole weight is then drawn all the same.
            if u < share or share == 1.0:
                u /= share
            else:
                u = (u - share) / (1.0 - share)
                low = middle
        half >>= 1
    return low


@kernel
def tree_share(row: Array, at: int, n: int, slot: int) -> float:
    """The product of the shares on the way from the root to the slot."""
    product = 1.0
    half = (1 << _height(n)) >> 1
    while half > 0:
        middle = (slot // (2 * half)) * (2 * half) + half
        if middle < n:
            odds = _odds(row, at, n, middle, half)
            product *= share_at_odds(odds if slot < middle else -odds)
        half >>= 1
    return product


@kernel
def tree_log_share(row: Array, at: int, n: int, slot: int) -> float:
    """The logarithm of a slot's share, however small."""
    log = 0.0
    half = (1 << _height(n)) >> 1
    while half > 0:
        middle = (slot // (2 * half)) * (2 * half) + half
        if middle < n:
            odds = _odds(row, at, n, middle, half)
            if slot >= middle:
                odds = -odds
            log -= softplus(-odds)
        half >>= 1
    return log


@kernel
def tree_multiply(row: Array, at: int, n: int, slot: int, x: float) -> None:
    """Walk up from the slot: its side of each boundary has grown by a factor of exp(x), the whole node by less."""
    half = 1
    while half < n and x != 0.0:
        middle = (slot // (2 * half)) * (2 * half) + half
        if middle < n:
            odds = _odds(row, at, n, middle, half)
            if slot < middle:
                row[at + middle - 1] += x
            else:
                row[at + middle - 1] -= x
                odds = -odds
            x = _grown(odds, x)
        half *= 2


@kernel
def share_at_odds(odds: float) -> float:
    """The share of a part that outweighs the rest by exp(odds)."""
    e = exponential(-abs(odds))
    return (1.0 if odds >= 0.0 else e) / (1.0 + e)


@kernel
def softplus(x: float) -> float:
    """log(1 + exp(x))."""
    return max(x, 0.0) + logarithm_one_plus(exponential(-abs(x)))


@kernel
def _grown(odds: float, x: float) -> float:
    """log of a node's growth when the part of it that outweighs the rest by exp(odds) has grown by exp(x)."""
    if abs(x) <= 1.0:
        return logarithm_one_plus(share_at_odds(odds) * exponential_less_one(x))
    return softplus(odds + x) - softplus(odds)
