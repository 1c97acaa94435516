"""Bandits in a database: durable decisions and rewards a second, beside bare sqlite3 doing the same writes.

    python benchmarks/bandit.py                         all parts, on the disk of the temporary folder
    python benchmarks/bandit.py one batch --folder /dev/shm
    python benchmarks/bandit.py postgres --url postgresql:///bench

A *pair* is an ask and a tell, each committed before it returns. Ours and bare sqlite3 take turns, so that both see the
same machine; what counts is their ratio. On a machine that is busy, or a folder in memory, the disk's own fdatasync,
which is printed first, says how far the figures are the disk's.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hlmc
from hlmc.bandit.schema import TABLES, VERSION, statements
from hlmc.bandit.sqlite import LOG, PAGE, TYPES
from hlmc.bandit.store import LISTED

POLICY = hlmc.Champion(arms=100, memory=40)
BARE_DECISION = list(TABLES["decisions"])


def fdatasync(folder: Path, count: int = 200) -> tuple[float, float]:
    """Median and 99th percentile of the time that 4 KB written and synced take, in microseconds."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.pwrite(file.fileno(), bytes(1 << 20), 0)
        os.fsync(file.fileno())
        times = []
        for at in range(count):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), at % 256 * 4096)
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1e6)
    return statistics.median(times), sorted(times)[int(0.99 * count)]


def filled(path: Path | str, units: int, **options: object) -> hlmc.Bandit:
    """A bandit whose units are there."""
    bandit = hlmc.open(path, POLICY, seed=1, **options)
    for first in range(0, units, 5000):
        bandit.ask([f"u{unit}" for unit in range(first, min(first + 5000, units))])
    return bandit


def ours(bandit: hlmc.Bandit, units: int, size: int, clean: bool = False) -> Callable[[], int]:
    """A step of ``size`` pairs for random units; ``clean``: for the learner that all share."""

    def one() -> int:
        decision = bandit.ask(None if clean else f"u{random.randrange(units)}")
        bandit.tell(decision.id, 0.5)
        return 1

    def many() -> int:
        decisions = bandit.ask([None if clean else f"u{random.randrange(units)}" for _ in range(size)])
        bandit.tell([each.id for each in decisions], [0.5] * size)
        return size

    return one if size == 1 else many


def bare(path: Path, units: int, size: int, words: int) -> Callable[[], int]:
    """The same reads and writes by sqlite3 alone, with the same tables, pages and statements."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (f"page_size = {PAGE}", "journal_mode = wal", "synchronous = full", "cache_size = -65536"):
        connection.execute(f"pragma {pragma}")
    connection.execute(f"pragma wal_autocheckpoint = {LOG // PAGE}")
    for statement in statements(TYPES):
        connection.execute(statement)
    state, ticket = os.urandom(words), os.urandom(88)
    connection.execute("begin")
    rows = ((f"u{unit}", state) for unit in range(units))
    connection.executemany(
        "insert into learners (experiment, unit, state, horizon, delay, began, event, version, used, snapshot_event,"
        " snapshot_version) values (1, ?, ?, 0, 0, 0, 0, 2, 1.7e9, 0, 2)",
        rows,
    )
    connection.execute("commit")
    learners = "select id, unit, horizon, delay, began, state, event, version from learners"
    decisions = (
        "select number, id, learner, arm, control, version, event, asked, hour, due, ticket, result from decisions"
    )
    one, many = "= ?", LISTED
    insert = f"insert into decisions ({', '.join(BARE_DECISION)}) values ({', '.join('?' * len(BARE_DECISION))})"

    def read(sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
        given = values[0] if len(values) == 1 else json.dumps(values)
        return connection.execute(f"{sql} {one if len(values) == 1 else many}", (given,)).fetchall()

    def write(sql: str, rows: list[tuple[Any, ...]]) -> None:
        if len(rows) == 1:
            connection.execute(sql, rows[0])
        else:
            connection.executemany(sql, rows)

    def step() -> int:
        now = time.time()
        change = "update learners set state = ?, event = ?, version = ?, used = ? where id = ?"
        asked = [f"u{random.randrange(units)}" for _ in range(size)]
        connection.execute("begin immediate")
        (last,) = connection.execute("select coalesce(max(number), 0) from decisions").fetchone()
        found = {each[1]: each[0] for each in read(f"{learners} where experiment = 1 and unit", asked)}
        numbers = [found[unit] for unit in asked]
        noise = base64.urlsafe_b64encode(os.urandom(15 * size)).decode()
        rows = [
            (last + k, noise[20 * k - 20 : 20 * k], 1, number, 5, 0.5, 0, 2, 7, now, 400_000, None, ticket, *[None] * 5)
            for k, number in enumerate(numbers, 1)
        ]
        write(insert, rows)
        write(change, [(state, 8, 2, now, number) for number in sorted(set(numbers))])
        connection.execute("commit")
        connection.execute("begin immediate")
        told = read(f"{decisions} where number", [row[0] for row in rows])
        whose = sorted({each[2] for each in told})
        read(f"{learners} where id", whose)
        columns = "result = ?, reward = ?, told = ?, tell_event = ?, tell_version = ?"
        write(f"update decisions set {columns} where number = ?", [(0, 0.5, now, 8, 2, each[0]) for each in told])
        write(change, [(state, 9, 2, now, number) for number in whose])
        connection.execute("commit")
        return size

    return step


def rate(step: Callable[[], int], seconds: float) -> tuple[float, float]:
    """Pairs a second, and processor time per pair in microseconds."""
    count, began, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        count += step()
    return count / (time.perf_counter() - began), (time.process_time() - used) / count * 1e6


def side_by_side(steps: dict[str, Callable[[], int]], seconds: float, rounds: int = 5) -> dict[str, float]:
    """Medians of the rates of steps that take turns; printed."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for step in steps.values():
        rate(step, 0.2)
    for _ in range(rounds):
        for name, step in steps.items():
            found[name].append(rate(step, seconds / rounds))
    medians = {name: statistics.median(pairs for pairs, _ in each) for name, each in found.items()}
    for name, each in found.items():
        used = statistics.median(cpu for _, cpu in each)
        print(f"  {name:34} {medians[name]:9,.0f} pairs/s, {used:5.0f} us of processor time each")
    return medians


def part_one(options: argparse.Namespace, folder: Path) -> None:
    print(f"\n{options.units:,} units, K = 100, one by one and in batches; bare sqlite3 beside it")
    with filled(folder / "one.db", options.units) as bandit:
        words = bandit._experiment.rows.stored_bytes
        for size in options.sizes:
            plain = bare(folder / f"bare{size}.db", options.units, size, words)
            found = side_by_side(
                {f"hlmc, batches of {size}": ours(bandit, options.units, size), "sqlite3": plain}, options.seconds
            )
            hlmc_rate, plain_rate = found.values()
            print(f"  ratio {hlmc_rate / plain_rate:.2f}")


def threads(bandit: hlmc.Bandit, count: int, seconds: float) -> float:
    """Pairs a second of so many threads together, without units."""
    done = [0] * count
    stop = time.perf_counter() + seconds

    def play(at: int) -> None:
        step = ours(bandit, 1, 1, clean=True)
        while time.perf_counter() < stop:
            done[at] += step()

    players = [threading.Thread(target=play, args=(at,)) for at in range(count)]
    for each in players:
        each.start()
    for each in players:
        each.join()
    return sum(done) / seconds


def part_threads(options: argparse.Namespace, folder: Path) -> None:
    print("\nwithout units, one learner that all share")
    with hlmc.open(folder / "threads.db", POLICY, seed=1) as bandit:
        alone, together = [], []
        for _ in range(3):
            alone.append(rate(ours(bandit, 1, 1, clean=True), options.seconds / 6)[0])
            together.append(threads(bandit, 64, options.seconds / 6))
        one, many = statistics.median(alone), statistics.median(together)
        print(f"  one thread {one:,.0f} pairs/s, 64 threads {many:,.0f}, ratio {many / one:.2f}")


PLAYER = """
import json, random, sys, time, hlmc
address, units, seconds, clean = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "clean"
with hlmc.open(address) as bandit:
    bandit.tell(bandit.ask("warm").id, 0.5)
    print("ready", flush=True)
    sys.stdin.readline()
    count, times, stop = 0, [], time.perf_counter() + seconds
    while time.perf_counter() < stop:
        began = time.perf_counter()
        decision = bandit.ask(None if clean else f"u{random.randrange(units)}")
        bandit.tell(decision.id, 0.5)
        times.append(time.perf_counter() - began)
    times.sort()
    print(json.dumps([len(times) / seconds, times[int(0.99 * len(times))] * 1e3, times[-1] * 1e3]))
"""


def processes(address: str, count: int, units: int, seconds: float, kind: str = "units") -> list[list[float]]:
    """For each of so many processes: pairs a second, the 99th percentile and the longest time of a pair in ms."""
    command = [sys.executable, "-c", PLAYER, address, str(units), str(seconds), kind]
    players = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for each in players:
        each.stdout.readline()
    for each in players:
        each.stdin.write("go\n")
        each.stdin.flush()
    return [json.loads(each.communicate()[0]) for each in players]


def part_processes(options: argparse.Namespace, folder: Path) -> None:
    print(f"\n{options.units:,} units, four processes on one file")
    path = folder / "processes.db"
    filled(path, options.units).close()
    (one,) = processes(str(path), 1, options.units, options.seconds)
    four = processes(str(path), 4, options.units, options.seconds)
    total = sum(each[0] for each in four)
    print(f"  one {one[0]:,.0f} pairs/s (99 % within {one[1]:.1f} ms), four {total:,.0f}, ratio {total / one[0]:.2f}")
    for each in four:
        share = f"{each[0] / total * 4:.2f} of its share"
        print(f"    {each[0]:8,.0f} pairs/s, {share}, 99 % within {each[1]:.1f} ms, longest {each[2]:.0f} ms")


def part_large(options: argparse.Namespace, folder: Path) -> None:
    print("\nlarge: a million units, a million names, a report of ten million decisions")
    path = folder / "large.db"
    filled(path, options.many).close()
    print(f"  {options.many:,} units: opened in {opened(path):.3f} s, first pair included")
    path = folder / "names.db"
    names = [f"article {i}" for i in range(options.many)]
    policy = hlmc.Champion(arms=options.many + 10, memory=64)
    began = time.perf_counter()
    hlmc.open(path, policy, arms=names, seed=1).close()
    print(f"  {options.many:,} names: made in {time.perf_counter() - began:.1f} s")
    known = opened(path, policy, arms=names)
    print(f"  opened in {opened(path):.3f} s, and with the policy and the names given in {known:.3f} s")
    with hlmc.open(path) as bandit:
        bandit.ask("u")
        for what, change in {
            "add": lambda: bandit.arms.add("one more"),
            "pause": lambda: bandit.arms.pause("article 7"),
            "resume": lambda: bandit.arms.resume("article 7"),
            "remove": lambda: bandit.arms.remove("article 9"),
        }.items():
            began = time.perf_counter()
            change()
            print(f"  {what}: {1e3 * (time.perf_counter() - began):.1f} ms")
    report(options, folder / "report.db")


def opened(path: Path, *arguments: object, **options: object) -> float:
    """Seconds from hlmc.open to the answer of the first pair, in this process, which has loaded all code."""
    began = time.perf_counter()
    with hlmc.open(path, *arguments, **options) as bandit:
        bandit.tell(bandit.ask("someone").id, 0.5)
    return time.perf_counter() - began


def report(options: argparse.Namespace, path: Path) -> None:
    """A report of ten million decisions in 1000 hours, made by SQL: for a report it does not matter who made them."""
    with hlmc.open(path, POLICY, seed=1) as bandit:
        bandit.tell(bandit.ask("u").id, 0.5)
    connection = sqlite3.connect(path)
    columns, asked = ", ".join(BARE_DECISION), f"1.7e9 + i * {3.6e6 / options.decisions}"
    connection.execute(
        f"with recursive n (i) as (select 1 union all select i + 1 from n where i < {options.decisions})"
        f" insert into decisions ({columns}) select 1 + i, 'd', 1, 1, 1 + abs(random()) % 100, 0.5, i % 50 = 0, 2, i,"
        f" {asked}, cast(({asked}) / 3600 as int), null, x'00', 0, (i % 10) / 10.0, 1.7e9, null, null from n"
    )
    connection.commit()
    connection.close()
    with hlmc.open(path) as bandit:
        began = time.perf_counter()
        bandit.settle()
        print(f"  {options.decisions:,} decisions: rolled up in {time.perf_counter() - began:.1f} s, once")
        began, used = time.perf_counter(), time.process_time()
        found = bandit.report()
        seconds, used = time.perf_counter() - began, time.process_time() - used
        print(f"  report of {found.decisions:,} decisions: {seconds:.2f} s, {used:.2f} s of processor time")


def part_lean(options: argparse.Namespace, folder: Path) -> None:
    print("\nthe first answer of hlmc.open, in a process of its own")
    code = (
        "import time, hlmc, sys; bandit = hlmc.open(sys.argv[1], hlmc.Champion(arms=100, memory=40));"
        "bandit.tell(bandit.ask('u').id, 0.5); print(time.process_time())"
    )
    cache = folder / "cache"
    for when in ("cold", "warm", "warm"):
        environment = {**os.environ, "HLMC_CACHE": str(cache), "NUMBA_CACHE_DIR": str(cache)}
        path = tempfile.mktemp(suffix=".db", dir=folder)
        found = subprocess.run([sys.executable, "-c", code, path], env=environment, capture_output=True, text=True)
        print(f"  {when}: {float(found.stdout):.2f} s of processor time{found.stderr}")


def part_shards(options: argparse.Namespace, folder: Path) -> None:
    """Rewards do not change here, so that n shards are n learners that play a share of the decisions each."""
    steps, shards = 100_000, 8
    print(f"\nregret of {shards} shards against one learner, ten Bernoulli arms, a gap of 0.1, {steps:,} decisions")
    adversary = hlmc.adversaries.Bernoulli([0.6] + [0.5] * 9)
    for policy in (hlmc.TsallisINF(arms=10), hlmc.Champion(arms=10)):
        one, part = (
            float(hlmc.simulate(policy, adversary, horizon=horizon, runs=32, seed=1).regret("weak")[..., -1].mean())
            for horizon in (steps, steps // shards)
        )
        bound = hlmc.bandit.shard_cost(policy, shards, steps)
        print(f"  {policy}: {shards * part / one:.1f} times; the bound says {bound and round(bound, 1)}")


def part_postgres(options: argparse.Namespace, folder: Path) -> None:
    if options.url is None:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
        from postgres import Postgres

        with Postgres() as server:
            on_postgres(options, server.url)
            return
    on_postgres(options, options.url)


def on_postgres(options: argparse.Namespace, url: str) -> None:
    import psycopg

    print(f"\nPostgreSQL, {options.units:,} units")
    plain = psycopg.connect(url, autocommit=True)
    plain.execute("create table if not exists bare (id bigint primary key, n bigint)")
    plain.execute("insert into bare values (1, 0) on conflict do nothing")

    def bare_commits() -> int:
        for _ in range(2):
            plain.execute("update bare set n = n + 1 where id = 1")
        return 1

    with filled(url, options.units) as bandit:
        for size in (1, 100):
            names = {f"hlmc, batches of {size}": ours(bandit, options.units, size)}
            side_by_side(names | {"two bare updates of one number": bare_commits}, options.seconds)
    for shards in (1, 8):
        address, name = url, f"shards {shards}"
        hlmc.open(address, POLICY, name=name, shards=shards, seed=1).close()
        found = many_threads(address, name, options.seconds)
        print(f"  without units, 2 processes of 32 threads, shards={shards}: {sum(found):,.0f} pairs/s {found}")
        with hlmc.open(address, name=name, readonly=True) as bandit:
            print(f"    check: {bandit.check() or 'nothing is wrong'}")
    plain.execute("drop table bare")


THREADS = """
import sys; sys.path.insert(0, sys.argv[1])
import bandit as benchmark, hlmc
with hlmc.open(sys.argv[2], name=sys.argv[3]) as bandit:
    bandit.tell(bandit.ask().id, 0.5)
    print("ready", flush=True); sys.stdin.readline()
    print(benchmark.threads(bandit, 32, float(sys.argv[4])))
"""


def many_threads(address: str, name: str, seconds: float) -> list[float]:
    """Pairs a second of two processes, each with 32 threads, without units."""
    command = [sys.executable, "-c", THREADS, str(Path(__file__).resolve().parent), address, name, str(seconds)]
    players = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for each in players:
        each.stdout.readline()
    for each in players:
        each.stdin.write("go\n")
        each.stdin.flush()
    return [round(float(each.communicate()[0])) for each in players]


PARTS = {
    "one": part_one,
    "threads": part_threads,
    "processes": part_processes,
    "large": part_large,
    "lean": part_lean,
    "shards": part_shards,
    "postgres": part_postgres,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="on which disk")
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--many", type=int, default=10**6, help="units and names of the part large")
    parser.add_argument("--decisions", type=int, default=10**7, help="decisions of the part large")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 8, 64, 512])
    parser.add_argument("--seconds", type=float, default=6.0, help="that each figure takes")
    parser.add_argument("--url", help="a PostgreSQL server; default: one is started")
    options = parser.parse_args()
    median, late = fdatasync(options.folder)
    load = os.getloadavg()[0]
    print(f"schema {VERSION}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} processors with {load:.1f} running")
    print(f"fdatasync in {options.folder}: {median:.0f} us, 99 % within {late:.0f} us")
    for name in options.parts or PARTS:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            PARTS[name](options, Path(folder))


if __name__ == "__main__":
    main()
