"""The search for the hierarchy of a given depth with the least bound, and the whole numbers that it is made of.

For a given depth the bound increases with prod N_d ln N_d, and so with the sum of u + ln u over u = ln N_d. That
function is concave: for a given sum of logarithms it is smallest where the levels are as unequal as the words
allow. But integers whose product exceeds K cost something too, so neighbours must be tried. Levels are chosen from
the smallest to the largest; the last follows from the others. If no level may be smaller than n, each ln N_d is in
an interval, and a concave function on a box with a given sum has its minimum at a corner. This is a lower bound on
everything still to be tried, and the loop over n ends when it exceeds the best value found.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from hlmc.checks import whole

Groups = tuple[int, ...]

ROUNDING = 1e-12
"""Far above the rounding of a sum of forty logarithms, far below any difference that matters."""


def ceil_div(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return -(-a // b)


def ceil_root(arms: int, depth: int) -> int:
    r"""The smallest integer n with :math:`n^D \ge K`, that is :math:`\lceil K^{1/D} \rceil`, exactly.

    >>> ceil_root(10**12, 3), ceil_root(10**12 + 1, 3), ceil_root(100, 3)
    (10000, 10001, 5)
    """
    K, D = whole("arms", arms, 1), whole("depth", depth, 1)
    low, high = 1, 1 << ceil_div(K.bit_length(), D)
    while low < high:
        middle = (low + high) // 2
        if middle**D >= K:
            high = middle
        else:
            low = middle + 1
    return low


def deepest(arms: int) -> int:
    r"""The largest useful depth, :math:`\lceil \log_2 K \rceil`. In a deeper hierarchy some level has a single child.

    >>> deepest(100), deepest(128), deepest(129), deepest(1)
    (7, 7, 8, 1)
    """
    return max(1, (whole("arms", arms, 1) - 1).bit_length())


def covered(parts: int, words: int) -> int:
    """The largest number of arms that ``parts`` levels cover in ``words`` words: the levels as equal as possible."""
    n, larger = divmod(words, parts)
    return int((n + 1) ** larger * n ** (parts - larger))


def least_words(arms: int, levels: int) -> int:
    """The fewest words in which D levels cover K arms. Up to `deepest`, no level has a single child."""
    n = ceil_root(arms, levels)
    return next(w for w in range((n - 1) * levels, n * levels + 1) if covered(levels, w) >= arms)


def _weight(u: float) -> float:
    """ln(N ln N) for u = ln N."""
    return u + math.log(u)


def _corner(parts: int, total: float, low: float, high: float) -> float:
    """The smallest sum of weights of ``parts`` logarithms in [low, high] whose sum is at least ``total``."""
    if high <= low:
        return parts * _weight(low)
    at_high, rest = divmod(max(total - parts * low, 0.0), high - low)
    return at_high * _weight(high) + _weight(low + rest) + (parts - 1 - at_high) * _weight(low)


def _smallest(parts: int, reach: int, words: int, least: int) -> range:
    """The possible sizes of the smallest of ``parts`` levels, none below ``least``."""
    low, high = least, min(ceil_root(reach, parts), words // parts)
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        if middle * covered(parts - 1, words - middle) >= reach:
            end = middle
        else:
            low = middle + 1
    return range(low, high + 1)


def _largest(parts: int, reach: int, words: int, least: int) -> int:
    """An upper bound on the largest of ``parts`` levels of at least ``least`` children."""
    low = ceil_div(words, parts)
    high = min(words - (parts - 1) * least, ceil_div(reach, least ** (parts - 1)))
    while low < high:
        middle = (low + high + 1) // 2
        if middle * covered(parts - 1, words - middle) >= reach:
            low = middle
        else:
            high = middle - 1
    return high


@dataclass
class _Search:
    value: float
    groups: Groups = ()

    def offer(self, value: float, groups: Groups) -> None:
        if value < self.value:
            self.value, self.groups = value, groups

    def descend(self, parts: int, reach: int, words: int, least: int, value: float, chosen: Groups) -> None:
        """Try every way to cover ``reach`` arms with ``parts`` more levels of at least ``least`` children."""
        if parts == 1:
            largest = max(reach, least)
            self.offer(value + _weight(math.log(largest)), (largest, *chosen))
            return
        total = math.log(reach)
        for n in _smallest(parts, reach, words, least):
            low, high = math.log(n), math.log(_largest(parts, reach, words, n))
            if value + _corner(parts, total, low, high) >= self.value:
                return
            self.descend(parts - 1, ceil_div(reach, n), words - n, n, value + _weight(low), (n, *chosen))


@lru_cache(maxsize=1024)  # a plan asks for the same splits more than once
def least_product(arms: int, memory: int, levels: int, ceiling: float = math.inf) -> tuple[float, Groups]:
    """The smallest ln prod N_d ln N_d and its groups, or () if none is below ``ceiling``."""
    if arms == 1:
        return -math.inf, (1,)
    search = _Search(ceiling)
    search.descend(levels, arms, memory, 2, 0.0, ())
    return search.value, search.groups
