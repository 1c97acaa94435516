"""The tree of groups and the nested epochs of HLMC (Algorithm 1 of the paper, at any depth).

Level d (from 1) splits its group into children of SIZE arms and lets a choice stand for LENGTH steps. When a choice of
level d is made, level d+1 starts afresh over the arms of the chosen child; when it has stood, level d learns the mean
reward of those steps. The LENGTH of a level is a multiple of the next one's. With an unknown horizon the whole tree
starts afresh in stages of 2^r steps.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    CHILDREN,
    CONTROL,
    COUNT,
    DOUBLING,
    FIELDS,
    HORIZON,
    KEY,
    LENGTH,
    LEVELS,
    RECORD,
    ROUTINE,
    SIZE,
    SUM,
    UNTIL,
    WORDS,
)
from hlmc.engine.primitives import bits, call_select, call_start, call_update, floor_log2
from hlmc.engine.stream import uniform
from hlmc.engine.structures.base import Structure, check_level, whole_within

Array = np.ndarray


@kernel
def stage_of(program: Array, t: int) -> tuple[int, int, int]:
    """The stage in which step t (from 0) falls, the stage's first step, and its length."""
    first = int(program[DOUBLING])
    if first < 0:
        return 0, 0, int(program[HORIZON])
    r = floor_log2(t + (1 << first))
    return r - first, (1 << r) - (1 << first), 1 << r


# Hooks: what another structure that is a tree but for its top level substitutes.


@kernel
def children_of(d: int, groups: int) -> int:
    """How many children level d (from 0) has when its arms make ``groups`` groups."""
    return groups


@kernel
def arms_within(row: Array, child: int, groups: int, base: int, count: int, size: int) -> tuple[int, int]:
    """The first arm of a child and its number of arms; its parent has ``count`` arms from ``base`` on."""
    return base + child * size, min(size, count - child * size)


@kernel
def choose(program: Array, row: Array, t: int, d: int, level: int, n: int, control: int, tau: int) -> float:
    """Make choice ``tau`` (from 0) of level d, whose record is ``level``, among n > 1 children, before step t.

    Writes CHILD and CHANCE. Returns the probability of the child chosen.
    """
    u = uniform(bits(row, KEY), t, d)
    call_select(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, tau, u)
    return float(row[control + CHANCE])


@kernel
def learn(
    program: Array, row: Array, d: int, level: int, n: int, groups: int, control: int, tau: int, mean: float, steps: int
) -> None:
    """Have level d learn that its choice ``tau`` paid ``mean`` per step over ``steps`` steps.

    ``n`` is the number of its children, ``groups`` that of the groups which its arms make.
    """
    call_update(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, tau, mean)


@kernel
def start_arms(program: Array, row: Array, record: int, base: int, count: int) -> int:
    """Start the routine of the last level over ``count`` arms from ``base`` on; the number of its slots."""
    if count > 1:
        at = int(program[record + AT])
        control = int(program[record + CONTROL])
        call_start(int(program[record + ROUTINE]), program, record, row, at, count, control)
    return count


# The walk from the top level to the arms.


@kernel
def tree_begin(program: Array, row: Array, t: int) -> float:
    """Make the choices that fall due before step t and start the routine over the arms; the choices' probability."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t)
    local = t - origin
    base = 0
    count = int(program[ARMS])
    probability = 1.0
    afresh = local == 0
    until = length
    into = local  # steps since the choice above was made
    level = FIELDS * (1 + stage * levels)
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        groups = (count + size - 1) // size
        n = children_of(d, groups)
        if afresh and n > 1:
            at = int(program[level + AT])
            call_start(int(program[level + ROUTINE]), program, level, row, at, n, control)
        tau = into // stands
        into -= tau * stands
        afresh = into == 0
        if afresh:
            row[control + CHILD] = 0.0
            row[control + CHANCE] = 1.0
            row[control + SUM] = 0.0
            if n > 1:
                probability *= choose(program, row, t, d, level, n, control, tau)
        base, count = arms_within(row, int(row[control + CHILD]), groups, base, count, size)
        until = min(until, local - into + stands)
        level += FIELDS
    row[int(program[level + CONTROL]) + SUM] = 0.0
    row[RECORD] = level
    row[BASE] = base
    row[COUNT] = start_arms(program, row, level, base, count)
    row[BEGAN] = t
    row[UNTIL] = origin + until
    return probability


@kernel
def tree_end(program: Array, row: Array, t: int) -> None:
    """After step t (from 1) a run of the last level has ended: every level whose choice ends with it learns."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t - 1)
    local = t - origin
    level = FIELDS * (1 + stage * levels)
    earned = row[int(program[level + (levels - 1) * FIELDS + CONTROL]) + SUM]
    base = 0
    count = int(program[ARMS])
    into = local - 1  # steps since the choice above was made, but for the last
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        groups = (count + size - 1) // size
        n = children_of(d, groups)
        child = int(row[control + CHILD])
        tau = into // stands
        into -= tau * stands
        steps = into + 1
        row[control + SUM] += earned
        if (steps == stands or local == length) and n > 1:
            mean = min(1.0, row[control + SUM] / steps)
            learn(program, row, d, level, n, groups, control, tau, mean, steps)
        base, count = arms_within(row, child, groups, base, count, size)
        level += FIELDS


@kernel
def tree_arm_of(program: Array, row: Array, slot: int) -> int:
    """The arm of a slot: the group's arms are neighbours."""
    return int(row[BASE]) + slot


@kernel
def check_groups(program: Array, row: Array, step: int) -> tuple[bool, int, int, int, int, int]:
    """Follow the choices of all levels but the last during a step, as ``begin`` and ``end`` do.

    Whether every level's words can be followed; then the first arm and the number of arms of the group played, the
    times at which its run began and will end, and the record of the last level.
    """
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, step)
    local = step - origin
    base = 0
    count = int(program[ARMS])
    began = 0
    until = length
    level = FIELDS * (1 + stage * levels)
    for d in range(levels - 1):
        child = row[int(program[level + CONTROL]) + CHILD]
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        groups = (count + size - 1) // size
        stop = int(program[level + FIELDS + AT])
        if not (check_level(program, row, level, stop) and whole_within(child, 0, children_of(d, groups) - 1)):
            return False, 0, 0, 0, 0, 0
        base, count = arms_within(row, int(child), groups, base, count, size)
        began = max(began, local // stands * stands)
        until = min(until, (local // stands + 1) * stands)
        level += FIELDS
    return check_level(program, row, level, int(program[WORDS])), base, count, origin + began, origin + until, level


@kernel
def check_last_level(
    program: Array, row: Array, record: int, base: int, count: int, began: int, until: int, slots: int
) -> bool:
    """Whether the words that describe the run of the last level are those that its group and its time demand.

    The last choice (CHILD) can be older than the group, which may be smaller: it is one of ``slots``.
    """
    child = row[int(program[record + CONTROL]) + CHILD]
    return bool(
        whole_within(child, 0, slots - 1)
        and row[RECORD] == record
        and row[BASE] == base
        and row[COUNT] == count
        and row[BEGAN] == began
        and row[UNTIL] == until
    )


@kernel
def tree_check_row(program: Array, row: Array, step: int, running: bool) -> bool:
    """Assumed by ``begin``, ``end`` and the step: CHILD of every level is one of its children; RECORD, BASE, COUNT,
    BEGAN and UNTIL are what these choices and the time demand; all numbers are finite.
    """
    sound, base, count, began, until, record = check_groups(program, row, step)
    return sound and check_last_level(program, row, record, base, count, began, until, int(program[record + CHILDREN]))


TREE = Structure(
    name="tree",
    begin=tree_begin,
    end=tree_end,
    arm_of=tree_arm_of,
    check_row=tree_check_row,
    contiguous=True,
    full_groups=True,
    keeps_statistics=False,
    random_order=False,
)
