"""Write a report: plots, ``report.md`` for a terminal, ``claims.json`` for programs, and the HTML page."""

from __future__ import annotations

import json
from pathlib import Path

from hlmc import plotting
from hlmc.files import write_whole
from hlmc.paper.claims import Verdict
from hlmc.paper.page import page
from hlmc.paper.reproduction import Report

SIGNS = {
    Verdict.HOLDS: "holds",
    Verdict.FAILS: "DOES NOT HOLD",
    Verdict.UNDECIDED: "undecided",
    Verdict.LATER: "needs the full horizon",
}


def write(report: Report, out: Path) -> Path:
    """Write the report into a folder; return the path of the page."""
    folder = out / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, bytes] = {}
    for section in report.sections:
        for picture in section.pictures:
            figure = picture.draw()
            plotting.save(figure, folder / f"{picture.name}.png")
            figure.set_layout_engine("none")  # the layout is fixed now; computing it again takes as long
            drawn[picture.name] = plotting.save(figure, folder / f"{picture.name}.svg").read_bytes()
    write_whole(out / "report.md", markdown(report).encode())
    claims = [{"figure": section.name, **claim.as_dict()} for section, claim in report.claims]
    write_whole(out / "claims.json", json.dumps(claims, indent=1, ensure_ascii=False).encode())
    write_whole(out / "index.html", page(report, drawn).encode())
    return out / "index.html"


def markdown(report: Report) -> str:
    """The report as Markdown that reads well in a terminal."""
    lines = ["# Reproduction of the paper's numerical section", "", *summary(report), ""]
    for section in report.sections:
        lines += [f"## {section.name}: {section.title} ({section.source})", "", section.text, ""]
        for table in section.tables:
            lines += [f"**{table.title}**", "", *grid([table.headings, *table.rows]), ""]
            lines += [table.note, ""] if table.note else []
        lines += ["### Claims", ""]
        for claim in section.claims:
            other = "" if claim.printed else " (another reading)"
            lines += [
                f"- **{claim.name}**{other}: {SIGNS[claim.verdict]}",
                f"  {claim.says}",
                f"  Measured: {claim.measured}.",
            ]
            lines += [f"  Reading: {claim.reading}"] if claim.reading else []
        lines += ["", "### Set-up", "", "```python", section.code.rstrip(), "```", ""]
        lines += [f"![{picture.caption}](figures/{picture.name}.png)" for picture in section.pictures]
        lines.append("")
    return "\n".join(lines)


def summary(report: Report) -> list[str]:
    """The settings, and a table of verdicts."""
    head = ("figure", "of the paper", "hold", "do not hold", "undecided", "need the full horizon", "seconds")
    rows = [
        (
            section.name,
            section.source,
            *(str(sum(c.verdict is v and c.printed for c in section.claims)) for v in Verdict),
            f"{section.seconds:.0f}",
        )
        for section in report.sections
    ]
    return [f"{report.size}. {report.versions}. {report.seconds:.0f} s.", "", report.verdicts, "", *grid([head, *rows])]


def grid(rows: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table whose columns line up.

    >>> print("\\n".join(grid([("a", "b"), ("long", "1")])))
    | a    |   b |
    | ---- | --: |
    | long |   1 |
    """
    widths = [max(3, *(len(cell) for cell in column)) for column in zip(*rows, strict=True)]

    def row(cells: tuple[str, ...]) -> str:
        padded = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return f"| {' | '.join(padded)} |"

    rule = " | ".join("-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths))
    return [row(rows[0]), f"| {rule} |", *map(row, rows[1:])]
