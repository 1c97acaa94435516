"""Bandits in a store of the test's own, with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hlmc
from bandits import Clock, Opener


@pytest.fixture(params=["sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the test's own store is to be."""
    return str(tmp_path / "shop.db")


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
    from hlmc.bandit.sqlite import SQLiteStore

    made = Clock()
    monkeypatch.setattr(SQLiteStore, "now", made)
    monkeypatch.setattr("hlmc.bandit.upkeep.PAUSE", 1e9)  # nothing is done but by bandit.settle()
    return made
