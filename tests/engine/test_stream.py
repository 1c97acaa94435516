"""The random numbers: a function of key, time and purpose, uniform and without a trace of one in another."""

import itertools
import math

import numpy as np
import pytest

import hlmc
from hlmc.engine.kernel import kernel
from hlmc.engine.stream import PURPOSES, increment, mix, number, uniform, unit
from hlmc.errors import BadArgument, BadType
from hlmc.streams import derive_seed, keys
from hlmc.targets import compiled

MASK = 2**64 - 1


def plain_mix(x: int) -> int:
    """The finaliser of SplitMix64 in plain integers."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def plain_uniform(key: int, t: int, purpose: int) -> float:
    odd = plain_mix(key ^ 0x9E3779B97F4A7C15) | 1
    return (plain_mix((key + (64 * t + purpose) * odd) & MASK) >> 11) / 2**53


@kernel
def fill(key_list: np.ndarray, first: int, stride: int, purpose: int, out: np.ndarray) -> None:
    for i in range(len(key_list)):
        for j in range(out.shape[1]):
            out[i, j] = uniform(key_list[i], first + stride * j, purpose)


def sample(count: int, length: int, first: int = 0, stride: int = 1, purpose: int = 0) -> np.ndarray:
    """Uniform numbers [key, time]."""
    out = np.zeros((count, length))
    with np.errstate(over="ignore"):
        compiled(fill)(keys(5, 0, count), first, stride, purpose, out)
    return out


def chi_square(values: np.ndarray, cells: int) -> float:
    """How far the counts of equal cells lie from being equal, in standard deviations."""
    counts = np.bincount((values.ravel() * cells).astype(int), minlength=cells)
    expected = values.size / cells
    return float((((counts - expected) ** 2 / expected).sum() - cells) / math.sqrt(2 * cells))


@pytest.mark.interpreted
def test_numbers_are_the_documented_function() -> None:
    with np.errstate(over="ignore"):
        for key in (0, 1, 2**63, MASK, 0x123456789ABCDEF):
            for t, purpose in ((0, 0), (1, 0), (0, 1), (10**15, 63)):
                expected = plain_uniform(key, t, purpose)
                assert compiled(uniform)(np.uint64(key), t, purpose) == expected
                assert uniform(np.uint64(key), t, purpose) == expected
                bits = number(np.uint64(key), increment(np.uint64(key)), t, purpose)
                assert unit(bits) == expected


def test_numbers_lie_in_the_unit_interval() -> None:
    assert unit(np.uint64(0)) == 0.0
    assert unit(np.uint64(MASK)) == 1.0 - 2.0**-53
    values = sample(100, 1000)
    assert values.min() >= 0.0
    assert values.max() < 1.0


def test_mixing_is_a_bijection_as_far_as_can_be_seen() -> None:
    with np.errstate(over="ignore"):
        assert len(np.unique(mix(np.arange(200_000, dtype=np.uint64)))) == 200_000


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("count", "length", "first", "stride", "purpose"),
    [
        (10, 40_000, 0, 1, 0),
        (10, 40_000, 2**52, 1, 0),
        (10, 40_000, 0, 1, 7),
        (10, 40_000, 0, 1024, 0),
        (40_000, 10, 0, 1, 0),
    ],
)
def test_numbers_are_uniform_and_follow_on_from_nothing(
    count: int, length: int, first: int, stride: int, purpose: int
) -> None:
    values = sample(count, length, first, stride, purpose)
    assert abs(chi_square(values, 1000)) < 5
    # The next number of the same key, and the same number of the next key.
    pairs = values[:, :-1], values[:, 1:]
    assert abs(chi_square((np.floor(pairs[0] * 30) + pairs[1]) / 30, 900)) < 5
    pairs = values[:-1], values[1:]
    assert abs(chi_square((np.floor(pairs[0] * 30) + pairs[1]) / 30, 900)) < 5


@pytest.mark.statistical
def test_levels_draw_independent_numbers() -> None:
    one, other = sample(20, 20_000, purpose=0), sample(20, 20_000, purpose=1)
    assert abs(chi_square((np.floor(one * 30) + other) / 30, 900)) < 5
    # Nor does level 1 at a step know level 0 of the next step.
    assert abs(chi_square((np.floor(other[:, :-1] * 30) + one[:, 1:]) / 30, 900)) < 5


def test_there_is_a_purpose_for_every_level_of_the_deepest_hierarchy() -> None:
    deepest = hlmc.HLMC(2**53, levels=53, horizon=10)
    assert len(deepest.plan.groups) == 53 < PURPOSES
    learner = deepest.start()
    assert 0 <= learner.select() < 2**53
    learner.update(1.0)


# --- Keys and seeds -----------------------------------------------------------------------------------------


def test_streams_have_keys_of_their_own() -> None:
    everyone = np.concatenate([keys(seed, 0, 1000) for seed in (0, 1, 2, -1, 2**64)])
    assert len(np.unique(everyone)) == 5000
    assert keys(3, 10, 5).tolist() == keys(3, 0, 15)[10:].tolist()
    assert keys(3, 10, 5).dtype == np.uint64


def test_seeds_by_name_depend_on_every_name_and_on_nothing_else() -> None:
    seeds = [derive_seed(0), derive_seed(1), derive_seed(0, "a"), derive_seed(0, "a", "b"), derive_seed(0, "ab")]
    assert len(set(seeds)) == 5
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert derive_seed(np.int64(7), "a") == derive_seed(7, "a")


@pytest.mark.parametrize("seed", [1.0, "0", True])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(BadType, match="seed must be a whole number"):
        hlmc.EXP3(3, 10).start(seed=seed)  # type: ignore[arg-type]


def test_streams_count_from_0() -> None:
    with pytest.raises(BadArgument, match="stream must be a whole number of at least 0, not -1"):
        hlmc.EXP3(3, 10).start(0, stream=-1)


@pytest.mark.interpreted
def test_equal_seeds_give_equal_runs_and_others_do_not() -> None:
    policy = hlmc.HLMC(30, levels=2, horizon=100)
    runs = []
    for seed, stream in ((1, 0), (1, 0), (2, 0), (1, 1)):
        learner = policy.start(seed, stream)
        arms = []
        for _ in range(100):
            arms.append(learner.select())
            learner.update(0.5)
        runs.append(arms)
    assert runs[0] == runs[1]
    for one, other in itertools.combinations(runs[1:], 2):
        assert one != other
