"""Games as pictures: reward against time, and who was where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlmc import plotting
from hlmc.errors import BadArgument
from hlmc.evaluation import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.games.result import GameResult


def draw_reward(curves: dict[str, tuple[GameResult, str]], ax: Axes | None, window: bool = False) -> Axes:
    """One line for each (result, group), by its label, with a band for the 95 % interval of the mean."""
    looks = plotting.looks(curves)
    with plotting.style():
        if ax is None:
            ax = plotting.figure().subplots()
        for label, (result, name) in curves.items():
            reward = result.mean_reward(window).sel(policy=name)
            times, values = reward["time"].values, reward.values
            ax.plot(times, values.mean(axis=0), label=label, **looks[label].line())
            if len(values) > 1:
                _, low, high = t_interval(values)
                ax.fill_between(times, low, high, **looks[label].band())
        ax.set_xlabel("steps")
        ax.set_ylabel("reward an agent and step" + ("" if window else ", so far"))
        ax.set_ylim(bottom=0.0)
        plotting.short_ticks(ax.xaxis)
        ax.legend()
    return ax


def draw_occupancy(result: GameResult, ax: Axes | None, policy: str | None, run: int | None) -> Axes:
    """Agents on each arm against time; what the game marks is outlined."""
    if "occupancy" not in result.data:
        raise BadArgument("occupancy was not kept: play with occupancy=True")
    data = result.data if run is None else result.data.sel(run=[run])
    occupancy = data["occupancy"].mean("run")
    occupancy = occupancy.sum("policy") if policy is None else occupancy.sel(policy=policy)
    times = data["time"].values
    edges = np.concatenate([[0], times])
    arms = occupancy.sizes["arm"]
    unit = result.provenance["units"][1]
    with plotting.style():
        if ax is None:
            ax = plotting.figure(7.2, 4.2).subplots()
        ax.grid(False)
        mesh = ax.pcolormesh(
            edges, np.arange(arms + 1) - 0.5, occupancy.transpose("arm", "time").values, cmap="viridis", vmin=0.0
        )
        ax.figure.colorbar(mesh, ax=ax, label="agents")
        marked = result.provenance["marks"]
        if marked is not None:
            _outline(ax, edges, data[f"{marked}_arms"].mean("run").transpose("arm", "time").values)
        ax.set_xlabel("steps")
        ax.set_ylabel(unit)
        plotting.short_ticks(ax.xaxis)
    return ax


def _outline(ax: Axes, edges: np.ndarray, true_of: np.ndarray) -> None:
    """A frame around each stretch of time in which a fact was true of an arm more often than not."""
    from matplotlib.collections import LineCollection

    frames = []
    for arm, row in enumerate(true_of > 0.5):
        changes = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for first, last in zip(changes[::2], changes[1::2], strict=True):
            x0, x1, y0, y1 = edges[first], edges[last], arm - 0.5, arm + 0.5
            frames.append([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)])
    ax.add_collection(LineCollection(frames, colors=plotting.COLOURS["vermillion"], linewidths=1.4))
