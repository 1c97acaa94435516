"""Epsilon-greedy: the best mean so far, and now and then a uniform random child; for stochastic rewards.

With probability epsilon_t a uniform random child is played, otherwise the one with the highest mean reward, where a
child without a reward counts as the best and the first of equals is taken. epsilon_t is constant, or min(1, c N / t)
in choice t (Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem", 2002, Figure 3,
where c is c / d^2). Two words per child: the sum of its rewards and its plays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlmc.checks import between
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.engine.ucb import pairs_change, pairs_play, pairs_sound, pairs_start
from hlmc.routines.base import RATE_RANGE, SHARE_RANGE, Kernels, LevelContext, Routine

EPSILON, DECAY = PARAMETERS, PARAMETERS + 1
UNPLAYED = 2.0  # the mean of a child without a reward: higher than any


@kernel
def greedy_select(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """The first child of the highest mean, or with probability epsilon any child."""
    epsilon: float = level.program[level.record + EPSILON]
    decay: float = level.program[level.record + DECAY]
    if decay > 0.0:
        epsilon = min(1.0, decay * float(level.n) / (float(tau) + 1.0))
    best = 0
    highest = -1.0
    for j in range(level.n):
        played: float = level.row[level.at + level.n + j]
        mean = level.row[level.at + j] / played if played > 0.0 else UNPLAYED
        if mean > highest:
            best = j
            highest = mean
    slot = min(int(u / epsilon * float(level.n)), level.n - 1) if u < epsilon else best
    return slot, epsilon / float(level.n) + (1.0 - epsilon if slot == best else 0.0)


@kernel
def greedy_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Count the play and its reward."""
    return a, pairs_play(level, b, slot, reward)


@kernel
def greedy_check(level: Level, a: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """No child has earned more than 1 a play."""
    return pairs_sound(level, 0)


@kernel
def greedy_change(level: Level, m: int, slot: int, a: float, b: float, tau: int) -> tuple[float, float]:
    """A fresh child has no reward yet, so it is played next."""
    pairs_change(level, m, slot, 0.0)
    return a, b


@dataclass(frozen=True, repr=False)
class EpsilonGreedy(Routine):
    """Epsilon-greedy at one level.

    Parameters
    ----------
    epsilon
        The probability of a uniform random child, in [1e-300, 1].
    decay
        c: the probability is min(1, c N / t) in choice t instead, in (0, 1e10].

    Examples
    --------
    >>> EpsilonGreedy().words(20)
    40
    """

    epsilon: float = 0.1
    decay: float | None = None

    name: ClassVar[str] = "epsilon-greedy"
    words_each: ClassVar[int] = 2
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(pairs_start, greedy_select, greedy_update, greedy_check, change=greedy_change)

    def __post_init__(self) -> None:
        self._keep(epsilon=between("epsilon", self.epsilon, *SHARE_RANGE))
        self.check(decay=RATE_RANGE)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        if self.decay is None:
            return {"epsilon": self.epsilon}
        return {"decay": self.decay}

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return self.epsilon, self.decay or 0.0
