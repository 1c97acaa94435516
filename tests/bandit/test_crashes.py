"""Killed processes, power cuts, a full disk, a lock that is not given back, damage: what was acknowledged stays.

``python scripts/bandit_crashes.py`` does the same some hundred times.
"""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

import hlmc
from bandits import NAMES, POLICY
from crashes import killed, problems, said
from hlmc.errors import BadStore, StoreUnavailable
from powercuts import ACKS, STORE, check_cuts, filled, record


@pytest.mark.parametrize("times", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_killed_processes_lose_nothing(address: str, tmp_path: Path, times: int) -> None:
    dice = random.Random(times)
    acknowledged: list[list] = []
    while (times := times - 1) >= 0 or len(acknowledged) < 10:  # on a busy machine players are killed before they begin
        acknowledged += killed(address, tmp_path / "players", dice)
        assert problems(address, acknowledged) == []


@pytest.mark.parametrize("states", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_power_cuts_lose_nothing(tmp_path: Path, states: int) -> None:
    calls = record(tmp_path, 40 if states < 10 else 200)
    assert check_cuts(calls, tmp_path, states, random.Random(states)) == []


def test_a_disk_that_does_not_keep_its_word_is_noticed(tmp_path: Path) -> None:
    """The check can fail: with a record whose syncs are left out, what was acknowledged is lost."""
    calls = [call for call in record(tmp_path, 30) if call.kind != 4]
    try:
        wrong = check_cuts(calls, tmp_path, 12, random.Random(1))
    except (BadStore, hlmc.errors.BadArgument):
        wrong = ["it cannot be opened"]
    assert wrong


@pytest.mark.parametrize(("room", "least"), [(100_000, 0), (1_000_000, 20)], ids=["when it is made", "later"])
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path, room: int, least: int) -> None:
    assert "the disk is full; what was acknowledged is kept" in filled(tmp_path, room)
    acknowledged = said(tmp_path / ACKS)
    assert len(acknowledged) >= least
    if not acknowledged:
        hlmc.open(tmp_path / "disk" / STORE, POLICY, arms=NAMES).close()
    assert problems(str(tmp_path / "disk" / STORE), acknowledged) == []


def test_a_lock_of_another_program_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlmc.bandit.sqlite.PATIENCE", 0.05)
    with hlmc.open(tmp_path / STORE, POLICY, arms=NAMES, seed=1) as bandit:
        decision = bandit.ask()
        other = sqlite3.connect(tmp_path / STORE, isolation_level=None)
        other.execute("begin immediate")
        with pytest.raises(StoreUnavailable, match="is locked by another program"):
            bandit.tell(decision.id, 1.0)
        other.execute("rollback")
        other.close()
        assert bandit.tell(decision.id, 1.0) == "applied"


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / STORE
    with hlmc.open(path, POLICY, arms=NAMES, seed=1) as bandit:
        for _ in range(50):
            bandit.ask("u")
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))
    with pytest.raises(BadStore, match="is damaged"):
        hlmc.open(path)
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(BadStore, match="is not an SQLite file, or it is damaged"):
        hlmc.open(path)


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever folder above the file is the mounted one, the innermost counts."""
    mounts = f"/dev/vda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n/dev/vdb {tmp_path}/local ext4 rw 0 0\n"
    read = Path.read_text

    def told(path: Path, *given: object, **named: object) -> str:
        return mounts if path == Path("/proc/self/mounts") else read(path, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "read_text", told)
    for folder in ("shared", "local"):
        (tmp_path / folder).mkdir()
    with pytest.raises(BadStore, match=r"lies on a network file system \(nfs4\)"):
        hlmc.open(tmp_path / "shared" / STORE, POLICY)
    assert list((tmp_path / "shared").iterdir()) == []
    hlmc.open(tmp_path / "local" / STORE, POLICY).close()
