"""The judge against enumeration of all sequences, exact sums, and SciPy."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlmc.adversaries import EXAMPLES
from hlmc.adversaries.base import Adversary
from hlmc.engine.kernel import kernel
from hlmc.engine.stream import mix, unit
from hlmc.errors import BadArgument, BadReward, BadType
from hlmc.evaluation import (
    ENOUGH,
    Interval,
    Segment,
    benchmark,
    best_fixed,
    best_switching,
    cumulative,
    dynamic,
    fitted_exponent,
    is_skewed,
    mean_interval,
    paired_ratio_interval,
    quantile_interval,
    quantiles,
    regret,
    segments,
    t_interval,
    t_quantile,
    too_few,
)
from hlmc.evaluation.intervals import beta_share
from hlmc.evaluation.segments import RewardSegments

Array = np.ndarray
ARMS, PERIOD, TABLE = range(3)


@kernel
def tabled(spec: Array, t: int, arm: int) -> float:
    """Row t // period of a table."""
    return spec[TABLE + (t // int(spec[PERIOD])) * int(spec[ARMS]) + arm]  # type: ignore[no-any-return]


@kernel
def hashed(spec: Array, t: int, arm: int) -> float:
    """A number in [0, 1) for every arm and every stretch of steps."""
    return unit(mix(np.uint64(t // int(spec[PERIOD])) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(arm)))


@kernel
def level(spec: Array, t: int, arm: int) -> float:
    """The same for all steps and arms but one."""
    return spec[PERIOD] if arm != int(spec[ARMS]) else 2.0 * spec[PERIOD]


class Held(Adversary):
    """Rewards that are held for some steps; whether the changes are made known is another matter."""

    period: int
    known: bool

    def changes(self, horizon: int) -> Iterator[int] | None:
        return iter(range(self.period, horizon, self.period)) if self.known else None


@dataclass(frozen=True, repr=False)
class Table(Held):
    """Rows of rewards."""

    arms: int
    table: tuple[float, ...]
    period: int = 1
    known: bool = False

    rule = staticmethod(tabled)

    @cached_property
    def spec(self) -> Array:
        return np.array([self.arms, self.period, *self.table], dtype=np.float64)

    @property
    def length(self) -> int:
        return len(self.table) // self.arms * self.period


@dataclass(frozen=True, repr=False)
class Noise(Held):
    """Random rewards."""

    arms: int
    period: int = 1
    known: bool = False

    rule = staticmethod(hashed)

    @cached_property
    def spec(self) -> Array:
        return np.array([self.arms, self.period], dtype=np.float64)


@dataclass(frozen=True, repr=False)
class Level(Adversary):
    """Every arm pays the same at every step, and one of them twice as much."""

    arms: int
    pay: float
    better: int = -1
    known: bool = False

    rule = staticmethod(level)

    @cached_property
    def spec(self) -> Array:
        return np.array([self.better, self.pay], dtype=np.float64)

    def changes(self, horizon: int) -> Iterator[int] | None:
        return iter(()) if self.known else None


def hardness(sequence: tuple[int, ...]) -> int:
    return 1 + sum(a != b for a, b in itertools.pairwise(sequence))


def enumerated(rewards: Array, most: int) -> float:
    """The best reward of all K^T sequences with hardness at most ``most``."""
    T, K = rewards.shape
    sequences = (s for s in itertools.product(range(K), repeat=T) if hardness(s) <= most)
    return max(sum(rewards[t, a] for t, a in enumerate(s)) for s in sequences)


def tables(most_steps: int, values: st.SearchStrategy[float]) -> st.SearchStrategy[Array]:
    return st.integers(1, 4).flatmap(
        lambda K: st.lists(st.lists(values, min_size=K, max_size=K), min_size=1, max_size=most_steps).map(
            lambda rows: np.array(rows, dtype=np.float64)
        )
    )


EIGHTHS = st.integers(0, 8).map(lambda n: n / 8)  # sums of these are exact


def held(rewards: Array, period: int = 1, known: bool = False) -> Table:
    return Table(rewards.shape[1], tuple(rewards.reshape(-1).tolist()), period, known)


def check_sequence(adversary: Adversary, best: Any) -> None:
    """Segments follow one another, switch, are not too many, and earn what the benchmark says."""
    sequence = best.sequence
    assert len(sequence) <= best.switches
    assert [s.start for s in sequence] == [0, *(s.end for s in sequence[:-1])]
    assert sequence[-1].end == best.horizon
    assert all(a.arm != b.arm for a, b in itertools.pairwise(sequence))
    earned = sum(adversary.rewards(s.start, s.end, s.arm, s.arm + 1).sum() for s in sequence)
    assert earned == pytest.approx(best.values[-1], rel=1e-12)


# Benchmarks.


@pytest.mark.interpreted
@settings(max_examples=25)
@given(tables(6, EIGHTHS), st.integers(1, 4))
def test_switching_is_the_best_of_all_sequences(rewards: Array, switches: int) -> None:
    T = len(rewards)
    adversary = held(rewards)
    best = best_switching(adversary, T, switches, range(1, T + 1), threads=1)
    for v in range(1, min(switches, T) + 1):
        assert best.levels[v - 1].tolist() == [enumerated(rewards[:t], v) for t in range(1, T + 1)]
    assert best.values.tolist() == best.levels[-1].tolist()
    check_sequence(adversary, best)


@pytest.mark.interpreted
@settings(max_examples=25)
@given(tables(8, EIGHTHS))
def test_fixed_arms_and_steps_are_summed_up(rewards: Array) -> None:
    points = range(len(rewards) + 1)
    sums = np.vstack([np.zeros(rewards.shape[1]), rewards.cumsum(axis=0)])
    values, arms = best_fixed(held(rewards), points, threads=1)
    assert values.tolist() == sums.max(axis=1).tolist()
    assert arms.tolist() == sums.argmax(axis=1).tolist()
    per_step = dynamic(held(rewards), points, threads=1)
    assert per_step.tolist() == [0.0, *rewards.max(axis=1).cumsum().tolist()]
    for arm in range(rewards.shape[1]):
        assert cumulative(held(rewards), arm, points).tolist() == sums[:, arm].tolist()


@pytest.mark.interpreted
@settings(max_examples=25)
@given(tables(4, EIGHTHS), st.integers(1, 4), st.integers(1, 3), st.data())
def test_phases_and_steps_agree(rewards: Array, period: int, switches: int, data: Any) -> None:
    T = data.draw(st.integers(1, len(rewards) * period))
    points = sorted(data.draw(st.sets(st.integers(0, T), min_size=1)))
    steps, phases = held(rewards, period), held(rewards, period, known=True)
    for a, b in zip(best_fixed(steps, points), best_fixed(phases, points), strict=True):
        assert a.tolist() == b.tolist()
    assert dynamic(steps, points).tolist() == dynamic(phases, points).tolist()
    by_step = best_switching(steps, T, switches, points)
    by_phase = best_switching(phases, T, switches, points)
    assert by_step.levels.tolist() == by_phase.levels.tolist()
    check_sequence(phases, best_switching(phases, T, switches))
    assert all(s.start % period == 0 for s in by_phase.sequence)


def test_phases_and_steps_agree_on_rewards_that_do_not_add_up_exactly() -> None:
    points = [1, 999, 1000, 12_345, 100_000]
    steps, phases = Noise(5, 1000), Noise(5, 1000, known=True)
    for a, b in zip(best_fixed(steps, points), best_fixed(phases, points), strict=True):
        assert a.tolist() == b.tolist()
    assert dynamic(steps, points).tolist() == dynamic(phases, points).tolist()
    assert cumulative(steps, 3, points).tolist() == cumulative(phases, 3, points).tolist()
    by_step, by_phase = (best_switching(a, 100_000, 6, points) for a in (steps, phases))
    assert by_step.levels == pytest.approx(by_phase.levels, rel=1e-12)
    assert by_step.sequence == by_phase.sequence
    check_sequence(steps, by_step)


def test_the_levels_of_the_switching_benchmark_run_from_fixed_to_dynamic() -> None:
    adversary = Noise(3)
    points = range(1, 40)
    best = best_switching(adversary, 39, 50, points)
    assert best.levels.shape == (39, 39)
    assert best.levels[0] == pytest.approx(best_fixed(adversary, points)[0], rel=1e-13)
    assert best.levels[-1] == pytest.approx(dynamic(adversary, points), rel=1e-13)
    assert (np.diff(best.levels, axis=0) >= 0).all()
    check_sequence(adversary, best)


@pytest.mark.parametrize("known", [False, True])
def test_the_number_of_threads_changes_no_bit(known: bool) -> None:
    adversary = Noise(7, 3, known)
    T = 60_000
    points = np.unique(np.geomspace(1, T, 50).astype(int))
    one = best_fixed(adversary, points, threads=1)
    steps = dynamic(adversary, points, threads=1)
    switching = best_switching(adversary, T, 20, points, threads=1)
    for threads in (2, 3, 16):
        many = best_fixed(adversary, points, threads=threads)
        assert many[0].tobytes() == one[0].tobytes()
        assert many[1].tobytes() == one[1].tobytes()
        assert dynamic(adversary, points, threads=threads).tobytes() == steps.tobytes()
        other = best_switching(adversary, T, 20, points, threads=threads)
        assert other.levels.tobytes() == switching.levels.tobytes()
        assert other.sequence == switching.sequence


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("words", [1, 8, 100])
def test_the_size_of_the_blocks_changes_no_bit(monkeypatch: pytest.MonkeyPatch, words: int, known: bool) -> None:
    adversary = Noise(7, 3, known)
    T = 500
    points = np.arange(0, T + 1, 5)

    def results() -> list[Any]:
        best = best_switching(adversary, T, 9, points, threads=2)
        values, arms = best_fixed(adversary, points, threads=2)
        return [
            best.levels.tolist(),
            best.sequence,
            values.tolist(),
            arms.tolist(),
            dynamic(adversary, points).tolist(),
        ]

    whole = results()
    monkeypatch.setattr(segments, "BLOCK", words)
    assert results() == whole
    # Which points are asked for does not matter either.
    assert best_fixed(adversary, points[-1:])[0][0] == whole[2][-1]


def test_sums_are_rounded_once() -> None:
    exact = float(Fraction(1e-4) * 10**7)
    points = [10**7]
    assert best_fixed(Level(2, 1e-4), points)[0][0] == exact
    assert best_fixed(Level(2, 1e-4, known=True), points)[0][0] == exact
    assert dynamic(Level(2, 1e-4), points)[0] == exact
    # The recursion adds plainly: its bound is T 2^-53.
    assert best_switching(Level(2, 1e-4), 10**7, 2).values[0] == pytest.approx(exact, rel=1.2e-9)

    numbers = Noise(1).rewards(0, 10**5)[:, 0]
    assert cumulative(Noise(1), 0, [10**5])[0] == float(sum(map(Fraction, numbers)))
    long = Noise(1, 123_457, known=True)
    held_for = Fraction(123_457)
    assert cumulative(long, 0, [123_457 * 1000])[0] == float(sum(map(Fraction, numbers[:1000])) * held_for)


def test_a_billion_steps_in_phases_are_read_phase_by_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 1,000 phases of 100 arms are asked for a few times, not 10^11 rewards of single steps."""
    asked = []
    plain = RewardSegments.rewards

    def counted(self: RewardSegments, edges: Array, low: int, high: int) -> Array:
        asked.append((len(edges) - 1) * (high - low))
        return plain(self, edges, low, high)

    monkeypatch.setattr(RewardSegments, "rewards", counted)
    adversary = Noise(100, 10**6, known=True)
    T = 10**9
    points = np.linspace(0, T, 201).astype(int)
    fixed = best_fixed(adversary, points)[0]
    best = best_switching(adversary, T, 10, points)
    sequence = best.sequence
    most = dynamic(adversary, points)
    assert 3 * 10**5 <= sum(asked) <= 10**6
    assert (fixed <= best.values * (1 + 1e-12)).all()
    assert (best.values <= most * (1 + 1e-12)).all()
    assert len(sequence) == 10
    assert all(s.start % 10**6 == 0 for s in sequence)


def test_many_arms_take_little_memory() -> None:
    K = 10**7
    adversary = Level(K, 0.25, better=9_500_000, known=True)
    best_fixed(Level(3, 0.25, known=True), [1], threads=1)
    tracemalloc.start()
    try:
        values, arms = best_fixed(adversary, [10**6, 10**9], threads=2)
        most = dynamic(adversary, [10**9], threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert values.tolist() == [0.5e6, 0.5e9]
    assert arms.tolist() == [9_500_000] * 2
    assert most.tolist() == [0.5e9]
    assert peak < 8 * K / 10  # bytes; one word an arm would be 8 K


def test_memory_does_not_grow_with_time() -> None:
    def peak(T: int) -> int:
        tracemalloc.start()
        try:
            best_switching(Noise(4), T, 3, threads=1).sequence  # noqa: B018
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)
    assert peak(10**6) < 4 * 2**20  # all the rewards would be 32 MB


@pytest.mark.interpreted
def test_equals_go_to_the_lowest_arm_and_to_the_fewest_switches() -> None:
    adversary = held(np.ones((5, 3)))
    assert best_fixed(adversary, [0, 5], threads=3)[1].tolist() == [0, 0]
    assert best_switching(adversary, 5, 3).sequence == [Segment(0, 5, 0)]


@pytest.mark.interpreted
def test_regret_is_the_benchmark_less_the_reward() -> None:
    adversary = held(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [1, 0]]))
    points = [0, 2, 5]
    assert benchmark(adversary, points).tolist() == [0, 2, 3]
    assert benchmark(adversary, points, "shifting", 2).tolist() == [0, 2, 4]
    assert benchmark(adversary, [0], "shifting", 2).tolist() == [0]
    assert benchmark(adversary, points, "dynamic").tolist() == [0, 2, 5]
    assert regret([[0, 1, 1], [0, 2, 2]], adversary, points).tolist() == [[0, 1, 2], [0, 0, 1]]
    assert regret([0, 1, 1], adversary, points, "shifting", 3).tolist() == [0, 1, 4]


@pytest.mark.interpreted
def test_no_points_give_no_values() -> None:
    adversary = held(np.ones((5, 3)))
    assert best_fixed(adversary, [])[0].shape == (0,)
    assert dynamic(adversary, []).shape == (0,)
    assert best_switching(adversary, 5, 2, []).levels.shape == (2, 0)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda a: best_fixed(a, [3, 2]), BadArgument, "increasing"),
        (lambda a: best_fixed(a, [2, 2]), BadArgument, "increasing"),
        (lambda a: best_fixed(a, [-1]), BadArgument, "from 0 to 5"),
        (lambda a: best_fixed(a, [1.5]), BadArgument, "whole"),
        (lambda a: best_fixed(a, [math.nan]), BadArgument, "whole"),
        (lambda a: best_fixed(a, [6]), BadArgument, "from 0 to 5"),
        (lambda a: best_fixed(a, 5), BadType, "sequence"),
        (lambda a: best_fixed(a, ["5"]), BadType, "sequence"),
        (lambda a: best_fixed(a, [5], threads=0), BadArgument, "threads"),
        (lambda a: cumulative(a, 3, [5]), BadArgument, "arm"),
        (lambda a: best_switching(a, 6, 2), BadArgument, "horizon"),
        (lambda a: best_switching(a, 0, 2), BadArgument, "horizon"),
        (lambda a: best_switching(a, 5, 0), BadArgument, "switches"),
        (lambda a: best_switching(a, 4, 2, [5]), BadArgument, "points"),
        (lambda a: benchmark(a, [5], "strong"), BadArgument, "'weak', 'shifting', 'dynamic'"),
        (lambda a: benchmark(a, [5], "shifting"), BadArgument, "switches"),
        (lambda a: benchmark(a, [5], switches=2), BadArgument, "switches"),
        (lambda a: regret([1, 2], a, [5]), BadArgument, "reward"),
    ],
)
def test_bad_arguments_are_refused(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call(held(np.ones((5, 3))))


def test_what_would_take_hours_is_refused_unless_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadArgument, match=r"1,000,000,000 arms in 1,000,000 steps take 833 hours.*force=True"):
        best_fixed(Noise(10**9), [10**6])
    with pytest.raises(BadArgument, match="in 1,000 phases take 50 minutes"):
        dynamic(Noise(10**9, 1000, known=True), [10**6])
    with pytest.raises(BadArgument, match="238 GiB"):
        best_switching(Noise(10**9), 10, 10)
    with pytest.raises(BadArgument, match="hours"):
        best_switching(Noise(1000), 10**9, 10)
    monkeypatch.setattr(segments, "PATIENCE", 1e-6)
    assert best_fixed(Noise(100), [1000], force=True)[0] > 0
    with pytest.raises(BadArgument, match="force"):
        best_fixed(Noise(100), [1000])


@pytest.mark.interpreted
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("wrong", [math.nan, 1.5, -0.1, math.inf])
def test_what_is_no_reward_is_noticed(wrong: float, known: bool) -> None:
    rewards = np.full((4, 3), 0.5)
    rewards[2, 1] = wrong
    adversary = held(rewards, 2, known)
    for judge in (best_fixed, dynamic):
        assert np.all(judge(adversary, [4])[0] == 2.0)
        with pytest.raises(BadReward, match=r"at step 4 to arm 1; rewards must be numbers in \[0, 1\]"):
            judge(adversary, [5])
    with pytest.raises(BadReward):
        best_switching(adversary, 8, 2)
    assert cumulative(adversary, 0, [8])[0] == 4.0


@pytest.mark.parametrize("adversary", EXAMPLES, ids=repr)
def test_the_catalogue_is_judged_as_its_rewards_say(adversary: Adversary) -> None:
    T = min(3000, adversary.length or 3000)
    table = adversary.rewards(0, T)
    points = np.unique(np.linspace(0, T, 7).astype(int))
    sums = np.vstack([np.zeros(adversary.arms), table.cumsum(axis=0)])[points]
    values, arms = best_fixed(adversary, points)
    assert values == pytest.approx(sums.max(axis=1), rel=1e-12)
    assert sums[range(len(points)), arms] == pytest.approx(values, rel=1e-12)
    tops = np.append(0.0, table.max(axis=1).cumsum())[points]
    assert dynamic(adversary, points) == pytest.approx(tops, rel=1e-12)
    best = best_switching(adversary, T, 5, points)
    plain = best_switching(held(table), T, 5, points)
    assert best.levels == pytest.approx(plain.levels, rel=1e-12)
    check_sequence(adversary, best)


RANDOM = [adversary for adversary in EXAMPLES if adversary.mean_rule is not None]


@pytest.mark.parametrize("adversary", RANDOM, ids=repr)
def test_expected_rewards_are_the_means_of_the_rewards(adversary: Adversary) -> None:
    """Rewards lie in [0, 1], so by Hoeffding a mean of n is off by more than sqrt(20 / n) once in 10^17."""
    steps = 4000
    rewards = adversary.rewards(0, steps).mean(axis=0)
    expected = adversary.expected.rewards(0, steps).mean(axis=0)
    assert np.abs(rewards - expected).max() < math.sqrt(20 / steps)
    assert len(np.unique(np.round(expected, 3))) > 1


@pytest.mark.parametrize("adversary", RANDOM, ids=repr)
def test_the_pseudo_benchmark_is_the_largest_sum_of_means(adversary: Adversary) -> None:
    points = np.array([1, 700, 3000])
    sums = adversary.expected.rewards(0, 3000).cumsum(axis=0)[points - 1]
    assert benchmark(adversary, points, "pseudo") == pytest.approx(sums.max(axis=1), rel=1e-12)


def test_without_randomness_pseudo_is_weak() -> None:
    adversary = next(adversary for adversary in EXAMPLES if adversary.mean_rule is None)
    assert benchmark(adversary, [50], "pseudo") == benchmark(adversary, [50], "weak")


def test_changes_out_of_order_are_noticed() -> None:
    class Confused(Noise):
        def changes(self, horizon: int) -> Iterator[int]:
            return iter((5, 3))

    with pytest.raises(BadArgument, match="increasing"):
        best_fixed(Confused(2), [10])


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_thread_comes_out_and_stops_the_others(threads: int) -> None:
    stop = Event()

    def task(i: int) -> int:
        if i == 3:
            raise ZeroDivisionError
        return i

    results = segments.in_order(task, range(10**9), threads, stop)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert stop.is_set() == (threads > 1)


# Statistics.

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4.5, 9, 29, 100, 1000, 1e5])
@pytest.mark.parametrize("probability", [0.001, 0.025, 0.3, 0.5, 0.6, 0.975, 0.9999])
def test_quantiles_of_student(probability: float, freedom: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-9, abs=1e-12)


def test_quantiles_of_student_at_the_edges() -> None:
    assert t_quantile(0.975, math.inf) == pytest.approx(stats.norm.ppf(0.975), rel=1e-12)
    for probability, freedom in ((0.0, 3), (1.0, 3), (0.5, 0), (0.5, math.nan)):
        with pytest.raises(BadArgument):
            t_quantile(probability, freedom)


@given(st.floats(0.1, 500), st.floats(0.1, 500), st.floats(0, 1))
def test_incomplete_beta(a: float, b: float, x: float) -> None:
    assert beta_share(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-9, abs=1e-12)


def test_t_interval() -> None:
    x = RNG.normal(size=(12, 3))
    ours = t_interval(x, 0.9)
    theirs = stats.t.interval(0.9, 11, loc=x.mean(axis=0), scale=stats.sem(x, axis=0))
    assert ours.estimate == pytest.approx(x.mean(axis=0))
    assert ours.low == pytest.approx(theirs[0])
    assert ours.high == pytest.approx(theirs[1])
    other = t_interval(x.T, 0.9, axis=-1)
    assert np.array_equal(ours.low, other.low)
    one = t_interval(x[:, 0], 0.9)
    assert isinstance(one.low, float)
    assert one.low == pytest.approx(ours.low[0])


@pytest.mark.statistical
def test_mean_interval_is_student_s_or_hall_s() -> None:
    """Hall's, solved apart: the mean for which g(T), of degree three, is a quantile of Student's distribution."""
    rng = np.random.default_rng(4)
    x = rng.exponential(size=(12, 3)) ** 2
    low, high = mean_interval(x, 0.9)[1:]
    for j, column in enumerate(x.T):
        n, mean, s = len(column), column.mean(), column.std(ddof=1)
        gamma = 1.2 * n / ((n - 1) * (n - 2)) * (((column - mean) / s) ** 3).sum()
        a, q = gamma / 3, t_quantile(0.95, n - 1) / math.sqrt(n)
        ends = []
        for z in (q, -q):
            roots = np.roots([a * a / 3, a, 1.0, gamma / (6 * n) - z])
            (real,) = (root.real for root in roots if abs(root.imag) < 1e-9)
            ends.append(mean - s * real)
        usual = t_interval(column, 0.9)
        assert low[j] == pytest.approx(min(ends[0], usual.low))
        assert high[j] == pytest.approx(max(ends[1], usual.high))
        assert high[j] > usual.high  # these samples are skewed to the right
    assert mean_interval([3.0, 3.0, 3.0]) == (3.0, 3.0, 3.0)
    assert mean_interval([1.0, 5.0]) == t_interval([1.0, 5.0])
    mirrored = mean_interval(-x[:, 0], 0.9)
    assert mirrored.high == pytest.approx(-low[0])


def test_mean_interval_covers_a_skewed_mean_where_student_s_does_not() -> None:
    """4,000 samples of 32 lognormal numbers: a share that is off by 0.02 has a chance below 1e-6."""
    x = np.random.default_rng(1).lognormal(sigma=1.25, size=(32, 4000))
    truth = math.exp(1.25**2 / 2)

    def covered(interval: Interval) -> float:
        return float(np.mean((interval.low <= truth) & (truth <= interval.high)))

    assert covered(mean_interval(x)) > 0.92
    assert covered(t_interval(x)) < 0.89


def test_few_runs_are_said_to_be_few() -> None:
    assert too_few(ENOUGH) == ""
    assert too_few(ENOUGH - 1, "environment").startswith("31 environments: below 32 ")
    assert too_few(1) == "1 run: no interval"
    assert too_few(ENOUGH, skewed=["A", "B"]).startswith("32 runs are few where they are so skewed (A, B):")


def test_a_sample_is_skewed_by_its_outliers() -> None:
    """n runs of which one is away have a skewness of nearly sqrt(n), so that they are always too few."""
    for n in (8, 32, 200):
        samples = np.zeros((n, 3))
        samples[0, 1] = samples[::2, 2] = 1.0
        assert is_skewed(samples).tolist() == [False, True, False]
        assert not is_skewed(samples[:2, 1])


def test_intervals_hold_what_they_promise() -> None:
    """95 % intervals miss in 5 % of 2,000 samples: within four standard errors, 0.02, of it."""
    a = RNG.normal(10, 1, size=(15, 2000))
    b = RNG.normal(4, 0.4, size=(15, 2000)) + 0.3 * (a - 10)
    c = RNG.normal(4, 0.9, size=(8, 2000))
    for interval, truth in (
        (t_interval(a), 10.0),
        (paired_ratio_interval(a, b), 2.5),
        (paired_ratio_interval(a, c, paired=False), 2.5),
    ):
        missed = np.mean((interval.low > truth) | (interval.high < truth))
        assert abs(missed - 0.05) < 0.02
    held_median = quantile_interval(a, 0.5)
    assert np.mean((held_median.low > 10) | (held_median.high < 10)) < 0.05 + 0.02


def test_fieller_by_its_definition() -> None:
    a, b = RNG.normal(3, 1, 20), RNG.normal(2, 0.5, 20)
    ratio, low, high = paired_ratio_interval(a, b, 0.9)
    assert ratio == pytest.approx(a.mean() / b.mean())
    for end in (low, high):
        assert stats.ttest_1samp(a - end * b, 0.0).pvalue == pytest.approx(0.1)
    ratio, low, high = paired_ratio_interval(a, b[:9], 0.9, paired=False)
    assert low < ratio < high
    # Against 0 nothing can be said, and against a constant it is the t interval.
    assert paired_ratio_interval(a, [1.0, -1.0] * 10)[1:] == (-math.inf, math.inf)
    assert paired_ratio_interval(a, np.full(20, 2.0))[1:] == pytest.approx([e / 2 for e in t_interval(a)[1:]])
    assert paired_ratio_interval([2.0, 2.0], [1.0, 1.0, 1.0], paired=False) == (2.0, 2.0, 2.0)
    with pytest.raises(BadArgument, match="the same shape"):
        paired_ratio_interval(a, b[:9])


def test_quantiles() -> None:
    x = RNG.normal(size=(40, 3))
    got = quantiles(x, (0.0, 0.5, 0.95, 1.0))
    assert got.shape == (4, 3)
    assert np.array_equal(got, np.sort(x, axis=0)[[0, 19, 37, 39]])
    with pytest.raises(BadArgument, match="probabilities"):
        quantiles(x, [1.5])


@pytest.mark.parametrize(
    ("n", "q"), [(5, 0.5), (6, 0.5), (6, 0.4), (7, 0.5), (10, 0.5), (60, 0.95), (200, 0.9), (1000, 0.95)]
)
def test_quantile_interval_by_the_binomial(n: int, q: float) -> None:
    ours = quantile_interval(np.arange(1.0, n + 1), q)
    # The ends have the ranks l and u; the number of runs below is in [l, u) but for 2.5 % on each side.
    low = max((l for l in range(n + 1) if stats.binom.cdf(l - 1, n, q) <= 0.025), default=0)
    high = min(u for u in range(1, n + 2) if stats.binom.cdf(u - 1, n, q) >= 0.975)
    assert ours.low == (low if low >= 1 else -math.inf)
    assert ours.high == (high if high <= n else math.inf)


def test_fitted_exponent_against_least_squares() -> None:
    t = np.geomspace(10, 10**6, 60)
    curve = 3 * t**0.75 * np.exp(0.1 * RNG.normal(size=60))
    fit = fitted_exponent(t, curve)
    inside = t >= 10**4
    line = stats.linregress(np.log(t[inside]), np.log(curve[inside]))
    assert fit.exponent == pytest.approx(line.slope)
    assert fit.error == pytest.approx(line.stderr)
    assert fit.factor == pytest.approx(math.exp(line.intercept))
    assert (fit.points, fit.first, fit.last) == (inside.sum(), t[inside][0], t[-1])


@pytest.mark.statistical
def test_fitted_exponent_over_runs() -> None:
    t = np.geomspace(10, 10**4, 30)
    # Each run has an exponent of its own: the error is about its spread over the root of the runs.
    own = RNG.normal(0.6, 0.02, size=50)
    fit = fitted_exponent(t, t ** own[:, None], window=(10, 10**4))
    assert fit.exponent == pytest.approx(0.6, abs=0.02)
    assert fit.error == pytest.approx(0.02 / math.sqrt(50), rel=0.5)


@pytest.mark.parametrize(
    ("t", "curve", "window"),
    [
        ([1, 2, 3], [1, 2], None),
        ([1, 2, 3], [1, -2, 3], None),
        ([1, 2, 3], [1, 2, 3], (2, 3)),
        ([0, 1, 2], [1, 2, 3], None),
        ([1, 2, 3], [[5, 5, 5], [-4, -4, -4]], None),
        ([], [], None),
    ],
)
def test_fitted_exponent_refuses_what_it_cannot_fit(t: Any, curve: Any, window: Any) -> None:
    with pytest.raises(BadArgument):
        fitted_exponent(t, curve, window)


def test_samples_that_say_nothing_are_refused() -> None:
    for sample, axis in (([1.0], 0), ([1.0, math.nan], 0), (3.0, 0), ([1.0, 2.0], 1)):
        with pytest.raises(BadArgument):
            t_interval(sample, axis=axis)
    with pytest.raises(BadArgument, match="level"):
        t_interval([1.0, 2.0], 95.0)
