"""A random order of any number of arms, in no memory: a keyed bijection of 0 .. size - 1.

Four rounds of a Feistel network over the least even number of bits that holds the size, walked until the value falls in
range (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002): fewer than four walks on average.
"""

from __future__ import annotations

import numpy as np

from hlmc.kernels.build import kernel
from hlmc.kernels.native import floor_log2
from hlmc.kernels.stream import mix

_ROUND = np.uint64(0xD1B54A32D192ED03)


@kernel
def permuted(key: np.uint64, size: int, place: int) -> int:
    """What stands at this place of the key's order of ``size`` things."""
    if size < 2:
        return place
    half = (floor_log2(size - 1) + 2) // 2
    mask = (1 << half) - 1
    value = place
    while True:
        left = value >> half
        right = value & mask
        round_key = key
        for _ in range(4):
            round_key += _ROUND
            scrambled = int(mix(round_key ^ np.uint64(right)) >> np.uint64(32)) & mask
            left, right = right, left ^ scrambled
        value = (left << half) | right
        if value < size:
            return value
