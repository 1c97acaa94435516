"""A routine's functions as the levels of a program call them: on the words of a level.

A routine is written as four kernels over a run of statistics and two scalars (:class:`RoutineKernels`). Here they are
wrapped so that the scalars, the choice and its probability are read from and written to the level's control words.
The loop over the steps has the last level's routine compiled into it; everywhere else, at the levels above and when
one step is taken by hand, these wrapped functions are called through the program's table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import AT, CHANCE, CHILD, CONTROL, SCALARS
from hlmc.engine.linker import substitute
from hlmc.engine.records import Level

Array = np.ndarray


@kernel
def routine_check(level: Level, a: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """Hook and default: no more is asked of the words than that they are finite, which has been checked."""
    return True


@kernel
def routine_change(level: Level, m: int, slot: int, a: float, b: float, tau: int) -> tuple[float, float]:
    """Hook and default: a routine without one cannot have children that come and go, and is never asked."""
    return a, b


class NotedKernels(NamedTuple):
    """The same routine in a loop over the steps, which can keep more than a row has room for, while it runs.

    What is selected and what is written to the row must be the same to the last bit. There are two ways to save work.

    - Notes: numbers that follow from these, ``per_slot`` words for every slot. Only the loop on a
      processor that plays one run at a time has such memory; the others use the plain kernels of a routine that needs
      it. ``start(level, notes)`` makes the notes on statistics as they stand; the other two keep them up to date.
    - What a choice finds out and its own update would have to find again. ``select(level, a, b, tau, u, notes)`` gives
      it as a third result, behind the slot and its probability: a number or a record, whatever the routine likes.
      ``update(level, found, b, tau, slot, chance, reward, notes)`` takes it in place of the scalar a. A routine that
      finds nothing of the kind gives a itself.
    """

    start: Callable[..., None]
    select: Callable[..., tuple[int, float, Any]]
    update: Callable[..., tuple[float, float]]
    per_slot: int = 0


@kernel
def no_notes(level: Level, notes: Array) -> None:
    """``start`` of a routine that has no words of notes."""


class RoutineKernels(NamedTuple):
    """The kernels of a routine.

    ``start(level)`` writes fresh statistics for n children to the words from ``level.at`` on;
    ``select(level, a, b, tau, u)`` gives (slot, probability of the slot);
    ``update(level, a, b, tau, slot, chance, reward)`` learns;
    ``check(level, a, b, tau, slot, chance)`` tells of words from outside, which are finite, whether the other kernels
    can work on them.
    ``level`` is a :class:`hlmc.engine.records.Level`, ``a`` and ``b`` are two scalars that the routine keeps (start and
    update return them), ``tau`` the choices made since the start, ``u`` one uniform number.

    What ``check`` accepts must be enough for a proof that from there on, whatever is paid, every ``select`` gives a
    slot from 0 to n - 1 and a positive number, and every ``update`` finite words. It must accept all words that the
    routine can make, also in single precision and with the exponentials of another C library, so it is a simple bound
    and not an equation. Its ``tau`` counts the choices that were learned from; ``slot`` and ``chance`` are those of a
    choice that was not yet learned from, or -1 and 1. It is never called with n < 2.

    ``change(level, m, slot, a, b, tau)`` makes m >= 2 children of n (docs/arms.md). m > n: fresh
    ones join behind the others. m = n: the child ``slot`` becomes a fresh one; if ``slot`` is negative, the child
    ``-1 - slot`` does, unless it has at least the share of a fresh one already. m = n - 1: the last child takes the
    place of ``slot``, whose statistics are lost. With n = 1 the words are not set, and all m children are fresh.
    ``check`` must accept what it leaves. A routine that has none cannot be used where arms come and go.
    """

    start: Callable[..., tuple[float, float]]
    select: Callable[..., tuple[int, float]]
    update: Callable[..., tuple[float, float]]
    check: Callable[..., bool] = routine_check
    noted: NotedKernels | None = None
    change: Callable[..., tuple[float, float]] = routine_change


class LevelKernels(NamedTuple):
    """The same routine on the words of a level; ``control`` is where the level's control words begin."""

    start: Callable[..., None]
    select: Callable[..., None]
    update: Callable[..., None]


# Hooks: the routine's kernels stand in for these.


@kernel
def routine_start(level: Level) -> tuple[float, float]:
    """Write fresh statistics for n children; the two scalars."""
    return 0.0, 0.0


@kernel
def routine_select(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Choose a child from the uniform number u; its slot and probability."""
    return 0, 1.0


@kernel
def routine_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Learn a reward; the two scalars."""
    return a, b


@kernel
def level_start(program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    """Start the routine of a level."""
    a, b = routine_start(Level(program, level, row, at, n))
    row[control + SCALARS] = a
    row[control + SCALARS + 1] = b


@kernel
def level_select(program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, u: float) -> None:
    """Make choice ``tau`` of a level; the choice and its probability go to the control words."""
    a = row[control + SCALARS]
    b = row[control + SCALARS + 1]
    slot, chance = routine_select(Level(program, level, row, at, n), a, b, tau, u)
    row[control + CHILD] = slot
    row[control + CHANCE] = chance


@kernel
def level_update(
    program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, reward: float
) -> None:
    """Have a level learn the reward of its choice ``tau``."""
    a = row[control + SCALARS]
    b = row[control + SCALARS + 1]
    slot = int(row[control + CHILD])
    chance = row[control + CHANCE]
    a, b = routine_update(Level(program, level, row, at, n), a, b, tau, slot, chance, reward)
    row[control + SCALARS] = a
    row[control + SCALARS + 1] = b


@kernel
def level_check(program: Array, level: int, row: Array, n: int, tau: int, stands: int) -> int:
    """1 if a level's words are sound after ``tau`` rewards, else 0; ``stands``: 1 if a choice awaits its reward."""
    control = int(program[level + CONTROL])
    a = row[control + SCALARS]
    b = row[control + SCALARS + 1]
    slot = int(row[control + CHILD]) if stands == 1 else -1
    chance = row[control + CHANCE] if stands == 1 else 1.0
    sound = routine_check(Level(program, level, row, int(program[level + AT]), n), a, b, tau, slot, chance)
    return 1 if chance > 0.0 and sound else 0


@kernel
def level_change(program: Array, level: int, row: Array, n: int, m: int, slot: int, tau: int) -> int:
    """Make m children of the n children of a level, before its choice ``tau`` is learned from; 0."""
    control = int(program[level + CONTROL])
    a = row[control + SCALARS]
    b = row[control + SCALARS + 1]
    a, b = routine_change(Level(program, level, row, int(program[level + AT]), n), m, slot, a, b, tau)
    row[control + SCALARS] = a
    row[control + SCALARS + 1] = b
    return 0


@cache
def level_change_kernel(kernels: RoutineKernels) -> Callable[..., int]:
    """A routine's change on the words of a level."""
    return substitute(level_change, {routine_change: kernels.change})


@cache
def level_check_kernel(kernels: RoutineKernels) -> Callable[..., int]:
    """A routine's check on the words of a level."""
    return level_check if kernels.check is routine_check else substitute(level_check, {routine_check: kernels.check})


@cache
def level_kernels(kernels: RoutineKernels) -> LevelKernels:
    """A routine's kernels on the words of a level."""
    return LevelKernels(
        substitute(level_start, {routine_start: kernels.start}),
        substitute(level_select, {routine_select: kernels.select}),
        substitute(level_update, {routine_update: kernels.update}),
    )
