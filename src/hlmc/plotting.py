"""The style of the plots: each policy has the same colour, line and marker in all of them.

The looks are in :mod:`hlmc.looks`. Matplotlib is imported at the first plot. The ``plot`` methods of results draw on
new figures of `pyplot`, which notebooks show by themselves and scripts with ``plt.show()``, unless they are given axes.
The settings of Matplotlib do not change.

>>> with style():
...     fig = figure()
...     ax = fig.subplots()
...     _ = ax.plot([1, 10, 100], [3, 9, 27], **look("HLMC").line(), label="HLMC")
...     short_ticks(ax.xaxis)
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hlmc.checks import choice, writable
from hlmc.errors import BadArgument, BadType, need_lab, shown
from hlmc.looks import COLOURS, LINES, LOOKS, Look, look, looks, sequential

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "FORMATS",
    "LINES",
    "LOOKS",
    "Look",
    "check_path",
    "draw_bound",
    "figure",
    "legend",
    "look",
    "looks",
    "save",
    "sequential",
    "short",
    "short_ticks",
    "style",
    "title",
    "with_words",
]

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
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "hlmc",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


class Format(NamedTuple):
    """Where a figure is to stand: its width in inches, the size of its text in points, and how thick lines are."""

    width: float
    text: float
    lines: float

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of Matplotlib that differ from `STYLE`."""
        small: dict[str, Any] = dict.fromkeys(
            ("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 0.9 * self.text
        )
        usual = dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize", "figure.titlesize"), self.text)
        thick = {"lines.linewidth": self.lines, "lines.markersize": 3.2 * self.lines, "legend.handlelength": 2.6}
        return small | usual | thick


FORMATS = {"column": Format(3.4, 8.0, 1.1), "page": Format(7.0, 9.0, 1.4), "slide": Format(10.0, 18.0, 2.6)}
"""A column and the page of a paper in two columns, and a slide. Fonts are embedded as Type 42, as journals ask."""

NARROW = 45
"""Letters: in a narrower figure a legend beside the axes would leave them no room."""

_format: ContextVar[Format | None] = ContextVar("format", default=None)


@contextmanager
def style(name: str | None = None) -> Iterator[None]:
    """A context in which Matplotlib uses the style of the library; its settings are restored afterwards.

    Draw on figures of the library only in such a context, because Matplotlib reads its settings when something is
    drawn.

    Parameters
    ----------
    name
        ``"column"`` (3.4 inches wide), ``"page"`` (7 inches) or ``"slide"`` (10 inches): new figures get this width,
        and text and lines that go with it. So do the ``plot`` methods of results. Default: as around this context.

    Examples
    --------
    >>> with style("column"):
    ...     figure().get_size_inches().tolist()
    [3.4, 2.448]
    """
    need_lab("matplotlib")
    import matplotlib

    if name is not None:
        choice("name", name, *FORMATS)
    form = _format.get() if name is None else FORMATS[name]
    outside = _format.set(form)
    try:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()  # a user's own style sheet has no part in it
            matplotlib.rcParams.update(cast(Any, STYLE | (form.settings if form else {})))
            yield
            # The first figure of a notebook loads its backend, which switches interactive mode on. That must stay.
            interactive = matplotlib.is_interactive()
        matplotlib.interactive(interactive)
    finally:
        _format.reset(outside)


def _sized(width: float, height: float) -> tuple[float, float]:
    """The size of a new figure of this size or, in a format, of the format's width; with room for a legend below."""
    form = _format.get()
    if form is None:
        return width, height
    below = form.width * 72 / form.text < NARROW  # where the legend will be
    return form.width, form.width * max(height / width, 0.72 if below else 0.0)


def figure(width: float = 6.4, height: float = 4.0) -> Figure:
    """An empty figure with constrained layout; the size is in inches."""
    need_lab("matplotlib")
    from matplotlib.figure import Figure

    with style():
        return Figure(figsize=_sized(width, height), layout="constrained")


def axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """The axes that were given, or those of a new figure of `pyplot`, which a notebook shows by itself."""
    need_lab("matplotlib")
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        with style():
            return plt.figure(figsize=_sized(width, height), layout="constrained").subplots()
    if not isinstance(ax, Axes):
        raise BadType(f"ax must be axes of Matplotlib or None, not {shown(ax)}")
    return ax


def is_alone(ax: Axes) -> bool:
    """Whether axes are the only ones of a figure that makes room for what is beside them: a legend, a long title."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    fig = ax.figure.figure  # that of a part of a figure is the whole one
    return len(fig.axes) == 1 and isinstance(fig.get_layout_engine(), ConstrainedLayoutEngine)


def is_narrow(ax: Axes) -> bool:
    """Whether the figure of axes is so narrow, for the size of its text, that a legend has no room beside them."""
    import matplotlib

    letters = ax.figure.figure.get_figwidth() * 72 / float(matplotlib.rcParams["font.size"])
    return bool(letters < NARROW)


def legend(ax: Axes) -> None:
    """A legend that covers no data: beside axes that are alone in their figure, below them in a narrow one, else where
    it covers least."""
    if not is_alone(ax):
        ax.legend(loc="best")
    elif is_narrow(ax):
        longest = max(map(len, ax.get_legend_handles_labels()[1]), default=0)
        columns = 1 if longest > 24 else 2 if longest > 12 else 3
        close = {"columnspacing": 1.0, "handlelength": 1.9, "handletextpad": 0.4, "labelspacing": 0.25}
        ax.figure.figure.legend(loc="outside lower center", ncols=columns, borderaxespad=0.1, **close)
    else:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def title(ax: Axes, *lines: str) -> None:
    """The title of axes that are alone in their figure and have none yet; lines that do not fit are cut."""
    if not is_alone(ax) or ax.get_title(loc="left"):
        return
    size = float(ax.title.get_fontsize())
    fitting = max(20, int(ax.figure.figure.get_figwidth() * 72 / (0.58 * size)) - 8)
    ax.set_title("\n".join(textwrap.shorten(line, fitting, placeholder=" ...") for line in lines), loc="left")


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
    ax.plot(
        times, heights, color=COLOURS.get(colour, colour), linewidth=0.9, zorder=1.5, path_effects=[ticks], label=label
    )


def with_words(name: str, provenance: Mapping[str, Any]) -> str:
    """A policy's name with its words, statistics + control, from the provenance of a result; those of a
    policy in plain Python are not known.

    >>> with_words("HLMC", {"words": {"HLMC": 20}, "words_total": {"HLMC": 39}})
    'HLMC, 20 + 19 words'
    """
    words, total = (provenance.get(key, {}).get(name) for key in ("words", "words_total"))
    if words is None:
        return name
    return f"{name}, {words:,}{f' + {total - words:,}' if total else ''} words"


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
