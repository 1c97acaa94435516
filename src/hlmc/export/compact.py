"""Kernels of the engine that were unrolled for large processors, in fewer instructions: with the same results."""

from __future__ import annotations

import numpy as np

from hlmc.engine import ftrl, weights
from hlmc.engine.ftrl import LEAST, loss_of, settled_sums
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel
from hlmc.engine.records import Level
from hlmc.engine.structures.contest import contest_rate
from hlmc.engine.weights import _positive
from hlmc.routines.contest import CONTEST, epoch_scale
from hlmc.routines.tsallis import TSALLIS

Array = np.ndarray

SINGLE = ftrl.SINGLE  # what LEAST is in single precision


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
def compact_ftrl_draw(
    row: Array, at: int, n: int, scale: float, x: float, squares: float, u: float
) -> tuple[int, float]:
    """A slot, and its probability; ``squares`` is S_2 at x. Rounding can draw the last slot, however small that is.

    Slot 0 is a block of its own, and then there are blocks of four: the sums of the engine's own kernel.
    """
    u *= squares
    slot = 0
    block = 1
    total = 0.0
    p = 0.0
    for k in range(n):
        slot = k
        if k == block:
            u -= total
            total = 0.0
            block += 4
        root = scale / (loss_of(row, at, k) - x)
        p = root * root
        total += p
        if u < total:
            break
    return slot, max(p * (1.0 / squares), LEAST)


@kernel
def settle_and_draw(row: Array, at: int, n: int, scale: float, x: float, u: float) -> tuple[int, float]:
    """A slot, and its probability, from the normaliser that is kept: what both levels of a champion do."""
    sums = settled_sums(row, at, n, scale, x)
    return compact_ftrl_draw(row, at, n, scale, sums.x, sums.squares, u)


@kernel
def compact_tsallis_select(level: Level, x: float, eta: float, tau: int, u: float) -> tuple[int, float]:
    """The draw of Tsallis-INF (:func:`hlmc.routines.ftrl.ftrl_select`)."""
    return settle_and_draw(level.row, level.at, level.n, 2.0 / eta, x, u)


@kernel
def compact_contest_select(level: Level, x: float, baseline: float, tau: int, u: float) -> tuple[int, float]:
    """The draw of a champion's epoch."""
    return settle_and_draw(level.row, level.at, level.n, epoch_scale(level.program, level.record, tau), x, u)


@kernel
def compact_contest_rate(program: Array, level: int, tau: int) -> float:
    """The learning rate of the contest from its scale: 4 / sqrt(y) = 2 / (sqrt(y) / 2), exactly."""
    return 2.0 / epoch_scale(program, level, tau)


COMPACT: dict[Kernel, Kernel] = {
    weights._scan_draw: compact_draw,
    ftrl.ftrl_draw: compact_ftrl_draw,
    contest_rate: compact_contest_rate,
    TSALLIS.select: compact_tsallis_select,
    CONTEST.select: compact_contest_select,
}
"""What stands for what in exported C."""
