"""One caller at a time, also across forks."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - see below
import os
import sys
import threading
from functools import cached_property
from typing import Any
from weakref import WeakSet

# The locks in use. A fork holds all of them while the process is copied, first ours and then those of other packages,
# which are taken in that order by whoever needs both.
_turns: WeakSet[Any] = WeakSet()
_others: list[Any] = []
_held: list[Any] = []
_forks = threading.RLock()  # one fork at a time
_all = threading.RLock()  # to look through the locks, or to add one: who waits for this may hold any of them


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


def wait_for(lock: Any) -> None:
    """Let a fork wait for a lock of another package's too, which its owner can take again."""
    with _all:
        if lock not in _others:
            _others.append(lock)


def _before_fork() -> None:
    _forks.acquire()
    while True:
        _all.acquire()
        wanted = [lock for lock in (*_turns, *_others) if not any(lock is held for held in _held)]
        if not wanted:
            return  # and no lock can be added before the fork
        # Never wait for a lock while holding _all: its owner may be about to add another one.
        _all.release()
        for lock in wanted:
            lock.acquire()
            _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()
    _all.release()
    _forks.release()


def _in_child() -> None:
    """Renew the locks of cached properties, which threads that are gone may hold.

    Python 3.11 computes a cached property of a class in one thread at a time. Nothing else is lost with the threads: a
    property that was being computed is not there, and is computed anew.
    """
    ours = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "hlmc"]
    classes = {value for module in ours for value in vars(module).values() if isinstance(value, type)}
    for found in (value for each in classes for value in vars(each).values()):
        if isinstance(found, cached_property) and hasattr(found, "lock"):
            found.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    # Before a fork, what was registered last runs first. The pools of the standard library, which a fleet's call may be
    # waiting for, must take their lock after the fleets have been waited for; so that module is imported above.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_in_child)
