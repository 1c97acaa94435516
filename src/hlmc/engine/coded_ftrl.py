"""Follow the regularised leader with 1/2-Tsallis entropy on coded losses (:mod:`hlmc.engine.codes`).

The formulas are those of :mod:`hlmc.engine.ftrl`, with distances to a moving base in place of differences to slot 0.
In terms of a slot's weight w, its distance is A = s / w - s, and

    sqrt(p) = (2 / eta) / (A - x) = (2 / (eta s)) w / (1 - (1 + x / s) w):

one division for a slot, as with 64 bits.
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
    too_high,
    weight_of,
)
from hlmc.engine.ftrl import LEAST, STEPS
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, WIDTH
from hlmc.engine.stream import mix, unit

Array = np.ndarray

CLOSE = 1e-8  # probabilities whose sum is within the square root of this, over n, of 1 take one step more and are done

SELDOM = 16.0
"""Slots of small probability are lowered once in 1 / (SELDOM eta^2) steps, at random, for as many steps at once.

Their estimated losses have a variance of at least 1 / eta^2 a step; this adds a quarter of 1 / (SELDOM eta^2).
"""


@kernel
def coded_draw(
    program: Array, level: int, row: Array, at: int, n: int, s: float, eta: float, x: float, u: float
) -> tuple[int, float]:
    """A slot, and its probability. Rounding can draw the last slot, however small its probability is."""
    width = int(program[level + WIDTH])
    inverse = program[level + INVERSE]
    c = 2.0 / (eta * s)
    d = 1.0 + x / s
    slot = 0
    w = weight_of(row, at, width, inverse, 0)
    root = c * w / (1.0 - d * w)
    p = root * root
    u -= p
    while u >= 0.0 and slot < n - 1:
        slot += 1
        w = weight_of(row, at, width, inverse, slot)
        root = c * w / (1.0 - d * w)
        p = root * root
        u -= p
    return slot, max(p, LEAST)


@kernel
def coded_normaliser(
    program: Array, level: int, row: Array, at: int, n: int, s: float, eta: float, x: float
) -> tuple[float, float]:
    """The x for which the probabilities sum to 1, from a guess below every distance; and the largest weight."""
    width = int(program[level + WIDTH])
    inverse = program[level + INVERSE]
    scale = 2.0 / eta
    c = scale / s
    most = 0.0
    for _ in range(STEPS):
        d = 1.0 + x / s
        total = 0.0
        slope = 0.0
        most = 0.0
        for j in range(n):
            w = weight_of(row, at, width, inverse, j)
            most = max(most, w)
            root = c * w / (1.0 - d * w)
            p = root * root
            total += p
            slope += p * root
        excess = total - 1.0
        # Where the least loss alone has probability 1: no root lies further to the right.
        right = distance_of(most, s) - scale
        moved = min(x - excess / (eta * slope), right)
        if float(n) * excess * excess < CLOSE or moved == x:
            return moved, most
        x = moved
    return x, most


@kernel
def coded_learn(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    s: float,
    grown: float,
    eta: float,
    following: float,
    x: float,
    slot: int,
    chance: float,
    loss: float,
    baseline: float,
    draw: np.uint64,
) -> float:
    """Learn a loss; the normaliser for the next choice.

    The estimates are those of :func:`hlmc.engine.ftrl.ftrl_learn`, less the baseline for every slot: (loss - baseline)
    over the probability for the slot played if its probability is at least eta^2, else loss over the probability;
    and slots of less than that probability are lowered by the baseline at every step, here by many times the baseline
    at a few steps.

    Parameters
    ----------
    s, grown
        The scale of the codes, and that of the next choice.
    eta, following
        The learning rate of this choice and of the next one, which is not larger.
    draw
        64 random bits.
    """
    width = int(program[level + WIDTH])
    inverse = program[level + INVERSE]
    scale = 2.0 / eta
    far = x + 2.0 / (eta * eta)  # beyond it, p < eta^2
    before = distance_of(weight_of(row, at, width, inverse, slot), s)
    own = baseline if before <= far else 0.0
    value = before + (loss - own) / chance
    drop = 0.0
    if baseline > 0.0:
        batch = max(1.0, 1.0 / (SELDOM * eta * eta))
        if unit(mix(draw)) * batch < 1.0:
            drop = batch * baseline
    shift, least = move_slot(row, at, n, width, inverse, s, grown, slot, value, far, drop, draw)
    # Every slot is at a distance of at least x + scale, or has been rounded: so this guess is below all distances.
    behind = 2.0 / following
    x = min(x + shift + scale - behind, least - behind)
    x, most = coded_normaliser(program, level, row, at, n, grown, following, x)
    if too_high(most, grown):
        shift, least = move_base(row, at, n, width, inverse, grown, grown, -1, 0.0, 0.0, 0.0, mix(draw))
        x = min(x + shift, least - behind)
        x, most = coded_normaliser(program, level, row, at, n, grown, following, x)
    return x


@kernel
def coded_sound(
    program: Array, level: int, row: Array, at: int, n: int, s: float, eta: float, x: float, chance: float
) -> bool:
    """Whether the kernels above can go on from words from outside.

    Every pattern of bits is a code, and no distance exceeds s M^2. The largest weight is not so small that the
    difference of the least distance and x, which must be what a normaliser leaves, is lost in rounding; so no slot is
    divided by 0. A loss over its chance, or over one that comes next, is finite.
    """
    most = largest_weight(row, at, n, int(program[level + WIDTH]), program[level + INVERSE])
    below = distance_of(most, s) - x
    return most >= FARTHEST and 1.5 / eta <= below <= 2.2 * math.sqrt(float(n)) / eta and chance >= 0.5 * LEAST
