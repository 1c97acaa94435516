"""Tsallis-INF with losses of b bits each, packed and changed by stochastic rounding (``docs/research/bits.md``).

The algorithm is :mod:`hlmc.routines.tsallis`; what it stores is :mod:`hlmc.engine.codes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc import bounds
from hlmc.engine.coded_ftrl import in_powers, in_scales
from hlmc.engine.codes import clear_codes, next_seed, rounding_seed, scale_at, seed_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import WIDTH
from hlmc.engine.records import Level, Rates
from hlmc.errors import BadArgument, shown
from hlmc.routines.base import Kernels, LevelContext
from hlmc.routines.coded import CodedRoutine
from hlmc.routines.ftrl import FTRL, baseline_of, code_scale_of, coded_level_sound, next_scalar, rate_of
from hlmc.routines.tsallis import RATE, TsallisINF, tsallis_baseline

# The second scalar is the seed of the roundings.


@kernel
def coded_rate(level: Level, tau: int) -> float:
    """The learning rate of choice ``tau`` (from 0)."""
    return float(level.program[level.record + RATE]) / math.sqrt(float(tau) + 1.0)


@kernel
def coded_scale(level: Level, tau: int) -> float:
    """The scale of the codes at choice ``tau``: from half of 2 / eta to 2 / eta; a power of 2, as RATE is one."""
    return scale_at(2.0 / level.program[level.record + RATE], tau)


@kernel
def following_seed(level: Level, seed: float, tau: int, loss: float) -> float:
    """The seed of the next roundings."""
    return next_seed(seed)


CODED_TSALLIS = FTRL(
    {
        rate_of: coded_rate,
        code_scale_of: coded_scale,
        baseline_of: tsallis_baseline,
        next_scalar: following_seed,
    },
    coded=True,
    faster={in_scales: in_powers},
)


@kernel
def coded_tsallis_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the seed of the roundings."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    return -2.0 * math.sqrt(float(level.n)) / coded_rate(level, 0), rounding_seed(level.row, level.record)


@kernel
def coded_tsallis_check(level: Level, x: float, seed: float, tau: int, slot: int, chance: float) -> bool:
    """The normaliser is one for the learning rate of the choice, and the seed a whole number."""
    rates = Rates(coded_scale(level, tau), coded_rate(level, tau))
    return seed_sound(seed) and coded_level_sound(level, rates, x, chance)


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
    source: ClassVar[str] = "the theorem of docs/research/bits.md"
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(
        coded_tsallis_start, CODED_TSALLIS.select, CODED_TSALLIS.update, coded_tsallis_check, CODED_TSALLIS.noted
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            raise BadArgument(f"eta must be left out with bits={self.bits}, not {shown(self.eta)}")

    def regret(self, context: LevelContext) -> float | None:
        reduced = self.estimator != "importance-weighted"
        return bounds.tsallis_coded(context.choices, context.children, self.bits, reduced)
