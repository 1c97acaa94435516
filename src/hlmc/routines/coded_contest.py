"""The routine of a champion's epoch with losses of b bits (research/bits.md): :mod:`hlmc.routines.contest` on codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.coded_ftrl import coded_normaliser
from hlmc.engine.codes import clear_codes, next_seed, rounding_seed, seed_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, WIDTH
from hlmc.engine.records import Codes, Level, Rates
from hlmc.engine.structures.champion import contest_rate
from hlmc.engine.structures.coded_champion import baseline_in, contest_code_scale, seed_and_baseline
from hlmc.routines.base import Kernels
from hlmc.routines.coded import CodedRoutine
from hlmc.routines.contest import Contest, contest_next
from hlmc.routines.ftrl import FTRL, baseline_of, code_scale_of, coded_level_sound, next_scalar, rate_of

# The second scalar is the seed of the roundings with the baseline.


@kernel
def coded_contest_rate(level: Level, tau: int) -> float:
    """The learning rate of choice ``tau`` (from 0)."""
    return contest_rate(level.program, level.record, tau)


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


CODED_CONTEST = FTRL(
    {
        rate_of: coded_contest_rate,
        code_scale_of: coded_contest_scale,
        baseline_of: coded_contest_baseline,
        next_scalar: coded_contest_next,
    },
    coded=True,
)


@kernel
def coded_contest_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser; and the seed of the roundings with the baseline."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    clear_codes(level.row, level.at, width, level.n)
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    s = coded_contest_scale(level, 0)
    x, _ = coded_normaliser(codes, Rates(s, coded_contest_rate(level, 0)), -s)
    return x, seed_and_baseline(rounding_seed(level.row, level.record), 0.5)


@kernel
def coded_contest_check(level: Level, x: float, both: float, tau: int, slot: int, chance: float) -> bool:
    """The normaliser is one for the learning rate of the choice."""
    rates = Rates(coded_contest_scale(level, tau), coded_contest_rate(level, tau))
    return seed_sound(both) and coded_level_sound(level, rates, x, chance)


@dataclass(frozen=True, repr=False)
class CodedContest(CodedRoutine):
    """The routine of a champion's epoch with losses of ``bits`` bits.

    Examples
    --------
    >>> CodedContest(bits=12).words(11)
    3
    """

    bits: int = 12  # type: ignore[misc]  # a field here

    name: ClassVar[str] = "contest"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    plain_class: ClassVar[type[Contest]] = Contest
    kernels: ClassVar[Kernels] = Kernels(
        coded_contest_start, CODED_CONTEST.select, CODED_CONTEST.update, coded_contest_check, CODED_CONTEST.noted
    )
