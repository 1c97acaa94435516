"""Rewards of 0 or 1 with uniform random means, for any number of arms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import coin, fork, key, seed_of
from hlmc.checks import share, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.engine.stream import unit
from hlmc.errors import BadArgument, shown

COIN, MEAN, LOW, SPAN = range(4)


@kernel
def uniform_mean(spec: Array, t: int, arm: int) -> float:
    """The mean of the arm."""
    return spec[LOW] + spec[SPAN] * unit(fork(bits(spec, MEAN), arm))  # type: ignore[no-any-return]


@kernel
def uniform_means(spec: Array, t: int, arm: int) -> float:
    """1 with probability ``mean`` of the arm, else 0."""
    return coin(bits(spec, COIN), t, arm, uniform_mean(spec, t, arm))


@dataclass(frozen=True, repr=False)
class UniformMeans(Adversary):
    """Each arm pays 1 with a fixed probability, drawn uniformly between ``low`` and ``high``.

    The mean of an arm is a hash of its index, so a billion arms need no list. The best of K arms is
    within about (high - low) / K of ``high``. Good arms are frequent: finding one of the best 1 % takes about
    a hundred tries.

    Parameters
    ----------
    arms
        K, the number of arms.
    low, high
        The range of the means, within [0, 1].
    seed
        Seed of the means and rewards.

    Examples
    --------
    >>> adversary = UniformMeans(arms=10**9, seed=1)
    >>> round(adversary.mean(0), 4), round(adversary.mean(10**9 - 1), 4)
    (0.4713, 0.2712)

    References
    ----------
    D. A. Berry, R. W. Chen, A. Zame, D. C. Heath and L. A. Shepp, "Bandit problems with infinitely many
    arms", Annals of Statistics 25 (1997).
    """

    arms: int
    low: float = 0.0
    high: float = 1.0
    seed: int = 0

    rule = staticmethod(uniform_means)
    mean_rule = staticmethod(uniform_mean)
    binary = True

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1), seed=seed_of(self.seed))
        self._keep(low=share("low", self.low), high=share("high", self.high))
        if self.low > self.high:
            raise BadArgument(f"low must be at most high, not {shown(self.low)} with high {self.high!r}")

    def mean(self, arm: int) -> float:
        """The mean reward of an arm."""
        arm = whole("arm", arm, 0, self.arms - 1)
        with np.errstate(over="ignore"):
            drawn = unit(fork(key(self.seed, "UniformMeans", "mean"), arm))
        return self.low + (self.high - self.low) * drawn

    @cached_property
    def spec(self) -> Array:
        keys = (key(self.seed, "UniformMeans", purpose) for purpose in ("coin", "mean"))
        return packed(*keys, self.low, self.high - self.low)
