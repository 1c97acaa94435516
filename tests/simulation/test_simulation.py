"""Simulating: the same as playing by hand, the same bytes however it is done, and clear words about what is wrong."""

import dataclasses
import inspect
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hlmc
from hlmc import adversaries, evaluation, plotting
from hlmc.errors import BadArgument, BadFile, BadReward, BadType
from hlmc.policies import CATALOGUE
from hlmc.simulation import progress, runs
from hlmc.simulation.points import time_points
from hlmc.simulation.runs import Task, play, prepared, walk

STEPS = 700
ARMS = 12


def made(cls: type[hlmc.Policy], **given: Any) -> hlmc.Policy:
    """A policy of any class: whatever it must be told, it is told."""
    known: dict[str, Any] = {"arms": ARMS, "horizon": STEPS, "memory": 8, "switches": 3}
    parameters = inspect.signature(cls).parameters
    needed = {name for name, p in parameters.items() if p.default is p.empty or name in ("horizon", "memory")}
    return cls(**{name: known[name] for name in needed if name in known} | given)


POLICIES: list[hlmc.Policy] = [
    *(made(cls) for cls in CATALOGUE.values()),
    hlmc.HLMC(arms=ARMS, groups=(3, 2, 2), horizon=STEPS),
    hlmc.HLMC(arms=ARMS, levels=2, horizon=STEPS, delta=0.05),
    hlmc.HLMC(arms=ARMS, levels=2, horizon=STEPS, switches=4),
    hlmc.HLMC(arms=ARMS, levels=2, horizon=None),
    hlmc.HLMC(arms=ARMS, levels=2, horizon=STEPS, routines=("exp3s", "ucb1")),
]


def hills(t: int, arm: int) -> float:
    """A reward that takes many values."""
    return ((7 * t + 13 * arm) % 101) / 100


FACED: list[adversaries.Adversary] = [
    adversaries.BlockTrap(arms=ARMS, memory=4),
    adversaries.Shifting(arms=ARMS, horizon=STEPS, phases=4),
    adversaries.Bernoulli([0.05 * k for k in range(ARMS)], seed=3),
    adversaries.Trace(np.random.default_rng(0).random((STEPS, ARMS))),
    adversaries.Function(ARMS, hills),
]


def by_hand(
    policy: hlmc.Policy, adversary: adversaries.Adversary, steps: int, seed: int, stream: int
) -> tuple[list[int], list[float]]:
    table = adversary.rewards(0, steps)
    learner = policy.start(seed, stream)
    arms, rewards = [], []
    for t in range(steps):
        arm = learner.select()
        learner.update(table[t, arm])
        arms.append(arm)
        rewards.append(float(table[t, arm]))
    return arms, rewards


def same(one: hlmc.Result, other: hlmc.Result) -> bool:
    """Equal to the last bit."""
    return one.data.identical(other.data) and all(
        one.data[name].values.tobytes() == other.data[name].values.tobytes()
        for name in ("reward", "best_fixed", "best_arm", "bound")
    )


# --- By hand and by the simulator -----------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("adversary", FACED, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_playing_by_hand_is_simulating(policy: hlmc.Policy, adversary: adversaries.Adversary) -> None:
    arms, rewards = by_hand(policy, adversary, STEPS, seed=5, stream=2)
    simulated_arms, simulated_rewards = hlmc.trace(policy, adversary, STEPS, seed=5, stream=2)
    assert simulated_arms.tolist() == arms
    assert simulated_rewards.tolist() == rewards


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_totals_are_those_of_playing_by_hand(policy: hlmc.Policy) -> None:
    adversary = FACED[3]
    points = [1, 2, 17, 300, STEPS]
    result = hlmc.simulate({"it": policy}, adversary, STEPS, runs=2, seed=9, points=points, progress=False)
    for run in range(2):
        _, rewards = by_hand(policy, adversary, STEPS, hlmc.derive_seed(9, "it"), run)
        total, expected = 0.0, []
        for t, reward in enumerate(rewards, 1):
            total += reward
            if t in points:
                expected.append(total)
        # The loop adds up between two restarts first: the last digits may differ.
        assert result.data["reward"].sel(policy="it", run=run).values.tolist() == pytest.approx(expected, rel=1e-13)


def test_cuts_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hlmc.simulate(POLICIES, FACED[0], STEPS, runs=3, progress=False)
    monkeypatch.setattr(runs, "SHORTEST", 7)
    monkeypatch.setattr(runs, "LONGEST", 7)
    assert same(hlmc.simulate(POLICIES, FACED[0], STEPS, runs=3, progress=False), whole)


# --- Streams ----------------------------------------------------------------------------------------------------


def test_another_policy_and_more_runs_move_nobodys_numbers() -> None:
    trap = adversaries.BlockTrap(arms=ARMS, memory=4)
    few = hlmc.simulate({"a": made(hlmc.EXP3)}, trap, runs=3, progress=False)
    more = hlmc.simulate({"b": made(hlmc.HLMC), "a": made(hlmc.EXP3)}, trap, runs=5, progress=False)
    one, other = (r.data["reward"].sel(policy="a", run=slice(0, 2)).values for r in (few, more))
    assert one.tobytes() == other.tobytes()


def test_names_seeds_and_runs_draw_different_numbers() -> None:
    policies = {"a": hlmc.Uniform(ARMS), "b": hlmc.Uniform(ARMS)}
    one = hlmc.simulate(policies, FACED[3], STEPS, runs=3, progress=False).data["reward"].values[..., -1]
    two = hlmc.simulate(policies, FACED[3], STEPS, runs=3, seed=1, progress=False).data["reward"].values[..., -1]
    assert len(set(one.ravel()) | set(two.ravel())) == 12


def test_run_r_is_a_learner_that_can_be_started() -> None:
    policy = made(hlmc.HLMC)
    result = hlmc.simulate({"mine": policy}, FACED[1], runs=2, seed=4, progress=False)
    _, rewards = hlmc.trace(policy, FACED[1], STEPS, hlmc.derive_seed(4, "mine"), stream=1)
    assert result.data["reward"].values[0, 1, -1] == rewards.sum()


# --- Points, horizon, names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (1, [1000]),
        (4, [250, 500, 750, 1000]),
        (3000, list(range(1, 1001))),
        ("log", None),
        (("log", 4), [1, 10, 100, 1000]),
        (("linear", 2), [500, 1000]),
        ([3, 5], [3, 5, 1000]),
        (np.array([1, 1000]), [1, 1000]),
    ],
)
def test_points(points: Any, expected: list[int] | None) -> None:
    found = time_points(points, 1000)
    assert found.dtype == np.int64
    assert found[-1] == 1000
    assert (np.diff(found) > 0).all()
    if expected is not None:
        assert found.tolist() == expected


def test_the_horizon_is_the_policies_own_or_the_tables() -> None:
    assert hlmc.simulate(made(hlmc.EXP3), FACED[0], runs=1, progress=False).data["time"].values[-1] == STEPS
    table = hlmc.simulate(hlmc.UCB1(ARMS), FACED[3], runs=1, progress=False)
    assert table.data["time"].values[-1] == STEPS


def test_policies_by_themselves_are_named_after_their_class() -> None:
    assert hlmc.simulate(hlmc.UCB1(ARMS), FACED[3], runs=1, progress=False).policies == ["UCB1"]
    pair = [hlmc.HLMC(arms=ARMS, levels=2, horizon=STEPS), hlmc.HLMC(arms=ARMS, levels=3, horizon=STEPS)]
    named = hlmc.simulate([*pair, hlmc.UCB1(ARMS)], FACED[0], runs=1, progress=False).policies
    assert named == [repr(pair[0]), repr(pair[1]), "UCB1"]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"policies": {}}, BadArgument, "policies must hold at least one"),
        (
            {"policies": 3},
            BadType,
            r"policies must be a compiled policy .* object with select\(\) .* factory .*, not 3",
        ),
        ({"policies": {"a": 3}}, BadType, r"policies\['a'\] must be a compiled policy .*, not 3"),
        ({"policies": [hlmc.UCB1(ARMS), hlmc.UCB1(ARMS)]}, BadArgument, "policies must differ"),
        ({"policies": hlmc.UCB1(ARMS + 1)}, BadArgument, "'UCB1' has 13 arms and .* has 12"),
        ({"policies": made(hlmc.EXP3), "horizon": 2 * STEPS}, BadArgument, "made for 700 steps, fewer than .* 1400"),
        ({"adversary": 3}, BadType, "adversary must be one of hlmc.adversaries, a function .*, not 3"),
        ({"adversary": FACED[3], "horizon": STEPS + 1}, BadArgument, "rewards for 700 steps, fewer than .* 701"),
        ({"horizon": None}, BadArgument, "horizon must be given: the policies have none"),
        ({"horizon": 0}, BadArgument, "horizon must be a whole number of at least 1, not 0"),
        ({"runs": 0}, BadArgument, "runs must be a whole number of at least 1, not 0"),
        ({"runs": "many"}, BadType, "runs must be a whole number"),
        ({"seed": 1.5}, BadType, "seed must be a whole number, not 1.5"),
        ({"points": 0}, BadArgument, "points must be a whole number of at least 1"),
        ({"points": [5, 3]}, BadArgument, "points must increase"),
        ({"points": [5, STEPS + 1]}, BadArgument, "points must be at most 700, not 701"),
        ({"points": "often"}, BadArgument, "points must be a number"),
        ({"device": "gpu"}, BadArgument, "device must be"),
        ({"executor": 3}, BadType, "executor must have a submit method"),
        ({"progress": "loud"}, BadType, "progress must be None, True, False or a function"),
        ({"progress": lambda: None}, BadType, "progress must be None, True, False or a function of .work done"),
    ],
)
def test_bad_input_is_refused_with_the_argument_and_the_range(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    good = {"policies": hlmc.UCB1(ARMS), "adversary": FACED[0], "horizon": STEPS, "runs": 1, "progress": False}
    with pytest.raises(error, match=text):
        hlmc.simulate(**good | arguments)


# --- Adversaries that break the rules -----------------------------------------------------------------------------


def too_much(t: int, arm: int) -> float:
    return 2.0 if t == 123 else 0.5


def falls_over(t: int, arm: int) -> float:
    if t == 45:
        raise LookupError(f"no reward for {t}")
    return float(len(str(t)) % 2)


@pytest.mark.parametrize("play_it", [hlmc.simulate, hlmc.trace])
def test_a_reward_out_of_range_is_named_with_its_step(play_it: Any) -> None:
    adversary = adversaries.Function(ARMS, too_much)
    with pytest.raises(BadReward, match=r"too_much\) paid something that is not a number in \[0, 1\] at step 123"):
        play_it(made(hlmc.EXP3), adversary, 200)
    quiet = hlmc.simulate(made(hlmc.EXP3), adversary, 123, runs=1, progress=False)
    assert quiet.data["reward"].values[0, 0, -1] == 61.5


@pytest.mark.filterwarnings("ignore::hlmc.adversaries.NotCompiled")
def test_a_function_that_fails_says_why_and_when() -> None:
    with pytest.raises(BadReward, match=r"falls_over.* at step 45"):
        hlmc.simulate(made(hlmc.EXP3), adversaries.Function(ARMS, falls_over), 200, runs=1, progress=False)


# --- Size --------------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_horizon() -> None:
    peaks = []
    for horizon in (10**4, 10**6):
        policy = hlmc.HLMC(arms=100, memory=20, horizon=horizon)
        task = Task("it", policy, adversaries.BlockTrap(), 0, range(1))
        play(task, np.array([10]))  # compiled before
        points = time_points(50, horizon)
        tracemalloc.start()
        play(task, points)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 64_000
    assert peaks[1] < 2 * peaks[0] + 10_000


def test_a_task_is_small_wherever_its_rewards_lie(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.zeros((50_000, ARMS), dtype=np.uint8))
    task = Task("it", made(hlmc.HLMC), adversaries.Trace(str(tmp_path / "table.npy")), 0, range(1))
    assert len(pickle.dumps(task)) < 2000


@pytest.mark.slow
def test_compiling_is_not_part_of_a_steps_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the steps is first read when the loop is compiled. (What is compiled does not compile later.)"""
    events = []

    def noted(*arguments: Any) -> Any:
        loop = prepared(*arguments)
        events.append("compiled")
        return loop

    def thread_time() -> float:
        events.append("clock")
        return float(events.count("clock"))

    monkeypatch.setattr(runs, "prepared", noted)
    monkeypatch.setattr(runs, "time", SimpleNamespace(thread_time=thread_time, monotonic=time.monotonic))
    result = hlmc.simulate(hlmc.EXP3(arms=100, horizon=20000), adversaries.BlockTrap(), runs=1, progress=False)
    assert events == ["compiled", "clock", "clock"]
    assert result.nanoseconds["EXP3"] == 1e9 / 20000


# --- Progress and Ctrl-C ------------------------------------------------------------------------------------------


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.reporter(None, {"a": 1000, "b": 1000}, 100) as report:
        report.advance("a", 100)
        now[0] = 4.0
        report.advance("b", 100)
        now[0] = 10.0
        report.advance("a", 300)
        report.advance("a", 100)
        now[0] = 60.0
        report.advance("b", 1400)
    assert capsys.readouterr().err == "5 of 20 runs (25 %), about 30 s left\n"


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.reporter(None, {"[bold]a": 1000}, 100) as report:
        assert isinstance(report, progress.Bars)
        report.advance("[bold]a", 250)
        (task,) = report._progress.tasks
        assert (task.completed, task.fields["runs"]) == (250, "2 of 10 runs")
    capsys.readouterr()


@pytest.mark.parametrize(("asked", "totals"), [(False, {"a": 3}), (None, {}), (None, {"a": 0})])
def test_silence(asked: bool | None, totals: dict[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    with progress.reporter(asked, totals) as report:
        report.advance("a", 1)
    assert capsys.readouterr() == ("", "")


INTERRUPTED = """
    import itertools, hlmc
    from hlmc.simulation import workers
    policy = hlmc.HLMC(arms=100, memory=20, horizon=10**11)
    plain, calls = workers.Work._watch, itertools.count()
    def watched(self, task, steps):
        if next(calls) == 0:
            print("a worker is taking steps", flush=True)
        return plain(self, task, steps)
    workers.Work._watch = watched
    try:
        hlmc.simulate({"HLMC": policy}, hlmc.adversaries.BlockTrap(), runs=2, points=3, progress=False)
    except KeyboardInterrupt as stopped:
        print(type(stopped).__name__, stopped, stopped.partial.data.sizes["run"], flush=True)
        print(stopped.partial.summary(), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_at_once() -> None:
    """None of the runs, which take hours, is finished. How long that takes is not measured: a machine may be busy."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "a worker is taking steps\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.startswith("Interrupted interrupted after 0 of 2 runs 0\n")


def test_ctrl_c_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hlmc.simulate([made(hlmc.EXP3), made(hlmc.HLMC)], FACED[0], runs=5, progress=False)
    monkeypatch.setattr("hlmc.simulation.experiment._ENOUGH", 1)
    added = []

    def third(self: Any, name: str, steps: int) -> None:
        added.append(name)
        if len(added) == 5:
            raise KeyboardInterrupt

    class Now:
        """Works at once, in this thread."""

        def submit(self, function: Any, *arguments: Any) -> Any:
            value = function(*arguments)
            return type("Future", (), {"result": lambda _: value})()

    monkeypatch.setattr(progress.Reporter, "advance", third)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 4 of 10 runs") as caught:
        hlmc.simulate([made(hlmc.EXP3), made(hlmc.HLMC)], FACED[0], runs=5, progress=False, executor=Now())
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert partial.data["run"].values.tolist() == [0, 1]
    assert partial.data["reward"].equals(whole.data["reward"].sel(run=[0, 1]))


def test_told_to_stop_a_worker_returns_the_runs_that_it_has_finished() -> None:
    seen = []

    def between(steps: int) -> bool:
        seen.append(steps)
        return len(seen) == 3

    played = play(Task("it", made(hlmc.EXP3), FACED[0], 0, range(5)), np.array([STEPS]), between)
    assert (len(played.rewards), seen) == (3, [STEPS] * 3)
    long = made(hlmc.EXP3, horizon=10**6)
    cut = play(Task("it", long, FACED[0], 0, range(1)), np.array([10**6]), lambda steps: True)
    assert len(cut.rewards) == 0


# --- Results ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> hlmc.Result:
    policies = {
        "HLMC": hlmc.HLMC(arms=100, memory=20, horizon=4000),
        "EXP3": hlmc.EXP3(arms=100, horizon=4000),
        "doubling": hlmc.HLMC(arms=100, memory=20, horizon=None),
        "HLMC.S": hlmc.HLMC(arms=100, levels=2, horizon=4000, switches=5),
    }
    return hlmc.simulate(policies, adversaries.BlockTrap(), 4000, runs=4, points=20, progress=False)


@pytest.mark.parametrize(
    "copied", [lambda data: data, lambda data: data.copy(deep=True), lambda data: data[{"time": slice(2)}]]
)
def test_what_is_done_to_a_dataset_is_not_done_to_the_result(copied: Any) -> None:
    result = hlmc.simulate(hlmc.UCB1(5), adversaries.UniformMeans(arms=5, seed=1), horizon=200, runs=2, points=7)
    data = copied(result.data)
    data["best_fixed"] += 1.0
    data["best_arm"][0] = 9
    assert (data["best_fixed"].values[:2] == result.data["best_fixed"].values[:2] + 1.0).all()
    assert data["best_arm"].values[0] == 9
    assert result.data["best_arm"].values[0] < 5


def test_the_best_fixed_arm_is_computed_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    result = hlmc.simulate(hlmc.Uniform(arms=100), hlmc.adversaries.BlockTrap(), horizon=300, runs=2, progress=False)
    counted = []
    plain = evaluation.best_fixed
    monkeypatch.setattr(evaluation, "best_fixed", lambda *a, **k: counted.append(1) or plain(*a, **k))
    data = result.data
    assert data["reward"].values.shape == (1, 2, data.sizes["time"])
    assert list(data) == ["reward", "bound", "best_fixed", "best_arm"]
    assert "BlockTrap" in repr(data)
    earlier = data.copy(deep=True).isel(time=slice(-3, None))
    assert counted == []
    arms, earned = data["best_arm"].values, data["best_fixed"].values
    assert counted == [1]
    assert (arms.dtype, earned.dtype) == (np.int64, np.float64)
    assert earned[-1] == max(result.adversary.rewards(0, 300).sum(axis=0))
    again = pickle.loads(pickle.dumps(earlier))
    assert again.identical(earlier)
    assert earlier.identical(result.data.isel(time=slice(-3, None)))
    assert counted == [1]


def test_data_is_labelled(result: hlmc.Result) -> None:
    data = result.data
    assert dict(data.sizes) == {"policy": 4, "run": 4, "time": 20}
    assert data["reward"].dims == ("policy", "run", "time")
    assert data.attrs["adversary"] == "BlockTrap(arms=100, memory=20)"
    assert data["best_fixed"].values[-1] == adversaries.BlockTrap().rewards(0, 4000).sum(axis=0).max()


def test_regret_is_benchmark_minus_reward(result: hlmc.Result) -> None:
    weak, shifting, dynamic = result.regret(), result.regret("shifting", 3), result.regret("dynamic")
    assert weak.dims == ("policy", "run", "time")
    np.testing.assert_array_equal(weak.values, result.data["best_fixed"].values - result.data["reward"].values)
    assert (weak.values <= shifting.values).all()
    assert (shifting.values <= dynamic.values).all()
    with pytest.raises(BadArgument, match=r"^kind='shifting' needs switches=V"):
        result.regret("shifting")
    with pytest.raises(BadArgument, match=r"^switches belongs to kind='shifting', not to kind="):
        result.regret("weak", 3)
    with pytest.raises(BadArgument, match="kind must be one of"):
        result.regret("strong")


def test_a_bound_stands_where_it_is_proved(result: hlmc.Result) -> None:
    known = np.isfinite(result.bound().values).sum(axis=1)
    assert dict(zip(result.policies, known.tolist(), strict=True)) == {
        "HLMC": 1,
        "EXP3": 1,
        "doubling": 20,
        "HLMC.S": 1,
    }
    assert float(result.bound().sel(policy="EXP3")[-1]) == hlmc.EXP3(arms=100, horizon=4000).bound()
    held = {
        name: bool(np.isfinite(row).any())
        for name, row in zip(result.policies, result.bound("shifting", 5).values, strict=True)
    }
    assert held == {"HLMC": False, "EXP3": False, "doubling": False, "HLMC.S": True}
    assert not np.isfinite(result.bound("shifting", 6).values).any()
    assert not np.isfinite(result.bound("dynamic").values).any()


def test_the_summary_holds_numbers_and_prints_few_digits(result: hlmc.Result) -> None:
    summary = result.summary()
    final = result.regret().isel(time=-1)
    assert list(summary.index) == result.policies
    assert summary.loc["HLMC", "words"] == 20
    assert summary.loc["HLMC", "regret"] == float(final.sel(policy="HLMC").mean())
    assert (summary["low"] < summary["regret"]).all()
    assert (summary["regret"] < summary["high"]).all()
    assert (summary["ns_per_step"] > 0).all()
    text = repr(summary)
    assert max(map(len, text.splitlines())) <= 80
    assert summary.loc["HLMC", "bound"] > 4000  # which any policy keeps
    assert "≥ T" in text.splitlines()[1]
    assert text.splitlines()[0].split() == [
        "words",
        "reward",
        "regret",
        "95",
        "%",
        "interval",
        "exponent",
        "bound",
        "ns/step",
    ]
    assert text.splitlines()[-1] == summary.note == "4 runs: below 32 an interval covers less than it says"
    assert "<table" in summary._repr_html_()
    summary["note"] = "mine"
    del summary["low"]
    assert repr(summary).splitlines()[1].endswith("mine")
    assert "&lt;result of HLMC" in result._repr_html_()
    assert repr(result) == (
        "<result of HLMC, EXP3, doubling, HLMC.S against BlockTrap(arms=100, memory=20): 4 runs of 4,000 steps>"
    )


def test_one_run_has_no_interval() -> None:
    result = hlmc.simulate(hlmc.UCB1(ARMS), FACED[0], 200, runs=1, progress=False)
    assert result.summary()[["low", "high"]].isna().all(axis=None)
    shown = result.summary().shown().loc["UCB1"]
    assert (shown["words"], shown["95 % interval"]) == (f"{2 * ARMS} + 14", "-")
    result.plot()


def test_what_cannot_be_judged_in_time_is_left_open() -> None:
    policy = hlmc.HLMC(arms=10**9, levels=3, horizon=1000)
    result = hlmc.simulate(policy, adversaries.Function(10**9, adversaries.staircase), 1000, runs=2, progress=False)
    with pytest.warns(UserWarning, match="the best fixed arm is not known: .* take"):
        assert result.data["best_fixed"].isnull().all()
    assert result.summary()["regret"].isna().all()
    assert "-" in repr(result.summary())


# --- Pictures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log", [False, True])
def test_the_plot_shows_every_policy_in_its_own_look(result: hlmc.Result, log: bool, tmp_path: Path) -> None:
    ax = result.plot(log=log)
    lines = {str(line.get_label()).split(",")[0]: line for line in ax.get_lines()}
    for name, look in plotting.looks(result.policies).items():
        assert lines[name].get_color() == plotting.COLOURS[look.colour]
        np.testing.assert_allclose(lines[name].get_ydata(), result.regret().sel(policy=name).mean("run"))
    assert ax.get_xscale() == ("log" if log else "linear")
    assert ax.get_xlabel() == "steps"
    assert ax.get_ylabel() == "weak regret"
    bounds = [line for line in ax.get_lines() if str(line.get_label()).startswith("_")]
    assert len(bounds) == (4 if log else len(bounds))
    assert all(line.get_path_effects() for line in bounds)  # ticks, which no curve has
    assert not any(lines[name].get_path_effects() for name in result.policies)
    assert "K = 100, T = 4,000, 4 runs" in ax.get_title(loc="left")
    assert str(lines["HLMC"].get_label()).startswith("HLMC, 20 + 19 words  (bound ")
    figure = ax.get_figure(root=True)
    assert figure is not None
    plotting.save(figure, tmp_path / "regret.png")
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x0 >= ax.get_window_extent().x1  # beside the curves, not on them


def test_the_plot_can_be_drawn_into_a_figure_of_ones_own(result: hlmc.Result) -> None:
    figure = plotting.figure()
    left, right = figure.subplots(1, 2)
    assert result.plot(left) is left
    assert result.plot("shifting", 3, ax=right) is right
    assert right.get_ylabel() == "shifting regret, 3 switches"


# --- Files --------------------------------------------------------------------------------------------------------


def test_a_saved_result_is_the_same(result: hlmc.Result, tmp_path: Path) -> None:
    shifting = result.regret("shifting", 3)
    result.save(tmp_path / "r.parquet")
    again = hlmc.load_result(tmp_path / "r.parquet")
    assert same(again, result)
    assert again.provenance == result.provenance
    assert again.nanoseconds == result.nanoseconds
    assert again.regret("shifting", 3).identical(shifting)
    assert again.regret("dynamic").identical(result.regret("dynamic"))  # from an adversary that is made again
    assert repr(again.summary()) == repr(result.summary())
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]


def test_an_adversary_that_cannot_be_made_again_is_said(tmp_path: Path) -> None:
    played = hlmc.simulate(hlmc.UCB1(ARMS), FACED[4], 100, runs=2, progress=False)
    played.save(tmp_path / "r.parquet")
    again = hlmc.load_result(tmp_path / "r.parquet")
    assert again.regret().identical(played.regret())
    with pytest.raises(BadArgument, match=r"dynamic benchmark was not computed before .*reward=hills"):
        again.regret("dynamic")


def test_provenance_says_enough(result: hlmc.Result) -> None:
    found = result.provenance
    assert found["policies"]["EXP3"] == "EXP3(arms=100, horizon=4000)"
    assert found["words"] == {"HLMC": 20, "EXP3": 100, "doubling": 20, "HLMC.S": 20}
    assert set(found["versions"]) == {"hlmc", "numpy", "numba", "python"}
    assert (found["seed"], found["runs"], found["horizon"]) == (0, 4, 4000)
    assert found["created"].endswith("+00:00")


def test_damaged_files_are_refused(result: hlmc.Result, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    result.save(path)
    sound = path.read_bytes()
    for cut in (0, 3, 100, len(sound) // 2, len(sound) - 1):
        path.write_bytes(sound[:cut])
        with pytest.raises(BadFile, match=r"r\.parquet"):
            hlmc.load_result(path)
    for at in np.random.default_rng(0).integers(len(sound), size=150):
        damaged = bytearray(sound)
        damaged[at] ^= 1 << int(at) % 8
        path.write_bytes(damaged)
        try:
            found = hlmc.load_result(path)
        except BadFile:
            continue
        assert same(found, result)  # a byte that nothing depends on


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    import pandas as pd

    with pytest.raises(FileNotFoundError):
        hlmc.load_result(tmp_path / "none")
    (tmp_path / "text").write_text("reward\n1\n")
    with pytest.raises(BadFile, match="damaged or no Parquet file of hlmc's"):
        hlmc.load_result(tmp_path / "text")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(BadFile, match="none that hlmc has written"):
        hlmc.load_result(tmp_path / "other.parquet")
    hlmc.simulate(hlmc.UCB1(ARMS), FACED[0], 100, runs=1, store=tmp_path / "s", progress=False)
    with pytest.raises(BadFile, match="not a result"):
        hlmc.load_result(next((tmp_path / "s").glob("*.parquet")))


def test_trace_checks_like_simulate() -> None:
    with pytest.raises(BadArgument, match="made for 700 steps"):
        hlmc.trace(made(hlmc.EXP3), FACED[0], STEPS + 1)
    arms, rewards = hlmc.trace(made(hlmc.EXP3), FACED[0])
    assert len(arms) == len(rewards) == STEPS


def test_walk_notes_every_point_on_the_way() -> None:
    policy = dataclasses.replace(made(hlmc.EXP3))  # type: ignore[type-var]
    points = np.arange(1, STEPS + 1)
    sums = np.empty(STEPS)
    from hlmc.learners.learner import fresh_rows
    from hlmc.streams import keys

    row = fresh_rows(policy, keys(1, 0, 1))[0]
    assert walk(prepared(policy, FACED[3]), policy, FACED[3], row, points, sums)
    _, rewards = hlmc.trace(policy, FACED[3], STEPS, seed=1)
    assert sums.tolist() == np.cumsum(rewards).tolist()


def test_a_benchmark_is_computed_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no arm is much better, the best of 10^6 takes hours, and nobody waits for it who asks for pseudo-regret."""

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("computed")

    adversary = hlmc.adversaries.OneGoodArm(arms=10**6)
    result = hlmc.simulate(hlmc.HLMC(10**6, levels=3, horizon=10**6), adversary, runs=2, progress=False)
    with monkeypatch.context() as patched:
        patched.setattr("hlmc.evaluation.best_fixed", never)
        assert result.default_kind() == "pseudo"
        summary = result.summary()
        assert "pseudo-regret" in repr(summary)
        assert result.plot().get_ylabel() == "pseudo regret"
    best = max(adversary.expected.rewards(0, 1)[0])
    assert summary["regret"].iloc[0] == pytest.approx(best * 10**6 - summary["reward"].iloc[0], rel=1e-9)
    with pytest.raises(BadArgument, match="force=True to compute it anyway; pseudo-regret"):
        result.regret("weak")
    with pytest.warns(UserWarning, match="the best fixed arm is not known"):
        assert np.isnan(result.data["best_fixed"]).all()


def test_without_a_benchmark_rewards_are_shown(tmp_path: Path) -> None:
    adversary = hlmc.adversaries.Function(arms=10**6, reward=hlmc.adversaries.staircase)
    result = hlmc.simulate(hlmc.Uniform(10**6), adversary, horizon=10**6, runs=1, progress=False)
    assert result.default_kind() is None
    assert np.isnan(result.summary()["regret"]).all()
    assert result.plot().get_ylabel() == "reward"
    result.save(tmp_path / "result.parquet")
    assert "best_fixed" not in hlmc.load_result(tmp_path / "result.parquet")._data
