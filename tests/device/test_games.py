"""Games on a device: on a real one, or on a host, where sizes are small.

Every kind of game is compiled by itself, which takes a real device some seconds each; ``-k quick`` picks the few that
between them need three compilations.
"""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import hlmc
from devices import HOST, interpreted_game
from hlmc.adversaries import packed
from hlmc.cli import main
from hlmc.engine.kernel import kernel
from hlmc.errors import BadArgument, BadReward, NoDevice
from hlmc.games import Game, Routing, Spectrum, jammers, on_device
from hlmc.games import board as layout
from hlmc.games.cuda.game_kernel import LANES
from hlmc.games.population import population
from hlmc.games.runs import Task
from hlmc.targets.cuda import memory

AGENTS = 11 if HOST else 3000
STEPS = 24 if HOST else 60
POINTS = [1, 5, STEPS]


@kernel
def catch(spec, state, t, counts, arm):
    """What a ground holds is shared, a little less where the neighbour is crowded."""
    arms = int(spec[0])
    return min(1.0, state[arm] / (counts[arm] + 0.1 * counts[(arm + 1) % arms]))


@kernel
def season(spec, state, t, counts, payoffs):
    for ground in range(int(spec[0])):
        left = state[ground] - counts[ground] * payoffs[ground]
        state[ground] = min(spec[1], max(0.0, left) * (1.0 + spec[2]) + 0.1)


@kernel
def is_empty(spec, state, t, counts, arm):
    return 1.0 if state[arm] < 1.0 else 0.0


@dataclass(frozen=True, repr=False)
class Fishery(Game):
    agents: int = AGENTS
    arms: int = 6
    room: float = 4.0

    pay = staticmethod(catch)
    observe = staticmethod(season)
    facts = {"empty": is_empty}  # noqa: RUF012

    @cached_property
    def spec(self):
        return packed(self.arms, self.room, 0.3)

    def start(self, key):
        return np.full(self.arms, self.room)


@kernel
def spoiled(spec, state, t, counts, arm):
    return spec[0] if t == 3 else 0.5


@kernel
def generous(spec, state, t, counts, arm):
    return 1.0


@dataclass(frozen=True, repr=False)
class Generous(Game):
    agents: int
    arms: int = 2

    pay = staticmethod(generous)


@dataclass(frozen=True, repr=False)
class Spoiled(Game):
    agents: int = 5
    arms: int = 4
    payoff: float = 2.0

    pay = staticmethod(spoiled)

    @cached_property
    def spec(self):
        return packed(self.payoff)


def spectrum(jammer: jammers.Jammer, agents: int = AGENTS, channels: int = 6) -> Spectrum:
    return Spectrum(agents, channels, jammer)


SMALL = hlmc.HLMC(arms=6, levels=2, horizon=2 * STEPS)
UNEVEN = hlmc.HLMC(arms=7, groups=(3, 3), horizon=2 * STEPS)
MIXED = {
    "HLMC": (hlmc.HLMC(arms=6, levels=2), 3),
    "UCB-M": (hlmc.UCBM(arms=6, memory=3), 4),
    "EXP3": (hlmc.EXP3(arms=6, horizon=STEPS), 2),
}
CASES = {
    "circulating": (SMALL, spectrum(jammers.Circulating(period=7, clear=2))),
    "doubling": (hlmc.HLMC(arms=6, levels=2), spectrum(jammers.Circulating(subphases=2, sublength=3))),
    "sweeping": (SMALL, spectrum(jammers.Sweeping(dwell=2))),
    "reactive": (SMALL, spectrum(jammers.Reactive(crowd=1.0, delay=3))),
    "crowd": (SMALL, spectrum(jammers.Crowd(period=2))),
    "uneven": (UNEVEN, spectrum(jammers.Crowd(), channels=7)),
    "ucb1": (hlmc.UCB1(arms=6), spectrum(jammers.Crowd())),
    "exp3.p": (hlmc.HLMC(arms=6, levels=2, horizon=STEPS, delta=0.1), spectrum(jammers.Sweeping())),
    "exp3.s": (hlmc.HLMC(arms=6, levels=2, horizon=STEPS, switches=2), spectrum(jammers.Sweeping())),
    "tsallis": (hlmc.TsallisINF(arms=6), spectrum(jammers.Sweeping())),
    "champion": (hlmc.Champion(arms=6, memory=6, horizon=STEPS), spectrum(jammers.Sweeping(dwell=4))),
    "shuffled": (hlmc.UCBM(arms=6, memory=3, shuffle=True), spectrum(jammers.Sweeping(dwell=4))),
    "routing": (hlmc.EXP3(arms=4, horizon=STEPS), Routing(AGENTS, 4, empty=(1, 2, 2, 3), power=1.5)),
    "own": (SMALL, Fishery()),
    "one arm": (hlmc.Uniform(arms=1), Spectrum(AGENTS, 1)),
}


def compared(who, game, precision, tolerance, seed=5):
    """The result of a device, everything in it held against the processor's."""
    how = {"horizon": STEPS, "runs": 2, "seed": seed, "points": POINTS, "progress": False}
    there = hlmc.play(who, game, device="cuda", precision=precision, **how)
    here = hlmc.play(who, game, **how)
    assert set(there.data.data_vars) == set(here.data.data_vars)
    for name in here.data.data_vars:
        np.testing.assert_allclose(there.data[name].values, here.data[name].values, tolerance, 1e-12, err_msg=name)
    return there


def test_quick_a_mixed_population_in_double_precision():
    result = compared(MIXED, spectrum(jammers.Random(period=3)), "float64", 1e-9)
    assert result.provenance["device"] == "cuda"
    assert result.provenance["precision"] == "float64"


def test_quick_a_million_radios_in_small():
    """What examples/million_radios.py and benchmarks/gpu_games.py play; rounding may move few of the choices."""
    policy = hlmc.HLMC(arms=20, memory=10, horizon=2 * STEPS)
    how = {"horizon": STEPS, "runs": 2, "seed": 1, "points": POINTS, "progress": False}
    there = hlmc.play(policy, Spectrum(AGENTS, 20), device="cuda", **how)
    here = hlmc.play(policy, Spectrum(AGENTS, 20), **how)
    assert there.provenance["precision"] == "float32"
    np.testing.assert_allclose(there.data["reward"].values, here.data["reward"].values, 0.02)
    moved = np.abs(there.data["occupancy"].values - here.data["occupancy"].values).sum() / 2
    assert moved / AGENTS < 0.02
    assert there.data["occupancy"].values.sum(axis=3) == pytest.approx(float(AGENTS))


@pytest.mark.parametrize("name", CASES)
def test_double_precision_is_the_processor_s(name):
    compared(*CASES[name], "float64", 1e-9)


@pytest.mark.skipif(not HOST, reason="a device's own functions differ in last digits")
@pytest.mark.parametrize("name", CASES)
def test_single_precision_is_the_interpreter_s_bit_for_bit(name):
    groups = population(*CASES[name])
    task = Task(groups, CASES[name][1], 5, 1, np.array([STEPS]), True)
    tables = on_device.Tables([task], "float32")
    for begin, end in ((0, 7), (7, STEPS)):
        tables.advance(begin, end)
    tables.look()
    board, earned, workspaces = interpreted_game(task, STEPS, "float32")
    codes = slice(int(board.words[layout.CODES]), int(board.words[layout.CODES]) + len(CASES[name][1].facts))
    board.words[codes] = tables.boards[0].words[codes]  # the facts' addresses
    np.testing.assert_array_equal(tables.boards[0].words, board.words)
    record = tables._record
    there = record.totals.copy_to_host() + record.epoch_rewards.copy_to_host()
    np.testing.assert_array_equal(there[: len(earned)], earned)
    words = len(workspaces[0])
    kept = record.workspaces.copy_to_host().reshape(words, LANES)[:, : len(earned)]
    np.testing.assert_array_equal(kept.T, workspaces)


@pytest.mark.parametrize("name", ["circulating", "champion", "shuffled", "ucb1", "own"])
def test_single_precision_begins_like_the_processor(name):
    who, game = CASES[name]
    how = {"horizon": 5, "runs": 2, "seed": 3, "points": [5], "progress": False}
    there, here = (hlmc.play(who, game, **how, **where) for where in ({"device": "cuda"}, {}))
    np.testing.assert_allclose(there.data["reward"].values, here.data["reward"].values, 0.01)


def test_weights_that_outgrow_single_precision_are_scaled():
    """A weight grows by a factor of about exp(0.25) in every step: past all that a float32 holds after 355."""
    policy = hlmc.EXP3(arms=2, horizon=400, gamma=0.5)
    how = {"horizon": 400, "runs": 1, "seed": 2, "points": [360, 400], "progress": False}
    game = Generous(agents=4 if HOST else 1000)
    there, here = (hlmc.play(policy, game, **how, **where) for where in ({"device": "cuda"}, {}))
    assert there.data["reward"].values == pytest.approx(here.data["reward"].values)
    np.testing.assert_allclose(there.data["occupancy"].values, here.data["occupancy"].values, 0.05)


@pytest.mark.statistical
def test_quick_means_agree_over_many_runs():
    """Other seeds, so other runs: a difference of more than 4.5 standard errors has a chance of 7 in a million."""
    runs, agents, steps = (12, 3, 12) if HOST else (400, 100, 300)
    policy = hlmc.HLMC(arms=20, memory=10, horizon=2 * STEPS if HOST else steps)
    how = {"horizon": steps, "runs": runs, "points": [steps], "progress": False}
    there = hlmc.play(policy, Spectrum(agents, 20), seed=11, device="cuda", **how)
    here = hlmc.play(policy, Spectrum(agents, 20), seed=12, **how)
    for name in ("reward", "clear"):
        x, y = (result.data[name].values.reshape(-1) for result in (there, here))
        error = math.sqrt((x.var(ddof=1) + y.var(ddof=1)) / runs)
        assert abs(x.mean() - y.mean()) <= 4.5 * error


def tables(workers=None, precision="float64", runs=2):
    who, game = MIXED, spectrum(jammers.Random(period=3))
    groups = population(who, game)
    tasks = [Task(groups, game, 5, run, np.array(POINTS), True) for run in range(runs)]
    return on_device.Tables(tasks, precision, workers)


def test_quick_neither_slices_nor_blocks_can_be_seen(monkeypatch):
    found = []
    for workers, longest in ((1, 1 << 20), (None, 3)):
        monkeypatch.setattr(on_device, "SHORTEST", 3)
        monkeypatch.setattr(on_device, "LONGEST", longest)
        told = []
        played = list(tables(workers).play(told.append))
        assert sum(told) == 2 * STEPS
        found.append([np.concatenate([x.occupancy.ravel(), x.sums.ravel(), x.agents]) for x in played])
    # What an agent has earned is added up epoch by epoch, wherever the slices end.
    np.testing.assert_array_equal(found[0], found[1])


def test_counting_in_the_memory_of_all(monkeypatch):
    first = [x.occupancy for x in tables().play(lambda steps: None)]
    monkeypatch.setattr(on_device, "SHARED_BINS", 0)
    on_device._compiled.cache_clear()
    second = [x.occupancy for x in tables().play(lambda steps: None)]
    on_device._compiled.cache_clear()
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("payoff", [2.0, -0.5, math.nan])
def test_a_payoff_outside_its_range_is_refused(payoff):
    with pytest.raises(BadReward, match="in round 3"):
        hlmc.play(hlmc.EXP3(arms=4, horizon=9), Spoiled(payoff=payoff), 9, progress=False, device="cuda")


def test_what_does_not_fit_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(type(memory.device()), "free", lambda self: 1000.0)
    with pytest.raises(NoDevice, match="GiB more are needed"):
        hlmc.play(*CASES["circulating"], STEPS, runs=1, progress=False, device="cuda", precision="float64")


def test_arguments_that_a_device_does_not_take(monkeypatch):
    who, game = CASES["circulating"]
    for given in ({"executor": ThreadPoolExecutor(1)}, {"threads": 2}):
        with pytest.raises(BadArgument, match="must be left out"):
            hlmc.play(who, game, STEPS, device="cuda", **given)
    with pytest.raises(BadArgument, match="device must be one of 'cpu', 'cuda'"):
        hlmc.play(who, game, STEPS, device="tpu")
    with pytest.raises(BadArgument, match="float64"):
        hlmc.play(who, game, STEPS, precision="float32")
    monkeypatch.setitem(on_device.MOST_ARMS, "float32", 6)
    with pytest.raises(BadArgument, match="too many arms"):
        hlmc.play(who, game, STEPS, device="cuda", progress=False)


def test_an_interrupt_leaves_the_runs_that_were_finished(monkeypatch):
    who, game = CASES["circulating"]
    advance = on_device.Tables.advance

    def interrupted(self, begin, end):
        if self._tasks[0].run == 1:
            raise KeyboardInterrupt
        return advance(self, begin, end)

    monkeypatch.setattr(on_device, "runs_at_once", lambda task, precision: 1)
    monkeypatch.setattr(on_device.Tables, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        hlmc.play(who, game, STEPS, runs=3, progress=False, device="cuda", precision="float64")
    assert stopped.value.partial.data.sizes["run"] == 1


def test_the_command_line_says_where_it_played(capsys):
    given = ["--agents", str(AGENTS), "--channels", "6", "--horizon", "8", "--runs", "1", "--policies", "hlmc"]
    main(["spectrum", *given, "--device", "cuda", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (said["device"], said["precision"]) == ("cuda", "float32")
