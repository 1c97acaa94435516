"""hlmc.testing.check_adversary: it passes a sound adversary and finds out every unsound one."""

import math
from dataclasses import dataclass
from functools import cached_property

import pytest

from hlmc._testing_adversary import check_adversary
from hlmc.adversaries import (
    Adversary,
    packed,
)
from hlmc.engine.kernel import kernel


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
    ids=lambda given: repr(given)[:60],
)
def test_an_unsound_adversary_is_found_out(adversary, message):
    with pytest.raises(AssertionError, match=message):
        check_adversary(adversary, samples=20)
