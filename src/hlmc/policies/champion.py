"""The champion: HLMC that carries one arm across epochs. A design of this library's own; see research/champion.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hlmc import bounds, planning
from hlmc.checks import whole
from hlmc.engine.layout import LEVEL_CONTROL
from hlmc.engine.structures import CHAMPION, CODED_CHAMPION, TREE, Structure
from hlmc.engine.structures.champion import LEAST_DOUBT, MOST
from hlmc.policies.base import Array, Words
from hlmc.policies.tree import EPOCH_DELAYS, TreePolicy
from hlmc.routines import Contest, TsallisINF, coded
from hlmc.routines.base import Routine
from hlmc.routines.coded import ALL_BITS, checked_or_auto

STRETCH = 1.2
"""Epochs are longer by this factor than those that balance the regret of two levels of Tsallis-INF. It was the best
value from 1 to 3 on the tuning suite: the groups have less to learn if the champion plays in all of them."""

FLOOR = 0.005
"""The champion's share of an epoch's prior is at most 1 minus this."""

REACH = 2.0 / 3.0
"""The champion's share is also limited so that an arm that always pays 1 overtakes a champion that never pays within
this fraction of an epoch."""


@dataclass(frozen=True, repr=False)
class Champion(TreePolicy):
    """HLMC with a champion: one arm is carried across epochs and also plays in every group that is chosen.

    It keeps no more words than HLMC: group losses as differences (N - 1 words for N groups), the losses of a group's
    arms as differences to the champion's, and the champion's name. On most of this library's adversaries its regret is
    a small part of HLMC's and below that of EXP3 with all K words.

    If ``memory`` covers all arms, T is at least 30 K and ``switches`` is not given, it equals
    :class:`TsallisINF <hlmc.TsallisINF>`. It also does if two levels do not fit.

    Parameters
    ----------
    arms
        K, the number of arms.
    memory
        M: the fewest levels that fit in M words, with groups of nearly equal size; two levels if T is less than 30 K.
        Default: two levels, about 2 sqrt(K) words.
    horizon
        T, or None if unknown: groups and doubt restart in stages of 2^r steps; the champion stays.
    switches
        V, the number of constant pieces of the best arm, if known: epochs are sqrt(V) times shorter, and the groups
        restart from time to time, which the plan shows as a level of one group. The champion stays.
    bits
        Bits of a loss: 64, 4 to 32, or ``"auto"`` for the best width in ``memory``. With fewer than 64 the losses are
        packed codes, and ``memory`` holds more of them (``docs/research/bits.md``).

    Guarantee
    ---------
    Against every sequence of rewards that is fixed in advance, at every depth and with an unknown horizon: the expected
    weak regret is at most :meth:`bound`, of order T^(3/4) K^(1/4) for two levels (Theorem 1 of
    ``docs/research/champion.md``; with 6 to 32 ``bits``, the third theorem of ``docs/research/bits.md``). With
    ``switches`` it is the expected shifting regret, of order T^(5/6) (V K)^(1/6) (Theorem 2 of the former).
    ``HLMC(..., routines="tsallis-inf")`` has the smaller bound and the larger regret.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.Champion(arms=100, memory=20, horizon=10**6)
    >>> policy.words.statistics, policy.plan.lengths
    (20, (1200, 1))
    >>> round(hlmc.Champion(arms=100, memory=20, horizon=10**7).bound())
    6701741
    """

    arms: int
    memory: int | None = None
    horizon: int | None = None
    switches: int | None = None

    bits: int | str = 64

    rule: ClassVar[int] = 3

    delay_power: ClassVar[float] = 0.5
    """Less than in the theorem of docs/research/feedback.md: the champion survives an epoch's end. The best of 1 to 10
    times the length without delay on four adversaries, at delays of 100 and 1,000."""

    @property
    def structure(self) -> Structure:  # type: ignore[override]
        if len(self.groups_used) == 1:
            return TREE
        return CHAMPION if self.bits_used == ALL_BITS else CODED_CHAMPION

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(arms=whole("arms", self.arms, 1))
        self._keep_given(whole, "memory", "horizon", "switches", least=1)
        self._keep(bits=checked_or_auto(self.bits, self.memory))
        _ = self.groups_used
        self._check_dynamic()

    @cached_property
    def bits_used(self) -> int:
        """Bits of a loss."""
        if isinstance(self.bits, int):
            return self.bits
        assert self.memory is not None
        narrow = planning.level_width(self.arms, self.memory)
        if self._grouped and len(self._fitting(self.memory, narrow)) > 1:
            return narrow
        return planning.best_width(self.arms, self.memory, self.horizon)

    @property
    def _left_over(self) -> str:  # type: ignore[override]
        if self.memory is None or self._told or not planning.few_steps(self.arms, self.horizon):
            return ""
        used, whole_level = self.words.statistics, coded(TsallisINF(), self.bits_used).words(self.arms)
        if used >= whole_level or self.memory < whole_level:
            return ""
        return f"{used} of {self.memory} words are used: T < 30 K is too short for one level over all arms"

    @property
    def _told(self) -> bool:
        """Whether it is told that the best arm changes."""
        return self.switches is not None and self.switches > 1

    @property
    def _grouped(self) -> bool:
        """Whether there are groups even where all arms fit: where there are few steps, or the best arm changes, a
        champion and short epochs are better than Tsallis-INF over all arms."""
        return self._told or planning.few_steps(self.arms, self.horizon)

    @cached_property
    def groups_used(self) -> tuple[int, ...]:
        if self.memory is None:
            groups = planning.even_groups(self.arms, min(2, planning.deepest(self.arms)))
        else:
            groups = self._fitting(self.memory, self.bits_used)
        # A level of one group makes no choice: it only has those below it start afresh.
        return (1, *groups) if self._told and len(groups) > 1 else groups

    def _fitting(self, memory: int, bits: int) -> tuple[int, ...]:
        """The levels that fit in ``memory`` words with losses of so many bits."""
        return planning.fewest_levels(
            self.arms, memory, lambda groups: sum(self._level_words(groups, bits)), self._grouped
        )

    @cached_property
    def routines_used(self) -> tuple[Routine, ...]:
        *groups, _ = self.groups_used
        # Where all arms fit there are no epochs for a champion to outlive.
        plain = (*(TsallisINF() for _ in groups), Contest() if groups else TsallisINF())
        return tuple(coded(routine, self.bits_used) for routine in plain)

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        balanced = super().epochs_used(horizon)
        if len(balanced) == 1:
            return balanced
        if self.groups_used[0] == 1:
            balanced = balanced[1:]
        last = round(STRETCH / math.sqrt(self.switches or 1) * balanced[-1])
        epochs = self._relengthened(balanced, max(last, EPOCH_DELAYS * self.delay), horizon)
        return self._with_restarts(epochs) if self.groups_used[0] == 1 else epochs

    def _with_restarts(self, epochs: tuple[int, ...]) -> tuple[int, ...]:
        """The choices of the top level cut into runs, so many that what the V - 1 runs with a change can lose and what
        the groups lose in all runs add up to about the least (Theorem 2 of docs/research/champion.md)."""
        assert self.switches is not None
        S, *below = epochs
        groups = self.groups_used[1]
        runs = ((self.switches - 1) * math.sqrt(S) / (math.sqrt(groups) + MOST / 2.0)) ** (2.0 / 3.0)
        run = -(-S // min(S, max(1, round(runs))))
        return (-(-S // run), run, *below)

    @property
    def level_words(self) -> tuple[int, ...]:
        return self._level_words(self.groups_used, self.bits_used)

    @staticmethod
    def _level_words(groups: tuple[int, ...], bits: int) -> tuple[int, ...]:
        *above, last = groups
        if not above:
            return (coded(TsallisINF(), bits).words(last) if last > 1 else 0,)
        if bits < ALL_BITS:
            *groups_words, arms = (-(-n * bits // ALL_BITS) if n > 1 else 0 for n in (*above, last + 1))
            return (*groups_words, arms + 1)  # and the champion's name
        # At the arms: the losses of the others, less that of the champion, and the champion's name.
        return (*(n - 1 for n in above), last + 1)

    @property
    def words(self) -> Words:
        if self.structure is TREE:
            return super().words
        # The champion's name lies among the words of the header.
        control = self.structure.header_words - 1 + LEVEL_CONTROL * len(self.groups_used)
        return Words(sum(self.level_words), control + self.window_words)

    def _least_doubt(self, horizon: int) -> float:
        """The least share of a prior that is left to others than the champion, in a stage of this many steps."""
        arms = self.levels_at(horizon)[-1].context
        return min(0.5, max(FLOOR, arms.children / (1.0 + 2.0 * REACH * math.sqrt(arms.choices)) ** 2))

    @property
    def promised(self) -> str:  # type: ignore[override]
        return f"expected shifting regret at hardness {self.switches}" if self._told else super().promised

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        V = switches or self.switches or 1
        if self.structure is TREE:
            return super()._stage_bound(horizon, switches) if V == 1 else None
        weak = self._weak_bound(horizon)
        if weak is None or V == 1:
            return weak
        if not self._told:
            return None  # without restarts nothing is proved
        # The best arm changes in V - 1 of the runs between two restarts, or in fewer: they are given up.
        runs = self.levels_at(horizon)[0]
        given_up = max(0.0, min(runs.length, horizon) - weak / runs.context.choices)
        return weak + min(V - 1, runs.context.choices) * given_up

    def _weak_bound(self, horizon: int) -> float | None:
        """The bound on weak regret in one stage."""
        *above, last = self.levels_at(horizon)
        total, runs = 0.0, 1
        for level in above:
            lost = level.routine.regret(level.context)
            if lost is None:
                return None
            total += runs * level.length * lost
            runs *= level.context.choices
        # Challenges are made at the lowest group level, and a run of S choices has few.
        choices = above[-1].context.choices
        total += runs // choices * above[-1].length * min(choices, math.floor(MOST * math.sqrt(choices)))
        epoch = last.context.choices, last.context.children + 1, self._least_doubt(horizon)
        if self.bits_used < ALL_BITS:
            return total + runs * bounds.contest_coded(*epoch, self.bits_used)
        return total + runs * bounds.contest(*epoch)

    @property
    def _proof(self) -> str:
        if self.structure is TREE:
            return super()._proof
        if self.bits_used < ALL_BITS:
            also = " and Theorem 2 of docs/research/champion.md" if self._told else ""
            return f"the third theorem of docs/research/bits.md{also}"
        return f"Theorem {2 if self._told else 1} of docs/research/champion.md"

    @property
    def _measured(self) -> str:
        if self.structure is TREE:
            return super()._measured
        return (
            "2 to 20 % of HLMC's regret on most adversaries here; in a search for the worst at T = 100,000, up to "
            "0.03 T more than HLMC's (docs/research/champion.md)"
        )

    @property
    def _lost(self) -> str:
        changes = "more changes than V allows"
        if not self._told:
            changes = "a best arm that changes (give switches=)"
        elif self.structure is TREE:
            changes = "a best arm that changes (two levels do not fit)"
        return f"regret of single runs, {changes}, rewards that react to the play"

    def _write(self, records: Array, horizon: int) -> None:
        super()._write(records, horizon)
        if self.structure is TREE:
            return
        records[len(self.groups_used) - 1][LEAST_DOUBT] = self._least_doubt(horizon)
