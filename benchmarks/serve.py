"""Decisions over HTTP: pairs of ask and tell a second, latency, what the sync costs, and memory over a long time.

    python benchmarks/serve.py                      # SQLite: one by one, in lists of 100, without the sync, plain GETs
    python benchmarks/serve.py --postgres           # two services on a PostgreSQL of its own
    python benchmarks/serve.py --flat 600           # resident memory while a day's traffic goes by, in ten minutes
    python benchmarks/serve.py --ready 1000000      # seconds until a service with so many units takes requests

The services are processes of their own; this one sends the load, from 64 connections. K = 100 arms, 100,000 units.
Every figure stands beside the time that fdatasync takes on the same disk, because each commit waits for one. The
processor time that the service takes for an item says more than the rate where others use the machine too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from load import Connection, Measured, Step, connected, driven, get, post, timed
from postgres import Postgres

BUILD = Path(__file__).resolve().parent.parent / "build"
"""Stores lie here: a folder for temporary files may be memory, where a sync costs nothing."""
UNITS = 100_000
CONNECTIONS = 64
BATCH = 100
SHOP = """
durable = {durable}
[experiments.shop]
policy = {{ policy = "Champion", arms = 100, memory = 20 }}
arms = {arms}
seed = 1
{more}
"""


def sync_ms(folder: Path, times: int = 100) -> float:
    """Median milliseconds that fdatasync takes after a page was written."""
    found = []
    handle = os.open(folder / "sync.tmp", os.O_CREAT | os.O_RDWR)
    for _ in range(times):
        os.pwrite(handle, os.urandom(4096), 0)
        begun = time.perf_counter()
        os.fdatasync(handle)
        found.append(time.perf_counter() - begun)
    os.close(handle)
    return 1000.0 * statistics.median(found)


@contextmanager
def served(folder: Path, store: str | None = None, durable: bool = True, more: str = "") -> Iterator[tuple[int, int]]:
    """A service of its own process: its port and its number."""
    file = folder / f"shop-{durable}.toml"
    file.write_text(SHOP.format(durable=str(durable).lower(), arms=[f"arm {k}" for k in range(100)], more=more))
    command = [sys.executable, "-m", "hlmc", "serve", str(file), "--port", "0"]
    process = subprocess.Popen([*command, *(["--store", store] if store else [])], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        if "http://" not in line:
            raise RuntimeError(line + process.stderr.read())
        port = int(line.split("127.0.0.1:")[1].split("/")[0])
        asyncio.run(_ready(port))
        yield port, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


async def _ready(port: int) -> None:
    connection = await connected(port)
    while (await connection.send(get("/readyz")))[0] != 200:
        await asyncio.sleep(0.05)
    connection.close()


async def fill(port: int, units: int = UNITS) -> None:
    """Have every unit ask once, so that its learner is there."""
    connection = await connected(port)
    for at in range(0, units, 1000):
        status, _ = await connection.send(post("/v1/shop/ask", [{"unit": f"u{i}"} for i in range(at, at + 1000)]))
        assert status == 200
    connection.close()


async def single(connection: Connection, measured: Measured) -> int:
    """A decision, and its reward."""
    body = await timed(connection, measured, post("/v1/shop/ask", {"unit": f"u{random.randrange(UNITS)}"}))
    decision = json.loads(body)
    reward = float(random.random() < 0.3)
    await timed(connection, measured, post("/v1/shop/tell", {"id": decision["id"], "reward": reward}))
    return 1


async def listed(connection: Connection, measured: Measured) -> int:
    """A hundred decisions, and their rewards."""
    units = [{"unit": f"u{random.randrange(UNITS)}"} for _ in range(BATCH)]
    decisions = json.loads(await timed(connection, measured, post("/v1/shop/ask", units)))
    told = [{"id": each["id"], "reward": float(random.random() < 0.3)} for each in decisions]
    await timed(connection, measured, post("/v1/shop/tell", told))
    return BATCH


async def plain(connection: Connection, measured: Measured) -> int:
    """A request that does nothing."""
    await timed(connection, measured, get("/healthz"))
    return 1


def measure(name: str, services: list[tuple[int, int]], seconds: float, step: Step) -> Measured:
    """Drive some services, and print a line of the table."""
    processes = [psutil.Process(number) for _, number in services]
    before = sum(sum(each.cpu_times()[:2]) for each in processes)
    found = asyncio.run(driven([port for port, _ in services], CONNECTIONS, seconds, step))
    own = sum(sum(each.cpu_times()[:2]) for each in processes) - before
    late = f"p50 {found.quantile(0.5):6.1f} ms  p99 {found.quantile(0.99):6.1f} ms"
    print(f"{name:24}{found.rate:10,.0f} a second  {late}  {1e6 * own / found.items:7.1f} us of processor", flush=True)
    return found


def sqlite(seconds: float, rounds: int) -> None:
    """One service on SQLite, and the same without the sync, in turn."""
    with tempfile.TemporaryDirectory(dir=BUILD) as name, ExitStack() as stack:
        folder = Path(name)
        print(f"fdatasync: {sync_ms(folder):.2f} ms")
        services = {}
        for durable in (True, False):
            store = str(folder / f"{durable}.db")
            services[durable] = stack.enter_context(served(folder, store, durable))
            asyncio.run(fill(services[durable][0]))
        rates: dict[str, list[float]] = {"synced": [], "not synced": [], "get": []}
        for _ in range(rounds):
            for durable in (True, False):
                name = "pairs" if durable else "pairs, not synced"
                found = measure(name, [services[durable]], seconds, single)
                rates["synced" if durable else "not synced"].append(found.rate)
            rates["get"].append(measure("plain GETs", [services[True]], seconds, plain).rate)
            measure("pairs in lists of 100", [services[True]], seconds, listed)
        synced, bare, gets = (statistics.median(rates[each]) for each in ("synced", "not synced", "get"))
        print(f"the sync costs {100 * (1 - synced / bare):.0f} %; {2 * synced / gets:.2f} of the rate of plain GETs")
        print(f"fdatasync: {sync_ms(folder):.2f} ms")


def postgres(seconds: float, rounds: int) -> None:
    """Two services on one PostgreSQL."""
    with tempfile.TemporaryDirectory(dir=BUILD) as name, Postgres() as server, ExitStack() as stack:
        folder = Path(name)
        print(f"fdatasync: {sync_ms(folder):.2f} ms")
        services = [stack.enter_context(served(folder, server.url)) for _ in range(2)]
        asyncio.run(fill(services[0][0]))
        for _ in range(rounds):
            measure("pairs, PostgreSQL", services, seconds, single)
            measure("pairs in lists of 100", services, seconds, listed)
        print(f"fdatasync: {sync_ms(folder):.2f} ms")


def ready(units: int) -> None:
    """Seconds until a service that begins, with its kernels compiled, is ready where there are so many units."""
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        folder = Path(name)
        store = str(folder / "shop.db")
        with served(folder, store, False) as service:
            asyncio.run(fill(service[0], units))
        for _ in range(3):
            begun = time.perf_counter()
            with served(folder, store) as service:
                loaded, own = time.perf_counter() - begun, sum(psutil.Process(service[1]).cpu_times()[:2])
                first = asyncio.run(driven([service[0]], 1, 0.1, single)).latencies[0]
            print(f"{units:,} units: ready after {loaded:.2f} s ({own:.2f} s of processor), ", end="")
            print(f"first answer in {1000 * first:.0f} ms", flush=True)


def flat(seconds: float) -> None:
    """Resident memory in each tenth of the time, while pairs come one by one.

    The store is filled first: SQLite keeps up to 64 MiB of its pages in memory, and nothing is flat before it does.
    """
    more = "wait = 20\ndefault = 0.0\ncontrol = 0.02\nkeep = 60"
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        folder = Path(name)
        with served(folder, str(folder / "flat.db"), True, more) as service:
            process, sizes = psutil.Process(service[1]), []
            asyncio.run(fill(service[0]))
            for _ in range(10):
                measure("pairs", [service], seconds / 10, single)
                sizes.append(process.memory_info().rss / 2**20)
                print(f"    {sizes[-1]:.1f} MiB resident", flush=True)
            more_than = 100 * (max(sizes[1:]) / sizes[0] - 1)
            print(f"after the first tenth: {sizes[0]:.1f} MiB; later at most {more_than:+.1f} %")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", action="store_true", help="two services on a PostgreSQL of its own")
    parser.add_argument("--flat", type=float, metavar="SECONDS", help="memory over so many seconds")
    parser.add_argument("--ready", type=int, metavar="UNITS", help="seconds until it takes requests with so many units")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement (5)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is made (3)")
    options = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    uvloop.install()
    if options.ready:
        ready(options.ready)
    elif options.flat:
        flat(options.flat)
    elif options.postgres:
        postgres(options.seconds, options.rounds)
    else:
        sqlite(options.seconds, options.rounds)


if __name__ == "__main__":
    main()
