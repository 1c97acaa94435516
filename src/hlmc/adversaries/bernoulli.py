"""Rewards of 0 or 1 from fixed means: the stochastic bandit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hlmc.adversaries.base import Adversary, Array
from hlmc.adversaries.chance import coin, key, seed_of
from hlmc.checks import one_an_arm
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits

KEY, MEANS = 0, 1


@kernel
def bernoulli_mean(spec: Array, t: int, arm: int) -> float:
    """The mean of the arm."""
    return spec[MEANS + arm]  # type: ignore[no-any-return]


@kernel
def bernoulli(spec: Array, t: int, arm: int) -> float:
    """1 with probability ``mean`` of the arm, else 0."""
    return coin(bits(spec, KEY), t, arm, spec[MEANS + arm])


@dataclass(frozen=True, repr=False)
class Bernoulli(Adversary):
    """Each arm pays 1 with a fixed probability, independently of other steps and arms.

    The means are a list. For very many arms, use :class:`OneGoodArm` or :class:`UniformMeans`.

    Parameters
    ----------
    means
        The probability of each arm, in [0, 1].
    seed
        Seed of the rewards.

    Examples
    --------
    >>> Bernoulli([0.0, 0.5, 1.0]).rewards(0, 4).tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    >>> Bernoulli([0.5, 1.5])
    Traceback (most recent call last):
    hlmc.errors.BadArgument: means[1] must be a number in [0, 1], not 1.5

    References
    ----------
    T. L. Lai and H. Robbins, "Asymptotically efficient adaptive allocation rules", Adv. Appl. Math. 6 (1985).
    """

    means: tuple[float, ...]
    seed: int = 0
    arms: int = field(init=False, compare=False)

    rule = staticmethod(bernoulli)
    mean_rule = staticmethod(bernoulli_mean)
    binary = True

    def __post_init__(self) -> None:
        self._keep(means=one_an_arm("means", self.means, 0.0, 1.0, "[0, 1]"), seed=seed_of(self.seed))
        self._keep(arms=len(self.means))

    @cached_property
    def spec(self) -> Array:
        run = np.empty(1 + self.arms)
        run.view(np.uint64)[KEY] = key(self.seed, "Bernoulli", "coin")
        run[MEANS:] = self.means
        return run
