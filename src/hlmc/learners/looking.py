"""What a learner would do next, and why: the probabilities of its next decision, its favourite, a few sentences.

Nothing here changes a learner: kernels run on copies of its row, with a random number generator that says what it is
told. A number is told to be each end of an interval; where what comes of it differs, the interval is divided. So the
probability of a choice is the length of what leads to it, whatever the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import ARM, CHANCE, COMMON, CONTROL, COUNT, LEVELS, RECORD, TIME, UNTIL
from hlmc.engine.linker import Kernel, substitute_where_used
from hlmc.engine.step import arm_of, decide
from hlmc.engine.stream import uniform
from hlmc.targets import interpreter

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

_LAST = 1.0 - 2.0**-53
_COARSE = 2.0**-6  # an interval this long is taken to have one outcome if both of its ends have it
_NEAR = 2.0**-30
MODERATE = 100
DRAWS = 128
_SHOWN = 4  # arms that an explanation names


class Looked:
    """What a learner with this row would do next.

    Parameters
    ----------
    policy, row
        The learner's. The row is not changed.
    name
        What an arm is called.
    """

    def __init__(self, policy: Policy, row: Array, name: Callable[[int], object]) -> None:
        self._policy, self._row, self._name = policy, row, name
        self._numbers: dict[int, float] = {}
        self._asked: list[int] = []
        if self.over:
            # There is no next decision: look at what one more in the same group would be.
            self._row = row.copy()
            self._row[UNTIL] = row[TIME] + 1.0
        self._levels = int(policy.program[LEVELS])
        told = {uniform: self._generator()}
        own = policy.structure
        begin, end = substitute_where_used(own.begin, told), substitute_where_used(own.end, told)
        self._program = interpreter.linked(policy)
        self._program.structure = replace(own, begin=begin, end=end)
        self._decide = interpreter.entry(substitute_where_used(decide, told))
        self._arm_of = interpreter.entry(arm_of)

    def _generator(self) -> Kernel:
        numbers, asked = self._numbers, self._asked

        @kernel
        def told(key: np.uint64, t: int, purpose: int) -> float:
            """The number that was given for this purpose, or else 0; that it was asked for is noted."""
            asked.append(purpose)
            return numbers.get(purpose, 0.0)

        return told

    @property
    def over(self) -> bool:
        """Whether there is no next decision."""
        horizon = self._policy.limit
        return horizon is not None and int(self._row[TIME]) >= horizon

    def distribution(self) -> dict[int, float]:
        """The probability of every arm that can be the next decision, given everything until now; the likeliest first.

        Of more than MODERATE arms only the top ones, and where groups are chosen next, frequencies in DRAWS draws.
        """
        if self._row[ARM] >= 0.0:
            return {int(self._row[ARM]): 1.0}
        found: dict[int, float] = {}
        ways: Iterator[tuple[float, Array, int]]
        due = self._levels > 1 and int(self._row[TIME]) == int(self._row[UNTIL])
        if due and self._policy.arms > MODERATE:
            ways = self._drawn()
        elif not due and max(self._row[COUNT], self._policy.arms if self._levels == 1 else 0) > MODERATE:
            ways = self._top()
        else:
            ways = self._ways({})
        for share, row, slot in ways:
            arm = int(self._arm_of(self._program, row, slot))
            found[arm] = found.get(arm, 0.0) + share
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def favourite(self) -> int:
        """The champion, if there is one; else the likeliest arm of the next decision."""
        champion = self.champion
        return next(iter(self.distribution())) if champion is None else champion

    @property
    def champion(self) -> int | None:
        """The arm that is carried from epoch to epoch, or None."""
        place = self._word("PLACE")
        return None if place is None or place < 0.0 else int(self._arm_of(self._program, self._row, 0))

    def explanation(self) -> str:
        """A few sentences."""
        row, t, horizon = self._row, int(self._row[TIME]), self._policy.limit
        lines = [f"{t} decisions made{'' if horizon is None else f' of {horizon}'}"]
        if self.over:
            return f"{lines[0]}: the horizon has been reached, and there is no next one"
        if self._levels > 1 and t == int(row[UNTIL]):
            lines.append("groups are chosen next")
        elif self._levels > 1:
            lines.append(f"a group of {int(row[COUNT])} arms is played for {int(row[UNTIL]) - t} more decisions")
        if (champion := self.champion) is not None:
            why = ("not challenged", "challenged by chance", "challenged after a crisis", "challenged again")
            state = why[int(self._word("CHALLENGE") or 0.0)]
            lines.append(f"champion: {self._name(champion)}, doubt {self._word('DOUBT'):.3g}, {state}")
        likely = self.distribution()
        shown = ", ".join(f"{self._name(arm)} {share:.3g}" for arm, share in list(likely.items())[:_SHOWN])
        lines.append(f"next: {shown}{', ...' if len(likely) > _SHOWN else ''}")
        return "\n".join(lines)

    def _word(self, name: str) -> float | None:
        """One of the structure's own words, if it has it and choices have been made."""
        names = [word.name for word in self._policy.structure.header]
        if name not in names or int(self._row[UNTIL]) == 0:
            return None
        return float(self._row[COMMON + names.index(name)])

    def _decided(self, told: dict[int, float]) -> tuple[Array, int]:
        """A copy of the row after a decision that draws these numbers, by their purposes; the slot."""
        self._numbers.clear()
        self._numbers.update(told)
        self._asked.clear()
        row = self._row.copy()
        return row, int(self._decide(self._program, row, int(row[TIME])))

    def _drawn(self) -> Iterator[tuple[float, Array, int]]:
        """Some ways that it can go, drawn at random."""
        random = np.random.default_rng(0)
        for _ in range(DRAWS):
            numbers = random.random(64)
            row, slot = self._decided(dict(enumerate(numbers.tolist())))
            yield 1.0 / DRAWS, row, slot

    def _top(self) -> Iterator[tuple[float, Array, int]]:
        """The slots that numbers at even distances lead to, with the probabilities that the last level gives them."""
        seen = set()
        for i in range(DRAWS):
            row, slot = self._decided({self._levels - 1: (i + 0.5) / DRAWS})
            if slot not in seen:
                seen.add(slot)
                yield float(row[int(self._program[int(row[RECORD]) + CONTROL]) + CHANCE]), row, slot

    def _ways(self, told: dict[int, float]) -> Iterator[tuple[float, Array, int]]:
        row, slot = self._decided(told)
        free = [purpose for purpose in self._asked if purpose not in told]
        if not free:
            yield 1.0, row, slot
            return
        # What is drawn for another purpose than a level's decides on what the levels do; then the top level is first.
        purpose = max(free) if max(free) >= self._levels else min(free)

        def outcome(u: float) -> bytes:
            after, chosen = self._decided({**told, purpose: u})
            return after.tobytes() + chosen.to_bytes(8, "little")

        for share, u in _shares(outcome):
            for rest, then, chosen in self._ways({**told, purpose: u}):
                yield share * rest, then, chosen


def _shares(outcome: Callable[[float], bytes]) -> list[tuple[float, float]]:
    """How likely each outcome is, and a number that leads to it."""
    shares: dict[bytes, float] = {}
    example: dict[bytes, float] = {}

    def divide(low: float, first: bytes, high: float, last: bytes) -> None:
        if high - low <= (_COARSE if first == last else _NEAR):
            for side, u in ((first, low), (last, high)):
                shares[side] = shares.get(side, 0.0) + 0.5 * (high - low)
                example.setdefault(side, u)
            return
        middle = 0.5 * (low + high)
        between = outcome(middle)
        divide(low, first, middle, between)
        divide(middle, between, high, last)

    divide(0.0, outcome(0.0), 1.0, outcome(_LAST))
    return [(share, min(example[side], _LAST)) for side, share in shares.items()]
