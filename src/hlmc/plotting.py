"""How the library's plots look: one style, and one colour, line and marker for each policy everywhere.

The colours are those of Okabe and Ito ("Color Universal Design", 2008), which the colour-blind can tell
apart; line styles and markers tell the policies apart in a black-and-white print. Matplotlib is imported when
something is drawn, and the global state of `pyplot` is left alone: a figure belongs to whoever asked for it,
and no window is opened.

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
from hlmc.errors import BadArgument, shown

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "Look",
    "check_path",
    "figure",
    "look",
    "looks",
    "save",
    "short",
    "short_ticks",
    "style",
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
"""Okabe and Ito's colours. Yellow is too pale for a line on white and serves for areas only."""

LINES = {
    "solid": "-",
    "dashed": (0, (5, 2)),
    "dotted": (0, (1.2, 1.4)),
    "mixed": (0, (6, 1.6, 1.2, 1.6)),
}


class Look(NamedTuple):
    """The look of one policy: a name from `COLOURS`, a name from `LINES`, and a marker of Matplotlib's."""

    colour: str
    dashes: str
    marker: str

    def line(self) -> dict[str, Any]:
        """Arguments for ``ax.plot``; the markers are few, however many points the line has."""
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
    "Uniform": Look("black", "mixed", "."),
}
"""The looks of the catalogue, by the names that the plots use."""


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


_KNOWN = {_plain(name): known for name, known in LOOKS.items()}
_LINE_COLOURS = [name for name in COLOURS if name != "yellow"]
# Neighbours in this list differ in all three parts, and none is a look of the catalogue.
_SPARE = [
    spare
    for i in range(140)
    if (spare := Look(_LINE_COLOURS[i % 7], ("mixed", "dotted", "dashed", "solid")[i % 4], "HXd8>"[i % 5]))
    not in LOOKS.values()
]


def look(name: str) -> Look:
    """The look of a policy by its name, with or without points and dashes.

    >>> look("UCB-M") == look("ucbm")
    True
    >>> look("UCB-M")
    Look(colour='black', dashes='dotted', marker='x')
    """
    return looks([name])[name]


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, no two alike.

    Names of the catalogue have their own. Any other name has a place among the spare looks that depends on
    nothing but its letters, or the next free one where two names would share it.

    >>> found = looks(["HLMC", "mine", "enim"])
    >>> found["HLMC"] == LOOKS["HLMC"], found["mine"] == look("mine"), found["enim"] == found["mine"]
    (True, True, False)
    """
    found: dict[str, Look] = {}
    taken: set[int] = set()
    for name in names:
        if name in found:
            continue
        if known := _KNOWN.get(_plain(name)):
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
    """Within this block Matplotlib draws in the library's style; afterwards its settings are what they were.

    Whatever is drawn on a figure of the library belongs into such a block, as Matplotlib looks at its
    settings when something is drawn.
    """
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style sheet has no part in it
        matplotlib.rcParams.update(cast(Any, STYLE))
        yield


def figure(width: float = 6.4, height: float = 4.0) -> Figure:
    """An empty figure, in inches, whose parts make room for each other."""
    from matplotlib.figure import Figure

    with style():
        return Figure(figsize=(width, height), layout="constrained")


def short(value: float) -> str:
    """A number in three digits and a prefix.

    >>> [short(value) for value in (0, 7, 0.25, 1500, 10**7, 2.5e9, -3e3, 1e-9, 1e18)]
    ['0', '7', '0.25', '1.5k', '10M', '2.5G', '-3k', '1e-09', '1e18']
    """
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e15:
            return f"{value / size:.3g}{prefix}"
    return f"{value:.3g}".replace("e+", "e")


def short_ticks(axis: Axis) -> None:
    """Label an axis by `short` numbers; a logarithmic one of less than three decades also at 2 and 5."""
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
    """The path of a plot, refused where its suffix is not known or it cannot be written.

    >>> check_path("curve.gif")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: a plot's file must end in .png, .svg or .pdf, not 'curve.gif'
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise BadArgument(f"a plot's file must end in .png, .svg or .pdf, not {shown(str(path))}")
    return writable("plot", path)


def save(fig: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by its suffix; a crash leaves the old file or the new one.

    The bytes depend on the figure alone, not on the time of day.
    """
    from hlmc.files.writing import replacing

    path = check_path(path)
    kind = path.suffix.lower()[1:]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with replacing(path) as file, style():
        fig.savefig(file, format=kind, dpi=200, metadata=undated)
    return path
