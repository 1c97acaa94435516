"""Units: under which names their learners are stored, and how many there may be."""

from __future__ import annotations

from hlmc.bandit.store import Store

SHARD = "\x1f"
"""What the stored unit of a shard begins with; no unit of a caller contains it."""
AGAIN = 10.0
"""Seconds after which units are counted anew where their number is limited: other processes make and forget some."""


class Room:
    """How many units an experiment has room for, as one process sees it.

    Within one process the limit is exact. Several processes together may go above it by what they make in
    :data:`AGAIN` seconds.
    """

    def __init__(self, experiment: int) -> None:
        self._experiment = experiment
        self.most: int | None = None
        """The most units; None: any number."""
        self._there = 0
        self._counted = -AGAIN

    def admitted(self, store: Store, units: list[str], now: float) -> list[str]:
        """Those of some new units for which there is room. Learners that are of no unit need none."""
        if self.most is None or not units:
            return units
        own = [unit for unit in units if unit_of(unit) is not None]
        if now >= self._counted + AGAIN:
            sql = "select count(*) from learners where experiment = ? and unit <> '' and substr(unit, 1, 1) <> ?"
            ((self._there,),), self._counted = store.all(sql, self._experiment, SHARD), now
        refused = set(own[max(0, self.most - self._there) :])
        self._there += len(own) - len(refused)
        return [unit for unit in units if unit not in refused]


def unit_of(stored: str) -> str | None:
    """The unit as its caller knows it; None for the learner that all share, and for its shards."""
    return None if not stored or stored.startswith(SHARD) else stored
