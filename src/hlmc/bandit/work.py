"""What happens within one transaction: rewards are learned, decisions are made, rows are written once.

The learners that a group of requests is about are read (and locked) first, as one matrix of rows. Rewards come before
decisions, so that a decision knows what was told at the same time. Each learner counts its events: a decision made, a
reward learned. The numbers stand beside the decisions, so that a row can be replayed (:mod:`hlmc.bandit.replay`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from hlmc.bandit import ids
from hlmc.bandit.decision import Decision
from hlmc.bandit.experiment import Experiment
from hlmc.bandit.ids import HOUR
from hlmc.bandit.loaded import Learners, Question, of_both, of_decision, of_units
from hlmc.bandit.rollups import correct
from hlmc.bandit.schema import DROPPED, SETTLED
from hlmc.bandit.store import LISTED, lock
from hlmc.bandit.units import unit_of
from hlmc.engine.feedback import APPLIED, BAD_TICKET, DUPLICATE, EXPIRED
from hlmc.engine.layout import KEY
from hlmc.engine.tickets import TICKET_ARM
from hlmc.errors import BadStore, ConflictingKey, HLMCError, OutOfTurn
from hlmc.learners.tickets import CODES

UNKNOWN = "unknown"
"""What a batch is told of an id that is not known; one by one it is an error."""


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
    """A decision as the table has it. ``id`` is what :func:`hlmc.bandit.ids.id_of` makes the whole id of."""

    number: int
    id: str
    learner: int
    arm: int
    control: int
    version: int
    event: int
    asked: float
    hour: int
    due: float | None
    ticket: bytes
    result: int | None


_DECISION = f"select {', '.join(_Told._fields)} from decisions"
_NUMBERED = f"{_DECISION} where number {LISTED} and experiment = ? {lock('number')}"
_FORMER = f"{_DECISION} where id {LISTED} and length(id) = {ids.LENGTH} and experiment = ? {lock('number')}"
_KEPT = (
    "select k.key, k.digest, k.decision, d.propensity, d.control, a.name from keys k"
    " join decisions d on d.number = k.number join arms a on a.id = d.arm"
    f" where k.experiment = ? and k.key {LISTED}"
)


class Work:
    """One transaction's work on an experiment. To be used within ``store.transaction()``."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._store = experiment.store

    # --- Both together

    def done(self, tells: Sequence[Tell], asks: Sequence[Ask]) -> tuple[list[str], list[Decision | HLMCError]]:
        """Learn rewards, then make decisions, and write what has changed; an answer for each."""
        found, kept, learners = self._read(tells, asks)
        self._learners = Learners(self._experiment, self.now)
        self._learners.load(learners, {ask.unit for ask in asks if ask.key is None or ask.key not in kept})
        told = self._tell(tells, found) if tells else []
        decided = self._ask(asks, kept) if asks else []
        self._learners.write()
        return told, decided

    def _read(
        self, tells: Sequence[Tell], asks: Sequence[Ask]
    ) -> tuple[dict[str, _Told], dict[str, tuple[str, Decision]], list[tuple[Any, ...]]]:
        """Read what the work is about: decisions, what is known of keys, and learners.

        All of it is one message, where the database is elsewhere, unless learners must wait for decisions.
        """
        experiment, store = self._experiment, self._store
        told = [ids.number_of(tell.id) for tell in tells]
        keys = [ask.key for ask in asks if ask.key is not None]
        units = {ask.unit for ask in asks}
        questions: list[Question] = [experiment.question]
        if keys:
            questions.append((_KEPT, experiment.number, store.listed(keys)))
        numbers = store.numbers(len(asks)) if asks else None
        if numbers is not None:
            questions.append(numbers)
        if told:
            questions.append((_NUMBERED, store.listed(told), experiment.number))
        if len(told) == 1 and not asks:
            questions.append(of_decision(*told))
        elif not told:
            questions.append(of_units(experiment, units))
        answers = store.several(questions)
        self.now = experiment.refreshed(answers.pop(0))
        kept = {
            key: (digest, Decision(arm, name, propensity, None, bool(control)))
            for key, digest, name, propensity, control, arm in (answers.pop(0) if keys else ())
        }
        self._numbers: Iterable[int] = count(experiment.last + 1)
        if numbers is not None:
            self._numbers = [number for (number,) in answers.pop(0)]
        found = self._found(tells, answers.pop(0)) if told else {}
        if answers and (answers[0] or not found):
            return found, kept, answers[0]
        learners = {each.learner for each in found.values() if each.result is None}
        if learners:
            return found, kept, store.all(*of_both(experiment, units, learners))
        return found, kept, store.all(*of_units(experiment, units)) if units else []

    def _found(self, tells: Sequence[Tell], rows: list[tuple[Any, ...]]) -> dict[str, _Told]:
        """Decisions by their ids: those that have the numbers that were told, and those whose ids have no number."""
        found = {ids.id_of(row[0], row[1]): _Told._make(row) for row in rows}
        others = [tell.id for tell in tells if tell.id not in found]
        former = [name for name in others if len(name) == ids.LENGTH and name.isascii() and name.isprintable()]
        if former:
            rows = self._store.all(_FORMER, self._store.listed(former), self._experiment.number)
            found.update({row[1]: _Told._make(row) for row in rows})
        return found

    # --- Rewards

    def _tell(self, tells: Sequence[Tell], found: dict[str, _Told]) -> list[str]:
        """Learn what is told; an answer for each."""
        answers = [""] * len(tells)
        learning: list[tuple[int, _Told, float, int]] = []  # place in the answers, decision, reward, its result
        done: list[tuple[_Told, int, float | None, int | None]] = []  # decision, result, reward, learner's event
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
                done.append((decision, result, reward, None))
                answers[at] = CODES[EXPIRED if result in (EXPIRED, SETTLED) else APPLIED]
            else:
                learning.append((at, decision, reward, result))
        if learning:
            self._learn(learning, answers, done)
        if done:
            version, now, rolled = self._experiment.version, self.now, self._experiment.rolled
            columns = ("result", "reward", "told", "tell_event", "tell_version", "number")
            rows = [(result, reward, now, event, version, each.number) for each, result, reward, event in done]
            self._store.update("decisions", columns, rows)
            correct(self._experiment, now, [each for each in done if each[0].number <= rolled])
        return answers

    def _learn(
        self,
        learning: list[tuple[int, _Told, float, int]],
        answers: list[str],
        done: list[tuple[_Told, int, float | None, int | None]],
    ) -> None:
        """Have the learners learn, and note the results."""
        learners = self._learners
        whose = learners.places
        places = [whose[decision.learner] for _, decision, _, _ in learning]
        codes = learners.tell(places, [each.ticket for _, each, _, _ in learning], [each[2] for each in learning])
        if BAD_TICKET in codes:
            number, kept = learning[codes.index(BAD_TICKET)][1][:2]
            name = ids.id_of(number, kept)
            raise BadStore(f"{self._store.shown} is damaged: the ticket of decision {name} is not genuine")
        events = learners.next_events(places)
        for (at, decision, reward, result), code, event in zip(learning, codes, events, strict=True):
            done.append((decision, code if result == APPLIED else result, reward, event))
            answers[at] = CODES[EXPIRED if result == SETTLED else code]

    def _stands(self, decision: _Told) -> bool:
        """Whether the learner of a decision is there, in the same stage, and the arm has the slot that it had."""
        place = self._learners.places.get(decision.learner)
        if place is None or decision.event <= self._learners.began[place]:
            return False  # its unit has been forgotten, or the learner has started afresh
        if decision.version == self._experiment.version:
            return True
        slot = int(np.frombuffer(decision.ticket, "<i8")[TICKET_ARM])
        found = self._experiment.slots((slot,)).get(slot)
        return found is not None and found.since <= decision.version

    def _past(self, name: str) -> bool:
        """Whether an id has the number of a decision that was deleted: rows of the table do not go otherwise."""
        number = ids.number_of(name)
        if not 0 < number <= self._experiment.deleted:
            return False
        return self._store.one("select 1 from decisions where number = ?", number) is None

    # --- Decisions

    def _ask(self, asks: Sequence[Ask], kept: dict[str, tuple[str, Decision]]) -> list[Decision | HLMCError]:
        """Make decisions; one, or an error, for each."""
        answers: list[Any] = [None] * len(asks)
        fresh: list[int] = []
        first: dict[str, int] = {}
        named, live = self._learners.named, self._experiment.live
        for at, ask in enumerate(asks):
            if ask.key is not None and ask.key in kept:
                digest, decision = kept[ask.key]
                same = digest == self._digest(ask)
                answers[at] = decision._replace(unit=unit_of(ask.unit)) if same else conflict(ask.key)
            elif ask.key is not None and ask.key in first:
                same = self._digest(asks[first[ask.key]]) == self._digest(ask)
                answers[at] = first[ask.key] if same else conflict(ask.key)
            elif not live:
                answers[at] = OutOfTurn("there is no arm to play: add one with bandit.arms.add, or resume one")
            elif ask.unit not in named:
                most = self._experiment.room.most
                answers[at] = OutOfTurn(
                    f"unit must be one that is known: {most} is the most that there may be, and there are so many"
                )
            else:
                if ask.key is not None:
                    first[ask.key] = at
                fresh.append(at)
        if fresh:
            self._decide(asks, fresh, answers)
        return [answers[each] if isinstance(each, int) else each for each in answers] if first else answers

    def _decide(self, asks: Sequence[Ask], fresh: list[int], answers: list[Any]) -> None:
        """Make the decisions of these places in the list."""
        experiment = self._experiment
        settings, version = experiment.settings, experiment.version
        learners = self._learners
        places = [learners.named[asks[at].unit] for at in fresh]
        events = learners.next_events(places)
        if settings.control:
            control = [self._drawn(place, event) for place, event in zip(places, events, strict=True)]
            learned = [k for k, slot in enumerate(control) if slot is None]
            chosen = iter(learners.ask([places[k] for k in learned], [events[k] for k in learned]) if learned else ())
            uniform = 1.0 / experiment.live
            played = [next(chosen) if slot is None else (slot, b"", uniform) for slot in control]
        else:
            control, played = [None] * len(fresh), learners.ask(places, events)
        named = experiment.slots({slot for slot, _, _ in played})
        if lost := [slot for slot, _, _ in played if slot not in named]:
            raise BadStore(f"{self._store.shown} is damaged: no arm has slot {lost[0]}; restore it from a backup")
        number, now, hour = experiment.number, self.now, int(self.now // HOUR)
        due = None if settings.wait is None else now + settings.wait
        rows, keys = [], []
        for at, place, event, (slot, ticket, chance), drawn, own, kept in zip(
            fresh, places, events, played, control, self._numbers, ids.random_parts(len(fresh)), strict=False
        ):
            ask, (arm, name, _) = asks[at], named[slot]
            group, decision = drawn is not None, ids.id_of(own, kept)
            whose = own, kept, number, learners.ids[place], arm, chance
            rows.append((*whose, int(group), version, event, now, hour, due, ticket))
            answers[at] = Decision(name, decision, chance, unit_of(ask.unit), group)
            if ask.key is not None:
                keys.append((number, ask.key, self._digest(ask), decision, now, own))
        self._store.insert("decisions", _DECIDED, rows)
        if keys:
            self._store.insert("keys", ("experiment", "key", "digest", "decision", "asked", "number"), keys)

    def _digest(self, ask: Ask) -> str:
        """What a key remembers of what it was used for; a unit that is forgotten leaves no name behind."""
        text = ((unit_of(ask.unit) or "") if ask.purpose is None else f"\0{ask.purpose}").encode()
        return hashlib.blake2b(text, digest_size=16, key=self._experiment.secret).hexdigest()

    def _drawn(self, place: int, event: int) -> int | None:
        """The slot that a decision of the control group plays; None: the learner decides.

        Drawn from the learner's stream and the number of the event, so that equal seeds give equal draws.
        """
        share = self._experiment.settings.control
        key = self._learners.rows[place].view(np.uint64)[KEY]
        bits = hashlib.blake2b(b"control %d %d" % (key, event), digest_size=16).digest()
        if int.from_bytes(bits[:8], "little") >= share * 2.0**64:
            return None
        return int.from_bytes(bits[8:], "little") % self._experiment.live


_DECIDED = (
    "number", "id", "experiment", "learner", "arm", "propensity", "control", "version", "event", "asked", "hour", "due",
    "ticket",
)  # fmt: skip


def conflict(key: str) -> ConflictingKey:
    """The error of a key that was used for something else."""
    return ConflictingKey(f"key must be used for one decision: {key!r} was used with another unit or request")
