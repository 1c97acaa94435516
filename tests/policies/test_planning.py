"""The planner against hand-worked cases, plain searches and the conditions every hierarchy must meet."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlmc
from hlmc import bounds, planning

ARMS = st.integers(2, 10**6)
MANY = st.integers(2, 10**12)


def cost(groups: tuple[int, ...]) -> float:
    """prod N ln N, the plain way."""
    return math.prod(n * math.log(n) for n in groups)


def multisets(least: int, product: int, words: int, depth: int) -> Iterator[tuple[int, ...]]:
    """Every descending tuple of up to ``depth`` integers from ``least`` up within a product and a sum."""
    if depth == 0:
        return
    for n in range(least, min(product, words) + 1):
        yield (n,)
        for rest in multisets(n, product // n, words - n, depth - 1):
            yield (*rest, n)


# --- Roots and even groups ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "depth", "root"),
    [
        (1, 5, 1),
        (2, 1, 2),
        (10**12, 3, 10**4),
        (10**12 + 1, 3, 10**4 + 1),
        (10**12 - 1, 3, 10**4),
        (2**40, 40, 2),
        (2**40 + 1, 40, 3),
        (5**22, 22, 5),
        (10**15, 5, 10**3),
    ],
)
def test_ceil_root_is_exact(arms: int, depth: int, root: int) -> None:
    assert planning.ceil_root(arms, depth) == root


@given(st.integers(1, 2**53), st.integers(1, 70))
def test_ceil_root_is_the_least_integer_whose_power_reaches(arms: int, depth: int) -> None:
    root = planning.ceil_root(arms, depth)
    assert root**depth >= arms
    assert root == 1 or (root - 1) ** depth < arms


@pytest.mark.parametrize(
    ("arms", "levels", "groups"),
    [
        (1, 1, (1,)),
        (2, 1, (2,)),
        (3, 2, (2, 2)),
        (7, 2, (3, 3)),
        (12, 2, (3, 4)),  # groups of 4, three of them
        (100, 1, (100,)),
        (100, 2, (10, 10)),
        (100, 3, (5, 5, 4)),
        (100, 7, (2,) * 7),
        (17, 4, (3, 3, 2)),  # nominally 3 each; the fourth level would hold one arm
        (10**9, 30, (2,) * 30),
    ],
)
def test_even_groups(arms: int, levels: int, groups: tuple[int, ...]) -> None:
    assert planning.even_groups(arms, levels) == groups


@given(ARMS, st.data())
def test_even_groups_reach_every_arm_and_grow_as_the_paper_says(arms: int, data: st.DataObject) -> None:
    levels = data.draw(st.integers(1, planning.deepest(arms)))
    groups = planning.even_groups(arms, levels)
    assert len(groups) <= levels
    assert min(groups) >= 2
    assert math.prod(groups) >= arms
    # Theta(D K^(1/D)), with these constants for every K up to 10^6.
    assert 0.7 <= sum(groups) / (levels * arms ** (1 / levels)) < 2


@pytest.mark.parametrize("levels", [0, 8])
def test_depth_out_of_range(levels: int) -> None:
    with pytest.raises(ValueError, match=rf"^levels must .*not {levels}$"):
        planning.even_groups(100, levels)
    with pytest.raises(ValueError, match=r"between 1 and ceil\(log2\(arms\)\) = 7 for 100 arms"):
        planning.tight_groups(100, 8)


# --- Partitions ---------------------------------------------------------------------------------------------


def test_sizes_by_hand() -> None:
    assert planning.sizes(100, (5, 5, 4)) == (20, 4, 1)
    assert planning.sizes(17, (3, 3, 3, 1)) == (6, 2, 1, 1)
    assert planning.sizes(100, (34, 3)) == (3, 1)


@given(st.integers(1, 3000), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_partition_holds_every_arm_once(arms: int, groups: list[int]) -> None:
    if math.prod(groups) < arms:
        with pytest.raises(ValueError, match=rf"^groups must have a product of at least arms = {arms}, not "):
            planning.partition(arms, groups)
        return
    ranges = list(planning.partition(arms, groups))
    assert [arm for first, end in ranges for arm in range(first, end)] == list(range(arms))
    assert all(0 < end - first <= groups[-1] for first, end in ranges)
    assert len(ranges) <= math.prod(groups[:-1])


@given(st.integers(2, 3000), st.data())
def test_no_level_of_a_planned_hierarchy_is_wasted(arms: int, data: st.DataObject) -> None:
    levels = data.draw(st.integers(1, planning.deepest(arms)))
    memory = data.draw(st.integers(planning.least_memory(arms), arms))
    for groups in (
        planning.even_groups(arms, levels),
        planning.tight_groups(arms, levels),
        planning.best_split(arms, memory),
    ):
        sizes = (arms, *planning.sizes(arms, groups))
        assert sizes[-1] == 1
        assert tuple(-(-above // below) for above, below in pairwise(sizes)) == groups


# --- Memory -------------------------------------------------------------------------------------------------


def test_printed_depth_by_hand() -> None:
    # D ceil(100^(1/D)) for D = 1..7: 100, 20, 15, 16, 15, 18, 14.
    depths = [planning.printed_depth(100, memory) for memory in (14, 15, 16, 19, 20, 99, 100, 10**6)]
    assert depths == [7, 3, 3, 3, 2, 2, 1, 1]
    with pytest.raises(ValueError, match=r"^memory must be at least 14 words for even groups of 100 arms, not 13$"):
        planning.printed_depth(100, 13)


def test_least_memory_against_products_of_small_levels() -> None:
    best = {0: 1}  # the most arms that any levels reach in so many words
    for words in range(1, 26):
        best[words] = max([best[words - n] * n for n in range(1, words + 1)])
    for arms in range(1, 3000):
        assert planning.least_memory(arms) == min(words for words in best if words and best[words] >= arms)


def test_tight_depth_by_hand() -> None:
    assert planning.tight_depth(100, 13) == (4, (4, 3, 3, 3))
    assert planning.tight_depth(100, 14) == (3, (5, 5, 4))
    assert planning.tight_depth(100, 20) == (2, (10, 10))
    assert planning.tight_depth(100, 100) == (1, (100,))
    assert planning.tight_depth(1, 1) == (1, (1,))
    with pytest.raises(ValueError, match=r"^memory must be at least 13 words for 100 arms, not 12$"):
        planning.tight_depth(100, 12)


def test_tight_depth_against_every_split() -> None:
    splits = list(multisets(2, 240, 40, 8))
    for arms in range(2, 121):
        reaching = [s for s in splits if math.prod(s) >= arms and len(s) <= planning.deepest(arms)]
        for memory in range(planning.least_memory(arms), 40):
            depth, groups = planning.tight_depth(arms, memory)
            assert depth == len(groups) == min(len(s) for s in reaching if sum(s) <= memory)
            assert sum(groups) == min(sum(s) for s in reaching if len(s) == depth)


@given(MANY, st.data())
def test_tight_groups_could_not_do_with_a_word_less(arms: int, data: st.DataObject) -> None:
    levels = data.draw(st.integers(1, planning.deepest(arms)))
    groups = planning.tight_groups(arms, levels)
    assert len(groups) == levels
    assert min(groups) >= 2
    assert math.prod(groups) >= arms
    assert list(groups) == sorted(groups, reverse=True)
    spare = sum(groups) - 1
    if spare >= 2 * levels:  # equal levels reach the most arms in a given number of words
        n, larger = divmod(spare, levels)
        assert (n + 1) ** larger * n ** (levels - larger) < arms


@given(MANY, st.integers(1, 4 * 10**6))
def test_two_level_split_fits_and_is_the_printed_one(arms: int, memory: int) -> None:
    if memory**2 < 4 * arms:
        least = next(m for m in range(math.isqrt(4 * arms), 10**7) if m * m >= 4 * arms)
        with pytest.raises(ValueError, match=rf"^memory must be at least {least} words .* not {memory}$"):
            planning.two_level_split(arms, memory)
        return
    groups, size = planning.two_level_split(arms, memory)
    assert groups + size <= memory
    assert groups == -(-arms // size)

    # The size is the least integer at or beyond the smaller root of n^2 - M n + K.
    def beyond(n: int) -> bool:
        return 2 * n >= memory or n * (memory - n) >= arms

    assert beyond(size)
    assert not beyond(size - 1)


# --- The least bound ----------------------------------------------------------------------------------------


def test_best_split_by_hand() -> None:
    expected = {
        13: (4, 3, 3, 3),
        14: (5, 5, 4),
        20: (10, 10),
        50: (34, 3),
        80: (50, 2),
        99: (50, 2),
        100: (100,),
        10**6: (100,),
    }
    assert {memory: planning.best_split(100, memory, 10**7) for memory in expected} == expected
    assert planning.best_split(1, 1, 10) == (1,)
    assert planning.best_split(2, 2, 10) == (2,)
    with pytest.raises(ValueError, match=r"^memory must be at least 13 words for 100 arms, not 12$"):
        planning.best_split(100, 12, 10**7)
    with pytest.raises(ValueError, match=r"^horizon must be a whole number of at least 1, not 0$"):
        planning.best_split(100, 20, 0)


@pytest.mark.parametrize("horizon", [None, 1, 100, 10**4, 10**7])
def test_best_split_against_every_split(horizon: int | None) -> None:
    # A split that reaches 2K or more arms, unless it is all twos, can be made smaller and so better.
    splits = list(multisets(2, 400, 60, 8))
    product = np.array([math.prod(s) for s in splits])
    words = np.array([sum(s) for s in splits])
    depth = np.array([len(s) for s in splits])
    costs = np.array([cost(s) for s in splits])
    if horizon is None:
        value = depth * 1e6 + costs
    else:
        value = depth * (costs / horizon) ** (1 / (2 * depth))
    for arms in (*range(2, 70), *range(70, 201, 7)):
        reaching = (product >= arms) & (depth <= planning.deepest(arms))
        for memory in range(planning.least_memory(arms), min(arms, 60) + 1):
            legal = reaching & (words <= memory)
            ties = np.flatnonzero(legal & (value <= value[legal].min() * (1 + 1e-12)))
            expected = min(ties, key=lambda i: (depth[i], words[i]))
            assert planning.best_split(arms, memory, horizon) == splits[expected], (arms, memory)


@settings(max_examples=50)
@given(st.integers(10**4, 10**10), st.floats(1, 4))
def test_best_two_levels_against_every_group_size(arms: int, spare: float) -> None:
    memory = min(math.ceil(2 * math.sqrt(arms) * spare), arms - 1)
    n = np.arange(2, math.isqrt(arms) + 2)
    other = -(-arms // n)
    fits = n + other <= memory
    least = (n * np.log(n) * other * np.log(other))[fits].min()
    groups = planning.best_split(arms, memory)
    assert len(groups) == 2
    assert cost(groups) == pytest.approx(least, rel=1e-11)


@settings(max_examples=30)
@given(st.integers(10**3, 10**6), st.floats(0, 1))
def test_best_three_levels_against_every_split(arms: int, spare: float) -> None:
    low, high = sum(planning.tight_groups(arms, 3)), sum(planning.tight_groups(arms, 2)) - 1
    memory = low + int(spare * (high - low))
    least = math.inf
    for a in range(2, planning.ceil_root(arms, 3) + 1):
        b = np.arange(a, math.isqrt(-(-arms // a)) + 2)
        c = -(-arms // (a * b))
        fits = (a + b + c <= memory) & (c > 1)
        if fits.any():
            least = min(least, a * math.log(a) * (b * np.log(b) * c * np.log(c))[fits].min())
    groups = planning.best_split(arms, memory)
    assert len(groups) == 3
    assert cost(groups) == pytest.approx(least, rel=1e-11)


@pytest.mark.parametrize(("arms", "memory"), [(3000, 26), (3000, 30), (5000, 28), (5000, 33), (9999, 35)])
def test_best_deep_split_against_every_split(arms: int, memory: int) -> None:
    for horizon in (1, 10**4, 10**8):
        splits = (s for s in multisets(2, 2 * arms, memory, 14) if math.prod(s) >= arms)
        least = min(bounds.hierarchy(horizon, s) for s in splits)
        found = planning.best_split(arms, memory, horizon)
        assert bounds.hierarchy(horizon, found) == pytest.approx(least, rel=1e-11)


@settings(max_examples=50)
@given(MANY, st.integers(1, 10**6), st.one_of(st.none(), st.integers(1, 10**15)))
def test_best_split_fits_and_beats_the_other_plans(arms: int, memory: int, horizon: int | None) -> None:
    memory = max(memory, planning.least_memory(arms))
    groups = planning.best_split(arms, memory, horizon)
    assert sum(groups) <= memory
    assert math.prod(groups) >= arms
    assert list(groups) == sorted(groups, reverse=True)
    others = [planning.tight_groups(arms, levels) for levels in range(1, planning.deepest(arms) + 1)]
    others += [planning.even_groups(arms, levels) for levels in range(1, planning.deepest(arms) + 1)]
    if memory**2 >= 4 * arms and memory <= arms:
        others.append(planning.two_level_split(arms, memory))
    for other in others:
        if sum(other) <= memory and horizon is not None:
            assert bounds.hierarchy(horizon, groups) <= bounds.hierarchy(horizon, other) * (1 + 1e-11)
        if sum(other) <= memory and horizon is None:
            assert (len(groups), cost(groups)) <= (len(other), cost(other) * (1 + 1e-11))


@pytest.mark.parametrize("memory", [13, 14, 20, 50, 80, 99, 100])
def test_chosen_split_of_a_hundred_arms(memory: int) -> None:
    assert planning.choose_split(100, memory, 10**7) == planning.best_split(100, memory, 10**7)
    assert planning.choose_split(100, memory) == planning.best_split(100, memory)
    # Ten steps teach nothing about a hundred arms: no more levels than the memory asks for.
    assert planning.choose_split(100, memory, 10) == planning.best_split(100, memory)


def test_chosen_split_of_a_short_horizon_is_no_deeper_than_need_be() -> None:
    assert len(planning.best_split(10**6, 2048, 10**4)) == 5
    assert len(planning.choose_split(10**6, 2048, 10**4)) == 2
    assert planning.choose_split(1, 1, 10) == (1,)
    with pytest.raises(ValueError, match=r"^memory must be at least 13 words for 100 arms, not 12$"):
        planning.choose_split(100, 12, 10**7)
    with pytest.raises(ValueError, match=r"^horizon must be a whole number of at least 1, not 0$"):
        planning.choose_split(100, 20, 0)


@settings(max_examples=50)
@given(MANY, st.integers(1, 10**6), st.integers(1, 10**15))
def test_chosen_split_has_the_least_bound_that_says_something(arms: int, memory: int, horizon: int) -> None:
    memory = max(memory, planning.least_memory(arms))
    least = bounds.hierarchy(horizon, planning.best_split(arms, memory, horizon))
    chosen = planning.choose_split(arms, memory, horizon)
    if least < horizon:
        assert bounds.hierarchy(horizon, chosen) == pytest.approx(least, rel=1e-11)
    else:
        assert chosen == planning.best_split(arms, memory)


# --- Epochs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "horizon", "expected"),
    [
        ((100,), 10**7, (10**7,)),
        ((10, 10), 10**7, (3162, 3163)),
        ((4, 4), 10**6, (1000, 1000)),
        ((5, 5, 4), 10**7, (244, 244, 169)),
        ((7, 7, 7), 10**6, (100, 100, 100)),  # floating point alone makes some of such roots 101
        ((3, 3, 3, 3), 10**8, (100, 100, 100, 100)),
        ((9,) * 5, 10**10, (100,) * 5),
        ((7, 7, 7), 10**15 + 1, (10**5 + 1, 10**5, 10**5)),  # a float cannot tell the root from 10^5
        ((16, 4, 4), 4096 * 10**3, (640, 80, 80)),  # x = 64, 8 and 8 times ln 2, T / prod = (10 / ln 2)^3
        ((1, 10, 10), 10**7, (1, 3162, 3163)),
        ((10, 1, 10), 10**7, (3162, 1, 3163)),
        ((10, 1), 10**7, (10**7, 1)),
        ((1, 1), 50, (1, 50)),
        ((10**6, 2), 100, (100, 1)),
        ((2, 10**6), 100, (1, 100)),
        ((10, 10), 1, (1, 1)),
        ((5, 5, 4), 1, (1, 1, 1)),
    ],
)
def test_epochs(groups: tuple[int, ...], horizon: int, expected: tuple[int, ...]) -> None:
    assert planning.epochs(groups, horizon) == expected


def test_epochs_of_theorem_3() -> None:
    # Experiment 3: K = 16, V = 10, T = 10^6, so N = L = 4.
    assert planning.epochs((4, 4), 10**6, (10 * 4 * math.log(4 * 10**6), 4 * math.log(4))) == (10417, 96)


def test_epochs_of_tsallis_levels_balance_without_logarithms() -> None:
    assert planning.epochs((20, 5), 10**6, (20, 5)) == (2000, 500)
    assert planning.epochs((8, 1, 2), 10**6, (8, 0, 2)) == (2000, 1, 500)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=20), st.integers(1, 10**12))
def test_epochs_cover_the_horizon_and_stay_in_it(groups: list[int], horizon: int) -> None:
    S = planning.epochs(groups, horizon)
    assert math.prod(S) >= horizon
    assert all(1 <= s <= horizon for s in S)
    assert all(s == 1 for s, n in zip(S, groups, strict=True) if n == 1 and max(groups) > 1)
    lengths = planning.lengths(S)
    assert lengths[-1] == 1
    assert all(lengths[d] == lengths[d + 1] * S[d + 1] for d in range(len(S) - 1))


@given(st.lists(st.integers(2, 100), min_size=2, max_size=5), st.integers(10**6, 10**12))
def test_epochs_lose_no_more_than_the_bound(groups: list[int], horizon: int) -> None:
    # More choices lose less per step; only the two-level S = ceil(T / Delta) may be rounded the other way.
    S = planning.epochs(groups, horizon)
    lost = math.fsum(2 * math.sqrt(2 * n * math.log(n) / s) for n, s in zip(groups, S, strict=True))
    slack = 1 + 1 / min(S)
    assert horizon * lost <= bounds.hierarchy(horizon, groups) * slack


@pytest.mark.parametrize(("levels", "delay"), [(3, 3000), (4, 3000), (5, 3000)])
def test_epochs_that_are_lengthened_for_a_delay_cover_the_horizon_and_stay_in_it(levels: int, delay: int) -> None:
    """The arms' epochs are two delays long, and the top level has as many as it takes."""
    policy = hlmc.HLMC(arms=256, levels=levels, horizon=10**6, pending=64, delay=delay)
    top, *rest = policy.epochs_used(10**6)
    assert rest[-1] == 2 * delay
    assert (top - 1) * math.prod(rest) < 10**6 <= top * math.prod(rest)


def test_bad_epochs_arguments() -> None:
    with pytest.raises(ValueError, match=r"^horizon must be a whole number of at least 1, not 0$"):
        planning.epochs((5, 5), 0)
    with pytest.raises(ValueError, match=r"^groups must be a whole number of at least 1, not 0$"):
        planning.epochs((5, 0), 10)
    with pytest.raises(ValueError, match=r"^groups must have at least one level"):
        planning.epochs((), 10)
    with pytest.raises(ValueError, match=r"^costs must have one number for each of the 2 levels, not 3$"):
        planning.epochs((5, 5), 10, (1, 2, 3))
    with pytest.raises(ValueError, match=r"^costs must be a number in \(0, inf\), not 0$"):
        planning.epochs((5, 5), 10, (1, 0))


# --- Operating points ---------------------------------------------------------------------------------------


def test_the_neighbours_hold_every_depth_and_other_memories() -> None:
    found = planning.neighbours(100, 10**7, memory=50)
    assert {len(groups) for groups in found} == set(range(1, 8))
    # The least bounds in 25, 50 and 100 words are those of (20, 5), (34, 3) and (100,).
    assert {(100,), (10, 10), (20, 5), (34, 3), (5, 5, 4)} <= set(found)
    assert found == sorted(found, key=lambda groups: (len(groups), sum(groups), groups))
    assert planning.neighbours(1, 50) == [(1,)]


def test_the_neighbours_need_enough_memory() -> None:
    with pytest.raises(ValueError, match=r"^memory must be at least 13 words for 100 arms, not 12$"):
        planning.neighbours(100, 10**7, memory=12)
