"""The routine of a champion's epoch: Tsallis-INF from a prior, with a baseline that follows the losses.

:class:`hlmc.Champion` uses it at the arms; :mod:`hlmc.engine.structures.champion` sets the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.ftrl import ftrl_change, ftrl_draw, ftrl_sound, ftrl_update, settle
from hlmc.engine.kernel import kernel
from hlmc.engine.routines import NotedKernels, no_notes
from hlmc.engine.structures.champion import FADING, SPAN_STEPS, contest_rate
from hlmc.routines.base import Array, Kernels, LevelContext, Routine


@kernel
def contest_scale(program: Array, level: int, tau: int) -> float:
    """2 / eta for the learning rate of choice ``tau`` (:func:`hlmc.engine.structures.champion.contest_rate`)."""
    return 0.5 * math.sqrt(program[level + SPAN_STEPS] + float(tau) + 1.0)


@kernel
def contest_start(program: Array, level: int, row: Array, at: int, n: int) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the baseline."""
    for j in range(at, at + n - 1):
        row[j] = 0.0
    return -2.0 * math.sqrt(float(n)) / contest_rate(program, level, 0), 0.5


@kernel
def contest_choose(
    program: Array, level: int, row: Array, at: int, n: int, x: float, baseline: float, tau: int, u: float, notes: Array
) -> tuple[int, float, float, float, float, float]:
    """:func:`contest_select`, and what :func:`contest_learn` needs of it."""
    scale = contest_scale(program, level, tau)
    x, squares, cubes, beyond = settle(row, at, n, scale, x)
    slot, chance = ftrl_draw(row, at, n, scale, x, squares, u)
    return slot, chance, x, squares, cubes, beyond


@kernel
def contest_select(
    program: Array, level: int, row: Array, at: int, n: int, x: float, baseline: float, tau: int, u: float
) -> tuple[int, float]:
    """Draw a slot by Tsallis-INF with the learning rate of this choice."""
    slot, chance, _, _, _, _ = contest_choose(program, level, row, at, n, x, baseline, tau, u, row)
    return slot, chance


@kernel
def contest_update(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    x: float,
    baseline: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
) -> tuple[float, float]:
    """Add the estimated losses, update the baseline, and predict the next normaliser."""
    x, squares, cubes, beyond = settle(row, at, n, contest_scale(program, level, tau), x)
    return contest_learn(
        program, level, row, at, n, x, baseline, tau, slot, chance, reward, row, squares, cubes, beyond
    )


@kernel
def contest_learn(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    x: float,
    baseline: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
    notes: Array,
    squares: float,
    cubes: float,
    beyond: float,
) -> tuple[float, float]:
    """:func:`contest_update` with what :func:`hlmc.engine.ftrl.settle` said before the choice."""
    loss = 1.0 - reward
    scale = contest_scale(program, level, tau)
    following = contest_scale(program, level, tau + 1)
    x = ftrl_update(row, at, n, scale, x, squares, cubes, beyond, slot, chance, loss, baseline, following)
    return x, baseline + max(1.0 / (float(tau) + 2.0), FADING) * (loss - baseline)


@kernel
def contest_check(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    x: float,
    baseline: float,
    tau: int,
    slot: int,
    chance: float,
) -> bool:
    """The normaliser is one for the learning rate of the choice, and the baseline a mean of losses."""
    return ftrl_sound(row, at, n, contest_rate(program, level, tau), x, chance) and -0.01 <= baseline <= 1.01


@kernel
def contest_change(
    program: Array, level: int, row: Array, at: int, n: int, m: int, slot: int, x: float, baseline: float, tau: int
) -> tuple[float, float]:
    """A fresh arm has the loss with which its probability is that of one among equals."""
    x = ftrl_change(row, at, n, m, slot, contest_rate(program, level, tau), x)
    return x, 0.5 if n < 2 else baseline


@dataclass(frozen=True, repr=False)
class Contest(Routine):
    """Tsallis-INF with a learning rate for one epoch and a moving baseline.

    Examples
    --------
    >>> Contest().words(10)
    9
    """

    name: ClassVar[str] = "contest"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    kernels: ClassVar[Kernels] = Kernels(
        contest_start,
        contest_select,
        contest_update,
        contest_check,
        NotedKernels(no_notes, contest_choose, contest_learn, per_slot=0, hands=True),
        change=contest_change,
    )

    def words(self, n: int) -> int:
        return n - 1

    def cost(self, context: LevelContext) -> float:
        return float(context.children) if context.children > 1 else 0.0

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return (float(context.choices),)
