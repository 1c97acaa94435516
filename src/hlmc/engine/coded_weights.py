"""Exponential weights on coded losses (:mod:`hlmc.engine.codes`): draw in proportion to them, change one of them.

What is stored of a slot is how far its estimated loss is above the least, or its estimated gain below the largest: a
distance A, as a code of scale 2 / rate. The weights exp(-rate A) are computed when they are needed. Here they are
relative to the largest one (*shares*); their sum is kept, too.
"""

from __future__ import annotations

from hlmc.engine.arithmetic import exponential
from hlmc.engine.codes import (
    clear_codes,
    distance_of,
    largest_weight,
    move_base,
    move_slot,
    next_seed,
    rounding_bits,
    rounding_seed,
    seed_sound,
    too_high,
    weight_of,
)
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, WIDTH
from hlmc.engine.records import Codes, Level, Move
from hlmc.engine.stream import mix

LEAST = 1e-270  # no probability is stated below this, so that a loss over it, times any rate, is a finite number
FAR = 600.0  # the exponential of less than -FAR counts as that of -FAR


@kernel
def share_of(w: float, most: float, rate: float) -> float:
    """exp(-rate (A - least A)) of a slot with weight w, where the slot of least A has the weight ``most``."""
    # With s = 2 / rate, rate A = 2 / w - 2.
    return exponential(-min(2.0 / w - 2.0 / most, FAR))


@kernel
def shares_total(level: Level, rate: float) -> float:
    """The sum of the shares of all slots, from 1 to n."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    most = largest_weight(codes)
    total = 0.0
    for j in range(level.n):
        total += share_of(weight_of(codes, j), most, rate)
    return total


@kernel
def shares_start(level: Level) -> tuple[float, float]:
    """All slots equal. The scalars are the sum of the shares and the seed of the roundings."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    return float(level.n), rounding_seed(level.row, level.record)


@kernel
def shares_draw(level: Level, total: float, rate: float, gamma: float, u: float) -> tuple[int, float]:
    """A slot by its share, or with probability gamma any slot; and its probability."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    most = largest_weight(codes)
    mixed = gamma / float(level.n)
    slot = 0
    p = (1.0 - gamma) * share_of(weight_of(codes, 0), most, rate) / total + mixed
    u -= p
    while u >= 0.0 and slot < level.n - 1:
        slot += 1
        p = (1.0 - gamma) * share_of(weight_of(codes, slot), most, rate) / total + mixed
        u -= p
    return slot, max(p, LEAST)


@kernel
def shares_grow(
    level: Level, total: float, seed: float, rate: float, slot: int, gain: float, chance: float
) -> tuple[float, float]:
    """A slot is gain / chance less behind; the two scalars then."""
    if gain == 0.0:
        return total, seed
    draw = rounding_bits(seed)
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    s = 2.0 / rate
    value = distance_of(weight_of(codes, slot), s) - gain / chance
    move_slot(codes, Move(s, s, slot, value, 0.0, 0.0, draw))
    if too_high(largest_weight(codes)):
        move_base(codes, Move(s, s, -1, 0.0, 0.0, 0.0, mix(draw)))
    return shares_total(level, rate), next_seed(seed)


@kernel
def shares_sound(
    level: Level, total: float, seed: float, rate: float, chance: float, widest: float, least: float
) -> bool:
    """Every pattern of bits is a code; the total is positive, and that of the codes but for rounding.

    No distance can grow too wide, and no chance is below LEAST, so that the bounds of weights in words are not needed.
    """
    expected = shares_total(level, rate)
    return seed_sound(seed) and abs(total - expected) <= 1e-3 * expected and chance >= 0.5 * LEAST
