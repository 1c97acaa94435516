"""HLMC with a crown: one arm that outlives the epochs is one more group of the top level.

The tree is HLMC's, but for one more child of its top level, the last one, in which a single arm is played for as long
as the choice stands: the one that wears the crown. When an epoch of a group has paid more than the crowned arm's last
one, by more than a standard deviation, the crown goes to the best arm of the group. What the groups themselves pay has
nothing to do with who wears it; on this the theorem in docs/champion.md rests.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.ftrl import ftrl_leader
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import ARMS, AT, BASE, CHILD, COMMON, COUNT, RECORD, ROUTINE, WHOLE, Word
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.primitives import call_update
from hlmc.engine.structures.base import Structure, unanswered, whole_within
from hlmc.engine.structures.tree import (
    arms_within,
    children_of,
    learn,
    tree_arm_of,
    tree_begin,
    tree_check_program,
    tree_check_row,
    tree_end,
    tree_late,
)

Array = np.ndarray

CROWN, PAID = COMMON, COMMON + 1

HEADER = (
    Word("CROWN", "the crowned arm, which is one more group; a statistic", WHOLE),
    Word("PAID", "the mean reward of its last epoch, or of the epoch in which it won"),
)

DEVIATION = 0.5  # at most, of a reward in [0, 1]


@kernel
def _children_of(d: int, groups: int) -> int:
    """The crowned arm is one more child of the top level."""
    return groups + 1 if d == 0 else groups


@kernel
def _arms_within(row: Array, child: int, groups: int, base: int, count: int, size: int) -> tuple[int, int]:
    """The last child of the top level is the crowned arm alone."""
    if child == groups:
        return int(row[CROWN]), 1
    return base + child * size, min(size, count - child * size)


@kernel
def _learn(
    program: Array, row: Array, d: int, level: int, n: int, groups: int, control: int, tau: int, mean: float, steps: int
) -> None:
    """The level learns. What the crowned arm was paid is remembered; a group that was paid more passes the crown on."""
    call_update(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, tau, mean)
    child = int(row[control + CHILD])
    told = float(steps)
    if unanswered(program, row) > 0.0:
        # The mean of what has come: what has not, by the end of the last run, is in ``mean`` as a reward of 1.
        told = max(1.0, told - unanswered(program, row))
        mean = max(0.0, 1.0 - (1.0 - mean) * float(steps) / told)
    succeeds = d == 0 and child < groups and mean > row[PAID] + DEVIATION / math.sqrt(told)
    if succeeds or (d == 0 and child == groups):
        row[PAID] = mean
    if succeeds:
        slots = int(row[COUNT])
        best = ftrl_leader(row, int(program[int(row[RECORD]) + AT]), slots) if slots > 1 else 0
        row[CROWN] = row[BASE] + best


_WALK: dict[Kernel, Kernel] = {children_of: _children_of, arms_within: _arms_within}
_tree_check_row = substitute(tree_check_row, _WALK)


@kernel
def crown_check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """As in a tree, whose top level has one child more, of one arm.

    CROWN is an arm, so that child is within the arms, too; while it is played BASE is CROWN, which only an epoch of
    another child changes. The crown is passed to the leader among the COUNT arms from BASE on. PAID is compared, and
    is a mean reward.
    """
    sound = whole_within(row[CROWN], 0, int(program[ARMS]) - 1) and 0.0 <= row[PAID] <= 1.0
    return sound and _tree_check_row(program, checks, row, step, running)


CROWN_TREE = Structure(
    name="crown",
    begin=substitute(tree_begin, _WALK),
    end=substitute(tree_end, {**_WALK, learn: _learn}),
    arm_of=tree_arm_of,
    check_row=crown_check_row,
    check_program=tree_check_program,
    header=HEADER,
    contiguous=True,
    extra_groups=1,
    random_order=False,
    late=substitute(tree_late, _WALK),
)
