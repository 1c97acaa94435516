"""The rewards of an adversary by segments, for the benchmarks.

A *segment* is an interval of time in which no reward changes: a phase of an adversary with known
changes, and a single step of any other. Segments are processed in blocks of a fixed number of words, so memory
does not grow with T or K. Any thread can compute the rewards of a block, and the result does not depend on
which one does.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from threading import Event
from typing import Any, TypeVar

import numpy as np

from hlmc.adversaries.base import STEPS, Adversary
from hlmc.checks import unmasked, whole
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import call_reward, words
from hlmc.errors import BadArgument, BadReward, BadType, shown
from hlmc.targets import address_of, compiled

Array = np.ndarray
Task = TypeVar("Task")
Result = TypeVar("Result")
Report = Callable[[float], None]
"""Told what share of the work has been done since it was last told."""

BLOCK = 2**16
"""Words per block of rewards: half a megabyte, which fits in the cache of a core."""

REWARD_NS = 3.0
"""Approximate time per reward on one core, for the estimate in an error message."""

PATIENCE = 600.0
"""A benchmark that takes more seconds than this on one core needs ``force=True``."""


@kernel
def _gather(
    reward_at: Address, spec_at: Address, edges_at: Address, out_at: Address, segments: int, low: int, count: int
) -> None:
    """Write the rewards of ``count`` arms from ``low`` on, at the first step of each segment."""
    spec = words(spec_at)
    edges = words(edges_at)
    out = words(out_at)
    for i in range(segments):
        t = int(edges[i])
        for arm in range(count):
            out[i * count + arm] = call_reward(reward_at, spec, t, low + arm)


class RewardSegments:
    """The segments of an adversary up to a horizon.

    ``phased`` says whether they are the adversary's phases.
    """

    def __init__(self, adversary: Adversary, horizon: int) -> None:
        self.adversary = adversary
        self.arms = adversary.arms
        self.horizon = horizon
        self.phased = adversary.changes(horizon) is not None
        # Compiled here, by one thread, before several may ask for it.
        compiled(_gather)
        if horizon > 0:
            adversary.rewards(0, 1, 0, 1)

    def count(self, most: int) -> int:
        """The number of segments; phases are counted up to ``most``."""
        changes = self.adversary.changes(self.horizon)
        if changes is None:
            return self.horizon
        return 1 + sum(1 for _ in islice(changes, most - 1))

    def blocks(self, first: int, last: int, arms: int) -> Iterator[Array]:
        """The edges of the segments from step ``first`` to step ``last``, block by block.

        A block of n segments has n + 1 edges, as 64-bit floats, and begins with the last edge of the previous
        block. ``first`` and ``last`` must be edges. ``arms`` is the number of arms per block.
        """
        size = max(1, BLOCK // arms)
        changes = self.adversary.changes(last) if self.phased else None
        if changes is None:
            for start in range(first, last, size):
                yield np.arange(start, min(start + size, last) + 1, dtype=np.float64)
            return
        rest = chain((t for t in changes if first < t < last), [last])
        start = first
        while start < last:
            edges = np.array([start, *islice(rest, size)], dtype=np.float64)
            if not np.all(edges[1:] > edges[:-1]):
                raise BadArgument(f"changes() of {self.adversary!r} must give increasing steps")
            yield edges
            start = int(edges[-1])

    def rewards(self, edges: Array, low: int, high: int) -> Array:
        """The rewards per step of arms low to high - 1 in the segments between the edges, as [segments, arms]."""
        if not self.phased:
            return self._checked(self.adversary.rewards(int(edges[0]), int(edges[-1]), low, high), edges, low)
        segments, count = len(edges) - 1, high - low
        out = np.empty((segments, count))
        spec = self.adversary.spec
        at = (address_of(spec), address_of(edges), address_of(out.reshape(-1)))
        with np.errstate(over="ignore"):  # as in Adversary.rewards
            compiled(_gather)(self.adversary.address, *at, segments, low, count)
        return self._checked(out, edges, low)

    def _checked(self, rewards: Array, edges: Array, low: int) -> Array:
        """The rewards; an error if one is invalid. A user's function may return anything, and NaN if it fails."""
        with np.errstate(invalid="ignore"):
            right = rewards.min() >= 0.0 and rewards.max() <= 1.0
        if not right:
            segment, column = np.argwhere(~((rewards >= 0.0) & (rewards <= 1.0)))[0]
            at = f"at step {int(edges[segment])} to arm {low + column}"
            raise BadReward(
                f"{self.adversary!r} gives {rewards[segment, column]} {at}; rewards must be numbers in [0, 1]"
            )
        return rewards


def steps(adversary: Adversary) -> int:
    """The number of steps for which an adversary has rewards."""
    if not isinstance(adversary, Adversary):
        raise BadType(f"adversary must be one of hlmc.adversaries, not {shown(adversary)}")
    return STEPS if adversary.length is None else adversary.length


def checked_points(adversary: Adversary, points: Any) -> Array:
    """Time points as 64-bit floats; an error if they are not increasing numbers of steps."""
    unmasked("points", points)
    given = np.asarray(points)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iuf"):
        raise BadType(f"points must be a sequence of whole numbers, not {shown(points)}")
    most = steps(adversary)
    times = given.astype(np.float64)
    wrong = ~((times >= 0) & (times <= most) & (times == np.floor(times)))
    if wrong.any():
        raise BadArgument(f"points must be whole numbers from 0 to {most}, not {given[wrong][0]}")
    if (times[1:] <= times[:-1]).any():
        raise BadArgument("points must be increasing")
    return times


def checked_threads(threads: int | None, name: str = "threads") -> int:
    """The number of threads to use. Default: one per core available to this process."""
    if threads is not None:
        return whole(name, threads, 1)
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def affordable(adversary: Adversary, horizon: int, seconds: float) -> None:
    """Raise an error with the estimated time if that is longer than patience."""
    if seconds > PATIENCE:
        raise too_slow(adversary, horizon, seconds)


def refused(segments: RewardSegments, extra: str, segment_seconds: float) -> None:
    """Raise an error with the estimated time if a computation would take very long."""
    bound = int(PATIENCE / segment_seconds)
    if segments.horizon <= bound:
        return
    most = max(bound + 1, 10**6)
    n = segments.count(most)
    if n > bound:
        unit = "phases" if segments.phased else "steps"
        least = "at least " if segments.phased and n == most else ""
        raise too_slow(segments.adversary, n, segment_seconds * n, extra, unit, least)


def too_slow(
    adversary: Adversary, n: int, seconds: float, extra: str = "", unit: str = "steps", least: str = ""
) -> BadArgument:
    """The error with the estimated time of a computation."""
    wait = f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
    cheap = "; pseudo-regret takes a moment" if adversary.mean_rule is not None else ""
    return BadArgument(
        f"{adversary.arms:,} arms{extra} in {least}{n:,} {unit} take {least}{wait} on one core;"
        f" pass force=True to compute it anyway{cheap}"
    )


def quick(adversary: Adversary, horizon: int, seconds: float | None = None) -> bool:
    """Whether the rewards of all arms in all phases or steps take no longer than this on one core, or than patience."""
    seconds = PATIENCE if seconds is None else seconds
    most = int(seconds / (REWARD_NS * 1e-9 * adversary.arms))
    changes = adversary.changes(horizon) if horizon > most else iter(())
    return changes is not None and sum(1 for _ in islice(changes, most)) < most


def ranges(arms: int, threads: int) -> list[tuple[int, int]]:
    """The arms divided into ranges [low, high) of at most one block of words, enough for all threads.

    >>> ranges(10, 4)
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    n = max(min(threads, arms), -(-arms // BLOCK))
    return [(i * arms // n, (i + 1) * arms // n) for i in range(n)]


def best_of(found: Iterable[tuple[Array, Array]], count: int) -> tuple[Array, Array]:
    """The largest values [count] of several pieces of the arms, and the arms that have them.

    The pieces come in the order of their arms, so that the lowest of equals stays.
    """
    values, winners = np.full(count, -1.0), np.zeros(count, dtype=np.int64)
    for most, best in found:
        better = most > values
        values[better] = most[better]
        winners[better] = best[better].astype(np.int64)
    return values, winners


def in_order(
    function: Callable[[Task], Result], tasks: Iterable[Task], threads: int, stop: Event | None = None
) -> Iterator[Result]:
    """``map`` with threads: results in the order of the tasks, with few more tasks started than threads.

    ``stop`` is set when no more results are needed, for tasks that take long.

    >>> list(in_order(abs, [-3, 1, -2], threads=2))
    [3, 1, 2]
    """
    if threads == 1:
        yield from map(function, tasks)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        waiting: deque[Any] = deque()
        for task in tasks:
            waiting.append(pool.submit(function, task))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if stop is not None:
            stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
