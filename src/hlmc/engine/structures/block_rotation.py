"""Block rotation: UCB-M and EXP3-M (Chaudhuri and Kalyanakrishnan, 2020).

Phase i has h0 sub-phases of b0 2^i steps. A sub-phase holds the arm carried over and the next M - 1 arms of the order
(the first one ever: M arms), runs its routine over them from scratch, and carries the most played one on, also into the
next phase, where the order starts again. Arms are known here by their places in the order, shuffled or not.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARM,
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHILD,
    CHILDREN,
    COMMON,
    CONTROL,
    COUNT,
    FIELDS,
    HORIZON,
    KEY,
    LAST,
    LEVELS,
    MEMORY,
    RANDOM,
    RECORD,
    ROUTINE,
    SHUFFLE,
    SUBLENGTH,
    SUBPHASES,
    SUM,
    TIES,
    TIME,
    UNTIL,
    WHOLE,
    WORDS,
    WRAP,
    Word,
)
from hlmc.engine.permutation import permuted
from hlmc.engine.primitives import bits, call_start, floor_log2
from hlmc.engine.stream import uniform
from hlmc.engine.structures.base import Structure, check_level, check_routine, choices_counted, whole_within

Array = np.ndarray

CARRIED = COMMON
HEADER = (Word("CARRIED", "the place in the order of the arm carried over, or -1", WHOLE),)

CARRY = 1  # the purpose of the random number that breaks ties for the most played arm


@kernel
def place_of(program: Array, row: Array, slot: int) -> int:
    """The place in the order of the arm that a slot holds."""
    carried = int(row[CARRIED])
    if carried < 0:
        return slot
    if slot == 0:
        return carried
    arms = int(program[ARMS])
    base = int(row[BASE])
    place = base + slot - 1
    if place >= (carried if carried >= base else carried + arms):
        place += 1
    return place % arms


@kernel
def rotation_arm_of(program: Array, row: Array, slot: int) -> int:
    """The arm that a slot holds."""
    place = place_of(program, row, slot)
    if program[SHUFFLE] == 0.0:
        return place
    return permuted(bits(row, KEY), int(program[ARMS]), place)


@kernel
def rotation_begin(program: Array, row: Array, t: int) -> float:
    """Fill the memory for the sub-phase that begins with step t."""
    unit = int(program[SUBLENGTH])
    phase = floor_log2(t // (int(program[SUBPHASES]) * unit) + 1)
    length = unit << phase
    origin = int(program[SUBPHASES]) * (length - unit)
    if t == origin:
        row[BASE] = 0.0
    if t == 0:
        row[CARRIED] = -1.0
    arms = int(program[ARMS])
    base = int(row[BASE])
    carried = int(row[CARRIED])
    memory = int(program[MEMORY])
    if carried < 0 or program[WRAP] == 1.0:
        n = min(memory, arms)
    else:
        left = arms - base - (1 if carried >= base else 0)
        n = 1 + min(memory - 1, left)
    record = FIELDS * (1 + phase)
    control = int(program[record + CONTROL])
    if n > 1:
        at = int(program[record + AT])
        call_start(int(program[record + ROUTINE]), program, record, row, at, n, control)
    row[control + SUM] = 0.0
    row[RECORD] = record
    row[COUNT] = n
    row[BEGAN] = t
    row[UNTIL] = min(origin + ((t - origin) // length + 1) * length, int(program[HORIZON]))
    return 1.0


@kernel
def rotation_end(program: Array, row: Array, t: int) -> None:
    """Carry the most played arm on, and move to the next arms of the order."""
    n = int(row[COUNT])
    record = int(row[RECORD])
    plays = int(program[record + AT]) + n
    winner = 0
    if n > 1:
        most = -1.0
        ties = 0
        for j in range(n):
            if row[plays + j] > most:
                most = row[plays + j]
                winner = j
                ties = 1
            elif row[plays + j] == most:
                ties += 1
                if program[TIES] == LAST:
                    winner = j
        if program[TIES] == RANDOM and ties > 1:
            wanted = int(uniform(bits(row, KEY), t, CARRY) * ties)
            for j in range(winner, n):
                if row[plays + j] == most:
                    if wanted == 0:
                        winner = j
                        break
                    wanted -= 1
    carried = int(row[CARRIED])
    base = int(row[BASE])
    taken = n if carried < 0 else n - 1
    following = base + taken + (1 if base <= carried <= base + taken else 0)
    row[CARRIED] = place_of(program, row, winner)
    row[BASE] = min(following, int(program[ARMS]))


@kernel
def rotation_check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """Why no kernel can leave the row or the program, or play what is no arm.

    *Program.* Time is below HORIZON, by which the last phase that has a record ends, so RECORD, BEGAN and UNTIL are
    recomputed from the time and must be equal. The last level has room for MEMORY slots of two words.

    *Row.* COUNT and CHILD are within MEMORY, and CHILD within COUNT while it awaits its reward. BASE and CARRIED are
    within the order of the arms. ``place_of`` gives a place below ARMS for any of these: the slot itself when nothing
    is carried, as MEMORY is at most ARMS, or a remainder. ``begin`` counts between 1 and MEMORY slots: of the arms from
    BASE on, at least none are left.

    *Numbers.* As in a tree; the counts of plays are compared only.
    """
    arms = int(program[ARMS])
    memory = int(program[MEMORY])
    unit = int(program[SUBLENGTH])
    phase = floor_log2(step // (int(program[SUBPHASES]) * unit) + 1)
    length = unit << phase
    origin = int(program[SUBPHASES]) * (length - unit)
    began = origin + (step - origin) // length * length
    record = FIELDS * (1 + phase)
    child = row[int(program[record + CONTROL]) + CHILD]
    described = (
        row[RECORD] == record
        and row[BEGAN] == began
        and row[UNTIL] == min(began + length, int(program[HORIZON]))
        and whole_within(row[COUNT], 1, memory)
        and whole_within(row[BASE], 0, arms)
        and whole_within(row[CARRIED], -1, arms - 1)
        and whole_within(child, 0, memory - 1)
        and check_level(program, row, record, int(program[WORDS]))
    )
    waiting = row[ARM] >= 0.0
    n = int(row[COUNT]) if described else 1
    if not described or (waiting and n > 1 and child >= n):
        return False
    tau = choices_counted(program, row, record, int(row[TIME]))
    return not running or check_routine(program, checks, row, record, n, tau, waiting)


def rotation_check_program(table: Array, structure: Structure) -> bool:
    """Whether every step up to the HORIZON falls in a phase that has a record, and the memory holds arms."""
    header = table[0]
    steps = int(header[SUBPHASES]) * int(header[SUBLENGTH])
    return bool(
        steps >= 1
        and steps * (2 ** (len(table) - 1) - 1) >= header[HORIZON]
        and header[LEVELS] == 1
        and 1 <= header[MEMORY] <= header[ARMS]
        and np.all(table[1:, CHILDREN] == header[MEMORY])
    )


BLOCK_ROTATION = Structure(
    name="block rotation",
    begin=rotation_begin,
    end=rotation_end,
    arm_of=rotation_arm_of,
    check_row=rotation_check_row,
    check_program=rotation_check_program,
    header=HEADER,
)
