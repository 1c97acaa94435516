r"""Counts and means of few bits (``docs/research/bits.md``): Morris counters, and means by stochastic rounding.

Two codes for a slot. A *count* of c bits is a Morris counter: code k stands for

.. math:: N_k = \frac{(1 + a)^k - 1}{a},

and goes up by one with probability :math:`1 / (N_{k+1} - N_k) = (1 + a)^{-k}`, so a play adds 1 on average. N_0 is 0
and N_1 is 1. Its standard deviation is at most :math:`\sqrt{a / 2}\, n` after n plays. A *mean* of m bits is a whole
number of 1 / (2^m - 1). A play moves it by (r - mean) / (N + 1) and rounds it to one of its neighbours, so that it
stays where it would be on average.

The counts lie first, packed, then from the next whole word on the means. Words that are all zero mean that nothing was
played. Every pattern of bits is sound.

References
----------
R. Morris, "Counting large numbers of events in small registers", Communications of the ACM 21 (1978).
P. Flajolet, "Approximate counting: a detailed analysis", BIT 25 (1985).
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.arithmetic import exponential, exponential_less_one
from hlmc.engine.codes import clear_codes, code_at, next_seed, put_code, rounding_bits, rounding_seed, seed_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS, WIDTH
from hlmc.engine.records import Level
from hlmc.engine.stream import mix, unit
from hlmc.engine.ucb import noted_index

Array = np.ndarray

# The level's record holds, behind the first parameter of the routine,
GROWTH, SHRINK, MEAN_WIDTH = PARAMETERS + 1, PARAMETERS + 2, PARAMETERS + 3  # ln(1 + a), 1 / a, m

UNPLAYED = 1e150  # stands for 1 / sqrt(0)

LARGEST = 2.0**40
"""What the last code of a count stands for."""


def base_less_one(bits: int) -> float:
    """The a with which the last code of a Morris counter stands for :data:`LARGEST`.

    >>> round(base_less_one(8), 3), f"{base_less_one(16):.2g}"
    (0.105, '0.0003')
    """
    last = 2**bits - 1
    low, high = 1e-12, 64.0
    for _ in range(200):
        a = math.sqrt(low * high)
        low, high = (a, high) if last * math.log1p(a) < math.log1p(a * LARGEST) else (low, a)
    return a


@kernel
def counted(program: Array, level: int, code: int) -> float:
    """N of a code."""
    return float(exponential_less_one(float(code) * program[level + GROWTH]) * program[level + SHRINK])


@kernel
def count_code(level: Level, slot: int) -> int:
    """The code of a slot's count."""
    return code_at(level.row, level.at, int(level.program[level.record + WIDTH]), slot)


@kernel
def means_at(program: Array, level: int, at: int, n: int) -> int:
    """Where the means begin."""
    return at + ((int(program[level + WIDTH]) * n + 63) >> 6)


@kernel
def coded_mean(level: Level, slot: int) -> float:
    """The mean reward of a slot."""
    width = int(level.program[level.record + MEAN_WIDTH])
    means = means_at(level.program, level.record, level.at, level.n)
    return float(code_at(level.row, means, width, slot)) / float((1 << width) - 1)


@kernel
def coded_root(level: Level, slot: int) -> float:
    """1 / sqrt(N) of a slot; before its first reward, a number that makes its index the highest."""
    code = count_code(level, slot)
    return 1.0 / math.sqrt(counted(level.program, level.record, code)) if code > 0 else UNPLAYED


@kernel
def coded_start(level: Level) -> tuple[float, float]:
    """Nothing was played. The second scalar is the seed of the roundings."""
    means = means_at(level.program, level.record, level.at, level.n)
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    clear_codes(level.row, means, int(level.program[level.record + MEAN_WIDTH]), level.n)
    return 0.0, rounding_seed(level.row, level.record)


@kernel
def coded_play(level: Level, seed: float, slot: int, reward: float) -> float:
    """Count a play, at random, and move the mean, rounded at random; the next seed."""
    draw = rounding_bits(seed)
    width = int(level.program[level.record + WIDTH])
    code = count_code(level, slot)
    means = means_at(level.program, level.record, level.at, level.n)
    mean_width = int(level.program[level.record + MEAN_WIDTH])
    last = (1 << mean_width) - 1
    mean = coded_mean(level, slot)
    value = (mean + (reward - mean) / (counted(level.program, level.record, code) + 1.0)) * float(last)
    below = min(max(int(value), 0), last)
    put_code(level.row, means, mean_width, slot, min(below + int(unit(draw) < value - float(below)), last))
    # (1 + a)^k = exp(k ln(1 + a)); from code 0 it goes up for certain.
    chance = exponential(float(code) * level.program[level.record + GROWTH])
    if code < (1 << width) - 1 and unit(mix(draw)) * chance < 1.0:
        put_code(level.row, level.at, width, slot, code + 1)
    return next_seed(seed)


@kernel
def coded_plays_sound(level: Level, seed: float, played: int) -> bool:
    """Whether slots 0 .. played - 1 have plays, and the seed is a whole number. Every pattern of bits is a code."""
    for j in range(level.n):
        if j < played and count_code(level, j) == 0:
            return False
    return seed_sound(seed)


@kernel
def coded_index(level: Level, notes: Array, slot: int, twice_log: float) -> float:
    """Mean reward of a slot plus sqrt(2 ln t) / sqrt(N)."""
    return coded_mean(level, slot) + math.sqrt(twice_log) * coded_root(level, slot)


@kernel
def noted_coded_index(level: Level, notes: Array, slot: int, twice_log: float) -> float:
    """The same from the notes."""
    return noted_index(notes, level.n, slot, math.sqrt(twice_log))


@kernel
def note_coded_slot(level: Level, slot: int, notes: Array) -> None:
    """Note what the codes say of a slot: its mean and 1 / sqrt(N)."""
    notes[slot] = coded_mean(level, slot)
    notes[level.n + slot] = coded_root(level, slot)


@kernel
def note_coded_slots(level: Level, notes: Array) -> None:
    """Note what the codes say of every slot."""
    for slot in range(level.n):
        note_coded_slot(level, slot, notes)
