"""UCB-M and EXP3-M, against a plain reading: blocks of arms in turn, the most played arm carried on."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

import hlmc
from driving import rewards
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import KEY
from hlmc.engine.permutation import permuted
from hlmc.engine.structures.block_rotation import CARRIED
from hlmc.streams import keys
from hlmc.targets import compiled
from reference import EXP3, UCB1, Rounds, Routine, cut


def order_of(learner: hlmc.Learner) -> list[int]:
    """The order in which a learner goes through the arms."""
    policy = learner.policy
    if not policy.shuffle:
        return list(range(policy.arms))
    key = learner.state.view(np.uint64)[KEY]
    with np.errstate(over="ignore"):
        return [int(compiled(permuted)(key, policy.arms, place)) for place in range(policy.arms)]


Make = Callable[[int, int], Routine]
"""Makes a routine for n arms and b steps."""


def ucb(ties: str) -> Make:
    return lambda n, b: UCB1(n, ties)


def counted_exp3(n: int, b: int) -> Routine:
    return EXP3(n, cut(math.sqrt(n * math.log(n) / (2 * b))))


def follow(policy: hlmc.Policy, make: Make, steps: int, kind: str, seed: int = 0) -> None:
    """Play, holding every probability and every arm carried on against the reference."""
    learner = policy.start(seed=seed)
    order = order_of(learner)
    assert sorted(order) == list(range(policy.arms))
    K, M = policy.arms, policy.memory
    h0 = policy.subphases or max(1, math.ceil((K - 1) / (M - 1)))
    b0 = policy.sublength or M * (M + 2)
    reference = Rounds(order, M, make, h0, b0, policy.ties, policy.fill == "wrap")
    for reward in itertools.islice(rewards(seed, kind), steps):
        arm = learner.select()
        assert arm in reference.held
        assert learner.probability == pytest.approx(reference.probability(arm), rel=1e-9)
        learner.update(reward)
        reference.play(arm, reward, lambda: order[int(learner.state[CARRIED])])


SHAPES = [(1, 2), (2, 2), (3, 2), (5, 3), (10, 4), (13, 4), (12, 4), (20, 20), (20, 30)]


@pytest.mark.parametrize(("arms", "memory"), SHAPES)
@pytest.mark.parametrize("ties", ["random", "first", "last"])
@pytest.mark.parametrize("fill", ["left", "wrap"])
@pytest.mark.parametrize("kind", ["mixed", "bits"])
def test_ucbm(arms: int, memory: int, ties: str, fill: str, kind: str) -> None:
    for shuffle in (False, True):
        policy = hlmc.UCBM(arms, memory, shuffle, ties, fill)
        follow(policy, ucb(ties), 800, kind, seed=arms)
        short = hlmc.UCBM(arms, memory, shuffle, ties, fill, sublength=3)
        follow(short, ucb(ties), 400, kind, seed=arms)


@pytest.mark.interpreted
@pytest.mark.parametrize(("arms", "memory"), SHAPES)
@pytest.mark.parametrize("ties", ["random", "last"])
def test_exp3m(arms: int, memory: int, ties: str) -> None:
    for kind, fill in (("mixed", "left"), ("ones", "wrap")):
        follow(hlmc.EXP3M(arms, memory, True, ties, fill), counted_exp3, 600, kind, seed=arms)
        follow(hlmc.EXP3M(arms, memory, False, ties, fill, sublength=5), counted_exp3, 600, kind, seed=arms)
    policy = hlmc.EXP3M(arms, memory, gamma=0.7)
    follow(policy, lambda n, b: EXP3(n, 0.7), 300, "mixed")


@pytest.mark.interpreted
@pytest.mark.parametrize("subphases", [1, 2, 5])
def test_a_number_of_subphases_of_ones_own(subphases: int) -> None:
    policy = hlmc.UCBM(10, 4, True, "first", "left", subphases=subphases, sublength=7)
    follow(policy, ucb("first"), 700, "mixed")


def test_every_arm_is_held_once_a_phase() -> None:
    """One phase of 100 arms, 20 at a time, six sub-phases: nobody is left out, and only the carried arm comes again."""
    policy = hlmc.UCBM(100, 20, shuffle=True, ties="first", sublength=20)
    learner = policy.start(seed=2)
    blocks = []
    for _ in range(6):
        block = []
        for _ in range(20):
            block.append(learner.select())
            learner.update(0.0)
        blocks.append(block)
    assert [len(set(block)) for block in blocks] == [20, 20, 20, 20, 20, 5]
    assert set(itertools.chain(*blocks)) == set(range(100))
    for before, after in itertools.pairwise(blocks):
        assert set(before) & set(after) == {before[0]}


def test_words_count_two_for_every_arm_held() -> None:
    for policy in (hlmc.UCBM(100, 20), hlmc.EXP3M(100, 20), hlmc.UCBM(10**9, 20)):
        assert policy.words.statistics == 40
        assert policy.start().state.nbytes == 8 * policy.words.total
    assert hlmc.UCBM(5, 20).words.statistics == 10


# --- The shuffle --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 100, 1000])
def test_the_shuffle_is_a_permutation(size: int) -> None:
    with np.errstate(over="ignore"):
        for key in keys(1, 0, 3):
            assert sorted(permuted(key, size, place) for place in range(size)) == list(range(size))


def chi_square(times: np.ndarray) -> float:
    """How far counts lie from being equal, in standard deviations of what chance does."""
    expected = times.mean()
    freedom = times.size - 1
    return float((((times - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom))


@kernel
def many(key_list: np.ndarray, size: int, place: int, out: np.ndarray) -> None:
    for i in range(len(key_list)):
        out[i] = permuted(key_list[i], size, place)


def shuffled(size: int, place: int, count: int) -> np.ndarray:
    """What stands at a place, for many keys."""
    out = np.zeros(count, dtype=np.int64)
    with np.errstate(over="ignore"):
        compiled(many)(keys(9, 0, count), size, place, out)
    return out


@pytest.mark.statistical
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_the_shuffle_favours_no_order(size: int) -> None:
    code = np.zeros(60_000, dtype=np.int64)
    for place in range(size):
        code = code * size + shuffled(size, place, len(code))
    times = np.unique(code, return_counts=True)[1]
    assert times.size == math.factorial(size)
    assert chi_square(times) < 5


@pytest.mark.statistical
@pytest.mark.parametrize("size", [16, 17, 23, 64, 100])
def test_the_shuffle_puts_any_two_arms_at_any_two_places(size: int) -> None:
    one, other = (shuffled(size, place, 60_000) for place in (3, 7))
    together = np.bincount(one * size + other, minlength=size * size).reshape(size, size)
    assert np.trace(together) == 0
    assert chi_square(together[~np.eye(size, dtype=bool)]) < 5
    assert chi_square(together.sum(axis=0)) < 5
    assert chi_square(together.sum(axis=1)) < 5
