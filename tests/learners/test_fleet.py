"""Fleets in memory: the same as so many learners, and refusing what they must."""

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlmc
from fleets import EXAMPLES, LONG, POLICY, STEPS, bits, fixed_rewards, step
from hlmc.engine.layout import ARM
from hlmc.errors import BadArgument, BadReward, BadTicket, BadType, HLMCError, OutOfTurn
from hlmc.learners.batches import LEAST_SHARE
from hlmc.learners.fleet import FINISHED, Fleet
from hlmc.learners.held import HeldRows

# The same as learners.


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_a_fleet_is_so_many_learners(policy: hlmc.Policy) -> None:
    size = 7
    rng = np.random.default_rng(1)
    pay = fixed_rewards(2)
    fleet = policy.fleet(size, seed=5)
    learners = [policy.start(5, i) for i in range(size)]
    assert fleet.state.nbytes == size * 8 * policy.words.total
    for t in range(STEPS):
        ids = None if t % 5 == 0 else rng.permutation(size)[: rng.integers(size + 1)]
        chosen = range(size) if ids is None else ids
        arms = fleet.select(ids)
        assert arms.dtype == np.int64
        assert arms.tolist() == [learners[i].select() for i in chosen]
        if t % 7 == 3:
            continue  # asked again, they give the same answer
        rewards = pay(len(arms))
        fleet.update(rewards, ids)
        for i, reward in zip(chosen, rewards, strict=True):
            learners[i].update(reward)
    for i, learner in enumerate(learners):
        assert fleet[i] == learner
    assert fleet.time.tolist() == [learner.time for learner in learners]
    np.testing.assert_array_equal(fleet.probability, [learner.probability for learner in learners])  # nan: not known


@pytest.mark.interpreted
def test_a_learner_of_a_fleet_is_live() -> None:
    fleet = POLICY.fleet(3, seed=1)
    learner, again = fleet[2], fleet[-1]
    arm = learner.select()
    assert again.select() == arm == fleet.select([2])[0]
    again.update(1.0)
    assert learner.time == fleet.time[2] == 1
    with pytest.raises(OutOfTurn):
        fleet.update([1.0], [2])
    apart = learner.copy()
    apart.select()
    assert fleet[2].state[ARM] == -1.0
    for i in (3, -4):
        with pytest.raises(IndexError, match=f"no learner {i} in a fleet of 3"):
            fleet[i]
    assert [each.time for each in fleet] == [0, 0, 1]


def test_copies_go_on_by_themselves() -> None:
    fleet = POLICY.fleet(5, seed=1)
    step(fleet, fixed_rewards(0))
    twins = [fleet.copy(), copy.copy(fleet), copy.deepcopy(fleet), pickle.loads(pickle.dumps(fleet))]
    for twin in twins:
        assert twin == fleet
        step(twin, fixed_rewards(1))
        assert twin != fleet
        assert twin == twins[0]
    assert fleet != POLICY.fleet(5, seed=2)
    assert fleet != POLICY.fleet(4, seed=1)
    assert fleet != 5
    assert repr(fleet) == f"<fleet of 5 learners of {POLICY!r}>"
    assert len(fleet) == 5
    with pytest.raises(ValueError, match="read-only"):
        fleet.state[0, 0] = 1.0


def test_the_number_of_threads_changes_nothing() -> None:
    size = 5 * LEAST_SHARE
    fleets = [POLICY.fleet(size, seed=3) for _ in range(3)]
    for fleet, threads in zip(fleets, (1, 2, 5), strict=True):
        fleet.threads = threads
    rng = np.random.default_rng(0)
    for ids in (None, rng.permutation(size), rng.permutation(size)[: 3 * LEAST_SHARE]):
        arms = [fleet.select(ids) for fleet in fleets]
        assert (arms[0] == arms[1]).all()
        assert (arms[0] == arms[2]).all()
        rewards = rng.random(len(arms[0]))
        for fleet in fleets:
            fleet.update(rewards, ids)
    assert bits(fleets[0]) == bits(fleets[1]) == bits(fleets[2])
    fleets[2].select()
    rewards = np.full(size, 0.5)
    rewards[[size - 1, size // 2 + 7, size // 2 + 9]] = np.nan
    with pytest.raises(BadReward, match=f"learner {size // 2 + 7}: "):
        fleets[2].update(rewards)


def test_several_threads_may_call() -> None:
    size = 400
    fleet = POLICY.fleet(size, seed=3)

    def work(ids: Any) -> None:
        for _ in range(30):
            fleet.select(ids)
            fleet.update(np.full(len(ids), 0.5), ids)

    callers = [threading.Thread(target=work, args=(np.arange(part, size, 4),)) for part in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    alone = POLICY.fleet(size, seed=3)
    for _ in range(30):
        alone.select()
        alone.update(np.full(size, 0.5))
    assert fleet == alone


@pytest.mark.slow
def test_a_million_learners() -> None:
    fleet = LONG.fleet(10**6, seed=1)
    assert fleet.state.nbytes == 8 * 10**6 * LONG.words.total
    ids = np.random.default_rng(0).permutation(10**6)[:1000]
    arms = fleet.select(ids)
    fleet.update(np.full(1000, 0.5), ids)
    assert fleet.time.sum() == 1000
    learner = LONG.start(1, int(ids[17]))
    assert learner.select() == arms[17]
    learner.update(0.5)
    assert fleet[int(ids[17])] == learner


# What is refused has changed nothing.

NOT_READY = "update needs a selection first"
REFUSED: list[tuple[str, Callable[[Fleet], object], type[Exception], str]] = [
    ("negative", lambda f: f.select([1, -1]), BadArgument, r"ids must be from 0 to 5, not -1 \(in place 1\)"),
    ("beyond", lambda f: f.select([0, 6, 9]), BadArgument, r"ids must be from 0 to 5, not 6 \(in place 1\)"),
    ("huge", lambda f: f.select(np.array([2**64 - 1], np.uint64)), BadArgument, "not 18446744073709551615"),
    ("twice", lambda f: f.select([4, 0, 1, 0]), BadArgument, "must not repeat a learner, and 0 comes again in place 3"),
    ("update twice", lambda f: f.update([0.1] * 2, [4, 4]), BadArgument, "must not repeat a learner"),
    ("float ids", lambda f: f.select([1.0]), BadType, "ids must be whole numbers, not float64"),
    ("mask", lambda f: f.select([True] * 6), BadType, "ids must be whole numbers, not bool"),
    ("words", lambda f: f.select(["1"]), BadType, "ids must be whole numbers"),
    ("one id", lambda f: f.select(3), BadArgument, "ids must be a list"),
    ("table", lambda f: f.select([[1, 2]]), BadArgument, r"ids must be a list of learners, not of shape \(1, 2\)"),
    ("turn", lambda f: f.update([0.5] * 2, [4, 3]), OutOfTurn, f"learner 3: {NOT_READY}"),
    ("turn of all", lambda f: f.update([0.5] * 6), OutOfTurn, f"learner 1: {NOT_READY}"),
    ("nan", lambda f: f.update([0.5, np.nan], [0, 4]), BadReward, r"learner 4: reward must be a number in \[0, 1\]"),
    ("inf", lambda f: f.update([np.inf, 0.0], [0, 4]), BadReward, "learner 0: reward must be"),
    ("above", lambda f: f.update([0.0, 1.0000001], [0, 4]), BadReward, "learner 4: .*, not 1.0000001"),
    ("below", lambda f: f.update([-1e-300, 1.0], [0, 4]), BadReward, "learner 0: .*, not -1e-300"),
    ("too few", lambda f: f.update([0.5], [0, 4]), BadReward, r"be 2 numbers, one per learner, not of shape \(1,\)"),
    ("one reward", lambda f: f.update(0.5), BadReward, r"must be 6 numbers, one per learner, not of shape \(\)"),
    ("text", lambda f: f.update(["a", "b"], [0, 4]), BadType, "rewards must be numbers"),
    ("complex", lambda f: f.update([1j, 0j], [0, 4]), BadType, "rewards must be numbers"),
    ("no file", lambda f: f.checkpoint(), BadArgument, "no file to write a checkpoint to"),
]


def unequal_fleet() -> Fleet:
    """Learners 0 and 4 wait for a reward, learner 5 is at its end."""
    fleet = POLICY.fleet(6, seed=1)
    for _ in range(40):
        fleet.select([5])
        fleet.update([0.5], [5])
    fleet.select([0, 4])
    return fleet


@pytest.mark.interpreted
@pytest.mark.parametrize(("call", "error", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused_calls_change_nothing(call: Callable[[Fleet], object], error: type[Exception], text: str) -> None:
    fleet, untouched = unequal_fleet(), unequal_fleet()
    with pytest.raises(error, match=text) as caught:
        call(fleet)
    assert isinstance(caught.value, (HLMCError, BadType))
    assert bits(fleet) == bits(untouched)
    # Also the marks that find repeated learners have been wiped: the next call goes through.
    for each in (fleet, untouched):
        each.update([0.25, 1.0], [4, 0])
        each.select([4, 3, 2, 1, 0])
    assert fleet == untouched


@pytest.mark.interpreted
@pytest.mark.parametrize("ids", [None, np.array([3, 0, 1])], ids=["all", "some"])
def test_what_a_fleet_knows_of_its_learners_is_right(ids: Any) -> None:
    """Selected and then taught the same learners, they are not looked at again; what comes between is noticed."""
    fleet, rewards = POLICY.fleet(4, seed=1), [0.5] * (4 if ids is None else 3)
    for _ in range(2):
        fleet.select(ids)
        before = bits(fleet)
        with pytest.raises(BadReward, match=r"learner 1: .* not nan"):
            fleet.update([0.5, np.nan, 0.5, 0.5] if ids is None else [0.5, 0.5, np.nan], ids)
        with pytest.raises(BadReward, match="one per learner"):
            fleet.update(rewards[1:], ids)
        assert bits(fleet) == before
        fleet.update(rewards, ids)
        before = bits(fleet)
        with pytest.raises(OutOfTurn, match=r"learner [03]: "):
            fleet.update(rewards, ids)
        assert bits(fleet) == before
    if ids is not None:
        asked = ids.copy()
        fleet.select(asked)
        asked[:] = [2, 0, 1]
        with pytest.raises(OutOfTurn, match="learner 2: "):
            fleet.update(rewards, asked)
        fleet.update(rewards, ids)
    live = fleet[3]
    fleet.select(ids)
    live.update(1.0)
    with pytest.raises(OutOfTurn, match="learner 3: "):
        fleet.update(rewards, ids)
    while live.time < 40:
        live.select()
        live.update(0.0)
    assert fleet.copy().select([3]).tolist() == [FINISHED]
    assert np.flatnonzero(fleet.select(ids) == FINISHED).tolist() == [3 if ids is None else 0]


# Some are finished.


@pytest.mark.interpreted
def test_a_finished_learner_keeps_nobody_from_going_on() -> None:
    policy = hlmc.HLMC(arms=20, memory=10, horizon=6, rewards=(0, 10))
    fleet, learners = policy.fleet(4, seed=3), [policy.start(3, i) for i in range(4)]
    pay = fixed_rewards(2)
    for t in range(12):
        ids = np.array([3, 1, 0, 2] if t < 3 else [2, 0, 3] if t < 8 else [1, 3, 0, 2])
        over = np.array([learners[i].time == 6 for i in ids])
        arms = fleet.select(ids)
        assert arms.tolist() == [FINISHED if done else learners[i].select() for i, done in zip(ids, over, strict=True)]
        before = fleet.state.copy()
        rewards = 10.0 * np.array(pay(len(ids)))
        # One that is wanted and none is refused; of one that nobody looks at, anything is told.
        wanting = np.flatnonzero(~over)
        if wanting.size:
            with pytest.raises(BadReward, match=f"learner {ids[wanting[-1]]}: .* not nan"):
                fleet.update(np.where(np.arange(len(ids)) == wanting[-1], np.nan, rewards), ids)
        fleet.update(np.where(over, np.nan, rewards), ids)
        for i, reward, done in zip(ids, rewards, over, strict=True):
            if done:
                assert fleet.state[i].tobytes() == before[i].tobytes()
            else:
                learners[i].update(reward)
        assert fleet.finished.tolist() == [learner.time == 6 for learner in learners]
    assert fleet.finished.all()
    assert [fleet[i] == learner for i, learner in enumerate(learners)] == [True] * 4
    assert fleet.select().tolist() == [FINISHED] * 4
    with pytest.raises(OutOfTurn, match="the horizon of 6 steps"):
        fleet[0].select()
    fleet.reset([2])
    assert (fleet.select() == FINISHED).tolist() == [True, True, False, True]


@pytest.mark.interpreted
@pytest.mark.parametrize("missing", ["skip", 0.5])
def test_tickets_of_no_decision_are_settled_as_such(missing: Any) -> None:
    policy = hlmc.HLMC(arms=20, memory=10, horizon=5, pending=16, missing=missing)
    fleet, twin = policy.fleet(3, seed=1, identity=7), policy.fleet(3, seed=1, identity=7)
    tickets = fleet.ask([0] * 7 + [1, 0, 2])
    made = np.array([0, 1, 2, 3, 4, 7, 9])
    assert tickets[made].tobytes() == twin.ask([0] * 5 + [1, 2]).tobytes()
    none = np.delete(tickets, made)
    assert none["arm"].tolist() == [FINISHED] * 3
    assert none["learner"].tolist() == [0] * 3
    assert none["time"].tolist() == [5] * 3
    assert np.isinf(none["propensity"]).all()
    rewards = np.full(len(tickets), 0.5)
    rewards[[5, 6, 8]] = np.nan
    spoiled = rewards.copy()
    spoiled[9] = np.nan
    with pytest.raises(BadReward, match="learner 2: "):
        fleet.tell(tickets, spoiled)
    codes = fleet.tell(tickets, rewards)
    assert codes[[5, 6, 8]].tolist() == [hlmc.tickets.CODES.index("finished")] * 3
    assert codes[made].tolist() == twin.tell(tickets[made], rewards[made]).tolist()
    assert fleet.drop(none).tolist() == [4] * 3
    assert fleet == twin
    # Only what says that the horizon had been reached is of no decision.
    for field, value in (("time", 4), ("arm", -2), ("learner", 3)):
        forged = none[:1].copy()
        forged[field] = value
        with pytest.raises(BadTicket):
            fleet.tell(forged, [0.5])
    with pytest.raises(BadTicket):
        fleet[0].tell(hlmc.Ticket.from_bytes(none[:1].tobytes()), 0.5)
    assert fleet == twin


@pytest.mark.interpreted
def test_nobody_is_a_batch_too() -> None:
    fleet = POLICY.fleet(3)
    before = bits(fleet)
    assert fleet.select([]).shape == (0,)
    fleet.update([], [])
    assert bits(fleet) == before


@pytest.mark.parametrize("size", [0, -1, 2.5, "3", None])
def test_a_fleet_has_a_size(size: Any) -> None:
    with pytest.raises((BadArgument, BadType), match="size must be a whole number of at least 1"):
        POLICY.fleet(size)


@pytest.mark.parametrize("ids", [None, np.array([3, 0, 1])], ids=["all", "some"])
def test_what_the_caller_gives_may_change_meanwhile(ids: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is what the arrays held at the call, also when another thread writes to them."""
    fleet, twin = POLICY.fleet(4, seed=1), POLICY.fleet(4, seed=1)
    mark = HeldRows.mark
    rewards = np.full(4 if ids is None else 3, 0.5)
    given = None if ids is None else ids.copy()

    def spoiling(self: HeldRows, chosen: Any) -> None:
        if self is fleet._rows:
            rewards[:] = np.nan
            if given is not None:
                given[:] = 2**40
        mark(self, chosen)

    monkeypatch.setattr(HeldRows, "mark", spoiling)
    assert (fleet.select(given) == twin.select(ids)).all()
    for each in (fleet, twin):
        rewards[:] = 0.5
        given = None if ids is None else ids.copy()
        each.update(rewards, given if each is fleet else ids)
    assert fleet == twin
    assert fleet.time.tolist() == ([1] * 4 if ids is None else [1, 1, 0, 1])


def test_masked_places_are_no_numbers() -> None:
    fleet = POLICY.fleet(3)
    with pytest.raises(BadArgument, match="ids must not have masked places, and 1 are masked"):
        fleet.select(np.ma.array([0, 1], mask=[True, False]))
    fleet.select()
    with pytest.raises(BadArgument, match="rewards must not have masked places, and 2 are masked"):
        fleet.update(np.ma.array([0.5, 0.5, 0.5], mask=[True, False, True]))
    fleet.update(np.ma.array([0.5, 0.5, 0.5]))
