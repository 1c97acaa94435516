"""Thompson sampling and epsilon-greedy over all arms: well-known baselines for stochastic bandits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlmc import routines
from hlmc.guarantee import Guarantee
from hlmc.policies.flat import FlatPolicy
from hlmc.routines.base import Routine

_STOCHASTIC = "on independent rewards with fixed means, "
_ADVERSARY = "rewards set by an adversary: the regret can be linear"


@dataclass(frozen=True, repr=False)
class Thompson(FlatPolicy):
    """Thompson sampling over all arms: play the arm whose mean, drawn from its Beta posterior, is largest.

    The prior is uniform, Beta(1, 1). A reward r between 0 and 1 counts as a success with probability r and as a failure
    otherwise (Algorithm 2 of the reference). ``probability`` is NaN: it is an integral over all posteriors, which is
    not computed. Tickets (``pending``) and bandits in a database need it and are refused. It runs on processors only; a
    step takes time proportional to K.

    Parameters
    ----------
    arms
        K, the number of arms.

    Guarantee
    ---------
    If the rewards of each arm are independent with a fixed mean: expected regret of order sqrt(K T ln T), and of order
    sum_i ln T / D_i for gaps D_i to the best arm (Agrawal and Goyal, 2013). Against an adversary, none.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.Thompson(arms=20)
    >>> learner = policy.start(seed=1)
    >>> learner.update(float(learner.select() == 7))
    >>> policy.words.statistics, learner.probability
    (40, nan)

    References
    ----------
    Agrawal and Goyal, "Analysis of Thompson sampling for the multi-armed bandit problem", COLT 2012; "Further optimal
    regret bounds for Thompson sampling", AISTATS 2013.
    """

    arms: int
    routine_class: ClassVar[type[Routine]] = routines.Thompson
    horizon: ClassVar[None] = None  # type: ignore[misc]  # it needs none

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            f"{_STOCHASTIC}expected regret of order sqrt(K T ln T)",
            "Agrawal and Goyal (2013), Theorem 2",
            lost=_ADVERSARY,
        )


@dataclass(frozen=True, repr=False)
class EpsilonGreedy(FlatPolicy):
    """Epsilon-greedy over all arms: the best mean so far, and with probability epsilon a uniform random arm.

    An arm without a reward counts as the best. Of arms with equal means the first is played.

    Parameters
    ----------
    arms
        K, the number of arms.
    epsilon
        The probability of a uniform random arm, in [1e-300, 1].
    decay
        c: the probability is min(1, c K / t) in step t, and ``epsilon`` is not used.

    Guarantee
    ---------
    If the rewards of each arm are independent with a fixed mean and ``decay`` is larger than 5 / D^2, where D is the
    smallest gap to the best arm: expected regret of order K ln T (Theorem 3 of the reference). With a constant epsilon
    the regret is linear, about epsilon times the mean gap. Against an adversary, none.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.EpsilonGreedy(arms=20, epsilon=0.05)
    >>> learner = policy.start(seed=1)
    >>> policy.words.statistics, learner.select(), round(learner.probability, 4)
    (40, 0, 0.9525)

    References
    ----------
    Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning, 2002.
    """

    arms: int
    epsilon: float = 0.1
    decay: float | None = None
    routine_class: ClassVar[type[Routine]] = routines.EpsilonGreedy
    horizon: ClassVar[None] = None  # type: ignore[misc]  # it needs none

    @property
    def guarantee(self) -> Guarantee:
        if self.decay is None:
            return Guarantee(lost=f"everything: it explores for ever, and its regret is linear; {_ADVERSARY}")
        return Guarantee(
            f"{_STOCHASTIC}expected regret of order K ln T if decay > 5 / D^2 for the least gap D to the best arm",
            "Auer, Cesa-Bianchi and Fischer (2002), Theorem 3",
            lost=_ADVERSARY,
        )
