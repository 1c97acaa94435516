"""The built site in a browser. `make test-docs` builds it and runs these tests; `make test` leaves them out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))
from browser import BROWSER, Tab, serving

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "build" / "site"


@pytest.fixture(scope="session")
def site() -> Path:
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site in build/site: run `make docs`")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with serving(site) as here:
        yield here


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if BROWSER is None:
        pytest.skip("no Chromium here: the site was not opened in a browser")
    tab = Tab(tmp_path_factory.mktemp("profile"))
    yield tab
    tab.close()
