"""A report in a real browser: every figure is drawn and nothing runs over the edge, on a desk and on a phone."""

from __future__ import annotations

import json
import subprocess
from html import unescape
from pathlib import Path

import pytest

from browser import BROWSER, FLAGS
from hlmc import paper
from hlmc.cli import main

WIDTHS = (1280, 390)

# Tells the page that holds the frame how wide everything is. What scrolls by itself may be wider than the window.
PROBE = """<script>
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  const width = document.documentElement.clientWidth;
  const wide = [...document.body.querySelectorAll("*")]
    .filter(each => !each.parentElement.closest(".scroll, nav") && each.getBoundingClientRect().right > width + 1)
    .map(each => `${each.tagName} ${each.className} ${each.textContent.slice(0, 40)}`);
  const images = [...document.images].map(each => [each.closest("figure").id, each.naturalWidth, each.clientWidth]);
  parent.postMessage({width, across: document.documentElement.scrollWidth, wide, images}, "*");
});
</script>"""
FRAME = """<!DOCTYPE html><body style="margin:0"><pre id="found"></pre>
<iframe src="probe.html" style="border:0;width:{width}px;height:900px"></iframe>
<script>addEventListener("message", event => {{
  document.getElementById("found").textContent = JSON.stringify(event.data);
}});</script></body>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: the report was not opened in a browser")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All figures, as small as they get."""
    out = tmp_path_factory.mktemp("browser") / "report"
    assert main(["reproduce", "--horizon", "10000", "--runs", "2", "--out", str(out)]) == 0
    return out


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_there_and_nothing_overflows(report: Path, width: int, tmp_path: Path) -> None:
    assert BROWSER is not None
    page = (report / "index.html").read_text()
    (tmp_path / "probe.html").write_text(page.replace("</body>", f"{PROBE}</body>"))
    (tmp_path / "frame.html").write_text(FRAME.format(width=width))
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    size = ("--virtual-time-budget=10000", "--window-size=1300,900")
    command = [BROWSER, *FLAGS, *size, profile, "--dump-dom", (tmp_path / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert '<pre id="found">{' in done.stdout, done.stderr[-2000:]
    found = json.loads(unescape(done.stdout.split('<pre id="found">')[1].split("</pre>")[0]))
    assert found["width"] == width
    assert found["across"] <= width
    assert found["wide"] == []
    shown = {name for name, natural, drawn in found["images"] if natural > 0 and drawn > 200}
    assert shown == {path.stem for path in (report / "figures").glob("*.svg")}
    assert all(any(each.startswith(name) for each in shown) for name in paper.FIGURES)
