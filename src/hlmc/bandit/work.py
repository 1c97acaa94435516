"""What happens within one transaction: rewards are learned, decisions are made, rows are written once.

The learners that a group of requests is about are read (and locked) first, as one matrix of rows. Rewards come before
decisions, so that a decision knows what was told at the same time. Each learner counts its events: a decision made, a
reward learned. The numbers stand beside the decisions, so that a row can be replayed (:mod:`hlmc.bandit.replay`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hlmc.bandit import ids
from hlmc.bandit.decision import Decision
from hlmc.bandit.experiment import Experiment
from hlmc.bandit.ids import HOUR
from hlmc.bandit.rollups import correct
from hlmc.bandit.schema import DROPPED, SETTLED
from hlmc.bandit.store import LISTED, LOCK
from hlmc.engine.feedback import APPLIED, BAD_TICKET, DUPLICATE, EXPIRED
from hlmc.engine.layout import KEY
from hlmc.engine.tickets import TICKET_ARM
from hlmc.errors import BadStore, ConflictingKey, HLMCError, OutOfTurn
from hlmc.learners.learner import refusal
from hlmc.learners.tickets import CODES

UNKNOWN = "unknown"
"""What a batch is told of an id that is not known; one by one it is an error."""

SHARD = "\x1f"
"""What the stored unit of a shard begins with; no unit of a caller contains it."""

_LEARNER = "select id, unit, state, event, version from learners"


class Ask(NamedTuple):
    """A decision to be made: the stored name of the unit, the caller's key or None, and what the key is for."""

    unit: str
    key: str | None = None
    purpose: str | None = None


class Tell(NamedTuple):
    """A reward of a decision; None: it will not come. ``settled``: because it was due."""

    id: str
    reward: float | None
    settled: bool = False


class _Told(NamedTuple):
    """A decision as the table has it."""

    id: str
    number: int
    learner: int
    arm: int
    control: int
    version: int
    asked: float
    hour: int
    due: float | None
    ticket: bytes
    result: int | None


class _Done(NamedTuple):
    """What became of a decision: its result, the reward that counts (None: none), the learner's event (None: none)."""

    decision: _Told
    result: int
    reward: float | None
    event: int | None


class Work:
    """One transaction's work on an experiment. To be used within ``store.transaction()``."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._store = experiment.store
        self.now = experiment.refresh()
        self._ids: list[int] = []
        self._units: list[str] = []
        self._events: list[int] = []
        self._versions: list[int] = []
        self._rows = np.zeros((0, experiment.rows.width))
        self._places: dict[int, int] = {}
        self._named: dict[str, int] = {}
        self._changed: set[int] = set()

    # --- Both together

    def done(self, tells: Sequence[Tell], asks: Sequence[Ask]) -> tuple[list[str], list[Decision | HLMCError]]:
        """Learn rewards, then make decisions, and write what has changed; an answer for each."""
        kept = self._kept([ask.key for ask in asks if ask.key is not None])
        fresh = [ask for ask in asks if ask.key is None or ask.key not in kept]
        found = self._decisions([tell.id for tell in tells])
        self._load({ask.unit for ask in fresh}, {each.learner for each in found.values() if each.result is None})
        told = self._tell(tells, found)
        decided = self._ask(asks, kept)
        self._write()
        return told, decided

    # --- Learners

    def _load(self, units: Iterable[str], numbers: Iterable[int]) -> None:
        """Read and lock the learners of these units, making those that are not there, and those of these numbers."""
        experiment, store = self._experiment, self._store
        units, numbers = sorted(units), sorted(numbers)
        found: list[tuple[Any, ...]] = []
        if units and numbers:
            sql = f"{_LEARNER} where experiment = ? and (unit {LISTED} or id {LISTED}) order by id {LOCK}"
            found = store.all(sql, experiment.number, store.listed(units), store.listed(numbers))
        elif units:
            sql = f"{_LEARNER} where experiment = ? and unit {LISTED} order by id {LOCK}"
            found = store.all(sql, experiment.number, store.listed(units))
        elif numbers:
            found = store.all(f"{_LEARNER} where id {LISTED} order by id {LOCK}", store.listed(numbers))
        if units:
            there = {each[1] for each in found}
            missing = [unit for unit in units if unit not in there]
            if missing:
                found += self._made(missing)
        if found:
            self._admit(found)

    def _made(self, units: list[str]) -> list[tuple[Any, ...]]:
        """New learners, each with a fresh row."""
        experiment, store = self._experiment, self._store
        version = experiment.version
        states = experiment.rows.packed(experiment.rows.fresh(units, experiment.live))
        columns = ("experiment", "unit", "state", "event", "version", "used", "snapshot_event", "snapshot_version")
        rest = (0, version, self.now, 0, version)
        store.insert(
            "learners", columns, [(experiment.number, u, s, *rest) for u, s in zip(units, states, strict=True)]
        )
        sql = f"{_LEARNER} where experiment = ? and unit {LISTED} order by id {LOCK}"
        return store.all(sql, experiment.number, store.listed(units))

    def _admit(self, found: list[tuple[Any, ...]]) -> None:
        """Check the rows that were read, and bring them up to the present arms."""
        experiment = self._experiment
        numbers, units, states, events, versions = zip(*found, strict=True)
        size = experiment.rows.stored_bytes
        for unit, state in zip(units, states, strict=True):
            if len(state) != size:
                raise self._damaged(unit)
        self._rows = experiment.rows.unpacked(states)
        unsound = experiment.rows.first_unsound(self._rows)
        if unsound < len(self._rows):
            raise self._damaged(units[unsound])
        self._ids, self._units, self._events = list(numbers), list(units), list(events)
        self._versions = list(versions)
        self._places = {number: place for place, number in enumerate(numbers)}
        self._named = {unit: place for place, unit in enumerate(units)}
        for place, version in enumerate(versions):
            if version != experiment.version:
                experiment.catch_up(self._rows[place], version)

    def _damaged(self, unit: str) -> BadStore:
        whose = f"of unit {unit!r}" if unit and not unit.startswith(SHARD) else "that all units share"
        return BadStore(f"{self._store.shown} is damaged: the row {whose} is not that of a learner")

    def _write(self) -> None:
        if not self._changed:
            return
        places = sorted(self._changed)
        states = self._experiment.rows.packed(self._rows[places])
        version = self._experiment.version
        rows = [
            (state, self._events[place], version, self.now, self._ids[place])
            for place, state in zip(places, states, strict=True)
        ]
        self._store.update("learners", ("state", "event", "version", "used", "id"), rows)

    # --- Rewards

    def _decisions(self, wanted: list[str]) -> dict[str, _Told]:
        if not wanted:
            return {}
        sql = (
            "select id, number, learner, arm, control, version, asked, hour, due, ticket, result from"
            f" decisions where id {LISTED} and experiment = ? order by number {LOCK}"
        )
        found = self._store.all(sql, self._store.listed(wanted), self._experiment.number)
        return {each[0]: _Told(*each) for each in found}

    def _tell(self, tells: Sequence[Tell], found: dict[str, _Told]) -> list[str]:
        """Learn what is told; an answer for each."""
        answers = [""] * len(tells)
        learning: list[tuple[int, _Told, float, int]] = []  # place in the answers, decision, reward, its result
        done: list[_Done] = []
        seen: set[str] = set()
        unanswered = self._experiment.settings.unanswered
        for at, (name, reward, settled) in enumerate(tells):
            decision = found.get(name)
            if decision is None:
                answers[at] = CODES[EXPIRED] if self._past(name) else UNKNOWN
                continue
            if decision.result is not None or name in seen:
                answers[at] = CODES[EXPIRED if decision.result == SETTLED else DUPLICATE]
                continue
            seen.add(name)
            result = APPLIED
            if settled or (decision.due is not None and decision.due <= self.now):
                reward, result = unanswered, SETTLED
            elif reward is None:
                reward, result = unanswered, DROPPED
            if reward is None or decision.control or not self._stands(decision):
                if reward is not None and not decision.control and result == APPLIED:
                    result = EXPIRED
                done.append(_Done(decision, result, reward, None))
                answers[at] = CODES[EXPIRED if result in (EXPIRED, SETTLED) else APPLIED]
            else:
                learning.append((at, decision, reward, result))
        if learning:
            self._learn(learning, answers, done)
        if done:
            version = self._experiment.version
            columns = ("result", "reward", "told", "tell_event", "tell_version", "number")
            rows = [(each.result, each.reward, self.now, each.event, version, each.decision.number) for each in done]
            self._store.update("decisions", columns, rows)
            correct(
                self._experiment, self.now, [each for each in done if each.decision.number <= self._experiment.rolled]
            )
        return answers

    def _learn(self, learning: list[tuple[int, _Told, float, int]], answers: list[str], done: list[_Done]) -> None:
        """Have the learners learn, and note the results."""
        places = np.array([self._places[decision.learner] for _, decision, _, _ in learning], np.int64)
        tickets = [decision.ticket for _, decision, _, _ in learning]
        rewards = np.array([reward for _, _, reward, _ in learning])
        codes = self._experiment.rows.tell(self._rows, places, tickets, rewards)
        for (at, decision, reward, result), place, code in zip(learning, places.tolist(), codes.tolist(), strict=True):
            if code == BAD_TICKET:
                raise BadStore(f"{self._store.shown} is damaged: the ticket of decision {decision.id} is not genuine")
            self._events[place] += 1
            self._changed.add(place)
            kept = code if result == APPLIED else result
            done.append(_Done(decision, kept, reward, self._events[place]))
            answers[at] = CODES[EXPIRED if result == SETTLED else code]

    def _stands(self, decision: _Told) -> bool:
        """Whether the learner of a decision is there, and the arm still has the slot that it had."""
        if decision.learner not in self._places:
            return False  # its unit has been forgotten
        if decision.version == self._experiment.version:
            return True
        slot = int(np.frombuffer(decision.ticket, "<i8")[TICKET_ARM])
        found = self._experiment.slots((slot,)).get(slot)
        return found is not None and found.since <= decision.version

    def _past(self, name: str) -> bool:
        """Whether an id that is not in the table was, and is past retention."""
        return ids.made_before(self._experiment.secret, name, self._experiment.pruned)

    # --- Decisions

    def _kept(self, keys: list[str]) -> dict[str, tuple[str, Decision]]:
        """The decisions that were made under some of these keys, and digests of the units that they were made for."""
        if not keys:
            return {}
        sql = (
            "select k.key, k.digest, d.id, d.propensity, d.control, a.name from keys k"
            " join decisions d on d.id = k.decision join arms a on a.id = d.arm"
            f" where k.experiment = ? and k.key {LISTED}"
        )
        found = self._store.all(sql, self._experiment.number, self._store.listed(keys))
        return {
            key: (digest, Decision(arm, name, propensity, None, bool(control)))
            for key, digest, name, propensity, control, arm in found
        }

    def _ask(self, asks: Sequence[Ask], kept: dict[str, tuple[str, Decision]]) -> list[Decision | HLMCError]:
        """Make decisions; one, or an error, for each."""
        answers: list[Any] = [None] * len(asks)
        fresh: list[int] = []
        first: dict[str, int] = {}
        for at, ask in enumerate(asks):
            if ask.key is not None and ask.key in kept:
                digest, decision = kept[ask.key]
                same = digest == self._digest(ask)
                answers[at] = decision._replace(unit=unit_of(ask.unit)) if same else conflict(ask.key)
            elif ask.key is not None and ask.key in first:
                same = self._digest(asks[first[ask.key]]) == self._digest(ask)
                answers[at] = first[ask.key] if same else conflict(ask.key)
            elif not self._experiment.live:
                answers[at] = OutOfTurn("there is no arm to play: add one with bandit.arms.add, or resume one")
            else:
                if ask.key is not None:
                    first[ask.key] = at
                fresh.append(at)
        if fresh:
            self._decide(asks, fresh, answers)
        return [answers[each] if isinstance(each, int) else each for each in answers]

    def _decide(self, asks: Sequence[Ask], fresh: list[int], answers: list[Any]) -> None:
        """Make the decisions of these places in the list."""
        experiment = self._experiment
        settings, version = experiment.settings, experiment.version
        places = [self._named[asks[at].unit] for at in fresh]
        events = [self._next_event(place) for place in places]
        control = [self._drawn(place, event) for place, event in zip(places, events, strict=True)]
        learned = [k for k, slot in enumerate(control) if slot is None]
        slots = [0 if slot is None else slot for slot in control]
        chances = [1.0 / experiment.live] * len(fresh)
        tickets = [b""] * len(fresh)
        if learned:
            chosen, made = experiment.rows.ask(self._rows, np.array([places[k] for k in learned], np.int64))
            packed, likely = experiment.rows.pack_tickets(made), experiment.rows.propensities(made)
            for k, slot, ticket, chance in zip(learned, chosen.tolist(), packed, likely.tolist(), strict=True):
                slots[k], tickets[k], chances[k] = slot, ticket, chance
        named = experiment.slots({slot for slot in slots if slot >= 0})
        names = ids.made(experiment.secret, self.now, len(fresh))
        due = None if settings.wait is None else self.now + settings.wait
        hour = int(self.now // HOUR)
        rows, keys = [], []
        for k, at in enumerate(fresh):
            ask, place = asks[at], places[k]
            if slots[k] < 0:
                answers[at] = refusal(slots[k], experiment.policy)
                continue
            arm, name, _ = named[slots[k]]
            drawn = control[k] is not None
            whose = (names[k], experiment.number, self._ids[place], arm, chances[k], int(drawn))
            rows.append((*whose, version, events[k], self.now, hour, due, tickets[k]))
            self._changed.add(place)
            answers[at] = Decision(name, names[k], chances[k], unit_of(ask.unit), drawn)
            if ask.key is not None:
                keys.append((experiment.number, ask.key, self._digest(ask), names[k], self.now))
        self._store.insert("decisions", _DECISION, rows)
        if keys:
            self._store.insert("keys", ("experiment", "key", "digest", "decision", "asked"), keys)

    def _digest(self, ask: Ask) -> str:
        """What a key remembers of what it was used for; a unit that is forgotten leaves no name behind."""
        text = ((unit_of(ask.unit) or "") if ask.purpose is None else f"\0{ask.purpose}").encode()
        return hashlib.blake2b(text, digest_size=16, key=self._experiment.secret).hexdigest()

    def _next_event(self, place: int) -> int:
        self._events[place] += 1
        return self._events[place]

    def _drawn(self, place: int, event: int) -> int | None:
        """The slot that a decision of the control group plays; None: the learner decides.

        Drawn from the learner's stream and the number of the event, so that equal seeds give equal draws.
        """
        share = self._experiment.settings.control
        if share == 0.0:
            return None
        key = self._rows[place].view(np.uint64)[KEY]
        bits = hashlib.blake2b(b"control %d %d" % (key, event), digest_size=16).digest()
        if int.from_bytes(bits[:8], "little") >= share * 2.0**64:
            return None
        return int.from_bytes(bits[8:], "little") % self._experiment.live


_DECISION = (
    "id",
    "experiment",
    "learner",
    "arm",
    "propensity",
    "control",
    "version",
    "event",
    "asked",
    "hour",
    "due",
    "ticket",
)


def unit_of(stored: str) -> str | None:
    """The unit as its caller knows it; None for the learner that all share, and for its shards."""
    return None if not stored or stored.startswith(SHARD) else stored


def conflict(key: str) -> ConflictingKey:
    """The error of a key that was used for something else."""
    return ConflictingKey(f"key must be used for one decision: {key!r} was used with another unit or request")
