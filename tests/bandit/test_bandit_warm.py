"""A bandit that begins with a learner: it goes on as the learner would have, and is replayed from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import hlmc
from bandits import NAMES, Opener
from hlmc.errors import BadArgument

LEARNERS = [
    hlmc.HLMC(arms=9, groups=(3, 3), horizon=10**4),
    hlmc.Champion(arms=9, memory=6, horizon=10**4, dynamic=True),
    hlmc.TsallisINF(arms=9, pending=64),
    hlmc.UCBM(arms=9, memory=4),
]


def taught(policy: hlmc.Policy, steps: int = 777) -> hlmc.Learner:
    learner = policy.start(seed=3)
    for _ in range(steps):
        learner.update(float(learner.select() == 4))
    return learner


@pytest.mark.parametrize("policy", LEARNERS, ids=lambda policy: type(policy).__name__)
def test_it_goes_on_as_the_learner_would_have(opened: Opener, policy: hlmc.Policy) -> None:
    learner = taught(policy)
    bandit = opened(learner, arms=NAMES, seed=1)
    mine = learner.copy()
    for step in range(100):
        decision = bandit.ask()
        assert decision.arm == NAMES[mine.select()]
        bandit.tell(decision.id, float(step % 3 == 0))
        mine.update(float(step % 3 == 0))
    assert bandit.check() == []
    assert learner == taught(policy)  # it is not changed
    assert opened(learner).ask().arm == NAMES[mine.select()]  # what is there goes on


@pytest.mark.parametrize("pending", [0, 1])
def test_propensities_are_known_from_the_first_decision(opened: Opener, pending: int) -> None:
    policy = hlmc.HLMC(arms=27, groups=(3, 3, 3), horizon=10**4, pending=pending)
    bandit = opened(taught(policy), seed=1)
    mine = taught(replace(policy, pending=1))
    for _ in range(100):
        ticket = mine.ask()
        decision = bandit.ask()
        assert (decision.arm, decision.propensity) == (str(ticket.arm), pytest.approx(ticket.propensity, rel=1e-12))
        bandit.tell(decision.id, 0.0)
        mine.tell(ticket, 0.0)


def test_units_begin_afresh(opened: Opener) -> None:
    cold = opened(LEARNERS[0], arms=NAMES, seed=1, name="cold")
    warm = opened(taught(LEARNERS[0]), arms=NAMES, seed=1, name="warm")
    for _ in range(20):
        assert cold.ask("user-1").arm == warm.ask("user-1").arm


def test_the_learner_of_a_replay(opened: Opener) -> None:
    log = {"arm": NAMES * 100, "reward": [0.2, 0.8, 0.5] * 300, "propensity": [1 / 9] * 900}
    found = hlmc.replay(hlmc.TsallisINF(arms=9), log)
    assert 50 < found["rows"].item() < 150
    bandit = opened(found.learners["TsallisINF"], arms=found.attrs["arms"])
    assert bandit.ask().arm == NAMES[found.learners["TsallisINF"].select()]


def awaiting(learner: hlmc.Learner) -> hlmc.Learner:
    learner.select()
    return learner


def outstanding(learner: hlmc.Learner) -> hlmc.Learner:
    learner.ask()
    return learner


PERMUTED = hlmc.Champion(arms=9, memory=6, horizon=10**4)
REFUSED: list[tuple[Callable[[], hlmc.Learner], str]] = [
    (lambda: awaiting(taught(LEARNERS[0])), "policy must be a learner that awaits no reward"),
    (lambda: outstanding(taught(LEARNERS[2])), "policy must be a learner that awaits no reward"),
    (lambda: taught(PERMUTED), r"must be a learner of Champion\(..., dynamic=True\)"),
    (lambda: taught(hlmc.EXP3(arms=10, horizon=10**4)), "arms must be the 10 arms of the learner, not 9"),
]


@pytest.mark.parametrize(("learner", "message"), REFUSED)
def test_what_cannot_begin_a_bandit_is_refused(
    opened: Opener, learner: Callable[[], hlmc.Learner], message: str
) -> None:
    with pytest.raises(BadArgument, match=message):
        opened(learner(), arms=NAMES)
    assert opened(LEARNERS[0], arms=NAMES).check() == []  # nothing was made
