"""How far the work is: a bar on a terminal or in a notebook, a line every few seconds elsewhere, a call, or nothing."""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Self

from hlmc.errors import BadType, shown

EVERY = 5.0
"""Seconds between two lines where there is no terminal."""
REDRAWN = 0.2
"""Seconds between two pictures of a notebook's bar."""

Progress = bool | Callable[[float, float], object] | None
"""What users say about progress: None or True, False for silence, or a function of the work done and all the work."""


class Reporter:
    """How much of a work is done. This one says nothing; :func:`reporter` chooses one that does."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def advance(self, name: str, amount: float) -> None:
        """So much more of the total is done, of the bar or the part of that name. Any thread may say so."""

    def skip(self, amount: float) -> None:
        """So much of the total need not be done."""

    def part(self, name: str, work: float, steps: int) -> Part:
        """What to give as ``progress`` to an experiment of so many steps that is ``work`` of the total."""
        return Part(self, name, work, steps)


class Part:
    """A part of a larger work, told of its steps. At the end of its block, what has not been told need not be done."""

    def __init__(self, whole: Reporter, name: str, work: float, steps: int) -> None:
        self._whole = whole
        self._name = name
        self._left = work
        self._rate = work / steps
        self._done = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop(self._left)

    def __call__(self, done: float, total: float) -> None:
        """``total``: the steps that are missing, which may be fewer than there are."""
        if not self._done:
            self._drop(self._left - self._rate * total)
        more = self._rate * (done - self._done)
        self._done = done
        self._left -= more
        self._whole.advance(self._name, more)

    def _drop(self, amount: float) -> None:
        self._left -= amount
        self._whole.skip(amount)


class Counted(Reporter):
    """Counts what is done, of how much, and tells it one call at a time."""

    def __init__(self, totals: Mapping[str, float]) -> None:
        self._total = float(sum(totals.values()))
        self._done = 0.0
        self._lock = Lock()

    def advance(self, name: str, amount: float) -> None:
        with self._lock:
            self._done += amount
            self._tell(name)

    def skip(self, amount: float) -> None:
        with self._lock:
            self._total -= amount

    def _tell(self, name: str) -> None:
        """So much is done; the part or the policy of this name has advanced."""
        raise NotImplementedError

    def _left(self, began: float) -> str:
        """About how long it still takes."""
        seconds = (time.monotonic() - began) * max(self._total - self._done, 0.0) / self._done
        return f"about {duration(seconds)} left"


class Lines(Counted):
    """A line on standard error every few seconds: runs of ``unit`` steps, or the part that is being done."""

    def __init__(self, totals: Mapping[str, float], unit: int | None) -> None:
        super().__init__(totals)
        self._unit = unit
        self._began: float | None = None
        self._said = 0.0

    def _tell(self, name: str) -> None:
        now = time.monotonic()
        if self._began is None:  # whatever was compiled before the first step says nothing about the rest
            self._began = self._said = now
        if now - self._said < EVERY or self._done >= self._total:
            return
        self._said = now
        share = f"{100 * self._done / self._total:.0f} %"
        if self._unit is None:
            text = f"{name}; {share} of all"
        else:
            text = f"{self._done / self._unit:.3g} of {int(self._total // self._unit)} runs ({share})"
        sys.stderr.write(f"{text}, {self._left(self._began)}\n")
        sys.stderr.flush()


class Bars(Reporter):
    """One bar for each policy; of a work in parts (``unit`` is None), one for all that names the part."""

    def __init__(self, totals: Mapping[str, float], unit: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._unit = unit
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[runs]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._totals = dict(totals)
        self._done = dict.fromkeys(totals, 0.0)
        self._bars = {
            name: self._progress.add_task(name, total=total, runs=self._runs(name)) for name, total in totals.items()
        }
        self._lock = Lock()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def _runs(self, name: str) -> str:
        if self._unit is None:
            return ""
        return f"{int(self._done[name] // self._unit)} of {int(self._totals[name] // self._unit)} runs"

    def advance(self, name: str, amount: float) -> None:
        with self._lock:
            bar = name if self._unit is not None else next(iter(self._bars))
            self._done[bar] += amount
            self._progress.update(self._bars[bar], completed=self._done[bar], description=name, runs=self._runs(bar))

    def skip(self, amount: float) -> None:
        with self._lock:
            (bar,) = self._bars
            self._totals[bar] -= amount
            self._progress.update(self._bars[bar], total=self._totals[bar])


class Calls(Counted):
    """Tells a function of the user's how much is done, and of how much."""

    def __init__(self, totals: Mapping[str, float], tell: Callable[[float, float], object]) -> None:
        super().__init__(totals)
        self._call = tell

    def _tell(self, name: str) -> None:
        self._call(min(self._done, self._total), self._total)


class Notebook(Counted):
    """A bar in the output of a notebook's cell, which is gone when the work is done.

    It needs no widgets, without which rich and tqdm show no bar there.
    """

    def __enter__(self) -> Self:
        self._display = importlib.import_module("IPython.display")  # which a notebook has
        self._began = time.monotonic()
        self._drawn = 0.0
        self._bar = self._display.display(self._display.HTML(_bar(0.0, "")), display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.update(self._display.HTML(""))

    def _tell(self, name: str) -> None:
        now = time.monotonic()
        if now - self._drawn < REDRAWN:
            return
        self._drawn = now
        share = min(self._done / self._total, 1.0) if self._total else 1.0
        self._bar.update(self._display.HTML(_bar(share, self._left(self._began) if self._done else "")))


def _bar(share: float, text: str) -> str:
    return f'<progress value="{share:.4f}" max="1" style="width: 20em"></progress> {100 * share:.0f} % {text}'


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, whose cells show HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def checked_progress(progress: Any) -> Progress:
    """Refuse what is neither None, True, False nor a function of two numbers."""
    if progress is None or isinstance(progress, bool) or (callable(progress) and _takes_two(progress)):
        return progress  # type: ignore[no-any-return]
    raise BadType(
        f"progress must be None, True, False or a function of (work done, all the work), not {shown(progress)}"
    )


def _takes_two(function: Callable[..., object]) -> bool:
    """Whether a function can be called with two arguments; one that does not say what it takes is tried."""
    try:
        inspect.signature(function).bind(0.0, 1.0)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def reporter(progress: Any, totals: Mapping[str, float], unit: int | None = None) -> Reporter:
    """The way to report how much of each total is done.

    ``unit`` steps make a run; without it there is one total, whose parts are told by :meth:`Reporter.part`.
    ``progress``: None or True decides by where standard error goes, False is silent, a function is called.

    >>> with reporter(lambda done, total: print(f"{done:g} of {total:g}"), {"all": 10.0}) as report:
    ...     report.advance("all", 4.0)
    4 of 10
    """
    wanted = checked_progress(progress)
    if wanted is False or not sum(totals.values()):
        return Reporter()
    if callable(wanted):
        return Calls(totals, wanted)
    if in_notebook():
        return Notebook(totals)
    return Bars(totals, unit) if sys.stderr.isatty() else Lines(totals, unit)


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(7.3), duration(200), duration(20_000)
    ('7 s', '3 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
