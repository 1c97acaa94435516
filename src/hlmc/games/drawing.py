"""Plots of games: reward, regret and fairness against time, and the number of agents on each arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlmc import plotting
from hlmc.checks import choice, whole
from hlmc.errors import BadArgument
from hlmc.evaluation import mean_interval

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hlmc.games.result import GameResult


KINDS = ("reward", "regret", "fairness")
"""What can be drawn against time."""


def draw_curves(
    curves: dict[str, tuple[GameResult, str]], ax: Axes | None, kind: str = "reward", window: bool = False
) -> Axes:
    """One line for each (result, group), by its label, with a band for the 95 % interval of the mean over the runs."""
    looks = plotting.looks(curves)
    with plotting.style():
        ax = plotting.axes(ax, 7.6)
        for label, (result, name) in curves.items():
            shown = _quantity(result, kind, window).sel(policy=name)
            times, values = shown["time"].values, shown.transpose("run", "time").values
            named = label + plotting.with_words(name, result.provenance).removeprefix(name)
            ax.plot(times, values.mean(axis=0), label=named, **looks[label].line())
            if len(values) > 1:
                _, low, high = mean_interval(values)
                ax.fill_between(times, low, high, **looks[label].band())
        ax.set_xlabel("steps")
        ax.set_ylabel(_quantity_shown(kind, window))
        if kind != "regret":
            ax.set_ylim(bottom=0.0)
        plotting.short_ticks(ax.xaxis)
        plotting.legend(ax)
        if len({id(result) for result, _ in curves.values()}) == 1:
            plotting.title(ax, _title(result))
    return ax


def _quantity(result: GameResult, kind: str, window: bool) -> xr.DataArray:
    if kind == "reward":
        return result.mean_reward(window)
    if window:
        raise BadArgument(f'window must be False for kind = "{kind}": it is for "reward"')
    return result.regret() if kind == "regret" else result.fairness()


def _quantity_shown(kind: str, window: bool) -> str:
    if kind == "reward":
        return "mean reward per agent per step" + ("" if window else ",\ncumulative")
    return "regret per agent" if kind == "regret" else "Jain's index of fairness"


def _title(result: GameResult) -> str:
    """The game, its agents, K, T and the number of runs."""
    known = result.provenance
    runs = result.data.sizes["run"]
    agents = sum(known["agents"].values())
    arms = f"K = {known['arms']:,}, " if "arms" in known else ""  # which results of earlier versions do not say
    steps = f"T = {int(result.data['time'][-1]):,}, {runs:,} run{'s' * (runs != 1)}"
    return f"{known['game'].partition('(')[0]}, {agents:,} agents, {arms}{steps}"


def draw_all(results: dict[str, GameResult], run: int = 0) -> Figure:
    """Reward against time for several populations, and for each of them the agents on each arm in one run."""
    height = 3.2 + 2.6 * len(results)
    fig = plotting.figure(7.2, height)
    curves = {}
    for label, result in results.items():
        for name in result.policies:
            curves[name if len(result.policies) == 1 else f"{name} in {label}"] = (result, name)
    with plotting.style():
        axes = fig.subplots(1 + len(results), 1, height_ratios=[3.2, *[2.6] * len(results)], sharex=True)
        draw_curves(curves, axes[0])
        axes[0].set_xlabel("")
        axes[0].set_title(_title(next(iter(results.values()))), loc="left")
        # Maps that are compared share a scale.
        most = max(float(_occupancy(result, None, run)[1].max()) for result in results.values())
        for ax, (label, result) in zip(axes[1:], results.items(), strict=True):
            draw_occupancy(result, ax, None, run, most)
            ax.set_title(f"{label}, run {run}", loc="left")
            ax.set_xlabel("")
        axes[-1].set_xlabel("steps")
    return fig


def draw_occupancy(
    result: GameResult, ax: Axes | None, policy: str | None, run: int | None, most: float | None = None
) -> Axes:
    """Agents on each arm against time; what the game marks is outlined. ``most`` agents are the end of the scale."""
    from matplotlib.ticker import MaxNLocator

    data, occupancy = _occupancy(result, policy, run)
    times = np.concatenate([[0], data["time"].values])
    arms = np.arange(occupancy.sizes["arm"] + 1) - 0.5
    with plotting.style():
        ax = plotting.axes(ax, 7.2, 4.2)
        which = "mean over the runs" if run is None else f"run {run}"
        plotting.title(ax, _title(result), f"{policy or 'all agents'}, {which}")
        ax.grid(False)
        agents = occupancy.transpose("arm", "time").values
        mesh = ax.pcolormesh(times, arms, agents, cmap="viridis", vmin=0.0, vmax=most)
        ax.figure.colorbar(mesh, ax=ax, label="agents")
        marked = result.provenance["marks"]
        if marked is not None:
            _outline(ax, times, data[f"{marked}_arms"].mean("run").transpose("arm", "time").values, marked)
        ax.set_xlabel("steps")
        ax.set_ylabel(result.provenance["units"][1])
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        plotting.short_ticks(ax.xaxis)
    return ax


def _occupancy(result: GameResult, policy: str | None, run: int | None) -> tuple[xr.Dataset, xr.DataArray]:
    """The data of one run or all, and agents(time, arm) of one group or all, averaged over those runs."""
    if "occupancy" not in result.data:
        raise BadArgument("occupancy was not kept: play with occupancy=True")
    data = result.data
    if run is not None:
        if whole("run", run, 0) not in data["run"]:
            raise BadArgument(f"there is no run {run} in this result; there are {data['run'].values.tolist()}")
        data = data.sel(run=[int(run)])
    if policy is not None:
        choice("policy", policy, *result.policies)
    occupancy = data["occupancy"].mean("run")
    return data, occupancy.sum("policy") if policy is None else occupancy.sel(policy=policy)


def _outline(ax: Axes, times: np.ndarray, true_of: np.ndarray, name: str) -> None:
    """Outline the time intervals in which a fact was true of an arm more often than not."""
    from matplotlib.collections import LineCollection

    frames = []
    for arm, row in enumerate(true_of > 0.5):
        changes = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for first, last in zip(changes[::2], changes[1::2], strict=True):
            x0, x1, y0, y1 = times[first], times[last], arm - 0.5, arm + 0.5
            frames.append([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)])
    if frames:
        colour = plotting.COLOURS["vermillion"]
        ax.add_collection(LineCollection(frames, colors=colour, linewidths=1.4, clip_on=False, zorder=3))
        ax.annotate(
            f"outlined: {name}",
            (1.0, 0.0),
            xytext=(0, -20),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            ha="right",
            fontsize=9,
            color=colour,
        )
