"""The routine of a champion's epoch: Tsallis-INF from a prior, with a baseline that follows the losses.

:class:`hlmc.Champion` uses it at the arms; :mod:`hlmc.engine.structures.champion` sets the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.coded_ftrl import coded_normaliser
from hlmc.engine.codes import clear_codes, next_seed, rounding_seed
from hlmc.engine.ftrl import ftrl_change, ftrl_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, WIDTH
from hlmc.engine.records import Codes, Level, Rates
from hlmc.engine.structures.champion import FADING
from hlmc.engine.structures.coded_champion import baseline_in, contest_code_scale, seed_and_baseline
from hlmc.engine.structures.contest import SPAN_STEPS, contest_rate
from hlmc.routines.base import Array, Kernels, LevelContext, Routine
from hlmc.routines.ftrl import ftrl_start, over_codes, over_words

# The second scalar is the baseline.


@kernel
def epoch_scale(program: Array, level: int, tau: int) -> float:
    """2 / eta for the learning rate of choice ``tau`` (:func:`hlmc.engine.structures.contest.contest_rate`)."""
    return 0.5 * math.sqrt(program[level + SPAN_STEPS] + float(tau) + 1.0)


@kernel
def contest_scale(level: Level, baseline: float, tau: int) -> float:
    """2 / eta of choice ``tau``."""
    return epoch_scale(level.program, level.record, tau)


@kernel
def contest_baseline(level: Level, baseline: float, tau: int) -> float:
    """The baseline that follows the losses."""
    return baseline


@kernel
def contest_next(level: Level, baseline: float, tau: int, loss: float) -> float:
    """The baseline after a loss."""
    return baseline + max(1.0 / (float(tau) + 2.0), FADING) * (loss - baseline)


CONTEST = over_words(contest_scale, contest_baseline, contest_next)


@kernel
def contest_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the baseline."""
    return ftrl_start(level, contest_rate(level.program, level.record, 0)), 0.5


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


# The same with losses of b bits (docs/research/bits.md). The second scalar is a seed and a baseline in one number.


@kernel
def coded_contest_scale(level: Level, tau: int) -> float:
    """The scale of the codes, the same for all choices."""
    return contest_code_scale(level.program, level.record)


@kernel
def coded_contest_baseline(level: Level, both: float, tau: int) -> float:
    """The baseline that follows the losses."""
    return baseline_in(both)


@kernel
def coded_contest_next(level: Level, both: float, tau: int, loss: float) -> float:
    """The next seed, and the baseline after a loss."""
    return seed_and_baseline(next_seed(both), contest_next(level, baseline_in(both), tau, loss))


@kernel
def coded_contest_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0, as codes. The scalars are the normaliser and both of the above."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    clear_codes(level.row, level.at, width, level.n)
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    s = coded_contest_scale(level, 0)
    x, _ = coded_normaliser(codes, Rates(s, contest_rate(level.program, level.record, 0)), -s)
    return x, seed_and_baseline(rounding_seed(level.row, level.record), 0.5)


CODED_CONTEST = over_codes(
    coded_contest_start, contest_rate, coded_contest_scale, coded_contest_baseline, coded_contest_next
)


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
        contest_start, CONTEST.select, CONTEST.update, contest_check, CONTEST.noted, change=contest_change
    )
    coded: ClassVar[Kernels] = CODED_CONTEST

    def words(self, n: int) -> int:
        return n - 1

    def cost(self, context: LevelContext) -> float:
        return float(context.children) if context.children > 1 else 0.0

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return (float(context.choices),)
