"""How long the judge takes: best fixed arm, best switching sequence, per-step best.

    python benchmarks/evaluation.py            # everything, under a minute on one or two cores
    python benchmarks/evaluation.py --quick    # a tenth of the steps, to see that it runs
    python benchmarks/evaluation.py --threads 1
    python benchmarks/evaluation.py large      # only the judge beside the play, at K = 10^4 and 10^5

The last part plays HLMC and Champion at K = 10^5, T = 10^7 and prints what pseudo-regret adds to the time of the play.

The general adversary is noise, a random number for every (t, arm), so that nothing can be known of its
phases. The phase-constant one is noise that is held for a while. Compilation is done before the clock starts.
Seconds of cores are what all threads together used: on a busy machine they say more than the clock.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import hlmc
from hlmc.adversaries import Sawtooth, UniformMeans
from hlmc.adversaries.base import Adversary
from hlmc.engine.kernel import kernel
from hlmc.engine.stream import mix, unit
from hlmc.evaluation import best_fixed, best_switching, dynamic


@kernel
def noise(spec: Any, t: int, arm: int) -> float:
    """A number in [0, 1) for every stretch of ``spec[1]`` steps and every arm."""
    return unit(mix(np.uint64(t // int(spec[1])) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(arm)))


@kernel
def fresh_noise(spec: Any, t: int, arm: int) -> float:
    """A number in [0, 1) for every step and every arm."""
    return unit(mix(np.uint64(t) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(arm)))


@dataclass(frozen=True, repr=False)
class Noise(Adversary):
    """Independent uniform rewards."""

    arms: int

    rule = staticmethod(fresh_noise)

    @cached_property
    def spec(self) -> np.ndarray:
        return np.zeros(1)


@dataclass(frozen=True, repr=False)
class Held(Adversary):
    """Uniform rewards that change every ``period`` steps."""

    arms: int
    period: int

    rule = staticmethod(noise)

    @cached_property
    def spec(self) -> np.ndarray:
        return np.array([0.0, self.period])

    def changes(self, horizon: int) -> Iterator[int]:
        return iter(range(self.period, horizon, self.period))


def timed(text: str, compute: Callable[[], Any], target: float | None = None) -> Any:
    """Print how long a computation takes, and what it should take at most."""
    start, busy = time.perf_counter(), time.process_time()
    result = compute()
    taken, busy = time.perf_counter() - start, time.process_time() - busy
    aim = "" if target is None else f"   (at most {target:g} s)"
    print(f"{text:<66} {taken:8.2f} s, {busy:6.2f} s of cores{aim}", flush=True)
    return result


def large(cut: int, threads: int | None) -> None:
    """The judge where K T rewards are too many, and what pseudo-regret costs beside the play."""
    T = 10**7 // cut
    for adversary in (UniformMeans(10**4), Sawtooth(10**4)):
        best_fixed(adversary, [100], threads=threads)
        timed(
            f"best_fixed      {type(adversary).__name__:<15} T = {T:<12,} K = 10,000",
            lambda adversary=adversary: best_fixed(adversary, np.linspace(1, T, 200).astype(int), threads=threads),
        )
    timed(
        f"dynamic         UniformMeans    T = {T:<12,} K = 10,000",
        lambda: dynamic(UniformMeans(10**4), np.linspace(1, T, 200).astype(int), threads=threads),
    )
    K = 10**5
    policies = {
        "HLMC": hlmc.HLMC(K, memory=640, horizon=T),
        "Champion": hlmc.Champion(K, memory=640, horizon=T),
    }
    faced = UniformMeans(K)
    hlmc.simulate(policies, faced, 1000, runs=1, progress=False).summary("pseudo")  # compiles
    began = time.process_time()
    result = hlmc.simulate(policies, faced, T, runs=1, progress=False)
    played = time.process_time() - began
    began = time.process_time()
    result.summary("pseudo")
    judged = time.process_time() - began
    print(f"HLMC and Champion, K = {K:,}, T = {T:,}: {played:.2f} s of cores, pseudo-regret {judged:.3f} s,", end=" ")
    print(f"together {1 + judged / played:.3f} x the play (at most 1.2)")
    timed("    and the weak regret of the same", lambda: result.regret("weak"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the exact benchmarks.")
    parser.add_argument("part", nargs="?", choices=["all", "large"], default="all")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    parser.add_argument("--threads", type=int, default=None, help="default: the cores of this process")
    options = parser.parse_args()
    threads = options.threads
    cut = 10 if options.quick else 1
    if options.part == "large":
        large(cut, threads)
        return

    start = time.perf_counter()
    for small in (Noise(4), Held(4, 10)):
        best_fixed(small, [100])
        dynamic(small, [100])
        best_switching(small, 100, 2)
    print(f"{'compiling, or finding what was compiled':<66} {time.perf_counter() - start:8.2f} s")

    T, points = 10**6 // cut, np.linspace(1, 10**6 // cut, 200).astype(int)
    timed(
        f"best_switching  general         T = {T:<12,} K = 16   V = 10",
        lambda: best_switching(Noise(16), T, 10, points, threads=threads),
        1.0,
    )
    T, points = 10**7 // cut, np.linspace(1, 10**7 // cut, 200).astype(int)
    best = timed(
        f"best_switching  general         T = {T:<12,} K = 100  V = 10",
        lambda: best_switching(Noise(100), T, 10, points, threads=threads),
        30.0,
    )
    timed("    and its sequence", lambda: best.sequence)
    timed(
        f"best_fixed      general         T = {T:<12,} K = 100",
        lambda: best_fixed(Noise(100), points, threads=threads),
    )
    timed(
        f"dynamic         general         T = {T:<12,} K = 100",
        lambda: dynamic(Noise(100), points, threads=threads),
    )
    T, points = 10**9 // cut, np.linspace(1, 10**9 // cut, 200).astype(int)
    held = Held(100, T // 1000)
    best = timed(
        f"best_switching  1,000 phases    T = {T:<12,} K = 100  V = 10",
        lambda: best_switching(held, T, 10, points, threads=threads),
    )
    timed("    and its sequence", lambda: best.sequence)
    timed(
        f"best_fixed      1,000 phases    T = {T:<12,} K = 100",
        lambda: best_fixed(held, points, threads=threads),
    )
    K = 10**7 // cut
    timed(
        f"best_fixed      10 phases       T = {T:<12,} K = {K:,}",
        lambda: best_fixed(Held(K, T // 10), points[::40], threads=threads),
    )
    large(cut, threads)
    # Kilobytes on Linux, bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(f"{'most memory of the process':<66} {peak:8.0f} MiB")


if __name__ == "__main__":
    main()
