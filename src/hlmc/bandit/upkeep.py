"""What must be done from time to time, by any process that uses the store, in small transactions of its own.

*Settling*: decisions whose ``wait`` is over get their ``default``. *Roll-ups* (:mod:`hlmc.bandit.rollups`).
*Retention*: decisions older than ``keep`` are deleted once they are in the aggregates. *Idle units* are forgotten. The
delay of rewards is measured, if learners of new units are to be planned for it. Every step does a bounded amount of
work and is committed by itself, so that others wait little, and a process that is killed in between leaves nothing half
done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from hlmc.bandit.experiment import Experiment
from hlmc.bandit.ids import id_of
from hlmc.bandit.report import measured_delay
from hlmc.bandit.rollups import behind, roll_up
from hlmc.bandit.settings import MEASURED
from hlmc.bandit.store import LISTED, lock
from hlmc.bandit.work import Tell, Work

SETTLED_AT_ONCE = 512
"""Decisions that are settled in one transaction."""
PRUNED_AT_ONCE = 2000
"""Decisions, or idle units, that are deleted in one transaction."""
PAUSE = 0.25
"""Seconds between two looks at whether something is due."""
BETWEEN_MEASURES = 60.0
"""Seconds between two measurements of the delay."""


class Upkeep:
    """The upkeep of an experiment by this process. The delay of rewards is measured for learners of new units, if they
    are planned for it. Every step returns whether there is more to do."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._next = 0.0
        self._pruned = 0
        self._looked = 0
        self._measure = 0.0

    def awaited(self) -> bool:
        """Whether some time has passed since the last glance."""
        return time.monotonic() >= self._next

    def glance(self) -> None:
        """One step of each kind."""
        moment = time.monotonic()
        self._next = moment if self.round() else moment + PAUSE

    def round(self, thorough: bool = False) -> bool:
        """One step of each kind; whether there is more to do. ``thorough``: also what is done once in a while."""
        if thorough:
            self._measure = 0.0
        more = False
        for step in self._steps():
            more = step() or more
        return more

    def settle(self) -> bool:
        """Settle decisions that are due."""
        experiment = self._experiment
        with experiment.store.transaction():
            now = experiment.refresh()
            sql = (
                "select number, id from decisions where experiment = ? and due <= ? and due is not null"
                " and result is null order by due limit ?"
            )
            due = experiment.store.all(sql, experiment.number, now, SETTLED_AT_ONCE)
            if due:
                Work(experiment).done([Tell(id_of(*each), None, True) for each in due], ())
        return len(due) == SETTLED_AT_ONCE

    def prune(self) -> bool:
        """Delete decisions that are older than ``keep``.

        Their learners get a snapshot: from there on their rows can be replayed without what is deleted.
        """
        experiment, store = self._experiment, self._experiment.store
        with store.transaction():
            now = experiment.refresh()
            keep = experiment.settings.keep
            if keep is None:
                return False
            sql = (
                "select number, learner from decisions where experiment = ? and number > ? and number <= ?"
                f" and asked < ? order by number limit ? {lock()}"
            )
            limits = (experiment.number, self._pruned, experiment.rolled, now - keep, PRUNED_AT_ONCE)
            found = store.all(sql, *limits)
            if not found:
                return False
            learners = store.listed({learner for _, learner in found})
            store.all(f"select id from learners where id {LISTED} {lock('id')}", learners)
            store.all(
                "update learners set snapshot = state, snapshot_event = event, snapshot_version = version"
                f" where id {LISTED}",
                learners,
            )
            store.all(f"delete from decisions where number {LISTED}", store.listed([number for number, _ in found]))
            store.all("delete from keys where experiment = ? and asked < ?", experiment.number, now - keep)
            self._pruned = found[-1][0]
            store.update("experiments", ("pruned", "deleted", "id"), [(now - keep, self._pruned, experiment.number)])
        return len(found) == PRUNED_AT_ONCE

    def forget_idle(self) -> bool:
        """Forget units that have not asked for the time ``idle``."""
        experiment, store = self._experiment, self._experiment.store
        with store.transaction():
            now = experiment.refresh()
            idle = experiment.settings.idle
            if idle is None:
                return False
            sql = "select id, used from learners where experiment = ? and id > ? and unit <> '' order by id limit ?"
            found = store.all(sql, experiment.number, self._looked, PRUNED_AT_ONCE)
            gone = [number for number, used in found if used < now - idle]
            if gone:
                store.all(f"delete from learners where id {LISTED}", store.listed(gone))
        more = len(found) == PRUNED_AT_ONCE
        self._looked = found[-1][0] if more else 0
        return more

    def measure(self) -> bool:
        """Plan learners of new units for the delay that is measured: a power of two, so that there are few plans."""
        experiment, store = self._experiment, self._experiment.store
        with store.transaction(alone=True):
            experiment.refresh()
            found = measured_delay(experiment)
            if found is not None:
                wanted = 0 if found < 1.0 else 2 ** math.ceil(math.log2(found))
                if wanted > experiment.delay or 4 * wanted <= experiment.delay:
                    store.update("experiments", ("delay", "id"), [(wanted, experiment.number)])
        self._measure = time.monotonic() + BETWEEN_MEASURES
        return False

    def _steps(self) -> list[Callable[[], bool]]:
        """The steps for which there is something to do."""
        experiment = self._experiment
        sql = "select 1 from decisions where experiment = ? and due <= ? and due is not null and result is null limit 1"
        with experiment.store.reading():
            due = experiment.store.one(sql, experiment.number, experiment.store.now()) is not None
            rolls = behind(experiment) > 0
        wanted = [
            (self.settle, due),
            (lambda: roll_up(experiment), rolls),
            (self.prune, experiment.settings.keep is not None),
            (self.measure, experiment.settings.delay == MEASURED and time.monotonic() >= self._measure),
            (self.forget_idle, experiment.settings.idle is not None),
        ]
        return [step for step, needed in wanted if needed]
