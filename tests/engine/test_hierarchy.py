"""HLMC at any depth, against a plain reading of Algorithm 1 with the theorems' parameters."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlmc
from driving import follow, next_choices, rewards
from hlmc import routines
from hlmc.errors import BadArgument
from reference import (
    EXP3,
    EXP3P,
    EXP3S,
    UCB1,
    Doubling,
    EpsilonGreedy,
    Hierarchy,
    LossEXP3,
    Maker,
    Uniform,
    exp3,
    exp3s,
    flat,
    sizes_of,
    theorem_1,
    theorem_2,
    theorem_3,
    theorem_5,
)
from reference_losses import Tsallis

# --- The theorems' own parameters ---------------------------------------------------------------------------


@pytest.mark.parametrize("arms", [4, 5, 7, 16, 17, 23, 100, 101])
@pytest.mark.parametrize("horizon", [1, 2, 61, 400])
def test_theorem_1(arms: int, horizon: int) -> None:
    follow(hlmc.HLMC(arms, levels=2, horizon=horizon), theorem_1(arms, horizon), horizon, rewards(arms))


@pytest.mark.parametrize("arms", [4, 17, 23, 101])
@pytest.mark.parametrize("horizon", [1, 61, 400])
def test_theorem_2(arms: int, horizon: int) -> None:
    policy = hlmc.HLMC(arms, levels=2, horizon=horizon, delta=0.1)
    follow(policy, theorem_2(arms, horizon, 0.1), horizon, rewards(arms))


@pytest.mark.parametrize("arms", [4, 17, 23, 101])
@pytest.mark.parametrize("horizon", [1, 61, 400])
@pytest.mark.parametrize("switches", [1, 5])
def test_theorem_3(arms: int, horizon: int, switches: int) -> None:
    policy = hlmc.HLMC(arms, levels=2, horizon=horizon, switches=switches)
    follow(policy, theorem_3(arms, horizon, switches), horizon, rewards(arms))


@pytest.mark.parametrize("arms", [4, 17, 100])
def test_theorem_4_does_not_know_the_switches(arms: int) -> None:
    policy = hlmc.HLMC(arms, levels=2, horizon=400, switches="unknown")
    follow(policy, theorem_3(arms, 400, 1), 400, rewards(arms))


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("arms", "levels", "groups"),
    [
        (8, 3, (2, 2, 2)),
        (17, 3, (3, 3, 2)),
        (17, 5, (2, 2, 2, 2, 2)),
        (23, 3, (3, 3, 3)),
        (100, 3, (5, 5, 4)),
        (100, 5, (3, 3, 3, 2, 2)),
        (101, 3, (5, 5, 5)),
        (101, 5, (3, 3, 3, 2, 2)),
        (700, 5, (4, 4, 4, 4, 3)),
    ],
)
def test_theorem_5_at_any_depth(arms: int, levels: int, groups: tuple[int, ...]) -> None:
    for horizon in (1, 7, 500):
        policy = hlmc.HLMC(arms, levels=levels, horizon=horizon)
        assert policy.plan.groups == groups
        follow(policy, theorem_5(arms, groups, horizon), horizon, rewards(arms))


@pytest.mark.parametrize(
    ("arms", "groups"), [(100, (50, 2)), (100, (2, 50)), (1600, (2, 800)), (1700, (900, 2)), (30, (2, 5, 3))]
)
def test_the_groups_that_were_asked_for(arms: int, groups: tuple[int, ...]) -> None:
    horizon = 300
    policy = hlmc.HLMC(arms, groups=groups, horizon=horizon)
    if len(groups) == 3:
        follow(policy, theorem_5(arms, groups, horizon), horizon, rewards(arms))
        return
    L, N = groups
    length = math.ceil(math.sqrt(horizon * N * math.log(N) / (L * math.log(L))))
    S = math.ceil(horizon / length)
    reference = Hierarchy(arms, sizes_of(arms, groups), [S, length], horizon, [exp3(L, S), exp3(N, length)])
    follow(policy, reference, horizon, rewards(arms))


# --- Any routine at any level -------------------------------------------------------------------------------

MIXED: dict[str, tuple[routines.Routine, Maker]] = {
    "exp3": (routines.EXP3(gamma=0.3), lambda N: lambda n: EXP3(n, 0.3, N)),
    "exp3p": (routines.EXP3P(eta=0.1, gamma=0.4, beta=0.05), lambda N: lambda n: EXP3P(n, 0.1, 0.4, 0.05)),
    "exp3s": (routines.EXP3S(gamma=0.2, alpha=0.02), lambda N: lambda n: EXP3S(n, 0.2, 0.02, N)),
    "ucb1": (routines.UCB1(ties="random"), lambda N: lambda n: UCB1(n)),
    "last": (routines.UCB1(ties="last"), lambda N: lambda n: UCB1(n, "last")),
    "greedy": (routines.EpsilonGreedy(epsilon=0.3), lambda N: lambda n: EpsilonGreedy(n, 0.3)),
    "decaying": (routines.EpsilonGreedy(decay=1.5), lambda N: lambda n: EpsilonGreedy(n, 0.3, 1.5)),
    "uniform": (routines.Uniform(), lambda N: lambda n: Uniform(n)),
    "exp3-loss": (routines.EXP3Loss(eta=0.1), lambda N: lambda n: LossEXP3(n, 0.1)),
    "tsallis": (routines.TsallisINF(), lambda N: lambda n: Tsallis(n, True)),
}


def mixed(
    arms: int, groups: Sequence[int], epochs: Sequence[int], horizon: int, names: Sequence[str]
) -> tuple[hlmc.HLMC, Hierarchy]:
    """A hierarchy by the library and by the reference, every number of which is given."""
    chosen = tuple(MIXED[name][0] for name in names)
    policy = hlmc.HLMC(arms, groups=tuple(groups), epochs=tuple(epochs), horizon=horizon, routines=chosen)
    makers = [MIXED[name][1](n) for name, n in zip(names, groups, strict=True)]
    return policy, Hierarchy(arms, sizes_of(arms, groups), epochs, horizon, makers)


@pytest.mark.interpreted
@pytest.mark.parametrize(("above", "below"), list(itertools.product(MIXED, MIXED)))
def test_every_pair_of_routines(above: str, below: str) -> None:
    # 23 arms in groups of 5, the last of 3; epochs of 9 steps, the last of 4.
    policy, reference = mixed(23, (5, 5), (26, 9), 229, (above, below))
    follow(policy, reference, 229, rewards(1))


@pytest.mark.interpreted
@pytest.mark.parametrize("names", list(itertools.permutations(("exp3", "exp3s", "ucb1")))[:6])
def test_three_levels_of_mixed_routines(names: tuple[str, ...]) -> None:
    # 17 arms: groups of 6, 6 and 5; within them children of 2, the last of one.
    policy, reference = mixed(17, (3, 3, 2), (11, 5, 7), 371, names)
    follow(policy, reference, 371, rewards(2))


@pytest.mark.interpreted
@pytest.mark.parametrize("arms", [17, 23, 31, 32])
def test_five_levels_of_mixed_routines(arms: int) -> None:
    names = ("exp3s", "ucb1", "exp3", "exp3p", "uniform")
    policy, reference = mixed(arms, (2, 2, 2, 2, 2), (5, 3, 4, 2, 3), 353, names)
    follow(policy, reference, 353, rewards(arms))


@settings(max_examples=60)
@given(
    arms=st.integers(1, 60),
    levels=st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 6), st.sampled_from(sorted(MIXED))),
        min_size=1,
        max_size=4,
    ),
    horizon=st.integers(1, 120),
    seed=st.integers(0, 3),
)
def test_any_hierarchy(arms: int, levels: list[tuple[int, int, str]], horizon: int, seed: int) -> None:
    groups, epochs, names = zip(*levels, strict=True)
    # Enough children to reach every arm and enough epochs to reach the horizon.
    groups = (max(groups[0], -(-arms // math.prod(groups[1:]))), *groups[1:])
    epochs = (max(epochs[0], -(-horizon // math.prod(epochs[1:]))), *epochs[1:])
    sizes = sizes_of(arms, groups)
    real = [-(-a // b) for a, b in itertools.pairwise([arms, *sizes])]
    choosing = [d for d, n in enumerate(real) if n > 1] or [len(real) - 1]
    if len(choosing) < len(groups):
        # A level with one child makes no choice: it is left out, and with it its routine and its epochs.
        real, epochs, names = ([values[d] for d in choosing] for values in (real, epochs, names))
        epochs[0] = max(epochs[0], -(-horizon // math.prod(epochs[1:])))
    policy, reference = mixed(arms, real, epochs, horizon, names)
    follow(policy, reference, horizon, rewards(seed), seed=seed)


# --- Unknown horizon ----------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("first", [0, 4])
def test_an_unknown_horizon_doubles_theorem_1(first: int) -> None:
    policy = hlmc.HLMC(17, levels=2, first_stage=first)
    follow(policy, Doubling(lambda T: theorem_1(17, T), 2**first), 700, rewards(1))


def test_an_unknown_horizon_doubles_every_theorem() -> None:
    follow(hlmc.HLMC(17, levels=2, delta=0.1), Doubling(lambda T: theorem_2(17, T, 0.1)), 600, rewards(1))
    follow(hlmc.HLMC(17, levels=2, switches=3), Doubling(lambda T: theorem_3(17, T, 3)), 600, rewards(1))
    follow(hlmc.HLMC(17, levels=2, switches="unknown"), Doubling(lambda T: theorem_3(17, T, 1)), 600, rewards(1))
    follow(hlmc.HLMC(17, levels=3), Doubling(lambda T: theorem_5(17, (3, 3, 2), T)), 600, rewards(1))


@pytest.mark.interpreted
@pytest.mark.parametrize("horizon", [1, 3, 90, 300])
def test_after_its_horizon_it_continues_in_stages_that_double(horizon: int) -> None:
    policy = hlmc.HLMC(17, levels=2, horizon=horizon, after="continue")
    follow(policy, Doubling(lambda T: theorem_1(17, T), horizon), 700, rewards(1))


def test_every_theorem_continues() -> None:
    def policy(**arguments: Any) -> hlmc.HLMC:
        return hlmc.HLMC(17, horizon=50, after="continue", **arguments)

    follow(policy(levels=2, delta=0.1), Doubling(lambda T: theorem_2(17, T, 0.1), 50), 600, rewards(1))
    follow(policy(levels=2, switches=3), Doubling(lambda T: theorem_3(17, T, 3), 50), 600, rewards(1))
    follow(policy(levels=2, switches="unknown"), Doubling(lambda T: theorem_3(17, T, 1), 50), 600, rewards(1))
    follow(policy(levels=3), Doubling(lambda T: theorem_5(17, (3, 3, 2), T), 50), 600, rewards(1))


# --- The tree and its memory --------------------------------------------------------------------------------


@pytest.mark.parametrize("arms", [1, 2, 3, 5, 8, 17, 23, 31])
@pytest.mark.parametrize("levels", [1, 2, 3, 5])
def test_every_arm_is_reached_by_one_path_and_the_chances_add_up_to_1(arms: int, levels: int) -> None:
    if levels > max(1, math.ceil(math.log2(arms))):
        with pytest.raises(BadArgument, match="levels"):
            hlmc.HLMC(arms, levels=levels, horizon=50)
        return
    learner = hlmc.HLMC(arms, levels=levels, horizon=50).start()
    chance, _ = next_choices(learner, 1500)
    assert sorted(chance) == list(range(arms))
    assert math.fsum(chance.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.interpreted
def test_one_level_is_the_flat_policy_bit_for_bit() -> None:
    pairs = [
        (hlmc.HLMC(50, levels=1, horizon=300), hlmc.EXP3(50, 300)),
        (hlmc.HLMC(600, levels=1, horizon=300), hlmc.EXP3(600, 300)),
        (hlmc.HLMC(50, levels=1), hlmc.EXP3(50, None)),
        (hlmc.HLMC(50, groups=(50,), horizon=300, delta=0.2), hlmc.EXP3P(50, 300, 0.2)),
        (hlmc.HLMC(50, memory=50, horizon=300, switches=4), hlmc.EXP3S(50, 300, 4)),
        (hlmc.HLMC(50, levels=1, routines="ucb1"), hlmc.UCB1(50)),
        (hlmc.HLMC(50, levels=1, routines="uniform", horizon=300), hlmc.Uniform(50, 300)),
    ]
    for hierarchy, routine in pairs:
        one, other = hierarchy.start(seed=5), routine.start(seed=5)
        assert hierarchy.words == routine.words
        for reward in itertools.islice(rewards(3), 300):
            assert one.select() == other.select()
            one.update(reward)
            other.update(reward)
        assert one.state.tobytes() == other.state.tobytes()
        assert one.time == 300


def test_words_are_the_size_of_the_state_and_grow_as_the_root_of_the_arms() -> None:
    counts = [*range(2, 40), 100, 1000, 1024, 1025, 9999, 10**5, 10**6]
    for arms in counts:
        deepest = math.ceil(math.log2(arms))
        for levels in range(1, deepest + 1):
            policy = hlmc.HLMC(arms, levels=levels, horizon=1000)
            words = policy.words
            root = arms ** (1 / levels)
            assert levels * (root - 1) / 2 <= words.statistics <= levels * (root + 1), (arms, levels)
            assert words.control <= 9 + 5 * levels
            assert words.total == words.statistics + words.control
    for policy in (
        hlmc.HLMC(10**6, levels=2, horizon=10),
        hlmc.HLMC(17, levels=4, horizon=10),
        hlmc.HLMC(17, levels=3, horizon=10, routines=("ucb1", "uniform", "exp3")),
        hlmc.HLMC(1, levels=1, horizon=10),
    ):
        learner = policy.start()
        assert learner.state.nbytes == 8 * policy.words.total
        assert learner.state.dtype == np.float64


def test_statistics_are_counted_level_by_level() -> None:
    assert hlmc.HLMC(100, groups=(10, 10), horizon=100).words.statistics == 20
    assert hlmc.HLMC(100, groups=(5, 5, 4), horizon=100).words.statistics == 14
    assert hlmc.HLMC(100, groups=(10, 10), horizon=100, routines=("ucb1", "exp3")).words.statistics == 30
    assert hlmc.HLMC(100, groups=(10, 10), horizon=100, routines=("uniform", "exp3")).words.statistics == 10
    # Five groups of four reach 17 arms; a sixth would be empty.
    assert hlmc.HLMC(17, groups=(6, 4), horizon=100).words.statistics == 9
    assert hlmc.HLMC(17, levels=4, horizon=100).words.statistics == 8
    for memory in range(13, 101):
        assert hlmc.HLMC(100, memory=memory, horizon=10**6).words.statistics <= memory


@pytest.mark.interpreted
def test_a_group_learns_the_mean_over_the_steps_that_its_epoch_really_had() -> None:
    """Two groups, epochs of ten steps, a horizon of thirteen: by hand, the weights after the end."""
    gamma = 0.5
    routine = routines.EXP3(gamma=gamma)
    policy = hlmc.HLMC(4, groups=(2, 2), horizon=13, epochs=(2, 10), routines=(routine, routine))
    learner = policy.start(seed=1)
    weights = [1.0, 1.0]
    for length in (10, 3):
        group, chance = None, 1.0
        for step in range(length):
            arm = learner.select()
            if step == 0:
                group = arm // 2
                chance = (1 - gamma) * weights[group] / sum(weights) + gamma / 2
            assert arm // 2 == group
            learner.update(0.25)
        weights[group] *= math.exp(gamma / 2 * 0.25 / chance)
    top = np.sort(learner.state[policy.words.control :][:2])
    assert top == pytest.approx(sorted(weights), rel=1e-12)


def test_flat_reference_and_hierarchy_agree_on_one_level() -> None:
    """The yardstick itself: a hierarchy of one level is the routine."""
    follow(hlmc.EXP3S(7, 60, 2), Hierarchy(7, [1], [60], 60, [exp3s(7, 60, 2)]), 60, rewards(9))
    follow(hlmc.EXP3S(7, 60, 2), flat(7, 60, exp3s(7, 60, 2)), 60, rewards(9))
