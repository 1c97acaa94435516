"""Calls through addresses, where an address is a number in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlmc.device.shape import Shape
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.engine.primitives import apart
from hlmc.kernels import native
from hlmc.kernels.calls import routine_calls
from hlmc.kernels.step import STRUCTURES
from hlmc.routines.base import Kernels

Array = np.ndarray

first = rest = unbound
WHICH = 0


@kernel
def _start(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    if which == WHICH:
        first(program, level, row, at, n, control)
    else:
        rest(which, program, level, row, at, n, control)


@kernel
def _step(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    if which == WHICH:
        first(program, level, row, at, n, control, tau, x)
    else:
        rest(which, program, level, row, at, n, control, tau, x)


@kernel
def _nothing_started(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    pass


@kernel
def _nothing_done(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    pass


def _chained(routines: Sequence[tuple[str, Kernels]]) -> dict[Callable[..., Any], Callable[..., Any]]:
    """What calls through addresses mean when the addresses are places in this list."""
    calls = [routine_calls(f"{name}_{i}", kernels) for i, (name, kernels) in enumerate(routines)]
    meanings: dict[Callable[..., Any], Callable[..., Any]] = {}
    roles: list[tuple[Callable[..., Any], ...]] = [
        (native.call_start, _start, _nothing_started),
        (native.call_select, _step, _nothing_done),
        (native.call_update, _step, _nothing_done),
    ]
    for role, (call, link, chain) in enumerate(roles):
        for which in reversed(range(len(calls))):
            chain = specialised(link, f"{call.__name__}_{which}", WHICH=which, first=calls[which][role], rest=chain)
        meanings[call] = chain
    return meanings


@kernel
def _direct_begin(address: int, program: Array, row: Array, t: int) -> float:
    apart()
    return first(program, row, t)


@kernel
def _direct_end(address: int, program: Array, row: Array, t: int) -> None:
    apart()
    first(program, row, t)


def calls_of(shape: Shape) -> dict[Callable[..., Any], Callable[..., Any]]:
    """What calls through addresses mean for learners of this shape."""
    begin, end = STRUCTURES[shape.structure]
    return _chained(shape.routines) | {
        native.call_begin: specialised(_direct_begin, "begin", first=begin),
        native.call_end: specialised(_direct_end, "end", first=end),
    }
