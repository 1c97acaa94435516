"""Thompson sampling and epsilon-greedy: against the posterior, worked out apart, and against what cannot be asked."""

import math

import numpy as np
import pytest

import hlmc
from hlmc.engine.layout import KEY
from hlmc.engine.variates import beta_variate
from hlmc.errors import BadArgument
from hlmc.learners import Learner
from hlmc.simulation.experiment import Experiment
from hlmc.targets.cuda.shape import Shape

K = 3


def binomial_tail(a: int, b: int, x: float) -> float:
    """P(Beta(a, b) <= x) for whole shapes: at least a of a + b - 1 coins of chance x show heads."""
    n = a + b - 1
    return math.fsum(math.comb(n, k) * x**k * (1.0 - x) ** (n - k) for k in range(a, n + 1))


@pytest.mark.interpreted
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 5), (3, 2), (12, 30)])
def test_beta_variates_have_the_beta_distribution(a: int, b: int) -> None:
    n = 2000
    with np.errstate(over="ignore"):  # wrapping around is meant
        drawn = sorted(float(beta_variate(np.uint64(7919 * i + 13), float(a), float(b))) for i in range(n))
    found = np.array([binomial_tail(a, b, x) for x in drawn])
    distance = max((np.arange(1, n + 1) / n - found).max(), (found - np.arange(n) / n).max())
    assert distance < math.sqrt(math.log(2.0 / 1e-7) / (2 * n))  # Dvoretzky, Kiefer and Wolfowitz: false in 1e-7


def posterior_choice(won: list[int], lost: list[int]) -> list[float]:
    """The probability that each arm's mean is the largest, by Simpson's rule over the density of its own."""
    xs = np.linspace(0.0, 1.0, 2001)
    below = np.array([[binomial_tail(1 + w, 1 + f, x) for x in xs] for w, f in zip(won, lost, strict=True)])
    weights = np.tile([4.0, 2.0], 1000)
    simpson = np.array([1.0, *weights[:-1], 1.0]) / 6000.0
    found = []
    for arm, (w, f) in enumerate(zip(won, lost, strict=True)):
        density = (1 + w + f) * math.comb(w + f, w) * xs**w * (1.0 - xs) ** f
        found.append(float(simpson @ (density * np.delete(below, arm, axis=0).prod(axis=0))))
    return found


def test_arms_are_chosen_as_often_as_their_means_are_the_largest() -> None:
    won, lost = [6, 2, 0], [4, 1, 3]
    policy = hlmc.Thompson(K)
    learner = policy.start(seed=1)
    for _ in range(sum(won) + sum(lost)):
        learner.select()
        learner.update(0.0)
    row = learner.state.copy()
    row[-2 * K :] = [*won, *(w + f for w, f in zip(won, lost, strict=True))]
    counts, draws = np.zeros(K), 4000
    for i in range(draws):
        row.view(np.uint64)[KEY] = 0x9E3779B97F4A7C15 * (i + 1) % 2**64
        counts[Learner(policy, row.copy()).select()] += 1
    expected = posterior_choice(won, lost)
    assert math.fsum(expected) == pytest.approx(1.0, abs=1e-6)
    for count, p in zip(counts, expected, strict=True):
        assert abs(count - draws * p) < 6.0 * math.sqrt(draws * p * (1.0 - p))


def test_a_reward_is_a_success_as_often_as_it_is_high() -> None:
    learner, paid = hlmc.Thompson(K).start(seed=5), 0.0
    rewards = np.random.default_rng(1).random(3000)
    for reward in rewards:
        learner.select()
        learner.update(float(reward))
        paid += reward * (1.0 - reward)
    won, played = learner.state[-2 * K : -K], learner.state[-K:]
    assert played.sum() == len(rewards)
    assert all(x == int(x) for x in won)
    assert abs(won.sum() - rewards.sum()) < 6.0 * math.sqrt(paid)


@pytest.mark.parametrize(("reward", "won"), [(0.0, 0.0), (1.0, 50.0)])
def test_rewards_of_zero_and_one_are_counted_as_they_are(reward: float, won: float) -> None:
    learner = hlmc.Thompson(K).start(seed=2)
    for _ in range(50):
        learner.select()
        learner.update(reward)
    assert learner.state[-2 * K : -K].sum() == won


def test_thompson_finds_the_best_arm() -> None:
    adversary = hlmc.adversaries.Bernoulli([0.2, 0.8, 0.3, 0.2])
    policies = {"Thompson": hlmc.Thompson(4), "greedy": hlmc.EpsilonGreedy(4), "dice": hlmc.Uniform(4)}
    result = hlmc.simulate(policies, adversary, horizon=2000, runs=4, progress=False)
    regret = result.regret("pseudo").isel(time=-1).mean("run")
    assert regret.sel(policy="Thompson") < 40.0
    # A tenth of the steps are spent on the four arms alike: 0.1 * 2000 * (0.6 + 0.5 + 0.6) / 4 = 85.
    assert 60.0 < regret.sel(policy="greedy") < 130.0
    assert regret.sel(policy="dice") > 700.0


def test_the_probability_of_thompson_is_not_known() -> None:
    learner, fleet = hlmc.Thompson(K).start(), hlmc.Thompson(K).fleet(2)
    learner.select()
    fleet.select()
    assert math.isnan(learner.probability)
    assert np.isnan(fleet.probability).all()
    mixed = hlmc.HLMC(9, levels=2, horizon=100, routines=("thompson", "exp3"))
    assert math.isnan(mixed.start().probability)
    assert hlmc.EpsilonGreedy(K).known_probability


def test_what_needs_the_probability_is_refused_in_one_line() -> None:
    thompson = hlmc.Thompson(K)
    with pytest.raises(BadArgument, match=r"^pending must be 0 for .*Thompson.*: a ticket carries the probability"):
        hlmc.Thompson(K, pending=4)
    with pytest.raises(BadArgument, match=r"^pending must be 0 for HLMC\("):
        hlmc.HLMC(9, levels=2, horizon=100, routines=("thompson", "exp3"), pending=4)
    with pytest.raises(BadArgument, match=r"^Thompson\(arms=3\) runs in Python only: "):
        thompson.to_c()
    with pytest.raises(
        BadArgument, match=r'^policy \'T\' is Thompson\(arms=3\), which is played with device="cpu" only$'
    ):
        Experiment.of({"T": thompson}, hlmc.adversaries.UniformMeans(K), 10, 1, 0, None, arithmetic=("cuda", "float64"))
    with pytest.raises(BadArgument, match=r'^Thompson\(arms=3\) is played with device="cpu" only$'):
        Shape.of(thompson)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.5, math.nan])
def test_epsilon_must_be_a_probability(bad: float) -> None:
    with pytest.raises(BadArgument, match=r"^epsilon must be a number in \[1e-300, 1\], not "):
        hlmc.EpsilonGreedy(K, epsilon=bad)
    with pytest.raises(BadArgument, match=r"^decay must be a number in \(0, 1e10\], not "):
        hlmc.EpsilonGreedy(K, decay=-bad if bad == 1.5 else bad if bad <= 0 else math.inf)
