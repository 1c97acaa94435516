r"""The planner: from K arms, M words and T steps to the levels of a hierarchy.

A hierarchy is written as the number of children at each level, top first, :math:`(N_1, \dots, N_D)`. It
covers K arms if :math:`\prod_d N_d \ge K`, and keeps :math:`\sum_d N_d` words of statistics. All counts are
exact integers; floating point is used only to compare bounds and to compute epochs.

The formulas are those of X. Xu and Q. Zhao, "Memory-Constrained No-Regret Learning in Adversarial Multi-Armed
Bandits", IEEE Transactions on Signal Processing, 2021. The exact searches for the least memory and for the least
bound are our own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

from hlmc.checks import whole, wholes
from hlmc.errors import BadArgument
from hlmc.planning.search import ROUNDING, Groups, ceil_div, ceil_root, deepest, least_product, least_words
from hlmc.planning.timing import epochs, lengths

__all__ = [
    "best_split",
    "best_width",
    "ceil_root",
    "choose_split",
    "coded_split",
    "coded_words",
    "deepest",
    "epochs",
    "even_groups",
    "few_steps",
    "fewest_levels",
    "least_memory",
    "lengths",
    "level_width",
    "neighbours",
    "partition",
    "printed_depth",
    "sizes",
    "tight_depth",
    "tight_groups",
    "two_level_split",
]


def _depth(arms: int, levels: int) -> int:
    D, limit = whole("levels", levels, 1), deepest(arms)
    if limit < D:
        raise BadArgument(f"levels must be between 1 and ceil(log2(arms)) = {limit} for {arms} arms, not {D}")
    return D


def even_groups(arms: int, levels: int) -> Groups:
    r"""The paper's even hierarchy of D levels.

    For D = 2 there are :math:`L = \lceil K/N\rceil` groups of :math:`N = \lceil\sqrt{K}\rceil` arms, written
    (L, N). For D > 2 every level except the last has :math:`\lceil K^{1/D}\rceil` children, and
    the last has as many as needed. Rounding up can leave groups without arms; these are removed, and so are levels
    with a single child.

    >>> even_groups(100, 1), even_groups(100, 2), even_groups(100, 3)
    ((100,), (10, 10), (5, 5, 4))
    >>> even_groups(17, 4)
    (3, 3, 2)
    """
    K, D = whole("arms", arms, 1), _depth(arms, levels)
    if D == 1:
        return (K,)
    n = ceil_root(K, D)
    if D == 2:
        return (ceil_div(K, n), n)
    children = (ceil_div(above, below) for above, below in pairwise((K, *sizes(K, (n,) * D))))
    return tuple(c for c in children if c > 1)


def _reaching(arms: int, groups: Sequence[int]) -> tuple[int, Groups]:
    K, checked = whole("arms", arms, 1), wholes("groups", groups)
    if math.prod(checked) < K:
        raise BadArgument(f"groups must have a product of at least arms = {K}, not {checked}")
    return K, checked


def sizes(arms: int, groups: Sequence[int]) -> Groups:
    r"""The largest number of arms in a child of each level, :math:`\lceil K / (N_1 \cdots N_d) \rceil`.

    >>> sizes(100, (5, 5, 4)), sizes(17, (3, 3, 2))
    ((20, 4, 1), (6, 2, 1))
    """
    K, N = _reaching(arms, groups)
    return tuple(ceil_div(K, reached) for reached in accumulate(N, int.__mul__))


def partition(arms: int, groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The groups of arms of the last level, as half-open ranges (first, last + 1).

    Every level divides a range into parts of the level's size. The last part may be shorter; empty parts are
    omitted. The number of ranges grows with the number of arms.

    >>> list(partition(7, (3, 3)))
    [(0, 3), (3, 6), (6, 7)]
    >>> list(partition(17, (3, 3, 2)))
    [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 16), (16, 17)]
    """
    ranges = iter([(0, whole("arms", arms, 1))])
    for size in sizes(arms, groups)[:-1]:
        ranges = _cut(ranges, size)
    return ranges


def _cut(ranges: Iterator[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    for first, end in ranges:
        for start in range(first, end, size):
            yield start, min(start + size, end)


def printed_depth(arms: int, memory: int) -> int:
    r"""The paper's depth for M words, :math:`D^*(M) = \min\{D : D\lceil K^{1/D}\rceil \le M\}`.

    It is not always the smallest depth that fits: three levels (5, 5, 4) cover 100 arms in 14 words. `tight_depth`
    finds the smallest.

    >>> printed_depth(100, 20), printed_depth(100, 15), printed_depth(100, 14)
    (2, 3, 7)
    """
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    words = [D * ceil_root(K, D) for D in range(1, deepest(K) + 1)]
    for D, needed in enumerate(words, start=1):
        if needed <= M:
            return D
    raise BadArgument(f"memory must be at least {min(words)} words for even groups of {K} arms, not {M}")


def least_memory(arms: int) -> int:
    """The fewest words in which any hierarchy covers K arms: levels of 3 children, with some of 2 or 4.

    >>> least_memory(100), least_memory(10**9), least_memory(1)
    (13, 57, 1)
    """
    K = whole("arms", arms, 1)
    return min(least_words(K, D) for D in range(1, deepest(K) + 1))


def _enough(arms: int, memory: int) -> tuple[int, int]:
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    if (least := least_memory(K)) > M:
        raise BadArgument(f"memory must be at least {least} words for {K} arms, not {M}")
    return K, M


def tight_groups(arms: int, levels: int) -> Groups:
    """The hierarchy of D levels with the fewest words and, among these, the smallest bound.

    >>> tight_groups(100, 3), tight_groups(100, 7)
    ((5, 5, 4), (2, 2, 2, 2, 2, 2, 2))
    """
    K, D = whole("arms", arms, 1), _depth(arms, levels)
    return least_product(K, least_words(K, D), D)[1]


def tight_depth(arms: int, memory: int) -> tuple[int, Groups]:
    """The smallest depth at which a hierarchy fits in M words, and the hierarchy of that depth with the fewest words.

    >>> tight_depth(100, 14), tight_depth(100, 19), tight_depth(100, 20)
    ((3, (5, 5, 4)), (3, (5, 5, 4)), (2, (10, 10)))
    """
    K, M = _enough(arms, memory)
    D = next(D for D in range(1, deepest(K) + 1) if least_words(K, D) <= M)
    return D, tight_groups(K, D)


def two_level_split(arms: int, memory: int) -> tuple[int, int]:
    r"""The paper's adaptive split into two levels, (L, N), which uses as many of M words as possible (Section V).

    .. math:: N = \Big\lceil\frac{M - \sqrt{M^2 - 4K}}{2}\Big\rceil, \qquad L = \lceil K/N\rceil

    It needs :math:`M^2 \ge 4K`; then :math:`L + N \le M`. With K + 1 words or more, N is 1: the flat routine.

    >>> [two_level_split(100, memory) for memory in (20, 50, 80)]
    [(10, 10), (34, 3), (50, 2)]
    """
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    if M * M < 4 * K:
        least = math.isqrt(4 * K - 1) + 1
        raise BadArgument(f"memory must be at least {least} words for two levels of {K} arms, not {M}")
    # M - 2N <= sqrt(M^2 - 4K) compares an integer with a root, so the root's integer part decides.
    N = ceil_div(M - math.isqrt(M * M - 4 * K), 2)
    return ceil_div(K, N), N


def best_split(arms: int, memory: int, horizon: int | None = None) -> Groups:
    """The hierarchy with the smallest `hlmc.bounds.hierarchy` in M words, over all depths, largest level first.

    This is an exact branch-and-bound search over the integers; ties go to the fewest levels. Without a
    horizon the order in T decides: the fewest levels, then the smallest bound. If the horizon is short, up to a few
    times the number of arms, the result can be deeper than the memory requires. All bounds are then vacuous (larger
    than the horizon); `choose_split` takes care of that.

    >>> [best_split(100, memory, 10**7) for memory in (14, 20, 50, 80, 100)]
    [(5, 5, 4), (10, 10), (34, 3), (50, 2), (100,)]
    >>> best_split(10**12, 2048)
    (520, 517, 503, 493, 15)
    """
    K, M = _enough(arms, memory)
    if horizon is not None:
        return _least_bound(K, M, whole("horizon", horizon, 1))
    return least_product(K, M, _depths(K, M)[0])[1]


def choose_split(arms: int, memory: int, horizon: int | None = None) -> Groups:
    """The hierarchy for M words: the smallest bound unless it is vacuous, otherwise the fewest levels.

    A bound of T or more is vacuous, and the smallest of several vacuous bounds would often choose a hierarchy
    deeper than the memory requires. This is therefore `best_split` if its bound is below the horizon, and
    `best_split` without a horizon otherwise.

    >>> [choose_split(100, memory, 10**7) for memory in (14, 20, 50, 80)]
    [(5, 5, 4), (10, 10), (34, 3), (50, 2)]
    >>> best_split(10**6, 2048, 10**4), choose_split(10**6, 2048, 10**4)
    ((1954, 64, 2, 2, 2), (1227, 815))
    """
    K, M = _enough(arms, memory)
    if horizon is not None and (groups := _least_bound(K, M, T := whole("horizon", horizon, 1), below=T)):
        return groups
    return best_split(K, M)


FEW_STEPS = 30
"""Steps per arm below which two levels of a champion lose less than Tsallis-INF with all arms (research/bits.md)."""


def few_steps(arms: int, horizon: int | None) -> bool:
    """Whether so few steps are left to each arm that a champion should have groups even where all arms fit.

    >>> few_steps(100, 2999), few_steps(100, 3000), few_steps(100, None)
    (True, False, False)
    """
    K = whole("arms", arms, 1)
    return horizon is not None and whole("horizon", horizon, 1) < FEW_STEPS * K


def fewest_levels(arms: int, memory: int, words: Callable[[Groups], int], grouped: bool = False) -> Groups:
    """A champion's levels: the fewest that fit in M words, each with about as many children as the others.

    ``words`` says how many words a hierarchy takes. Words beyond those of the hierarchy with the fewest are left over
    until one level less fits: unequal groups would fill them, but the regret of D levels of Tsallis-INF depends on the
    product of the numbers of children only, and with a champion it was never less (research/bits.md). ``grouped``: two
    levels go before one.

    >>> [fewest_levels(1000, memory, sum) for memory in (40, 64, 341, 999, 1000)]
    [(10, 10, 10), (36, 28), (36, 28), (36, 28), (1000,)]
    >>> fewest_levels(1000, 1000, sum, grouped=True)
    (36, 28)
    """
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    splits = [tight_groups(K, D) for D in range(1, deepest(K) + 1)]
    if grouped:
        splits[:2] = splits[1::-1]
    for groups in splits:
        if words(groups) <= M:
            return groups
    raise BadArgument(f"memory must be at least {min(map(words, splits))} words for {K} arms, not {M}")


def coded_split(arms: int, memory: int, bits: int, horizon: int | None = None) -> Groups:
    """`choose_split` for M words that hold statistics of b bits each, every level packed into words of its own.

    >>> coded_split(100, 20, 64, 10**7), coded_split(100, 20, 12, 10**7), coded_split(1000, 20, 12, 10**7)
    ((10, 10), (100,), (84, 12))
    """
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    if bits == 64:
        return choose_split(K, M, horizon)
    # Every level wastes less than a word, so few numbers of statistics have to be tried.
    for count in range(64 * M // bits, 0, -1):
        if count < least_memory(K):
            break
        groups = choose_split(K, min(count, 2 * K), horizon)
        if coded_words(groups, bits) <= M:
            return groups
    # The fewest words: few levels that fill their words.
    fewest = min((tight_groups(K, D) for D in range(1, deepest(K) + 1)), key=lambda N: coded_words(N, bits))
    if coded_words(fewest, bits) <= M:
        return fewest
    least = coded_words(fewest, bits)
    raise BadArgument(f"memory must be at least {least} words for {K} arms with bits={bits}, not {M}")


LEVEL_BITS = (10, 8, 6, 4)
"""Bits of a statistic of levels with epochs, most first: the first with which a hierarchy fits is taken."""


def best_width(arms: int, memory: int, horizon: int | None = None) -> int:
    """Bits of a statistic: what all arms leave each other in M words if that is enough, else 10, 8, 6 or 4.

    Enough for one level over all T steps is half the logarithm of T to the base 2, rounded up (research/bits.md), 15
    where T is not known; more than 32 are never taken.

    >>> best_width(100, 20, 10**7), best_width(20, 10, 10**6), best_width(1000, 20, 10**7), best_width(10**9, 20)
    (12, 32, 10, 10)
    """
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    enough = 15 if horizon is None else max(8, math.ceil(math.log2(whole("horizon", horizon, 1)) / 2))
    room = 64 * M // K
    if room >= enough:
        return min(32, room)
    return level_width(K, M)


def level_width(arms: int, memory: int) -> int:
    """Bits of a statistic of levels with epochs: 10, or 8, 6 or 4 where only these fit.

    >>> level_width(1000, 20), level_width(10**9, 20)
    (10, 10)
    """
    K, M = whole("arms", arms, 1), whole("memory", memory, 1)
    for bits in LEVEL_BITS[:-1]:
        if min(coded_words(tight_groups(K, D), bits) + 1 for D in range(1, deepest(K) + 1)) <= M:
            return bits
    return LEVEL_BITS[-1]


def coded_words(groups: Sequence[int], bits: int) -> int:
    """The words of levels of N_d statistics of b bits each.

    >>> coded_words((84, 12), 12)
    19
    """
    return sum(ceil_div(n * bits, 64) for n in groups)


def _depths(arms: int, memory: int) -> list[int]:
    """The depths at which a hierarchy fits in the memory."""
    return [D for D in range(1, deepest(arms) + 1) if least_words(arms, D) <= memory]


def _least_bound(arms: int, memory: int, horizon: int, below: float = math.inf) -> Groups:
    """The groups with the smallest bound, or () if no bound is below ``below``."""
    log_T = math.log(horizon)
    best: Groups = ()
    # The bound is 2 sqrt(2) T exp(least).
    least = math.log(below) - log_T - math.log(2 * math.sqrt(2))
    for D in _depths(arms, memory):
        # The bound goes as D (prod x / T)^(1/2D): only a product below the ceiling improves on it.
        ceiling = log_T + 2 * D * (least - math.log(D))
        found, groups = least_product(arms, memory, D, ceiling - 2 * D * ROUNDING)
        if groups:
            best, least = groups, math.log(D) + (found - log_T) / (2 * D)
    return best


def neighbours(arms: int, horizon: int | None = None, memory: int | None = None) -> list[Groups]:
    """Candidate hierarchies: for every depth the one with the fewest words, in order of depth.

    If a memory is given, also `choose_split` for M, M // 2 and 2 M words.

    >>> neighbours(100, 10**7, memory=20)[:4]
    [(100,), (10, 10), (34, 3), (5, 5, 4)]
    """
    K = whole("arms", arms, 1)
    splits = {tight_groups(K, D) for D in range(1, deepest(K) + 1)}
    if memory is not None:
        _, M = _enough(K, memory)
        least = least_memory(K)
        splits |= {choose_split(K, words, horizon) for words in (M // 2, M, 2 * M) if words >= least}
    return sorted(splits, key=lambda groups: (len(groups), sum(groups), groups))
