"""HLMC with a crown: the champion's idea in a form that has a theorem. See docs/champion.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from hlmc import bounds, planning
from hlmc.checks import whole
from hlmc.engine.layout import LEVEL_CONTROL
from hlmc.engine.structures import CROWN_TREE, Structure
from hlmc.policies.base import Words
from hlmc.policies.tree import TreePolicy
from hlmc.routines import TsallisINF
from hlmc.routines.base import LevelContext, Routine


@dataclass(frozen=True, repr=False)
class CrownedHLMC(TreePolicy):
    """HLMC in which one arm, the crowned one, is kept across epochs and played as one more group of the top level.

    When an epoch of a group has paid clearly more than the crowned arm's last one, the group's best arm takes the
    crown. All levels run Tsallis-INF, whose losses are kept as differences: the crown costs no word more than HLMC has.

    Parameters
    ----------
    arms
        K.
    memory
        M: as few levels as at most M words allow. Default: two levels, about 2 sqrt(K) words.
    horizon
        T, or None when it is not known: the tree starts afresh in stages of 2^r steps, the crown stays.
    estimator
        ``"importance-weighted"`` (default) or ``"reduced-variance"`` (the smaller bound from horizons of about 10^6 on,
        and less regret in nearly all that was measured).

    Guarantee
    ---------
    Against every sequence of rewards that is fixed in advance: with two levels, expected weak regret of at most
    D R(L + 1, S) + S R(N, D) for S = ceil(T / D) epochs of D steps, R being the bound of Tsallis-INF
    (:func:`hlmc.bounds.tsallis_iw_sharp`, :func:`hlmc.bounds.tsallis_rv_sharp`); and expected regret of at most
    D R(L + 1, S) to the crowned arms themselves. Both are proved in ``docs/champion.md``, whatever the rule by which
    the crown is passed on, at any depth. It loses several times what :class:`Champion <hlmc.Champion>` does on most of
    what was measured.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.CrownedHLMC(arms=100, memory=20, horizon=10**7)
    >>> policy.words.statistics, policy.plan.groups, round(policy.bound())
    (20, (11, 10), 3532332)

    References
    ----------
    Xu and Zhao (2021) for the tree; Zimmert and Seldin, "Tsallis-INF: An optimal algorithm for stochastic and
    adversarial bandits", JMLR 22 (2021), for the routine.
    """

    arms: int
    memory: int | None = None
    horizon: int | None = None
    estimator: str = "importance-weighted"

    structure: ClassVar[Structure] = CROWN_TREE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(arms=whole("arms", self.arms, 1))
        for name in ("memory", "horizon"):
            if getattr(self, name) is not None:
                self._keep(**{name: whole(name, getattr(self, name), 1)})
        _ = self.groups_used, self.routines_used
        self._check_dynamic()

    @cached_property
    def groups_used(self) -> tuple[int, ...]:
        if self.memory is None:
            return planning.even_groups(self.arms, min(2, planning.deepest(self.arms)))
        return planning.tight_depth(self.arms, self.memory)[1]

    @cached_property
    def routines_used(self) -> tuple[Routine, ...]:
        return (TsallisINF(estimator=self.estimator),) * len(self.groups_used)

    def _contexts(self, horizon: int, epochs: tuple[int, ...] | None = None) -> list[LevelContext]:
        top, *below = super()._contexts(horizon, epochs)
        # With one level there is no group that the crown could be one more of.
        return [replace(top, children=top.children + 1) if below else top, *below]

    @property
    def level_words(self) -> tuple[int, ...]:
        *above, last = (context.children - 1 for context in self._contexts(1))
        return (*above, last + 1)

    @property
    def words(self) -> Words:
        # The crowned arm's name lies among the words of the header.
        control = self.structure.header_words - 1 + LEVEL_CONTROL * len(self.groups_used)
        return Words(sum(self.level_words), control + self.window_words)

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        lost = bounds.tsallis_iw_sharp if self.estimator == "importance-weighted" else bounds.tsallis_rv_sharp
        total, runs = 0.0, 1
        for level in self.levels_at(horizon):
            total += runs * level.length * lost(level.context.choices, level.context.children)
            runs *= level.context.choices
        return total

    @property
    def _proof(self) -> str:
        return "Theorem 3 of docs/champion.md"

    @property
    def _measured(self) -> str:
        part = "0.2 to 0.4" if self.estimator == "importance-weighted" else "0.1 to 0.25"
        return f"{part} of HLMC's regret on most adversaries tried, 0.8 or more where gaps are small (docs/champion.md)"
