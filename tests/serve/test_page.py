"""The page of a service, in a browser against a real server that is being used."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import BROWSER, Tab
from serve.services import ADMIN, ADMIN_TEXT, Running, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs a browser: chromium or google-chrome"),
]

AXE = "axe-core@4.14.0"
TEXT = """
every = 0.2

[experiments.drinks]
arms = ["tea", "coffee", "<b>cocoa</b>"]
policy = { policy = "TsallisINF", arms = 10 }
control = 0.2

[experiments.other]
arms = ["a", "b"]
policy = "UCB1"
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that is used while the tests look at its page."""
    with serving(tmp_path_factory.mktemp("shop"), TEXT, (ADMIN,)) as running:
        ended = threading.Event()

        def use() -> None:
            with running.http() as http:
                while not ended.is_set():
                    made = http.post("/v1/drinks/ask", json={"unit": "u", "count": 20}).json()
                    told = [{"id": each["id"], "reward": float(each["arm"] == "tea")} for each in made if "id" in each]
                    http.post("/v1/drinks/tell", json=told)
                    ended.wait(0.05)

        user = threading.Thread(target=use)
        user.start()
        yield running
        ended.set()
        user.join()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A tab of a browser."""
    made = Tab(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


LIVE = "document.getElementById('state').textContent === 'live' && document.querySelectorAll('#arms tr').length === 3"
DRAWN = """(id => {
    const canvas = document.getElementById(id);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value, i) => i % 4 === 3 && value);
})"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_what_happens(shop: Running, tab: Tab, width: int, scheme: str) -> None:
    tab.resize(width, scheme=scheme)
    tab.open(f"{shop.url}/")
    tab.until(LIVE)
    decisions = "Number(document.querySelector('#tiles dd').firstChild.textContent.replaceAll(',', ''))"
    first = tab.evaluate(decisions)
    tab.until(f"{decisions} > {first}")
    tab.until("document.getElementById('reward-text').textContent.includes('learned 0') || "
              "document.getElementById('reward-text').textContent.includes('learned 1')")  # fmt: skip
    assert tab.evaluate(f"{DRAWN}('reward') && {DRAWN}('share')")
    assert tab.evaluate("document.documentElement.dataset.theme") == scheme
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("(table => table.scrollWidth <= table.clientWidth)(document.querySelector('.scroll'))")
    names = tab.evaluate("[...document.querySelectorAll('#arms th')].map(each => each.textContent).sort()")
    assert names == ["<b>cocoa</b>", "coffee", "tea"]  # names are text, never markup
    assert "TsallisINF(arms=10)" in tab.evaluate("document.getElementById('plan').textContent")
    assert tab.complaints == []
    assert all(each.startswith(shop.url) for each in tab.requests)


def test_arms_are_changed_with_a_token_that_is_in_no_address(shop: Running, tab: Tab) -> None:
    tab.resize(1280)
    tab.open(f"{shop.url}/")
    tab.until(LIVE)
    pause = "document.querySelector('[aria-label=\"pause coffee\"]').click()"
    tab.evaluate(pause)
    tab.until("document.getElementById('done').textContent.includes('needs a token')")
    assert tab.evaluate("document.activeElement.id") == "token"  # one can type at once
    tab.call("Input.insertText", text=ADMIN_TEXT)
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, text="\r")
    tab.until("document.getElementById('token').value === ''")
    tab.until(LIVE)
    tab.evaluate(pause)
    tab.until("document.querySelector('[aria-label=\"resume coffee\"]') !== null")
    tab.evaluate("document.querySelector('[aria-label=\"resume coffee\"]').click()")
    tab.until("document.querySelector('[aria-label=\"pause coffee\"]') !== null")
    assert not [each for each in tab.requests if ADMIN_TEXT in each]
    assert tab.evaluate("document.body.innerHTML.includes('hlmc_')") is False
    tab.evaluate("sessionStorage.clear()")


def test_everything_is_reached_by_keyboard(shop: Running, tab: Tab) -> None:
    tab.open(f"{shop.url}/")
    tab.until(LIVE)
    reached = set()
    for _ in range(40):
        for kind in ("keyDown", "keyUp"):
            tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", windowsVirtualKeyCode=9)
        focused = "document.activeElement"
        reached.add(tab.evaluate(f"{focused}.id || {focused}.getAttribute('aria-label') || {focused}.tagName"))
    assert {"experiment", "theme", "access-title", "add", "about", "pause tea", "remove <b>cocoa</b>"} <= reached


def test_the_page_goes_on_when_the_experiment_changes(shop: Running, tab: Tab) -> None:
    tab.open(f"{shop.url}/")
    tab.until(LIVE)
    chosen = "document.getElementById('experiment')"
    tab.evaluate(f"{chosen}.value = 'other'; {chosen}.dispatchEvent(new Event('change'))")
    tab.until("document.getElementById('plan').textContent.includes('UCB1')")
    assert tab.complaints == []


def test_the_page_may_load_nothing_from_elsewhere(shop: Running) -> None:
    with shop.http() as http:
        for path in ("/", "/page.css", "/page.js", "/chart.js"):
            answer = http.get(path)
            assert answer.status_code == 200
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in answer.text.replace("http-equiv", "")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, which npm installs."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), AXE], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm does not install {AXE}")
    return Path(folder, "node_modules", "axe-core", "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(shop: Running, tab: Tab, axe: str, width: int, scheme: str) -> None:
    tab.resize(width, scheme=scheme)
    tab.open(f"{shop.url}/")
    tab.until(LIVE)
    tab.evaluate("document.getElementById('token-box').open = true")
    tab.evaluate(f"{axe}; 1")
    found = "axe.run().then(found => found.violations.map(each => [each.id, each.nodes.map(node => node.html)]))"
    assert tab.evaluate(found) == []


def test_a_stopping_service_ends_streams(tmp_path: Path) -> None:
    with (
        serving(tmp_path, TEXT) as running,
        running.http() as http,
        http.stream("GET", "/v1/drinks/stream") as answer,
    ):
        lines = answer.iter_lines()
        next(lines)
        running.server.should_exit = True
        running.service.stopping.set()
        for _ in lines:
            pass
