"""Policies and adversaries in plain Python: the same seeds, rewards, stores and tables as compiled ones."""

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
from hlmc.errors import BadArgument, BadReward, BadType, OutOfTurn
from hlmc.simulation import own

K, T, RUNS = 6, 300, 3
MEANS = adversaries.UniformMeans(K, seed=5)


class Greedy:
    """Epsilon-greedy; subclasses have the interfaces of other libraries."""

    def __init__(self, arms: int, seed: int = 0, horizon: int = T) -> None:
        self.K = arms
        self.horizon = horizon
        self.rng = random.Random(seed)
        self.counts, self.sums = [0] * arms, [0.0] * arms
        self.last = 0

    def chosen(self) -> int:
        if self.rng.random() < 0.2:
            return self.rng.randrange(self.K)
        return max(range(self.K), key=lambda arm: self.sums[arm] / (self.counts[arm] or 1))

    def learned(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward


class Alone(Greedy):
    """select() and update(reward)."""

    def select(self) -> int:
        self.last = self.chosen()
        return self.last

    def update(self, reward: float) -> None:
        self.learned(self.last, reward)


class WithArm(Greedy):
    def select(self) -> int:
        return self.chosen()

    def update(self, arm: int, reward: float) -> None:
        self.learned(arm, reward)


class SelectArm(Greedy):
    """As in J. M. White's book, and many a student's code; arms are NumPy's integers."""

    def select_arm(self) -> Any:
        return np.int64(self.chosen())

    def update(self, chosen_arm: int, reward: float, weight: float = 1.0) -> None:
        self.learned(chosen_arm, reward)


class River(Greedy):
    def pull(self, arm_ids: list[int]) -> int:
        assert arm_ids == list(range(self.K))
        return self.chosen()

    def update(self, arm_id: int, *reward_args: float, **reward_kwargs: Any) -> None:
        self.learned(arm_id, *reward_args)


class SMPyBandits(Greedy):
    def __init__(self, arms: int, seed: int) -> None:
        super().__init__(arms, seed)
        self.nbArms = arms
        self.sums = [9.0] * arms  # startGame clears them

    def startGame(self) -> None:
        self.sums = [0.0] * self.nbArms

    def choice(self) -> int:
        return self.chosen()

    def getReward(self, arm: int, reward: float) -> None:
        self.learned(arm, reward)


class MABWiser(Greedy):
    """No answer before the first reward, and labels for arms."""

    def __init__(self, arms: int, seed: int) -> None:
        super().__init__(arms, seed)
        self.arms = [f"arm {arm}" for arm in range(arms)]
        self.fitted = False

    def predict(self, contexts: Any = None) -> str:
        assert self.fitted
        return self.arms[self.chosen()]

    def partial_fit(self, decisions: list[str], rewards: list[float], contexts: Any = None) -> None:
        self.fitted = True
        self.learned(self.arms.index(decisions[0]), rewards[0])


class PyMAB:
    """pymab 2: randomness is handed in."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.sums = np.zeros(n_arms)

    def select_action(self, *, rng: np.random.Generator) -> int:
        return int(rng.integers(self.n_arms)) if rng.random() < 0.2 else int(np.argmax(self.sums))

    def update(self, *, action: int, reward: float) -> None:
        self.sums[action] += reward


class Global(Greedy):
    """Draws from the global generators of random and numpy.random."""

    def select(self) -> int:
        return (random.randrange(self.K) + int(np.random.randint(self.K))) % self.K  # noqa: NPY002

    def update(self, reward: float) -> None:
        pass


def by_hand(
    choose: Callable[[], int], learn: Callable[[int, float], None], adversary: Any = MEANS, steps: int = T
) -> list[float]:
    """Cumulative rewards, step by step: an independent reading of what a run is."""
    total, sums = 0.0, []
    for t in range(steps):
        arm = choose()
        reward = float(adversary.rewards(t, t + 1)[0, arm])
        total += reward
        learn(arm, reward)
        sums.append(total)
    return sums


def seed_of(name: str, run: int, seed: int = 0) -> int:
    return (hlmc.derive_seed(seed, name) + run) % 2**32


def simulate(policies: Any, adversary: Any = MEANS, **arguments: Any) -> hlmc.Result:
    return hlmc.simulate(
        policies, adversary, **{"horizon": T, "runs": RUNS, "points": range(1, T + 1), "progress": False} | arguments
    )


def rewards(result: hlmc.Result, name: str) -> np.ndarray:
    return result.data["reward"].sel(policy=name).values


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
def test_late_rewards_are_refused() -> None:
    with pytest.raises(BadArgument, match="'mine' is plain Python, and is told every reward at once"):
        simulate({"mine": Alone}, delays=3)
    with pytest.raises(BadArgument, match="'mine' is plain Python, and is told every reward at once"):
        hlmc.arena({"mine": Alone}, against=[], adversaries="Needle", arms=16, horizons=100, delays=3, progress=False)


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
    assert shown["words"].tolist() == ["-", "12", "12"]
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

    runpy.run_path(str(Path(__file__).parent.parent / "examples" / "own_policy.py"))["main"](steps=100, runs=2)
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


# --- Adversaries


TABLE = np.array([[0.0, 1.0, 0.5], [0.25, 0.5, 0.75], [1.0, 0.0, 0.5], [0.5, 0.125, 0.5]])


class Weather:
    arms = 3

    def reward(self, t: int, arm: int) -> float:
        return float(TABLE[t % 4, arm])


class Nowhere:
    def reward(self, t: int, arm: int) -> float:
        return float(TABLE[t % 4, arm])


def cyclic(t: int, arm: int) -> float:
    return ((t + arm) % 4) / 4


@pytest.mark.interpreted
def test_adversaries_of_all_kinds(tmp_path: Path) -> None:
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "indexed.csv")
    np.save(tmp_path / "rows.npy", TABLE)
    policy = hlmc.UCB1(3)
    wanted = hlmc.simulate(policy, adversaries.Trace(TABLE), runs=2, progress=False)
    tables = [TABLE, TABLE.tolist(), frame, frame.astype(np.float32), pd.read_csv(tmp_path / "indexed.csv")]
    for given in [*tables, tmp_path / "indexed.csv", str(tmp_path / "rows.npy")]:
        result = hlmc.simulate(policy, given, runs=2, progress=False)
        assert (result.data["reward"].values == wanted.data["reward"].values).all()
    for reward in (Weather(), Nowhere(), lambda t, arm: ((t + arm) % 4) / 4):
        result = hlmc.simulate(policy, reward, horizon=4, runs=2, progress=False)
        same = wanted if not callable(reward) else hlmc.simulate(policy, cyclic, horizon=4, runs=2, progress=False)
        assert (result.data["reward"].values == same.data["reward"].values).all()
    assert repr(adversary_of(Weather())) == "Function(arms=3, reward=Weather.reward)"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (7, BadType, r"one of hlmc.adversaries, a function \(t, arm\) -> reward, an object with reward.*, not 7"),
        (Weather, BadType, "not the class Weather: make an object of it"),
        (Nowhere(), BadArgument, r"must say how many arms it has.*hlmc.adversaries.Function\(arms=K"),
        (lambda t, arm: 0.5, BadArgument, "must say how many arms it has"),
        ("nowhere.csv", BadArgument, "nowhere.csv"),
    ],
)
def test_what_is_no_adversary_is_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises((error, ValueError), match=message):
        simulate({"mine": Alone}, given)


@pytest.mark.interpreted
def test_a_function_that_draws_anew_is_refused() -> None:
    class Dice:
        arms = K

        def __init__(self) -> None:
            self.rng = random.Random(1)

        def reward(self, t: int, arm: int) -> float:
            return float(self.rng.random() < 0.5)

    with pytest.raises(BadArgument, match=r"must pay the same whenever it is asked, and pays [01]\.0 and [01]\.0"):
        simulate({"mine": Alone}, Dice())


@pytest.mark.interpreted
def test_an_error_of_one_s_own_adversary_comes_out() -> None:
    class Broken:
        arms = K

        def reward(self, t: int, arm: int) -> float:
            if t == 50:
                raise LookupError("no such day")
            return 2.0 if t == 60 else 0.5

    with pytest.raises(LookupError, match="no such day") as raised:
        simulate({"mine": Alone}, Broken())
    assert raised.value.__notes__ == ["in policy 'mine', at step 50"]
    # Compiled code sees NaN and tells the reason; under the interpreter the error comes straight out.
    with pytest.raises((BadReward, LookupError), match="no such day"):
        simulate({"UCB1": hlmc.UCB1(K)}, Broken())
    with pytest.raises(BadReward, match="at step 5"):
        simulate({"mine": Alone}, adversaries.Function(K, lambda t, arm: 2.0 if t == 5 else 0.5))


def test_an_index_is_no_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlmc.adversaries.tables._folder", lambda: tmp_path)
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"])
    plain = pd.DataFrame(TABLE)
    days = frame.set_index(pd.date_range("2024-01-01", periods=4, name="day"))
    texts = {
        "index": frame.to_csv(),
        "no index": frame.to_csv(index=False),
        "numbers for names": plain.to_csv(),
        "numbers for names, no index": plain.to_csv(index=False),
        "named index": frame.rename_axis("step").to_csv(),
        "from 1": frame.set_index(pd.RangeIndex(1, 5, name="step")).to_csv(),
        "days": days.to_csv(),
        "no names": plain.to_csv(header=False, index=False),
        "no names, index": plain.to_csv(header=False),
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        assert adversaries.Trace(path).rewards(0, 4).tolist() == TABLE.tolist(), name
    for name, each in {"plain": frame, "days": days, "reversed": frame.set_index(np.arange(4)[::-1])}.items():
        each.to_parquet(tmp_path / f"{name}.parquet")
        assert adversaries.Trace(tmp_path / f"{name}.parquet").rewards(0, 4).tolist() == TABLE.tolist(), name
    # A column of rewards that begins as a count may go on as it likes.
    (tmp_path / "rewards.csv").write_text("0,0.5\n1,0.5\n0.5,1\n")
    assert adversaries.Trace(tmp_path / "rewards.csv").arms == 2


@pytest.mark.interpreted
@pytest.mark.parametrize("adversary", list(adversaries.EXAMPLES), ids=lambda each: repr(each)[:30])
def test_one_reward_is_that_of_the_table_of_all(adversary: Any) -> None:
    steps = range(min(adversary.length or 30, 30))
    table = adversary.rewards(0, len(steps))
    assert [[adversary.reward(t, arm) for arm in range(adversary.arms)] for t in steps] == table.tolist()
    assert type(adversary.reward(0, 0)) is float
    for t, arm in ((-1, 0), (0, adversary.arms), (0, -1), (0.5, 0), (2**53, 0)):
        with pytest.raises((BadArgument, BadType)):
            adversary.reward(t, arm)
