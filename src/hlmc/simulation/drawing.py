"""Regret against time, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlmc import plotting
from hlmc.evaluation import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.simulation.result import Result


def draw_regret(result: Result, ax: Axes | None, kind: str, switches: int | None, log: bool) -> Axes:
    """One line a policy with a band for the 95 % interval of the mean; the policies' bounds dashed in their colours."""
    if ax is None:
        ax = plotting.figure().subplots()
    regret = result.regret(kind, switches)
    times = regret["time"].values
    highest = 0.0
    for name in result.policies:
        curves = regret.sel(policy=name).values
        style = plotting.style(name)
        mean = curves.mean(axis=0)
        ax.plot(times, mean, label=name, **style)
        if len(curves) > 1:
            _, low, high = t_interval(curves)
            ax.fill_between(times, low, high, color=style["color"], alpha=0.2, linewidth=0)
            highest = max(highest, float(np.max(high)))
        highest = max(highest, float(mean.max()))
    for name in result.policies:
        bound = result.data["bound"].sel(policy=name).values
        if np.isfinite(bound).any() and np.nanmin(bound) < 2.0 * highest:
            visible = np.where(bound < 2.0 * highest, bound, np.nan)
            ax.plot(times, visible, color=plotting.style(name)["color"], linestyle=(0, (6, 4)), linewidth=1.0)
    plotting.axes(ax, "steps", f"{kind} regret", log=log)
    ax.legend()
    return ax
