"""Runs side by side: the same bits as one by one, however they are grouped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import hlmc
from hlmc.adversaries.base import packed
from hlmc.engine.kernel import kernel
from hlmc.errors import BadReward
from hlmc.learners.learner import fresh_rows
from hlmc.simulation import runs as simulated
from hlmc.simulation.runs import Task, play, played_together, prepared, walk
from hlmc.streams import keys
from hlmc.targets import JIT, side_by_side

if not JIT:
    pytest.skip("runs are interpreted one by one", allow_module_level=True)

T = 700
TRAP = hlmc.adversaries.BlockTrap(arms=30, memory=6)
MEANS = hlmc.adversaries.UniformMeans(arms=30, seed=3)
TABLE = hlmc.adversaries.Trace(np.random.default_rng(1).random((T, 30)))

POLICIES = [
    hlmc.HLMC(30, levels=2, horizon=T),
    hlmc.EXP3(30, horizon=T),
    hlmc.Champion(30, horizon=T),
    hlmc.HLMC(30, levels=2, horizon=None, routines="tsallis-inf"),
    hlmc.HLMC(30, levels=2, horizon=T, switches=5),
    hlmc.Champion(30, horizon=T, bits=12),
]


def one_by_one(policy, adversary, rows, points):
    rewards = np.empty((len(rows), len(points)))
    for row, sums in zip(rows, rewards, strict=True):
        walk(prepared(policy, adversary), policy, adversary, row, points, sums)
    return rewards


def together(policy, adversary, rows, points):
    sums = np.zeros((len(rows), len(points) + 1))
    assert side_by_side(policy, adversary, len(rows)).start(rows)(points.astype(float), sums.reshape(-1)) == 0
    return sums[:, :-1]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: repr(policy)[:40])
@pytest.mark.parametrize("adversary", [TRAP, MEANS, TABLE], ids=lambda adversary: type(adversary).__name__)
def test_rewards_and_rows_are_those_of_runs_one_by_one(policy, adversary):
    # Stops within epochs, on their first and last steps, and one after another.
    points = np.array([1, 2, 37, 38, 333, T])
    rows = fresh_rows(policy, keys(11, 0, 13))
    expected = rows.copy()
    rewards = one_by_one(policy, adversary, expected, points)
    assert np.array_equal(together(policy, adversary, rows, points), rewards)
    assert rows.tobytes() == expected.tobytes()


@pytest.mark.parametrize("policy", POLICIES[1:3], ids=lambda policy: type(policy).__name__)
def test_neighbours_do_not_matter(policy):
    # More than eight runs of EXP3 are played in vectors of sixteen, fewer in vectors of eight.
    points = np.array([T])
    alone = fresh_rows(policy, keys(5, 0, 20))
    for row in alone:
        together(policy, MEANS, row[None], points)
    for size in (2, 8, 11, 20):
        rows = fresh_rows(policy, keys(5, 0, 20))
        for first in range(0, 20, size):
            together(policy, MEANS, rows[first : first + size], points)
        assert rows.tobytes() == alone.tobytes()


def test_a_large_task_is_played_together_and_gives_the_same(monkeypatch):
    monkeypatch.setattr(simulated, "WORTH", 1)
    monkeypatch.setattr(simulated, "SHORTEST", 64)  # several slices
    points = np.array([100, 101, T])
    task = Task("it", POLICIES[0], MEANS, 3, range(2, 11))
    found = played_together(task, points)
    assert found is not None
    assert found.runs == range(2, 11)
    monkeypatch.setattr(simulated, "FEWEST", 10)
    assert played_together(task, points) is None
    assert np.array_equal(found.rewards, play(task, points).rewards)


def test_steps_are_counted_for_all_runs_and_a_stop_leaves_none(monkeypatch):
    monkeypatch.setattr(simulated, "WORTH", 1)
    monkeypatch.setattr(simulated, "SHORTEST", 64)
    task = Task("it", POLICIES[0], MEANS, 0, range(5))
    taken = []
    played_together(task, np.array([T]), lambda steps: taken.append(steps) is not None)
    assert sum(taken) == 5 * T
    found = played_together(task, np.array([T]), lambda steps: True)
    assert found.rewards.shape == (0, 1)


@kernel
def _pays_too_much(spec, t, arm):
    """A half, and at step 5 more than a reward can be."""
    return 2.0 if t == 5 else 0.5


@dataclass(frozen=True, repr=False)
class TooMuch(hlmc.adversaries.Adversary):
    arms: int = 30
    rule = staticmethod(_pays_too_much)
    spec = packed(0.0)


def test_what_is_no_reward_is_refused_as_in_runs_one_by_one(monkeypatch):
    monkeypatch.setattr(simulated, "WORTH", 1)
    task = Task("it", POLICIES[0], TooMuch(), 0, range(5))
    sums = np.zeros(5 * 2)
    rows = fresh_rows(POLICIES[0], keys(1, 0, 5))
    assert side_by_side(POLICIES[0], TooMuch(), 5).start(rows)(np.array([float(T)]), sums) == -6
    with pytest.raises(BadReward, match="at step 5"):
        play(task, np.array([T]))


def test_a_users_function_is_called_run_by_run(monkeypatch):
    monkeypatch.setattr(simulated, "WORTH", 1)
    faced = hlmc.adversaries.Function(30, [0.25].count)  # a method, which no kernel can be made of
    assert played_together(Task("it", POLICIES[0], faced, 0, range(5)), np.array([T])) is None


def test_what_cannot_be_played_together_is_played_one_by_one():
    notes = hlmc.TsallisINF(600, bits=12)
    assert side_by_side(notes, hlmc.adversaries.UniformMeans(arms=600), 9) is None  # better with notes
    tree = hlmc.EXP3(600, horizon=T)
    assert side_by_side(tree, hlmc.adversaries.UniformMeans(arms=600), 9) is None  # weights in a tree
    assert side_by_side(hlmc.UCBM(30, 6), MEANS, 9) is None  # faster with notes
