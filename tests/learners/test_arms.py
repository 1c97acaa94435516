"""What learners make of arms that come and go: the words of every routine, rows of every structure, newcomers."""

import copy
import math
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest

import hlmc
from driving import named
from hlmc.engine.layout import AT, CHILD, CONTROL, FIELDS, IDLE, KEY, PARAMETERS, SCALARS, SIZE, UNTIL
from hlmc.engine.permutation import permuted
from hlmc.engine.structures.champion import CHALLENGE, CRISIS, DOUBT, EVEN, PLACE
from hlmc.errors import OutOfTurn
from hlmc.learners import gate
from hlmc.learners.arms import NamedLearner
from hlmc.testing import check_policy

T = 2000
FLAT = (
    hlmc.EXP3(arms=12, horizon=T),
    hlmc.EXP3Loss(arms=12, horizon=T, eta=0.3),
    hlmc.EXP3IX(arms=12, horizon=T),
    hlmc.EXP3S(arms=12, horizon=T, switches=3),
    hlmc.EXP3P(arms=12, horizon=T),
    hlmc.TsallisINF(arms=12),
    hlmc.TsallisINF(arms=12, estimator="importance-weighted"),
)
DEEP = (
    hlmc.HLMC(arms=17, groups=(4, 5), horizon=T, epochs=(200, 10)),
    hlmc.HLMC(arms=31, levels=5, horizon=T, routines=("exp3s", "ucb1", "exp3-loss", "tsallis-inf", "exp3p")),
    hlmc.HLMC(arms=23, levels=2, switches="unknown"),
    hlmc.HLMC(arms=27, levels=3, routines="ucb1"),
    hlmc.Champion(arms=30, memory=12, horizon=T),
    hlmc.Champion(arms=100, memory=14, horizon=T, switches=2),
    hlmc.Champion(arms=23),
)
OTHERS = (hlmc.UCB1(arms=12), hlmc.Uniform(arms=12), hlmc.Champion(arms=9, memory=9))


def play(learner: NamedLearner, steps: int, seed: int = 0) -> None:
    dice = random.Random(seed)
    for _ in range(steps):
        name = learner.select()
        learner.update(float(dice.random() < (name % 7 + 1) / 9))


def sound(learner: hlmc.Learner) -> bool:
    return gate.first_unsound(learner.policy, learner.state[None, :].copy()) == 1


# --- What a routine makes of a change, by the plain reading of its words


def weights(learner: NamedLearner, n: int) -> list[float]:
    """What the probabilities of n arms are proportional to, but for uniform exploration."""
    row, program = learner.state, learner.policy.program
    at, control = int(program[FIELDS + AT]), int(program[FIELDS + CONTROL])
    words = [float(w) for w in row[at : at + n]]
    second = float(row[control + SCALARS + 1])
    if isinstance(learner.policy, hlmc.EXP3S):
        return [v + second for v in words]
    if isinstance(learner.policy, hlmc.EXP3P):
        return [math.exp(program[FIELDS + PARAMETERS] * (g - max(words))) for g in words]
    if follow(learner):
        losses = [0.0, *words[: n - 1]]
        low, high = min(losses) - 3 * math.sqrt(n) / second, min(losses) - 1e-9
        for _ in range(200):
            x = (low + high) / 2
            low, high = (x, high) if sum(4 / (second * (v - x)) ** 2 for v in losses) < 1 else (low, x)
        return [4 / (second * (v - low)) ** 2 for v in losses]
    return [w if w > 0 else math.exp(w) for w in words]


def losses(learner: NamedLearner, n: int) -> list[float]:
    at = int(learner.policy.program[FIELDS + AT])
    return [0.0, *(float(w) for w in learner.state[at : at + n - 1])]


def follow(learner: NamedLearner) -> bool:
    return isinstance(learner.policy, hlmc.TsallisINF)


def shares(values: list[float]) -> list[float]:
    total = sum(values)
    return [value / total for value in values]


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", FLAT, ids=repr)
def test_a_newcomer_has_an_even_share_and_the_others_keep_theirs(policy: hlmc.Policy) -> None:
    learner = named(policy, 7)
    play(learner, 150)
    before, lost = weights(learner, 7), losses(learner, 7)
    learner.arms.add(100)
    after = weights(learner, 8)
    assert max(shares(before)) > 1.2 / 7  # it has learned something
    assert shares(after)[7] == pytest.approx(1 / 8, rel=1e-6)
    if follow(learner):
        assert losses(learner, 8)[:7] == lost
    else:
        assert shares(after[:7]) == pytest.approx(shares(before), rel=1e-6)
    learner.arms.add(101, 102, 103)
    assert shares(weights(learner, 11))[8:] == pytest.approx([1 / 11] * 3, rel=1e-6)
    assert sound(learner)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", FLAT, ids=repr)
@pytest.mark.parametrize("gone", [0, 3, 6])
def test_the_last_arm_takes_the_place_of_one_that_leaves_and_brings_what_is_known(
    policy: hlmc.Policy, gone: int
) -> None:
    learner = named(policy, 7)
    play(learner, 150)
    known = losses(learner, 7) if follow(learner) else weights(learner, 7)
    learner.arms.remove(gone)
    assert [learner.arms._places[name] for name in learner.arms] == [
        6 if n == 99 else (gone if n == 6 else n) for n in range(7) if n != gone
    ]
    expected = [known[learner.arms._names[slot]] for slot in range(6)]
    if follow(learner):
        assert losses(learner, 6) == pytest.approx([v - expected[0] for v in expected], abs=1e-9)
        assert sum(weights(learner, 6)) == pytest.approx(1.0, rel=1e-6)
    else:
        assert shares(weights(learner, 6)) == pytest.approx(shares(expected), rel=1e-6)
    assert sound(learner)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", FLAT, ids=repr)
@pytest.mark.parametrize("name", [0, 2, 6])
def test_what_is_known_of_one_arm_can_be_forgotten(policy: hlmc.Policy, name: int) -> None:
    learner = named(policy, 7)
    play(learner, 150)
    before, lost = weights(learner, 7), losses(learner, 7)
    learner.arms.forget(name)
    others = [j for j in range(7) if j != name]
    after = weights(learner, 7)
    assert shares(after)[name] == pytest.approx(1 / 7, rel=1e-6)
    if follow(learner):
        now = losses(learner, 7)
        assert [now[j] - now[others[0]] for j in others] == pytest.approx([lost[j] - lost[others[0]] for j in others])
    else:
        assert shares([after[j] for j in others]) == pytest.approx(shares([before[j] for j in others]), rel=1e-6)
    assert sound(learner)


@pytest.mark.interpreted
def test_a_newcomer_of_ucb1_has_been_played_once_and_paid_1() -> None:
    learner = named(hlmc.UCB1(arms=12), 5)
    play(learner, 40)
    at = int(learner.policy.program[FIELDS + AT])
    sums, counts = learner.state[at : at + 5].copy(), learner.state[at + 5 : at + 10].copy()
    learner.arms.add(50)
    assert learner.state[at : at + 6].tolist() == [*sums, 1.0]
    assert learner.state[at + 6 : at + 12].tolist() == [*counts, 1.0]
    learner.arms.remove(1)
    assert learner.state[at : at + 5].tolist() == [sums[0], 1.0, *sums[2:]]
    assert learner.state[at + 5 : at + 10].tolist() == [counts[0], 1.0, *counts[2:]]


@pytest.mark.interpreted
def test_a_new_group_is_a_fresh_child_of_the_level_above() -> None:
    policy = hlmc.HLMC(arms=40, groups=(10, 4), horizon=T, epochs=(400, 5))
    learner = named(policy, 12)  # three groups of four
    play(learner, 100)
    at = int(learner.policy.program[FIELDS + AT])
    before = learner.state[at : at + 3].copy()
    learner.arms.add(100)
    after = learner.state[at : at + 4].copy()
    assert after[:3].tolist() == before.tolist()
    assert after[3] == pytest.approx(before.mean(), rel=1e-9)
    learner.arms.remove(100)
    assert learner.state[at : at + 3].tolist() == before.tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize("routine", ["exp3", "exp3s", "exp3p", "exp3-loss", "tsallis-inf"])
def test_a_group_that_an_arm_joins_has_at_least_the_share_of_a_fresh_one(routine: str) -> None:
    policy = hlmc.HLMC(arms=40, groups=(10, 4), horizon=T, epochs=(400, 5), routines=(routine, "uniform"))
    flat = {"exp3": hlmc.EXP3, "exp3s": hlmc.EXP3S, "exp3p": hlmc.EXP3P, "exp3-loss": hlmc.EXP3Loss}
    for good in (0, 9):  # of the three groups {0, ..., 3}, {4, ..., 7} and {8, 9}
        learner = named(policy, 10, seed=3)
        for _ in range(400):
            learner.update(0.9 if learner.select() // 4 == good // 4 else 0.1)
        shown = copy.copy(learner)
        like = flat[routine](40, T) if routine in flat else hlmc.TsallisINF(40)
        shown._policy = _Like(learner.policy, type(like))  # type: ignore[assignment]
        before = shares(weights(shown, 3))
        learner.arms.add(100)
        shown._row[:] = learner.state
        after = shares(weights(shown, 3))
        if good == 9:
            assert before[2] > 1 / 3
            assert after == pytest.approx(before, rel=1e-9)
        else:
            assert before[2] < 1 / 3
            assert after[2] == pytest.approx(1 / 3, rel=1e-6)
        assert sound(learner)


class _Like:
    """A policy's program, to be read as that of a flat one."""

    def __new__(cls, policy: hlmc.Policy, kind: type[hlmc.Policy]) -> hlmc.Policy:
        other = object.__new__(kind)
        object.__setattr__(other, "program", policy.program)
        return other


@pytest.mark.interpreted
@pytest.mark.parametrize("switches", [None, 2])
def test_the_next_challenges_of_a_champion_go_to_the_groups_that_have_newcomers(switches: int | None) -> None:
    """Also where one group stands above the others, which are forgotten now and then."""
    policy = hlmc.Champion(arms=60, memory=20, horizon=20_000, switches=switches)
    learner = named(policy, 20, seed=1)
    groups = FIELDS * (len(policy.groups_used) - 1)
    epoch, size = policy.plan.lengths[-2], int(policy.program[groups + SIZE])
    control = int(learner.policy.program[groups + CONTROL])
    for _ in range(40 * epoch):
        learner.update(0.9 if learner.select() == 3 else 0.1)
    assert learner.arms._names[int(learner.state[PLACE])] == 3
    learner.arms.add(*range(20, 20 + 2 * size))
    wanted = sorted({name // size for name in range(20, 20 + 2 * size)})
    assert learner.state[CRISIS] == 2 + len(wanted)
    challenged, epochs = [], 0
    while learner.state[CRISIS] > 2:
        for t in range(epoch):
            learner.update(0.9 if learner.select() == 3 else 0.1)
            if t == 0 and learner.state[CHALLENGE] > 0:
                assert learner.state[CHALLENGE] == 1
                challenged.append(int(learner.state[control + CHILD]))
        epochs += 1
    assert challenged == wanted
    assert epochs <= len(wanted) + 3  # of sixteen challenges that are due, about one comes later
    assert learner.arms._names[int(learner.state[PLACE])] == 3
    assert learner.state[CRISIS] <= 2


# --- All structures


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [*FLAT[::2], *DEEP, *OTHERS], ids=repr)
@pytest.mark.parametrize("pending", [0, 32])
def test_every_row_that_changes_lead_to_is_sound_and_plays_arms_that_are_there(
    policy: hlmc.Policy, pending: int
) -> None:
    """Against a plain list of names; with few and with many changes."""
    for seed, rate in ((1, 0.03), (2, 0.4)):
        dice = random.Random(seed)
        stats = int(replace(policy, pending=pending, dynamic=True).program[FIELDS + AT])
        learner = named(replace(policy, pending=pending), dice.randint(1, policy.arms), seed)
        there, paused, told, fresh = list(learner.arms), [], [], 1000
        called = {name: name for name in there}  # what an arm was called at first, by what it is called now
        gone: set[int] = set()  # those of which everything known was lost since; what comes back is another one
        for _ in range(150):
            if dice.random() < rate:
                kind = dice.choice(("add", "remove", "pause", "resume", "forget", "rename"))
                if kind == "add" and len(there) + len(paused) < policy.arms:
                    learner.arms.add(fresh)
                    there.append(fresh)
                    called[fresh] = fresh
                    fresh += 1
                elif kind in ("remove", "pause") and there:
                    name = there.pop(dice.randrange(len(there)))
                    getattr(learner.arms, kind)(name)
                    gone.add(called.pop(name))
                    paused += [name] if kind == "pause" else []
                elif kind == "resume" and paused:
                    there.append(paused.pop())
                    learner.arms.resume(there[-1])
                    called[there[-1]] = -fresh
                    fresh += 1
                elif kind == "forget" and there:
                    name = dice.choice(there)
                    learner.arms.forget(name)
                    gone.add(called[name])
                    called[name] = -fresh
                    fresh += 1
                elif kind == "rename" and there:
                    name = there.pop(dice.randrange(len(there)))
                    learner.arms.rename(name, fresh)
                    there.append(fresh)
                    called[fresh] = called.pop(name)
                    fresh += 1
                assert sound(learner)
                assert sorted(learner.arms) == sorted(there + paused)
            if not there:
                with pytest.raises(OutOfTurn, match="there is no arm to play"):
                    learner.select()
                learner.arms.add(fresh)
                there.append(fresh)
                called[fresh] = fresh
                fresh += 1
            if pending and dice.random() < 0.7:
                ticket = learner.ask()
                assert ticket.arm in there
                told.append((called[ticket.arm], ticket))
                if dice.random() < 0.7:
                    arm, ticket = told.pop(dice.randrange(len(told)))
                    words = learner.state[stats:].tobytes()
                    answer = learner.tell(ticket, dice.random())
                    assert arm not in gone or (answer == "expired" and learner.state[stats:].tobytes() == words)
            else:
                assert learner.select() in there
                learner.update(dice.random())
            assert sound(learner)
        assert gate.first_unsound(learner.policy, learner.state[None, :].copy()) == 1
        assert learner.copy() == learner == pickle.loads(pickle.dumps(learner)) == copy.deepcopy(learner)


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [*FLAT[::2], *DEEP[:4], OTHERS[0]], ids=repr)
def test_with_all_arms_there_it_plays_as_it_would_without_names(policy: hlmc.Policy) -> None:
    learner, plain = named(policy, policy.arms, seed=4), policy.start(seed=4)
    for t in range(200):
        assert learner.select() == plain.select()
        learner.update(t % 3 / 2)
        plain.update(t % 3 / 2)
    assert learner.policy.words.total == policy.words.total + 1
    row = learner.state
    assert (
        np.delete(row, int(learner.policy.program[IDLE]))[KEY:].tobytes()[: 8 * UNTIL]
        == plain.state.tobytes()[: 8 * UNTIL]
    )


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [DEEP[0], DEEP[4], FLAT[5]], ids=repr)
def test_a_policy_whose_arms_may_come_and_go_conforms(policy: hlmc.Policy) -> None:
    check_policy(replace(policy, dynamic=True))
    assert "arms may come and go: a bound is for arms that stay" in str(replace(policy, dynamic=True).plan)


@pytest.mark.interpreted
def test_a_champion_of_named_arms_plays_the_places_that_it_would_play_without() -> None:
    policy = hlmc.Champion(arms=30, memory=12, horizon=T)
    learner, plain = named(policy, 30, seed=4), policy.start(seed=4)
    key = plain.state.view(np.uint64)[KEY]
    with np.errstate(over="ignore"):
        order = [int(permuted(key, 30, place)) for place in range(30)]
    for t in range(300):
        assert order[learner.select()] == plain.select()
        learner.update(t % 3 / 2)
        plain.update(t % 3 / 2)


@pytest.mark.interpreted
def test_a_champion_that_is_removed_abdicates_and_one_that_is_moved_stays() -> None:
    learner = named(hlmc.Champion(arms=49, memory=14, horizon=3000), 49, seed=1)
    good = 48
    for _ in range(2000):
        name = learner.select()
        learner.update(0.95 if name == good else 0.1)
    assert learner.arms._names[int(learner.state[PLACE])] == good
    assert learner.state[DOUBT] < EVEN
    doubt, champion = learner.state[DOUBT], learner.arms._names[int(learner.state[PLACE])]
    learner.arms.remove(7)  # the last arm moves there
    assert learner.arms._names[int(learner.state[PLACE])] == champion
    assert learner.state[DOUBT] == doubt
    learner.arms.remove(champion)
    assert learner.state[DOUBT] == EVEN
    assert sound(learner)
    for _ in range(50):
        assert learner.select() not in (7, champion)
        learner.update(0.1)


@pytest.mark.interpreted
def test_a_group_that_loses_its_last_arm_gives_way_to_its_neighbour() -> None:
    policy = hlmc.HLMC(arms=40, groups=(10, 4), horizon=T, epochs=(20, 100), routines="uniform")
    for seed in range(50):
        learner = named(policy, 5, seed)  # groups {0, 1, 2, 3} and {4}
        learner.update(float(learner.select()) / 4)
        control = int(learner.policy.program[FIELDS + CONTROL])
        if learner.state[control + CHILD] == 1:
            learner.arms.remove(4)
            assert learner.state[control + CHILD] == 0
            assert sound(learner)
            assert learner.select() in range(4)
            return
    raise AssertionError("no seed has led to the second group")


# --- Newcomers are found


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("policy", "least"),
    [
        (hlmc.TsallisINF(arms=60), 0.85),
        (hlmc.EXP3(arms=60, horizon=60_000), 0.75),
        (hlmc.Champion(arms=60, memory=20, horizon=60_000), 0.8),
        (hlmc.UCB1(arms=60), 0.75),
        (hlmc.HLMC(arms=60, memory=20, horizon=60_000, routines="tsallis-inf"), 0.55),
    ],
    ids=repr,
)
def test_an_arm_that_comes_at_half_time_is_found(policy: hlmc.Policy, least: float) -> None:
    """Fixed seed. Forty arms of mean 0.1 to 0.5; ten more come at half time, one of them of mean 0.95.

    Without it the mean reward could not pass 0.5. The last fifth of the time is looked at. With a new seed, the mean of
    12,000 rewards deviates by 0.025 with probability 2 exp(-2 12,000 0.025^2) = 6e-7; the margins are twice that.
    """
    dice = np.random.default_rng(1)
    means = {name: 0.1 + 0.4 * (name * 7 % 40) / 39 for name in range(40)} | dict.fromkeys(range(40, 50), 0.3)
    means[46] = 0.95
    learner, steps = named(policy, 40, seed=2), 60_000
    coins, earned = dice.random(steps), 0.0
    for t in range(steps):
        if t == steps // 2:
            learner.arms.add(*range(40, 50))
        reward = float(coins[t] < means[learner.select()])
        learner.update(reward)
        if t >= steps - steps // 5:
            earned += reward
    assert earned / (steps // 5) > least
