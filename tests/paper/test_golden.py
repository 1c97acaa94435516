"""Fresh runs against the committed means.

Welch's test at ALARM over all comparisons together (Bonferroni). The rate of false alarms that is promised is 1e-6; the
test is set to a tenth of it, since Student's distribution is only nearly that of a mean of a few hundred runs.
"""

from __future__ import annotations

import pytest

from hlmc.paper import golden

ALARM = 1e-7
SEED = 7
RUNS = 250


@pytest.mark.statistical
@pytest.mark.parametrize("case", golden.CASES)
def test_means_are_what_they_were(case: str) -> None:
    expected = golden.expected()
    comparisons = sum(len(rows) for rows in expected.values())
    fresh = golden.sample(case, RUNS, SEED)
    assert set(fresh) == set(expected[case])
    assert list(golden.compare(fresh, expected[case], ALARM / comparisons)) == []


def test_a_change_is_noticed() -> None:
    then = golden.Sample(4000, 1000.0, 50.0)
    assert golden.differ(golden.Sample(250, 1025.0, 50.0), then, ALARM / 50)
    assert not golden.differ(golden.Sample(250, 1010.0, 50.0), then, ALARM / 50)
    assert golden.differ(golden.Sample(9, 1.0, 0.0), golden.Sample(9, 2.0, 0.0), ALARM)
    assert not golden.differ(golden.Sample(9, 2.0, 0.0), golden.Sample(9, 2.0, 0.0), ALARM)
