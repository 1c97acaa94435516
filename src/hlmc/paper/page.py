"""The report as a single HTML page; styles and plots are embedded."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from hlmc.paper.claims import Claim, Verdict
from hlmc.paper.experiment import Picture, Section, Table
from hlmc.paper.mathml import typeset
from hlmc.paper.reproduction import Report

MARKS = {
    Verdict.HOLDS: ("yes", "✓ holds"),
    Verdict.FAILS: ("no", "✗ does not hold"),
    Verdict.UNDECIDED: ("open", "? undecided"),
    Verdict.LATER: ("later", "→ needs the full horizon"),
}


def page(report: Report, pictures: dict[str, bytes]) -> str:
    """The whole page; ``pictures`` are SVG files by name."""
    style = Path(__file__).with_name("page.css").read_text()
    sections = "\n".join(_section(section, pictures) for section in report.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>hlmc: reproduction of the paper</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<header>
<h1>Reproduction of the paper</h1>
<p>The numerical section of X. Xu and Q. Zhao, <cite>Memory-Constrained No-Regret Learning in Adversarial Multi-Armed
Bandits</cite>: every figure, and every statement that can be measured.</p>
</header>
{_contents(report)}
<main>
{_summary(report)}
{sections}
</main>
<footer>
<p>{escape(report.size)}. {escape(report.versions)}. {report.seconds:.0f} s.</p>
<p>Made by <code>{escape(report.command)}</code>. Readings are numbered as in <code>docs/reading.md</code>. The data
are in <code>data/</code>, the plots in <code>figures/</code>.</p>
</footer>
</body>
</html>
"""


def _contents(report: Report) -> str:
    """Links to the sections, which stay in view."""
    links = "\n".join(
        f'<li><a href="#{section.name}">{escape(section.name)} <small>{escape(section.source)}</small></a></li>'
        for section in report.sections
    )
    return f'<nav aria-label="Contents"><ul>\n<li><a href="#summary">Summary</a></li>\n{links}\n</ul></nav>'


def _summary(report: Report) -> str:
    held, failed, undecided, later = (report.count(verdict) for verdict in Verdict)
    rows = "\n".join(
        f'<tr><td><a href="#{section.name}">{section.name}</a></td><td class="text">{escape(section.title)}, '
        f"{escape(section.source)}</td>"
        + "".join(
            f'<td class="{MARKS[verdict][0] if (n := _count(section, verdict)) else "none"}">{n}</td>'
            for verdict in Verdict
        )
        + f"<td>{section.seconds:.0f} s</td></tr>"
        for section in report.sections
    )
    contradicted = "\n".join(
        f'<li><a href="#{section.name}">{section.name}</a>: <b>{escape(claim.name)}.</b> {typeset(claim.says)} '
        f"{typeset(claim.measured)}. <em>{typeset(claim.reading)}</em></li>"
        for section, claim in report.claims
        if claim.verdict is Verdict.FAILS and claim.printed
    )
    failing = f"<h3>What does not hold</h3>\n<ul>\n{contradicted}\n</ul>" if contradicted else ""
    return f"""<section id="summary">
<h2>Summary</h2>
<p class="lead"><span class="yes">{held} claims hold</span>, <span class="no">{failed} do not</span>,
<span class="open">{undecided} are undecided</span> at this number of runs,
<span class="later">{later} need the full horizon</span>.</p>
<p>{escape(report.size)}. A claim is decided by a 95 % interval: it holds if the whole interval agrees with it, and
does not hold if the whole interval contradicts it. It needs the full horizon if it does not hold or is undecided here
and holds at the paper's horizons, by a measurement that is stored with the library. There is no correction for
multiple comparisons. If a statement is ambiguous, the default reading counts here, and the others are shown with their
figure.</p>
<div class="scroll"><table>
<thead><tr><th>figure</th><th class="text">what</th><th>hold</th><th>do not</th><th>undecided</th><th>full horizon</th>
<th>time</th></tr>
</thead>
<tbody>
{rows}
</tbody></table></div>
{failing}
</section>"""


def _count(section: Section, verdict: Verdict) -> int:
    return sum(claim.verdict is verdict and claim.printed for claim in section.claims)


def _section(section: Section, pictures: dict[str, bytes]) -> str:
    """The figures beside what the paper says about them; then the tables and the code."""
    figures = "".join(_figure(picture, pictures) for picture in section.pictures)
    tables = "\n".join(_table(table) for table in section.tables)
    claims = "\n".join(_claim(claim) for claim in section.claims)
    return f"""<section id="{section.name}">
<h2>{escape(section.title)} <small>{escape(section.source)}</small></h2>
<p>{typeset(section.text)}</p>
<div class="beside">
<div class="figures">
{figures}</div>
<div>
<h3>What the paper says, and what was measured</h3>
<ul class="claims">
{claims}
</ul>
</div>
</div>
{tables}
<details><summary>Code</summary>
<div class="scroll"><pre><code>{escape(section.code)}</code></pre></div></details>
</section>"""


def _figure(picture: Picture, pictures: dict[str, bytes]) -> str:
    return (
        f'<figure id="{picture.name}"><img alt="{escape(picture.caption, quote=True)}" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(pictures[picture.name]).decode()}">'
        f"<figcaption>{typeset(picture.caption)}</figcaption></figure>\n"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{typeset(cell)}</th>" for cell in table.headings)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    note = f'<p class="note">{typeset(table.note)}</p>' if table.note else ""
    return f"""<h3>{typeset(table.title)}</h3>
<div class="scroll"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table></div>{note}"""


def _claim(claim: Claim) -> str:
    kind, mark = MARKS[claim.verdict]
    other = "" if claim.printed else ' <span class="other">another reading</span>'
    reading = f'<p class="reading">{typeset(claim.reading)}</p>' if claim.reading else ""
    return f"""<li><p><span class="mark {kind}">{mark}</span> <strong>{escape(claim.name)}</strong>{other}</p>
<p>{typeset(claim.says)}</p><p class="measured">{typeset(claim.measured)}.</p>{reading}</li>"""
