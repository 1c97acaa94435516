"""Stateless randomness: every random number is a hash of a key and its purpose.

A key is derived from the adversary's name, its seed and a purpose. :func:`fork` derives a key for every
integer, as SplitMix64 does (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
2014). ``fork(fork(key, t), arm)`` are the 64 random bits of an arm at a step. The step is hashed first, so that
its hash can be computed before the arm is known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hlmc.checks import whole
from hlmc.engine.kernel import kernel
from hlmc.engine.stream import mix, unit
from hlmc.streams import derive_seed

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_PART = np.uint64(0xFFFF)
_S16 = np.uint64(16)
_S32 = np.uint64(32)
_S48 = np.uint64(48)
_CENTRE = 2.0 * 0xFFFF
_SCALE = math.sqrt(3.0 / (65536.0 * 65536.0 - 1.0))


def seed_of(seed: Any) -> int:
    """Check a seed: an integer of at most 64 bits."""
    return whole("seed", seed, 0, 2**64 - 1)


def key(seed: int, *names: str) -> np.uint64:
    """The key of a named stream."""
    return np.uint64(derive_seed(seed, "adversary", *names))


def chosen(count: int, seed: int, *names: str) -> int:
    """A random number from 0 to count - 1, uniform up to rounding."""
    return derive_seed(seed, "adversary", *names) % count


@kernel
def fork(key: np.uint64, n: int) -> np.uint64:
    """The key derived for an integer; also used as 64 random bits."""
    return mix(key + np.uint64(n) * _GOLDEN)


@kernel
def coin(key: np.uint64, t: int, arm: int, mean: float) -> float:
    """1 with probability ``mean``, else 0; a fixed function of key, step and arm."""
    return 1.0 if unit(fork(fork(key, t), arm)) < mean else 0.0


@kernel
def around(key: np.uint64, t: int, arm: int, mean: float, noise: float, coins: float) -> float:
    """A coin with this mean if ``coins``, else uniform within ``noise`` of it and cut to [0, 1]."""
    u = unit(fork(fork(key, t), arm))
    if coins > 0.0:
        return 1.0 if u < mean else 0.0
    return min(max(mean + noise * (2.0 * u - 1.0), 0.0), 1.0)


@kernel
def bell(bits: np.uint64) -> float:
    """An almost normal number with mean 0 and variance 1: the sum of four 16-bit parts, within +-3.47."""
    total = (bits & _PART) + ((bits >> _S16) & _PART) + ((bits >> _S32) & _PART) + (bits >> _S48)
    return (float(total) - _CENTRE) * _SCALE
