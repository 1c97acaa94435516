"""One experiment of a store, as a process knows it: its policy, its settings, and its arms at their present version."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from hlmc.bandit.rows import Array, Rows
from hlmc.bandit.settings import Settings
from hlmc.bandit.store import LISTED, Store
from hlmc.bandit.units import Room
from hlmc.errors import BadStore, HLMCError
from hlmc.policies.base import Policy

STILL = -2
"""Instead of a slot in the list of changes: rows are not concerned."""
MOST_CHANGES = 10_000
"""Changes of the arms that a process remembers."""


_STATE = (
    "select version, live, delay, settings, rolled, pruned, deleted,"
    " (select max(number) from decisions), (select asked from decisions order by number desc limit 1)"
    " from experiments where id = ?"
)


class Slot(NamedTuple):
    """Who has a slot: an arm's number in the table of arms, its name, and the version since which it has it."""

    arm: int
    name: str
    since: int


class Experiment:
    """What a process knows of an experiment. :meth:`refresh` brings it up within each transaction."""

    def __init__(self, store: Store, number: int, name: str, policy: Policy, seed: str, secret: bytes) -> None:
        self.store = store
        self.number = number
        self.name = name
        self.policy = policy
        self.secret = secret
        self.rows = Rows(policy, seed)
        self.delay = policy.delay
        self._seed = seed
        self._rows = {(policy.horizon or 0, policy.delay): self.rows}
        self.settings = Settings()
        self.room = Room(number)
        self.version = -1
        self.live = 0
        self.rolled = 0
        self.pruned = 0.0
        self.deleted = 0
        self.last = 0
        self._text = ""
        self._latest = 0.0
        self._seen = -1
        self._slots: dict[int, Slot] = {}
        self._changes: list[tuple[int, int, int]] = []

    def on(self, store: Store) -> Experiment:
        """The same experiment on another connection."""
        other = copy(self)
        other.store = store
        other._slots, other._changes, other._seen = {}, [], -1
        return other

    @property
    def question(self) -> tuple[str, int]:
        """What :meth:`refreshed` needs to know."""
        return _STATE, self.number

    def refresh(self) -> float:
        """Read what other processes may have changed; the time, which never goes backwards within a store."""
        return self.refreshed(self.store.all(*self.question))

    def refreshed(self, answer: list[tuple[Any, ...]]) -> float:
        """The same, where :attr:`question` has been asked."""
        found = answer[0] if answer else None
        if found is None:
            raise BadStore(f"{self.store.shown} has no experiment {self.name!r} any more")
        version, self.live, self.delay, text, self.rolled, self.pruned, self.deleted, last, asked = found
        self.last = last or 0
        if version != self._seen:
            self.changed()
            self._seen = version
        self.version = version
        if text != self._text:
            self._text, self.settings = text, Settings.read(text, self.store.shown)
        self._latest = max(self._latest, self.store.now(), asked or 0.0)
        return self._latest

    @property
    def plan(self) -> tuple[int, int]:
        """The horizon (0: not known) and the delay for which the learners of new units are planned."""
        return self.policy.horizon or 0, self.delay

    def rows_of(self, horizon: int, delay: int) -> Rows:
        """The rows of learners that are planned for a horizon and a delay."""
        plan = horizon, delay
        if plan not in self._rows:
            self._rows[plan] = Rows(planned(self.policy, *plan), self._seed)
        return self._rows[plan]

    def next_stage(self, horizon: int, delay: int) -> tuple[int, int]:
        """The plan of a learner that has reached its horizon: twice that, if the policy can be made for it."""
        with suppress(HLMCError):
            self.rows_of(2 * horizon, delay)
            return 2 * horizon, delay
        return horizon, delay  # parameters that the user fixed do not fit: the same horizon again

    def changed(self) -> None:
        """The arms are others now, or will be if this transaction is committed."""
        self._seen = -1
        self._slots.clear()
        self._changes.clear()

    def slots(self, wanted: Iterable[int]) -> dict[int, Slot]:
        """Who has these slots, and perhaps others, at the present version. A slot that is free is left out."""
        missing = {slot for slot in wanted if slot not in self._slots}
        if missing:
            sql = f"select slot, id, name, since from arms where experiment = ? and slot {LISTED}"
            for slot, *who in self.store.all(sql, self.number, self.store.listed(missing)):
                self._slots[slot] = Slot(*who)
        return self._slots

    def catch_up(self, rows: Rows, row: Array, version: int, until: int | None = None) -> None:
        """Have a row that is at a version of the arms follow the changes since, up to another version or the last."""
        for at, live, slot in self._since(version):
            if slot != STILL and (until is None or at <= until):
                rows.change(row, live, slot)

    def _since(self, version: int) -> list[tuple[int, int, int]]:
        """The changes after a version: (version, arms then, the slot that left or was forgotten, or -1)."""
        known = self._changes
        if not known or known[0][0] > version + 1 or known[-1][0] != self.version:
            first = version if not known or known[0][0] > version + 1 else known[-1][0]
            sql = "select version, live, slot from arm_changes where experiment = ? and version > ? order by version"
            found: list[Any] = self.store.all(sql, self.number, first)
            known = found if first == version else known + found
            self._changes = known[-MOST_CHANGES:]
        at = version + 1 - known[0][0]
        return known[at:] if at >= 0 else known

    def live_at(self, version: int) -> int:
        """How many arms there were at a version."""
        found = self.store.one(
            "select live from arm_changes where experiment = ? and version = ?", self.number, version
        )
        return 0 if found is None else int(found[0])


def planned(policy: Policy, horizon: int, delay: int) -> Policy:
    """A policy with another horizon (0: as it is) and another delay.

    >>> import hlmc
    >>> planned(hlmc.EXP3(arms=3, horizon=100), 200, 16)
    EXP3(arms=3, horizon=200, pending=1, delay=16)
    """
    changes: dict[str, Any] = {"delay": delay, "pending": max(1, policy.pending)} | (
        {"horizon": horizon} if horizon else {}
    )
    return replace(policy, **changes)
