"""The routine of a champion's epoch with losses of b bits (``docs/bits.md``): :mod:`hlmc.routines.contest` on codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.coded_ftrl import (
    NOTED,
    NOTED_DRAW,
    PER_SLOT,
    coded_draw,
    coded_learn,
    coded_normaliser,
    coded_settle,
    coded_sound,
)
from hlmc.engine.codes import clear_codes, next_seed, note_weights, rounding_bits, rounding_seed, seed_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import WIDTH
from hlmc.engine.level import Level
from hlmc.engine.linker import substitute
from hlmc.engine.routines import NotedKernels
from hlmc.engine.structures.champion import FADING, contest_rate
from hlmc.engine.structures.coded_champion import baseline_in, contest_scale, seed_and_baseline
from hlmc.routines.base import Array, Kernels
from hlmc.routines.coded import CodedRoutine
from hlmc.routines.contest import Contest


@kernel
def coded_contest_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser; and the seed of the roundings with the baseline."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    s = contest_scale(level.program, level.record)
    x, _ = coded_normaliser(
        level.program,
        level.record,
        level.row,
        level.row,
        level.at,
        level.n,
        s,
        contest_rate(level.program, level.record, 0),
        -s,
    )
    return x, seed_and_baseline(rounding_seed(level.row, level.record), 0.5)


@kernel
def coded_contest_choose(
    level: Level, x: float, both: float, tau: int, u: float, notes: Array
) -> tuple[int, float, float, float, float, float]:
    """Draw a slot by Tsallis-INF with the learning rate of this choice."""
    s = contest_scale(level.program, level.record)
    eta = contest_rate(level.program, level.record, tau)
    x, squares, cubes, most = coded_settle(level.program, level.record, level.row, notes, level.at, level.n, s, eta, x)
    slot, chance = coded_draw(level.program, level.record, level.row, notes, level.at, level.n, s, eta, x, squares, u)
    return slot, chance, x, squares, cubes, most


@kernel
def coded_contest_select(level: Level, x: float, both: float, tau: int, u: float) -> tuple[int, float]:
    """Without notes."""
    slot, chance, _, _, _, _ = coded_contest_choose(level, x, both, tau, u, level.row)
    return slot, chance


@kernel
def coded_contest_learn(
    level: Level,
    x: float,
    both: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
    notes: Array,
    squares: float,
    cubes: float,
    most: float,
) -> tuple[float, float]:
    """Add the estimated losses, update the baseline, and predict the next normaliser."""
    s = contest_scale(level.program, level.record)
    eta = contest_rate(level.program, level.record, tau)
    following = contest_rate(level.program, level.record, tau + 1)
    loss = 1.0 - reward
    baseline = baseline_in(both)
    draw = rounding_bits(both)
    x = coded_learn(
        level.program, level.record, level.row, notes, level.at, level.n, s, s, eta, following, x, squares, cubes, most,
        slot, chance, loss, baseline,
        draw,
    )  # fmt: skip
    baseline += max(1.0 / (float(tau) + 2.0), FADING) * (loss - baseline)
    return x, seed_and_baseline(next_seed(both), baseline)


@kernel
def coded_contest_update(
    level: Level, x: float, both: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Without notes."""
    eta = contest_rate(level.program, level.record, tau)
    x, squares, cubes, most = coded_settle(
        level.program,
        level.record,
        level.row,
        level.row,
        level.at,
        level.n,
        contest_scale(level.program, level.record),
        eta,
        x,
    )
    return coded_contest_learn(level, x, both, tau, slot, chance, reward, level.row, squares, cubes, most)


@kernel
def coded_contest_check(level: Level, x: float, both: float, tau: int, slot: int, chance: float) -> bool:
    """The normaliser is one for the learning rate of the choice."""
    s = contest_scale(level.program, level.record)
    return seed_sound(both) and coded_sound(level, s, contest_rate(level.program, level.record, tau), x, chance)


_NOTED = NotedKernels(
    note_weights,
    substitute(coded_contest_choose, NOTED_DRAW),
    substitute(coded_contest_learn, NOTED),
    per_slot=PER_SLOT,
    hands=True,
)


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
        coded_contest_start, coded_contest_select, coded_contest_update, coded_contest_check, _NOTED
    )
