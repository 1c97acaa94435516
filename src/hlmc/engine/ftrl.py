"""Follow the regularised leader with 1/2-Tsallis entropy: p_j = 4 / (eta (L_j - x))^2 with sum 1.

Adding a constant to all losses changes nothing, so n losses are kept as n - 1 differences to the loss of slot 0, which
is 0 by definition and takes no word.

**The normaliser x.** With r_j = scale / (L_j - x), scale = 2 / eta and S_k = sum r_j^k, the probabilities sum to S_2.
The function solved is not S_2(x) = 1 but S_2(x)^(-1/2) = 1: a straight line where one probability outweighs the others,
and where all are equal. It falls and is concave left of the least loss, because S_2 S_4 >= S_3^2. So Newton's method,

    z = S_2 (1 - sqrt(S_2)) / S_3,    x + scale z,

leads from the right of the root towards it and stays on the right. From the left one step leads to the right side or
past the point where the least loss alone has probability 1, which is then taken instead (:func:`normaliser`).

**A step makes one pass over the losses.** The x that is kept is a prediction. Where probabilities are needed
(:func:`settled_sums`), the sums are taken at this x. If S_2 is 1 but for a tenth of eta^2, slot j is drawn with
probability r_j^2 / S_2. This is exactly the distribution for the losses at the learning rate eta sqrt(S_2), and
estimates divide by exactly these probabilities; research/champion.md has what it adds to the regret. Where the
prediction is not as good as that, :func:`normaliser` goes on from it.

**After an update** (:func:`ftrl_update`) the same sums predict the next x in one step of Newton's method, without
another look at the losses: the slot played is taken out and put in again at its new loss; the scale of the next choice
multiplies S_k by the k-th power of a quotient; and the slots beyond those that the baseline counts for, which come
nearer by it, are dealt with to first order.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.arithmetic import divide
from hlmc.engine.kernel import kernel
from hlmc.engine.records import Sums

Array = np.ndarray

LONGEST = 0.25  # a predicted step is relied on if it is no larger a part of the scale
LOST = 0.1  # nor is one where a word holds x no better than to this part of the scale
STEPS = 64  # never reached: Newton's method at least halves the excess until it is quadratic
NEAR = 1e-7  # after a step of so small a part of the scale the sum is 1 but for rounding
OFF = 0.4  # what is drawn from sums to 1 but for OFF / scale^2, a tenth of the learning rate's square,
ROUNDING = 1e-12  # or this where it is more,
MOST_OFF = 0.05  # and never more than this
APART = 1e-15  # a relative difference that a word can still tell
PAD = 1e55  # a loss whose probability no sum notices, and of which not even the square underflows
LEAST = 1e-80  # no probability is stated below this, so that 2^53 losses over their probabilities stay below MOST
MOST = 1e100  # a loss, with which every probability is still a positive float64
SINGLE = {"NEAR": 1e-3, "PAD": 1e15, "APART": 1e-6, "LEAST": 1e-18, "ROUNDING": 2e-5}


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
def lane_sums(row: Array, at: int, n: int, lane: int, x: float, scale: float) -> tuple[float, float, float]:
    """What one of the four lanes of :func:`power_sums` adds up."""
    squares = 0.0
    cubes = 0.0
    beyond = 0.0
    far = 0.5 * scale * scale
    fours = (n - 1) // 4
    slot = 0 if lane == 0 else 4 * fours + lane
    for four in range(fours + 1):
        distance = padded_loss(row, at, n, slot) - x
        root = divide(scale, distance)
        square = root * root
        cube = square * root
        squares += square
        cubes += cube
        beyond += cube if distance > far else 0.0
        slot = 4 * four + 1 + lane
    return squares, cubes, beyond


@kernel
def power_sums(row: Array, at: int, n: int, x: float, scale: float) -> tuple[float, float, float]:
    """S_2 and S_3, and the part of S_3 that is of slots with p < eta^2; x is less than every loss.

    The sums are taken in four lanes, as a processor takes them: slots 0 and those left over first, then slots 1 to 4,
    5 to 8 and so on. Last digits depend on the order. Here one lane follows the other.
    """
    squares = 0.0
    cubes = 0.0
    beyond = 0.0
    for lane in range(2):
        s, c, b = lane_sums(row, at, n, lane, x, scale)
        s2, c2, b2 = lane_sums(row, at, n, lane + 2, x, scale)
        squares += s + s2
        cubes += c + c2
        beyond += b + b2
    return squares, cubes, beyond


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
        squares, cubes, _ = power_sums(row, at, n, x, scale)
        step = squares * (1.0 - math.sqrt(squares)) / cubes
        moved = min(x + scale * step, right)
        if abs(step) < NEAR or moved == x:
            return moved
        x = moved
    return x


@kernel
def close_to_one(squares: float, scale: float, x: float) -> bool:
    """Whether weights of this sum can be drawn from at this scale; a word holds x to a part of APART."""
    off = abs(squares - 1.0)
    held = ROUNDING + divide(APART * abs(x), scale)
    return off <= MOST_OFF and (off <= divide(OFF, scale * scale) or off <= held)


@kernel
def settled_sums(row: Array, at: int, n: int, scale: float, x: float) -> Sums:
    """An x at which the probabilities sum to 1, or nearly so, from the one that is kept; and the sums there.

    ``scale`` is 2 / eta. The x that is kept is less than every loss (:func:`ftrl_sound`); so where the sum is nearly 1,
    x is the right one.
    """
    squares = 1.0
    cubes = 1.0
    beyond = 0.0
    for attempt in range(STEPS):  # one or two: the second where the prediction was not good enough
        squares, cubes, beyond = power_sums(row, at, n, x, scale)
        if attempt > 0 or close_to_one(squares, scale, x):
            break
        x = normaliser(row, at, n, 2.0 / scale, x)
    return Sums(x, squares, cubes, beyond)


@kernel
def newton(excess: float) -> float:
    """S (1 - sqrt(S)) for S = 1 + excess, by its series: the root would take longer than all the rest of a step.

    Off by less than excess^4 / 30 for |excess| <= 1/2.
    """
    return excess * ((0.0625 * (excess * excess) - 0.5) - 0.375 * excess)


@kernel
def ftrl_update(
    row: Array,
    at: int,
    n: int,
    sums: Sums,
    drawn: float,
    slot: int,
    chance: float,
    loss: float,
    baseline: float,
    scale: float,
) -> float:
    """Add what a loss says of all (:func:`estimates`); predict the normaliser for the ``scale`` of the next choice.

    ``sums`` is what :func:`settled_sums` says of the losses before and of ``drawn``, the scale with which the slot was
    drawn. A scale is 2 / eta.
    """
    x = sums.x
    far, own, above, zero = estimates(row, at, drawn, x, slot, chance, loss, baseline)
    distance = loss_of(row, at, slot) - x
    # x moves by the baseline. Slots beyond ``far`` do not, so their distance shrinks, and r grows by a part rise * r.
    after = distance - (baseline - own) + above
    inverse = divide(1.0, drawn)
    rise = baseline * inverse
    grown = scale * inverse
    grown2 = grown * grown
    old = divide(drawn, distance)
    old2 = old * old
    old3 = old2 * old
    new = divide(scale, max(after, 0.5 * scale))
    new2 = new * new
    others = sums.squares - old2 + 2.0 * rise * (sums.rest - (old3 if distance > far else 0.0))
    excess = (others * grown2 - 1.0) + new2
    step = divide(newton(excess), (sums.cubes - old3) * (grown2 * grown) + new2 * new)
    add_losses(row, at, n, x + far, baseline, zero, slot, above)
    moved = x + baseline - zero
    if after >= 0.9 * scale and abs(step) <= LONGEST and rise <= 1.0 and APART * abs(moved) <= LOST * scale:
        return moved + scale * step
    # The first few steps; a loss below the baseline that a small chance makes a large gain; and a loss of slot 0 over a
    # chance so small that x, and the losses of the others, are rounded by more than their distance.
    return normaliser(row, at, n, 2.0 / scale, moved + min(scale * min(step, LONGEST), after - scale))


@kernel
def ftrl_draw(row: Array, at: int, n: int, scale: float, x: float, squares: float, u: float) -> tuple[int, float]:
    """A slot, and its probability; ``squares`` is S_2 at x. Rounding can draw the last slot, however small that is."""
    u *= squares
    part = divide(1.0, squares)
    root = divide(scale, -x)
    p = root * root
    slot = 0
    if u >= p:
        u -= p
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
        p = root * root
    return slot, max(p * part, LEAST)


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
