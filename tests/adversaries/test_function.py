"""Functions as adversaries: compiled where they can be, called in Python where not, errors and all."""

import math
import pickle

import numba
import pytest

from hlmc._testing_adversary import check_adversary
from hlmc.adversaries import (
    Function,
    NotCompiled,
)
from hlmc.adversaries.arithmetic import quotient
from hlmc.errors import BadReward
from hlmc.targets import JIT

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
@pytest.mark.parametrize("found", ["1", 10**400, None, b"1", 0.5j, [0.5]], ids=lambda found: type(found).__name__)
@pytest.mark.filterwarnings("ignore::hlmc.adversaries.NotCompiled")
def test_what_is_no_number_is_no_reward(found):
    """Not even text that looks like one."""
    adversary = Function(arms=2, reward=lambda t, arm: found)
    for call in (lambda: adversary.reward(0, 0), lambda: adversary.rewards(0, 2)):
        with pytest.raises(BadReward) as caught:
            call()
        assert "\n" not in str(caught.value)


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
