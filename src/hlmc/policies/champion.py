"""The champion: HLMC that carries one arm across epochs. A design of this library's own; see docs/champion.md."""

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

LARGEST_CODED = 1024
"""The most arms of a group that codes of few bits make room for: with more, epochs become too few. Of 45, 64 and 100
groups of 10^5 arms, 100 were the best on three tuning adversaries at T = 10^7 (docs/bits.md)."""


@dataclass(frozen=True, repr=False)
class Champion(TreePolicy):
    """HLMC with a champion: one arm is carried across epochs and defends itself in every group that is played.

    It keeps no more words than HLMC: group losses as differences (N - 1 words for N groups), the losses of a group's
    arms as differences to the champion's, and the champion's name. On most of this library's adversaries its regret is
    a small part of HLMC's and below that of EXP3 with all K words.

    Parameters
    ----------
    arms
        K.
    memory
        M: as few levels as at most M words allow, with groups as large as they allow. Default: two levels, about
        2 sqrt(K) words.
    horizon
        T, or None when it is not known: groups and doubts start afresh in stages of 2^r steps, the champion stays.
    switches
        V, if it is known how often the best arm changes: epochs are sqrt(V) times shorter.
    bits
        Bits of a loss: 64, 4 to 32, or ``"auto"``: what is best in ``memory``. With fewer than 64 the losses are
        packed codes, and ``memory`` holds more of them; where it holds those of all arms, there is one level, and it is
        Tsallis-INF (``docs/bits.md``).

    Guarantee
    ---------
    Against every sequence of rewards that is fixed in advance, at every depth, with ``switches`` and with an unknown
    horizon: the expected weak regret is at most :meth:`bound`, of order T^(3/4) K^(1/4) for two levels (Theorem 1 of
    ``docs/champion.md``). :class:`CrownedHLMC <hlmc.CrownedHLMC>` has the smaller bound and the larger regret.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.Champion(arms=100, memory=20, horizon=10**6)
    >>> policy.words.statistics, policy.plan.lengths
    (20, (1200, 1))
    >>> round(hlmc.Champion(arms=100, memory=20, horizon=10**7).bound())
    6719548
    """

    arms: int
    memory: int | None = None
    horizon: int | None = None
    switches: int | None = None

    bits: int | str = 64

    delay_power: ClassVar[float] = 0.5
    """Less than in the theorem of docs/feedback.md: the champion survives an epoch's end. The best of 1 to 10 times the
    length without delay on four adversaries, at delays of 100 and 1,000."""

    @property
    def structure(self) -> Structure:  # type: ignore[override]
        if self.bits_used == ALL_BITS:
            return CHAMPION
        return CODED_CHAMPION if len(self.groups_used) > 1 else TREE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep(arms=whole("arms", self.arms, 1))
        for name, least in (("memory", 1), ("horizon", 1), ("switches", 1)):
            if getattr(self, name) is not None:
                self._keep(**{name: whole(name, getattr(self, name), least)})
        self._keep(bits=checked_or_auto(self.bits, self.memory))
        _ = self.groups_used
        self._check_dynamic()

    @cached_property
    def bits_used(self) -> int:
        """Bits of a loss."""
        if isinstance(self.bits, int):
            return self.bits
        assert self.memory is not None
        return planning.best_width(self.arms, self.memory, self.horizon)

    @cached_property
    def groups_used(self) -> tuple[int, ...]:
        if self.memory is None:
            return planning.even_groups(self.arms, min(2, planning.deepest(self.arms)))
        largest = None if self.bits_used == ALL_BITS else LARGEST_CODED
        return planning.filled_groups(self.arms, self.memory, lambda groups: sum(self._level_words(groups)), largest)

    @cached_property
    def routines_used(self) -> tuple[Routine, ...]:
        groups = len(self.groups_used) - 1
        # Where all arms fit there are no epochs for a champion to outlive.
        plain = (*(TsallisINF(),) * groups, Contest() if groups or self.bits_used == ALL_BITS else TsallisINF())
        return tuple(coded(routine, self.bits_used) for routine in plain)

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        balanced = super().epochs_used(horizon)
        if len(balanced) == 1:
            return balanced
        stretch = STRETCH / math.sqrt(self.switches or 1)
        return self._relengthened(balanced, max(round(stretch * balanced[-1]), EPOCH_DELAYS * self.delay), horizon)

    @property
    def level_words(self) -> tuple[int, ...]:
        return self._level_words(self.groups_used)

    def _level_words(self, groups: tuple[int, ...]) -> tuple[int, ...]:
        *above, last = groups
        if self.bits_used < ALL_BITS:
            if not above:
                return (planning.coded_words(groups, self.bits_used) if last > 1 else 0,)
            *groups_words, arms = (-(-n * self.bits_used // ALL_BITS) for n in (*above, last + 1))
            return (*groups_words, arms + 1)  # and the champion's name
        # At the arms: the losses of the others, less that of the champion, and the champion's name.
        others = last if above else last - 1
        return (*(n - 1 for n in above), others + 1)

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

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        if self.bits_used < ALL_BITS:
            return None if len(self.groups_used) > 1 else super()._stage_bound(horizon, switches)
        *above, last = self.levels_at(horizon)
        total, runs = 0.0, 1
        for level in above:
            total += runs * level.length * bounds.tsallis_rv_sharp(level.context.choices, level.context.children)
            runs *= level.context.choices
        if above:
            # Challenges are made at the lowest group level, and a run of S choices has few.
            choices = above[-1].context.choices
            total += runs // choices * above[-1].length * min(choices, math.floor(MOST * math.sqrt(choices)))
        # With one level a stage is one epoch, which starts from an even prior.
        n, doubt = (last.context.children + 1, self._least_doubt(horizon)) if above else (last.context.children, 0.5)
        return total + runs * bounds.contest(last.context.choices, n, doubt)

    @property
    def _proof(self) -> str:
        if self.structure is TREE:
            return super()._proof
        return "Theorem 1 of docs/champion.md"

    @property
    def _measured(self) -> str:
        return "2 to 20 % of HLMC's regret on most adversaries here (docs/champion.md)"

    @property
    def _lost(self) -> str:
        if self.bits_used < ALL_BITS:
            bounded = self.bound(self.horizon or 2**20) is not None
            return super()._lost if bounded else "a bound: the theorem is for losses of 64 bits"
        return "regret of single runs, a best arm that changes, rewards that react to the play"

    def _write(self, records: Array, horizon: int) -> None:
        super()._write(records, horizon)
        if self.structure is TREE:
            return
        records[len(self.groups_used) - 1][LEAST_DOUBT] = self._least_doubt(horizon)
