r"""An empirical Bernstein bound on a mean of weighted rewards whose weights are clipped.

Let Y_b be the sum over block b of min(w, clip) r, divided by the length of the longest block, m_b its expectation given
everything before, and P_b in [0, 1] a prediction made before the block: the mean of the Y so far. For 0 < lambda < 1
and psi(lambda) = -log(1 - lambda) - lambda,

    exp(sum_b lambda (Y_b - m_b) - psi(lambda) (Y_b - P_b)^2)

has expectation at most 1 at any time, because Y_b - P_b >= -1. The mean over several lambda has it too, and falls in
the sum of the m_b. Clipping makes the rewards smaller, so that the lower bound is one for the weights as they are.

References
----------
S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences",
Annals of Statistics 2021, Theorem 4.
"""

from __future__ import annotations

import numpy as np

from hlmc.logs.betting import largest, mixed

Array = np.ndarray

RATES = np.append(0.9, 2.0 ** -np.arange(1, 20))
"""Lambda. They do not depend on the log."""


def lower(sums: Array, rows: int, longest: int, alpha: float) -> float:
    """A number that is above the mean of clipped w r with probability at most alpha.

    The arguments are those of :func:`hlmc.logs.betting.lower`; the weights in ``sums`` are clipped.

    >>> import numpy as np
    >>> round(lower(np.ones(1000), rows=1000, longest=1, alpha=0.025), 3)
    0.991
    """
    y = sums / longest
    before = np.concatenate(([0.0], np.cumsum(y)[:-1]))
    predicted = np.minimum(1.0, before / np.maximum(1, np.arange(len(y))))
    spread = float(((y - predicted) ** 2).sum())
    total = float(y.sum())
    paid = (-np.log1p(-RATES) - RATES) * spread
    return largest(lambda value: mixed(RATES * (total - rows * value / longest) - paid), alpha)
