"""What policies say about their guarantees: that it is the bound in force, and nothing where there is none."""

import dataclasses
import inspect
import math
import re

import pytest

import hlmc
from hlmc import bounds, routines
from hlmc.policies import CATALOGUE, EXAMPLES

K, T = 100, 10**7


def number(policy: hlmc.Policy) -> int:
    found = re.search(r"at most ([\d,]+) in", policy.guarantee.proved)
    assert found, policy.guarantee
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_every_policy_says_what_is_proved_or_what_is_lost(policy: hlmc.Policy) -> None:
    told = policy.guarantee
    assert told == policy.guarantee
    assert told.lost
    assert bool(told.source) == bool(told.proved)
    assert str(told).startswith("proved: nothing" if not told.proved else f"proved: {told.proved}")
    for text in (told.source, told.measured, told.lost):
        assert text in str(told)
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.proved = "everything"  # type: ignore[misc]


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_what_holds_against_an_adversary_is_what_the_bound_says(policy: hlmc.Policy) -> None:
    bound = policy.bound(policy.horizon or 2**20, switches=1)
    assert policy.guarantee.adversarial == (bound is not None)
    if bound is not None and "V + 5" not in policy.guarantee.proved:
        assert number(policy) == round(bound)
        says_nothing = bound >= (policy.horizon or 2**20)
        assert ("vacuous: at least T" in policy.guarantee.proved) == says_nothing


def test_every_docstring_says_it_in_words() -> None:
    for cls in CATALOGUE.values():
        assert "\nGuarantee\n---------\n" in (inspect.getdoc(cls) or ""), cls


@pytest.mark.parametrize(
    ("policy", "source", "bound"),
    [
        (hlmc.HLMC(K, memory=20, horizon=T), "Theorem 1 ", bounds.theorem_1(T, K)),
        (hlmc.HLMC(K, levels=3, horizon=T), "Theorem 5 ", bounds.theorem_5(T, K)),
        (hlmc.HLMC(K, levels=1, horizon=T), "Lemma 3", bounds.lemma_3(T, K)),
        (hlmc.HLMC(K, memory=50, horizon=T), "proof of Theorem 5", bounds.hierarchy(T, (34, 3))),
        (hlmc.HLMC(K, memory=20, horizon=T, delta=0.01), "Theorem 2", bounds.theorem_2(T, K, 0.01)),
        (hlmc.HLMC(K, memory=20, horizon=T, switches=3), "Theorem 3", bounds.theorem_3(T, K, 3)),
        (hlmc.EXP3(K, T), "Lemma 3", bounds.lemma_3(T, K)),
        (hlmc.EXP3(K, T, gamma=0.1), "Theorem 3.1", (math.e - 1) * 0.1 * T + K * math.log(K) / 0.1),
        (hlmc.EXP3Loss(K, T, eta=0.001), "Theorem 3.1", math.log(K) / 0.001 + 0.001 * K * T / 2),
        (hlmc.EXP3P(K, T, delta=0.2), "Lemma 4", bounds.lemma_4(T, K, 0.2)),
        (hlmc.EXP3S(K, T, switches=7), "Lemma 5", bounds.lemma_5(T, K, 7)),
        (hlmc.EXP3IX(K, T), "Neu", bounds.exp3_ix(T, K)),
        (hlmc.TsallisINF(K), "Zimmert", bounds.tsallis_rv_sharp(2**20, K)),
        (hlmc.Champion(K, memory=20, horizon=T), "Theorem 1 of docs/research/champion.md", 6_701_741),
    ],
    ids=repr,
)
def test_the_theorem_in_force_and_its_number(policy: hlmc.Policy, source: str, bound: float) -> None:
    assert source in policy.guarantee.source
    assert number(policy) == round(bound)


def test_the_kind_of_regret_is_named() -> None:
    assert "expected weak regret" in hlmc.HLMC(K, memory=20, horizon=T).guarantee.proved
    assert "probability at least 0.99" in hlmc.HLMC(K, memory=20, horizon=T, delta=0.01).guarantee.proved
    assert "shifting regret at hardness 3" in hlmc.HLMC(K, memory=20, horizon=T, switches=3).guarantee.proved
    assert "hardness 7" in hlmc.EXP3S(K, T, switches=7).guarantee.proved
    assert "probability at least 0.8" in hlmc.EXP3P(K, T, delta=0.2).guarantee.proved
    assert "independent rewards" in hlmc.TsallisINF(K).guarantee.proved
    assert f"{bounds.exp3_ix(T, K, 0.05):,.0f}" in hlmc.EXP3IX(K, T).guarantee.proved
    assert "stages" in hlmc.HLMC(K, memory=20).guarantee.proved
    assert "stages" not in hlmc.TsallisINF(K).guarantee.proved


def test_with_v_unknown_the_number_is_for_every_v() -> None:
    policy = hlmc.HLMC(K, memory=20, horizon=T, switches="unknown")
    found = re.search(r"\(V \+ 5\) x ([\d,]+)", policy.guarantee.proved)
    assert found
    for V in (1, 10):
        assert (V + 5) * int(found[1].replace(",", "")) == pytest.approx(bounds.theorem_4(T, K, V), rel=1e-6)


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (hlmc.HLMC(K, memory=20, horizon=T, routines=("exp3", "ucb1")), "UCB1"),
        (hlmc.HLMC(K, memory=20, horizon=T, routines=("exp3", routines.EXP3IX(eta=0.1))), "EXP3IX"),
        (hlmc.HLMC(K, levels=3, horizon=T, delta=0.1), "two levels"),
        (hlmc.HLMC(K, memory=20, delta=0.1), "unknown horizon"),
        (hlmc.HLMC(K, memory=20, horizon=100, switches=9), "V K"),
        (hlmc.HLMC(K, memory=20, horizon=T, switches=9, epochs=50), "epochs"),
        (hlmc.EXP3P(K, T, gamma=0.1), "Lemma 4"),
        (hlmc.EXP3P(K, None), "unknown horizon"),
        (hlmc.EXP3S(K, T), "known V"),
        (hlmc.EXP3S(K, T, switches=2, alpha=0.1), "Lemma 5"),
        (hlmc.EXP3IX(K, T, eta=0.1), "EXP3IX"),
        (hlmc.EXP3M(K, memory=20), "adversary"),
        (hlmc.Uniform(K), "linearly"),
    ],
    ids=repr,
)
def test_nothing_is_claimed_where_nothing_is_proved(policy: hlmc.Policy, why: str) -> None:
    assert not policy.guarantee.proved
    assert not policy.guarantee.adversarial
    assert policy.bound(policy.horizon or T) is None
    assert why in policy.guarantee.lost


@pytest.mark.parametrize("memory", [14, 20, K])
@pytest.mark.parametrize("horizon", [T, None])
@pytest.mark.parametrize("switches", [2, None])
def test_the_champion_has_a_bound_whatever_its_arguments(
    memory: int, horizon: int | None, switches: int | None
) -> None:
    policy = hlmc.Champion(K, memory=memory, horizon=horizon, switches=switches)
    assert policy.guarantee.adversarial
    assert policy.guarantee.proved
    told = switches is not None
    assert ("shifting regret at hardness 2" in policy.guarantee.proved) == told
    assert ("a best arm that changes" in policy.guarantee.lost) != told
    assert policy.bound(T)


def test_a_champion_of_one_level_promises_nothing_about_changes() -> None:
    policy = hlmc.Champion(5, memory=4, horizon=T, switches=5)
    assert policy.groups_used == (5,)
    assert policy.guarantee.proved == ""
    assert "two levels do not fit" in policy.guarantee.lost
    assert policy.bound() is policy.plan.bound is policy.bound(switches=2) is None
    weak = hlmc.Champion(5, memory=4, horizon=T)
    assert weak.bound() == policy.bound(switches=1) == hlmc.Champion(5, memory=4, horizon=T, switches=1).bound()
    assert weak.bound() is not None


def test_policies_for_stochastic_rewards_promise_nothing_else() -> None:
    for policy in (hlmc.UCB1(K), hlmc.UCBM(K, memory=20)):
        assert policy.guarantee.proved.startswith("on independent rewards")
        assert not policy.guarantee.adversarial
        assert "linear" in policy.guarantee.lost
