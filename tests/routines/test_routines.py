"""EXP3, EXP3.P, EXP3.S and UCB1 over all arms, against plain readings of Algorithms 2-4."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import hlmc
from driving import follow, rewards
from hlmc import routines
from hlmc.engine import ucb
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.routines import ucb1
from reference import (
    EXP3,
    EXP3P,
    EXP3S,
    UCB1,
    Doubling,
    Hierarchy,
    LossEXP3,
    Uniform,
    exp3,
    exp3p,
    exp3s,
    flat,
)
from reference_losses import Tsallis

# Over 512 arms weights lie in a tree, up to that in a plain run of words; 8 is where a block of the scan ends.
ARMS = [1, 2, 3, 7, 8, 9, 100, 512, 513, 700]


KINDS = [pytest.param("mixed", marks=pytest.mark.interpreted), "bits", "ones"]


def steps(arms: int) -> int:
    return 30 if arms > 100 else 200


@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("kind", KINDS)
def test_exp3_is_algorithm_2(arms: int, kind: str) -> None:
    T = steps(arms)
    for horizon, gamma in ((T, None), (100 * T, None), (T, 0.4), (T, 1.0), (T, 1e-6)):
        maker = exp3(arms, horizon) if gamma is None else lambda n, g=gamma: EXP3(n, g)
        follow(hlmc.EXP3(arms, horizon, gamma), flat(arms, horizon, maker), T, rewards(arms, kind), seed=arms)


@pytest.mark.parametrize("arms", [1, 2, 3, 9, 100, 600])
@pytest.mark.parametrize("kind", KINDS)
def test_exp3p_is_algorithm_3(arms: int, kind: str) -> None:
    T = steps(arms)
    for horizon, delta in ((T, 0.05), (100 * T, 1e-6)):
        maker = exp3p(arms, horizon, math.log(arms / delta))
        follow(hlmc.EXP3P(arms, horizon, delta), flat(arms, horizon, maker), T, rewards(arms, kind), seed=arms)
    policy = hlmc.EXP3P(arms, T, eta=0.02, gamma=0.3, beta=0.1)
    follow(policy, flat(arms, T, lambda n: EXP3P(n, 0.02, 0.3, 0.1)), T, rewards(arms, kind), seed=arms)


@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("kind", KINDS)
def test_exp3s_is_algorithm_4(arms: int, kind: str) -> None:
    T = steps(arms)
    for horizon, switches in ((T, 1), (100 * T, 7)):
        maker = exp3s(arms, horizon, switches)
        follow(hlmc.EXP3S(arms, horizon, switches), flat(arms, horizon, maker), T, rewards(arms, kind), seed=arms)
    for gamma, alpha in ((0.3, 0.01), (1.0, 0.9), (0.01, 1e-9), (1e-6, 1e-3)):
        policy = hlmc.EXP3S(arms, T, gamma=gamma, alpha=alpha)
        reference = flat(arms, T, lambda n, g=gamma, a=alpha: EXP3S(n, g, a))
        follow(policy, reference, T, rewards(arms, kind), seed=arms)


@pytest.mark.parametrize("arms", [2, 3, 9, 100, 600])
@pytest.mark.parametrize("kind", KINDS)
def test_exp3_on_losses_and_exp3_ix(arms: int, kind: str) -> None:
    T = steps(arms)
    for horizon in (T, 100 * T):
        eta = math.sqrt(2 * math.log(arms) / (arms * horizon))
        policy = hlmc.HLMC(arms, levels=1, horizon=horizon, routines="exp3-loss")
        reference = flat(arms, horizon, lambda n, eta=eta: LossEXP3(n, eta))
        follow(policy, reference, T, rewards(arms, kind), seed=arms)
        eta = math.sqrt(2 * math.log(arms + 1) / (arms * horizon))
        policy = hlmc.HLMC(arms, levels=1, horizon=horizon, routines="exp3-ix")
        reference = flat(arms, horizon, lambda n, eta=eta: LossEXP3(n, eta, eta / 2))
        follow(policy, reference, T, rewards(arms, kind), seed=arms)


@pytest.mark.parametrize("arms", [2, 3, 9, 100])
@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("reduced", [False, True])
def test_tsallis_inf(arms: int, kind: str, reduced: bool) -> None:
    T = steps(arms) // 2
    routine = routines.TsallisINF(estimator="reduced-variance" if reduced else "importance-weighted")
    policy = hlmc.HLMC(arms, levels=1, horizon=T, routines=routine)
    follow(policy, flat(arms, T, lambda n: Tsallis(n, reduced)), T, rewards(arms, kind), seed=arms)


@pytest.mark.parametrize("arms", [1, 2, 3, 20, 300])
@pytest.mark.parametrize("ties", ["random", "first", "last"])
@pytest.mark.parametrize("kind", KINDS)
def test_ucb1(arms: int, ties: str, kind: str) -> None:
    T = arms + 100
    follow(hlmc.UCB1(arms, ties), flat(arms, T, lambda n: UCB1(n, ties)), T, rewards(arms, kind), seed=arms)


@pytest.mark.parametrize("arms", [1, 2, 17])
def test_uniform(arms: int) -> None:
    follow(hlmc.Uniform(arms), flat(arms, 100, Uniform), 100, rewards(arms))


@pytest.mark.parametrize(
    ("policy", "maker"),
    [
        (hlmc.EXP3(5, None), lambda T: exp3(5, T)),
        (hlmc.EXP3P(5, None, delta=0.1), lambda T: exp3p(5, T, math.log(5 / 0.1))),
        (hlmc.EXP3S(5, None, 3), lambda T: exp3s(5, T, 3)),
        (hlmc.EXP3S(5, None), lambda T: exp3s(5, T, 1)),
    ],
    ids=lambda value: repr(value) if isinstance(value, hlmc.Policy) else "reading",
)
def test_an_unknown_horizon_is_met_in_stages_that_double(
    policy: hlmc.Policy, maker: Callable[[int], Callable[[int], EXP3]]
) -> None:
    def stage(T: int) -> Hierarchy:
        return flat(5, T, maker(T))

    follow(policy, Doubling(stage), 600, rewards(1))


def test_the_share_of_exp3s_goes_to_every_arm() -> None:
    """Algorithm 4 by hand: two arms, one step."""
    gamma, alpha = 0.2, 0.25
    policy = hlmc.EXP3S(arms=2, horizon=10, gamma=gamma, alpha=alpha)
    learner = policy.start(seed=3)
    first = learner.select()
    assert learner.probability == 0.5
    learner.update(1.0)
    share = math.e * alpha / 2 * 2
    played, other = math.exp(gamma / 0.5 / 2) + share, 1.0 + share
    expected = {first: played, 1 - first: other}
    arm = learner.select()
    assert learner.probability == pytest.approx((1 - gamma) * expected[arm] / (played + other) + gamma / 2, rel=1e-12)


def ucb1_program(rule: float) -> np.ndarray:
    """A program of UCB1's own number: how ties are broken."""
    program = np.zeros(PARAMETERS + 1)
    program[PARAMETERS] = rule
    return program


def ucb1_notes(n: int) -> np.ndarray:
    """Words for UCB1's notes on n slots. The last one is a guard."""
    noted = routines.UCB1.kernels.noted
    assert noted is not None
    return np.full(noted.per_slot * n + 1, 5.5)


@pytest.mark.interpreted
@pytest.mark.parametrize("rule", [0.0, 1.0, 2.0])
def test_ucb1_with_notes_selects_the_same(rule: float) -> None:
    """Statistics with many ties, exact and all but exact, after any number of steps."""
    rng = np.random.default_rng(int(rule))
    program = ucb1_program(rule)
    close = 0
    for trial in range(400):
        n = int(rng.integers(2, 14))
        # No play: its reward is late.
        played = rng.integers(1 if trial % 7 else 0, 4 if trial % 2 else 1000, n).astype(float)
        earned = np.floor(played * rng.choice([0.0, 0.5, 1.0], n))
        row, notes = np.concatenate([earned, played]), ucb1_notes(n)
        tau, u = n + int(played.sum()), float(rng.random())
        ucb.note_slots(Level(program, 0, row, 0, n), notes)
        plain = ucb1.ucb1_select(Level(program, 0, row, 0, n), 0.0, 0.0, tau, u)
        assert ucb1.ucb1_noted_select(Level(program, 0, row, 0, n), 0.0, 0.0, tau, u, notes)[:2] == plain
        _, highest, second, _ = ucb.highest_two(notes, n, math.sqrt(2.0 * math.log(tau + 1.0)))
        close += second >= highest - ucb.CLEAR * highest
        assert notes[-1] == 5.5
    assert 50 < close < 350


@pytest.mark.interpreted
@pytest.mark.parametrize("rule", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("law", ["nothing", "coins", "halves"])
def test_ucb1_with_notes_plays_the_same(rule: float, law: str) -> None:
    """Step after step, so that leads and ties are noted, stand and fall."""
    rng = np.random.default_rng(int(rule))
    program = ucb1_program(rule)
    ways = {"lead": 0, "tie": 0, "compared": 0}
    for n in (2, 3, 8, 13) * 2:
        row, notes = np.zeros(2 * n), ucb1_notes(n)
        means = rng.random(n)
        ucb.note_slots(Level(program, 0, row, 0, n), notes)
        for tau in range(250):
            u = float(rng.random())
            plain = ucb1.ucb1_select(Level(program, 0, row, 0, n), 0.0, 0.0, tau, u)
            last, before = int(notes[2 * n + ucb.AGAIN]), notes.copy()
            assert ucb1.ucb1_noted_select(Level(program, 0, row, 0, n), 0.0, 0.0, tau, u, notes)[:2] == plain
            slot, chance = plain
            if tau >= n:
                ucb.note_slot(Level(program, 0, row, 0, n), last, before)
                stood = "tie" if ucb.tie_stands(n, last, tau, before) else "compared"
                ways["lead" if ucb.lead_stands(Level(program, 0, row, 0, n), last, before) else stood] += 1
            if law == "nothing":
                reward = 0.0
            elif law == "halves":
                reward = float(rng.choice([0.0, 0.5, 1.0]))
            else:
                reward = float(rng.random() < means[slot])
            ucb1.ucb1_noted_update(Level(program, 0, row, 0, n), 0.0, 0.0, tau, slot, chance, reward, notes)
        assert notes[-1] == 5.5
    assert min(ways["tie"], ways["compared"]) > 50
    assert (ways["lead"] > 50) == (law != "nothing")


@pytest.mark.interpreted
def test_ucb1_is_certain_of_a_lead_only_while_there_is_one() -> None:
    """From any statistics, against rewards that follow the line of :func:`ucb1_note_lead` as low as it allows."""
    rng = np.random.default_rng(3)
    program = ucb1_program(0.0)
    replayed = 0
    for _ in range(150):
        n = int(rng.integers(2, 6))
        played = np.floor(10.0 ** rng.uniform(0.5, 2.5, n))
        row, notes = np.concatenate([np.floor(played * rng.random(n)), played]), ucb1_notes(n)
        tau = int(played.sum())
        ucb.note_slots(Level(program, 0, row, 0, n), notes)
        slot, _, _ = ucb1.ucb1_noted_select(Level(program, 0, row, 0, n), 0.0, 0.0, tau, 0.0, notes)
        while ucb.lead_stands(Level(program, 0, row, 0, n), slot, notes):
            assert ucb1.ucb1_select(Level(program, 0, row, 0, n), 0.0, 0.0, tau, 0.0) == (slot, 1.0)
            least = notes[2 * n + ucb.LEAST] + notes[2 * n + ucb.SLOPE] * (row[n + slot] + 1.0)
            row[slot] += min(max(least - row[slot] + 1e-9, 0.0), 1.0)
            row[n + slot] += 1.0
            tau += 1
            replayed += 1
    assert replayed > 500
