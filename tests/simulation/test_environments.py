"""Several environments in one simulation: run r faces environment r mod E and is judged there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from hlmc import adversaries
from hlmc.cli import main
from hlmc.errors import BadArgument, BadFile, BadType
from hlmc.evaluation import best_fixed, by_environment
from hlmc.simulation.file import read_experiment

HORIZON = 300
MEANS = adversaries.UniformMeans(arms=6, seed=5)
POLICIES = {"EXP3": hlmc.EXP3(arms=6, horizon=HORIZON), "HLMC": hlmc.HLMC(arms=6, levels=2, horizon=HORIZON)}


def simulate(adversary: Any = MEANS, policies: Any = POLICIES, **changes: Any) -> hlmc.Result:
    arguments = {"runs": 7, "environments": 3, "points": 4, "progress": False, **changes}
    return hlmc.simulate(policies, adversary, **arguments)


def test_a_run_is_that_of_a_simulation_in_its_environment_alone() -> None:
    result = simulate()
    assert result.environments is not None
    assert result.environments[0] == MEANS
    assert len(set(result.environments)) == 3
    assert result.faced.tolist() == [0, 1, 2, 0, 1, 2, 0]
    for e, adversary in enumerate(result.environments):
        alone = simulate(adversary, environments=None)
        for data in ("reward", "regret"):
            mine, other = (each.reward if data == "reward" else each.regret() for each in (result, alone))
            np.testing.assert_array_equal(mine.values[:, e::3], other.values[:, e::3])
        values, arms = best_fixed(adversary, result.times)
        np.testing.assert_array_equal(result.data["best_fixed"].values[e], values)
        np.testing.assert_array_equal(result.data["best_arm"].values[e], arms)
    assert result.data["best_fixed"].dims == ("environment", "time")
    assert result.benchmark("shifting", 2).shape == (3, 4)
    assert result.regret("dynamic").dims == ("policy", "run", "time")


def test_one_environment_changes_nothing() -> None:
    one, none = simulate(environments=1), simulate(environments=None)
    assert one.data.identical(none.data)
    assert "environments" not in one.provenance
    assert one.provenance.keys() == none.provenance.keys()


def test_a_list_of_adversaries_is_faced_in_turn() -> None:
    faced = [adversaries.BlockTrap(arms=6, memory=3), MEANS, lambda t, arm: arm / 6]
    result = simulate(faced, environments=None)
    assert result.environments is not None
    assert result.environments[:2] == tuple(faced[:2])
    assert result.provenance["environments"][1] == repr(MEANS)
    assert simulate(faced).data.identical(result.data)
    assert "BlockTrap(arms=6, memory=3) and 2 more environments" in repr(result)


@pytest.mark.parametrize(
    ("adversary", "changes", "error", "text"),
    [
        (MEANS, {"environments": 8}, BadArgument, "environments is 8, more than the 7 runs"),
        (MEANS, {"environments": 0}, BadArgument, "environments must be a whole number of at least 1"),
        (adversaries.BlockTrap(arms=6, memory=3), {}, BadArgument, "environments must be 1 for BlockTrap.*has no seed"),
        ([MEANS, MEANS], {}, BadArgument, "environments must be 2, the number of adversaries listed"),
        ([MEANS] * 8, {"environments": None}, BadArgument, "lists 8 environments, more than the 7 runs"),
        ([MEANS, adversaries.UniformMeans(arms=7)], {"environments": 2}, BadArgument, r"adversary\[1\] has 7 arms"),
        ([MEANS, [0.5]], {"environments": None}, BadType, "a table of numbers or a list of adversaries"),
    ],
)
def test_what_cannot_be_is_refused(adversary: Any, changes: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        simulate(adversary, **changes)


def test_estimate_has_one_environment() -> None:
    with pytest.raises(BadArgument, match=r"only hlmc\.simulate has environments"):
        hlmc.estimate(POLICIES["EXP3"], [MEANS, MEANS], runs=4, device="cpu", progress=False)


def test_values_by_environment_have_the_mean_of_the_runs() -> None:
    rng = np.random.default_rng(1)
    x = rng.random((11, 2))
    faced = np.arange(11) % 4
    found = by_environment(x, faced)
    np.testing.assert_allclose(found.mean(axis=0), x.mean(axis=0))
    even = by_environment(x[:8], faced[:8])
    np.testing.assert_allclose(even, (x[:4] + x[4:8]) / 2)
    # Cluster sums less the mean times their size: the residuals of a ratio estimator, in units of the mean.
    rest = [x[faced == e].sum(axis=0) - x.mean(axis=0) * (faced == e).sum() for e in range(4)]
    np.testing.assert_allclose(found - x.mean(axis=0), np.array(rest) * 4 / 11)


def test_intervals_are_over_environments() -> None:
    """Twenty runs in two environments are two independent values, not twenty."""
    result = simulate(runs=20, environments=2)
    final = result.regret().values[0, :, -1]
    half = (result.summary()["high"] - result.summary()["regret"]).iloc[0]
    alone = hlmc.evaluation.mean_interval(final)
    means = hlmc.evaluation.mean_interval([final[::2].mean(), final[1::2].mean()])
    assert half == pytest.approx(means.high - means.estimate)
    assert half > 1.5 * (alone.high - alone.estimate)


def test_results_are_saved_and_merged(tmp_path: Path) -> None:
    result = simulate(runs=5)
    result.save(tmp_path / "it.parquet")
    again = hlmc.load_result(tmp_path / "it.parquet")
    assert again.data.identical(result.data)
    assert again.environments == result.environments
    np.testing.assert_array_equal(again.regret("dynamic"), result.regret("dynamic"))
    other = simulate(seed=1)
    merged = result.merge(other)
    assert merged.reward["run"].values.tolist() == [*range(5), *range(6, 13)]
    both = np.concatenate([result.regret().values, other.regret().values], axis=1)
    np.testing.assert_array_equal(merged.regret().values, both)
    with pytest.raises(BadArgument, match="must have the same environments"):
        result.merge(simulate(seed=1, environments=2))
    ax = merged.plot()
    assert "2 more environments" in ax.get_title(loc="left")


def test_a_store_knows_its_environments(tmp_path: Path) -> None:
    whole = simulate(runs=7, store=tmp_path)
    assert simulate(runs=7, store=tmp_path).data.identical(whole.data)
    read = hlmc.load_result(tmp_path)
    np.testing.assert_array_equal(read.regret().values, whole.regret().values)
    assert read.environments == whole.environments
    told = json.loads((tmp_path / "_experiment.json").read_text())
    assert told["environments"] == whole.provenance["environments"]
    more = simulate(runs=9, store=tmp_path)
    np.testing.assert_array_equal(more.reward.values[:, :7], whole.reward.values)
    with pytest.raises(BadArgument, match="environments is 3 there and 1 here"):
        simulate(store=tmp_path, environments=None)
    other = [*whole.environments[:2], adversaries.UniformMeans(arms=6, seed=99)]  # type: ignore[index]
    with pytest.raises(BadArgument, match=r"environment 2 is .* there and .*seed=99\) here"):
        simulate(other, store=tmp_path)
    with pytest.raises(BadFile, match="has runs in 3 environments, and there are 4 here; delete"):
        simulate(store=tmp_path, environments=4)


def test_a_store_takes_more_environments_where_each_run_has_its_own(tmp_path: Path) -> None:
    few = simulate(runs=3, environments=3, store=tmp_path)
    few.regret()
    many = simulate(runs=6, environments=6, store=tmp_path)
    np.testing.assert_array_equal(many.regret().values[:, :3], few.regret().values)
    assert many.data["best_fixed"].shape == (6, 4)
    assert simulate(runs=3, environments=3, store=tmp_path).data.identical(few.data)
    assert hlmc.load_result(tmp_path).regret().identical(many.regret())


def test_a_file_and_the_command_line_have_environments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
        horizon = 300
        runs = 6
        environments = 3
        points = 4
        [policies.EXP3]
        [adversary]
        name = "UniformMeans"
        arms = 6
        seed = 5
    """
    path = tmp_path / "it.toml"
    path.write_text(text)
    assert main(["simulate", str(path), "--quiet", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["experiment"]["environments"]) == 3
    here = simulate(policies={"EXP3": POLICIES["EXP3"]}, runs=6)
    assert shown["summary"]["EXP3"]["regret"] == here.summary()["regret"].item()
    assert main(["simulate", str(path), "--set", "environments=2"]) == 0
    assert "seed=5) and 1 more environment: 6 runs, T = 300" in capsys.readouterr().out
    assert main(["simulate", str(path), "--set", "environments=9"]) == 2
    assert "environments is 9, more than the 6 runs" in capsys.readouterr().err
    listed = text.replace("environments = 3", "").replace("[adversary]", "[[adversary]]")
    path.write_text(listed + '[[adversary]]\nname = "BlockTrap"\narms = 6\nmemory = 3\n')
    assert read_experiment(path).adversary == [MEANS, adversaries.BlockTrap(arms=6, memory=3)]
    path.write_text(listed + '[[adversary]]\nname = "BlockTrap"\nmemry = 3\n')
    with pytest.raises(BadArgument, match=r"adversary: \[1\]: there is no key 'memry'"):
        read_experiment(path)


def test_an_interrupted_simulation_keeps_environments(tmp_path: Path) -> None:
    """Runs that are missing leave those that are there in their environments."""
    result = simulate(runs=9, environments=3)
    part = result._data.isel(run=[0, 4, 5, 8])
    left = hlmc.Result(part, result.provenance, {})
    np.testing.assert_array_equal(left.regret().values, result.regret().values[:, [0, 4, 5, 8]])
