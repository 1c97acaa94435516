"""Tsallis-INF: optimal up to constants on adversarial and on stochastic rewards, without knowing which; anytime.

J. Zimmert and Y. Seldin, "Tsallis-INF: An optimal algorithm for stochastic and adversarial bandits", JMLR 22 (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc import bounds
from hlmc.checks import choice
from hlmc.engine.ftrl import ftrl_change, ftrl_draw, ftrl_sound, ftrl_update, settle
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.level import Level
from hlmc.engine.routines import NotedKernels, no_notes
from hlmc.routines.base import Array, Kernels, LevelContext, Routine

RATE = PARAMETERS  # eta_t = RATE / sqrt(t)
BASELINE = PARAMETERS + 1  # 1/2 for the reduced-variance estimator, 0 for plain importance weighting

ESTIMATORS = ("reduced-variance", "importance-weighted")
FACTORS = (1e-6, 4.0, "[1e-6, 4]")
"""Learning rates that the default meets sooner or later: what is known of the draw is known there."""


@kernel
def tsallis_start(level: Level) -> tuple[float, float]:
    """Set all losses to 0. The scalars are the normaliser and the learning rate."""
    for j in range(level.at, level.at + level.n - 1):
        level.row[j] = 0.0
    eta = level.program[level.record + RATE]
    return -2.0 * math.sqrt(float(level.n)) / eta, eta


@kernel
def tsallis_choose(
    level: Level, x: float, eta: float, tau: int, u: float, notes: Array
) -> tuple[int, float, float, float, float, float]:
    """:func:`tsallis_select`, and what :func:`tsallis_learn` needs of it."""
    scale = 2.0 / eta
    x, squares, cubes, beyond = settle(level.row, level.at, level.n, scale, x)
    slot, chance = ftrl_draw(level.row, level.at, level.n, scale, x, squares, u)
    return slot, chance, x, squares, cubes, beyond


@kernel
def tsallis_select(level: Level, x: float, eta: float, tau: int, u: float) -> tuple[int, float]:
    """``x`` is the normaliser for the losses and the learning rate ``eta`` as they stand, or nearly so."""
    slot, chance, _, _, _, _ = tsallis_choose(level, x, eta, tau, u, level.row)
    return slot, chance


@kernel
def tsallis_update(
    level: Level, x: float, eta: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Add the estimated losses and predict the normaliser for the next learning rate.

    A part of a loss that is credited later (tau < 0) is added over its probability, as it is in either estimator once
    the baseline has been counted, and the learning rate stays.
    """
    x, squares, cubes, beyond = settle(level.row, level.at, level.n, 2.0 / eta, x)
    return tsallis_learn(level, x, eta, tau, slot, chance, reward, level.row, squares, cubes, beyond)


@kernel
def tsallis_learn(
    level: Level,
    x: float,
    eta: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
    notes: Array,
    squares: float,
    cubes: float,
    beyond: float,
) -> tuple[float, float]:
    """:func:`tsallis_update` with what :func:`hlmc.engine.ftrl.settle` said before the choice."""
    following = level.program[level.record + RATE] / math.sqrt(float(tau) + 2.0) if tau >= 0 else eta
    baseline = level.program[level.record + BASELINE] if tau >= 0 else 0.0
    loss = 1.0 - reward
    scale = 2.0 / following
    return ftrl_update(
        level.row, level.at, level.n, 2.0 / eta, x, squares, cubes, beyond, slot, chance, loss, baseline, scale
    ), following


@kernel
def tsallis_check(level: Level, x: float, eta: float, tau: int, slot: int, chance: float) -> bool:
    """The learning rate is that of the choice, and the normaliser one for it."""
    rate = level.program[level.record + RATE] / math.sqrt(float(tau) + 1.0)
    return abs(eta - rate) <= 1e-3 * rate and ftrl_sound(level.row, level.at, level.n, eta, x, chance)


@kernel
def tsallis_change(level: Level, m: int, slot: int, x: float, eta: float, tau: int) -> tuple[float, float]:
    """A fresh child has the loss with which its probability is that of one among equals."""
    if level.n < 2:
        eta = level.program[level.record + RATE] / math.sqrt(float(tau) + 1.0)
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
    source: ClassVar[str] = "Lemma 1 of docs/champion.md (Zimmert and Seldin, 2021, Theorem 1, with constants)"
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(
        tsallis_start,
        tsallis_select,
        tsallis_update,
        tsallis_check,
        NotedKernels(no_notes, tsallis_choose, tsallis_learn, per_slot=0, hands=True),
        change=tsallis_change,
    )

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

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return self.factor, 0.5 if self.reduced else 0.0
