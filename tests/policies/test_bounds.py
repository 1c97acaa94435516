"""Every bound against its printed formula, worked out apart to 40 digits, and against its neighbours."""

import inspect
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlmc import bounds, planning
from hlmc.errors import BadType

ARMS = st.integers(2, 10**6)
HORIZONS = st.integers(1, 10**12)

VALUES = [
    (bounds.lemma_3(10**7, 100), 191941.036487523),
    (bounds.lemma_4(10**7, 100, 0.05), 448993.246589751),
    (bounds.lemma_5(10**6, 16, 10), 206071.672379593),
    (bounds.theorem_1(10**7, 100), 8240309.44742100),
    (bounds.theorem_2(10**7, 100, 0.05), 34730655.9672757),
    (bounds.theorem_3(10**6, 16, 10), 4344887.41139270),
    (bounds.theorem_4(10**6, 16, 10), 5464300.38562736),
    (bounds.theorem_5(10**7, 100), 37798168.3407522),
    (bounds.plotted(2 * 10**6, 100, 1), 60697.0851754059),
    (bounds.plotted(2 * 10**6, 100, 2), 721814.055505188),
    (bounds.plotted(2 * 10**6, 100, 3), 1647572.37276083),
    (bounds.hierarchy(10**7, (10, 10)), 4827061.51614808),
    (bounds.hierarchy(10**7, (5, 5, 4)), 15412280.3470641),
    (bounds.exp3_loss(10**7, 100), 95970.5182437616),
    (bounds.exp3_ix(10**7, 100, 0.05), 223337.359912929),
    (bounds.exp3_ix(10**7, 100), 202562.529757855),
    (bounds.tsallis_iw(10**7, 100), 126492.106406735),
    (bounds.tsallis_rv(10**7, 100), 79379.6488543259),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_value_is_that_of_the_printed_formula(value: float, expected: float) -> None:
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "value",
    [
        bounds.lemma_3(50, 1),
        bounds.lemma_4(50, 1, 0.1),
        bounds.lemma_5(50, 1, 3),
        bounds.theorem_1(50, 1),
        bounds.theorem_2(50, 1, 0.1),
        bounds.theorem_3(50, 1, 3),
        bounds.theorem_4(50, 1, 3),
        bounds.theorem_5(50, 1),
        bounds.hierarchy(50, (1, 1)),
        bounds.hierarchy(50, ()),
        bounds.plotted(50, 1, 2),
        bounds.exp3_loss(50, 1),
        bounds.exp3_ix(50, 1),
        bounds.exp3_ix(50, 1, 0.1),
        bounds.tsallis_iw(50, 1),
        bounds.tsallis_rv(50, 1),
    ],
)
def test_without_a_choice_there_is_no_regret(value: float) -> None:
    assert value == 0


@given(ARMS, HORIZONS)
def test_one_level_is_lemma_3(arms: int, horizon: int) -> None:
    assert bounds.hierarchy(horizon, (arms,)) == pytest.approx(bounds.lemma_3(horizon, arms), rel=1e-12)
    assert bounds.hierarchy(horizon, (1, arms, 1)) == bounds.hierarchy(horizon, (arms,))


@given(st.integers(3, 10**6), HORIZONS)
def test_theorem_1_rounds_the_two_level_bound_up(arms: int, horizon: int) -> None:
    assert bounds.hierarchy(horizon, planning.even_groups(arms, 2)) < bounds.theorem_1(horizon, arms)


@given(st.integers(27, 10**6), HORIZONS)
def test_theorem_5_rounds_the_three_level_bound_up(arms: int, horizon: int) -> None:
    assert bounds.hierarchy(horizon, planning.even_groups(arms, 3)) < bounds.theorem_5(horizon, arms)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), HORIZONS)
def test_order_of_the_levels_does_not_matter(groups: list[int], horizon: int) -> None:
    assert bounds.hierarchy(horizon, groups) == bounds.hierarchy(horizon, groups[::-1])
    assert math.isfinite(bounds.hierarchy(horizon, groups))


def composed(horizon: int, parts: list[tuple[float, float, int]]) -> float:
    """Levels that lose c sqrt(x S) in the S choices between two resets: each is reset T / S times."""
    return math.fsum(horizon / S * c * math.sqrt(x * S) for c, x, S in parts)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_composed_of_exp3_in_the_best_epochs_is_the_hierarchy(levels: int) -> None:
    # Equal levels and a T that is a D-th power: the best epochs are whole numbers.
    horizon, groups = 100**levels, (7,) * levels
    parts = [(2 * math.sqrt(2), 7 * math.log(7), 100)] * levels
    assert composed(horizon, parts) == pytest.approx(bounds.hierarchy(horizon, groups), rel=1e-12)


@given(st.lists(st.integers(2, 50), min_size=2, max_size=5), st.integers(10**6, 10**10), st.data())
def test_no_other_epochs_compose_better(groups: list[int], horizon: int, data: st.DataObject) -> None:
    best = bounds.hierarchy(horizon, groups)
    S = [data.draw(st.integers(1, planning.ceil_root(horizon, len(groups)))) for _ in groups[1:]]
    top = horizon // math.prod(S)
    parts = [(2 * math.sqrt(2), n * math.log(n), s) for n, s in zip(groups, [top, *S], strict=True)]
    assert composed(horizon, parts) >= best * (1 - 1e-12)


def test_expected_bound_of_exp3_ix_is_the_integral_of_its_tail() -> None:
    n = 20_000
    tail = [bounds.exp3_ix(10**4, 10, (i + 0.5) / n) for i in range(n)]
    assert math.fsum(tail) / n == pytest.approx(bounds.exp3_ix(10**4, 10), rel=1e-4)


def test_plotted_curve_starts_at_zero_reward() -> None:
    assert bounds.plotted(0, 100, 2) == 0


@pytest.mark.parametrize("horizon", [0, -1, 0.5, math.nan, math.inf, 10**400])
def test_bad_horizon(horizon: float) -> None:
    with pytest.raises(ValueError, match=r"^horizon must be a number in \[1, inf\), not "):
        bounds.lemma_3(horizon, 10)
    with pytest.raises(ValueError, match=r"^horizon must be"):
        bounds.hierarchy(horizon, (5, 5))


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan])
def test_bad_delta(delta: float) -> None:
    for bound in (bounds.lemma_4, bounds.theorem_2, bounds.exp3_ix):
        with pytest.raises(ValueError, match=r"^delta must be a number in \(0, 1\), not "):
            bound(1000, 10, delta)


def test_bad_counts_are_named() -> None:
    with pytest.raises(ValueError, match=r"^arms must be a whole number of at least 1, not 0$"):
        bounds.theorem_1(1000, 0)
    with pytest.raises(TypeError, match=r"^arms must be a whole number of at least 1, not 'ten'$"):
        bounds.theorem_1(1000, "ten")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^switches must be a whole number of at least 1, not 0$"):
        bounds.theorem_4(1000, 10, 0)


@pytest.mark.parametrize("value", ["1000", None, [1000], 1j, object()])
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(BadType, match=r"^horizon must be a number in "):
        bounds.lemma_3(value, 10)
    with pytest.raises(BadType, match=r"^gamma must be a number in "):
        bounds.exp3(1000, 10, value)
    with pytest.raises(BadType, match=r"^groups must be a "):
        bounds.hierarchy(1000, (value,) if isinstance(value, list) else value)


def test_theorem_3_says_when_the_horizon_is_too_short() -> None:
    with pytest.raises(ValueError, match=r"^horizon must be at least switches \* arms = 160 .* not 159$"):
        bounds.theorem_3(159, 16, 10)
    assert bounds.theorem_3(160, 16, 10) > 0


def test_bounds_refer_only_to_bounds_that_exist() -> None:
    source = inspect.getsource(bounds)
    named = set(re.findall(r"\b(?:lemma|theorem)_\w+", source))
    assert len(named) > 6
    assert named == {name for name in named if hasattr(bounds, name)}
