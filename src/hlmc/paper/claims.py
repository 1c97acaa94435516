"""Claims: a statement of the paper, the measurement, and whether the statement holds.

A claim is decided by the 95 % interval of a quantity. It holds if the whole interval agrees with it, does not hold if
the whole interval contradicts it, and is otherwise undecided at this number of runs. There is no correction for
multiple comparisons, so a few of many claims may hold by chance.

A claim that does not hold, or is undecided, at shorter horizons than the paper's *needs the full horizon* if it holds
there: ``full.json`` beside this module is what ``hlmc reproduce`` found at full size (``scripts/full.py``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.errors import HLMCError
from hlmc.evaluation import Interval, fitted_exponent, mean_interval, t_quantile
from hlmc.plotting import short

Array = np.ndarray

FULL_SIZE = Path(__file__).with_name("full.json")
LEVEL = 0.95
UNKNOWN = Interval(math.nan, -math.inf, math.inf)
"""The interval of too few runs."""


class Verdict(StrEnum):
    """Whether the data support a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    LATER = "needs the full horizon"


@dataclass(frozen=True)
class Claim:
    """A named check.

    ``says`` is the statement of the paper, quoted or paraphrased. ``measured`` is the measurement as text. ``reading``
    is the interpretation, if the statement is ambiguous. ``printed`` is False for a check of the same statement under
    an interpretation other than the default.
    """

    name: str
    says: str
    measured: str
    verdict: Verdict
    reading: str = ""
    printed: bool = True

    def read(self, reading: str, printed: bool = True) -> Claim:
        """The same claim with the interpretation under which it was checked."""
        return replace(self, reading=reading, printed=printed)

    def as_dict(self) -> dict[str, Any]:
        """The claim as a dictionary for JSON."""
        return {**asdict(self), "verdict": str(self.verdict)}


def at_full_size() -> dict[str, dict[str, str]]:
    """What was found at the paper's horizons: verdict and measurement by figure and claim, ``"figure: claim"``."""
    found: dict[str, dict[str, str]] = json.loads(FULL_SIZE.read_text())["claims"]
    return found


def held_against(
    claims: Sequence[Claim], figure: str, full: Mapping[str, Mapping[str, str]], as_many: bool = True
) -> tuple[Claim, ...]:
    """The claims of a figure at a shorter horizon; those that hold at full size alone need it.

    ``as_many``: whether there are as many runs as there. With fewer, what is undecided may need runs and no steps.

    >>> claim = fact("a", "", False, "1.1")
    >>> (later,) = held_against([claim], "one", {"one: a": {"verdict": "holds", "measured": "0.9"}})
    >>> str(later.verdict), later.measured
    ('needs the full horizon', '1.1. At the full horizon: 0.9')
    >>> held_against([claim], "two", {"one: a": {"verdict": "holds", "measured": "0.9"}}) == (claim,)
    True
    """
    judged_anew = []
    for claim in claims:
        known = full.get(f"{figure}: {claim.name}", {})
        open_ = claim.verdict is Verdict.UNDECIDED and as_many
        if (open_ or claim.verdict is Verdict.FAILS) and known.get("verdict") == Verdict.HOLDS:
            measured = f"{claim.measured}. At the full horizon: {known['measured']}"
            claim = replace(claim, measured=measured, verdict=Verdict.LATER)
        judged_anew.append(claim)
    return tuple(judged_anew)


def judged(holds_below: Interval, limit: float = 0.0) -> Verdict:
    """Whether a quantity is below a limit, decided by its interval.

    >>> [str(judged(Interval(5, 4, 6), limit)) for limit in (7, 5, 3)]
    ['holds', 'undecided', 'does not hold']
    """
    if holds_below.high <= limit:
        return Verdict.HOLDS
    return Verdict.FAILS if holds_below.low > limit else Verdict.UNDECIDED


def less(name: str, says: str, smaller: tuple[str, Any], larger: tuple[str, Any], show: Any = short) -> Claim:
    """The claim that one mean is below another, from two samples with their names.

    >>> claim = less("order", "A is below B", ("A", [1.0, 1.1, 0.9]), ("B", [2.0, 2.2, 1.9]))
    >>> str(claim.verdict), claim.measured
    ('holds', 'A: 1; B: 2.03; difference: -1.03 [-1.35, -0.721]')
    """
    a, b = np.asarray(smaller[1], dtype=np.float64), np.asarray(larger[1], dtype=np.float64)
    gap = difference(a, b)
    measured = f"{smaller[0]}: {show(a.mean())}; {larger[0]}: {show(b.mean())}; difference: {_shown(gap, show)}"
    return Claim(name, says, measured, judged(gap))


def at_most(name: str, says: str, what: str, interval: Interval, limit: tuple[str, float]) -> Claim:
    """The claim that a quantity does not exceed a named limit.

    >>> str(at_most("bound", "A stays below", "A", Interval(1.0, 0.9, 1.1), ("bound", 2.0)).verdict)
    'holds'
    """
    measured = f"{what}: {_shown(interval)}; {limit[0]}: {short(limit[1])}"
    return Claim(name, says, measured, judged(interval, limit[1]))


def within(name: str, says: str, what: str, interval: Interval, span: tuple[float, float]) -> Claim:
    """The claim that a quantity is in a range. It is undecided if the interval contains an end of the range.

    >>> str(within("one", "it is 1", "exponent", Interval(0.99, 0.9, 1.02), (0.95, 1.05)).verdict)
    'undecided'
    """
    low, high = span
    if low <= interval.low and interval.high <= high:
        verdict = Verdict.HOLDS
    elif interval.high < low or interval.low > high:
        verdict = Verdict.FAILS
    else:
        verdict = Verdict.UNDECIDED
    measured = f"{what}: {_shown(interval)}; must be in [{short(low)}, {short(high)}]"
    return Claim(name, says, measured, verdict)


def fact(name: str, says: str, holds: bool, measured: str) -> Claim:
    """A claim that is computed exactly, without a sample."""
    return Claim(name, says, measured, Verdict.HOLDS if holds else Verdict.FAILS)


def all_of(name: str, says: str, parts: Sequence[Claim]) -> Claim:
    """A claim of several parts: it holds if all parts hold, and does not hold if one does not.

    >>> yes, perhaps = fact("a", "", True, "1"), Claim("b", "", "2", Verdict.UNDECIDED)
    >>> str(all_of("both", "a and b", [yes, perhaps]).verdict)
    'undecided'
    """
    verdicts = {part.verdict for part in parts}
    verdict = next((v for v in (Verdict.FAILS, Verdict.UNDECIDED) if v in verdicts), Verdict.HOLDS)
    return Claim(name, says, ". ".join(part.measured for part in parts), verdict)


def mean(samples: Any) -> Interval:
    """The mean with its interval; a single run gives no interval."""
    values = np.asarray(samples, dtype=np.float64)
    return mean_interval(values, LEVEL) if len(values) > 1 else Interval(float(values.mean()), -math.inf, math.inf)


def difference(a: Array, b: Array) -> Interval:
    """mean(a) - mean(b) and its Welch interval.

    >>> difference(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])).estimate
    0.0
    """
    gap = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return Interval(gap, -math.inf, math.inf)
    va, vb = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
    if va + vb == 0.0:
        return Interval(gap, gap, gap)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    half = t_quantile(0.5 + LEVEL / 2, freedom) * math.sqrt(va + vb)
    return Interval(gap, gap - half, gap + half)


def spread(samples: Any) -> Interval:
    """Standard deviation divided by mean, with a jackknife interval of its logarithm.

    >>> spread([5.0, 5.0, 5.0]).estimate
    0.0
    """
    x = np.asarray(samples, dtype=np.float64)
    if len(x) < 3 or x.mean() == 0.0:
        return UNKNOWN
    value = float(x.std(ddof=1) / abs(x.mean()))
    if value == 0.0:
        return Interval(0.0, 0.0, 0.0)
    others = [np.delete(x, i) for i in range(len(x))]
    if min(o.std(ddof=1) for o in others) == 0.0:
        return Interval(value, 0.0, math.inf)
    logs = np.log([o.std(ddof=1) / abs(o.mean()) for o in others])
    error = math.sqrt((len(x) - 1) / len(x) * float(((logs - logs.mean()) ** 2).sum()))
    factor = math.exp(t_quantile(0.5 + LEVEL / 2, len(x) - 1) * error)
    return Interval(value, value / factor, value * factor)


def exponent(times: Any, curves: Any, window: tuple[float, float] | None = None) -> Interval:
    """The exponent of t in curves [runs, points] with its interval; NaN if there is no fit.

    >>> import numpy as np
    >>> t = np.array([10.0, 100.0, 1000.0])
    >>> round(exponent(t, [t**0.5, t**0.5], (10, 1000)).estimate, 6)
    0.5
    """
    runs = np.atleast_2d(np.asarray(curves, dtype=np.float64))
    try:
        fit = fitted_exponent(times, runs, window)
    except HLMCError:
        return UNKNOWN
    if len(runs) < 2:
        return Interval(fit.exponent, -math.inf, math.inf)
    half = t_quantile(0.5 + LEVEL / 2, len(runs) - 1) * fit.error
    return Interval(fit.exponent, fit.exponent - half, fit.exponent + half)


def _shown(interval: Interval, show: Any = short) -> str:
    if math.isnan(interval.estimate):
        return "not measured"
    if math.isinf(interval.low) and math.isinf(interval.high):
        return f"{show(interval.estimate)} (too few runs for an interval)"
    return f"{show(interval.estimate)} [{show(interval.low)}, {show(interval.high)}]"
