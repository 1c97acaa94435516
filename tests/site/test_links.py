"""Every link of the site leads somewhere: pages, anchors, pictures, scripts and styles."""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

sys.path.append(str(Path(__file__).parent.parent.parent / "scripts"))
from site_links import source

ROOT = Path(__file__).resolve().parent.parent.parent
MADE = {"genindex", "search", "py-modindex", "gallery/index", "notebooks/index"}  # no one file is their source


class _Page(HTMLParser):
    """The anchors of a page, and where it points: links that a reader follows, and what a browser loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.card = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.anchors.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("link", "use") and "href" in found:
            self.loads.append(found["href"])
        if found.get("property") == "og:image":
            self.card = found["content"]
            self.links.append(self.card)
        if "src" in found:
            self.loads.append(found["src"])
        self.loads += [part.split()[0] for part in found.get("srcset", "").split(",") if part.strip()]


@cache
def _read(path: Path) -> _Page:
    return _Page(path.read_text(encoding="utf-8"))


def problem(page: Path, link: str, site: Path) -> str | None:
    """What is wrong with a link of a page, if anything. Links to other sites are not followed."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    if path.is_dir():
        path /= "index.html"
    if not path.is_relative_to(site):
        return "leads out of the site"
    if not path.exists():
        return "leads nowhere"
    # What stands behind "#" in the playground is its state.
    if path.suffix == ".html" and "playground" not in path.parts and unquote(parts.fragment) not in _read(path).anchors:
        return "has no such anchor"
    return None


def test_no_link_is_broken(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    broken = {
        f"{page.relative_to(site)}: {link} {what}"
        for page in pages
        for link in (*_read(page).links, *_read(page).loads)
        if (what := problem(page, link, site))
    }
    assert not broken, "\n".join(sorted(broken)[:40])


def test_pages_have_a_social_card(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if "playground" not in page.parts]
    assert {page.name for page in pages if not _read(page).card.endswith("_static/card.png")} == set()


def test_every_written_page_can_be_edited(site: Path) -> None:
    """The link to a page's file, which `[project.urls]` turns on, leads to a file."""
    pages = {page.relative_to(site).with_suffix("").as_posix() for page in site.rglob("*.html")}
    written = {page for page in pages - MADE if not page.startswith(("reference/", "playground/"))}
    assert len(written) > 60
    assert {page for page in written if source(page, ROOT) is None} == set()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    outside = {
        f"{page.relative_to(site)}: {link}"
        for page in site.rglob("*.html")
        for link in _read(page).loads
        if urlsplit(link).netloc
    }
    assert not outside, "\n".join(sorted(outside)[:40])


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text('<h1 id="here"><a href="#here">x</a><a href="b.html">y</a></h1>')
    _read.cache_clear()
    assert problem(page, "#here", tmp_path) is None
    assert problem(page, "#there", tmp_path) == "has no such anchor"
    assert problem(page, "b.html", tmp_path) == "leads nowhere"
    assert problem(page, "../b.html", tmp_path) == "leads out of the site"
