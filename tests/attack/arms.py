"""Arms that come and go: credit to arms that have gone, and signals while the table changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import hlmc
from attack.harness import Harm, Trial, attack, attempt
from driving import named
from hlmc.learners.arms import NamedLearner
from interrupting import interrupted, matching

POLICIES = (
    hlmc.TsallisINF(arms=9, pending=128),
    hlmc.HLMC(arms=17, groups=(4, 5), horizon=10**5, epochs=(400, 250), pending=128),
    hlmc.Champion(arms=30, memory=12, horizon=10**5, pending=128),
    hlmc.UCB1(arms=12, pending=128),
)


def begun(number: int) -> NamedLearner:
    return named(POLICIES[number % len(POLICIES)], 5, seed=number)


@cache
def compiled() -> None:
    for number in range(len(POLICIES)):
        learner = begun(number)
        learner.tell(learner.ask(), 1.0)
        learner.arms.add("new")
        learner.arms.remove(0)
        check(learner)


def check(learner: NamedLearner) -> None:
    if not matching(learner):
        raise Harm("row and table of arms differ, or the row could not be loaded")


def change(trial: Trial, learner: NamedLearner) -> Callable[[], object]:
    """A change of the arms, which may be refused."""
    dice, arms = trial.random, learner.arms
    name = dice.choice([*arms, "nobody"])
    new = dice.choice((dice.randrange(10**6), f"arm {dice.randrange(10**6)}"))
    return dice.choice(
        [
            lambda: arms.add(new),
            lambda: arms.add(new, f"{new} too"),
            lambda: arms.remove(name),
            lambda: arms.pause(name),
            lambda: arms.resume(name),
            lambda: arms.rename(name, new),
            lambda: arms.forget(name),
            lambda: learner.reset(seed=trial.number),
        ]
    )


@attack(short=40, long=4000, prepare=compiled)
def signals_while_arms_change(trial: Trial) -> None:
    """Raise at any instruction of a change of arms, as a signal's handler may, again and again.

    Harm: row and table differ; the learner cannot be saved, or loads as another one.
    """
    learner, dice = begun(trial.number), trial.random
    for _ in range(25):
        call = change(trial, learner)
        attempt(lambda call=call: interrupted(call, dice.randrange(1, 600)))
        check(learner)
        if learner.arms._names:
            learner.tell(learner.ask(), dice.random())
    path = trial.folder / "learner"
    learner.save(path)
    if hlmc.load(path) != learner:
        raise Harm("the learner loads as another one")


@attack(short=40, long=4000, prepare=compiled)
def credit_of_arms_that_have_gone(trial: Trial) -> None:
    """Tell tickets as they are, as bytes or as strings, while arms come and go.

    Harm: a ticket counts whose arm has left its slot since, or does not have the name that it should have.
    """
    learner, dice, numbers = begun(trial.number), trial.random, iter(range(10**6))
    stays = [next(numbers) for _ in range(5)]  # for every slot the number of its occupant's stay
    asked: list[tuple[hlmc.Ticket, int]] = []
    for _ in range(200):
        arms = learner.arms
        if dice.random() < 0.2:
            name = dice.choice([*arms, "nobody"])
            slot = arms._places.get(name, -1)
            what = dice.choice(("add", "remove", "pause", "resume", "forget", "rename"))
            given = {"add": (f"arm {dice.random()}",), "rename": (name, f"arm {dice.random()}")}.get(what, (name,))
            if attempt(lambda what=what, given=given: getattr(learner.arms, what)(*given))[1] is None:
                if what in ("add", "resume"):
                    stays.append(next(numbers))
                elif what in ("remove", "pause") and slot >= 0:
                    stays.pop()
                    stays[slot : slot + 1] = [next(numbers)] if slot < len(stays) else []
                elif what == "forget" and slot >= 0:
                    stays[slot] = next(numbers)
            if len(stays) != len(arms._names):
                raise Harm(f"{len(arms._names)} arms have slots, and {len(stays)} should")
        elif dice.random() < 0.6 and stays:
            ticket = learner.ask()
            if ticket.arm != arms._names[ticket.slot]:
                raise Harm(f"a ticket for {ticket.arm!r} has the slot of {arms._names[ticket.slot]!r}")
            asked.append((ticket, stays[ticket.slot]))
        elif asked:
            ticket, stay = dice.choice(asked[-60:])
            told = dice.choice((ticket, hlmc.Ticket.from_str(str(ticket)), hlmc.Ticket.from_bytes(bytes(ticket))))
            code, _ = attempt(lambda told=told: learner.tell(told, 1.0))
            slot = ticket.slot
            if code in ("applied", "late") and not (slot < len(stays) and stays[slot] == stay):
                raise Harm(f"the reward of an arm that has gone is {code}")
