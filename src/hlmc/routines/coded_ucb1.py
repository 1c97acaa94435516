r"""UCB1 with counts and means of few bits (``research/bits.md``): Morris counters, and means by stochastic rounding.

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
from dataclasses import dataclass
from typing import ClassVar

from hlmc.engine.arithmetic import exponential, exponential_less_one
from hlmc.engine.codes import (
    clear_codes,
    code_at,
    next_seed,
    put_code,
    rounding_bits,
    rounding_seed,
    seed_sound,
)
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import IDLE, PENDING, WIDTH
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.records import Level
from hlmc.engine.routines import NotedKernels
from hlmc.engine.stream import mix, unit
from hlmc.engine.ucb import noted_index
from hlmc.routines.base import Array, Kernels, LevelContext
from hlmc.routines.coded import MOST_BITS, CodedRoutine
from hlmc.routines.ucb1 import TIE, UCB1, ucb1_best, ucb1_index, ucb1_select

GROWTH, SHRINK, MEAN_WIDTH = TIE + 1, TIE + 2, TIE + 3  # ln(1 + a), 1 / a, m
UNPLAYED = 1e150  # stands for 1 / sqrt(0)

COUNT_BITS = 8
"""Bits of a count where there are enough: the radius of a slot depends on its count only by the root."""

LARGEST = 2.0**40
"""What the last code of a count stands for."""


def widths(bits: int) -> tuple[int, int]:
    """Bits of the count and of the mean of a slot, 2 ``bits`` in all.

    >>> [widths(bits) for bits in (4, 8, 12, 20, 32)]
    [(4, 4), (8, 8), (8, 16), (8, 32), (32, 32)]
    """
    mean = min(MOST_BITS, 2 * bits - min(bits, COUNT_BITS))
    return 2 * bits - mean, mean


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
def means_at(program: Array, level: int, at: int, n: int) -> int:
    """Where the means begin."""
    return at + ((int(program[level + WIDTH]) * n + 63) >> 6)


@kernel
def coded_mean(level: Level, slot: int) -> float:
    """The mean reward of a slot."""
    width = int(level.program[level.record + MEAN_WIDTH])
    return float(code_at(level.row, means_at(level.program, level.record, level.at, level.n), width, slot)) / float(
        (1 << width) - 1
    )


@kernel
def coded_root(level: Level, slot: int) -> float:
    """1 / sqrt(N) of a slot; before its first reward, a number that makes its index the highest."""
    code = code_at(level.row, level.at, int(level.program[level.record + WIDTH]), slot)
    return 1.0 / math.sqrt(counted(level.program, level.record, code)) if code > 0 else UNPLAYED


# The index of a slot, for :func:`hlmc.routines.ucb1.ucb1_best`.


@kernel
def coded_index(level: Level, notes: Array, slot: int, twice_log: float) -> float:
    """Mean reward plus sqrt(2 ln t) / sqrt(N)."""
    return coded_mean(level, slot) + math.sqrt(twice_log) * coded_root(level, slot)


@kernel
def _noted_index(level: Level, notes: Array, slot: int, twice_log: float) -> float:
    """The same from the notes."""
    return noted_index(notes, level.n, slot, math.sqrt(twice_log))


@kernel
def _noted_select(level: Level, a: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float, float]:
    """The slot of the highest index, by the notes."""
    slot, chance = ucb1_best(level, a, b, tau, u, notes)
    return slot, chance, a


@kernel
def coded_ucb1_start(level: Level) -> tuple[float, float]:
    """Nothing was played. The second scalar is the seed of the roundings."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    clear_codes(
        level.row,
        means_at(level.program, level.record, level.at, level.n),
        int(level.program[level.record + MEAN_WIDTH]),
        level.n,
    )
    return 0.0, rounding_seed(level.row, level.record)


@kernel
def coded_ucb1_update(
    level: Level, a: float, seed: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Count the play, at random, and move the mean, rounded at random."""
    draw = rounding_bits(seed)
    width = int(level.program[level.record + WIDTH])
    code = code_at(level.row, level.at, width, slot)
    means = means_at(level.program, level.record, level.at, level.n)
    mean_width = int(level.program[level.record + MEAN_WIDTH])
    last = (1 << mean_width) - 1
    mean = coded_mean(level, slot)
    value = (mean + (reward - mean) / (counted(level.program, level.record, code) + 1.0)) * float(last)
    below = min(max(int(value), 0), last)
    put_code(level.row, means, mean_width, slot, min(below + int(unit(draw) < value - float(below)), last))
    # (1 + a)^k = exp(k ln(1 + a)); from code 0 it goes up for certain.
    if (
        code < (1 << width) - 1
        and unit(mix(draw)) * exponential(float(code) * level.program[level.record + GROWTH]) < 1.0
    ):
        put_code(level.row, level.at, width, slot, code + 1)
    return a, next_seed(seed)


@kernel
def _note_slot(level: Level, slot: int, notes: Array) -> None:
    """Note what the codes say of a slot: its mean and 1 / sqrt(N)."""
    notes[slot] = coded_mean(level, slot)
    notes[level.n + slot] = coded_root(level, slot)


@kernel
def _start_notes(level: Level, notes: Array) -> None:
    """Note what the codes say of every slot."""
    for slot in range(level.n):
        _note_slot(level, slot, notes)


@kernel
def _noted_update(
    level: Level, a: float, seed: float, tau: int, slot: int, chance: float, reward: float, notes: Array
) -> tuple[float, float]:
    """The same, and note it."""
    a, seed = coded_ucb1_update(level, a, seed, tau, slot, chance, reward)
    _note_slot(level, slot, notes)
    return a, seed


@kernel
def coded_ucb1_check(level: Level, a: float, seed: float, tau: int, slot: int, chance: float) -> bool:
    """The first n choices were the slots in turn; the seed is a whole number. Every pattern of bits is a code."""
    late = level.program[PENDING] > 0.0 or level.program[IDLE] > 0.0
    for j in range(level.n):
        if j < tau and not late and code_at(level.row, level.at, int(level.program[level.record + WIDTH]), j) == 0:
            return False
    return seed_sound(seed) and (slot < 0 or tau >= level.n or slot == tau)


_CODED: dict[Kernel, Kernel] = {ucb1_index: coded_index}
_NOTED: dict[Kernel, Kernel] = {ucb1_index: _noted_index}


@dataclass(frozen=True, repr=False)
class CodedUCB1(CodedRoutine):
    """UCB1 at one level with 2 ``bits`` bits for a child: up to 8 bits for its count, the others for its mean.

    Examples
    --------
    >>> CodedUCB1(bits=12).words(100)
    38
    """

    ties: str | None = None
    bits: int = 12  # type: ignore[misc]  # a field here

    name: ClassVar[str] = "ucb1"
    anytime: ClassVar[bool] = True
    plain_class: ClassVar[type[UCB1]] = UCB1
    full_support: ClassVar[bool] = False
    kernels: ClassVar[Kernels] = Kernels(
        coded_ucb1_start,
        substitute(ucb1_select, _CODED),
        coded_ucb1_update,
        coded_ucb1_check,
        NotedKernels(_start_notes, substitute(_noted_select, _NOTED), _noted_update, per_slot=2),
    )

    def words(self, n: int) -> int:
        return sum(-(-n * width // 64) for width in widths(self.bits)) if n > 1 else 0

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        count, mean = widths(self.bits)
        a = base_less_one(count)
        packed = list(super().packed(context))
        packed[GROWTH - TIE : MEAN_WIDTH - TIE + 1] = math.log1p(a), 1.0 / a, float(mean)
        packed[WIDTH - TIE :] = float(count), 2.0**-count
        return tuple(packed)
