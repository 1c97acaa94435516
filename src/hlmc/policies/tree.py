"""Policies that compile to a tree of groups: HLMC, and the flat policies, whose tree has one level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hlmc import bounds, planning
from hlmc.checks import whole
from hlmc.engine import layout
from hlmc.engine.routines import routine_change
from hlmc.engine.structures import TREE, Structure
from hlmc.errors import BadArgument
from hlmc.guarantee import Guarantee, at_most, most_in
from hlmc.plan import Plan, PlanLevel
from hlmc.policies.base import CONTINUE, Array, Policy, Words
from hlmc.routines import EXP3
from hlmc.routines.base import LevelContext, Routine

EPOCH_DELAYS = 2
"""An epoch is at least so many delays long: in a shorter one less than half of the rewards would come in time."""

SHOWN_STAGE = 20
"""If the horizon is unknown, the plan shows the stage of 2^20 steps."""


@dataclass(frozen=True)
class Level:
    """One level in one stage: its place in the tree, its routine, arms per child, and steps per choice."""

    context: LevelContext
    routine: Routine
    size: int
    length: int


class TreePolicy(Policy):
    """A policy with one routine per level over a tree of groups."""

    structure: ClassVar[Structure] = TREE

    @property
    def groups_used(self) -> tuple[int, ...]:
        """N_1, ..., N_D."""
        raise NotImplementedError

    @property
    def routines_used(self) -> tuple[Routine, ...]:
        """The routine of each level, top first."""
        raise NotImplementedError

    def _check_dynamic(self) -> None:
        super()._check_dynamic()
        for routine, children in zip(self.routines_used, self.groups_used, strict=True):
            if self.dynamic and routine.kernels.change is routine_change:
                raise BadArgument(f"dynamic must be False with {routine!r}: its children cannot come and go")
            if self.dynamic and children > routine.most_changing:
                most = f"at most {routine.most_changing} children of a level of {routine.name} can come and go"
                raise BadArgument(f"dynamic must be False with {children} children at a level: {most}")

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        """S_1, ..., S_D at a horizon. Default: balanced by the costs of the routines."""
        costs = [r.cost(p) for r, p in zip(self.routines_used, self._contexts(horizon), strict=True)]
        if self.delay and len(costs) > 1:
            # A level of m arms whose rewards come d decisions late loses like one of m + d arms.
            costs[-1] *= (1.0 + self.delay / self.groups_used[-1]) ** self.delay_power
        balanced = planning.epochs(self.groups_used, horizon, costs)
        if len(balanced) > 1 and balanced[-1] < EPOCH_DELAYS * self.delay:
            return self._relengthened(balanced, EPOCH_DELAYS * self.delay, horizon)
        return balanced

    @staticmethod
    def _relengthened(epochs: tuple[int, ...], last: int, horizon: int) -> tuple[int, ...]:
        """The same epochs but for those of the arms, which have ``last`` steps, and as many at the top as it takes."""
        last = min(max(1, last), horizon)
        above = -(-horizon // (last * math.prod(epochs[1:-1])))
        return (max(1, above), *epochs[1:-1], last)

    _left_over: str = ""
    """What a plan says of memory that is not used."""

    delay_power: ClassVar[float] = 1.0
    """Epochs grow as (1 + d / m)^(this / 2) with a delay of d decisions, m being the arms of a group."""

    @property
    def first_stage(self) -> int:
        """If the horizon is unknown, the first stage takes 2^first_stage steps."""
        return 0

    @property
    def assumed_switches(self) -> int:
        """V, or 1 if it is not given."""
        return 1

    @property
    def assumed_delta(self) -> float:
        """The probability that a bound fails."""
        return 0.05

    def _contexts(self, horizon: int, epochs: tuple[int, ...] | None = None) -> list[LevelContext]:
        groups = self.groups_used
        choices = epochs or (1,) * len(groups)
        return [
            LevelContext(
                arms=self.arms,
                horizon=horizon,
                children=n,
                choices=choices[d],
                level=d + 1,
                levels=len(groups),
                groups=min(math.prod(groups[: d + 1]), self.arms),
                restarts=math.prod(choices[:d]),
                switches=self.assumed_switches,
                delta=self.assumed_delta,
            )
            for d, n in enumerate(groups)
        ]

    def levels_at(self, horizon: int) -> list[Level]:
        """The levels in a stage of ``horizon`` steps."""
        epochs = self.epochs_used(horizon)
        return [
            Level(*each)
            for each in zip(
                self._contexts(horizon, epochs),
                self.routines_used,
                planning.sizes(self.arms, self.groups_used),
                planning.lengths(epochs),
                strict=True,
            )
        ]

    @property
    def anytime(self) -> bool:
        """Whether the policy needs no stages if the horizon is unknown."""
        return len(self.groups_used) == 1 and self.routines_used[0].anytime

    @property
    def _staged(self) -> bool:
        """Whether there are stages after the first."""
        return not self.anytime and (self.horizon is None or self.after == CONTINUE)

    def _stages(self) -> Iterator[int]:
        """The steps of each stage, without end: T, or 2^first_stage, and then twice as many as in the one before."""
        first = self.horizon or 2**self.first_stage
        return (first << r for r in itertools.count())

    _adds_up: bool = True
    """Whether the bounds of stages add up. Those that fail with a probability each do not."""

    @property
    def level_words(self) -> tuple[int, ...]:
        """The words of statistics of each level, top first. Their sum is ``words.statistics``."""
        return tuple(r.words(n) for r, n in zip(self.routines_used, self.groups_used, strict=True))

    @property
    def words(self) -> Words:
        control = self.structure.header_words + layout.LEVEL_CONTROL * len(self.groups_used)
        return Words(sum(self.level_words), control + self.window_words)

    @cached_property
    def program(self) -> Array:
        depth = len(self.groups_used)
        stages = [self.limit or layout.FOREVER]
        if self._staged:
            # As many as end by the last step that a word can count.
            few = max(1, (layout.FOREVER // next(self._stages()) + 1).bit_length() - 1)
            stages = list(itertools.islice(self._stages(), few))
        table = np.zeros((1 + depth * len(stages), layout.FIELDS))
        header = table[0]
        header[layout.ARMS] = self.arms
        header[layout.HORIZON] = sum(stages)
        header[layout.LEVELS] = depth
        header[layout.DOUBLING] = (
            -1 if not self._staged else self.first_stage if self.horizon is None else layout.CONTINUED
        )
        header[layout.WORDS] = self.words.total
        for stage, length in enumerate(stages):
            self._write(table[1 + stage * depth :], length)
        return self._finished(table)

    def _write(self, records: Array, horizon: int) -> None:
        at = self.structure.header_words + layout.LEVEL_CONTROL * len(self.groups_used) + self.window_words
        span = horizon
        for d, level in enumerate(self.levels_at(horizon)):
            record = records[d]
            record[layout.CHILDREN] = level.context.children
            record[layout.SIZE] = level.size
            # A choice that would stand for longer than the stage stands until the stage ends. Cut to that, the product
            # of any epochs is a number that a word holds exactly.
            record[layout.LENGTH] = min(level.length, horizon)
            record[layout.SPAN] = span
            record[layout.CONTROL] = self.structure.header_words + layout.LEVEL_CONTROL * d
            record[layout.AT] = at
            if level.context.children > 1:
                values = level.routine.packed(level.context)
                record[layout.PARAMETERS : layout.PARAMETERS + len(values)] = values
            at += self.level_words[d]
            span = min(level.length, horizon)

    @property
    def plan(self) -> Plan:
        shown = self.horizon or 2**SHOWN_STAGE
        levels = tuple(
            PlanLevel(
                level=d + 1,
                routine=getattr(level.routine, "label", level.routine.name),
                children=level.context.children,
                size=level.size,
                choices=level.context.choices,
                length=level.length,
                parameters=level.routine.parameters(level.context) if level.context.children > 1 else {},
                words=self.level_words[d],
            )
            for d, level in enumerate(self.levels_at(shown))
        )
        note = ""
        if self._staged and self.horizon is None:
            note = f"horizon unknown: stages of 2^r steps, shown for the stage of 2^{SHOWN_STAGE}"
        elif self._staged:
            note = f"shown for the first stage; it goes on with {self._later_stages}"
        words = self.words
        return Plan(
            repr(self),
            self.arms,
            self.horizon,
            levels,
            words.statistics,
            words.control,
            self.bound(shown),
            self._noted(note, self._left_over),
            *self._awaited(levels[-2].length if len(levels) > 1 else shown),
        )

    promised: ClassVar[str] = "expected weak regret"
    """The quantity that :meth:`bound` bounds."""

    @property
    def guarantee(self) -> Guarantee:
        shown = self.horizon or 2**SHOWN_STAGE
        bound = self.bound(shown)
        if bound is None and self.delay:
            return Guarantee(
                lost="a bound for late rewards: there is one for EXP3 at every level (docs/research/feedback.md)"
            )
        if bound is None:
            return Guarantee(measured=self._measured, lost=self._lost)
        stages = "summed over stages of 2^r steps, and so " if self._staged and self.horizon is None else ""
        example = "for instance " if self.horizon is None else ""
        proved = f"{stages}{example}{at_most(self.promised, bound, shown)}{self._then}"
        if self.delay:
            lost = f"rewards that come more than {self.delay} decisions late, a best arm that changes"
            return Guarantee(proved, "Theorem 1 of docs/research/feedback.md", "", lost, adversarial=True)
        return Guarantee(proved, self._proof, self._measured, self._lost, adversarial=True)

    @property
    def _later_stages(self) -> str:
        """The stages after the horizon, in words."""
        assert self.horizon is not None
        return f"stages of {2 * self.horizon:,}, {4 * self.horizon:,}, ... steps"

    @property
    def _then(self) -> str:
        """What is proved after the horizon, to be added to what is proved until then."""
        if not self._staged or self.horizon is None:
            return ""
        if not self._adds_up:
            return "; nothing after them: the failures of the stages would add up"
        # The first stage after the horizon, whole.
        longer = 3 * self.horizon
        bound = self.bound(longer)
        if bound is None:
            return "; nothing after them"
        return f"; then in {self._later_stages}, whose bounds add up: {most_in(bound, longer)}"

    @property
    def _proof(self) -> str:
        """The source of the bound that applies."""
        sources = list(dict.fromkeys(r.source for r in self.routines_used))
        if len(self.groups_used) == 1:
            return sources[0]
        return (
            f"{' and '.join(sources)} for a level, the levels put together as in the proofs of Theorems 1 and 5 of "
            "Xu and Zhao (2021), the rounding of epochs left out"
        )

    @property
    def _measured(self) -> str:
        return ""

    @property
    def _lost(self) -> str:
        without = [
            r for r, p in zip(self.routines_used, self._contexts(2**SHOWN_STAGE), strict=True) if r.regret(p) is None
        ]
        if without:
            return f"no bound is known here for {', '.join(dict.fromkeys(map(repr, without)))}"
        return "regret of single runs, a best arm that changes, rewards that react to the play"

    def bound(self, horizon: int | None = None, switches: int | None = None) -> float | None:
        T = self.horizon if horizon is None else whole("horizon", horizon, 1)
        if switches is not None:
            switches = whole("switches", switches, 1)
        if T is None:
            return None
        if not self._staged or (self.horizon is not None and self.horizon >= T):
            return self._bound_of_stage(T, switches)
        # Stages until T is reached; a stage cut short loses no more than a whole one.
        total, end = 0.0, 0
        for length in self._stages():
            stage = self._bound_of_stage(length, switches)
            if stage is None or not self._adds_up:
                return None
            total += min(stage, float(length))
            end += length
            if end >= T:
                break
        return total

    def _bound_of_stage(self, horizon: int, switches: int | None) -> float | None:
        return self._delayed_bound(horizon) if self.delay else self._stage_bound(horizon, switches)

    def _delayed_bound(self, horizon: int) -> float | None:
        """The bound for one stage if no reward comes more than ``delay`` decisions late (docs/research/feedback.md,
        Theorem 1).

        It is for EXP3 at every level, and for delays that are no longer than any epoch.
        """
        total = 0.0
        *above, last = self.levels_at(horizon)
        if any(type(routine) is not EXP3 for routine in self.routines_used):
            return None
        for level in above:
            if self.delay > level.length:
                return None
            if level.context.children > 1:
                gamma = level.routine.parameters(level.context)["gamma"]
                late = self.delay / level.length
                run = bounds.exp3_in_parts(level.context.choices, level.context.children, gamma, late)
                total += horizon / level.context.choices * run
        if last.context.children > 1:
            gamma = last.routine.parameters(last.context)["gamma"]
            run = bounds.exp3_delayed(last.context.choices, last.context.children, gamma, self.delay)
            total += horizon / last.context.choices * run
        return total

    def _stage_bound(self, horizon: int, switches: int | None) -> float | None:
        """The bound for one stage, or for the horizon if it is known."""
        total = 0.0
        for level in self.levels_at(horizon):
            run = level.routine.regret(level.context)
            if run is None:
                return None
            total += horizon / level.context.choices * run
        return total
