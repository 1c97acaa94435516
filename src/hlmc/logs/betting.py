r"""A lower bound on a mean of weighted rewards that needs no bound on the weights: capital made by betting.

Let X_b >= 0 be the sum of w r over block b, divided by the length of the longest block, and m_b its expectation given
everything before the block. For every fixed lambda > 0 the product over blocks of

    (1 + lambda X_b) / (1 + lambda m_b)

is a martingale that begins at 1, and so is its mean over several lambda. It reaches 1 / alpha with probability at most
alpha, at any time (Ville). The logarithm is concave, so that for n blocks the product of (1 + lambda m_b) is at most
(1 + lambda m)^n with m the mean of the m_b. Therefore

    K(m) = mean over lambda of prod_b (1 + lambda X_b) / (1 + lambda m)^n

stays below 1 / alpha at the true mean m with probability 1 - alpha. K falls in m, so that where it is 1 / alpha there
is a lower bound. Nothing is assumed of X but X_b >= 0: not that weights are bounded, nor that rewards keep their means.
An upper bound is 1 less the lower bound of w (1 - r), because E w = 1.

With equal means this is the bet 1 + lambda' (X_b - m), lambda' = lambda / (1 + lambda m), of the capital process of
Waudby-Smith and Ramdas; with w unbounded Karampatziakis et al. admit no other bets than these on w r and on w (1 - r).

References
----------
I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024.
N. Karampatziakis, P. Mineiro and A. Ramdas, "Off-policy confidence sequences", ICML 2021.
I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis and P. Mineiro, "Anytime-valid off-policy inference for contextual
bandits", 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray

BETS = 2.0 ** np.arange(-30, 7)
"""Lambda. They do not depend on the log: the bound holds at every time, not at one that was fixed beforehand."""


def lower(sums: Array, rows: int, longest: int, alpha: float, most: float = 1.0) -> float:
    """A number that is above the mean of w r over ``rows`` rows with probability at most alpha.

    Parameters
    ----------
    sums
        [block]: the sum of w r, nonnegative.
    rows
        How many rows the blocks have together.
    longest
        Rows of the longest block.
    alpha
        The probability of an error.
    most
        Larger numbers are not looked for.

    Examples
    --------
    >>> import numpy as np
    >>> round(lower(np.ones(1000), rows=1000, longest=1, alpha=0.025), 3)
    0.994
    """
    x = sums[sums > 0.0] / longest
    grown = np.array([np.log1p(bet * x).sum() for bet in BETS])
    blocks = len(sums)

    def capital(value: float) -> float:
        """log K at the mean that belongs to a value."""
        return mixed(grown - blocks * np.log1p(BETS * (rows * value / (blocks * longest))))

    return largest(capital, alpha, most)


def mixed(logs: Array) -> float:
    """The logarithm of the mean of numbers whose logarithms these are."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).mean()))


def largest(capital: Callable[[float], float], alpha: float, most: float = 1.0) -> float:
    """The largest value in [0, most] up to which a capital, falling, by its logarithm, is at least 1 / alpha."""
    wanted = -math.log(alpha)
    low, high = 0.0, most
    if capital(low) < wanted:
        return low
    if capital(high) >= wanted:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        if capital(middle) >= wanted:
            low = middle
        else:
            high = middle
    return low
