"""Ctrl-C: never lost, taken where nothing is half done, and told in one line."""

from __future__ import annotations

import signal
import sys

# The module below signal, without the enumerations: looking for those takes 30 us a block.
from _signal import getsignal as _getsignal  # type: ignore[import-not-found]
from _signal import signal as _signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from threading import current_thread, main_thread
from typing import Any, Self


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. The message says what was finished and what is kept.

    Attributes
    ----------
    finished
        The number of runs, or of other parts of the work, that were finished.
    partial
        The result of what was finished, computed when it is first asked for; None where nothing was.
    """

    def __init__(self, message: str, finished: int = 0, partial: Callable[[], Any] = lambda: None) -> None:
        super().__init__(message)
        self.finished = finished
        self._partial = partial

    @cached_property
    def partial(self) -> Any:
        return self._partial()


def kept_in(store: Any) -> str:
    """The end of an :class:`Interrupted`'s message."""
    if store is None:
        return ""
    return f"; what was finished is kept in {store}, and the same call goes on from there"


@contextmanager
def signals_waiting() -> Iterator[None]:
    """Let signals wait whose handlers are somebody's own, such as one of SIGALRM that raises after a while.

    What a handler raises within a callback of a C library is lost. Here the handlers are called at the end of the
    block. (To block the signals would not do: the system could give them to threads of other libraries, and Python
    would then call the handlers at once.)
    """
    if current_thread() is not main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    found = {each: signal.getsignal(each) for each in signal.valid_signals()}
    theirs: dict[int, Any] = {
        each: handler for each, handler in found.items() if callable(handler) and not _is_interrupt(handler)
    }
    with ExitStack() as afterwards:  # everything in it is done, whatever is raised on the way
        for each, handler in theirs.items():
            afterwards.callback(signal.signal, each, handler)
            signal.signal(each, lambda number, frame: came.append((number, frame)))
        try:
            yield
        finally:
            for number, handler in theirs.items():
                signal.signal(number, handler)
            for number, frame in reversed(came):
                afterwards.callback(theirs[number], number, frame)


def _is_interrupt(handler: Any) -> bool:
    """Whether a handler is that of Ctrl-C, which :class:`Interrupts` makes wait."""
    return handler is signal.default_int_handler or isinstance(getattr(handler, "__self__", None), Interrupts)


class Interrupts:
    """Within this block Ctrl-C is noted; if it is ``held``, nothing is raised until :meth:`check` or the block's end.

    A KeyboardInterrupt that is raised at an arbitrary place can be lost: Python ignores exceptions in destructors and
    in callbacks of C libraries such as LLVM's, and some packages catch everything while they are imported. It can also
    leave a result half counted. Pressed twice, Ctrl-C is raised at once. Blocks may be nested: one that was lost in an
    outer block is raised when an inner one begins, and one that came in an inner block is raised at its end, unless the
    outer block is held. Python prints a traceback of an exception that it ignores; that of a KeyboardInterrupt is left
    out, since it is noted here. Where the main thread has a handler of somebody else's, or this is another thread,
    nothing is changed.
    """

    def __init__(self, held: bool = True) -> None:
        self._came = False
        self._held = held
        self.wake: Callable[[], None] = lambda: None
        """Called by the handler, so that a wait can end."""

    def __enter__(self) -> Self:
        self._before = _getsignal(signal.SIGINT) if current_thread() is main_thread() else None
        outer = getattr(self._before, "__self__", None)
        self._outer = outer if isinstance(outer, Interrupts) else None
        if self._outer is not None:
            self._outer.check()
        elif self._before is not signal.default_int_handler:
            self._before = None
        if self._before is not None:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._ignored
            _signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._before is not None:
            _signal(signal.SIGINT, self._before)
            sys.unraisablehook = self._hook
        raised = kind is not None and issubclass(kind, KeyboardInterrupt)  # on its way: whoever catches it has it
        if self._outer is not None and not raised:
            self._outer._came |= self._came
        if kind is None and self._held and not (self._outer is not None and self._outer._held):
            self.check()

    def _note(self, *_: object) -> None:
        again, self._came = self._came, True
        if again or not self._held:
            raise KeyboardInterrupt
        self.wake()

    def _ignored(self, unraisable: Any) -> None:
        """In place of ``sys.unraisablehook``, for exceptions that Python cannot raise and prints instead."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._came = True
        else:
            self._hook(unraisable)

    def check(self) -> None:
        """Raise what came."""
        if self._came:
            raise KeyboardInterrupt

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Where a wait cannot be woken: raise at once."""
        self._held = False
        try:
            self.check()
            yield
        finally:
            self._held = True
