"""Links to the reference and between pages, made from names and file names that the texts mention.

A guide page writes `hlmc.Champion(arms=100)` or `learner.save(path)` in backticks, as the repository shows it, and a
docstring ``docs/bits.md``. On the site they are links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

# Files outside docs/ that are pages of the site, and what they are called there.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}

# Objects that the pages call by these names, and their classes.
OBJECTS = {
    "learner": "hlmc.Learner",
    "fleet": "hlmc.Fleet",
    "policy": "hlmc.Policy",
    "result": "hlmc.Result",
    "ticket": "hlmc.Ticket",
    "arms": "hlmc.Arms",
    "bandit": "hlmc.Bandit",
    "decision": "hlmc.Decision",
}

_FENCE = re.compile(r"^\s*(```|~~~|:::)")
_SPAN = re.compile(r"(?<![`{\[}])`([^`]+)`(?![`\]])")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_DOCUMENT = re.compile(r"``docs/([\w/]+)\.md``")


def target(text: str, known: Mapping[str, str]) -> str | None:
    """The public name that a piece of code speaks of: a name, alone or with a call's arguments behind it.

    ``known`` maps full names to themselves, and short ones to full ones.

    >>> known = {"Champion": "hlmc.Champion", "hlmc.Learner.save": "hlmc.Learner.save"}
    >>> target("Champion(arms=5)", known), target("learner.save(path)", known), target("Champion + 1", known)
    ('hlmc.Champion', 'hlmc.Learner.save', None)
    """
    found = _PATH.match(text)
    rest = text[found.end() :] if found else text
    if not found or (rest and not (rest.startswith("(") and rest.endswith(")"))):
        return None
    name = found[0]
    first, dot, last = name.partition(".")
    if dot and first in OBJECTS:
        name = f"{OBJECTS[first]}.{last}"
    return known.get(name)


def linked(text: str, known: Mapping[str, str]) -> str:
    """A Markdown page with the public names in it as links; code blocks, headings and links stay as they are.

    >>> print(linked("Take `Champion`.", {"Champion": "hlmc.Champion"}))
    Take {py:obj}`Champion <hlmc.Champion>`.
    """

    def replace(match: re.Match[str]) -> str:
        found = target(match[1], known)
        # "<" and ">" would be taken for the target.
        return match[0] if found is None or "<" in match[1] else f"{{py:obj}}`{match[1]} <{found}>`"

    lines: list[str] = []
    prose: list[str] = []  # the lines since the last that is none: a span may go over two lines
    fenced = False
    for line in [*text.split("\n"), ""]:
        if _FENCE.match(line) and ":::" not in line:
            fenced = not fenced
        if fenced or not line or line.startswith(("#", "    ", "```", "~~~")):
            lines += _SPAN.sub(replace, "\n".join(prose)).split("\n") if prose else []
            lines.append(line)
            prose = []
        else:
            prose.append(line)
    return "\n".join(lines[:-1])


def documents_linked(lines: list[str], exists: Callable[[str], bool]) -> None:
    """Make the pages that a docstring mentions, ``docs/bits.md``, links; in place."""
    for i, line in enumerate(lines):
        lines[i] = _DOCUMENT.sub(
            lambda match: f":doc:`docs/{match[1]}.md </{match[1]}>`" if exists(match[1]) else match[0], line
        )


def source(page: str, root: Path) -> str | None:
    """The file of the repository from which a page of the site is made; None for a page that nobody writes by hand.

    >>> root = Path(__file__).resolve().parent.parent
    >>> source("research/bits", root), source("security", root), source("gallery/plot_trap", root)
    ('docs/research/bits.md', 'SECURITY.md', 'examples/gallery/plot_trap.py')
    >>> source("reference/hlmc", root)
    """
    outside = {name.removesuffix(".md"): file for file, name in OUTSIDE.items()}
    places = (outside.get(page, ""), f"docs/{page}.md", f"{page}.ipynb", f"examples/{page}.py")
    return next((place for place in places if (root / place).is_file()), None)
