"""One caller at a time, also across forks."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - see below
import os
import threading
from typing import Any
from weakref import WeakSet

# The locks in use, and one to go through them. A fork holds all of them while the process is copied.
_turns: WeakSet[Any] = WeakSet()
_held: list[Any] = []
_all = threading.RLock()


def turn() -> Any:
    """A lock for an object that several threads may call, which a fork finds between two calls.

    A fork waits until the calls of other threads have ended. Otherwise the child would have a lock whose owner does
    not exist there, over rows that are half changed. The lock can be taken again by the thread that has it, so that a
    thread that forks in the middle of a call does not wait for itself.
    """
    lock = threading.RLock()
    with _all:
        _turns.add(lock)
    return lock


def _before_fork() -> None:
    _all.acquire()
    _held.extend(_turns)
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    _all.release()


if hasattr(os, "register_at_fork"):
    # Before a fork, what was registered last runs first. The pools of the standard library, which a fleet's call may be
    # waiting for, must take their lock after the fleets have been waited for; so that module is imported above.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
