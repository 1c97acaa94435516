"""The check of rows that come from outside: the gate in front of the kernels.

Select and update trust a row: some of its words say where in the row or in the program to go on, and others are divided
by. :func:`sound` tells whether they are what they can be at the row's time, so that no file can lead the kernels out of
their memory, to an arm that is none, or to a probability that is none. Three checks share the work: :func:`sound` that
of the clock and of the words common to all policies, a structure's ``check_row`` that of the groups, and a routine's
``check`` that of the statistics of a level. Why each is enough is said in its docstring. A routine of a user's own is
trusted like any code; unless it brings a check, its words are only known to be finite, or not even that
(:class:`hlmc.routines.Custom`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlmc.engine.identity import sound_identity
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARM,
    ARMS,
    AT,
    BEGAN,
    BITS,
    CHILD,
    CHILDREN,
    CONTINUED,
    CONTROL,
    COUNT,
    CROWNED,
    DOUBLING,
    DUE,
    FOREVER,
    HORIZON,
    IDENTITY_WORDS,
    IDLE,
    LEVEL_CONTROL,
    LEVELS,
    MOVED,
    ONE,
    PARAMETERS,
    PENDING,
    PROBABILITY,
    REACHED,
    RECORD,
    SECRET,
    SUBLENGTH,
    SUBPHASES,
    TIME,
    UNANSWERED,
    UNTIL,
    WINDOW,
    WORDS,
    ZERO,
    window_words,
)
from hlmc.engine.linker import substitute
from hlmc.engine.primitives import bits, row_of, words
from hlmc.engine.step import arm_of
from hlmc.engine.structures.base import Structure, whole_within
from hlmc.errors import BadArgument

Array = np.ndarray

_NO_BITS = np.uint64(0)


@kernel
def check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """Hook: the structure's own check."""
    return False


@kernel
def _sound_window(program: Array, row: Array, t: int) -> bool:
    """Whether the words of the window can be those before step t. All bits of the window are possible.

    Bits that stand for no decision are 0: those past W, and before W decisions those past the last one.
    """
    window = int(program[WINDOW])
    if not (whole_within(row[window + DUE], 0, 1) and whole_within(row[window + UNANSWERED], 0, t)):
        return False
    if not (0.0 <= row[window + REACHED] <= 1.0 and 0.0 <= row[window + CROWNED] <= 1.0):
        return False
    if not whole_within(row[window + MOVED], 0, FOREVER):
        return False
    if row[window + DUE] == 1.0 and (row[ARM] >= 0.0 or int(row[UNTIL]) != t):
        return False
    if not sound_identity(program, row, t):
        return False
    pending = int(program[PENDING])
    used = min(t, pending)
    for first in range(0, pending, 64):
        word = bits(row, window + BITS + first // 64)
        if used <= first:
            if word != _NO_BITS:
                return False
        elif used < first + 64 and (word >> np.uint64(used - first)) != _NO_BITS:
            return False
    return True


@kernel
def sound(program: Array, checks: Address, row: Array) -> bool:
    """Whether the kernels can go on from a row; ``checks`` holds the address of the check of each level's routine.

    TIME is at most HORIZON and UNTIL the end of the run that TIME falls in or that has just ended, so ``begin`` and
    ``end`` are called at the times that they are written for. ARM is -1 or the arm of the slot CHILD, below COUNT.
    Where arms come and go, IDLE leaves at least one, and all else is checked against the number of arms that it leaves.
    """
    horizon = int(program[HORIZON])
    arms = int(program[ARMS])
    if not (whole_within(row[TIME], 0, horizon) and whole_within(row[UNTIL], 0, 2 * horizon)):
        return False
    if not (whole_within(row[ARM], -1, arms - 1) and 0.0 < row[PROBABILITY] <= 1.0):
        return False
    idle = int(program[IDLE])
    if idle > 0 and not whole_within(row[idle], 0, arms - 1):
        return False
    t = int(row[TIME])
    waiting = row[ARM] >= 0.0
    if int(row[UNTIL]) == 0:
        # A learner that has yet to choose holds its key, no arm, probability 1, how many arms there are, and who it is.
        blank = t == 0 and not waiting and row[PROBABILITY] == 1.0
        who = int(program[WINDOW]) + SECRET if program[PENDING] > 0.0 else int(program[WORDS])
        for j in range(PROBABILITY + 1, int(program[WORDS])):
            blank = blank and (row[j] == 0.0 or j == idle or who <= j < who + IDENTITY_WORDS)
        return blank and (program[PENDING] == 0.0 or sound_identity(program, row, 0))
    # The last step for which the routine over the arms was, or is being, run. If its end is due, the run goes on.
    step = t if int(row[UNTIL]) > t else t - 1
    running = int(row[UNTIL]) > t
    if program[PENDING] > 0.0:
        if not _sound_window(program, row, t):
            return False
        running = running or row[int(program[WINDOW]) + DUE] == 1.0
    if step < 0 or step >= horizon or (waiting and step != t):
        return False
    if not check_row(program, checks, row, step, running):
        return False
    if program[PENDING] > 0.0 and row[int(program[WINDOW]) + UNANSWERED] > row[TIME] - row[BEGAN]:
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


def check_program(table: Array, structure: Structure, rooms: Sequence[Callable[[int], int]]) -> None:
    """Refuse a program from which a kernel could leave the row or the program.

    Programs never come from files or pickles: a policy compiles its own, and this is the proof that it went well. The
    parameters of the routines are not looked at, as a routine has checked its fields when it was made.

    Parameters
    ----------
    table
        The program, shape (1 + records, FIELDS).
    structure
        Its structure.
    rooms
        For every level, how many words its routine keeps for so many children.
    """
    counts = np.delete(table[0], (DOUBLING, WORDS, ZERO, ONE))
    structural = np.concatenate([counts, np.delete(table[1:, :PARAMETERS], AT, axis=1).ravel()])
    # Kernels read these words as integers and multiply them: SUBPHASES by SUBLENGTH, whose product they need below
    # 2^62, and every other one only by what keeps it below the arms or the steps. Places in a row (WORDS, AT) may be
    # larger, in a policy that is planned and never started: no such row can be allocated.
    if not (np.all(structural == np.floor(structural)) and np.all((structural >= 0) & (structural <= FOREVER))):
        raise BadArgument("the arms, steps and children of a program must be whole numbers from 0 to 2^53")
    if not (table[0, DOUBLING] == np.floor(table[0, DOUBLING]) and CONTINUED <= table[0, DOUBLING] <= FOREVER):
        raise BadArgument("the first stage of a program must be a whole number from -2 to 2^53")
    if table[0, SUBPHASES] * table[0, SUBLENGTH] >= 2.0**62:
        raise BadArgument("subphases times sublength must be below 2^62 in a program")
    levels = len(rooms)
    pending, window = int(table[0, PENDING]), structure.header_words + LEVEL_CONTROL * levels
    if not (
        min(table[0, ARMS], table[0, HORIZON]) >= 1
        and table[0, LEVELS] == levels
        and (pending == 0 or (pending > 0 and table[0, WINDOW] == window))
        and structure.check_program(table, structure)
        and all(_has_room(table[i : i + levels], table[0], structure, rooms) for i in range(1, len(table), levels))
    ):
        raise BadArgument("a program must have a record for every step, and room for every child")


def _has_room(records: Array, header: Array, structure: Structure, rooms: Sequence[Callable[[int], int]]) -> bool:
    """Whether the words of the levels of a stage lie in the row one after the other, each level's with enough room."""
    levels = len(rooms)
    ends = [*records[1:, AT], header[WORDS]]
    first = structure.header_words + LEVEL_CONTROL * levels + window_words(int(header[PENDING]))
    if header[IDLE] > 0:
        if header[IDLE] != first:
            return False
        first += 1
    for d, (record, room, end) in enumerate(zip(records, rooms, ends, strict=True)):
        slots = int(record[CHILDREN]) + (structure.extra_slots if 0 < d == levels - 1 else 0)
        if record[CONTROL] != structure.header_words + LEVEL_CONTROL * d:
            return False
        if not (record[AT] == np.floor(record[AT]) and record[AT] >= first):
            return False
        if not (end - record[AT] >= room(slots) or end > FOREVER):
            return False
        first = record[AT]
    return True
