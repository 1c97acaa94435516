"""Propensities: what logs are weighed by. Exact, over every way that a learner can go, and the mean weight of a log."""

import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import hlmc
from hlmc.engine.layout import BEGAN, TIME
from hlmc.engine.structures.champion import DUEL
from hlmc.learners import Learner
from hlmc.policies import EXAMPLES
from hlmc.routines import TsallisINF
from learners.enumeration import Enumerated

WAITS = (0, 0, 1, 3, 7)  # decisions later at which rewards are told

QUICK = [
    hlmc.EXP3(arms=3, horizon=30, pending=8),
    hlmc.HLMC(arms=7, groups=(3, 3), horizon=60, epochs=(10, 6), pending=8),
    hlmc.HLMC(arms=5, groups=(2, 2, 2), horizon=60, epochs=(10, 3, 2), routines=("tsallis-inf",) * 3, pending=8),
    hlmc.Champion(arms=6, memory=5, horizon=60, pending=8),
]
SLOW = [
    hlmc.EXP3(arms=3, horizon=None, pending=8),
    hlmc.EXP3P(arms=3, horizon=30, pending=8),
    hlmc.EXP3S(arms=3, horizon=30, switches=2, pending=8),
    hlmc.EXP3Loss(arms=4, horizon=30, pending=8),
    hlmc.EXP3IX(arms=4, horizon=30, pending=8, missing=0.0),
    hlmc.EXP3IX(arms=4, horizon=30, pending=8, bits=12),
    hlmc.EXP3(arms=3, horizon=30, pending=8, bits=12),
    hlmc.TsallisINF(arms=4, pending=8),
    hlmc.TsallisINF(arms=4, estimator="importance-weighted", pending=8),
    hlmc.TsallisINF(arms=4, pending=8, bits=12),
    hlmc.Uniform(arms=4, pending=8),
    hlmc.EpsilonGreedy(arms=4, pending=8),
    hlmc.HLMC(arms=7, groups=(3, 3), horizon=60, delta=0.1, pending=8, delay=3),
    hlmc.HLMC(arms=7, groups=(3, 3), horizon=60, switches=2, pending=8),
    hlmc.HLMC(arms=7, groups=(3, 3), horizon=None, pending=8),
    hlmc.HLMC(arms=7, groups=(3, 3), horizon=6, pending=8, after="continue"),
    hlmc.HLMC(arms=7, groups=(3, 3), horizon=60, routines=(TsallisINF(), TsallisINF()), bits=12, pending=8),
    hlmc.HLMC(arms=5, groups=(2, 2, 2), horizon=54, epochs=(6, 3, 3), pending=8),
    hlmc.HLMC(arms=9, groups=(2, 2, 2, 2), horizon=96, epochs=(8, 2, 3, 2), routines=("exp3-loss",) * 4, pending=8),
    hlmc.Champion(arms=6, memory=5, horizon=60, pending=8, delay=2),
    hlmc.Champion(arms=6, memory=5, pending=8),
    hlmc.Champion(arms=6, memory=5, horizon=7, pending=8, after="continue"),
    hlmc.Champion(arms=8, memory=5, horizon=240, pending=64),
    hlmc.Champion(arms=9, memory=9, horizon=60, switches=2, pending=8),
    hlmc.Champion(arms=6, memory=3, horizon=90, bits=12, pending=8),
]
MOVING = [
    hlmc.EXP3(arms=4, horizon=30, pending=8, dynamic=True),
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=60, epochs=(10, 6), pending=8, dynamic=True),
    hlmc.HLMC(arms=8, groups=(2, 2, 2), horizon=72, epochs=(8, 3, 3), pending=8, dynamic=True),
    hlmc.Champion(arms=6, memory=5, horizon=60, pending=8, dynamic=True),
    hlmc.Champion(arms=8, memory=5, horizon=240, pending=64, dynamic=True),
    hlmc.HLMC(arms=6, groups=(3, 2), horizon=7, pending=8, dynamic=True, after="continue"),
    hlmc.Champion(arms=6, memory=5, horizon=7, pending=8, dynamic=True, after="continue"),
]


def _paid(t: int, arm: int) -> float:
    return (0.0, 1.0, 0.3, 0.9, 0.1)[(3 * arm + t // 5) % 5]


class Blocks:
    """A learner that is played up to some block, and every way that it can go from there."""

    def __init__(self, policy: hlmc.Policy, seed: int) -> None:
        self.all = Enumerated(policy)
        self.dice = random.Random(seed)
        self.row = policy.start(seed=seed).state.copy()
        self.waiting: list[tuple[int, hlmc.Ticket]] = []
        self.numbers = [self.dice.random() for _ in range(1000)]
        self.changes: dict[int, list[tuple[int, int]]] = {}
        """After which decisions arms join (-1) or one leaves, and how many there are then."""

    def go_on(self, row: np.ndarray, ticket: hlmc.Ticket, waiting: list[tuple[int, hlmc.Ticket]]) -> list:
        """What happens after a decision: rewards that come, and arms that come and go; the tickets that wait."""
        left = []
        for due, each in [*waiting, (ticket.time + WAITS[ticket.time % len(WAITS)], ticket)]:
            if due <= ticket.time:
                self.all.tell(row, each, _paid(each.time, each.arm))
            else:
                left.append((due, each))
        for live, arm in self.changes.get(ticket.time, ()):
            self.all.change(row, live, arm)
        return left

    def play(self) -> None:
        """One step, in one of the ways that it can go."""
        row, ticket = self.all.ask(self.row, self.draw())
        self.waiting = self.go_on(row, ticket, self.waiting)
        self.row = row

    def draw(self) -> dict[int, float]:
        """Numbers for every purpose of a decision."""
        return {purpose: self.dice.random() for purpose in (*range(8), DUEL)}

    @property
    def begins(self) -> bool:
        """Whether the next decision is the first of a block."""
        _, ticket = self.all.ask(self.row, {})
        return ticket.block == ticket.time

    def weights(self, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """For each arm, E[1{arm} / propensity] and P(arm) of the decision so many steps from now, given the row now.

        The numbers by which the last level chooses before that are fixed: what it learned may be anything.
        """
        total, likely = np.zeros((2, self.all.policy.arms))

        def visit(row: np.ndarray, waiting: list[tuple[int, hlmc.Ticket]], left: int, share: float) -> None:
            number = self.numbers[int(row[TIME])]
            for part, after, ticket in self.all.ways(row, number if left else None):
                assert 0.0 < ticket.propensity <= 1.0 or ticket.propensity == math.inf
                if left:
                    visit(after, self.go_on(after, ticket, waiting), left - 1, share * part)
                else:
                    total[ticket.arm] += share * part / ticket.propensity
                    likely[ticket.arm] += share * part

        visit(self.row, self.waiting, steps, 1.0)
        assert math.isclose(likely.sum(), 1.0, abs_tol=1e-6)
        return total, likely


def _check_weights(policy: hlmc.Policy, wanted: int, offsets: tuple[int, ...]) -> None:
    assert policy.full_support
    blocks = Blocks(policy, 3)
    found = 0
    while found < wanted:
        if blocks.begins and (found == 0 or int(blocks.row[TIME]) > 2):
            found += 1
            for steps in offsets:
                total, likely = blocks.weights(steps)
                assert total == pytest.approx(np.ones(policy.arms), abs=1e-4), (int(blocks.row[TIME]), steps)
                assert (likely > 0.0).all()
        blocks.play()


@pytest.mark.parametrize("policy", QUICK, ids=repr)
def test_weights_of_all_ways_add_up_to_one(policy: hlmc.Policy) -> None:
    _check_weights(policy, 2, (0, 3) if policy.plan.levels[0].length > 1 else (0,))


@pytest.mark.slow
@pytest.mark.parametrize("policy", SLOW, ids=repr)
def test_weights_of_all_ways_add_up_to_one_elsewhere(policy: hlmc.Policy) -> None:
    length = policy.plan.levels[0].length
    below = policy.plan.levels[1].length if len(policy.plan.levels) > 1 else 1
    _check_weights(policy, 4, tuple({min(each, length - 1) for each in (0, 1, below, below + 1)}))


# From K arms on: two leave, so that a group vanishes; then some more, and they come back.
_LEAVE = {0: [(-1, 1)], 1: [(-1, 0)]}
_LATER = {0: [(-1, 2), (-1, 0)], 2: [(-1, 0)], 3: [(2, -1)]}


def _check_moving(policy: hlmc.Policy, offsets: tuple[int, ...]) -> None:
    blocks = Blocks(policy, 5)
    live = policy.arms
    for plan in (_LEAVE, _LATER, {0: [(2, -1)], 1: [(-1, 0)]}):
        while not blocks.begins:
            blocks.play()
        assert (blocks.weights(0)[1][:live] > 0.0).all()
        start, before = int(blocks.row[TIME]), live
        counts = []
        for after, changes in plan.items():
            for more, arm in changes:
                live += more
                blocks.changes.setdefault(start + after, []).append((live, arm))
                counts.append((after, live))
        for steps in offsets:
            there = [before, *(live for after, live in counts if after < steps)][-1]
            known = min([before, *(live for after, live in counts if after < steps)])
            total, likely = blocks.weights(steps)
            assert total[:known] == pytest.approx(np.ones(known), abs=1e-4), (start, steps)
            assert (likely[:known] > 0.0).all()
            # An arm that has joined since has its chance in a group that was there, and none in a new one.
            assert all(abs(x) < 1e-4 or abs(x - 1.0) < 1e-4 for x in total[known:there])
            assert (total[there:] == 0.0).all()
        while int(blocks.row[TIME]) <= start + max(plan):
            blocks.play()


@pytest.mark.slow
@pytest.mark.parametrize("policy", MOVING, ids=repr)
def test_weights_where_arms_come_and_go(policy: hlmc.Policy) -> None:
    """A group that is played loses its last arm: the neighbour that is played instead has its own weight already."""
    length = policy.plan.levels[0].length
    _check_moving(policy, tuple({min(each, length - 1) for each in (1, 2, 3, 4)}))


def test_a_group_that_vanishes_weighs_nothing() -> None:
    arms = hlmc.Arms(4)
    arms.add("a", "b", "c", "d")
    policy = hlmc.HLMC(arms=4, groups=(2, 2), horizon=80, epochs=(4, 20), pending=8)
    for seed in range(8):
        names = arms.copy()
        learner = policy.start(seed=seed, arms=names)
        first = learner.ask()
        names.remove("d")
        names.remove("c")
        ticket = learner.ask()
        moved = first.arm in ("c", "d")
        assert (ticket.propensity == math.inf) is moved
        assert moved or ticket.propensity == pytest.approx(0.5 * ticket.probability)
        while learner.time < 20:
            assert (learner.ask().propensity == math.inf) is moved
        assert learner.ask().propensity <= 1.0


@pytest.mark.statistical
@pytest.mark.parametrize("policy", [*QUICK, SLOW[20], MOVING[3]], ids=repr)
def test_ways_come_as_often_as_numbers_drawn_at_random_lead_to_them(policy: hlmc.Policy) -> None:
    """The enumeration, and what learners say of it, against draws, which divide no intervals: at three beginnings of a
    block, 1000 decisions each.

    Under a new seed a count is 5.5 standard deviations off with a probability of about 1e-7; there are 600 of them.
    """

    def check(seen: Counter, shares: Mapping) -> None:
        assert set(seen) <= set(shares)
        for way, share in shares.items():
            assert abs(seen[way] - draws * share) < 5.5 * math.sqrt(draws * share * (1.0 - share)) + 1.0

    blocks = Blocks(policy, 9)
    draws, found = 1000, 0
    while found < 3:
        if blocks.begins and int(blocks.row[TIME]) > 0:
            found += 1
            ways: dict[bytes, float] = {}
            for share, row, _ in blocks.all.ways(blocks.row):
                ways[row.tobytes()] = ways.get(row.tobytes(), 0.0) + share
            drawn = [blocks.all.ask(blocks.row, blocks.draw()) for _ in range(draws)]
            check(Counter(row.tobytes() for row, _ in drawn), ways)
            check(Counter(ticket.arm for _, ticket in drawn), Learner(policy, blocks.row).distribution())
        blocks.play()


def test_who_has_full_support() -> None:
    """Where every arm has a chance at the first decision, and where not."""
    for policy in EXAMPLES:
        counts = any(routine.name in ("ucb1", "thompson") for routine in policy.routines_used)
        assert policy.full_support is not (counts or type(policy).__name__ in ("UCBM", "EXP3M"))
    some = hlmc.UCB1(arms=3), hlmc.UCBM(arms=5, memory=3), hlmc.EXP3M(arms=5, memory=3)
    for policy in (replace(each, pending=8) for each in some):
        blocks = Blocks(policy, 1)
        blocks.play()
        assert (blocks.weights(0)[1] == 0.0).any()


@pytest.mark.parametrize("policy", [*QUICK, SLOW[20], hlmc.EXP3M(arms=5, memory=3, pending=8)], ids=repr)
def test_decisions_of_a_block_share_the_choice_of_the_top_level(policy: hlmc.Policy) -> None:
    learner = policy.start(seed=1)
    blocks = set()
    for t in range(min(60, policy.limit or 60)):
        ticket = learner.ask()
        learner.tell(ticket, _paid(t, ticket.arm))
        if policy.structure.name == "block rotation":
            assert ticket.block == int(learner.state[BEGAN])
        else:
            assert ticket.block == t - t % policy.plan.levels[0].length
        blocks.add(ticket.block)
    assert len(blocks) > 1


@pytest.mark.statistical
@pytest.mark.parametrize("policy", [*QUICK[1::2], hlmc.HLMC(arms=100, memory=20, horizon=400, pending=8)], ids=repr)
def test_the_mean_weight_of_a_log_is_one(policy: hlmc.Policy) -> None:
    """Of 3000 learners, each with the mean of its weights 1 / (K q). Their mean is 5.5 standard deviations off with a
    probability below 1e-6, in so far as it is normal."""
    fleet = policy.fleet(size=3000, seed=4)
    sums = np.zeros(3000)
    steps = 60
    for t in range(steps):
        tickets = fleet.ask()
        sums += 1.0 / (policy.arms * tickets["propensity"])
        fleet.tell(tickets, [_paid(t, arm) for arm in tickets["arm"].tolist()])
    means = sums / steps
    assert abs(means.mean() - 1.0) < 5.5 * means.std() / math.sqrt(3000.0)
    assert means.std() / math.sqrt(3000.0) < 0.05
