"""Learners that start afresh in their rows, alone, in a fleet and in a file; and slices of a fleet."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from hlmc.errors import BadArgument, BadType

POLICIES = [
    hlmc.HLMC(arms=20, memory=10, horizon=60, pending=4),
    hlmc.Champion(arms=20, memory=9, horizon=60),
    hlmc.TsallisINF(arms=5, bits=8),
    hlmc.UCBM(arms=9, memory=3),
]


def driven(fleet: hlmc.Fleet, rounds: int = 7) -> None:
    for t in range(rounds):
        arms = fleet.select()
        fleet.update((arms + t) % 2)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_learner_that_was_reset_is_a_new_one(policy: hlmc.Policy) -> None:
    learner = policy.start(seed=1)
    for _ in range(9):
        learner.update(float(learner.select() % 2))
    learner.select()
    at = learner.state.ctypes.data
    learner.reset(seed=3, stream=2)
    assert learner == policy.start(seed=3, stream=2)
    assert learner.state.ctypes.data == at
    learner.reset()
    assert learner == policy.start()


def test_a_learner_with_names_keeps_them() -> None:
    def table() -> hlmc.Arms:
        arms = hlmc.Arms(9)
        arms.add("a", "b", "c")
        return arms

    policy = hlmc.HLMC(arms=9, memory=6, horizon=50, pending=8)
    learner: Any = policy.start(seed=1, arms=table())
    ticket = learner.ask()
    learner.arms.add("d")
    learner.arms.remove("d")
    learner.tell(ticket, 1.0)
    learner.reset(seed=5)
    assert learner == policy.start(seed=5, arms=table())
    assert learner.arms.described() == policy.start(seed=5, arms=table()).arms.described()  # type: ignore[attr-defined]


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_fleet_is_reset_whole_or_in_part(policy: hlmc.Policy) -> None:
    fleet, other = policy.fleet(6, seed=1), policy.fleet(6, seed=1)
    driven(fleet)
    driven(other)
    fleet.reset([4, 0], seed=2)
    for i in range(6):
        assert fleet[i] == (policy.start(2, i) if i in (0, 4) else other[i])
    fleet.reset([])
    fleet.select()
    fleet.reset(seed=3)
    assert fleet == policy.fleet(6, seed=3)
    driven(fleet, 60)  # the whole horizon again


def test_a_refused_reset_changes_nothing() -> None:
    fleet = POLICIES[0].fleet(3)
    driven(fleet)
    before = fleet.copy()
    for ids, seed, error in (([3], 0, BadArgument), ([0, 0], 0, BadArgument), (None, "x", BadType)):
        with pytest.raises(error):
            fleet.reset(ids, seed)  # type: ignore[arg-type]
    assert fleet == before


def test_a_reset_is_part_of_the_next_checkpoint(tmp_path: Path) -> None:
    policy = POLICIES[0]
    fleet = policy.fleet(5, seed=1, file=tmp_path / "fleet")
    driven(fleet)
    fleet.checkpoint()
    fleet.reset([3], seed=9)
    fleet.checkpoint()
    known = fleet.copy()
    del fleet
    again = hlmc.load(tmp_path / "fleet")
    assert again == known
    assert isinstance(again, hlmc.Fleet)
    assert again.time.tolist() == [7, 7, 7, 0, 7]
    again.reset(seed=2)
    again.checkpoint()
    del again
    assert hlmc.load(tmp_path / "fleet") == policy.fleet(5, seed=2)


def test_a_slice_of_a_fleet_is_a_list_of_its_learners() -> None:
    fleet = POLICIES[0].fleet(5, seed=1)
    first, second = fleet[0:2]
    second.select()
    second.update(1.0)
    assert fleet.time.tolist() == [0, 1, 0, 0, 0]
    assert fleet[::-2] == [fleet[4], fleet[2], fleet[0]]
    assert fleet[7:] == []
    assert fleet[np.int64(-1)] == fleet[4]
    with pytest.raises(BadType, match="a learner is found by a whole number or a slice such as 0:2, not 'a'"):
        fleet["a"]  # type: ignore[call-overload]
    with pytest.raises(IndexError, match="there is no learner 5 in a fleet of 5"):
        fleet[5]
    assert first.time == 0
