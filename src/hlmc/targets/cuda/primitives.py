"""What only a device has: threads, atomic operations, shared memory, and runs of words in what a launch was given.

They are primitives like the engine's (:mod:`hlmc.engine.primitives`), for the kernels of this target alone. None of
them is ever interpreted, so they have no bodies; :mod:`hlmc.targets.cuda.unit` says how each is written in C++.

Rows and workspaces of a simulation lie as [block, word, lane] (structure of arrays per block), so that the threads of a
warp read and write neighbouring words. The distance between two words of a run is part of its C++ type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlmc.engine.kernel import primitive

Array = np.ndarray

# --- Threads


@primitive
def thread() -> int:  # type: ignore[empty-body]
    """The number of this thread in its block."""


@primitive
def block() -> int:  # type: ignore[empty-body]
    """The number of this block in x."""


@primitive
def block_row() -> int:  # type: ignore[empty-body]
    """The number of this block in y."""


@primitive
def blocks() -> int:  # type: ignore[empty-body]
    """How many blocks the grid has in x."""


@primitive
def sync_threads() -> None:
    """Wait until all threads of the block are here; what they wrote before is visible after."""


@primitive
def atomic_add(numbers: Array, at: int, x: int) -> None:
    """Add x to an int32 that other threads change too."""


@primitive
def atomic_take(numbers: Array, at: int) -> int:  # type: ignore[empty-body]
    """Set an int32 to 0; what it was before."""


@primitive
def atomic_min(numbers: Array, at: int, x: int) -> None:
    """Lower an int64 to x, unless it is lower already."""


@primitive
def thread_fence() -> None:
    """What this thread wrote before is visible on the whole device before what it writes after."""


@primitive
def pause() -> None:
    """Sleep for some nanoseconds before the next look at a barrier."""


# --- The block's shared memory: a note, and int32 counters, as many as the launch has asked for


@primitive
def put_note(x: int) -> None:
    """Set the note, an int32 that all threads of the block read."""


@primitive
def read_note() -> int:  # type: ignore[empty-body]
    """The note."""


@primitive
def clear_count(k: int) -> None:
    """Set counter k to 0."""


@primitive
def read_count(k: int) -> int:  # type: ignore[empty-body]
    """Counter k."""


@primitive
def increment_count(k: int) -> None:
    """Add 1 to counter k, atomically."""


# --- Barriers between blocks: two int32 each, how many blocks have arrived and how often it was released


@primitive
def barrier_arrive(barriers: Array, which: int) -> int:  # type: ignore[empty-body]
    """Count this block in; how many came before it."""


@primitive
def barrier_releases(barriers: Array, which: int) -> int:  # type: ignore[empty-body]
    """How often a barrier has been released, read from memory whatever was read there before."""


@primitive
def barrier_release(barriers: Array, which: int) -> None:
    """Reset the count of arrivals, then let the waiting blocks go on."""


# --- Runs of words in a launch's arrays


@primitive
def program_view(programs: Array, number: int, length: int) -> Any:
    """One of many programs or specs [number, word], float64, read only."""


@primitive
def own_view(programs: Array, number: int, length: int) -> Any:
    """The same in the precision of the workspaces."""


@primitive
def row_view(rows: Array, block: int, width: int, lane: int) -> Any:
    """One thread's float64 words in an array [block, word, lane] with ``width`` words per thread."""


@primitive
def stored_view(workspaces: Array, block: int, width: int, lane: int) -> Any:
    """One thread's workspace in global memory, where it lies between launches: [block, word, lane]."""


@primitive
def workspace_view(stored: Array) -> Any:
    """The same where the thread works on it: there, or [word, lane] in the block's shared memory."""


@primitive
def fetch(workspace: Array, stored: Array) -> None:
    """Load a workspace that lies in shared memory."""


@primitive
def keep(workspace: Array, stored: Array) -> None:
    """Store it again."""


@primitive
def constants_view(words: Array) -> Any:
    """Float64 words that nobody writes."""


@primitive
def agent_words(words: Array, start: int) -> Any:
    """One agent's float64 words: every LANES-th one from ``start`` on."""


@primitive
def agent_numbers(numbers: Array, start: int) -> Any:
    """The same in working precision."""


@primitive
def words_from(words: Array, start: int) -> Any:
    """Float64 words from ``start`` on."""


@primitive
def overlay(run: Array, at: int, x: float) -> Any:
    """A run that reads as ``run`` with x at place ``at``.

    Nothing is written, because other threads read the same words. The result can only be indexed.
    """
