"""What happens within one transaction: rewards are learned, decisions are made, rows are written once.

The learners that a group of requests is about are read (and locked) first, as one matrix of rows. Rewards come before
decisions, so that a decision knows what was told at the same time. Each learner counts its events: a decision made, a
reward learned. The numbers stand beside the decisions, so that a row can be replayed (:mod:`hlmc.bandit.replay`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hlmc.bandit import ids
from hlmc.bandit.decision import Decision
from hlmc.bandit.experiment import Experiment
from hlmc.bandit.ids import HOUR
from hlmc.bandit.loaded import Learners, Question, of_both, of_decision, of_units
from hlmc.bandit.rollups import correct
from hlmc.bandit.schema import DROPPED, SETTLED
from hlmc.bandit.store import LISTED, LOCK
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
    """A decision as the table has it."""

    id: str
    number: int
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


class _Done(NamedTuple):
    """What became of a decision: its result, the reward that counts (None: none), the learner's event (None: none)."""

    decision: _Told
    result: int
    reward: float | None
    event: int | None


_DECISIONS = (
    f"select {', '.join(_Told._fields)} from decisions where id {LISTED} and experiment = ? order by number {LOCK}"
)
_KEPT = (
    "select k.key, k.digest, d.id, d.propensity, d.control, a.name from keys k"
    " join decisions d on d.id = k.decision join arms a on a.id = d.arm"
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
        told = [tell.id for tell in tells]
        keys = [ask.key for ask in asks if ask.key is not None]
        units = {ask.unit for ask in asks}
        questions: list[Question] = [experiment.question]
        if keys:
            questions.append((_KEPT, experiment.number, store.listed(keys)))
        if told:
            questions.append((_DECISIONS, store.listed(told), experiment.number))
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
        found = {each[0]: _Told._make(each) for each in answers.pop(0)} if told else {}
        if answers:
            return found, kept, answers[0]
        numbers = {each.learner for each in found.values() if each.result is None}
        if numbers:
            return found, kept, store.all(*of_both(experiment, units, numbers))
        return found, kept, store.all(*of_units(experiment, units)) if units else []

    # --- Rewards

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
            rolled = self._experiment.rolled
            correct(self._experiment, self.now, [each for each in done if each.decision.number <= rolled])
        return answers

    def _learn(self, learning: list[tuple[int, _Told, float, int]], answers: list[str], done: list[_Done]) -> None:
        """Have the learners learn, and note the results."""
        learners = self._learners
        places = [learners.places[decision.learner] for _, decision, _, _ in learning]
        codes = learners.tell(places, [each.ticket for _, each, _, _ in learning], [each[2] for each in learning])
        for (at, decision, reward, result), place, code in zip(learning, places, codes, strict=True):
            if code == BAD_TICKET:
                raise BadStore(f"{self._store.shown} is damaged: the ticket of decision {decision.id} is not genuine")
            kept = code if result == APPLIED else result
            done.append(_Done(decision, kept, reward, learners.next_event(place)))
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
        """Whether an id that is not in the table was, and is past retention."""
        return ids.made_before(self._experiment.secret, name, self._experiment.pruned)

    # --- Decisions

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
            elif ask.unit not in self._learners.named:
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
        return [answers[each] if isinstance(each, int) else each for each in answers]

    def _decide(self, asks: Sequence[Ask], fresh: list[int], answers: list[Any]) -> None:
        """Make the decisions of these places in the list."""
        experiment = self._experiment
        settings, version = experiment.settings, experiment.version
        learners = self._learners
        places = [learners.named[asks[at].unit] for at in fresh]
        events = [learners.next_event(place) for place in places]
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
        names = ids.made(experiment.secret, self.now, len(fresh))
        due = None if settings.wait is None else self.now + settings.wait
        hour = int(self.now // HOUR)
        rows, keys = [], []
        for k, at in enumerate(fresh):
            ask, (slot, ticket, chance) = asks[at], played[k]
            arm, name, _ = named[slot]
            drawn = control[k] is not None
            whose = (names[k], experiment.number, learners.ids[places[k]], arm, chance, int(drawn))
            rows.append((*whose, version, events[k], self.now, hour, due, ticket))
            answers[at] = Decision(name, names[k], chance, unit_of(ask.unit), drawn)
            if ask.key is not None:
                keys.append((experiment.number, ask.key, self._digest(ask), names[k], self.now))
        self._store.insert("decisions", _DECISION, rows)
        if keys:
            self._store.insert("keys", ("experiment", "key", "digest", "decision", "asked"), keys)

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


def conflict(key: str) -> ConflictingKey:
    """The error of a key that was used for something else."""
    return ConflictingKey(f"key must be used for one decision: {key!r} was used with another unit or request")
