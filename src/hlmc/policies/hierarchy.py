"""HLMC: hierarchical learning with memory constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hlmc import bounds, planning
from hlmc.errors import BadArgument, BadType, fraction, whole
from hlmc.policies.tree import TreePolicy
from hlmc.routines import EXP3, EXP3P, EXP3S, routine
from hlmc.routines.base import Routine

UNKNOWN = "unknown"


@dataclass(frozen=True, repr=False)
class HLMC(TreePolicy):
    """Group the arms in a tree and the time in nested epochs; learn at every level, forget below when an epoch ends.

    D levels keep N_1 + ... + N_D numbers for K <= N_1 ... N_D arms, and lose of the order of T^(1 - 1/(2D)) to the best
    arm.
    Say how the tree is to be: by ``memory``, by ``groups`` or by ``levels``.

    Parameters
    ----------
    arms
        K.
    memory
        M: the planner picks the split with the least bound in at most M words of statistics, or, where no bound is
        below the horizon, the one with the fewest levels.
    groups
        (N_1, ..., N_D), top first.
    levels
        D: N_d = K^(1/D), rounded up.
    horizon
        T, or None when it is not known: the tree starts afresh in stages of 2^r steps.
    delta
        EXP3.P on every level: regret that is small with probability 1 - delta (Theorem 2).
    switches
        V: EXP3.S at the top and EXP3 below, to keep up with a benchmark of V constant pieces (Theorem 3).
        ``"unknown"``: Theorem 4.
    routines
        The routine of each level, top first, by name or as an object that carries its own parameters; one for all.
    epochs
        (S_1, ..., S_D): how often each level chooses before it starts afresh (with unknown horizon S_1 is what a stage
        needs); with two levels, one number, the epoch length Delta.
    first_stage
        With unknown horizon, the first stage takes 2^first_stage steps.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.HLMC(arms=100, memory=20, horizon=10**7)
    >>> policy.words.statistics, policy.plan.groups, policy.plan.lengths
    (20, (10, 10), (3163, 1))
    >>> hlmc.HLMC(arms=10**9, levels=2, horizon=10**9).words.statistics
    63246
    >>> hlmc.HLMC(arms=16, levels=2, horizon=10**6, switches=10).plan.routines
    ('exp3s', 'exp3')

    References
    ----------
    Xu and Zhao, "Memory-Constrained No-Regret Learning in Adversarial Multi-Armed Bandits", IEEE Trans. Signal
    Processing, 2021: Algorithm 1, Theorems 1-5.
    """

    arms: int
    memory: int | None = None
    groups: tuple[int, ...] | None = None
    levels: int | None = None
    horizon: int | None = None
    delta: float | None = None
    switches: int | str | None = None
    routines: tuple[str | Routine, ...] | str | Routine | None = None
    epochs: tuple[int, ...] | int | None = None
    first_stage: int = 0

    def __post_init__(self) -> None:
        self._set(arms=whole("arms", self.arms, 1))
        if self.horizon is not None:
            self._set(horizon=whole("horizon", self.horizon, 1))
        self._set(first_stage=whole("first_stage", self.first_stage, 0, 52))
        if sum(x is not None for x in (self.memory, self.groups, self.levels)) != 1:
            raise BadArgument("give exactly one of memory, groups and levels: it decides the tree")
        if sum(x is not None for x in (self.delta, self.switches, self.routines)) > 1:
            raise BadArgument("give at most one of delta, switches and routines: each decides the routines")
        if self.delta is not None:
            self._set(delta=fraction("delta", self.delta))
        if self.switches is not None and self.switches != UNKNOWN:
            self._set(switches=whole("switches", self.switches, 1, otherwise=' (or "unknown")'))
        for name in ("memory", "levels"):
            if getattr(self, name) is not None:
                self._set(**{name: whole(name, getattr(self, name), 1)})
        if isinstance(self.groups, Sequence):
            self._set(groups=tuple(whole("groups", n, 1) for n in self.groups))
        elif self.groups is not None:
            raise BadType(f"groups must be a tuple of whole numbers such as (10, 10), not {self.groups!r}")
        if isinstance(self.routines, list):
            self._set(routines=tuple(self.routines))
        _ = self.groups_used, self.routines_used
        self._check_epochs()

    def _check_epochs(self) -> None:
        depth = len(self.groups_used)
        if self.epochs is None:
            return
        if isinstance(self.epochs, Sequence):
            self._set(epochs=tuple(whole("epochs", s, 1) for s in self.epochs))
            if len(self.epochs) != depth:
                raise BadArgument(f"epochs must be {depth} numbers, one a level, not {self.epochs!r}")
            if self.horizon is not None and math.prod(self.epochs) < self.horizon:
                raise BadArgument(
                    f"epochs must have a product of at least horizon = {self.horizon}, not {self.epochs!r}"
                )
        else:
            self._set(epochs=whole("epochs", self.epochs, 1))
            if depth != 2:
                raise BadArgument(
                    f"epochs must be {depth} numbers, one a level, not {self.epochs!r}: one number is for D = 2"
                )

    @cached_property
    def groups_used(self) -> tuple[int, ...]:
        if self.memory is not None:
            given = planning.choose_split(self.arms, self.memory, self.horizon)
        elif self.levels is not None:
            given = planning.even_groups(self.arms, self.levels)
        else:
            assert self.groups is not None
            given = self.groups
        sizes = planning.sizes(self.arms, given)
        above = (self.arms, *sizes)
        real = tuple(-(-a // s) for a, s in zip(above, sizes, strict=False))
        return tuple(n for n in real if n > 1) or (1,)

    @cached_property
    def routines_used(self) -> tuple[Routine, ...]:
        depth = len(self.groups_used)
        if self.routines is not None:
            given = self.routines if isinstance(self.routines, tuple) else (self.routines,) * depth
            if len(given) != depth:
                raise BadArgument(f"routines must be {depth} names, one a level, top first, not {given!r}")
            return tuple(routine(r) for r in given)
        if self.delta is not None:
            return (EXP3P(),) * depth
        if self.switches is not None:
            return (EXP3S(), *(EXP3(),) * (depth - 1))
        return (EXP3(),) * depth

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        if isinstance(self.epochs, int):
            length = min(self.epochs, horizon)
            return -(-horizon // length), length
        if self.epochs is not None and self.horizon is not None:
            return self.epochs
        if self.epochs is not None:
            return -(-horizon // math.prod(self.epochs[1:])), *self.epochs[1:]
        return super().epochs_used(horizon)

    @property
    def told_switches(self) -> int:
        return self.switches if isinstance(self.switches, int) else 1

    @property
    def told_delta(self) -> float:
        return self.delta or 0.05

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        depth, K = len(self.groups_used), self.arms
        even = depth < 4 and self.groups_used == planning.even_groups(K, depth)
        if self.epochs is not None or self.routines is not None:
            return super()._stage_bound(horizon, switches)
        if self.delta is not None:
            if self.horizon is None:
                return None
            if depth == 1:
                return bounds.lemma_4(horizon, K, self.delta)
            return bounds.theorem_2(horizon, K, self.delta) if depth == 2 and even else None
        if self.switches is not None:
            return self._shifting_bound(horizon, switches, even)
        if depth == 1:
            return bounds.lemma_3(horizon, K)
        if even:
            return bounds.theorem_1(horizon, K) if depth == 2 else bounds.theorem_5(horizon, K)
        return bounds.hierarchy(horizon, self.groups_used)

    def _shifting_bound(self, horizon: int, switches: int | None, even: bool) -> float | None:
        depth, K = len(self.groups_used), self.arms
        if self.switches == UNKNOWN:
            return bounds.theorem_4(horizon, K, switches) if depth == 2 and even and switches else None
        V = self.told_switches
        if (switches or V) > V:
            return None
        if depth == 1:
            return bounds.lemma_5(horizon, K, V)
        return bounds.theorem_3(horizon, K, V) if depth == 2 and even and horizon >= V * K else None
