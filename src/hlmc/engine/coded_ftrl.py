"""Follow the regularised leader with 1/2-Tsallis entropy on coded losses (:mod:`hlmc.engine.codes`).

The formulas are those of :mod:`hlmc.engine.ftrl`, with distances to a moving base in place of differences to slot 0.
In terms of a slot's weight w, its distance is A = s / w - s, and

    sqrt(p) = (2 / eta) / (A - x) = (2 / (eta s)) w / (1 - (1 + x / s) w):

one division for a slot, as with 64 bits. The x that is kept is a prediction (:func:`coded_settled_sums`).
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.codes import (
    FARTHEST,
    distance_of,
    largest_weight,
    move_base,
    move_slot,
    noted_weight,
    too_high,
    weight_of,
)
from hlmc.engine.codes import NOTED as NOTED_WEIGHTS
from hlmc.engine.ftrl import LEAST, LONGEST, NEAR, STEPS, close_to_one, newton
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.records import Codes, Move, Rates, Sums
from hlmc.engine.stream import mix, unit

Array = np.ndarray

SELDOM = 16.0
"""Slots of small probability are lowered once in 1 / (SELDOM eta^2) steps, at random, for as many steps at once.

Their estimated losses have a variance of at least 1 / eta^2 a step; this adds a quarter of 1 / (SELDOM eta^2).
"""


@kernel
def in_scales(x: float, s: float) -> float:
    """x / s."""
    return x / s


@kernel
def in_powers(x: float, s: float) -> float:
    """The same if s is a power of 2. A step waits for x, but 1 / s is known before it."""
    return x * (1.0 / s)


@kernel
def padded_weight(codes: Codes, slot: int) -> float:
    """The weight of a slot; of a slot past the last, 0."""
    return weight_of(codes, slot) if slot < codes.n else 0.0


@kernel
def chances_of(codes: Codes, slot: int, c: float, d: float) -> tuple[float, float, float, float]:
    """The probabilities of four slots, from ``slot`` on, of which some may be past the last."""
    w0 = weight_of(codes, slot)
    w1 = padded_weight(codes, slot + 1)
    w2 = padded_weight(codes, slot + 2)
    w3 = padded_weight(codes, slot + 3)
    r0, r1 = c * w0 / (1.0 - d * w0), c * w1 / (1.0 - d * w1)
    r2, r3 = c * w2 / (1.0 - d * w2), c * w3 / (1.0 - d * w3)
    return r0 * r0, r1 * r1, r2 * r2, r3 * r3


@kernel
def chance_of(codes: Codes, slot: int, c: float, d: float) -> float:
    """The probability of a slot."""
    w = weight_of(codes, slot)
    root = c * w / (1.0 - d * w)
    return root * root


@kernel
def note_chances(notes: Array, n: int, slot: int, p0: float, p1: float, p2: float, p3: float) -> None:
    """Hook: note the probabilities of four slots for the draw. Default: there are no notes."""


@kernel
def _note_chances(notes: Array, n: int, slot: int, p0: float, p1: float, p2: float, p3: float) -> None:
    """Behind the n weights; a slot past the last has 0."""
    k = n + slot
    notes[k] = p0
    notes[k + 1] = p1
    notes[k + 2] = p2
    notes[k + 3] = p3


@kernel
def noted_chances(codes: Codes, slot: int, c: float, d: float) -> tuple[float, float, float, float]:
    """:func:`chances_of` from the notes, without a division."""
    k = codes.n + slot
    return codes.notes[k], codes.notes[k + 1], codes.notes[k + 2], codes.notes[k + 3]


@kernel
def noted_chance(codes: Codes, slot: int, c: float, d: float) -> float:
    """:func:`chance_of` from the notes."""
    return float(codes.notes[codes.n + slot])


@kernel
def coded_draw(codes: Codes, now: Rates, sums: Sums, u: float) -> tuple[int, float]:
    """A slot, and its probability; ``sums`` is what :func:`coded_settled_sums` said.

    Rounding can draw the last slot, however small its probability is.
    """
    c = 2.0 / now.eta / now.scale  # as there, so that the probabilities are those that it may have noted
    d = 1.0 + in_scales(sums.x, now.scale)
    u *= sums.squares
    part = 1.0 / sums.squares
    slot = 0
    p0, p1, p2, p3 = chances_of(codes, 0, c, d)
    p01 = p0 + p1
    p02 = p01 + p2
    while u >= p02 + p3 and slot + 4 < codes.n:
        u -= p02 + p3
        slot += 4
        p0, p1, p2, p3 = chances_of(codes, slot, c, d)
        p01 = p0 + p1
        p02 = p01 + p2
    # Counting the partial sums that u has passed takes no branch that could be mispredicted.
    slot = min(slot + (u >= p0) + (u >= p01) + (u >= p02), codes.n - 1)
    return slot, max(chance_of(codes, slot, c, d) * part, LEAST)


@kernel
def weight_sums(codes: Codes, c: float, d: float) -> tuple[float, float, float]:
    """The sums of the squares and cubes of r = c w / (1 - d w), and the largest w.

    In four lanes, as a processor takes them; last digits depend on the order.
    """
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    a3 = 0.0
    b0 = 0.0
    b1 = 0.0
    b2 = 0.0
    b3 = 0.0
    m0 = 0.0
    m1 = 0.0
    m2 = 0.0
    m3 = 0.0
    for four in range((codes.n + 3) // 4):
        slot = 4 * four
        w0 = weight_of(codes, slot)
        w1 = padded_weight(codes, slot + 1)
        w2 = padded_weight(codes, slot + 2)
        w3 = padded_weight(codes, slot + 3)
        m0, m1, m2, m3 = max(m0, w0), max(m1, w1), max(m2, w2), max(m3, w3)
        r0, r1 = c * w0 / (1.0 - d * w0), c * w1 / (1.0 - d * w1)
        r2, r3 = c * w2 / (1.0 - d * w2), c * w3 / (1.0 - d * w3)
        p0, p1, p2, p3 = r0 * r0, r1 * r1, r2 * r2, r3 * r3
        note_chances(codes.notes, codes.n, slot, p0, p1, p2, p3)
        a0, a1, a2, a3 = a0 + p0, a1 + p1, a2 + p2, a3 + p3
        b0, b1, b2, b3 = b0 + p0 * r0, b1 + p1 * r1, b2 + p2 * r2, b3 + p3 * r3
    most = max(max(m0, m1), max(m2, m3))
    return (a0 + a2) + (a1 + a3), (b0 + b2) + (b1 + b3), most


@kernel
def noted_sums(codes: Codes, c: float, d: float) -> tuple[float, float, float]:
    """The same from the notes: a kernel of its own, so that a target can take four slots at a time."""
    return _noted_sums(codes, c, d)  # type: ignore[no-any-return]


_noted_sums = substitute(weight_sums, {weight_of: noted_weight, note_chances: _note_chances})

NOTED_DRAW: dict[Kernel, Kernel] = {chances_of: noted_chances, chance_of: noted_chance, weight_sums: noted_sums}
NOTED: dict[Kernel, Kernel] = {**NOTED_WEIGHTS, weight_sums: noted_sums}
"""What stands for other kernels in a draw and in an update where there are notes."""

PER_SLOT = 3
"""Notes of a slot: its weight, its probability, and one for the slots that make the last four complete (n >= 2)."""


@kernel
def coded_normaliser(codes: Codes, now: Rates, x: float) -> tuple[float, float]:
    """The x for which the probabilities sum to 1, from a guess below every distance; and the largest weight.

    The method is that of :mod:`hlmc.engine.ftrl`: Newton's on the sum to the power -1/2.
    """
    s = now.scale
    scale = 2.0 / now.eta
    c = scale / s
    most = 0.0
    for _ in range(STEPS):
        squares, cubes, most = weight_sums(codes, c, 1.0 + x / s)
        step = squares * (1.0 - math.sqrt(squares)) / cubes
        # Where the least loss alone has probability 1: no root lies further to the right.
        moved = min(x + scale * step, distance_of(most, s) - scale)
        if abs(step) < NEAR or moved == x:
            return moved, most
        x = moved
    return x, most


@kernel
def coded_settled_sums(codes: Codes, now: Rates, x: float) -> Sums:
    """An x at which the probabilities sum to 1, or nearly so, from the one that is kept; the sums there; and the
    largest weight (:func:`hlmc.engine.ftrl.settled_sums`).
    """
    s = now.scale
    scale = 2.0 / now.eta
    c = scale / s
    squares, cubes, most = weight_sums(codes, c, 1.0 + in_scales(x, s))
    if not close_to_one(squares, scale, x):
        x, most = coded_normaliser(codes, now, min(x, distance_of(most, s) - scale))
        squares, cubes, most = weight_sums(codes, c, 1.0 + in_scales(x, s))
    return Sums(x, squares, cubes, most)


@kernel
def coded_learn(
    codes: Codes,
    sums: Sums,
    now: Rates,
    then: Rates,
    slot: int,
    chance: float,
    loss: float,
    baseline: float,
    draw: np.uint64,
) -> float:
    """Learn a loss; predict the normaliser for the next choice.

    The estimates are those of :func:`hlmc.engine.ftrl.estimates`, less the baseline for every slot: (loss - baseline)
    over the probability for the slot played if its probability is at least eta^2, else loss over the probability;
    and slots of less than that probability are lowered by the baseline at every step, here by many times the baseline
    at a few steps.

    Parameters
    ----------
    sums
        What :func:`coded_settled_sums` said before this choice.
    now, then
        The rates of this choice, and those of the next one, whose learning rate is not larger.
    draw
        64 random bits.
    """
    x, s, grown = sums.x, now.scale, then.scale
    scale = 2.0 / now.eta
    far = x + 2.0 / (now.eta * now.eta)  # beyond it, p < eta^2
    w = weight_of(codes, slot)
    before = distance_of(w, s)
    own = baseline if before <= far else 0.0
    value = before + (loss - own) / chance
    drop = 0.0
    if baseline > 0.0:
        batch = max(1.0, 1.0 / (SELDOM * now.eta * now.eta))
        if unit(mix(draw)) * batch < 1.0:
            drop = batch * baseline
    shift, held = move_slot(codes, Move(s, grown, slot, value, far, drop, draw))
    behind = 2.0 / then.eta
    root = scale / (before - x)
    square = root * root
    cube = square * root
    # The least loss can only have risen if it was that of the slot played.
    rises = shift == 0.0 and w >= sums.rest and too_high(held)
    if rises:
        rises = too_high(largest_weight(codes))
    if shift == 0.0 and not rises:
        # Only the slot played has moved: it is taken out of the sums and put in again, at s / held - s.
        span = behind * held
        after = s - (s + x) * held  # its new distance to x, times its weight
        new = span / max(after, 0.5 * span)
        ratio = behind / scale
        excess = ((sums.squares - square) * (ratio * ratio) - 1.0) + new * new
        step = newton(excess) / ((sums.cubes - cube) * (ratio * ratio * ratio) + new * new * new)
        if after >= 0.9 * span and abs(step) <= LONGEST:
            return x + behind * step
    # The guess: where x would be if the other slots were one. It must be below all distances: other slots than the one
    # played have a probability of at most 1 - p, so that their distances are at least x + scale / sqrt(1 - p); or they
    # have been rounded, and the least of them is that of ``held``.
    others = max(1.0 - square, 1e-6)
    moved = (value - before) * cube / (cube + others * math.sqrt(others))
    within = scale / math.sqrt(others) if shift == 0.0 else scale
    x = min(min(x + moved, x + within - behind) + shift, distance_of(held, grown) - behind)
    if rises:
        shift, held = move_base(codes, Move(grown, grown, -1, 0.0, 0.0, 0.0, mix(draw)))
        x = min(x + shift, distance_of(held, grown) - behind)
    x, _ = coded_normaliser(codes, then, x)
    return x


@kernel
def coded_sound(codes: Codes, now: Rates, x: float, chance: float) -> bool:
    """Whether the kernels above can go on from words from outside.

    Every pattern of bits is a code, and no distance exceeds s M^2. The largest weight is not so small that the
    difference of the least distance and x, which must be what a normaliser leaves, is lost in rounding; so no slot is
    divided by 0. A loss over its chance, or over one that comes next, is finite.
    """
    most = largest_weight(codes)
    below = distance_of(most, now.scale) - x
    highest = 2.2 * math.sqrt(float(codes.n)) / now.eta
    return most >= FARTHEST and 1.5 / now.eta <= below <= highest and chance >= 0.5 * LEAST
