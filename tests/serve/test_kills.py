"""Services that are killed and stopped under load: nothing that was acknowledged is lost. The long form is
``python tests/killing.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from killing import killed
from postgres import Postgres

pytestmark = pytest.mark.slow


def faultless(found: dict[str, Any]) -> bool:
    """Whether nothing was lost, nothing strange was answered, and every row is what its events make of it."""
    kinds = ("lost decisions", "lost tells", "misattributed")
    return not any(found[each] for each in kinds) and found["wrong"] == found["problems"] == []


def test_nothing_is_lost_on_sqlite(tmp_path: Path) -> None:
    """Two services share a file; one is killed while the other goes on."""
    found = killed(tmp_path, str(tmp_path / "shop.db"), kills=24, services=2)
    assert faultless(found), found
    assert found["tells"] > 24 * 20


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A PostgreSQL that syncs."""
    with Postgres() as made:
        yield made


def test_nothing_is_lost_on_postgres(tmp_path: Path, server: Postgres) -> None:
    """Two services share a server, which is itself killed and started again."""

    def restart() -> None:
        server.stop()
        server.start()

    found = killed(tmp_path, server.url, kills=16, services=2, restart=restart)
    assert faultless(found), found
    assert found["tells"] > 16 * 20
