"""Upper confidence bounds from notes: of n slots the mean rewards, and after these 1 / sqrt(n_j) of every slot.

An index is a mean plus spread / sqrt(n_j), where spread = sqrt(2 ln t) belongs to the time. With the notes it takes no
division and no root, and agrees with the index of the statistics but for rounding.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel

Array = np.ndarray


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
def close_slots(row: Array, at: int, n: int, slot: int, notes: Array, spread: float, floor: float) -> tuple[int, int]:
    """How many indices are at least ``floor`` by the notes, and how many of these are of other statistics than a slot.

    A slot's statistics are words ``at + slot`` and ``at + n + slot`` of the row.
    """
    close = 0
    others = 0
    for j in range(n):
        counts = int(noted_index(notes, n, j, spread) >= floor)
        close += counts
        others += counts & (int(row[at + j] != row[at + slot]) | int(row[at + n + j] != row[at + n + slot]))
    return close, others


@kernel
def close_slot(n: int, notes: Array, spread: float, floor: float, wanted: int) -> int:
    """Of the slots whose index is at least ``floor``, the one that ``wanted`` others precede."""
    seen = 0
    slot = 0
    for j in range(n):
        seen += int(noted_index(notes, n, j, spread) >= floor)
        slot += int(seen <= wanted)
    return slot
