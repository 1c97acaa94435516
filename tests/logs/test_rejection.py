"""Learners on a log: rejection against a plain reading, what is refused, and the learner that is returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hlmc
from hlmc.errors import BadArgument
from logs.log_tables import drawn

NAMES = ["a", "b", "c"]
MEANS = {"a": 0.2, "b": 0.5, "c": 0.8}
UNIFORM = drawn(dict.fromkeys(NAMES, 1 / 3), MEANS, 3000, seed=1)
SKEWED = drawn({"a": 0.6, "b": 0.3, "c": 0.1}, MEANS, 3000, seed=2)
POLICY = hlmc.EXP3(arms=3, horizon=5000)


def test_a_learner_is_told_the_rows_that_it_would_have_had() -> None:
    found = hlmc.replay(POLICY, UNIFORM, seed=4)
    learner, earned = POLICY.start(4), []
    idle = learner.copy()
    for name, reward in zip(UNIFORM["arm"], UNIFORM["reward"], strict=True):
        if NAMES[learner.select()] == name:
            learner.update(reward)
            earned.append(reward)
            idle = learner.copy()
    assert found.learners["EXP3"] == idle  # it awaits no reward
    row = found.loc["EXP3"]
    assert (row["kind"], row["rows"], row["blocks"]) == ("learner", len(earned), len(earned))
    assert 800 < len(earned) < 1200
    assert row["value"] == np.mean(earned)
    assert row["low"] < row["value"] < row["high"]


def test_a_learner_goes_on_from_where_it_is_and_is_not_changed() -> None:
    learner = POLICY.start(1)
    for _ in range(50):
        learner.update(float(learner.select() == 2))
    before = learner.copy()
    found = hlmc.replay({"mine": learner}, UNIFORM)
    assert learner == before
    assert found.learners["mine"].time == 50 + found.loc["mine", "rows"]


def test_rows_are_kept_so_that_all_arms_have_the_least_chance() -> None:
    found = hlmc.replay(hlmc.TsallisINF(arms=3), SKEWED, least=0.1)
    assert 200 < found["rows"].item() < 400  # 3000 rows, a tenth of them
    fixed = hlmc.replay([hlmc.Uniform(arms=3), "a"], SKEWED)
    assert fixed["kind"].tolist() == ["mixture", "arm"]


@pytest.mark.statistical
def test_kept_rows_are_of_all_arms_alike() -> None:
    """A learner that plays uniformly keeps rows of each arm alike: a share of 1/3 within six standard errors (2e-9)."""
    uniform = hlmc.HLMC(arms=3, groups=(3,), horizon=5000, routines="uniform")
    log = drawn({"a": 0.6, "b": 0.3, "c": 0.1}, {"a": 0.0, "b": 1.0, "c": 0.0}, 20_000, seed=3)
    found = hlmc.replay(uniform, log, least=0.1)
    kept, share = found["rows"].item(), found["value"].item()
    assert abs(share - 1 / 3) < 6 * np.sqrt(2 / 9 / kept)


def test_only_the_first_row_of_a_block_is_shown() -> None:
    blocks = UNIFORM.assign(block=np.arange(3000) // 10)
    found = hlmc.replay(POLICY, blocks)
    assert found.loc["EXP3", "rows"] == hlmc.replay(POLICY, UNIFORM[::10]).loc["EXP3", "rows"] < 150


def test_rows_of_the_control_group_are_a_uniform_log() -> None:
    control = (np.arange(3000) % 3 == 0).astype(int)
    mixed = SKEWED.assign(control=control)
    mixed.loc[control == 1, ["arm", "reward", "propensity"]] = UNIFORM[control == 1]
    found = hlmc.replay(POLICY, mixed)
    assert found.learners["EXP3"] == hlmc.replay(POLICY, UNIFORM[control == 1]).learners["EXP3"]


def test_rewards_come_in_the_learners_own_units() -> None:
    policy = replace(POLICY, rewards=(0, 10), losses=True)
    found = hlmc.replay({"scaled": policy, "plain": POLICY}, UNIFORM)
    assert found.loc["scaled", "value"] == found.loc["plain", "value"]
    np.testing.assert_array_equal(found.learners["scaled"].state, found.learners["plain"].state)


def test_a_learner_knows_arms_by_number_or_by_name() -> None:
    numbers = UNIFORM.assign(arm=UNIFORM["arm"].map(NAMES.index))
    mine = hlmc.replay(POLICY, UNIFORM)
    assert hlmc.replay(POLICY, numbers).learners["EXP3"] == mine.learners["EXP3"]
    other = hlmc.replay(POLICY, UNIFORM, arms=["c", "b", "a"])
    assert other.learners["EXP3"] != mine.learners["EXP3"]
    assert other.attrs["arms"] == ["c", "b", "a"]
    table = hlmc.Arms(3)
    table.add(*NAMES)
    named = POLICY.start(0, arms=table)
    found = hlmc.replay({"named": named}, UNIFORM)
    assert list(found.learners["named"].arms) == NAMES
    assert found.loc["named", "rows"] == mine.loc["EXP3", "rows"]


def test_a_learner_whose_horizon_is_over_stops() -> None:
    found = hlmc.replay(hlmc.EXP3(arms=3, horizon=100), UNIFORM)
    assert found["rows"].item() == found.learners["EXP3"].time == 100


def test_arms_that_were_never_played_are_counted() -> None:
    found = hlmc.replay(hlmc.EXP3(arms=4, horizon=5000), UNIFORM, arms=[*NAMES, "d"])
    assert found["unsupported"].item() == 0.25
    assert found["warning"].item() == "25 % rests on arms that were never played"


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (SKEWED, {}, r"log must be uniform for learners such as 'EXP3'.*with 0.1, .*about 300 of 3,000 rows would be kept"),
    (SKEWED.assign(block=np.arange(3000) // 10), {}, "about 30 of 3,000 rows would be kept"),
    (SKEWED, {"least": 0.2}, "least must be at most every propensity of the log, of which one is 0.1, not 0.2"),
    (UNIFORM, {"arms": ["a", "b"]}, r"arms must hold all arms of the log, also \['c'\]"),
    (UNIFORM, {"arms": ["a", "b", "c", "c"]}, "arms must have different labels"),
    (UNIFORM, {"arms": ["a", "b", "c", "d"]}, "arms must name the 3 arms of candidate 'EXP3' in order, not 4"),
]


@pytest.mark.parametrize(("log", "arguments", "message"), REFUSED)
def test_what_cannot_be_replayed_is_refused(log: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        hlmc.replay(POLICY, log, **arguments)
