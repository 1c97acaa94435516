"""What only a store in PostgreSQL has: a server that stops, transactions that are refused, lost connections."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

import hlmc
from bandits import NAMES, POLICY
from hlmc.errors import BadStore, MissingExtra, StoreUnavailable
from postgres import Postgres


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def url(server: Postgres) -> str:
    server.clear()
    return server.url


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hlmc\[postgres\]'"):
        hlmc.open("postgresql://localhost/shop", POLICY)


def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        hlmc.open("postgresql://user:secret@/shop?host=/nowhere", POLICY)
    assert "secret" not in str(caught.value)
    with pytest.raises(BadStore, match="URL that is valid"):
        hlmc.open("postgresql://user@/shop?hosts=/nowhere", POLICY)


def test_a_newer_schema_is_refused(url: str) -> None:
    with hlmc.open(url, POLICY) as bandit, bandit._experiment.store.transaction():
        bandit._experiment.store.all("update schema_version set version = 99")
    with pytest.raises(BadStore, match="has schema 99"):
        hlmc.open(url)


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGKILL], ids=["immediate", "killed"])
def test_what_was_acknowledged_survives_a_server_that_dies(own_server: Postgres, how: int) -> None:
    """The server dies while threads ask and tell. The same bandit goes on when it is back."""
    bandit = hlmc.open(own_server.url, POLICY, arms=NAMES, seed=1)
    asked: list[str] = []
    told: dict[str, str] = {}
    enough = threading.Event()

    def play(unit: str) -> None:
        try:
            while True:
                decision = bandit.ask(unit)
                asked.append(decision.id)
                told[decision.id] = bandit.tell(decision.id, 1.0)
                if len(told) > 100:
                    enough.set()
        except StoreUnavailable:
            pass

    threads = [threading.Thread(target=play, args=(f"u{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    enough.wait()
    own_server.stop(how)
    for thread in threads:
        thread.join()
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        bandit.ask("u0")
    own_server.start()
    assert len(told) > 100
    assert set(bandit.tell(list(told), [0.0] * len(told))) <= {"duplicate"}
    known = bandit.tell(asked, [1.0] * len(asked))
    assert "unknown" not in known
    assert bandit.check() == []
    bandit.close()


def test_connections_that_were_lost_in_between_are_made_again(url: str, server: Postgres) -> None:
    bandit = hlmc.open(url, POLICY, arms=NAMES, seed=1)
    decision = bandit.ask()
    with hlmc.open(url) as other, other._experiment.store.transaction():
        other._experiment.store.all(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
        )
    assert bandit.tell(decision.id, 1.0) == "applied"
    bandit.close()


PLAY = """
import contextlib, sys, hlmc
with hlmc.open(sys.argv[1]) as bandit:
    for i in range(60):
        batch = bandit.ask([f"u{(i * k) % 7}" for k in range(1, 6)] + [None], key=[f"{i} {k}" for k in range(6)])
        bandit.tell([each.id for each in batch], [1.0] * 6)
        if i % 20 == 0:
            with contextlib.suppress(hlmc.errors.BadArgument):  # another process was faster
                (bandit.arms.resume if bandit.arms.paused else bandit.arms.pause)("arm 3")
"""


def test_processes_that_want_the_same_rows_and_keys_agree(url: str) -> None:
    """Every process asks under the same keys for the same new units in batches, while the arms change."""
    bandit = hlmc.open(url, POLICY, arms=NAMES, seed=1)
    players = [subprocess.Popen([sys.executable, "-c", PLAY, url], stderr=subprocess.PIPE) for _ in range(3)]
    errors = [player.communicate()[1].decode() for player in players]
    assert [player.returncode for player in players] == [0, 0, 0], errors
    report = bandit.report()
    assert (report.decisions, report.learned.told) == (360, 360)
    assert bandit.check() == []
    bandit.close()
