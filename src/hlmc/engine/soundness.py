"""The check of rows that come from outside: the gate in front of the kernels.

Select and update trust a row: some of its words say where in the row or in the program to go on, and others are divided
by. :func:`sound` tells whether they are what they can be at the row's time, so that no file can lead the kernels out of
their memory, to an arm that is none, or to a probability that is none. Three checks share the work: :func:`sound` that
of the clock and of the words common to all policies, a structure's ``check_row`` that of the groups, and a routine's
``check`` that of the statistics of a level. Why each is enough is written beside it. A routine of a user's own is
trusted like any code; unless it brings a check, its words are only known to be finite, or not even that
(:class:`hlmc.routines.Custom`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARM,
    ARMS,
    CHILD,
    CONTROL,
    COUNT,
    HORIZON,
    PROBABILITY,
    RECORD,
    TIME,
    UNTIL,
    WORDS,
)
from hlmc.engine.linker import substitute
from hlmc.engine.primitives import row_of, words
from hlmc.engine.step import arm_of
from hlmc.engine.structures.base import Structure, whole_within

Array = np.ndarray


@kernel
def check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """Hook: the structure's own check."""
    return False


@kernel
def sound(program: Array, checks: Address, row: Array) -> bool:
    """Whether the kernels can go on from a row; ``checks`` holds the address of the check of each level's routine.

    TIME is at most HORIZON and UNTIL the end of the run that TIME falls in or that has just ended, so ``begin`` and
    ``end`` are called at the times that they are written for. ARM is -1 or the arm of the slot CHILD, below COUNT.
    """
    horizon = int(program[HORIZON])
    arms = int(program[ARMS])
    if not (whole_within(row[TIME], 0, horizon) and whole_within(row[UNTIL], 0, 2 * horizon)):
        return False
    if not (whole_within(row[ARM], -1, arms - 1) and 0.0 < row[PROBABILITY] <= 1.0):
        return False
    t = int(row[TIME])
    waiting = row[ARM] >= 0.0
    if int(row[UNTIL]) == 0:
        # A learner that has yet to choose holds nothing but its key, no arm, and probability 1.
        blank = t == 0 and not waiting and row[PROBABILITY] == 1.0
        for j in range(PROBABILITY + 1, int(program[WORDS])):
            blank = blank and row[j] == 0.0
        return blank
    # The last step for which the routine over the arms was, or is being, run.
    step = t if int(row[UNTIL]) > t else t - 1
    if step < 0 or step >= horizon or (waiting and step != t):
        return False
    if not check_row(program, checks, row, step, int(row[UNTIL]) > t):
        return False
    if not waiting:
        return True
    slot = 0
    if int(row[COUNT]) > 1:
        level = int(row[RECORD])
        slot = int(row[int(program[level + CONTROL]) + CHILD])
    return int(row[ARM]) == arm_of(program, row, slot)


@kernel
def first_unsound(program_at: Address, checks_at: Address, rows_at: Address, width: int, first: int, stop: int) -> int:
    """The first of the rows first .. stop - 1 that no learner of this program can have; ``stop`` if there is none."""
    program = words(program_at)
    for i in range(first, stop):
        if not sound(program, checks_at, words(row_of(rows_at, i, width))):
            return i
    return stop


def checker(structure: Structure) -> Any:
    """:func:`first_unsound` for the programs of a structure."""
    return substitute(first_unsound, {check_row: structure.check_row})
