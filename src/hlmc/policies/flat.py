"""Policies with all the memory they want: one routine over all K arms. Each is HLMC with a single level."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

from hlmc import bounds, routines
from hlmc.checks import fraction, whole
from hlmc.guarantee import Guarantee
from hlmc.policies.tree import TreePolicy
from hlmc.routines.base import Routine


class FlatPolicy(TreePolicy):
    """A routine over all arms. Its parameters are fields of the same names here and there."""

    routine_class: ClassVar[type[Routine]]

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1))
        if self.horizon is not None:
            self._keep(horizon=whole("horizon", self.horizon, 1))
        self._adopt(self.routines_used[0])

    @property
    def groups_used(self) -> tuple[int, ...]:
        return (self.arms,)

    @cached_property
    def routines_used(self) -> tuple[Routine, ...]:
        cls = self.routine_class
        return (cls(**{f.name: getattr(self, f.name) for f in fields(cls)}),)

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        return (horizon,)


@dataclass(frozen=True, repr=False)
class Uniform(FlatPolicy):
    """Every arm with the same probability, always: no memory, no learning.

    Guarantee
    ---------
    None: its regret grows linearly.

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
    """EXP3 over all arms: expected weak regret of at most 2 sqrt(2 T K ln K) against any adversary (Lemma 3).

    Parameters
    ----------
    arms
        K.
    horizon
        T, or None when it is not known: stages of 2^r steps, each from scratch.
    gamma
        Share of uniform play, in [1e-300, 1]. Default: sqrt(K ln K / (2 T)), cut off at 1.

    Guarantee
    ---------
    Expected weak regret by Lemma 3, or by Theorem 3.1 of the reference for a gamma of your own, against every sequence
    of rewards that is fixed in advance. Single runs can lose more; a best arm that changes is not kept up with.

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
    routine_class: ClassVar[type[Routine]] = routines.EXP3


@dataclass(frozen=True, repr=False)
class EXP3P(FlatPolicy):
    """EXP3.P over all arms: weak regret of at most 5.15 sqrt(K T ln(K/delta)) with probability 1 - delta (Lemma 4).

    Parameters
    ----------
    arms, horizon
        K and T (None: not known).
    delta
        The probability with which the bound may fail, in (0, 1).
    eta, gamma, beta
        Override what Lemma 4 chooses.

    Guarantee
    ---------
    Weak regret of a single run, with probability 1 - delta, by Lemma 4: for a horizon that is known, and parameters
    that are the lemma's. Otherwise nothing is claimed here.

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

    @property
    def told_delta(self) -> float:
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
        if (self.eta, self.gamma, self.beta) != (None, None, None) or self.horizon is None:
            return None
        return bounds.lemma_4(horizon, self.arms, self.delta)


@dataclass(frozen=True, repr=False)
class EXP3S(FlatPolicy):
    """EXP3.S over all arms: expected shifting regret of at most 4 sqrt(V K T ln(K T)) (Lemma 5).

    Parameters
    ----------
    arms, horizon
        K and T (None: not known).
    switches
        V, the hardness of the sequence to keep up with: one more than its number of changes. None: not told, V = 1.
    gamma, alpha
        Override what Lemma 5 chooses.

    Guarantee
    ---------
    Expected shifting regret against every benchmark of hardness at most V by Lemma 5, when V is told and the parameters
    are the lemma's. Otherwise nothing is claimed here.

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
        if self.switches is not None:
            self._keep(switches=whole("switches", self.switches, 1))
        super().__post_init__()

    @property
    def told_switches(self) -> int:
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
            return "a bound: Lemma 5 is for a V that is told"
        if self.bound(self.horizon or 1) is None:
            return "a bound: these are not the parameters of Lemma 5"
        return "regret of single runs, more changes than told, rewards that react to the play"

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        overridden = self.gamma is not None or self.alpha is not None
        if overridden or self.switches is None or (switches or self.switches) > self.switches:
            return None
        return bounds.lemma_5(horizon, self.arms, self.switches)


@dataclass(frozen=True, repr=False)
class UCB1(FlatPolicy):
    """UCB1 over all arms, for stochastic rewards; nothing is promised against an adversary.

    Parameters
    ----------
    arms
        K.
    ties
        ``"random"``, ``"first"`` or ``"last"``: which of several arms with the same index is played.

    Guarantee
    ---------
    When each arm's rewards are independent draws with a fixed mean: expected regret of at most
    sum_i (8 ln T / D_i + (1 + pi^2 / 3) D_i) over the arms that are worse than the best, by D_i (Theorem 1 of the
    reference). Against an adversary nothing: its regret can be linear.

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
    routine_class: ClassVar[type[Routine]] = routines.UCB1
    horizon: ClassVar[None] = None  # type: ignore[misc]  # it needs none

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "on independent rewards with fixed means, expected regret of at most "
            "sum_i (8 ln T / D_i + (1 + pi^2 / 3) D_i) over the arms that are worse than the best by D_i > 0",
            "Auer, Cesa-Bianchi and Fischer (2002), Theorem 1",
            lost="rewards set by an adversary: the regret can be linear",
        )


@dataclass(frozen=True, repr=False)
class EXP3Loss(FlatPolicy):
    """EXP3 on losses over all arms: expected weak regret of at most sqrt(2 T K ln K), half of the gain form's bound.

    Parameters
    ----------
    arms, horizon
        K and T (None: not known).
    eta
        Learning rate. Default: sqrt(2 ln K / (K T)).

    Guarantee
    ---------
    Expected weak regret of at most ln K / eta + eta K T / 2 against every sequence of rewards that is fixed in advance
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
    routine_class: ClassVar[type[Routine]] = routines.EXP3Loss


@dataclass(frozen=True, repr=False)
class EXP3IX(FlatPolicy):
    """EXP3-IX over all arms: the loss form with implicit exploration, whose regret is small with high probability.

    Parameters
    ----------
    arms, horizon
        K and T (None: not known).
    eta
        Learning rate. Default: sqrt(2 ln(K + 1) / (K T)).

    Guarantee
    ---------
    Weak regret of a single run with any probability that one asks for (``hlmc.bounds.exp3_ix``), and so in expectation,
    against every sequence of rewards that is fixed in advance; for the default eta and a known horizon.

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
    routine_class: ClassVar[type[Routine]] = routines.EXP3IX

    @property
    def guarantee(self) -> Guarantee:
        known = super().guarantee
        if not known.proved or self.horizon is None:
            return known
        bound = bounds.exp3_ix(self.horizon, self.arms, 0.05)
        proved = f"{known.proved}; with probability 0.95, of a single run, at most {bound:,.0f}"
        return replace(known, proved=proved, lost="a best arm that changes, rewards that react to the play")


@dataclass(frozen=True, repr=False)
class TsallisINF(FlatPolicy):
    """Tsallis-INF over all arms: regret of order sqrt(K T) against any adversary, logarithmic on stochastic rewards.

    It needs no horizon. Losses are kept as differences: K - 1 words.

    Parameters
    ----------
    arms
        K.
    estimator
        ``"reduced-variance"`` or ``"importance-weighted"``.

    Guarantee
    ---------
    Best of both worlds, at any time and untold. Against every sequence of rewards that is fixed in advance, expected
    weak regret of at most 4 sqrt(K T) + 1 (importance-weighted) or 2 sqrt(K T) + 10 K ln T + 16 (reduced-variance); on
    independent rewards with fixed means and one best arm, of order sum_i ln T / D_i (the reference's Theorem 1).
    Single runs can lose more; a best arm that changes is not kept up with.

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
    routine_class: ClassVar[type[Routine]] = routines.TsallisINF
    horizon: ClassVar[None] = None  # type: ignore[misc]  # it needs none

    @property
    def guarantee(self) -> Guarantee:
        known = super().guarantee
        stochastic = "on independent rewards with fixed means and one best arm, of order sum_i ln T / D_i"
        return replace(known, proved=f"{known.proved}; {stochastic}")
