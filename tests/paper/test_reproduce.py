"""``hlmc reproduce``: its list, a small report, going on after a stop, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hlmc import load_result, paper
from hlmc.cli import main
from hlmc.paper.claims import Verdict
from hlmc.paper.experiment import Settings
from hlmc.paper.reproduction import reproduce
from hlmc.simulation import progress

SMALL = ["--horizon", "10000", "--runs", "2"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two figures."""
    out = tmp_path_factory.mktemp("reproduce") / "report"
    assert main(["reproduce", "shifting", "memory", *SMALL, "--out", str(out)]) == 0
    return out


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in paper.FIGURES)


def test_files(report: Path) -> None:
    for name in ("shifting-linear", "shifting-log", "memory-linear", "memory-log"):
        assert (report / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (report / "figures" / f"{name}.svg").read_text()
    data = load_result(report / "data" / "memory-all.parquet")
    assert data.data.sizes["run"] == 2


def test_page_needs_nothing_else(report: Path) -> None:
    page = (report / "index.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.index('id="summary"') < page.index('id="shifting"') < page.index('id="memory"')
    assert page.count("<img ") == 5
    assert page.count("<figure ") == page.count("<figcaption>")
    assert "<math>" in page
    assert "prefers-color-scheme: dark" in page
    contents = page[page.index("<nav") : page.index("</nav>")]
    assert re.findall(r'href="#([^"]*)"', contents) == ["summary", "shifting", "memory"]
    references = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(each.startswith(("data:", "#")) for each in references)
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.slow
def test_every_figure_has_a_title(tmp_path: Path) -> None:
    settings = Settings(runs=2, horizon=10_000)
    for section in reproduce(list(paper.FIGURES), settings, tmp_path).sections:
        for picture in section.pictures:
            assert all(ax.get_title(loc="left") for ax in picture.draw().axes), picture.name


def test_markdown_and_json_agree(report: Path) -> None:
    text = (report / "report.md").read_text()
    listed = json.loads((report / "claims.json").read_text())
    assert {each["figure"] for each in listed} == {"shifting", "memory"}
    assert all(f"- **{each['name']}**" in text for each in listed)
    assert {each["verdict"] for each in listed} <= set(map(str, Verdict))
    assert "## memory: Impact of memory (Fig. 5)" in text


def test_the_code_shown_makes_the_same_runs(report: Path) -> None:
    text = (report / "report.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, flags=re.S)[1]
    scope: dict[str, object] = {}
    exec(code, scope)  # noqa: S102
    shown = scope["result"].data["reward"].isel(time=-1)  # type: ignore[attr-defined]
    kept = load_result(report / "data" / "memory-all.parquet").data["reward"].isel(time=-1)
    assert (shown.values == kept.values).all()


def test_resume_plays_only_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "shifting", *SMALL, "--out", str(tmp_path)]
    assert main(command) == 0
    first = (tmp_path / "claims.json").read_text()
    store = tmp_path / "runs" / "shifting" / "all"
    before = {path: path.stat().st_mtime_ns for path in store.glob("*.parquet")}
    removed = min(before)
    removed.unlink()
    assert main([*command, "--resume"]) == 0
    after = {path: path.stat().st_mtime_ns for path in store.glob("*.parquet")}
    assert {path for path in after if after[path] != before.get(path)} == {removed}
    assert (tmp_path / "claims.json").read_text() == first
    capsys.readouterr()
    assert main([*command, "--resume", "--seed", "1"]) == 2
    assert "another experiment" in capsys.readouterr().err


def test_without_resume_runs_are_played_again(tmp_path: Path) -> None:
    command = ["reproduce", "shifting", *SMALL, "--out", str(tmp_path)]
    assert main(command) == 0
    assert main([*command, "--seed", "1"]) == 0
    (tmp_path / "runs" / "shifting" / "notes.txt").write_text("mine")
    assert main(command) == 2
    assert (tmp_path / "runs" / "shifting" / "notes.txt").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["weak-3"], "there is no figure 'weak-3'"),
        (["--runs", "0"], "--runs must be at least 1"),
        (["--horizon", "10"], "--horizon must be at least 10,000"),
        (["--quick", "--horizon", "1e6"], "not both"),
        (["--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_refusals(options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *options, "--out", str(tmp_path / "out")]) == 2
    complaint = capsys.readouterr().err
    assert words in complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", paper.FIGURES)
def test_every_figure_is_described(name: str) -> None:
    module = paper.figure(name)
    parts = module.parts(Settings(runs=1, horizon=10_000))
    assert name == module.NAME
    assert module.TITLE
    assert module.SOURCE
    assert len({part.key for part in parts}) == len(parts)
    assert all(part.work > 0 and part.horizon <= 10_000 for part in parts)
    for part in parts:
        compile(part.code(Settings()), part.key, "exec")


def test_progress_says_what_runs_and_how_long_still(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.reporter(None, {"": 10.0}) as report:
        with report.part("weak-1, h0 = 6", 1.0, 100):
            pass  # all of its 100 steps are in the store
        with report.part("weak-2", 9.0, 900) as told:  # and 100 of these
            told(200, 800)
            now[0] = 10.0
            told(400, 800)
    assert capsys.readouterr().err == "weak-2; 50 % of all, about 10 s left\n"
