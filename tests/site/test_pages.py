"""The pages in a browser, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from browser import Tab

WIDTHS = (1280, 390)
# The parts of a page that are wider than the window. What scrolls by itself, is cut or is a drawer may be.
WIDE = """(() => {
  const width = document.documentElement.clientWidth;
  const held = each => {
    for (let up = each; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.position === "fixed" || up !== each && style.overflowX !== "visible") return true;
    }
    return false;
  };
  const wide = [...document.body.querySelectorAll("*")]
    .filter(each => each.getClientRects().length && each.getBoundingClientRect().right > width + 1 && !held(each))
    .map(each => `${each.tagName} ${each.className} ${each.textContent.trim().slice(0, 40)}`);
  return {width, across: document.documentElement.scrollWidth, wide};
})()"""


def opened(tab: Tab, address: str, page: str) -> None:
    """Open a page; the test fails on an error in it and on a request to anywhere else."""
    tab.open(f"{address}/{page}")
    assert tab.complaints == [], page
    here = urlsplit(address).netloc
    elsewhere = [request for request in tab.requests if urlsplit(request).netloc not in ("", here)]
    assert elsewhere == [], page


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_opens_cleanly(tab: Tab, address: str, site: Path, width: int) -> None:
    tab.resize(width)
    wide = {}
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site).as_posix()
        opened(tab, address, page)
        found = tab.evaluate(WIDE)
        assert found["width"] == width
        if found["across"] > width or found["wide"]:
            wide[page] = found["across"], found["wide"][:3]
    assert wide == {}


def test_a_console_error_and_a_missing_file_are_noticed(tab: Tab, address: str) -> None:
    tab.open(f"{address}/index.html")
    tab.evaluate("console.error('noticed')")
    tab.evaluate("fetch('nothing-here').then(() => 0)")
    assert "noticed" in tab.complaints[0]
    assert "404" in tab.complaints[1]


@pytest.mark.parametrize("wanted", ["EXP3.S", "Champion", "shifting regret"])
def test_search_finds(tab: Tab, address: str, wanted: str) -> None:
    tab.resize(1280)
    opened(tab, address, f"search.html?q={wanted.replace(' ', '+')}")
    tab.until("document.querySelector('#search-results .search-summary')?.textContent.includes('finished')")
    titles = tab.evaluate(
        "[...document.querySelectorAll('#search-results ul.search > li > a')].map(a => a.textContent)"
    )
    assert len(titles) >= 3, titles
    key = wanted.replace(".", "").split()[0].lower()
    assert any(key in title.replace(".", "").lower() for title in titles), titles
    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_light_or_dark_as_the_system_wants(tab: Tab, address: str, scheme: str) -> None:
    tab.resize(1280, scheme=scheme)
    opened(tab, address, "index.html")
    red, green, blue = tab.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue > 600) == (scheme == "light")
    tab.resize(1280)


def test_the_first_page_is_small(tab: Tab, address: str) -> None:
    """All that the browser loads for it, uncompressed, in bytes."""
    tab.resize(1280)
    opened(tab, address, "index.html")
    entries = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    sizes = dict(tab.evaluate(f"{entries}.map(e => [e.name, e.decodedBodySize])"))
    assert len(sizes) > 5
    assert sum(sizes.values()) < 300_000, sizes


def test_the_site_is_small(site: Path) -> None:
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 15_000_000
