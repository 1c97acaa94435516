"""`hlmc examples`: what comes with the package is listed, and written to a folder where nothing is overwritten."""

import ast
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hlmc.cli import examples, main

ROOT = Path(__file__).resolve().parents[2]


def test_every_example_is_listed_with_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    home = ROOT / "examples"
    assert listed.keys() >= {path.stem for path in home.iterdir() if path.is_file()} | {"radio"}
    assert listed.keys() >= {path.stem for path in home.glob("gallery/*.py")}
    assert {name for name, text in listed.items() if not (text.endswith((".", "?")) and len(text) > 10)} == set()
    assert listed["radio"] == "A radio with twenty channels and ten words of statistics."
    assert main(["examples"]) == 0
    out = capsys.readouterr().out
    assert "trap  " in out
    assert "Experiment 1 of the paper" in out


def test_an_example_is_written_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "work"
    assert main(["examples", "trap", "-o", str(folder)]) == 0
    file = folder / "trap.toml"
    assert capsys.readouterr().out == f"{file}\n"
    assert file.read_bytes() == (ROOT / "examples" / "trap.toml").read_bytes()
    assert main(["simulate", str(file), "--set", "horizon=500", "--set", "runs=1", "--quiet"]) == 0
    file.write_text("mine")
    assert main(["examples", "trap.toml", "-o", str(folder)]) == 2
    assert "trap.toml exists already, and a file is not overwritten" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", "radio", "-o", str(tmp_path)]) == 0
    names = {path.name for path in (ROOT / "examples" / "radio").iterdir()}
    assert {path.name for path in (tmp_path / "radio").iterdir()} == names
    for path in (tmp_path / "radio").iterdir():
        if path.name != "main.c":
            path.unlink()
    assert main(["examples", "radio", "-o", str(tmp_path)]) == 2
    assert {path.name for path in (tmp_path / "radio").iterdir()} == {"main.c"}


@pytest.mark.parametrize(("name", "text"), [("tarp", "did you mean 'trap'?"), ("zzz", "there are foreign_gymnasium, ")])
def test_an_example_that_is_not_there(name: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", name]) == 2
    assert f"hlmc examples: there is no example '{name}'; {text}" in capsys.readouterr().err


def test_without_examples_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(examples, "OWN", tmp_path / "none")
    monkeypatch.setattr(examples, "SOURCE", tmp_path / "none")
    assert main(["examples"]) == 2
    assert "the examples are not part of this installation" in capsys.readouterr().err


def test_a_wheel_has_the_examples(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"hlmc/examples/trap.toml", "hlmc/examples/radio/main.c", "hlmc/__init__.py"} <= names
    assert not [name for name in names if name.endswith(".pyc")]


def test_examples_use_public_names() -> None:
    """What stands behind ``hlmc.`` in an example is a name that the package lists."""
    import hlmc

    scripts = list((ROOT / "examples").rglob("*.py"))
    assert len(scripts) > 4
    used: dict[str, str] = {}
    for path in scripts:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "hlmc":
                used[node.attr] = path.name
            if isinstance(node, ast.ImportFrom) and node.module == "hlmc":
                used |= {alias.name: path.name for alias in node.names}
    assert {"errors", "plotting"} <= used.keys()
    assert {name: where for name, where in used.items() if name not in hlmc.__all__} == {}
