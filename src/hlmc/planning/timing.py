"""How long the choices of a hierarchy stand: its epochs."""

import math
from collections.abc import Sequence
from itertools import accumulate

from hlmc.bounds import nlogn
from hlmc.checks import between, listed, whole, wholes
from hlmc.errors import BadArgument
from hlmc.planning.search import ROUNDING, Groups, ceil_div

MOST_LEVELS = 64
"""More levels than 2^53 arms can have."""


def _ceil(value: float) -> int:
    """The ceiling of a computed number, where a number above an integer only by rounding counts as that integer."""
    nearest = round(value)
    return nearest if math.isclose(value, nearest, rel_tol=ROUNDING) else math.ceil(value)


def epochs(groups: Sequence[int], horizon: int, costs: Sequence[float] | None = None) -> Groups:
    r"""The number of choices of each level before it restarts, :math:`S_1, \dots, S_D`.

    .. math:: S_i = \Big\lceil x_i \Big(\frac{T}{\prod_j x_j}\Big)^{1/D} \Big\rceil, \qquad x_i = N_i \ln N_i

    This extends Theorem 5 to any depth: all levels have the same regret. Two levels are
    rounded as in Theorem 1, :math:`\Delta = \lceil\sqrt{T x_2/x_1}\rceil` and
    :math:`S = \lceil T/\Delta\rceil`. A level with one child makes no choice; its number is
    1. Because the numbers are rounded up, their product may exceed T; the last epochs are then truncated.

    Other routines or theorems use other ``costs`` :math:`x_i`: :math:`N_i` for
    Tsallis-INF; :math:`L\ln(2L/\delta)` and :math:`N\ln(2KT/\delta)` for Theorem 2; :math:`VL\ln(TL)` and
    :math:`N\ln N` for Theorem 3.

    >>> epochs((10, 10), 10**7), epochs((5, 5, 4), 10**7)
    ((3162, 3163), (244, 244, 169))
    >>> epochs((100,), 10**7), epochs((20, 5), 10**6, costs=(20, 5))
    ((10000000,), (2000, 500))
    """
    N, T = wholes("groups", groups), whole("horizon", horizon, 1)
    if not N:
        raise BadArgument("groups must have at least one level, not ()")
    x = _costs(N, costs)
    choosing = [level for level, n in enumerate(N) if n > 1] or [len(N) - 1]
    S = [1] * len(N)
    for level, choices in zip(choosing, _balanced([x[level] for level in choosing], T), strict=True):
        S[level] = choices
    return tuple(S)


def _costs(groups: Groups, costs: Sequence[float] | None) -> Sequence[float]:
    if costs is None:
        return [nlogn(n) for n in groups]
    costs = listed("costs", costs)
    if len(costs) != len(groups):
        raise BadArgument(f"costs must have one number for each of the {len(groups)} levels, not {len(costs)}")
    for n, x in zip(groups, costs, strict=True):
        if n > 1:
            between("costs", x, 0.0, math.inf, "(0, inf)")
    return costs


def _balanced(costs: Sequence[float], T: int) -> list[int]:
    if len(costs) == 1:
        return [T]
    if len(costs) == 2:
        length = min(max(_ceil(math.sqrt(T * costs[1] / costs[0])), 1), T)
        return [ceil_div(T, length), length]
    # Logarithms: the product of many costs need not fit a float.
    log_share = (math.log(T) - math.fsum(map(math.log, costs))) / len(costs)
    S = [min(max(_ceil(math.exp(math.log(x) + log_share)), 1), T) for x in costs]
    # What `_ceil` took for an integer may have been a little more, and all T steps must be covered.
    S[0] = max(S[0], ceil_div(T, math.prod(S[1:])))
    return S


def lengths(epochs: Sequence[int]) -> Groups:
    """The number of steps for which a choice of each level stands: the product of the choices below it; 1 at the arms.

    >>> lengths((244, 244, 169)), lengths((3162, 3163))
    ((41236, 169, 1), (3163, 1))
    """
    choices = wholes("epochs", epochs)
    if len(choices) > MOST_LEVELS:
        raise BadArgument(f"epochs must have at most {MOST_LEVELS} levels, not {len(choices)}")
    below = accumulate(reversed(choices[1:]), int.__mul__, initial=1)
    return tuple(below)[::-1]
