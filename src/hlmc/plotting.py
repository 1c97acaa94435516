"""The style of the plots: each policy has the same colour, line and marker in all of them.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which are distinguishable for
colour-blind readers. Line styles and markers distinguish the policies in black-and-white prints. Matplotlib is
imported at the first plot. The ``plot`` methods of results draw on new figures of `pyplot`, which notebooks show by
themselves and scripts with ``plt.show()``, unless they are given axes. The settings of Matplotlib do not change.

>>> with style():
...     fig = figure()
...     ax = fig.subplots()
...     _ = ax.plot([1, 10, 100], [3, 9, 27], **look("HLMC").line(), label="HLMC")
...     short_ticks(ax.xaxis)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hlmc.checks import writable
from hlmc.errors import BadArgument, BadType, need_lab, shown
from hlmc.spelling import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "Look",
    "check_path",
    "draw_bound",
    "figure",
    "legend",
    "look",
    "looks",
    "save",
    "short",
    "short_ticks",
    "style",
    "title",
]

COLOURS = {
    "black": "#000000",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
}
"""Okabe and Ito's colours. Yellow is too pale for lines on white and is used for areas only."""

LINES = {
    "solid": "-",
    "dashed": (0, (5, 2)),
    "dotted": (0, (1.2, 1.4)),
    "mixed": (0, (6, 1.6, 1.2, 1.6)),
}


class Look(NamedTuple):
    """The look of one policy: a name from `COLOURS`, a name from `LINES`, and a Matplotlib marker."""

    colour: str
    dashes: str
    marker: str

    def line(self) -> dict[str, Any]:
        """Arguments for ``ax.plot``; a line has few markers, however many points it has."""
        return {
            "color": COLOURS[self.colour],
            "linestyle": LINES[self.dashes],
            "marker": self.marker,
            "markevery": 0.1,
        }

    def band(self) -> dict[str, Any]:
        """Arguments for ``ax.fill_between`` around the line."""
        return {"color": COLOURS[self.colour], "alpha": 0.18, "linewidth": 0}


# Bounded memory is drawn solid, full memory dashed, arms in blocks dotted.
LOOKS = {
    "HLMC": Look("blue", "solid", "o"),
    "HLMC.S": Look("green", "solid", "s"),
    "HLMC.P": Look("purple", "solid", "D"),
    "Champion": Look("vermillion", "solid", "*"),
    "EXP3": Look("orange", "dashed", "^"),
    "EXP3.S": Look("sky", "dashed", "v"),
    "EXP3.P": Look("purple", "dashed", "d"),
    "EXP3-IX": Look("vermillion", "dashed", "p"),
    "UCB1": Look("black", "dashed", "h"),
    "Tsallis-INF": Look("green", "dashed", ">"),
    "UCB-M": Look("black", "dotted", "x"),
    "UCB-M shuffled": Look("purple", "dotted", "P"),
    "EXP3-M": Look("sky", "dotted", "<"),
    "Thompson": Look("blue", "dashed", "X"),
    "EpsilonGreedy": Look("vermillion", "mixed", "H"),
    "Uniform": Look("black", "mixed", "."),
}
"""The looks of the catalogue, by the names used in plots."""


_KNOWN = {plain(name): known for name, known in LOOKS.items()}
_LINE_COLOURS = [name for name in COLOURS if name != "yellow"]
# Neighbours in this list differ in all three parts, and none is a look of the catalogue.
_SPARE = [
    spare
    for i in range(140)
    if (spare := Look(_LINE_COLOURS[i % 7], ("mixed", "dotted", "dashed", "solid")[i % 4], "HXd8>"[i % 5]))
    not in LOOKS.values()
]


def look(name: str) -> Look:
    """The look of a policy by its name, with or without dots and hyphens.

    >>> look("UCB-M") == look("ucbm")
    True
    >>> look("UCB-M")
    Look(colour='black', dashes='dotted', marker='x')
    """
    return looks([name])[name]


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, all different.

    Names of the catalogue have fixed looks. Any other name gets a spare look that depends only on
    its letters, or the next free one if two names would share it.

    >>> found = looks(["HLMC", "mine", "enim"])
    >>> found["HLMC"] == LOOKS["HLMC"], found["mine"] == look("mine"), found["enim"] == found["mine"]
    (True, True, False)
    """
    found: dict[str, Look] = {}
    taken: set[int] = set()
    for name in names:
        if name in found:
            continue
        if known := _KNOWN.get(plain(name)):
            found[name] = known
            continue
        start = sum(map(ord, name))
        free = (i % len(_SPARE) for i in range(start, start + len(_SPARE)) if i % len(_SPARE) not in taken)
        place = next(free, start % len(_SPARE))
        taken.add(place)
        found[name] = _SPARE[place]
    return found


STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.facecolor": "white",
    "figure.titlesize": 12,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.7,
    "lines.markersize": 5.5,
    "savefig.facecolor": "white",
    "svg.hashsalt": "hlmc",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


@contextmanager
def style() -> Iterator[None]:
    """A context in which Matplotlib uses the style of the library; its settings are restored afterwards.

    Draw on figures of the library only in such a context, because Matplotlib reads its settings when something is
    drawn.
    """
    need_lab("matplotlib")
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style sheet has no part in it
        matplotlib.rcParams.update(cast(Any, STYLE))
        yield
        # The first figure of a notebook loads its backend, which switches interactive mode on. That must stay.
        interactive = matplotlib.is_interactive()
    matplotlib.interactive(interactive)


def figure(width: float = 6.4, height: float = 4.0) -> Figure:
    """An empty figure with constrained layout; the size is in inches."""
    need_lab("matplotlib")
    from matplotlib.figure import Figure

    with style():
        return Figure(figsize=(width, height), layout="constrained")


def axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """The axes that were given, or those of a new figure of `pyplot`, which a notebook shows by itself."""
    need_lab("matplotlib")
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        with style():
            return plt.figure(figsize=(width, height), layout="constrained").subplots()
    if not isinstance(ax, Axes):
        raise BadType(f"ax must be axes of Matplotlib or None, not {shown(ax)}")
    return ax


def is_alone(ax: Axes) -> bool:
    """Whether axes are the only ones of a figure that makes room for what is beside them: a legend, a long title."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    fig = ax.figure.figure  # that of a part of a figure is the whole one
    return len(fig.axes) == 1 and isinstance(fig.get_layout_engine(), ConstrainedLayoutEngine)


def legend(ax: Axes) -> None:
    """A legend that covers no data: beside axes that are alone in their figure, else where it covers least."""
    if is_alone(ax):
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    else:
        ax.legend(loc="best")


def title(ax: Axes, *lines: str) -> None:
    """The title of axes that are alone in their figure and have none yet; long lines are cut."""
    if is_alone(ax) and not ax.get_title(loc="left"):
        ax.set_title("\n".join(line if len(line) < 75 else f"{line[:71]} ..." for line in lines), loc="left")


def draw_bound(ax: Axes, times: Any, heights: Any, colour: str, label: str | None = None) -> None:
    """Draw a bound as a thin line with ticks on its upper side, which no curve has; ``colour`` is a key of `COLOURS`.

    A bound that is known at one time only is drawn as a short piece that ends there.

    >>> ax = figure().subplots()
    >>> draw_bound(ax, [0, 50, 100], [float("nan"), float("nan"), 30.0], "blue")
    >>> ax.lines[0].get_xydata().tolist()
    [[88.0, 30.0], [100.0, 30.0]]
    """
    import numpy as np
    from matplotlib.patheffects import withTickedStroke

    times, heights = np.asarray(times, float), np.asarray(heights, float)
    known = np.isfinite(heights)
    if known.sum() == 1:
        first, last = float(times[0]), float(times[known][0])
        log = ax.get_xscale() == "log" and first > 0.0
        begin = last * (first / last) ** 0.12 if log else last - 0.12 * (last - first)
        times, heights = np.array([begin, last]), np.repeat(heights[known], 2)
    else:
        times, heights = times[known], heights[known]
    ticks = withTickedStroke(spacing=7, angle=60, length=0.7)
    ax.plot(times, heights, color=COLOURS[colour], linewidth=0.9, zorder=1.5, path_effects=[ticks], label=label)


def short(value: float) -> str:
    """A number with three digits and an SI prefix.

    >>> [short(value) for value in (0, 7, 0.25, 1500, 10**7, 2.5e9, -3e3, 1e-9, 1e18)]
    ['0', '7', '0.25', '1.5k', '10M', '2.5G', '-3k', '1e-09', '1e18']
    """
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e15:
            return f"{value / size:.3g}{prefix}"
    return f"{value:.3g}".replace("e+", "e")


def short_ticks(axis: Axis) -> None:
    """Label an axis with `short` numbers; a logarithmic axis of less than three decades also at 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    label = FuncFormatter(lambda value, _: short(value))
    axis.set_major_formatter(label)
    if axis.get_scale() != "log":
        return
    low, high = axis.get_view_interval()
    few = low > 0 and high / low < 1000
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_minor_formatter(NullFormatter())


SUFFIXES = (".png", ".svg", ".pdf")


def check_path(path: str | Path) -> Path:
    """The path of a plot; an error if its suffix is unknown or it cannot be written.

    >>> check_path("curve.gif")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: the file of a plot must end in .png, .svg or .pdf, not 'curve.gif'
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise BadArgument(f"the file of a plot must end in .png, .svg or .pdf, not {shown(str(path))}")
    return writable("plot", path)


def save(fig: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by its suffix. A crash leaves the old file or the new one.

    The bytes depend only on the figure, not on the time.
    """
    from hlmc.files.writing import replacing

    path = check_path(path)
    kind = path.suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with replacing(path) as file, style():
        fig.savefig(file, format=kind, dpi=200, metadata=undated)
    return path
