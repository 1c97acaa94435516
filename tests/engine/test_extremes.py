"""Arguments at the ends of their ranges: sizes whose products no word holds, shares and rates next to 0 and 1."""

import math
from pathlib import Path

import numpy as np
import pytest

import extremes
import hlmc
from driving import played
from hlmc import routines
from hlmc.engine import weights
from hlmc.engine.layout import BEGAN, FIELDS, HORIZON, LENGTH, PARAMETERS, SUBLENGTH, SUBPHASES, UNTIL
from hlmc.engine.linker import substitute
from hlmc.engine.records import Level
from hlmc.engine.soundness import check_program
from hlmc.engine.structures.block_rotation import rotation_begin
from hlmc.engine.weight_tree import share_at_odds
from hlmc.errors import BadArgument
from hlmc.learners.saving import check_rows
from hlmc.routines.base import LevelContext, Routine
from reference import EXP3S, flat

MOST = 2**53


def restored(learner: hlmc.Learner, folder: Path) -> bool:
    """Whether a file holds the learner: `load` refuses rows that no learner can have."""
    learner.save(folder / "learner")
    return bool(hlmc.load(folder / "learner") == learner)


def play(learner: hlmc.Learner, steps: int, reward: float = 1.0) -> None:
    for _ in range(steps):
        learner.select()
        assert 0.0 < learner.probability <= 1.0
        learner.update(reward)


# --- Products of sizes --------------------------------------------------------------------------------------

ROUNDS = [
    hlmc.UCBM(arms=10, memory=3, subphases=MOST, sublength=1024),
    hlmc.UCBM(arms=10, memory=3, subphases=MOST, sublength=MOST),
    hlmc.UCBM(arms=17, memory=2**31),
    hlmc.EXP3M(arms=17, memory=MOST, subphases=MOST),
    hlmc.UCBM(arms=MOST, memory=40, sublength=7),
    hlmc.EXP3M(arms=MOST, memory=4, subphases=1, sublength=1),
]


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", ROUNDS, ids=repr)
def test_rounds_of_any_size_can_be_played_and_saved(policy: hlmc.Policy, tmp_path: Path) -> None:
    learner = policy.start(seed=1)
    for steps in (1, 1022, 1, 1, 80):  # with sub-phases of 1,024 steps: before, at and after the end of one
        play(learner, steps)
        assert restored(learner, tmp_path)


def test_a_thousand_arms_are_held_of_the_most_that_there_can_be() -> None:
    """Sub-phases times their length is more than 2^63; the end of the first one was a segmentation fault."""
    policy = hlmc.EXP3M(arms=MOST, memory=1030)
    assert math.prod(policy.phases) > 2**63
    steps = policy.phases[1] + 2000
    earned, row = played(policy, lambda t, arm: 0.5, steps)
    assert earned == steps / 2
    assert (row[BEGAN], row[UNTIL]) == (steps - 2000, 2 * (steps - 2000))


@pytest.mark.interpreted
@pytest.mark.parametrize("subphases", [1, 3, 2**20 + 1, 2**52, MOST])
@pytest.mark.parametrize("sublength", [1, 5, 2**26 - 1, 2**52 + 1, MOST])
def test_every_step_falls_in_the_subphase_that_whole_numbers_say(subphases: int, sublength: int) -> None:
    policy = hlmc.UCBM(arms=1, memory=2, subphases=subphases, sublength=sublength)
    row = np.zeros(policy.words.total)
    random = np.random.default_rng(1)
    for t in [0, 1, MOST - 1, *(int(2**x) - 1 for x in random.uniform(0, 53, 50))]:
        phase = (t // (subphases * sublength) + 1).bit_length() - 1
        length = sublength << phase
        origin = subphases * (length - sublength)
        start = origin + (t - origin) // length * length
        rotation_begin(policy.program, row, start)
        assert (row[BEGAN], row[UNTIL]) == (start, min(start + length, MOST))


@pytest.mark.interpreted
@pytest.mark.parametrize("epochs", [(1, 2**40, 2**40), (MOST, MOST, MOST), (1000, 1, MOST), (2, 600, 1)])
@pytest.mark.parametrize("horizon", [1000, None])
def test_epochs_of_any_product(epochs: tuple[int, ...], horizon: int | None, tmp_path: Path) -> None:
    """A choice that stands longer than the stage ends with it, and is learned from."""
    learner = hlmc.HLMC(arms=27, levels=3, horizon=horizon, epochs=epochs, routines="exp3", first_stage=0).start(seed=1)
    program = learner.policy.program.reshape(-1, FIELDS)
    stage = np.full(len(program) - 1, 1000) if horizon else np.repeat([2**r for r in range(53)], 3)
    assert (program[1:, LENGTH] >= 1).all()
    assert (program[1:, LENGTH] <= stage).all()
    if horizon and epochs[0] == 1:
        learner.select()
        assert learner.state[UNTIL] == 1000
    play(learner, 1000)
    assert restored(learner, tmp_path)
    top = learner.state[9 + 15 : 9 + 15 + 3]
    assert horizon is None or top.max() > top.min(), "the top level has learned nothing"


def test_an_epoch_cut_to_the_stage_changes_no_choice() -> None:
    """Lengths that a word holds exactly, and lengths that are cut: the same parameters give the same learners."""
    gammas = {"routines": tuple(routines.EXP3(gamma=0.3) for _ in range(3))}
    short, long = (
        hlmc.HLMC(arms=27, levels=3, horizon=700, epochs=epochs, **gammas).start(seed=3)
        for epochs in ((1, 2, 400), (MOST, MOST, 400))
    )
    other = hlmc.HLMC(arms=27, levels=3, horizon=700, epochs=(1, 10**6, 400), **gammas).start(seed=3)
    for _ in range(700):
        assert short.select() == long.select() == other.select()
        for learner in (short, long, other):
            learner.update(0.5)
    assert (long.state == other.state).all()
    assert (short.state == long.state).all()


def _never(*_: object) -> float:
    return 0.0


def test_a_routine_that_keeps_more_words_than_an_address_reaches_is_refused() -> None:
    wide = routines.Custom("wide", _never, _never, _never, _never, words_per_child=MOST)
    with pytest.raises(BadArgument, match=r"^routines must keep fewer than 2\^60 words for 10000 arms, not 9\d+$"):
        hlmc.HLMC(arms=10_000, levels=1, routines=wide)


@pytest.mark.parametrize("name", ["EXP3", "TsallisINF", "UCB1"])
def test_what_is_too_large_to_be_started_can_still_be_planned(name: str) -> None:
    policy = getattr(hlmc, name)(**{"arms": MOST} | ({"horizon": MOST} if name == "EXP3" else {}))
    assert policy.words.total >= MOST
    assert str(policy.plan)
    with pytest.raises(BadArgument, match="so few that memory holds them"):
        policy.start()


def test_a_program_holds_exact_numbers_only() -> None:
    policy = hlmc.UCBM(arms=10, memory=3)
    table = policy.program.reshape(-1, FIELDS).copy()
    rooms = [policy.routine.words]
    check_program(table, policy.structure, rooms)
    for place, value in (((0, HORIZON), 2.0**54), ((1, LENGTH), 0.5), ((1, LENGTH), -2.0), ((2, LENGTH), np.nan)):
        bad = table.copy()
        bad[place] = value
        with pytest.raises(BadArgument, match="whole numbers"):
            check_program(bad, policy.structure, rooms)
    table[0, [SUBPHASES, SUBLENGTH]] = 2.0**31
    with pytest.raises(BadArgument, match="subphases times sublength"):
        check_program(table, policy.structure, rooms)


SIZES = [1, 2, 3, 17, 513, 2**31 + 1, 2**40 + 7, 2**52 + 1, MOST]


@pytest.mark.interpreted
def test_policies_of_every_size_have_exact_programs() -> None:
    """Whatever is not refused when it is made has a program that kernels can read, with finite parameters."""
    random = np.random.default_rng(11)

    def size() -> int:
        return SIZES[random.integers(len(SIZES))]

    def maybe() -> int | None:
        return size() if random.random() < 0.7 else None

    def hlmc_of() -> hlmc.Policy:
        tree = [{"memory": size()}, {"groups": (size(), size(), size())}, {"levels": int(random.integers(1, 54))}]
        learns = [{}, {"delta": 5e-324}, {"switches": size()}, {"routines": "ucb1"}, {"routines": "exp3p"}]
        epochs = [None, size(), (size(), size()), (size(), size(), size())][random.integers(4)]
        how = {**tree[random.integers(3)], **learns[random.integers(5)]}
        return hlmc.HLMC(size(), horizon=maybe(), epochs=epochs, **how)

    def rounds_of() -> hlmc.Policy:
        cls = (hlmc.UCBM, hlmc.EXP3M)[random.integers(2)]
        return cls(size(), size(), subphases=maybe(), sublength=maybe())

    makers = [
        hlmc_of,
        rounds_of,
        lambda: hlmc.Champion(size(), maybe(), maybe(), maybe()),
        lambda: hlmc.EXP3P(size(), maybe(), delta=5e-324),
        lambda: hlmc.EXP3S(size(), maybe(), maybe()),
    ]
    made = 0
    for i in range(400):
        try:
            policy = makers[i % len(makers)]()
        except BadArgument:
            continue
        made += 1
        table = policy.program.reshape(-1, FIELDS)  # exact, or `check_program` had raised
        assert np.isfinite(table[1:, PARAMETERS:]).all(), policy
        assert str(policy.plan)
    assert made > 150


# --- Shares and rates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arms", "gamma", "alpha", "silent"),
    [(10, 0.3, 0.02, 25_000), (3, 0.5, 1.0 - 2.0**-53, 2_000), (520, 0.3, 0.5, 1_500)],
)
def test_exp3s_learns_after_any_time_without_reward(
    arms: int, gamma: float, alpha: float, silent: int, tmp_path: Path
) -> None:
    """What has no share of B shrinks with every scaling; the learner goes on as Algorithm 4 does from even weights."""
    learner = hlmc.EXP3S(arms, silent + 3000, gamma=gamma, alpha=alpha).start(seed=1)
    play(learner, silent, reward=0.0)
    assert restored(learner, tmp_path)
    reference = flat(arms, 3000, lambda n: EXP3S(n, gamma, alpha))
    for _ in range(300):
        arm = learner.select()
        assert learner.probability == pytest.approx(reference.probability(arm), rel=1e-9)
        learner.update(float(arm == 1))
        reference.play(arm, float(arm == 1))


def test_the_attack_on_exp3s() -> None:
    learner = hlmc.EXP3S(arms=10, horizon=10**6, alpha=0.001, gamma=0.3).start(seed=0)
    play(learner, 385_000, reward=0.0)
    played = 0
    for _ in range(20_000):
        arm = learner.select()
        played += arm == 3
        learner.update(float(arm == 3))
    assert played > 12_000  # 0.675 of the time is expected, and 0.1 was seen


def test_exp3s_finds_an_arm_whose_weight_has_run_out_of_range() -> None:
    """The least alpha gives no share that a word could hold, so that the weight itself must not become 0."""
    learner = hlmc.EXP3S(arms=4, horizon=20_000, alpha=5e-324, gamma=1.0).start(seed=0)
    for paying in (0, 1):
        for _ in range(7_000):
            arm = learner.select()
            learner.update(float(arm == paying))
        assert learner.state[-4:].argmax() == paying
        assert learner.state[-4:].min() > 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1e-300])
def test_any_delta_has_a_finite_confidence_term(delta: float, tmp_path: Path) -> None:
    context = LevelContext(arms=10, horizon=1000, children=10, choices=1000, levels=2, restarts=10**400, delta=delta)
    expected = math.sqrt((400 * math.log(10) + math.log(20) - math.log(delta)) / 10_000)
    assert routines.EXP3P().parameters(context)["beta"] == pytest.approx(expected, rel=1e-12)
    for policy in (
        hlmc.EXP3P(arms=10, horizon=100, delta=delta),
        hlmc.HLMC(arms=30, levels=3, horizon=100, delta=delta),
        hlmc.HLMC(arms=10, levels=2, delta=delta),
    ):
        learner = policy.start(seed=1)
        play(learner, 100)
        assert restored(learner, tmp_path)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_exp3p_adds_up_no_more_than_a_word_holds(reward: float) -> None:
    """By turns either arm has the least probability that there is, and an estimate of 1e300."""
    policy = hlmc.EXP3P(arms=2, horizon=10**9, eta=1e10, gamma=1e-300, beta=1.0 - 2.0**-53)
    learner = policy.start(seed=0)
    play(learner, 1000, reward)
    assert np.abs(learner.state[1:]).max() < 1e300 / 2**43


@pytest.mark.interpreted
def test_a_tree_draws_what_has_all_the_weight_even_where_rounding_carries_u_to_1() -> None:
    n = 1024
    row = np.zeros(n)
    u = 1.0 - 2.0**-53
    odds = next(x for x in -np.arange(1.0, 2.0, 2.0**-20) if (u - share_at_odds(x)) / (1.0 - share_at_odds(x)) == 1.0)
    row[n // 2 - 1] = odds
    row[3 * n // 4 - 1] = 50.0  # of the right half, the left quarter has everything to rounding
    slot = weights.weights_draw(row, 0, n, float(n), u)
    assert n // 2 <= slot < 3 * n // 4


@pytest.mark.interpreted
@pytest.mark.parametrize("n", [2, 9, 513])
def test_what_u_equal_to_0_draws_has_a_probability(n: int) -> None:
    """The first slot has so little weight that its share is 0 in a word."""
    row = np.zeros(n)
    total = weights.weights_start(row, 0, n)
    if n <= weights.SCAN:
        for slot in range(1, n):
            total = weights.weights_multiply(row, 0, n, total, slot, 290.0)
        total = weights.weights_multiply(row, 0, n, total, 0, -590.0)
    else:
        row[[511, 255, 127]] = -300.0  # three boundaries on the way to it
    slot, chance = weights.pure_draw(row, 0, n, total, 0.0)
    assert slot == 0
    assert weights.weights_share(row, 0, n, total, 0) < 1e-300
    assert 0.0 < chance < 1e-200


@pytest.mark.interpreted
def test_pieces_draw_no_logarithm_and_keep_every_logarithm() -> None:
    """The store of a device: u = 0 must not draw a word that is the code of a logarithm, nor a code become 0."""
    n, at = 3, 1
    row = np.array([0.0, -1e280, 1.0, 1.0, 0.0, 0.0, 0.0])
    weights.pieces_start(row, at, n)
    assert row[at] > 0.0
    assert weights.pieces_pure_draw(row, at, n, 2.0, 0.0) == (1, 0.5)
    total = weights.pieces_multiply(row, at, n, 2.0, 1, -1e270)
    assert total == 1.0
    assert row[at + 1] > 0.0
    weights.pieces_end(row, at, n, total)
    assert np.isfinite(row).all()
    assert (row[at : at + 2] <= -1e6).all()


SINGLE = [
    routines.EXP3S(gamma=0.3, alpha=0.5),
    routines.EXP3S(gamma=1e-300, alpha=1.0 - 2.0**-53),
    routines.EXP3P(eta=1e10, gamma=1e-300, beta=0.5),
    routines.EXP3Loss(eta=1e10),
]


@pytest.mark.interpreted
@pytest.mark.parametrize("routine", SINGLE, ids=repr)
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_thresholds_hold_in_single_precision_too(routine: Routine, reward: float) -> None:
    """The kernels as a device has them in float32, where weights and parameters run out of range much sooner."""
    start, select, update = (substitute(kernel, {}, "float32") for kernel in routine.kernels[:3])
    n = 3
    program, row = np.zeros(FIELDS, np.float32), np.zeros(routine.words(n), np.float32)
    values = routine.packed(LevelContext(arms=n, horizon=1000, children=n, choices=1000))
    program[PARAMETERS : PARAMETERS + len(values)] = values
    level = Level(program, 0, row, 0, n)
    a, b = start(level)
    random = np.random.default_rng(1)
    with np.errstate(over="ignore", under="ignore"):
        for tau in range(500):
            u = np.float32(0.0) if tau % 50 == 49 else random.random(dtype=np.float32)
            slot, chance = select(level, a, b, tau, u)
            assert 0.0 < chance <= 1.0 + 1e-6
            a, b = update(level, a, b, tau, slot, chance, np.float32(reward))
            assert row.dtype == np.float32
            assert np.isfinite([*row, a, b]).all()
    assert substitute(weights._weight, {}, "float32")(np.float32(-1e30)) > 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: routines.EXP3(gamma=1e-301), r"gamma must be a number in \[1e-300, 1\], not 1e-301"),
        (lambda: hlmc.EXP3S(10, 100, gamma=5e-324), r"gamma must be a number in \[1e-300, 1\], not 5e-324"),
        (lambda: hlmc.EXP3M(10, 3, gamma=5e-324), r"gamma must be a number in \[1e-300, 1\], not 5e-324"),
        (lambda: hlmc.EXP3P(10, 100, eta=1e11), r"eta must be a number in \(0, 1e10\], not 100000000000.0"),
        (lambda: routines.EXP3IX(eta=10**400), r"eta must be a number in \(0, 1e10\], not a number of about 400"),
    ],
)
def test_what_cannot_be_honoured_is_refused(make: object, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        make()  # type: ignore[operator]


# --- No NaN, ever -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", extremes.REWARDS, ids=lambda reward: reward.__name__)
@pytest.mark.parametrize("routine", extremes.ROUTINES, ids=repr)
def test_routines_at_the_ends_of_their_ranges(routine: Routine, reward: extremes.Reward) -> None:
    """At every place in a hierarchy, in a scan and in a tree; ``python tests/extremes.py`` is the long form."""
    for n, steps in ((2, 1500), (7, 300), (513, 20)):
        for policy in extremes.at_places(routine, n):
            walk(policy, reward, steps)


@pytest.mark.parametrize("reward", extremes.REWARDS, ids=lambda reward: reward.__name__)
@pytest.mark.parametrize("policy", extremes.POLICIES, ids=repr)
def test_policies_at_the_ends_of_their_ranges(policy: hlmc.Policy, reward: extremes.Reward) -> None:
    walk(policy, reward, min(600, policy.limit or 600))


def walk(policy: hlmc.Policy, reward: extremes.Reward, steps: int) -> None:
    """Play by hand: every probability is one, and the row stays what a file may hold."""
    learner = policy.start(seed=2)
    for t in range(steps):
        arm = learner.select()
        assert 0 <= arm < policy.arms
        assert 0.0 < learner.probability <= 1.0 or not policy.known_probability
        learner.update(reward(t, arm))
    extremes.check(policy, learner.state)
    check_rows(policy, learner.state[None, :].copy(), "the row")
