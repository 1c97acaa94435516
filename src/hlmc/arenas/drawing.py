"""The heat map: one row per policy, one column per adversary; colours are ratios on a logarithmic scale, white at 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlmc import plotting
from hlmc.arenas.contenders import BASELINE, SWITCHES
from hlmc.arenas.result import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hlmc.arenas.result import ArenaResult

LEAST, MOST = 0.01, 100.0
"""The ends of the colour scale."""


def heat_map(result: ArenaResult, kind: str, arms: int | None, horizon: int | None, ax: Axes | None = None) -> Axes:
    """Draw the ratios of one kind of regret, at one size or as medians over all sizes. All maps have the same scale."""
    from matplotlib.colors import LogNorm

    rows = result.kind(kind, arms, horizon)
    rows = rows[rows["policy"] != BASELINE]
    policies = [str(name) for name in rows["policy"].unique()]
    cases = [str(name) for name in rows["adversary"].unique()]
    shown = np.full((len(policies), len(cases)), np.nan)
    texts = {}
    for (policy, case), cell in rows.groupby(["policy", "adversary"], sort=False):
        at = policies.index(str(policy)), cases.index(str(case))
        shown[at], texts[at] = _cell(cell)
    with plotting.style():
        ax = plotting.axes(ax, *size_of(len(policies), len(cases)))
        ax.grid(False)
        image = ax.imshow(
            np.clip(np.ma.masked_invalid(shown), LEAST, MOST), cmap="RdBu_r", norm=LogNorm(LEAST, MOST), aspect="auto"
        )
        ax.set_facecolor("#E4E4E4")
        for (row, column), text in texts.items():
            value = shown[row, column]
            dark = not np.isnan(value) and not 0.05 < value < 20.0
            ax.text(column, row, text, ha="center", va="center", fontsize=7.5, color="white" if dark else "black")
        full = set(rows.loc[rows["full_memory"], "policy"])
        ax.set_yticks(range(len(policies)), [f"{name} *" if name in full else name for name in policies])
        ax.set_xticks(range(len(cases)), cases, rotation=40, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0)
        ax.set_title(_title(result, rows, kind), loc="left")
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.02)
        bar.set_ticks([0.01, 0.1, 1.0, 10.0, 100.0], labels=["0.01", "0.1", "1", "10", "100"])
        bar.set_label(f"regret divided by {BASELINE}'s")
        notes = ["* memory for all arms"] if full else []
        if np.isnan([shown[at] for at in texts]).any():
            notes.append(
                f"grey: {BASELINE}'s regret is not significantly above 0; the policy's is lower, higher or equal"
            )
        ax.set_xlabel("; ".join(notes), fontsize=8)
    return ax


def size_of(policies: int, cases: int) -> tuple[float, float]:
    """Width and height of a map of so many rows and columns, in inches."""
    return 3.6 + 0.72 * cases, 2.3 + 0.3 * policies


def heat_map_figure(result: ArenaResult, kind: str) -> Figure:
    """The map of a kind of regret on a figure of its own, to be written to a file."""
    rows = result.kind(kind)
    with plotting.style():
        fig = plotting.figure(*size_of(rows["policy"].nunique() - 1, rows["adversary"].nunique()))
        heat_map(result, kind, None, None, fig.subplots())
    return fig


def _cell(rows: pd.DataFrame) -> tuple[float, str]:
    """The value for the colour, and the text of a cell."""
    ratios = rows["ratio"].dropna()
    if len(ratios):
        ratio = float(ratios.median())
        return max(ratio, LEAST), number(ratio) if ratio >= 0.0 else "< 0"
    if (rows["difference_high"] < 0.0).all():
        return np.nan, "less"
    return np.nan, "more" if (rows["difference_low"] > 0.0).all() else "alike"


def _title(result: ArenaResult, rows: pd.DataFrame, kind: str) -> str:
    what = f"shifting regret, V = {SWITCHES}" if kind == "shifting" else f"{kind} regret"
    played = result.runs.merge(rows[["arms", "horizon"]].drop_duplicates())
    sizes = {name: played[name].unique().tolist() for name in ("arms", "memory", "horizon")}
    letters = {"arms": "K", "memory": "M", "horizon": "T"}
    where = ", ".join(f"{letters[name]} = {' and '.join(f'{n:,}' for n in sizes[name])}" for name in sizes)
    runs = played["run"].nunique()
    ratios = "Ratios" if len(rows[["arms", "horizon"]].drop_duplicates()) == 1 else "Medians over sizes of ratios"
    return f"{ratios} of {what} to {BASELINE}'s\n{where}, {runs} runs"
