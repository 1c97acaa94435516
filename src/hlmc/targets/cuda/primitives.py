"""What CUDA and Numba's simulator of it must say differently: waiting, atomic operations, shared memory.

The bodies below are the simulator's, which runs the threads of a block as threads of the interpreter and one block
after another. :mod:`hlmc.targets.cuda.lowering` has their implementations for a device.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from hlmc.engine.kernel import primitive

Array = np.ndarray

_one_at_a_time = threading.Lock()


# --- The threads of a block


@primitive
def sync_threads() -> None:
    """Wait until all threads of the block are here; what they wrote before is visible after."""
    threading.current_thread().syncthreads()  # type: ignore[attr-defined]


@primitive
def atomic_add(numbers: Array, at: int, x: int) -> None:
    """Add x to a whole number that other threads change too."""
    with _one_at_a_time:
        numbers[at] += x


@primitive
def atomic_take(numbers: Array, at: int) -> int:
    """Set a whole number to 0; what it was before."""
    with _one_at_a_time:
        before = int(numbers[at])
        numbers[at] = 0
    return before


@primitive
def atomic_min(numbers: Array, at: int, x: int) -> None:
    """Lower a whole number to x, unless it is lower already."""
    with _one_at_a_time:
        numbers[at] = min(int(numbers[at]), x)


# --- Counters in the block's shared memory: int32, as many as the launch has asked for
#
# ``counts`` is the shared array as the entry point got it. On a device it is not used: every function names the shared
# memory itself, because a pointer that is handed to a function that is not inlined loses its address space.


@primitive
def clear_count(counts: Array, k: int) -> None:
    """Set shared counter k to 0."""
    counts[k] = 0


@primitive
def read_count(counts: Array, k: int) -> int:
    """Shared counter k."""
    return int(counts[k])


@primitive
def increment_count(counts: Array, k: int) -> None:
    """Add 1 to shared counter k, atomically."""
    atomic_add(counts, k, 1)


@primitive
def shared_base() -> int:
    """The address at which the shared memory of the launch begins. The simulator has no use for it."""
    return 0


# --- Barriers between blocks: two int32 each, how many blocks have arrived and how often it was released


@primitive
def barrier_arrive(barriers: Any, which: int) -> int:
    """Count this block in; how many came before it."""
    with _one_at_a_time:
        before = int(barriers[2 * which])
        barriers[2 * which] = before + 1
    return before


@primitive
def barrier_releases(barriers: Any, which: int) -> int:
    """How often a barrier has been released, read from memory whatever was read there before."""
    return int(barriers[2 * which + 1])


@primitive
def barrier_release(barriers: Any, which: int) -> None:
    """Reset the count of arrivals and let the waiting blocks go on."""
    with _one_at_a_time:
        barriers[2 * which] = 0
        barriers[2 * which + 1] += 1


@primitive
def thread_fence() -> None:
    """What this thread wrote before is visible on the whole device before what it writes after."""


@primitive
def pause() -> None:
    """Sleep for some nanoseconds before the next look at a barrier."""


# --- Counts with one entry changed


class Overlay:
    """The simulator's run of words that reads as another number at one place."""

    def __init__(self, run: Array, at: int, x: float) -> None:
        self._known = run, at, x

    def __getitem__(self, i: int) -> float:
        run, at, x = self._known
        return x if i == at else float(run[i])


@primitive
def overlay(run: Array, at: int, x: float) -> Any:
    """A run that reads as ``run`` with x at place ``at``. Nothing is written: other threads read the same words."""
    return Overlay(run, at, x)
