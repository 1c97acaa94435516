"""Games: held against a plain reading of the rules, and against what is known of the paper's game."""

from __future__ import annotations

import json
import os
import pickle
import re
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import hlmc
from hlmc.adversaries import packed
from hlmc.cli import main
from hlmc.engine.kernel import kernel
from hlmc.errors import BadArgument, BadFile, BadReward, BadType
from hlmc.games import Game, Routing, Spectrum, jammers
from hlmc.games.population import population
from hlmc.games.runs import Task
from hlmc.games.runs import play as play_run

SMALL = hlmc.HLMC(arms=6, levels=2)
ROUNDS = hlmc.UCBM(arms=6, memory=3)


class PlainJammer:
    """What each jammer is said to do, with sets and lists."""

    def __init__(self, jammer: jammers.Jammer, channels: int) -> None:
        self.jammer = jammer
        self.K = channels
        self.first = 0
        self.crowded = 0

    def clear(self, t: int, before: list[int]) -> set[int]:
        j, K = self.jammer, self.K
        if isinstance(j, jammers.Circulating):
            if j.period:
                phase = t // j.period
            else:
                phase, end = 0, j.subphases * j.sublength
                while t >= end:
                    phase += 1
                    end += j.subphases * j.sublength * 2**phase
            return {(phase + k) % K for k in range(j.clear)}
        if isinstance(j, jammers.Sweeping):
            width = K // 2 if j.width is None else j.width
            start = (t // j.dwell) * width
            return set(range(K)) - {(start + k) % K for k in range(width)}
        if isinstance(j, jammers.Reactive):
            window = {(self.first + k) % K for k in range(j.clear)}
            heard = sum(before[c] for c in window)
            crowded = t > 0 and heard > j.crowd * j.clear * sum(before) / K
            self.crowded = self.crowded + 1 if crowded else 0
            if self.crowded == j.delay:
                self.first, self.crowded = (self.first + j.clear) % K, 0
            return {(self.first + k) % K for k in range(j.clear)}
        assert isinstance(j, jammers.Crowd)
        if t % j.period == 0:
            self.now = set(sorted(range(K), key=lambda c: (before[c], c))[: j.clear])
        return self.now


def plain_spectrum(groups, game, horizon, seed, run):
    """The spectrum game with one learner an agent: choices [t][agent], payoffs [t][agent], clear channels [t]."""
    learners = [
        group.policy.start(hlmc.derive_seed(seed, group.name, run), stream=i)
        for group in groups
        for i in range(group.agents)
    ]
    jammer = PlainJammer(game.jammer, game.channels)
    before = [0] * game.channels
    choices, payoffs, clears = [], [], []
    for t in range(horizon):
        clear = jammer.clear(t, before)
        arms = [learner.select() for learner in learners]
        before = [arms.count(c) for c in range(game.channels)]
        paid = []
        for arm in arms:
            n = before[arm]
            paid.append(game.clear_reward / n if arm in clear else game.jammed_reward if n < game.collision else 0.0)
        for learner, pay in zip(learners, paid, strict=True):
            learner.update(pay / game.scale)
        choices.append(arms)
        payoffs.append(paid)
        clears.append(clear)
    return choices, payoffs, clears


MIXED = {"HLMC": (SMALL, 6), "UCB-M": (ROUNDS, 5)}
CASES = [
    (jammers.Circulating(subphases=2, sublength=5), 2, MIXED),
    (jammers.Circulating(period=7, clear=2), 3, {"HLMC": SMALL}),
    (jammers.Circulating(period=20), 2, {"UCB-M": ROUNDS}),
    (jammers.Sweeping(dwell=3), 2, {"EXP3": hlmc.EXP3(arms=6, horizon=120), "HLMC": SMALL}),
    (jammers.Sweeping(dwell=2, width=5), 2, MIXED),
    (jammers.Reactive(crowd=1.0, delay=3, clear=2), 2, MIXED),
    (jammers.Crowd(), 2, MIXED),
    (jammers.Crowd(period=4, clear=2), 1, {"HLMC": SMALL}),
]


@pytest.mark.interpreted
@pytest.mark.parametrize(("jammer", "collision", "who"), CASES, ids=[repr(jammer) for jammer, *_ in CASES])
def test_spectrum_is_the_game_of_the_paper(jammer, collision, who):
    """One routine for all is compiled into the loop, several are called: both are tried."""
    game = Spectrum(agents=11, channels=6, jammer=jammer, collision=collision)
    horizon, runs, seed = 120, 2, 5
    points = [1, 40, 41, 120]
    result = hlmc.play(who, game, horizon, runs, seed, points=points, progress=False)
    groups = population(who, game)
    for run in range(runs):
        choices, payoffs, clears = plain_spectrum(groups, game, horizon, seed, run)
        paid = np.array(payoffs)
        total = np.zeros(11)
        for row in paid:
            total += row
        assert result.data["agent_reward"].sel(run=run).values.tolist() == total.tolist()
        first_of = np.cumsum([0, *(group.agents for group in groups)])
        for g, name in enumerate(group.name for group in groups):
            members = slice(first_of[g], first_of[g + 1])
            mine = result.data.sel(policy=name, run=run)
            so_far = paid[:, members].cumsum(axis=0)
            assert mine["reward"].values == pytest.approx([so_far[t - 1].mean() for t in points])
            assert mine["square"].values == pytest.approx([(so_far[t - 1] ** 2).mean() for t in points])
            x = so_far[-1]
            jain = x.sum() ** 2 / (len(x) * (x**2).sum()) if x.any() else 1.0
            assert float(result.fairness().sel(policy=name, run=run).values[-1]) == pytest.approx(jain)
            on_clear = [[arm in clear for arm in arms[members]] for arms, clear in zip(choices, clears, strict=True)]
            lost = [
                [arm not in clear and arms.count(arm) >= collision for arm in arms[members]]
                for arms, clear in zip(choices, clears, strict=True)
            ]
            for fact, truth in (("clear", on_clear), ("collision", lost)):
                assert mine[fact].values == pytest.approx([np.mean(truth[:t]) for t in points])
            first = 0
            for p, last in enumerate(points):
                window = choices[first:last]
                counts = [[arms[members].count(c) for c in range(6)] for arms in window]
                assert mine["occupancy"].values[p].tolist() == np.mean(counts, axis=0).tolist()
                if g == 0:
                    flags = [[c in clear for c in range(6)] for clear in clears[first:last]]
                    assert mine["clear_arms"].values[p].tolist() == np.mean(flags, axis=0).tolist()
                first = last
        assert result.data["occupancy"].sel(run=run).sum(["policy", "arm"]).values == pytest.approx([11.0] * 4)


@pytest.mark.interpreted
def test_regret_is_what_moving_to_one_channel_would_have_brought():
    game = Spectrum(agents=7, channels=6, jammer=jammers.Circulating(period=30))
    who = {"HLMC": (SMALL, 4), "UCB-M": (ROUNDS, 3)}
    result = hlmc.play(who, game, 100, 1, seed=1, points=[60, 100], progress=False)
    choices, payoffs, clears = plain_spectrum(population(who, game), game, 100, 1, 0)

    def pay(clear, channel, n):
        return 10.0 / n if channel in clear else float(n == 1)

    for p, T in enumerate((60, 100)):
        together = max(sum(pay(clear, c, 7) for clear in clears[:T]) for c in range(6))
        for name, members in (("HLMC", range(4)), ("UCB-M", range(4, 7))):
            stayed = np.zeros((len(members), 6))
            for row, i in enumerate(members):
                for c in range(6):
                    for arms, clear in zip(choices[:T], clears[:T], strict=True):
                        others = arms[:i] + arms[i + 1 :]
                        stayed[row, c] += pay(clear, c, others.count(c) + 1)
            earned = np.array(payoffs)[:T, list(members)].sum(axis=0).mean()
            expected = stayed.mean(axis=0).max() - earned
            assert float(result.regret().sel(policy=name)[0, p]) == pytest.approx(expected)
        earned = np.array(payoffs)[:T].sum(axis=0).mean()
        assert float(result.regret("population")[0, p]) == pytest.approx(together - earned)
    with pytest.raises(BadArgument, match="kind"):
        result.regret("weak")


@pytest.mark.interpreted
def test_alone_in_the_game_regret_is_weak_regret():
    game = Spectrum(agents=1, channels=6, jammer=jammers.Circulating(period=50))
    result = hlmc.play(SMALL, game, 200, 1, progress=False)
    # Each of the first four channels pays 10 for 50 steps and 1 otherwise.
    assert float(result.data["best_fixed"][0, 0, -1]) == 10 * 50 + 150
    assert result.regret().values[0].tolist() == result.regret("population").values.tolist()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_and_executors_cannot_be_seen_in_a_result(threads):
    game = Spectrum(agents=97, channels=6, jammer="random")
    who = {"HLMC": (SMALL, 2), "UCB-M": (ROUNDS, 1)}
    alone = hlmc.play(who, game, 150, 3, seed=3, points=7, progress=False, threads=1)
    shared = hlmc.play(who, game, 150, 3, seed=3, points=7, progress=False, threads=threads)
    assert alone.data.identical(shared.data)
    with ThreadPoolExecutor(threads) as pool:
        handed = hlmc.play(who, game, 150, 3, seed=3, points=7, progress=False, executor=pool)
    assert alone.data.identical(handed.data)


def test_points_runs_and_the_rest_of_the_population_move_nobodys_numbers():
    game = Spectrum(agents=40, channels=6)
    one = hlmc.play(SMALL, game, 200, 2, seed=9, points=4, progress=False)
    other = hlmc.play({"HLMC": SMALL}, game, 200, 3, seed=9, points=[50, 77, 150], progress=False)
    both = [50, 150, 200]
    assert one.data["reward"].sel(time=both).equals(other.data["reward"].sel(time=both, run=[0, 1]))
    first = hlmc.play({"HLMC": (SMALL, 1), "UCB-M": (ROUNDS, 1)}, game, 1, 1, seed=9, progress=False)
    fleet = SMALL.fleet(20, seed=hlmc.derive_seed(9, "HLMC", 0))
    counts = np.bincount(fleet.select(), minlength=6)
    assert first.data["occupancy"].sel(policy="HLMC").values.reshape(-1).tolist() == counts.tolist()


@pytest.mark.statistical
def test_the_mean_reward_sits_where_the_paper_s_numbers_put_it():
    """At most (10 + 19) / 1000 whatever happens; 0.010 as soon as somebody is on the clear channel."""
    policy = hlmc.HLMC(arms=20, memory=10, horizon=3000)
    result = hlmc.play(policy, Spectrum(), 3000, 2, progress=False, points=100)
    window = result.mean_reward(window=True)
    assert float(window.max()) <= 0.029
    assert float(abs(window - 0.010).max()) < 2e-4
    assert float(result.mean_reward()[0, :, -1].mean()) == pytest.approx(0.010, abs=2e-5)
    assert float(result.share("clear")[0, :, -1].min()) > 1 / 20
    shares = result.share("clear", window=True)
    widths = np.diff(np.concatenate([[0], shares["time"].values]))
    average = (shares * widths).sum("time") / 3000
    assert average.values == pytest.approx(result.share("clear").isel(time=-1).values)
    # Everybody is on the clear channel, in a collision, or alone on a jammed one.
    alone = 1 - result.data["clear"] - result.data["collision"]
    assert float(alone.min()) >= -1e-15
    assert float((result.data["reward"] / result.data["time"]).isel(time=-1).max()) <= 0.010 + float(alone.max()) + 1e-9


def test_random_jammer_is_random_by_run_and_by_period():
    game = Spectrum(agents=5, channels=6, jammer=jammers.Random(period=10, clear=2))
    result = hlmc.play(SMALL, game, 2000, 3, points=np.arange(10, 2001, 10), progress=False)
    clear = result.data["clear_arms"].values
    assert set(clear.reshape(-1)) == {0.0, 1.0}
    assert (clear.sum(axis=2) == 2).all()
    assert not np.array_equal(clear[0], clear[1])
    # 600 periods, each channel clear in a third of them: 200 +- 4 standard deviations of 11.5.
    assert np.abs(clear.sum(axis=(0, 1)) - 200).max() < 46


@pytest.mark.interpreted
def test_a_random_jammer_played_by_hand_is_that_of_the_run():
    game = Spectrum(agents=3, channels=6, jammer=jammers.Random(period=5))
    result = hlmc.play(SMALL, game, 50, 2, seed=4, points=50, progress=False)
    match = game.match(hlmc.derive_seed(4, 1))
    for t in range(50):
        match.play([0, 1, 2])
        assert match.fact("clear").tolist() == (result.data["clear_arms"].values[1, t] == 1.0).tolist()


@pytest.mark.interpreted
def test_routing_pays_by_latency():
    game = Routing(agents=9, links=3, capacity=(1, 2, 3), empty=(1.0, 2.0, 0.5), slowdown=0.5, power=2.0)
    choices = [0, 0, 1, 1, 1, 2, 2, 2, 2]
    loads, free, room = (2, 3, 4), (1.0, 2.0, 0.5), (1, 2, 3)
    took = [f * (1 + 0.5 * (n / c) ** 2) for f, n, c in zip(free, loads, room, strict=True)]
    worst = max(f * (1 + 0.5 * (9 / c) ** 2) for f, c in zip(free, room, strict=True))
    match = game.match()
    assert match.play(choices) == pytest.approx([1 - took[c] / worst for c in choices])
    assert match.fact("overloaded").tolist() == [True, True, True]
    assert game.match().play([0] * 9).tolist() == [0.0] * 9
    assert Routing(agents=9, links=3, worst=0.1).match().play(choices).tolist() == [0.0] * 9


@pytest.mark.statistical
def test_learners_find_the_equilibrium_of_the_routing_game():
    game = Routing(agents=200, links=3, empty=(1.0, 2.0, 4.0))
    loads = game.equilibrium()
    used = game.latency(loads)[loads > 0]
    assert loads.sum() == pytest.approx(200)
    assert used == pytest.approx(used[0])
    result = hlmc.play(hlmc.EXP3(arms=3, horizon=20_000), game, 20_000, 2, points=10, progress=False)
    late = result.data["occupancy"].isel(time=slice(5, None)).mean(["run", "time"]).sel(policy="EXP3").values
    # EXP3 plays any link with probability gamma; the rest of the distance is what has not been learnt yet.
    assert np.abs(late - loads).max() < 12


@kernel
def wave(spec, state, t, counts, arm):
    return spec[0] * state[0] / counts[arm] if arm == 1 else spec[1]


@kernel
def tide(spec, state, t, counts, payoffs):
    state[0] = 1.0 if counts[1] < 2.0 else 0.0


@kernel
def is_one(spec, state, t, counts, arm):
    return 1.0 if arm == 1 else 0.0


@dataclass(frozen=True, repr=False)
class Beach(Game):
    """A game of a user's own: the second arm is good until two have been there."""

    agents: int = 5
    arms: int = 2
    prize: float = 4.0
    other: float = 0.5

    pay = staticmethod(wave)
    observe = staticmethod(tide)
    facts = {"beach": is_one}  # noqa: RUF012
    marks = "beach"

    @property
    def scale(self):
        return self.prize

    @cached_property
    def spec(self):
        return packed(self.prize, self.other)


@pytest.mark.interpreted
def test_a_users_own_game():
    match = Beach(agents=3).match()
    assert match.play([1, 1, 0]).tolist() == [2.0, 2.0, 0.5]
    assert match.play([1, 0, 0]).tolist() == [0.0, 0.5, 0.5]
    assert match.play([1, 0, 0]).tolist() == [4.0, 0.5, 0.5]
    assert match.counts.tolist() == [2, 1]
    result = hlmc.play(hlmc.Uniform(arms=2), Beach(), 1000, 2, progress=False)
    assert float(result.data["beach"].mean()) == pytest.approx(0.5, abs=0.1)
    with pytest.raises(BadReward, match=r"outside \[0, 4\] in round 0"):
        hlmc.play(hlmc.Uniform(arms=2), Beach(other=5.0), 10, 1, progress=False)
    with pytest.raises(BadReward, match="round 0"):
        Beach(other=-1.0).match().play([0, 0, 0, 0, 0])


@pytest.mark.interpreted
def test_games_are_values():
    game = Spectrum(agents=10, channels=4, jammer=jammers.Crowd(period=3))
    again = pickle.loads(pickle.dumps(game))
    assert again == game
    assert again.arms == 4
    assert repr(Spectrum(agents=7)).startswith("Spectrum(agents=7, channels=20, jammer=Circulating(), ")
    assert pickle.loads(pickle.dumps(Routing(empty=(1, 2, 3, 4)))) == Routing(empty=(1.0, 2.0, 3.0, 4.0))


BAD = [
    (lambda: Spectrum(agents=0), BadArgument, "agents"),
    (lambda: Spectrum(channels=2.5), BadArgument, "channels"),
    (lambda: Spectrum(jammer="kind"), BadArgument, "there is no jammer 'kind'"),
    (lambda: Spectrum(jammer=3), BadType, "jammer"),
    (lambda: Spectrum(clear_reward=-1), BadArgument, "clear_reward"),
    (lambda: Spectrum(collision=0), BadArgument, "collision"),
    (lambda: Spectrum(channels=3, jammer=jammers.Random(clear=4)), BadArgument, "clear must be at most"),
    (lambda: Spectrum(channels=3, jammer=jammers.Sweeping(width=4)), BadArgument, "width"),
    (lambda: jammers.Circulating(period=0), BadArgument, "period"),
    (lambda: jammers.Reactive(delay=0), BadArgument, "delay"),
    (lambda: Routing(links=3, capacity=(1, 2)), BadArgument, "capacity"),
    (lambda: Routing(empty=0.0), BadArgument, "empty"),
    (lambda: Routing(power=0).equilibrium(), BadArgument, "equilibrium"),
    (lambda: hlmc.play(SMALL, "spectrum", 10), BadType, "game"),
    (lambda: hlmc.play(SMALL, Spectrum(), 10), BadArgument, "6 arms"),
    (lambda: hlmc.play(3, Spectrum(), 10), BadType, "policies must be a compiled policy such as"),
    (lambda: hlmc.play({}, Spectrum(), 10), BadType, "(policy, share), not {}"),
    (lambda: hlmc.play({"a": 3}, Spectrum(), 10), BadType, "policies['a'] must be a compiled policy such as"),
    (lambda: hlmc.play({SMALL: 1}, Spectrum(channels=6), 10), BadType, "name: (policy, share), not HLMC("),
    (lambda: hlmc.play({"a": (SMALL, -1)}, Spectrum(channels=6), 10), BadArgument, "share"),
    (lambda: hlmc.play({"a": (SMALL, 1), "b": (ROUNDS, 1e-9)}, Spectrum(channels=6), 10), BadArgument, "too small"),
    (lambda: hlmc.play(hlmc.EXP3(arms=20, horizon=5), Spectrum(), 10), BadArgument, "made for 5 steps"),
    (lambda: hlmc.play(SMALL, Spectrum(channels=6), 10, executor=3), BadType, "executor"),
    (lambda: hlmc.play(SMALL, Spectrum(channels=6), 10, seed=0.5), BadType, "seed"),
    (lambda: hlmc.play(SMALL, Spectrum(channels=6), 10, threads=0), BadArgument, "threads"),
    (lambda: Spectrum(agents=2).match().play([0]), BadArgument, "2 whole numbers"),
    (lambda: Spectrum(agents=2).match().play([0, 20]), BadArgument, "0 to 19"),
    (lambda: Spectrum(agents=2).match().play([0.0, 1.0]), BadArgument, "whole numbers"),
    (lambda: Spectrum(agents=2).match().fact("clear"), hlmc.errors.OutOfTurn, "no round"),
]


@pytest.mark.parametrize(("call", "kind", "text"), BAD, ids=[text for *_, text in BAD])
def test_what_is_wrong_is_said(call, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        call()


@pytest.mark.interpreted
def test_populations_are_handed_out_to_within_one_agent():
    game = Spectrum(agents=10, channels=6)

    def sizes(who):
        return [(group.name, group.agents) for group in population(who, game)]

    assert sizes(SMALL) == [("HLMC", 10)]
    assert sizes({"a": SMALL, "b": ROUNDS}) == [("a", 5), ("b", 5)]
    assert sizes({"a": (SMALL, 0.35), "b": (ROUNDS, 0.65)}) == [("a", 4), ("b", 6)]
    assert sizes({"a": (SMALL, 1), "b": (SMALL, 1), "c": (SMALL, 1)}) == [("a", 4), ("b", 3), ("c", 3)]


def test_results_are_saved_and_read_again(tmp_path):
    game = Spectrum(agents=20, channels=6)
    result = hlmc.play({"HLMC": (SMALL, 1), "UCB-M": (ROUNDS, 3)}, game, 100, 2, points=5, progress=False)
    path = tmp_path / "game.parquet"
    result.save(path)
    again = hlmc.games.load_result(path)
    assert again.data.identical(result.data)
    with pytest.raises(BadFile, match=r"is the result of a game: read it with hlmc\.games\.load_result$"):
        hlmc.load_result(path)
    assert again.summary().equals(result.summary())
    table = result.summary()
    assert "..." not in repr(table)
    assert max(map(len, repr(table).splitlines())) <= 100
    assert list(table.index) == ["HLMC", "UCB-M", "all"]
    assert table.loc["all", "reward"] == pytest.approx(table["reward"].iloc[0] / 4 + table["reward"].iloc[1] * 3 / 4)
    assert table.loc["all", "agents"] == 20
    whole = result.data["agent_reward"].values
    jain = (whole.sum(axis=1) ** 2 / (20 * (whole**2).sum(axis=1))).mean()
    assert table.loc["all", "fairness"] == pytest.approx(jain)
    assert "5 HLMC + 15 UCB-M" in repr(result)
    assert "<table" in result._repr_html_()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BadFile):
        hlmc.games.load_result(path)
    with pytest.raises(FileNotFoundError):
        hlmc.games.load_result(tmp_path / "none")


def test_pictures():
    game = Spectrum(agents=20, channels=6, jammer=jammers.Circulating(period=50))
    result = hlmc.play({"HLMC": (SMALL, 1), "UCB-M": (ROUNDS, 1)}, game, 200, 3, points=20, progress=False)
    ax = result.plot()
    assert [str(line.get_label()).split(",")[0] for line in ax.get_lines()] == ["HLMC", "UCB-M"]
    assert ax.get_title(loc="left") == "Spectrum, 20 agents, K = 6, T = 200, 3 runs"
    assert result.plot(window=True).get_ylabel() == "mean reward per agent per step"
    heat = result.plot_occupancy()
    shown = heat.collections[0].get_array().reshape(6, 20)
    everybody = result.data["occupancy"].sum("policy").mean("run").transpose("arm", "time").values
    assert np.allclose(shown, everybody)
    frames = heat.collections[1].get_paths()
    assert [frame.vertices[0].tolist() for frame in frames] == [[0, -0.5], [50, 0.5], [100, 1.5], [150, 2.5]]
    one = result.plot_occupancy(policy="HLMC", run=2).collections[0].get_array().reshape(6, 20)
    assert np.allclose(one, result.data["occupancy"].sel(policy="HLMC", run=2).transpose("arm", "time").values)
    bare = hlmc.play(SMALL, game, 10, 1, progress=False, occupancy=False)
    assert "occupancy" not in bare.data
    with pytest.raises(BadArgument, match="occupancy"):
        bare.plot_occupancy()


def test_ctrl_c_leaves_what_was_finished():
    class Interrupting:
        def __init__(self):
            self.left = 2

        def submit(self, function, *arguments):
            test = self

            class Later:
                def result(self):
                    if not test.left:
                        raise KeyboardInterrupt
                    test.left -= 1
                    return function(*arguments)

                def cancel(self):
                    return False

            return Later()

    with pytest.raises(KeyboardInterrupt) as caught:
        hlmc.play(SMALL, Spectrum(agents=5, channels=6), 20, 3, executor=Interrupting(), progress=False)
    assert caught.value.partial.data.sizes["run"] == 2


def test_a_run_can_travel_to_another_process():
    game = Spectrum(agents=9, channels=6, jammer="random")
    task = Task(population({"HLMC": (SMALL, 2), "UCB-M": (ROUNDS, 1)}, game), game, 3, 1, np.array([5, 30]), True)
    here, there = play_run(task), play_run(pickle.loads(pickle.dumps(task)))
    for name in ("sums", "squares", "stayed", "together", "shares", "occupancy", "true_of", "agents"):
        assert np.array_equal(getattr(here, name), getattr(there, name))


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_many_agents_take_little_more_than_their_rows():
    code = (
        "import hlmc, resource, sys\n"
        "policy = hlmc.HLMC(arms=20, memory=10, horizon=10)\n"
        "def play(agents):\n"
        "    game = hlmc.games.Spectrum(agents=agents)\n"
        "    hlmc.play(policy, game, 3, runs=1, points=1, progress=False, threads=2)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == 'darwin' else 1024)\n"
        "before = play(1000)\n"
        "print((play(500_000) - before) / (8 * policy.words.total * 500_000))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 1.3


def test_importing_is_light():
    code = (
        "import hlmc, sys\n"
        "print(sorted({'numba', 'gymnasium', 'pettingzoo', 'river', 'matplotlib', 'xarray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_the_interpreter_plays_the_same_game(tmp_path):
    code = (
        "import hlmc, sys\n"
        "game = hlmc.games.Spectrum(agents=6, channels=6, jammer='random')\n"
        "who = {'HLMC': (hlmc.HLMC(arms=6, levels=2), 1), 'UCB-M': (hlmc.UCBM(arms=6, memory=3), 1)}\n"
        "hlmc.play(who, game, 30, 2, points=3, progress=False).save(sys.argv[1])\n"
    )
    results = []
    for jit in "10":
        path = tmp_path / f"{jit}.parquet"
        subprocess.run([sys.executable, "-c", code, path], check=True, env={**os.environ, "HLMC_JIT": jit})
        results.append(hlmc.games.load_result(path))
    compiled, interpreted = results
    assert compiled.data.drop_attrs().identical(interpreted.data.drop_attrs())


def test_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["spectrum", "--agents", "30", "--channels", "6", "--memory", "5", "--horizon", "200", "--runs", "2"]
    assert main([*small, "--policies", "hlmc,ucb-m,hlmc+uniform"]) == 0
    out = capsys.readouterr().out
    assert "HLMC + Uniform: all" in out
    assert (tmp_path / "spectrum.png").read_bytes().startswith(b"\x89PNG")
    assert main([*small, "--json", "--policies", "hlmc", "--jammer", "random", "--period", "10"]) == 0
    told = json.loads(capsys.readouterr().out)
    (played,) = told["populations"]
    assert "Random(period=10)" in told["game"]
    assert 0 < played["summary"]["HLMC"]["reward"] <= (10 + 5) / 30
    assert len(played["mean_reward"]["HLMC"]) == len(told["time"]) == 200
    assert told["picture"] is None
    wrong = [
        (["--policies", "hlmc,lucky"], "lucky"),
        (["--jammer", "kind"], "kind"),
        (["--jammer", "sweeping", "--period", "3"], "--period"),
        (["--out", "picture.gif"], ".png"),
        (["--memory", "1"], "memory"),
    ]
    for further, text in wrong:
        assert main([*small, *further]) == 2
        assert text in capsys.readouterr().err


@pytest.mark.parametrize("page", ["games.md", "own-game.md", "radio.md"])
def test_the_examples_of_the_docs_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    runpy.run_path(str(script))


def test_the_example_draws_who_was_where(tmp_path, capsys):
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "million_radios.py"))
    out = tmp_path / "radios.png"
    example["main"](["--radios", "200", "--steps", "4000", "--out", str(out)])
    said = capsys.readouterr().out
    assert float(re.search(r"served: ([0-9.]+)", said)[1]) > 0.3  # a quarter of the channels is clear
    assert out.stat().st_size > 10_000
