"""Rewards of 0 or 1; one arm is slightly better than all others: the hard case of the lower bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import coin, key, seed_of
from hlmc.checks import share, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits

KEY, ARM, HIGH, LOW = range(4)


@kernel
def one_good_arm_mean(spec: Array, t: int, arm: int) -> float:
    """The mean of the good arm or of the others."""
    return spec[HIGH] if arm == int(spec[ARM]) else spec[LOW]  # type: ignore[no-any-return]


@kernel
def one_good_arm(spec: Array, t: int, arm: int) -> float:
    """1 with the probability of the good arm or of the others."""
    return coin(bits(spec, KEY), t, arm, one_good_arm_mean(spec, t, arm))


@dataclass(frozen=True, repr=False)
class OneGoodArm(Adversary):
    """One arm pays 1 with probability ``high``, all others with probability ``low``, independently at every step.

    With a gap of order sqrt(K / T), every learner has regret of order sqrt(K T) for some position of the good arm.
    No list of means is stored, so there can be a billion arms.

    Parameters
    ----------
    arms
        K, the number of arms.
    arm
        The good arm.
    high, low
        The two probabilities, in [0, 1].
    seed
        Seed of the rewards.

    Examples
    --------
    >>> OneGoodArm(arms=10**9, arm=7, high=1.0, low=0.0).rewards(0, 1, 5, 10).tolist()
    [[0.0, 0.0, 1.0, 0.0, 0.0]]

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund and R. E. Schapire, "The nonstochastic multiarmed bandit problem",
    SIAM J. Computing 32 (2002), the proof of the lower bound.
    """

    arms: int
    arm: int = 0
    high: float = 0.55
    low: float = 0.5
    seed: int = 0

    rule = staticmethod(one_good_arm)
    mean_rule = staticmethod(one_good_arm_mean)
    binary = True

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1))
        self._keep(arm=whole("arm", self.arm, 0, self.arms - 1), seed=seed_of(self.seed))
        self._keep(high=share("high", self.high), low=share("low", self.low))

    @cached_property
    def spec(self) -> Array:
        return packed(key(self.seed, "OneGoodArm", "coin"), self.arm, self.high, self.low)
