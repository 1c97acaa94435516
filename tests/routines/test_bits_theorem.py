"""The theorems of research/bits.md: what roundings cost in states that learners reach, and the bounds on the page."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

import hlmc
from hlmc import bounds
from hlmc.engine import codes
from hlmc.engine.coded_ftrl import SELDOM
from hlmc.engine.layout import AT, BEGAN, CONTROL, COUNT, FIELDS, SCALARS
from hlmc.engine.structures.champion import AFTER_CRISIS, CHALLENGE, DOUBT
from hlmc.routines.exp3 import GAMMA, RATE
from hlmc.routines.exp3_loss import ETA
from reference_codes import Level, grid, neighbours, rate_and_scale, unpacked
from reference_losses import KEPT, tsallis, weights

# --- Tsallis-INF ----------------------------------------------------------------------------------------------


def phi(v: float, w: float, eta: float) -> float:
    """The stability term of one slot of weight w, (1) in docs/research/champion.md."""
    return eta / 2 * v * v * w**1.5 / (1 + eta * v * math.sqrt(w) / 2)


def rounding_cost(v: float, value: float, bits: int, s: float, w: float, eta: float) -> float:
    """What rounding ``value`` to codes of scale s adds to the expected phi(v), and what is cut off, times w.

    The frame must be what the proof says.
    """
    D = value + s - 2 / (eta * math.sqrt(w)) - v
    assert 0.65 * s * (1 + 1e-9) >= D
    assert 0.58 * (value + s) * (1 + 1e-9) >= D
    k, above, share = neighbours(value, bits, s)
    low, high = grid(k, bits, s) - value + v, grid(above, bits, s) - value + v
    expected = (1 - share) * phi(low, w, eta) + share * phi(high, w, eta) - phi(v, w, eta)
    return expected + w * max(0.0, value - grid(2**bits - 1, bits, s))


def tolerance(eta: float) -> float:
    """How far from 1 the sum of the weights may be that are drawn from."""
    return min(0.1 * eta * eta, 0.05)


def step_cost(
    before: list[float],
    w: list[float],
    bits: int,
    s: float,
    grown: float,
    eta: float,
    base: float,
    off: float = 0.0,
) -> tuple[float, float]:
    """What the roundings of one step add to the stability term, expected over the slot played, its loss (the worse of
    0 and 1), the lowering and the roundings; and the same if only a rounding of all slots a second time is counted.

    ``w`` are the weights whose parts are the probabilities. ``off`` is added to the movement of all slots where all are
    lowered alike.
    """
    n, p = len(before), [each / math.fsum(w) for each in w]
    batch = max(1.0, 1.0 / (SELDOM * eta * eta))
    total = second = 0.0
    for i in range(n):
        worst = (0.0, 0.0)
        for loss in (0.0, 1.0):
            first = again = 0.0
            for dropped, chance in ((False, 1 - 1 / batch), (True, 1 / batch)):
                lowered = [batch * base if dropped and w[j] < eta * eta else 0.0 for j in range(n)]
                values = [A - low for A, low in zip(before, lowered, strict=True)]
                values[i] += (loss - (base if w[i] >= eta * eta else 0.0)) / p[i]
                if any(lowered) or values[i] < 0 or grown != s:
                    shift = codes.GUARD * grown - min(values)
                    more = off if dropped else 0.0
                    first += chance * sum(
                        rounding_cost(value - A + more, value + shift, bits, grown, each, eta)
                        for value, A, each in zip(values, before, w, strict=True)
                    )
                    continue
                first += chance * rounding_cost(values[i] - before[i], values[i], bits, s, w[i], eta)
                k, above, share = neighbours(values[i], bits, s)
                for code, part in ((k, 1 - share), (above, share)):
                    after = [*before[:i], grid(code, bits, s), *before[i + 1 :]]
                    if part > 0 and min(after) > 2 * codes.GUARD * s:
                        shift = codes.GUARD * s - min(after)
                        again += (chance * part) * sum(
                            rounding_cost(X - A, X + shift, bits, s, each, eta)
                            for X, A, each in zip(after, before, w, strict=True)
                        )
            worst = max(worst, (first + again, again))
        total += p[i] * worst[0]
        second += p[i] * worst[1]
    return total, second


def test_a_rounding_costs_the_same_at_every_code() -> None:
    """The identity behind the grid, and its bound for frames that are off by D."""
    rng = np.random.default_rng(11)
    for _ in range(4000):
        bits = int(rng.integers(6, 11))
        M, s = 2**bits, float(rng.uniform(0.5, 4.0))
        k = int(rng.choice([0, M // 2, M - 5, M - 2, int(rng.integers(0, M - 1))]))
        low, high = grid(k, bits, s) + s, grid(k + 1, bits, s) + s
        t = math.sqrt(low * high) if rng.random() < 0.3 else float(rng.uniform(low, high))
        exact = (t - low) * (high - t) / (t * low * high)
        assert exact <= 1 / (s * M * M) * (1 + 1e-6)
        eta = float(rng.uniform(1.0, 2.0)) / s  # 1 / eta <= s <= 2 / eta
        D = min(0.65 * s, 0.58 * t) * float(rng.choice([1.0, rng.random(), -rng.random()]))
        Y, y = t - D, float(rng.uniform(1.95 / eta, 100 / eta))
        added = rounding_cost(Y - y, t - s, bits, s, 4 / (eta * y) ** 2, eta)
        told = 4 / eta**2 * (t - low) * (high - t) / (Y * (low - D) * (high - D))
        assert added == pytest.approx(told, rel=1e-4, abs=1e-9)
        assert told <= 64 / (eta**2 * s * M**2)


@pytest.mark.parametrize("kind", ["reduced-variance", "importance-weighted", "contest"])
def test_roundings_of_random_states_cost_no_more_than_the_theorems_say(kind: str) -> None:
    """At most 64 (n + 1) / (eta^2 s M^2), in states of all kinds: slots far, near, at the last codes, all alike; with
    weights that sum to 1, or to as much or as little as is drawn from.
    """
    rng = np.random.default_rng(12)
    worst = most = 0.0
    for _ in range(250):
        bits, n = int(rng.choice([6, 7, 8])), int(rng.choice([2, 3, 5, 12]))
        off = 0.0
        if kind == "contest":
            eta = float(rng.choice([1.0, 0.5, 0.25, 0.24, 0.1, 0.03]))
            s = 2 / eta / float(rng.choice([1.0, 1.2, math.sqrt(2)]))
            grown, base = s, float(rng.choice([0.0, 0.5, 1.0, rng.random()]))
        else:
            rate, base = (4.0, 0.5) if kind == "reduced-variance" else (2.0, 0.0)
            tau = int(rng.choice([0, 2, 13, 14, 15, 59, 62, 250, 254, 1000, 4094]))
            (eta, s), (_, grown) = rate_and_scale(tau, rate), rate_and_scale(tau + 1, rate)
            off = base if eta >= 1 else 0.0
        first = {0: 0, 1: 0, 2: 2**bits - 6, 3: 0}[style := int(rng.integers(4))]
        held = rng.integers(first, [2**bits, 2**bits // 6, 2**bits, 2**bits // 2][style], n)
        held[0] = rng.integers(0, 1 + next(k for k in range(2**bits) if grid(k + 1, bits, s) > 0.25 * s))
        W = 1.0 + tolerance(eta) * float(rng.choice([-1.0, 0.0, 1.0]))
        before = [grid(int(k), bits, s) for k in held]
        w = [W * each for each in tsallis(before, eta * math.sqrt(W))]
        cost, second = step_cost(before, w, bits, s, grown, eta, base, off)
        allowed = 64 * (n + 1) / (eta**2 * min(s, grown) * 4**bits)
        worst, most = max(worst, cost / allowed), max(most, second)
    assert 0.001 < worst <= 1
    assert most > 0  # some were rounded twice


def reached(policy: hlmc.Policy, steps: int, share: float) -> Iterator[tuple[int, hlmc.Learner]]:
    """A share of the states of a learner against random means, between selecting and learning, and when that is."""
    rng = np.random.default_rng(policy.bits * policy.arms)
    means = rng.random(policy.arms)
    learner = policy.start(seed=2)
    for tau in range(steps):
        arm = learner.select()
        if tau > 16 and rng.random() < share:
            yield tau, learner
        learner.update(float(rng.random() < means[arm]))


@pytest.mark.parametrize(("bits", "arms"), [(6, 2), (6, 20), (8, 5), (8, 40), (10, 8)])
@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
def test_rounding_costs_no_more_than_the_theorem_says(bits: int, arms: int, estimator: str) -> None:
    """In states that a learner reaches; and the least distance is at most a quarter of the scale."""
    policy = hlmc.TsallisINF(arms=arms, bits=bits, estimator=estimator)
    rate, base = (4.0, 0.5) if estimator == "reduced-variance" else (2.0, 0.0)
    worst = 0.0
    for tau, learner in reached(policy, 6000, 0.005):
        (eta, s), (_, grown) = rate_and_scale(tau, rate), rate_and_scale(tau + 1, rate)
        before = [grid(k, bits, s) for k in Level(policy, learner).codes()]
        assert 0 <= min(before) <= 0.25 * s
        KEPT[:] = [Level(policy, learner).x - before[0]]
        cost, _ = step_cost(before, weights(before, eta), bits, s, grown, eta, base)
        worst = max(worst, cost * eta * 4**bits / (64 * (arms + 1)))
    assert 0 < worst <= 1


@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
def test_regret_on_the_codes_is_stability_and_penalty(estimator: str) -> None:
    """(2) of research/champion.md before expectations are taken, along a run: what is stored in place of the estimates,
    draws that are off, bases and scales that move. The constant is the one at which the stability is least.
    """
    bits, arms = 8, 5
    policy = hlmc.TsallisINF(arms=arms, bits=bits, estimator=estimator)
    rate = 4.0 if estimator == "reduced-variance" else 2.0
    rng = np.random.default_rng(7)
    learner = policy.start(seed=3)
    left, right = np.zeros(arms), 0.0
    last, drawn_off, moved, widest = 0.0, 0, 0, math.inf
    for tau in range(1500):
        arm = learner.select()
        level = Level(policy, learner)
        (eta, s), (_, grown) = rate_and_scale(tau, rate), rate_and_scale(tau + 1, rate)
        before = np.array([grid(k, bits, s) for k in level.codes()])
        KEPT[:] = [level.x - before[0]]
        w = np.array(weights(before.tolist(), eta))
        W = float(w.sum())
        assert learner.probability == pytest.approx(w[arm] / W, rel=1e-9)
        assert abs(W - 1) <= (tolerance(eta) + 1e-9 if tau else 1e-9)
        drawn_off += abs(W - 1) > 1e-6
        distances = 2 / (eta * np.sqrt(w))
        gamma = 2 / eta * (1 - math.sqrt(W)) ** 2 / W * float(np.sqrt(w).sum())
        right += gamma + 4 * (1 / eta - last) * (float(np.sqrt(w / W).sum()) - 1)
        last = 1 / eta
        learner.update(float(rng.random() < 0.2 + 0.15 * arm))
        after = np.array([grid(k, bits, grown) for k in Level(policy, learner).codes()])
        stored = after - before
        moved += grown != s or np.count_nonzero(stored) > 1
        # The x at which the new losses have weights that sum to 1 at this rate.
        KEPT.clear()
        root = after[0] - 2 / (eta * math.sqrt(tsallis(after.tolist(), eta)[0]))
        c = float(root - (before[0] - distances[0]))
        v = stored - c
        assert (distances + v > 0).all()
        left += float(w @ stored) - stored
        right += float((w * v * v / (distances + v)).sum()) - c * (1 - W)
        widest = min(widest, right - float(left.max()))
        assert widest >= -1e-6
    assert drawn_off > 300
    assert moved > 20


def test_the_bound_says_what_the_page_says() -> None:
    H, n = 10**6, 100
    for bits in (12, 16, 20, 24, 32):
        plain = 2 * math.sqrt(n * H) - math.sqrt(H) + 10 / 3 * n * (1 + math.log(3 * H / (40 * n)))
        plain += 0.8 * math.log(H) + 1.2 * math.log(n) + 0.3 * math.sqrt(n)
        more = 43 / 4 * (n + 1) * (H + 1) ** 1.5 / 4**bits + n / 7 * (1 + math.log(1 + H / (16 * n)))
        assert bounds.tsallis_coded(H, n, bits) == pytest.approx(min(H, plain + more))
        assert hlmc.TsallisINF(arms=n, bits=bits).bound(H) == bounds.tsallis_coded(H, n, bits)
    assert bounds.tsallis_coded(H, n, 5) == H
    assert bounds.tsallis_coded(H, n, 30, reduced=False) == pytest.approx(bounds.tsallis_iw_sharp(H, n), rel=1e-6)
    assert hlmc.TsallisINF(arms=n, bits=16).guarantee.source == "the theorem of docs/research/bits.md"
    levels = hlmc.HLMC(arms=100, groups=(10, 10), horizon=10**6, epochs=(1000, 1000), routines="tsallis-inf", bits=14)
    assert levels.bound() == pytest.approx(2 * 1000 * bounds.tsallis_coded(1000, 10, 14))


# --- Exponential weights --------------------------------------------------------------------------------------


def weights_cost(values: dict[int, float], others: list[float], bits: int, s: float) -> float:
    """What rounding ``values`` adds to the expected sum of the weights exp(-2 A / s), as a part of that sum."""
    total = sum(math.exp(-2 * A / s) for A in (*values.values(), *others))
    more = 0.0
    for value in values.values():
        k, above, share = neighbours(value, bits, s)
        low, high = (math.exp(-2 * grid(j, bits, s) / s) for j in (k, above))
        more += (1 - share) * low + share * high - math.exp(-2 * value / s)
    return more / total


@pytest.mark.parametrize(("bits", "arms"), [(6, 2), (6, 20), (8, 5), (10, 40)])
@pytest.mark.parametrize("cls", [hlmc.EXP3, hlmc.EXP3Loss])
def test_rounding_of_weights_costs_no_more_than_the_second_theorem_says(cls: type, bits: int, arms: int) -> None:
    """In states that a learner reaches: the expectation over the roundings of the slot played and of a new base.

    The theorem allows 61 / 4^b for each slot that is rounded; and the least distance is at most a quarter of the scale.
    """
    policy = cls(arms=arms, horizon=5000, bits=bits)
    rate = float(policy.program[FIELDS + (RATE if cls is hlmc.EXP3 else ETA)])
    assert rate * arms <= 1
    s = 2 / rate
    worst = 0.0
    for _, learner in reached(policy, 5000, 0.01):
        before = [grid(k, bits, s) for k in Level(policy, learner).codes()]
        assert 0 <= min(before) <= 0.25 * s
        shares = np.exp([-rate * (A - min(before)) for A in before])
        p = shares / shares.sum()
        if cls is hlmc.EXP3:
            gamma = float(policy.program[FIELDS + GAMMA])
            p = (1 - gamma) * p + gamma / arms
        for i in range(arms):
            value = before[i] + (-1 if cls is hlmc.EXP3 else 1) / p[i]
            rest = {j: before[j] for j in range(arms) if j != i}
            if value < 0:
                shift = codes.GUARD * s - value
                moved = {j: A + shift for j, A in (rest | {i: value}).items()}
                cost, rounded = weights_cost(moved, [], bits, s), arms
            else:
                cost, rounded = weights_cost({i: value}, list(rest.values()), bits, s), 1
                for k in set(neighbours(value, bits, s)[:2]):
                    after = [*rest.values(), grid(k, bits, s)]
                    if min(after) > 0.25 * s:
                        shift = codes.GUARD * s - min(after)
                        moved = dict(enumerate(A + shift for A in after))
                        worst = max(worst, weights_cost(moved, [], bits, s) * 4**bits / (61 * arms))
            worst = max(worst, cost * 4**bits / (61 * rounded))
    assert 0 < worst <= 1


def test_the_expected_regret_of_exp3_ix() -> None:
    """What its proof uses of one step: the loss seen, and the square of the estimates."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        n = int(rng.integers(2, 9))
        eta, losses = float(rng.uniform(0.001, 1 / n)), rng.random(n)
        p = rng.dirichlet(np.full(n, 0.5)) + 1e-12
        grown = losses / (p + eta / 2)  # of the slot played
        assert p * grown + eta / 2 * grown == pytest.approx(losses)
        assert (p * grown**2 <= grown + 1e-12).all()
        assert (p * grown <= losses).all()  # its mean


def test_the_second_bound_says_what_the_page_says() -> None:
    H, n = 10**6, 100
    for bits in (14, 16, 20):
        eta = math.sqrt(2 * math.log(n) / (n * H))
        policy = hlmc.EXP3Loss(arms=n, horizon=H, bits=bits)
        assert policy.bound() == pytest.approx(math.sqrt(2 * H * n * math.log(n)) + 61 * (n + 1) * H / eta / 4**bits)
        gamma = math.sqrt(n * math.log(n) / (2 * H))
        more = 61 * n * (n + 1) * H / gamma / 4**bits
        plain = (math.e - 1) * gamma * H + n * math.log(n) / gamma
        assert hlmc.EXP3(arms=n, horizon=H, bits=bits).bound() == pytest.approx(plain + more)
    assert bounds.exp3_coded(H, n, 0.01, 5) == bounds.exp3_loss_coded(H, n, 0.001, 5) == H
    assert bounds.exp3_loss_coded(H, n, 0.02, 20) == H  # the rate is above 1 / n
    assert hlmc.EXP3(arms=n, horizon=H, bits=16).guarantee.source == "the second theorem of docs/research/bits.md"
    levels = hlmc.HLMC(arms=100, groups=(10, 10), horizon=10**6, bits=16)
    assert levels.bound() == pytest.approx(
        sum(10**6 / level.context.choices * level.routine.regret(level.context) for level in levels.levels_at(10**6))
    )
    policy = hlmc.EXP3IX(arms=n, horizon=H, bits=16)
    eta = math.sqrt(2 * math.log(n + 1) / (n * H))
    assert policy.bound() == pytest.approx(math.log(n) / eta + eta * n * H + 61 * (n + 1) * H / eta / 4**16)
    assert policy.bound() == pytest.approx(50_260, abs=1)
    assert policy.guarantee.source == "the second theorem of docs/research/bits.md"
    assert "probability" not in policy.guarantee.proved
    assert bounds.exp3_ix_coded(H, n, 0.02, 20) == bounds.exp3_ix_coded(H, n, 0.001, 5) == H


# --- The champion ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [6, 9])
def test_the_epochs_of_a_champion_are_what_the_third_theorem_says(bits: int) -> None:
    """Rates, scales, priors, least distances, roundings and the baseline, in states that a learner reaches."""
    policy = hlmc.Champion(arms=20, horizon=4000, bits=bits)
    assert len(policy.groups_used) == 2
    epoch = policy.plan.epochs[-1]
    assert epoch >= 15
    record = 2 * FIELDS
    at, control = int(policy.program[record + AT]), int(policy.program[record + CONTROL])
    rng = np.random.default_rng(bits)
    learner = policy.start(seed=4)
    s = 0.5 * math.sqrt(epoch + 1)
    worst, base, checked = 0.0, 0.5, 0
    for t in range(4000):
        arm = learner.select()
        row = learner.state
        tau, n = t - int(row[BEGAN]), int(row[COUNT])
        eta = 4 / math.sqrt(epoch + tau + 1)
        assert math.sqrt(2) / eta <= s * (1 + 1e-9)
        assert s <= 2 / eta * (1 + 1e-9)
        before = [grid(k, bits, s) for k in unpacked(row[at:], bits, n)]
        if tau == 0:
            base = 0.5
            share = row[DOUBT] if row[CHALLENGE] == 0 else 0.5 if row[CHALLENGE] == AFTER_CRISIS else 0.75
            if n > 1 and t > 0:
                KEPT.clear()
                prior = tsallis(before, eta)
                x = before[0] - 2 / (eta * math.sqrt(prior[0]))
                assert row[control + SCALARS] == pytest.approx(x, rel=1e-9)  # W = 1
                assert min(share, (n - 1) / n) - 1e-9 <= sum(prior[1:]) <= (n - 1) / n + 1e-9
                checked += 1
        stored = float(row[control + SCALARS + 1]) % 2**20 / 2**20
        assert abs(stored - base) <= 2**-20 + 1e-12
        if n > 1:
            assert 0 <= min(before) <= 0.25 * s
            if rng.random() < 0.02:
                KEPT[:] = [float(row[control + SCALARS]) - before[0]]
                cost, _ = step_cost(before, weights(before, eta), bits, s, s, eta, stored)
                worst = max(worst, cost * eta**2 * s * 4**bits / (64 * (n + 1)))
        reward = float(rng.random() < 0.1 + 0.04 * arm)
        base = stored + max(1 / (tau + 2), 0.02) * (1 - reward - stored)
        learner.update(reward)
    assert 0 < worst <= 1
    assert checked > 10


def test_a_baseline_in_few_units_pays_little_more_than_a_quarter() -> None:
    """Lemma 2 of docs/research/champion.md with a baseline that is off by up to 2^-20 after every step."""
    for kind in range(3):
        losses = [np.ones(4000), np.arange(4000) // 60 % 2, np.random.default_rng(1).random(4000)][kind]
        b, paid = 0.5, 0.0
        for t, loss in enumerate(losses, start=1):
            alpha = max(1 / (t + 1), 0.02)
            paid += (1 - alpha) * (loss - b) ** 2
            b += alpha * (loss - b)
            b = min(round(b * 2**20), 2**20 - 1) / 2**20
        assert paid <= ((losses - 0.5) ** 2).sum() + 5e-5 * len(losses)


def test_lowering_by_a_moving_baseline_at_random_costs_a_thirty_first() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        eta, b = float(rng.uniform(0.001, 0.25)), float(rng.random())
        m = 1 / (SELDOM * eta * eta)
        w = eta * eta * float(rng.choice([1.0, rng.random()])) * (1 - 1e-12)
        assert phi(-m * b, w, eta) / m <= w * b * b / 31
        assert phi(-m / 2, w, eta) / m <= w / 126
    assert (1 + tolerance(0.25)) / 126 <= 0.008  # the sum of such weights


def test_the_champion_s_bound_with_few_bits() -> None:
    T = 10**7
    policy = hlmc.Champion(100, horizon=T, bits=12)
    assert (policy.groups_used, policy.words.statistics) == ((10, 10), 6)
    S, D = policy.plan.epochs
    least = max(0.005, 10 / (1 + 4 / 3 * math.sqrt(D)) ** 2)
    beta = 1.0001 * bounds.contest(D, 11, least) + 0.36 * 11 + 12 * 12 * (D + 1) ** 1.5 / 4**12
    groups = bounds.tsallis_coded(S, 10, 12) + math.floor(4 * math.sqrt(S))
    assert policy.bound() == pytest.approx(D * groups + S * beta)
    assert policy.guarantee.source == "the third theorem of docs/research/bits.md"
    assert policy.guarantee.adversarial
    shares = [
        [round(hlmc.Champion(100, horizon=H, bits=bits).bound() / H, 3) for bits in (10, 12)]  # type: ignore[operator]
        for H in (T, 10**9)
    ]
    assert shares == [[0.688, 0.674], [0.245, 0.203]]
    few = hlmc.Champion(100, horizon=T, bits=5).bound()
    assert few is not None
    assert few >= T  # vacuous
    assert bounds.contest_coded(100, 5, 0.1, 5) == 100
    told = hlmc.Champion(100, horizon=10**9, switches=2, bits=12)
    assert (told.groups_used, told.words.statistics) == ((1, 10, 10), 6)
    exact = hlmc.Champion(100, horizon=10**9, switches=2).bound()
    assert exact < told.bound() < 1.02 * exact  # type: ignore[operator]
    assert (
        told.guarantee.source == "the third theorem of docs/research/bits.md and Theorem 2 of docs/research/champion.md"
    )
