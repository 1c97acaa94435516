"""Regret: the reward of a benchmark minus the reward of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import array, choice
from hlmc.errors import BadArgument, shown
from hlmc.evaluation.benchmarks import best_fixed, dynamic
from hlmc.evaluation.segments import Report, checked_points
from hlmc.evaluation.switching import best_switching

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary

Array = np.ndarray

PATHWISE = ("weak", "shifting", "dynamic")
"""Kinds of regret whose benchmark is a sum of the rewards as they fell."""

KINDS = (*PATHWISE, "pseudo")


def benchmark(
    adversary: Adversary,
    points: Any,
    kind: str = "weak",
    switches: int | None = None,
    *,
    threads: int | None = None,
    force: bool = False,
    report: Report | None = None,
) -> Array:
    """The cumulative reward of the benchmark of a kind of regret, at each point.

    Each value is that of the best sequence for its own prefix, as in the definition of R(t), not of the sequence that
    is best at the end.

    Parameters
    ----------
    kind
        "weak": the best fixed arm. "shifting": the best sequence of at most V = ``switches`` constant
        segments. "dynamic": the best arm of every step. "pseudo": the fixed arm of the largest expected reward, and
        that reward (:attr:`Adversary.expected <hlmc.adversaries.Adversary.expected>`); without randomness the same
        as "weak". It takes K evaluations where the others take K T.
    threads, force, report
        As in :func:`hlmc.evaluation.best_fixed`.

    Examples
    --------
    >>> from hlmc.adversaries import Trace
    >>> rewards = Trace([[1, 0], [1, 0], [0, 1], [1, 0]])
    >>> benchmark(rewards, [2, 4])
    array([2., 3.])
    >>> benchmark(rewards, [2, 4], "shifting", switches=3)
    array([2., 4.])
    >>> from hlmc.adversaries import UniformMeans
    >>> round(float(benchmark(UniformMeans(arms=10**5), [10**7], "pseudo")[0]))
    9999995
    """
    choice("kind", kind, *KINDS)
    if (kind == "shifting") != (switches is not None):
        if switches is None:
            raise BadArgument("kind='shifting' needs switches=V, the number of pieces of the sequence to compare with")
        raise BadArgument(f"switches belongs to kind='shifting', not to kind={kind!r}: {shown(switches)}")
    how: dict[str, Any] = {"threads": threads, "force": force, "report": report}
    if kind in ("weak", "pseudo"):
        return best_fixed(adversary.expected if kind == "pseudo" else adversary, points, **how)[0]
    if kind == "dynamic":
        return dynamic(adversary, points, **how)
    times = checked_points(adversary, points)
    if switches is None or not times.any():
        return np.zeros(len(times))
    return best_switching(adversary, int(times[-1]), switches, times, **how).values


def regret(
    reward: Any,
    adversary: Adversary,
    points: Any,
    kind: str = "weak",
    switches: int | None = None,
    *,
    threads: int | None = None,
    force: bool = False,
) -> Array:
    """The regret R(t) of cumulative rewards ``[..., points]``, as an array of the same shape.

    >>> from hlmc.adversaries import Trace
    >>> regret([[2, 2], [1, 3]], Trace([[1, 0], [1, 0], [0, 1], [1, 0]]), points=[2, 4])
    array([[0., 1.],
           [1., 0.]])
    """
    earned = array("reward", reward)
    best = benchmark(adversary, points, kind, switches, threads=threads, force=force)
    if earned.ndim == 0 or earned.shape[-1] != len(best):
        raise BadArgument(f"reward must have one value for each of {len(best)} points, not shape {earned.shape}")
    return np.asarray(best - earned)
