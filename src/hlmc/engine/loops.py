"""The loop over many steps (:func:`hlmc.engine.step.run`) with the last level's routine compiled in, or called through
the program's table.
"""

from __future__ import annotations

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import CHANCE, CHILD, CONTROL, ROUTINE, SCALARS
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.primitives import call_select, call_update
from hlmc.engine.records import Level
from hlmc.engine.routines import RoutineKernels, routine_select, routine_update
from hlmc.engine.step import last_level, run


@kernel
def table_select(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """A routine's select through the program's table. It works only where the workspace is the row: the scalars are
    read from the control words.
    """
    control = int(level.program[level.record + CONTROL])
    which = int(level.program[level.record + ROUTINE])
    call_select(which, level.program, level.record, level.row, level.at, level.n, control, tau, u)
    return int(level.row[control + CHILD]), level.row[control + CHANCE]


@kernel
def table_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """A routine's update through the program's table."""
    control = int(level.program[level.record + CONTROL])
    which = int(level.program[level.record + ROUTINE])
    call_update(which, level.program, level.record, level.row, level.at, level.n, control, tau, reward)
    return level.row[control + SCALARS], level.row[control + SCALARS + 1]


THROUGH_TABLE: dict[Kernel, Kernel] = {routine_select: table_select, routine_update: table_update}
"""What stands for a routine's kernels where none is compiled in."""


def loop_over(routine: RoutineKernels | None) -> Kernel:
    """:func:`run` with the last level's routine compiled into it; None: called through the program's table."""
    return substitute(run, THROUGH_TABLE if routine is None else last_level(routine))
