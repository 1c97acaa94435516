"""The plot of ``hlmc plan --plot``: the bound on the regret against words of memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hlmc.cli.output import product
from hlmc.errors import BadArgument
from hlmc.plotting import COLOURS, figure, look, short_ticks, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hlmc.cli.plan import Point
    from hlmc.policies.hierarchy import HLMC

Place = tuple[int, float, "Point"]
GREY = "#555555"


def draw(policy: HLMC, points: Sequence[Point], memory: int | None) -> Figure:
    """Bound against words on logarithmic axes, one point per hierarchy; the chosen one is highlighted.

    The line is the smallest of these bounds for a number of words. Hierarchies that are worse than another one in both
    words and bound are omitted, unless chosen: beyond some depth, more levels save no words.
    """
    places = [(point.words, point.bound, point) for point in points if point.bound and point.words]
    if not places or policy.horizon is None:
        raise BadArgument("--plot: there is no bound above 0 to draw for these arms and routines")
    places = [place for place in places if place[2].chosen or not _beaten(place, places)]
    places.sort(key=lambda place: place[:2])
    with style():
        fig = figure(7.2, 4.6)
        ax = fig.subplots()
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("words of statistics")
        ax.set_ylabel("bound on the regret")
        ax.set_title(f"HLMC, K = {policy.arms:,} arms, T = {policy.horizon:,} steps", loc="left")
        _limits(ax, places, policy.horizon, memory)
        _curve(ax, places)
        short_ticks(ax.xaxis)
        short_ticks(ax.yaxis)
        _labels(fig, ax, places)
    return fig


def _beaten(place: Place, others: Sequence[Place]) -> bool:
    words, bound, _ = place
    return any(w <= words and b <= bound and (w, b) != (words, bound) for w, b, _ in others)


def _limits(ax: Axes, places: Sequence[Place], T: int, memory: int | None) -> None:
    words = [x for x, *_ in places]
    heights = [T, *(y for _, y, _ in places)]
    if memory is not None:
        words.append(memory)
        ax.axvline(memory, color=GREY, linewidth=0.9, linestyle=":", zorder=1)
        text = ax.text(memory, 0.02, f" M = {memory:,}", transform=ax.get_xaxis_transform())
        text.set(fontsize=8.5, color=GREY, in_layout=False)
    low, high = max(min(heights), 1) / 3, max(heights) * 4
    ax.set_xlim(min(words) / 1.4, max(words) * 1.4)
    ax.set_ylim(low, high)
    ax.axhspan(T, high, color=COLOURS["yellow"], alpha=0.25, linewidth=0, zorder=0)
    ax.axhline(T, color=GREY, linewidth=0.9, zorder=1)
    says = ax.text(0.985, 0.975, "T and above: the bound is vacuous", transform=ax.transAxes)
    says.set(fontsize=8.5, color=GREY, ha="right", va="top")


def _curve(ax: Axes, places: Sequence[Place]) -> None:
    hlmc = look("HLMC")
    colour = COLOURS[hlmc.colour]
    front = [place for place in places if not _beaten(place, places)]
    x, y = [x for x, *_ in front], [y for _, y, _ in front]
    ax.plot(x, y, color=colour, linewidth=1.2, drawstyle="steps-post", zorder=2)
    ax.plot([x for x, *_ in places], [y for _, y, _ in places], color=colour, marker=hlmc.marker, linestyle="")
    for x_, y_, point in places:
        if point.chosen:
            ax.plot(x_, y_, color=COLOURS["vermillion"], marker="*", markersize=15, linestyle="", zorder=4)


def _labels(fig: Figure, ax: Axes, places: Sequence[Place]) -> None:
    """Label the chosen point, then as many others as fit, shallow hierarchies first."""
    from matplotlib.transforms import Bbox

    fig.draw_without_rendering()  # to fix all positions
    frame = ax.get_window_extent()
    taken = [text.get_window_extent() for text in ax.texts]
    for x, y, point in places:
        at, radius = ax.transData.transform((x, y)), 11 if point.chosen else 5
        taken.append(Bbox.from_extents(*(at - radius), *(at + radius)))
    for x, y, point in sorted(places, key=lambda place: (not place[2].chosen, place[2].levels)):
        full = f"D = {point.levels}: {product(point.groups)}"
        # Above the line that leaves the point to the right, or below the one that comes down to it.
        for text, side in ((full, 1), (full, -1), (f"D = {point.levels}", 1)):
            label = ax.annotate(text, (x, y), xytext=(9 * side, 4 * side), textcoords="offset points")
            label.set(fontsize=8, ha="left" if side > 0 else "right", va="bottom" if side > 0 else "top")
            label.set(fontweight="bold" if point.chosen else "normal")
            box = label.get_window_extent()
            if frame.containsx(box.x0) and frame.containsx(box.x1) and not box.count_overlaps(taken):
                taken.append(box)
                break
            label.remove()
