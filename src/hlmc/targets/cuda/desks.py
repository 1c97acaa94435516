"""A desk: the statistics of the last level, laid out for a thread to work on between two restarts of its routine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.device.shape import Shape
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.engine.layout import BEGAN, COUNT, UNTIL, WORDS
from hlmc.kernels import step, weights

Array = np.ndarray

PLACE = 0  # where on the desk the statistics begin
arrange = rearrange = lay_out = clear_away = overdue = put_in_order = unbound


@kernel
def lay_on_desk(program: Array, row: Array, at: int, desk: Array) -> None:
    """Lay the statistics of the last level on the desk."""
    for j in range(int(program[WORDS]) - at):
        desk[PLACE + j] = row[at + j]
    arrange(desk, PLACE, int(row[COUNT]))


@kernel
def left_lying(desk: Array, at: int, n: int) -> None:
    pass


@kernel
def bring_back(program: Array, row: Array, at: int, desk: Array, a: float) -> float:
    """Bring them back into the row; the routine's first scalar as it is then."""
    a = rearrange(desk, PLACE, int(row[COUNT]), a)
    for j in range(int(program[WORDS]) - at):
        row[at + j] = desk[PLACE + j]
    return a


@kernel
def forget(program: Array, row: Array, at: int, desk: Array, a: float) -> float:
    """Where a run of the routine has ended and nobody asks for what it knew."""
    return a


@kernel
def left_as_they_lay(desk: Array, at: int, n: int, a: float) -> float:
    return a


@kernel
def _put_in_order(row: Array, desk: Array, a: float) -> float:
    """Scale the statistics where they lie; the routine's first scalar as it is then."""
    n = int(row[COUNT])
    a = rearrange(desk, PLACE, n, a)
    arrange(desk, PLACE, n)
    return a


@kernel
def take_up(program: Array, row: Array, at: int, desk: Array, t: int) -> int:
    if t == int(row[BEGAN]):
        lay_out(program, row, at, desk)
    return PLACE


@kernel
def lay_down(program: Array, row: Array, at: int, desk: Array, t: int, a: float) -> float:
    if t == int(row[UNTIL]):
        return clear_away(program, row, at, desk, a)
    return put_in_order(row, desk, a) if overdue(a) else a


def desk_kernels(shape: Shape, tell: Callable[[Callable[..., Any]], Callable[..., Any]]) -> dict[str, Any]:
    """What is done with the desks of learners of this shape; ``tell`` makes of a kernel what it is on this device.

    ``lay_out`` and ``clear_away`` bring the statistics there and back, to lie from ``PLACE`` on. When it is
    ``overdue``, ``put_in_order`` scales them.
    """
    pieces = shape.pieces
    arranged, rearranged = (weights.pieces_start, weights.pieces_end) if pieces else (left_lying, left_as_they_lay)
    names = {"arrange": tell(arranged), "rearrange": tell(rearranged), "PLACE": pieces}
    overgrown = weights.pieces_overgrown if shape.only_grows else weights.pieces_overdue
    return {
        "PLACE": pieces,
        "lay_out": specialised(lay_on_desk, "lay_out", **names),
        "clear_away": specialised(bring_back, "clear_away", **names),
        "put_in_order": specialised(_put_in_order, "put_in_order", **names),
        "overdue": tell(overgrown) if pieces else step.overdue,
    }
