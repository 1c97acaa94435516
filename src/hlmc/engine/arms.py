"""Arms that come and go: a row with another number of arms, or with an arm of which nothing is known.

The arms in play are 0 .. live - 1; the row's IDLE word says how many of the K slots are without one. What a change
means to a group that is being played is up to the structure (``Structure.change``), what it means to the statistics
of a level the routine's (``RoutineKernels.change``). docs/arms.md says why each does what it does.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import ARMS, DUE, IDLE, PENDING, TIME, UNTIL, WINDOW
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.primitives import words
from hlmc.engine.structures.base import Structure

Array = np.ndarray


@kernel
def change_row(program: Array, changes: Address, row: Array, step: int, running: bool, live: int, arm: int) -> None:
    """Hook: the structure's own change."""


@kernel
def change(program_at: Address, changes_at: Address, row_at: Address, live: int, arm: int) -> int:
    """Make a row with ``live`` arms, from 1 to K; 0. No arm awaits its reward.

    More than there are: new arms join behind the others, and ``arm`` is -1. One less: ``arm`` leaves, and the last one
    takes its place. As many: ``arm`` is forgotten. ``changes``: the address of the change of each level's routine.
    """
    program = words(program_at)
    row = words(row_at)
    t = int(row[TIME])
    until = int(row[UNTIL])
    if until == 0:
        row[int(program[IDLE])] = float(int(program[ARMS]) - live)
        return 0
    # As in hlmc.engine.soundness.sound: the last step for which the routine over the arms was, or is being, run.
    running = until > t
    step = t if running else t - 1
    if program[PENDING] > 0.0:
        running = running or row[int(program[WINDOW]) + DUE] == 1.0
    change_row(program, changes_at, row, step, running, live, arm)
    return 0


@cache
def changer(structure: Structure) -> Kernel:
    """:func:`change` for the programs of a structure."""
    assert structure.change is not None
    return substitute(change, {change_row: structure.change})
