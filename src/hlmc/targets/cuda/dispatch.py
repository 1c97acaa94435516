"""Calls of a structure and of its routines where there is no table of addresses.

On a processor the levels above the last one call their routines through the program's table. A GPU calls through
addresses too, but slowly, and a compiler cannot look through such a call. Here the ROUTINE word of a level is a place
in the shape's list of distinct routines (:meth:`hlmc.targets.cuda.shape.Shape.program`), of which there are one or two,
and a call is a chain of comparisons, each with a direct call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hlmc.engine import primitives
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, constant, substitute, substitute_where_used
from hlmc.engine.primitives import noinline
from hlmc.engine.routines import RoutineKernels, level_kernels
from hlmc.targets.cuda.arithmetic import without_trees
from hlmc.targets.cuda.shape import Shape

Array = np.ndarray


# --- Hooks of the chains


@kernel
def this_number() -> int:
    """The number of the routine that a link of a chain calls."""
    return 0


@kernel
def this_start(program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    """That routine's start, on the words of a level."""


@kernel
def other_start(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    """The rest of the chain."""


@kernel
def no_start(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    """The end of the chain, which is never reached."""


@kernel
def this_step(program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float) -> None:
    """That routine's select (x is the uniform number) or update (x is the reward), on the words of a level."""


@kernel
def other_step(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    """The rest of the chain."""


@kernel
def no_step(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    """The end of the chain, which is never reached."""


@kernel
def start_link(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    """``call_start`` for one routine more; the arguments are those of the primitive."""
    if which == this_number():
        this_start(program, level, row, at, n, control)
    else:
        other_start(which, program, level, row, at, n, control)


@kernel
def step_link(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    """``call_select`` and ``call_update`` for one routine more; the arguments are those of the primitives."""
    if which == this_number():
        this_step(program, level, row, at, n, control, tau, x)
    else:
        other_step(which, program, level, row, at, n, control, tau, x)


class _Role(NamedTuple):
    """One of a routine's three functions: the primitive that calls it, and the chain's link with its hooks."""

    call: Kernel
    link: Kernel
    this: Kernel
    other: Kernel
    last: Kernel


_ROLES = (
    _Role(primitives.call_start, start_link, this_start, other_start, no_start),
    _Role(primitives.call_select, step_link, this_step, other_step, no_step),
    _Role(primitives.call_update, step_link, this_step, other_step, no_step),
)


def _chains(routines: Sequence[RoutineKernels]) -> dict[Kernel, Kernel]:
    """What the three calls of a routine mean when ROUTINE is a place in this list."""
    levels = [level_kernels(kernels) for kernels in routines]
    chains: dict[Kernel, Kernel] = {}
    for role, (call, link, this, other, chain) in enumerate(_ROLES):
        for which in reversed(range(len(levels))):
            chain = substitute(link, {this_number: constant(which), this: levels[which][role], other: chain})
        chains[call] = chain
    return chains


# --- The structure


@kernel
def structure_begin(program: Array, row: Array, t: int) -> float:
    """Hook: the structure's ``begin``."""
    return 1.0


@kernel
def structure_end(program: Array, row: Array, t: int) -> None:
    """Hook: the structure's ``end``."""


@kernel
def begin(program: Array, row: Array, t: int) -> float:
    """``call_begin``. Once per epoch, and large: inlined, it would take registers away from the loop."""
    noinline()
    return structure_begin(program, row, t)


@kernel
def end(program: Array, row: Array, t: int) -> None:
    """``call_end``, for the same reason not inlined."""
    noinline()
    structure_end(program, row, t)


def calls_of(shape: Shape) -> dict[Kernel, Kernel]:
    """What the engine's call primitives mean for learners of this shape: ready to be substituted.

    The levels above the last one work in float64 on the row, so nothing in here is narrowed.
    """
    inside = {**_chains(shape.routines), **without_trees(shape.children)}
    structure = shape.structure
    return {
        primitives.call_begin: substitute(begin, {structure_begin: substitute_where_used(structure.begin, inside)}),
        primitives.call_end: substitute(end, {structure_end: substitute_where_used(structure.end, inside)}),
        primitives.call_arm_of: structure.arm_of,
    }
