"""Group commit: what many threads and tasks ask for at the same time is done in one transaction.

Who comes first leads: it takes all that is waiting, does it, hands out the answers, and appoints the next leader among
those who came meanwhile. A caller that is alone pays for no other thread. Tasks of asyncio must not wait, so a helper
thread leads for them. The answers of a group reach an event loop in one call, which wakes it once.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from hlmc.interrupts import Interrupts

LARGEST = 2048
"""Items in a transaction, unless one request alone has more."""


class Request:
    """Something to be done in a transaction. ``size`` counts its items; ``alone``: in a transaction of its own."""

    size = 1
    alone = False

    def __init__(self) -> None:
        self._result: Any = None
        self._error: BaseException | None = None
        self._done = False
        self._appointed = False
        self._future: asyncio.Future[Any] | None = None
        self._wake: threading.Lock | None = None
        """Held until a thread that waits is to go on; a task has none."""

    def answer(self, result: Any) -> None:
        """Give the result to whoever waits."""
        self._result = result
        self._finish()

    def refuse(self, error: BaseException) -> None:
        """Have the one who waits raise an error."""
        self._error = error
        self._finish()

    def _finish(self) -> None:
        self._done = True
        if self._wake is not None:
            self._wake.release()

    def _deliver(self) -> None:
        """In the event loop: give the task that waits its answer, unless it was cancelled."""
        if self._future is None or self._future.done():
            return
        if self._error is not None:
            self._future.set_exception(self._error)
        else:
            self._future.set_result(self._result)


class GroupCommit:
    """The queue in front of a store.

    ``perform(requests)`` does a group of requests in one transaction, and calls ``answer`` or ``refuse`` of each
    after it was committed. ``after(requests)`` is called when all of them have their answers. Both raise nothing.

    Attributes
    ----------
    watch
        If set, it is called after every transaction that requests have shared, by the thread that did it, with its
        seconds and the number of items. It must be quick.
    """

    def __init__(self, perform: Callable[[Sequence[Any]], None], after: Callable[[Sequence[Any]], None]) -> None:
        self._perform = perform
        self._after = after
        self.watch: Callable[[float, int], None] | None = None
        self._reset()

    def _reset(self) -> None:
        self._mutex = threading.Lock()
        self._queue: list[Request] = []
        self._led = False
        self._pid = os.getpid()
        self._helper: threading.Thread | None = None
        self._called = _held()
        self._closed = False

    def close(self) -> None:
        """Wait until all that was submitted is done, and end the helper. Nothing may be submitted any more."""
        helper = self._helper
        if helper is None or self._pid != os.getpid():
            return
        with self._mutex:
            self._closed = True
            leads, self._led = not self._led, True
        if leads:
            self._call_helper()
        helper.join()
        self._helper = None

    def submit(self, request: Request) -> Any:
        """Have a request done; its result. Returns when it is committed."""
        if self._pid != os.getpid():  # whoever led or waited before a fork is not here
            self._reset()
        with self._mutex:
            leads, self._led = not self._led, True
            if not leads:
                wake = request._wake = _held()
                self._queue.append(request)
        if leads:  # nobody else is here
            self._lead(request, [request])
        else:
            try:
                wake.acquire()
            except BaseException:
                self._abandon(request)
                raise
            if not request._done:
                self._lead(request)
        if request._error is not None:
            raise request._error
        return request._result

    def _abandon(self, request: Request) -> None:
        """Ctrl-C came while a request waited: it is not done, unless that has begun."""
        with self._mutex:
            if request in self._queue:
                self._queue.remove(request)
            leads = request._appointed and not request._done
        if leads:
            self._call_helper()

    async def submit_async(self, request: Request) -> Any:
        """The same for a task of asyncio, which lets other tasks run meanwhile."""
        if self._pid != os.getpid():
            self._reset()
        request._future = asyncio.get_running_loop().create_future()
        with self._mutex:
            self._queue.append(request)
            leads, self._led = not self._led, True
        if leads:
            self._call_helper()
        return await request._future

    def _lead(self, own: Request | None, group: Sequence[Request] = ()) -> None:
        """Do a group, or what is waiting, until one's own request is done; the helper does all that is waiting."""
        with Interrupts():  # Ctrl-C comes before or after a transaction
            while True:
                if not group:
                    with self._mutex:
                        group = self._next_group()
                if group:
                    self._do(group)
                    group = ()
                with self._mutex:
                    called_to_end = self._closed and self._helper is not None
                    if not self._queue and (own is None or (own._done and not called_to_end)):
                        self._led = False
                        return
                    if own is None or not own._done:
                        continue
                    heir = next((each for each in self._queue if each._wake is not None), None)
                    if heir is not None:
                        heir._appointed = True
                if heir is not None and heir._wake is not None:
                    heir._wake.release()
                else:
                    self._call_helper()
                return

    def _do(self, group: Sequence[Request]) -> None:
        begun = time.perf_counter()
        self._perform(group)
        seconds = time.perf_counter() - begun
        if self.watch is not None and not group[0].alone:
            self.watch(seconds, sum(request.size for request in group))
        _hand_over(group)
        self._after(group)

    def _next_group(self) -> list[Request]:
        count, size = 0, 0
        for request in self._queue:
            size += request.size
            if count and (request.alone or size > LARGEST):
                break
            count += 1
            if request.alone:
                break
        group, self._queue = self._queue[:count], self._queue[count:]
        return group

    def _call_helper(self) -> None:
        """Have the helper lead. Only one leads at a time, so the helper is called once before it goes on."""
        if self._helper is None:
            self._helper = threading.Thread(target=self._help, name="hlmc-bandit", daemon=True)
            self._helper.start()
        self._called.release()

    def _help(self) -> None:
        called = self._called
        while True:
            called.acquire()
            self._lead(None)
            if self._closed:
                return


def _held() -> threading.Lock:
    """A lock that is held: whoever acquires it waits until another releases it."""
    lock = threading.Lock()
    lock.acquire()
    return lock


def _hand_over(group: Iterable[Request]) -> None:
    """Wake each event loop whose tasks wait for answers, once."""
    loops: dict[asyncio.AbstractEventLoop, list[Request]] = {}
    for request in group:
        if request._future is not None:
            loops.setdefault(request._future.get_loop(), []).append(request)
    for loop, requests in loops.items():
        with suppress(RuntimeError):  # the loop was closed, and nobody waits
            loop.call_soon_threadsafe(_deliver, requests)


def _deliver(requests: Sequence[Request]) -> None:
    for request in requests:
        request._deliver()
