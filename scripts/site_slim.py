"""Leave out of a built site what no page of it uses: source maps, icon fonts, and style rules for absent classes.

The theme brings 5 MB for every kind of page; a site like this one needs a twentieth of that. A style rule is kept
unless it names a class that no page and no script mentions, so a rule for a class that a script puts together from
parts would be lost; tests/site looks at the pages that come out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# Files of the theme and its extensions that the layout does not load.
UNUSED = (
    "_static/**/*.map",
    "_static/scripts/fontawesome.js*",
    "_static/vendor/fontawesome/**/*.*",
    "_static/webpack-macros.html",
    "_static/jquery.js",
    "_static/underscore.js",
    "_sources/**/*.*",
    ".buildinfo*",
)
WORD = re.compile(r"[\w-]+")
CLASS = re.compile(r"\.(-?[A-Za-z_](?:[\w-]|\\.)*)")
ATTRIBUTE = re.compile(r"""\bclass=(?:"([^"]*)"|'([^']*)')""")
# The classes that Bootstrap's script sets on the parts of it that the theme uses: menus and tips.
BOOTSTRAP = {"show", "fade", "active", "disabled", "dropdown-menu", "dropdown-menu-end", "tooltip", "tooltip-inner"}
BOOTSTRAP |= {"tooltip-arrow", "bs-tooltip-auto", "bs-tooltip-top", "bs-tooltip-bottom", "collapse", "collapsing"}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# What stands in parentheses behind a selector may be absent and the selector still apply: `a:not(.b)`.
ARGUMENTS = re.compile(r":(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)")


def blocks(css: str) -> Iterator[tuple[str, str | None]]:
    """The statements of a style sheet: what stands before a block, and the block; None where there is none.

    >>> list(blocks("@charset 'x'; a{b:c} @media print{a{b:d}}"))
    [("@charset 'x'", None), ('a', 'b:c'), ('@media print', 'a{b:d}')]
    """
    start, depth, opened, quote, i = 0, 0, 0, "", 0
    while i < len(css):
        c = css[i]
        if c == "\\":
            i += 2
            continue
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c == "{":
            if depth == 0:
                opened = i
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                yield css[start:opened].strip(), css[opened + 1 : i]
                start = i + 1
        elif c == ";" and depth == 0:
            yield css[start:i].strip(), None
            start = i + 1
        i += 1


def selectors(head: str) -> list[str]:
    """The selectors of a rule, divided at commas outside of parentheses.

    >>> selectors("a:is(b, c), d")
    ['a:is(b, c)', ' d']
    """
    parts, depth = [""], 0
    for c in head:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def slim(css: str, used: set[str]) -> str:
    """A style sheet without the rules for classes that are not used.

    >>> slim(".a,.b:not(.c){x:y}.c .a{x:y}@media print{.c{x:y}}a{}", {"a", "b"})
    '.a,.b:not(.c){x:y}a{}'
    """

    def needed(selector: str) -> bool:
        names = CLASS.findall(ARGUMENTS.sub("", selector))
        return all(re.sub(r"\\(.)", r"\1", name) in used for name in names)

    kept = []
    for head, block in blocks(COMMENT.sub("", css)):
        if block is None:
            kept.append(f"{head};")
        elif head.startswith(("@media", "@supports", "@layer", "@container")):
            if inner := slim(block, used):
                kept.append(f"{head}{{{inner}}}")
        elif (head.startswith("@font-face") and "Font Awesome" in block) or head.startswith("@keyframes fa-"):
            continue  # the icons that the site draws itself
        elif head.startswith("@"):
            kept.append(f"{head}{{{block}}}")
        elif wanted := [part.strip() for part in selectors(head) if needed(part)]:
            kept.append(f"{','.join(wanted)}{{{block}}}")
    return "".join(kept)


def slim_site(site: Path) -> None:
    """Take out of a built site what it does not use."""
    for pattern in UNUSED:
        for path in site.glob(pattern):
            if path.is_file():
                path.unlink()
    for folder in sorted((path for path in site.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    used = set(BOOTSTRAP)
    for path in site.rglob("*.html"):
        for names in ATTRIBUTE.findall(path.read_text(encoding="utf-8")):
            used.update(" ".join(names).split())
    for path in site.rglob("*.js"):
        if path.name not in ("searchindex.js", "bootstrap.js"):
            used.update(WORD.findall(path.read_text(encoding="utf-8")))
    for path in site.glob("_static/**/*.css"):
        path.write_text(slim(path.read_text(encoding="utf-8"), used), encoding="utf-8")
