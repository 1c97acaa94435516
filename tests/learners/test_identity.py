"""Who a learner is: copies, loads, resets and forks, and whose tickets count."""

import copy
import itertools
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from hlmc.engine.layout import AT, BITS, FIELDS, IDENTITY_WORDS, INCARNATIONS, KEPT, LEVELS, SECRET, WINDOW
from hlmc.engine.tickets import CHILDREN_AT, TAG, tag_of
from hlmc.errors import BadArgument, BadTicket, BadType

POLICIES = (
    hlmc.HLMC(arms=23, groups=(3, 3, 3), horizon=3000, pending=300),
    hlmc.Champion(arms=29, memory=12, horizon=3000, pending=300),
    hlmc.UCBM(arms=17, memory=4, pending=300),
)


def through_a_file(learner: Any) -> Any:
    name = f"/tmp/hlmc-identity-{os.getpid()}"
    try:
        learner.save(name)
        return hlmc.load(name, mapped=False)
    finally:
        Path(name).unlink()


AGAIN: dict[str, Callable[[Any], Any]] = {
    "copy": lambda learner: learner.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda learner: pickle.loads(pickle.dumps(learner)),
    "file": through_a_file,
    "row": lambda learner: type(learner)(learner.policy, learner.state),
}


def refused(learner: hlmc.Learner, ticket: hlmc.Ticket) -> bool:
    """Whether a learner takes neither the reward of a ticket nor that there is none, and is as it was."""
    before = learner.state.tobytes()
    for call in (lambda: learner.tell(ticket, 1.0), lambda: learner.drop(ticket)):
        with pytest.raises(BadTicket):
            call()
    return learner.state.tobytes() == before


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_a_ticket_is_good_for_the_copies_taken_after_it_was_made(
    policy: hlmc.Policy, again: Callable[[Any], Any]
) -> None:
    """And for no others: not before the copy has asked, and not after."""
    learner = policy.start(3)
    early = [learner.ask() for _ in range(20)]
    other = again(learner)
    assert other == learner
    late = learner.ask()
    assert refused(other, late)
    for _ in range(5):
        others = other.ask()
    assert refused(learner, others)
    assert refused(other, late)
    for each in (learner, other):
        assert each.tell(early[3], 1.0) in ("applied", "late", "expired")
        assert each.tell(early[3], 1.0) == "duplicate"
        assert each.drop(early[4]) == "applied"
    assert learner.drop(late) == other.drop(others) == "applied"


@pytest.mark.interpreted
def test_copies_decide_alike_and_have_other_tickets() -> None:
    """Identity is no part of the stream: the same arms, and rows that differ in the words of the identity alone."""
    policy = hlmc.HLMC(arms=11, groups=(3, 4), horizon=200, pending=64)
    one, two = policy.start(1), policy.start(1)
    for t in range(30):
        first, second = one.ask(), two.ask()
        assert (first.arm, first.time, first.probability) == (second.arm, second.time, second.probability)
        assert first[8:] == second[8:]
        assert first[:8] != second[:8]
        one.tell(first, t % 2), two.tell(second, t % 2)
    assert one == two
    first = int(policy.program[WINDOW]) + SECRET
    differing = np.flatnonzero(one.state.view(np.uint64) != two.state.view(np.uint64))
    assert differing.tolist() == [first, first + 1, first + 2]


def test_select_and_update_say_nothing_of_it() -> None:
    policy = POLICIES[0]
    learner = policy.start(1)
    for _ in range(50):
        learner.update(float(learner.select() == 3))
    first = int(policy.program[WINDOW]) + SECRET
    assert not learner.state[first : first + IDENTITY_WORDS].any()


def test_the_last_four_incarnations_are_known() -> None:
    """Tickets of older ones are expired; a ticket of a time before the first has never been made."""
    learner = hlmc.EXP3(arms=4, horizon=1000, pending=500).start(1)
    learner.update(float(learner.select() == 1))
    made = []
    for _ in range(KEPT + 2):
        made.append([learner.ask(), learner.ask()])
        learner = learner.copy()
    assert [learner.drop(ticket) for ticket in itertools.chain(*made[:2])] == ["expired"] * 4
    assert [learner.drop(ticket) for ticket in itertools.chain(*made[2:])] == ["applied"] * 2 * KEPT
    early = bytearray(made[0][0])
    early[16] = 0
    assert learner.drop(hlmc.Ticket.from_bytes(early)) == "expired"
    # Copies that do not ask take no place.
    for _ in range(10):
        learner = learner.copy()
    assert learner.tell(made[2][0], 1.0) == "duplicate"
    other = hlmc.EXP3(arms=4, horizon=1000, pending=500).start(1)
    other.update(float(other.select() == 1))
    other.ask()
    assert refused(other, hlmc.Ticket.from_bytes(early))


def test_a_lost_timeline(tmp_path: Path) -> None:
    """Saved at 100, 30 more asked for, loaded: the lost tickets are refused, and the genuine ones count."""
    policy = hlmc.HLMC(arms=50, memory=20, horizon=5000, pending=512)
    learner = policy.start(1)
    for _ in range(100):
        learner.tell(learner.ask(), 0.5)
    learner.save(tmp_path / "learner")
    lost = [learner.ask() for _ in range(30)]
    again = hlmc.load(tmp_path / "learner")
    assert isinstance(again, hlmc.Learner)
    found = [again.ask() for _ in range(60)]
    assert {ticket.time for ticket in lost} <= {ticket.time for ticket in found}
    assert all(refused(again, ticket) for ticket in lost)
    assert all(again.tell(ticket, 1.0) in ("applied", "late") for ticket in found)


def test_tickets_of_other_policies_and_of_before_a_reset() -> None:
    policy = hlmc.EXP3(arms=5, horizon=1000, pending=64, missing=0.5)
    learner = policy.start(1, identity=1)
    ticket = learner.ask()
    for other in (replace(policy, missing=0.25), replace(policy, delay=7), replace(policy, missing="skip")):
        assert refused(learner, other.start(1, identity=1).ask())
    same = policy.start(1, identity=1)
    same.ask()
    assert same.tell(ticket, 1.0) == "applied"
    learner.reset(seed=1)
    assert refused(learner, ticket)
    learner.ask()
    assert refused(learner, ticket)


def test_a_guessed_seed_makes_no_ticket() -> None:
    """Learners of the same seed decide alike; the ticket of one is refused by the other."""
    policy = hlmc.EXP3(arms=5, horizon=1000, pending=64)
    learner = policy.start(seed=3)
    own = [learner.ask() for _ in range(5)]
    for seed in range(6):
        guessing = policy.start(seed)
        tickets = [guessing.ask() for _ in range(5)]
        assert (tickets[4].arm == own[4].arm) or seed != 3
        assert all(refused(learner, ticket) for ticket in tickets)
    assert {learner.tell(ticket, 1.0) for ticket in own} == {"applied"}


def signed(learner: hlmc.Learner, ticket: hlmc.Ticket, changes: dict[int, float]) -> hlmc.Ticket:
    """A ticket with other words that somebody has made who has read the secret."""
    words = np.frombuffer(ticket, np.float64).copy()
    for place, value in changes.items():
        words[place] = value
    program = learner.policy.program
    words.view(np.uint64)[TAG] = tag_of(program, learner.state, words, int(program[WINDOW]) + INCARNATIONS)
    return hlmc.Ticket.from_bytes(words.tobytes())


@pytest.mark.interpreted
@pytest.mark.parametrize("chance", [1e-300, 5e-324, 1e-20, -0.5, 1.5, np.inf, np.nan])
def test_a_chance_that_is_none_teaches_nothing(chance: float) -> None:
    """Even if it comes with the right tag: no statistic changes, and the row can be loaded."""
    with np.errstate(over="ignore"):
        for policy in (
            hlmc.TsallisINF(arms=5, pending=64),
            hlmc.EXP3(arms=5, horizon=1000, pending=64),
            hlmc.HLMC(arms=11, groups=(3, 4), horizon=1000, epochs=100, pending=64, routines="exp3-loss"),
        ):
            levels = int(policy.program[LEVELS])
            forged = {CHILDREN_AT + levels + d: chance for d in range(levels)}
            for waited in (0, 12):
                learner = policy.start(1)
                ticket = signed(learner, learner.ask(), forged)
                for _ in range(waited):
                    learner.tell(learner.ask(), 1.0)
                before = learner.state[int(policy.program[FIELDS + AT]) :].tolist()
                assert learner.tell(ticket, 0.25) == "expired"
                assert learner.state[int(policy.program[FIELDS + AT]) :].tolist() == before
                assert hlmc.Learner(policy, learner.state) == learner


def test_fleets() -> None:
    policy = POLICIES[0]
    fleet = policy.fleet(5, seed=1)
    early = fleet.ask([0, 1, 2, 3, 4, 4])
    other = fleet.copy()
    late = fleet.ask()
    for _ in range(2):
        with pytest.raises(BadTicket):
            other.tell(late, [1.0] * 5)
        asked = other.ask([0, 1, 2, 3, 4, 0])
    assert fleet.tell(early, [1.0] * 6).tolist() == other.tell(early, [1.0] * 6).tolist() == [0] * 6
    assert other.tell(asked, [1.0] * 6).tolist() == [0] * 6
    # A ticket is its learner's, whatever it says; a live learner and its fleet are one.
    with pytest.raises(BadTicket):
        fleet[3].tell(hlmc.Ticket.from_bytes(late[2].tobytes()), 1.0)
    assert fleet[3].tell(hlmc.Ticket.from_bytes(late[3].tobytes()), 1.0) == "applied"
    assert fleet.tell([fleet[2].ask()], [1.0]).tolist() == [0]
    first = int(policy.program[WINDOW]) + INCARNATIONS
    assert (fleet.state[:, first + 2] == 0.0).all()
    # Learners that start afresh with the same seed.
    fleet.reset([0, 2], seed=1)
    fleet.ask(), fleet.ask()
    with pytest.raises(BadTicket, match=r"tickets\[0\]"):
        fleet.drop(late[:1])
    assert fleet.drop(late[1:2]).tolist() == [0]
    fleet[1].reset(seed=1)
    fleet.ask(), fleet.ask()
    with pytest.raises(BadTicket):
        fleet.drop(late[1:2])
    fleet.reset(seed=1)
    fleet.ask(), fleet.ask()
    with pytest.raises(BadTicket):
        fleet.drop(late[4:])


def test_identity_fixes_it() -> None:
    """For tests: the same number gives the same tickets, wherever it can be given."""
    policy = POLICIES[0]
    for make in (
        lambda number: policy.start(1, identity=number),
        lambda number: policy.start(1, arms=_named(), identity=number),
        lambda number: policy.start(1, identity=1).copy(identity=number),
        lambda number: policy.fleet(2, seed=1, identity=number)[1],
    ):
        one, two, other = make(7), make(7), make(8)
        ticket = one.ask()
        assert ticket == two.ask() != other.ask()
        one.reset(3, identity=4), two.reset(3, identity=4)
        assert one.ask() == two.ask()
    for wrong in ("me", 1.5, True):
        with pytest.raises(BadType, match="identity must be a whole number"):
            policy.start(1, identity=wrong)


def _named() -> hlmc.Arms:
    arms = hlmc.Arms(23)
    arms.add("tea", "coffee", "water")
    return arms


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_is_a_copy() -> None:
    learner, fleet = POLICIES[0].start(1), POLICIES[0].fleet(2, seed=1)
    early, group = learner.ask(), fleet.ask()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, bytes(learner.ask()) + fleet.ask().tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    data = os.read(reading, 10_000)
    late, groups = hlmc.Ticket.from_bytes(data[: len(early)]), np.frombuffer(data[len(early) :], group.dtype)
    for _ in range(2):
        assert refused(learner, late)
        with pytest.raises(BadTicket):
            fleet.tell(groups, [1.0, 1.0])
        learner.ask(), fleet.ask()
    assert learner.tell(early, 1.0) == "applied"


def damaged(policy: hlmc.Policy, row: np.ndarray) -> Iterator[np.ndarray]:
    """Rows whose incarnations cannot be."""
    first = int(policy.program[WINDOW]) + INCARNATIONS
    for place, value in (
        (first + 1, 1000.0),  # later than now
        (first + 1, 20.5),
        (first + 1, np.nan),
        (first + 3, 50.0),  # after the next one
        (first + 5, -1.0),
        (first + 7, 1.0),  # of none
    ):
        wrong = row.copy()
        wrong[place] = value
        yield wrong
    wrong = row.copy()
    wrong[first + 2] = 0.0
    yield wrong  # one between is missing


def test_rows_whose_incarnations_cannot_be() -> None:
    policy = hlmc.HLMC(arms=11, groups=(3, 4), horizon=200, epochs=13, pending=70)
    learner = policy.start(1)
    for _ in range(3):
        learner = learner.copy()
        for _ in range(20):
            learner.ask()
    assert hlmc.Learner(policy, learner.state) == learner
    for row in damaged(policy, learner.state):
        with pytest.raises(BadArgument, match="it is none"):
            hlmc.Learner(policy, row)
    assert BITS == SECRET + IDENTITY_WORDS
