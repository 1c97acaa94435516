"""How the blocks of one run wait for one another, with work for the last one to arrive.

The blocks that play one run of a game meet after every round. The last to arrive does what only one block may do (count
the choices, pay), then releases the others. That takes one barrier per round where a general grid barrier with a
separate referee would take two.

A barrier is two int32 in global memory: how many blocks have arrived, and how often it was released. The second tells
the waiting blocks to go on; it only grows, so a block that is late to look cannot miss a release.

Blocks that wait for others must all be resident on the device at once. The launch is cooperative, so the driver refuses
one whose blocks are too many, and nobody waits for ever. In the simulator, which runs one block after another, a run
has one block, and that block is always the last.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.targets.cuda.primitives import (
    barrier_arrive,
    barrier_release,
    barrier_releases,
    pause,
    put_note,
    read_note,
    sync_threads,
    thread_fence,
)

Array = np.ndarray


@kernel
def arrive_last(barriers: Array, run: int, blocks: int, lane: int) -> bool:
    """Arrive at the barrier of a run: whether this block is the last. If not, wait until the last has released it.

    Called by all threads of a block; all get the same answer. What any block of the run wrote before it arrived is
    visible to the last one, and what the last one wrote before it released is visible to all.

    Parameters
    ----------
    barriers
        [run, 2] int32 in global memory: arrivals, releases. Only this function and :func:`release` write there.
    run, blocks
        Which barrier, and how many blocks arrive at it.
    lane
        This thread's place in its block.
    """
    sync_threads()
    if lane == 0:
        before = barrier_releases(barriers, run)
        thread_fence()
        arrived = barrier_arrive(barriers, run) + 1
        put_note(1 if arrived == blocks else 0)
        if arrived != blocks:
            while barrier_releases(barriers, run) == before:
                pause()
        thread_fence()
    sync_threads()
    return read_note() == 1


@kernel
def release(barriers: Array, run: int, lane: int) -> None:
    """Let the other blocks of a run go on. Called by all threads of the block for which ``arrive_last`` was true."""
    sync_threads()
    if lane == 0:
        thread_fence()
        barrier_release(barriers, run)
    sync_threads()
