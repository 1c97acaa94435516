"""Values of candidates and their intervals, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlmc import plotting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.logs.frame import Replay


NAMES = {"dr": "doubly robust", "ips": "IPS", "snips": "SNIPS"}


def draw(replay: Replay, ax: Axes | None) -> Axes:
    """One line per candidate, top to bottom, from the low to the high end; grey where there is a warning."""
    with plotting.style():
        ax = plotting.axes(ax, 7.0, 1.2 + 0.32 * len(replay))
        places = list(range(len(replay)))
        for place, (_, row) in zip(places, replay.iterrows(), strict=True):
            colour = "#888888" if row["warning"] else plotting.COLOURS["blue"]
            ax.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=2.0, alpha=0.6)
            ax.plot([row["value"]], [place], "o", color=colour)
        logged = replay.attrs.get("logged")
        if logged is not None:
            ax.axvline(logged, color="black", linestyle=plotting.LINES["dotted"], label="the log itself")
        ax.set_yticks(places, [str(name) for name in replay.index])
        ax.invert_yaxis()
        ax.set_xlabel("reward per decision")
        plotting.legend(ax)
        if "rows" in replay.attrs:
            size = f"{replay.attrs['rows']:,} rows, {replay.attrs['blocks']:,} blocks"
            plotting.title(
                ax, f"{NAMES[replay.attrs['estimator']]}, {100 * replay.attrs['level']:g} % intervals; {size}"
            )
    return ax
