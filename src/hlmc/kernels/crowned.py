"""HLMC with a crown: one arm that outlives the epochs is one more group of the top level.

The tree is HLMC's, but for one more child of its top level, the last one, in which a single arm is played for as long
as the choice stands: the one that wears the crown. When an epoch of a group has paid more than the crowned arm's last
one, by more than a standard deviation, the crown goes to the best arm of the group. What the groups themselves pay has
nothing to do with who wears it; on this the theorem in docs/champion.md rests.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.kernels.build import kernel, specialised
from hlmc.kernels.ftrl import ftrl_leader
from hlmc.kernels.layout import AT, BASE, COUNT, CROWN, PAID
from hlmc.kernels.tree import tree_begin, tree_end

Array = np.ndarray

DEVIATION = 0.5  # at most, of a reward in [0, 1]


@kernel
def _children_of(d: int, groups: int) -> int:
    """The crowned arm is one more child of the top level."""
    return groups + 1 if d == 0 else groups


@kernel
def _within(row: Array, child: int, groups: int, base: int, count: int, size: int) -> tuple[int, int]:
    if child == groups:
        return int(row[CROWN]), 1
    return base + child * size, min(size, count - child * size)


@kernel
def _pass_on(program: Array, row: Array, record: int, d: int, child: int, groups: int, mean: float, steps: int) -> None:
    """What the crowned arm was paid is remembered; a group that was paid more passes the crown to its best arm."""
    if d > 0:
        return
    succeeds = child < groups and mean > row[PAID] + DEVIATION / math.sqrt(float(steps))
    if succeeds or child == groups:
        row[PAID] = mean
    if succeeds:
        n = int(row[COUNT])
        best = ftrl_leader(row, int(program[record + AT]), n) if n > 1 else 0
        row[CROWN] = row[BASE] + best


crowned_begin = specialised(tree_begin, "crowned_begin", children_of=_children_of, within=_within)
crowned_end = specialised(tree_end, "crowned_end", children_of=_children_of, within=_within, taught=_pass_on)
