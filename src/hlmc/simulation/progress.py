"""How far a simulation is: a bar on a terminal, a line every few seconds elsewhere, nothing when asked."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


class Silent:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def advance(self, name: str, runs: int) -> None:
        """``runs`` more runs of the policy are finished."""


class Lines(Silent):
    """A line on standard error every few seconds."""

    def __init__(self, totals: dict[str, int]) -> None:
        self._left = dict(totals)
        self._total = sum(totals.values())
        self._began = self._said = time.monotonic()

    def advance(self, name: str, runs: int) -> None:
        self._left[name] -= runs
        now = time.monotonic()
        left = sum(self._left.values())
        if now - self._said >= EVERY and left:
            self._said = now
            done = self._total - left
            remaining = (now - self._began) * left / max(done, 1)
            sys.stderr.write(f"{done} of {self._total} runs, about {remaining:.0f} s left\n")


class Bars(Silent):
    """One bar a policy."""

    def __init__(self, totals: dict[str, int]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bars = {name: self._progress.add_task(name, total=total) for name, total in totals.items()}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self._progress.stop()

    def advance(self, name: str, runs: int) -> None:
        self._progress.advance(self._bars[name], runs)


def reporter(progress: Any, totals: dict[str, int]) -> Silent:
    """The way to report: ``None`` decides by where standard error goes, False is silent, True insists."""
    if progress is False or not totals:
        return Silent()
    if isinstance(progress, Silent):
        return progress
    return Bars(totals) if sys.stderr.isatty() else Lines(totals)
