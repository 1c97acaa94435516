"""The doubly robust estimator, with the mean reward of each arm as control variate."""

from __future__ import annotations

import numpy as np

from hlmc.logs.reading import Log
from hlmc.logs.targets import Target

Array = np.ndarray


def doubly_robust(target: Target, w: Array, log: Log) -> float:
    r"""V = (1 / n) sum (sum_a pi(a) m(a) + w (r - m(arm))).

    m(a) is the mean of the rewards of arm a before the row's block began, and 0 before its first row. It is known
    before the block's choices are made, so that the estimate is unbiased wherever IPS is. What varies is only the
    reward around the mean of its arm.

    References
    ----------
    M. Dudík, J. Langford and L. Li, "Doubly robust policy evaluation and learning", ICML 2011.
    """
    return float((target.mean(log.means) + w * (log.reward - log.means.own)).sum() / len(w))
