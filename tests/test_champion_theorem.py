"""The proofs of docs/champion.md, inequality by inequality on random instances, and the bounds that follow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import hlmc
from hlmc import bounds
from hlmc.engine.layout import BEGAN
from hlmc.engine.structures.champion import CHALLENGE, CRISIS, TURN
from reference_losses import estimates, faded, tsallis

RATES = {"iw": 2.0, "rv": 4.0}


def simplex(rng: np.random.Generator, n: int) -> list[float]:
    """A point of the simplex, with components of very different sizes."""
    p = rng.dirichlet(np.full(n, rng.choice([0.05, 0.3, 1.0, 10.0]))) + 1e-9
    return (p / p.sum()).tolist()  # type: ignore[no-any-return]


def instances(seed: int, count: int = 400) -> Iterator[tuple[np.random.Generator, int, list[float], float]]:
    """Random n, p and eta in (0, 1], and boundary cases of p: all at eta^2, just below it, at 1/n."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        n = int(rng.integers(2, 14))
        eta = float(rng.uniform(0.01, 1.0))
        p = simplex(rng, n)
        edge = eta * eta * (1.0 if k % 2 else 1.0 - 1e-9)
        if k % 3 == 0 and (n - 1) * edge < 1.0 - edge:
            p = [edge] * (n - 1) + [1.0 - (n - 1) * edge]
        yield rng, n, p, eta


def ceiling(v: float, p: float, eta: float) -> float:
    """phi of (2)."""
    return eta / 2 * v * v * p**1.5 / (1.0 + eta * v * math.sqrt(p) / 2)


def expected_ceiling(p: list[float], losses: list[float], base: float, off: float, eta: float) -> float:
    """The expectation over the choice of the sum of phi, ``off`` taken from all components of the estimates."""
    total = 0.0
    for slot, chance in enumerate(p):
        grown = estimates(p, slot, chance, losses[slot], base, eta)
        total += chance * sum(ceiling(g - off, each, eta) for g, each in zip(grown, p, strict=True))
    return total


def losses_for(rng: np.random.Generator, n: int) -> list[float]:
    """Losses in [0, 1], often at its ends, where phi is largest."""
    return [float(x) for x in rng.choice([0.0, 1.0, rng.random()], n)]


# --- Lemma 1 --------------------------------------------------------------------------------------------------


def test_phi_is_the_maximum_that_it_stands_for() -> None:
    for rng, _, p, eta in instances(0, 100):
        v = float(rng.uniform(-1.0, 3.0))
        if 1.0 + eta * v * math.sqrt(p[0]) / 2 <= 0.05:
            continue
        root = math.sqrt(p[0])
        best = root / (1.0 + eta * v * root / 2)
        w = np.append(root * np.linspace(0.0, 20.0, 10_001), best) ** 2
        values = (p[0] - w) * v - 2 / (eta * root) * (root - np.sqrt(w)) ** 2
        assert values[-1] == pytest.approx(ceiling(v, p[0], eta), rel=1e-9, abs=1e-15)
        assert values.max() <= values[-1] + 1e-12


@pytest.mark.parametrize("kind", ["iw", "rv", "contest"])
def test_regret_on_the_estimates_is_stability_and_penalty(kind: str) -> None:
    """(1), with the prior's term of Lemma 3, and sigma below the sum of phi, along random runs."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        n, H = int(rng.integers(2, 8)), 60
        epoch = 40
        rates = [
            4.0 / math.sqrt(epoch + t) if kind == "contest" else RATES[kind] / math.sqrt(t) for t in range(1, H + 1)
        ]
        prior = simplex(rng, n) if kind == "contest" else [1.0 / n] * n
        totals = [2.0 / (rates[0] * math.sqrt(each)) for each in prior]
        base = {"iw": 0.0, "rv": 0.5, "contest": 0.5}[kind]
        left = np.zeros(n)
        right = np.array(
            [2.0 / rates[0] * (sum(map(math.sqrt, prior)) + 1.0 / math.sqrt(each) - 2.0) for each in prior]
        )
        for t, eta in enumerate(rates):
            p = tsallis(totals, eta)
            if t == 0:
                assert p == pytest.approx(prior)
            else:
                right += 4.0 * (1.0 / eta - 1.0 / rates[t - 1]) * (sum(map(math.sqrt, p)) - 1.0)
            slot = int(rng.choice(n, p=np.array(p) / sum(p)))
            loss = float(rng.random())
            grown = estimates(p, slot, p[slot], loss, base, eta)
            totals = [a + b for a, b in zip(totals, grown, strict=True)]
            w = tsallis(totals, eta)
            apart = sum(2.0 / math.sqrt(a) * (math.sqrt(a) - math.sqrt(b)) ** 2 for a, b in zip(p, w, strict=True))
            sigma = sum((a - b) * g for a, b, g in zip(p, w, grown, strict=True)) - apart / eta
            off = 0.0 if kind == "iw" or eta >= 1.0 else base
            assert sigma <= sum(ceiling(g - off, each, eta) for g, each in zip(grown, p, strict=True)) + 1e-9
            left += sum(a * g for a, g in zip(p, grown, strict=True)) - np.array(grown)
            right += sigma
            if kind == "contest":
                base = faded(base, t + 1, loss)
        assert (left <= right + 1e-9).all()


def test_stability_of_importance_weighting() -> None:
    for rng, n, p, eta in instances(1):
        wide = eta * float(rng.choice([1.0, 2.0]))
        found = expected_ceiling(p, losses_for(rng, n), 0.0, 0.0, wide)
        assert found <= wide * math.sqrt(n) / (2.0 + wide * math.sqrt(n)) + 1e-12


def rv_stability(n: int, eta: float) -> float:
    first = eta / 8 * math.sqrt(n) + min(0.25, 5 / 24 * n * eta * eta)
    return first + (eta * eta / 6 * min(1.0, n * eta * eta) if eta < 1.0 else 0.0)


def test_stability_of_reduced_variance() -> None:
    worst = 0.0
    for rng, n, p, eta in instances(2):
        found = expected_ceiling(p, losses_for(rng, n), 0.5, 0.5, eta)
        assert found <= rv_stability(n, eta) + 1e-12
        worst = max(worst, found / rv_stability(n, eta))
    assert worst > 0.8  # the instances come near
    for s in range(1, 17):  # nothing is taken off while eta >= 1
        for rng, n, p, _ in instances(s, 20):
            eta = 4.0 / math.sqrt(s)
            assert expected_ceiling(p, losses_for(rng, n), 0.5, 0.0, eta) <= rv_stability(n, eta) + 1e-12


@pytest.mark.parametrize("n", [2, 3, 10, 32])
@pytest.mark.parametrize("H", [1, 2, 16, 17, 40, 133, 134, 1000, 20_000])
def test_the_sums_of_lemma_1(n: int, H: int) -> None:
    penalty = {kind: 4.0 * (math.sqrt(n) - 1.0) * math.sqrt(H) / RATES[kind] for kind in RATES}
    iw = sum(math.sqrt(n) / (math.sqrt(s) + math.sqrt(n)) for s in range(1, H + 1)) + penalty["iw"]
    rv = sum(rv_stability(n, 4.0 / math.sqrt(s)) for s in range(1, H + 1)) + penalty["rv"]
    assert min(H, iw) <= bounds.tsallis_iw_sharp(H, n) <= min(H, 1.01 * iw + 2.0)
    assert min(H, rv) <= bounds.tsallis_rv_sharp(H, n) <= min(H, 1.05 * rv + 5.0)
    # The forms that the proof is usually stopped at.
    assert bounds.tsallis_iw_sharp(H, n) <= 4.0 * math.sqrt(n * H) - 2.0 * math.sqrt(H)
    if H >= 16:
        classical = 2 * math.sqrt(n * H) - math.sqrt(H) + 10 * math.sqrt(n) + (6 * n + 8 / 3) * math.log(H / 16)
        assert bounds.tsallis_rv_sharp(H, n) <= classical


def test_the_bounds_grow_with_the_children_and_the_choices() -> None:
    for bound in (bounds.tsallis_iw_sharp, bounds.tsallis_rv_sharp):
        table = np.array([[bound(H, n) for H in range(1, 400)] for n in range(1, 40)])
        assert (np.diff(table, axis=0) >= -1e-9).all()
        assert (np.diff(table, axis=1) >= -1e-9).all()
    table = np.array([[bounds.contest(D, n, 0.01) for D in range(1, 400)] for n in range(1, 40)])
    assert (np.diff(table, axis=0) >= -1e-9).all()
    assert (np.diff(table, axis=1) >= -1e-9).all()


# --- Lemmas 2 and 3 -------------------------------------------------------------------------------------------


def test_the_moving_baseline_pays_a_quarter() -> None:
    rng = np.random.default_rng(3)
    for k in range(200):
        H = int(rng.integers(1, 400))
        period = int(rng.integers(1, 120))
        flips = np.array([(t // period) % 2 for t in range(H)], float)
        losses = [flips, rng.random(H), rng.integers(0, 2, H).astype(float)][k % 3]
        b, paid, alphas = 0.5, 0.0, [1.0]
        for t, loss in enumerate(losses, start=1):
            alpha = max(1.0 / (t + 1.0), 0.02)
            after = faded(b, t, loss)
            own = (1 - alpha) * (b - 0.5) ** 2 + alpha * (loss - 0.5) ** 2 - alpha * (1 - alpha) * (loss - b) ** 2
            assert (after - 0.5) ** 2 == pytest.approx(own, abs=1e-12)
            assert (1 - alpha) / alpha <= 1.0 / alphas[-1] + 1e-9
            paid += (1 - alpha) * (loss - b) ** 2
            alphas.append(alpha)
            b = after
        assert paid <= ((losses - 0.5) ** 2).sum() + 1e-9 <= H / 4 + 1e-6


def test_stability_of_the_contest() -> None:
    for rng, n, p, eta in instances(4):
        b = float(rng.choice([0.0, 0.5, 1.0, rng.random()]))
        losses = losses_for(rng, n)
        spread = sum(each * (loss - b) ** 2 for each, loss in zip(p, losses, strict=True))
        found = expected_ceiling(p, losses, b, b, eta)
        assert found <= eta / 2 * math.sqrt(n * spread) + (n / 2 + 1.0) * eta * eta + 1e-12


def penalty_of(e: float, n: int, own: bool) -> float:
    """The Bregman distance of an arm to the prior, over 2 / eta: the champion's own, or another arm's."""
    at = 1.0 - e if own else e / (n - 1)
    return math.sqrt(1.0 - e) + math.sqrt((n - 1) * e) + 1.0 / math.sqrt(at) - 2.0


def test_the_penalty_of_a_prior_is_largest_at_the_least_doubt_for_another_arm() -> None:
    for n in range(2, 40):
        for least in (0.005, 0.02, 0.3, 0.5):
            for e in np.linspace(least, (n - 1) / n, 50) if least <= (n - 1) / n else []:
                assert penalty_of(e, n, own=False) <= penalty_of(least, n, own=False) + 1e-12
                assert penalty_of(e, n, own=True) <= penalty_of(e, n, own=False) + 1e-12
                assert penalty_of(e, n, own=False) <= penalty_of(min(e, n / (n + 1)), n + 1, own=False) + 1e-12


@pytest.mark.parametrize("n", [2, 5, 11, 32])
@pytest.mark.parametrize("D", [15, 49, 50, 1200, 3796])
def test_the_sums_of_lemma_3(n: int, D: int) -> None:
    rates = [4.0 / math.sqrt(D + t) for t in range(1, D + 1)]
    assert rates[0] <= 1.0
    weighed = sum(eta**2 / (1.0 - max(1.0 / (t + 1.0), 0.02)) for t, eta in enumerate(rates, start=1))
    total = 2.0 / rates[0] * penalty_of(min(0.01, (n - 1) / n), n, own=False)
    total += 4.0 * (math.sqrt(n) - 1.0) * (1.0 / rates[-1] - 1.0 / rates[0])
    total += math.sqrt(n) / 2 * math.sqrt(weighed * D / 4) + (n / 2 + 1.0) * sum(eta**2 for eta in rates)
    assert min(D, total) <= bounds.contest(D, n, 0.01) <= min(D, 1.02 * total + 1.0)


def test_what_an_epoch_loses_to_a_champion_that_is_ahead() -> None:
    """The stability that Proposition 4 uses: the loss seen is taken off, and the champion is slot 0."""
    for rng, n, p, eta in instances(6):
        b = float(rng.choice([0.0, 0.5, 1.0]))
        losses = losses_for(rng, n)
        found = 0.0
        for slot, chance in enumerate(p):
            grown = estimates(p, slot, chance, losses[slot], b, eta)
            found += chance * sum(ceiling(g - losses[slot], each, eta) for g, each in zip(grown, p, strict=True))
        others = sum(math.sqrt(each) for each in p[1:])
        assert found <= 2.0 * eta * others + 1e-12
        assert sum(map(math.sqrt, p)) - 1.0 <= others + 1e-12
    for D in (15, 100, 3796):
        rates = [4.0 / math.sqrt(D + t) for t in range(1, D + 1)]
        slower = [4.0 * (1.0 / new - 1.0 / old) for old, new in pairwise(rates)]
        assert all(w <= 0.13 * eta for w, eta in zip(slower, rates[1:], strict=True))
        assert sum((2.13 * eta) ** 2 for eta in rates) <= 51.0


# --- The bounds that policies give ------------------------------------------------------------------------------


def R(n: int, H: int) -> float:
    """Lemma 1 with reduced variance, read from the page."""
    if n == 1:
        return 0.0
    log = 10 * n / 3 * (1 + math.log(3 * H / (40 * n))) if 40 * n / 3 <= H else H / 4
    return min(H, (2 * n**0.5 - 1) * H**0.5 + log + (8 / 3) * math.log(math.e * n))


def beta(n: int, D: int, e: float) -> float:
    """Lemma 3, read from the page."""
    e = min(e, 1 - 1 / n)
    prior = 0.5 * (D + 1) ** 0.5 * ((1 - e) ** 0.5 + ((n - 1) * e) ** 0.5 + ((n - 1) / e) ** 0.5 - 2)
    rest = (n**0.5 - 1) * ((2 * D) ** 0.5 - (D + 1) ** 0.5)
    noise = 0.25 * (n * D * (16 * math.log(2) / 0.98 + 72 / (D + 1))) ** 0.5 + 16 * math.log(2) * (n / 2 + 1)
    return min(D, prior + rest + noise) if D >= 15 else D


def least(N: int, D: int) -> float:
    return min(0.5, max(0.005, N / (1 + 4 / 3 * math.sqrt(D)) ** 2))


def test_the_champion_s_bound_is_the_theorem_s() -> None:
    T = 10**7
    for switches in (None, 9):
        policy = hlmc.Champion(100, memory=20, horizon=T, switches=switches)
        S, D = policy.plan.epochs
        assert math.ceil(T / D) == S
        challenged = math.floor(4 * math.sqrt(S))
        assert policy.bound() == pytest.approx(D * (R(10, S) + challenged) + S * beta(11, D, least(10, D)))
    deep = hlmc.Champion(100, memory=14, horizon=T)
    (S1, S2, D), (l1, l2, _) = deep.plan.epochs, deep.plan.lengths
    N1, N2, N3 = deep.plan.groups
    lowest = l2 * (R(N2, S2) + min(S2, math.floor(4 * math.sqrt(S2)))) + S2 * beta(N3 + 1, D, least(N3, D))
    assert deep.bound() == pytest.approx(l1 * R(N1, S1) + S1 * lowest)
    flat = hlmc.Champion(100, memory=100, horizon=T)
    assert flat.bound() == pytest.approx(beta(100, T, 0.5))


def test_with_an_unknown_horizon_stages_are_added() -> None:
    policy = hlmc.Champion(16)
    total, reached, stage = 0.0, 0, 1
    while reached < 10**6:
        total += min(stage, hlmc.Champion(16, horizon=stage).bound())  # type: ignore[type-var]
        reached, stage = reached + stage, 2 * stage
    assert policy.bound(10**6) == pytest.approx(total)
    assert "stages" in policy.guarantee.proved
    assert policy.guarantee.adversarial


def test_the_bounds_at_ten_million_steps() -> None:
    """What docs/champion.md says about who has the smaller bound."""
    T = 10**7
    champion = hlmc.Champion(100, memory=20, horizon=T)
    crowned = hlmc.CrownedHLMC(100, memory=20, horizon=T)
    reduced = hlmc.CrownedHLMC(100, memory=20, horizon=T, estimator="reduced-variance")
    shares = [policy.bound() / T for policy in (champion, crowned, reduced)]  # type: ignore[operator]
    assert [round(share, 3) for share in shares] == [0.672, 0.351, 0.292]
    assert champion.bound() < hlmc.HLMC(100, memory=20, horizon=T).bound()  # type: ignore[operator]
    for policy in (champion, crowned, reduced):
        assert "docs/champion.md" in policy.guarantee.source


# --- The policy -----------------------------------------------------------------------------------------------


def run_of(policy: hlmc.Champion, stage: int) -> int:
    """Steps between two restarts of the lowest group level in a stage of so many steps."""
    return math.prod(policy.epochs_used(stage)[-2:]) if len(policy.groups_used) > 2 else stage


@pytest.mark.parametrize(
    ("policy", "T"),
    [
        (hlmc.Champion(9, horizon=3000, switches=60), 3000),
        (hlmc.Champion(27, memory=9, horizon=20_000, switches=400), 2000),
        (hlmc.Champion(9, switches=30), 2100),
        (hlmc.Champion(27, memory=9, switches=400), 2100),
        (hlmc.Champion(5, memory=5), 300),
    ],
    ids=repr,
)
def test_there_are_never_more_challenges_than_the_cap_allows(policy: hlmc.Champion, T: int) -> None:
    """Every epoch is made to follow a crisis, so that a challenge is declined only for the cap."""
    learner = policy.start(seed=1)
    row = learner._row
    length = policy.horizon or 1
    began, run = 0, run_of(policy, length)
    declined = 0
    for t in range(T):
        if t == began + length:
            began, length = t, 2 * length
            run = run_of(policy, length)
        row[CRISIS] = 1.0
        learner.select()
        if row[BEGAN] == t:
            if (t - began) % run == 0:
                epochs = challenges = 0
            epochs += 1
            challenges += int(row[CHALLENGE] > 0.0)
            assert row[TURN] == challenges <= 4 * math.sqrt(epochs)
            if t > began:  # a crisis does not outlive a stage
                assert (row[CHALLENGE] > 0.0) == (challenges + (row[CHALLENGE] == 0.0) <= 4 * math.sqrt(epochs))
                declined += row[CHALLENGE] == 0.0
        learner.update(0.5)
    # Where runs are longer than 16 epochs, the cap is met.
    assert declined > 0 or len(policy.groups_used) == 1 or policy.epochs_used(length)[-2] <= 17


@pytest.mark.slow
@pytest.mark.statistical
def test_regret_stays_below_the_bound() -> None:
    """Where the bound is a small part of the horizon: few arms, one level and two."""
    T = 10**5
    policies = {"one": hlmc.Champion(10, memory=10, horizon=T), "two": hlmc.Champion(4, horizon=10 * T)}
    for name, policy in policies.items():
        bound = policy.bound()
        assert bound is not None
        horizon = policy.horizon or 0
        assert bound < (0.02 if name == "one" else 0.7) * horizon
        gap = 2.0 * math.sqrt(policy.arms / horizon)
        for faced in (
            hlmc.adversaries.OneGoodArm(policy.arms, high=0.5 + gap),
            hlmc.adversaries.Alternating(policy.arms, memory=max(2, policy.arms // 2)),
        ):
            regret = hlmc.simulate(policy, faced, horizon, runs=4, seed=9, progress=False).regret()[..., -1]
            assert float(regret.mean()) < bound
