"""Policies as values, learners as rows, and what bad input gets: a clear refusal that changes nothing."""

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

import hlmc
from driving import played, rewards
from hlmc import routines
from hlmc.errors import BadArgument, BadReward, BadType, HLMCError, OutOfTurn, shown

POLICIES = [
    hlmc.EXP3(7, 40),
    hlmc.EXP3(600, 40, gamma=0.5),
    hlmc.EXP3(7, None),
    hlmc.EXP3P(7, 40, delta=0.2),
    hlmc.EXP3S(7, 40, 3),
    hlmc.UCB1(7),
    hlmc.Uniform(7, 40),
    hlmc.UCBM(17, 4),
    hlmc.EXP3M(17, 4, shuffle=False, gamma=0.3),
    hlmc.HLMC(7, groups=(3, 3), horizon=40),
    hlmc.HLMC(17, levels=4, horizon=40),
    hlmc.HLMC(17, levels=2, horizon=40, delta=0.1),
    hlmc.HLMC(17, levels=2, horizon=40, switches=2),
    hlmc.HLMC(17, levels=2, switches="unknown"),
    hlmc.HLMC(17, levels=2, horizon=40, epochs=7, routines=("ucb1", routines.EXP3S(gamma=0.5, alpha=0.1))),
]


def trained(policy: hlmc.Policy, steps: int = 11) -> hlmc.Learner:
    learner = policy.start(seed=4)
    for reward in itertools.islice(rewards(1), steps):
        learner.select()
        learner.update(reward)
    return learner


# --- Policies are values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_policies_are_frozen_hashable_comparable_and_picklable(policy: hlmc.Policy) -> None:
    with pytest.raises(FrozenInstanceError):
        policy.arms = 8  # type: ignore[misc]
    _ = policy.program, policy.plan
    again = pickle.loads(pickle.dumps(policy))
    assert again == policy
    assert again is not policy
    assert hash(again) == hash(policy)
    assert copy.deepcopy(policy) == policy
    assert len({policy, again}) == 1
    assert sum(policy == other for other in POLICIES) == 1
    # What has been worked out does not travel.
    assert len(pickle.dumps(policy)) < 1000


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_policies_print_as_the_call_that_makes_them(policy: hlmc.Policy) -> None:
    assert eval(repr(policy), {name: getattr(hlmc, name) for name in hlmc.__all__}) == policy


def test_arguments_are_taken_in_any_fitting_form() -> None:
    assert hlmc.HLMC(1e2, memory=20.0, horizon=1e6) == hlmc.HLMC(100, memory=20, horizon=10**6)
    assert hlmc.HLMC(np.int64(100), groups=[10, np.int32(10)], horizon=10) == hlmc.HLMC(
        100, groups=(10, 10), horizon=10
    )
    assert hlmc.HLMC(9, levels=2, horizon=9, routines=["exp3", "ucb1"]).routines == ("exp3", "ucb1")
    assert repr(hlmc.EXP3(3, 10, np.float64(0.5))) == "EXP3(arms=3, horizon=10, gamma=0.5)"
    assert repr(hlmc.HLMC(100.0, memory=20.0, horizon=1e3)) == "HLMC(arms=100, memory=20, horizon=1000)"


# --- Learners -----------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_learner_is_its_row(policy: hlmc.Policy) -> None:
    learner = trained(policy)
    assert learner.state.nbytes == 8 * policy.words.total
    assert learner.time == 11
    assert learner.policy is policy
    assert 0.0 < learner.probability <= 1.0
    assert repr(policy) in repr(learner)
    with pytest.raises(ValueError, match="read-only"):
        learner.state[1] = 0.0


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("duplicate", [lambda x: x.copy(), copy.copy, copy.deepcopy, lambda x: unpickled(x)])
def test_a_copy_goes_on_alike_and_alone(policy: hlmc.Policy, duplicate: Callable[..., hlmc.Learner]) -> None:
    for waiting in (False, True):
        learner = trained(policy)
        if waiting:
            learner.select()
        other = duplicate(learner)
        assert other == learner
        before = learner.state.tobytes()
        after = []
        for each in (other, learner):
            for reward in itertools.islice(rewards(2), 9):
                after.append(each.select())
                each.update(reward)
            if each is other:
                assert learner.state.tobytes() == before
        assert after[:9] == after[9:]
        assert other == learner


def unpickled(learner: hlmc.Learner) -> hlmc.Learner:
    return pickle.loads(pickle.dumps(learner))


def test_learners_that_differ_are_not_equal() -> None:
    one, other = hlmc.EXP3(3, 10).start(0), hlmc.EXP3(3, 10).start(1)
    assert one != other
    assert one != hlmc.EXP3(3, 10, gamma=0.5).start(0)
    assert one == hlmc.EXP3(3, 10).start(0)
    assert one != "a learner"
    with pytest.raises(TypeError):
        hash(one)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_asking_again_gives_the_same_answer_and_changes_nothing(policy: hlmc.Policy) -> None:
    learner = trained(policy)
    for _ in range(5):
        arm, state = learner.select(), learner.state.tobytes()
        assert [learner.select(), learner.select()] == [arm, arm]
        assert learner.state.tobytes() == state
        learner.update(0.5)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_run_in_the_compiled_loop_leaves_the_row_that_steps_by_hand_leave(policy: hlmc.Policy) -> None:
    # Every horizon up to the last, so that the loop stops at every place of an epoch.
    for steps in (*range(1, 25), 40):
        learner = policy.start(seed=6)
        for t in range(steps):
            learner.update(paid(t, learner.select()))
        earned, row = played(policy, paid, steps, seed=6)
        assert row.tobytes() == learner.state.tobytes(), steps
        assert earned <= steps


def paid(t: int, arm: int) -> float:
    return ((3 * t + 5 * arm) % 7) / 6.0


def test_a_horizon_ends_in_the_middle_of_an_epoch() -> None:
    for horizon in (1, 10, 11, 19, 20):
        learner = hlmc.HLMC(9, levels=2, horizon=horizon, epochs=10).start()
        for _ in range(horizon):
            learner.select()
            learner.update(1.0)
        assert learner.time == horizon
        with pytest.raises(OutOfTurn, match=f"horizon of {horizon} steps"):
            learner.select()


# --- Bad rewards and bad turns ------------------------------------------------------------------------------

BAD_REWARDS = [
    (math.nan, BadReward),
    (math.inf, BadReward),
    (-math.inf, BadReward),
    (-1e-9, BadReward),
    (1.0 + 1e-15, BadReward),
    (2, BadReward),
    (-1, BadReward),
    (10**400, BadReward),
    (Fraction(3, 2), BadReward),
    (np.float32(1.5), BadReward),
    ("1", BadType),
    (None, BadType),
    (1j, BadType),
    (np.complex64(0.5), BadType),
    ([1.0], BadType),
    (np.array([0.5]), BadType),
]


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_bad_rewards_are_refused_and_nothing_has_changed(policy: hlmc.Policy) -> None:
    learner, twin = trained(policy), trained(policy)
    learner.select()
    twin.select()
    for reward, error in BAD_REWARDS:
        state = learner.state.tobytes()
        with pytest.raises(error) as refusal:
            learner.update(reward)  # type: ignore[arg-type]
        assert isinstance(refusal.value, ValueError | TypeError)
        text = str(refusal.value)
        assert "reward must be a number in [0, 1]" in text
        assert shown(reward) in text or shown(float(reward)) in text
        assert learner.state.tobytes() == state
    for reward in itertools.islice(rewards(5), 20):
        learner.update(reward)
        twin.update(reward)
        assert learner.select() == twin.select()
    assert learner == twin


@pytest.mark.parametrize("reward", [0, 1, True, np.bool_(True), np.float32(0.5), np.int8(1), Fraction(1, 3), -0.0])
def test_any_number_in_range_is_a_reward(reward: float) -> None:
    one, other = hlmc.EXP3(3, 10).start(), hlmc.EXP3(3, 10).start()
    one.select()
    other.select()
    one.update(reward)
    other.update(float(reward))
    assert one == other


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_an_update_out_of_turn_is_refused_and_nothing_has_changed(policy: hlmc.Policy) -> None:
    learner, twin = policy.start(), policy.start()
    fresh = learner.state.tobytes()
    with pytest.raises(OutOfTurn, match="select"):
        learner.update(0.5)
    assert learner.state.tobytes() == fresh
    for reward in itertools.islice(rewards(5), 20):
        assert learner.select() == twin.select()
        learner.update(reward)
        twin.update(reward)
        state = learner.state.tobytes()
        with pytest.raises(OutOfTurn, match="select"):
            learner.update(reward)
        assert learner.state.tobytes() == state
    assert learner == twin


@pytest.mark.parametrize("policy", [p for p in POLICIES if p.horizon], ids=repr)
def test_a_step_past_the_horizon_is_refused_and_nothing_has_changed(policy: hlmc.Policy) -> None:
    learner = trained(policy, 40)
    state = learner.state.tobytes()
    for _ in range(2):
        with pytest.raises(OutOfTurn, match="horizon of 40 steps"):
            learner.select()
        with pytest.raises(OutOfTurn):
            learner.update(0.5)
        assert learner.state.tobytes() == state


# --- Bad arguments ------------------------------------------------------------------------------------------


class OwnClass(routines.Routine):
    """A routine without kernels."""


BAD_ARGUMENTS: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: hlmc.EXP3(0, 10), BadArgument, r"arms must be .* at least 1, not 0"),
    (lambda: hlmc.EXP3(-3, 10), BadArgument, r"arms must be .* at least 1, not -3"),
    (lambda: hlmc.EXP3(2.5, 10), BadArgument, r"arms must be a whole number.*, not 2.5"),
    (lambda: hlmc.EXP3(math.nan, 10), BadArgument, r"arms must be a whole number.*, not nan"),
    (lambda: hlmc.EXP3(math.inf, 10), BadArgument, r"arms must be a whole number.*, not inf"),
    (lambda: hlmc.EXP3("3", 10), BadType, r"arms must be a whole number.*, not '3'"),
    (lambda: hlmc.EXP3(True, 10), BadType, r"arms must be a whole number.*, not True"),
    (lambda: hlmc.EXP3(None, 10), BadType, r"arms must be a whole number.*, not None"),
    (lambda: hlmc.EXP3(2**54, 10), BadArgument, r"arms must be at most 9007199254740992"),
    (lambda: hlmc.EXP3(3, 0), BadArgument, r"horizon must be .* at least 1, not 0"),
    (lambda: hlmc.EXP3(3, -1), BadArgument, r"horizon must be .* at least 1, not -1"),
    (lambda: hlmc.EXP3(3, "x"), BadType, r"horizon must be .*, not 'x'"),
    (lambda: hlmc.EXP3(3, 10, gamma=0), BadArgument, r"gamma must be a number in \[1e-300, 1\], not 0"),
    (lambda: hlmc.EXP3(3, 10, gamma=1.5), BadArgument, r"gamma must be a number in \[1e-300, 1\], not 1.5"),
    (lambda: hlmc.EXP3(3, 10, gamma=math.nan), BadArgument, r"gamma must be a number in \[1e-300, 1\], not nan"),
    (lambda: hlmc.EXP3(3, 10, gamma="x"), BadType, r"gamma must be a number in \[1e-300, 1\], not 'x'"),
    (lambda: hlmc.EXP3P(3, 10, delta=0.0), BadArgument, r"delta must be a number in \(0, 1\), not 0.0"),
    (lambda: hlmc.EXP3P(3, 10, delta=1), BadArgument, r"delta must be a number in \(0, 1\), not 1"),
    (lambda: hlmc.EXP3P(3, 10, delta="x"), BadType, r"delta must be .*, not 'x'"),
    (lambda: hlmc.EXP3P(3, 10, eta=0.0), BadArgument, r"eta must be a number in \(0, 1e10\], not 0.0"),
    (lambda: hlmc.EXP3P(3, 10, beta=1.0), BadArgument, r"beta must be a number in \(0, 1\), not 1.0"),
    (lambda: hlmc.EXP3S(3, 10, 0), BadArgument, r"switches must be .* at least 1, not 0"),
    (lambda: hlmc.EXP3S(3, 10, 2, alpha=1.0), BadArgument, r"alpha must be a number in \(0, 1\), not 1.0"),
    (lambda: hlmc.UCB1(3, ties="any"), BadArgument, r"ties must be one of 'random', 'first', 'last', not 'any'"),
    (lambda: hlmc.UCBM(10, 1), BadArgument, r"at least 2 \(arms held at a time, two words each\), not 1"),
    (lambda: hlmc.UCBM(10, 4, shuffle=1), BadType, r"shuffle must be True or False, not 1"),
    (lambda: hlmc.UCBM(10, 4, ties="any"), BadArgument, r"ties must be one of .*, not 'any'"),
    (lambda: hlmc.UCBM(10, 4, fill="up"), BadArgument, r"fill must be one of 'left', 'wrap', not 'up'"),
    (lambda: hlmc.UCBM(10, 4, sublength=0), BadArgument, r"sublength must be .* at least 1, not 0"),
    (lambda: hlmc.EXP3M(10, 4, gamma=2), BadArgument, r"gamma must be a number in \[1e-300, 1\], not 2"),
    (lambda: hlmc.HLMC(100, memory=12, horizon=10), BadArgument, r"memory must be at least 13 words .*, not 12"),
    (lambda: hlmc.HLMC(100, memory=0, horizon=10), BadArgument, r"memory must be .* at least 1, not 0"),
    (lambda: hlmc.HLMC(100, levels=0, horizon=10), BadArgument, r"levels must be .* at least 1, not 0"),
    (lambda: hlmc.HLMC(100, levels=8, horizon=10), BadArgument, r"levels must be between 1 and .* 7 .*, not 8"),
    (lambda: hlmc.HLMC(100, groups=(9, 11), horizon=10), BadArgument, r"product of at least arms = 100, not \(9, 11\)"),
    (lambda: hlmc.HLMC(100, groups=(100, 0), horizon=10), BadArgument, r"groups must be .* at least 1, not 0"),
    (lambda: hlmc.HLMC(100, groups=100, horizon=10), BadType, r"groups must be a tuple .*, not 100"),
    (lambda: hlmc.HLMC(100, horizon=10), BadArgument, r"exactly one of memory, groups and levels"),
    (lambda: hlmc.HLMC(100, memory=20, levels=2), BadArgument, r"exactly one of memory, groups and levels"),
    (lambda: hlmc.HLMC(100, levels=2, delta=0.1, switches=2), BadArgument, r"at most one of delta, switches and"),
    (lambda: hlmc.HLMC(100, levels=2, delta=1.5), BadArgument, r"delta must be .*, not 1.5"),
    (lambda: hlmc.HLMC(100, levels=2, switches="some"), BadType, r'switches must be .*\(or "unknown"\), not \'some\''),
    (lambda: hlmc.HLMC(100, levels=2, routines="exp4"), BadArgument, r"no routine 'exp4'; did you mean 'exp3'"),
    (lambda: hlmc.HLMC(100, levels=2, routines=3), BadType, r"routine is given by its name .* not as 3"),
    (lambda: hlmc.HLMC(100, levels=2, routines=OwnClass()), BadType, r"needs kernels, or is a routines.Custom"),
    (lambda: hlmc.HLMC(100, levels=2, routines=("exp3",)), BadArgument, r"routines must be 2 names"),
    (lambda: hlmc.HLMC(100, levels=2, epochs=(2, 2, 2)), BadArgument, r"epochs must be 2 numbers.*\(2, 2, 2\)"),
    (lambda: hlmc.HLMC(100, levels=3, epochs=7), BadArgument, r"epochs must be 3 numbers.*not 7"),
    (lambda: hlmc.HLMC(100, levels=2, epochs=0), BadArgument, r"epochs must be .* at least 1, not 0"),
    (
        lambda: hlmc.HLMC(100, levels=2, horizon=101, epochs=(10, 10)),
        BadArgument,
        r"epochs must have a product of at least horizon = 101, not \(10, 10\)",
    ),
    (lambda: hlmc.HLMC(100, levels=2, first_stage=-1), BadArgument, r"first_stage must be .* at least 0, not -1"),
    (lambda: hlmc.HLMC(100, levels=2, horizon=9).bound(horizon=0), BadArgument, r"horizon must be .*, not 0"),
    (lambda: routines.EXP3(gamma=-1), BadArgument, r"gamma must be a number in \[1e-300, 1\], not -1"),
    (lambda: routines.UCB1(ties=3), BadArgument, r"ties must be one of .*, not 3"),
]


@pytest.mark.parametrize(("make", "error", "text"), BAD_ARGUMENTS, ids=[text for *_, text in BAD_ARGUMENTS])
def test_bad_arguments_are_refused_with_their_name_value_and_range(
    make: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as refusal:
        make()
    assert isinstance(refusal.value, ValueError | TypeError)
    assert isinstance(refusal.value, HLMCError | BadType)


def test_epochs_of_ones_own_go_with_an_unknown_horizon() -> None:
    policy = hlmc.HLMC(16, levels=2, epochs=(5, 3))
    assert [level.context.choices for level in policy.levels_at(64)] == [22, 3]
    learner = trained(policy, 100)
    assert learner.time == 100
