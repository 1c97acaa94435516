"""Reports over time. One thread per experiment looks every few seconds, however many pages and scrapers there are."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hlmc.bandit import Bandit, Report
from hlmc.errors import HLMCError

POINTS = 600
"""Points that the past is kept in. When there are twice as many, every other one of the older half goes."""
REST = 19
"""A look that took long is followed by a pause so many times as long: looking takes a twentieth of the time."""


class Looker:
    """The latest report of a bandit, and points of the past for pictures.

    Parameters
    ----------
    every
        Seconds between two looks. A look costs some tens of milliseconds of a thread in a large store; if it takes
        longer, looks are rarer.
    """

    def __init__(self, bandit: Bandit, every: float = 5.0) -> None:
        self._bandit = bandit
        self._every = every
        self._task: asyncio.Task[None] | None = None
        self._news: set[asyncio.Event] = set()
        self.latest: Report | None = None
        self.points: deque[dict[str, Any]] = deque()

    def begin(self) -> None:
        """Look from now on, in the running event loop."""
        self._task = asyncio.create_task(self._look_on())

    async def _look_on(self) -> None:
        while True:
            begun = time.monotonic()
            with suppress(HLMCError):  # a store that is away is seen by those who ask
                self.note(await asyncio.to_thread(self._bandit.report), time.time())
            await asyncio.sleep(max(self._every, REST * (time.monotonic() - begun)))

    def note(self, report: Report, now: float) -> None:
        """Take in a report."""
        self.latest = report
        self.points.append(point(report, now))
        if len(self.points) > 2 * POINTS:
            self.points = thinned(self.points)
        for event in self._news:
            event.set()

    def subscribe(self) -> tuple[asyncio.Event, Callable[[], None]]:
        """An event that is set with every report, and how to be rid of it."""
        event = asyncio.Event()
        self._news.add(event)
        return event, lambda: self._news.discard(event)

    def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()


def thinned(points: deque[dict[str, Any]]) -> deque[dict[str, Any]]:
    """Fewer points: every other one of the older half, of which the first stays.

    >>> [each["time"] for each in thinned(deque({"time": t} for t in range(8)))]
    [0, 2, 4, 5, 6, 7]
    """
    listed = list(points)
    half = len(listed) // 2
    return deque(listed[:half:2] + listed[half:])


def point(report: Report, now: float) -> dict[str, Any]:
    """What pictures need of a report: sums, whose differences are what happened in between."""
    groups = {
        name: [tally.decisions, tally.rewarded, tally.reward, tally.squares]
        for name, tally in (("learned", report.learned), ("control", report.control))
    }
    return {"time": now, **groups, "arms": {each["name"]: each["tally"].decisions for each in report.arms}}
