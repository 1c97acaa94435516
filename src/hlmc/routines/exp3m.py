"""EXP3 as EXP3-M uses it: over the arms held in memory, counting how often each is played.

gamma = sqrt(n ln n / (2 b)) for n arms held during a sub-phase of b steps. Two words per arm: weight and count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.arithmetic import logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.engine.weights import GAIN_LOG, mixed_draw, weights_grow, weights_sound, weights_start
from hlmc.routines.base import SHARE_RANGE, Array, Kernels, LevelContext, Routine

STEPS = PARAMETERS  # b
GIVEN = PARAMETERS + 1  # gamma, or 0


@kernel
def _uniform_share(program: Array, level: int, n: int) -> float:
    """gamma, as given or for n arms held."""
    gamma: float = program[level + GIVEN]
    if gamma == 0.0:
        gamma = min(1.0, math.sqrt(n * logarithm(n) / (2.0 * program[level + STEPS])))
    return gamma


@kernel
def exp3m_start(level: Level) -> tuple[float, float]:
    """Set all weights to 1 and all counts to 0. The scalars are the sum of the weights and gamma."""
    for j in range(level.at + level.n, level.at + 2 * level.n):
        level.row[j] = 0.0
    return weights_start(level.row, level.at, level.n), _uniform_share(level.program, level.record, level.n)


@kernel
def exp3m_select(level: Level, total: float, gamma: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot in proportion to the weights, mixed with uniform exploration."""
    return mixed_draw(level.row, level.at, level.n, total, gamma, u)


@kernel
def exp3m_update(
    level: Level, total: float, gamma: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Count the play; w_i <- w_i exp(gamma r / (n p_i))."""
    level.row[level.at + level.n + slot] += 1.0
    if reward > 0.0:
        total = weights_grow(level.row, level.at, level.n, total, slot, gamma / float(level.n), reward, chance)
    return total, gamma


@kernel
def exp3m_check(level: Level, total: float, gamma: float, tau: int, slot: int, chance: float) -> bool:
    """As for EXP3, with the gamma that the start has chosen; and no count is negative."""
    for j in range(level.at + level.n, level.at + 2 * level.n):
        if level.row[j] < 0.0:
            return False
    share = _uniform_share(level.program, level.record, level.n)
    known = gamma <= 1.0 and abs(gamma - share) <= 1e-3 * share and chance >= 0.5 * share / float(level.n)
    return known and weights_sound(level.row, level.at, level.n, total, GAIN_LOG)


@dataclass(frozen=True, repr=False)
class CountedEXP3(Routine):
    """EXP3 that also counts the plays of each child.

    Parameters
    ----------
    gamma
        Probability of uniform exploration, in [1e-300, 1]. Default: sqrt(n ln n / (2 S)) for n children.

    Examples
    --------
    >>> CountedEXP3().words(20)
    40
    """

    gamma: float | None = None

    name: ClassVar[str] = "exp3-counted"
    words_each: ClassVar[int] = 2
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "gain"
    weights: ClassVar[Literal["none", "growing", "any"]] = "growing"
    kernels: ClassVar[Kernels] = Kernels(exp3m_start, exp3m_select, exp3m_update, exp3m_check)

    def __post_init__(self) -> None:
        self.check(gamma=SHARE_RANGE)

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return float(context.choices), self.gamma or 0.0
