"""The check of rows that come from outside: the gate in front of the kernels.

Select and update trust a row: some of its words say where in the row or in the program to go on. :func:`sound` tells
whether those words are what they must be at the row's time, so that no file can lead the kernels out of their memory.
What a structure's kernels assume is written beside its ``check_row``.
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
from hlmc.engine.structures.base import Structure, all_finite, whole_within

Array = np.ndarray


@kernel
def check_row(program: Array, row: Array, step: int, running: bool) -> bool:
    """Hook: the structure's own check."""
    return False


@kernel
def sound(program: Array, row: Array) -> bool:
    """Whether a row's clock and the words that lead somewhere are what they can be, and its numbers finite."""
    horizon = int(program[HORIZON])
    arms = int(program[ARMS])
    if not (whole_within(row[TIME], 0, horizon) and whole_within(row[UNTIL], 0, 2 * horizon)):
        return False
    if not (whole_within(row[ARM], -1, arms - 1) and all_finite(row, PROBABILITY, PROBABILITY + 1)):
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
    if not check_row(program, row, step, int(row[UNTIL]) > t):
        return False
    if not waiting:
        return True
    slot = 0
    if int(row[COUNT]) > 1:
        level = int(row[RECORD])
        slot = int(row[int(program[level + CONTROL]) + CHILD])
        if slot >= int(row[COUNT]):
            return False
    return int(row[ARM]) == arm_of(program, row, slot)


@kernel
def first_unsound(program_at: Address, rows_at: Address, width: int, first: int, stop: int) -> int:
    """The first of the rows first .. stop - 1 that no learner of this program can have; ``stop`` if there is none."""
    program = words(program_at)
    for i in range(first, stop):
        if not sound(program, words(row_of(rows_at, i, width))):
            return i
    return stop


def checker(structure: Structure) -> Any:
    """:func:`first_unsound` for the programs of a structure."""
    return substitute(first_unsound, {check_row: structure.check_row})
