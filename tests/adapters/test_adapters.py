"""Adapters: the official checkers of Gymnasium, PettingZoo and river, and what a policy does behind each."""

from __future__ import annotations

import copy
import pickle
import random
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)
from river import bandit, stats

import hlmc
from hlmc.adapters import pettingzoo as zoo
from hlmc.adapters.gymnasium import AdversaryEnv, env_id, play_env
from hlmc.adapters.river import RiverPolicy
from hlmc.adversaries import CATALOGUE, EXAMPLES, Bernoulli, BlockTrap, Trace
from hlmc.errors import BadArgument, BadType, OutOfTurn

EXAMPLE_FILES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("kind", CATALOGUE, ids=[kind.__name__ for kind in CATALOGUE])
def test_every_adversary_passes_gymnasiums_check(kind):
    """Any warning is an error here: the suite is set up so."""
    env = gymnasium.make(env_id(kind))
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("adversary", EXAMPLES, ids=[repr(adversary)[:40] for adversary in EXAMPLES])
def test_an_environment_pays_what_its_adversary_pays(adversary):
    env = AdversaryEnv(adversary, horizon=4)
    env.reset()
    arms = [t % adversary.arms for t in range(4)]
    paid = [env.step(arm) for arm in arms]
    assert [reward for _, reward, *_ in paid] == [adversary.reward(t, arm) for t, arm in enumerate(arms)]
    assert [truncated for *_, truncated, _ in paid] == [False, False, False, True]
    assert [info["time"] for *_, info in paid] == [1, 2, 3, 4]


def test_made_by_id_with_arguments_and_without_importing_first():
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('hlmc.adapters.gymnasium:hlmc/BlockTrap-v0', arms=50, memory=10, horizon=5)\n"
        "env.reset(seed=1)\n"
        "assert env.action_space.n == 50 and env.step(10)[1] == 1.0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_seed_gives_another_sequence_only_where_there_is_one_to_give():
    env = AdversaryEnv(Bernoulli((0.5, 0.5), seed=1), horizon=50)

    def episode(**arguments):
        env.reset(**arguments)
        return [env.step(0)[1] for _ in range(50)]

    assert episode(seed=3) == episode() == episode(seed=3) != episode(seed=4)
    fixed = AdversaryEnv(BlockTrap())
    fixed.reset(seed=5)
    assert fixed.adversary == BlockTrap()


def test_what_an_environment_refuses():
    with pytest.raises(BadArgument, match="there is no adversary"):
        AdversaryEnv("Bloktrap")
    with pytest.raises(BadType, match="arguments"):
        AdversaryEnv(BlockTrap(), arms=3)
    with pytest.raises(BadType, match="adversary"):
        AdversaryEnv(3)
    with pytest.raises(BadArgument, match="2 steps"):
        AdversaryEnv(Trace([[0.0], [1.0]]), horizon=3)
    env = AdversaryEnv(BlockTrap())
    env.reset()
    with pytest.raises(BadArgument, match="0 to 99"):
        env.step(100)


def test_played_through_gymnasium_or_simulated_is_the_same():
    policy = hlmc.HLMC(arms=100, memory=20, horizon=3000)
    played = play_env(policy, gymnasium.make("hlmc/BlockTrap-v0"), steps=3000, seed=6)
    learner = policy.start(6)
    for t in range(3000):
        arm = learner.select()
        assert arm == played.arms[t]
        learner.update(BlockTrap().reward(t, arm))
    assert played.learner == learner
    assert played.episodes == 1
    assert played.total == played.rewards.sum()


class Slots(gymnasium.Env):
    """Somebody's environment: actions from 5 on, rewards from -10 to 30, episodes of seven steps."""

    action_space = spaces.Discrete(3, start=5)
    observation_space = spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 7
        return 0, {}

    def step(self, action):
        self.left -= 1
        reward = {5: -10.0, 6: 30.0, 7: 10.0}[action]
        return 0, reward, self.left == 0, False, {}


def test_a_policy_plays_somebodys_environment():
    played = play_env(hlmc.EXP3(arms=3, horizon=2000), Slots(), steps=2000, seed=1, low=-10, high=30)
    assert played.episodes == 286
    assert set(played.rewards) == {-10.0, 30.0, 10.0}
    assert played.rewards.tolist() == [{0: -10.0, 1: 30.0, 2: 10.0}[arm] for arm in played.arms.tolist()]
    assert (played.arms[1000:] == 1).mean() > 0.8
    with pytest.raises(BadArgument, match=r"outside \[0.0, 1.0\]"):
        play_env(hlmc.UCB1(arms=3), Slots(), steps=5)
    assert play_env(hlmc.UCB1(arms=3), Slots(), steps=5, clip=True).rewards[1] == 30.0
    with pytest.raises(BadArgument, match="4 arms"):
        play_env(hlmc.UCB1(arms=4), Slots(), steps=5)
    with pytest.raises(BadArgument, match="below"):
        play_env(hlmc.UCB1(arms=3), Slots(), steps=5, low=1, high=1)
    continuous = gymnasium.make("Pendulum-v1")
    with pytest.raises(BadType, match="Discrete"):
        play_env(hlmc.UCB1(arms=3), continuous, steps=5)


def zoo_environments():
    return {
        "paper": zoo.parallel_env,
        "random": lambda **given: zoo.parallel_env(agents=4, channels=3, jammer="random", **given),
        "routing": lambda **given: zoo.GameEnv(hlmc.games.Routing(agents=5, links=3), **given),
    }


@pytest.mark.parametrize("name", zoo_environments())
def test_pettingzoos_parallel_tests(name, capsys):
    make = zoo_environments()[name]
    parallel_api_test(make(), num_cycles=100)
    parallel_seed_test(make)
    state_test(zoo.env(agents=3, channels=2), zoo.parallel_env(agents=3, channels=2))


def test_pettingzoos_tests_of_agents_in_turn(capsys):
    """All but save_obs_test, which wants pictures, and bombardment_test, which takes what ``step`` returns (nothing,
    nowadays) for an observation."""
    api_test(zoo.env(agents=4, channels=3), num_cycles=50)
    seed_test(lambda: zoo.env(agents=4, channels=3, jammer="random"), num_cycles=20)
    max_cycles_test(types.SimpleNamespace(parallel_env=zoo.parallel_env, env=zoo.env))
    render_test(lambda render_mode: zoo.env(agents=4, channels=3, render_mode=render_mode))


def test_zoo_and_match_pay_alike():
    env = zoo.parallel_env(agents=4, channels=3, max_cycles=20, render_mode="ansi")
    env.reset(seed=1)
    match = hlmc.games.Spectrum(agents=4, channels=3).match()
    rng = np.random.default_rng(0)
    for t in range(20):
        choices = rng.integers(3, size=4)
        seen, paid, ended, cut, _ = env.step({f"radio_{i}": arm for i, arm in enumerate(choices)})
        expected = match.play(choices)
        assert list(paid.values()) == expected.tolist()
        rows = np.stack(list(seen.values()))
        assert np.allclose(rows[:, 0], expected / 10)
        assert rows[:, 1:].argmax(axis=1).tolist() == choices.tolist()
        assert (rows[:, 1:].sum(axis=1) == 1).all()
        assert not any(ended.values())
        assert set(cut.values()) == {t == 19}
        assert np.allclose(env.state(), np.bincount(choices, minlength=4) / 4)
        clear = match.fact("clear")
        shown = [(int(n), bool(left)) for left, n in re.findall(r"(\[)?\s?(\d+)\]?\s?", env.render().split(":")[1])]
        assert shown == list(zip(match.counts.tolist(), clear.tolist(), strict=True))
    assert env.agents == []
    env.reset()
    with pytest.raises(BadArgument, match="radio_3"):
        env.step({"radio_0": 0, "radio_1": 0, "radio_2": 0})
    with pytest.raises(BadArgument, match="render_mode"):
        zoo.parallel_env(render_mode="film")


def river_testbed(steps):
    return gymnasium.make("river_bandits/KArmedTestbed-v0", max_episode_steps=steps)


@pytest.mark.statistical
def test_policies_in_rivers_evaluation():
    """Over river's own environment, among river's own policies: better than chance, in ten numbers."""
    spread = {"low": -3, "high": 4, "clip": True, "seed": 1}
    policies = [
        RiverPolicy(hlmc.HLMC(arms=10, memory=10, horizon=2000), **spread),
        RiverPolicy(hlmc.UCB1(arms=10), **spread),
        bandit.RandomPolicy(seed=1),
    ]
    rewards = np.zeros(3)
    for step in bandit.evaluate(policies, river_testbed(2000), n_episodes=3, seed=42):
        rewards[step["policy_idx"]] += step["reward"] / 6000
    assert rewards[0] > rewards[2] + 0.2
    assert rewards[1] > rewards[2] + 0.2
    assert policies[0].learner.time == 0  # river plays with clones


def test_rivers_testbed_needs_a_range_of_rewards():
    env = river_testbed(200)
    fitted = RiverPolicy(hlmc.EXP3(arms=10, horizon=200), seed=1, low=-3, high=5, clip=True)
    assert sum(1 for _ in bandit.evaluate([fitted], env, n_episodes=2, seed=1)) == 400
    with pytest.raises(BadArgument, match="give low and high"):
        list(bandit.evaluate([RiverPolicy(hlmc.UCB1(arms=10))], env, n_episodes=1, seed=1))


def test_river_replays_a_log():
    """The arm asked for stands until the log plays it: exactly the learner that is told those rewards."""
    rng = random.Random(1)
    arms = ["tea", "coffee", "water"]
    log = [(arms, None, rng.choice(arms), float(rng.random() < 0.5)) for _ in range(600)]
    policy = RiverPolicy(hlmc.HLMC(arms=3, levels=1), seed=5)
    total, used = bandit.evaluate_offline(policy, log, stats.Sum())
    learner = hlmc.HLMC(arms=3, levels=1).start(5)
    told, matched = 0.0, 0
    for _, _, label, reward in log:
        if arms[learner.select()] == label:
            learner.update(reward)
            told, matched = told + reward, matched + 1
    assert (total.get(), used) == (told, matched)
    assert policy.learner == learner
    assert 150 < matched < 250


def test_labels_of_any_kind_and_a_range_of_a_billion():
    big = RiverPolicy(hlmc.HLMC(arms=10**9, levels=3), seed=2)
    arms = range(7, 7 + 2 * 10**9, 2)
    label = big.pull(arms)
    assert label in arms
    big.update(label, 1.0)
    held = [value for value in vars(big).values() if hasattr(value, "__len__") and not isinstance(value, (range, str))]
    assert all(len(value) == 0 for value in held)
    assert 8 * big.policy.words.total < 30_000
    labels = [("a", 1), frozenset({2}), None]
    policy = RiverPolicy(hlmc.UCB1(arms=3))
    seen = []
    for shift in range(3):
        seen.append(policy.pull(labels[shift:] + labels[:shift]))
        policy.update(seen[-1], 0.5)
    assert seen == labels
    with pytest.raises(BadArgument, match="same in every pull"):
        policy.pull([("a", 1), None, "new"])
    with pytest.raises(BadArgument, match="must have 3 arms"):
        policy.pull(labels[:2])
    with pytest.raises(BadArgument, match="same label"):
        RiverPolicy(hlmc.UCB1(arms=3)).pull(["a", "a", "b"])
    with pytest.raises(BadArgument, match="cannot become"):
        big.pull(range(10**9))
    with pytest.raises(OutOfTurn, match="pulled last"):
        policy.update("else", 1.0)
    with pytest.raises(OutOfTurn):
        RiverPolicy(hlmc.UCB1(arms=3)).update("a", 1.0)
    with pytest.raises(BadArgument, match="low"):
        RiverPolicy(hlmc.UCB1(arms=3), low=1, high=0)


def test_a_river_policy_is_cloned_copied_and_pickled():
    policy = RiverPolicy(hlmc.HLMC(arms=4, levels=2), seed=3, low=-1)
    policy.update(policy.pull(range(4)), 0.5)
    fresh = policy.clone()
    assert (fresh.policy, fresh.seed, fresh.low, fresh.learner.time) == (policy.policy, 3, -1, 0)
    copies = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    assert all(again.learner == policy.learner for again in copies)
    assert {again.pull(range(4)) for again in copies} == {policy.pull(range(4))}
    assert policy.ranking == []
    assert repr(policy) == "RiverPolicy(HLMC(arms=4, levels=2), seed=3, low=-1)"


@pytest.mark.parametrize("missing", ["gymnasium", "pettingzoo", "river"])
def test_a_missing_library_is_named_in_one_line(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from hlmc.errors import MissingExtra\n"
        f"try:\n    import hlmc.adapters.{missing}\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    extra = "river" if missing == "river" else "gym"
    assert done.stdout == f"{missing} is not installed; install it with: pip install 'hlmc[{extra}]'\n"


@pytest.mark.parametrize("name", ["foreign_gymnasium.py", "river_bandit.py"])
def test_examples_run(name, capsys):
    runpy.run_path(str(EXAMPLE_FILES / name), run_name="__main__")
    assert "HLMC" in capsys.readouterr().out
