"""The routines on codes of b bits, against a plain reading of their codes and against the same routines in 64 bits."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import hlmc
from hlmc.engine import codes
from hlmc.engine.coded_ftrl import PER_SLOT, SELDOM, chances_of, coded_settled_sums, noted_sums
from hlmc.engine.coded_ucb import base_less_one
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import AT, BEGAN, CONTROL, COUNT, FIELDS, SCALARS
from hlmc.engine.linker import substitute
from hlmc.engine.primitives import words
from hlmc.engine.records import Codes, Rates
from hlmc.engine.structures.champion import PLACE
from hlmc.routines import CODED, coded
from hlmc.routines.ucb1 import widths
from hlmc.streams import derive_seed
from hlmc.targets import address_of, compiled, entry
from reference_codes import Level, grid, neighbours, rate_and_scale, unpacked
from reference_losses import KEPT, tsallis, weights

# --- Tsallis-INF on codes -------------------------------------------------------------------------------------


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


# --- UCB1: Morris counters and means --------------------------------------------------------------------------


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


# --- Late rewards ---------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [hlmc.Champion(100, 4, 900, bits=6), hlmc.Champion(400, 12, 900, bits=8)], ids=repr)
def test_all_challengers_of_a_champion_begin_even(policy: hlmc.Champion) -> None:
    """When an epoch begins, the champion has the loss 0, and all other slots have one and the same."""
    learner = policy.start(seed=3)
    last = policy.program.reshape(-1, FIELDS)[2]
    found = 0
    for t in range(300):
        arm = learner.select()
        row = learner.state
        if row[BEGAN] == t > 0 and row[PLACE] >= 0.0:
            champion, *others = (codes.code_at(row, int(last[AT]), policy.bits, j) for j in range(int(row[COUNT])))
            assert champion == 0
            assert len(set(others)) == 1
            found += others[0] > 0
        learner.update(float(arm % 7 == 3))
    assert found > 5


LATE = (
    hlmc.TsallisINF(arms=6, bits=8),
    hlmc.UCB1(arms=6, bits=8),
    hlmc.HLMC(arms=9, groups=(3, 3), horizon=900, bits=8),
    hlmc.HLMC(arms=9, groups=(3, 3), horizon=900, epochs=(90, 10), routines="tsallis-inf", bits=8),
    hlmc.HLMC(arms=12, groups=(3, 2, 2), horizon=900, epochs=(9, 10, 10), routines="tsallis-inf", bits=(10, 64, 7)),
    hlmc.Champion(arms=100, memory=6, horizon=900, bits=8),
    hlmc.Champion(arms=100, memory=4, bits=6),
    hlmc.Champion(arms=30, memory=6, horizon=900, switches=5, bits=8),
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
        stored = Codes(learner.state, learner.state, at, 3, bits, 2.0**-bits)
        x, squares, _, _ = coded_settled_sums(stored, Rates(s, eta), kept)
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


# --- The same routine -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", CODED)
def test_a_coded_routine_is_the_same_routine_in_other_words(plain: type) -> None:
    routine = coded(plain(), 9)
    assert (routine.plain, routine.bits, routine.name) == (plain(), 9, plain.name)
    # UCB1 has two statistics: 8 bits for a count and 10 for a mean.
    assert (routine.words(100), routine.words(1)) == (13 + 16 if plain.name == "ucb1" else 15, 0)


_computed_anew = substitute(chances_of, {codes.weight_of: codes.noted_weight})


@kernel
def _noted_kernels(out_at: Address, notes_at: Address, n: int, c: float, d: float) -> int:
    """The sums, which a target computes four slots at a time, and the probabilities, which they note, computed anew."""
    out = words(out_at)
    notes = words(notes_at)
    a, b, m = noted_sums(Codes(notes, notes, 0, n, 12, 2.0**-12), c, d)
    out[0] = a
    out[1] = b
    out[2] = m
    for first in range(0, n, 4):
        p0, p1, p2, p3 = _computed_anew(Codes(notes, notes, 0, n, 12, 2.0**-12), first, c, d)
        out[3 + first] = p0
        out[4 + first] = p1
        out[5 + first] = p2
        out[6 + first] = p3
    return 0


def test_four_weights_at_a_time_give_the_same_bits_and_notes() -> None:
    """A processor's twins against the kernels; the probabilities that are noted are those that are computed anew."""
    rng = np.random.default_rng(3)
    machine = compiled(_noted_kernels)
    for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 100):
        up = -(-n // 4) * 4
        notes = np.full(PER_SLOT * n + 1, 5.5)  # the last one is a guard
        notes[:n] = rng.random(n)
        here, there, beside = np.empty(3 + up), np.empty(3 + up), notes.copy()
        machine(address_of(here), address_of(notes), n, 0.3, -0.8)
        _noted_kernels(there, beside, n, 0.3, -0.8)
        assert here.tobytes() == there.tobytes()
        assert notes.tobytes() == beside.tobytes()
        assert notes[n : n + up].tolist() == here[3:].tolist()
        assert notes[-1] == 5.5


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
