"""Rounds of blocks: UCB-M and EXP3-M (Chaudhuri and Kalyanakrishnan, 2020).

Phase i has h0 sub-phases of b0 2^i steps. A sub-phase holds the arm carried over and the next M - 1 arms of the order
(the first one ever: M arms), runs its routine over them from scratch, and carries the most played one on, also into the
next phase, where the order starts again. Arms are known here by their places in the order, shuffled or not.
"""

from __future__ import annotations

import numpy as np

from hlmc.kernels.build import kernel
from hlmc.kernels.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CARRIED,
    CONTROL,
    COUNT,
    FIELDS,
    HORIZON,
    KEY,
    MEMORY,
    RECORD,
    SHUFFLE,
    START_AT,
    SUBLENGTH,
    SUBPHASES,
    SUM,
    TIES,
    UNTIL,
    WRAP,
)
from hlmc.kernels.native import bits, call_start, floor_log2
from hlmc.kernels.permutation import permuted
from hlmc.kernels.stream import uniform
from hlmc.routines.ucb1 import LAST, RANDOM

Array = np.ndarray
CARRY = 1  # the purpose of the random number that breaks ties for the most played arm


@kernel
def rounds_place(program: Array, row: Array, slot: int) -> int:
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
def rounds_arm(program: Array, row: Array, slot: int) -> int:
    """The arm that a slot holds."""
    place = rounds_place(program, row, slot)
    if program[SHUFFLE] == 0.0:
        return place
    return permuted(bits(row, KEY), int(program[ARMS]), place)


@kernel
def rounds_begin(program: Array, row: Array, t: int) -> float:
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
        call_start(int(program[record + START_AT]), program, record, row, at, n, control)
    row[control + SUM] = 0.0
    row[RECORD] = record
    row[COUNT] = n
    row[BEGAN] = t
    row[UNTIL] = min(origin + ((t - origin) // length + 1) * length, int(program[HORIZON]))
    return 1.0


@kernel
def rounds_end(program: Array, row: Array, t: int) -> None:
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
    row[CARRIED] = rounds_place(program, row, winner)
    row[BASE] = min(following, int(program[ARMS]))
