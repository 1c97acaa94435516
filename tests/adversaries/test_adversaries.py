"""Every adversary against a slow reading of its docstring, written here without the library's kernels."""

import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hlmc import adversaries
from hlmc._testing_adversary import check_adversary
from hlmc.adversaries import (
    CATALOGUE,
    EXAMPLES,
    Alternating,
    Bernoulli,
    Beta,
    BlockTrap,
    Decoy,
    FallenFavourite,
    Function,
    LateBloomer,
    Needle,
    OneGoodArm,
    PiecewiseStationary,
    RandomWalk,
    Sawtooth,
    Shifting,
    Trace,
    UniformMeans,
    named,
)
from hlmc.adversaries.arithmetic import divides, divisor, quotient
from hlmc.adversaries.reading import from_repr
from hlmc.errors import BadArgument, BadType
from hlmc.streams import derive_seed

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


def slow_fallen_favourite(a, t, arm):
    mean = a.field if arm != a.second else a.better
    if arm == a.favourite:
        steps = max(1, a.ramp)
        gone = min(steps, max(0, t - a.fall + 1))
        mean = ((steps - gone) * a.before + gone * a.after) / steps
    u = share(key_of(a, "noise"), t, arm)
    return float(u < mean) if a.coins else mean - a.noise + 2 * a.noise * u


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
    FallenFavourite: slow_fallen_favourite,
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
    FallenFavourite(arms=BILLION, fall=10**6, ramp=7, better=0.65, noise=0.3, seed=8),
    FallenFavourite(arms=3, fall=2, ramp=5, after=0.0, better=0.9, seed=8),
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
        FallenFavourite(arms=3, fall=40),
        FallenFavourite(arms=3, fall=40, ramp=30),
        FallenFavourite(arms=3, fall=590, ramp=30),
        FallenFavourite(arms=3, fall=40, ramp=30, before=0.25, after=0.25),
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
        (lambda: FallenFavourite(arms=2), "arms must be a whole number of at least 3, not 2"),
        (lambda: FallenFavourite(arms=9, noise=0.5), r"noise must leave rewards from 0.4 to 0.7 in \[0, 1\], not 0.5"),
        (lambda: FallenFavourite(arms=9, noise=0.1, coins=True), "noise must be 0 where rewards are coins, not 0.1"),
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


def test_deep_texts_are_no_adversaries():
    for text in ("[" * 10**5, "-" * 10**5 + "1", "Needle(" + "(" * 10**4, "Needle(arms=" + "-" * 10**4 + "1)"):
        assert from_repr(text) is None
