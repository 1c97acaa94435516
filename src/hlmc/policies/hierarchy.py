"""HLMC: hierarchical learning with memory constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hlmc import bounds, planning
from hlmc.checks import fraction, whole
from hlmc.errors import BadArgument, BadType, shown
from hlmc.guarantee import Guarantee, at_most
from hlmc.policies.tree import TreePolicy
from hlmc.routines import EXP3, EXP3P, EXP3S, canonical, coded, routine
from hlmc.routines.base import Routine
from hlmc.routines.coded import checked_bits, checked_or_auto

UNKNOWN = "unknown"
ADDRESSED = 2**60
"""A row of this many words (8 bytes each) exceeds the address space."""


@dataclass(frozen=True, repr=False)
class HLMC(TreePolicy):
    """Hierarchical learning with memory constraints: a tree of arms and nested epochs of time.

    Every level runs a bandit routine over its children. When an epoch ends, the levels below restart. D levels keep
    N_1 + ... + N_D numbers for K <= N_1 ... N_D arms, with weak regret of order T^(1 - 1/(2D)). Define the tree
    by exactly one of ``memory``, ``groups`` and ``levels``.

    Parameters
    ----------
    arms
        K, the number of arms.
    memory
        M: the planner takes the tree with the smallest bound in at most M words of statistics or, if all bounds are
        vacuous (at least T), the one with the fewest levels.
    groups
        (N_1, ..., N_D), top level first.
    levels
        D: N_d = ceil(K^(1/D)).
    horizon
        T, or None if unknown: the tree restarts in stages of 2^r steps.
    delta
        Use EXP3.P at every level: a bound that holds with probability 1 - delta (Theorem 2).
    switches
        V: use EXP3.S at the top and EXP3 below, for a benchmark of V constant pieces (Theorem 3).
        ``"unknown"``: Theorem 4.
    routines
        The routine of each level, top first, by name or as an object with its own parameters; or one for all levels.
    epochs
        (S_1, ..., S_D): the number of choices of each level before it restarts. If the horizon is unknown, S_1 is
        ignored and each stage uses as many as it needs. With two levels, a single number is the epoch length Delta.
    first_stage
        If the horizon is unknown, the first stage takes 2^first_stage steps.
    bits
        Bits of a statistic, 64 or 4 to 32: one number, or one per level, top first. With fewer than 64 the statistics
        are packed codes, and ``memory`` holds 64 / bits times as many (``docs/bits.md``). ``"auto"``: as many as are
        enough for all arms, if ``memory`` holds that, else 10 or fewer.

    Guarantee
    ---------
    Against any oblivious adversary:

    - By default, expected weak regret by Theorem 1 (two even levels), Theorem 5 (three even levels) or the formula of
      its proof (any other tree).
    - With ``delta``, weak regret with probability 1 - delta by Theorem 2, for two even levels and a known horizon.
    - With ``switches``, expected shifting regret by Theorems 3 and 4, for two even levels.
    - With ``routines`` or ``epochs``, the bounds of the levels combined, if every level has one.

    The bounds are often vacuous (larger than T). ``policy.guarantee`` shows the one that applies.

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
    bits: int | tuple[int, ...] | str = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(arms=whole("arms", self.arms, 1))
        self._keep_given(whole, "horizon", least=1)
        self._keep(first_stage=whole("first_stage", self.first_stage, 0, 52))
        if sum(x is not None for x in (self.memory, self.groups, self.levels)) != 1:
            raise BadArgument("give exactly one of memory, groups and levels: it decides the tree")
        if sum(x is not None for x in (self.delta, self.switches, self.routines)) > 1:
            raise BadArgument("give at most one of delta, switches and routines: each decides the routines")
        self._keep_given(fraction, "delta")
        if self.switches is not None and not (isinstance(self.switches, str) and self.switches == UNKNOWN):
            self._keep(switches=whole("switches", self.switches, 1, otherwise=' (or "unknown")'))
        self._keep_given(whole, "memory", "levels", least=1)
        if isinstance(self.groups, Sequence):
            self._keep(groups=tuple(whole("groups", n, 1) for n in self.groups))
        elif self.groups is not None:
            raise BadType(f"groups must be a tuple of whole numbers such as (10, 10), not {shown(self.groups)}")
        if isinstance(self.bits, Sequence) and not isinstance(self.bits, str):
            self._keep(bits=tuple(checked_bits(b) for b in self.bits))
            if self.memory is not None:
                raise BadArgument("bits must be one number for all levels where memory decides the tree")
        else:
            self._keep(bits=checked_or_auto(self.bits, self.memory))
        if isinstance(self.routines, (list, tuple)):
            self._keep(routines=tuple(map(canonical, self.routines)))
        elif isinstance(self.routines, str):
            self._keep(routines=canonical(self.routines))
        _ = self.routines_used
        self._check_epochs()
        self._check_dynamic()
        if (total := self.words.total) >= ADDRESSED:  # words of a user's own routine
            raise BadArgument(f"routines must keep fewer than 2^60 words for {self.arms} arms, not {total}")

    def _check_epochs(self) -> None:
        depth = len(self.groups_used)
        if self.epochs is None:
            return
        if isinstance(self.epochs, Sequence):
            self._keep(epochs=tuple(whole("epochs", s, 1) for s in self.epochs))
            if len(self.epochs) != depth:
                raise BadArgument(f"epochs must be {depth} numbers, one per level, not {shown(self.epochs)}")
            if self.horizon is not None and math.prod(self.epochs) < self.horizon:
                raise BadArgument(
                    f"epochs must have a product of at least horizon = {self.horizon}, not {shown(self.epochs)}"
                )
        else:
            self._keep(epochs=whole("epochs", self.epochs, 1))
            if depth != 2:
                raise BadArgument(
                    f"epochs must be {depth} numbers, one per level, not {shown(self.epochs)}: one number is for D = 2"
                )

    @cached_property
    def bits_used(self) -> int | tuple[int, ...]:
        """Bits of a statistic: one number, or one per level."""
        if not isinstance(self.bits, str):
            return self.bits
        assert self.memory is not None
        return planning.best_width(self.arms, self.memory, self.horizon)

    @cached_property
    def groups_used(self) -> tuple[int, ...]:
        if self.memory is not None:
            width = self.bits_used
            assert isinstance(width, int)
            given = planning.coded_split(self.arms, self.memory, width, self.horizon)
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
        width = self.bits_used
        widths = width if isinstance(width, tuple) else (width,) * depth
        if len(widths) != depth:
            raise BadArgument(f"bits must be {depth} numbers, one per level, top first, not {shown(widths)}")
        return tuple(coded(r, b) for r, b in zip(self._plain_routines, widths, strict=True))

    @property
    def _plain_routines(self) -> tuple[Routine, ...]:
        """The routine of each level as it is with 64 bits."""
        depth = len(self.groups_used)
        if self.routines is not None:
            given = self.routines if isinstance(self.routines, tuple) else (self.routines,) * depth
            if len(given) != depth:
                raise BadArgument(f"routines must be {depth} names, one per level, top first, not {shown(given)}")
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
        if self.epochs is not None and self.horizon is not None and (not self._staged or horizon <= self.horizon):
            return self.epochs
        if self.epochs is not None:
            return -(-horizon // math.prod(self.epochs[1:])), *self.epochs[1:]
        return super().epochs_used(horizon)

    @property
    def assumed_switches(self) -> int:
        return self.switches if isinstance(self.switches, int) else 1

    @property
    def assumed_delta(self) -> float:
        return self.delta or 0.05

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        depth, K = len(self.groups_used), self.arms
        even = depth < 4 and self.groups_used == planning.even_groups(K, depth)
        if self.epochs is not None or self.routines is not None or self.bits_used != 64:
            return super()._stage_bound(horizon, switches)
        if self.delta is not None:
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

    @property
    def _adds_up(self) -> bool:  # type: ignore[override]
        return self.delta is None

    @property
    def guarantee(self) -> Guarantee:
        if (self.switches is None and self.delta is None) or self.delay:
            return super().guarantee
        T = self.horizon
        if T is None and self.delta is not None:
            return Guarantee(lost="a bound for an unknown horizon: the failures of the stages would add up")
        shown = T or 2**20
        V = None if self.switches == UNKNOWN else self.assumed_switches
        # With V unknown the bound is V + 5 times the same number.
        bound = self.bound(shown, V or 1)
        if bound is None:
            return Guarantee(lost=f"a bound: {self._theorem} is for {self._theorem_needs}")
        stages = "" if T else "summed over stages of 2^r steps, and so for instance "
        if self.delta is not None:
            what = f"with probability at least {1 - self.delta:g}, weak regret"
        elif V is None:
            what = "expected shifting regret at hardness V"
            proved = at_most(what, bound, shown).replace(f"{bound:,.0f}", f"(V + 5) x {bound / 6:,.0f}")
            then = f"; then in {self._later_stages}, whose bounds add up" if self._then else ""
            return Guarantee(f"{stages}{proved}{then}", self._theorem, "", "regret of single runs", adversarial=True)
        else:
            what = f"expected shifting regret at hardness {V}"
        lost = (
            "a best arm that changes" if self.delta is not None else "regret of single runs, more changes than V allows"
        )
        proved = f"{stages}{at_most(what, bound, shown)}{self._then}"
        return Guarantee(proved, self._theorem, "", lost, adversarial=True)

    @property
    def _theorem(self) -> str:
        """The source of the bound for ``delta`` or ``switches``."""
        if len(self.groups_used) == 1 and self.switches != UNKNOWN:
            return "Lemma 4 of Xu and Zhao (2021)" if self.delta is not None else "Lemma 5 of Xu and Zhao (2021)"
        number = 2 if self.delta is not None else 4 if self.switches == UNKNOWN else 3
        return f"Theorem {number} of Xu and Zhao (2021)"

    @property
    def _theorem_needs(self) -> str:
        if self.epochs is not None:
            return "the epochs that it chooses"
        if len(self.groups_used) == 2 and self.groups_used == planning.even_groups(self.arms, 2):
            return "horizons of at least V K steps"
        return "two levels of N = ceil(sqrt(K)) and L = ceil(K / N) children"

    @property
    def _proof(self) -> str:
        depth = len(self.groups_used)
        if depth == 1 or self.epochs is not None or self.routines is not None:
            return super()._proof
        if depth < 4 and self.groups_used == planning.even_groups(self.arms, depth):
            return f"Theorem {1 if depth == 2 else 5} of Xu and Zhao (2021)"
        return "the proof of Theorem 5 of Xu and Zhao (2021) at this depth, the rounding of epochs left out"

    @property
    def _measured(self) -> str:
        if self.routines is None and self.epochs is None and self.groups_used == (10, 10):
            return "17 % of the bound in experiment 1 of the paper at T = 10^7 (docs/reproduction.md)"
        return ""

    @property
    def _lost(self) -> str:
        if self.bound(self.horizon or 2**20) is None:
            return super()._lost
        asked = "regret of single runs (give delta=), a best arm that changes (give switches=)"
        return f"{asked}, rewards that react to the play"

    def _shifting_bound(self, horizon: int, switches: int | None, even: bool) -> float | None:
        depth, K = len(self.groups_used), self.arms
        if self.switches == UNKNOWN:
            return bounds.theorem_4(horizon, K, switches) if depth == 2 and even and switches else None
        V = self.assumed_switches
        if (switches or V) > V:
            return None
        if depth == 1:
            return bounds.lemma_5(horizon, K, V)
        return bounds.theorem_3(horizon, K, V) if depth == 2 and even and horizon >= V * K else None
