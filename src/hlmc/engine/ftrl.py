"""Follow the regularised leader with 1/2-Tsallis entropy: p_j = 4 / (eta (L_j - x))^2 with sum 1.

Adding a constant to all losses changes nothing, so n losses are kept as n - 1 differences to the loss of slot 0, which
is 0 by definition and takes no word. The normaliser x is the root of a function that increases and is convex left of
the least loss; Newton's method from the right of the root falls on it monotonically. The old normaliser may lie on
either side after an update; from the left one Newton step leads to the right side or past the point where the least
loss alone has probability 1, which is then taken instead.

The last step needs no check. With f(x) = sum p - 1, f' = eta sum p^(3/2) and f'' = 3/2 eta^2 sum p^2, a Newton step
from the right leaves f <= f''/2 (f / f')^2 <= 3/4 n^(1/3) f^2: sum p^2 is at most (sum p^(3/2))^(4/3), and sum p^(3/2)
at least n^(-1/2). From the left f'' is taken where the step ends, which for so small a step is next to nothing more. So
a step from n f^2 < CLOSE ends within CLOSE.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.kernel import kernel

Array = np.ndarray

STEPS = 64  # never reached: Newton's method at least halves the excess until it is quadratic
CLOSE = 1e-13  # probabilities whose sum is as near as this to 1 are normalised
APART = 1e-15  # a relative difference that a word can still tell
LEAST = 1e-80  # no probability is stated below this, so that 2^53 losses over their probabilities stay below MOST
MOST = 1e100  # a loss, with which every probability is still a positive float64
SINGLE = {"CLOSE": 1e-5, "APART": 1e-6, "LEAST": 1e-18}


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
def normaliser(row: Array, at: int, n: int, eta: float, x: float) -> float:
    """The x for which the probabilities sum to 1, from a guess on either side of it."""
    least = 0.0
    for j in range(at, at + n - 1):
        least = min(least, row[j])
    # Losses so large that a word cannot tell the root from the least of them must not lead to a division by 0.
    right = min(least - 2.0 / eta, least + APART * least)
    x = min(x, right)
    scale = 2.0 / eta
    for _ in range(STEPS):
        root = scale / -x
        total = root * root
        slope = total * root
        for j in range(at, at + n - 1):
            root = scale / (row[j] - x)
            p = root * root
            total += p
            slope += p * root
        excess = total - 1.0
        moved = min(x - excess / (eta * slope), right)
        if float(n) * excess * excess < CLOSE or moved == x:
            return moved
        x = moved
    return x


@kernel
def ftrl_draw(row: Array, at: int, n: int, eta: float, x: float, u: float) -> tuple[int, float]:
    """A slot, and its probability. Rounding can draw the last slot, however small its probability is."""
    slot = 0
    scale = 2.0 / eta
    root = scale / -x
    p = root * root
    u -= p
    while u >= 0.0 and slot < n - 1:
        root = scale / (row[at + slot] - x)
        p = root * root
        slot += 1
        u -= p
    return slot, max(p, LEAST)


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
    if baseline == 0.0 and slot > 0:
        row[at + slot - 1] += loss / chance
        return
    # p >= eta^2 where 2 / (eta (loss - x)) >= eta.
    near = x + 2.0 / (eta * eta)
    own = baseline if loss_of(row, at, slot) <= near else 0.0
    above = (loss - own) / chance
    zero = baseline if near >= 0.0 else 0.0
    if slot == 0:
        zero += above
    for k in range(at, at + n - 1):
        row[k] += (baseline if row[k] <= near else 0.0) - zero
    if slot > 0:
        row[at + slot - 1] += above
