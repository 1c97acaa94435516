"""Aggregates by hour, arm and control group, made from the table of decisions a block at a time.

A transaction that makes decisions writes no aggregates. Once in a while a block of decisions is added up, each as it is
then, and the experiment remembers up to which number that was done (``rolled``). A reward that comes later for a
decision below that number is added to the aggregates by the transaction that learns it. So the aggregates and the
decisions above ``rolled`` together are always all decisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hlmc.bandit.schema import DROPPED, SETTLED, TABLES
from hlmc.engine.feedback import APPLIED, EXPIRED, LATE

if TYPE_CHECKING:
    from hlmc.bandit.experiment import Experiment

BLOCK = 10_000
"""Decisions that are added up in one transaction."""
LAG = 20_000
"""The latest decisions are left out: their rewards may come soon."""

KEY = ("experiment", "hour", "arm", "control")
SUMS = tuple(name for name in TABLES["rollups"] if name not in KEY)
TOLD = (APPLIED, LATE, EXPIRED)

_IN_TOLD = f"result in {TOLD}"
AGGREGATES = f"""
count(*), count(case when {_IN_TOLD} then 1 end), count(reward), coalesce(sum(reward), 0.0),
coalesce(sum(reward * reward), 0.0), count(case when result = {LATE} then 1 end),
count(case when result = {EXPIRED} then 1 end), count(case when result = {DROPPED} then 1 end),
count(case when result = {SETTLED} then 1 end), coalesce(sum(case when {_IN_TOLD} then told - asked end), 0.0)
"""
"""Columns of a select from decisions, in the order of :data:`SUMS`."""

_ADD = ", ".join(f"{name} = rollups.{name} + excluded.{name}" for name in SUMS)
_UPSERT = f"on conflict (experiment, hour, arm, control) do update set {_ADD}"


def behind(experiment: Experiment) -> int:
    """How many decisions, of all experiments of the store, are to be added up now."""
    found = experiment.store.one("select number from decisions order by number desc limit 1")
    rolled = experiment.store.one("select rolled from experiments where id = ?", experiment.number)
    return 0 if found is None or rolled is None else int(found[0]) - int(rolled[0]) - LAG


def roll_up(experiment: Experiment) -> bool:
    """In a transaction of its own, add up the next block; whether there is more to do."""
    store = experiment.store
    with store.transaction(alone=True):
        experiment.refresh()
        left = behind(experiment)
        if left <= 0:
            return False
        first, last = experiment.rolled, experiment.rolled + min(left, BLOCK)
        store.all(
            f"insert into rollups ({', '.join((*KEY, *SUMS))}) select experiment, hour, arm, control, {AGGREGATES}"
            " from decisions where number > ? and number <= ? and experiment = ?"
            f" group by experiment, hour, arm, control {_UPSERT}",
            first,
            last,
            experiment.number,
        )
        store.update("experiments", ("rolled", "id"), [(last, experiment.number)])
        return left > BLOCK


def correct(experiment: Experiment, now: float, done: Sequence[Any]) -> None:
    """Within a transaction: add what was told of decisions that have been added up."""
    if not done:
        return
    sums: dict[tuple[int, int, int], list[float]] = defaultdict(lambda: [0.0] * len(SUMS))
    for decision, result, reward, _ in done:
        one = sums[decision.hour, decision.arm, decision.control]
        told = result in TOLD
        got = (0, told, reward is not None, reward or 0.0, (reward or 0.0) ** 2, result == LATE, result == EXPIRED)
        for at, value in enumerate((*got, result == DROPPED, result == SETTLED, told * (now - decision.asked))):
            one[at] += value
    places = ", ".join("?" * (len(KEY) + len(SUMS)))
    for key, values in sorted(sums.items()):  # in one order, so that two transactions do not wait for each other
        whole = [int(v) if TABLES["rollups"][n].startswith("int") else v for n, v in zip(SUMS, values, strict=True)]
        sql = f"insert into rollups ({', '.join((*KEY, *SUMS))}) values ({places}) {_UPSERT}"
        experiment.store.all(sql, experiment.number, *key, *whole)
