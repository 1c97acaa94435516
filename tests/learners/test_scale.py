"""Rewards in the caller's units: scaled inside, refused in the caller's words, and nothing else changes."""

import json
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hlmc
from hlmc.engine.layout import DIGEST, ONE, ZERO
from hlmc.engine.scale import OUTSIDE, scaled
from hlmc.errors import BadArgument, BadReward, BadType
from hlmc.policies import EXAMPLES
from hlmc.targets.cuda.shape import Shape
from hlmc.testing import check_policy

PLAIN = hlmc.EXP3(arms=5, horizon=200)
LOSSES = replace(PLAIN, rewards=(-3, 7), losses=True)


def program(zero: float, one: float) -> np.ndarray:
    words = np.zeros(20)
    words[ZERO], words[ONE] = zero, one
    return words


@pytest.mark.interpreted
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (0.1, 0.3), (-1e308, 7e307), (3e-310, 5e-310)])
@pytest.mark.parametrize("losses", [False, True])
def test_a_number_becomes_its_share_of_the_range(low: float, high: float, losses: bool) -> None:
    zero, one = (high, low) if losses else (low, high)
    random = np.random.default_rng(1)
    numbers = [low, high, *(min(max(low + (high - low) * u, low), high) for u in random.random(200))]
    for x in map(float, numbers):
        share = scaled(program(zero, one), x)
        exact = (Fraction(x) - Fraction(zero)) / (Fraction(one) - Fraction(zero))
        assert 0.0 <= share <= 1.0
        assert abs(Fraction(share) - exact) <= Fraction(2) ** -51 * max(exact, Fraction(2) ** -1000)
    assert (scaled(program(zero, one), zero), scaled(program(zero, one), one)) == (0.0, 1.0)
    beyond = (math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.inf, -math.inf, math.nan)
    assert all(scaled(program(zero, one), x) == OUTSIDE for x in beyond)


@pytest.mark.interpreted
def test_rounding_does_not_let_a_number_outside_the_range_pass() -> None:
    """0.5 - -1e16 is 1e16 in floating point, which is the width of the range."""
    learner = replace(PLAIN, rewards=(-1e16, 0)).start()
    learner.select()
    with pytest.raises(BadReward, match=r"reward must be a number in \[-1e\+16, 0\], not 0.5"):
        learner.update(0.5)


@pytest.mark.parametrize("policy", {type(policy): policy for policy in EXAMPLES}.values(), ids=repr)
def test_every_policy_takes_them_and_default_programs_do_not_change(policy: hlmc.Policy) -> None:
    other = replace(policy, rewards=(-1, 1), losses=True)
    assert other != policy
    assert "rewards=(-1.0, 1.0), losses=True" in repr(other)
    assert eval(repr(other), {name: getattr(hlmc, name) for name in hlmc.__all__}) == other
    assert other.words == policy.words
    before, after = policy.program.copy(), other.program.copy()
    assert before[ZERO] == before[ONE] == 0.0
    assert (after[ZERO], after[ONE]) == (1.0, -1.0)
    after[ZERO] = after[ONE] = 0.0
    before[DIGEST] = after[DIGEST] = 0.0  # a ticket of one is not one of the other
    assert before.tobytes() == after.tobytes()
    assert other.bound(1000) == policy.bound(1000)
    assert "losses in [-1, 1]: regret in units of 2" in str(other.plan)


def test_the_default_written_out_is_the_default() -> None:
    assert hlmc.UCB1(arms=3, rewards=[0, 1], losses=False) == hlmc.UCB1(arms=3)
    assert repr(hlmc.UCB1(arms=3, rewards=(-0.0, 1))) == "UCB1(arms=3)"
    assert "units" not in str(hlmc.UCB1(arms=3).plan)
    with pytest.raises(TypeError):
        hlmc.UCB1(3, "first", (0, 1))  # type: ignore[misc]


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [LOSSES, hlmc.UCBM(arms=9, memory=4, rewards=(10, 20))], ids=repr)
def test_a_scaled_policy_conforms(policy: hlmc.Policy) -> None:
    check_policy(policy)


@pytest.mark.interpreted
def test_learner_and_fleet_learn_shares(tmp_path: Path) -> None:
    learner, fleet = LOSSES.start(seed=2), LOSSES.fleet(3, seed=2)
    plain = [PLAIN.start(seed=2, stream=i) for i in range(3)]
    random = np.random.default_rng(3)
    for _ in range(50):
        losses = random.uniform(-3, 7, 3)
        arms = [each.select() for each in plain]
        assert [learner.select(), *arms[1:]] == fleet.select().tolist() == arms
        learner.update(losses[0])
        fleet.update(losses)
        for each, loss in zip(plain, losses, strict=True):
            each.update((7 - loss) / (7 - -3))
    assert learner == fleet[0]
    assert learner.state.tobytes() == plain[0].state.tobytes()
    assert fleet.state.tobytes() == np.stack([each.state for each in plain]).tobytes()
    assert learner != plain[0]  # the next number would mean something else to it
    learner.save(tmp_path / "learner")
    again = hlmc.load(tmp_path / "learner")
    assert again == learner == pickle.loads(pickle.dumps(learner))
    assert again.policy.rewards == (-3.0, 7.0)
    assert again.policy.losses


@pytest.mark.interpreted
def test_told_rewards_and_missing_ones_are_in_the_same_units() -> None:
    plain = replace(PLAIN, pending=64).start(identity=1)
    other = replace(LOSSES, pending=64, missing=2).start(identity=1)
    for i in range(40):
        loss = i % 10 / 2 - 1
        first, second = plain.ask(), other.ask()
        assert first.arm == second.arm
        if i % 4:
            assert plain.tell(first, (7 - loss) / 10) == other.tell(second, loss) == "applied"
        else:
            assert plain.tell(first, 0.5) == other.drop(second) == "applied"
    assert plain.state.tobytes() == other.state.tobytes()
    ticket = other.ask()
    with pytest.raises(BadReward, match=r"^loss must be a number in \[-3, 7\], not 9.0"):
        other.tell(ticket, 9)
    assert other.tell(ticket, 7) == "applied"
    with pytest.raises(BadArgument, match=r"missing must be a number in \[0, 1\], not 3"):
        replace(PLAIN, missing=3)


@pytest.mark.interpreted
def test_refusals_speak_the_callers_units_and_change_nothing() -> None:
    learner, fleet = LOSSES.start(), LOSSES.fleet(2)
    learner.select()
    fleet.select()
    before = learner.state.tobytes(), fleet.state.tobytes()
    for bad in (7.5, -3.5, math.nan, math.inf, 10**400):
        with pytest.raises(BadReward, match=r"^loss must be a number in \[-3, 7\], not "):
            learner.update(bad)
    with pytest.raises(BadType, match=r"^loss must be a number in \[-3, 7\], not '1'"):
        learner.update("1")  # type: ignore[arg-type]
    with pytest.raises(BadReward, match=r"^learner 1: loss must be a number in \[-3, 7\], not 8.25"):
        fleet.update([1, 8.25])
    with pytest.raises(BadType, match=r"^losses must be numbers in \[-3, 7\], not "):
        fleet.update(["a", "b"])
    assert before == (learner.state.tobytes(), fleet.state.tobytes())
    learner.update(7)
    fleet.update([-3, 7])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"rewards": (1, 0)}, BadArgument),
        ({"rewards": (2, 2)}, BadArgument),
        ({"rewards": (0, math.inf)}, BadArgument),
        ({"rewards": (math.nan, 1)}, BadArgument),
        ({"rewards": (-1e308, 1e308)}, BadArgument),  # a width that is not finite
        ({"rewards": (0, 10**400)}, BadArgument),
        ({"rewards": (0, 1, 2)}, BadArgument),
        ({"rewards": ()}, BadArgument),
        ({"rewards": 5}, BadType),
        ({"rewards": "01"}, BadType),
        ({"rewards": (0, "1")}, BadType),
        ({"rewards": (False, True)}, BadType),
        ({"losses": 1}, BadType),
    ],
    ids=str,
)
@pytest.mark.parametrize("policy", [PLAIN, hlmc.UCBM(9, 4), hlmc.Champion(9), hlmc.HLMC(9, levels=2)], ids=repr)
def test_a_range_that_is_none_is_refused(
    arguments: dict[str, object], error: type[Exception], policy: hlmc.Policy
) -> None:
    with pytest.raises(error, match=f"^{next(iter(arguments))} must be ") as found:
        replace(policy, **arguments)  # type: ignore[arg-type]
    assert "\n" not in str(found.value)


def test_files_of_unscaled_policies_do_not_mention_it(tmp_path: Path) -> None:
    from hlmc.policies.description import described

    assert set(json.loads(described(PLAIN))["arguments"]) == {"arms", "horizon"}
    assert json.loads(described(LOSSES))["arguments"]["rewards"] == [-3.0, 7.0]


def test_simulation_pays_shares_whatever_the_scale() -> None:
    adversary = hlmc.adversaries.Bernoulli((0.2, 0.5, 0.9, 0.1, 0.3))
    results = [hlmc.simulate(policy, adversary, horizon=200, runs=2).data.reward for policy in (PLAIN, LOSSES)]
    assert np.array_equal(*results)


def test_a_gpu_is_not_given_numbers_that_it_may_not_hold() -> None:
    policy = replace(PLAIN, rewards=(0, 1e300))
    assert Shape.of(policy).program(policy).tobytes() == Shape.of(PLAIN).program(PLAIN).tobytes()
