"""The arms of a bandit: names that come, go and pause, for all units at once.

A change is one line in a versioned list. It does not touch the rows of units: each row knows the version that it has
seen, and follows the changes since when it is next read (:meth:`hlmc.bandit.experiment.Experiment.catch_up`). So a
change takes the same time for one unit and for millions.

Slots are as in :mod:`hlmc.learners.arms`: those in play are 0 to live - 1, new arms join behind the others, and when
one leaves, the last one takes its slot. An arm that has had its slot since a later version than a decision was made at
has nothing to do with that decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.bandit.experiment import STILL, Experiment
from hlmc.bandit.schema import IN_PLAY, PAUSED, REMOVED
from hlmc.bandit.store import LISTED
from hlmc.errors import BadArgument, shown

if TYPE_CHECKING:
    from hlmc.bandit.front import Bandit

LONGEST = 1000
"""Characters of a name."""


def text_of(what: str, value: Any) -> str:
    """A name or a unit as text: strings as they are, whole numbers and bytes as their text.

    >>> text_of("unit", 17), text_of("unit", b"17"), text_of("unit", "17")
    ('17', '17', '17')
    """
    if type(value) is str and 0 < len(value) <= LONGEST and value.isprintable():
        return value  # nearly always
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise BadArgument(f"{what} in bytes must be UTF-8 text, not {shown(value)}") from None
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value).bit_length() < 3 * LONGEST:
        value = str(int(value))
    if not isinstance(value, str):
        raise BadArgument(f"{what} must be a text, a whole number or bytes, not {shown(value)}")
    if not 0 < len(value) <= LONGEST:
        raise BadArgument(f"{what} must have from 1 to {LONGEST} characters, not {len(value)}")
    if not value.isprintable() and any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value):
        raise BadArgument(f"{what} must not contain control characters or surrogates, and {shown(value)} does")
    return str(value)


class BanditArms:
    """The arms of a bandit, ``bandit.arms``. ``name in arms``, ``len(arms)`` and iteration count paused ones too.

    Every change is committed when its call returns, and holds for all units.

    >>> import hlmc, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> bandit = hlmc.open(path, hlmc.TsallisINF(arms=10), arms=["tea", "coffee"], seed=1)
    >>> bandit.arms.add("cocoa")
    >>> bandit.arms.pause("tea")
    >>> list(bandit.arms), bandit.arms.paused, "cocoa" in bandit.arms
    (['tea', 'coffee', 'cocoa'], ('tea',), True)
    >>> bandit.close()
    """

    def __init__(self, bandit: Bandit) -> None:
        self._bandit = bandit

    @property
    def capacity(self) -> int:
        """How many arms there can be at a time, paused ones included: the ``arms`` of the policy."""
        return self._bandit.policy.arms

    @property
    def paused(self) -> tuple[str, ...]:
        """The arms that are paused, in the order in which they came."""
        return tuple(self._names(PAUSED))

    def __len__(self) -> int:
        return self._bandit._called(_count)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names(IN_PLAY, PAUSED))

    def __contains__(self, name: object) -> bool:
        try:
            text = text_of("name", name)
        except BadArgument:
            return False
        return bool(self._read("select 1 from arms where experiment = ? and name = ? and state < 2", text))

    def add(self, *names: str) -> None:
        """Add arms of which nothing is known. All of them, or none if one of the names is taken."""
        wanted = [text_of("name", name) for name in names]
        self._change(lambda experiment, now: add(experiment, now, wanted))

    def remove(self, name: str) -> None:
        """Remove an arm. Rewards of its decisions that come later are ``expired``."""
        self._change(lambda experiment, now: _leave(experiment, now, text_of("name", name), REMOVED))

    def pause(self, name: str) -> None:
        """Take an arm out of play until :meth:`resume`. What was known of it is lost."""
        self._change(lambda experiment, now: _leave(experiment, now, text_of("name", name), PAUSED))

    def resume(self, name: str) -> None:
        """Bring a paused arm back, as one of which nothing is known."""
        self._change(lambda experiment, now: _resume(experiment, now, text_of("name", name)))

    def rename(self, name: str, new: str) -> None:
        """Give an arm another name, in the past too. Nothing else changes."""
        self._change(lambda experiment, now: _rename(experiment, now, text_of("name", name), text_of("new", new)))

    def forget(self, name: str) -> None:
        """Forget what is known of an arm, as if it had been removed and added: it may have become another one."""
        self._change(lambda experiment, now: _forget(experiment, now, text_of("name", name)))

    def __repr__(self) -> str:
        return f"<arms: {len(self)} of {self.capacity}, {len(self.paused) or 'none'} paused>"

    def _names(self, *states: int) -> list[str]:
        return [
            name for (name,) in self._read(f"{_NAMES} and state between ? and ? order by id", states[0], states[-1])
        ]

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._bandit._called(lambda experiment: experiment.store.all(sql, experiment.number, *values))

    def _change(self, change: Callable[[Experiment, float], None]) -> None:
        def changed(experiment: Experiment) -> None:
            change(experiment, experiment.refresh())

        self._bandit._called(changed, writes=True)


_NAMES = "select name from arms where experiment = ?"


def add(experiment: Experiment, now: float, names: Sequence[str]) -> None:
    """Within a transaction: give these names, which are checked here, the next slots."""
    if not names:
        return
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise BadArgument(f"arms must have different names, and {shown(twice)} comes twice")
    store, number = experiment.store, experiment.number
    taken = store.one(f"{_NAMES} and state < 2 and name {LISTED} limit 1", number, store.listed(names))
    if taken is not None:
        raise BadArgument(f"{shown(taken[0])} is the name of an arm that is there already")
    there = _count(experiment)
    capacity = experiment.policy.arms
    if there + len(names) > capacity:
        raise BadArgument(f"there is room for {capacity} arms, the policy's, and {there} and {len(names)} are more")
    first = experiment.live
    version = _join(experiment, now, len(names), names[0] if len(names) == 1 else f"{len(names)} arms", "add")
    rows = [(number, name, slot, version, IN_PLAY) for slot, name in enumerate(names, first)]
    store.insert("arms", ("experiment", "name", "slot", "since", "state"), rows)


def _count(experiment: Experiment) -> int:
    """How many arms there are, paused ones included."""
    sql = "select (select live from experiments where id = ?), count(*) from arms where experiment = ? and state = 1"
    live, paused = experiment.store.all(sql, experiment.number, experiment.number)[0]
    return int(live) + int(paused)


def _join(experiment: Experiment, now: float, count: int, name: str, what: str) -> int:
    """So many arms join behind the others; the version from then on."""
    _check_movable(experiment)
    first = experiment.live
    if first == 0:
        _note(experiment, now, 1, 0, what, name)  # a row always has an arm: until now, one without a name
    if first + count > 1:
        _note(experiment, now, first + count, -1, what, name)
    return experiment.version


def _leave(experiment: Experiment, now: float, name: str, state: int) -> None:
    """Free the slot of an arm for the last one."""
    store = experiment.store
    arm, slot = _found(experiment, name)
    if slot is None:
        if state == PAUSED:
            raise BadArgument(f"{shown(name)} is paused already")
        store.update("arms", ("state", "id"), [(REMOVED, arm)])
        _note(experiment, now, experiment.live, -1, "remove", name, moves=False)
        return
    _check_movable(experiment)
    last = experiment.live - 1
    _note(experiment, now, last, slot, "pause" if state == PAUSED else "remove", name)
    store.update("arms", ("slot", "state", "id"), [(None, state, arm)])
    if slot != last:
        moved = experiment.store.all("select id from arms where experiment = ? and slot = ?", experiment.number, last)
        store.update("arms", ("slot", "since", "id"), [(slot, experiment.version, moved[0][0])])


def _resume(experiment: Experiment, now: float, name: str) -> None:
    arm, slot = _found(experiment, name)
    if slot is not None:
        raise BadArgument(f"{shown(name)} is not paused")
    at = experiment.live
    version = _join(experiment, now, 1, name, "resume")
    experiment.store.update("arms", ("slot", "since", "state", "id"), [(at, version, IN_PLAY, arm)])


def _rename(experiment: Experiment, now: float, name: str, new: str) -> None:
    arm, _ = _found(experiment, name)
    if new != name:
        sql = "select 1 from arms where experiment = ? and name = ? and state < 2"
        if experiment.store.one(sql, experiment.number, new) is not None:
            raise BadArgument(f"{shown(new)} is the name of another arm")
    experiment.store.update("arms", ("name", "id"), [(new, arm)])
    _note(experiment, now, experiment.live, -1, "rename", f"{name} -> {new}", moves=False)


def _forget(experiment: Experiment, now: float, name: str) -> None:
    arm, slot = _found(experiment, name)
    if slot is None:
        return
    _check_movable(experiment)
    _note(experiment, now, experiment.live, slot, "forget", name)
    experiment.store.update("arms", ("since", "id"), [(experiment.version, arm)])


def _found(experiment: Experiment, name: str) -> tuple[int, int | None]:
    """The number and the slot of an arm."""
    sql = "select id, slot from arms where experiment = ? and name = ? and state < 2"
    found = experiment.store.one(sql, experiment.number, name)
    if found is None:
        raise BadArgument(f"there is no arm of the name {shown(name)}")
    return found[0], found[1]


def _note(
    experiment: Experiment, now: float, live: int, slot: int, what: str, name: str, *, moves: bool = True
) -> None:
    """Add a change to the list. One that ``moves`` nobody has no effect on rows."""
    experiment.version += 1
    experiment.live = live
    columns = ("experiment", "version", "live", "slot", "what", "name", "time")
    change = slot if moves else STILL
    experiment.store.insert(
        "arm_changes", columns, [(experiment.number, experiment.version, live, change, what, name, now)]
    )
    experiment.store.update("experiments", ("version", "live", "id"), [(experiment.version, live, experiment.number)])
    experiment.changed()


def _check_movable(experiment: Experiment) -> None:
    if not experiment.rows.policy.dynamic and experiment.version > 0:
        kind = type(experiment.policy).__name__
        raise BadArgument(f"the arms of a bandit that follows {kind} cannot come and go")
