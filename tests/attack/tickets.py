"""Tickets that are forged, damaged, lost or somebody else's. None may ever be applied.

A million of them, each told or dropped once, and a 0 in the column of harm::

    python scripts/attack.py tickets --only foreign --count 1000000 --seconds 1e4
"""

from __future__ import annotations

import pickle
import random
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import hlmc
from attack.harness import Harm, Trial, attack, attempt
from hlmc.errors import BadTicket

POLICIES = (
    hlmc.HLMC(arms=23, groups=(3, 3, 3), horizon=10**6, epochs=(200, 200, 25), pending=300),
    hlmc.Champion(arms=29, memory=12, horizon=10**6, pending=300),
    hlmc.TsallisINF(arms=9, pending=300),
    hlmc.UCBM(arms=17, memory=4, pending=300),
)
ODD_CHANCES = (1e-300, 5e-324, 0.0, -1.0, 1.0, 2.0, float("inf"), float("nan"))


def damaged(data: bytes, dice: random.Random, others: list[hlmc.Ticket]) -> bytes:
    """The bytes of a ticket, changed: a bit, a word, a chance, parts of another ticket, or all of it."""
    changed = bytearray(data)
    while bytes(changed) == data:
        at = 8 * dice.randrange(len(data) // 8)
        how = dice.randrange(8)
        if how <= 1:
            changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        elif how == 2:
            changed[at : at + 8] = struct.pack("<q", dice.choice((0, 1, -1, 2**31, 2**53, 2**62, dice.randrange(100))))
        elif how == 3:
            changed[at : at + 8] = struct.pack("<d", dice.choice(ODD_CHANCES))
        elif how == 4:
            changed[at : at + 8] = dice.randbytes(8)
        elif how == 5:
            changed[at : at + 8] = dice.choice(others)[at : at + 8]
        elif how == 6:
            changed[:8] = dice.choice(others)[:8]
        else:
            changed[:] = dice.randbytes(len(data))
    return bytes(changed)


def asked(learner: hlmc.Learner, count: int) -> list[hlmc.Ticket]:
    """Tickets of some decisions, every third of which is told."""
    tickets = [learner.ask() for _ in range(count)]
    for ticket in tickets[::3]:
        learner.tell(ticket, 0.5)
    return tickets


def through_a_file(learner: hlmc.Learner) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        learner.save(f"{folder}/learner")
        return hlmc.load(f"{folder}/learner")


@cache
def relatives() -> list[tuple[hlmc.Learner, list[hlmc.Ticket], list[hlmc.Ticket]]]:
    """Learners, their own tickets, and tickets of relatives that decide as they do and are not they."""
    found = []
    for policy in POLICIES:
        learner = policy.start(seed=1)
        own = asked(learner, 60)
        others = [learner.copy(), pickle.loads(pickle.dumps(learner)), through_a_file(learner), policy.start(seed=1)]
        others += [replace(policy, **changed).start(seed=1) for changed in ({"delay": 7}, {"missing": 0.5})]
        others += [policy.start(seed=1, identity=1), policy.fleet(size=2, seed=1)[0]]
        foreign = [ticket for other in others for ticket in asked(other, 90 - other.time)]
        foreign += [hlmc.Ticket(ticket) for ticket in policy.fleet(size=90, seed=1).ask().view("V8").reshape(90, -1)]
        again = policy.start(seed=1)
        foreign += asked(again, 90)
        again.reset(seed=1)
        asked(again, 60)
        found.append((again, [], foreign[-90:] + own))
        own += asked(learner, 30)
        found.append((learner, own, foreign))
        lives = others[0]
        for _ in range(6):  # of which the last four are remembered
            lives = lives.copy()
            asked(lives, 10)
        found.append((lives, own[:60], own[60:] + foreign[30:]))
    return found


@attack(short=20_000, long=100_000, prepare=relatives)
def foreign_tickets(trial: Trial) -> None:
    """Tell or drop a ticket that is forged or a relative's. Harm: it counts, or changes a word of the learner."""
    dice = trial.random
    learner, own, foreign = relatives()[trial.number % len(relatives())]
    given = dice.choice(foreign)
    if dice.random() < 0.5:
        given = hlmc.Ticket(damaged(dice.choice(own or foreign), dice, own or foreign))
    if dice.random() < 0.3:
        given = hlmc.Ticket.from_str(str(given))
    before = learner.state.tobytes()
    reward = dice.choice((0.0, 0.5, 1.0))
    code, refusal = attempt(lambda: learner.drop(given) if dice.random() < 0.3 else learner.tell(given, reward))
    if refusal is None and code != "expired":
        raise Harm(f"a ticket of another learner of {learner.policy!r} is {code}")
    if refusal is not None and not isinstance(refusal, BadTicket):
        raise Harm(f"a ticket of another learner gets {type(refusal).__name__}: {refusal}")
    if learner.state.tobytes() != before:
        raise Harm("a ticket that was refused has changed the learner")


@attack(short=300, long=50_000, prepare=relatives)
def texts_that_are_no_tickets(trial: Trial) -> None:
    """Read a ticket from a damaged string. Harm: an error that is not ours, or a ticket that is written otherwise."""
    dice = trial.random
    text = list(str(dice.choice(relatives()[1][1])))
    for _ in range(dice.choice((1, 1, 2, 10))):
        at = dice.randrange(len(text))
        text[at : at + dice.randrange(3)] = dice.choice(("", "=", "A", "_", "\0", "\ud800", "é", " ", "+", "/", "\n"))
    ticket, refusal = attempt(lambda: hlmc.Ticket.from_str("".join(text)))
    if refusal is None and str(ticket) != "".join(text):
        raise Harm(f"{''.join(text)!r} is read as the ticket {ticket}")


@dataclass
class Life:
    """A learner, and the plain account of what it may be told: who it was at which steps, and what it was told."""

    learner: Any
    line: list[tuple[int, int]] = field(default_factory=list)  # the number of each life, and its first step
    told: set[int] = field(default_factory=set)
    reborn: bool = True

    def answer(self, number: int, time: int) -> set[str]:
        """What the ticket of decision ``time`` of life ``number`` may be answered."""
        if time >= self.learner.time or not self.line or time < self.line[0][1]:
            return {"refused"}
        at = max(i for i, (_, first) in enumerate(self.line) if first <= time)
        if at < len(self.line) - 4:
            return {"expired"}
        if self.line[at][0] != number:
            return {"refused"}
        if self.learner.time - time > self.learner.policy.pending:
            return {"expired"}
        return {"duplicate"} if time in self.told else {"applied", "late", "expired"}


@attack(short=30, long=3000, prepare=relatives)
def lives(trial: Trial) -> None:
    """Copy, save, load, pickle and reset learners in any order, and tell tickets across them.

    Harm: an answer that the plain account does not give.
    """
    dice = trial.random
    policy = dice.choice(POLICIES)
    tree, tickets, numbers = [Life(policy.start(seed=1))], [], iter(range(10**6))
    again: list[Callable[[Any], Any]] = [
        lambda learner: learner.copy(),
        lambda learner: pickle.loads(pickle.dumps(learner)),
        through_a_file,
        lambda learner: hlmc.Learner(policy, learner.state),
    ]
    for _ in range(120):
        life = dice.choice(tree)
        what = dice.randrange(10)
        if what <= 3:
            if life.reborn:
                life.line.append((next(numbers), life.learner.time))
                life.reborn = False
            ticket = life.learner.ask()
            tickets.append((life.line[-1][0], ticket))
        elif what <= 7 and tickets:
            number, ticket = dice.choice(tickets[-40:])
            wanted = life.answer(number, ticket.time)
            code, refusal = attempt(lambda life=life, ticket=ticket: life.learner.tell(ticket, 1.0))
            found = "refused" if isinstance(refusal, BadTicket) else code
            # What is told after the end of its run is told, although nothing learns from it.
            if found not in wanted:
                raise Harm(f"{policy!r}: {found} instead of {' or '.join(sorted(wanted))}")
            if wanted == {"applied", "late", "expired"}:
                life.told.add(ticket.time)
        elif what == 8 and len(tree) < 8:
            tree.append(Life(dice.choice(again)(life.learner), list(life.line), set(life.told)))
        elif what == 9 and dice.random() < 0.2:
            life.learner.reset(seed=1)
            life.line, life.told, life.reborn = [], set(), True
