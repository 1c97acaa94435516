"""Randomness without state: every number is a hash of a key and of what it is for.

A key comes from the adversary's name, its seed and a purpose. :func:`fork` makes a key of its own for every
whole number, as SplitMix64 does (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
2014), so that ``fork(fork(key, t), arm)`` are the 64 random bits of an arm at a step. The time comes first:
its hash can be worked out before the arm is known.
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
    """A seed: a whole number of at most 64 bits."""
    return whole("seed", seed, 0, 2**64 - 1)


def key(seed: int, *names: str) -> np.uint64:
    """The key of a named stream."""
    return np.uint64(derive_seed(seed, "adversary", *names))


def chosen(count: int, seed: int, *names: str) -> int:
    """One of 0 .. count - 1, all but equally likely."""
    return derive_seed(seed, "adversary", *names) % count


@kernel
def fork(key: np.uint64, n: int) -> np.uint64:
    """The key that belongs to a whole number, or 64 random bits."""
    return mix(key + np.uint64(n) * _GOLDEN)


@kernel
def coin(key: np.uint64, t: int, arm: int, mean: float) -> float:
    """1 with probability ``mean``, else 0: always the same for one arm at one step."""
    return 1.0 if unit(fork(fork(key, t), arm)) < mean else 0.0


@kernel
def bell(bits: np.uint64) -> float:
    """A number of mean 0 and variance 1, nearly normal: the sum of the bits' quarters, within +-3.47."""
    total = (bits & _PART) + ((bits >> _S16) & _PART) + ((bits >> _S32) & _PART) + (bits >> _S48)
    return (float(total) - _CENTRE) * _SCALE
