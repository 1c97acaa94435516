"""The output of commands: lines and tables, by rich on a terminal and as plain columns elsewhere.

On a terminal a table fits the window. In a file or a pipe nothing is truncated, wrapped or coloured, and rich is not
imported.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from hlmc.plotting import short

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Table", "as_json", "heading", "line", "product", "show", "show_json"]


@dataclass
class Table:
    """A table: headings, rows, and which columns are left-aligned (the others are right-aligned).

    Columns in ``fold`` may be wrapped if the window is narrow.
    """

    headings: Sequence[str]
    left: frozenset[int] = frozenset()
    fold: frozenset[int] = frozenset()
    rows: list[tuple[str, ...]] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def add(self, *cells: str, style: str = "") -> None:
        """Add a row. ``style`` is a style of rich, used only on a terminal."""
        self.rows.append(cells)
        self.styles.append(style)

    def narrowed(self) -> Table:
        """A narrower copy: rounded numbers, and headings without "/step", broken where they are wider than columns."""
        rows = [tuple(cell if i in self.left else _rounded(cell) for i, cell in enumerate(row)) for row in self.rows]
        headings = []
        for i, heading in enumerate(self.headings):
            width = max([1, *(len(row[i]) for row in rows)])
            whole = heading.replace(" %", "\xa0%").replace("± ", "±\xa0")  # stays on one line
            headings.append("\n".join(wrap(whole.partition("/")[0], width, break_long_words=False)))
        return replace(self, headings=headings, rows=rows)

    def parts(self, width: int) -> list[Table]:
        """Split the columns into tables that fit the window; each has the first column.

        A column that may be wrapped takes the remaining width and never causes a split.
        """
        widths = [self._width(i) for i in range(len(self.headings))]
        parts: list[list[int]] = [[0]]
        taken = widths[0]
        for i in range(1, len(widths)):
            needed = 2 + (min(widths[i], _FOLDED) if i in self.fold else widths[i])
            if taken + needed > width and len(parts[-1]) > 1:
                parts.append([0])
                taken = widths[0]
            parts[-1].append(i)
            taken += needed
        return [self._columns(columns) for columns in parts]

    def _width(self, i: int) -> int:
        return max(
            len(line) for cell in (self.headings[i], *(row[i] for row in self.rows)) for line in cell.split("\n")
        )

    def _columns(self, columns: list[int]) -> Table:
        place = {old: new for new, old in enumerate(columns)}
        return replace(
            self,
            headings=[self.headings[i] for i in columns],
            left=frozenset(place[i] for i in columns if i in self.left),
            fold=frozenset(place[i] for i in columns if i in self.fold),
            rows=[tuple(row[i] for i in columns) for row in self.rows],
        )

    def __str__(self) -> str:
        lines = [tuple(self.headings), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i in self.left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in lines
        )


_FOLDED = 30
"""Width of a wrapped cell, in characters."""


def _rounded(cell: str) -> str:
    if " to " in cell:  # an interval
        return " to ".join(map(_rounded, cell.split(" to ")))
    try:
        value = float(cell.replace(",", ""))
    except ValueError:
        return cell
    return short(value) if len(cell) > 6 or "." in cell else cell


def _terminal() -> Console | None:
    if not sys.stdout.isatty() or find_spec("rich") is None:
        return None
    from rich.console import Console

    return Console(highlight=False, markup=False)


def line(text: str = "", style: str = "") -> None:
    """Print a line; on a terminal, wrap it at spaces."""
    if console := _terminal():
        console.print(text, style=style or None)
    else:
        sys.stdout.write(f"{text}\n")


def heading(text: str) -> None:
    """Print the heading of a section."""
    line()
    line(text, style="bold")


def show(table: Table) -> None:
    """Print a table."""
    console = _terminal()
    if console is None:
        sys.stdout.write(f"{table}\n")
        return
    notes = []
    if max(map(len, str(table).splitlines())) > console.width:
        narrow = table.narrowed()
        notes = ["numbers are rounded to fit the window"] if narrow.rows != table.rows else []
        notes += [f"{unit}: per {per}" for unit, slash, per in (h.partition("/") for h in table.headings) if slash]
        table = narrow
    for i, part in enumerate(table.parts(console.width)):
        if i:
            line()
        _draw(console, part)
    if notes:
        line(f"({'; '.join(notes)})", style="dim")


def _draw(console: Console, table: Table) -> None:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for i, name in enumerate(table.headings):
        justify: Literal["left", "right"] = "left" if i in table.left else "right"
        drawn.add_column(
            name,
            justify=justify,
            vertical="top",
            overflow="fold" if i in table.fold else "ellipsis",
            no_wrap=i not in table.fold,
        )
    for cells, style in zip(table.rows, table.styles, strict=True):
        drawn.add_row(*(Text(cell) for cell in cells), style=style)
    console.print(drawn)


def show_json(value: Any) -> None:
    """Print a value as JSON; NaN and infinity are errors."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def as_json(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of a table as JSON can hold it: numbers of Python, and None for what is not finite.

    >>> as_json({"words": 20, "bound": float("nan")})
    {'words': 20, 'bound': None}
    """
    plain = {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in plain.items()}


def product(groups: Sequence[int]) -> str:
    """The groups of a hierarchy as a product; four or more equal levels in a row become a power.

    >>> product((10, 10)), product((1250, 9, 9, 9, 2, 2, 2, 2, 2))
    ('10×10', '1,250×9×9×9×2^5')
    """
    parts: list[str] = []
    for children, run in groupby(groups):
        levels = len(list(run))
        parts += [f"{children:,}^{levels}"] if levels > 3 else [f"{children:,}"] * levels
    return "×".join(parts)
