"""Sums and counts of n slots, and upper confidence bounds from notes: of every slot its mean, then 1 / sqrt(n_j).

An index is a mean plus spread / sqrt(n_j), where spread = sqrt(2 ln t) belongs to the time. With the notes it takes no
division and no root, and agrees with the index of the statistics but for rounding.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.records import Level

Array = np.ndarray

MOST_PLAYS = 9007199254740992.0  # 2^53


@kernel
def noted_index(notes: Array, n: int, slot: int, spread: float) -> float:
    """The index of a slot."""
    return float(notes[slot] + spread * notes[n + slot])


@kernel
def highest_two(notes: Array, n: int, spread: float) -> tuple[int, float, float, float]:
    """A slot of highest index, the index, the highest one of the other slots, and the largest 1 / sqrt(n_j).

    No index is negative.
    """
    best = 0
    highest = -1.0
    second = -1.0
    widest = 0.0
    for slot in range(n):
        index = noted_index(notes, n, slot, spread)
        second = max(second, min(highest, index))
        widest = max(widest, notes[n + slot])
        if index > highest:
            highest = index
            best = slot
    return best, highest, second, widest


@kernel
def unlike_slots(row: Array, at: int, n: int, slot: int, notes: Array, spread: float, floor: float) -> int:
    """How many slots with an index of at least ``floor`` have other statistics than ``slot``.

    A slot's statistics are words ``at + slot`` and ``at + n + slot`` of the row.
    """
    unlike = 0
    for j in range(n):
        close = int(noted_index(notes, n, j, spread) >= floor)
        unlike += close & (int(row[at + j] != row[at + slot]) | int(row[at + n + j] != row[at + n + slot]))
    return unlike


@kernel
def list_slots(n: int, notes: Array, spread: float, floor: float, first: int) -> tuple[int, float]:
    """List the slots with an index of at least ``floor`` from ``notes[first]`` on, in order.

    Returns how many there are and the highest index below ``floor``, or -1. Up to n words are overwritten.
    """
    count = 0
    below = -1.0
    for slot in range(n):
        index = noted_index(notes, n, slot, spread)
        notes[first + count] = slot
        count += int(index >= floor)
        below = max(below, -1.0 if index >= floor else index)
    return count, below


@kernel
def pairs_change(level: Level, m: int, slot: int, fresh: float) -> None:
    """The change of a routine (:class:`hlmc.engine.routines.RoutineKernels`) that keeps n sums and then n counts.

    Both numbers of a fresh child are ``fresh``. The counts lie behind the sums, so they move where n changes.
    """
    if slot < 0:
        slot = -1 - slot
    first = 0 if level.n < 2 else level.n
    stop = m
    if level.n < 2:
        pass
    elif m > level.n:
        for k in range(level.n):
            j = level.n - 1 - k  # from behind: the two runs overlap
            level.row[level.at + m + j] = level.row[level.at + level.n + j]
    elif m < level.n:
        level.row[level.at + slot] = level.row[level.at + level.n - 1]
        level.row[level.at + level.n + slot] = level.row[level.at + level.n + level.n - 1]
        for j in range(m):
            level.row[level.at + m + j] = level.row[level.at + level.n + j]
    else:
        first = slot
        stop = slot + 1
    for j in range(first, stop):
        level.row[level.at + j] = fresh
        level.row[level.at + m + j] = fresh


@kernel
def pairs_sound(level: Level) -> bool:
    """Whether no sum is negative or above its count, and no count above what adding up ones can reach."""
    good = True
    for j in range(level.n):
        played = level.row[level.at + level.n + j]
        good = good and bool(0.0 <= level.row[level.at + j] <= played <= MOST_PLAYS)
    return good
