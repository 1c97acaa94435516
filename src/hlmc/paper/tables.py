"""Tables used by several figures."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hlmc.evaluation import Interval
from hlmc.paper.claims import exponent, mean
from hlmc.paper.drawing import plotted_curve
from hlmc.paper.experiment import Part, Results, Table, curves, final
from hlmc.simulation import Result

HEADINGS = ("policy", "words", "final regret", "exponent", "theorem's bound", "plotted bound", "ns per step")


def regret_table(part: Part, result: Result, note: str = "") -> Table:
    """One row per policy: words, final regret, exponent of t over the last two decades, bounds, speed."""
    rows = []
    for policy, value in part.policies.items():
        times, values = curves(result, policy, part.kind, part.switches)
        theorem = _promised(part, policy)
        depth = part.levels.get(policy)
        plotted = float(plotted_curve(result, depth)[1][-1]) if depth else math.nan
        rows.append(
            (
                policy,
                f"{value.words.statistics}",
                plus_minus(mean(final(result, policy, part.kind, part.switches))),
                plus_minus(exponent(times, values), digits=2),
                number(theorem),
                number(plotted),
                number(result.nanoseconds.get(policy, math.nan)),
            )
        )
    return Table(part.title, HEADINGS, tuple(rows), note)


def regret_tables(parts: Iterable[Part], results: Results) -> list[Table]:
    """A table for each experiment of a figure."""
    return [regret_table(part, results[part.key]) for part in parts]


def _promised(part: Part, policy: str) -> float:
    """The policy's bound on the measured kind of regret. A bound on weak regret does not bound shifting regret."""
    value = part.policies[policy]
    if part.kind == "shifting" and getattr(value, "switches", None) is None:
        return math.nan
    bound = value.bound(part.horizon)
    return math.nan if bound is None else bound


def plus_minus(interval: Interval, digits: int = 0) -> str:
    """An estimate and the half-width of its interval.

    >>> plus_minus(Interval(1234.0, 1200.0, 1268.0)), plus_minus(Interval(0.75, 0.7, 0.8), 2)
    ('1,234 ± 34', '0.75 ± 0.05')
    """
    if math.isnan(interval.estimate):
        return "–"
    estimate = f"{interval.estimate:,.{digits}f}"
    if math.isinf(interval.high - interval.low):
        return estimate
    return f"{estimate} ± {(interval.high - interval.low) / 2:,.{digits}f}"


def number(value: float) -> str:
    """A whole number with commas, or a dash for NaN.

    >>> number(1234.4), number(math.nan)
    ('1,234', '–')
    """
    return "–" if math.isnan(value) else f"{value:,.0f}"
