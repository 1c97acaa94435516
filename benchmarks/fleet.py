"""How fast many learners are: batches of a large fleet, and opening one from its file.

    python benchmarks/fleet.py             # everything, about a minute
    python benchmarks/fleet.py --quick     # a tenth of the learners, to see that it runs
    python benchmarks/fleet.py batch       # some of the parts

A batch is 10^5 learners at random out of 10^6, another one each time, and the figure is for ``select`` and ``update``
together, with all their checks, for each learner. The least of many is given, in processor time and by the clock: on a
machine that others use too, the first says more. Compilation is not part of it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hlmc

POLICIES = (
    hlmc.HLMC(arms=20, memory=10, horizon=10**6),
    hlmc.HLMC(arms=100, memory=20, horizon=10**6),
)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of this thread's processor time, and by the clock."""
    clock, processor = time.perf_counter(), time.thread_time()
    work()
    return time.thread_time() - processor, time.perf_counter() - clock


def batch(policy: hlmc.Policy, size: int, repeats: int) -> None:
    """Nanoseconds for ``select`` and ``update`` of a learner in a batch."""
    count = size // 10
    began = time.perf_counter()
    fleet = policy.fleet(size, seed=0)
    seconds = time.perf_counter() - began
    print(f"{policy!r}: {size:,} learners in {fleet.state.nbytes / 1e6:.0f} MB, made in {seconds:.2f} s")
    order = np.random.default_rng(1).permutation(size).reshape(-1, count)
    rewards = np.random.default_rng(2).random(count)

    def play(ids: np.ndarray) -> None:
        fleet.select(ids)
        fleet.update(rewards, ids)

    for ids in order:
        play(ids)
    for threads in sorted({1, fleet.threads}):
        fleet.threads = threads
        times = [timed(lambda turn=turn: play(order[turn % len(order)])) for turn in range(repeats)]
        processor, clock = (min(each) / count * 1e9 for each in zip(*times, strict=True))
        own = f"{processor:.0f} ns of processor time, " if threads == 1 else ""
        cores = "one core" if threads == 1 else f"{threads} threads"
        print(f"  select + update of {count:,} random learners, {cores}: {own}{clock:.0f} ns by the clock")


def files(size: int, repeats: int) -> None:
    """Opening a fleet, using it for the first time, and a checkpoint."""
    policy = POLICIES[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet"
        seconds = timed(lambda: policy.fleet(size, seed=0, file=path))[1]
        print(f"{policy!r}: {size:,} learners in a file of {path.stat().st_size / 1e6:.0f} MB, made in {seconds:.2f} s")
        opening = min(timed(lambda: hlmc.load(path))[1] for _ in range(repeats))
        print(f"  opening: {opening * 1e3:.1f} ms")
        fleet = hlmc.load(path)
        assert isinstance(fleet, hlmc.Fleet)
        ids = np.random.default_rng(1).permutation(size)[: size // 1000]
        print(f"  the first {len(ids):,} random learners selected: {timed(lambda: fleet.select(ids))[1] * 1e3:.0f} ms")
        print(f"  their checkpoint: {timed(fleet.checkpoint)[1] * 1e3:.0f} ms")
        print(f"  checking all rows: {timed(fleet.verify)[1] * 1e3:.0f} ms")
        fleet.select()
        print(f"  a checkpoint of all: {timed(fleet.checkpoint)[1] * 1e3:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["batch", "files", []], help="default: all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the learners")
    options = parser.parse_args()
    size = 10**5 if options.quick else 10**6
    parts = options.parts or ["batch", "files"]
    if "batch" in parts:
        for policy in POLICIES:
            batch(policy, size, 50)
    if "files" in parts:
        files(size, 20)


if __name__ == "__main__":
    main()
