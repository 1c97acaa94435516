r"""Statistics of b bits each: packed codes of losses, changed by stochastic rounding.

A loss matters only by its distance A >= 0 to a base near the least loss. A code k of 0 .. M - 1, M = 2^b, stands for

.. math:: A_k = s\,(w_k^{-1} - 1), \qquad w_k = (1 - k/M)^2,

with a scale s near 2 / eta. Tsallis-INF gives a slot at distance A of a leader with probability near 1 the probability
p = (1 + A/s)^(-2) = w^2, so the codes are evenly spaced in the fourth root of the probability. Two neighbouring codes
are (2 s / M) p^(-3/4) apart. ``docs/research/bits.md`` says why this grid and not another.

What is stored is rounded to one of the two neighbouring codes with the probabilities that leave its mean as it is.
Only the slot played moves at most steps. All slots are rounded anew (:func:`_rounded_anew`) when

- the slot played falls below the base, or the least loss rises to more than twice ``GUARD * s`` above it,
- the scale doubles, because the learning rate has halved,
- the slots of small probability are lowered, which the reduced-variance estimator asks for at every step and which is
  done for many steps at once, at random.

Codes are packed without gaps: code j takes the bits b j .. b (j + 1) - 1 of the level's words, lowest first. A run of
words that are all zero means that all losses are equal.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, KEY, TIME, WIDTH
from hlmc.engine.linker import Kernel
from hlmc.engine.primitives import bits, floor_log2, put_bits
from hlmc.engine.records import Codes, Level, Move
from hlmc.engine.stream import increment, mix, number, unit

Array = np.ndarray

ROUNDING = 62
"""The purpose of the random number that seeds a level's roundings, when the level starts."""

GUARD = 0.125
"""Where the least loss is put above the base when all slots are rounded anew, in scales."""

FARTHEST = 2.0**-20
"""The least weight w that the largest of a level's weights may have in words from outside."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD1342543DE82EF95)
_S11 = np.uint64(11)
_STEP = np.uint64(0x13C6EF372FE94F)
_LOW53 = np.uint64(0x1FFFFFFFFFFFFF)


# --- Packing


@kernel
def code_at(row: Array, at: int, width: int, slot: int) -> int:
    """The code of a slot; the level's words begin at ``at``."""
    first = width * slot
    word = at + (first >> 6)
    shift = first & 63
    code = bits(row, word) >> np.uint64(shift)
    if shift + width > 64:
        code = code | (bits(row, word + 1) << np.uint64(64 - shift))
    return int(code & np.uint64((1 << width) - 1))


@kernel
def put_code(row: Array, at: int, width: int, slot: int, code: int) -> None:
    """Store the code of a slot and leave its neighbours as they are."""
    first = width * slot
    word = at + (first >> 6)
    shift = first & 63
    mask = np.uint64((1 << width) - 1)
    kept = bits(row, word)
    # What is or-ed and then exclusive-or-ed is cleared: the dialect has no complement.
    kept = (kept | (mask << np.uint64(shift))) ^ (mask << np.uint64(shift))
    put_bits(row, word, kept | (np.uint64(code) << np.uint64(shift)))
    if shift + width > 64:
        kept = bits(row, word + 1)
        kept = (kept | (mask >> np.uint64(64 - shift))) ^ (mask >> np.uint64(64 - shift))
        put_bits(row, word + 1, kept | (np.uint64(code) >> np.uint64(64 - shift)))


@kernel
def clear_codes(row: Array, at: int, width: int, n: int) -> None:
    """All losses equal."""
    for j in range((width * n + 63) >> 6):
        put_bits(row, at + j, np.uint64(0))


# --- The grid


@kernel
def grid_weight(inverse: float, code: int) -> float:
    """w of a code."""
    z = 1.0 - float(code) * inverse
    return z * z


# Hooks. ``notes`` is the row itself, or memory in which a loop keeps the weights of all slots
# (:class:`hlmc.engine.routines.NotedKernels`); then :func:`noted_weight` and :func:`keep_note` take their places.


@kernel
def weight_of(codes: Codes, slot: int) -> float:
    """w of a slot."""
    return grid_weight(codes.inverse, code_at(codes.row, codes.at, codes.width, slot))


@kernel
def note_weight(notes: Array, slot: int, w: float) -> None:
    """Take note of the weight of a slot. Default: there are no notes."""


@kernel
def noted_weight(codes: Codes, slot: int) -> float:
    """w of a slot, from the notes."""
    return float(codes.notes[slot])


@kernel
def keep_note(notes: Array, slot: int, w: float) -> None:
    """Note the weight of a slot."""
    notes[slot] = w


@kernel
def note_weights(level: Level, notes: Array) -> None:
    """Note the weights of all slots."""
    width = int(level.program[level.record + WIDTH])
    inverse = level.program[level.record + INVERSE]
    for j in range(level.n):
        notes[j] = grid_weight(inverse, code_at(level.row, level.at, width, j))


NOTED: dict[Kernel, Kernel] = {weight_of: noted_weight, note_weight: keep_note}
"""What stands for the hooks where weights are noted."""


@kernel
def distance_of(w: float, s: float) -> float:
    """A of a weight."""
    return s / w - s


@kernel
def edge_of(far: float, s: float) -> float:
    """The weight such that slots farther than ``far`` have a smaller one; 2, which is more than any, if far < 0."""
    return s / (s + far) if far >= 0.0 else 2.0


@kernel
def rounded(value: float, s: float, width: int, inverse: float, u: float) -> int:
    """The code of a distance: one of the two neighbours, so that the mean over a uniform u is the distance.

    A distance below 0 becomes 0, one beyond the last code the last code.
    """
    code, _ = rounded_weight(s / (s + max(value, 0.0)), width, inverse, u)
    return int(code)


@kernel
def rounded_weight(w: float, width: int, inverse: float, u: float) -> tuple[int, float]:
    """The same for the distance s / w - s, 0 < w <= 1; and the weight of the code.

    Of codes k and k + 1 the second has the probability (A - A_k) / (A_(k+1) - A_k) for a distance A between theirs. In
    terms of weights this is (w_k - w) w_(k+1) / ((w_k - w_(k+1)) w), whatever s is.
    """
    last = (1 << width) - 1
    k = min(int((1.0 - math.sqrt(w)) * float(last + 1)), last)
    below = grid_weight(inverse, k)
    if below < w and k > 0:
        # The root was rounded down past a code.
        k -= 1
        below = grid_weight(inverse, k)
    if k == last:
        return last, below
    above = grid_weight(inverse, k + 1)
    # A step waits for the weight, and the code would have to be made a float first.
    up = u * ((below - above) * w) < (below - w) * above
    return k + 1 if up else k, above if up else below


# --- Random numbers


@kernel
def rounding_seed(row: Array, level: int) -> float:
    """53 random bits for the roundings of a level that starts now, as a whole number."""
    key = bits(row, KEY)
    fresh = number(key, increment(key), int(row[TIME]), ROUNDING)
    # One number is drawn for all levels that start at one time; each makes its own of it.
    return float(mix(fresh + np.uint64(level) * _GOLDEN) >> _S11)


@kernel
def rounding_bits(seed: float) -> np.uint64:
    """64 random bits for the roundings of one update: SplitMix64, whose state is the level's seed."""
    return mix((np.uint64(int(seed)) << _S11) + _GOLDEN)


@kernel
def next_seed(seed: float) -> float:
    """The seed after an update: every whole number below 2^53 once in 2^53 updates."""
    return float((np.uint64(int(seed)) + _STEP) & _LOW53)


# --- Changing a loss


@kernel
def scale_at(unit_scale: float, tau: int) -> float:
    """The scale at choice ``tau`` (from 0): ``unit_scale`` times the power of 2 at or below sqrt(tau + 1)."""
    return unit_scale * float(1 << (floor_log2(tau + 1) >> 1))


@kernel
def move_slot(codes: Codes, move: Move) -> tuple[float, float]:
    """Give a slot a new distance and, where it is time, move the base and the scale.

    Returns
    -------
    (shift, held): how far the distances were moved in common, and the largest weight of the slots that were rounded.
    """
    s = move.s
    lowers = move.drop > 0.0 and smallest_weight(codes) < edge_of(move.far, s)
    if not (lowers or move.value < 0.0 or move.grown != s):
        code, held = rounded_weight(s / (s + move.value), codes.width, codes.inverse, unit(move.draw))
        put_code(codes.row, codes.at, codes.width, move.slot, code)
        note_weight(codes.notes, move.slot, held)
        return 0.0, held
    return move_base(codes, move)


@kernel
def move_base(codes: Codes, move: Move) -> tuple[float, float]:
    """The same, where it is time: the least distance becomes ``GUARD * grown``, but for its rounding."""
    edge = edge_of(move.far, move.s)
    near = 0.0
    beyond = 0.0
    least = math.inf
    for j in range(codes.n):
        w = weight_of(codes, j)
        if j == move.slot:
            least = move.value - (move.drop if w < edge else 0.0)
        elif w < edge:
            beyond = max(beyond, w)
        else:
            near = max(near, w)
    if near > 0.0:
        least = min(least, distance_of(near, move.s))
    if beyond > 0.0:
        least = min(least, distance_of(beyond, move.s) - move.drop)
    shift = GUARD * move.grown - least
    return shift, _rounded_anew(codes, move, edge, shift)


@kernel
def too_high(most: float) -> bool:
    """Whether the least distance, that of the weight ``most``, is so large that the base must follow: 2 GUARD s."""
    return most < 1.0 / (1.0 + 2.0 * GUARD)


@kernel
def _rounded_anew(codes: Codes, move: Move, edge: float, shift: float) -> float:
    """Round every slot again, after moving it by ``shift``; each by a number of its own. The largest weight then.

    Slots whose weight was less than ``edge`` are lowered by ``drop``. As all codes change, in order, each word is put
    together and written once; by then the codes in it have been read.
    """
    s, grown, draw = move.s, move.grown, move.draw
    most = 0.0
    word = np.uint64(0)
    index = codes.at
    filled = 0
    for j in range(codes.n):
        w = weight_of(codes, j)
        moved = grown - s + shift - (move.drop if w < edge else 0.0)
        # The new weight is grown / (grown + new distance), and the old distance s / w - s.
        numerator = grown if j == move.slot else grown * w
        denominator = s + move.value + moved if j == move.slot else s + w * moved
        draw += _ODD
        code = 0
        held = 1.0
        if numerator < denominator:
            code, held = rounded_weight(numerator / denominator, codes.width, codes.inverse, unit(mix(draw)))
        word = word | (np.uint64(code) << np.uint64(filled))
        filled += codes.width
        if filled >= 64:
            put_bits(codes.row, index, word)
            index += 1
            filled -= 64
            word = np.uint64(code) >> np.uint64(codes.width - filled)
        note_weight(codes.notes, j, held)
        most = max(most, held)
    if filled > 0:
        put_bits(codes.row, index, word)
    return most


@kernel
def largest_weight(codes: Codes) -> float:
    """The weight of the slot of least loss."""
    most = 0.0
    for j in range(codes.n):
        most = max(most, weight_of(codes, j))
    return most


@kernel
def smallest_weight(codes: Codes) -> float:
    """The weight of the slot of largest loss."""
    least = 1.0
    for j in range(codes.n):
        least = min(least, weight_of(codes, j))
    return least


@kernel
def seed_sound(seed: float) -> bool:
    """Whether a number is one that :func:`rounding_seed` can give."""
    return 0.0 <= seed < 9007199254740992.0 and float(int(seed)) == seed
