"""Numbers for Prometheus: what this process has been asked, and what the store says.

Counting must cost nothing: plain numbers, which only the event loop changes (those of commits: only the thread that
commits), and which are put into Prometheus's words when they are read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hlmc.errors import extra
from hlmc.serve.problems import Problem

if TYPE_CHECKING:
    from hlmc.serve.service import Service

COMMITS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: the bounds of the histogram of transactions."""
REWARDS = 10
"""Cells into which the range of rewards is divided."""


class Histogram:
    """How many values lie below each of some bounds.

    >>> cells = Histogram((1.0, 2.0))
    >>> cells.add(1.0), cells.add(5.0)
    (None, None)
    >>> cells.cumulated()
    [('1.0', 1), ('2.0', 1), ('+Inf', 2)]
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.cells = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.cells[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulated(self) -> list[tuple[str, int]]:
        """Bounds, and how many values are at most that."""
        total, found = 0, []
        for bound, count in zip((*self.bounds, "+Inf"), self.cells, strict=True):
            total += count
            found.append((str(bound), total))
        return found


class Counts:
    """What one experiment has been asked by way of this process."""

    def __init__(self, rewards: tuple[float, float]) -> None:
        low, high = rewards
        self.asks = 0
        self.dropped = 0
        self.tells = dict.fromkeys(("applied", "late", "duplicate", "expired", "unknown", "refused"), 0)
        self.rewards = Histogram([low + (high - low) * k / REWARDS for k in range(REWARDS + 1)])
        self.commits = Histogram(COMMITS)

    def told(self, results: Sequence[str | Problem], rewards: Sequence[float]) -> None:
        """Count rewards and what became of them."""
        tells, cells = self.tells, self.rewards
        for result, reward in zip(results, rewards, strict=True):
            if type(result) is str:
                tells[result] += 1
                if result == "applied" or result == "late":
                    cells.add(reward)
            else:
                tells["refused"] += 1

    def commit(self, seconds: float, items: int) -> None:
        """Count a transaction."""
        self.commits.add(seconds)


def exposed(service: Service) -> bytes:
    """All numbers in the text format of Prometheus."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest
    except ImportError:
        raise extra("prometheus-client", "serve") from None
    registry = CollectorRegistry()
    registry.register(_Collector(service))
    return generate_latest(registry)


class _Collector:
    """Hands the numbers of a service to prometheus-client."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[Any]:
        """Nothing is collected to find out what there is."""
        return []

    def collect(self) -> Iterator[Any]:
        """The families of numbers."""
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
            SummaryMetricFamily,
        )

        hosted = self._service.hosted.items()
        own = ["experiment"]
        asks = CounterMetricFamily("hlmc_asks", "Decisions made by this process", labels=own)
        tells = CounterMetricFamily("hlmc_tells", "Rewards told to this process", labels=[*own, "result"])
        drops = CounterMetricFamily("hlmc_drops", "Decisions given up by way of this process", labels=own)
        rewards = HistogramMetricFamily("hlmc_reward", "Rewards learned by this process", labels=own)
        commits = HistogramMetricFamily("hlmc_commit_seconds", "Transactions of this process", labels=own)
        pending = GaugeMetricFamily("hlmc_pending_decisions", "Decisions of the store without a reward", labels=own)
        delay = SummaryMetricFamily(
            "hlmc_feedback_delay_seconds", "From a decision to its reward, in the whole store", labels=own
        )
        learners = GaugeMetricFamily("hlmc_learners", "Learners in the store", labels=own)
        for name, each in hosted:
            counts = each.counts
            asks.add_metric([name], counts.asks)
            drops.add_metric([name], counts.dropped)
            for result, count in counts.tells.items():
                tells.add_metric([name, result], count)
            rewards.add_metric([name], counts.rewards.cumulated(), counts.rewards.sum)
            commits.add_metric([name], counts.commits.cumulated(), counts.commits.sum)
            if (report := each.looker.latest) is not None:
                both = report.learned + report.control
                pending.add_metric([name], both.pending)
                delay.add_metric([name], both.told, both.delay)
                learners.add_metric([name], report.units)
        yield from (asks, tells, drops, rewards, commits, pending, delay, learners)
        yield GaugeMetricFamily("hlmc_waiting_items", "Items that wait for a transaction", self._service.waiting)
        yield CounterMetricFamily("hlmc_overloads", "Requests that were told to come back", self._service.refused)
