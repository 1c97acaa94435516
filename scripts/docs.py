"""Build the documentation site: assemble its sources, run Sphinx, leave out what no page uses.

    python scripts/docs.py                  # build/site/index.html; `make docs` does this
    python scripts/docs.py --fresh          # from nothing
    python scripts/docs.py --no-gallery     # without running the examples: seconds instead of minutes

The pages of docs/ are Markdown that can be read where the repository is shown. They link to files outside docs/, and
the site has pages that nobody writes by hand: one for each public name, the gallery, the notebooks. So the sources are
put together in build/docs, which is all that Sphinx sees. A file is written there only if it has changed, so that
Sphinx reads only what has changed, and docs/ holds nothing that was generated.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import site_links
import site_reference
import site_slim

from hlmc.versions import VERSION

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
STATE = ROOT / "build" / "doctrees"

# Links between Markdown files, as they are in the repository.
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")

# What the notebooks answer, for the page that lists them.
NOTEBOOKS = {
    "01-first-steps": "What are a policy, a learner, a regret and a fleet?",
    "02-the-paper": "Do the paper's experiments come out as it says?",
    "03-your-own-policy": "How does a bandit algorithm of mine, in plain Python, compare with those of the library?",
    "04-a-hundred-thousand-arms": "What can 640 words do for 100,000 arms?",
    "05-late-feedback": "What if a reward comes hundreds of decisions later, or never?",
}

# A list of pages of the site within a page.
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def relinked(text: str, folder: Path, at: Path) -> str:
    """A page of a folder with its links to other pages as the site has them; ``at`` is where it would be in docs/.

    >>> relinked("[a](docs/bits.md) [b](CHANGELOG.md#0-2-0) [c](https://example.org)", ROOT, ROOT / "docs")
    '[a](bits.md) [b](changelog.md#0-2-0) [c](https://example.org)'
    """

    def place(match: re.Match[str]) -> str:
        before, link, after = match.groups()
        path = (folder / link).resolve()
        if path.is_relative_to(ROOT / "docs"):
            return f"{before}{os.path.relpath(path, at)}{after}"
        known = site_links.OUTSIDE.get(path.relative_to(ROOT).as_posix()) if path.is_relative_to(ROOT) else None
        return f"{before}{known}{after}" if known else match[0]

    return LINK.sub(place, text)


def write(path: Path, text: str) -> None:
    """Write a file, unless it says the same already."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def assemble() -> None:
    """Put together all that Sphinx reads."""
    for name in ("figures", "_static"):
        shutil.copytree(ROOT / "docs" / name, SOURCE / name, dirs_exist_ok=True)
    here = ROOT / "docs"
    pages = {page.relative_to(here).as_posix(): page for page in (*here.glob("*.md"), *here.glob("research/*.md"))}
    pages |= {name: ROOT / file for file, name in site_links.OUTSIDE.items() if (ROOT / file).exists()}
    texts = {
        name: relinked(page.read_text(encoding="utf-8"), page.parent, (here / name).parent)
        for name, page in pages.items()
    }
    listed = {
        "index",
        *(entry for text in texts.values() for block in TOCTREE.findall(text) for entry in block.split()),
    }
    if more := sorted(name.removesuffix(".md") for name in texts if name.removesuffix(".md") not in listed):
        # A new page is in the site before somebody has found its place in a list.
        texts["guide.md"] += "\n```{toctree}\n:hidden:\n:caption: More\n\n" + "\n".join(more) + "\n```\n"
    known = site_reference.names()
    for name, text in texts.items():
        write(SOURCE / name, site_links.linked(text, known).replace("{VERSION}", f"{{{VERSION}}}"))
    for stale in (*SOURCE.glob("*.md"), *SOURCE.glob("research/*.md")):
        if stale.relative_to(SOURCE).as_posix() not in pages:
            stale.unlink()
    site_reference.write(SOURCE / "reference", write)
    notebooks()


def notebooks() -> None:
    """The notebooks, which are committed with their outputs, and a page that lists them."""
    found = sorted((ROOT / "notebooks").glob("*.ipynb"))
    if not found:
        return
    for path in found:
        # Links to pages of docs/ lead to the same pages of the site.
        write(SOURCE / "notebooks" / path.name, path.read_text(encoding="utf-8").replace("](../docs/", "](../"))
    names = "\n".join(path.stem for path in found)
    text = "They are in `notebooks/` of the repository. They run unchanged.\n\n| notebook | answers |\n|---|---|\n"
    text += "".join(f"| [](<{path.stem}>) | {NOTEBOOKS.get(path.stem, '')} |\n" for path in found)
    write(SOURCE / "notebooks" / "index.md", f"# Notebooks\n\n{text}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n")


def playground() -> None:
    """The playground, as its own script puts it together."""
    script = ROOT / "scripts" / "playground.py"
    if script.exists():
        subprocess.run([sys.executable, str(script), str(SITE / "playground")], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier build left behind")
    parser.add_argument("--no-gallery", action="store_true", help="show the examples without running them")
    options = parser.parse_args()
    if options.fresh:
        for folder in (SOURCE, SITE, STATE):
            shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(SITE / "_static", ignore_errors=True)  # made smaller by the last build; Sphinx writes it anew
    assemble()
    from sphinx.cmd.build import build_main

    settings = ["-D", "plot_gallery=0"] if options.no_gallery else []
    # A page that links to a new page has not changed, but its link has: a new page has everything read again.
    pages, last = "\n".join(sorted(map(str, SOURCE.rglob("*.[mir][dps]*")))), STATE.parent / "pages.txt"
    if not last.exists() or last.read_text(encoding="utf-8") != pages:
        settings.append("-E")
        write(last, pages)
    arguments = ["-b", "html", "-W", "--keep-going", "-q", "-c", str(ROOT / "docs"), "-d", str(STATE), *settings]
    status: int = build_main([*arguments, str(SOURCE), str(SITE)])
    if status == 0:
        playground()
        site_slim.slim_site(SITE)
    return status


if __name__ == "__main__":
    sys.exit(main())
