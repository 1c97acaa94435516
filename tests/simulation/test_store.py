"""The store: finished runs last, the same call goes on, another experiment is refused."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import hlmc
from hlmc import adversaries
from hlmc.errors import BadArgument, BadFile, BadType
from hlmc.files import disk, writing
from hlmc.simulation import runner, store, tables, workers
from hlmc.simulation.experiment import Experiment
from hlmc.simulation.store import Store

HORIZON = 500
TRAP = adversaries.BlockTrap(arms=12, memory=4)
EXP3 = hlmc.EXP3(arms=12, horizon=HORIZON)
TREE = hlmc.HLMC(arms=12, levels=2, horizon=HORIZON)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which (policy, run) are played from now on, one at a time."""
    seen: list[tuple[str, int]] = []
    plain = workers.Work._hand_out

    def watched(self: workers.Work, task: Any, tries: int) -> None:
        seen.extend((task.name, run) for run in task.runs)
        plain(self, task, tries)

    monkeypatch.setattr(workers.Work, "_hand_out", watched)
    monkeypatch.setattr("hlmc.simulation.experiment._ENOUGH", 1)
    return seen


def simulate(store: Path | None, policies: dict[str, hlmc.Policy], **arguments: Any) -> hlmc.Result:
    return hlmc.simulate(
        policies, **{"adversary": TRAP, "runs": 3, "points": 10, "progress": False} | arguments, store=store
    )


def same(one: hlmc.Result, other: hlmc.Result) -> bool:
    return (
        one.data.identical(other.data) and one.data["reward"].values.tobytes() == other.data["reward"].values.tobytes()
    )


def test_the_same_call_plays_only_what_is_missing(tmp_path: Path, played: list[tuple[str, int]]) -> None:
    first = simulate(tmp_path, {"EXP3": EXP3})
    assert sorted(played) == [("EXP3", 0), ("EXP3", 1), ("EXP3", 2)]
    played.clear()
    again = simulate(tmp_path, {"EXP3": EXP3})
    assert played == []
    assert same(again, first)
    assert again.nanoseconds == pytest.approx(first.nanoseconds)

    simulate(tmp_path, {"EXP3": EXP3}, runs=5)
    assert sorted(played) == [("EXP3", 3), ("EXP3", 4)]
    played.clear()
    simulate(tmp_path, {"tree": TREE, "EXP3": EXP3}, runs=5)
    assert sorted(played) == [("tree", run) for run in range(5)]
    played.clear()
    next(tmp_path.glob("EXP3*-00000002-*.parquet")).unlink()
    whole = simulate(tmp_path, {"tree": TREE, "EXP3": EXP3}, runs=5)
    assert played == [("EXP3", 2)]
    assert same(whole, simulate(None, {"tree": TREE, "EXP3": EXP3}, runs=5))
    fewer = simulate(tmp_path, {"EXP3": EXP3}, runs=2)
    assert same(fewer, simulate(None, {"EXP3": EXP3}, runs=2))


def test_short_runs_share_a_file(tmp_path: Path) -> None:
    simulate(tmp_path, {"EXP3": EXP3}, runs=50)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert same(simulate(tmp_path, {"EXP3": EXP3}, runs=70), simulate(None, {"EXP3": EXP3}, runs=70))
    assert len(list(tmp_path.glob("*.parquet"))) == 2


def above(t: int, arm: int) -> float:
    return 0.75


def below(t: int, arm: int) -> float:
    return 0.25


below.__name__ = "above"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"adversary": adversaries.BlockTrap(arms=12, memory=5)},
            r"adversary is .*memory=4\) there and .*memory=5\) here",
        ),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"horizon": 400}, "horizon is 500 there and 400 here"),
        ({"points": 20}, r"points is \[50, 100, .* there and \[25, 50,"),
        ({"policies": {"it": TREE}}, r"policy 'it' is EXP3\(.*\) there and HLMC\(.*\) here"),
    ],
)
def test_another_experiment_is_refused_by_the_field_that_differs(
    tmp_path: Path, change: dict[str, Any], text: str
) -> None:
    simulate(tmp_path, {"it": EXP3})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = {"policies": {"it": EXP3}} | change
    with pytest.raises(BadArgument, match=f"holds another experiment: {text}"):
        simulate(tmp_path, **arguments)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_functions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    simulate(tmp_path, {"it": EXP3}, adversary=adversaries.Function(12, above))
    simulate(tmp_path, {"it": EXP3}, adversary=adversaries.Function(12, above), runs=4)
    with pytest.raises(BadArgument, match="another experiment: rewards is"):
        simulate(tmp_path, {"it": EXP3}, adversary=adversaries.Function(12, below))


def test_it_can_be_read_as_it_lies(tmp_path: Path) -> None:
    result = simulate(tmp_path, {"EXP3": EXP3, "a tree/of two": TREE})
    frame = pd.read_parquet(tmp_path)
    assert list(frame.columns) == ["policy", "run", "time", "reward"]
    assert len(frame) == 2 * 3 * 10
    array = frame.set_index(["policy", "run", "time"])["reward"].to_xarray()
    xr_sorted = result.data["reward"].sortby("policy")
    np.testing.assert_array_equal(array.sortby("policy").values, xr_sorted.values)


def test_provenance_is_inside(tmp_path: Path) -> None:
    simulate(tmp_path, {"EXP3": EXP3})
    metadata = pq.read_schema(next(tmp_path.glob("*.parquet"))).metadata
    notes = json.loads(metadata[b"hlmc"])
    found = notes["experiment"]
    assert found["policies"] == {"EXP3": "EXP3(arms=12, horizon=500)"}
    assert found["words"] == {"EXP3": 12}
    assert found["adversary"] == "BlockTrap(arms=12, memory=4)"
    assert set(found["versions"]) == {"hlmc", "numpy", "numba", "python"}
    assert notes["finished"].endswith("+00:00")
    assert notes["seconds"] > 0
    described = json.loads((tmp_path / "_experiment.json").read_text())
    assert (described["seed"], described["horizon"]) == (0, HORIZON)


def test_runs_of_another_experiment_that_were_copied_in_are_refused(tmp_path: Path) -> None:
    other = adversaries.BlockTrap(arms=12, memory=5)
    simulate(tmp_path / "one", {"it": EXP3})
    for change in ({"adversary": other}, {"policies": {"it": TREE}}, {"seed": 1}):
        folder = tmp_path / next(iter(change))
        simulate(folder, **{"policies": {"it": EXP3}} | change)  # type: ignore[arg-type]
        (copied,) = folder.glob("*.parquet")
        there = tmp_path / "one" / f"copied-{copied.name}"
        there.write_bytes(copied.read_bytes())
        with pytest.raises(BadFile, match=r"another experiment than _experiment\.json beside it: .*; delete copied-"):
            simulate(tmp_path / "one", {"it": EXP3})
        there.unlink()
    simulate(tmp_path / "one", {"it": EXP3})


def test_functions_of_one_name_are_told_apart_file_by_file(tmp_path: Path) -> None:
    for name, function in (("one", above), ("other", below)):
        simulate(tmp_path / name, {"it": EXP3}, adversary=adversaries.Function(12, function))
    (copied,) = (tmp_path / "other").glob("*.parquet")
    (tmp_path / "one" / "copied.parquet").write_bytes(copied.read_bytes())
    with pytest.raises(BadFile, match=r"beside it: rewards is"):
        simulate(tmp_path / "one", {"it": EXP3}, adversary=adversaries.Function(12, above))


def test_a_store_of_an_older_version_is_read(tmp_path: Path, played: list[tuple[str, int]]) -> None:
    """Its files have a shorter digest in their names and no digest of the rewards inside."""
    whole = simulate(tmp_path, {"EXP3": EXP3})
    for path in tmp_path.glob("*.parquet"):
        table = tables.read_runs(path)
        table.notes.pop("shape")
        del table.notes["experiment"]["rewards"]
        path.unlink()
        tables.write_runs(path.with_name(f"EXP3-abcdef-{path.name[-25:]}"), table)
    (tmp_path / "_lock").unlink()
    played.clear()
    assert same(simulate(tmp_path, {"EXP3": EXP3}), whole)
    assert played == []


def test_a_policy_whose_rule_changed_is_refused(
    tmp_path: Path, played: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of two rules under one name would be one sample. The store goes on for all other policies."""
    simulate(tmp_path, {"it": EXP3, "tree": TREE}, runs=2)
    before = (tmp_path / "_experiment.json").read_bytes()
    monkeypatch.setattr(hlmc.EXP3, "rule", 2)
    changed = "the rule of policy 'it' is 1 there and 2 here; choose another folder or delete this one"
    with pytest.raises(BadArgument, match=changed):
        simulate(tmp_path, {"it": EXP3})
    assert (tmp_path / "_experiment.json").read_bytes() == before
    simulate(tmp_path, {"tree": TREE, "new": EXP3})
    assert json.loads((tmp_path / "_experiment.json").read_text())["rules"] == {"it": 1, "tree": 1, "new": 2}
    simulate(tmp_path / "other", {"it": EXP3}, runs=4)
    copied = next((tmp_path / "other").glob("*.parquet"))
    (tmp_path / f"copied-{copied.name}").write_bytes(copied.read_bytes())
    with pytest.raises(BadFile, match=r"another experiment than _experiment\.json beside it: rule differs"):
        hlmc.load_result(tmp_path)
    monkeypatch.setattr(hlmc.EXP3, "rule", 1)
    with pytest.raises(BadFile, match="the rule of policy 'it' is 2 there and 1 here; delete copied-"):
        simulate(tmp_path, {"it": EXP3})


def test_a_store_without_rules_follows_the_first(tmp_path: Path, played: list[tuple[str, int]]) -> None:
    policies = {"EXP3": EXP3, "Champion": hlmc.Champion(arms=12, memory=6, horizon=HORIZON)}
    simulate(tmp_path, policies)
    described = tmp_path / "_experiment.json"
    contents = json.loads(described.read_text())
    assert contents.pop("rules") == {"EXP3": 1, "Champion": hlmc.Champion.rule}
    described.write_text(json.dumps(contents))
    for path in tmp_path.glob("*.parquet"):
        table = tables.read_runs(path)
        table.notes.pop("shape")
        del table.notes["experiment"]["rules"]
        tables.write_runs(path, table)
    played.clear()
    simulate(tmp_path, {"EXP3": EXP3})
    assert played == []
    with pytest.raises(BadArgument, match=rf"the rule of policy 'Champion' is 1 there and {hlmc.Champion.rule} here"):
        simulate(tmp_path, policies)


def test_a_policy_that_another_process_adds_meanwhile_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reads what the store says, another adds a policy to it, the first writes."""
    experiments = {name: Experiment.of({name: EXP3}, TRAP, None, 1, 0, 10) for name in ("a", "b")}
    Store(tmp_path, Experiment.of({"EXP3": EXP3}, TRAP, None, 1, 0, 10))
    plain, others = store._read, []

    def read(path: Path) -> dict[str, Any]:
        found = plain(path)
        if not others:
            others.append(threading.Thread(target=Store, args=(tmp_path, experiments["b"])))
            others[0].start()
            others[0].join(0.5)
        return found

    monkeypatch.setattr(store, "_read", read)
    Store(tmp_path, experiments["a"])
    others[0].join()
    assert set(json.loads((tmp_path / "_experiment.json").read_text())["policies"]) == {"EXP3", "a", "b"}


def test_names_whose_short_digests_agree_have_files_of_their_own() -> None:
    seen: dict[str, str] = {}
    for i in range(20_000):  # 24 bits of a digest would be the same for about twelve pairs
        assert seen.setdefault(store._file_name("ä" * 41 + str(i)), str(i)) == str(i)


@pytest.mark.parametrize(("given", "error"), [("\0", BadArgument), (3, BadType), (b"runs", BadType)])
def test_a_store_must_be_a_path(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="store must be a path"):
        simulate(given, {"EXP3": EXP3})


def test_names_that_files_cannot_have_are_kept_apart(tmp_path: Path) -> None:
    policies: dict[str, hlmc.Policy] = {"a/b": EXP3, "a:b": EXP3, "..": EXP3, "ä" * 200: EXP3}
    simulate(tmp_path, policies)
    again = simulate(tmp_path, policies)
    assert again.policies == list(policies)
    assert same(again, simulate(None, policies))


def test_damage_is_named_and_mended_by_deleting(tmp_path: Path) -> None:
    whole = simulate(tmp_path, {"EXP3": EXP3})
    path = next(tmp_path.glob("*.parquet"))
    # A byte that is changed may be one of Parquet's statistics, which nothing reads; a file that is cut is damaged.
    path.write_bytes(path.read_bytes()[: -path.stat().st_size // 3])
    with pytest.raises(BadFile, match=f"delete {path.name} and its runs are played again"):
        simulate(tmp_path, {"EXP3": EXP3})
    path.unlink()
    assert same(simulate(tmp_path, {"EXP3": EXP3}), whole)
    (tmp_path / "_experiment.json").write_text("{")
    with pytest.raises(BadFile, match="not readable as JSON"):
        simulate(tmp_path, {"EXP3": EXP3})
    (tmp_path / "_experiment.json").write_text("[]")
    with pytest.raises(BadFile, match="does not describe"):
        simulate(tmp_path, {"EXP3": EXP3})


def test_folders_that_are_no_store_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadArgument, match="is a file"):
        simulate(tmp_path / "file", {"EXP3": EXP3})
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(BadArgument, match=r"holds Parquet files but no _experiment\.json"):
        simulate(tmp_path, {"EXP3": EXP3})
    simulate(tmp_path / "deep" / "folder", {"EXP3": EXP3})


def test_what_a_crash_left_half_written_is_removed(tmp_path: Path) -> None:
    abandoned, in_use = tmp_path / ".EXP3-1.parquet.0.tmp", tmp_path / ".EXP3-2.parquet.0.tmp"
    for path in (abandoned, in_use):
        path.write_bytes(b"half")
    with in_use.open("rb") as file:
        assert disk.try_lock(file)
        simulate(tmp_path, {"EXP3": EXP3})
    assert (abandoned.exists(), in_use.exists()) == (False, True)
    assert len(pd.read_parquet(tmp_path)) == 30


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        writing.write_whole(tmp_path / "it", b"text")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_a_store_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: list[tuple[str, int]]
) -> None:
    plain = runner.Gathered.add

    def interrupted(self: Any, result: Any) -> None:
        plain(self, result)
        if sum(done.sum() for done in self._done.values()) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner.Gathered, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            simulate(tmp_path, {"EXP3": EXP3}, runs=6, executor=None)
    kept = len(list(tmp_path.glob("*.parquet")))
    assert kept >= 2
    played.clear()
    whole = simulate(tmp_path, {"EXP3": EXP3}, runs=6)
    assert len(played) == 6 - kept
    assert same(whole, simulate(None, {"EXP3": EXP3}, runs=6))


KILLED = """
    import sys, hlmc
    T = 300_000
    policies = {"HLMC": hlmc.HLMC(arms=100, memory=20, horizon=T)}
    trap = hlmc.adversaries.BlockTrap()
    hlmc.simulate(policies, trap, runs=100_000, points=10, store=sys.argv[1], progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_process_leaves_a_store_that_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)]
    with subprocess.Popen(command) as process:
        while len(list(tmp_path.glob("*.parquet"))) < 3 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    kept = len(list(tmp_path.glob("*.parquet")))
    assert kept >= 3
    assert len(pd.read_parquet(tmp_path)) >= 3 * 10
    policy = {"HLMC": hlmc.HLMC(arms=100, memory=20, horizon=300_000)}
    again = hlmc.simulate(policy, adversaries.BlockTrap(), runs=6, points=10, store=tmp_path, progress=False)
    assert same(again, hlmc.simulate(policy, adversaries.BlockTrap(), runs=6, points=10, progress=False))
