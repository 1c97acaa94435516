"""hlmc.replay: estimates against plain readings of their formulas, intervals against the truth, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc.errors import BadArgument, BadFile, BadReward, BadType
from hlmc.logs import bernstein, betting
from hlmc.logs.reading import read
from logs.log_tables import drawn, plain_value, played

CHANCES = {"tea": 0.5, "coffee": 0.3, "cocoa": 0.2}
MEANS = {"tea": 0.2, "coffee": 0.5, "cocoa": 0.8}
LOG = drawn(CHANCES, MEANS, 300, seed=1)
POLICY = hlmc.HLMC(arms=9, groups=(3, 3), horizon=3000, epochs=(300, 10), pending=1)
ARMS = np.linspace(0.1, 0.9, 9)


# --- Estimators


@pytest.mark.parametrize("estimator", ["ips", "snips", "dr"])
@pytest.mark.parametrize(
    "chances", [{"cocoa": 1.0}, {"tea": 0.25, "coffee": 0.75}, {"tea": 0.5, "water": 0.5}], ids=str
)
def test_values_are_those_of_a_plain_reading(estimator: str, chances: dict[str, float]) -> None:
    blocks = LOG.assign(block=np.arange(len(LOG)) // 7)
    for log in (LOG, blocks):
        (value,) = hlmc.replay({"it": chances}, log, estimator=estimator)["value"]
        assert value == pytest.approx(plain_value(estimator, log, chances), abs=1e-12)
        rule = hlmc.replay({"it": lambda row: chances}, log, estimator=estimator)
        assert rule["value"].item() == pytest.approx(value, abs=1e-12)


def test_an_arm_is_a_distribution_on_it_and_uniform_is_one_on_all() -> None:
    found = hlmc.replay(
        {"arm": "tea", "sure": {"tea": 1.0}, "even": hlmc.Uniform(arms=3), "third": dict.fromkeys(CHANCES, 1 / 3)}, LOG
    )
    assert found["kind"].tolist() == ["arm", "mixture", "mixture", "mixture"]
    assert found.loc["arm", "value":"mean_weight"].equals(found.loc["sure", "value":"mean_weight"])
    assert found.loc["even", "value":"mean_weight"].equals(found.loc["third", "value":"mean_weight"])


def test_a_rule_sees_the_row_but_not_what_it_earned() -> None:
    seen: list[dict[str, Any]] = []
    log = LOG.assign(hour=np.arange(len(LOG)) % 24)

    def by_hour(row: dict[str, Any]) -> str:
        seen.append(row)
        return "tea" if row["hour"] < 12 else "cocoa"

    value = hlmc.replay([by_hour], log, estimator="ips").loc["by_hour", "value"]
    chosen = np.where(log["hour"] < 12, "tea", "cocoa")
    hit = log["arm"] == chosen
    assert value == pytest.approx((log["reward"] / log["propensity"])[hit].sum() / len(log))
    assert set(seen[0]) == {"hour"}


def test_the_frame_tells_how_much_an_estimate_rests_on() -> None:
    log = pd.DataFrame(
        {"arm": [0, 0, 1, 0], "reward": [1, 0, 1, 1], "propensity": [0.5, 0.25, 0.5, 1], "block": [7, 7, 7, 9]}
    )
    found = hlmc.replay({"none": 0, "part": {0: 0.5, 5: 0.5}, "other": 5}, log, estimator="ips")
    row = found.loc["none"]
    assert (row["rows"], row["blocks"], row["largest"], row["mean_weight"]) == (4, 2, 4.0, 7 / 4)
    assert row["effective"] == pytest.approx((6 + 1) ** 2 / (6**2 + 1**2))
    assert row["warning"] == "rests on 1.3 blocks"
    assert found["unsupported"].tolist() == [0.0, 0.5, 1.0]
    assert found.loc["part", "warning"] == "50 % rests on arms that were never played"
    assert found.loc["other", "warning"] == "no row of the log says anything about it"
    assert np.isnan(found.loc["other", "value"])
    assert (found.loc["other", "low"], found.loc["other", "high"]) == (0.0, 1.0)
    assert found.attrs["logged"] == 0.75
    assert "the log itself: 0.75 in 4 rows, 2 blocks" in repr(found)


def test_a_row_of_unknown_propensity_weighs_nothing() -> None:
    log = LOG.copy()
    log.loc[:99, "propensity"] = np.inf
    found = hlmc.replay("tea", log, estimator="ips")
    known = hlmc.replay("tea", LOG[100:], estimator="ips")
    assert found["value"].item() == pytest.approx(known["value"].item() * 200 / 300)
    assert found["rows"].item() == 300
    log["propensity"] = np.inf
    with pytest.raises(BadArgument, match="propensities that are known"):
        hlmc.replay(hlmc.UCB1(arms=3), log)


def test_weights_that_cannot_be_right_are_named() -> None:
    log = drawn(CHANCES, MEANS, 2000, seed=3)
    assert hlmc.replay("tea", log)["warning"].item() == ""
    half, double = log.assign(propensity=log["propensity"] / 2), log.assign(propensity=log["propensity"] * 2)
    assert hlmc.replay("tea", half)["warning"].item() == "weights are too large: propensities cannot be right"
    found = hlmc.replay("tea", double)["warning"].item()
    assert found == "weights are too small: its arms did not always have a chance"


def test_rewards_in_other_units() -> None:
    other = LOG.assign(reward=LOG["reward"] * 30 - 10)
    for estimator in ("ips", "snips", "dr"):
        mine = hlmc.replay(list(MEANS), LOG, estimator=estimator)
        found = hlmc.replay(list(MEANS), other, estimator=estimator, rewards=(-10, 20))
        for column in ("value", "low", "high"):
            np.testing.assert_allclose(found[column], mine[column] * 30 - 10)


# --- Intervals


def plain_capital(sums: list[float], mean: float) -> float:
    """K(m) of betting.py as a mean of products."""
    capital = 0.0
    for exponent in range(-30, 7):
        bet, product = 2.0**exponent, 1.0
        for x in sums:
            product *= (1 + bet * x) / (1 + bet * mean)
        capital += product / 37
    return capital


def test_the_betting_bound_is_where_the_capital_is_one_over_alpha() -> None:
    rng = np.random.default_rng(5)
    sums, lengths = rng.exponential(4.0, 60), rng.integers(1, 9, 60)
    rows = int(lengths.sum())
    low = betting.lower(sums, rows, 8, 0.025, most=10.0)
    assert 0 < low < sums.sum() / rows
    assert plain_capital((sums / 8).tolist(), low * rows / (60 * 8)) == pytest.approx(40.0, rel=1e-9)


def test_the_bernstein_bound_is_where_the_capital_is_one_over_alpha() -> None:
    sums = np.random.default_rng(5).exponential(0.5, 80)
    low = bernstein.lower(sums, rows=240, longest=3, alpha=0.025)
    capital = 0.0
    for rate in [0.9, *(2.0**-k for k in range(1, 20))]:
        log, seen = 0.0, 0.0
        for b, x in enumerate(sums / 3):
            predicted = min(1.0, seen / b) if b else 0.0
            log += rate * (x - low) - (-np.log(1 - rate) - rate) * (x - predicted) ** 2
            seen += x
        capital += np.exp(log) / 20
    assert 0 < low < sums.mean() / 3
    assert capital == pytest.approx(40.0, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("bound", [betting.lower, bernstein.lower])
def test_a_lower_bound_is_rarely_above_a_mean_that_moves(bound: Callable[..., float]) -> None:
    """Blocks whose means swing, weights up to 50. 300 bounds of error at most 0.025 exceed the truth more than 28 times
    with probability below 1e-8 (binomial tail)."""
    rng = np.random.default_rng(11)
    above = 0
    for _ in range(300):
        n = 400
        mean = np.where(np.arange(n) < rng.integers(n), 0.9, 0.1)
        chance = rng.choice([0.02, 0.3, 0.9], n)
        sums = (rng.random(n) < chance) / chance * (rng.random(n) < mean)
        above += bound(sums, n, 1, 0.025) > mean.mean()
    assert above <= 28


@pytest.mark.statistical
def test_intervals_on_logs_of_hlmc_cover_the_truth() -> None:
    """24 logs, 3 arms each, intervals of 99.9 %: a log has a miss with probability 0.003 at most, and more than 3 logs
    with probability below 1e-6. With every row as a block, many have."""
    truth = ARMS[[0, 4, 8]]
    missed = {"block": 0, "row": 0}
    long = hlmc.HLMC(arms=9, groups=(3, 3), horizon=3000, epochs=(15, 200), pending=1)
    for seed in range(24):
        log = played(long, ARMS, 3000, seed)
        for kind, found in (
            ("block", hlmc.replay([0, 4, 8], log, level=0.999)),
            ("row", hlmc.replay([0, 4, 8], log.drop(columns="block"), level=0.999)),
        ):
            missed[kind] += bool(((truth < found["low"]) | (truth > found["high"])).any())
    assert missed["block"] <= 3
    assert missed["row"] > 12


@pytest.mark.statistical
def test_weights_of_hlmc_have_mean_one() -> None:
    """The mean over 24 logs of an arm's mean weight; beyond six standard errors with probability below 1e-7."""
    found = np.array([hlmc.replay([0, 8], played(POLICY, ARMS, 1500, seed))["mean_weight"] for seed in range(24)])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (abs(found.mean(axis=0) - 1.0) < 6 * error).all()
    assert (error < 0.2).all()


def test_bernstein_clips_weights() -> None:
    found = hlmc.replay("cocoa", LOG, interval="bernstein", clip=2.0)
    w = np.minimum((LOG["arm"] == "cocoa") / LOG["propensity"], 2.0)
    assert found["low"].item() == bernstein.lower((w * LOG["reward"]).to_numpy(), 300, 1, (1 - 0.95) / 2)
    assert found["high"].item() == 1 - bernstein.lower((w * (1 - LOG["reward"])).to_numpy(), 300, 1, (1 - 0.95) / 2)
    assert found.attrs["interval"] == "bernstein, weights clipped at 2"


# --- Logs


def test_logs_of_every_kind_are_read_alike(tmp_path: Path) -> None:
    log = LOG.assign(time=np.arange(300.0), unit="u", block=np.arange(300) // 10)
    log.to_csv(tmp_path / "log.csv", index=False)
    log.to_parquet(tmp_path / "log.parquet")
    log.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    shuffled = log.sample(frac=1.0, random_state=1).rename(columns={"arm": "action"})
    mine = hlmc.replay(list(MEANS), log)
    assert mine["blocks"].tolist() == [30] * 3
    for other in (dict(log), tmp_path / "log.csv", str(tmp_path / "log.parquet"), tmp_path / "log.jsonl"):
        pd.testing.assert_frame_equal(hlmc.replay(list(MEANS), other), mine)
    pd.testing.assert_frame_equal(hlmc.replay(list(MEANS), shuffled, columns={"arm": "action"}), mine)


def test_dsjson(tmp_path: Path) -> None:
    lines = []
    for t, (arm, reward, propensity) in enumerate(LOG.itertuples(index=False)):
        number = list(CHANCES).index(arm) + 1
        event = {
            "_label_cost": -reward,
            "_label_probability": propensity,
            "_label_Action": number,
            "a": [number, *({1, 2, 3} - {number})],
            "Timestamp": f"2026-01-01T00:{t // 60:02}:{t % 60:02}Z",
            "c": {"hour": t % 24},
        }
        lines.append(json.dumps(event))
    lines.insert(5, json.dumps({"RewardValue": 1.0, "EventId": "dangling"}))
    path = tmp_path / "log.dsjson"
    path.write_text("\n".join(lines) + "\n")
    found = hlmc.replay([1, 2, 3], path)
    assert found["value"].tolist() == hlmc.replay(list(CHANCES), LOG)["value"].tolist()
    (tmp_path / "dropped.dsjson").write_text(json.dumps({**event, "pdrop": 0.5}))
    with pytest.raises(BadFile, match="decisions were dropped from it"):
        hlmc.replay([1], tmp_path / "dropped.dsjson")
    hours = hlmc.replay({"by hour": lambda row: 1 + row["context"]["hour"] % 3}, path)
    assert hours["rows"].item() == 300


def test_blocks_are_those_of_a_unit_and_control_rows_stand_alone() -> None:
    log = pd.DataFrame(
        {
            "arm": ["a"] * 8,
            "reward": [1.0] * 8,
            "propensity": [0.5] * 8,
            "unit": ["x", "y", "x", "y", None, None, "x", "x"],
            "block": [0, 0, 0, 1, 0, 0, 1, None],
            "control": [0, 0, 0, 0, 0, 1, 0, 0],
        }
    )
    assert read(log, None, (0.0, 1.0)).block.tolist() == [0, 1, 0, 2, 3, 4, 5, 6]


def test_rows_without_a_reward_are_left_out_and_counted() -> None:
    log = LOG.copy()
    log.loc[::3, "reward"] = np.nan
    found = hlmc.replay("tea", log, estimator="ips")
    pd.testing.assert_frame_equal(found, hlmc.replay("tea", LOG[LOG.index % 3 > 0], estimator="ips"))
    assert found.attrs["left_out"] == 100
    assert "100 rows have no reward" in repr(found)


BROKEN: list[tuple[Callable[[pd.DataFrame], Any], type[Exception], str]] = [
    (lambda log: log.drop(columns="propensity"), BadArgument, "log must have a column 'propensity'"),
    (lambda log: log.assign(reward=2.0), BadReward, r"reward must be a number in \[0, 1\], not 2.0 as in row 0"),
    (lambda log: log.assign(propensity=0.0), BadArgument, r"propensity must be a number in \(0, 1\]"),
    (lambda log: log.assign(propensity=np.nan), BadArgument, r"propensity must be a number in \(0, 1\]"),
    (lambda log: log.assign(reward="much"), BadType, "reward must be a column of numbers"),
    (lambda log: log.assign(reward=1j), BadType, "reward must be a column of numbers"),
    (lambda log: log.assign(arm=[[1]] * 300), BadType, r"arm must be a name or a number, not \[1\]"),
    (lambda log: log.assign(time=[1, "x"] * 150), BadType, "time must be a column of values that can be ordered"),
    (lambda log: pd.concat([log, log[["reward"]]], axis=1), BadArgument, "and 'reward' comes twice"),
    (lambda log: log.assign(arm=None), BadArgument, "arm must be a name or a number"),
    (lambda log: log[:0], BadArgument, "log must hold at least one row with a reward"),
    (
        lambda log: {"arm": [1], "reward": [1.0, 2.0], "propensity": [1.0]},
        BadArgument,
        "log must have columns of equal",
    ),
    (lambda log: 7, BadType, "log must be a data frame, a mapping of columns or a file, not 7"),
    (lambda log: "log.xlsx", BadArgument, "log must be a file that ends in .csv"),
    (lambda log: "missing.csv", BadFile, "missing.csv: No such file"),
]


@pytest.mark.parametrize(("broken", "error", "message"), BROKEN)
def test_broken_logs_are_refused(broken: Callable[[pd.DataFrame], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hlmc.replay("tea", broken(LOG))


def test_files_that_are_no_tables_are_refused(tmp_path: Path) -> None:
    for name in ("log.parquet", "log.jsonl"):
        (tmp_path / name).write_bytes(b"\xff\x00{")
        with pytest.raises(BadFile, match="is not a table"):
            hlmc.replay("tea", tmp_path / name)


CALLS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"candidates": []}, BadArgument, "candidates must hold at least one"),
    ({"candidates": ["tea", "tea"]}, BadArgument, "candidates must have different names"),
    ({"candidates": {"it": {"tea": 0.5}}}, BadArgument, "it must map arms to probabilities that sum to 1"),
    ({"candidates": {"it": {"tea": "all"}}}, BadType, "it must map arms to probabilities"),
    ({"candidates": {"it": ["tea"]}}, BadType, "candidate 'it' must be an arm"),
    ({"candidates": [None]}, BadType, "candidate 'None' must be an arm"),
    ({"candidates": [hlmc.EXP3]}, BadType, "candidate 'EXP3' must be an arm"),
    ({"columns": [1]}, BadType, "columns must map names"),
    ({"columns": {"arm": ["arm"]}}, BadType, "columns must map names"),
    ({"estimator": "dm"}, BadArgument, "estimator must be one of 'dr', 'ips', 'snips'"),
    ({"interval": "bernstein"}, BadArgument, "clip must be given"),
    ({"clip": 3.0}, BadArgument, "clip must be left out"),
    ({"level": 95}, BadArgument, "level must be a number in"),
    ({"columns": {"action": "arm"}}, BadArgument, "columns must name columns of a log"),
    ({"columns": {"arm": "action"}}, BadArgument, r"columns\['arm'\] must be a column of the log, not 'action'"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), CALLS)
def test_bad_arguments_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hlmc.replay(arguments.pop("candidates", "tea"), LOG, **arguments)


def test_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    with matplotlib.rc_context({"backend": "agg"}):
        ax = hlmc.replay(["tea", "cocoa", "water"], LOG).plot()
        assert [text.get_text() for text in ax.get_yticklabels()] == ["tea", "cocoa", "water"]
        assert len(ax.lines) == 7  # an interval and a value each, and the log's own mean
