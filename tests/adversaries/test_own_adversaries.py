"""Adversaries in plain Python: functions, objects, arrays, data frames and files."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc import adversaries
from hlmc.adversaries.own import adversary_of
from hlmc.errors import BadArgument, BadReward, BadType
from own_policies import Alone, K, simulate

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
