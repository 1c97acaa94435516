"""The arena: what plays, what is judged, ratios and their intervals, stores, files, and the command."""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc.adversaries import CATALOGUE, Function, Trace
from hlmc.arenas import CASES, FULL, HELD_OUT, IN_BYTES, POLICIES, ArenaResult, Case, HeldOut, budget, playing
from hlmc.arenas.contenders import LEAST_BITS, made
from hlmc.arenas.playing import Cell, Costs
from hlmc.arenas.result import cell_text, compared
from hlmc.cli import main
from hlmc.errors import BadArgument, BadFile, BadType
from hlmc.evaluation import best_fixed, best_switching, dynamic, mean_interval, paired_ratio_interval
from hlmc.simulation import Interrupted, driver
from hlmc.testing import check_adversary
from loading import script

ROOT = Path(__file__).parents[2]

SMALL = {"arms": [16], "horizons": [400], "runs": 3, "progress": False}


def small(**changes: object) -> ArenaResult:
    settings: dict[str, object] = {**SMALL, "against": ["Champion"], "adversaries": ["Alternating", "Needle"]}
    return hlmc.arena(**{**settings, **changes})  # type: ignore[arg-type]


# --- Who plays against whom -------------------------------------------------------------------------------------------


def test_every_adversary_of_the_catalogue_has_a_case() -> None:
    made_from_nothing = {cls for cls in CATALOGUE if cls not in (Trace, Function)}
    assert {type(case.make(100, 20, 10_000, 3)) for case in CASES.values()} == made_from_nothing


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_seeds_matter_just_where_a_case_says_so(case: Case) -> None:
    one, other = (case.make(16, 8, 1000, seed) for seed in (1, 2))
    assert one is not None
    assert other is not None
    assert (one == other) == (not case.random)
    assert one.arms == 16


@pytest.mark.parametrize("arms", [16, 100, 1000, 10_000])
def test_everybody_keeps_to_the_budget_but_those_who_are_marked(arms: int) -> None:
    memory = budget(arms)
    policies = made(POLICIES, arms, memory, 10**5)
    over = {name for name, policy in policies.items() if policy.words.statistics > memory}
    assert over == set(FULL)
    assert policies["HLMC"].words.statistics == memory
    assert policies["Champion"].words.statistics == memory
    assert all(policy.arms == arms for policy in policies.values())


@pytest.mark.parametrize(("arms", "memory"), [(3, 3), (4, 4), (5, 5), (100, 13)])
def test_three_levels_play_where_there_are_arms_and_words_for_them(arms: int, memory: int) -> None:
    policies = made(POLICIES, arms, memory, 10**5)
    assert "HLMC 3 levels" not in policies or policies["HLMC 3 levels"].words.statistics <= memory
    assert "HLMC" in policies


@pytest.mark.parametrize(("arms", "size"), [(16, 64), (20, 80), (100, 160), (100, 800), (1000, 512), (1000, 1600)])
def test_in_equal_bytes_nobody_has_more_and_codes_fill_them(arms: int, size: int) -> None:
    policies = made(IN_BYTES, arms, size // 8, 10**5, limited=True)
    assert all(8 * policy.words.statistics <= size for policy in policies.values())
    bits = 64 * (size // 8) // arms
    flat = {"Tsallis-INF bits", "EXP3 bits", "EXP3 loss bits", "EXP3-IX bits"} & set(policies)
    assert len(flat) == (4 if bits >= LEAST_BITS else 0)
    assert {policies[name].bits for name in flat - {"Tsallis-INF bits"}} <= {64 if bits >= 64 else min(32, bits)}
    assert ("EXP3" in policies) == (bits >= 64)
    assert policies["HLMC bits"].bits_used < 64 or bits >= 64


def test_your_own_policy_must_fit_in_the_bytes() -> None:
    result = small(bytes=64, policies={"mine": lambda K, M, T: hlmc.HLMC(K, memory=M, horizon=T, bits=8)})
    assert set(result.data.query("policy == 'mine'")["bytes"]) == {16}
    assert "bytes" in result.overview()
    with pytest.raises(BadArgument, match="'mine' has 16 words of statistics, 128 bytes, more than the 64 bytes"):
        small(bytes=64, policies={"mine": lambda K, M, T: hlmc.EXP3(K, T)})


def test_fewer_steps_than_phases_leave_shifting_out() -> None:
    assert CASES["Shifting"].make(16, 8, 9, 0) is None
    assert CASES["Shifting"].make(16, 8, 10, 0) is not None


def test_policies_that_look_at_every_arm_sit_large_sizes_out() -> None:
    missing = set(POLICIES) - set(made(POLICIES, 1000, 64, 10**7))
    assert missing == {"EXP3.P", "Tsallis-INF", "Tsallis-INF bits", "UCB1"}


def test_what_is_judged_shrinks_with_the_size() -> None:
    assert CASES["Needle"].kinds(100, 20, 10**7) == ("weak", "shifting", "dynamic")
    assert CASES["Needle"].kinds(1000, 64, 10**7) == ("weak",)
    assert CASES["Needle"].kinds(10_000, 200, 10**7) == ()
    assert CASES["LateBloomer"].kinds(10_000, 200, 10**7) == ("weak", "shifting", "dynamic")
    assert CASES["Bernoulli"].kinds(10_000, 200, 10**5) == ()


@pytest.mark.interpreted
@pytest.mark.parametrize("name", HELD_OUT)
def test_held_out_adversaries_keep_their_promises(name: str) -> None:
    adversary = HELD_OUT[name].make(30, 11, 600, 5)
    assert isinstance(adversary, HeldOut)
    check_adversary(adversary)
    rewards = adversary.rewards(0, 600)
    assert rewards.min() >= 0.0
    assert rewards.max() <= 1.0
    assert np.ptp(rewards.mean(axis=0)) > 0.0  # there is something to learn


@pytest.mark.interpreted
def test_held_out_adversaries_by_hand() -> None:
    steps = 210
    seven = HeldOut("sevenths", arms=10, horizon=steps, seed=1).rewards(0, steps)
    assert seven[np.arange(steps) % 7 != 0].sum() == 0.0
    assert seven[::7].sum() > 0.0
    swing = HeldOut("antiphase", arms=4, horizon=steps, seed=1).rewards(0, steps)
    constant = swing.std(axis=0).argmin()
    assert set(swing[:, constant]) == {0.6}
    even, odd = (next(a for a in range(4) if a % 2 == parity and a != constant) for parity in (0, 1))
    assert swing[:, even] + swing[:, odd] == pytest.approx(np.ones(steps))
    mirage = HeldOut("mirage", arms=10, horizon=200, seed=2).rewards(0, 200)
    false = int(mirage[:10].prod(axis=0).argmax())
    assert mirage[:10, false].tolist() == [1.0] * 10
    assert mirage[10:, false].sum() == 0.0


# --- Playing and judging ----------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_regret_is_the_judges_benchmark_less_what_the_learner_earned() -> None:
    result = hlmc.arena(
        against=["Champion"], adversaries=["Needle"], arms=[6], horizons=[120], runs=2, seed=3, progress=False
    )
    assert result.runs["policy"].tolist() == ["HLMC", "HLMC", "Champion", "Champion"]
    cell = Cell(CASES["Needle"], 6, budget(6), 120, 2, 3, ("weak",), {})
    for run in range(2):
        adversary = cell.adversary(run)
        own = result.runs[(result.runs["run"] == run) & (result.runs["policy"] == "Champion")].iloc[0]
        seed = hlmc.derive_seed(hlmc.derive_seed(3, "arena", 0), "Champion")
        learner = hlmc.Champion(6, memory=budget(6), horizon=120).start(seed, stream=run)
        earned = 0.0
        for t in range(120):
            reward = adversary.reward(t, learner.select())
            learner.update(reward)
            earned += reward
        assert own["reward"] == earned
        assert own["weak"] == best_fixed(adversary, [120])[0][0] - earned
        assert own["shifting"] == best_switching(adversary, 120, 10).values[-1] - earned
        assert own["dynamic"] == dynamic(adversary, [120])[-1] - earned
    assert cell.adversary(0) != cell.adversary(1)


def test_ratios_are_those_of_the_runs() -> None:
    result = small()
    own, base = (
        result.runs.query("policy == @name and adversary == 'Needle'")["weak"].to_numpy()
        for name in ("Champion", "HLMC")
    )
    row = result.data.query("policy == 'Champion' and adversary == 'Needle' and kind == 'weak'").iloc[0]
    ratio, low, high = paired_ratio_interval(own, base)
    skewed = mean_interval(ratio + (own - ratio * base) / base.mean())
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (ratio, min(low, skewed.low), max(high, skewed.high))
    assert result.note == f"{len(own)} runs: below 32 an interval covers less than it says"
    assert row["difference"] == pytest.approx((own - base).mean() / 400)
    assert row["regret"] == pytest.approx(own.mean())


def _runs(base: list[float], own: list[float]) -> pd.DataFrame:
    common = {"adversary": "A", "arms": 4, "horizon": 100, "memory": 4, "words": 4, "reward": 0.0}
    return pd.DataFrame(
        [
            {
                **common,
                "policy": name,
                "run": r,
                "reward": 0.0,
                "weak": value,
                "shifting": math.nan,
                "dynamic": math.nan,
            }
            for name, values in (("HLMC", base), ("mine", own))
            for r, value in enumerate(values)
        ]
    )


def test_no_ratio_to_a_regret_that_is_not_clearly_positive() -> None:
    rows = compared(_runs([1.0, -1.0, 0.5], [-3.0, -4.0, -3.5]))
    mine = rows[rows["policy"] == "mine"]
    assert mine["ratio"].isna().all()
    assert cell_text(mine) == "-0.037 T"
    assert mine["difference_high"].item() < 0.0
    assert rows["kind"].unique().tolist() == ["weak"]
    clear = compared(_runs([10.0, 11.0, 12.0], [5.0, 5.5, 6.0]))
    assert cell_text(clear[clear["policy"] == "mine"]).startswith("0.5 (0.")


def test_overview_counts_what_is_clear() -> None:
    assert ArenaResult(_runs([10.0, 11.0, 12.0], [5.0, 5.5, 6.0])).overview().loc["mine", "below 1"] == 1
    assert ArenaResult(_runs([10.0, 11.0, 12.0], [15.0, 15.5, 16.0])).overview().loc["mine", "above 1"] == 1
    assert ArenaResult(_runs([10.0, 11.0, 12.0], [10.5, 10.5, 12.0])).overview().loc["mine", "about 1"] == 1
    assert ArenaResult(_runs([1.0, -1.0, 0.5], [-3.0, -4.0, -3.5])).overview().loc["mine", "below 1"] == 1


def test_your_own_policy_joins_and_may_leave_a_size_out() -> None:
    def mine(arms: int, memory: int, horizon: int) -> hlmc.Policy | None:
        return hlmc.Uniform(arms) if arms == 16 else None

    result = small(policies={"mine": mine}, arms=[9, 16], adversaries=["Alternating"])
    assert result.sizes == [(9, 400), (16, 400)]
    assert "mine" not in result.table(arms=9).index
    assert result.table(arms=16).index.tolist() == ["HLMC", "Champion", "mine"]
    # Nobody else's numbers depend on who takes part.
    alone = small(arms=[9, 16], adversaries=["Alternating"])
    assert result.runs.query("policy != 'mine'")["reward"].tolist() == alone.runs["reward"].tolist()


def test_only_the_kinds_that_are_asked_for_are_judged() -> None:
    assert small(kinds="weak").kinds == ["weak"]
    assert small(kinds=["dynamic"]).kinds == ["weak", "dynamic"]


def test_jobs_and_executors_change_nothing() -> None:
    from concurrent.futures import ThreadPoolExecutor

    one = small(jobs=1)
    with ThreadPoolExecutor(2) as pool:
        two = small(executor=pool)
    pd.testing.assert_frame_equal(one.runs, two.runs)


def test_a_store_is_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = small(store=tmp_path)
    played: list[str] = []

    class Watched(driver.Work):
        def __init__(self, tasks, *rest) -> None:  # type: ignore[no-untyped-def]
            played.extend(task.name for task in tasks for _ in range(task.count))
            super().__init__(tasks, *rest)

    def judge(*_: object, **__: object) -> None:
        raise AssertionError("the benchmarks are in the store")

    monkeypatch.setattr(driver, "Work", Watched)
    monkeypatch.setattr(playing, "best_switching", judge)
    monkeypatch.setattr(playing, "best_fixed", judge)
    monkeypatch.setattr(playing, "dynamic", judge)
    again = small(store=tmp_path)
    assert played == []
    pd.testing.assert_frame_equal(again.runs, first.runs)
    more = small(store=tmp_path, against=["Champion", "Uniform"])
    assert played == ["Uniform"] * 6
    assert more.runs.query("policy == 'Champion'")["reward"].tolist() == (
        first.runs.query("policy == 'Champion'")["reward"].tolist()
    )
    with pytest.raises(BadArgument, match="holds another experiment: seed is"):
        small(store=tmp_path, seed=1)


def test_damaged_benchmarks_are_refused(tmp_path: Path) -> None:
    small(store=tmp_path)
    path = tmp_path / "Alternating-K16-T400" / "_benchmarks.json"
    for damage in ("", "[1]", '{"weak": null}'):
        path.write_text(damage)
        with pytest.raises(BadFile, match=r"_benchmarks\.json does not hold benchmarks: .*; delete it"):
            small(store=tmp_path)


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = playing.best_switching
    calls = []

    def interrupted(*arguments: object, **settings: object) -> object:
        calls.append(1)
        if len(calls) == 3:  # one benchmark of Alternating, then one a run of Needle
            raise KeyboardInterrupt
        return judge(*arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(playing, "best_switching", interrupted)
    with pytest.raises(Interrupted, match="the same call goes on from there") as caught:
        small(store=tmp_path)
    assert caught.value.partial is not None
    assert caught.value.partial.runs["adversary"].unique().tolist() == ["Alternating"]
    monkeypatch.undo()
    assert small(store=tmp_path).runs.equals(small().runs)


def test_an_estimate_is_printed_first(capsys: pytest.CaptureFixture[str]) -> None:
    small(progress=None)
    assert capsys.readouterr().err.startswith("2 pairs of adversary and size, about 0 s on ")


def test_costs_grow_with_steps_and_runs() -> None:
    policies = made({"HLMC": POLICIES["HLMC"]}, 16, 8, 10**6)
    cells = [Cell(CASES["Needle"], 16, 8, T, 4, 0, ("weak",), policies) for T in (10**5, 10**6)]
    few, many = Costs.of(cells).cells
    assert many == pytest.approx(10 * few)


# --- Tables, pictures, files ------------------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    result = small(arms=[9, 16])
    page = result.report(tmp_path / "report")
    text = page.read_text()
    assert "## Weak regret, K = 16, T = 400" in text
    assert {path.name for path in page.parent.iterdir()} == {
        "arena.md",
        "arena.csv",
        "arena.parquet",
        "weak.png",
        "shifting.png",
        "dynamic.png",
    }
    again = ArenaResult.load(page.parent / "arena.parquet")
    pd.testing.assert_frame_equal(again.data, result.data)
    assert pd.read_csv(page.parent / "arena.csv")["ratio"].to_numpy() == pytest.approx(
        result.data["ratio"].to_numpy(), rel=1e-5, nan_ok=True
    )
    with pytest.raises(BadArgument, match=r"must end in \.csv or \.parquet"):
        result.save(tmp_path / "arena.txt")
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(BadFile, match="does not hold the runs of an arena"):
        ArenaResult.load(tmp_path / "other.parquet")


def test_the_heat_map_shows_every_pair_and_cuts_nothing_off() -> None:
    result = small(against=["Champion", "EXP3", "Uniform"])
    ax = result.plot("weak")
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Champion", "Uniform", "EXP3 *"]
    assert len(ax.texts) == 6
    box = figure.bbox
    for text in [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), ax.title, ax.xaxis.label]:
        extent = text.get_window_extent()
        assert not text.get_text() or (box.x0 <= extent.x0 and extent.x1 <= box.x1 and extent.y0 >= box.y0)
    (image,) = ax.images
    assert image.norm(1.0) == pytest.approx(0.5)
    assert ax.get_title(loc="left").endswith("K = 16, M = 8, T = 400, 3 runs")


def test_a_kind_that_was_not_judged_is_refused() -> None:
    result = small()
    with pytest.raises(BadArgument, match="kind must be one of 'weak'"):
        result.table("strong")
    with pytest.raises(BadArgument, match=r"arms = 5 has no weak regret; there are \[16\]"):
        result.table("weak", arms=5)


# --- The champion's goals -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def goals() -> Any:
    return script("studies/champion_goals.py")


def test_every_goal_is_measured_in_equal_words_and_enough_runs(goals: Any) -> None:
    assert sum(len(target.below) for target in goals.TARGETS) == 17
    for target in goals.TARGETS:
        assert target.runs[10**6] >= 96
        assert target.runs[10**7] >= 24
        policies = goals.cell(target, 10**6, 2, 0).policies
        assert {policy.words.statistics for policy in policies.values()} == {target.memory}
        assert policies["Champion"] == hlmc.Champion(target.arms, memory=target.memory, horizon=10**6)


def test_a_goal_is_reached_when_the_upper_end_is_below(goals: Any) -> None:
    by_label = {target.label: target for target in goals.TARGETS}

    def verdict(label: str, base: list[float], own: list[float]) -> bool:
        target = by_label[label]
        runs = _runs(base, own).assign(adversary=target.case.name, horizon=10**6)
        runs["policy"] = runs["policy"].map({"HLMC": "HLMC", "mine": "Champion"})
        return bool(goals.judged(runs, target, 10**6)["reached"])

    assert verdict("needle", [100.0, 101.0, 99.0], [2.0, 2.1, 2.0])
    assert not verdict("needle", [100.0, 101.0, 99.0], [2.0, 3.9, 2.0])  # the mean is below 0.03, the interval is not
    assert verdict("experiment 1", [100.0, 101.0, 99.0], [-2.0, -2.1, -2.0])
    assert not verdict("experiment 1", [100.0, 101.0, 99.0], [-2.0, 1.5, -2.0])


# --- What is wrong, and the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"suite": "other"}, BadArgument, "suite must be one of 'catalogue', 'held-out', not 'other'"),
        ({"against": ["Chmpion"]}, BadArgument, "there is no policy 'Chmpion' in the arena; did you mean 'Champion'"),
        ({"adversaries": ["Neddle"]}, BadArgument, "there is no 'Neddle' in this suite; did you mean 'Needle'"),
        ({"arms": [2]}, BadArgument, "arms must be a whole number of at least 3, not 2"),
        ({"arms": []}, BadArgument, "arms must hold at least one number"),
        ({"arms": "100"}, BadType, "arms must be a sequence of numbers, not '100'"),
        ({"kinds": ["strong"]}, BadArgument, "kinds must be one of 'weak', 'shifting', 'dynamic', not 'strong'"),
        ({"runs": 1}, BadArgument, "runs must be a whole number of at least 2, not 1"),
        ({"bytes": 8}, BadArgument, "bytes must be a whole number of at least 16, not 8"),
        ({"bytes": 80, "memory": 10}, BadArgument, "memory must be None where bytes are given, not 10"),
        ({"jobs": 0}, BadArgument, "jobs must be a whole number of at least 1, not 0"),
        ({"policies": {"HLMC": POLICIES["HLMC"]}}, BadArgument, "'HLMC' is a policy of the arena"),
        ({"policies": [hlmc.Uniform(16)]}, BadType, "policies must be a dictionary of functions"),
        ({"policies": {"mine": 3}}, BadType, "policies['mine'] must be a compiled policy"),
        (
            {"policies": {"mine": lambda arms, memory, horizon: 3}},
            BadType,
            "what policies['mine'] returns must be a compiled policy",
        ),
        (
            {"arms": [10**6], "horizons": [10**6], "adversaries": ["Needle"]},
            BadArgument,
            "no adversary supports these",
        ),
        ({"progress": 3}, BadType, "progress must be None, True, False or a function"),
        ({"executor": 3}, BadType, "executor must have a submit method"),
    ],
)
def test_mistakes_are_named(changes: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        small(**changes)
    assert text in str(caught.value)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["arena", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


ONE = ["--arms", "16", "--horizon", "400", "--runs", "3", "--against", "Champion", "--adversary", "Needle", "--quiet"]
CHAMPION = "policy == 'Champion' and kind == 'weak'"


def test_the_command_prints_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    csv, png = tmp_path / "a.csv", tmp_path / "a.png"
    status, out, err = run(capsys, *ONE, "--csv", str(csv), "--plot", str(png))
    assert (status, err) == (0, "")
    assert "Weak regret, K = 16, T = 400" in out
    assert ["HLMC", "8", "1"] in [line.split() for line in out.splitlines()]
    data = pd.read_csv(csv).query(CHAMPION).iloc[0]
    assert f"{cell_text(pd.read_csv(csv).query(CHAMPION))}\n" in out
    assert png.read_bytes().startswith(b"\x89PNG")
    status, out, _ = run(capsys, *ONE, "--json")
    assert status == 0
    found = {(row["policy"], row["kind"]): row for row in json.loads(out)}
    assert found["Champion", "weak"]["ratio"] == pytest.approx(data["ratio"], rel=1e-5)
    status, out, _ = run(capsys, *ONE, "--bytes", "64", "--against", "EXP3 bits", "--json")
    assert status == 0
    assert {(row["policy"], row["bytes"]) for row in json.loads(out)} == {
        ("HLMC", 64),
        ("Champion", 64),
        ("EXP3 bits", 64),
    }


def test_the_command_takes_your_policy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_arena_policies.py").write_text(
        "import hlmc\n\ndef mine(arms, memory, horizon):\n    return hlmc.Uniform(arms)\n\nnothing = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != ""])
    status, out, _ = run(capsys, *ONE, "--policy", "my_arena_policies:mine")
    assert status == 0
    assert "\nmine " in out
    for given, text in (
        ("my_arena_policies", "is not MODULE:FUNCTION"),
        ("my_arena_policies:other", "my_arena_policies has no function 'other'"),
        ("my_arena_policies:nothing", "my_arena_policies has no function 'nothing'"),
        ("no_such_module:mine", "cannot be imported: No module named 'no_such_module'"),
        ("os:system", "policies['system'] failed for "),
    ):
        status, _, err = run(capsys, *ONE, "--policy", given)
        assert status == 2
        assert text in err
        assert err.count("\n") == 1


def test_the_command_lists_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--list")
    assert status == 0
    assert all(name in out for name in [*IN_BYTES, *CASES, *HELD_OUT])
    status, _, err = run(capsys, *ONE, "--store", "")
    assert (status, err) == (2, "hlmc arena: store must be a path, not ''\n")
    status, _, err = run(capsys, *ONE, "--csv", "a.txt")
    assert (status, err) == (2, "hlmc arena: --csv must end in .csv, not 'a.txt'\n")


def test_the_held_out_suite_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*ONE[:-3], "--held-out", "--adversary", "hairline", "--quiet"]
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert "hairline" in out


def test_the_arena_is_an_ordinary_function_however_it_was_imported() -> None:
    import inspect
    import subprocess

    code = "import hlmc.arenas.cases, hlmc; print(type(hlmc.arena).__name__, hlmc.arenas.CASES['Needle'].name)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert found.stdout.split() == ["function", "Needle"]
    assert list(inspect.signature(hlmc.arena).parameters)[:3] == ["policies", "against", "adversaries"]
    assert "equal memory" in (inspect.getdoc(hlmc.arena) or "")


def test_the_command_prints_the_ranking_first_and_tables_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    cases = ["--adversary", "Needle", "--adversary", "Decoy", "--adversary", "Beta", "--adversary", "LateBloomer"]
    command = ["arena", "--quiet", "--arms", "16", "--horizon", "2000", "--runs", "3", *cases, "--against", "Champion"]
    assert main(command) == 0
    short = capsys.readouterr().out
    assert short.startswith("Champion has the lowest median weak regret in equal memory: ")
    assert "Weak regret, K = 16" not in short
    assert main([*command, "--tables"]) == 0
    long = capsys.readouterr().out
    assert long.index("All sizes") < long.index("Weak regret, K = 16, T = 2,000")


def test_the_ranking_is_by_median_ratio_and_policies_with_more_memory_come_last() -> None:
    result = hlmc.arena(
        against=["EXP3", "Uniform", "Champion"],
        adversaries=["Needle", "Decoy"],
        arms=[16],
        horizons=[4000],
        runs=3,
        progress=False,
    )
    assert result.overview().index.tolist() == ["Champion", "Uniform", "EXP3"]
    assert result.verdict().startswith("Champion has the lowest median weak regret in equal memory: 0.")
