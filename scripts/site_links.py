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
_CODE = re.compile(r"(`+[^`]*`+|\$[^$]+\$|\]\([^)]*\))")
_POWER = re.compile(r"(?<=[\w)\]′])\^(?:\(((?:[^()]|\([^()]*\))+)\)|(-?\w+))")
_INDEX = re.compile(r"(?<![\w`])([A-Za-zΑ-Ωα-ωℓ][\u0302\u0303]?)_(?:\{([^{}]+)\}|([0-9A-Za-zα-ω]+))")
_ROOT = re.compile(r"\bsqrt\(((?:[^()]|\([^()]*\))+)\)")
_TOGETHER = re.compile(r"(?<=\d) (?=±|to [-−]?\d|[TMk]\b|%)|(?<=±) (?=\d)|(?<=\d to) (?=[-−]?\d)")
_ROLES = re.compile(r"(``[^`]*``|:\w+:`[^`]*`|`[^`]*`_*)")
_HIGH = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


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


def rooted(text: str) -> str:
    """Prose with its square roots as signs.

    >>> rooted("at most 2 sqrt(T K ln(K/d)), about sqrt(K)")
    'at most 2 √(T K ln(K/d)), about √K'
    """
    return _ROOT.sub(lambda match: f"√{match[1]}" if match[1].isalnum() else f"√({match[1]})", text)


def prose_typeset(line: str) -> str:
    """A line of a docstring with its powers raised and its roots as signs; what is in backticks stays.

    >>> prose_typeset("of order sqrt(K T), ``2^3``")
    'of order √(K T), ``2^3``'
    """
    parts = _ROLES.split(line)
    parts[::2] = (_POWER.sub(r"\\ :sup:`\1\2`\\ ", rooted(part)).removesuffix("\\ ") for part in parts[::2])
    return "".join(parts)


def _typeset(text: str) -> str:
    """Prose with its powers raised and its indices lowered; in a table numbers that belong together stay on one line.

    >>> _typeset("10^6 steps, T^(3/4), q_{s+1} = w_i²"), _typeset("| 1 ± 2 |").encode()
    ('10⁶ steps, T<sup>3/4</sup>, q<sub>s+1</sub> = w<sub>i</sub>²', b'| 1\\xc2\\xa0\\xc2\\xb1\\xc2\\xa02 |')
    """

    def raised(match: re.Match[str]) -> str:
        power = match[1] or match[2]
        return power.translate(_HIGH) if power.lstrip("-").isdigit() else f"<sup>{power}</sup>"

    def together(line: str) -> str:
        row = line.lstrip().startswith("|")
        return _TOGETHER.sub("\u00a0", line) if row else line

    lowered = _INDEX.sub(lambda match: f"{match[1]}<sub>{match[2] or match[3]}</sub>", _POWER.sub(raised, rooted(text)))
    return "\n".join(together(line) for line in lowered.split("\n"))


def linked(text: str, known: Mapping[str, str]) -> str:
    """A Markdown page with the public names in it as links; code blocks, headings and links stay as they are.

    >>> print(linked("Take `Champion`.", {"Champion": "hlmc.Champion"}))
    Take {py:obj}`Champion <hlmc.Champion>`.
    """

    def replace(match: re.Match[str]) -> str:
        found = target(match[1], known)
        # "<" and ">" would be taken for the target.
        return match[0] if found is None or "<" in match[1] else f"{{py:obj}}`{match[1]} <{found}>`"

    def outside_code(text: str) -> str:
        parts = _CODE.split(_SPAN.sub(replace, text))
        return "".join(part if i % 2 else _typeset(part) for i, part in enumerate(parts))

    lines: list[str] = []
    prose: list[str] = []  # the lines since the last that is none: a span may go over two lines
    fenced = False
    for line in [*text.split("\n"), ""]:
        if _FENCE.match(line) and ":::" not in line:
            fenced = not fenced
        if fenced or not line or line.startswith(("#", "    ", "```", "~~~")):
            lines += outside_code("\n".join(prose)).split("\n") if prose else []
            lines.append(line)
            prose = []
        else:
            prose.append(line)
    return "\n".join(lines[:-1])


def docstring_typeset(lines: list[str], exists: Callable[[str], bool]) -> None:
    """Make the pages that a docstring mentions, ``docs/bits.md``, links, and raise powers; in place.

    >>> lines = ["of order T^(3/4)", "", ">>> 2^3", "1"]
    >>> docstring_typeset(lines, lambda page: True)
    >>> lines[0]
    'of order T\\\\ :sup:`3/4`'
    >>> lines[2:]
    ['>>> 2^3', '1']
    """
    verbatim = False  # within an example or a formula
    for i, line in enumerate(lines):
        verbatim = bool(line.strip()) and (verbatim or line.lstrip().startswith((">>>", ".. math::")))
        if verbatim:
            continue
        lines[i] = _DOCUMENT.sub(
            lambda match: f":doc:`docs/{match[1]}.md </{match[1]}>`" if exists(match[1]) else match[0],
            prose_typeset(line),
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
