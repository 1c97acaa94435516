"""What users do with results: draw them in notebooks, save them, read stores, merge them, watch their progress."""

import inspect
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

import hlmc
from hlmc import plotting
from hlmc.adversaries import BlockTrap, Function
from hlmc.errors import BadArgument, BadFile, BadType
from hlmc.games.drawing import draw_all
from hlmc.simulation import progress

TRAP = BlockTrap(arms=12, memory=4)
UCB1 = hlmc.UCB1(arms=12)
HLMC = hlmc.HLMC(arms=12, memory=7, horizon=300)


def simulated(policies: Any = None, **changes: Any) -> hlmc.Result:
    arguments = {"horizon": 300, "runs": 3, "points": 6, "progress": False, **changes}
    return hlmc.simulate({"UCB1": UCB1, "HLMC": HLMC} if policies is None else policies, TRAP, **arguments)


def played(**changes: Any) -> hlmc.games.GameResult:
    game = hlmc.games.Spectrum(agents=12, channels=4)
    return hlmc.play(hlmc.UCB1(arms=4), game, 100, 2, points=5, progress=False, **changes)


def compared() -> hlmc.arenas.ArenaResult:
    return hlmc.arena(against=["Uniform"], adversaries=["Needle"], arms=16, horizons=200, runs=2, progress=False)


# --- In a notebook ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [simulated, played, compared])
def test_every_plot_is_a_figure_of_pyplot_and_returns_its_axes(result: Any) -> None:
    """A notebook shows the figures that pyplot knows; whoever gives axes draws there and nowhere else."""
    made = result()
    ax = made.plot()
    assert isinstance(ax, Axes)
    assert [plt.figure(n) for n in plt.get_fignums()] == [ax.figure]
    own = plotting.figure().subplots()
    assert made.plot(ax=own) is own
    assert len(plt.get_fignums()) == 1
    assert next(iter(inspect.signature(made.plot).parameters)) == "kind"


def test_kinds_of_plots_of_a_game() -> None:
    result = played()
    assert result.plot("regret").get_ylabel() == "regret per agent"
    assert result.plot("fairness").get_ylabel() == "Jain's index of fairness"
    assert result.plot("occupancy").get_ylabel() == "channel"
    own = plotting.figure().subplots()
    assert result.plot(own) is own
    with pytest.raises(BadArgument, match=r"kind must be one of 'reward', 'regret', .* not 'weak'"):
        result.plot("weak")
    with pytest.raises(BadArgument, match='window must be False for kind = "regret"'):
        result.plot("regret", window=True)


def test_policies_in_plain_python_are_drawn_saved_and_merged(tmp_path: Path) -> None:
    class First:
        def select(self) -> int:
            return 0

        def update(self, reward: float) -> None:
            pass

    result = simulated({"mine": First(), "UCB1": UCB1})
    labels = [str(line.get_label()) for line in result.plot().get_lines()]
    assert "mine" in labels
    result.save(tmp_path / "r.csv")
    assert set(result.merge(simulated({"HLMC": HLMC})).policies) == {"mine", "UCB1", "HLMC"}
    game = hlmc.games.Spectrum(agents=4, channels=4)
    played = hlmc.play({"mine": First(), "UCB1": hlmc.UCB1(4)}, game, 50, 2, progress=False)
    assert [str(line.get_label()) for line in played.plot().get_lines()] == ["mine", "UCB1, 8 + 14 words"]


def test_a_bound_on_weak_regret_is_none_on_shifting_regret() -> None:
    """Champion's is on shifting regret if it is told V, and on weak regret if it is not."""
    told = {
        "Champion": hlmc.Champion(arms=12, memory=7, horizon=300),
        "Champion told": hlmc.Champion(arms=12, memory=7, horizon=300, switches=3),
        "EXP3.S": hlmc.EXP3S(arms=12, horizon=300, switches=3),
        "EXP3": hlmc.EXP3(arms=12, horizon=300),
    }
    result = simulated(told)
    known = result.bound("shifting", 3).isel(time=-1).notnull()
    assert [name for name in told if known.sel(policy=name)] == ["Champion told", "EXP3.S"]
    assert result.bound("weak").isel(time=-1).notnull().all()
    labels = [str(line.get_label()) for line in result.plot("shifting", 3).get_lines()]
    assert "Champion, 7 + 25 words" in labels  # no bound is drawn for a regret that it does not bound


def test_legends_stand_beside_the_data() -> None:
    for ax in (simulated().plot("weak"), played().plot()):
        figure, legend = ax.figure, ax.get_legend()
        assert figure is not None
        assert legend is not None
        figure.draw_without_rendering()
        assert legend.get_window_extent().x0 >= ax.get_window_extent().x1


def test_a_title_that_is_there_stays() -> None:
    figure = plotting.figure()
    ax = figure.subplots()
    ax.set_title("mine", loc="left")
    simulated().plot(ax=ax)
    assert ax.get_title(loc="left") == "mine"


def test_heat_maps_that_are_compared_share_a_scale() -> None:
    crowded = hlmc.play(hlmc.UCB1(arms=4), hlmc.games.Spectrum(agents=90, channels=4), 100, 2, points=5, progress=False)
    figure = draw_all({"few": played(), "many": crowded})
    scales = [ax.collections[0].get_clim() for ax in figure.axes if ax.collections and ax.get_ylabel() == "channel"]
    assert len(scales) == 2
    assert scales[0] == scales[1] == (0.0, float(crowded.data["occupancy"].sel(run=0).sum("policy").max()))


def test_tables_have_html() -> None:
    few = hlmc.estimate(UCB1, TRAP, 100, runs=3, points=1, device="cpu", progress=False)
    for result in (simulated(), simulated().summary(), played(), compared(), compared().table(), few, HLMC.plan):
        assert "<table" in result._repr_html_()
    assert "&lt;arena of 2 policies" in compared()._repr_html_()


class Screen:
    """What a notebook would show: a display with a handle that replaces it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    HTML = staticmethod(str)

    def display(self, html: str, display_id: bool) -> Any:
        assert display_id
        self.shown.append(html)
        return self

    def update(self, html: str) -> None:
        self.shown.append(html)


def test_a_notebook_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    shell = type("Shell", (), {"kernel": 1})()
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"get_ipython": staticmethod(lambda: shell)}))
    monkeypatch.setitem(sys.modules, "IPython.display", screen)
    monkeypatch.setattr(progress, "REDRAWN", 0.0)
    assert progress.in_notebook()
    simulated(progress=None)
    first, *_, before, last = screen.shown
    assert 'value="0.0000"' in first
    assert 'value="1.0000"' in before
    assert last == ""  # the bar is gone when the work is done
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"get_ipython": staticmethod(lambda: None)}))
    assert not progress.in_notebook()


# --- Progress as a call ----------------------------------------------------------------------------------------------


def test_progress_may_be_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[float, float]] = []
    for call in (
        lambda: simulated(progress=lambda *work: told.append(work)),
        lambda: hlmc.play(UCB1, hlmc.games.Routing(5, 12), 100, 2, progress=lambda *work: told.append(work)),
        lambda: hlmc.estimate(UCB1, TRAP, 100, runs=3, device="cpu", progress=lambda *work: told.append(work)),
    ):
        told.clear()
        call()
        steps = [done for done, _ in told]
        assert steps == sorted(steps)
        assert steps[-1] == told[-1][1] in (1800.0, 200.0, 300.0)
    told.clear()
    arguments: dict[str, Any] = {"arms": 16, "horizons": 200, "runs": 2}
    hlmc.arena(against=[], adversaries=["Needle"], progress=lambda *work: told.append(work), **arguments)
    assert told[-1][0] == pytest.approx(told[-1][1])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("function", [len, lambda: None, "loud"])
def test_progress_that_cannot_be_told_is_refused_at_once(function: Any) -> None:
    with pytest.raises(BadType, match="progress must be None, True, False or a function of"):
        simulated(progress=function)


def test_an_error_in_the_function_ends_the_work() -> None:
    def fail(done: float, total: float) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        simulated(progress=fail)


# --- Files -----------------------------------------------------------------------------------------------------------


def test_a_result_is_saved_as_its_name_says(tmp_path: Path) -> None:
    result = simulated()
    result.save(tmp_path / "r.csv")
    table = pd.read_csv(tmp_path / "r.csv")
    assert table.columns.tolist() == ["policy", "run", "time", "reward", "weak_regret"]
    for name in result.policies:
        own = table[table["policy"] == name]
        assert own["reward"].to_numpy().tolist() == result.reward.sel(policy=name).values.reshape(-1).tolist()
        regret = result.regret("weak").sel(policy=name).values.reshape(-1)
        assert own["weak_regret"].to_numpy().tolist() == regret.tolist()
    result.save(tmp_path / "r.PARQUET")
    result.save(tmp_path / "r")
    for name in ("r.PARQUET", "r"):
        assert hlmc.load_result(tmp_path / name).data.identical(result.data)
    for name in ("r.nc", "r.xlsx", "r.pickle"):
        with pytest.raises(BadArgument, match=rf"path must end in \.parquet or \.csv, not '.*{name}'"):
            result.save(tmp_path / name)
    with pytest.raises(BadArgument, match=r"path must be a \.parquet file or the folder of a store, not r\.csv"):
        hlmc.load_result(tmp_path / "r.csv")


def test_a_game_is_saved_as_its_name_says(tmp_path: Path) -> None:
    result = played()
    result.save(tmp_path / "g.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "g.csv"), result.to_pandas())
    assert len(result.to_pandas()) == 10
    first = result.to_pandas().iloc[0]
    assert first["reward"] == result.data["reward"].values[0, 0, 0]
    with pytest.raises(BadArgument, match=r"path must end in \.parquet or \.csv"):
        result.save(tmp_path / "g.nc")


def test_an_ending_is_refused_before_the_experiment_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hlmc.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hlmc.simulation.simulate", lambda *_, **__: pytest.fail("played"))
    text = 'horizon = 10\nsave = "r.nc"\n[adversary]\nname = "BlockTrap"\n[policies.UCB1]\n'
    Path("e.toml").write_text(text)
    assert main(["simulate", "e.toml"]) == 2


def test_a_store_can_be_read_as_a_result(tmp_path: Path) -> None:
    store = tmp_path / "store"
    result = simulated(store=store)
    again = hlmc.load_result(store)
    assert again.policies == result.policies
    assert again.reward.identical(result.reward)
    assert again.bound().identical(result.bound())
    assert again.regret("weak").identical(result.regret("weak"))
    assert again.provenance["words"] == result.provenance["words"]
    assert again.summary()["regret"].tolist() == result.summary()["regret"].tolist()
    again.save(tmp_path / "again.parquet")
    simulated({"HLMC": HLMC}, store=store, runs=5)
    assert hlmc.load_result(store).reward.identical(result.reward)  # UCB1 has not played runs 3 and 4
    with pytest.raises(BadFile, match="is not the store of a simulation"):
        hlmc.load_result(tmp_path)


def test_benchmarks_of_a_store_are_read_with_it(tmp_path: Path) -> None:
    """Those of an adversary that cannot be made again from its name, too; a store that is gone takes nothing away."""

    def stairs(t: int, arm: int) -> float:
        return ((t // 7 + arm) % 12) / 12

    store = tmp_path / "store"
    result = hlmc.simulate(UCB1, Function(12, stairs), 200, runs=2, store=store, progress=False)
    regret = result.regret("weak")
    again = hlmc.load_result(store)
    assert again.adversary is None
    assert again.regret("weak").identical(regret)
    shutil.rmtree(store)
    assert result.regret("dynamic").notnull().all()


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    simulated(store=tmp_path)
    told = json.loads((tmp_path / "_experiment.json").read_text())
    (tmp_path / "_experiment.json").write_text(json.dumps(told | {"seed": 7}))
    with pytest.raises(BadFile, match=r"is of another experiment .* seed differs"):
        hlmc.load_result(tmp_path)
    for name in tmp_path.glob("*.parquet"):
        name.unlink()
    with pytest.raises(BadFile, match="holds no finished run yet"):
        hlmc.load_result(tmp_path)


# --- Tables and merging ----------------------------------------------------------------------------------------------


def test_to_pandas_has_a_row_for_each_number() -> None:
    result = simulated()
    table = result.to_pandas("shifting", 3).set_index(["policy", "run", "time"])
    assert list(table.columns) == ["reward", "shifting_regret"]
    regret = result.regret("shifting", 3)
    for (policy, run, time), row in table.iterrows():  # type: ignore[misc]
        assert row["reward"] == result.reward.sel(policy=policy, run=run, time=time).item()
        assert row["shifting_regret"] == regret.sel(policy=policy, run=run, time=time).item()
    assert len(table) == 2 * 3 * 6


def test_results_of_one_seed_are_merged_by_policy() -> None:
    whole = simulated()
    one, two = simulated({"UCB1": UCB1}), simulated({"HLMC": HLMC})
    two.regret("weak")
    merged = one.merge(two, one)
    assert merged.data.identical(whole.data)
    unlike = ("created", "versions")
    assert all(merged.provenance[k] == whole.provenance[k] for k in whole.provenance if k not in unlike)
    assert merged.summary()["regret"].tolist() == whole.summary()["regret"].tolist()
    assert merged.nanoseconds.keys() == {"UCB1", "HLMC"}


def test_results_of_two_rules_are_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    one = simulated({"UCB1": UCB1})
    del one.provenance["rules"]  # as an older version has saved it
    two = simulated({"UCB1": UCB1}, seed=1)
    assert one.merge(two).provenance["rules"] == {"UCB1": 1}
    monkeypatch.setattr(hlmc.UCB1, "rule", 3)
    with pytest.raises(BadArgument, match="must follow one rule of 'UCB1', not rules 1 and 3"):
        one.merge(simulated({"UCB1": UCB1}, seed=1))


def test_results_of_other_seeds_are_merged_by_run(tmp_path: Path) -> None:
    one, two = simulated(), simulated(seed=5, runs=4)
    merged = one.merge(two)
    assert merged.reward["run"].values.tolist() == list(range(7))
    assert np.array_equal(merged.reward.values, np.concatenate([one.reward.values, two.reward.values], axis=1))
    assert merged.provenance["seed"] == [0, 5]
    assert merged.provenance["runs"] == 7
    assert len(merged.merge(simulated(seed=6)).reward["run"]) == 10
    merged.save(tmp_path / "m.parquet")
    assert hlmc.load_result(tmp_path / "m.parquet").data.identical(merged.data)
    with pytest.raises(BadArgument, match="must not share a seed, and both have runs of 5"):
        merged.merge(two)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: simulated(horizon=200), "must have the same horizon, not 300 and 200"),
        (lambda: simulated(points=5), "must have the same time points"),
        (lambda: simulated(runs=2), "of one seed must have the same runs to be merged, not 3 and 2"),
        (lambda: simulated({"UCB1": UCB1}, seed=1), "must have the same policies, not UCB1, HLMC and UCB1"),
        (lambda: simulated({"UCB1": hlmc.UCB1(12, ties="first")}), "must mean one policy by 'UCB1', not UCB1.arms=12"),
        (
            lambda: hlmc.simulate(UCB1, BlockTrap(12, 5), 300, runs=3, points=6, progress=False),
            "must have the same adversary, not 'BlockTrap",
        ),
    ],
)
def test_results_that_do_not_belong_together_are_not_merged(other: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        simulated().merge(other())


def test_two_functions_that_print_alike_are_not_merged() -> None:
    def against(pay: float) -> hlmc.Result:
        def reward(t: int, arm: int) -> float:
            return pay

        return hlmc.simulate(UCB1, Function(12, reward), 50, runs=1, progress=False)

    with pytest.raises(BadArgument, match="not two that print as"):
        against(0.5).merge(against(0.6))
    with pytest.raises(BadType, match=r"merge takes results of hlmc\.simulate, not 3"):
        simulated().merge(3)  # type: ignore[arg-type]


def test_two_policies_are_compared_run_by_run() -> None:
    result = simulated({"UCB1": UCB1, "HLMC": HLMC})
    found = result.compare("UCB1", "HLMC")
    last = result.reward.isel(time=-1)
    values = (last.sel(policy="UCB1") - last.sel(policy="HLMC")).values
    assert np.array_equal(found.values, values)
    assert (found.difference, found.low, found.high) == tuple(hlmc.evaluation.mean_interval(values))
    back = result.compare("HLMC", "UCB1", level=0.9)
    assert back.difference == -found.difference
    assert back.high - back.low < found.high - found.low
    assert repr(found).splitlines()[-1] == found.note == result.summary().note != ""
    assert "HLMC earns" in repr(back)
    assert ("less" in repr(back)) == (found.difference > 0)
    with pytest.raises(BadArgument, match="a must be one of 'UCB1', 'HLMC', not 'EXP3'"):
        result.compare("EXP3", "HLMC")
    alone = hlmc.simulate({"a": UCB1, "b": HLMC}, TRAP, horizon=300, runs=1, progress=False).compare("a", "b")
    assert math.isnan(alone.low)
    assert "no interval" in repr(alone)


def test_environments_are_compared_one_by_one() -> None:
    faced = [hlmc.adversaries.UniformMeans(12, seed=seed) for seed in range(3)]
    result = hlmc.simulate({"a": UCB1, "b": HLMC}, faced, horizon=300, runs=6, points=5, progress=False)
    found = result.compare("a", "b")
    assert found.unit == "environment"
    assert found.values.shape == (3,)
    assert "3 environments: below 32" in found.note == result.summary().note


def test_a_result_of_some_policies() -> None:
    result = simulated({"UCB1": UCB1, "HLMC": HLMC, "dice": hlmc.Uniform(12)})
    some = result[["dice", "UCB1"]]
    assert some.policies == ["dice", "UCB1"]
    assert list(some.provenance["policies"]) == ["dice", "UCB1"]
    assert (
        some.summary()
        .drop(columns="ns_per_step")
        .equals(result.summary().loc[["dice", "UCB1"]].drop(columns="ns_per_step"))
    )
    assert result["HLMC"].policies == ["HLMC"]
    assert result.policies == ["UCB1", "HLMC", "dice"]
    for bad in ("EXP3", ["UCB1", "EXP3"], [], ["UCB1", "UCB1"]):
        with pytest.raises(BadArgument, match=r"^policies must be "):
            result[bad]
    with pytest.raises(BadType, match=r"^policies must be "):
        result[3]  # type: ignore[index]


def test_tables_for_papers() -> None:
    result = simulated({"UCB_1": UCB1, "HLMC": HLMC})
    text = result.to_latex()
    summary = result.summary()
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + len(summary)
    assert {row.count("&") for row in rows} == {len(summary.shown().columns)}
    assert r"95 \% interval" in rows[0]
    assert rows[1].startswith(r"UCB\_1 & 24 + 14 & ")
    assert text.index(r"\caption{Weak regret against ") < text.index(r"\begin{tabular}{lr")
    assert "below 32 an interval covers less than it says.}" in text
    assert text.count("{") == text.count("}")
    bare = summary.to_latex()
    assert bare.startswith(r"\begin{tabular}")
    assert bare in text
    assert r"\label{tab:one}" in summary.to_latex(label="tab:one")
    odd = hlmc.latex.escaped("50 % & a\\b_{c}~^")
    assert odd == r"50 \% \& a\textbackslash{}b\_\{c\}\textasciitilde{}\textasciicircum{}"


# --- For papers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "width", "below"), [("column", 3.4, True), ("page", 7.0, False), ("slide", 10.0, True)]
)
def test_a_format_has_its_width_and_a_legend_that_covers_nothing(name: str, width: float, below: bool) -> None:
    result = simulated()
    with plotting.style(name):
        ax = result.plot()
        figure = ax.figure
        assert figure.get_figwidth() == width
        figure.draw_without_rendering()
        legends = [*figure.legends, *([ax.get_legend()] if ax.get_legend() else [])]
        assert len(legends) == 1
        assert bool(figure.legends) == below
        boxes = [each.get_window_extent() for each in (*legends, ax)]
        assert not boxes[0].overlaps(boxes[1])
        for artist in (ax.xaxis.label, ax.yaxis.label, ax.title, *legends):
            box = artist.get_window_extent()
            assert box.x0 >= -1
            assert box.y0 >= -1
            assert box.x1 <= figure.bbox.x1 + 1
        assert boxes[1].height > 0.35 * figure.bbox.height
    assert plotting.figure().get_figwidth() == 6.4  # and no longer
    with (
        pytest.raises(BadArgument, match="name must be one of 'column', 'page', 'slide', not 'poster'"),
        plotting.style("poster"),
    ):
        pass


def test_axes_of_a_narrow_figure_keep_title_legend_and_labels() -> None:
    figure = plotting.figure(3.4, 2.2)
    ax = simulated().plot(ax=figure.subplots())
    figure.draw_without_rendering()
    assert ax.get_title(loc="left")
    assert not figure.legends[0].get_window_extent().overlaps(ax.get_window_extent())
    assert ax.get_window_extent().height > 0.25 * figure.bbox.height


def test_fonts_are_embedded_as_type_42(tmp_path: Path) -> None:
    with plotting.style("page"):
        plotting.save(simulated().plot().figure, tmp_path / "r.pdf")
    written = (tmp_path / "r.pdf").read_bytes()
    assert b"/Type3" not in written
    assert b"/CIDFontType2" in written


def test_some_policies_in_colours_of_one_s_own() -> None:
    result = simulated({"UCB1": UCB1, "HLMC": HLMC, "dice": hlmc.Uniform(12)})
    ax = result.plot(policies=["HLMC", "dice"], colours={"dice": "tab:red", "HLMC": "green"})
    drawn = {str(line.get_label()).split(",")[0]: line.get_color() for line in ax.get_lines()}
    assert {"dice": "tab:red", "HLMC": plotting.COLOURS["green"]}.items() <= drawn.items()
    assert "UCB1" not in drawn
    with pytest.raises(BadArgument, match=r"^colours must be colours of Matplotlib .* not 'redd' for 'dice'"):
        result.plot(colours={"dice": "redd"})


def test_a_swept_parameter_has_a_sequential_map() -> None:
    looks = plotting.looks(["M = 80", "M = 14", "M = 1,000"])
    light = [sum(int(look.colour[k : k + 2], 16) for k in (1, 3, 5)) for look in looks.values()]
    assert light[1] < light[0] < light[2]
    assert plotting.looks(["HLMC", "EXP3", "UCB1"])["HLMC"] == plotting.look("HLMC")
    assert all(not look.colour.startswith("#") for look in plotting.looks(["M = 1", "M = 2"]).values())


def test_a_sweep_draws_regret_against_its_parameter() -> None:
    swept = hlmc.sweep(
        lambda gamma: hlmc.EXP3(12, 300, gamma=gamma), [0.05, 0.2, 0.8], TRAP, name="gamma", runs=3, progress=False
    )
    assert swept.result.policies == ["gamma = 0.05", "gamma = 0.2", "gamma = 0.8"]
    final = swept.result.regret().isel(time=-1).mean("run").values
    ax = swept.plot()
    line = ax.get_lines()[0]
    assert line.get_xdata().tolist() == [0.05, 0.2, 0.8] == list(swept.values)
    assert np.allclose(line.get_ydata(), final)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("gamma", "weak regret")
    assert swept.summary().index.tolist() == swept.result.policies
    for bad, error in (([0.2, 0.1], BadArgument), ([], BadType), ("ab", BadType), ([0.1, "x"], BadType)):
        with pytest.raises(error, match=r"^values must "):
            hlmc.sweep(lambda gamma: hlmc.EXP3(12, 300), bad, TRAP)  # type: ignore[arg-type]
    with pytest.raises(BadType, match=r"^make must be a function"):
        hlmc.sweep(hlmc.EXP3(12, 300), [1.0], TRAP)  # type: ignore[arg-type]
