"""``hlmc examples``: list the examples that come with the package, and write one of them to a folder."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

from hlmc.checks import path as checked_path
from hlmc.cli.options import option, switch
from hlmc.cli.output import Table, line, show, show_json
from hlmc.errors import BadArgument, shown
from hlmc.spelling import hint

EPILOG = """\
examples:
  hlmc examples
  hlmc examples trap -o work
  hlmc simulate work/trap.toml
"""

OWN = Path(__file__).resolve().parents[1] / "examples"
"""Where a wheel has them."""
SOURCE = Path(__file__).resolve().parents[3] / "examples"
"""Where a checkout of the sources has them."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EPILOG
    parser.add_argument("name", nargs="?", metavar="NAME", help="the example to write; default: list all of them")
    option(parser, "-o --out", "DIR", "folder (default: this one)", Path, Path())
    switch(parser, "--json", "print the list as JSON")


def run(options: argparse.Namespace) -> None:
    """List the examples, or write one."""
    found = examples()
    if options.name is not None:
        for path in written(options.name, options.out):
            line(str(path))
        return
    if options.json:
        show_json({name: summary(path) for name, path in found.items()})
        return
    table = Table(("name", "what it shows"), left=frozenset({0, 1}), fold=frozenset({1}))
    for path in found.values():
        table.add(path.stem, summary(path))
    show(table)
    line()
    line("hlmc examples NAME -o DIR writes one of them.")


def examples() -> dict[str, Path]:
    """The files and folders of the examples by name: the name of a file is without its ending.

    A folder is one example if its files belong together, such as a program in C; of a gallery of scripts each is one.
    """
    home = OWN if OWN.is_dir() else SOURCE
    if not home.is_dir():
        raise BadArgument("the examples are not part of this installation; install hlmc from a wheel or its sources")
    found: dict[str, Path] = {}
    for path in _visible(home):
        scripts = [file for file in _visible(path) if file.suffix == ".py"] if path.is_dir() else []
        found |= {each.stem: each for each in scripts or [path]}
    return found


def _visible(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(("_", "."))]


def written(name: str, folder: Path) -> Iterator[Path]:
    """Write an example to a folder, which is made if need be; the paths of its files. No file is overwritten."""
    from hlmc.files.writing import replacing

    found = examples()
    source = found.get(name) or next((path for path in found.values() if path.name == name), None)
    if source is None:
        raise BadArgument(f"there is no example {shown(name)}; {hint(name, found)}")
    home = checked_path("--out", folder)
    files = [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file())
    made = {"__pycache__", "build"}
    inside = {file.relative_to(source.parent): file for file in files}
    targets = {home / place: file for place, file in inside.items() if not made & set(place.parts[:-1])}
    for target in targets:
        if target.exists():
            raise BadArgument(f"{target} exists already, and a file is not overwritten; give another folder with -o")
    for target, file in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, new=True) as out:
            out.write(file.read_bytes())
        yield target


def summary(path: Path) -> str:
    """What an example is about: the first line of its text, or of the main file of a folder."""
    if path.is_dir():
        main = [file for file in _visible(path) if file.stem == "main"]
        return summary(main[0]) if main else ""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    said = next((row.strip(" #/*=-\t") for row in text.splitlines() if row.strip(" #/*=-\t")), "")
    first = said.split(". ")[0]
    return first if not first or first.endswith((".", "?", "!")) else f"{first}."
