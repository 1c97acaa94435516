"""Check a store: the database's own files, every row, and that each row is what its events make of it.

A learner's events are numbered: each decision and each reward learned is one, and decisions remember the numbers. From
the learner's last snapshot (or from its beginning) the events are played again, in order, by the same kernels. The row,
the tickets and the answers must come out the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from hlmc.bandit.experiment import Experiment
from hlmc.bandit.ids import id_of
from hlmc.bandit.rollups import AGGREGATES, SUMS
from hlmc.bandit.rows import Rows
from hlmc.bandit.units import unit_of
from hlmc.engine.feedback import APPLIED, EXPIRED, LATE
from hlmc.engine.stored import ASK, TELL

Array = np.ndarray

CONTROL = 2
"""The kind of an event that the learner takes no part in."""
AT_ONCE = 4096
"""Events that are played in one call."""
MOST = 100
"""Problems that are listed."""

_EVENTS = f"""
select learner, event, case when control = 1 then {CONTROL} else {ASK} end, version, ticket, 0.0, null, number, id
from decisions where experiment = ?
union all
select learner, tell_event, {TELL}, tell_version, ticket, reward, result, number, id
from decisions where experiment = ? and tell_event is not null
order by 1, 2
"""


class _Event(NamedTuple):
    learner: int
    event: int
    kind: int
    version: int
    ticket: bytes
    reward: float
    result: int | None
    number: int
    kept: str


def problems(experiment: Experiment) -> list[str]:
    """Within a transaction that reads: what is wrong with an experiment and its store; empty if nothing."""
    experiment.refresh()
    found = [f"the database: {text}" for text in experiment.store.integrity()]
    if not found:
        for problem in _of_rows(experiment):
            found.append(problem)
            if len(found) >= MOST:
                break
        found += _of_aggregates(experiment)
    return found


def _of_rows(experiment: Experiment) -> Iterator[str]:
    """What is wrong with learners and their events."""
    sql = (
        "select id, unit, horizon, delay, state, event, version, snapshot, snapshot_event, snapshot_version"
        " from learners where experiment = ? order by id"
    )
    streams = groupby(map(_Event._make, experiment.store.each(_EVENTS, experiment.number, experiment.number)), _whose)
    stream: tuple[int, Iterator[_Event]] | None = next(streams, None)
    for number, unit, *rest in experiment.store.each(sql, experiment.number):
        while stream is not None and stream[0] < number:  # of a unit that has been forgotten
            stream = next(streams, None)
        events = list(stream[1]) if stream is not None and stream[0] == number else []
        problem = _replayed(experiment, unit, events, *rest)
        if problem:
            whose = "all" if unit_of(unit) is None else f"unit {unit!r}"
            yield f"the learner of {whose}: {problem}"


def _whose(event: _Event) -> int:
    return event.learner


def _replayed(experiment: Experiment, unit: str, events: list[_Event], *learner: Any) -> str:
    """What is wrong with one learner; empty if nothing."""
    horizon, delay, state, last, version, snapshot, first, from_version = learner
    rows = experiment.rows_of(horizon, delay)
    if len(state) != rows.stored_bytes or rows.first_unsound(rows.unpacked([state])) == 0:
        return "its row is damaged"
    missed = [each.event for each in events if each.event > first]
    if missed != list(range(first + 1, last + 1)):
        return f"its events are not the numbers {first + 1} to {last}, each once"
    if snapshot is None:
        row = rows.fresh([unit], experiment.live_at(from_version))
    else:
        row = rows.unpacked([snapshot])
    at = from_version
    played = [each for each in events if each.event > first]
    while played:
        if played[0].version != at:
            experiment.catch_up(rows, row[0], at, played[0].version)
            at = played[0].version
        count = next((k for k, each in enumerate(played[:AT_ONCE]) if each.version != at), min(len(played), AT_ONCE))
        problem = _played(rows, row, [each for each in played[:count] if each.kind != CONTROL])
        if problem:
            return problem
        played = played[count:]
    if at != version or rows.packed(row)[0] != bytes(state):
        return "its row is not what its events make of it"
    return ""


def _played(rows: Rows, row: Array, events: list[_Event]) -> str:
    """Play events of one learner again; what is wrong, or empty."""
    if not events:
        return ""
    kinds = [each.kind for each in events]
    given = rows.tickets([bytes(each.ticket) for each in events])
    tickets = np.where(np.array(kinds)[:, None] == TELL, given, 0.0)
    codes = rows.steps(row, [0] * len(events), kinds, tickets, np.array([each.reward for each in events]))
    same = (tickets.view(np.uint64) == given.view(np.uint64)).all(axis=1).tolist()
    for event, code, equal in zip(events, codes, same, strict=True):
        told = event.kind == TELL and event.result in (APPLIED, LATE, EXPIRED)
        if not equal or (told and code != event.result):
            return f"decision {id_of(event.number, event.kept)} is not what the row makes of it"
    return ""


def _of_aggregates(experiment: Experiment) -> list[str]:
    """Whether the aggregates are the sums of the decisions below ``rolled``, as long as none was deleted."""
    if experiment.pruned > 0.0:
        return []
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in SUMS)
    kept = experiment.store.all(f"select {sums} from rollups where experiment = ?", experiment.number)[0]
    sql = f"select {AGGREGATES} from decisions where experiment = ? and number <= ?"
    own = experiment.store.all(sql, experiment.number, experiment.rolled)[0]
    return [
        f"the aggregates: {name} is {float(a):g} and should be {float(b):g}"
        for name, a, b in zip(SUMS, kept, own, strict=True)
        if not np.isclose(float(a), float(b), rtol=1e-6, atol=1e-6)
    ]
