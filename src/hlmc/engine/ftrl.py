"""Follow the regularised leader with 1/2-Tsallis entropy: p_j = 4 / (eta (L_j - x))^2 with sum 1.

Adding a constant to all losses changes nothing, so n losses are kept as n - 1 differences to the loss of slot 0, which
is 0 by definition and takes no word.

**The normaliser x.** With r_j = scale / (L_j - x), scale = 2 / eta and S_k = sum r_j^k, the probabilities sum to S_2.
The function solved is not S_2(x) = 1 but S_2(x)^(-1/2) = 1: a straight line where one probability outweighs the others,
and where all are equal. It falls and is concave left of the least loss, because S_2 S_4 >= S_3^2. So Newton's method,

    z = S_2 (1 - sqrt(S_2)) / S_3,    x + scale z,

leads from the right of the root towards it and stays on the right. From the left one step leads to the right side or
past the point where the least loss alone has probability 1, which is then taken instead (:func:`normaliser`).

**The last step** is one of third order, x + scale (z - B z^2) with B = 3/2 (S_4 / S_3 - S_3 / S_2), taken where
|z| < NEAR. It needs no check: what it leaves out is 2 B^2 - C times z^3, C = 2 S_5 / S_3 - 9/2 S_4 / S_2 + 5/2 (S_3 /
S_2)^2, of order 1 because no r exceeds 1 by more than a little, and a step of z^3 changes the sum by 2 S_3 z^3.

**After an update** (:func:`ftrl_update`) two passes over the losses are enough. The first is made at the old x, before
the reward is known; what the slot played then adds or takes away is exact, so that one step of third order from there
predicts x. The second pass is made at the prediction, while the losses are written, and the last step follows. Where
the prediction was too far off, :func:`normaliser` goes on from it.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.arithmetic import divide
from hlmc.engine.kernel import kernel

Array = np.ndarray

STEPS = 64  # never reached: Newton's method at least halves the excess until it is quadratic
NEAR = 2e-5  # a step of so small a part of the scale
APART = 1e-15  # a relative difference that a word can still tell
PAD = 1e55  # a loss whose probability no sum notices, and of which not even the square underflows
LEAST = 1e-80  # no probability is stated below this, so that 2^53 losses over their probabilities stay below MOST
NOWHERE = math.inf
MOST = 1e100  # a loss, with which every probability is still a positive float64
SINGLE = {"NEAR": 1e-2, "PAD": 1e15, "APART": 1e-6, "LEAST": 1e-18}


@kernel
def loss_of(row: Array, at: int, slot: int) -> float:
    """The loss of a slot less that of slot 0."""
    return row[at + slot - 1] if slot > 0 else 0.0


@kernel
def probability_of(loss: float, x: float, eta: float) -> float:
    """The probability of a loss: 4 / (eta (loss - x))^2."""
    root = 2.0 / (eta * (loss - x))
    return root * root


@kernel
def padded_loss(row: Array, at: int, n: int, slot: int) -> float:
    """The loss of a slot less that of slot 0; of a slot past the last, more than any loss counts."""
    return loss_of(row, at, slot) if slot < n else PAD


@kernel
def four_chances(row: Array, at: int, n: int, slot: int, x: float, scale: float) -> tuple[float, float, float, float]:
    """The probabilities of four slots, from ``slot`` on, of which some may be past the last. ``scale`` is 2 / eta."""
    r0 = divide(scale, padded_loss(row, at, n, slot) - x)
    r1 = divide(scale, padded_loss(row, at, n, slot + 1) - x)
    r2 = divide(scale, padded_loss(row, at, n, slot + 2) - x)
    r3 = divide(scale, padded_loss(row, at, n, slot + 3) - x)
    return r0 * r0, r1 * r1, r2 * r2, r3 * r3


@kernel
def distance_of(row: Array, at: int, n: int, slot: int, x: float, far: float, behind: float) -> float:
    """How far right of x the loss of a slot is; beyond ``far``, less what it is ``behind``."""
    distance = padded_loss(row, at, n, slot) - x
    return distance if distance <= far else distance - behind


@kernel
def power_sums(
    row: Array, at: int, n: int, x: float, scale: float, far: float, behind: float
) -> tuple[float, float, float, float]:
    """S_2, S_3 and S_4, and the least distance from x to a loss. Distances above ``far`` count as less by ``behind``.

    The sums are taken in four lanes, as a processor takes them: slots 0 and those left over first, then slots 1 to 4,
    5 to 8 and so on. Last digits depend on the order.
    """
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    a3 = 0.0
    b0 = 0.0
    b1 = 0.0
    b2 = 0.0
    b3 = 0.0
    c0 = 0.0
    c1 = 0.0
    c2 = 0.0
    c3 = 0.0
    least = PAD
    fours = (n - 1) // 4
    first = 0
    slot = 4 * fours + 1
    for four in range(fours + 1):
        d0 = distance_of(row, at, n, first, x, far, behind)
        d1 = distance_of(row, at, n, slot, x, far, behind)
        d2 = distance_of(row, at, n, slot + 1, x, far, behind)
        d3 = distance_of(row, at, n, slot + 2, x, far, behind)
        least = min(min(min(d0, d1), min(d2, d3)), least)
        r0, r1, r2, r3 = divide(scale, d0), divide(scale, d1), divide(scale, d2), divide(scale, d3)
        p0, p1, p2, p3 = r0 * r0, r1 * r1, r2 * r2, r3 * r3
        a0, a1, a2, a3 = a0 + p0, a1 + p1, a2 + p2, a3 + p3
        b0, b1, b2, b3 = b0 + p0 * r0, b1 + p1 * r1, b2 + p2 * r2, b3 + p3 * r3
        c0, c1, c2, c3 = c0 + p0 * p0, c1 + p1 * p1, c2 + p2 * p2, c3 + p3 * p3
        first = 4 * four + 1
        slot = first + 1
    return (a0 + a2) + (a1 + a3), (b0 + b2) + (b1 + b3), (c0 + c2) + (c1 + c3), least


@kernel
def normaliser(row: Array, at: int, n: int, eta: float, x: float) -> float:
    """The x for which the probabilities sum to 1, from a guess on either side of it."""
    least = 0.0
    for j in range(at, at + n - 1):
        least = min(least, row[j])
    # Losses so large that a word cannot tell the root from the least of them must not lead to a division by 0.
    scale = 2.0 / eta
    right = min(least - scale, least + APART * least)
    x = x if x < right else right
    for _ in range(STEPS):
        squares, cubes, fourths, least = power_sums(row, at, n, x, scale, NOWHERE, 0.0)
        step = squares * (1.0 - math.sqrt(squares)) / cubes
        close = abs(step) < NEAR
        if close:
            step -= 1.5 * step * step * (fourths / cubes - cubes / squares)
        moved = x + scale * step
        moved = moved if moved < right else right
        if close or moved == x:
            return moved
        x = moved
    return x


@kernel
def newton(excess: float) -> float:
    """S (1 - sqrt(S)) for S = 1 + excess, by its series: the root would take longer than all the rest of a step.

    Off by less than |excess|^7 / 50.
    """
    e2 = excess * excess
    low = -0.5 - 0.375 * excess
    high = (0.0625 - 0.0234375 * excess) + e2 * (0.01171875 - 0.0068359375 * excess)
    return excess * (low + e2 * high)


@kernel
def ftrl_update(
    row: Array,
    at: int,
    n: int,
    drawn: float,
    x: float,
    slot: int,
    chance: float,
    loss: float,
    baseline: float,
    scale: float,
) -> float:
    """Learn a loss (:func:`ftrl_learn`); the normaliser for the losses then and the ``scale`` of the next choice.

    ``x`` is the normaliser for the losses before and ``drawn``, the scale with which the slot was drawn. A scale is
    2 / eta.
    """
    far, own, above, zero = estimates(row, at, drawn, x, slot, chance, loss, baseline)
    # At the new rate and at x moved by the baseline, as if no slot had lost more than that.
    squares, cubes, fourths, least = power_sums(row, at, n, x, scale, far, baseline)
    before = loss_of(row, at, slot) - x - (baseline - own)
    after = before + above
    old = divide(scale, before)
    old2 = old * old
    new = divide(scale, after)
    new2 = new * new
    excess = (squares - 1.0 - old2) + new2
    cubes = (cubes - old2 * old) + new2 * new
    fourths = (fourths - old2 * old2) + new2 * new2
    inverse = divide(1.0, cubes)
    step = newton(excess) * inverse
    step -= 1.5 * (step * step) * (fourths * inverse - cubes * (1.0 - excess + excess * excess))
    # A loss below the baseline, estimated from a small chance, can make the slot played the one that decides.
    predicted = (x + baseline - zero) + min(scale * step, after - scale)
    squares, cubes, fourths, least = learned_sums(row, at, n, predicted, scale, x + far, baseline, zero, slot, above)
    inverse = divide(1.0, cubes)
    excess = squares - 1.0
    step = newton(excess) * inverse
    if abs(step) < NEAR and least > 0.9 * scale:
        return predicted + scale * (step - 1.5 * (step * step) * (fourths * inverse - cubes))
    return normaliser(row, at, n, 2.0 / scale, predicted)


@kernel
def ftrl_draw(row: Array, at: int, n: int, scale: float, x: float, u: float) -> tuple[int, float]:
    """A slot, and its probability. Rounding can draw the last slot, however small its probability is."""
    root = divide(scale, -x)
    p = root * root
    if u < p:
        return 0, max(p, LEAST)
    u -= p
    slot = 1
    p0 = 0.0
    p01 = 0.0
    p02 = 0.0
    for first in range(1, n, 4):
        slot = first
        p0, p1, p2, p3 = four_chances(row, at, n, first, x, scale)
        p01 = p0 + p1
        p02 = p01 + p2
        if u < p02 + p3 or first + 4 >= n:
            break
        u -= p02 + p3
    # Counting the partial sums that u has passed takes no branch that could be mispredicted.
    slot = min(slot + (u >= p0) + (u >= p01) + (u >= p02), n - 1)
    root = divide(scale, row[at + slot - 1] - x)
    return slot, max(root * root, LEAST)


@kernel
def ftrl_sound(row: Array, at: int, n: int, eta: float, x: float, chance: float) -> bool:
    """Whether every slot has a positive probability, none of much more than 1, and none so small that a loss over it,
    or over the ``chance`` of a choice that is not yet learned from, leads beyond :data:`MOST`.

    Where the probabilities sum to 1, the largest is from 1/n to 1: x lies from 2 sqrt(n) / eta to 2 / eta below the
    least loss; or, where :func:`normaliser` has met losses too large to tell, by a small part of the loss.
    """
    least = 0.0
    for j in range(at, at + n - 1):
        if abs(row[j]) > MOST:
            return False
        least = min(least, row[j])
    below = least - x
    return 1.5 / eta <= below <= 2.2 * math.sqrt(float(n)) / eta + 1e-5 * abs(least) and chance >= 0.5 * LEAST


@kernel
def ftrl_change(row: Array, at: int, n: int, m: int, slot: int, eta: float, x: float) -> float:
    """Make m of n losses (``change`` of :class:`hlmc.engine.routines.RoutineKernels`); the normaliser then.

    A fresh loss is the one whose probability is 1/m.
    """
    if n < 2:
        for j in range(at, at + m - 1):
            row[j] = 0.0
        return -2.0 * math.sqrt(float(m)) / eta
    if m > n:
        return _ftrl_join(row, at, n, m, eta, x)
    if slot < 0:
        slot = -1 - slot
        if probability_of(loss_of(row, at, slot), x, eta) * float(n) >= 1.0:
            return x
    x = _ftrl_leave(row, at, n, slot, eta, x)
    if m < n:
        return x
    # What is fresh has joined as the last one, whose loss is in ``slot``: they change places.
    x = _ftrl_join(row, at, n - 1, n, eta, x)
    fresh: float = row[at + n - 2]
    if slot == 0:
        for j in range(at, at + n - 2):
            row[j] -= fresh
        row[at + n - 2] = -fresh
        return x - fresh
    row[at + n - 2] = row[at + slot - 1]
    row[at + slot - 1] = fresh
    return x


@kernel
def _ftrl_join(row: Array, at: int, n: int, m: int, eta: float, x: float) -> float:
    """Put fresh losses behind the n that there are, up to m, each of probability 1/m; the normaliser then.

    The n others are left a sum of n/m. Their probabilities with learning rate eta sqrt(n/m) are m/n times as large, so
    that normaliser is the one for them, and 2 sqrt(m) / eta above it lies the loss of probability 1/m.
    """
    x = normaliser(row, at, n, eta * math.sqrt(float(n) / float(m)), x)
    fresh = x + 2.0 * math.sqrt(float(m)) / eta
    for j in range(at + n - 1, at + m - 1):
        row[j] = fresh
    return x


@kernel
def _ftrl_leave(row: Array, at: int, n: int, slot: int, eta: float, x: float) -> float:
    """Give the last of n losses the place of ``slot``; the normaliser of the n - 1 that are left."""
    last: float = row[at + n - 2]
    if slot == 0:
        for j in range(at, at + n - 2):
            row[j] -= last
        x -= last
    elif slot < n - 1:
        row[at + slot - 1] = last
    return normaliser(row, at, n - 1, eta, x)


@kernel
def ftrl_leader(row: Array, at: int, n: int) -> int:
    """The slot of least loss; of several, the first."""
    slot = 0
    least = 0.0
    for j in range(1, n):
        if row[at + j - 1] < least:
            least = row[at + j - 1]
            slot = j
    return slot


@kernel
def estimates(
    row: Array, at: int, scale: float, x: float, slot: int, chance: float, loss: float, baseline: float
) -> tuple[float, float, float, float]:
    """What a loss says of all: (the distance up to which p >= eta^2; the baseline, if the slot played is within it;
    what was estimated above it; what slot 0 has lost).
    """
    far = 0.5 * scale * scale
    own = baseline if loss_of(row, at, slot) - x <= far else 0.0
    above = (loss - own) * divide(1.0, chance)
    zero = baseline if -x <= far else 0.0
    return far, own, above, zero + above if slot == 0 else zero


@kernel
def add_losses(row: Array, at: int, n: int, near: float, baseline: float, zero: float, slot: int, above: float) -> None:
    """Add the baseline to the losses up to ``near`` and ``above`` to that of a slot, less what slot 0 has lost."""
    for k in range(at, at + n - 1):
        row[k] += (baseline if row[k] <= near else 0.0) - zero
    if slot > 0:
        row[at + slot - 1] += above


@kernel
def learned_sums(
    row: Array,
    at: int,
    n: int,
    x: float,
    scale: float,
    near: float,
    baseline: float,
    zero: float,
    slot: int,
    above: float,
) -> tuple[float, float, float, float]:
    """:func:`add_losses`, and then :func:`power_sums` of the losses."""
    add_losses(row, at, n, near, baseline, zero, slot, above)
    return power_sums(row, at, n, x, scale, NOWHERE, 0.0)


@kernel
def ftrl_learn(
    row: Array,
    at: int,
    n: int,
    eta: float,
    x: float,
    slot: int,
    chance: float,
    loss: float,
    baseline: float,
) -> None:
    """Add every slot's estimated loss: the baseline where p >= eta^2, and for the slot played, what was above it."""
    far, _, above, zero = estimates(row, at, 2.0 / eta, x, slot, chance, loss, baseline)
    add_losses(row, at, n, x + far, baseline, zero, slot, above)
