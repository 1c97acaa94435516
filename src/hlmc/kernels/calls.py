"""A routine's functions as a program calls them: through their addresses, on the words of a level.

The loop over the steps has the last level's routine compiled into it. Everywhere else, at the levels above and when
one step is taken by hand, a call through an address costs next to nothing, and only routines that are used are ever
compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.kernels.build import kernel, specialised, unbound
from hlmc.kernels.layout import CHANCE, CHILD, SCALARS
from hlmc.kernels.native import SELECT, START, UPDATE, callback

if TYPE_CHECKING:
    from hlmc.routines.base import Kernels

Array = np.ndarray

start = select = update = unbound


@kernel
def _start(program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    a, b = start(program, level, row, at, n)
    row[control + SCALARS] = a
    row[control + SCALARS + 1] = b


@kernel
def _select(program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, u: float) -> None:
    slot, chance = select(program, level, row, at, n, row[control + SCALARS], row[control + SCALARS + 1], tau, u)
    row[control + CHILD] = slot
    row[control + CHANCE] = chance


@kernel
def _update(program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, reward: float) -> None:
    a, b = update(
        program,
        level,
        row,
        at,
        n,
        row[control + SCALARS],
        row[control + SCALARS + 1],
        tau,
        int(row[control + CHILD]),
        row[control + CHANCE],
        reward,
    )
    row[control + SCALARS] = a
    row[control + SCALARS + 1] = b


@cache
def routine_calls(name: str, kernels: Kernels) -> tuple[Callable[..., None], ...]:
    """Kernels that start a routine, select and update, on the words of a level."""
    return (
        specialised(_start, f"start_{name}", start=kernels.start),
        specialised(_select, f"select_{name}", select=kernels.select),
        specialised(_update, f"update_{name}", update=kernels.update),
    )


@cache
def routine_callbacks(name: str, kernels: Kernels, store: bool) -> tuple[Any, Any, Any]:
    """The same as C functions, for the addresses in a program; they must be kept alive."""
    start, select, update = routine_calls(name, kernels)
    return callback(start, START, store), callback(select, SELECT, store), callback(update, UPDATE, store)
