"""``hlmc simulate``: experiments as files, and what is said about files that are wrong."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hlmc
from hlmc import cli
from hlmc.errors import BadArgument
from hlmc.simulation.file import read_experiment

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))

TEXT = """
horizon = 2000
runs = 3

[adversary]
name = "BlockTrap"
arms = 12
memory = 4

[policies.HLMC]
levels = 2

[policies.EXP3]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("trap.toml")
    path.write_text(TEXT)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["simulate", *arguments])
    captured = capsys.readouterr()
    said = [line for line in captured.err.splitlines(keepends=True) if "runs (" not in line]  # a slow machine reports
    return status, captured.out, "".join(said)


# --- What it does ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, str(path), "--set", "horizon=5000", "--set", "runs=2")
    assert (status, err) == (0, "")
    described = read_experiment(path)
    assert out.splitlines()[0].endswith(": 2 runs, T = 5,000")
    *rows, words, note, verdict = out.splitlines()[4:]
    names = [line.split("  ")[0] for line in rows]
    assert sorted(names) == sorted(described.policies)
    assert words == "words: statistics + control (clocks, sums, the random stream)"
    assert note == "2 runs: below 32 an interval covers less than it says"
    assert verdict.startswith((f"{names[0]} is ahead: ", f"{names[0]} and {names[1]} cannot be told apart: "))


def test_there_are_three_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_the_table_is_that_of_the_library(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, str(file), "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    described = read_experiment(file)
    result = hlmc.simulate(described.policies, described.adversary, 2000, runs=3, progress=False)
    for name in ("HLMC", "EXP3"):
        for column in ("words", "reward", "regret", "low", "high", "bound"):
            assert found["summary"][name][column] == result.summary().loc[name, column]
    assert found["experiment"]["policies"]["EXP3"] == "EXP3(arms=12, horizon=2000)"
    assert found["regret"] == {"kind": "weak", "switches": None, "level": 0.95}


def test_settings_take_the_place_of_what_stands_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [
        "horizon=1e3",
        "policies.HLMC.levels=3",
        "adversary.memory = 5",
        "policies.new.policy=UCB1",
        "seed=10**3",
    ]
    status, out, _ = run(capsys, str(file), "--json", *(part for text in settings for part in ("--set", text)))
    experiment = json.loads(out)["experiment"]
    assert status == 0
    assert experiment["policies"] == {
        "HLMC": "HLMC(arms=12, levels=3, horizon=1000)",
        "EXP3": "EXP3(arms=12, horizon=1000)",
        "new": "UCB1(arms=12)",
    }
    assert experiment["adversary"] == "BlockTrap(arms=12, memory=5)"
    assert experiment["seed"] == 1000


def test_files_are_written_where_one_works(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(
        'plots = ["a.png"]\nsave = "r.parquet"\nstore = "runs"\n'
        + TEXT
        + '[summary]\nregret = "shifting"\nswitches = 3\nlevel = 0.9\n'
    )
    status, out, err = run(capsys, str(file))
    assert (status, err) == (0, "")
    assert "regret: shifting with 3 switches" in out
    assert "90 % interval" in out
    assert out.endswith("written: a.png, r.parquet\n")
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert hlmc.load_result("r.parquet").data.sizes["run"] == 3
    assert len(list(Path("runs").glob("*.parquet"))) == 2


def test_plots_can_be_tables(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT + '[[plots]]\nfile = "b.svg"\nregret = "shifting"\nswitches = 2\nlog = true\n')
    assert run(capsys, str(file), "--quiet") == (0, "", "")
    assert "shifting regret, 2 switches" in Path("b.svg").read_text() or Path("b.svg").stat().st_size > 1000


def test_lists_and_unknown_horizons_reach_the_policies(file: Path) -> None:
    settings = {
        "policies.HLMC": {"groups": [3, 2, 2], "routines": ["exp3", "exp3", "ucb1"]},
        "policies.later": {"policy": "HLMC", "levels": 2, "horizon": "unknown"},
        "points": ["log", 10],
    }
    described = read_experiment(file, settings)
    assert described.policies["HLMC"] == hlmc.HLMC(
        arms=12, groups=(3, 2, 2), horizon=2000, routines=("exp3", "exp3", "ucb1")
    )
    assert described.policies["later"].horizon is None
    assert described.arguments["points"] == ("log", 10)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_jobs_change_nothing(file: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    def numbers(out: str) -> dict[str, Any]:
        rows: dict[str, Any] = json.loads(out)["summary"]
        return {name: {k: v for k, v in row.items() if k != "ns_per_step"} for name, row in rows.items()}

    assert numbers(run(capsys, str(file), "--json", "--jobs", jobs)[1]) == numbers(run(capsys, str(file), "--json")[1])


# --- What is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("horzon=5", "trap.toml: there is no key 'horzon'; did you mean 'horizon'? There are horizon, runs,"),
        ("zzz=5", "trap.toml: there is no key 'zzz'; there are horizon, runs, seed"),
        ("horizon=0", "trap.toml: horizon: it must be a whole number of at least 1, not 0"),
        ("runs=0", "trap.toml: runs must be a whole number of at least 1, not 0"),
        ("runs=many", "trap.toml: runs must be a whole number of at least 1, not 'many'"),
        ("seed=0.5", "trap.toml: seed must be a whole number, not 0.5"),
        ("points=[5, 3]", "trap.toml: points must increase"),
        ("policies={}", "trap.toml: policies must be a table, such as [policies.HLMC]"),
        ("policies.HLMC=3", "trap.toml: policies.HLMC: it must be a table of arguments, not 3"),
        ("policies.HLMC.policy=HLNC", "trap.toml: policies.HLMC: there is no policy 'HLNC'; did you mean 'HLMC'?"),
        ("policies.mine.memory=3", "trap.toml: policies.mine: there is no policy 'mine'; there are HLMC, "),
        ("policies.HLMC.memry=9", "trap.toml: policies.HLMC: there is no key 'memry'; did you mean 'memory'?"),
        ("policies.HLMC.delta=2.0", "trap.toml: policies.HLMC: delta must be a number in (0, 1)"),
        ("policies.UCBM.shuffle=true", "trap.toml: policies.UCBM: UCBM needs memory"),
        ("policies.HLMC.arms=13", "trap.toml: policy 'HLMC' has 13 arms and BlockTrap"),
        ("policies.HLMC.horizon=100", "trap.toml: policy 'HLMC' was made for 100 steps"),
        ("adversary=3", "trap.toml: adversary must be a table, such as [adversary]"),
        ("adversary={arms = 12}", "trap.toml: adversary: name is missing; there are BlockTrap, "),
        (
            "adversary.name=blocktarp",
            "trap.toml: adversary: there is no adversary 'blocktarp'; did you mean 'BlockTrap'?",
        ),
        ("adversary.memroy=4", "trap.toml: adversary: there is no key 'memroy'; did you mean 'memory'?"),
        ("adversary.memory=1", "trap.toml: adversary: memory must be"),
        ("adversary.memory.x=1", "trap.toml: adversary.memory.x cannot be set: memory is not a table"),
        ("summary=weak", "trap.toml: summary must be a table"),
        ("summary.regret=strong", "trap.toml: summary: there is no regret 'strong'"),
        ("summary.switches=3", "trap.toml: summary: switches belongs to"),
        ("summary.level=2", "trap.toml: summary: level must be a number in (0, 1)"),
        ("plots=a.png", "trap.toml: plots must be a list"),
        ("plots=[3]", "trap.toml: plots[0] must be a file or a table"),
        ('plots=["a.gif"]', "trap.toml: plots[0]: the file of a plot must end in .png"),
        ('plots=[{file="a.png", log=1}]', "trap.toml: plots[0]: log must be true or false"),
        ("store=3", "trap.toml: store must be a path, not 3"),
        ('store=""', "trap.toml: store must be a path, not ''"),
    ],
)
def test_the_file_the_key_and_the_choices_are_named(
    file: Path, setting: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, str(file), "--set", setting)
    assert (status, out) == (2, "")
    assert err.startswith(f"hlmc simulate: {text}")
    assert err.count("\n") == 1


SMALL = """
horizon = 2000
[adversary]
name = "BlockTrap"
arms = {arms}
memory = 4
[policies.{name}]
policy = "EXP3"
"""


@pytest.mark.parametrize(
    ("arms", "name", "setting", "text"),
    [
        (
            "12",
            r'"a\u0000b"',
            "runs=2",
            "trap.toml: policies must have names of characters that can be encoded, and no NUL",
        ),
        ("12", "EXP3", "runs=1e15", "runs and points must be so few that memory holds them: Unable to allocate"),
        ("12", "EXP3", 'points=["log", 1e15]', "trap.toml: points must be so few that memory holds them: Unable to"),
        ("1e15", "EXP3", "runs=2", "learners of EXP3(arms=1000000000000000, horizon=2000), each of 1000000000000014"),
    ],
    ids=["name", "runs", "points", "arms"],
)
def test_names_and_sizes_that_cannot_be(
    file: Path, arms: str, name: str, setting: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SMALL.format(arms=arms, name=name))
    status, out, err = run(capsys, str(file), "--set", setting)
    assert (status, out) == (2, "")
    assert err.startswith(f"hlmc simulate: {text}")
    assert err.count("\n") == 1
    with pytest.raises(BadArgument, match="policies must have names"):
        hlmc.simulate({"\ud800": hlmc.EXP3(4, 9)}, hlmc.adversaries.BlockTrap(4, 2), runs=1, progress=False)
    with pytest.raises(BadArgument, match="policies must have names"):
        hlmc.play({"\ud800": hlmc.EXP3(4, 9)}, hlmc.games.Spectrum(agents=3, channels=4), horizon=9, runs=1)


def test_other_mistakes(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "none.toml") == (2, "", "hlmc simulate: No such file or directory: none.toml\n")
    status, _, err = run(capsys, str(file), "--set", "horizon")
    assert status == 2
    assert "'horizon' is not KEY=VALUE, such as horizon=1e6" in err
    file.write_text("horizon = \n")
    status, _, err = run(capsys, str(file))
    assert (status, err.startswith("hlmc simulate: trap.toml is not valid TOML: ")) == (2, True)
    file.write_bytes(b"\xff")
    assert run(capsys, str(file))[0] == 2
    file.write_text(TEXT)
    with pytest.raises(BadArgument, match=r"trap\.toml: runs must be"):
        read_experiment(file, {"runs": -1})
    status, _, err = run(capsys, str(file), "--jobs", "0")
    assert (status, err) == (2, "hlmc simulate: --jobs must be a whole number of at least 1, not 0\n")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nowhere/r.parquet", "save: there is no folder 'nowhere' for 'r.parquet'; make it first"),
        (".", "save must be a file, and '.' is a folder"),
        ("\0", "save must be a path without NUL characters"),
    ],
)
def test_where_to_save_is_looked_at_before_anything_is_played(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: str, text: str
) -> None:
    monkeypatch.setattr(hlmc.simulation, "simulate", None)
    status, out, err = run(capsys, str(file), "--set", f"save={path}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert text in err


def test_a_result_that_cannot_be_saved_is_kept_elsewhere(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full by the time that the result is there."""
    plain = hlmc.Result.save

    def full(self: hlmc.Result, path: Path) -> None:
        if path == Path("r.parquet"):
            raise OSError(28, "No space left on device", str(path))
        plain(self, path)

    monkeypatch.setattr(hlmc.Result, "save", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    status, out, err = run(capsys, str(file), "--set", "save=r.parquet", "--quiet")
    assert (status, out, err.count("\n")) == (1, "", 1)
    (kept,) = tmp_path.glob("hlmc-*/r.parquet")
    assert f"No space left on device; the result was saved in {kept} instead of: 'r.parquet'" in err
    assert hlmc.load_result(kept).policies == ["HLMC", "EXP3"]
    status, out, _ = run(capsys, str(file), "--set", "save=r.parquet")
    assert (status, "EXP3" in out, "written" in out) == (1, True, False)


# --- A cluster, and Ctrl-C ----------------------------------------------------------------------------------------


def test_a_missing_extra_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, out, err = run(capsys, str(file), "--scheduler", "tcp://127.0.0.1:1")
    assert (status, out) == (2, "")
    assert err == "hlmc simulate: dask.distributed is not installed; install it with: pip install 'hlmc[dask]'\n"


@pytest.mark.slow
def test_a_cluster_does_the_work(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed")
    status, _, err = run(capsys, str(file), "--scheduler", "localhost")
    assert (status, "--scheduler must be an address such as tcp://" in err) == (2, True)
    alone = json.loads(run(capsys, str(file), "--json")[1])["summary"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=60
    ) as cluster:
        status, out, _ = run(capsys, str(file), "--json", "--scheduler", cluster.scheduler_address)
    assert status == 0
    found = json.loads(out)["summary"]
    assert {name: row["reward"] for name, row in found.items()} == {name: row["reward"] for name, row in alone.items()}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("store", [False, True])
def test_ctrl_c_says_what_is_kept(file: Path, store: bool) -> None:
    settings = ["--set", "horizon=10**8", "--set", "runs=2000"] + (["--set", "store=runs"] if store else [])
    command = [sys.executable, "-m", "hlmc.cli", "simulate", str(file), *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()  # the first line of progress: steps are being taken
        assert "of 4000 runs (0 %), about" in line
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    said = [text for text in err.splitlines() if "runs (" not in text]
    assert len(said) == 1
    assert said[0].startswith("hlmc simulate: interrupted after ")
    kept = (
        "kept in runs, and the same call goes on from there"
        if store
        else "none are stored, because the file has no store"
    )
    assert said[0].endswith(kept)
