"""Advice: the nearest measurement, the policies that fit, the order among them, and how `hlmc plan` tells it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc.advice import Measured, advise, measured
from hlmc.arenas import POLICIES
from hlmc.cli import main
from hlmc.errors import BadType
from loading import script

ROOT = Path(__file__).parents[2]


def test_what_was_measured_names_policies_of_the_arena() -> None:
    table = pd.read_csv(ROOT / "src" / "hlmc" / "advice" / "measured.csv")
    assert set(table["policy"]) <= set(POLICIES)
    assert not table.drop(columns="changes").isna().any().any()
    # Of more than a thousand arms only adversaries were measured whose best arm stays (studies/large.py).
    assert not table.loc[table["arms"] <= 1000, "changes"].isna().any()
    for _, size in table.groupby(["arms", "horizon"]):
        (base,) = size[size["policy"] == "HLMC"].to_dict("records")
        assert (base["stays"], base["worst"]) == (1.0, 1.0)
        assert base["changes"] == 1.0 or np.isnan(base["changes"])


def test_the_nearest_size_is_found() -> None:
    sizes = {(row.arms, row.horizon) for K, T in ((1, 1), (10**9, 10**12)) for row in measured(K, T).values()}
    table = pd.read_csv(ROOT / "src" / "hlmc" / "advice" / "measured.csv")
    known = set(table[["arms", "horizon"]].itertuples(index=False, name=None))
    assert sizes <= known
    for K, T in known:
        assert {(row.arms, row.horizon) for row in measured(K, T).values()} == {(K, T)}
    assert measured(100)["HLMC"].horizon == max(T for K, T in known if K == 100)


def test_weak_regret_orders_unless_the_best_arm_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        name: Measured(name, 100, 10**6, 20, 8, stays, changes, 2.0, "A")
        for name, stays, changes in (
            ("HLMC", 1.0, 1.0),
            ("HLMC.S", 1.5, 0.3),
            ("Champion", 0.2, 0.8),
            ("Champion known V", 0.4, 0.2),
            ("UCB-M", 0.1, 2.0),
        )
    }
    monkeypatch.setattr("hlmc.advice.measured", lambda arms, horizon=None, changes=False: rows)
    assert [type(c.policy).__name__ for c in advise(100, 20, 10**6).candidates] == ["UCBM", "Champion", "HLMC"]
    told = advise(100, 20, 10**6, switches=5)
    assert told.lowest.policy == hlmc.Champion(100, memory=20, horizon=10**6, switches=5)
    assert told.proved is told.lowest  # below HLMC.S's Theorem 3
    unknown = advise(100, 20, 10**6, switches="unknown")
    assert unknown.lowest.policy == hlmc.Champion(100, memory=20, horizon=10**6)
    assert unknown.proved is None  # no bound on weak regret speaks for shifting regret
    plain = advise(100, 20, 10**6)
    assert plain.proved is not None
    assert plain.proved.policy == hlmc.Champion(100, memory=20, horizon=10**6)  # its bound is below HLMC's
    assert plain.proved.bound == plain.proved.policy.bound()


@pytest.mark.parametrize("memory", [14, 20, 98, 99, 100, 200])
def test_candidates_fit(memory: int) -> None:
    for horizon in (10**5, None):
        advice = advise(100, memory, horizon)
        assert advice.candidates
        for candidate in advice.candidates:
            assert candidate.policy.arms == 100
            assert candidate.policy.words.statistics <= memory
            assert candidate.policy.horizon in (None, horizon)


def test_plan_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--arms", "100", "--memory", "20", "--horizon", "1e6"]) == 0
    out = capsys.readouterr().out
    advice = advise(100, 20, 10**6)
    assert f"Lowest measured regret:\n  {advice.lowest.policy!r}\n" in out
    assert advice.proved is not None
    assert f"Smallest bound, {advice.proved.bound:,.0f}:\n  {advice.proved.policy!r}\n" in out
    K, T = advice.size
    assert f"Medians by hlmc arena --arms {K} --horizon {T}: " in out
    assert main(["plan", "--arms", "100", "--memory", "20", "--horizon", "1e6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["advice"]
    assert found["measured_at"] == {"arms": K, "horizon": T, "far": False, "differences": []}
    assert [c["policy"] for c in found["candidates"]] == [repr(c.policy) for c in advice.candidates]
    assert "This is far from" not in out
    assert main(["plan", "--arms", "1e9", "--memory", "1e5", "--horizon", "1e12"]) == 0
    far = advise(10**9, 10**5, 10**12)
    text = f"This is far from what was measured, K = {far.size[0]:,} and T = {far.size[1]:,}. You have\n"
    assert (
        f"{text}  {far.differences[0]}\n  {far.differences[1]}\nThe policies may rank differently."
        in capsys.readouterr().out
    )
    assert main(["plan", "--arms", "1", "--memory", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["advice"] is None


def test_advice_comes_first_and_the_table_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--arms", "1e9", "--memory", "100", "--horizon", "1e4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Advice for K = 1,000,000,000 arms, M = 100 words, T = 10,000 steps"
    assert lines[1] == "Lowest measured regret:"
    tables = [i for i, text in enumerate(lines) if text.startswith(("level  ", "rule  ", "levels  ", "policy  "))]
    assert len(tables) == 4
    assert lines.index("The policies may rank differently.") < tables[0]
    assert lines[tables[-1]].startswith("policy")
    assert max(map(len, lines[: tables[0]])) <= 80


def test_what_is_advised_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """Every policy of the table that is an HLMC is one that the command makes, by the name that stands there."""
    assert main(["plan", "--arms", "100", "--memory", "20", "--horizon", "1e6", "--json"]) == 0
    candidates = json.loads(capsys.readouterr().out)["advice"]["candidates"]
    advice = advise(100, 20, 10**6)
    named = {c.measured.policy: c.policy for c in advice.candidates if c.measured.policy.startswith("HLMC ")}
    assert "HLMC tsallis-rv" in named
    for name, policy in named.items():
        options = ["--arms", "100", "--memory", "20", "--horizon", "1e6", "--routines", name.removeprefix("HLMC ")]
        assert main(["plan", *options, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["plan"]["policy"] == repr(policy)
    assert {repr(policy) for policy in named.values()} <= {c["policy"] for c in candidates}


@pytest.mark.parametrize(
    ("asked", "differences"),
    [
        ((100, 20, 10**6), ()),
        ((100, 20, None), ()),
        ((100, 14, 10**6), ()),
        ((1000, 400, 10**5), ("6.2 times the words that the arena gives as many arms (64)",)),
        ((100, 100, 10**6), ()),
        ((100, 20, 10), ("1/10,000 of the steps",)),
        ((1000, 21, 10**5), ("1/3 of the words that the arena gives as many arms (64)",)),
    ],
)
def test_advice_says_how_it_is_far_from_what_was_measured(
    asked: tuple[int, int, int | None], differences: tuple[str, ...]
) -> None:
    advice = advise(*asked)
    assert advice.differences == differences
    assert advice.far == bool(differences)


def test_measurements_are_condensed() -> None:
    common = {"arms": 16, "horizon": 1000, "policy": "mine", "words": 8, "runs": 4}
    data = pd.DataFrame(
        [
            {**common, "adversary": name, "kind": kind, "ratio": ratio}
            for name, kind, ratio in (
                ("Needle", "weak", 0.1),
                ("Decoy", "weak", 0.3),
                ("Beta", "weak", 0.2),
                ("Needle", "shifting", 9.0),
                ("Shifting", "weak", -9.0),
                ("Shifting", "shifting", 0.6),
                ("Sawtooth", "shifting", 0.4),
                ("RandomWalk", "shifting", float("nan")),
            )
        ]
    )
    (row,) = script("scripts/advice.py").condensed(data).to_dict("records")
    assert (row["stays"], row["changes"], row["worst"], row["adversary"]) == (0.2, 0.5, 0.6, "Shifting")


def test_a_size_without_changing_adversaries_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {
        name: Measured(name, 100, 10**6, 20, 8, stays, float("nan"), 2.0, "A")
        for name, stays in (("HLMC", 1.0), ("Champion", 0.2))
    }
    monkeypatch.setattr("hlmc.advice.measured", lambda arms, horizon=None, changes=False: rows)
    options = ["plan", "--arms", "100", "--memory", "20", "--horizon", "1e6"]
    assert main(options) == 0
    out = capsys.readouterr().out
    assert "  20 % of HLMC's regret if the best arm is fixed,\n  200 % on the worst adversary\n" in out
    assert "nan" not in out
    assert main([*options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["advice"]["candidates"][0]["changes"] is None


def test_changes_is_a_flag() -> None:
    with pytest.raises(BadType, match="changes must be True or False"):
        measured(100, changes=np.zeros(3))  # type: ignore[arg-type]
