"""Plots used by several figures: regret against time with intervals, and regret against size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import bounds, plotting
from hlmc.evaluation import mean_interval
from hlmc.paper.experiment import Part, Picture, curves
from hlmc.simulation import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray

DASHES = (0, (7, 4))
"""Style of guides that are not bounds, such as slopes."""


def regret_pictures(name: str, part: Part, result: Result, text: str) -> tuple[Picture, Picture]:
    """Regret against time on linear and on logarithmic axes."""
    bands = "Bands: 95 % intervals of the mean. "
    drawn = "Thin lines with ticks: the curves plotted in the paper, with the constant 2." if part.levels else ""
    return (
        Picture(f"{name}-linear", f"{text} {bands}{drawn}", lambda: draw_regret(part, result, log=False)),
        Picture(f"{name}-log", f"{text} The same on logarithmic axes.", lambda: draw_regret(part, result, log=True)),
    )


def draw_regret(part: Part, result: Result, log: bool) -> Figure:
    """One line per policy with a band for the interval of the mean; the paper's curves are lines with ticks."""
    looks = plotting.looks(part.policies)
    with plotting.style():
        figure = plotting.figure(7.4, 4.0)
        ax = figure.subplots()
        top = 1.0
        for policy in part.policies:
            times, values = curves(result, policy, part.kind, part.switches)
            top = max(top, line(ax, times, values, policy, looks[policy], log))
        for policy, depth in part.levels.items():
            times, plotted = plotted_curve(result, depth)
            visible = np.where(plotted < 2 * top, plotted, np.nan)
            label = f"{policy}, plotted bound"
            plotting.draw_bound(ax, times, visible, looks[policy].colour, label)
        arms = "" if result.adversary is None else f"K = {result.adversary.arms:,}, "
        runs = result.reward.sizes["run"]
        plotting.title(
            ax, f"{part.kind.capitalize()} regret: {arms}T = {part.horizon:,}, {runs} run{'s' * (runs != 1)}"
        )
        _finish(ax, f"{part.kind} regret", log)
        if log:
            ax.set_xlim(left=max(1.0, part.horizon / 1e5))
            ax.set_ylim(bottom=max(1.0, top / 1e5))
            plotting.short_ticks(ax.xaxis)
            plotting.short_ticks(ax.yaxis)
    return figure


def line(ax: Axes, times: Array, values: Array, label: str, look: plotting.Look, log: bool = False) -> float:
    """Draw the mean of runs [run, time] with its band; return the highest value drawn."""
    mean = values.mean(axis=0)
    style = look.line()
    if log:
        style["markevery"] = 0.12
    ax.plot(times, np.where(mean > 0, mean, np.nan) if log else mean, label=label, **style)
    if len(values) < 2:
        return float(mean.max())
    _, low, high = mean_interval(values)
    if log:
        low, high = np.maximum(low, 1e-9), np.maximum(high, 1e-9)
    ax.fill_between(times, low, high, **look.band())
    return float(np.max(high))


def plotted_curve(result: Result, depth: int) -> tuple[Array, Array]:
    """The paper's curve for D levels, where T' is the reward of the best arm."""
    best = result.data["best_fixed"]
    arms = result.adversary.arms if result.adversary is not None else 0
    return best["time"].values, np.array([bounds.plotted(float(b), arms, depth) for b in best.values])


def draw_sizes(
    series: Mapping[str, tuple[Sequence[float], Any]],
    labels: tuple[str, str],
    title: str,
    guides: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
) -> Figure:
    """Means of runs [run, size] with intervals against size on logarithmic axes; guides are thin and dashed."""
    looks = plotting.looks(series)
    with plotting.style():
        figure = plotting.figure(7.4, 4.0)
        ax = figure.subplots()
        for name, (sizes, samples) in series.items():
            values = np.atleast_2d(np.asarray(samples, dtype=np.float64))
            style = looks[name].line() | {"markevery": 1}
            ax.plot(sizes, values.mean(axis=0), label=name, **style)
            if len(values) > 1:
                _, low, high = mean_interval(values)
                ax.fill_between(sizes, np.maximum(low, 1e-9), high, **looks[name].band())
        for name, (sizes, guide) in (guides or {}).items():
            of = name.split(",")[0]
            colour = looks[of].line()["color"] if of in looks else "#777777"
            ax.plot(sizes, guide, color=colour, linestyle=DASHES, linewidth=1.0, label=name)
        ax.set_xscale("log")
        _finish(ax, labels[1], log=True, across=labels[0])
        plotting.title(ax, title)
    return figure


def _finish(ax: Axes, label: str, log: bool, across: str = "steps") -> None:
    ax.set_xlabel(across)
    ax.set_ylabel(label)
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    else:
        ax.set_xlim(left=0.0)
        ax.set_ylim(bottom=0.0)
    plotting.short_ticks(ax.xaxis)
    plotting.short_ticks(ax.yaxis)
    plotting.legend(ax)
