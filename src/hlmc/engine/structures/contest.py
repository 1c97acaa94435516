"""The contest of a champion with the arms of a group: its learning rate, its prior, and how losses are stored."""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.ftrl import ftrl_leader, loss_of, probability_of, settled_sums
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS, SCALARS

Array = np.ndarray

SPAN_STEPS = PARAMETERS  # of the arms' record: Delta; the learning rate there is 4 / sqrt(Delta + tau)


@kernel
def contest_rate(program: Array, level: int, tau: int) -> float:
    """The learning rate of the contest among the arms before choice ``tau`` (from 0)."""
    return 4.0 / math.sqrt(program[level + SPAN_STEPS] + float(tau) + 1.0)


# Hooks: how the losses of a level are stored. Defaults: as words, the losses of the slots less that of slot 0.


@kernel
def slot_chance(
    program: Array, row: Array, level: int, at: int, n: int, slot: int, x: float, eta: float, tau: int
) -> float:
    """The probability that a level's routine gives one of n slots at choice ``tau``."""
    sums = settled_sums(row, at, n, 2.0 / eta, x)
    return probability_of(loss_of(row, at, slot), sums.x, eta) / sums.squares


@kernel
def group_rate(program: Array, row: Array, level: int, control: int, tau: int) -> float:
    """The learning rate of choice ``tau`` of a group level: the second scalar of Tsallis-INF."""
    return float(row[control + SCALARS + 1])


@kernel
def leader(program: Array, row: Array, level: int, at: int, n: int) -> int:
    """The slot of least loss; of several, the first."""
    return ftrl_leader(row, at, n)


@kernel
def lay_prior(program: Array, row: Array, record: int, at: int, n: int, control: int, behind: float, x: float) -> None:
    """Start the routine over the arms: slot 0 has loss 0, the others ``behind``, and ``x`` is the normaliser."""
    for j in range(at, at + n - 1):
        row[j] = behind
    row[control + SCALARS] = x
    row[control + SCALARS + 1] = 0.5
