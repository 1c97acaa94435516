"""Benchmarks: the rewards of the best fixed arm, of one given arm, and of the best arm of every step.

Each is computed from the adversary alone, at given time points: the value at t is that of the first
t steps. Sums use compensated arithmetic with a second word for the error (Knuth's two-sum, Dekker's product). A
value is therefore the exact sum rounded once, up to errors of order T² 2⁻¹⁰⁶, whether a million steps were
added one by one or as one phase.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import flag, whole
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import offset, words
from hlmc.evaluation import segments
from hlmc.evaluation.pruning import Outlook, best_arms, tops_of, tops_seconds, worthwhile
from hlmc.evaluation.records import Marks
from hlmc.evaluation.segments import (
    BLOCK,
    REWARD_NS,
    Report,
    RewardSegments,
    affordable,
    best_of,
    checked_points,
    checked_threads,
    in_order,
    quick,
    ranges,
    refused,
)
from hlmc.evaluation.sums import added, added_product
from hlmc.targets import address_of, compiled

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary

Array = np.ndarray

TOPS = 1 << 13
"""Steps per block of the best arm of every step."""


@kernel
def advance(
    rewards_at: Address,
    edges_at: Address,
    segments: int,
    arms: int,
    totals_at: Address,
    errors_at: Address,
    marks: Marks,
    best_at: Address,
) -> int:
    """Add segments of rewards to the totals; record the best arm at each point passed; return the next point."""
    rewards = words(rewards_at)
    edges = words(edges_at)
    totals = words(totals_at)
    errors = words(errors_at)
    points, values = words(marks.points_at), words(marks.values_at)
    point, last_point = marks.point, marks.stop
    best = words(best_at)
    for i in range(segments):
        row = offset(rewards, i * arms)
        while point < last_point and points[point] <= edges[i + 1]:
            n = points[point] - edges[i]
            value = -1.0
            winner = 0
            for k in range(arms):
                total, error = added_product(totals[k], errors[k], row[k], n)
                if total + error > value:
                    value = total + error
                    winner = k
            values[point] = value
            best[point] = winner
            point += 1
        n = edges[i + 1] - edges[i]
        if n == 1.0:
            for k in range(arms):
                totals[k], errors[k] = added(totals[k], errors[k], row[k])
        else:
            for k in range(arms):
                totals[k], errors[k] = added_product(totals[k], errors[k], row[k], n)
    return point


class _Totals:
    """Running totals of some arms, and the best of these arms at the points passed so far."""

    def __init__(self, arms: int, points: Array) -> None:
        self.arms = arms
        self.points = points
        self.totals = np.zeros(arms)
        self.errors = np.zeros(arms)
        self.values = np.zeros(len(points))
        self.best = np.zeros(len(points))
        # Nothing has been earned after no steps: the first arm is as good as any.
        self.point = int(np.searchsorted(points, 0.0, side="right"))

    def advance(self, edges: Array, rewards: Array) -> None:
        self.point = compiled(advance)(
            address_of(rewards.reshape(-1)),
            address_of(edges),
            len(edges) - 1,
            self.arms,
            address_of(self.totals),
            address_of(self.errors),
            Marks(address_of(self.points), self.point, len(self.points), address_of(self.values)),
            address_of(self.best),
        )


def best_fixed(
    adversary: Adversary, points: Any, *, threads: int | None = None, force: bool = False, report: Report | None = None
) -> tuple[Array, Array]:
    r"""The cumulative reward of the best single arm on each prefix, and which arm it is.

    .. math:: \max_{i} \sum_{t < n} r_{i,t} \quad\text{for each } n \text{ in } points

    This is the benchmark of the weak regret R_w. Ties go to the lowest arm. Rewards are computed once per phase for an
    adversary with known changes, for one period if they repeat, and once per step for any other; of many, those
    of an arm only as long as it can be the best (:mod:`hlmc.evaluation.pruning`). Arms are processed in ranges, so
    memory is a few blocks per thread and a few words per point, independent of K and T.

    Parameters
    ----------
    points
        Numbers of completed steps, increasing.
    threads
        Number of threads; the result does not depend on it. Default: the cores available to this process.
    force
        Compute the benchmark even if it would take hours.
    report
        Told, by any thread, what share of the work has been done since it was last told: progress from 0 to 1.

    Examples
    --------
    >>> from hlmc.adversaries import Trace
    >>> values, arms = best_fixed(Trace([[0.5, 0.0], [0.5, 1.0], [0.5, 1.0]]), points=[1, 2, 3])
    >>> values, arms
    (array([0.5, 1. , 2. ]), array([0, 0, 1]))
    """
    times = checked_points(adversary, points)
    horizon = int(times[-1]) if len(times) else 0
    threads = checked_threads(threads)
    flag("force", force)
    if worthwhile(adversary, horizon):
        outlook = Outlook(adversary, horizon)
        if not force:
            affordable(adversary, horizon, outlook.seconds)
        return best_arms(adversary, times, outlook, threads, report)
    reward_segments = RewardSegments(adversary, horizon)
    if not force:
        refused(reward_segments, "", REWARD_NS * 1e-9 * reward_segments.arms)
    stop = Event()
    compiled(advance)

    def walk(arms: tuple[int, int]) -> tuple[Array, Array]:
        low, high = arms
        totals = _Totals(high - low, times)
        for edges in reward_segments.blocks(0, horizon, high - low):
            if stop.is_set():
                break
            totals.advance(edges, reward_segments.rewards(edges, low, high))
            if report is not None:
                report((edges[-1] - edges[0]) / horizon * (high - low) / adversary.arms)
        return totals.values, totals.best + low

    return best_of(in_order(walk, ranges(adversary.arms, threads), threads, stop), len(times))


def cumulative(adversary: Adversary, arm: int, points: Any) -> Array:
    """The cumulative reward of one arm on each prefix.

    >>> from hlmc.adversaries import Trace
    >>> cumulative(Trace([[0.5, 0.0], [0.5, 1.0], [0.5, 1.0]]), 0, points=[1, 3])
    array([0.5, 1.5])
    """
    times = checked_points(adversary, points)
    arm = whole("arm", arm, 0, adversary.arms - 1)
    horizon = int(times[-1]) if len(times) else 0
    reward_segments = RewardSegments(adversary, horizon)
    totals = _Totals(1, times)
    for edges in reward_segments.blocks(0, horizon, 1):
        totals.advance(edges, reward_segments.rewards(edges, arm, arm + 1))
    return totals.values


def dynamic(
    adversary: Adversary, points: Any, *, threads: int | None = None, force: bool = False, report: Report | None = None
) -> Array:
    r"""The cumulative reward of the best sequence of arms without any constraint, on each prefix.

    .. math:: \sum_{t < n} \max_{i} r_{i,t} \quad\text{for each } n \text{ in } points

    Parameters are those of :func:`best_fixed`. Of many arms, those of a step are asked until one pays 1.

    Examples
    --------
    >>> from hlmc.adversaries import Trace
    >>> dynamic(Trace([[0.5, 0.0], [0.5, 1.0], [0.5, 1.0]]), points=[1, 2, 3])
    array([0.5, 1.5, 2.5])
    """
    times = checked_points(adversary, points)
    horizon = int(times[-1]) if len(times) else 0
    threads = checked_threads(threads)
    flag("force", force)
    totals = _Totals(1, times)
    if worthwhile(adversary, horizon):
        if not force:
            affordable(adversary, horizon, tops_seconds(adversary, horizon))
        blocks = (np.arange(t, min(t + TOPS, horizon) + 1.0) for t in range(0, horizon, TOPS))

        def asked(edges: Array) -> tuple[Array, Array]:
            return edges, tops_of(adversary, int(edges[0]), int(edges[-1]))[0]

        for edges, most in in_order(asked, blocks, threads):
            totals.advance(edges, most)
            if report is not None:
                report((edges[-1] - edges[0]) / horizon)
        return totals.values
    reward_segments = RewardSegments(adversary, horizon)
    if not force:
        refused(reward_segments, "", REWARD_NS * 1e-9 * reward_segments.arms)
    # Many arms: the segments one by one, their arms in ranges. Few: many segments at a time with all their arms.
    cut = [(0, adversary.arms)] if adversary.arms <= BLOCK else ranges(adversary.arms, threads)

    def tasks() -> Iterator[tuple[Array, int, int]]:
        for edges in reward_segments.blocks(0, horizon, adversary.arms):
            for low, high in cut:
                yield edges, low, high

    def top(task: tuple[Array, int, int]) -> tuple[Array, Array]:
        edges, low, high = task
        return edges, reward_segments.rewards(edges, low, high).max(axis=1)

    tops = in_order(top, tasks(), threads)
    for edges, most in tops:
        for _ in cut[1:]:
            most = np.maximum(most, next(tops)[1])
        totals.advance(edges, most)
        if report is not None:
            report((edges[-1] - edges[0]) / horizon)
    return totals.values


def too_long(adversary: Adversary, horizon: int, environments: int = 1) -> bool:
    """Whether the best fixed arms of so many environments take so long that ``force=True`` must ask for them."""
    seconds = segments.PATIENCE / environments
    if quick(adversary, horizon, seconds):
        return False
    return not worthwhile(adversary, horizon) or Outlook(adversary, horizon).seconds > seconds
