"""Random variates from a key of 64 bits: as many uniform numbers as it takes, by SplitMix64.

Only square roots and this library's own logarithm are used, so that a variate is the same on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.arithmetic import logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.stream import mix, unit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_THREE = np.uint64(3)


@kernel
def gamma_variate(source: np.uint64, shape: float) -> float:
    """A gamma variate of a shape of at least 1, from the stream of a key.

    Marsaglia and Tsang: d (1 + c X)^3 for a normal X, where d = shape - 1/3 and c = 1 / sqrt(9 d), is accepted with
    at least 95 %. X is by Marsaglia's polar method, which needs no cosine.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = 2.0 * unit(mix(source + _GOLDEN)) - 1.0
        y = 2.0 * unit(mix(source + _TWO * _GOLDEN)) - 1.0
        u = 1.0 - unit(mix(source + _THREE * _GOLDEN))  # never 0
        source = source + _THREE * _GOLDEN
        square = x * x + y * y
        if 0.0 < square < 1.0:
            normal = x * math.sqrt(-2.0 * logarithm(square) / square)
            v = 1.0 + c * normal
            if v > 0.0:
                v = v * v * v
                # The first comparison implies the second and is nearly always enough.
                if u < 1.0 - 0.0331 * (normal * normal) * (normal * normal):
                    return d * v
                if logarithm(u) < 0.5 * normal * normal + d - d * v + d * logarithm(v):
                    return d * v


@kernel
def beta_variate(source: np.uint64, a: float, b: float) -> float:
    """A variate of Beta(a, b) for shapes of at least 1: X / (X + Y) for gamma variates X and Y."""
    x = gamma_variate(mix(source), a)
    y = gamma_variate(mix(source ^ _ONE), b)
    return x / (x + y)
