"""Policies in plain Python: the same seeds, rewards, stores and tables as compiled ones."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc import adversaries
from hlmc.adversaries.own import adversary_of
from hlmc.engine.stream import uniform
from hlmc.errors import BadArgument, BadReward, BadType, OutOfTurn
from hlmc.simulation import own
from hlmc.streams import keys
from own_policies import (
    MEANS,
    RUNS,
    Alone,
    Global,
    Greedy,
    K,
    MABWiser,
    PyMAB,
    River,
    SelectArm,
    SMPyBandits,
    T,
    WithArm,
    by_hand,
    rewards,
    seed_of,
    simulate,
)


class Wrapped:
    def __init__(self, learner: hlmc.Learner) -> None:
        self.select, self.update = learner.select, learner.update


# With inexact rewards only a policy that never restarts adds them up in the order of the steps, as Python does.
@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("policy", "adversary"),
    [
        (hlmc.HLMC(arms=K, levels=2, horizon=T), MEANS),
        (hlmc.HLMC(arms=K, levels=2, horizon=T), lambda t, arm: (t + arm) % 3 / 2),
        (hlmc.EXP3(arms=K, horizon=T), adversaries.Alternating(K, memory=3)),
    ],
    ids=["random", "function", "inexact"],
)
def test_a_compiled_policy_behind_a_python_one_earns_the_same_to_the_last_bit(
    policy: hlmc.Policy, adversary: Any
) -> None:
    runs = iter(range(RUNS))
    compiled = simulate({"it": policy}, adversary)

    def wrapped(arms: int, horizon: int, seed: int) -> Wrapped:
        return Wrapped(policy.start(hlmc.derive_seed(0, "it"), stream=next(runs)))

    with ThreadPoolExecutor(1) as one:
        result = simulate({"it": wrapped}, adversary_of(adversary, K), executor=one)
    assert result.data["reward"].values.tobytes() == compiled.data["reward"].values.tobytes()
    assert result.data["best_fixed"].values.tobytes() == compiled.data["best_fixed"].values.tobytes()


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", [Alone, WithArm, SelectArm, River, SMPyBandits])
def test_every_interface_is_played_as_by_hand(kind: type[Greedy]) -> None:
    result = simulate({"mine": kind})
    for run in range(RUNS):
        plain = Greedy(K, seed_of("mine", run))
        assert rewards(result, "mine")[run].tolist() == by_hand(plain.chosen, plain.learned)


@pytest.mark.interpreted
def test_mabwiser_begins_with_a_random_arm_and_has_labels() -> None:
    result = simulate({"mine": MABWiser})
    for run in range(RUNS):
        plain = Greedy(K, seed_of("mine", run))
        first = [random.Random(seed_of("mine", run)).randrange(K)]
        choose = lambda plain=plain, first=first: first.pop() if first else plain.chosen()  # noqa: E731
        assert rewards(result, "mine")[run].tolist() == by_hand(choose, plain.learned)


@pytest.mark.interpreted
def test_pymab_is_handed_a_generator() -> None:
    result = simulate({"mine": PyMAB(K)})
    for run in range(RUNS):
        plain, rng = PyMAB(K), np.random.default_rng(seed_of("mine", run))
        learn = lambda arm, reward, plain=plain: plain.update(action=arm, reward=reward)  # noqa: E731
        assert rewards(result, "mine")[run].tolist() == by_hand(
            lambda plain=plain, rng=rng: plain.select_action(rng=rng), learn
        )


def test_river_s_own_policies_are_played() -> None:
    from river import bandit, stats

    make = lambda arms, horizon, seed: bandit.EpsilonGreedy(0.2, reward_obj=stats.Mean(), seed=seed)  # noqa: E731
    result = simulate({"factory": make, "object": bandit.EpsilonGreedy(0.2, reward_obj=stats.Mean(), seed=1)})
    for run in range(RUNS):
        theirs = make(K, T, seed_of("factory", run))
        choose = lambda theirs=theirs: theirs.pull(list(range(K)))  # noqa: E731
        assert rewards(result, "factory")[run].tolist() == by_hand(choose, theirs.update)
    assert len(set(map(tuple, rewards(result, "object")))) == RUNS  # each run has numbers of its own


@pytest.mark.interpreted
def test_factories_are_given_what_they_name() -> None:
    met: list[tuple[Any, ...]] = []

    def noted(*given: Any) -> Alone:
        met.append(given)
        return Alone(K)

    ways: list[Any] = [
        lambda arms, horizon, seed: noted(arms, horizon, seed),
        lambda seed, arms: noted(arms, seed),
        lambda number, steps, key: noted(number, steps, key),
        lambda *, horizon, depth=3: noted(horizon, depth),
    ]
    seed = seed_of("mine", 0)
    for way in ways:
        simulate({"mine": way}, runs=1)
    assert met == [(K, T, seed), (K, seed), (K, T, seed), (T, 3)]


@pytest.mark.interpreted
def test_an_object_is_copied_for_every_run_and_its_generators_begin_anew() -> None:
    mine = Alone(K)
    mine.nested = {"a": [np.random.default_rng(1), np.random.RandomState(1)]}  # type: ignore[attr-defined]
    before = mine.rng.getstate()
    one, again = simulate({"mine": mine}), simulate({"mine": mine})
    assert mine.counts == [0] * K
    assert mine.rng.getstate() == before
    assert one.data.identical(again.data)
    assert len(set(map(tuple, rewards(one, "mine")))) == RUNS
    copies = [own._copied(mine, seed) for seed in (7, 7, 8)]
    drawn = [(each.rng.random(), each.nested["a"][0].random(), each.nested["a"][1].random_sample()) for each in copies]
    assert drawn[0] == drawn[1]
    assert all(a != b for a, b in zip(drawn[0], drawn[2], strict=True))
    assert len(set(drawn[0])) == 3


@pytest.mark.interpreted
def test_the_global_generators_are_seeded_for_a_run_and_restored() -> None:
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    one = simulate({"mine": Global(K)})
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002
    random.random()
    assert simulate({"mine": Global(K)}).data.identical(one.data)
    assert len(set(map(tuple, rewards(one, "mine")))) == RUNS


def test_the_result_does_not_depend_on_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    from river import bandit, stats

    monkeypatch.setattr("hlmc.simulation.experiment._ENOUGH", 1)
    theirs = bandit.EpsilonGreedy(0.2, reward_obj=stats.Mean(), seed=1)  # which another process can import
    field = {"global": Global(K), "object": Alone(K), "river": theirs, "EXP3": hlmc.EXP3(K, horizon=T)}
    found = []
    for threads in (1, 4):
        with ThreadPoolExecutor(threads) as pool:
            found.append(simulate(field, executor=pool, runs=4))
    assert found[0].data.identical(found[1].data)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        elsewhere = simulate({"river": theirs}, executor=processes, runs=4)
    for name, result in {"river": elsewhere, "object": simulate({"object": Alone(K)}, runs=4)}.items():
        assert rewards(result, name).tobytes() == rewards(found[0], name).tobytes()


def test_one_run_at_a_time_is_played_in_python() -> None:
    inside: list[int] = []
    most = 0

    class Counting(Alone):
        def select(self) -> int:
            nonlocal most
            most = max(most, len(set(inside) | {threading.get_ident()}))
            inside.append(threading.get_ident())
            if self.counts and sum(self.counts) == T - 1:
                inside.clear()
            return super().select()

    with ThreadPoolExecutor(4) as four:
        simulate({"a": lambda arms, seed: Counting(arms, seed), "b": Counting}, executor=four)
    assert most == 1


class Uncopyable(Alone):
    def __init__(self) -> None:
        super().__init__(K)
        self.lock = threading.Lock()


class TwoArms(Alone):
    def __init__(self) -> None:
        super().__init__(2)
        self.n_arms = 2


class Outside(Alone):
    def select(self) -> int:
        return 2 * K if sum(self.counts) == 7 else super().select()


class Words(Alone):
    def select(self) -> Any:
        return "first"


class NeedsMore(Alone):
    def __init__(self, n_arms: int, epsilon: float = 0.1) -> None:
        super().__init__(n_arms)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (3, BadType, r"compiled policy such as .*object with select\(\) and update\(reward\), or a factory .*, not 3"),
        (
            object(),
            BadType,
            r"compiled policy such as .*object with select.*factory such as lambda arms, horizon, seed",
        ),
        (NeedsMore, BadType, r"NeedsMore needs n_arms.*write lambda arms, horizon, seed: NeedsMore\(\.\.\.\)"),
        (hlmc.UCB1(K).start(), BadType, r"give its policy, UCB1\(arms=6\)"),
        (Uncopyable(), BadType, r"cannot be copied for every run \(TypeError: .*give a factory"),
        (TwoArms(), BadArgument, "has 2 arms, and there are 6"),
        (Outside(K), BadArgument, "policy 'mine' selected 12 at step 7; arms are whole numbers from 0 to 5"),
        (Words(K), BadArgument, "policy 'mine' selected 'first' at step 0"),
        (lambda arms, horizon, seed: 5, BadType, "this factory made 5"),
        (type("Odd", (), {"select": lambda self, x: 0, "update": lambda self, r: None})(), BadType, "select of"),
        (type("Odd", (), {"select": lambda self: 0, "update": lambda self: None})(), BadType, "update of"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_ways_in(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        simulate({"mine": given})
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.interpreted
def test_late_rewards_need_the_arm() -> None:
    with pytest.raises(BadArgument, match=r"'mine' is told too little: .* need update\(arm, reward\)"):
        simulate({"mine": Alone}, delays=3)
    with pytest.raises(BadArgument, match=r"'mine' is told too little"):
        hlmc.arena({"mine": Alone}, against=[], adversaries="Needle", arms=16, horizons=100, delays=3, progress=False)


class Round:
    """Plays the arms in turn and writes down what it is told, and after how many choices."""

    def __init__(self, arms: int) -> None:
        self.arms, self.made = arms, 0
        self.told: list[tuple[int, int, float]] = []
        Round.last = self

    last: "Round"

    def select(self) -> int:
        self.made += 1
        return (self.made - 1) % self.arms

    def update(self, arm: int, reward: float) -> None:
        self.told.append((self.made - 1, arm, reward))


def paid(t: int, arm: int) -> float:
    return ((7 * t + 3 * arm) % 11) / 10


@pytest.mark.interpreted
def test_late_rewards_come_when_they_are_due() -> None:
    def play(**late: Any) -> list[tuple[int, int, float]]:
        adversary = hlmc.adversaries.Function(K, paid)
        hlmc.simulate({"mine": Round}, adversary, horizon=60, runs=1, seed=4, progress=False, **late)
        return Round.last.told

    assert play() == [(t, t % K, paid(t, t % K)) for t in range(60)]
    assert play(delays=3) == [(t + 3, t % K, paid(t, t % K)) for t in range(57)]
    # The environment's own numbers: purposes 61 and 62 of the run's stream.
    key = keys(hlmc.derive_seed(4, "mine"), 0, 1)[0]
    with np.errstate(over="ignore"):
        waits = [int(uniform(key, t, 61) * 6) for t in range(60)]
        comes = [uniform(key, t, 62) >= 0.4 for t in range(60)]
    told = play(delays=hlmc.delays.Uniform(0, 5), missing=0.4)
    due = [
        (t + w, t % K, paid(t, t % K)) for t, (w, c) in enumerate(zip(waits, comes, strict=True)) if c and t + w < 60
    ]
    assert sorted(told) == sorted(due)
    assert [at for at, _, _ in told] == sorted(at for at, _, _ in told)


def test_a_python_policy_with_delays_beside_a_compiled_one() -> None:
    both = {"mine": Round, "EXP3": hlmc.EXP3(K, 200, pending=8)}
    adversary = hlmc.adversaries.UniformMeans(K)
    result = hlmc.simulate(both, adversary, horizon=200, runs=2, delays=3, progress=False)
    assert result.policies == ["mine", "EXP3"]
    assert result.reward.notnull().all()


@pytest.mark.interpreted
def test_a_python_policy_may_state_its_version_and_memory() -> None:
    assert repr(hlmc.PythonPolicy(Alone, version="a", memory=12)) == "PythonPolicy(Alone, version='a', memory=12)"
    assert repr(hlmc.PythonPolicy(Alone(K))) == "PythonPolicy(Alone)"
    with pytest.raises(BadType, match="version must be a string, not 3"):
        hlmc.PythonPolicy(Alone, version=3)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="memory must be a whole number of at least 0, not -1"):
        hlmc.PythonPolicy(Alone, memory=-1)
    with pytest.raises(BadType, match="is a compiled one"):
        hlmc.PythonPolicy(hlmc.UCB1(K))


@pytest.mark.interpreted
def test_an_error_of_one_s_own_code_says_where_it_was() -> None:
    class Failing(Alone):
        def update(self, reward: float) -> None:
            super().update(reward)
            if sum(self.counts) == 41:
                raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        simulate({"mine": Failing(K)})
    assert raised.value.__notes__ == ["in policy 'mine', at step 40"]


@pytest.mark.interpreted
def test_a_stopped_run_is_not_half_a_result() -> None:
    sums, asked = np.full(2, np.nan), []

    def stop(steps: int) -> bool:
        asked.append(steps)
        return True

    player = own.player_of(Alone(K), K)
    assert not own.walk("mine", player, MEANS, np.array([100, T]), sums, lambda a, t: ValueError(), stop)
    assert asked == [1]
    assert np.isnan(sums).all()


def test_compiled_policies_do_not_wait_for_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlmc.simulation.experiment._ENOUGH", 1)

    class Failing(Alone):
        def update(self, reward: float) -> None:
            raise ZeroDivisionError

    with ThreadPoolExecutor(1) as one, pytest.raises(ZeroDivisionError):
        simulate({"mine": Failing, "UCB1": hlmc.UCB1(K)}, store=tmp_path / "s", executor=one)
    assert set(pd.read_parquet(tmp_path / "s")["run"]) == set(range(RUNS))


@pytest.mark.interpreted
def test_a_policy_that_simulates_while_it_plays_does_not_wait_for_ever() -> None:
    game = hlmc.games.Spectrum(agents=2, channels=K)
    tried: list[Callable[[], Any]] = [
        lambda: simulate({"inner": Alone}, horizon=5, points=1),
        lambda: hlmc.play(Alone, game, horizon=5, runs=1, progress=False),
    ]

    class Tuned(Alone):
        def __init__(self, arms: int, seed: int) -> None:
            super().__init__(arms, seed)
            for call in tried:
                with pytest.raises(OutOfTurn, match=r"cannot simulate another one while it plays; hlmc\.trace can"):
                    call()
            hlmc.trace(Alone, MEANS, 5)
            simulate({"UCB1": hlmc.UCB1(arms)}, horizon=5, points=1)

    one, other = simulate({"mine": Tuned}), simulate({"mine": Alone})
    assert rewards(one, "mine").tobytes() == rewards(other, "mine").tobytes()


@pytest.mark.interpreted
def test_names_of_a_list() -> None:
    result = simulate([Alone, WithArm(K), lambda arms, seed: Alone(arms, seed), hlmc.UCB1(K)])
    assert result.policies == ["Alone", "WithArm", "policy", "UCB1"]
    assert simulate(Alone).policies == ["Alone"]
    with pytest.raises(BadArgument, match="policies must differ or have names"):
        simulate([Alone, Alone])


@pytest.mark.interpreted
def test_words_that_nobody_knows_are_missing(tmp_path: Path) -> None:
    result = simulate({"mine": Alone, "known": hlmc.PythonPolicy(Alone, memory=12), "UCB1": hlmc.UCB1(K)})
    table = result.summary()
    assert np.isnan(table["words"]["mine"])
    assert table["words"]["known"] == 12
    shown = table.shown()
    assert shown["words"].tolist() == ["-", "12", "12 + 14"]  # statistics + control
    assert shown["bound"]["mine"] == "-"
    result.save(tmp_path / "r.parquet")
    again = hlmc.load_result(tmp_path / "r.parquet")
    assert again.data.identical(result.data)
    assert again.summary().shown().equals(shown)


def test_it_is_drawn_beside_the_others() -> None:
    axes = simulate({"mine": Alone, "UCB1": hlmc.UCB1(K)}).plot()
    assert {"mine", "UCB1"} <= {text.get_text().split(",")[0] for text in axes.get_legend().get_texts()}


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    import runpy

    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "own_policy.py"))["main"](steps=100, runs=2)
    printed = capsys.readouterr().out
    assert printed.count("Thompson") == 2
    assert "BlockTrap(arms=100, memory=20)" in printed


# --- The store


class Counted(Alone):
    made = 0

    def __init__(self, arms: int, seed: int) -> None:
        super().__init__(arms, seed)
        type(self).made += 1


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    monkeypatch.setattr(Counted, "made", 0)
    return Counted


def test_without_a_version_nothing_is_kept(tmp_path: Path, counted: type[Counted]) -> None:
    field = {"mine": counted, "UCB1": hlmc.UCB1(K)}
    one = simulate(field, store=tmp_path / "s")
    assert simulate(field, store=tmp_path / "s").data.identical(one.data)
    assert counted.made == 2 * RUNS
    assert set(pd.read_parquet(tmp_path / "s")["policy"]) == {"UCB1"}


def test_with_a_version_runs_are_kept_and_another_version_is_refused(tmp_path: Path, counted: type[Counted]) -> None:
    field = {"mine": hlmc.PythonPolicy(counted, version="1"), "UCB1": hlmc.UCB1(K)}
    one = simulate(field, store=tmp_path / "s")
    assert simulate(field, store=tmp_path / "s").data.identical(one.data)
    assert counted.made == RUNS
    with pytest.raises(BadArgument, match=r"policy 'mine' is PythonPolicy\(Counted, version='1'\) there"):
        simulate({"mine": hlmc.PythonPolicy(counted, version="2")}, store=tmp_path / "s")
    # A policy of that name without a version has nothing to do with what is kept.
    simulate({"mine": counted}, store=tmp_path / "s")
    assert counted.made == 2 * RUNS


# --- The arena, games, traces


def test_the_arena_takes_python_policies(tmp_path: Path) -> None:
    field: dict[str, Any] = {
        "class": Alone,
        "factory": lambda arms, horizon, seed: Alone(arms, seed),
        "sized": lambda arms, memory, horizon: Alone(arms) if horizon > 100 else None,
        "known": hlmc.PythonPolicy(Alone, memory=40),
    }
    chosen: dict[str, Any] = {"against": [], "adversaries": ["Needle"], "arms": 16, "runs": 2, "progress": False}
    result = hlmc.arena(field, horizons=[100, 200], **chosen)
    played = {(p, t) for p, t in result.runs[["policy", "horizon"]].itertuples(index=False)}
    assert played == {(p, t) for p in ["HLMC", *field] for t in (100, 200)} - {("sized", 100)}
    assert result.table(horizon=200)["words"].tolist() == ["8", "-", "-", "-", "40 *"]
    result.save(tmp_path / "a.parquet")
    assert hlmc.arenas.ArenaResult.load(tmp_path / "a.parquet").data.equals(result.data)
    with pytest.raises(BadType, match=r"write lambda arms, memory, horizon"):
        hlmc.arena({"mine": hlmc.UCB1(16)}, **chosen)
    with pytest.raises(BadType, match=r"what policies\['mine'\] returns must be a compiled policy .*, not 7"):
        hlmc.arena({"mine": lambda arms, memory, horizon: 7}, **chosen)


@pytest.mark.interpreted
@pytest.mark.parametrize("both", [False, True])
def test_agents_in_python_play_as_compiled_ones_do(both: bool) -> None:
    game = hlmc.games.Spectrum(agents=5, channels=4)
    policy, other = hlmc.HLMC(arms=4, levels=2), hlmc.EXP3(arms=4, horizon=40)
    rest: dict[str, Any] = {"EXP3": (other, 2)} if both else {}
    agents = 3 if both else 5
    made = iter(range(2 * agents))

    def wrapped(arms: int, horizon: int, seed: int) -> Wrapped:
        run, agent = divmod(next(made), agents)
        assert seed == (hlmc.derive_seed(0, "HLMC", run) + agent) % 2**32
        return Wrapped(policy.start(hlmc.derive_seed(0, "HLMC", run), stream=agent))

    arguments: dict[str, Any] = {"horizon": 40, "runs": 2, "points": 7, "progress": False}
    compiled = hlmc.play({"HLMC": (policy, 3), **rest}, game, **arguments)
    with ThreadPoolExecutor(1) as one:
        mixed = hlmc.play({"HLMC": (wrapped, 3), **rest}, game, executor=one, **arguments)
    for name in compiled.data:
        assert np.array_equal(compiled.data[name].values, mixed.data[name].values), name
    assert np.isnan(mixed.summary()["words"]["HLMC"])


@pytest.mark.interpreted
def test_a_game_refuses_arms_that_are_none() -> None:
    game = hlmc.games.Spectrum(agents=2, channels=4)
    with pytest.raises(BadArgument, match="policy 'Words' selected 'first' at step 0"):
        hlmc.play(Words(4), game, horizon=5, runs=1, progress=False)


@pytest.mark.interpreted
def test_a_trace_is_the_run_that_simulate_plays() -> None:
    result = simulate({"mine": Alone})
    for run in range(RUNS):
        arms, paid = hlmc.trace(Alone, MEANS, T, seed=hlmc.derive_seed(0, "mine"), stream=run)
        assert np.cumsum(paid).tolist() == rewards(result, "mine")[run].tolist()
        assert paid.tolist() == [MEANS.reward(t, int(arm)) for t, arm in enumerate(arms)]


# --- Fleets of their own ----------------------------------------------------------------------------------------------


def test_a_fleet_of_python_learners_plays_what_runs_play() -> None:
    policy = hlmc.PythonPolicy(Alone)
    fleet = policy.fleet(3, arms=K, horizon=50, seed=4)
    alone = [policy.player(K, 50, own.run_seed(4, "Alone", i)) for i in range(3)]
    rng = np.random.default_rng(1)
    for t in range(50):
        ids = None if t % 3 == 0 else rng.permutation(3)[: 1 + t % 3]
        chosen = range(3) if ids is None else ids
        arms = fleet.select(ids)
        assert arms.tolist() == fleet.select(ids).tolist() == [alone[i].select() for i in chosen]
        rewards = (arms == 1).astype(float)
        fleet.update(rewards, ids)
        for i, arm, reward in zip(chosen, arms.tolist(), rewards, strict=True):
            alone[i].update(arm, reward)
    assert fleet.time.sum() == sum(3 if t % 3 == 0 else 1 + t % 3 for t in range(50))


def test_a_batch_of_python_learners_that_is_refused_changes_nothing() -> None:
    fleet = hlmc.PythonPolicy(Alone).fleet(2, arms=K)
    arms = fleet.select()
    for bad, error in (([1.0], BadArgument), ([1.0, 2.0], BadReward), ([0.5, float("nan")], BadReward)):
        with pytest.raises(error):
            fleet.update(bad)
    for ids in ([0, 0], [2], [-1]):
        with pytest.raises(BadArgument):
            fleet.select(ids)
    assert fleet.select().tolist() == arms.tolist()
    fleet.update([1.0, 0.0])
    with pytest.raises(OutOfTurn, match="learner 0 has no arm selected"):
        fleet.update([1.0, 0.0])
    assert fleet.time.tolist() == [1, 1]
