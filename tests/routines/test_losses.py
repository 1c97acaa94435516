"""The routines that learn from losses, and the champion, against the plain readings in reference_losses."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hlmc
from driving import follow, kept, played, rewards
from hlmc import planning, routines
from hlmc.engine.ftrl import (
    add_losses,
    estimates,
    four_chances,
    ftrl_draw,
    ftrl_sound,
    ftrl_update,
    loss_of,
    normaliser,
    power_sums,
    probability_of,
    settled_sums,
)
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import BASE, COUNT, KEY
from hlmc.engine.permutation import permuted
from hlmc.engine.primitives import words
from hlmc.engine.structures.champion import CHALLENGE, PLACE, champion_arm_of
from hlmc.engine.ucb import highest_two
from hlmc.errors import BadArgument, OutOfTurn
from hlmc.targets import address_of, compiled
from reference import Doubling, Hierarchy, exp3, flat, sizes_of
from reference_losses import (
    KEPT,
    Champion,
    LossForm,
    Tsallis,
    champion_epochs,
    exp3_ix,
    exp3_loss,
    tsallis,
)

ESTIMATORS = {"reduced-variance": True, "importance-weighted": False}
KINDS = [pytest.param("mixed", marks=pytest.mark.interpreted), "bits", "ones"]


def steps(arms: int) -> int:
    return 40 if arms > 100 else 150


# --- Over all arms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arms", [1, 2, 3, 9, 100, 600])
@pytest.mark.parametrize("kind", KINDS)
def test_flat_exp3_on_losses(arms: int, kind: str) -> None:
    T = steps(arms)
    for horizon in (T, 50 * T):
        follow(hlmc.EXP3Loss(arms, horizon), flat(arms, horizon, exp3_loss(arms, horizon)), T, rewards(arms, kind))
        follow(hlmc.EXP3IX(arms, horizon), flat(arms, horizon, exp3_ix(arms, horizon)), T, rewards(arms, kind))
    for eta in (1e-6, 0.3):
        plain, ix = (flat(arms, T, lambda n, e=eta, i=i: LossForm(n, e, i)) for i in (0.0, eta / 2.0))
        follow(hlmc.EXP3Loss(arms, T, eta), plain, T, rewards(arms + 1, kind), seed=1)
        follow(hlmc.EXP3IX(arms, T, eta), ix, T, rewards(arms + 1, kind), seed=1)


@pytest.mark.parametrize("maker", [exp3_loss, exp3_ix])
def test_flat_exp3_on_losses_without_a_horizon(maker: Callable[[int, int], Callable[[int], LossForm]]) -> None:
    policy = {exp3_loss: hlmc.EXP3Loss, exp3_ix: hlmc.EXP3IX}[maker](5, None)
    follow(policy, Doubling(lambda T: flat(5, T, maker(5, T))), 300, rewards(2))


@pytest.mark.parametrize("arms", [1, 2, 3, 9, 100, 600])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_flat_tsallis_inf(arms: int, kind: str, estimator: str) -> None:
    T = steps(arms)
    if kind == "ones":
        T = min(T, 16 * arms - 1)  # then p = 1 / K is eta^2 on the dot, and the last digit decides
    reading = flat(arms, T + 1, lambda n: Tsallis(n, ESTIMATORS[estimator]))
    follow(hlmc.TsallisINF(arms, estimator), reading, T, rewards(arms, kind), seed=arms)


@pytest.mark.interpreted
def test_words_of_the_flat_policies() -> None:
    assert hlmc.EXP3Loss(1, 100).words.statistics == hlmc.EXP3IX(1, 100).words.statistics == 0  # no choice, no words
    for arms in (2, 3, 600):
        assert hlmc.EXP3Loss(arms, 100).words.statistics == hlmc.EXP3IX(arms, 100).words.statistics == arms
        for estimator in ESTIMATORS:
            assert hlmc.TsallisINF(arms, estimator).words.statistics == arms - 1


# --- At the levels of a hierarchy ---------------------------------------------------------------------------

AT_LEVELS = {
    "exp3-loss": ("exp3-loss", exp3_loss),
    "exp3-ix": ("exp3-ix", exp3_ix),
    **{
        name: (routines.TsallisINF(estimator=name), lambda n, choices, r=reduced: lambda m: Tsallis(m, r))
        for name, reduced in ESTIMATORS.items()
    },
    "exp3": ("exp3", exp3),
}


@pytest.mark.parametrize(
    ("arms", "groups", "epochs"),
    [
        pytest.param(23, (5, 5), (12, 20), marks=pytest.mark.interpreted),  # the last group has three arms
        (21, (5, 5), (12, 20)),  # and here one
        (26, (3, 3, 3), (4, 5, 12)),
        (900, (2, 450), (3, 30)),
        (1210, (605, 2), (50, 2)),  # the tree of weights above
    ],
)
@pytest.mark.parametrize(
    "names", [("exp3-loss",), ("exp3-ix",), *((e,) for e in ESTIMATORS), ("reduced-variance", "exp3")]
)
def test_at_levels(arms: int, groups: tuple[int, ...], epochs: tuple[int, ...], names: tuple[str, ...]) -> None:
    names = (*names, *names[-1:] * (len(groups) - len(names)))
    T = math.prod(epochs) - 1  # the last epoch is cut short
    policy = hlmc.HLMC(arms, groups=groups, horizon=T, epochs=epochs, routines=tuple(AT_LEVELS[n][0] for n in names))
    makers = [AT_LEVELS[name][1](n, s) for name, n, s in zip(names, groups, epochs, strict=True)]
    reading = Hierarchy(arms, sizes_of(arms, groups), epochs, T, makers)
    follow(policy, reading, T, rewards(len(names)), seed=7)


# --- The normaliser -----------------------------------------------------------------------------------------


@st.composite
def losses_and_rates(draw: st.DrawFn) -> tuple[list[float], float, float]:
    """Differences of any spread, a rate, and a guess."""
    spread = 10.0 ** draw(st.integers(-12, 12))
    losses = draw(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=40))
    eta = 10.0 ** draw(st.floats(-8.0, 3.0))
    guess = draw(st.floats(-2.0, 2.0)) * 10.0 ** draw(st.integers(-12, 12))
    return [loss * spread for loss in losses], eta, guess


@pytest.mark.interpreted
@given(losses_and_rates())
@example(([-1e12, 1e12], 1e3, 0.0))
@example(([0.0] * 39, 1e-8, -1e12))
def test_the_normaliser_from_anywhere(case: tuple[list[float], float, float]) -> None:
    losses, eta, guess = case
    row = np.array(losses)
    n = len(losses) + 1
    found = []
    for start in (guess, 0.0, -guess, min(0.0, *losses) - 2.0 / eta, min(0.0, *losses) - 2.0 * math.sqrt(n) / eta):
        x = float(normaliser(row, 0, n, eta, start))
        assert math.isfinite(x)
        found.append(x)
        p = [float(probability_of(loss, x, eta)) for loss in (0.0, *losses)]
        # A word holds x to 1 part in 2^53, which is eta |x| 2^-53 of the least distance to a loss.
        room = 1e-12 + 4.0 * eta * abs(x) * 2.0**-53
        assert abs(math.fsum(p) - 1.0) <= room
        assert p == pytest.approx(tsallis([0.0, *losses], eta), rel=max(1e-11, 4.0 * room))


@pytest.mark.interpreted
@pytest.mark.parametrize("loss", [1e15, 1e16, 1e17, 1e20])
def test_the_normaliser_is_finite_where_words_end(loss: float) -> None:
    """No run gets here: a loss of 1e16 takes an arm that is played with probability 1e-16."""
    for row in ([-loss], [loss], [-loss, loss, 1.0], [1.0, -loss]):
        for eta in (4.0, 0.1):
            for guess in (-1.0, -2.0 * loss):
                x = normaliser(np.array(row), 0, len(row) + 1, eta, guess)
                p = [float(probability_of(each, x, eta)) for each in (0.0, *row)]
                assert all(0.0 <= each <= 1.0 + 1e-12 for each in p)


def learn(
    row: np.ndarray, n: int, eta: float, x: float, slot: int, chance: float, loss: float, baseline: float
) -> None:
    """Add every slot's estimated loss."""
    far, _, above, zero = estimates(row, 0, 2.0 / eta, x, slot, chance, loss, baseline)
    add_losses(row, 0, n, x + far, baseline, zero, slot, above)


@pytest.mark.interpreted
@given(st.integers(0, 2**32), st.integers(2, 12), st.sampled_from([1e-3, 0.05, 1.0, 4.0]), st.floats(0.0, 1.0))
def test_probabilities_add_up_after_any_updates(seed: int, n: int, eta: float, baseline: float) -> None:
    """The old normaliser is the guess for the new one, as in a run, also when the rate leaps."""
    rng = np.random.default_rng(seed)
    row = np.zeros(n - 1)
    x = -2.0 * math.sqrt(n) / eta
    for _ in range(12):
        p = [float(probability_of(loss_of(row, 0, j), x, eta)) for j in range(n)]
        assert abs(math.fsum(p) - 1.0) <= 1e-12 + 4.0 * eta * abs(x) * 2.0**-53
        slot = int(rng.choice(n, p=np.array(p) / sum(p)))
        learn(row, n, eta, x, slot, p[slot], float(rng.random()), baseline)
        eta *= float(rng.choice([0.5, 0.99, 1.01, 2.0]))
        x = float(normaliser(row, 0, n, eta, x))


# --- The estimates ------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("baseline", [0.0, 0.5, 0.83])
@pytest.mark.parametrize("eta", [0.1, 0.55, 4.0])  # below all, between, and above all roots of probabilities
def test_estimates_are_unbiased_whatever_the_baseline(baseline: float, eta: float) -> None:
    """Over all outcomes of one step, losses that differ by arm: differences grow by the true differences."""
    row = np.array([0.7, -1.3, 2.0]) / eta
    losses = [0.2, 1.0, 0.0, 0.6]
    x = normaliser(row, 0, 4, eta, -4.0 / eta)
    p = [probability_of(loss_of(row, 0, j), x, eta) for j in range(4)]
    if eta == 0.55:
        assert min(p) < eta * eta < max(p)
    change = np.zeros(3)
    for slot in range(4):
        after = row.copy()
        learn(after, 4, eta, x, slot, p[slot], losses[slot], baseline)
        change += p[slot] * (after - row)
    assert change == pytest.approx([loss - losses[0] for loss in losses[1:]], rel=1e-11, abs=1e-11)


@pytest.mark.interpreted
def test_two_steps_of_tsallis_inf_are_unbiased() -> None:
    """A whole learner by enumeration: the probability of each pair of arms, and the losses estimated after it."""
    losses = [[0.1, 0.9, 0.4], [0.8, 0.3, 0.0]]
    expected = [0.0] * 3
    together = 0.0
    for path in itertools.product(range(3), repeat=2):
        reading, chance = Tsallis(3, reduced=True), 1.0
        for t, arm in enumerate(path):
            chance *= reading.probabilities()[arm]
            reading.update(arm, 1.0 - losses[t][arm])
        together += chance
        expected = [e + chance * loss for e, loss in zip(expected, reading.losses, strict=True)]
    assert together == pytest.approx(1.0, rel=1e-12)
    assert expected == pytest.approx([sum(column) for column in zip(*losses, strict=True)], rel=1e-12)


# --- The champion -------------------------------------------------------------------------------------------


def placed(key: np.uint64, n: int) -> list[int]:
    """The key's order of n things."""
    with np.errstate(over="ignore"):
        order = [int(permuted(key, n, i)) for i in range(n)]
    assert sorted(order) == list(range(n))
    return order


def follow_champion(policy: hlmc.Champion, T: int, pay: Callable[[int, int], float], seed: int = 0) -> Champion:
    """Play, and hold probability, slots and champion against the reading at every step."""
    learner = policy.start(seed=seed)
    key = learner.state.view(np.uint64)[KEY]
    order = placed(key, policy.arms)
    turns = {n: placed(key, n) for n in range(1, max(policy.groups_used) + 1)}
    told = policy.horizon, policy.switches or 1, policy.limit is None
    reading = Champion(policy.groups_used, order, turns.__getitem__, *told)
    for t in range(T):
        arm = learner.select()
        KEPT[:] = kept(learner)
        row = learner.state
        if reading.due:
            carried = reading.place
            reading.begin(int(row[BASE]), row[CHALLENGE] > 0.0)
            with np.errstate(over="ignore"):
                slots = [champion_arm_of(policy.program, row, j) for j in range(int(row[COUNT]))]
            group = next(r for r in planning.partition(policy.arms, policy.groups_used) if r[0] == int(row[BASE]))
            places = set(range(*group)) | ({carried} if carried is not None else set())
            assert slots[0] == order[int(row[PLACE])]
            assert len(slots) == len(set(slots))
            assert set(slots) == {order[p] for p in places}
        expected = reading.probability(arm)
        assert math.isclose(learner.probability, expected, rel_tol=1e-9), f"step {t}: {learner.probability}, {expected}"
        reward = pay(t, arm)
        learner.update(reward)
        reading.kept_then = kept(learner)
        reading.play(arm, reward)
        assert int(row[PLACE]) == reading.place, f"step {t}"
    return reading


def shifting(K: int, period: int) -> Callable[[int, int], float]:
    """One arm pays nearly always, another one in each period; now and then nobody's pay is worth much."""

    def pay(t: int, arm: int) -> float:
        u = (t * 0.6180339887498949 + arm * 0.7548776662466927) % 1.0
        good = (7 * (t // period) + 3) % K
        return u * (0.25 if (t // period) % 4 == 3 else 1.0) if arm != good else 1.0 - 0.1 * u

    return pay


CHAMPIONS = [
    pytest.param(hlmc.Champion(30, horizon=500), 500, marks=pytest.mark.interpreted),
    (hlmc.Champion(30, horizon=3000), 3000),
    (hlmc.Champion(30, horizon=3000, switches=9), 3000),
    (hlmc.Champion(27, memory=9, horizon=2500, switches=2), 2500),  # three levels and restarts
    (hlmc.Champion(30, memory=30, switches=3), 1100),
    (hlmc.Champion(27, memory=9, horizon=2500), 2500),  # three levels
    (hlmc.Champion(25, memory=9, horizon=2500), 2500),  # three levels, the last group with one arm
    (hlmc.Champion(31, horizon=2000), 2000),  # the last group has one arm
    (hlmc.Champion(24, horizon=2100), 2100),
    (hlmc.Champion(30), 2100),
    (hlmc.Champion(27, memory=9), 1100),
    (hlmc.Champion(3, horizon=400), 400),
    (hlmc.Champion(30, horizon=250, after="continue"), 2000),
    (hlmc.Champion(27, memory=9, horizon=150, after="continue"), 1100),
    (hlmc.Champion(27, memory=9, horizon=100, switches=2, after="continue"), 1000),
]


@pytest.mark.parametrize(("policy", "T"), CHAMPIONS, ids=repr)
@pytest.mark.parametrize("kind", ["shifting", "random"])
def test_the_champion(policy: hlmc.Champion, T: int, kind: str) -> None:
    # Eighths: losses that differ at all then differ by more than rounding, and the reading knows equals as equals.
    pays = (round(8.0 * reward) / 8.0 for reward in rewards(policy.arms))
    for seed in range(2 if T < 1000 else 1):
        pay = shifting(policy.arms, max(20, T // 6)) if kind == "shifting" else lambda t, arm: next(pays)
        follow_champion(policy, T, pay, seed)


def test_all_that_can_happen_to_a_champion_happens_in_these_tests() -> None:
    policy = hlmc.Champion(30, horizon=3000)
    readings = [follow_champion(policy, 3000, shifting(30, 500), seed) for seed in range(3)]
    assert all(r.coronations > 1 for r in readings)
    assert sum(r.crises for r in readings) > 0
    assert sum(r.mistrusted for r in readings) > 0
    assert sum(r.all_challenges for r in readings) > 0


@pytest.mark.interpreted
def test_a_firm_champion_is_beaten_twice_where_it_pays_as_before() -> None:
    """One arm always pays a half, and another one more from the middle on: there is a rematch, and no crisis."""

    def pay(t: int, arm: int) -> float:
        return 0.5 if arm == 3 else 1.0 if arm == 7 and t >= 1000 else 0.125

    policy = hlmc.Champion(9, horizon=2000, switches=20)
    readings = [follow_champion(policy, 2000, pay, seed) for seed in range(3)]
    assert sum(r.rematches for r in readings) > 0
    assert all(r.order[r.place or 0] == 7 for r in readings)


@pytest.mark.statistical
def test_challenges_come_as_often_as_they_should() -> None:
    policy = hlmc.Champion(9, horizon=1000, switches=400)
    readings = [follow_champion(policy, 1000, shifting(9, 200), seed) for seed in range(5)]
    came, due = sum(r.all_challenges for r in readings), sum(r.due_rate for r in readings)
    assert due > 50
    assert abs(came - due) < 5.0 * math.sqrt(due)


@pytest.mark.interpreted
def test_epochs_of_a_champion() -> None:
    assert hlmc.Champion(100, memory=20, horizon=10**6).plan.lengths == (1200, 1)
    told = hlmc.Champion(16, horizon=10**6, switches=9)
    assert (told.groups_used, told.epochs_used(10**6)) == ((1, 4, 4), (22, 114, 400))  # 2,500 epochs in 22 runs
    for arms, memory in ((30, None), (27, 9), (17, 8), (100, 14), (2, None), (1, None), (5, 5)):
        for V in (None, 1, 2, 7, 10**6):
            policy = hlmc.Champion(arms, memory, switches=V)
            assert (len(policy.groups_used) > 1 and policy.groups_used[0] == 1) == ((V or 1) > 1 and arms > 3)
            for T in (1, 2, 3, 10, 1000, 2**20, 10**6 + 1):
                epochs = policy.epochs_used(T)
                assert list(epochs) == champion_epochs(policy.groups_used, T, V or 1), (arms, memory, T)
                assert math.prod(epochs) >= T


@pytest.mark.interpreted
def test_words_of_a_champion() -> None:
    for arms in (1, 2, 3, 5, 16, 23, 27, 30, 100, 1000):
        for memory in (None, planning.least_memory(arms), arms):
            policy = hlmc.Champion(arms, memory, horizon=100)
            words = policy.words
            assert policy.start().state.nbytes == 8 * words.total == 8 * (words.statistics + words.control)
            assert words.statistics <= (memory or math.inf)
    for root in range(2, 33):
        assert hlmc.Champion(root * root).words.statistics == 2 * root


def test_a_champion_learns_the_same_in_the_compiled_loop() -> None:
    for policy in (hlmc.Champion(30, horizon=700), hlmc.Champion(27, memory=9), hlmc.Champion(21)):
        learner = policy.start(seed=4)
        for t in range(700):
            learner.update(arithmetic(t, learner.select()))
        assert played(policy, arithmetic, 700, seed=4)[1].tobytes() == learner.state.tobytes()


def arithmetic(t: int, arm: int) -> float:
    return ((7 * t + 3 * arm) % 11) / 10.0


@pytest.mark.slow
@pytest.mark.statistical
def test_a_champion_loses_less_than_hlmc_in_experiment_2() -> None:
    T = 10**5
    policies = {"champion": hlmc.Champion(100, memory=20, horizon=T), "hlmc": hlmc.HLMC(100, memory=20, horizon=T)}
    assert policies["champion"].words.statistics <= policies["hlmc"].words.statistics
    faced = hlmc.adversaries.Alternating(arms=100, memory=20)
    regret = hlmc.simulate(policies, faced, T, runs=8, seed=11, progress=False).regret()
    last = regret.isel(step=-1) if "step" in regret.dims else regret[..., -1]
    of = {name: last.sel(policy=name).values for name in policies}
    assert of["champion"].max() < of["hlmc"].min()


# --- One pass a step, four losses at a time -------------------------------------------------------------------


@pytest.mark.interpreted
@given(st.integers(0, 2**32), st.integers(2, 40), st.sampled_from([0.1, 1.0, 20.0, 1e4]), st.floats(0.0, 1.0))
def test_an_update_predicts_the_normaliser(seed: int, n: int, scale: float, baseline: float) -> None:
    """The losses are those of a plain update. What is predicted is sound, and what is settled nearly right; where it is
    not the prediction, it is right. By chances however small."""
    rng = np.random.default_rng(seed)
    row = np.zeros(n - 1)
    kept = -math.sqrt(n) * scale
    for _ in range(12):
        eta = 2.0 / scale
        sums = settled_sums(row, 0, n, scale, kept)
        x, squares, cubes, beyond = (float(a) for a in sums)
        w = [float(probability_of(loss_of(row, 0, j), x, eta)) for j in range(n)]
        exact = tsallis([0.0, *row], eta)
        room = 1e-12 + 4.0 * eta * abs(x) * 2.0**-53
        assert abs(math.fsum(w) - 1.0) <= (min(0.1 * eta * eta, 0.05) if x == kept else 0.0) + room
        assert squares == pytest.approx(math.fsum(w), rel=1e-12)
        assert cubes == pytest.approx(math.fsum(a**1.5 for a in w), rel=1e-12)
        assert beyond == pytest.approx(math.fsum(a**1.5 for a in w if a < eta * eta), rel=1e-9, abs=1e-12)
        if x != kept:
            assert w == pytest.approx(exact, rel=max(1e-11, 4.0 * room))
        slot = int(rng.integers(n)) if rng.random() < 0.3 else int(rng.choice(n, p=np.array(w) / sum(w)))
        loss = float(rng.choice([0.0, 0.3, 1.0]))
        plain = row.copy()
        chance = w[slot] / squares
        learn(plain, n, eta, x, slot, chance, loss, baseline)
        drawn, scale = scale, scale * float(rng.choice([0.5, 0.99, 1.01, 2.0]))
        kept = float(ftrl_update(row, 0, n, sums, drawn, slot, chance, loss, baseline, scale))
        assert row.tobytes() == plain.tobytes()
        assert ftrl_sound(row, 0, n, 2.0 / scale, kept, 1.0)


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [2, 5, 11])
def test_predictions_are_good_enough_at_the_rates_of_a_run(n: int) -> None:
    """After the first 30 steps of a learner, at least 99 of 100 predictions are taken as they are."""
    rng = np.random.default_rng(n)
    means = rng.random(n)
    row = np.zeros(n - 1)
    kept = -0.5 * math.sqrt(n)
    taken = 0
    for t in range(1, 1031):
        scale = 0.5 * math.sqrt(t)
        sums = settled_sums(row, 0, n, scale, kept)
        x, squares = float(sums.x), float(sums.squares)
        taken += t > 30 and x == kept
        slot, chance = ftrl_draw(row, 0, n, scale, x, squares, rng.random())
        loss = float(rng.random() > means[slot])
        following = 0.5 * math.sqrt(t + 1.0)
        kept = float(ftrl_update(row, 0, n, sums, scale, slot, chance, loss, 0.5, following))
    assert taken >= 990


@pytest.mark.interpreted
def test_a_draw_is_by_the_weights_over_their_sum() -> None:
    """Over a fine grid of u, whose every interval is a slot's: the weights need not sum to 1."""
    row = np.array([0.7, -1.3, 2.0, 0.0, 5.0])
    x, scale = -3.6, 1.25
    w = [(scale / (loss - x)) ** 2 for loss in (0.0, *row)]
    squares = math.fsum(w)
    assert abs(squares - 1.0) > 0.1
    drawn = np.zeros(6)
    for k in range(20000):
        slot, chance = ftrl_draw(row, 0, 6, scale, x, squares, (k + 0.5) / 20000)
        drawn[slot] += 1
        assert chance == pytest.approx(w[slot] / squares, rel=1e-12)
    assert drawn / 20000 == pytest.approx(np.array(w) / squares, abs=1e-4)


@kernel
def _four_kernels(out_at: Address, row_at: Address, n: int, x: float, scale: float, slot: int) -> int:
    """What the kernels give that a target computes four numbers at a time."""
    out = words(out_at)
    row = words(row_at)
    a, b, c = power_sums(row, 0, n, x, scale)
    out[0] = a
    out[1] = b
    out[2] = c
    out[3] = 0.0
    a, b, c, d = four_chances(row, 0, n, 1 + slot // 4 * 4 if slot < n - 1 else 1, x, scale)
    out[4] = a
    out[5] = b
    out[6] = c
    out[7] = d
    best, highest, second, widest = highest_two(row, (n - 1) // 2, 0.75)
    out[8] = best
    out[9] = highest
    out[10] = second
    out[11] = widest
    return 0


def test_four_at_a_time_gives_the_same_bits() -> None:
    """A processor's twins of these kernels against the kernels themselves, on every number of slots left over."""
    rng = np.random.default_rng(3)
    machine = compiled(_four_kernels)
    for n in (2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 29, 100):
        for slot in {0, 1, n // 2, n - 1}:
            for scale in (1.25, 3.0):  # of which half the square is less than most distances, or more than many
                row = rng.exponential(3.0, n - 1)
                here, there = np.empty(12), np.empty(12)
                machine(address_of(here), address_of(row), n, -1.5, scale, slot)
                _four_kernels(there, row, n, -1.5, scale, slot)
                assert here.tobytes() == there.tobytes(), (n, slot, scale)


@pytest.mark.interpreted
@pytest.mark.parametrize(("estimator", "eta"), [("reduced-variance", 0.3), ("importance-weighted", 1.2)])
def test_a_learning_rate_of_one_s_own(estimator: str, eta: float) -> None:
    policy = hlmc.TsallisINF(7, estimator=estimator, eta=eta)
    follow(policy, flat(7, 301, lambda n: Tsallis(n, ESTIMATORS[estimator], eta)), 300, rewards(3))
    assert policy.bound(1000) is None
    assert policy.guarantee.proved == ""
    usual = 4.0 if ESTIMATORS[estimator] else 2.0
    same = hlmc.TsallisINF(7, estimator=estimator, eta=usual)
    assert same.bound(1000) == hlmc.TsallisINF(7, estimator=estimator).bound(1000)


def test_a_horizon_changes_nothing_but_the_end() -> None:
    policy, ends = hlmc.TsallisINF(5), hlmc.TsallisINF(5, horizon=40)
    assert ends.bound() == policy.bound(40)
    assert policy.bound() is None
    free, bound = policy.start(seed=3), ends.start(seed=3)
    for t in range(40):
        assert free.select() == bound.select()
        for learner in (free, bound):
            learner.update((t % 7) / 6)
    free.select()
    with pytest.raises(OutOfTurn):
        bound.select()


@pytest.mark.parametrize("eta", [0.0, 4.1, math.nan])
def test_a_learning_rate_out_of_range_or_with_codes_is_refused(eta: float) -> None:
    with pytest.raises(BadArgument, match=r"^eta must be a number in \[1e-6, 4\], not "):
        hlmc.TsallisINF(5, eta=eta)
    with pytest.raises(BadArgument, match=r"^eta must be left out with bits=12, not 1\.0"):
        hlmc.TsallisINF(5, eta=1.0, bits=12)
