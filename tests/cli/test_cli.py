"""The command line as a user meets it: what it prints, how it refuses, and what it draws."""

import argparse
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import hlmc
from hlmc import bounds, cli, planning, plotting
from hlmc.cli import curve, output, plan
from hlmc.cli.numbers import BadNumber, number, whole_number, whole_numbers
from hlmc.errors import BadArgument, BadType
from hlmc.versions import VERSION

PLAN = "plan --arms 100 --memory 20 --horizon 1e7"


def run(capsys: pytest.CaptureFixture[str], command: str) -> tuple[int, str, str]:
    status = cli.main(command.split())
    captured = capsys.readouterr()
    return status, captured.out, captured.err


# --- Help, version, start -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_help_everywhere_within_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = run(capsys, f"{command} {option}")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: hlmc {command}".rstrip())
    assert max(map(len, out.splitlines())) <= 80


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "")
    assert status == 0
    assert all(f"\n    {name} " in out for name in cli.COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"hlmc {VERSION}\n", "")


@pytest.mark.parametrize("command", ["--help", PLAN, f"{PLAN} --json"])
def test_nothing_slow_is_imported(command: str) -> None:
    code = (
        f"import sys; from hlmc.cli import main; status = main({command.split()!r}); "
        "slow = {'numba', 'matplotlib', 'pandas', 'xarray', 'pyarrow', 'scipy', 'rich', 'dask'} & set(sys.modules); "
        "sys.exit(f'{status} {slow}' if status or slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_is_the_program() -> None:
    command = [sys.executable, "-m", "hlmc.cli", *PLAN.split()]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nHLMC(arms=100, memory=20, horizon=10000000)\n" in done.stdout


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "hlmc.cli", *PLAN.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


# --- What the user got wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("plam", "hlmc: there is no command 'plam'; did you mean plan? (see hlmc --help)"),
        ("zzz", "hlmc: there is no command 'zzz'; there are plan"),
        ("--nope", "hlmc: unrecognized arguments: --nope (see hlmc --help)"),
        ("plan", "hlmc plan: the following arguments are required: --arms"),
        ("plan --arms 10", "hlmc plan: one of the arguments --memory --levels --groups is required"),
        ("plan --arms ten --memory 5", "argument --arms: 'ten' is not a whole number; write it as 1000000,"),
        ("plan --arms 1.5 --memory 5", "argument --arms: '1.5' is not a whole number"),
        ("plan --arms 1e400 --memory 5", "argument --arms: '1e400' is beyond 2**53"),
        ("plan --arms 0 --memory 5", "hlmc plan: arms must be a whole number of at least 1, not 0"),
        ("plan --arms 100 --memory 12", "memory must be at least 13 words for 100 arms, not 12"),
        ("plan --arms 100 --memory 20 --levels 2", "argument --levels: not allowed with argument --memory"),
        ("plan --arms 100 --levels 8", "levels must be between 1 and ceil(log2(arms)) = 7"),
        ("plan --arms 100 --groups 3,3", "groups must have a product of at least arms = 100, not (3, 3)"),
        ("plan --arms 100 --groups 3,x", "argument --groups: 'x' is not a whole number"),
        ("plan --arms 100 --memory 20 --horizon 0", "horizon must be a whole number of at least 1, not 0"),
        ("plan --arms 100 --memory 20 --delta 2", "delta must be a number in (0, 1), not 2.0"),
        ("plan --arms 100 --memory 20 --delta p", "argument --delta: 'p' is not a number"),
        ("plan --arms 100 --memory 20 --switches some", '1e6 or 10**6, or as "unknown"'),
        ("plan --arms 100 --memory 20 --routines exp4", "there is no routine 'exp4'; did you mean 'exp3'?"),
        ("plan --arms 100 --memory 20 --routines exp3,exp3,exp3", "routines must be 2 names"),
        ("plan --arms 100 --memory 20 --plot a.png", "--plot needs a horizon, such as"),
        (f"{PLAN} --segments 0", "--segments must be a whole number from 1 to the 10000000 steps, not 0"),
        (f"{PLAN} --plot curve.gif", "the file of a plot must end in .png, .svg or .pdf, not 'curve.gif'"),
        (f"{PLAN} --plot nowhere/curve.png", "there is no folder 'nowhere' for 'curve.png'; make it first"),
        ("plan --arms 1 --memory 5 --horizon 10 --plot a.png", "--plot: there is no bound above 0 to draw"),
        (f"{PLAN} --jso", "hlmc plan: unrecognized arguments: --jso; did you mean --json? (see hlmc plan --help)"),
    ],
)
def test_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, command)
    assert (status, out) == (2, "")
    assert err.startswith("hlmc")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


class _Stand:
    """A command that does nothing but raise."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def configure(self, parser: argparse.ArgumentParser) -> None:
        pass

    def run(self, options: argparse.Namespace) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "hlmc plan: interrupted\n"),
        (KeyboardInterrupt("interrupted; all is kept"), 130, "hlmc plan: interrupted; all is kept\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.toml"),
            2,
            "hlmc plan: No such file or directory: a.toml\n",
        ),
        (OSError(28, "No space left on device"), 1, "hlmc: [Errno 28] No space left on device\n"),
        (BadArgument("two\nlines"), 2, "hlmc plan: two lines\n"),
    ],
)
def test_how_a_command_ends(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    message: str,
) -> None:
    monkeypatch.setitem(sys.modules, "hlmc.cli.plan", _Stand(error))  # type: ignore[arg-type]
    assert run(capsys, "plan") == (status, "", message)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's redirections")
@pytest.mark.parametrize(
    ("redirection", "status", "said"),
    [(">&-", 0, ""), (">&- 2>&-", 0, ""), ("> /dev/full", 1, "hlmc: [Errno 28] No space left on device\n")],
)
def test_output_that_cannot_be_written(redirection: str, status: int, said: str) -> None:
    command = f"{sys.executable} -m hlmc.cli plan --arms 100 --memory 20 {redirection}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", said)


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hlmc.cli.plan", _Stand(ZeroDivisionError()))  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        cli.main(["plan"])


# --- Numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-7", -7),
        ("1_000_000", 10**6),
        ("1e6", 10**6),
        ("1E6", 10**6),
        ("2.5e3", 2500),
        ("100e-2", 1),
        ("10**7", 10**7),
        ("2^53", 2**53),
        ("9007199254740991", 2**53 - 1),
        ("9.007199254740991e15", 2**53 - 1),
        ("0**0", 1),
        ("1**999999999999", 1),
        (" 5 ", 5),
    ],
)
def test_whole_numbers_are_read_exactly(text: str, value: int) -> None:
    assert whole_number(text) == value
    assert isinstance(whole_number(text), int)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1.5",
        "1e-1",
        "1e-999999999",
        "9" * 99 + "**2",
        "nan",
        "inf",
        "1e",
        "2**",
        "**2",
        "2**-1",
        "1,000",
        "0x10",
    ],
)
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(BadNumber, match="is not a whole number"):
        whole_number(text)


@pytest.mark.parametrize("text", ["9007199254740993", "-1e17", "1e999999999", "9**999999999", "2**54"])
def test_numbers_beyond_the_limit_are_refused_at_once(text: str) -> None:
    with pytest.raises(BadNumber, match=r"is beyond 2\*\*53"):
        whole_number(text)


def test_lists_and_fractions() -> None:
    assert whole_numbers("5, 5,4") == (5, 5, 4)
    assert number("1e-3") == 0.001
    for text in ("", "a", "nan", "inf"):
        with pytest.raises(BadNumber):
            number(text)


# --- hlmc plan ----------------------------------------------------------------------------------------------


def test_plan_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, PLAN)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Advice for K = 100 arms, M = 20 words, T = 10,000,000 steps"
    plan_at = lines.index("HLMC(arms=100, memory=20, horizon=10000000)")
    assert lines[plan_at : plan_at + 5] == [
        "HLMC(arms=100, memory=20, horizon=10000000)",
        "",
        "level  routine  children  arms each  choices  steps each  words    gamma",
        "    1  exp3           10         10    3,162       3,163     10  0.06034",
        "    2  exp3           10          1    3,163           1     10  0.06033",
    ]
    assert "words: 20 statistics + 19 control = 39, 312 bytes" in lines
    assert "even levels, printed D*(M)       2     20  10×10" in lines
    assert "     1    100    912     191,941           100" in lines
    assert "     2     20    312   4,827,062  chosen   10×10" in lines
    assert "     3     14    304  15,412,280  vacuous  5×5×4" in lines
    assert "These bounds use one formula for all depths; the theorem above rounds it up." in lines
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (
            "--arms 100 --memory 14 --horizon 1e7",
            ["even levels, printed D*(M)       7", "fewest levels that fit           3"],
        ),
        ("--arms 100 --memory 13 --horizon 1e7", ["none: memory must be at least 14 words for even groups"]),
        ("--arms 100 --memory 200 --horizon 1e7", ["two levels, adaptive split       1    100  100"]),
        ("--arms 100 --memory 20", ["order of the regret", "T^(3/4)  chosen", "stage of 2^20"]),
        ("--arms 100 --groups 3,40 --horizon 1e9", ["chosen  3×34", "Hierarchies by rule for M = 37 words"]),
        ("--arms 16 --levels 2 --horizon 1e6 --switches 10", ["exp3s", "alpha", "chosen, vacuous  4×4"]),
        ("--arms 16 --levels 2 --horizon 1e6 --switches unknown", ["none proved  chosen"]),
        ("--arms 16 --levels 2 --horizon 1e6 --delta 0.1", ["eta", "gamma", "beta", "vacuous  4×4"]),
        ("--arms 100 --memory 20 --horizon 1e6 --routines exp3s,exp3", ["none proved  chosen"]),
        ("--arms 100 --memory 20 --horizon 1e6 --routines ucb1", ["more than one word per child: 40 words, not 20"]),
        ("--arms 1e6 --memory 2048 --horizon 1e4", ["(vacuous: at least T = 10,000)", "1,227×815"]),
        ("--arms 1 --memory 5 --horizon 10", ["bound on the regret: 0"]),
        (
            "--arms 100 --memory 20 --horizon 1e9 --segments 20",
            [
                "20 learners with 50,000,000 steps each: 780 words, 6,240 bytes",
                "bound against the best arm of each: 322,805,059\n",
                "bound of one learner against one arm for all: 152,645,088",
            ],
        ),
        ("--arms 100 --memory 20 --horizon 1e7 --segments 20", ["arm of each: 10,207,992 (vacuous)"]),
        ("--arms 16 --levels 2 --horizon 1e6 --switches unknown --segments 2", ["arm of each: none proved"]),
    ],
)
def test_plan_options(capsys: pytest.CaptureFixture[str], options: str, texts: list[str]) -> None:
    status, out, err = run(capsys, f"plan {options}")
    assert (status, err) == (0, "")
    for text in texts:
        assert text in out


def test_plan_shows_the_nearest_points_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    few = run(capsys, "plan --arms 1e12 --memory 2048 --horizon 1e8")[1]
    every = run(capsys, "plan --arms 1e12 --memory 2048 --horizon 1e8 --all")[1]
    assert "more, down to 76 words." in few
    assert "--all" not in every
    (said,) = [line for line in few.splitlines() if line.startswith("--all shows")]
    assert len(every.splitlines()) == len(few.splitlines()) - 1 + int(said.split()[2])


def test_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, f"{PLAN} --json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    policy = hlmc.HLMC(arms=100, memory=20, horizon=10**7)
    assert set(found) == {"plan", "memory", "bounds_at", "rules", "points", "advice"}
    assert found["plan"] == json.loads(json.dumps(policy.plan.as_dict() | {"bytes": 8 * policy.words.total}))
    assert (found["memory"], found["bounds_at"]) == (20, 10**7)
    same = {"levels": 2, "groups": [10, 10], "words": 20}
    assert found["rules"] == {"printed": same, "tight": same, "two_level": same}
    assert [point["groups"] for point in found["points"] if point["chosen"]] == [[10, 10]]
    assert len(found["points"]) == len(planning.neighbours(100, 10**7, 20))
    for point in found["points"]:
        assert set(point) == {"levels", "groups", "words", "bytes", "bound", "chosen", "vacuous"}
        assert point["levels"] == len(point["groups"])
        assert point["words"] == sum(point["groups"])
        assert point["bound"] == bounds.hierarchy(10**7, point["groups"])
        assert point["vacuous"] == (point["bound"] >= 10**7)


def test_plan_of_segments_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """N learners of T / N steps each: N times the words, and N times the bound at T / N."""
    found = json.loads(run(capsys, f"{PLAN} --segments 20 --json")[1])["segments"]
    assert (found["segments"], found["steps"], found["words"]) == (20, 500_000, 20 * 39)
    assert found["bound"] == 20 * bounds.hierarchy(500_000, (10, 10))
    assert found["single"] == bounds.hierarchy(10**7, (10, 10))


def test_plan_as_json_without_a_horizon_or_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "plan --arms 100 --memory 13 --json")[1])
    assert found["plan"]["horizon"] is None
    assert found["bounds_at"] == 2**20
    assert found["rules"]["printed"] is None
    assert found["rules"]["two_level"] is None
    assert found["rules"]["tight"] == {"levels": 4, "groups": [4, 3, 3, 3], "words": 13}


def test_other_depths_repeat_or_drop_routines() -> None:
    policy = hlmc.HLMC(arms=100, levels=2, horizon=10**6, routines=("exp3s", "exp3"))
    near = plan.points(policy, 20)
    assert {point.levels for point in near} == set(range(1, 8))
    assert [point.groups for point in near if point.chosen] == [(10, 10)]


# --- On a terminal ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "options",
    ["--arms 100 --memory 20 --horizon 1e7", "--arms 1e12 --memory 100 --horizon 9e15 --delta 0.1"],
)
def test_tables_fit_the_window(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, options: str
) -> None:
    from rich.console import Console

    terminal = Console(width=columns, highlight=False, markup=False, force_terminal=True, color_system=None)
    monkeypatch.setattr(output, "_terminal", lambda: terminal)
    terminal.file = sys.stdout
    status, out, _ = run(capsys, f"plan {options}")
    assert status == 0
    assert max(map(len, out.splitlines())) <= columns
    assert "…" not in out
    assert ("rounded to fit" in out) == ("1e12" in options and columns == 80)


def test_rich_draws_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "────" in run(capsys, PLAN)[1]


# --- Pictures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_plan_draws_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, start: bytes) -> None:
    path = tmp_path / name
    status, out, err = run(capsys, f"{PLAN} --plot {path}")
    assert (status, err) == (0, "")
    assert out.endswith(f"\nDrawn: {path}\n")
    first = path.read_bytes()
    assert first.startswith(start)
    assert run(capsys, f"{PLAN} --json --plot {path}")[0] == 0
    assert path.read_bytes() == first  # nothing of it depends on when it was drawn
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "policy",
    [
        hlmc.HLMC(arms=100, memory=20, horizon=10**7),
        hlmc.HLMC(arms=10**12, memory=2048, horizon=10**15),
        hlmc.HLMC(arms=100, groups=(2,) * 7, horizon=10**7),
        hlmc.HLMC(arms=2, memory=2, horizon=10),
    ],
)
def test_the_curve_labels_the_chosen_point_and_no_two_labels_overlap(policy: hlmc.HLMC) -> None:
    near = plan.points(policy, policy.memory or sum(policy.groups_used))
    fig = curve.draw(policy, near, policy.memory)
    (ax,) = fig.axes
    texts = [text.get_text() for text in ax.texts]
    assert f"D = {len(policy.groups_used)}: {output.product(policy.groups_used)}" in texts
    fig.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    for i, box in enumerate(boxes):
        assert box.count_overlaps(boxes[i + 1 :]) == 0
    assert ax.get_ylim()[0] < policy.horizon < ax.get_ylim()[1]  # type: ignore[operator]


def test_looks_are_distinct_and_do_not_move() -> None:
    names: Sequence[str] = [*plotting.LOOKS, *(f"mine {i}" for i in range(40))]
    found = plotting.looks(names)
    assert len(set(found.values())) == len(names)
    assert all(found[name] == plotting.LOOKS[name] for name in plotting.LOOKS)
    assert plotting.look("UCBM") == plotting.look("UCB-M")
    assert plotting.looks(["EXP3", "mine 3"])["mine 3"] == plotting.look("mine 3")
    assert plotting.looks(["a"] * 3).keys() == {"a"}
    for colours in (-1.0, "red", ["red"], object()):
        with pytest.raises(BadType, match="colours must be a dictionary of colours by name, not"):
            plotting.looks(["a"], colours)  # type: ignore[arg-type]
    assert len(plotting.looks(str(i) for i in range(500))) == 500


def test_style_leaves_the_settings_alone() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    with plotting.style():
        assert matplotlib.rcParams["axes.grid"] is True
        fig = plotting.figure(3, 2)
    assert dict(matplotlib.rcParams) == before
    assert tuple(fig.get_size_inches()) == (3, 2)
    assert "matplotlib.pyplot" not in vars(plotting)


@pytest.mark.parametrize("high", [50, 10**8])
def test_ticks_of_logarithmic_axes(high: float) -> None:
    with plotting.style():
        fig = plotting.figure()
        ax = fig.subplots()
        ax.set_xscale("log")
        ax.set_xlim(1, high)
        plotting.short_ticks(ax.xaxis)
        plotting.short_ticks(ax.yaxis)
        fig.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert ("5" in labels) == (high == 50)
    assert ("100M" in labels) == (high == 10**8)


def test_a_failed_drawing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_text("old")
    fig = plotting.figure()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("drawing failed")

    monkeypatch.setattr(fig, "savefig", fail)
    with pytest.raises(RuntimeError, match="drawing failed"):
        plotting.save(fig, path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("a.png", "old")]


def test_every_example_of_the_documentation_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = "".join((docs / page).read_text(encoding="utf-8") for page in ("cli.md", "plan.md"))
    blocks = [block.split("```")[0] for block in text.split("```console\n")[1:]]
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        for example in block.split("$ hlmc ")[1:]:
            command, _, expected = example.partition("\n")
            _, out, err = run(capsys, command)
            assert not expected or out + err == expected
    assert (tmp_path / "curve.svg").exists()
    for example in plan.EXAMPLES.split("\n  hlmc ")[1:]:
        assert run(capsys, example.splitlines()[0])[0] == 0


def test_a_table_too_wide_for_a_window_is_parted() -> None:
    """No cell is cut: columns that do not fit stand in another table, beside the first column again."""
    table = output.Table(["policy", *(f"column {i}" for i in range(6))], left=frozenset({0}))
    table.add("HLMC", *(f"{i}.123 .. {i}.456" for i in range(6)))
    parts = table.parts(60)
    assert len(parts) > 1
    assert [part.headings[0] for part in parts] == ["policy"] * len(parts)
    assert all(max(map(len, str(part).splitlines())) <= 60 for part in parts)
    assert [cell for part in parts for cell in part.rows[0][1:]] == list(table.rows[0][1:])
    assert table.parts(1000) == [table]


def test_every_complaint_has_one_line_of_at_most_500_characters(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for length in range(250, 520):
        for word in ("x" * length, "\ud800" * length):
            assert cli.main([word]) == 2
            assert cli.main(["plan", f"--{word}"]) == 2
            said += capsys.readouterr().err.splitlines(keepends=True)
    assert len(said) == 1080
    assert max(map(len, said)) == 500


def test_ctrl_c_before_the_command_has_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Pressed(io.TextIOWrapper):
        def reconfigure(self, **_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdout", Pressed(io.BytesIO()))
    assert cli.main(["--version"]) == 130
    assert capsys.readouterr().err == "hlmc: interrupted\n"
