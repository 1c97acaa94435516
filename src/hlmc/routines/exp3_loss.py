"""EXP3 in its loss form, and EXP3-IX: exponential weights on estimated losses, without uniform exploration.

Loss estimates are large for arms that are played rarely, which is where gain estimates are small: rarely played arms
are dropped sooner, and the constant of the regret bound is half that of the gain form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc import bounds
from hlmc.engine.arithmetic import exponential
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.engine.weights import LOSS_LOG, SCAN, TINY_LOG
from hlmc.routines.base import RATE_RANGE, Kernels, LevelContext, Routine
from hlmc.routines.exponential import draw_pure, exponential_sound, move, over_codes, over_words

ETA = PARAMETERS
IMPLICIT = PARAMETERS + 1  # what is added to the probability when a loss is divided by it


@kernel
def exp3_loss_select(level: Level, total: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot in proportion to the weights."""
    return draw_pure(level, total, level.program[level.record + ETA], u)


@kernel
def exp3_loss_update(
    level: Level, total: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """w_i <- w_i exp(-eta loss / (p_i + implicit)) for the slot played."""
    if reward < 1.0:
        divisor = chance + level.program[level.record + IMPLICIT]
        total, b = move(level, total, b, level.program[level.record + ETA], slot, reward - 1.0, divisor)
    return total, b


@kernel
def exp3_loss_check(level: Level, total: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """No chance is stated below exp(TINY_LOG), so a logarithm falls by at most eta / exp(TINY_LOG) <= 4e270."""
    least = 0.5 * exponential(TINY_LOG)
    return exponential_sound(level, total, b, level.program[level.record + ETA], chance, LOSS_LOG, least)


@dataclass(frozen=True, repr=False)
class EXP3Loss(Routine):
    r"""EXP3 on losses at one level: :math:`p_i \propto \exp(-\eta \hat L_i)`, :math:`\hat L_i \mathrel{+}= (1-r)/p_i`.

    Parameters
    ----------
    eta
        Learning rate, in (0, 1e10]. Default: sqrt(2 ln N / (N S)).

    Examples
    --------
    >>> EXP3Loss().parameters(LevelContext(arms=10, horizon=1000, children=10, choices=1000))
    {'eta': 0.02145...}

    References
    ----------
    Bubeck and Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit problems", 2012.
    """

    eta: float | None = None

    name: ClassVar[str] = "exp3-loss"
    most_changing: ClassVar[int] = SCAN
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    weights: ClassVar[Literal["none", "growing", "any"]] = "any"
    source: ClassVar[str] = "Bubeck and Cesa-Bianchi (2012), Theorem 3.1"
    kernels: ClassVar[Kernels] = over_words(exp3_loss_select, exp3_loss_update, exp3_loss_check)
    coded_source: ClassVar[str] = "the second theorem of docs/research/bits.md"
    coded: ClassVar[Kernels] = over_codes(exp3_loss_select, exp3_loss_update, exp3_loss_check)

    def __post_init__(self) -> None:
        self.check(eta=RATE_RANGE)

    def regret(self, context: LevelContext) -> float | None:
        return bounds.exp3_loss(context.choices, context.children, self.eta)

    def coded_regret(self, context: LevelContext, bits: int) -> float | None:
        return bounds.exp3_loss_coded(context.choices, context.children, self.parameters(context)["eta"], bits)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        n, s = context.children, context.choices
        return self.chosen(eta=math.sqrt(2.0 * math.log(n) / (n * s)))

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return self.parameters(context)["eta"], 0.0


@dataclass(frozen=True, repr=False)
class EXP3IX(EXP3Loss):
    r"""EXP3-IX at one level: losses divided by :math:`p_i + \eta/2` give a bound with high probability.

    Parameters
    ----------
    eta
        Learning rate, in (0, 1e10]. Default: sqrt(2 ln(N + 1) / (N S)).

    Examples
    --------
    >>> EXP3IX().parameters(LevelContext(arms=10, horizon=1000, children=10, choices=1000))
    {'eta': 0.02189...}

    References
    ----------
    Neu, "Explore no more: improved high-probability regret bounds for non-stochastic bandits", NIPS 2015.
    """

    name: ClassVar[str] = "exp3-ix"
    source: ClassVar[str] = "Neu (2015), its tail integrated"

    def regret(self, context: LevelContext) -> float | None:
        return bounds.exp3_ix(context.choices, context.children) if self.eta is None else None

    def coded_regret(self, context: LevelContext, bits: int) -> float | None:
        return bounds.exp3_ix_coded(context.choices, context.children, self.parameters(context)["eta"], bits)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        n, s = context.children, context.choices
        return self.chosen(eta=math.sqrt(2.0 * math.log(n + 1.0) / (n * s)))

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        eta = self.parameters(context)["eta"]
        return eta, eta / 2.0
