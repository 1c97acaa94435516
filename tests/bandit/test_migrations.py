"""Stores of earlier versions are brought up when they are opened, and go on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import hlmc
from bandits import NAMES, POLICY, Opener
from hlmc.bandit.schema import MIGRATIONS, VERSION
from hlmc.errors import BadStore

STORE = Path(__file__).with_name("store_1.sql")
"""Made by version 0.3.0: six decisions for the units u, u, v, none, v and u, of which the first three were told, the
last one with a key; then arm d was paused."""
IDS = [
    "B5n6vfBFGBqtWx6dDhVzTQAHm9Sdzy6P", "ohMwLt8W9NqcT_2SeHOtxQAHm9SFx2zV", "PDyK1ZINvfW9MxJIqABf_wAHm9R3khHD",
    "WVC9a0EYHotH7uLg1M2wIAAHm9Rjm_VZ", "YWzrWAij2kWF3vPPtLoz8AAHm9SwuXTI", "qQDHS2wN8hMYD59EjsBqXgAHm9Sq9X0M",
]  # fmt: skip


def test_a_store_of_0_3_goes_on(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(STORE.read_text())
        connection.execute("pragma user_version = 1")
        connection.execute(f"pragma application_id = {0x686C6D63}")
    connection.close()
    with hlmc.open(tmp_path / "shop.db") as bandit:
        assert bandit.check() == []
        assert bandit.ask("u", key="request-7").id == IDS[5]
        assert bandit.tell(IDS, [1.0] * 6) == ["duplicate"] * 3 + ["applied"] * 3
        assert bandit.tell([IDS[4][:-1] + "-", "\u00e4" * 32], [1.0] * 2) == ["unknown"] * 2
        fresh = bandit.ask(["u", "new"])
        assert bandit.tell([each.id for each in fresh] + IDS[5:], [1.0] * 3) == ["applied"] * 2 + ["duplicate"]
        bandit.export(tmp_path / "log.csv")
        lines = (tmp_path / "log.csv").read_text().splitlines()[1:]
        assert [line.split(",")[0] for line in lines] == [*IDS, *(each.id for each in fresh)]
        assert bandit.check() == []


def test_earlier_ids_stay_valid(opened: Opener) -> None:
    """In both databases, with the tables as they were in version 1."""
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decisions = [bandit.ask("u", key="request-7"), *bandit.ask(["u", "v"])]
    bandit.tell(decisions[1].id, 1.0)
    store = bandit._experiment.store
    with store.transaction():
        store.all("drop index decisions_former")
        for number, name in enumerate(IDS[:3], 1):
            store.all("update decisions set id = ? where number = ?", name, number)
        store.all("update keys set decision = ?", IDS[0])
        store.all("create unique index decisions_id on decisions (id)")
        store.all("alter table keys drop column number")
        store.all("alter table experiments drop column deleted")
        sqlite = "sqlite" in type(store).__module__
        store.all("pragma user_version = 1" if sqlite else "update schema_version set version = 1")
    bandit.close()
    again = opened()
    assert again.ask("u", key="request-7") == decisions[0]._replace(id=IDS[0])
    assert again.tell(IDS[0], 1.0) == "applied"
    assert again.tell(IDS[:3], [1.0] * 3) == ["duplicate", "duplicate", "applied"]
    assert again.tell(again.ask("w").id, 1.0) == "applied"
    assert again.check() == []


def test_an_older_schema_is_brought_up_once(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    decision = opened(POLICY, arms=NAMES, seed=1).ask("u")
    for module in ("schema", "sqlite", "postgres"):
        monkeypatch.setattr(f"hlmc.bandit.{module}.VERSION", VERSION + 1)
    monkeypatch.setitem(MIGRATIONS, VERSION, ("alter table learners add column mood text",))
    with pytest.raises(BadStore, match="readonly does not"):
        opened(readonly=True)
    again = opened()
    with again._experiment.store.reading():
        assert again._experiment.store.all("select mood from learners") == [(None,)]
    assert again.tell(decision.id, 1.0) == "applied"
    opened()  # not migrated twice
    monkeypatch.undo()
    with pytest.raises(BadStore, match=f"has schema {VERSION + 1}"):
        opened()
