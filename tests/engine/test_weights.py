"""What the routines draw and learn: exact over any range, by the chances that they state, without bias, never NaN."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlmc
from driving import next_choices, with_key
from hlmc import routines
from hlmc.engine import weights
from hlmc.engine.ftrl import settled_sums
from hlmc.engine.layout import FIELDS, PARAMETERS
from hlmc.engine.records import Level
from hlmc.routines.base import LevelContext, Routine
from hlmc.streams import keys
from reference import EXP3S, Exact, ExactEXP3, ExactLossEXP3, flat

# --- Over any range -----------------------------------------------------------------------------------------


def follow(learner: hlmc.Learner, reference: Any, steps: int, pay: Callable[[int, int], float]) -> float:
    """The largest relative error of the probabilities along the way."""
    worst = 0.0
    for t in range(steps):
        arm = learner.select()
        worst = max(worst, abs(learner.probability / reference.probability(arm) - 1.0))
        reward = pay(t, arm)
        learner.update(reward)
        reference.play(arm, reward)
    return worst


@pytest.mark.parametrize(
    ("arms", "gamma", "steps"),
    [
        (2, 0.5, 100_000),  # the first arm's weight reaches e^25000, then the second's passes it
        (2, 0.999999, 20_000),
        (5, 0.9, 20_000),
        (3, 1e-3, 20_000),
        (3, 1e-9, 2_000),
        (512, 0.9, 20_000),
        (600, 0.9, 20_000),  # in the tree
        (600, 0.999, 20_000),
        (5000, 1e-6, 2_000),
    ],
)
def test_exp3_follows_when_another_arm_begins_to_pay(arms: int, gamma: float, steps: int) -> None:
    learner = hlmc.EXP3(arms, steps, gamma).start(seed=1)
    worst = follow(
        learner,
        ExactEXP3(arms, gamma),
        steps,
        lambda t, arm: 1.0 if arm == (0 if 2 * t < steps else 1) else 0.0,
    )
    assert worst < 1e-9
    assert np.isfinite(learner.state[1:]).all()


@pytest.mark.parametrize(("arms", "eta", "steps"), [(2, 0.4, 20_000), (5, 2.0, 4_000), (520, 3.0, 500)])
@pytest.mark.parametrize("implicit", [False, True])
def test_exp3_on_losses_follows_too(arms: int, eta: float, steps: int, implicit: bool) -> None:
    routine = (routines.EXP3IX if implicit else routines.EXP3Loss)(eta=eta)
    learner = hlmc.HLMC(arms, levels=1, horizon=steps, routines=routine).start(seed=1)
    worst = follow(
        learner,
        ExactLossEXP3(arms, eta, eta / 2 if implicit else 0.0),
        steps,
        lambda t, arm: 1.0 if arm == (0 if 2 * t < steps else 1) else 0.25,
    )
    assert worst < 1e-9
    assert np.isfinite(learner.state[1:]).all()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("arms", "gamma", "alpha", "steps"), [(2, 0.9, 1e-6, 1500), (3, 0.5, 0.5, 600), (513, 0.5, 0.5, 420)]
)
def test_exp3s_grows_past_the_range_of_a_float(arms: int, gamma: float, alpha: float, steps: int) -> None:
    """The weights pass 2^500 on the way, where they are scaled down."""
    learner = hlmc.EXP3S(arms, steps, gamma=gamma, alpha=alpha).start(seed=1)
    reference = flat(arms, steps, lambda n: EXP3S(n, gamma, alpha))
    assert follow(learner, reference, steps, lambda t, arm: float(arm == 0)) < 1e-9


@pytest.mark.parametrize("arms", [3, 600])
def test_exp3s_turns_to_another_payer_however_long_the_first_has_paid(arms: int) -> None:
    """The share keeps every weight within reach of the largest; EXP3 would need as long again."""
    learner = hlmc.EXP3S(arms, 60_000, gamma=0.5, alpha=1e-5).start(seed=1)
    late = 0
    for t in range(60_000):
        arm = learner.select()
        late += t >= 59_000 and arm == 1
        learner.update(1.0 if arm == (0 if t < 30_000 else 1) else 0.0)
    assert late > 400
    assert np.isfinite(learner.state[1:]).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [2, 3, 9, 100, 513])
@pytest.mark.parametrize(
    "changes",
    [
        (-0.3,),  # every weight shrinks, for ever
        (0.3,),
        (1.0, -0.5),
        (-1000.0, 300.0),
        (1e-9, -1e-12),
        (-1e5, 0.7, 300.0),
        (1e-300, 0.0, 30.0, -30.0),
    ],
)
def test_a_store_keeps_any_weights(n: int, changes: tuple[float, ...]) -> None:
    """Weights multiplied by exp(x), again and again, against sums of x that are exact."""
    rng = np.random.default_rng(n)
    row, logs = np.zeros(n), [Exact() for _ in range(n)]
    total = weights.weights_start(row, 0, n)
    for step in range(1200):
        slot = int(rng.integers(min(n, 7))) if step % 2 else int(rng.integers(n))
        x = float(rng.choice(changes)) * (1.0 if rng.random() < 0.5 else float(rng.random()))
        total = weights.weights_multiply(row, 0, n, total, slot, x)
        logs[slot].add(x)
        if step % 100 == 99:
            top = max(logs, key=lambda s: s.units)
            exact = np.array([math.exp(s.over(top)) for s in logs])
            found = np.array([weights.weights_share(row, 0, n, total, j) for j in range(n)])
            assert np.abs(found - exact / exact.sum()).max() < 1e-10
            assert found == pytest.approx(exact / exact.sum(), rel=1e-8, abs=1e-200)
    assert np.isfinite(row).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [2, 7, 8, 9, 16])
def test_a_draw_past_the_sum_by_rounding_gives_a_weight_that_counts(n: int) -> None:
    row = np.zeros(n)
    total = weights.weights_start(row, 0, n)
    total = weights.weights_multiply(row, 0, n, total, n - 1, -5000.0)
    assert weights.weights_draw(row, 0, n, total * (1.0 + 1e-15), 1.0 - 2.0**-53) == n - 2
    assert weights.weights_draw(row, 0, n, total, 0.0) == 0


# --- By the chances that are stated -------------------------------------------------------------------------


class Bench:
    """One routine on a bench: its functions, run by the interpreter over words of its own."""

    def __init__(self, routine: Routine, n: int, nominal: int | None = None, choices: int = 50) -> None:
        context = LevelContext(arms=n, horizon=choices, children=nominal or n, choices=choices)
        self.kernels, self.n, self.tau = routine.kernels, n, 0
        self.program = np.zeros(FIELDS)
        values = routine.packed(context)
        self.program[PARAMETERS : PARAMETERS + len(values)] = values
        self.row = np.zeros(routine.words(n))
        self.level = Level(self.program, 0, self.row, 0, n)
        self.scalars = self.kernels.start(self.level)

    def select(self, u: float) -> tuple[int, float]:
        with np.errstate(over="ignore"):
            return self.kernels.select(self.level, *self.scalars, self.tau, u)

    def update(self, slot: int, chance: float, reward: float) -> None:
        self.scalars = self.kernels.update(self.level, *self.scalars, self.tau, slot, chance, reward)
        self.tau += 1

    def chances(self, grid: int) -> tuple[dict[int, float], dict[int, float]]:
        """The probability stated for every slot, and the share of the numbers u in [0, 1) that draw it."""
        stated: dict[int, float] = {}
        drawn: dict[int, float] = {}
        for u in (np.arange(grid) + 0.5) / grid:
            slot, chance = self.select(float(u))
            assert stated.setdefault(slot, chance) == chance
            drawn[slot] = drawn.get(slot, 0.0) + 1.0 / grid
        return stated, drawn


BENCHED = [
    routines.EXP3(),
    routines.EXP3(gamma=1.0),
    routines.EXP3(gamma=1e-3),
    routines.EXP3P(),
    routines.EXP3S(),
    routines.EXP3S(gamma=0.05, alpha=0.5),
    routines.EXP3Loss(),
    routines.EXP3IX(),
    routines.TsallisINF(),
    routines.TsallisINF(estimator="importance-weighted"),
    routines.UCB1(),
    routines.UCB1(ties="first"),
    routines.Uniform(),
]


@pytest.mark.parametrize("routine", BENCHED, ids=repr)
@pytest.mark.parametrize(("n", "nominal"), [(2, 2), (3, 5), (9, 9), (17, 20)])
def test_slots_are_drawn_with_the_probability_that_is_stated(routine: Routine, n: int, nominal: int) -> None:
    check_draws(Bench(routine, n, nominal), grid=1000)


@pytest.mark.parametrize("routine", [r for r in BENCHED if r.name.startswith("exp3")], ids=repr)
def test_so_are_those_of_a_tree(routine: Routine) -> None:
    check_draws(Bench(routine, 520), grid=1500)


def check_draws(bench: Bench, grid: int) -> None:
    n = bench.n
    rng = np.random.default_rng(n)
    for _ in range(3):
        stated, drawn = bench.chances(grid)
        for slot, chance in stated.items():
            assert 0.0 < chance <= 1.0
            # A slot's share of [0, 1) is an interval or two, each cut by the grid to within a cell.
            assert abs(drawn[slot] - chance) <= 2.0 / grid + 1e-12
        missing = n - len(stated)
        assert 1.0 - 2.0 * missing / grid <= math.fsum(stated.values()) + 1e-9
        assert math.fsum(stated.values()) <= 1.0 + 1e-9
        for _ in range(min(n, 20)):
            bench.update(*bench.select(float(rng.random())), float(rng.integers(2)))


@pytest.mark.parametrize("u", [0.0, 5e-324, 1e-17, 0.5, 1.0 - 2.0**-53])
@pytest.mark.parametrize("routine", BENCHED, ids=repr)
def test_the_ends_of_the_unit_interval_draw_a_slot(routine: Routine, u: float) -> None:
    for n in (2, 7, 8, 513):
        bench = Bench(routine, n)
        for _ in range(4):
            slot, chance = bench.select(u)
            assert 0 <= slot < n
            assert 0.0 < chance <= 1.0
            bench.update(slot, chance, 1.0)


# --- Without bias -------------------------------------------------------------------------------------------


def vector(bench: Bench) -> np.ndarray:
    stated, _ = bench.chances(400)
    assert len(stated) == bench.n
    return np.array([stated[slot] for slot in range(bench.n)])


def expected_change(routine: Routine, potential: Callable[[Bench], np.ndarray], pay: np.ndarray) -> np.ndarray:
    """How a potential changes in a step, on average over the slot that is played, after some steps of training."""
    trained = [(0.1, 1.0), (0.4, 0.0), (0.9, 0.5), (0.6, 1.0)]

    def bench() -> Bench:
        fresh = Bench(routine, len(pay), choices=200)
        for u, reward in trained:
            slot, chance = fresh.select(u)
            fresh.update(slot, chance, reward)
        return fresh

    before = bench()
    p, start = vector(before), potential(before)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    change = np.zeros(len(pay))
    for slot in range(len(pay)):
        after = bench()
        after.update(slot, p[slot], pay[slot])
        change += p[slot] * (potential(after) - start)
    return change


PAY = np.array([0.3, 1.0, 0.0, 0.7])


def test_exp3_estimates_are_unbiased() -> None:
    gamma = 0.3

    def logs(bench: Bench) -> np.ndarray:
        shares = (vector(bench) - gamma / 4) / (1.0 - gamma)
        return np.log(shares / shares[0])

    change = expected_change(routines.EXP3(gamma=gamma), logs, PAY)
    assert change / (gamma / 4) == pytest.approx(PAY - PAY[0], abs=1e-9)


def test_exp3p_estimates_are_the_reward_and_the_confidence_term() -> None:
    eta, gamma, beta = 0.05, 0.3, 0.1
    routine = routines.EXP3P(eta=eta, gamma=gamma, beta=beta)
    found = {}

    def logs(bench: Bench) -> np.ndarray:
        p = vector(bench)
        found.setdefault("p", p)
        shares = (p - gamma / 4) / (1.0 - gamma)
        return np.log(shares / shares[0])

    change = expected_change(routine, logs, PAY) / eta
    raised = PAY + beta / found["p"]
    assert change == pytest.approx(raised - raised[0], abs=1e-9)


def test_exp3_loss_estimates_are_unbiased() -> None:
    eta = 0.1
    change = expected_change(routines.EXP3Loss(eta=eta), lambda bench: np.log(vector(bench) / vector(bench)[0]), PAY)
    assert change / eta == pytest.approx(PAY - PAY[0], abs=1e-9)


@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
def test_tsallis_estimates_are_unbiased(estimator: str) -> None:
    def losses(bench: Bench) -> np.ndarray:
        eta = (4.0 if estimator == "reduced-variance" else 2.0) / math.sqrt(bench.tau + 1)
        _, squares, _, _ = settled_sums(bench.row, 0, bench.n, 2.0 / eta, bench.scalars[0])
        spread = 2.0 / (eta * np.sqrt(squares * vector(bench)))
        return spread - spread[0]

    change = expected_change(routines.TsallisINF(estimator=estimator), losses, PAY)
    assert change == pytest.approx(PAY[0] - PAY, abs=1e-8)


def test_a_group_is_paid_by_the_chance_of_the_group_alone() -> None:
    """Two groups of two arms, epochs of two steps: all paths through one epoch, and what the group level learns."""
    gamma, pay = 0.4, [0.2, 0.9, 0.6, 0.0]
    routine = routines.EXP3(gamma=gamma)
    policy = hlmc.HLMC(4, groups=(2, 2), horizon=20, epochs=(10, 2), routines=(routine, routine))
    trained = policy.start(seed=3)
    for reward in (1.0, 0.5, 0.0, 1.0, 0.25, 0.75):
        trained.select()
        trained.update(reward)
    before = group_logs(trained, gamma)
    paths: dict[tuple[int, int], tuple[float, float]] = {}
    for key in keys(77, 0, 300):
        learner = with_key(trained, key)
        arms, chance = [], 1.0
        for _ in range(2):
            arms.append(learner.select())
            chance *= learner.probability
            learner.update(pay[arms[-1]])
        if tuple(arms) not in paths:
            paths[tuple(arms)] = chance, group_logs(learner, gamma) - before
    assert len(paths) == 8
    assert math.fsum(chance for chance, _ in paths.values()) == pytest.approx(1.0, abs=1e-12)
    chosen = [math.fsum(chance for path, (chance, _) in paths.items() if path[0] // 2 == group) for group in (0, 1)]
    mean = [
        math.fsum(c * (pay[a] + pay[b]) / 2 for (a, b), (c, _) in paths.items() if a // 2 == group) / chosen[group]
        for group in (0, 1)
    ]
    learned = math.fsum(chance * change for chance, change in paths.values()) / (gamma / 2)
    assert learned == pytest.approx(mean[1] - mean[0], abs=1e-9)


def group_logs(learner: hlmc.Learner, gamma: float) -> float:
    """log w_2 - log w_1 of the two groups of four arms, at the start of an epoch."""
    chance, _ = next_choices(learner, 300)
    first, second = chance[0] + chance[1], chance[2] + chance[3]
    return math.log((second - gamma / 2) / (first - gamma / 2))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "policy",
    [
        hlmc.EXP3(6, 100, gamma=0.3),
        hlmc.EXP3S(6, 100, 2),
        hlmc.EXP3P(6, 100),
        hlmc.HLMC(11, levels=2, horizon=90),
        hlmc.HLMC(11, levels=3, horizon=90),
        hlmc.HLMC(11, levels=2, horizon=90, routines=("ucb1", "tsallis-inf")),
    ],
    ids=repr,
)
def test_arms_come_up_as_often_as_is_stated(policy: hlmc.Policy) -> None:
    learner = policy.start(seed=8)
    for t in range(45):
        learner.select()
        learner.update(float(t % 3 == 0))
    chance, times = next_choices(learner, 4000)
    for arm, p in chance.items():
        assert abs(times[arm] - 4000 * p) < 5 * math.sqrt(4000 * p * (1 - p)) + 1


# --- Never NaN ----------------------------------------------------------------------------------------------

TINY = st.sampled_from([1e-300, 1e-100, 1e-12, 1e-3])
SHARES = st.one_of(TINY, st.floats(1e-9, 1.0), st.sampled_from([0.5, 1.0 - 2.0**-53, 1.0]))
REWARDS = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0, 1e-300, 5e-324, 1.0 - 2.0**-53]), st.floats(0.0, 1.0)),
    min_size=1,
    max_size=6,
)


@st.composite
def any_routine(draw: Callable[..., Any]) -> Routine:
    gamma = draw(SHARES)
    below_1 = draw(st.one_of(TINY, st.floats(1e-9, 0.999999)))
    eta = draw(st.one_of(TINY, st.floats(1e-6, 1e3)))
    return draw(
        st.sampled_from(
            [
                routines.EXP3(gamma=gamma),
                routines.EXP3S(gamma=gamma, alpha=below_1),
                routines.EXP3P(eta=eta, gamma=gamma, beta=below_1),
                routines.EXP3Loss(eta=eta),
                routines.EXP3IX(eta=eta),
                routines.TsallisINF(),
                routines.TsallisINF(estimator="importance-weighted"),
                routines.UCB1(),
            ]
        )
    )


def repeated(pattern: list[float], steps: int) -> Iterator[float]:
    return itertools.islice(itertools.cycle(pattern), steps)


@settings(max_examples=150)
@given(
    routine=any_routine(),
    arms=st.sampled_from([2, 3, 9, 33, 513, 600]),
    pattern=REWARDS,
    greedy=st.booleans(),
    seed=st.integers(0, 10),
)
def test_no_parameter_and_no_reward_leads_to_nan(
    routine: Routine, arms: int, pattern: list[float], greedy: bool, seed: int
) -> None:
    policy = hlmc.HLMC(arms, levels=1, horizon=400, routines=routine)
    learner = policy.start(seed=seed)
    first = None
    for reward in repeated(pattern, 400):
        arm = learner.select()
        first = arm if first is None else first
        assert 0 <= arm < arms
        assert 0.0 < learner.probability <= 1.0 + 1e-12
        learner.update(reward if not greedy or arm == first else 0.0)
        assert np.isfinite(learner.state[1:]).all()


@settings(max_examples=60)
@given(
    routine=any_routine(),
    below=any_routine(),
    arms=st.integers(2, 60),
    horizon=st.integers(1, 300),
    pattern=REWARDS,
)
def test_no_hierarchy_leads_to_nan(
    routine: Routine, below: Routine, arms: int, horizon: int, pattern: list[float]
) -> None:
    levels = 1 if arms < 4 else 2
    policy = hlmc.HLMC(arms, levels=levels, horizon=horizon, routines=(routine, below)[-levels:])
    learner = policy.start()
    for reward in repeated(pattern, horizon):
        assert 0 <= learner.select() < arms
        assert 0.0 < learner.probability <= 1.0 + 1e-12
        learner.update(reward)
    assert np.isfinite(learner.state[1:]).all()
    assert learner.time == horizon


def test_a_sum_that_cancels_to_nothing_is_added_up_anew() -> None:
    """All of the weight goes at once: what the sum loses must not leave it at 0."""
    learner = hlmc.EXP3Loss(arms=2, horizon=400, eta=38.0).start(seed=0)
    for reward in [0.0, 1.0 - 2.0**-53] * 50:
        learner.select()
        assert 0.0 < learner.probability <= 1.0
        learner.update(reward)


# --- Pieces: the scan with the sums of its pieces kept beside it, as a device has it


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 10, 23, 100])
@pytest.mark.parametrize("losses", [False, True])
def test_pieces_keep_the_weights_that_they_stand_for(n: int, losses: bool) -> None:
    """The plain functions, against the logarithms of all weights, through ranges that no word holds."""
    random = np.random.default_rng(n)
    pieces = -(-n // weights.PIECE)
    row = np.full(pieces + n + weights.PIECE, -1000.0)  # shared memory holds anything at first
    row[pieces : pieces + n] = 1.0
    weights.pieces_start(row, pieces, n)
    logs = np.zeros(n)
    total = float(n)
    scaled = 0
    for step in range(3000):
        slot = int(random.integers(n)) if step % 3 else int(random.integers(min(n, 2)))
        x = float(random.exponential(40.0 if step % 10 == 0 else 1.0))
        logs[slot] += -x if losses else x
        if losses:
            total = weights.pieces_multiply(row, pieces, n, total, slot, -x)
        else:
            total = weights.pieces_grow(row, pieces, n, total, slot, x / 2.0, 0.5, 0.25)
        if weights.pieces_need_rescale(total):
            scaled += 1
            total = weights.pieces_end(row, pieces, n, total)
            weights.pieces_start(row, pieces, n)
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        u = float(random.random())
        gamma = 0.2
        drawn, chance = weights.pieces_draw(row, pieces, n, total, gamma, u)
        assert 0 <= drawn < n
        assert chance == pytest.approx((1 - gamma) * shares[drawn] + gamma / n, rel=1e-9)
        drawn, chance = weights.pieces_pure_draw(row, pieces, n, total, u)
        assert chance == pytest.approx(shares[drawn], rel=1e-9)
        assert shares[:drawn].sum() <= u + 1e-9
        assert u <= shares[: drawn + 1].sum() + 1e-9
    assert scaled > 0 or (losses and n == 100)  # so many take turns that none falls far enough
