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
def highest_two(notes: Array, n: int, spread: float) -> tuple[int, float, float]:
    """A slot of highest index, the index, and the highest one of the other slots. No index is negative."""
    best = 0
    highest = -1.0
    second = -1.0
    for slot in range(n):
        index = noted_index(notes, n, slot, spread)
        second = max(second, min(highest, index))
        if index > highest:
            highest = index
            best = slot
    return best, highest, second
