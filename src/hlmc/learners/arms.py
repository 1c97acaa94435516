"""Arms with names, that come and go: a table from names to slots, and learners that answer with names.

A learner knows arms by their slots, 0 to live - 1. The table knows which name has which slot, and since when: a slot
that has been given to another arm at step t has nothing to do with decisions made before t.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from operator import call
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import whole
from hlmc.engine.arms import changer
from hlmc.engine.feedback import APPLIED, EXPIRED, LATE
from hlmc.engine.layout import ARM, IDLE
from hlmc.engine.primitives import CHANGE
from hlmc.engine.routines import level_change_kernel
from hlmc.errors import BadArgument, BadType, HLMCError, OutOfTurn, shown
from hlmc.learners.identity import checked as checked_identity
from hlmc.learners.learner import Learner, checked_reward, fresh_rows
from hlmc.learners.saving import save
from hlmc.learners.tickets import CODES, NamedTicket, Ticket, as_ticket
from hlmc.streams import keys
from hlmc.targets import address_of, callback, entry, linked

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray
Name = str | int

LONGEST = 1000
"""Characters of a name."""
PAUSED = -1
"""Instead of a slot."""


def checked_name(name: Any) -> Name:
    """A name as the table keeps it.

    >>> checked_name(1.5)
    Traceback (most recent call last):
    hlmc.errors.BadType: a name must be a string or a whole number, not 1.5
    """
    if isinstance(name, str):
        if len(name) > LONGEST:
            raise BadArgument(f"a name must have at most {LONGEST} characters, not {len(name)}: {shown(name)}")
        return str(name)
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        if not -(2**63) <= name < 2**63:
            raise BadArgument(f"a name that is a number must be below 2^63 in size, not {shown(int(name))}")
        return int(name)
    raise BadType(f"a name must be a string or a whole number, not {shown(name)}")


def together(calls: list[Callable[[], object]]) -> None:
    """Make calls of C functions one after the other: all of them, or none, whatever signal comes.

    Python runs the handler of a signal, which may raise, between two instructions of its own. Here there are none:
    ``map`` and ``deque`` call from C.
    """
    deque(map(call, calls), maxlen=0)


class Arms:
    """Names for the arms of a learner, which may come and go.

    Give a table to :meth:`Policy.start <hlmc.Policy.start>`; the learner then answers with names, and what is done to
    its table, ``learner.arms``, is done to it at once. A table belongs to one learner. It cannot be changed between a
    learner's ``select`` and ``update``; between ``ask`` and ``tell`` it can. See ``docs/arms.md``.

    ``name in arms``, ``len(arms)`` and ``for name in arms`` count paused arms, too, in the order in which they came.

    Parameters
    ----------
    capacity
        How many arms there can be at a time, paused ones included. The ``arms`` of the policy.

    Examples
    --------
    >>> import hlmc
    >>> arms = hlmc.Arms(10)
    >>> arms.add("tea", "coffee", "water")
    >>> learner = hlmc.TsallisINF(arms=10).start(seed=1, arms=arms)
    >>> learner.select()
    'water'
    >>> learner.update(1.0)
    >>> arms.remove("water")
    >>> arms.pause("tea")
    >>> learner.select()
    'coffee'
    >>> learner.update(0.5)
    >>> arms.resume("tea")
    >>> arms.rename("tea", "green tea")
    >>> arms, "water" in arms
    (<arms: 2 of 10, none paused>, False)
    """

    __slots__ = ("_capacity", "_learner", "_names", "_places", "_since")

    def __init__(self, capacity: int) -> None:
        self._capacity = whole("capacity", capacity, 1)
        self._places: dict[Name, int] = {}  # the slot of every name, or PAUSED, in the order in which they came
        self._names: list[Name] = []  # the name of every slot
        self._since: dict[int, int] = {}  # the step from which a slot has had its arm, unless that is step 0
        self._learner: NamedLearner | None = None

    @property
    def capacity(self) -> int:
        """How many arms there can be at a time."""
        return self._capacity

    @property
    def paused(self) -> tuple[Name, ...]:
        """The arms that are paused, in the order in which they came."""
        return tuple(name for name, place in self._places.items() if place == PAUSED)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Name]:
        return iter(tuple(self._places))

    def __contains__(self, name: object) -> bool:
        try:
            return checked_name(name) in self._places
        except (BadArgument, BadType):
            return False

    def __eq__(self, other: object) -> bool:
        """Whether the same names have the same slots."""
        return self.described() == other.described() if isinstance(other, Arms) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<arms: {len(self)} of {self.capacity}, {len(self.paused) or 'none'} paused>"

    def add(self, *names: Name) -> None:
        """Add arms: the learner knows nothing of them and plays them from its next step on."""
        given: dict[Name, None] = {}
        for name in map(checked_name, names):
            if name in self._places or name in given:
                wanted = "names must differ from one another and from those there are"
                raise BadArgument(f"{wanted}, and {shown(name)} does not")
            given[name] = None
        if len(self) + len(given) > self._capacity:
            raise BadArgument(f"there is room for {self._capacity} arms, not for {len(self) + len(given)}")
        self._join(list(given))

    def remove(self, name: Name) -> None:
        """Remove an arm. What was known of it is lost, and a ticket for it is ``"expired"``."""
        name = self._known(name)
        self._leave(name, partial(self._places.__delitem__, name))

    def pause(self, name: Name) -> None:
        """Take an arm out of play until :meth:`resume`. It keeps its name; what was known of it is lost."""
        name = self._known(name)
        if self._places[name] == PAUSED:
            raise BadArgument(f"{shown(name)} is paused already")
        self._leave(name, partial(self._places.__setitem__, name, PAUSED))

    def resume(self, name: Name) -> None:
        """Bring a paused arm back into play, as an arm of which nothing is known."""
        name = self._known(name)
        if self._places[name] != PAUSED:
            raise BadArgument(f"{shown(name)} is not paused")
        self._join([name])

    def rename(self, name: Name, new: Name) -> None:
        """Give an arm another name. Nothing else changes."""
        name, new = self._known(name), checked_name(new)
        if new in self._places and new != name:
            raise BadArgument(f"{shown(new)} is the name of another arm")
        place = self._places[name]
        places = {new if each == name else each: slot for each, slot in self._places.items()}
        named = [partial(self._names.__setitem__, place, new)] if place != PAUSED else []
        together([partial(setattr, self, "_places", places), *named])

    def forget(self, name: Name) -> None:
        """Forget what is known of an arm, as if it had been removed and added: it may have become another one."""
        slot = self._places[self._known(name)]
        if slot != PAUSED:
            self._change([(len(self._names), slot)], [], slot)

    def copy(self) -> Arms:
        """A table of the same names that belongs to no learner."""
        other = Arms(self._capacity)
        other._places, other._names, other._since = dict(self._places), list(self._names), dict(self._since)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Arms:
        return self.copy()

    def __reduce__(self) -> Any:
        return (Arms.read, (self.described(),))

    def described(self) -> dict[str, Any]:
        """The table in lists of numbers and strings, as files keep it."""
        return {
            "capacity": self._capacity,
            "names": [[name, place] for name, place in self._places.items()],
            "since": [[slot, time] for slot, time in sorted(self._since.items())],
        }

    @classmethod
    def read(cls, content: Any) -> Arms:
        """The table that :meth:`described` describes, checked; a ValueError, TypeError or KeyError if it is none."""
        arms = cls(content["capacity"])
        for name, place in content["names"]:
            if type(name) not in (str, int) or type(place) is not int or checked_name(name) in arms._places:
                raise BadArgument(f"{shown(name)} cannot be a name in a table of arms")
            arms._places[name] = place
        slots = {place: name for name, place in arms._places.items() if place != PAUSED}
        if len(arms) > arms.capacity or sorted(slots) != list(range(len(arms) - len(arms.paused))):
            raise BadArgument("the slots of a table of arms must be 0, 1, ..., each of one arm")
        arms._names = [slots[place] for place in range(len(slots))]
        for slot, time in content["since"]:
            arms._since[whole("slot", slot, 0, arms.capacity - 1)] = whole("time", time, 1)
        return arms

    # --- Between the table and its learner

    def _known(self, name: Any) -> Name:
        if name not in self:
            raise BadArgument(f"there is no arm of the name {shown(name)}")
        return checked_name(name)

    def _join(self, names: list[Name]) -> None:
        """Give these names the next slots."""
        if not names:
            return
        first = len(self._names)
        slots = range(first, first + len(names))
        # A learner always has an arm: until the first comes, one without a name.
        steps = [(1, 0)] if first == 0 else []
        if slots.stop > 1:
            steps.append((slots.stop, -1))
        placed: list[Callable[[], object]] = [
            partial(self._places.__setitem__, name, slot) for name, slot in zip(names, slots, strict=True)
        ]
        self._change(steps, [partial(self._names.extend, names), *placed], *slots)

    def _leave(self, name: Name, then: Callable[[], object]) -> None:
        """Free the slot of a name, if it has one, for the last one; ``then`` says what becomes of the name."""
        slot, last = self._places[name], len(self._names) - 1
        if slot == PAUSED:
            then()
            return
        moved = self._names[last]
        written: list[Callable[[], object]] = [self._names.pop, then]
        if slot != last:
            written += [partial(self._names.__setitem__, slot, moved), partial(self._places.__setitem__, moved, slot)]
        self._change([(max(1, last), slot)], written, slot, last)

    def _change(self, steps: list[tuple[int, int]], written: list[Callable[[], object]], *touched: int) -> None:
        """Have the row follow the table, whose own change is ``written``; other arms have the slots ``touched`` now."""
        learner = self._learner
        if learner is not None:
            row = learner._changed_row(steps)
            if learner.time:
                written = [*written, *(partial(self._since.__setitem__, slot, learner.time) for slot in touched)]
            written = [partial(learner._row.__setitem__, slice(None), row), *written]
        together(written)


class NamedLearner(Learner):
    """A learner whose arms have names and may come and go. Made by ``policy.start(seed, arms=arms)``.

    >>> import hlmc
    >>> arms = hlmc.Arms(100)
    >>> arms.add("tea", "coffee")
    >>> learner = hlmc.HLMC(arms=100, memory=20, horizon=1000, pending=64).start(seed=3, arms=arms)
    >>> ticket = learner.ask()
    >>> ticket.arm
    'coffee'
    >>> learner.arms.remove("coffee")
    >>> learner.tell(ticket, 1.0), learner.select()
    ('expired', 'tea')
    """

    __slots__ = ("_arms", "_change", "_changes")

    def __init__(self, policy: Policy, row: Array, arms: Arms) -> None:
        _check_fit(policy, arms)
        super().__init__(policy, row)
        if not self._matches(arms):
            raise BadArgument(f"row must have as many arms as the table, {len(arms._names)}, and it has {self._live}")
        self._bind(arms)

    @classmethod
    def started(
        cls, policy: Policy, arms: Arms, seed: int = 0, stream: int = 0, identity: int | None = None
    ) -> NamedLearner:
        """A learner that has yet to choose, with the arms of a table that no learner has."""
        from dataclasses import replace

        if not isinstance(arms, Arms):
            raise BadType(f"arms must be a table of names, hlmc.Arms, not {shown(arms)}")
        policy = replace(policy, dynamic=True) if not policy.dynamic else policy
        _check_fit(policy, arms)
        row = fresh_rows(policy, keys(seed, stream, 1))[0]
        row[int(policy.program[IDLE])] = policy.arms - max(1, len(arms._names))
        learner = cls.trusted(policy, row, identity=checked_identity(identity))
        assert isinstance(learner, NamedLearner)
        arms._since.clear()
        learner._bind(arms)
        return learner

    @classmethod
    def loaded(cls, policy: Policy, row: Array, content: Any, identity: int | None = None) -> NamedLearner:
        """A learner over a row that is sound, with the table that a file describes; an error if they do not fit."""
        arms = Arms.read(content)
        learner = cls.trusted(policy, row, identity=identity)
        assert isinstance(learner, NamedLearner)
        _check_fit(policy, arms)
        if not policy.dynamic or not learner._matches(arms):
            raise BadArgument("the table of arms is not that of the row")
        learner._bind(arms)
        return learner

    @property
    def arms(self) -> Arms:
        """The names of the arms, which may be changed."""
        return self._arms

    def _name(self, arm: int) -> Any:
        self._check_any()
        return self._arms._names[arm]

    def select(self) -> Any:
        """The name of the arm to play now."""
        self._check_any()
        return self._arms._names[super().select()]

    def ask(self) -> NamedTicket:
        """Make a decision whose reward may come later: a ticket, whose ``arm`` is the name of the arm to play."""
        self._check_any()
        ticket = NamedTicket(super().ask())
        ticket._name = self._arms._names[ticket.slot]
        return ticket

    def reset(self, seed: int | None = 0, stream: int = 0, identity: int | None = None) -> None:
        """Forget everything and start afresh in the same row, with the arms that there are now."""
        super().reset(seed, stream, identity)

    def _begin(self, row: Array) -> None:
        row[int(self.policy.program[IDLE])] = self.policy.arms - max(1, len(self._arms._names))
        together([partial(self._row.__setitem__, slice(None), row), self._arms._since.clear])

    def tell(self, ticket: Ticket | str, reward: float) -> str:
        """Learn the reward of a ticket, whether it has the name or was read from bytes or from a string.

        As :meth:`Learner.tell <hlmc.Learner.tell>`; ``"expired"``, too, if the arm has been removed or moved since.
        """
        # Without the short way of Learner.tell, which does not ask the table.
        return CODES[self._settle(as_ticket(ticket), checked_reward(reward, self.policy), 1)]

    def _settle(self, ticket: Ticket, reward: float, learns: int) -> int:
        if type(ticket) is NamedTicket:
            ticket = Ticket(ticket)
        if type(ticket) is not Ticket or ticket.time >= self._arms._since.get(ticket.arm, 0):
            return super()._settle(ticket, reward, learns)
        code = super()._settle(ticket, reward, 0)
        return EXPIRED if code in (APPLIED, LATE) else code

    def copy(self, identity: int | None = None) -> NamedLearner:
        """A second learner, with a table of its own, that knows the same and goes on by itself."""
        learner = type(self).trusted(self.policy, self._row.copy(), identity=checked_identity(identity))
        assert isinstance(learner, NamedLearner)
        learner._bind(self._arms.copy())
        learner._seen = dict(self._seen)
        return learner

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write policy, state and names to a file, as :meth:`Learner.save <hlmc.Learner.save>` does."""
        if not self._matches(self._arms):
            found = f"{self._live} arms in the row and {len(self._arms._names)} in the table"
            raise HLMCError(f"the state of this learner is damaged and could not be loaded ({found}): not saved")
        self._check_sound()
        save(path, self.policy, self._row, self._arms.described(), self._seen, force)

    def __eq__(self, other: object) -> bool:
        """Whether the two will behave alike from here on: the same policy, state and names."""
        if not isinstance(other, NamedLearner):
            return NotImplemented
        return super().__eq__(other) and self._arms == other._arms

    __hash__ = None

    def __reduce__(self) -> Any:
        return (NamedLearner, (self.policy, self._row.copy(), self._arms.copy()))

    def __repr__(self) -> str:
        return f"<learner at step {self.time} of {self.policy!r} with {len(self._arms)} arms>"

    @property
    def _live(self) -> int:
        return self.policy.arms - int(self._row[int(self.policy.program[IDLE])])

    def _matches(self, arms: Arms) -> bool:
        """Whether a table is for as many arms as the row has, and not from its future."""
        return self._live == max(1, len(arms._names)) and all(time <= self.time for time in arms._since.values())

    def _bind(self, arms: Arms) -> None:
        self._arms = arms
        self._change: Any = None
        arms._learner = self

    def _check_any(self) -> None:
        if not self._arms._names:
            raise OutOfTurn("there is no arm to play: add one to learner.arms, or resume one")

    def _changed_row(self, steps: list[tuple[int, int]]) -> Array:
        """A row that has followed the table, for steps (live, arm) of :func:`hlmc.engine.arms.change`."""
        if self._row[ARM] >= 0.0:
            raise OutOfTurn("the arms cannot change between select() and update(): call update() first")
        if self._change is None:
            kernels = [level_change_kernel(routine.kernels) for routine in self.policy.routines_used]
            self._changes = np.array([callback(kernel, CHANGE).address for kernel in kernels], np.int64)
            self._change = entry(changer(self.policy.structure), "int64", *["int64"] * 5)
        row = self._row.copy()
        for live, arm in steps:
            self._change(linked(self.policy).address, address_of(self._changes), address_of(row), live, arm)
        return row


def _check_fit(policy: Policy, arms: Arms) -> None:
    if arms._learner is not None:
        raise BadArgument("arms must be a table that no other learner has: give it arms.copy()")
    if arms.capacity != policy.arms:
        raise BadArgument(f"arms must have room for the {policy.arms} arms of {policy!r}, not for {arms.capacity}")
