"""Self-normalised inverse propensity scores: divided by the weights instead of the number of rows."""

from __future__ import annotations

import numpy as np

from hlmc.logs.reading import Log

Array = np.ndarray


def snips(w: Array, log: Log) -> float:
    r"""V = (sum w r) / (sum w). A little biased in short logs; always between the least and the largest reward.

    References
    ----------
    A. Swaminathan and T. Joachims, "The self-normalized estimator for counterfactual learning", NeurIPS 2015.
    """
    return float((w * log.reward).sum() / w.sum())
