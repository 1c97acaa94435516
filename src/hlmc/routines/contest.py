"""The routine of a champion's epoch: Tsallis-INF from a prior, with a baseline that follows the losses.

:class:`hlmc.Champion` uses it at the arms; :mod:`hlmc.engine.structures.champion` sets the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.ftrl import ftrl_change, ftrl_draw, ftrl_sound, ftrl_update, settle
from hlmc.engine.kernel import kernel
from hlmc.engine.level import Level
from hlmc.engine.routines import NotedKernels, no_notes
from hlmc.engine.structures.champion import FADING, SPAN_STEPS, contest_rate
from hlmc.routines.base import Array, Kernels, LevelContext, Routine


@kernel
def contest_scale(program: Array, level: int, tau: int) -> float:
    """2 / eta for the learning rate of choice ``tau`` (:func:`hlmc.engine.structures.champion.contest_rate`)."""
    return 0.5 * math.sqrt(program[level + SPAN_STEPS] + float(tau) + 1.0)


@kernel
def contest_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the baseline."""
    for j in range(level.at, level.at + level.n - 1):
        level.row[j] = 0.0
    return -2.0 * math.sqrt(float(level.n)) / contest_rate(level.program, level.record, 0), 0.5


@kernel
def contest_choose(
    level: Level, x: float, baseline: float, tau: int, u: float, notes: Array
) -> tuple[int, float, float, float, float, float]:
    """:func:`contest_select`, and what :func:`contest_learn` needs of it."""
    scale = contest_scale(level.program, level.record, tau)
    x, squares, cubes, beyond = settle(level.row, level.at, level.n, scale, x)
    slot, chance = ftrl_draw(level.row, level.at, level.n, scale, x, squares, u)
    return slot, chance, x, squares, cubes, beyond


@kernel
def contest_select(level: Level, x: float, baseline: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot by Tsallis-INF with the learning rate of this choice."""
    slot, chance, _, _, _, _ = contest_choose(level, x, baseline, tau, u, level.row)
    return slot, chance


@kernel
def contest_update(
    level: Level, x: float, baseline: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Add the estimated losses, update the baseline, and predict the next normaliser."""
    x, squares, cubes, beyond = settle(level.row, level.at, level.n, contest_scale(level.program, level.record, tau), x)
    return contest_learn(level, x, baseline, tau, slot, chance, reward, level.row, squares, cubes, beyond)


@kernel
def contest_learn(
    level: Level,
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
    scale = contest_scale(level.program, level.record, tau)
    following = contest_scale(level.program, level.record, tau + 1)
    x = ftrl_update(
        level.row, level.at, level.n, scale, x, squares, cubes, beyond, slot, chance, loss, baseline, following
    )
    return x, baseline + max(1.0 / (float(tau) + 2.0), FADING) * (loss - baseline)


@kernel
def contest_check(level: Level, x: float, baseline: float, tau: int, slot: int, chance: float) -> bool:
    """The normaliser is one for the learning rate of the choice, and the baseline a mean of losses."""
    return (
        ftrl_sound(level.row, level.at, level.n, contest_rate(level.program, level.record, tau), x, chance)
        and -0.01 <= baseline <= 1.01
    )


@kernel
def contest_change(level: Level, m: int, slot: int, x: float, baseline: float, tau: int) -> tuple[float, float]:
    """A fresh arm has the loss with which its probability is that of one among equals."""
    x = ftrl_change(level.row, level.at, level.n, m, slot, contest_rate(level.program, level.record, tau), x)
    return x, 0.5 if level.n < 2 else baseline


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
