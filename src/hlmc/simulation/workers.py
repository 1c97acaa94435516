"""The work loop of :func:`hlmc.simulation.driver.drive`: hand out tasks, take back results, stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from queue import SimpleQueue
from threading import Event
from typing import Any

from hlmc.errors import BadArgument, BadType, HLMCError, shown
from hlmc.evaluation.segments import checked_threads
from hlmc.interrupts import Interrupts
from hlmc.turns import turn

TRIES = 3
"""How often a task is handed out whose worker was lost."""

COMPILING = turn()
"""Held by the thread that compiles; a fork waits for it. Two at once would replace each other's functions. It is never
the main thread, where an interrupt could come: Numba does not survive an exception at any place."""

Watch = Callable[[int], bool]
"""Called by a task after every few steps with their number; the answer is whether to stop."""


class Work:
    """Tasks in the hands of workers: iterate to get what they bring back, in the order in which they finish.

    Parameters
    ----------
    tasks
        Anything with a ``name`` and a ``count`` of runs that can be handed to ``play``.
    play
        ``play(task)`` gives a result, without side effects; ``play(task, watch)`` may give None, when ``watch`` says
        to stop.
    horizon
        The steps of a run.
    advance
        Told by any thread, of a task's ``name``, how many more of its steps were taken.
    executor
        Anything whose ``submit(function, *arguments)`` gives something that has a ``result()``. A future that can call
        back is asked when it is ready; of others, the one that was handed out first. None: threads.
    threads
        How many; default: one for each core.
    held
        The interrupts that waiting must look at.
    """

    def __init__(
        self,
        tasks: Iterable[Any],
        play: Callable[..., Any],
        horizon: int,
        advance: Callable[[str, int], None],
        held: Interrupts,
        executor: Any = None,
        threads: int | None = None,
    ) -> None:
        self._tasks = list(tasks)
        self._play = play
        self._horizon = horizon
        self._advance = advance
        self._held = held
        self._own = ThreadPoolExecutor(checked_threads(threads)) if executor is None else None
        self._workers: Executor = executor if self._own is None else self._own
        # Threads share our memory: they can be watched and told to stop.
        self._threads = isinstance(self._workers, ThreadPoolExecutor)
        self._stop = Event()
        self._futures: list[Any] = []
        self._ready: SimpleQueue[tuple[Any, int, Any] | None] = SimpleQueue()
        self._silent: deque[tuple[Any, int, Any]] = deque()
        held.wake = lambda: self._ready.put(None)  # which a signal handler may do

    def __iter__(self) -> Iterator[Any]:
        for task in self._tasks:
            self._held.check()
            self._hand_out(task, 1)
        left = len(self._tasks)
        while left:
            self._held.check()
            wait: AbstractContextManager[None] = nullcontext()
            if self._silent:
                task, tries, future = self._silent.popleft()
                wait = self._held.opened()
            elif (ready := self._ready.get()) is not None:
                task, tries, future = ready
            else:
                continue
            try:
                with wait:
                    played = future.result()
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
                self._advance(task.name, task.count * self._horizon)
            if played is not None:
                yield played

    def end(self) -> list[Any]:
        """Stop all workers; return what finished meanwhile. Workers of a foreign executor end on their own."""
        self._stop.set()
        for future in self._futures:
            with suppress(Exception):
                future.cancel()
        if self._own is not None:
            # Threads look up every few steps, but a compiler at work cannot be interrupted.
            idle = COMPILING.acquire(blocking=False)
            if idle:
                COMPILING.release()
            self._own.shutdown(wait=idle, cancel_futures=True)
        played = []
        while not self._ready.empty():
            ready = self._ready.get()
            if ready is not None:
                with suppress(Exception, CancelledError):
                    played.append(ready[2].result())
        return [each for each in played if each is not None]

    def _hand_out(self, task: Any, tries: int) -> None:
        watch = (lambda steps: self._watch(task, steps),) if self._threads else ()
        future = self._workers.submit(self._play, task, *watch)
        self._futures.append(future)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _: self._ready.put((task, tries, future)))
        else:
            self._silent.append((task, tries, future))

    def _watch(self, task: Any, steps: int) -> bool:
        self._advance(task.name, steps)
        return self._stop.is_set()


def checked_executor(executor: Any, device: str = "cpu", **others: Any) -> Any:
    """Refuse what cannot be handed a task; with a GPU, any executor and whatever else is for the processor."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise BadType(
            f"executor must have a submit method as concurrent.futures' executors have, not {shown(executor)}"
        )
    given = {"executor": executor, **others}
    if device != "cpu" and any(value is not None for value in given.values()):
        raise BadArgument(f'{" and ".join(given)} must be left out with device="{device}": the device does the work')
    return executor
