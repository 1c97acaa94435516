"""Tables as LaTeX, without a template engine: the rules of booktabs, the first column left, the others right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_SPECIAL = {
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "≥": r"$\ge$",
    "±": r"$\pm$",
}


def escaped(text: str) -> str:
    """A text in which LaTeX finds nothing to obey; a minus sign is one, and a dash alone stays a dash.

    >>> print(escaped("p_1: 95 %, -3 to -1"), escaped("-"))
    p\\_1: 95 \\%, $-$3 to $-$1 --
    """
    if text == "-":
        return "--"
    plain = "".join(_SPECIAL.get(each, each) for each in text)
    return re.sub(r"(?<![\w$])-(?=\d)", "$-$", plain)


def table(cells: pd.DataFrame, caption: str | None = None, label: str | None = None, note: str = "") -> str:
    """A ``tabular`` of texts with their index; with a caption or a label, in a ``table``, the note in the caption.

    >>> import pandas as pd
    >>> print(table(pd.DataFrame({"regret": ["-12"], "95 %": ["-14 to 2"]}, index=["UCB-M"])))
    \\begin{tabular}{lrr}
    \\toprule
     & regret & 95 \\% \\\\
    \\midrule
    UCB-M & $-$12 & $-$14 to 2 \\\\
    \\bottomrule
    \\end{tabular}
    """
    rows = [["", *map(str, cells.columns)], *([str(name), *map(str, row)] for name, *row in cells.itertuples())]
    head, *body = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    columns = "l" + "r" * len(cells.columns)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption is None and label is None:
        return "\n".join(lines)
    said = ". ".join(escaped(part[0].upper() + part[1:]) for part in (caption or "", note) if part)
    lines = [r"\begin{table}", r"\centering", *([rf"\caption{{{said}.}}"] if said else []), *lines]
    if label is not None:
        lines.insert(3 if said else 2, rf"\label{{{label}}}")
    return "\n".join([*lines, r"\end{table}"])
