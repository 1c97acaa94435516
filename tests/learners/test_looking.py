"""What a learner says about itself: its distribution, its favourite, a few lines."""

import random

import pytest

import hlmc

POLICIES = [
    hlmc.EXP3(arms=5, horizon=200),
    hlmc.HLMC(arms=4, groups=(2, 2), horizon=40),
    hlmc.Champion(arms=6, memory=5, horizon=60),
    hlmc.UCBM(arms=7, memory=3),
]


def _play(learner: hlmc.Learner, steps: int, best: int) -> None:
    dice = random.Random(3)
    for _ in range(steps):
        learner.update(float(dice.random() < (0.9 if learner.select() == best else 0.2)))


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_distribution_is_that_of_the_next_decision(policy: hlmc.Policy) -> None:
    """In an epoch the probability of the next selection is its share; before one, shares add up over the groups."""
    learner = policy.start(seed=4)
    for _ in range(5):
        before = learner.copy()
        likely = learner.distribution()
        assert learner == before
        assert sum(likely.values()) == pytest.approx(1.0, abs=1e-6)
        assert list(likely.values()) == sorted(likely.values(), reverse=True)
        due = learner.time == int(learner.state[5])
        arm = learner.select()
        assert learner.distribution() == {arm: 1.0}
        if not due:
            assert likely[arm] == pytest.approx(learner.probability, abs=1e-6)
        learner.update(float(arm == 2))


def test_a_favourite_is_found() -> None:
    for policy, best in ((hlmc.EXP3(arms=5, horizon=2000), 3), (hlmc.Champion(arms=30, memory=12, horizon=20_000), 17)):
        learner = policy.start(seed=1)
        _play(learner, 1900, best)
        assert learner.favourite() == best


def test_of_a_hundred_arms_all_and_exactly() -> None:
    """Of one more, frequencies in draws."""
    for arms, exact in ((100, True), (101, False)):
        shares = hlmc.Champion(arms=arms, memory=20, horizon=10**4).start(seed=1).distribution().values()
        assert (len(shares) == arms and max(shares) - min(shares) < 1e-6) == exact


def test_of_many_arms_the_top() -> None:
    learner = hlmc.TsallisINF(arms=150).start(seed=1)
    _play(learner, 3000, 120)
    assert next(iter(learner.distribution())) == learner.favourite() == 120
    assert sum(learner.distribution().values()) <= 1.0 + 1e-9
    wide = hlmc.HLMC(arms=200, memory=40, horizon=1000).start(seed=1)
    assert sum(wide.distribution().values()) == pytest.approx(1.0)


def test_by_name_in_words() -> None:
    arms = hlmc.Arms(9)
    arms.add("tea", "coffee", "cocoa", "milk", "water", "wine")
    learner = hlmc.Champion(arms=9, memory=6, horizon=400).start(seed=1, arms=arms)
    assert "groups are chosen next" in learner.explain()
    for _ in range(60):
        learner.update(float(learner.select() == "cocoa"))
    assert learner.favourite() in arms
    assert set(learner.distribution()) <= set(arms)
    said = learner.explain()
    assert said.startswith("60 decisions made of 400")
    assert f"champion: {learner.favourite()}, doubt " in said
    assert "next: " in said
    short = hlmc.EXP3(arms=2, horizon=1).start()
    _play(short, 1, 0)
    assert short.explain().endswith("there is no next one")
