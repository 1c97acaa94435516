"""Flat policies: one routine over all K arms, with memory for all of them. Each is a hierarchy with one level."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

from hlmc import bounds, routines
from hlmc.checks import fraction, whole
from hlmc.guarantee import Guarantee, most_in
from hlmc.policies.tree import TreePolicy
from hlmc.routines.base import Routine


class FlatPolicy(TreePolicy):
    """A routine over all arms. The policy has the fields of the routine, under the same names."""

    routine_class: ClassVar[type[Routine]]
    bits: ClassVar[int] = 64
    """Bits of a statistic; a field of the policies that offer fewer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(arms=whole("arms", self.arms, 1))
        self._keep_given(whole, "horizon", least=1)
        self._adopt(self.routines_used[0])
        self._check_dynamic()

    @property
    def groups_used(self) -> tuple[int, ...]:
        return (self.arms,)

    @cached_property
    def routines_used(self) -> tuple[Routine, ...]:
        cls = self.routine_class
        plain = cls(**{f.name: getattr(self, f.name) for f in fields(cls)})
        return (routines.coded(plain, self.bits),)

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        return (horizon,)


@dataclass(frozen=True, repr=False)
class Uniform(FlatPolicy):
    """Uniform random choice: no memory, no learning.

    Parameters
    ----------
    arms
        K.
    horizon
        T; it has no effect.

    Guarantee
    ---------
    None: the regret grows linearly.

    Examples
    --------
    >>> import hlmc
    >>> hlmc.Uniform(arms=10).words.statistics
    0
    """

    arms: int
    horizon: int | None = None
    routine_class: ClassVar[type[Routine]] = routines.Uniform

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(lost="everything: it earns the mean over all arms, and its regret grows linearly")


@dataclass(frozen=True, repr=False)
class EXP3(FlatPolicy):
    """EXP3 over all arms: expected weak regret at most 2 sqrt(2 T K ln K) against any adversary (Lemma 3).

    Parameters
    ----------
    arms
        K, the number of arms.
    horizon
        T, or None if unknown: the policy restarts in stages of 2^r steps.
    gamma
        Probability of uniform exploration, in [1e-300, 1]. Default: min(1, sqrt(K ln K / (2 T))).
    bits
        Bits of a statistic: 64, or 4 to 32 (``docs/research/bits.md``).

    Guarantee
    ---------
    Expected weak regret against any oblivious adversary, by Lemma 3 or, for your own gamma, by Theorem 3.1 of the
    reference. Single runs can lose more. Shifting regret is not bounded.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.EXP3(arms=100, horizon=10**6)
    >>> policy.words.statistics, round(policy.bound())
    (100, 60697)

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire, "The nonstochastic multiarmed bandit problem", SIAM J. Computing, 2002.
    """

    arms: int
    horizon: int | None
    gamma: float | None = None
    bits: int = 64  # type: ignore[misc]  # a field here
    routine_class: ClassVar[type[Routine]] = routines.EXP3


@dataclass(frozen=True, repr=False)
class EXP3P(FlatPolicy):
    """EXP3.P over all arms: weak regret at most 5.15 sqrt(K T ln(K/delta)) with probability 1 - delta (Lemma 4).

    Parameters
    ----------
    arms, horizon
        K and T (None: unknown).
    delta
        The probability that the bound fails, in (0, 1).
    eta, gamma, beta
        Override the values of Lemma 4.

    Guarantee
    ---------
    Weak regret of a single run with probability 1 - delta, by Lemma 4, if the horizon is known and the parameters
    are those of the lemma. Otherwise there is no bound.

    Examples
    --------
    >>> import hlmc
    >>> round(hlmc.EXP3P(arms=100, horizon=10**6, delta=0.05).bound())
    141984

    References
    ----------
    Bubeck and Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit problems", 2012.
    """

    arms: int
    horizon: int | None
    delta: float = 0.05
    eta: float | None = None
    gamma: float | None = None
    beta: float | None = None
    routine_class: ClassVar[type[Routine]] = routines.EXP3P

    def __post_init__(self) -> None:
        self._keep(delta=fraction("delta", self.delta))
        super().__post_init__()

    _adds_up = False

    @property
    def assumed_delta(self) -> float:
        return self.delta

    @property
    def promised(self) -> str:  # type: ignore[override]
        return f"with probability at least {1 - self.delta:g}, weak regret"

    @property
    def _proof(self) -> str:
        return "Lemma 4 (Bubeck and Cesa-Bianchi, 2012, Theorem 3.2)"

    @property
    def _lost(self) -> str:
        if self.horizon is None:
            return "a bound for an unknown horizon: the failures of the stages would add up"
        if self.bound() is None:
            return "a bound: these are not the parameters of Lemma 4"
        return "a best arm that changes, rewards that react to the play"

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        if (self.eta, self.gamma, self.beta) != (None, None, None):
            return None
        return bounds.lemma_4(horizon, self.arms, self.delta)


@dataclass(frozen=True, repr=False)
class EXP3S(FlatPolicy):
    """EXP3.S over all arms: expected shifting regret at most 4 sqrt(V K T ln(K T)) (Lemma 5).

    Parameters
    ----------
    arms, horizon
        K and T (None: unknown).
    switches
        V, the hardness of the benchmark: its number of constant pieces, one more than its number of changes.
        None: unknown, the parameters assume V = 1.
    gamma, alpha
        Override the values of Lemma 5.

    Guarantee
    ---------
    Expected shifting regret against every benchmark of hardness at most V, by Lemma 5, if V is given and the
    parameters are those of the lemma. Otherwise there is no bound.

    Examples
    --------
    >>> import hlmc
    >>> round(hlmc.EXP3S(arms=16, horizon=10**6, switches=10).bound())
    206072

    References
    ----------
    Auer, Cesa-Bianchi, Freund and Schapire, "The nonstochastic multiarmed bandit problem", SIAM J. Computing, 2002.
    """

    arms: int
    horizon: int | None
    switches: int | None = None
    gamma: float | None = None
    alpha: float | None = None
    routine_class: ClassVar[type[Routine]] = routines.EXP3S

    def __post_init__(self) -> None:
        self._keep_given(whole, "switches", least=1)
        super().__post_init__()

    @property
    def assumed_switches(self) -> int:
        return self.switches or 1

    @property
    def promised(self) -> str:  # type: ignore[override]
        return f"expected shifting regret at hardness {self.switches}"

    @property
    def _proof(self) -> str:
        return "Lemma 5 (Auer et al., 2002, Corollary 8.3)"

    @property
    def _lost(self) -> str:
        if self.switches is None:
            return "a bound: Lemma 5 is for a known V"
        if self.bound(self.horizon or 1) is None:
            return "a bound: these are not the parameters of Lemma 5"
        return "regret of single runs, more changes than V allows, rewards that react to the play"

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        overridden = self.gamma is not None or self.alpha is not None
        if overridden or self.switches is None or (switches or self.switches) > self.switches:
            return None
        return bounds.lemma_5(horizon, self.arms, self.switches)


@dataclass(frozen=True, repr=False)
class UCB1(FlatPolicy):
    """UCB1 over all arms, for stochastic rewards. There is no guarantee against an adversary.

    Parameters
    ----------
    arms
        K, the number of arms.
    ties
        ``"random"``, ``"first"`` or ``"last"``: how ties between arms with the same index are broken.
    bits
        Bits of a statistic: 64, or 4 to 32. With fewer than 64 an arm has 2 ``bits`` bits for a probabilistic count and
        a mean that is rounded at random (``docs/research/bits.md``).

    Guarantee
    ---------
    With 64 bits, if the rewards of each arm are independent with a fixed mean: expected regret at most
    sum_i (8 ln T / D_i + (1 + pi^2 / 3) D_i) over the suboptimal arms, where D_i is the gap to the best arm
    (Theorem 1 of the reference). Against an adversary, none: the regret can be linear.

    Examples
    --------
    >>> import hlmc
    >>> hlmc.UCB1(arms=20).words.statistics
    40

    References
    ----------
    Auer, Cesa-Bianchi and Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning, 2002.
    """

    arms: int
    ties: str = "random"
    bits: int = 64  # type: ignore[misc]  # a field here
    routine_class: ClassVar[type[Routine]] = routines.UCB1
    horizon: ClassVar[None] = None  # type: ignore[misc]  # it needs none

    @property
    def guarantee(self) -> Guarantee:
        if self.bits < 64:
            return Guarantee(
                measured="about the regret of 64 bits from 12 bits on (docs/research/bits.md)",
                lost="a bound: the theorem is for exact counts and means; on rewards set by an adversary, everything",
            )
        return Guarantee(
            "on independent rewards with fixed means, expected regret of at most "
            "sum_i (8 ln T / D_i + (1 + pi^2 / 3) D_i) over the arms that are worse than the best by D_i > 0",
            "Auer, Cesa-Bianchi and Fischer (2002), Theorem 1",
            lost="rewards set by an adversary: the regret can be linear",
        )


@dataclass(frozen=True, repr=False)
class EXP3Loss(FlatPolicy):
    """EXP3 on losses over all arms: expected weak regret at most sqrt(2 T K ln K), half the bound of the gain form.

    Parameters
    ----------
    arms, horizon
        K and T (None: unknown).
    eta
        Learning rate. Default: sqrt(2 ln K / (K T)).
    bits
        Bits of a statistic: 64, or 4 to 32 (``docs/research/bits.md``).

    Guarantee
    ---------
    Expected weak regret at most ln K / eta + eta K T / 2 against any oblivious adversary
    (Bubeck and Cesa-Bianchi, 2012, Theorem 3.1). Single runs can lose more.

    Examples
    --------
    >>> import hlmc
    >>> round(hlmc.EXP3Loss(arms=100, horizon=10**6).bound())
    30349
    """

    arms: int
    horizon: int | None
    eta: float | None = None
    bits: int = 64  # type: ignore[misc]  # a field here
    routine_class: ClassVar[type[Routine]] = routines.EXP3Loss


@dataclass(frozen=True, repr=False)
class EXP3IX(FlatPolicy):
    """EXP3-IX over all arms: the loss form with implicit exploration, with regret bounded with high probability.

    Parameters
    ----------
    arms, horizon
        K and T (None: unknown).
    eta
        Learning rate. Default: sqrt(2 ln(K + 1) / (K T)).
    bits
        Bits of a statistic: 64, or 4 to 32 (``docs/research/bits.md``).

    Guarantee
    ---------
    Weak regret of a single run at any confidence level (``hlmc.bounds.exp3_ix``), and therefore in expectation,
    against any oblivious adversary, for the default eta and a known horizon. With fewer than 64 bits in expectation
    only (``hlmc.bounds.exp3_ix_coded``).

    Examples
    --------
    >>> import hlmc
    >>> hlmc.EXP3IX(arms=100, horizon=10**6).words.statistics
    100

    References
    ----------
    Neu, "Explore no more: improved high-probability regret bounds for non-stochastic bandits", NIPS 2015.
    """

    arms: int
    horizon: int | None
    eta: float | None = None
    bits: int = 64  # type: ignore[misc]  # a field here
    routine_class: ClassVar[type[Routine]] = routines.EXP3IX

    @property
    def guarantee(self) -> Guarantee:
        known = super().guarantee
        if not known.proved or self.horizon is None or self.bits < 64:
            return known  # of single runs, nothing is proved for codes
        bound = bounds.exp3_ix(self.horizon, self.arms, 0.05)
        proved = f"{known.proved}; with probability 0.95, of a single run, {most_in(bound, self.horizon)}"
        return replace(known, proved=proved, lost="a best arm that changes, rewards that react to the play")


@dataclass(frozen=True, repr=False)
class TsallisINF(FlatPolicy):
    """Tsallis-INF over all arms: regret of order sqrt(K T) against any adversary, logarithmic on stochastic rewards.

    It needs no horizon, and plays the same arms if it is told one. It stores differences of losses: K - 1 words.

    Parameters
    ----------
    arms
        K, the number of arms.
    estimator
        ``"reduced-variance"`` or ``"importance-weighted"``.
    bits
        Bits of a loss: 64, or 4 to 32. With fewer than 64 the losses are packed codes, ceil(K bits / 64) words in all,
        and learn by stochastic rounding (``docs/research/bits.md``).
    eta
        c, in [1e-6, 4]: the learning rate in step t is c / sqrt(t). Default: 4, or 2 with importance weighting, for
        which alone there is a bound.
    horizon
        T, if given: the learner stops there, or goes on unchanged
        (``after="continue"``).

    Guarantee
    ---------
    Best of both worlds, anytime, without knowing which. Against any oblivious adversary, expected weak regret at most
    4 sqrt(K T) (importance-weighted) or 2 sqrt(K T) + O(K ln T) (reduced-variance), with the constants of
    ``hlmc.bounds.tsallis_iw_sharp`` and ``tsallis_rv_sharp``. On independent rewards with fixed means and a unique best
    arm, of order sum_i ln T / D_i (Theorem 1 of the reference).
    Single runs can lose more. Shifting regret is not bounded.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.TsallisINF(arms=100)
    >>> policy.words.statistics, policy.horizon
    (99, None)

    References
    ----------
    Zimmert and Seldin, "Tsallis-INF: An optimal algorithm for stochastic and adversarial bandits", JMLR 22 (2021).
    """

    arms: int
    estimator: str = "reduced-variance"
    bits: int = 64  # type: ignore[misc]  # a field here
    eta: float | None = None
    horizon: int | None = None
    routine_class: ClassVar[type[Routine]] = routines.TsallisINF

    @property
    def guarantee(self) -> Guarantee:
        known = super().guarantee
        if self.bits < 64 or not known.proved:
            return known  # of the other regime, nothing is proved for codes
        stochastic = "on independent rewards with fixed means and one best arm, of order sum_i ln T / D_i"
        return replace(known, proved=f"{known.proved}; {stochastic}")
