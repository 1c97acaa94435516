"""SQLite's log is copied beside the answers: it stays short, nobody who reads is waited for, and nothing is lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import hlmc
from hlmc.serve import copying
from hlmc.serve.copying import Log


def begun(path: Path) -> int:
    """How often the log has begun anew."""
    return int.from_bytes(Path(f"{path}-wal").read_bytes()[12:16], "big")


def test_a_long_log_begins_anew_once_nobody_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.db"
    monkeypatch.setattr(copying, "LEAST", 5)
    with hlmc.open(path, hlmc.UCB1(arms=2), arms=["tea", "coffee"], seed=1) as bandit:
        log = Log(path)
        bandit.ask([f"user-{i}" for i in range(100)])
        log.copy()
        bandit.ask("user-1")
        first = begun(path)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("begin")
        reader.execute("select count(*) from decisions").fetchone()
        bandit.ask([f"user-{i}" for i in range(100)])
        log.copy()
        bandit.ask("user-1")
        assert begun(path) == first
        reader.close()
        log.copy()
        bandit.ask("user-1")
        assert begun(path) > first
        log.close()
        assert bandit.check() == []
        assert bandit.report().decisions == 203
