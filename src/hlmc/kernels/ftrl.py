"""Follow the regularised leader with 1/2-Tsallis entropy: p_j = 4 / (eta (L_j - x))^2 with sum 1.

Adding a constant to all losses changes nothing, so n losses are kept as n - 1 differences to the loss of slot 0, which
is 0 by definition and takes no word. The normaliser x is the root of a function that increases and is convex left of
the least loss; Newton's method from the right of the root falls on it monotonically. The old normaliser may lie on
either side after an update; from the left one Newton step leads to the right side or past the point where the least
loss alone has probability 1, which is then taken instead.
"""

from __future__ import annotations

import numpy as np

from hlmc.kernels.build import kernel

Array = np.ndarray

STEPS = 64  # never reached: Newton's method at least halves the excess until it is quadratic
CLOSE = 1e-13  # probabilities whose sum is as near as this to 1 are normalised
APART = 1e-15  # a relative difference that a word can still tell
SINGLE = {"CLOSE": 1e-5, "APART": 1e-6}


@kernel
def loss_of(row: Array, at: int, slot: int) -> float:
    """The loss of a slot less that of slot 0."""
    return row[at + slot - 1] if slot > 0 else 0.0


@kernel
def probability_of(loss: float, x: float, eta: float) -> float:
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
    for _ in range(STEPS):
        root = 2.0 / (eta * -x)
        total = root * root
        slope = total * root
        for j in range(at, at + n - 1):
            root = 2.0 / (eta * (row[j] - x))
            p = root * root
            total += p
            slope += p * root
        excess = total - 1.0
        moved = x - excess / (eta * slope)
        if excess < 0.0:
            if excess > -CLOSE:
                return x
            moved = min(moved, right)
        elif excess < CLOSE or moved == x:
            return moved
        x = moved
    return x


@kernel
def ftrl_draw(row: Array, at: int, n: int, eta: float, x: float, u: float) -> tuple[int, float]:
    """A slot, and its probability."""
    slot = 0
    p = probability_of(0.0, x, eta)
    u -= p
    while u >= 0.0 and slot < n - 1:
        slot += 1
        p = probability_of(row[at + slot - 1], x, eta)
        u -= p
    return slot, p


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
    square = eta * eta
    first = baseline if probability_of(0.0, x, eta) >= square else 0.0
    zero = first + ((loss - first) / chance if slot == 0 else 0.0)
    for j in range(1, n):
        k = at + j - 1
        own = baseline if probability_of(row[k], x, eta) >= square else 0.0
        if j == slot:
            own += (loss - own) / chance
        row[k] += own - zero
