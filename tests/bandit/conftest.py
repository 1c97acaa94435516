"""Bandits in a store of the test's own, with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hlmc
from bandits import Clock, Opener
from hlmc.bandit.postgres import PostgresStore
from hlmc.bandit.sqlite import SQLiteStore
from postgres import Postgres


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests of this process."""
    with Postgres("-c", "fsync=off") as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the test's own store is to be: every test here is one for every kind of store."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db")
    made: Postgres = request.getfixturevalue("server")
    made.clear()
    return made.url


@pytest.fixture
def opened(address: str) -> Iterator[Opener]:
    """Opens a bandit in the test's own store; what is opened is closed at the end."""
    made: list[hlmc.Bandit] = []

    def opener(*arguments: object, **options: object) -> hlmc.Bandit:
        made.append(hlmc.open(address, *arguments, **options))
        return made[-1]

    yield opener
    for each in made:
        each.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still until the test moves it."""
    made = Clock()
    monkeypatch.setattr(SQLiteStore, "now", made)
    monkeypatch.setattr(PostgresStore, "now", made)
    monkeypatch.setattr("hlmc.bandit.upkeep.PAUSE", 1e9)  # nothing is done but by bandit.settle()
    return made
