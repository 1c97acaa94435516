"""Verdicts on made-up data, where the right answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hlmc import paper
from hlmc.evaluation import Interval
from hlmc.paper import claims
from hlmc.paper.claims import Verdict

rng = np.random.default_rng(3)
LOW, HIGH = rng.normal(100.0, 5.0, 10), rng.normal(200.0, 5.0, 10)
WIDE = rng.normal(150.0, 200.0, 10)


@pytest.mark.parametrize(
    ("smaller", "larger", "verdict"),
    [
        (LOW, HIGH, Verdict.HOLDS),
        (HIGH, LOW, Verdict.FAILS),
        (WIDE, HIGH, Verdict.UNDECIDED),
        (LOW[:1], HIGH, Verdict.UNDECIDED),  # one run says nothing about its spread
        (np.full(5, 1.0), np.full(5, 2.0), Verdict.HOLDS),  # no variance at all
        (np.full(5, 2.0), np.full(5, 1.0), Verdict.FAILS),
    ],
)
def test_less(smaller: np.ndarray, larger: np.ndarray, verdict: Verdict) -> None:
    assert claims.less("name", "says", ("a", smaller), ("b", larger)).verdict is verdict


@pytest.mark.parametrize(
    ("interval", "at_most", "within"),
    [
        (Interval(0.5, 0.4, 0.6), Verdict.HOLDS, Verdict.FAILS),
        (Interval(1.0, 0.99, 1.01), Verdict.UNDECIDED, Verdict.HOLDS),
        (Interval(1.0, 0.9, 1.1), Verdict.UNDECIDED, Verdict.UNDECIDED),
        (Interval(2.0, 1.9, 2.1), Verdict.FAILS, Verdict.FAILS),
        (claims.UNKNOWN, Verdict.UNDECIDED, Verdict.UNDECIDED),
    ],
)
def test_limits(interval: Interval, at_most: Verdict, within: Verdict) -> None:
    assert claims.at_most("", "", "x", interval, ("limit", 1.0)).verdict is at_most
    assert claims.within("", "", "x", interval, (0.95, 1.05)).verdict is within


def test_all_of_is_as_weak_as_its_weakest_part() -> None:
    def made(verdict: Verdict) -> claims.Claim:
        return claims.Claim("", "", "m", verdict)

    assert claims.all_of("", "", [made(Verdict.HOLDS), made(Verdict.HOLDS)]).verdict is Verdict.HOLDS
    assert claims.all_of("", "", [made(Verdict.HOLDS), made(Verdict.UNDECIDED)]).verdict is Verdict.UNDECIDED
    assert claims.all_of("", "", [made(Verdict.FAILS), made(Verdict.UNDECIDED)]).verdict is Verdict.FAILS
    assert claims.fact("", "", False, "m").verdict is Verdict.FAILS


def test_welch_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    theirs = stats.ttest_ind(LOW, WIDE, equal_var=False).confidence_interval(claims.LEVEL)
    ours = claims.difference(LOW, WIDE)
    assert ours.low == pytest.approx(theirs.low)
    assert ours.high == pytest.approx(theirs.high)


@pytest.mark.statistical
def test_the_interval_of_the_spread_covers() -> None:
    """95 % of intervals from normal samples hold the true value; at least 88 % is asked of 400 samples of ten."""
    draws = np.random.default_rng(11).normal(100.0, 10.0, (400, 10))
    held = sum(i.low <= 0.1 <= i.high for i in map(claims.spread, draws))
    assert held >= 0.88 * 400


def test_spread_of_few_or_equal_values() -> None:
    assert math.isnan(claims.spread([1.0, 2.0]).estimate)
    assert claims.spread([4.0, 4.0, 4.0]) == Interval(0.0, 0.0, 0.0)
    assert claims.spread([4.0, 4.0, 5.0]).high == math.inf


def test_exponent() -> None:
    t = np.geomspace(10, 1000, 10)
    runs = np.stack([factor * t**0.75 for factor in (1.0, 2.0, 3.0)])
    fit = claims.exponent(t, runs, (10, 1000))
    assert fit.estimate == pytest.approx(0.75)
    assert fit.low <= 0.75 + 1e-9
    assert fit.high >= 0.75 - 1e-9
    assert claims.exponent(t, -runs) == claims.UNKNOWN
    assert claims.exponent(t, runs[:1], (10, 1000)).high == math.inf


def test_claims_as_dictionaries() -> None:
    claim = claims.fact("name", "says", True, "measured").read("reading", printed=False)
    assert claim.as_dict() == {
        "name": "name",
        "says": "says",
        "measured": "measured",
        "verdict": "holds",
        "reading": "reading",
        "printed": False,
    }


def test_what_holds_at_full_size_alone_needs_the_full_horizon() -> None:
    def made(name: str, verdict: Verdict) -> claims.Claim:
        return claims.Claim(name, "", "1", verdict)

    full = {"one: a": {"verdict": "holds", "measured": "2"}, "one: b": {"verdict": "undecided", "measured": "3"}}
    given = [made("a", verdict) for verdict in (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)]
    found = claims.held_against([*given, made("b", Verdict.FAILS), made("c", Verdict.FAILS)], "one", full)
    assert [each.verdict for each in found] == [
        Verdict.HOLDS,
        Verdict.LATER,
        Verdict.LATER,
        Verdict.FAILS,
        Verdict.FAILS,
    ]
    assert found[1].measured == "1. At the full horizon: 2"
    assert claims.held_against(given, "two", full) == tuple(given)
    fewer = claims.held_against(given, "one", full, as_many=False)
    assert [each.verdict for each in fewer] == [Verdict.HOLDS, Verdict.LATER, Verdict.UNDECIDED]


def test_the_stored_claims_are_claims_of_the_figures() -> None:
    stored = claims.at_full_size()
    assert stored["shifting: HLMC.S below EXP3"]["verdict"] == Verdict.HOLDS
    assert {each.split(": ")[0] for each in stored} <= set(paper.FIGURES)
    assert {each["verdict"] for each in stored.values()} <= set(map(str, Verdict)) - {Verdict.LATER}
