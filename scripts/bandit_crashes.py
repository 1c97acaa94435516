"""Kill processes that play on a bandit's store, or cut the power, so many times, and look at what is left.

    python scripts/bandit_crashes.py kills 500
    python scripts/bandit_crashes.py kills 500 --postgres
    python scripts/bandit_crashes.py cuts 1000
    python scripts/bandit_crashes.py servers 20        PostgreSQL itself is killed, or stopped at once

Each time: what was acknowledged is there, at its own decision, once; and bandit.check() finds every row to be what its
events make of it. Exit status 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
crashes: Any = importlib.import_module("crashes")
powercuts: Any = importlib.import_module("powercuts")
postgres: Any = importlib.import_module("postgres")

PER_STORE = 25
"""Kills until a new store is taken."""


def kills(times: int, folder: Path, dice: random.Random, server: Any) -> list[str]:
    """Kill two processes that share a store."""
    wrong: list[str] = []
    acknowledged: list[Any] = []
    said = 0
    for time in range(times):
        store = time // PER_STORE
        if time % PER_STORE == 0:
            acknowledged = []
            if server is not None:
                server.clear()
        before = len(acknowledged)
        address = str(folder / f"store{store}.db") if server is None else server.url
        acknowledged += crashes.killed(address, folder / f"players{store}", dice)
        said += len(acknowledged) - before
        wrong += crashes.problems(address, acknowledged)
    print(f"{times} kills of two processes, {said:,} acknowledged answers: {len(wrong)} wrong")
    return wrong


def cuts(times: int, folder: Path, dice: random.Random) -> list[str]:
    """Cut the power of an SQLite store."""
    calls = powercuts.record(folder, 400)
    wrong: list[str] = powercuts.check_cuts(calls, folder, times, dice)
    kinds = sum(call.kind == powercuts.SYNC for call in calls)
    print(f"{times} power cuts in a record of {len(calls):,} calls with {kinds:,} syncs: {len(wrong)} wrong")
    return wrong


def servers(times: int, folder: Path, dice: random.Random) -> list[str]:
    """Kill a PostgreSQL server, or stop it at once, while two processes play."""
    wrong: list[str] = []
    acknowledged: list[Any] = []
    with postgres.Postgres() as server:
        for time in range(times):
            how = (signal.SIGKILL, signal.SIGQUIT)[time % 2]
            acknowledged += crashes.killed(server.url, folder / "players", dice, meanwhile=lambda: server.stop(how))  # noqa: B023
            server.start()
            wrong += crashes.problems(server.url, acknowledged)
    print(f"{times} ends of a server, {len(acknowledged):,} acknowledged answers: {len(wrong)} wrong")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kills", "cuts", "servers"])
    parser.add_argument("times", type=int)
    parser.add_argument("--postgres", action="store_true", help="kills of players on a PostgreSQL server")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "kills" and options.postgres:
            with postgres.Postgres() as server:
                wrong = kills(options.times, folder, dice, server)
        elif options.what == "kills":
            wrong = kills(options.times, folder, dice, None)
        else:
            wrong = (cuts if options.what == "cuts" else servers)(options.times, folder, dice)
    print(*wrong[:50], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
