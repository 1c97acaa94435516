"""Every way that the next steps of a learner can go, and the probability of each, found from the kernels alone.

The kernels run interpreted, with a random number generator that says what it is told. A number is told to be each end
of an interval; where the rows that come of it differ, the interval is divided. So the probability of a choice is the
length of what leads to it, and no formula of a policy is used.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import hlmc
from hlmc.engine.arms import changer
from hlmc.engine.feedback import ask, for_structure, tell
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import LEVELS
from hlmc.engine.linker import substitute_where_used
from hlmc.engine.primitives import CHANGE
from hlmc.engine.routines import level_change_kernel
from hlmc.engine.stream import uniform
from hlmc.engine.structures.champion import DUEL
from hlmc.engine.tickets import ticket_words
from hlmc.targets import interpreter

Array = np.ndarray

LAST = 1.0 - 2.0**-53  # the largest number that is drawn
COARSE = 2.0**-6  # an interval this long is taken to have one outcome if both of its ends have it
NEAR = 2.0**-27  # how exactly other ends are found

_told: dict[int, float] = {}
_asked: list[int] = []


@kernel
def _scripted(key: np.uint64, t: int, purpose: int) -> float:
    """The number that was told for this purpose, or else 0."""
    _asked.append(purpose)
    return _told.get(purpose, 0.0)


class Enumerated:
    """A policy with ``pending`` on rows, one step at a time."""

    def __init__(self, policy: hlmc.Policy) -> None:
        numbers = {uniform: _scripted}
        own = policy.structure
        roles = {role: substitute_where_used(getattr(own, role), numbers) for role in ("begin", "end")}
        self.policy = policy
        self.program = interpreter.linked(policy)
        self.program.structure = replace(own, **roles)
        self.levels = int(policy.program[LEVELS])
        self._ask = interpreter.entry(substitute_where_used(for_structure(ask, own), numbers))
        self._tell = interpreter.entry(for_structure(tell, own))
        self._identity = np.ones(3, np.uint64).view(np.float64)
        self._change: Any = None
        if policy.dynamic:
            kernels = [level_change_kernel(routine.kernels) for routine in policy.routines_used]
            self._changes = np.array([interpreter.callback(each, CHANGE).address for each in kernels], np.int64)
            self._change = interpreter.entry(changer(own))

    def ask(self, row: Array, told: dict[int, float]) -> tuple[Array, hlmc.Ticket]:
        """The row after a decision that draws these numbers, by their purposes, and the ticket."""
        _told.clear()
        _told.update(told)
        _asked.clear()
        row, ticket = row.copy(), np.zeros(ticket_words(self.levels))
        assert self._ask(self.program, row, 0, self._identity, ticket) >= 0
        return row, hlmc.Ticket.from_bytes(ticket.tobytes())

    def tell(self, row: Array, ticket: hlmc.Ticket, reward: float) -> int:
        """Learn a reward; what became of it."""
        return int(self._tell(self.program, row, np.frombuffer(ticket).copy(), reward, 1))

    def change(self, row: Array, live: int, arm: int) -> None:
        """Arms join or one leaves (:func:`hlmc.engine.arms.change`)."""
        self._change(self.program, self._changes, row, live, arm)

    def ways(self, row: Array, arm: float | None = None) -> Iterator[tuple[float, Array, hlmc.Ticket]]:
        """Every outcome of the next decision: its probability, the row after it, the ticket.

        ``arm``: the number that the last level draws; None: its choices are enumerated as well.
        """
        return self._ways(row, {} if arm is None else {self.levels - 1: arm})

    def _ways(self, row: Array, told: dict[int, float]) -> Iterator[tuple[float, Array, hlmc.Ticket]]:
        after, ticket = self.ask(row, told)
        open_ = [purpose for purpose in _asked if purpose not in told]
        if not open_:
            yield 1.0, after, ticket
            return
        # Whether there is a challenge decides on what a level's number is for, and each level on those below it.
        purpose = DUEL if DUEL in open_ else min(open_)

        def outcome(u: float) -> bytes:
            return self.ask(row, {**told, purpose: u})[0].tobytes()

        for share, u in _shares(outcome):
            for rest, then, made in self._ways(row, {**told, purpose: u}):
                yield share * rest, then, made


def _shares(outcome: Callable[[float], bytes]) -> list[tuple[float, float]]:
    """How likely each outcome is, and a number that leads to it: the ends of a grid's intervals, and what lies between.

    An outcome's share is the sum of the intervals on which it stands, found from left to right.
    """
    grid = [*np.arange(0.0, 1.0, COARSE).tolist(), LAST]
    shares: dict[bytes, float] = {}
    begun, current = 0.0, outcome(0.0)
    example = {current: begun}
    for stop in grid[1:]:
        last = outcome(stop)
        while current != last:
            low, high = begun, stop
            while high - low > NEAR:  # the first number that leads elsewhere
                middle = 0.5 * (low + high)
                low, high = (middle, high) if outcome(middle) == current else (low, middle)
            edge = 0.5 * (low + high)
            shares[current] = shares.get(current, 0.0) + edge - begun
            begun, current = edge, outcome(high)
            example.setdefault(current, high)
        shares[current] = shares.get(current, 0.0) + stop - begun
        begun = stop
    return [(share, min(example[side], LAST)) for side, share in shares.items()]
