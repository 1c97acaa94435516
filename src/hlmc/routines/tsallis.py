"""Tsallis-INF: optimal up to constants on adversarial and on stochastic rewards, without knowing which; anytime.

J. Zimmert and Y. Seldin, "Tsallis-INF: An optimal algorithm for stochastic and adversarial bandits", JMLR 22 (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc import bounds
from hlmc.checks import choice
from hlmc.engine.coded_ftrl import in_powers, in_scales
from hlmc.engine.codes import clear_codes, next_seed, rounding_seed, scale_at
from hlmc.engine.ftrl import ftrl_change, ftrl_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS, WIDTH
from hlmc.engine.records import Level
from hlmc.errors import BadArgument, shown
from hlmc.routines.base import Array, Kernels, LevelContext, Routine
from hlmc.routines.ftrl import ftrl_start, over_codes, over_words

RATE = PARAMETERS  # eta_t = RATE / sqrt(t)
BASELINE = PARAMETERS + 1  # 1/2 for the reduced-variance estimator, 0 for plain importance weighting

ESTIMATORS = ("reduced-variance", "importance-weighted")
FACTORS = (1e-6, 4.0, "[1e-6, 4]")
"""Learning rates that the default meets sooner or later: what is known of the draw is known there."""


# The second scalar is the learning rate; of codes, the seed of their roundings.


@kernel
def tsallis_scale(level: Level, eta: float, tau: int) -> float:
    """2 / eta; a part of a loss that is credited later leaves it."""
    return 2.0 / eta


@kernel
def tsallis_next_rate(level: Level, eta: float, tau: int, loss: float) -> float:
    """The learning rate of the next choice; a part of a loss that is credited later leaves it."""
    return level.program[level.record + RATE] / math.sqrt(float(tau) + 2.0) if tau >= 0 else eta


@kernel
def tsallis_baseline(level: Level, b: float, tau: int) -> float:
    """A part of a loss that is credited later is added over its probability, as it is in either estimator once the
    baseline has been counted.
    """
    return level.program[level.record + BASELINE] if tau >= 0 else 0.0


TSALLIS = over_words(tsallis_scale, tsallis_baseline, tsallis_next_rate)


@kernel
def tsallis_rate(program: Array, record: int, tau: int) -> float:
    """The learning rate of choice ``tau`` (from 0)."""
    return float(program[record + RATE]) / math.sqrt(float(tau) + 1.0)


@kernel
def tsallis_code_scale(level: Level, tau: int) -> float:
    """The scale of the codes at choice ``tau``: from half of 2 / eta to 2 / eta; a power of 2, as RATE is one."""
    return scale_at(2.0 / level.program[level.record + RATE], tau)


@kernel
def tsallis_next_seed(level: Level, seed: float, tau: int, loss: float) -> float:
    """The seed of the next roundings."""
    return next_seed(seed)


@kernel
def coded_tsallis_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0, as codes. The scalars are the normaliser and the seed of the roundings."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    return -2.0 * math.sqrt(float(level.n)) / tsallis_rate(level.program, level.record, 0), rounding_seed(
        level.row, level.record
    )


CODED_TSALLIS = over_codes(
    coded_tsallis_start, tsallis_rate, tsallis_code_scale, tsallis_baseline, tsallis_next_seed, {in_scales: in_powers}
)


@kernel
def tsallis_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the learning rate."""
    eta = level.program[level.record + RATE]
    return ftrl_start(level, eta), eta


@kernel
def tsallis_check(level: Level, x: float, eta: float, tau: int, slot: int, chance: float) -> bool:
    """The learning rate is that of the choice, and the normaliser one for it."""
    rate = tsallis_rate(level.program, level.record, tau)
    return abs(eta - rate) <= 1e-3 * rate and ftrl_sound(level.row, level.at, level.n, eta, x, chance)


@kernel
def tsallis_change(level: Level, m: int, slot: int, x: float, eta: float, tau: int) -> tuple[float, float]:
    """A fresh child has the loss with which its probability is that of one among equals."""
    if level.n < 2:
        eta = tsallis_rate(level.program, level.record, tau)
    return ftrl_change(level.row, level.at, level.n, m, slot, eta, x), eta


@dataclass(frozen=True, repr=False)
class TsallisINF(Routine):
    r"""Tsallis-INF at one level: :math:`p_i = 4 (\eta_t (\hat L_i - x))^{-2}`.

    It stores differences of losses: n - 1 words for n children.

    Parameters
    ----------
    estimator
        ``"reduced-variance"`` (default; eta_t = 4 / sqrt(t)) or ``"importance-weighted"`` (eta_t = 2 / sqrt(t)).
    eta
        c, in [1e-6, 4]: the learning rate is c / sqrt(t). There is a bound for the default alone.

    Examples
    --------
    >>> TsallisINF().words(10)
    9
    """

    estimator: str | None = None
    eta: float | None = None

    name: ClassVar[str] = "tsallis-inf"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    source: ClassVar[str] = "Lemma 1 of docs/research/champion.md (Zimmert and Seldin, 2021, Theorem 1, with constants)"
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(
        tsallis_start, TSALLIS.select, TSALLIS.update, tsallis_check, TSALLIS.noted, change=tsallis_change
    )
    coded_source: ClassVar[str] = "the theorem of docs/research/bits.md"
    coded: ClassVar[Kernels] = CODED_TSALLIS

    def __post_init__(self) -> None:
        if self.estimator is not None:
            choice("estimator", self.estimator, *ESTIMATORS)
        self.check(eta=FACTORS)

    @property
    def reduced(self) -> bool:
        """Whether a baseline reduces the variance of the estimates."""
        return self.estimator != "importance-weighted"

    def words(self, n: int) -> int:
        return n - 1

    def cost(self, context: LevelContext) -> float:
        return float(context.children) if context.children > 1 else 0.0

    @property
    def factor(self) -> float:
        """c, of the learning rate c / sqrt(t)."""
        return self.eta or (4.0 if self.reduced else 2.0)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        return {} if self.eta is None else {"eta": self.eta}

    def regret(self, context: LevelContext) -> float | None:
        if self.factor != TsallisINF(self.estimator).factor:
            return None
        bound = bounds.tsallis_rv_sharp if self.reduced else bounds.tsallis_iw_sharp
        return bound(context.choices, context.children)

    def check_coded(self, bits: int) -> None:
        super().check_coded(bits)
        if self.eta is not None:  # codes are for the default learning rate, a power of 2 over sqrt(t)
            raise BadArgument(f"eta must be left out with bits={bits}, not {shown(self.eta)}")

    def coded_regret(self, context: LevelContext, bits: int) -> float | None:
        return bounds.tsallis_coded(context.choices, context.children, bits, self.reduced)

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return self.factor, 0.5 if self.reduced else 0.0
