"""How far a simulation is: a bar on a terminal, a line every few seconds elsewhere, nothing when asked."""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import Any, Self

from hlmc.errors import BadType

EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


class Silent:
    """Says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def advance(self, name: str, amount: int) -> None:
        """So much more of the policy's total is done. Any thread may say so."""


class Lines(Silent):
    """A line on standard error every few seconds."""

    def __init__(self, totals: dict[str, int], unit: int) -> None:
        self._total = sum(totals.values())
        self._unit = unit
        self._done = 0
        self._began = self._said = 0.0
        self._lock = Lock()

    def advance(self, name: str, amount: int) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._done:  # whatever was compiled before the first step says nothing about the rest
                self._began = self._said = now
            self._done += amount
            if now - self._said < EVERY or self._done >= self._total:
                return
            self._said = now
            left = (now - self._began) * (self._total - self._done) / self._done
            share = f"{100 * self._done / self._total:.0f} %"
            runs = f"{self._done / self._unit:.3g} of {self._total // self._unit} runs"
            sys.stderr.write(f"{runs} ({share}), about {duration(left)} left\n")
            sys.stderr.flush()


class Bars(Silent):
    """One bar a policy."""

    def __init__(self, totals: dict[str, int], unit: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._unit = unit
        self._done = dict.fromkeys(totals, 0)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[runs]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bars = {
            name: self._progress.add_task(name, total=total, runs=f"0 of {total // unit} runs")
            for name, total in totals.items()
        }
        self._totals = totals
        self._lock = Lock()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, name: str, amount: int) -> None:
        with self._lock:
            self._done[name] += amount
            runs = f"{self._done[name] // self._unit} of {self._totals[name] // self._unit} runs"
            self._progress.update(self._bars[name], completed=self._done[name], runs=runs)


def reporter(progress: Any, totals: dict[str, int], unit: int = 1) -> Silent:
    """The way to report how much of each total is done, where ``unit`` makes a run.

    ``progress``: None or True decides by where standard error goes, False is silent.
    """
    if progress not in (None, True, False):
        raise BadType(f"progress must be None, True or False, not {progress!r}")
    if progress is False or not sum(totals.values()):
        return Silent()
    return Bars(totals, unit) if sys.stderr.isatty() else Lines(totals, unit)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(7.3), duration(200), duration(20_000)
    ('7 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
