"""How far a reproduction is: what runs, how much of all the work is done, how long it will still take."""

from __future__ import annotations

import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TextIO

EVERY = 5.0
"""Seconds between two lines where there is no terminal; on a terminal one line is rewritten more often."""


class Progress:
    """Work in seconds that were guessed beforehand; the guess is corrected by what has been seen."""

    def __init__(self, total: float, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._before = 0.0
        self._skipped = 0.0
        self._name = ""
        self._work = 0.0
        self._submitted = self._done = 0
        self._began = self._said = time.monotonic()
        self._lock = Lock()

    def begin(self, name: str, work: float) -> None:
        """A part of so much work begins."""
        self._name, self._work = name, work
        self._submitted = self._done = 0
        self._say(always=self._terminal)

    def submitted(self) -> None:
        """One more task of the part was handed out."""
        with self._lock:
            self._submitted += 1

    def finished(self) -> None:
        """One task of the part is done."""
        with self._lock:
            self._done += 1
        self._say()

    def end(self) -> None:
        """The part is done."""
        self._before += self._work
        if not self._submitted:  # all of it was there already
            self._skipped += self._work
        self._work = 0.0

    def close(self) -> None:
        """Leave the terminal's line empty."""
        if self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def left(self) -> float | None:
        """Seconds still to go, or None before anything is known."""
        done = self._before + self._work * self._done / max(1, self._submitted)
        played = done - self._skipped
        if played <= 0.0:
            return None
        return (time.monotonic() - self._began) / played * max(0.0, self._total - done)

    def _say(self, always: bool = False) -> None:
        now = time.monotonic()
        if not always and now - self._said < (0.5 if self._terminal else EVERY):
            return
        self._said = now
        share = (self._before + self._work * self._done / max(1, self._submitted)) / max(self._total, 1e-9)
        left = self.left()
        rest = "" if left is None else f", about {_clock(left)} left"
        text = f"{self._name}: {self._done} of {self._submitted} tasks; {min(share, 1.0):.0%} of all{rest}"
        self._stream.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
        self._stream.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Workers(ThreadPoolExecutor):
    """Threads that tell how far they are; the compiled loops run outside Python's lock."""

    def __init__(self, jobs: int, progress: Progress) -> None:
        super().__init__(jobs)
        self._progress = progress

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._progress.submitted()
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(lambda done: None if done.cancelled() else self._progress.finished())
        return future
