"""The tree of groups and the nested epochs of HLMC (Algorithm 1 of the paper, at any depth).

Level d (from 1) splits its group into children of SIZE arms and lets a choice stand for LENGTH steps. When a choice of
level d is made, level d+1 starts afresh over the arms of the chosen child; when it has stood, level d learns the mean
reward of those steps. The LENGTH of a level is a multiple of the next one's. With an unknown horizon the whole tree
starts afresh in stages of 2^r steps.
"""

from __future__ import annotations

import numpy as np

from hlmc.kernels.build import kernel
from hlmc.kernels.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    DOUBLING,
    FIELDS,
    HORIZON,
    KEY,
    LENGTH,
    LEVELS,
    RECORD,
    SELECT_AT,
    SIZE,
    START_AT,
    SUM,
    UNTIL,
    UPDATE_AT,
)
from hlmc.kernels.native import bits, call_select, call_start, call_update, floor_log2
from hlmc.kernels.stream import uniform

Array = np.ndarray


@kernel
def stage_of(program: Array, t: int) -> tuple[int, int, int]:
    """The stage in which step t (from 0) falls, the stage's first step, and its length."""
    first = int(program[DOUBLING])
    if first < 0:
        return 0, 0, int(program[HORIZON])
    r = floor_log2(t + (1 << first))
    return r - first, (1 << r) - (1 << first), 1 << r


# What another structure that is a tree but for its top level says otherwise.


@kernel
def children_of(d: int, groups: int) -> int:
    """How many children level d (from 0) has, where its arms make so many groups."""
    return groups


@kernel
def within(row: Array, child: int, groups: int, base: int, count: int, size: int) -> tuple[int, int]:
    """The first arm of a child, and how many it has."""
    return base + child * size, min(size, count - child * size)


@kernel
def taught(program: Array, row: Array, record: int, d: int, child: int, groups: int, mean: float, steps: int) -> None:
    """Level d has learnt what its child paid."""


@kernel
def tree_begin(program: Array, row: Array, t: int) -> float:
    """Make the choices that fall due before step t; their joint probability."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t)
    local = t - origin
    key = bits(row, KEY)
    base = 0
    count = int(program[ARMS])
    probability = 1.0
    afresh = local == 0
    until = length
    into = local  # steps since the choice above was made
    level = FIELDS * (1 + stage * levels)
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        groups = (count + size - 1) // size
        n = children_of(d, groups)
        if afresh and n > 1:
            call_start(int(program[level + START_AT]), program, level, row, at, n, control)
        tau = into // stands
        into -= tau * stands
        afresh = into == 0
        if afresh:
            row[control + CHILD] = 0.0
            row[control + CHANCE] = 1.0
            row[control + SUM] = 0.0
            if n > 1:
                u = uniform(key, t, d)
                call_select(int(program[level + SELECT_AT]), program, level, row, at, n, control, tau, u)
                probability *= row[control + CHANCE]
        base, count = within(row, int(row[control + CHILD]), groups, base, count, size)
        until = min(until, local - into + stands)
        level += FIELDS
    control = int(program[level + CONTROL])
    if count > 1:
        at = int(program[level + AT])
        call_start(int(program[level + START_AT]), program, level, row, at, count, control)
    row[control + SUM] = 0.0
    row[RECORD] = level
    row[BASE] = base
    row[COUNT] = count
    row[BEGAN] = t
    row[UNTIL] = origin + until
    return probability


@kernel
def tree_end(program: Array, row: Array, t: int) -> None:
    """After step t (from 1) a run of the last level has ended: tell every level whose choice ends with it."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t - 1)
    local = t - origin
    level = FIELDS * (1 + stage * levels)
    record = level + (levels - 1) * FIELDS
    earned = row[int(program[record + CONTROL]) + SUM]
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
            at = int(program[level + AT])
            call_update(int(program[level + UPDATE_AT]), program, level, row, at, n, control, tau, mean)
            taught(program, row, record, d, child, groups, mean, steps)
        base, count = within(row, child, groups, base, count, size)
        level += FIELDS
