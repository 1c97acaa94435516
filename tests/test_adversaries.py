"""Every adversary against a slow reading of its docstring, written here without the library's kernels."""

import math
import os
import pickle
import struct
import subprocess
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import stats

from hlmc import adversaries
from hlmc._testing_adversary import check_adversary
from hlmc.adversaries import (
    CATALOGUE,
    EXAMPLES,
    Adversary,
    Alternating,
    Bernoulli,
    Beta,
    BlockTrap,
    Decoy,
    Function,
    LateBloomer,
    Needle,
    NotCompiled,
    OneGoodArm,
    PiecewiseStationary,
    RandomWalk,
    Sawtooth,
    Shifting,
    Trace,
    UniformMeans,
    named,
    packed,
    tables,
)
from hlmc.adversaries.arithmetic import divides, divisor, quotient
from hlmc.adversaries.reading import from_repr
from hlmc.engine.kernel import kernel
from hlmc.errors import BadArgument, BadFile, BadReward, BadType
from hlmc.streams import derive_seed
from hlmc.targets import JIT

END = 2**53
BILLION = 10**9

# --- the slow readings


def mixed(x):
    mask = 2**64 - 1
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def hashed(key, *numbers):
    for n in numbers:
        key = mixed((key + n * 0x9E3779B97F4A7C15) % 2**64)
    return key


def share(key, *numbers):
    """A number in [0, 1) from the upper 53 bits of a hash."""
    return (hashed(key, *numbers) >> 11) / 2**53


def key_of(adversary, purpose):
    return derive_seed(adversary.seed, "adversary", type(adversary).__name__, purpose)


def coin(adversary, t, arm, mean):
    return float(share(key_of(adversary, "coin"), t, arm) < mean)


def slow_subphase(h0, b0, t):
    """Walk through the phases one by one."""
    start, i = 0, 0
    while t >= start + h0 * b0 * 2**i:
        start += h0 * b0 * 2**i
        i += 1
    return (t - start) // (b0 * 2**i)


def slow_block_trap(a, t, arm):
    h0 = a.subphases or math.ceil((a.arms - 1) / (a.memory - 1))
    u = slow_subphase(h0, a.memory * (a.memory + 2), t)
    return float(arm == a.memory * (u + 1) % a.arms)


def slow_alternating(a, t, arm):
    h0 = a.subphases or math.ceil((a.arms - 1) / (a.memory - 1))
    u = slow_subphase(h0, a.memory * (a.memory + 2), t)
    return float(u % 2) if arm == 0 else a.epsilon


def slow_shifting(a, t, arm):
    lengths = [a.horizon // a.phases + (v < a.horizon % a.phases) for v in range(a.phases)]
    ends = np.cumsum(lengths)
    v = int(np.searchsorted(ends, t, side="right"))
    n = a.groupsize or math.ceil(math.sqrt(a.arms))
    return float(arm == v * n % a.arms)


def slow_piecewise(a, t, arm):
    stretch = t // a.segment
    change = stretch * a.segment + int(share(key_of(a, "change"), stretch) * a.segment)
    segment = stretch + (t >= change)
    mean = a.low + (a.high - a.low) * share(key_of(a, "mean"), segment, arm)
    return coin(a, t, arm, mean)


def slow_sawtooth(a, t, arm):
    lead = int(share(key_of(a, "lead"), arm) * a.period)
    peak = a.lowest + (1 - a.lowest) * share(key_of(a, "peak"), arm)
    return peak * ((t + lead) % a.period + 1) / a.period


def slow_random_walk(a, t, arm):
    def bell(bits):
        quarters = [(bits >> shift) & 0xFFFF for shift in (0, 16, 32, 48)]
        return (sum(quarters) - 2 * 0xFFFF) * math.sqrt(3 / (2**32 - 1))

    size = 1
    while size * a.step**2 < 4:
        size *= 2
    first, last = t - t % size, t - t % size + size
    x, y = (2 * share(key_of(a, "ends"), arm, end // size) for end in (first, last))
    drawn = math.sqrt(size * a.step**2 - 1 / 3) * bell(hashed(key_of(a, "detours"), arm, first // size))
    ways = [y - x + 2 * turns for turns in range(-20, 20)]
    value = {first: x, last: x + min(ways, key=lambda way: abs(way - drawn))}
    while t not in value:
        middle = (first + last) // 2
        noise = bell(hashed(key_of(a, "middles"), arm, middle))
        value[middle] = (value[first] + value[last]) / 2 + noise * a.step * math.sqrt(last - first) / 2
        first, last = (first, middle) if t < middle else (middle, last)
    folded = value[t] % 2
    return min(folded, 2 - folded)


def slow_needle(a, t, arm):
    size = a.groupsize or math.ceil(math.sqrt(a.arms))
    mean = a.poor if arm // size == a.best_arm // size else a.fair
    return coin(a, t, arm, a.good if arm == a.best_arm else mean)


def slow_decoy(a, t, arm):
    size = a.groupsize or math.ceil(math.sqrt(a.arms))
    mean = a.fair
    if arm // size == a.decoy_group[0] // size:
        mean = a.decoy
    if arm // size == a.best_arm // size:
        mean = a.good if arm == a.best_arm else a.poor
    return coin(a, t, arm, mean)


SLOW = {
    BlockTrap: slow_block_trap,
    Alternating: slow_alternating,
    Shifting: slow_shifting,
    Bernoulli: lambda a, t, arm: coin(a, t, arm, a.means[arm]),
    OneGoodArm: lambda a, t, arm: coin(a, t, arm, a.high if arm == a.arm else a.low),
    UniformMeans: lambda a, t, arm: coin(a, t, arm, a.low + (a.high - a.low) * share(key_of(a, "mean"), arm)),
    RandomWalk: slow_random_walk,
    PiecewiseStationary: slow_piecewise,
    Sawtooth: slow_sawtooth,
    LateBloomer: lambda a, t, arm: a.others if arm != a.best_arm else a.before if t < a.bloom else a.after,
    Needle: slow_needle,
    Decoy: slow_decoy,
    Trace: lambda a, t, arm: a.table[t][arm],
    Function: lambda a, t, arm: ((t // 100 + arm) % 4) / 4,
}

MORE = [
    BlockTrap(arms=100, memory=20, subphases=5),
    BlockTrap(arms=2, memory=2),
    BlockTrap(arms=64, memory=8),
    BlockTrap(arms=BILLION, memory=20),
    BlockTrap(arms=BILLION, memory=10**8),
    Alternating(arms=2, memory=2, subphases=7, epsilon=0.25),
    Alternating(arms=BILLION, memory=20),
    Shifting(arms=BILLION, horizon=10**12, phases=10**3),
    Shifting(arms=5, horizon=17, phases=17),
    OneGoodArm(arms=BILLION, arm=BILLION - 1, seed=3),
    UniformMeans(arms=BILLION, low=0.25, high=0.5, seed=2**64 - 1),
    RandomWalk(arms=BILLION, step=0.001, seed=4),
    RandomWalk(arms=3, step=1.0),
    PiecewiseStationary(arms=BILLION, segment=7, low=0.2, high=0.9, seed=5),
    Sawtooth(arms=BILLION, period=7, lowest=0.0, seed=6),
    LateBloomer(arms=BILLION, bloom=10**6, seed=7),
    Needle(arms=BILLION, seed=8),
    Needle(arms=11, groupsize=4, seed=8),
    Decoy(arms=BILLION, seed=9),
    Decoy(arms=11, groupsize=4, seed=9),
]


def label(adversary):
    return repr(adversary)[:60]


@pytest.mark.interpreted
@pytest.mark.parametrize("adversary", [a for a in (*EXAMPLES, *MORE) if type(a) in SLOW], ids=label)
def test_rewards_are_those_of_the_slow_reading(adversary):
    random = np.random.default_rng(0)
    end = adversary.length or END
    steps = [0, 1, end - 1, *(int(end**x) - 1 for x in random.random(150))]
    arms = [0, adversary.arms - 1, *random.integers(0, adversary.arms, 4).tolist()]
    if hasattr(adversary, "best_arm"):
        arms += [adversary.best_arm, (adversary.best_arm + 1) % adversary.arms]
    slow = SLOW[type(adversary)]
    for t in steps:
        for arm in arms:
            assert adversary.reward(t, arm) == pytest.approx(slow(adversary, t, arm), abs=1e-9), (t, arm)


@pytest.mark.parametrize("adversary", [*EXAMPLES, *MORE], ids=label)
def test_the_catalogue_keeps_its_promises(adversary):
    check_adversary(adversary)


@pytest.mark.interpreted
@pytest.mark.parametrize("adversary", EXAMPLES, ids=label)
def test_the_catalogue_keeps_its_promises_in_a_few_places(adversary):
    check_adversary(adversary, samples=10)


def test_every_adversary_has_an_example():
    assert {type(a) for a in EXAMPLES} == set(CATALOGUE)
    assert {cls.__name__ for cls in CATALOGUE} <= set(adversaries.__all__)


# --- exact arithmetic


@pytest.mark.interpreted
@given(st.integers(1, END), st.integers(0, END))
def test_the_quotient_is_exact(by, x):
    for near in (x, x // by * by, x // by * by - 1):
        if near >= 0:
            assert quotient(near, by, 1.0 / by) == near // by


@pytest.mark.interpreted
@given(st.integers(1, END), st.integers(0, 2**63))
def test_divisibility_is_exact(n, x):
    with np.errstate(over="ignore"):
        for near in (x, x // n * n):
            assert divides(np.uint64(near), *divisor(n)) == (near % n == 0)


# --- the paper's three


@pytest.mark.parametrize("adversary", [a for a in (*EXAMPLES, *MORE) if isinstance(a, (BlockTrap, Alternating))])
def test_every_boundary_of_the_phases_is_exact(adversary):
    """At the ends of sub-phases of all phases until 2^53, one step before and after."""
    h0, b0 = adversary.h0, adversary.b0
    slow = SLOW[type(adversary)]
    start, i = 0, 0
    while start < END:
        for u in {0, 1, 2, h0 // 2, h0 - 1, h0}:
            for t in range(start + u * b0 * 2**i - 1, start + u * b0 * 2**i + 2):
                if 0 <= t < END:
                    place = adversary.memory * (slow_subphase(h0, b0, t) + 1) % adversary.arms
                    for arm in {0, place, (place + 1) % adversary.arms}:
                        assert adversary.reward(t, arm) == slow(adversary, t, arm), (t, arm)
        start += h0 * b0 * 2**i
        i += 1


def test_block_trap_pays_one_arm_at_every_step():
    for adversary in (BlockTrap(), BlockTrap(arms=7, memory=3, subphases=5), BlockTrap(arms=3, memory=8)):
        assert (adversary.rewards(0, 20_000).sum(axis=1) == 1).all()


def test_block_trap_is_experiment_1():
    trap = BlockTrap(arms=100, memory=20)
    assert (trap.h0, trap.b0) == (6, 440)
    paying = [int(trap.rewards(t, t + 1).argmax()) for t in range(0, 6 * 440, 440)]
    assert paying == [20, 40, 60, 80, 0, 20]
    # Arm 20's share at T = 10^7, for 6 sub-phases and for 5.
    for subphases in (None, 5):
        trap = BlockTrap(arms=100, memory=20, subphases=subphases)
        assert trap.rewards(0, 10**7, 20, 21).mean() == pytest.approx(0.2793, abs=5e-5)


def test_no_arm_that_unshuffled_blocks_hold_pays_in_the_first_phase():
    """UCB-M holds arms 0-19, then an arm of those and the next 19, and so on."""
    rewards = BlockTrap(arms=100, memory=20).rewards(0, 5 * 440)
    for u in range(5):
        held = slice(1, 20) if u == 0 else slice(20 + 19 * (u - 1), 20 + 19 * u)
        assert rewards[u * 440 : (u + 1) * 440, held].sum() == 0


def test_alternating_is_experiment_2():
    adversary = Alternating(arms=100, memory=20)
    rewards = adversary.rewards(0, 3 * 2640)
    assert rewards[:, 0].reshape(-1, 440)[:6].mean(axis=1).tolist() == [0, 1, 0, 1, 0, 1]
    assert rewards[2640:, 0].reshape(-1, 880).mean(axis=1).tolist() == [0, 1, 0, 1, 0, 1]
    assert (rewards[:, 1:] == 1e-4).all()


def test_shifting_is_experiment_3():
    rewards = Shifting(arms=16, horizon=10**6, phases=10).rewards(0, 10**6)
    assert (rewards.sum(axis=1) == 1).all()
    paying = rewards.argmax(axis=1).reshape(10, 10**5)
    assert (paying == paying[:, :1]).all()
    assert paying[:, 0].tolist() == [0, 4, 8, 12, 0, 4, 8, 12, 0, 4]


@pytest.mark.interpreted
@pytest.mark.parametrize("horizon", [10, 11, 17, 100, 103])
@pytest.mark.parametrize("phases", [1, 2, 3, 7, 10])
def test_shifting_splits_any_horizon_evenly(horizon, phases):
    adversary = Shifting(arms=100, horizon=horizon, phases=phases)
    paying = adversary.rewards(0, horizon).argmax(axis=1)
    lengths = np.bincount(paying // adversary.N)
    assert len(lengths) == phases
    assert lengths.max() - lengths.min() <= 1
    assert list(adversary.changes(horizon)) == np.cumsum(lengths)[:-1].tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "adversary",
    [
        BlockTrap(arms=7, memory=3, subphases=5),
        BlockTrap(arms=2, memory=3),
        BlockTrap(arms=4, memory=4),
        BlockTrap(arms=2, memory=4, subphases=3),
        BlockTrap(arms=5, memory=2),
        Alternating(arms=3, memory=2, subphases=1),
        Alternating(arms=3, memory=2, subphases=3),
        Alternating(arms=3, memory=2, subphases=4),
        Shifting(arms=3, horizon=100, phases=7),
        Shifting(arms=1, horizon=100, phases=7),
        LateBloomer(arms=3, bloom=40),
        LateBloomer(arms=3, bloom=40, before=0.25, after=0.25),
    ],
    ids=label,
)
def test_changes_are_where_the_rewards_change(adversary):
    horizon = min(adversary.length or 600, 600)
    rewards = adversary.rewards(0, horizon)
    expected = 1 + np.flatnonzero((rewards[1:] != rewards[:-1]).any(axis=1))
    assert list(adversary.changes(horizon)) == expected.tolist()


def test_changes_of_a_long_game_come_one_by_one():
    changes = BlockTrap(arms=BILLION, memory=20).changes(END)
    assert [next(changes) for _ in range(3)] == [440, 880, 1320]
    assert Bernoulli([0.5]).changes(10) is None


# --- random ones
# Each test has a fixed seed. Under a fresh one a z-score beyond 5 would come up in 6 of 10 million looks.


def z_score(rewards, mean, deviation):
    return (np.mean(rewards) - mean) / (deviation / math.sqrt(np.size(rewards)))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("adversary", "means"),
    [
        (Bernoulli([0.1, 0.5, 0.9], seed=11), [0.1, 0.5, 0.9]),
        (OneGoodArm(arms=3, arm=1, high=0.8, low=0.3, seed=12), [0.3, 0.8, 0.3]),
        (UniformMeans(arms=3, seed=13), [UniformMeans(arms=3, seed=13).mean(arm) for arm in range(3)]),
    ],
    ids=label,
)
def test_coins_have_their_means_and_nothing_in_common(adversary, means):
    rewards = adversary.rewards(0, 40_000)
    assert set(np.unique(rewards)) == {0.0, 1.0}
    for arm, mean in enumerate(means):
        assert abs(z_score(rewards[:, arm], mean, math.sqrt(mean * (1 - mean)))) < 5
    centred = (rewards - rewards.mean(axis=0)) / rewards.std(axis=0)
    root = math.sqrt(len(centred))
    for one in range(3):
        for lag in (1, 2, 64):
            assert abs(np.mean(centred[lag:, one] * centred[:-lag, one])) * root < 5
        for other in range(one):
            for lag in (0, 1):
                product = centred[lag:, one] * centred[: len(centred) - lag, other]
                assert abs(np.mean(product)) * root < 5


@pytest.mark.statistical
def test_seeds_and_adversaries_draw_different_coins():
    drawn = [
        Bernoulli([0.5] * 4, seed=0).rewards(0, 10_000),
        Bernoulli([0.5] * 4, seed=1).rewards(0, 10_000),
        OneGoodArm(arms=4, high=0.5, low=0.5, seed=0).rewards(0, 10_000),
    ]
    for one in range(3):
        for other in range(one):
            assert abs(z_score(drawn[one] == drawn[other], 0.5, 0.5)) < 5


@pytest.mark.statistical
def test_uniform_means_are_uniform():
    adversary = UniformMeans(arms=BILLION, low=0.2, high=0.6, seed=1)
    means = [adversary.mean(arm) for arm in range(0, BILLION, 10**5)]
    # A correct sample fails once in 10^6 seeds.
    assert stats.kstest(means, stats.uniform(0.2, 0.4).cdf).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (1.0, 1.0), (0.5, 0.5), (0.2, 3.0), (50.0, 20.0), (0.01, 0.03)])
def test_beta_rewards_are_beta_distributed(a, b):
    rewards = Beta.shapes([a, 1.0], [b, 1.0], seed=1).rewards(0, 20_000, 0, 1)[:, 0]
    # A correct sample fails once in 10^6 seeds. The smallest shapes put much weight where a float64 is 1.
    if a < 0.1:
        assert abs(z_score(rewards, a / (a + b), rewards.std())) < 5
        assert rewards.var() == pytest.approx(stats.beta(a, b).var(), rel=0.05)
    else:
        assert stats.kstest(rewards, stats.beta(a, b).cdf).pvalue > 1e-6


def test_beta_takes_means_or_shapes():
    assert Beta.shapes([2.0], [6.0]) == Beta([0.25], [8.0])
    assert Beta([0.25, 0.5], concentration=4).concentration == 4.0
    with pytest.raises(BadArgument, match="one per arm: 2 numbers, not 1"):
        Beta([0.25, 0.5], concentration=[1.0])
    with pytest.raises(BadArgument, match="b must hold as many numbers as a: 1, not 2"):
        Beta.shapes([1.0], [1.0, 2.0])
    with pytest.raises(BadArgument, match="arm 0 has the shapes"):
        Beta([0.001], concentration=0.5)


@pytest.mark.interpreted
def test_beta_rewards_lie_within_the_unit_interval():
    rewards = Beta.shapes([0.001, 500.0, 1.0], [0.001, 0.01, 300.0], seed=3).rewards(0, 200)
    assert ((rewards >= 0) & (rewards <= 1)).all()


@pytest.mark.statistical
def test_random_walks_are_even_and_take_steps_of_the_size_asked_for():
    step = 0.02
    walk = RandomWalk(arms=2000, step=step, seed=1)
    size = 2**14  # steps in a block
    for t in (0, 1, size // 2, size - 1, size, 10**9 + 12345):
        levels = walk.rewards(t, t + 1)[0]
        # A correct sample fails once in 10^6 seeds.
        assert stats.kstest(levels, "uniform").pvalue > 1e-6
    # Away from the ends nothing is reflected. Displacements over n steps have variance n step^2.
    for start in (0, 1000, size - 8):
        rewards = walk.rewards(start, start + 17)
        inner = np.abs(rewards[0] - 0.5) < 0.5 - 5 * step * 4
        for n in (1, 2, 5, 16):
            moved = (rewards[n] - rewards[0])[inner] / (step * math.sqrt(n))
            assert abs(z_score(moved, 0.0, 1.0)) < 5
            assert abs(z_score(moved**2, 1.0, math.sqrt(2.0))) < 5
            assert np.abs(moved).max() < 5
        first, second = (rewards[8] - rewards[0])[inner], (rewards[16] - rewards[8])[inner]
        assert abs(np.corrcoef(first, second)[0, 1]) * math.sqrt(inner.sum()) < 5


@pytest.mark.statistical
def test_random_walks_spread_like_a_reflected_walk():
    """The correlation of cos(pi x) over n steps of a reflected walk is exp(-n (pi step)^2 / 2)."""
    step = 0.05
    walk = RandomWalk(arms=20_000, step=step, seed=2)
    start = np.cos(math.pi * walk.rewards(700, 701)[0])
    for n in (1, 10, 100, 400, 1000):
        later = np.cos(math.pi * walk.rewards(700 + n, 701 + n)[0])
        expected = math.exp(-n * (math.pi * step) ** 2 / 2)
        # The product of two cosines of mean 1/2 at most and standard deviation 1/2 at most.
        assert abs(2 * np.mean(start * later) - expected) < 5 * 2 * 0.5 / math.sqrt(20_000)


@pytest.mark.statistical
def test_piecewise_means_stay_between_changes_and_jump_at_them():
    adversary = PiecewiseStationary(arms=2, segment=20_000, seed=4)
    points = [0, *adversary.change_points(100_000)]
    assert len(points) >= 5
    for start, stop in pairwise(points):
        middle = (start + stop) // 2
        halves = [adversary.rewards(start, middle), adversary.rewards(middle, stop)]
        error = math.sqrt(0.25 / len(halves[0]) + 0.25 / len(halves[1]))
        assert (np.abs(halves[0].mean(axis=0) - halves[1].mean(axis=0)) < 5 * error).all()
    # Successive means differ by 1/3 on average; that all pairs are within 0.05 has probability (0.1)^8 or so.
    means = [adversary.rewards(a, b).mean(axis=0) for a, b in pairwise(points)]
    assert np.abs(np.diff(means, axis=0)).max() > 0.05


@pytest.mark.interpreted
def test_piecewise_change_points_are_where_the_slow_reading_has_them():
    adversary = PiecewiseStationary(arms=2, segment=10, seed=4)
    points = list(adversary.change_points(500))
    assert [t // 10 for t in points] in (list(range(50)), list(range(1, 50)))
    assert len(list(adversary.change_points(points[7]))) == 7


@pytest.mark.interpreted
def test_sawtooth_climbs_and_falls():
    rewards = Sawtooth(arms=50, period=20, lowest=0.5, seed=1).rewards(0, 60)
    assert (rewards[:20] == rewards[20:40]).all()
    steps = np.diff(rewards, axis=0)
    assert ((steps < 0).sum(axis=0) <= 3).all()
    peaks = rewards.max(axis=0)
    assert peaks.min() >= 0.5
    assert np.allclose(rewards.min(axis=0) * 20, peaks)
    assert len(np.unique(rewards.argmax(axis=0))) > 10


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(3))
def test_needle_and_decoy_hide_the_best_arm_in_a_group_of_low_mean(seed):
    for adversary in (Needle(arms=36, seed=seed), Decoy(arms=36, seed=seed)):
        means = adversary.rewards(0, 20_000).mean(axis=0)
        assert means.argmax() == adversary.best_arm
        groups = means.reshape(6, 6).mean(axis=1)
        assert groups.argmax() != adversary.best_arm // 6
        if isinstance(adversary, Decoy):
            assert groups.argmax() == adversary.decoy_group[0] // 6
        else:
            assert groups.argmin() == adversary.best_arm // 6


@pytest.mark.interpreted
@pytest.mark.parametrize("arms", [2, 3, 4, 5, 7, BILLION])
def test_groups_exist_for_any_number_of_arms(arms):
    for seed in range(20):
        adversary = Decoy(arms=arms, seed=seed)
        assert adversary.best_arm in adversary.group
        assert set(adversary.group[:2]).isdisjoint(adversary.decoy_group[:2])
        assert 0 <= adversary.decoy_group[0] <= adversary.decoy_group[-1] < arms
        assert Needle(arms=arms, seed=seed).group[-1] < arms
        assert LateBloomer(arms=arms, seed=seed).best_arm < arms


# --- what is refused


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlockTrap(arms=0), "arms must be a whole number of at least 1, not 0"),
        (lambda: BlockTrap(arms="7"), "arms must be a whole number of at least 1, not '7'"),
        (lambda: BlockTrap(memory=1), "memory must be a whole number of at least 2, not 1"),
        (lambda: BlockTrap(subphases=0), "subphases must be a whole number of at least 1, not 0"),
        (lambda: BlockTrap(memory=2**30, subphases=2**30), "memory times subphases must be at most 2"),
        (lambda: Alternating(epsilon=2), r"epsilon must be a number in \[0, 1\], not 2"),
        (lambda: Alternating(epsilon=math.nan), r"epsilon must be a number in \[0, 1\], not nan"),
        (lambda: Alternating(epsilon=True), r"epsilon must be a number in \[0, 1\], not True"),
        (lambda: Shifting(horizon=5, phases=6), "phases must be at most 5, not 6"),
        (lambda: Shifting(groupsize=17), "groupsize must be at most 16, not 17"),
        (lambda: Shifting(horizon=1e-3), "horizon must be a whole number of at least 1, not 0.001"),
        (
            lambda: Shifting(arms=BILLION, horizon=10**12, phases=10**12),
            "phases times groupsize must be at most 2",
        ),
        (lambda: Bernoulli([]), "means must hold at least one number"),
        (lambda: Bernoulli(0.5), "means must be a sequence of numbers, one for each arm, not 0.5"),
        (lambda: Bernoulli([0.5, -0.1]), r"means\[1\] must be a number in \[0, 1\], not -0.1"),
        (lambda: Bernoulli([0.5], seed=-1), "seed must be a whole number of at least 0, not -1"),
        (lambda: OneGoodArm(arms=3, arm=3), "arm must be at most 2, not 3"),
        (lambda: UniformMeans(arms=3, low=0.9, high=0.1), "low must be at most high, not 0.9 with high 0.1"),
        (lambda: PiecewiseStationary(arms=3, low=0.9, high=0.1), "low must be at most high"),
        (
            lambda: PiecewiseStationary(arms=3, segment=0),
            "segment must be a whole number of at least 1, not 0",
        ),
        (lambda: Beta([1.0]), r"means\[0\] must be a number in \(0, 1\), not 1.0"),
        (lambda: RandomWalk(arms=3, step=0), r"step must be a number in \[1e-6, 1\], not 0"),
        (lambda: Sawtooth(arms=3, period=1), "period must be a whole number of at least 2, not 1"),
        (lambda: LateBloomer(arms=1), "arms must be a whole number of at least 2, not 1"),
        (
            lambda: Needle(arms=9, good=0.3),
            "good must be above fair, and fair at least poor, not 0.3, 0.4, 0.1",
        ),
        (lambda: Decoy(arms=9, decoy=0.95), "good must be above decoy"),
        (lambda: Decoy(arms=9, groupsize=9), "groupsize must be at most 8, not 9"),
        (lambda: Function(arms=3, reward=0.5), r"reward must be a function of \(t, arm\), not 0.5"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises((BadArgument, BadType), match=message):
        make()


@pytest.mark.interpreted
def test_steps_and_arms_that_are_not_there_are_refused():
    adversary = Shifting(arms=4, horizon=100, phases=2)
    for bad in [(0, 101), (-1, 3), (5, 4), (0, 1, 0, 5), (0, 1, 3, 2), (0, 1, -1)]:
        with pytest.raises(BadArgument):
            adversary.rewards(*bad)
    assert adversary.rewards(100, 100).shape == (0, 4)
    assert adversary.rewards(0, 2, 1, 1).shape == (2, 0)
    assert adversary.rewards(1e1, np.int64(12)).shape == (2, 4)


def test_values_are_kept_in_one_form():
    assert BlockTrap(arms=1e2) == BlockTrap(arms=np.int64(100))
    assert hash(Bernoulli([0, 1])) == hash(Bernoulli(np.array([0.0, 1.0])))
    assert repr(Bernoulli([0, np.float64(0.5)])) == "Bernoulli(means=(0.0, 0.5), seed=0)"


# --- by name


def test_adversaries_by_name():
    assert named("Shifting", phases=5) == Shifting(phases=5)
    assert named("Bernoulli", means=[0.1, 0.2]) == Bernoulli((0.1, 0.2))
    with pytest.raises(BadArgument, match="Bernoulli needs the argument 'means'"):
        named("Bernoulli")
    with pytest.raises(BadArgument, match="Function has no argument 'function'; it takes arms, reward"):
        named("Function", arms=3, function=abs)
    with pytest.raises(BadArgument, match="there is no adversary 'Zzz'; there are BlockTrap, Alternating"):
        named("Zzz")


def test_the_catalogue_does_not_import_numba_or_pyarrow():
    program = "import sys, hlmc.adversaries; sys.exit(bool({'numba', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- tables and files


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setattr(tables, "_folder", lambda: folder)
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def table(kind=np.float64, steps=50, arms=4):
    rows = np.random.default_rng(0).random((steps, arms))
    return rows.astype(kind) if np.dtype(kind).kind == "f" else (rows > 0.5).astype(kind)


def write(path, rows, header=False):
    """Write rows in the form that the path's name asks for."""
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".parquet":
        columns = {f"arm {arm}": rows[:, arm] for arm in range(rows.shape[1])}
        parquet.write_table(pa.table(columns), path, row_group_size=7)
    else:
        head = ",".join(f"arm {arm}" for arm in range(rows.shape[1])) + "\n" if header else ""
        path.write_text(head + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
    return path


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "?", "i8", "f2", ">f8"])
@pytest.mark.parametrize("suffix", [".npy", ".parquet", None])
def test_tables_of_all_kinds_are_read(tmp_path, cache, kind, suffix):
    rows = table(kind)
    given = rows if suffix is None else write(tmp_path / f"rewards{suffix}", rows.astype(rows.dtype.newbyteorder("=")))
    if suffix == ".npy":
        write(given, rows)
    trace = Trace(given)
    assert (trace.arms, trace.length) == (4, 50)
    assert (trace.rewards(0, 50) == rows.astype(float)).all()
    check_adversary(trace, samples=20)


@pytest.mark.parametrize("header", [True, False])
def test_csv_files_are_read_with_and_without_names(tmp_path, cache, header):
    rows = table()
    trace = Trace(write(tmp_path / "rewards.csv", rows, header))
    assert (trace.rewards(0, 50) == rows).all()
    check_adversary(trace)


def test_compressed_csv_files_are_read(tmp_path, cache):
    rows = table()
    write(tmp_path / "rewards.csv", rows, header=True)
    with pa.output_stream(str(tmp_path / "rewards.csv.gz"), compression="gzip") as out:
        out.write((tmp_path / "rewards.csv").read_bytes())
    assert (Trace(tmp_path / "rewards.csv.gz").rewards(0, 50) == rows).all()


def test_long_files_are_turned_piece_by_piece_and_once(tmp_path, cache, monkeypatch):
    rows = table(steps=5000, arms=3)
    monkeypatch.setattr(tables, "_PIECE", 1000)
    monkeypatch.setattr(tables, "COPIED", 0)
    pieces = []
    look = tables._check_piece
    monkeypatch.setattr(tables, "_check_piece", lambda piece, *more: (pieces.append(len(piece)), look(piece, *more)))
    for suffix in (".csv", ".parquet", ".npy"):
        path = write(tmp_path / f"rewards{suffix}", rows)
        assert (Trace(path).rewards(0, 5000) == rows).all()
        assert len(pieces) > 1
        assert max(pieces) < 1000
        pieces.clear()
        assert Trace(path) == Trace(str(path))
        assert pieces == []
    kept = sorted(found.suffix for found in cache.iterdir())
    assert kept == [".checked", ".npy", ".npy"]
    # A file that has changed is read again.
    write(path, rows[:10])
    assert Trace(path).length == 10


@pytest.mark.interpreted
def test_arrays_of_any_strides_are_read():
    rows = table(steps=6, arms=8)
    for view in (rows.T, rows[::2, ::3], rows[::-1], np.asfortranarray(rows)):
        assert (Trace(view).rewards(0, view.shape[0]) == view).all()


def test_a_mapped_file_in_columns_is_read(tmp_path, cache):
    rows = np.asfortranarray(table())
    np.save(tmp_path / "rewards.npy", rows)
    assert (Trace(tmp_path / "rewards.npy").rewards(0, 50) == rows).all()


def test_a_trace_is_a_value(tmp_path, cache):
    rows = table()
    trace = Trace(rows)
    before = trace.reward(0, 0)
    rows[0, 0] = 1 - before
    assert trace.reward(0, 0) == before
    assert trace != Trace(rows)
    assert trace == Trace(trace.table)
    assert trace.table is Trace(trace.table).table
    assert repr(trace).startswith("Trace(table=<float64 [50, 4] ")
    assert repr(Trace([[0.5]])) == "Trace(table=[[0.5]])"
    assert trace != "something else"


def test_a_trace_of_a_file_travels_by_its_path(tmp_path, cache, monkeypatch):
    write(tmp_path / "rewards.npy", table(steps=10_000))
    monkeypatch.chdir(tmp_path)
    trace = Trace("rewards.npy")
    assert repr(trace) == "Trace(table='rewards.npy')"
    data = pickle.dumps(trace)
    assert len(data) < 1000
    monkeypatch.chdir("/")
    assert pickle.loads(data) == trace
    assert pickle.loads(data).reward(3, 2) == trace.reward(3, 2)
    write(tmp_path / "rewards.npy", table(steps=9))
    with pytest.raises(BadFile, match="has changed since this adversary was made"):
        pickle.loads(data).reward(3, 2)


def test_a_large_mapped_array_is_not_copied(tmp_path, monkeypatch):
    np.save(tmp_path / "rewards.npy", table())
    rows = np.load(tmp_path / "rewards.npy", mmap_mode="r")
    assert Trace(rows).spec[0] != rows.ctypes.data
    monkeypatch.setattr("hlmc.adversaries.tables.COPIED", rows.nbytes - 1)
    trace = Trace(rows)
    assert trace.spec[0] == rows.ctypes.data


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.001, 1.001])
def test_bad_rewards_in_files_are_refused(tmp_path, cache, suffix, bad):
    rows = table()
    rows[33, 2] = bad
    path = write(tmp_path / f"rewards{suffix}", rows)
    with pytest.raises(BadReward, match=rf"rewards{suffix}: step 33, arm 2 holds (nothing|{bad})"):
        Trace(path)
    assert list(cache.iterdir()) == []


def test_bad_tables_are_refused():
    with pytest.raises(BadReward, match="table: step 0, arm 1 holds 2"):
        Trace(np.array([[0, 2]], dtype=np.uint8))
    with pytest.raises(BadReward, match="table: step 1, arm 0 holds nan"):
        Trace([[0.5], [math.nan]])
    for bad in ([0.5, 0.5], [[[0.5]]], [[]], 0.5):
        with pytest.raises(BadArgument, match=r"table must be an array \[steps, arms\], not one of shape"):
            Trace(bad)
    with pytest.raises(BadArgument, match=r"table must be an array \[steps, arms\]"):
        Trace([[0.5], [0.5, 0.5]])
    with pytest.raises(BadType, match="table must be an array of numbers or a path, not list of <U1"):
        Trace([["a"]])


def test_files_that_cannot_be_read_are_refused(tmp_path, cache):
    def refused(name, contents, message, error=BadFile):
        path = tmp_path / name
        if contents is not None:
            path.write_bytes(contents)
        with pytest.raises(error, match=message):
            Trace(path)
        assert not list(cache.glob(".*.tmp"))

    sound = {suffix: write(tmp_path / f"sound{suffix}", table()).read_bytes() for suffix in (".npy", ".parquet")}
    refused("missing.npy", None, "missing.npy: No such file")
    refused(
        "rewards.txt",
        b"0.5\n",
        r"table must be a file of the kind .npy, .csv, .csv.gz or .parquet",
        BadArgument,
    )
    refused("cut.npy", sound[".npy"][:-100], "cut.npy is not a sound .npy file")
    refused("short.npy", sound[".npy"][:20], "short.npy is not a sound .npy file")
    refused("empty.npy", b"", "empty.npy is not a sound .npy file")
    refused("text.npy", b"0.5,0.5\n" * 100, "text.npy is not a sound .npy file")
    refused("cut.parquet", sound[".parquet"][:-100], "cut.parquet is not a sound Parquet file")
    refused("empty.parquet", b"", "empty.parquet is not a sound Parquet file")
    refused("empty.csv", b"", "empty.csv holds no rewards")
    refused("names.csv", b"a,b\n", "names.csv holds no rewards")
    refused("ragged.csv", b"0.5,0.5\n0.5\n", "ragged.csv is not a sound CSV file of numbers")
    refused("words.csv", b"a,b\n0.5,x\n", "words.csv is not a sound CSV file of numbers")
    refused("missing.csv", b"0.5,0.5\n0.5,\n", "missing.csv: step 1, arm 1 holds nothing", BadReward)
    refused("binary.csv", b"\xff\xfe\x00\x01" * 50, "binary.csv is not a sound CSV file of numbers")
    np.save(tmp_path / "one.npy", np.zeros(5))
    refused("one.npy", None, r"one.npy must hold an array of numbers \[steps, arms\], not float64 \[5\]")
    np.save(tmp_path / "pickled.npy", np.array([[{}]]), allow_pickle=True)
    refused("pickled.npy", None, "pickled.npy is not a sound .npy file")
    np.save(tmp_path / "none.npy", np.zeros((0, 4)))
    refused("none.npy", None, "none.npy")
    parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "words.parquet")
    refused("words.parquet", None, "words.parquet must hold numbers in every column, not string in column 0")
    parquet.write_table(pa.table({}), tmp_path / "none.parquet")
    refused("none.parquet", None, "none.parquet holds no rewards")
    parquet.write_table(pa.table({"a": [0.5, None]}), tmp_path / "null.parquet")
    refused("null.parquet", None, "null.parquet: step 1, arm 0 holds nothing", BadReward)


def test_what_is_no_ordinary_file_is_not_opened(tmp_path, cache):
    """A pipe would let the reader wait for ever, a device would never end."""
    for suffix in (".npy", ".csv", ".parquet"):
        path = tmp_path / f"pipe{suffix}"
        os.mkfifo(path)
        with pytest.raises(BadFile, match=rf"pipe{suffix} is not an ordinary file"):
            Trace(path)
        device = tmp_path / f"zero{suffix}"
        device.symlink_to("/dev/zero")
        with pytest.raises(BadFile, match=rf"zero{suffix} is not an ordinary file"):
            Trace(device)
    assert from_repr(f"Trace(table={str(path)!r})") is None


def test_forged_headers_are_refused(tmp_path, cache):
    path = tmp_path / "rewards.npy"
    for shape in ("(4611686018427387904, 4)", "(9223372036854775808, 2)", "(-1, 4)", "(50, 4000000000)", "[" * 3000):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(9000) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(1600))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(BadFile, match=r"rewards.npy (is not a sound .npy file|must hold an array)"):
                Trace(path)


@pytest.mark.parametrize("copied", [0, 2**26], ids=["mapped", "copied"])
def test_a_file_that_is_cut_short_is_noticed_before_it_is_read(tmp_path, copied):
    """In a process of its own: to read what is missing would end it. What was copied is there."""
    script = """if True:
        import os, sys, numpy as np, hlmc
        Trace = hlmc.adversaries.Trace
        path = sys.argv[1]
        hlmc.adversaries.tables.COPIED = int(sys.argv[2])
        np.save(path, np.full((10_000, 4), 0.5))
        traces = [Trace(path), Trace(np.load(path, mmap_mode="r"))]
        assert [trace.reward(9_999, 3) for trace in traces] == [0.5, 0.5]
        os.truncate(path, 1000)
        policy = hlmc.EXP3(arms=4, horizon=10_000)
        for trace in traces:
            for call in (lambda: trace.reward(9_999, 3), lambda: hlmc.simulate(policy, trace, runs=1, progress=False)):
                try:
                    print("played", call() == 0.5)
                except hlmc.errors.BadFile as error:
                    print(error)
    """
    command = [sys.executable, "-c", script, str(tmp_path / "rewards.npy"), str(copied)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) == 4
    if copied:
        assert lines == ["played True", "played False"] * 2
    else:
        assert all("was cut short: 1000 bytes of 320128" in line for line in lines)


def test_a_byte_that_is_neither_true_nor_false_is_no_reward(tmp_path, cache):
    path = tmp_path / "rewards.npy"
    np.save(path, np.zeros((50, 3), dtype=bool))
    data = bytearray(path.read_bytes())
    data[-5] = 7
    path.write_bytes(data)
    with pytest.raises(BadReward, match=r"rewards.npy: step 48, arm 1 holds 7"):
        Trace(path)


def test_a_small_table_is_not_changed_by_whoever_writes_to_its_file_later(tmp_path, cache):
    path = tmp_path / "rewards.npy"
    np.save(path, np.full((50, 3), 0.5))
    trace = Trace(path)
    np.save(path, np.full((50, 3), 9.0))
    assert trace.rewards(0, 50).max() == 0.5


def test_tables_in_column_order_and_tables_that_are_mapped_are_read_alike(tmp_path, cache, monkeypatch):
    rows = table()
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "columns.npy", np.asfortranarray(rows))
    for copied in (0, 2**26):
        monkeypatch.setattr(adversaries.tables, "COPIED", copied)
        for name in ("rows.npy", "columns.npy"):
            assert (Trace(tmp_path / name).rewards(0, len(rows)) == rows).all()


def test_deep_texts_are_no_adversaries():
    for text in ("[" * 10**5, "-" * 10**5 + "1", "Needle(" + "(" * 10**4, "Needle(arms=" + "-" * 10**4 + "1)"):
        assert from_repr(text) is None


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(tables, "user_cache", lambda: blocked)
    tables._folder.cache_clear()
    try:
        rows = table()
        assert (Trace(write(tmp_path / "rewards.csv", rows)).rewards(0, 50) == rows).all()
        assert Path(tables._folder()).is_dir()
    finally:
        tables._folder.cache_clear()


# --- functions

HEIGHT = 0.5
LEVELS = {0: 0.25, 1: 0.75}


def plain(t, arm):
    return HEIGHT * ((t + arm) % 2)


@numba.njit
def ready(t, arm):
    return HEIGHT * ((t + arm) % 2)


def whole_numbers(t, arm):
    return (t + arm) % 2


def truths(t, arm):
    return (t + arm) % 2 == 1


def interpreted(t, arm):
    return LEVELS[(t + arm) % 2]


def failing(t, arm):
    return LEVELS[t]


def raising(t, arm):
    if t == 7:
        raise ValueError("seven")
    return 0.5


class Callable:
    def __call__(self, t, arm):
        return 0.5


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("function", "high"),
    [(plain, 0.5), (ready, 0.5), (whole_numbers, 1.0), (truths, 1.0), (lambda t, a: (t + a) % 2, 1)],
)
def test_functions_are_compiled(function, high):
    adversary = Function(arms=3, reward=function)
    assert adversary.rewards(4, 6).tolist() == [[0.0, high, 0.0], [high, 0.0, high]]
    assert adversary.failure is None
    if JIT:
        assert type(adversary.code).__name__ == "CFunc"


def test_closures_are_compiled():
    def make(level):
        return lambda t, arm: level

    assert Function(arms=1, reward=make(0.25)).reward(0, 0) == 0.25
    assert Function(arms=1, reward=make(0.75)).reward(0, 0) == 0.75


def test_a_function_may_use_kernels():
    assert Function(arms=5, reward=lambda t, arm: quotient(t, 3, 1.0 / 3.0) / 10).reward(7, 0) == 0.2


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_functions_that_cannot_be_compiled_are_slow_and_say_so():
    adversary = Function(arms=2, reward=interpreted)
    with pytest.warns(NotCompiled, match="interpreted is not compiled, and slow: .*LEVELS"):
        assert adversary.rewards(0, 2).tolist() == [[0.25, 0.75], [0.75, 0.25]]
    check_adversary(adversary)
    with pytest.warns(NotCompiled, match="it is a Callable, not a function written with def or lambda"):
        assert Function(arms=2, reward=Callable()).reward(0, 0) == 0.5


@pytest.mark.skipif(not JIT, reason="errors go straight to the caller")
def test_an_error_in_a_slow_function_reaches_the_caller():
    adversary = Function(arms=2, reward=failing)
    with pytest.warns(NotCompiled), pytest.raises(BadReward, match="failing failed: KeyError: 5") as caught:
        adversary.reward(5, 0)
    assert isinstance(caught.value.__cause__, KeyError)
    assert adversary.failure is None
    assert adversary.reward(1, 0) == 0.75


@pytest.mark.skipif(not JIT, reason="errors go straight to the caller")
def test_an_error_in_a_compiled_function_is_no_number():
    rewards = Function(arms=1, reward=raising).rewards(6, 9)[:, 0]
    assert rewards[0] == rewards[2] == 0.5
    assert math.isnan(rewards[1])
    with pytest.raises(AssertionError, match="no number in"):
        check_adversary(Function(arms=1, reward=lambda t, arm: math.nan))


def test_functions_travel_by_name():
    for function in (plain, ready):
        adversary = Function(arms=3, reward=function)
        assert pickle.loads(pickle.dumps(adversary)) == adversary
        check_adversary(adversary)
    assert Function(arms=3, reward=plain) != Function(arms=3, reward=whole_numbers)
    assert Function(arms=3, reward=plain) != Function(arms=4, reward=plain)


# --- the checks themselves


@kernel
def constant(spec, t, arm):
    return spec[0]


@kernel
def blinking(spec, t, arm):
    return float((t // 10) % 2)


@dataclass(frozen=True, repr=False)
class Constant(Adversary):
    arms: int = 3
    level: float = 0.5
    rule = staticmethod(constant)

    @cached_property
    def spec(self):
        return packed(self.level)


@dataclass(frozen=True, repr=False)
class Restless(Constant):
    """Pays something else whenever it is asked."""

    def rewards(self, *where):
        counter.append(1)
        return super().rewards(*where) / len(counter)

    def reward(self, t, arm):
        return float(self.rewards(t, t + 1, arm, arm + 1)[0, 0])


counter = []


@dataclass(frozen=True, repr=False)
class Repeating(Constant):
    """Rewards that repeat after 20 steps."""

    said: object = 20
    rule = staticmethod(blinking)

    @property
    def repeats(self):
        return self.said


@dataclass(frozen=True, repr=False)
class Misprinted(Constant):
    def __repr__(self):
        return "Misprinted(arms=4)"


@dataclass(repr=False, unsafe_hash=True)
class Thawed(Adversary):
    arms: int = 3
    rule = staticmethod(constant)

    @cached_property
    def spec(self):
        return packed(0.5)


@dataclass(frozen=True, repr=False)
class Unlike(Constant):
    def __eq__(self, other):
        return self is other

    __hash__ = Constant.__hash__


@dataclass(frozen=True, repr=False)
class Careless(Constant):
    def reward(self, t, arm):
        return 0.5


@dataclass(frozen=True, repr=False)
class Blinking(Constant):
    said: tuple = ()
    rule = staticmethod(blinking)

    def changes(self, horizon):
        return (t for t in self.said if t < horizon)


@pytest.mark.interpreted
def test_a_sound_adversary_passes():
    check_adversary(Constant())


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("adversary", "message"),
    [
        (Constant(level=1.5), "reward.0, 0. is 1.5, which is no number in"),
        (Constant(level=math.nan), "is nan, which is no number in"),
        (Constant(level=-math.inf), "is -inf, which is no number in"),
        (Constant(arms=0), "arms must be at least 1"),
        (Constant(arms=3.0), "arms must be an int"),
        (Restless(), "must not depend on the order"),
        (Misprinted(), "does not make an equal adversary"),
        (Thawed(), "must be frozen"),
        (Unlike(), "a pickled copy must be equal"),
        (Careless(), "does not exist and must be refused"),
        (Repeating(said=30), "rewards must repeat after 30 steps"),
        (Repeating(said=0), "repeats must be None or an int of at least 1"),
        (Blinking(), "a reward changes between steps 0 and"),
        (Blinking(said=(10, 20, 35)), "a reward changes between steps 20 and"),
        (Blinking(said=(10, 15, 20)), "no reward changes at step 15"),
        (Blinking(said=(20, 10)), "in order"),
        (Blinking(said=(0, 10)), "strictly between 0 and the horizon"),
        ("not one", "is no Adversary"),
    ],
    ids=label,
)
def test_an_unsound_adversary_is_found_out(adversary, message):
    with pytest.raises(AssertionError, match=message):
        check_adversary(adversary, samples=20)
