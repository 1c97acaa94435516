"""A random order of any number of arms, in no memory: a keyed bijection of 0 .. size - 1.

A Feistel network over the least even number of bits that holds the size, walked until the value falls in range (Black
and Rogaway, "Ciphers with arbitrary finite domains", 2002): fewer than four walks on average. Small domains need more
rounds before every order is as likely as any other; and as such a network is an even permutation of its domain, the key
decides beforehand whether the first two places change theirs.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import floor_log2
from hlmc.engine.stream import mix

_ONE = np.uint64(1)
_ROUND = np.uint64(0xD1B54A32D192ED03)


@kernel
def permuted(key: np.uint64, size: int, place: int) -> int:
    """What stands at this place of the key's order of ``size`` things."""
    if size < 2:
        return place
    half = (floor_log2(size - 1) + 2) // 2
    mask = (1 << half) - 1
    rounds = 10 if half < 4 else 6
    flip = int(mix(key) & _ONE)
    value = place
    while True:
        if value < 2:
            value ^= flip
        left = value >> half
        right = value & mask
        round_key = key
        for _ in range(rounds):
            round_key += _ROUND
            scrambled = int(mix(round_key ^ np.uint64(right)) >> np.uint64(32)) & mask
            left, right = right, left ^ scrambled
        value = (left << half) | right
        if value < size:
            return value
