"""Regret against time, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hlmc import plotting
from hlmc.checks import flag
from hlmc.errors import BadArgument
from hlmc.evaluation import by_environment, mean_interval
from hlmc.simulation.environments import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.simulation.result import Result

Array = np.ndarray

ROOM = 1.6
"""A bound higher than so many times the highest curve is named in the legend, not drawn: it would flatten all else."""
_DECADES = 1e5
"""A logarithmic axis ends at so small a part of the highest curve: regret that crosses zero would have no end."""


def draw_regret(
    result: Result,
    ax: Axes | None,
    kind: str | None,
    switches: int | None,
    log: bool,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """One line a policy with a band for the 95 % interval of the mean; the policies' bounds as lines with ticks.

    ``kind`` None: as the result chooses; where it has no regret to show, rewards without bounds.
    """
    kind = result.default_kind() if kind is None else kind
    regret = result.reward if kind is None else result.regret(kind, switches)
    if not regret.notnull().any():
        raise BadArgument("there is nothing to draw: no run was finished, or nothing to compare it with is known")
    bounds = result.bound(kind or "weak", switches).where(kind is not None)
    looks = plotting.looks(result.policies, colours)
    means = {name: regret.sel(policy=name).values.mean(axis=0) for name in result.policies}
    order = sorted(means, key=lambda name: -means[name][-1])  # the legend lists them as they end, top to bottom
    with plotting.style():
        ax = plotting.axes(ax, 8.4, 4.2)
        if flag("log", log):
            ax.set_xscale("log")
            ax.set_yscale("log", nonpositive="mask")
        times = regret["time"].values
        ceiling = 0.0
        for name in order:
            curves = regret.sel(policy=name).values
            low, high = _band(by_environment(curves, result.units))
            # On axes shared with other plots, or narrow ones, there is little room for a legend.
            roomy = plotting.is_alone(ax) and not plotting.is_narrow(ax)
            label = _label(result, name, bounds.sel(policy=name).values) if roomy else name
            ax.plot(times, means[name], label=label, **looks[name].line())
            ax.fill_between(times, _positive(low, means[name]) if log else low, high, **looks[name].band())
            ceiling = max(ceiling, float(np.nanmax(high)))
        drawn = [
            _bound(ax, times, bounds.sel(policy=name).values, looks[name], np.inf if log else ROOM * ceiling)
            for name in order
        ]
        if any(drawn):
            plotting.draw_bound(ax, [], [], "black", "proved bound")
        if log and ceiling > 0.0 and ax.get_ylim()[0] < ceiling / _DECADES:
            ax.set_ylim(bottom=ceiling / _DECADES)
        ax.set_xlabel("steps")
        ax.set_ylabel(quantity(kind, switches))
        plotting.short_ticks(ax.xaxis)
        plotting.short_ticks(ax.yaxis)
        plotting.legend(ax)
        plotting.title(ax, title(result.provenance), sizes(result))
    return ax


def _label(result: Result, name: str, bounds: Array) -> str:
    """A policy with its words, statistics + control, and its bound at the last time that it is known for."""
    known = bounds[np.isfinite(bounds)]
    said = f"  (bound {plotting.short(known[-1])})" if len(known) else ""
    return f"{plotting.with_words(name, result.provenance)}{said}"


def sizes(result: Result) -> str:
    """K, T and the number of runs."""
    arms = result.provenance.get("arms") or getattr(result.adversary, "arms", None)
    runs = result.reward.sizes["run"]
    shown = [f"K = {arms:,}"] if arms else []
    return ", ".join([*shown, f"T = {int(result.times[-1]):,}", f"{runs:,} run{'s' * (runs != 1)}"])


def quantity(kind: str | None, switches: int | None) -> str:
    if kind is None:
        return "reward"
    return f"{kind} regret" if switches is None else f"{kind} regret, {switches} switches"


def _band(curves: Array) -> tuple[Array, Array]:
    """The ends of the mean's interval, from curves [independent unit, time]; of a single one, the curve itself."""
    if len(curves) < 2:
        return curves[0], curves[0]
    _, low, high = mean_interval(curves)
    return low, high


def _positive(low: Array, mean: Array) -> Array:
    """The lower end of a band where the axis has no place for zero: no lower than a thousandth of the mean."""
    raised: Array = np.maximum(low, np.where(mean > 0, mean / 1000, np.nan))
    return raised


def _bound(ax: Axes, times: Array, values: Array, look: plotting.Look, ceiling: float) -> bool:
    """Draw a bound as far as it is not above the ceiling; whether anything was drawn."""
    heights = np.where(values <= ceiling, values, np.nan)
    if np.isfinite(heights).any():
        plotting.draw_bound(ax, times, heights, look.colour)
        return True
    return False
