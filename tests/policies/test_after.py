"""``after="continue"``: what a learner does when it has reached its horizon."""

import math
import pickle
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from driving import rewards
from hlmc.engine.layout import BEGAN, CONTINUED, DOUBLING, FIELDS, FOREVER, HORIZON, LEVELS, TIME
from hlmc.errors import BadArgument, OutOfTurn
from hlmc.export.programs import cut
from hlmc.learners import Learner
from hlmc.policies import EXAMPLES
from hlmc.policies.description import described

T = 60
CONTINUING = (
    hlmc.HLMC(arms=23, levels=2, horizon=T, after="continue"),
    hlmc.HLMC(arms=23, levels=3, horizon=T, routines="tsallis-inf", bits=12, after="continue"),
    hlmc.HLMC(arms=23, groups=(5, 5), horizon=T, epochs=(6, 11), after="continue"),
    hlmc.HLMC(arms=23, levels=2, horizon=T, dynamic=True, after="continue"),
    hlmc.Champion(arms=29, memory=12, horizon=T, after="continue"),
    hlmc.Champion(arms=29, memory=12, horizon=T, switches=2, bits=12, after="continue"),
    hlmc.EXP3(arms=10, horizon=T, after="continue"),
    hlmc.EXP3S(arms=10, horizon=T, switches=2, after="continue"),
    hlmc.EXP3P(arms=10, horizon=T, after="continue"),
    hlmc.Uniform(arms=10, horizon=T, after="continue"),
    hlmc.TsallisINF(arms=10, horizon=T, after="continue"),
    hlmc.TsallisINF(arms=10, horizon=T, bits=12, after="continue"),
)


def played(learner: Learner, steps: int, seed: int = 0) -> list[int]:
    """The arms of so many steps."""
    arms = []
    for _, reward in zip(range(steps), rewards(seed), strict=False):
        arms.append(learner.select())
        learner.update(reward)
    return arms


# --- The argument


def test_without_a_horizon_there_is_nothing_after_it() -> None:
    for make in (hlmc.UCB1, hlmc.EpsilonGreedy, hlmc.Thompson, hlmc.Champion, hlmc.TsallisINF):
        with pytest.raises(BadArgument, match='after must be "stop" without a horizon'):
            make(arms=9, after="continue")  # type: ignore[operator]
    for rotating in (hlmc.UCBM, hlmc.EXP3M):
        with pytest.raises(BadArgument, match='after must be "stop" without a horizon'):
            rotating(arms=9, memory=4, after="continue")
    with pytest.raises(BadArgument, match=r"after must be .*, not 'go'"):
        hlmc.EXP3(arms=9, horizon=10, after="go")


def test_stop_is_what_it_was() -> None:
    """Said or not, it is the same policy, with the same description in a file; steps past the horizon are refused."""
    said, plain = hlmc.HLMC(9, 6, horizon=20, after="stop"), hlmc.HLMC(9, 6, horizon=20)
    assert said == plain
    assert repr(said) == repr(plain)
    assert b"after" not in described(plain)
    assert plain.limit == 20
    learner = plain.start()
    played(learner, 20)
    with pytest.raises(OutOfTurn, match="the horizon of 20 steps has been reached"):
        learner.select()
    with pytest.raises(BadArgument, match=r'made for 20 steps, .* with after="continue" it goes on'):
        hlmc.simulate(plain, hlmc.adversaries.Bernoulli([0.5] * 9), horizon=21, runs=1, progress=False)


@pytest.mark.parametrize("policy", CONTINUING, ids=repr)
def test_it_is_an_argument_like_others(policy: hlmc.Policy) -> None:
    assert policy.limit is None
    assert policy != replace(policy, after="stop")
    assert "after='continue'" in repr(policy)
    assert eval(repr(policy), vars(hlmc).copy() | {type(policy).__name__: type(policy)}) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy


# --- The steps


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", CONTINUING, ids=repr)
def test_until_the_horizon_nothing_is_different(policy: hlmc.Policy) -> None:
    stopping, going = replace(policy, after="stop").start(3), policy.start(3)
    for reward, _ in zip(rewards(1), range(T), strict=False):
        assert stopping.select() == going.select()
        stopping.update(reward)
        going.update(reward)
        mine, other = going.state.copy(), stopping.state.copy()
        if isinstance(policy, hlmc.TsallisINF | hlmc.Uniform):  # it has no stages, and no end
            mine[5] = other[5] = 0.0
        assert mine.tobytes() == other.tobytes()
    going.select()
    assert going.time == T


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", [p for p in CONTINUING if p.program[DOUBLING] == CONTINUED], ids=repr)
def test_stages_begin_where_they_should_and_have_the_plan_of_their_length(policy: Any) -> None:
    """After T steps one of 2 T begins, and so on; each has the records of a policy for so many steps."""
    levels = int(policy.program[LEVELS])
    records = policy.program.reshape(-1, FIELDS)[1:]
    learner = policy.start(1)
    pay = rewards(0)
    for stage in range(4):
        length = T << stage
        epochs = {} if getattr(policy, "epochs", None) is None else {"epochs": None}
        alone = replace(policy, after="stop", horizon=length, **epochs)
        if epochs:
            assert policy.epochs_used(length) == (-(-length // 11), 11)
        else:
            np.testing.assert_array_equal(
                records[stage * levels : (stage + 1) * levels], alone.program.reshape(-1, FIELDS)[1:]
            )
        assert learner.time == T * (2**stage - 1)
        learner.select()
        assert learner.state[BEGAN] == learner.time  # the arms' level began afresh
        for _ in range(length):
            learner.select()
            learner.update(next(pay))
    end = int(policy.program[HORIZON])
    assert end == T * (2 ** (len(records) // levels) - 1) <= FOREVER < T * (2 ** (len(records) // levels + 1) - 1)


def test_a_policy_that_needs_no_horizon_goes_on_as_it_is() -> None:
    told, free = hlmc.TsallisINF(arms=10, horizon=T, after="continue"), hlmc.TsallisINF(arms=10)
    assert told.program.tobytes() == free.program.tobytes()
    assert played(told.start(2), 5 * T) == played(free.start(2), 5 * T)
    assert told.bound(7 * T) == free.bound(7 * T)
    assert "stages" not in told.guarantee.proved


@pytest.mark.parametrize("horizon", [2**52, 2**52 - 1, 2**53 - 1, 3])
def test_horizons_of_any_length(horizon: int) -> None:
    policy = hlmc.EXP3(arms=3, horizon=horizon, after="continue")
    assert horizon <= int(policy.program[HORIZON]) <= FOREVER
    learner = policy.start(0)
    played(learner, 40)
    assert Learner(policy, learner.state) == learner


# --- Everywhere


@pytest.mark.parametrize("policy", CONTINUING, ids=repr)
def test_simulated_runs_are_those_by_hand(policy: hlmc.Policy) -> None:
    """One by one and side by side, past three horizons."""
    adversary = hlmc.adversaries.Alternating(arms=policy.arms, memory=5)
    steps = 3 * T + 20
    few, many = (
        hlmc.simulate({"it": policy}, adversary, horizon=steps, runs=runs, points=steps, seed=4, progress=False)
        for runs in (2, 40)
    )
    np.testing.assert_array_equal(few.data["reward"], many.data["reward"][:, :2])
    arms, paid = hlmc.trace(policy, adversary, steps, seed=hlmc.derive_seed(4, "it"), stream=1)
    learner = policy.start(hlmc.derive_seed(4, "it"), 1)
    for t in range(steps):
        arm = learner.select()
        assert (arm, adversary.reward(t, arm)) == (arms[t], paid[t])
        learner.update(paid[t])
    assert few.data["reward"].sel(policy="it", run=1).values[-1] == pytest.approx(paid.sum(), rel=1e-12)


@pytest.mark.parametrize("policy", [CONTINUING[0], CONTINUING[4]], ids=repr)
def test_files_remember_it(policy: hlmc.Policy, tmp_path: Path) -> None:
    learner = policy.start(1)
    played(learner, 2 * T + 7)
    learner.save(tmp_path / "learner")
    found = hlmc.load(tmp_path / "learner")
    assert found == learner
    assert played(found, 100) == played(learner, 100)
    with policy.fleet(3, seed=2, file=tmp_path / "fleet") as fleet:
        for _ in range(2 * T):
            arms = fleet.select()
            assert (arms >= 0).all()
            fleet.update(np.full(3, 0.5))
        assert not fleet.finished.any()
    assert hlmc.load(tmp_path / "fleet").time.tolist() == [2 * T] * 3


def test_a_row_past_the_horizon_is_sound_for_who_continues_alone() -> None:
    policy = CONTINUING[0]
    learner = policy.start(1)
    played(learner, T + 7)
    with pytest.raises(BadArgument):
        Learner(replace(policy, after="stop"), learner.state)
    row = learner.state.copy()
    row[TIME] -= T
    with pytest.raises(BadArgument):
        Learner(policy, row)


def test_exported_programs_are_cut_where_the_stages_end() -> None:
    policy = CONTINUING[0]
    levels = int(policy.program[LEVELS])
    for steps, stages in ((1, 1), (T, 1), (T + 1, 2), (3 * T, 2), (3 * T + 1, 3)):
        table = cut(policy, steps)
        assert len(table) == FIELDS * (1 + stages * levels)
        assert table[HORIZON] == T * (2**stages - 1)
    assert cut(policy, None).tobytes() == policy.program.tobytes()
    assert cut(policy, 2**53).tobytes() == policy.program.tobytes()


def test_games_go_on() -> None:
    game = hlmc.games.Spectrum(agents=6, channels=4)
    policy = hlmc.EXP3(arms=4, horizon=50, after="continue")
    result = hlmc.play(policy, game, horizon=200, runs=2, progress=False)
    assert result is not None
    with pytest.raises(BadArgument, match='after="continue"'):
        hlmc.play(replace(policy, after="stop"), game, horizon=200, runs=2, progress=False)


def test_a_bandit_goes_on_in_the_same_row(tmp_path: Path) -> None:
    """It does not start the learner afresh, as it does with those that stop; the replay of its log agrees."""
    rows = {}
    for after in ("stop", "continue"):
        policy = hlmc.Champion(arms=20, memory=9, horizon=10, after=after)
        path = tmp_path / f"{after}.db"
        with hlmc.open(path, policy, arms=[f"arm {i}" for i in range(20)], seed=1, durable=False) as bandit:
            for _ in range(4 * 10):
                bandit.tell(bandit.ask().id, 0.5)
            assert bandit.check() == []
        with closing(sqlite3.connect(path)) as store:
            rows[after] = store.execute("select horizon, began from learners").fetchall()
    # A decision and its reward are an event each.
    assert rows == {"stop": [(40, 2 * 30)], "continue": [(10, 0)]}


@pytest.mark.parametrize("policy", [CONTINUING[3], replace(CONTINUING[4], dynamic=True)], ids=repr)
def test_arms_come_and_go_in_every_stage(policy: hlmc.Policy) -> None:
    arms = hlmc.Arms(policy.arms)
    arms.add(*range(policy.arms - 4))
    learner = policy.start(1, arms=arms)
    for t, reward in zip(range(4 * T), rewards(2), strict=False):
        assert learner.select() in arms
        learner.update(reward)
        if t % 9 == 4:
            arms.add(1000 + t) if len(arms) < policy.arms - 1 else arms.remove(min(arms))
        if t % 20 == 0:
            Learner(policy, learner.state)  # the gate lets it through
    assert learner.time == 4 * T


# --- What is promised


@pytest.mark.parametrize(
    "policy",
    [p for p in CONTINUING if not isinstance(p, hlmc.EXP3P | hlmc.Uniform | hlmc.TsallisINF) and p.bound() is not None],
    ids=repr,
)
def test_bounds_of_stages_add_up(policy: Any) -> None:
    stop = replace(policy, after="stop")
    assert policy.bound() == policy.bound(T) == stop.bound()
    total = min(stop.bound(), T)
    for stage in range(1, 4):
        length = T << stage
        first = T * (2**stage - 1)
        alone = replace(stop, horizon=length) if getattr(policy, "epochs", None) is None else None
        if alone is None:
            return
        total += min(alone.bound(), length)
        for steps in (first + 1, first + length):
            assert policy.bound(steps) == pytest.approx(total, rel=1e-12)
    assert f"then in stages of {2 * T}, {4 * T}, ... steps, whose bounds add up" in policy.guarantee.proved
    assert f"it goes on with stages of {2 * T}, {4 * T}, ... steps" in str(policy.plan)


def test_every_bound_says_for_how_many_steps_and_whether_it_is_vacuous() -> None:
    for policy in (hlmc.EXP3IX(arms=10, horizon=1000, after="continue"), CONTINUING[0], CONTINUING[6]):
        assert policy.horizon is not None
        proved = policy.guarantee.proved.replace(",", "")
        bounds = re.findall(r"at most (\d+) in (\d+) steps( \(vacuous)?", proved)
        assert len(bounds) == proved.count("at most")
        assert {int(steps) for _, steps, _ in bounds} == {policy.horizon, 3 * policy.horizon}
        assert [bool(vacuous) for _, _, vacuous in bounds] == [int(most) >= int(steps) for most, steps, _ in bounds]


def test_bounds_with_a_probability_do_not_add_up() -> None:
    for policy in (CONTINUING[8], hlmc.HLMC(arms=25, levels=2, horizon=10**6, delta=0.1, after="continue")):
        assert policy.horizon is not None
        assert policy.bound() == replace(policy, after="stop").bound()
        assert policy.bound(policy.horizon + 1) is None
        assert policy.guarantee.proved.endswith("; nothing after them: the failures of the stages would add up")


@pytest.mark.statistical
def test_the_regret_of_all_stages_is_within_the_bound() -> None:
    """The mean regret of 64 runs; that of EXP3 is far below its bound, so no seed is known that fails."""
    policy = hlmc.EXP3(arms=5, horizon=2000, after="continue")
    adversary = hlmc.adversaries.Bernoulli([0.5, 0.5, 0.9, 0.5, 0.5])
    result = hlmc.simulate({"it": policy}, adversary, horizon=30_000, runs=64, points=10, progress=False)
    at = result.data["time"].values
    regret = result.regret("weak").mean("run").sel(policy="it").values
    bound = result.data["bound"].sel(policy="it").values
    for t, lost, most in zip(at, regret, bound, strict=True):
        if t > policy.horizon:
            assert most == policy.bound(int(t))
            assert lost < most < t
    # A stage learns: the last half of the last whole stage costs less than uniform play would.
    assert regret[-1] < 0.5 * 0.32 * 30_000


def test_delays_are_planned_for_in_every_stage() -> None:
    policy = hlmc.HLMC(arms=25, levels=2, horizon=4000, pending=64, delay=20, after="continue")
    bound = policy.bound(12_000)
    assert bound is not None
    later = replace(policy, after="stop", horizon=8000).bound()
    assert later is not None
    assert bound == pytest.approx(min(policy.bound() or math.inf, 4000) + min(later, 8000))
    assert "whose bounds add up" in policy.guarantee.proved


def test_the_examples_have_it() -> None:
    """So the conformance checks, exported code and the other tests over all examples do."""
    assert {type(p).__name__ for p in EXAMPLES if p.after == "continue"} >= {"HLMC", "Champion", "EXP3", "TsallisINF"}
