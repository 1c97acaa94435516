"""EXP3, gain form: exponential weights on estimated rewards, mixed with uniform exploration.

Algorithm 2 of the paper, after Auer, Cesa-Bianchi, Freund and Schapire, "The nonstochastic multiarmed bandit
problem", SIAM J. Computing 32 (2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc import bounds
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.engine.weights import GAIN_LOG, SCAN, worth_learning
from hlmc.routines.base import SHARE_RANGE, Kernels, LevelContext, Routine
from hlmc.routines.exponential import draw_mixed, exponential_sound, grow, over_codes, over_words

GAMMA = PARAMETERS
RATE = PARAMETERS + 1  # gamma / N


@kernel
def exp3_select(level: Level, total: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot in proportion to the weights, mixed with uniform exploration."""
    return draw_mixed(level, total, level.program[level.record + RATE], level.program[level.record + GAMMA], u)


@kernel
def exp3_update(
    level: Level, total: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """w_i <- w_i exp(gamma r / (N p_i)) for the slot played."""
    if worth_learning(reward):
        total, b = grow(level, total, b, level.program[level.record + RATE], slot, reward, chance)
    return total, b


@kernel
def exp3_check(level: Level, total: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """No chance is below gamma / n, so a weight grows by a factor of at most e, or of e^2 for half of that chance."""
    least = 0.5 * level.program[level.record + GAMMA] / float(level.n)
    return exponential_sound(level, total, b, level.program[level.record + RATE], chance, GAIN_LOG, least)


@dataclass(frozen=True, repr=False)
class EXP3(Routine):
    r"""EXP3 at one level.

    .. math:: p_i = (1-\gamma) w_i / \textstyle\sum_j w_j + \gamma/n, \qquad
              w_i \leftarrow w_i \exp(\gamma \hat r_i / N)

    In a group with fewer than N children, n is its own number of children; the learning rate uses N.

    Parameters
    ----------
    gamma
        Probability of uniform exploration, in [1e-300, 1]. Default: min(1, sqrt(N ln N / (2 S))) (Theorems 1 and 5).

    Examples
    --------
    >>> EXP3().parameters(LevelContext(arms=100, horizon=10**7, children=10, choices=1000))
    {'gamma': 0.10729...}
    >>> EXP3(gamma=0.5)
    routines.EXP3(gamma=0.5)
    """

    gamma: float | None = None

    name: ClassVar[str] = "exp3"
    most_changing: ClassVar[int] = SCAN
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "gain"
    weights: ClassVar[Literal["none", "growing", "any"]] = "growing"
    source: ClassVar[str] = "Auer et al. (2002), Theorem 3.1 (with the default gamma: Lemma 3)"
    kernels: ClassVar[Kernels] = over_words(exp3_select, exp3_update, exp3_check)
    coded_source: ClassVar[str] = "the second theorem of docs/research/bits.md"
    coded: ClassVar[Kernels] = over_codes(exp3_select, exp3_update, exp3_check)

    def __post_init__(self) -> None:
        self.check(gamma=SHARE_RANGE)

    def regret(self, context: LevelContext) -> float | None:
        if self.gamma is None:
            return bounds.lemma_3(context.choices, context.children)
        return bounds.exp3(context.choices, context.children, self.gamma)

    def coded_regret(self, context: LevelContext, bits: int) -> float | None:
        return bounds.exp3_coded(context.choices, context.children, self.parameters(context)["gamma"], bits)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        n = context.children
        return self.chosen(gamma=min(1.0, math.sqrt(n * math.log(n) / (2.0 * context.choices))))

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        gamma = self.parameters(context)["gamma"]
        return gamma, gamma / context.children
