"""The heat map: one row per policy, one column per adversary; colours are ratios on a logarithmic scale, white at 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hlmc import plotting
from hlmc.arenas.contenders import BASELINE, SWITCHES
from hlmc.arenas.result import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hlmc.arenas.result import ArenaResult

LEAST, MOST = 0.01, 100.0
"""The ends of the colour scale."""


def heat_map(result: ArenaResult, kind: str, arms: int | None, horizon: int | None) -> Figure:
    """Draw the ratios of one kind of regret, at one size or as medians over all sizes."""
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
        fig = plotting.figure(3.6 + 0.72 * len(cases), 2.2 + 0.3 * len(policies))
        ax = fig.subplots()
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
        bar = fig.colorbar(image, ax=ax, shrink=0.85, pad=0.02)
        bar.set_ticks([0.01, 0.1, 1.0, 10.0, 100.0], labels=["0.01", "0.1", "1", "10", "100"])
        bar.set_label(f"regret divided by {BASELINE}'s")
        notes = ["* memory for all arms"] if full else []
        if np.isnan([shown[at] for at in texts]).any():
            notes.append(
                f"grey: {BASELINE}'s regret is not significantly above 0; the policy's is lower, higher or equal"
            )
        ax.set_xlabel("; ".join(notes), fontsize=8)
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
    sizes = rows[["arms", "horizon"]].drop_duplicates()
    if len(sizes) == 1:
        (K, T), *_ = sizes.itertuples(index=False)
        return f"Ratios of {what} to {BASELINE}'s: K = {K:,}, T = {T:,}"
    return f"Ratios of {what} to {BASELINE}'s: medians over {len(sizes)} sizes"
