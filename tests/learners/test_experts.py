"""hlmc.Experts: the same choices as a learner by hand, late rewards, files, bandits, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hlmc
from hlmc.errors import BadArgument, BadFile, BadTicket, BadType

RULES = {f"from {start}": lambda hour, start=start: "tea" if hour >= start else "coffee" for start in range(24)}
POLICY = hlmc.Champion(arms=30, memory=12, horizon=10**4, pending=64)


def paid(hour: int, arm: str) -> float:
    return float((arm == "tea") == (hour >= 15))


def test_choices_and_state_are_those_of_a_learner_by_hand() -> None:
    experts = hlmc.Experts(POLICY, RULES, seed=3)
    arms = hlmc.Arms(30)
    arms.add(*RULES)
    learner = POLICY.start(3, arms=arms)
    for t in range(500):
        hour = 7 * t % 24
        found, ticket = experts.ask(hour), learner.ask()
        assert (found.expert, found.arm) == (ticket.arm, RULES[ticket.arm](hour))
        assert found.propensity == ticket.propensity
        reward = paid(hour, found.arm)
        assert experts.tell(found, reward) == learner.tell(ticket, reward) == "applied"
    assert isinstance(experts.chooser, hlmc.Learner)
    assert experts.chooser == learner


def test_rewards_come_late_or_never() -> None:
    experts = hlmc.Experts(hlmc.EXP3(arms=24, horizon=100), RULES)
    first, second = experts.ask(1), experts.ask(2)
    assert experts.tell(second.id, 1.0) == "applied"
    assert experts.tell(second.id, 1.0) == "duplicate"
    assert experts.drop(first.id) == "applied"
    assert experts.chooser.pending == 0
    with pytest.raises(BadTicket):
        experts.tell("nonsense", 1.0)


def test_an_expert_that_fails_leaves_nothing_pending() -> None:
    experts = hlmc.Experts(hlmc.EXP3(arms=1, horizon=100), [lambda context: context["hour"]])
    with pytest.raises(KeyError):
        experts.ask({})
    assert experts.chooser.pending == 0
    assert experts.ask({"hour": 3}).arm == 3


def test_experts_are_saved_by_name(tmp_path: Path) -> None:
    experts = hlmc.Experts(POLICY, RULES, seed=3)
    late = experts.ask(3)
    experts.save(tmp_path / "experts")
    again = hlmc.Experts.load(tmp_path / "experts", dict(reversed(RULES.items())))
    assert again.chooser == experts.chooser
    assert again.tell(late.id, 1.0) == "applied"
    with pytest.raises(BadArgument, match=r"experts must have a function for every arm, also for \['from 23'\]"):
        hlmc.Experts.load(tmp_path / "experts", {name: rule for name, rule in RULES.items() if name != "from 23"})
    POLICY.start().save(tmp_path / "learner")
    with pytest.raises(BadFile, match="it holds no names"):
        hlmc.Experts.load(tmp_path / "learner", RULES)


def test_experts_come_and_go() -> None:
    experts = hlmc.Experts(POLICY, RULES)
    experts.add("water", lambda hour: "water")
    for name in RULES:
        experts.remove(name)
    assert len(experts) == 1
    assert experts.ask(3)[::2] == ("water", "water")
    with pytest.raises(BadArgument, match="there is no arm of the name 'from 0'"):
        experts.remove("from 0")
    with pytest.raises(BadArgument, match="names must differ"):
        experts.add("water", lambda hour: "ice")
    assert experts.ask(3).arm == "water"


def test_a_bandit_chooses_among_experts(tmp_path: Path) -> None:
    with hlmc.open(tmp_path / "shop.db", POLICY, arms=list(RULES), seed=1) as bandit:
        experts = hlmc.Experts(bandit, RULES)
        found = experts.ask(15, unit="user-1", key="request-1")
        assert 0.0 < found.propensity <= 1.0
        assert experts.ask(15, unit="user-1", key="request-1") == found
        assert found.arm == RULES[found.expert](15)
        assert experts.tell(found.id, 1.0) == "applied"
        experts.add("water", lambda hour: "water")
        assert "water" in bandit.arms
        with pytest.raises(BadArgument, match="what a bandit knows is in its store"):
            experts.save(tmp_path / "experts")
        bandit.arms.add("unknown")
        with pytest.raises(BadArgument, match="also for"):
            hlmc.Experts(bandit, RULES)


REFUSED: list[tuple[Any, Any, type[Exception], str]] = [
    (hlmc.EXP3(arms=3, horizon=10), RULES, BadArgument, "policy must have at least 24 arms, one per expert, not 3"),
    (hlmc.EXP3(arms=3, horizon=10), {}, BadArgument, "experts must hold at least one"),
    (hlmc.EXP3(arms=3, horizon=10), 7, BadType, "experts must be a mapping of names to functions"),
    (hlmc.EXP3(arms=3, horizon=10), {"a": 7}, BadType, "expert 'a' must be a function of a context, not 7"),
    (
        hlmc.EXP3(arms=3, horizon=10).start(),
        [len],
        BadType,
        "policy must be a policy, a learner with names or a bandit",
    ),
]


@pytest.mark.parametrize(("policy", "experts", "error", "message"), REFUSED)
def test_bad_arguments_are_refused(policy: Any, experts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hlmc.Experts(policy, experts)
