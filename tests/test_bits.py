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
from hlmc.engine.coded_ftrl import SELDOM
from hlmc.engine.layout import AT, CONTROL, FIELDS, SCALARS, describe
from hlmc.errors import BadArgument
from hlmc.routines import CODED, coded
from hlmc.routines.coded_ucb1 import base_less_one, widths
from hlmc.routines.exp3 import GAMMA, RATE
from hlmc.routines.exp3_loss import ETA
from hlmc.streams import derive_seed
from hlmc.targets import entry

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


def tsallis(distances: list[float], eta: float) -> list[float]:
    """The probabilities of Tsallis-INF, by bisection."""
    low, high = min(distances) - 2 * math.sqrt(len(distances)) / eta, min(distances) - 2 / eta
    for _ in range(200):
        x = (low + high) / 2
        low, high = (x, high) if sum(4 / (eta * (A - x)) ** 2 for A in distances) < 1 else (low, x)
    return [4 / (eta * (A - x)) ** 2 for A in distances]


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
        p = tsallis(before, eta)
        assert learner.probability == pytest.approx(p[arm], rel=1e-6)
        assert min(before) <= 2.0 * codes.GUARD * s
        reward = float(rng.random() < (0.9 if arm == 1 else 0.3))
        value = before[arm] + (1 - reward - (base if p[arm] >= eta * eta else 0.0)) / p[arm]
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
        x = float(learner.state[control + SCALARS])
        assert sum(4 / (eta * (A - x)) ** 2 for A in after) == pytest.approx(1, abs=1e-8)
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


def test_more_memory_is_used_and_bits_auto_fills_it() -> None:
    assert hlmc.Champion(1000, memory=341).words.statistics > 330
    assert hlmc.Champion(1000, memory=64).groups_used == planning.tight_depth(1000, 64)[1]
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


def phi(v: float, p: float, eta: float) -> float:
    """The stability term of one slot, (2) in docs/champion.md."""
    return eta / 2 * v * v * p**1.5 / (1 + eta * v * math.sqrt(p) / 2)


def rounding_cost(
    values: list[float],
    moved: list[bool],
    before: list[float],
    bits: int,
    s: float,
    p: list[float],
    eta: float,
    shift: float,
) -> float:
    """What rounding adds to the expected stability term, and what is cut off at the last code, times p."""
    total = 0.0
    for value, moves, old, chance in zip(values, moved, before, p, strict=True):
        if not moves:
            continue
        v = value - shift - old
        k, above, share = neighbours(value, bits, s)
        low, high = grid(k, bits, s) - value + v, grid(above, bits, s) - value + v
        total += (1 - share) * phi(low, chance, eta) + share * phi(high, chance, eta) - phi(v, chance, eta)
        total += chance * max(0.0, value - grid(2**bits - 1, bits, s))
    return total


@pytest.mark.parametrize(("bits", "arms"), [(6, 2), (6, 20), (8, 5), (8, 40), (10, 8)])
@pytest.mark.parametrize("estimator", ["reduced-variance", "importance-weighted"])
def test_rounding_costs_no_more_than_the_theorem_says(bits: int, arms: int, estimator: str) -> None:
    """In states that a learner reaches: the expectation over the slot played and the roundings, summed exactly.

    The theorem allows 1200 n / (eta 4^b) a step; and the least distance is at most a quarter of the scale.
    """
    policy = hlmc.TsallisINF(arms=arms, bits=bits, estimator=estimator)
    rate, base = (4.0, 0.5) if estimator == "reduced-variance" else (2.0, 0.0)
    rng = np.random.default_rng(bits * arms)
    means = rng.random(arms)
    learner = policy.start(seed=2)
    worst = 0.0
    for tau in range(6000):
        arm = learner.select()
        if tau > 16 and rng.random() < 0.005:
            level = Level(policy, learner)
            (eta, s), (_, grown) = rate_and_scale(tau, rate), rate_and_scale(tau + 1, rate)
            before = [grid(k, bits, s) for k in level.codes()]
            assert 0 <= min(before) <= 0.25 * s
            p = tsallis(before, eta)
            batch = max(1.0, 1.0 / (SELDOM * eta * eta))
            cost = 0.0
            for i in range(arms):
                for loss in (0.0, 1.0):
                    for dropped, chance in ((False, 1 - 1 / batch), (True, 1 / batch)):
                        lowered = [batch * base if dropped and p[j] < eta * eta else 0.0 for j in range(arms)]
                        values = [A - low for A, low in zip(before, lowered, strict=True)]
                        values[i] += (loss - (base if p[i] >= eta * eta else 0.0)) / p[i]
                        anew = any(lowered) or values[i] < 0 or grown != s
                        shift = codes.GUARD * grown - min(values) if anew else 0.0
                        shifted = [value + shift for value in values]
                        moves = [anew or j == i for j in range(arms)]
                        more = rounding_cost(shifted, moves, before, bits, grown, p, eta, shift)
                        cost += 0.5 * chance * p[i] * more
            worst = max(worst, cost * eta * 4**bits / (1200 * arms))
        learner.update(float(rng.random() < means[arm]))
    assert 0 < worst <= 1


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
    assert hlmc.EXP3IX(arms=n, horizon=H, bits=16).bound() is None


def test_the_bound_says_what_the_page_says() -> None:
    H, n = 10**6, 100
    for bits in (16, 20, 24, 32):
        plain = bounds.tsallis_rv_sharp(H, n)
        more = 200 * n * (H + 1) ** 1.5 / 4**bits + n / 7 * (1 + math.log(1 + H / (16 * n)))
        assert bounds.tsallis_coded(H, n, bits) == pytest.approx(min(H, plain + more))
        assert hlmc.TsallisINF(arms=n, bits=bits).bound(H) == bounds.tsallis_coded(H, n, bits)
    assert bounds.tsallis_coded(H, n, 5) == H
    assert bounds.tsallis_coded(H, n, 30, reduced=False) == pytest.approx(bounds.tsallis_iw_sharp(H, n), rel=1e-3)
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
