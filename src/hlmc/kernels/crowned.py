"""HLMC with a crown: one arm that outlives the epochs is one more group of the top level.

The tree is HLMC's, but for one more child of its top level, the last one, in which a single arm is played for as long
as the choice stands: the one that wears the crown. When an epoch of a group has paid more than the crowned arm's last
one, by more than a standard deviation, the crown goes to the best arm of the group. What the groups themselves pay has
nothing to do with who wears it; on this the theorem in docs/champion.md rests.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.kernels.build import kernel
from hlmc.kernels.ftrl import ftrl_leader
from hlmc.kernels.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    CROWN,
    FIELDS,
    KEY,
    LENGTH,
    LEVELS,
    PAID,
    RECORD,
    SELECT_AT,
    SIZE,
    SPAN,
    START_AT,
    SUM,
    UNTIL,
    UPDATE_AT,
)
from hlmc.kernels.native import bits, call_select, call_start, call_update
from hlmc.kernels.stream import uniform
from hlmc.kernels.tree import stage_of

Array = np.ndarray

DEVIATION = 0.5  # at most, of a reward in [0, 1]


@kernel
def crowned_begin(program: Array, row: Array, t: int) -> float:
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
    level = FIELDS * (1 + stage * levels)
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        groups = (count + size - 1) // size
        n = groups + 1 if d == 0 else groups
        if afresh and n > 1:
            call_start(int(program[level + START_AT]), program, level, row, at, n, control)
        afresh = local % stands == 0
        if afresh:
            row[control + CHILD] = 0.0
            row[control + CHANCE] = 1.0
            row[control + SUM] = 0.0
            if n > 1:
                tau = (local % int(program[level + SPAN])) // stands
                u = uniform(key, t, d)
                call_select(int(program[level + SELECT_AT]), program, level, row, at, n, control, tau, u)
                probability *= row[control + CHANCE]
        child = int(row[control + CHILD])
        if child == groups:
            base = int(row[CROWN])
            count = 1
        else:
            base += child * size
            count = min(size, count - child * size)
        until = min(until, (local // stands + 1) * stands)
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
def crowned_end(program: Array, row: Array, t: int) -> None:
    """After step t (from 1) a run of the last level has ended: tell the levels whose choices end; pass the crown on."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t - 1)
    local = t - origin
    level = FIELDS * (1 + stage * levels)
    record = level + (levels - 1) * FIELDS
    earned = row[int(program[record + CONTROL]) + SUM]
    count = int(program[ARMS])
    succeeds = False
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        groups = (count + size - 1) // size
        n = groups + 1 if d == 0 else groups
        child = int(row[control + CHILD])
        row[control + SUM] += earned
        if (local % stands == 0 or local == length) and n > 1:
            before = local - 1
            tau = (before % int(program[level + SPAN])) // stands
            steps = before % stands + 1
            mean = min(1.0, row[control + SUM] / steps)
            call_update(int(program[level + UPDATE_AT]), program, level, row, at, n, control, tau, mean)
            if d == 0:
                succeeds = child < groups and mean > row[PAID] + DEVIATION / math.sqrt(float(steps))
                if succeeds or child == groups:
                    row[PAID] = mean
        count = 1 if child == groups else min(size, count - child * size)
        level += FIELDS
    if succeeds:
        n = int(row[COUNT])
        best = ftrl_leader(row, int(program[record + AT]), n) if n > 1 else 0
        row[CROWN] = row[BASE] + best
