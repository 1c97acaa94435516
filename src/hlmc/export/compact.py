"""Kernels of the engine that were unrolled for large processors, in fewer instructions: with the same results."""

from __future__ import annotations

import numpy as np

from hlmc.engine import ftrl, weights
from hlmc.engine.ftrl import LEAST, PAD, distance_of, padded_loss
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel
from hlmc.engine.weights import _positive

Array = np.ndarray

SINGLE = ftrl.SINGLE  # what LEAST and PAD are in single precision


@kernel
def compact_draw(row: Array, at: int, n: int, x: float) -> int:
    """The slot at which the partial sums of the weights pass x.

    Weights are added up in blocks of eight, and within a block in pairs: the sums of the engine's own kernel.
    """
    j = 0
    slot = -1
    while slot < 0 and j + 8 <= n:
        block = 0.0
        passed = 0
        for k in range(at + j, at + j + 8, 2):
            first = _positive(row[k])
            passed += x >= block + first
            block += first + _positive(row[k + 1])
            passed += x >= block
        if x < block:
            slot = j + passed
        else:
            x -= block
            j += 8
    if slot < 0:
        slot = j
        partial = 0.0
        for k in range(at + j, at + n):
            partial += _positive(row[k])
            slot += x >= partial
    # Rounding can carry x past the last weight that counts.
    slot = min(slot, n - 1)
    while slot > 0 and row[at + slot] <= 0.0:
        slot -= 1
    return slot


@kernel
def lane_sums(
    row: Array, at: int, n: int, lane: int, x: float, scale: float, far: float, behind: float
) -> tuple[float, float, float, float]:
    """What one of the four lanes of :func:`hlmc.engine.ftrl.power_sums` adds up."""
    squares = 0.0
    cubes = 0.0
    fourths = 0.0
    least = PAD
    fours = (n - 1) // 4
    slot = 0 if lane == 0 else 4 * fours + lane
    for four in range(fours + 1):
        distance = distance_of(row, at, n, slot, x, far, behind)
        least = min(distance, least)
        root = scale / distance
        p = root * root
        squares += p
        cubes += p * root
        fourths += p * p
        slot = 4 * four + 1 + lane
    return squares, cubes, fourths, least


@kernel
def compact_sums(
    row: Array, at: int, n: int, x: float, scale: float, far: float, behind: float
) -> tuple[float, float, float, float]:
    """S_2, S_3 and S_4, and the least distance from x to a loss. Distances above far count as less by behind.

    One lane after the other, each in the order of the engine's own kernel: the same last digits.
    """
    a = 0.0
    b = 0.0
    c = 0.0
    least = PAD
    for lane in range(2):
        a0, b0, c0, near = lane_sums(row, at, n, lane, x, scale, far, behind)
        a2, b2, c2, nearer = lane_sums(row, at, n, lane + 2, x, scale, far, behind)
        a += a0 + a2
        b += b0 + b2
        c += c0 + c2
        least = min(least, min(near, nearer))
    return a, b, c, least


@kernel
def compact_ftrl_draw(row: Array, at: int, n: int, scale: float, x: float, u: float) -> tuple[int, float]:
    """A slot, and its probability. Rounding can draw the last slot, however small its probability is."""
    root = scale / -x
    p = root * root
    if u < p:
        return 0, max(p, LEAST)
    u -= p
    slot = 1
    drawn = -1
    while drawn < 0:
        total = 0.0
        passed = 0
        for k in range(slot, slot + 4):
            root = scale / (padded_loss(row, at, n, k) - x)
            total += root * root
            passed += u >= total
        if passed == 4 and slot + 4 < n:
            u -= total
            slot += 4
        else:
            drawn = min(slot + passed, n - 1)
    root = scale / (row[at + drawn - 1] - x)
    return drawn, max(root * root, LEAST)


COMPACT: dict[Kernel, Kernel] = {
    weights._scan_draw: compact_draw,
    ftrl.power_sums: compact_sums,
    ftrl.ftrl_draw: compact_ftrl_draw,
}
"""What stands for what in exported C."""
