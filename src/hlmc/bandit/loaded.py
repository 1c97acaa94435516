"""The learners that one transaction is about: their rows are read and locked at its beginning and written at its end.

Most learners follow the experiment's policy. A learner that has reached its policy's horizon starts afresh for twice
that, and one that was made with ``delay="measured"`` has a plan for the delay that was measured then: so the rows of a
transaction may be of several policies. They are one matrix all the same, as wide as the widest row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from hlmc.bandit.experiment import Experiment
from hlmc.bandit.rows import Rows
from hlmc.bandit.store import LISTED, lock
from hlmc.bandit.units import unit_of
from hlmc.engine.step import PAST_HORIZON
from hlmc.errors import BadStore
from hlmc.learners import Learner

Array = np.ndarray
Item = TypeVar("Item")

_NONE = np.zeros((0, 0))

STAGE = "\x1e"
"""Stands between a unit and the event before which it started afresh, in what its random stream derives from."""

_LEARNER = "select id, unit, horizon, delay, began, state, event, version from learners"
_OF_UNITS = f"{_LEARNER} where experiment = ? and unit {LISTED} {lock('id')}"
_OF_NUMBERS = f"{_LEARNER} where id {LISTED} {lock('id')}"
_OF_DECISION = f"{_LEARNER} where id in (select learner from decisions where number = ? and result is null) {lock()}"
# Not "unit ... or id ...": SQLite would read every learner of the experiment.
_BOTH = f"select id from learners where experiment = ? and unit {LISTED} union all select id from learners"
_OF_BOTH = f"{_LEARNER} where id in ({_BOTH} where id {LISTED}) {lock('id')}"

Question = tuple[Any, ...]
"""A statement and its values."""


def of_units(experiment: Experiment, units: Iterable[str]) -> Question:
    """What reads and locks the learners of these units."""
    return _OF_UNITS, experiment.number, experiment.store.listed(units)


def of_decision(number: int) -> Question:
    """What reads and locks the learner of a decision that is open."""
    return _OF_DECISION, number


def of_both(experiment: Experiment, units: Collection[str], numbers: Collection[int]) -> Question:
    """What reads and locks the learners of these units, and those of these numbers, of which there are some."""
    listed = experiment.store.listed
    if not units:
        return _OF_NUMBERS, listed(numbers)
    return _OF_BOTH, experiment.number, listed(units), listed(numbers)


Played = tuple[int, bytes, float]
"""What a learner has chosen: a slot, what must be remembered of it, and with which probability."""


class Learners:
    """Learners within a transaction, each at a *place*, a number from 0.

    Attributes
    ----------
    ids, events, began
        By place: the number in the table, that of the learner's last event, and that of the last event before it
        started afresh (0: never); decisions up to that one are none of its present row.
    places, named
        The place of a learner by its number, and by its unit.
    rows
        The rows, a matrix [place, word].
    """

    def __init__(self, experiment: Experiment, now: float) -> None:
        self._experiment = experiment
        self._store = experiment.store
        self._now = now
        self._units: list[str] = []
        self._plans: list[tuple[int, int]] = []
        self._changed: set[int] = set()
        self._stages: dict[int, tuple[Any, ...]] = {}
        self._only: Rows | None = None  # the rows of all of them, if they have one plan
        self.ids: list[int] = []
        self.events: list[int] = []
        self.began: list[int] = []
        self.places: dict[int, int] = {}
        self.named: dict[str, int] = {}
        self.rows = _NONE

    # --- Reading and writing

    def load(self, found: list[tuple[Any, ...]], units: set[str]) -> None:
        """Take the learners that were read, and make those of these units that are not there.

        A unit that the experiment has no room for is left out of ``named``.
        """
        missing = units.difference([each[1] for each in found]) if units else units
        if missing:
            admitted = self._experiment.room.admitted(self._store, sorted(missing), self._now)
            found = found + self._made(admitted) if admitted else found
        if found:
            self._admit(found)

    def _made(self, units: list[str]) -> list[tuple[Any, ...]]:
        """New learners, each with a fresh row."""
        experiment, store = self._experiment, self._store
        version = experiment.version
        rows = experiment.rows_of(*experiment.plan)
        states = rows.vouched(rows.fresh(units, experiment.live))
        first = (experiment.number, *experiment.plan, 0, 0, version, self._now, 0, version)
        columns = ("experiment", "horizon", "delay", "began", "event", "version", "used")
        made = [(*first, unit, state) for unit, state in zip(units, states, strict=True)]
        store.insert("learners", (*columns, "snapshot_event", "snapshot_version", "unit", "state"), made)
        return store.all(*of_units(experiment, units))

    def _admit(self, found: list[tuple[Any, ...]]) -> None:
        """Check the rows that were read, and bring them up to the present arms."""
        experiment = self._experiment
        self.ids, self._units, horizons, delays, self.began, states, events, versions = map(
            list, zip(*found, strict=True)
        )
        self.events = events
        self._plans = list(zip(horizons, delays, strict=True))
        plans = set(self._plans)
        self._only = experiment.rows_of(*plans.pop()) if len(plans) == 1 else None
        for rows, places in self._by_plan(range(len(found))):
            matrix, unsound = rows.admitted(_picked(states, places))
            if unsound < len(places):
                raise self._damaged(self._units[places[unsound]])
            self._put(matrix, places)
        self.places = {number: place for place, number in enumerate(self.ids)}
        self.named = {unit: place for place, unit in enumerate(self._units)}
        for place, version in enumerate(versions):
            if version != experiment.version:
                experiment.catch_up(experiment.rows_of(*self._plans[place]), self.rows[place], version)

    def _by_plan(self, places: Sequence[int]) -> list[tuple[Rows, Sequence[int]]]:
        """Which of these places, as numbers in the list, have learners of one plan: nearly always all of them."""
        own = range(len(places))
        if self._only is not None:
            return [(self._only, own)]
        return [
            (self._experiment.rows_of(*plan), [k for k in own if self._plans[places[k]] == plan])
            for plan in sorted({self._plans[place] for place in places})
        ]

    def _put(self, matrix: Array, places: Sequence[int]) -> None:
        """Put rows in their places; the matrix of all of them is as wide as the widest."""
        if len(matrix) == len(self.ids):
            self.rows = matrix
            return
        (height, width), wanted = self.rows.shape, matrix.shape[1]
        if height < len(self.ids) or width < wanted:
            wider = np.zeros((len(self.ids), max(width, wanted)))
            wider[:height, :width] = self.rows
            self.rows = wider
        self.rows[np.array(places), :wanted] = matrix

    def _damaged(self, unit: str) -> BadStore:
        whose = "that all units share" if unit_of(unit) is None else f"of unit {unit!r}"
        return BadStore(f"{self._store.shown} is damaged: the row {whose} is not that of a learner")

    def write(self) -> None:
        """Write what has changed."""
        if self._stages:
            columns = ("horizon", "delay", "began", "snapshot", "snapshot_event", "snapshot_version", "id")
            self._store.update("learners", columns, list(self._stages.values()))
        if not self._changed:
            return
        changed = sorted(self._changed)
        version, now, written = self._experiment.version, self._now, []
        for rows, numbers in self._by_plan(changed):
            places = _picked(changed, numbers)
            whole = self.rows if len(places) == len(self.rows) else self.rows[places]
            for place, state in zip(places, rows.vouched(whole), strict=True):
                written.append((state, self.events[place], version, now, self.ids[place]))
        self._store.update("learners", ("state", "event", "version", "used", "id"), written)

    # --- Steps

    def next_events(self, places: Sequence[int]) -> list[int]:
        """Count an event of the learner at each place, in this order; their numbers."""
        self._changed.update(places)
        counts, numbers = self.events, []
        for place in places:
            counts[place] += 1
            numbers.append(counts[place])
        return numbers

    def tell(self, places: Sequence[int], tickets: Sequence[bytes], rewards: Sequence[float]) -> list[int]:
        """Have learners learn rewards, in this order; a code of :mod:`hlmc.engine.feedback` for each."""
        if self._only is not None:
            return self._only.tell(self.rows, places, tickets, rewards)
        codes = [0] * len(places)
        for rows, own in self._by_plan(places):
            found = rows.tell(self.rows, [places[k] for k in own], [tickets[k] for k in own], [rewards[k] for k in own])
            for k, code in zip(own, found, strict=True):
                codes[k] = code
        return codes

    def ask(self, places: Sequence[int], events: Sequence[int]) -> list[Played]:
        """Have learners decide, in this order; ``events``: the numbers of these events."""
        played: list[Any] = [None] * len(places)
        left: Sequence[int] = range(len(places))
        while left:
            ended = []
            for rows, own in self._by_plan(_picked(places, left)):
                own = _picked(left, own)
                for k, choice in zip(own, rows.ask(self.rows, _picked(places, own)), strict=True):
                    played[k] = choice
                    if choice[0] == PAST_HORIZON:
                        ended.append(k)
            left = sorted(ended)
            for k in {places[k]: k for k in reversed(left)}.values():  # the first of each learner
                self._start_afresh(places[k], events[k] - 1)
        return played

    def _start_afresh(self, place: int, after: int) -> None:
        """Begin the next stage of a learner that has reached its horizon, after an event.

        The fresh row is also the snapshot from which the learner can be replayed.
        """
        experiment = self._experiment
        plan = experiment.next_stage(*self._plans[place])
        rows = experiment.rows_of(*plan)
        row = rows.fresh([f"{self._units[place]}{STAGE}{after}"], experiment.live)
        self._plans[place], self.began[place], self._only = plan, after, None
        self._put(row, [place])
        self._stages[place] = (*plan, after, rows.packed(row)[0], after, experiment.version, self.ids[place])


def _picked(values: Sequence[Item], places: Sequence[int]) -> Sequence[Item]:
    """Some of a list; all of it, if they are as many."""
    return values if len(places) == len(values) else [values[place] for place in places]


def begin_with(experiment: Experiment, now: float, learner: Learner) -> None:
    """Within the transaction that makes an experiment: have the learner that all share begin as another one is.

    The row is also the snapshot from which it can be replayed.
    """
    rows = experiment.rows_of(*experiment.plan)
    state = rows.packed(rows.adopted(learner, experiment.live))[0]
    version = experiment.version
    made = {
        "experiment": experiment.number, "horizon": experiment.plan[0], "delay": experiment.plan[1], "began": 0,
        "event": 0, "version": version, "used": now, "snapshot_event": 0, "snapshot_version": version, "unit": "",
        "state": state, "snapshot": state,
    }  # fmt: skip
    experiment.store.insert("learners", tuple(made), [tuple(made.values())])
