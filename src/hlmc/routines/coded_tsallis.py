"""Tsallis-INF with losses of b bits each, packed and changed by stochastic rounding (``docs/bits.md``).

The algorithm is :mod:`hlmc.routines.tsallis`; what it stores is :mod:`hlmc.engine.codes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc import bounds
from hlmc.engine.coded_ftrl import (
    NOTED,
    NOTED_DRAW,
    PER_SLOT,
    coded_draw,
    coded_learn,
    coded_settle,
    coded_sound,
    in_powers,
    in_scales,
)
from hlmc.engine.codes import (
    clear_codes,
    next_seed,
    note_weights,
    rounding_bits,
    rounding_seed,
    scale_at,
    seed_sound,
)
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import WIDTH
from hlmc.engine.level import Level
from hlmc.engine.linker import substitute
from hlmc.engine.routines import NotedKernels
from hlmc.errors import BadArgument, shown
from hlmc.routines.base import Array, Kernels, LevelContext
from hlmc.routines.coded import CodedRoutine
from hlmc.routines.tsallis import BASELINE, RATE, TsallisINF


@kernel
def coded_rate(program: Array, level: int, tau: int) -> float:
    """The learning rate of choice ``tau`` (from 0)."""
    return float(program[level + RATE]) / math.sqrt(float(tau) + 1.0)


@kernel
def coded_scale(program: Array, level: int, tau: int) -> float:
    """The scale of the codes at choice ``tau``: from half of 2 / eta to 2 / eta; a power of 2, as RATE is one."""
    return scale_at(2.0 / program[level + RATE], tau)


@kernel
def coded_tsallis_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the seed of the roundings."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    return -2.0 * math.sqrt(float(level.n)) / coded_rate(level.program, level.record, 0), rounding_seed(
        level.row, level.record
    )


@kernel
def coded_tsallis_choose(
    level: Level, x: float, seed: float, tau: int, u: float, notes: Array
) -> tuple[int, float, float, float, float, float]:
    """``x`` is the normaliser for the losses and the learning rate as they stand, or nearly so."""
    s = coded_scale(level.program, level.record, tau)
    eta = coded_rate(level.program, level.record, tau)
    x, squares, cubes, most = coded_settle(level.program, level.record, level.row, notes, level.at, level.n, s, eta, x)
    slot, chance = coded_draw(level.program, level.record, level.row, notes, level.at, level.n, s, eta, x, squares, u)
    return slot, chance, x, squares, cubes, most


@kernel
def coded_tsallis_select(level: Level, x: float, seed: float, tau: int, u: float) -> tuple[int, float]:
    """Without notes."""
    slot, chance, _, _, _, _ = coded_tsallis_choose(level, x, seed, tau, u, level.row)
    return slot, chance


@kernel
def coded_tsallis_learn(
    level: Level,
    x: float,
    seed: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
    notes: Array,
    squares: float,
    cubes: float,
    most: float,
) -> tuple[float, float]:
    """Add the estimated losses and predict the normaliser for the next learning rate.

    A part of a loss that is credited later, at choice -1 - ``tau``, is added over its probability; the baseline has
    been counted, and the learning rate stays.
    """
    now = tau if tau >= 0 else -1 - tau
    following_choice = tau + 1 if tau >= 0 else now
    s = coded_scale(level.program, level.record, now)
    grown = coded_scale(level.program, level.record, following_choice)
    eta = coded_rate(level.program, level.record, now)
    following = coded_rate(level.program, level.record, following_choice)
    loss = 1.0 - reward
    baseline = level.program[level.record + BASELINE] if tau >= 0 else 0.0
    draw = rounding_bits(seed)
    x = coded_learn(
        level.program, level.record, level.row, notes, level.at, level.n, s, grown, eta, following, x, squares, cubes,
        most, slot, chance, loss,
        baseline, draw,
    )  # fmt: skip
    return x, next_seed(seed)


@kernel
def coded_tsallis_update(
    level: Level, x: float, seed: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Without notes."""
    now = tau if tau >= 0 else -1 - tau
    s = coded_scale(level.program, level.record, now)
    x, squares, cubes, most = coded_settle(
        level.program,
        level.record,
        level.row,
        level.row,
        level.at,
        level.n,
        s,
        coded_rate(level.program, level.record, now),
        x,
    )
    return coded_tsallis_learn(level, x, seed, tau, slot, chance, reward, level.row, squares, cubes, most)


@kernel
def coded_tsallis_check(level: Level, x: float, seed: float, tau: int, slot: int, chance: float) -> bool:
    """The normaliser is one for the learning rate of the choice, and the seed a whole number."""
    s = coded_scale(level.program, level.record, tau)
    return seed_sound(seed) and coded_sound(level, s, coded_rate(level.program, level.record, tau), x, chance)


_NOTED = NotedKernels(
    note_weights,
    substitute(coded_tsallis_choose, {**NOTED_DRAW, in_scales: in_powers}),
    substitute(coded_tsallis_learn, NOTED),
    per_slot=PER_SLOT,
    hands=True,
)


@dataclass(frozen=True, repr=False)
class CodedTsallisINF(CodedRoutine):
    """Tsallis-INF at one level with losses of ``bits`` bits.

    Parameters
    ----------
    estimator
        As for :class:`TsallisINF <hlmc.routines.TsallisINF>`.
    eta
        None: codes are for the default learning rate, a power of 2 over sqrt(t).
    bits
        Bits of a loss, from 4 to 32.

    Examples
    --------
    >>> CodedTsallisINF(bits=12).words(100)
    19
    """

    estimator: str | None = None
    eta: float | None = None
    bits: int = 12  # type: ignore[misc]  # a field here

    name: ClassVar[str] = "tsallis-inf"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    plain_class: ClassVar[type[TsallisINF]] = TsallisINF
    source: ClassVar[str] = "the theorem of docs/bits.md"
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(
        coded_tsallis_start, coded_tsallis_select, coded_tsallis_update, coded_tsallis_check, _NOTED
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            raise BadArgument(f"eta must be left out with bits={self.bits}, not {shown(self.eta)}")

    def regret(self, context: LevelContext) -> float | None:
        reduced = self.estimator != "importance-weighted"
        return bounds.tsallis_coded(context.choices, context.children, self.bits, reduced)
