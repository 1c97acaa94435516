"""The gallery as the site shows it: the order of the examples, and for every picture a text and a legible thumbnail.

sphinx-gallery runs the scripts. It makes a thumbnail by shrinking the first figure, in which no letter can be read
then, and names pictures after their files. Here a thumbnail is the first axes of that figure drawn anew at a third of
the page's width, and a picture's alternative text says what its axes and lines are.
"""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

from matplotlib.ticker import MaxNLocator
from sphinx_gallery.scrapers import figure_rst

# From the first example to those that need the most explanation.
ORDER = (
    "needle",
    "first_regret",
    "champion",
    "trap",
    "shifting",
    "memory",
    "bits",
    "planner",
    "arena",
    "fleet",
    "replay",
    "delays",
    "radios",
    "flights",
    "stocks",
)
THUMBNAIL = (3.2, 2.0)
"""Inches, of which `DOTS` pixels each: twice what a column of the gallery shows."""
DOTS = 200


def place(file: str) -> tuple[int, str]:
    """The place of a script in the gallery; one that nobody has put in order comes last.

    >>> place("plot_needle.py") < place("plot_memory.py") < place("plot_new.py")
    True
    """
    name = Path(file).stem.removeprefix("plot_")
    return (ORDER.index(name) if name in ORDER else len(ORDER)), name


def described(figure: Any) -> str:
    """What a figure of Matplotlib shows: titles, axes and the names of its lines."""
    parts: list[str] = []
    named: list[str] = []
    for ax in figure.axes:
        title = next((text for where in ("left", "center") if (text := ax.get_title(loc=where))), "")
        x, y = ax.get_xlabel(), ax.get_ylabel()
        axes = f"{y} against {x}" if x and y else y or x
        parts.append(": ".join(part for part in (title, axes) if part))
        named += [label for label in ax.get_legend_handles_labels()[1] if label not in named]
    text = "; ".join(dict.fromkeys(part for part in parts if part))
    text = f"{text}. Drawn: {', '.join(named)}" if named else text
    return " ".join(text.split()) + "."


def thumbnail(figure: Any, path: Path) -> None:
    """Draw the first axes of a figure alone and small, with letters of a size that can be read; the figure is spent."""
    first, *others = figure.axes
    for ax in others:
        ax.remove()
    for legend in (*figure.legends, first.get_legend()):
        if legend is not None:
            legend.remove()
    first.set_title("")
    first.set_title("", loc="left")
    first.set_subplotspec(figure.add_gridspec(1, 1)[0])
    for text in first.texts:
        text.set_visible(False)
    first.tick_params(labelsize=8, labelbottom=True)
    for axis in (first.xaxis, first.yaxis):
        axis.label.set_size(9 if len(axis.label.get_text()) < (28 if axis is first.xaxis else 22) else 7)
    figure.set_size_inches(*THUMBNAIL)
    locator = first.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator):
        locator.set_params(nbins=5)
    figure.draw_without_rendering()
    labels = first.xaxis.get_majorticklabels()
    if len(labels) > 8 and not labels[0].get_rotation():  # years, which would touch
        for label in labels[1::2]:
            label.set_visible(False)
    figure.savefig(path, dpi=DOTS)


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **_: Any) -> str:
    """Save the figures of a block of a script, and return their text for the page."""
    import matplotlib.pyplot as plt

    shown = []
    script = Path(block_vars["src_file"]).stem
    for number in plt.get_fignums():
        path = Path(next(block_vars["image_path_iterator"]))
        figure = plt.figure(number)
        figure.savefig(path, dpi=150)
        alt = described(figure)
        shown.append(figure_rst([str(path)], gallery_conf["src_dir"], alt))
        if path.stem.endswith("_001"):
            (path.parent / f"{script}.json").write_text(json.dumps(alt), encoding="utf-8")
            thumbnail(figure, path.parent / f"{script}.thumbnail.png")
    plt.close("all")
    return "".join(shown)


def finish(app: Any) -> None:
    """Put the thumbnails and their texts into what sphinx-gallery has written; called when it is done."""
    gallery = Path(app.srcdir) / "gallery"
    for drawn in gallery.glob("images/*.thumbnail.png"):
        script = drawn.name.removesuffix(".thumbnail.png")
        shutil.copyfile(drawn, gallery / "images" / "thumb" / f"sphx_glr_{script}_thumb.png")
    index = gallery / "index.rst"
    if not index.exists():
        return

    def told(match: re.Match[str]) -> str:
        text = gallery / "images" / f"{match[2]}.json"
        return f"{match[1]} {json.loads(text.read_text(encoding='utf-8'))}\n" if text.exists() else match[0]

    text = index.read_text(encoding="utf-8")
    text = re.sub(r"(\.\. image:: /gallery/images/thumb/sphx_glr_(\w+)_thumb\.png\n\s+:alt:)[^\n]*\n", told, text)
    # The tooltip of the theme covers the neighbours; the picture's title shows the same without.
    text = re.sub(r' tooltip="([^"]*)"', lambda match: f' title="{html.escape(html.unescape(match[1]))}"', text)
    index.write_text(text, encoding="utf-8")
