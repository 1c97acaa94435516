"""The judge without all K T rewards: the same bytes as with them, and far fewer rewards."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlmc
from hlmc import adversaries
from hlmc.adversaries import EXAMPLES, Adversary, Function, Trace
from hlmc.errors import BadArgument, BadFile, BadReward
from hlmc.evaluation import benchmark, best_fixed, best_switching, dynamic, pruning, too_long

Array = np.ndarray


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune however few rewards there are, and look up often."""
    monkeypatch.setattr(pruning, "FEW", 0)
    monkeypatch.setattr(pruning, "_BUDGET", 1000)


def plainly(monkeypatch: pytest.MonkeyPatch, judge: Any, *arguments: Any) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(pruning, "FEW", 10**18)
        return judge(*arguments)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("adversary", [each for each in EXAMPLES if each.changes(10) is None], ids=repr)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_catalogue_is_judged_to_the_same_bytes(
    adversary: Adversary, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    T = min(4321, adversary.length or 4321)
    points = np.unique([0, 1, 2, 63, 64, 65, *np.linspace(1, T, 9).astype(int)])
    points = points[points <= T]
    assert pruning.worthwhile(adversary, T) or adversary.arms == 1
    values, arms = best_fixed(adversary, points, threads=threads)
    plain_values, plain_arms = plainly(monkeypatch, best_fixed, adversary, points)
    assert values.tobytes() == plain_values.tobytes()
    assert arms.tolist() == plain_arms.tolist()
    tops = dynamic(adversary, points, threads=threads)
    assert tops.tobytes() == plainly(monkeypatch, dynamic, adversary, points).tobytes()


# Small tables of few values: ties, and arms that are given up and would have been the best of a prefix.
tables = st.integers(2, 6).flatmap(
    lambda arms: st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=arms, max_size=arms), min_size=1, max_size=200
    )
)


@pytest.mark.interpreted
@settings(max_examples=60, deadline=None)
@given(rows=tables, every=st.integers(1, 40))
def test_any_table_is_judged_exactly(rows: list[list[float]], every: int) -> None:
    adversary = Trace(rows)
    points = sorted({*range(every, len(rows), every), len(rows)})
    sums = [[sum(Fraction(row[arm]) for row in rows[:n]) for arm in range(adversary.arms)] for n in points]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pruning, "FEW", 0)
        values, arms = best_fixed(adversary, points, threads=1)
        tops = dynamic(adversary, points, threads=1)
    assert values.tolist() == [float(max(each)) for each in sums]
    assert arms.tolist() == [each.index(max(each)) for each in sums]
    assert tops.tolist() == [float(sum(Fraction(max(row)) for row in rows[:n])) for n in points]


def test_what_the_best_arm_of_every_step_costs_is_told_of_any_number_of_arms() -> None:
    """A reward takes nanoseconds. Those of more than 2^24 arms are not tried out."""
    few, many = (pruning.tops_seconds(adversaries.Needle(arms), 1) for arms in (2**20, 2**24 + 1))
    assert 0.0 < few < 0.1
    assert 0.01 < many < 1.0


@pytest.mark.interpreted
@pytest.mark.usefixtures("always")
def test_arms_that_cannot_be_the_best_are_given_up() -> None:
    asked = np.zeros(64, int)

    class Counting:
        arms = 64

        def reward(self, t: int, arm: int) -> float:
            asked[arm] += 1
            return 1.0 if arm == 17 else float(t % 2) if arm == 3 else 0.0

    adversary = Function(64, Counting().reward)
    values, arms = best_fixed(adversary, [10, 5000], threads=1)
    assert values.tolist() == [10.0, 5000.0]
    assert arms.tolist() == [17, 17]
    # Some steps of all arms to find good ones, all steps of a few, and 64 steps of each of the others.
    assert asked.sum() < 64 * pruning.SAMPLED + (pruning.CANDIDATES + 2) * 5000 + 64 * 64
    assert asked.sum() < 0.15 * 64 * 5000
    asked[:] = 0
    assert dynamic(adversary, [5000], threads=1).tolist() == [5000.0]
    assert asked.sum() <= 18 * (5000 + 16)


@pytest.mark.interpreted
def test_a_period_is_added_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    saw = adversaries.Sawtooth(arms=7, period=10, seed=3)
    points = [1, 9, 10, 11, 25, 12_345, 123_456_789]
    monkeypatch.setattr(pruning, "FEW", 0)
    values, arms = best_fixed(saw, points)
    table = [[Fraction(float(reward)) for reward in row] for row in saw.rewards(0, 10)]
    assert saw.rewards(10, 20).tolist() == saw.rewards(0, 10).tolist()
    for n, value, arm in zip(points, values, arms, strict=True):
        q, r = divmod(n, 10)
        sums = [q * sum(row[k] for row in table) + sum(row[k] for row in table[:r]) for k in range(7)]
        assert value == float(max(sums))
        assert arm == sums.index(max(sums))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("wrong", [float("nan"), 1.5, -0.25])
def test_what_is_no_reward_is_noticed(wrong: float) -> None:
    adversary = Function(5, Bad(wrong).reward)
    for judge in (best_fixed, dynamic):
        with pytest.raises(BadReward, match=r"at step 70 to arm 2; rewards must be numbers in \[0, 1\]"):
            judge(adversary, [300], threads=1)
    with pytest.raises(BadReward, match="failed: KeyError: 'gone'"):
        best_fixed(Function(5, Bad(None).reward), [300])


class Bad:
    def __init__(self, wrong: float | None) -> None:
        self.wrong = wrong

    def reward(self, t: int, arm: int) -> float:
        if t == 70 and arm == 2:
            if self.wrong is None:
                raise KeyError("gone")
            return self.wrong
        return 0.9 if arm == 2 else 0.8


def test_how_long_it_takes_is_told_before() -> None:
    arms, steps = 10**6, 10**6
    assert not too_long(adversaries.UniformMeans(arms), steps)
    assert not too_long(adversaries.Sawtooth(arms), steps)
    assert too_long(adversaries.OneGoodArm(arms), steps)
    assert too_long(adversaries.UniformMeans(10**9), steps)
    with pytest.raises(BadArgument, match=r"1,000,000 arms in 1,000,000 steps take .* force=True .*; pseudo-regret"):
        best_fixed(adversaries.OneGoodArm(arms), [steps])
    with pytest.raises(BadArgument, match=r"1,000,000 arms in 1,000,000 steps take .* on one core"):
        dynamic(adversaries.RandomWalk(arms), [steps])


@pytest.mark.parametrize("few", [0, 10**18])
def test_the_judge_tells_its_progress(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "FEW", few)
    means = adversaries.UniformMeans(40, seed=2)
    for judge in (
        lambda report: best_fixed(means, [50, 3000], report=report),
        lambda report: best_fixed(adversaries.BlockTrap(), [50, 3000], report=report),
        lambda report: best_fixed(adversaries.RandomWalk(7), [50, 3000], threads=3, report=report),
        lambda report: best_fixed(adversaries.Sawtooth(5, period=20), [3000], report=report),
        lambda report: dynamic(means, [50, 3000], report=report),
        lambda report: best_switching(means, 3000, 3, report=report),
        lambda report: benchmark(means, [50, 3000], "pseudo", report=report),
    ):
        shares: list[float] = []
        judge(shares.append)  # type: ignore[no-untyped-call]
        assert min(shares) > 0.0
        assert sum(shares) == pytest.approx(1.0)


def test_a_result_tells_the_progress_of_its_judge(capsys: pytest.CaptureFixture[str]) -> None:
    result = hlmc.simulate(hlmc.UCB1(40), adversaries.UniformMeans(40), 3000, runs=1, progress=False)
    told: list[tuple[float, float]] = []
    for kind in ("weak", "dynamic", "pseudo"):
        told.clear()
        result.regret(kind, progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (pytest.approx(1.0), 1.0)
    assert capsys.readouterr().err == ""


# --- Benchmarks in a store


def judged(folder: Path, **changes: Any) -> hlmc.Result:
    arguments: dict[str, Any] = {"horizon": 500, "runs": 1, "points": 5, "progress": False, "store": folder} | changes
    return hlmc.simulate(hlmc.UCB1(6), adversaries.UniformMeans(6), **arguments)


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("computed again")


def test_a_store_keeps_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = judged(tmp_path)
    data = first.data
    kinds: list[tuple[str, int | None]] = [("weak", None), ("shifting", 3), ("dynamic", None), ("pseudo", None)]
    regrets = [first.regret(*kind) for kind in kinds]
    monkeypatch.setattr("hlmc.evaluation.best_fixed", never)
    monkeypatch.setattr("hlmc.evaluation.benchmark", never)
    for again in (judged(tmp_path), judged(tmp_path, runs=2), hlmc.load_result(tmp_path)):
        for kind, regret in zip(kinds, regrets, strict=True):
            assert again.regret(*kind).isel(run=[0]).identical(regret)
        assert again.data["best_arm"].identical(data["best_arm"])


def test_a_damaged_benchmark_is_an_error_before_anything_is_played(tmp_path: Path) -> None:
    judged(tmp_path).regret("weak")
    path = tmp_path / "_judged.json"
    whole = json.loads(path.read_text())
    damages: list[Any] = [
        "nonsense",
        json.dumps(whole | {"digest": "0"}),
        json.dumps({"benchmarks": {"weak": {"values": [1.0] * 5}}, "digest": whole["digest"]}),
        json.dumps([whole]),
    ]
    for damage in damages:
        path.write_text(damage)
        with pytest.raises(BadFile, match=r"_judged.json does not hold benchmarks: .*; delete it to compute"):
            judged(tmp_path)
    path.unlink()
    assert judged(tmp_path).regret("weak").shape == (1, 1, 5)


def test_force_is_an_argument_wherever_its_message_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from hlmc.evaluation import segments

    monkeypatch.setattr(segments, "PATIENCE", 1e-9)
    one = hlmc.simulate(hlmc.UCB1(6), adversaries.UniformMeans(6), 500, runs=2, points=5, progress=False)
    moments = hlmc.estimate(
        hlmc.UCB1(6), adversaries.UniformMeans(6), 500, runs=2, points=5, device="cpu", progress=False
    )
    calls: list[Any] = [moments.regret, moments.summary, one.benchmark, one.regret, one.summary, one.plot]
    for call in calls:
        with pytest.raises(BadArgument, match="force=True"):
            call("dynamic")
        call("dynamic", force=True)
        one._benchmarks.clear()
    assert one.summary(force=True).attrs["kind"] == "weak"
