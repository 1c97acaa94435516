"""The report of the arena: a folder with tables, data and heat maps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hlmc import plotting
from hlmc.arenas.contenders import BASELINE, SWITCHES
from hlmc.arenas.drawing import heat_map_figure
from hlmc.files.writing import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from hlmc.arenas.result import ArenaResult

NOTES = (
    f"Ratios of mean regret to that of the paper's {BASELINE} in the same runs, with their 95 % intervals.",
    f"Shifting regret is against the best sequence of {SWITCHES} pieces.",
    f"-0.02 T: the difference to {BASELINE}'s regret, which is not significantly above 0, so there is no ratio.",
    "Words are numbers kept, as in the paper, or the words that hold codes of few bits; a word takes 8 bytes.",
    "*: memory for all arms. An empty cell was not played at that size.",
)


def write(result: ArenaResult, folder: Path) -> Path:
    """Write ``arena.md``, ``arena.csv``, ``arena.parquet`` and a heat map per kind of regret; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    result.save(folder / "arena.csv")
    result.save(folder / "arena.parquet")
    for kind in result.kinds:
        plotting.save(heat_map_figure(result, kind), folder / f"{kind}.png")
    lines = ["# The arena", "", *(f"- {note}" for note in (*NOTES, result.note) if note), ""]
    lines += ["## All sizes", "", *_markdown(result.overview()), ""]
    lines += [f"![{kind} regret]({kind}.png)" for kind in result.kinds]
    for kind in result.kinds:
        for arms, horizon in result.sizes:
            if not result.data.query("kind == @kind and arms == @arms and horizon == @horizon").empty:
                lines += ["", f"## {kind.capitalize()} regret, K = {arms:,}, T = {horizon:,}", ""]
                lines += _markdown(result.table(kind, arms, horizon))
    page = folder / "arena.md"
    write_whole(page, ("\n".join(lines) + "\n").encode())
    return page


def _markdown(table: pd.DataFrame) -> list[str]:
    head = ["", *(str(name).strip() for name in table.columns)]
    rows = [[str(name), *map(str, cells)] for name, *cells in table.itertuples()]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
