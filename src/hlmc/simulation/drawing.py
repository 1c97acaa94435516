"""Regret against time, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlmc import plotting
from hlmc.checks import flag
from hlmc.errors import BadArgument
from hlmc.evaluation import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.simulation.result import Result

Array = np.ndarray

_ROOM = 1.6
"""A bound higher than so many times the highest curve is named in the legend, not drawn: it would flatten all else."""


def draw_regret(result: Result, ax: Axes | None, kind: str | None, switches: int | None, log: bool) -> Axes:
    """One line a policy with a band for the 95 % interval of the mean; the policies' bounds thin and dashed.

    ``kind`` None: as the result chooses; where it has no regret to show, rewards without bounds.
    """
    kind = result.default_kind() if kind is None else kind
    regret = result.reward if kind is None else result.regret(kind, switches)
    if not regret.notnull().any():
        raise BadArgument("there is nothing to draw: no run was finished, or nothing to compare it with is known")
    bounds = result.bound(kind or "weak", switches).where(kind is not None)
    looks = plotting.looks(result.policies)
    means = {name: regret.sel(policy=name).values.mean(axis=0) for name in result.policies}
    order = sorted(means, key=lambda name: -means[name][-1])  # the legend lists them as they end, top to bottom
    with plotting.style():
        alone = ax is None
        ax = plotting.axes(ax, 7.6, 4.2)
        if flag("log", log):
            ax.set_xscale("log")
            ax.set_yscale("log", nonpositive="mask")
        times = regret["time"].values
        ceiling = 0.0
        for name in order:
            curves = regret.sel(policy=name).values
            low, high = _band(curves)
            ax.plot(times, means[name], label=name, **looks[name].line())
            ax.fill_between(times, _positive(low, means[name]) if log else low, high, **looks[name].band())
            ceiling = max(ceiling, float(np.nanmax(high)))
        for name in order:
            values = bounds.sel(policy=name).values
            _bound(ax, name, times, values, looks[name], np.inf if log else _ROOM * ceiling)
        ax.set_xlabel("steps")
        ax.set_ylabel(_quantity(kind, switches))
        plotting.short_ticks(ax.xaxis)
        plotting.short_ticks(ax.yaxis)
        _legend(ax, result, alone)
    return ax


def _quantity(kind: str | None, switches: int | None) -> str:
    if kind is None:
        return "reward"
    return f"{kind} regret" if switches is None else f"{kind} regret, {switches} switches"


def _band(curves: Array) -> tuple[Array, Array]:
    """The ends of the mean's interval; of a single run, the run itself."""
    if len(curves) < 2:
        return curves[0], curves[0]
    _, low, high = t_interval(curves)
    return low, high


def _positive(low: Array, mean: Array) -> Array:
    """The lower end of a band where the axis has no place for zero: no lower than a thousandth of the mean."""
    raised: Array = np.maximum(low, np.where(mean > 0, mean / 1000, np.nan))
    return raised


def _bound(ax: Axes, name: str, times: Array, values: Array, look: plotting.Look, ceiling: float) -> None:
    """A bound that is proved at the horizon only is a level line; others follow the time."""
    known = np.isfinite(values)
    if not known.any():
        return
    if values[known].min() > ceiling:
        for line in ax.get_lines():
            if line.get_label() == name:
                line.set_label(f"{name}  (bound {plotting.short(values[known][-1])})")
        return
    from matplotlib.patheffects import withStroke

    colour = plotting.COLOURS[look.colour]
    level = known.sum() == 1
    heights = np.full(len(times), values[known][0]) if level else np.where(values <= ceiling, values, np.nan)
    ax.plot(times, heights, color=colour, linestyle=(0, (7, 4)), linewidth=0.9)
    at = np.flatnonzero(np.isfinite(heights))[-1]
    label = ax.annotate(f"bound of {name}", (times[at], heights[at]), xytext=(0, 3), textcoords="offset points")
    halo = [withStroke(linewidth=2.5, foreground="white")]
    label.set(fontsize=8, color=colour, ha="right", in_layout=False, path_effects=halo, zorder=5)


def _legend(ax: Axes, result: Result, alone: bool) -> None:
    """Beside the picture where it is ours to arrange; within somebody else's, where it hides least."""
    if not alone:
        ax.legend(loc="best")
        return
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    title = str(result.provenance["adversary"])
    runs = result.reward.sizes["run"]
    title = title if len(title) < 60 else title[:57] + "..."
    ax.set_title(f"{title}, {runs} run{'s' if runs > 1 else ''}", loc="left")
