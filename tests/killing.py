"""Services that are killed under load, and what must be true of their store afterwards.

    python tests/killing.py                 # 200 kills on SQLite, of two services
    python tests/killing.py --postgres      # on a PostgreSQL of its own, which is restarted every eighth time

``--serve FILE PORT`` is a nursery: it loads everything once, and forks a service, and another one whenever that has
ended, so that a kill costs milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import hlmc
from load import Connection, connected, get, post
from postgres import Postgres

TEXT = """
[experiments.shop]
policy = { policy = "HLMC", arms = 9, groups = [3, 3], horizon = 1000000 }
arms = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"]
[limits]
stop = 2
"""
UNITS = 5
Nursery = subprocess.Popen[str]
Restart = Callable[[], None]
GUESTS = 12


def nursery(file: Path, port: int) -> None:
    """Fork a service, and another when it has ended, until this process is told to end."""
    from hlmc.serve import application, config, logs, running, warming

    described = config.read_config(file)
    warming.warm(described.experiments[0].policy)
    assert application.Application
    logs.set_up(True, "critical")
    while True:
        child = os.fork()
        if child == 0:
            running.serve(described, "127.0.0.1", port)
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)


@dataclass
class Known:
    """What the clients were told, and so may rely on."""

    asked: dict[str, tuple[str, str]] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Guest:
    """A client that asks, tells, and begins again at another service when its connection is lost."""

    def __init__(self, ports: list[int], known: Known, ended: Callable[[], bool]) -> None:
        self._ports, self._known, self._ended = ports, known, ended
        self._connection: Connection | None = None

    async def visit(self) -> None:
        """Ask and tell until the end."""
        try:
            await self._stay()
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _stay(self) -> None:
        while not self._ended():
            unit, key = f"u{random.randrange(UNITS)}", secrets.token_hex(8)
            decision = await self._sure("ask", {"unit": unit, "key": key})
            if decision is None:
                return
            self._known.asked[decision["id"]] = (unit, decision["arm"])
            if random.random() < 0.2:  # the key stands for the decision, whatever has happened since
                again = await self._sure("ask", {"unit": unit, "key": key})
                if again is not None and again["id"] != decision["id"]:
                    self._known.wrong.append("a key gave two decisions")
            reward = random.randrange(9) / 8
            answer = await self._sure("tell", {"id": decision["id"], "reward": reward})
            if answer is not None:
                self._known.told[decision["id"]] = reward
                self._known.answers[answer["result"]] += 1

    async def _sure(self, what: str, body: Any) -> Any:
        """The answer to a request, which is repeated until there is one; None at the end."""
        while not self._ended():
            try:
                if self._connection is None:
                    self._connection = await connected(random.choice(self._ports))
                async with asyncio.timeout(60.0):
                    status, text = await self._connection.send(post(f"/v1/shop/{what}", body))
            except (OSError, TimeoutError):
                self._leave()
                await asyncio.sleep(0.02)
                continue
            if status == 200:
                return msgspec.json.decode(text)
            if status not in (429, 503):
                self._known.wrong.append(f"{what}: {status} {text[:100]!r}")
            await asyncio.sleep(0.02)
        return None


def killed(folder: Path, store: str, kills: int, services: int = 1, restart: Restart | None = None) -> dict[str, Any]:
    """Kill services under load, and compare their store with what was acknowledged.

    Every third service is told to stop (SIGTERM) instead. ``restart`` restarts the database; it is called now and then.
    """
    file = folder / "shop.toml"
    file.write_text(f"store = {store!r}\n{TEXT}")
    ports = [_free() for _ in range(services)]
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", str(file)]
    nurseries = [
        subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True, start_new_session=True)
        for port in ports
    ]
    known = Known()
    try:
        asyncio.run(_load(nurseries, ports, kills, known, restart))
    finally:
        for each in nurseries:
            os.killpg(each.pid, signal.SIGKILL)
            each.communicate()
    return compared(store, folder, known)


async def _load(
    nurseries: list[subprocess.Popen[str]],
    ports: list[int],
    kills: int,
    known: Known,
    restart: Callable[[], None] | None,
) -> None:
    children = [await asyncio.to_thread(_child, each) for each in nurseries]
    for port in ports:
        await _ready(port)
    over = False
    guests = [asyncio.create_task(Guest(ports, known, lambda: over).visit()) for _ in range(GUESTS)]
    for number in range(kills):
        done = len(known.told)
        while len(known.told) < done + 20:  # every service lives until something was done
            await asyncio.sleep(0.005)
        await asyncio.sleep(random.uniform(0.0, 0.1))
        which = number % len(ports)
        while True:
            try:
                os.kill(children[which], signal.SIGTERM if number % 3 == 2 else signal.SIGKILL)
                break
            except ProcessLookupError:  # it found no database when it began, and there is another one
                children[which] = await asyncio.to_thread(_child, nurseries[which])
        children[which] = await asyncio.to_thread(_child, nurseries[which])
        if restart is not None and number % 8 == 7:
            await asyncio.to_thread(restart)
    done = len(known.told)
    while len(known.told) < done + 20:
        await asyncio.sleep(0.01)
    over = True
    await asyncio.gather(*guests)


def compared(store: str, folder: Path, known: Known) -> dict[str, Any]:
    """What is wrong with a store, given what was acknowledged."""
    with hlmc.open(store, name="shop") as bandit:
        bandit.export(folder / "log.csv")
        problems = bandit.check()
    with (folder / "log.csv").open(newline="") as file:
        kept = {row["id"]: row for row in csv.DictReader(file)}
    lost_asks = [each for each in known.asked if each not in kept]
    strange = [
        each for each, whose in known.asked.items() if each in kept and (kept[each]["unit"], kept[each]["arm"]) != whose
    ]
    lost = [each for each in known.told if each not in kept or kept[each]["reward"] == ""]
    other = [each for each, reward in known.told.items() if each not in lost and float(kept[each]["reward"]) != reward]
    return {
        "decisions": len(known.asked),
        "tells": len(known.told),
        "answers": dict(known.answers),
        "lost decisions": len(lost_asks),
        "lost tells": len(lost),
        "misattributed": len(strange) + len(other),
        "wrong": known.wrong[:5],
        "problems": problems[:5],  # each row is what its events make of it: nothing was counted twice
    }


def _child(nursery: Nursery) -> int:
    assert nursery.stdout is not None
    return int(nursery.stdout.readline())


async def _ready(port: int) -> None:
    while True:
        try:
            connection = await connected(port)
            status, _ = await connection.send(get("/readyz"))
            connection.close()
            if status == 200:
                return
        except OSError:
            pass
        await asyncio.sleep(0.02)


def _free() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def main() -> int:
    """Kill, and print what was lost, counted twice or given to another decision. It must be nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--services", type=int, default=2)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--serve", nargs=2, metavar=("FILE", "PORT"))
    options = parser.parse_args()
    if options.serve:
        nursery(Path(options.serve[0]), int(options.serve[1]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.postgres:
            with Postgres() as server:

                def restart() -> None:
                    server.stop()
                    server.start()

                found = killed(folder, server.url, options.kills, options.services, restart)
        else:
            found = killed(folder, str(folder / "shop.db"), options.kills, options.services)
    for key, value in found.items():
        sys.stdout.write(f"{key}: {value}\n")
    bad = ("lost decisions", "lost tells", "misattributed", "wrong", "problems")
    return int(any(found[each] for each in bad))


if __name__ == "__main__":
    sys.exit(main())
