"""Statistics of b bits: packing, rounding, the routines on codes, and the theorem of docs/bits.md."""

import math
import random
from bisect import bisect_right
from dataclasses import replace

import numpy as np
import pytest

import hlmc
from hlmc import bounds, planning
from hlmc.engine import codes
from hlmc.engine.coded_ftrl import SELDOM, coded_settle
from hlmc.engine.layout import AT, BEGAN, CONTROL, COUNT, FIELDS, SCALARS, describe
from hlmc.engine.structures.champion import AFTER_CRISIS, CHALLENGE, DOUBT
from hlmc.errors import BadArgument
from hlmc.routines import CODED, coded
from hlmc.routines.coded_ucb1 import base_less_one, widths
from hlmc.routines.exp3 import GAMMA, RATE
from hlmc.routines.exp3_loss import ETA
from hlmc.streams import derive_seed
from hlmc.targets import entry
from reference_losses import KEPT, tsallis, weights

# --- A plain reading of the code --------------------------------------------------------------------------------


def unpacked(words: np.ndarray, bits: int, n: int) -> list[int]:
    """The codes as the digits of one large number."""
    number = int.from_bytes(words.tobytes(), "little")
    return [number >> bits * j & (2**bits - 1) for j in range(n)]


def grid(k: int, bits: int, s: float) -> float:
    return s * ((1 - k / 2**bits) ** -2 - 1)


def neighbours(value: float, bits: int, s: float) -> tuple[int, int, float]:
    """The two codes around a distance, and the probability of the upper one."""
    last = 2**bits - 1
    if value <= 0:
        return 0, 0, 0.0
    if value >= grid(last, bits, s):
        return last, last, 0.0
    k = bisect_right(range(2**bits), value, key=lambda j: grid(j, bits, s)) - 1
    low, high = grid(k, bits, s), grid(k + 1, bits, s)
    return k, k + 1, (value - low) / (high - low)


# --- Packing and rounding ---------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("bits", [4, 7, 12, 13, 31, 32])
def test_codes_lie_side_by_side_as_the_digits_of_a_number(bits: int) -> None:
    rng = random.Random(bits)
    n = 50
    row = np.zeros(2 + -(-n * bits // 64))
    row[0] = row[-1] = 7.5  # neighbours of other meaning
    told = [0] * n
    for _ in range(400):
        j = rng.randrange(n)
        told[j] = rng.choice([0, 2**bits - 1, rng.randrange(2**bits)])
        codes.put_code(row, 1, bits, j, told[j])
    assert [codes.code_at(row, 1, bits, j) for j in range(n)] == told
    assert unpacked(row[1:-1], bits, n) == told
    assert row[0] == row[-1] == 7.5


@pytest.mark.parametrize("bits", [4, 6, 12])
def test_rounding_leaves_the_mean_as_it_is(bits: int) -> None:
    rng = random.Random(bits)
    s = 37.0
    for _ in range(60):
        value = s * rng.uniform(0, 3) ** rng.choice([1, 4])
        k, above, share = neighbours(value, bits, s)
        found = [codes.rounded(value, s, bits, 2.0**-bits, (i + 0.5) / 1000) for i in range(1000)]
        assert set(found) <= {k, above}
        assert found.count(above) == pytest.approx(1000 * share, abs=1.0) or k == above
    assert codes.rounded(-1.0, s, bits, 2.0**-bits, 0.5) == 0
    assert codes.rounded(1e300, s, bits, 2.0**-bits, 0.5) == 2**bits - 1


def test_wide_codes_are_rounded_to_the_two_around_a_value() -> None:
    rng = random.Random(1)
    for bits in (20, 32):
        for _ in range(300):
            value = rng.uniform(0, 1) ** 3 * 10 ** rng.uniform(-6, 12)
            low = codes.rounded(value, 3.0, bits, 2.0**-bits, 1 - 2**-53)
            high = codes.rounded(value, 3.0, bits, 2.0**-bits, 0.0)
            below, above = grid(low, bits, 3.0), grid(high, bits, 3.0)
            assert high - low <= 1
            assert below / (1 + 1e-12) <= value <= above * (1 + 1e-12)


# --- Tsallis-INF on codes ---------------------------------------------------------------------------------------


class Level:
    """A flat learner's level, read plainly."""

    def __init__(self, policy: hlmc.Policy, learner: hlmc.Learner) -> None:
        self.policy, self.row = policy, learner.state
        record = FIELDS
        self.at, self.control = int(policy.program[record + AT]), int(policy.program[record + CONTROL])
        self.bits, self.n = policy.bits, policy.arms

    def codes(self) -> list[int]:
        return unpacked(self.row[self.at :], self.bits, self.n)

    @property
    def x(self) -> float:
        return float(self.row[self.control + SCALARS])

    @property
    def seed(self) -> float:
        return float(self.row[self.control + SCALARS + 1])


def rate_and_scale(tau: int, rate: float) -> tuple[float, float]:
    root = math.sqrt(tau + 1)
    return rate / root, 2 / rate * 2 ** math.floor(math.log2(root))


@pytest.mark.interpreted
@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
@pytest.mark.parametrize(("arms", "bits"), [(2, 6), (7, 8), (7, 12)])
def test_a_learner_of_few_bits_plays_tsallis_inf_on_its_codes(arms: int, bits: int, estimator: str) -> None:
    """Every probability is that of the codes; every step moves the played slot to a neighbour of its new loss."""
    policy = hlmc.TsallisINF(arms=arms, bits=bits, estimator=estimator)
    rate, base = (4.0, 0.5) if estimator == "reduced-variance" else (2.0, 0.0)
    learner = policy.start(seed=5)
    rng = random.Random(arms)
    alone = 0
    for tau in range(300):
        arm = learner.select()
        level = Level(policy, learner)
        eta, s = rate_and_scale(tau, rate)
        before = [grid(k, bits, s) for k in level.codes()]
        KEPT[:] = [level.x - before[0]]
        p, w = tsallis(before, eta), weights(before, eta)
        assert learner.probability == pytest.approx(p[arm], rel=1e-9)
        assert min(before) <= 2.0 * codes.GUARD * s
        reward = float(rng.random() < (0.9 if arm == 1 else 0.3))
        value = before[arm] + (1 - reward - (base if w[arm] >= eta * eta else 0.0)) / p[arm]
        old = level.codes()
        learner.update(reward)
        changed = [j for j, (a, b) in enumerate(zip(old, level.codes(), strict=True)) if a != b]
        if set(changed) <= {arm} and rate_and_scale(tau + 1, rate)[1] == s:
            low, high, _ = neighbours(value, bits, s)
            if level.codes()[arm] in (low, high):
                alone += 1
                continue
        # All were rounded anew: the differences stay, but for one code each and for the slots that are lowered.
        eta, s = rate_and_scale(tau + 1, rate)
        after = [grid(k, bits, s) for k in level.codes()]
        assert min(after) <= 2.0 * codes.GUARD * s
        top = max(grid(k + 1, bits, s) - grid(k, bits, s) for k in (min(c, 2**bits - 2) for c in level.codes()))
        drop = base * max(1.0, 1.0 / (SELDOM * (rate**2 / (tau + 1))))
        for i in range(arms):
            for j in range(arms):
                told = (value if i == arm else before[i]) - (value if j == arm else before[j])
                assert abs(after[i] - after[j] - told) <= 2 * top + drop + 1e-9
    assert alone >= 5


def test_two_levels_of_one_learner_round_by_different_numbers() -> None:
    policy = hlmc.HLMC(arms=16, groups=(4, 4), horizon=100, routines="tsallis-inf", bits=8)
    learner = policy.start(seed=1)
    learner.select()
    table = policy.program.reshape(-1, FIELDS)
    seeds = {float(learner.state[int(table[1 + d, CONTROL]) + SCALARS + 1]) for d in range(2)}
    assert len(seeds) == 2
    assert all(codes.seed_sound(seed) for seed in seeds)
    assert not any(codes.seed_sound(seed) for seed in (0.5, -1.0, 2.0**53))


@pytest.mark.statistical
def test_roundings_are_independent_of_the_choices() -> None:
    """Of 4,000 learners, each after one step: the choice and the number that rounds are not correlated.

    Under a new seed, |correlation| > 6 / sqrt(4000) has a probability of 2e-9.
    """
    policy = hlmc.TsallisINF(arms=2, bits=8)
    draw = entry(codes.rounding_bits, "uint64", "float64")
    chosen, drawn = [], []
    for i in range(4000):
        learner = policy.start(seed=3, stream=i)
        chosen.append(learner.select())
        drawn.append(float(draw(Level(policy, learner).seed)) / 2.0**64)
    assert abs(np.corrcoef(chosen, drawn)[0, 1]) < 6 / math.sqrt(4000)
    assert abs(np.mean(drawn) - 0.5) < 6 / math.sqrt(12 * 4000)


# --- UCB1: Morris counters and means ------------------------------------------------------------------------------


def counts_and_means(policy: hlmc.UCB1, row: np.ndarray) -> tuple[list[int], list[int]]:
    """The codes of both, read plainly."""
    at, (count, mean) = int(policy.program[FIELDS + AT]), widths(policy.bits)
    first = -(-policy.arms * count // 64)
    return unpacked(row[at : at + first], count, policy.arms), unpacked(row[at + first :], mean, policy.arms)


def morris(code: int, bits: int) -> float:
    """The number that a count's code stands for: a geometric sum."""
    a = base_less_one(widths(bits)[0])
    return sum((1 + a) ** i for i in range(code))


@pytest.mark.parametrize("bits", [4, 5, 8, 12])
def test_the_last_code_of_a_count_stands_for_two_to_the_forty(bits: int) -> None:
    assert morris(2 ** widths(bits)[0] - 1, bits) == pytest.approx(2**40, rel=1e-6)


@pytest.mark.interpreted
@pytest.mark.parametrize(("arms", "bits", "ties"), [(2, 4, "random"), (7, 6, "first"), (7, 12, "last")])
def test_ucb1_of_few_bits_plays_the_highest_index_of_its_codes(arms: int, bits: int, ties: str) -> None:
    """Every choice is a highest index by a plain reading of the codes; every reward moves one slot to a neighbour."""
    policy = hlmc.UCB1(arms=arms, bits=bits, ties=ties)
    top = 2 ** widths(bits)[1] - 1
    learner = policy.start(seed=3)
    rng = random.Random(bits)
    for t in range(400):
        counts, means = counts_and_means(policy, learner.state)
        arm = learner.select()
        if t < arms:
            assert arm == t
        else:
            spread = math.sqrt(2 * math.log(t + 1))
            index = [m / top + spread / math.sqrt(morris(k, bits)) for k, m in zip(counts, means, strict=True)]
            best = [j for j in range(arms) if index[j] >= max(index) * (1 - 1e-12)]
            assert arm in {"random": best, "first": best[:1], "last": best[-1:]}[ties]
        reward = rng.choice([0.0, 1.0, rng.random()])
        learner.update(reward)
        value = top * (means[arm] / top + (reward - means[arm] / top) / (morris(counts[arm], bits) + 1))
        then_counts, then_means = counts_and_means(policy, learner.state)
        assert then_counts[arm] - counts[arm] in ({1} if counts[arm] == 0 else {0, 1})
        assert math.floor(value - 1e-6) <= then_means[arm] <= math.ceil(value + 1e-6)
        others = [j for j in range(arms) if j != arm]
        assert [then_counts[j] for j in others] == [counts[j] for j in others]
        assert [then_means[j] for j in others] == [means[j] for j in others]


@pytest.mark.statistical
def test_counts_and_means_are_unbiased() -> None:
    """Of 3,000 learners: the counts sum to the steps on average, and 0.3 is rounded to its neighbours evenly.

    Under a new seed six standard deviations have a probability of 2e-9 each.
    """
    policy = hlmc.UCB1(arms=2, bits=6)
    fleet = policy.fleet(size=3000, seed=5)
    for t in range(150):
        arms = fleet.select()
        fleet.update(np.full(3000, 0.3))
        if t == 0:
            assert set(arms) == {0}
            firsts = [counts_and_means(policy, row)[1][0] for row in fleet.state]
            assert set(firsts) == {18, 19}  # 0.3 of 63 is 18.9
            assert abs(np.mean(firsts) - 18.9) < 6 * 0.3 / math.sqrt(3000)
    counted = [sum(morris(k, 6) for k in counts_and_means(policy, row)[0]) for row in fleet.state]
    assert abs(np.mean(counted) - 150) < 6 * np.std(counted) / math.sqrt(3000)


# --- Words --------------------------------------------------------------------------------------------------------


def test_a_learner_keeps_so_many_bits_and_no_more() -> None:
    for bits, words in ((4, 7), (8, 13), (12, 19), (16, 25), (32, 50)):
        policy = hlmc.TsallisINF(arms=100, bits=bits)
        assert policy.words.statistics == words == -(-100 * bits // 64)
        assert policy.start().state.nbytes == 8 * policy.words.total
    assert hlmc.TsallisINF(arms=100, bits=64) == hlmc.TsallisINF(arms=100)
    assert hlmc.HLMC(arms=100, groups=(10, 10), horizon=100, bits=(8, 12)).words.statistics == 2 + 2


def test_a_fleet_of_a_million_learners_of_a_hundred_arms_takes_less_than_280_megabytes() -> None:
    assert 10**6 * 8 * hlmc.TsallisINF(arms=100, bits=12).words.total < 280 * 10**6


def test_bits_that_cannot_be_had_are_refused() -> None:
    for bits in (3, 33, 65, 0):
        with pytest.raises(BadArgument, match="bits must be"):
            hlmc.TsallisINF(arms=10, bits=bits)
    with pytest.raises(BadArgument, match=r"bits must be 64 for routines.EXP3P\(\), not 8; fewer are for contest, "):
        hlmc.HLMC(arms=10, levels=2, horizon=100, delta=0.1, bits=8)
    with pytest.raises(BadArgument, match="bits must be 2 numbers"):
        hlmc.HLMC(arms=100, levels=2, horizon=100, bits=(8, 8, 8))
    with pytest.raises(BadArgument, match="bits must be one number"):
        hlmc.HLMC(arms=100, memory=20, horizon=100, bits=(8, 8))


LATE = (
    hlmc.TsallisINF(arms=6, bits=8),
    hlmc.UCB1(arms=6, bits=8),
    hlmc.HLMC(arms=9, groups=(3, 3), horizon=900, bits=8),
    hlmc.HLMC(arms=9, groups=(3, 3), horizon=900, epochs=(90, 10), routines="tsallis-inf", bits=8),
    hlmc.HLMC(arms=12, groups=(3, 2, 2), horizon=900, epochs=(9, 10, 10), routines="tsallis-inf", bits=(10, 64, 7)),
    hlmc.Champion(arms=30, memory=6, horizon=900, bits=8),
    hlmc.Champion(arms=100, memory=4, bits=6),
)


@pytest.mark.parametrize("policy", LATE, ids=repr)
def test_late_rewards_and_bits(policy: hlmc.Policy) -> None:
    """All told at once, a learner is one that selects and updates. Told late, its words pass the gate at any time."""
    here, there = policy.start(seed=2), replace(policy, pending=40).start(seed=2)
    for t in range(200):
        ticket = there.ask()
        assert ticket.arm == here.select()
        here.update(t % 3 / 2)
        assert there.tell(ticket, t % 3 / 2) == "applied"
    rng = random.Random(1)
    waiting: list[hlmc.Ticket] = []
    told = []
    for t in range(500):
        waiting.append(there.ask())
        while waiting and rng.random() < 0.55:
            ticket = waiting.pop(rng.randrange(len(waiting)))
            told.append(there.tell(ticket, float(rng.random() < (0.9 if ticket.arm == 3 else 0.3))))
        if t % 10 == 0:
            assert hlmc.Learner(there.policy, there.state.copy()).time == there.time
    assert told.count("late") + told.count("applied") > 300
    assert "late" in told or len(getattr(policy, "groups_used", (1,))) == 1


def test_a_late_loss_is_a_part_of_the_choice_s_loss() -> None:
    """Against a plain reading: of ten steps one loses 1 late, so the group loses 1/10 over its probability."""
    bits = 14
    policy = hlmc.HLMC(
        arms=9, groups=(3, 3), horizon=900, epochs=(90, 10), routines="tsallis-inf", bits=bits, pending=60
    )
    table = policy.program.reshape(-1, FIELDS)
    at, control = int(table[1, AT]), int(table[1, CONTROL])
    lates = 0
    for seed in range(6):
        learner = policy.start(seed=seed)
        held = learner.ask()
        for _ in range(9):
            learner.tell(learner.ask(), 1.0)
        standing = learner.ask()  # epoch 1 has begun: the group level has learned once
        first = unpacked(learner.state[at:], bits, 3)
        eta, s = rate_and_scale(1, 4.0)
        before = [grid(k, bits, s) for k in first]
        assert learner.tell(held, 0.0) == "late"
        after = [grid(k, bits, s) for k in unpacked(learner.state[at:], bits, 3)]
        assert sum(tsallis(after, eta)) == pytest.approx(1)
        kept = float(learner.state[control + SCALARS])
        x, squares, _, _ = coded_settle(policy.program, FIELDS, learner.state, learner.state, at, 3, s, eta, kept)
        assert sum(4 / (eta * (A - x)) ** 2 for A in after) == pytest.approx(squares)
        assert squares == pytest.approx(1, abs=0.05)
        group = held.arm // 3
        moved = [b - a for a, b in zip(before, after, strict=True)]
        unit = max(grid(k + 1, bits, s) - grid(k, bits, s) for k in (*first, *unpacked(learner.state[at:], bits, 3)))
        for other in {0, 1, 2} - {group}:
            # A third of ten steps: every group had the probability 1/3.
            assert moved[group] - moved[other] == pytest.approx(0.1 / (1 / 3), abs=4 * unit)
        lates += 1
        assert learner.tell(standing, 1.0) == "applied"
    assert lates == 6


def test_a_row_of_codes_is_shown_as_bits() -> None:
    policy = hlmc.TsallisINF(arms=10, bits=12)
    learner = policy.start(seed=1)
    learner.update(0.25 * (learner.select() % 3))
    assert "0x" in describe(learner.state, policy.program, policy.structure).split("statistics of level 0")[1]
    assert "WIDTH                          12" in describe(policy.program)
    assert "WIDTH" not in describe(hlmc.TsallisINF(arms=10).program)


def test_the_planner_fills_the_words_it_is_given() -> None:
    for arms, memory, bits in ((100, 20, 12), (1000, 20, 12), (10**5, 640, 8), (100, 7, 8), (10**9, 96, 6)):
        groups = planning.coded_split(arms, memory, bits, 10**7)
        assert math.prod(groups) >= arms
        assert planning.coded_words(groups, bits) <= memory
    assert planning.coded_split(100, 20, 12) == (100,)
    with pytest.raises(BadArgument, match="memory must be at least"):
        planning.coded_split(10**9, 2, 12)


def test_a_champion_s_memory_never_buys_a_worse_split() -> None:
    """Levels get fewer as memory grows; between two depths the groups stay as equal as they are (docs/bits.md)."""
    for arms in (100, 1000):
        for bits in (10, 64):
            levels = [arms]
            for memory in range(13 if bits == 64 else 6, arms + 1):
                groups = hlmc.Champion(arms, memory=memory, bits=bits).groups_used
                assert len(groups) <= levels[-1]
                assert groups == planning.tight_groups(arms, len(groups))
                levels.append(len(groups))
            assert levels[-1] == 1
    assert hlmc.Champion(1000, memory=341).groups_used == hlmc.Champion(1000, memory=64).groups_used
    # With few steps for each arm two levels are better than one, however much memory there is.
    for bits in ("auto", 10, 64):
        brief, long = (hlmc.Champion(1000, memory=1000, horizon=T, bits=bits).groups_used for T in (29_999, 30_000))
        assert (brief, long) == (planning.tight_groups(1000, 2), (1000,))


@pytest.mark.parametrize("bits", [12, 64])
@pytest.mark.parametrize("arms", [1, 2, 5, 100])
def test_a_champion_with_memory_for_all_arms_is_tsallis_inf(arms: int, bits: int) -> None:
    """So more memory helps at the last step too: from an even prior an epoch of T steps learns far too slowly."""
    flat = hlmc.TsallisINF(arms, bits=bits)
    policy = hlmc.Champion(arms, memory=max(1, flat.words.statistics), bits=bits)
    assert policy.words == flat.words
    assert np.array_equal(policy.program, flat.program)
    assert policy.structure is flat.structure
    assert policy.bound(10**6) == flat.bound(10**6)


def test_bits_auto_keeps_to_the_memory() -> None:
    for arms, memory in ((100, 20), (1000, 64), (10**5, 640), (20, 4), (400, 7), (10**6, 40)):
        for cls in (hlmc.Champion, hlmc.HLMC):
            policy = cls(arms, memory=memory, horizon=10**6, bits="auto")
            assert policy.words.statistics <= memory
            assert math.prod(policy.groups_used) >= arms
            assert policy == cls(arms, memory=memory, horizon=10**6, bits="auto")
            assert 'bits="auto"' in repr(policy) or "bits='auto'" in repr(policy)
    assert hlmc.Champion(100, memory=20, horizon=10**6, bits="auto").groups_used == (100,)
    assert hlmc.Champion(100, memory=20, horizon=10**6, bits="auto").bits_used == 12
    with pytest.raises(BadArgument, match='bits can be "auto" only where memory is given'):
        hlmc.Champion(100, bits="auto")


def test_a_loop_with_notes_takes_the_steps_that_are_taken_by_hand() -> None:
    """For every number of slots left over after fours; the weights beside the codes stay those of the codes."""
    policies = [hlmc.TsallisINF(arms=arms, bits=9) for arms in range(2, 10)]
    for policy in (*policies, hlmc.UCB1(arms=5, bits=7), hlmc.Champion(arms=23, memory=6, horizon=700, bits=9)):
        arms = policy.arms
        told = hlmc.adversaries.UniformMeans(arms=arms, seed=1)
        result = hlmc.simulate(policy, told, horizon=700, runs=1, seed=arms, points=[700])
        learner = policy.start(seed=derive_seed(arms, type(policy).__name__))
        earned = 0.0
        for t in range(700):
            reward = float(told.rewards(t, t + 1)[0, learner.select()])
            learner.update(reward)
            earned += reward
        assert float(result.data.reward.values.ravel()[0]) == earned


@pytest.mark.parametrize("plain", CODED)
def test_a_coded_routine_is_the_same_routine_in_other_words(plain: type) -> None:
    routine = coded(plain(), 9)
    assert (routine.plain, routine.bits, routine.name) == (plain(), 9, plain.name)
    # UCB1 has two statistics: 8 bits for a count and 10 for a mean.
    assert (routine.words(100), routine.words(1)) == (13 + 16 if plain.name == "ucb1" else 15, 0)


# --- The theorem -----------------------------------------------------------------------------------------------------


def phi(v: float, w: float, eta: float) -> float:
    """The stability term of one slot of weight w, (1) in docs/champion.md."""
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


@pytest.mark.parametrize(("bits", "arms"), [(6, 2), (6, 20), (8, 5), (8, 40), (10, 8)])
@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
def test_rounding_costs_no_more_than_the_theorem_says(bits: int, arms: int, estimator: str) -> None:
    """In states that a learner reaches; and the least distance is at most a quarter of the scale."""
    policy = hlmc.TsallisINF(arms=arms, bits=bits, estimator=estimator)
    rate, base = (4.0, 0.5) if estimator == "reduced-variance" else (2.0, 0.0)
    rng = np.random.default_rng(bits * arms)
    means = rng.random(arms)
    learner = policy.start(seed=2)
    worst = 0.0
    for tau in range(6000):
        arm = learner.select()
        if tau > 16 and rng.random() < 0.005:
            (eta, s), (_, grown) = rate_and_scale(tau, rate), rate_and_scale(tau + 1, rate)
            before = [grid(k, bits, s) for k in Level(policy, learner).codes()]
            assert 0 <= min(before) <= 0.25 * s
            KEPT[:] = [Level(policy, learner).x - before[0]]
            cost, _ = step_cost(before, weights(before, eta), bits, s, grown, eta, base)
            worst = max(worst, cost * eta * 4**bits / (64 * (arms + 1)))
        learner.update(float(rng.random() < means[arm]))
    assert 0 < worst <= 1


@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
def test_regret_on_the_codes_is_stability_and_penalty(estimator: str) -> None:
    """(2) of docs/champion.md before expectations are taken, along a run: what is stored in place of the estimates,
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
    """Lemma 2 of docs/champion.md with a baseline that is off by up to 2^-20 after every step."""
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
    rng = np.random.default_rng(bits * arms)
    means = rng.random(arms)
    learner = policy.start(seed=2)
    worst = 0.0
    for tau in range(5000):
        arm = learner.select()
        if tau > 16 and rng.random() < 0.01:
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
        learner.update(float(rng.random() < means[arm]))
    assert 0 < worst <= 1


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
    assert hlmc.EXP3(arms=n, horizon=H, bits=16).guarantee.source == "the second theorem of docs/bits.md"
    levels = hlmc.HLMC(arms=100, groups=(10, 10), horizon=10**6, bits=16)
    assert levels.bound() == pytest.approx(
        sum(10**6 / level.context.choices * level.routine.regret(level.context) for level in levels.levels_at(10**6))
    )
    policy = hlmc.EXP3IX(arms=n, horizon=H, bits=16)
    eta = math.sqrt(2 * math.log(n + 1) / (n * H))
    assert policy.bound() == pytest.approx(math.log(n) / eta + eta * n * H + 61 * (n + 1) * H / eta / 4**16)
    assert policy.bound() == pytest.approx(50_260, abs=1)
    assert policy.guarantee.source == "the second theorem of docs/bits.md"
    assert "probability" not in policy.guarantee.proved
    assert bounds.exp3_ix_coded(H, n, 0.02, 20) == bounds.exp3_ix_coded(H, n, 0.001, 5) == H


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


def test_the_champion_s_bound_with_few_bits() -> None:
    T = 10**7
    policy = hlmc.Champion(100, horizon=T, bits=12)
    assert (policy.groups_used, policy.words.statistics) == ((10, 10), 6)
    S, D = policy.plan.epochs
    least = max(0.005, 10 / (1 + 4 / 3 * math.sqrt(D)) ** 2)
    beta = 1.0001 * bounds.contest(D, 11, least) + 0.36 * 11 + 12 * 12 * (D + 1) ** 1.5 / 4**12
    groups = bounds.tsallis_coded(S, 10, 12) + math.floor(4 * math.sqrt(S))
    assert policy.bound() == pytest.approx(D * groups + S * beta)
    assert policy.guarantee.source == "the third theorem of docs/bits.md"
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
    assert hlmc.TsallisINF(arms=n, bits=16).guarantee.source == "the theorem of docs/bits.md"
    levels = hlmc.HLMC(arms=100, groups=(10, 10), horizon=10**6, epochs=(1000, 1000), routines="tsallis-inf", bits=14)
    assert levels.bound() == pytest.approx(2 * 1000 * bounds.tsallis_coded(1000, 10, 14))


# --- It learns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        hlmc.TsallisINF(arms=20, bits=10),
        hlmc.EXP3(arms=20, horizon=20000, bits=12),
        hlmc.EXP3IX(arms=20, horizon=20000, bits=12),
        hlmc.UCB1(arms=20, bits=12),
        hlmc.HLMC(arms=20, groups=(5, 4), horizon=20000, bits=10),
    ],
    ids=repr,
)
def test_a_learner_of_few_bits_loses_about_as_much_as_one_of_64(policy: hlmc.Policy) -> None:
    """Means 0.1 to 0.8; the regret of eight runs is within a third of that of 64 bits, at this seed."""
    adversary = hlmc.adversaries.Bernoulli(np.linspace(0.1, 0.8, 20))
    both = {"few": policy, "all": replace(policy, bits=64)}
    result = hlmc.simulate(both, adversary, horizon=20000, runs=8, seed=4, points=1)
    few, every = (float(result.regret("weak").sel(policy=name).mean()) for name in ("few", "all"))
    assert few < 1.33 * every
