"""Kernels of the engine that were unrolled for large processors, in fewer instructions: with the same results."""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.weights import _positive

Array = np.ndarray


@kernel
def compact_draw(row: Array, at: int, n: int, x: float) -> int:
    """The slot at which the partial sums of the weights pass x.

    Weights are added up in blocks of eight, and within a block in pairs: the sums of the engine's own kernel.
    """
    j = 0
    slot = -1
    while slot < 0 and j + 8 <= n:
        block = 0.0
        passed = 0
        for k in range(at + j, at + j + 8, 2):
            first = _positive(row[k])
            passed += x >= block + first
            block += first + _positive(row[k + 1])
            passed += x >= block
        if x < block:
            slot = j + passed
        else:
            x -= block
            j += 8
    if slot < 0:
        slot = j
        partial = 0.0
        for k in range(at + j, at + n):
            partial += _positive(row[k])
            slot += x >= partial
    # Rounding can carry x past the last weight that counts.
    slot = min(slot, n - 1)
    while slot > 0 and row[at + slot] <= 0.0:
        slot -= 1
    return slot
