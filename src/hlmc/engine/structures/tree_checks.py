"""Whether a row from outside is one that a tree of groups can have, and a program one that its kernels can follow."""

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
    CONTINUED,
    CONTROL,
    COUNT,
    DOUBLING,
    FIELDS,
    HORIZON,
    LENGTH,
    LEVELS,
    RECORD,
    SIZE,
    SPAN,
    TIME,
    UNTIL,
    WORDS,
)
from hlmc.engine.records import Group
from hlmc.engine.structures.base import (
    Structure,
    check_level,
    check_routine,
    choices_counted,
    live_arms,
    whole_within,
)
from hlmc.engine.structures.stages import choice_at, stage_of

Array = np.ndarray


@kernel
def check_choices(program: Array, checks: Address, row: Array, level: int, n: int, tau: int, stands: bool) -> bool:
    """Hook: whether the statistics of a level above the last are sound. Default: its routine says so."""
    return check_routine(program, checks, row, level, n, tau, stands)


@kernel
def check_groups(program: Array, checks: Address, row: Array, step: int, running: bool) -> Group:
    """Follow the choices of all levels but the last during a step, as ``begin`` and ``end`` do: the group played.

    Its ``record`` is 0 if some level's words cannot be followed.
    """
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, step)
    local = step - origin
    base = 0
    count = live_arms(program, row)
    began = 0
    until = length
    into = local  # steps since the choice above was made
    level = FIELDS * (1 + stage * levels)
    for _ in range(levels - 1):
        choice = choice_at(program, level, count, into)
        size, into = choice.size, choice.into
        child = row[choice.control + CHILD]
        stop = int(program[level + FIELDS + AT])
        if not (check_level(program, row, level, stop) and whole_within(child, 0, choice.n - 1)):
            return Group(0, 0, 0, 0, 0)
        # When a run of the last level has ended, ``end`` has taught the levels whose choice ended with it.
        taught = not running and (into + 1 == choice.stands or local + 1 == length)
        learned = choice.tau + 1 if taught else choice.tau
        if not check_choices(program, checks, row, level, choice.n, learned, not taught):
            return Group(0, 0, 0, 0, 0)
        base += int(child) * size
        count = min(size, count - int(child) * size)
        began = max(began, local - into)
        until = min(until, local - into + choice.stands)
        level += FIELDS
    if not check_level(program, row, level, int(program[WORDS])):
        level = 0
    return Group(level, base, count, origin + began, origin + until)


@kernel
def check_last_level(
    program: Array, checks: Address, row: Array, group: Group, count: int, slots: int, running: bool
) -> bool:
    """Whether the words of the last level are those that its group, of ``count`` slots, and its time demand.

    The last choice (CHILD) can be older than the group, which may be smaller: it is one of ``slots``, and while it
    awaits its reward (ARM), one of the group's. When a run has ended, its statistics are not read again; a GPU does not
    even write them back. So they are checked while it is running, when all of its steps so far have been learned from.
    """
    record = group.record
    child = row[int(program[record + CONTROL]) + CHILD]
    described = (
        whole_within(child, 0, slots - 1)
        and row[RECORD] == record
        and row[BASE] == group.base
        and row[COUNT] == count
        and row[BEGAN] == group.began
        and row[UNTIL] == group.until
    )
    waiting = row[ARM] >= 0.0
    if not described or (waiting and count > 1 and child >= count):
        return False
    tau = choices_counted(program, row, record, int(row[TIME]))
    return not running or check_routine(program, checks, row, record, count, tau, waiting)


@kernel
def tree_check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """Why no kernel can leave the row or the program, or play what is no arm.

    *Program.* Time is below HORIZON, so ``stage_of`` gives a stage that has records, and ``begin`` and ``end`` walk
    through those of its levels. All places in the row are the program's CONTROL and AT, and the slots of a level follow
    its AT: at most as many as it has room for, because a group that a child of SIZE arms is has at most CHILDREN
    children itself.

    *Row.* Of the words that lead somewhere, CHILD of every level is one of its children; RECORD, BASE, COUNT, BEGAN and
    UNTIL are recomputed from these choices and the time, and must be equal. So the group played has COUNT arms from
    BASE on, all of them below ARMS, and each new choice of ``begin`` keeps to that, as a routine draws a slot below n.

    *Numbers.* The routine of each level has checked its words, CHANCE included, against what it needs for positive
    probabilities and finite updates (:class:`hlmc.engine.routines.RoutineKernels`); SUM is a sum of rewards, so what
    ``end`` teaches is a reward. Words that have not been checked are not read before ``begin`` has written them: the
    statistics of a level with a single child, and those of the last level when its run has ended.
    """
    group = check_groups(program, checks, row, step, running)
    if group.record == 0:
        return False
    return check_last_level(program, checks, row, group, group.arms, int(program[group.record + CHILDREN]), running)


def tree_check_program(table: Array, structure: Structure) -> bool:
    """Whether every step up to the HORIZON falls in a stage that has records, every group of a level has at most the
    CHILDREN of its record, down to single arms, and choices end when those above them do.
    """
    levels, first = int(table[0, LEVELS]), int(table[0, DOUBLING])
    horizon = int(table[0, HORIZON])
    stages = [horizon]
    if first == CONTINUED:
        stages = [int(table[1, SPAN]) << r for r in range((len(table) - 1) // levels)]
    elif first >= 0:
        stages = [1 << r for r in range(first, 53)]
    if len(table) != 1 + levels * len(stages) or horizon > max(sum(stages), 0):
        return False
    for stage, steps in enumerate(stages):
        arms, above = int(table[0, ARMS]), steps
        for d in range(levels):
            record = table[1 + stage * levels + d]
            size, length, children = int(record[SIZE]), int(record[LENGTH]), int(record[CHILDREN])
            if min(size, length) < 1 or length > above or (above % length and above < steps):
                return False
            if -(-arms // size) > children:
                return False
            arms, above = size, length
        if arms != 1:
            return False
    return True
