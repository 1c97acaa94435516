"""Hand tasks to workers and take back what they bring, whoever they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from threading import Event
from typing import Any

import numpy as np

from hlmc.errors import BadType, HLMCError
from hlmc.evaluation.rows import checked_threads
from hlmc.simulation.runs import Between, Played, Task, compiling, play

Array = np.ndarray

TRIES = 3
"""How often a task is handed out whose worker was lost."""


class Work:
    """Tasks in the hands of workers: iterate to get what they bring back, in the order in which they finish.

    ``executor`` is anything whose ``submit(function, *arguments)`` gives something that has a ``result()``. A future
    that can call back is asked when it is ready; of others, the one that was handed out first. None: threads, one a
    core.
    """

    def __init__(self, tasks: list[Task], points: Array, executor: Any, advance: Callable[[str, int], None]) -> None:
        self._tasks = tasks
        self._points = points
        self._advance = advance
        self._own = ThreadPoolExecutor(checked_threads(None)) if executor is None else None
        self._workers: Executor = executor if self._own is None else self._own
        # Threads share our memory: they can be watched and told to stop.
        self._threads = isinstance(self._workers, ThreadPoolExecutor)
        self._stop = Event()
        self._futures: list[Any] = []
        self._ready: SimpleQueue[tuple[Task, int, Any]] = SimpleQueue()
        self._silent: deque[tuple[Task, int, Any]] = deque()

    def __iter__(self) -> Iterator[Played]:
        for task in self._tasks:
            self._hand_out(task, 1)
        left = len(self._tasks)
        while left:
            task, tries, future = self._silent.popleft() if self._silent else self._ready.get()
            try:
                played: Played = future.result()
            except (HLMCError, BrokenExecutor, CancelledError):
                raise
            except Exception:
                # A cluster may lose a worker with what it was doing or had done. A task has no side effects: try again.
                if self._threads or tries == TRIES:
                    raise
                self._hand_out(task, tries + 1)
                continue
            left -= 1
            if not self._threads:
                self._advance(task.name, len(played.rewards) * int(self._points[-1]))
            yield played

    def end(self) -> list[Played]:
        """Let nobody go on; what was finished meanwhile is returned. Foreign workers end on their own, unattended."""
        self._stop.set()
        for future in self._futures:
            with suppress(Exception):
                future.cancel()
        if self._own is not None:
            # Threads look up every few steps, but a compiler at work cannot be interrupted.
            self._own.shutdown(wait=not compiling(), cancel_futures=True)
        played = []
        while not self._ready.empty():
            with suppress(Exception, CancelledError):
                played.append(self._ready.get()[2].result())
        return played

    def _hand_out(self, task: Task, tries: int) -> None:
        watched = (self._between,) if self._threads else ()
        future = self._workers.submit(play, task, self._points, *watched)
        self._futures.append(future)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self._ready.put((task, tries, future)))
        else:
            self._silent.append((task, tries, future))

    @property
    def _between(self) -> Between:
        def between(name: str, steps: int) -> bool:
            self._advance(name, steps)
            return self._stop.is_set()

        return between


def checked_executor(executor: Any) -> Any:
    """Refuse what cannot be handed a task."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise BadType(f"executor must have a submit method as concurrent.futures' executors have, not {executor!r}")
    return executor
