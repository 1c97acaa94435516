"""Random numbers: a function of (key, time, purpose), with no state to carry.

A learner's whole stream is one 64-bit word, its key. Number ``purpose`` of step ``t`` is the finaliser of
SplitMix64 (Steele, Lea and Flood, 2014; constants by Stafford, "mix13") applied to ``key + counter * odd(key)``
with ``counter = 64 t + purpose``: a Weyl sequence with an increment of its own for every key, so that the streams of
a million learners do not run into one another. Being a function of time, a number can be had in any order, and a
step that needs fewer numbers than another shifts nothing.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel

PURPOSES = 64
"""How many numbers a step can draw: one per level, the rest for other uses."""

_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S11 = np.uint64(11)


@kernel
def mix(x: np.uint64) -> np.uint64:
    """A bijection of 64-bit words whose output bits each depend on all input bits."""
    x = (x ^ (x >> _S30)) * _A
    x = (x ^ (x >> _S27)) * _B
    return x ^ (x >> _S31)


@kernel
def increment(key: np.uint64) -> np.uint64:
    """The odd number by which the stream of this key advances."""
    return mix(key ^ _GOLDEN) | _ONE


@kernel
def number(key: np.uint64, step: np.uint64, t: int, purpose: int) -> np.uint64:
    """64 random bits for this purpose at this time; ``step`` is ``increment(key)``."""
    return mix(key + np.uint64(PURPOSES * t + purpose) * step)


@kernel
def first_number(key: np.uint64, t: int, purpose: int) -> tuple[np.uint64, np.uint64]:
    """What :func:`mix` makes this purpose's number at time t of, and what to add to it for each step further on."""
    step = increment(key)
    return key + np.uint64(PURPOSES * t + purpose) * step, np.uint64(PURPOSES) * step


@kernel
def unit(bits: np.uint64) -> float:
    """A number in [0, 1) from the upper 53 bits."""
    return float(bits >> _S11) * 1.1102230246251565e-16


@kernel
def uniform(key: np.uint64, t: int, purpose: int) -> float:
    """A uniform number in [0, 1)."""
    return unit(number(key, increment(key), t, purpose))
