"""Inverse propensity scores: every reward counts as often as it was rare."""

from __future__ import annotations

import numpy as np

from hlmc.logs.reading import Log
from hlmc.logs.targets import Target

Array = np.ndarray


def weights(target: Target, log: Log) -> Array:
    """[row]: w = pi(arm) / propensity. If every arm had a chance, E w = 1 and E w r is what the candidate earns."""
    found: Array = target.of_logged(log) / log.propensity
    return found


def ips(w: Array, log: Log) -> float:
    r"""V = (1 / n) sum w r. Unbiased if every arm of the candidate had a chance. It may exceed 1.

    References
    ----------
    D. G. Horvitz and D. J. Thompson, "A generalization of sampling without replacement from a finite universe", 1952.
    """
    return float((w * log.reward).sum() / len(w))
