"""Statistics of a sample of runs: intervals for means and ratios, quantiles, and the exponent of a regret curve.

Runs are along one axis of the sample (by default the first). All other axes are processed at
once: a sample ``[runs, points]`` gives one value per point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from hlmc.checks import array, between, flag, fraction, listed, whole
from hlmc.errors import BadArgument, shown

Array = np.ndarray

_normal = NormalDist()


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    estimate: Any
    low: Any
    high: Any


class Exponent(NamedTuple):
    """regret = factor t^exponent, fitted to ``points`` time points in the window [first, last]."""

    exponent: float
    error: float
    factor: float
    first: float
    last: float
    points: int


def t_interval(samples: Any, level: float = 0.95, axis: int = 0) -> Interval:
    """The mean over independent runs and its Student interval.

    >>> t_interval([1.0, 2.0, 3.0, 4.0])
    Interval(estimate=2.5, low=0.44573974323947..., high=4.55426025676052...)
    """
    x = _sample("samples", samples, axis)
    n = len(x)
    half = t_quantile(0.5 + fraction("level", level) / 2, n - 1) * x.std(axis=0, ddof=1) / math.sqrt(n)
    mean = x.mean(axis=0)
    return _interval(mean, mean - half, mean + half)


ENOUGH = 32
"""Intervals of fewer runs cover less than they say where tails are heavy, which is not known beforehand."""

UNSEEN = 1.2
"""Few runs underestimate the skewness of heavy tails. With 1.2 times that of the sample, intervals of 32 runs of
Champion cover at least 93 % on every adversary of ``scripts/covered.py``; with 1 they do not (92.6 %)."""


def mean_interval(samples: Any, level: float = 0.95, axis: int = 0) -> Interval:
    r"""The mean over independent runs and an interval that allows for skewed samples, such as regret.

    It reaches from the lower to the higher of the ends of two intervals: Student's, and Hall's, which is Student's for

    .. math:: g(T) = T + a T^2 + \frac{a^2 T^3}{3} + \frac{\gamma}{6 n}, \quad a = \gamma / 3, \quad
        T = (\bar x - \mu) / s

    instead of T. There g, which is monotone and has a closed inverse, removes the skewness γ of T, taken as 1.2 times
    that of the sample. ``scripts/covered.py`` measures the coverage on Champion's regret.

    Parameters
    ----------
    samples
        One value, or one array of values, per run. Two runs have no skewness: their interval is Student's.

    Examples
    --------
    >>> t_interval([1.0] * 9 + [11.0])
    Interval(estimate=2.0, low=-0.2621..., high=4.2621...)
    >>> mean_interval([1.0] * 9 + [11.0])
    Interval(estimate=2.0, low=-0.2621..., high=7.6257...)

    References
    ----------
    P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54 (1992).
    """
    x = _sample("samples", samples, axis)
    n = len(x)
    student = t_interval(x, level)
    if n < 3:
        return student
    mean, s = x.mean(axis=0), x.std(axis=0, ddof=1)
    q = t_quantile(0.5 + level / 2, n - 1) / math.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = UNSEEN * _skewness(x)
        a = skewness / 3.0

        def inverse(z: float) -> Any:
            shifted = z - skewness / (6.0 * n)
            return s * np.where(np.abs(a) > 1e-6, (np.cbrt(1.0 + 3.0 * a * shifted) - 1.0) / a, shifted)

        # Without variance the skewness is not a number, and fmin and fmax take Student's ends.
        low, high = np.fmin(student.low, mean - inverse(q)), np.fmax(student.high, mean - inverse(-q))
    return _interval(mean, low, high)


def is_skewed(samples: Any) -> Any:
    """Whether runs are fewer than twice the square of their skewness, so that their ``mean_interval`` may cover too
    little; for ``[runs, ...]`` an array of answers. (For Student's interval Cochran asks for 25 times the square.)

    >>> is_skewed([[1.0, 1.0]] * 24 + [[1.0, 11.0]] * 7 + [[11.0, 11.0]]).tolist()
    [True, False]
    """
    x = _sample("samples", samples, 0, least=1)
    if len(x) < 3:
        return np.zeros(x.shape[1:], bool)[()]
    with np.errstate(divide="ignore", invalid="ignore"):
        return len(x) < 2.0 * _skewness(x) ** 2


def _skewness(x: Array) -> Any:
    """The skewness of a sample, not a number where all values are equal."""
    n, centred = len(x), x - x.mean(axis=0)
    return (centred**3).sum(axis=0) * (n / ((n - 1) * (n - 2))) / x.std(axis=0, ddof=1) ** 3


def too_few(count: int, what: str = "run", skewed: Sequence[str] = ()) -> str:
    """What to say beside intervals over so many runs or environments, of which those of ``skewed`` are skewed.

    Nothing where they are enough.

    >>> too_few(8), too_few(32)
    ('8 runs: below 32 an interval covers less than it says', '')
    >>> too_few(48, skewed=["Champion"])
    '48 runs are few where they are so skewed (Champion): an interval may cover less than it says'
    """
    if count == 1:
        return f"1 {what}: no interval"
    if count < ENOUGH:
        return f"{count} {what}s: below {ENOUGH} an interval covers less than it says"
    if skewed:
        named = ", ".join(skewed)
        return f"{count} {what}s are few where they are so skewed ({named}): an interval may cover less than it says"
    return ""


def by_environment(samples: Any, environments: Any, axis: int = 0) -> Array:
    """One value per environment, whose mean is the mean over all runs: the sample for an interval.

    Runs in one environment have its rewards in common and are not independent; environments are. With equally many runs
    in each, the values are the means over an environment's runs. Otherwise they are those of the linearised ratio
    estimator, in which an environment with more runs counts more.

    Parameters
    ----------
    samples
        One value, or one array of values, per run.
    environments
        [run]: the number of the environment of each run.

    Examples
    --------
    >>> by_environment([1.0, 4.0, 3.0, 6.0], [0, 1, 0, 1])
    array([2., 5.])
    >>> float(by_environment([1.0, 4.0, 3.0], [0, 1, 0]).mean())
    2.6666666666666665
    """
    x = _sample("samples", samples, axis, least=1)
    _, which, counts = np.unique(environments, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), *x.shape[1:]))
    np.add.at(sums, which, x)
    mean = x.mean(axis=0)
    weights = counts.reshape(-1, *[1] * (x.ndim - 1)) * (len(counts) / len(x))
    return np.asarray(mean * (1.0 - weights) + sums * (len(counts) / len(x)))


def paired_ratio_interval(a: Any, b: Any, level: float = 0.95, axis: int = 0, paired: bool = True) -> Interval:
    r"""The ratio of the means of two samples and its Fieller interval.

    The interval contains every ρ for which a t test does not reject :math:`E a = \rho\, E b`. If the mean
    of b is not significantly different from 0, no finite interval has the requested level, and the ends are
    infinite.

    Parameters
    ----------
    paired
        Whether the i-th runs of both samples form a pair (same seed, same rewards). If not, the samples
        may differ in size, and the degrees of freedom are Welch's at the estimated ratio.

    Examples
    --------
    >>> paired_ratio_interval([20.1, 21.9, 19.2, 20.8], [10.0, 11.0, 9.6, 10.4])
    Interval(estimate=2.0, low=1.9880..., high=2.0135...)
    """
    x = _sample("a", a, axis)
    y = _sample("b", b, axis)
    flag("paired", paired)
    if x.shape[1:] != y.shape[1:] or (paired and len(x) != len(y)):
        raise BadArgument(f"a and b must have the same shape, not {np.shape(a)} and {np.shape(b)}")
    upper = 0.5 + fraction("level", level) / 2
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    var_x, var_y = x.var(axis=0, ddof=1) / len(x), y.var(axis=0, ddof=1) / len(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean_x / mean_y
        if paired:
            cov = ((x - mean_x) * (y - mean_y)).sum(axis=0) / (len(x) - 1) / len(x)
            t2 = np.full(np.shape(ratio), t_quantile(upper, len(x) - 1) ** 2)
        else:
            cov = np.zeros_like(var_x)
            scaled = ratio**2 * var_y
            freedom = (var_x + scaled) ** 2 / (var_x**2 / (len(x) - 1) + scaled**2 / (len(y) - 1))
            # No variance at all, or a ratio that is not finite: any number of degrees will do.
            freedom = np.where(np.isfinite(freedom), freedom, len(x) + len(y) - 2)
            t2 = np.vectorize(lambda df: t_quantile(upper, float(df)) ** 2, otypes=[float])(freedom)
        # The interval is where (mean_x - ρ mean_y)² <= t² (var_x - 2 ρ cov + ρ² var_y).
        square = mean_y**2 - t2 * var_y
        linear = mean_x * mean_y - t2 * cov
        constant = mean_x**2 - t2 * var_x
        root = np.sqrt(np.maximum(0.0, linear**2 - square * constant))
        bounded = square > 0
        low = np.where(bounded, (linear - root) / square, -np.inf)
        high = np.where(bounded, (linear + root) / square, np.inf)
    return _interval(ratio, low, high)


def quantiles(samples: Any, probabilities: Any = (0.05, 0.5, 0.95), axis: int = 0) -> Array:
    """For each probability q, the smallest value of the sample that a fraction q of the runs does not exceed.

    The result has one row per probability. The values are values of the sample, without interpolation.

    >>> quantiles([3.0, 1.0, 2.0, 4.0], [0.5, 0.95])
    array([2., 4.])
    """
    x = _sample("samples", samples, axis, least=1)
    at = array("probabilities", probabilities)
    if not at.size or not np.all((at >= 0) & (at <= 1)):
        raise BadArgument(f"probabilities must be numbers between 0 and 1, not {shown(probabilities)}")
    return np.asarray(np.quantile(x, at, axis=0, method="inverted_cdf"))


def quantile_interval(samples: Any, probability: float, level: float = 0.95, axis: int = 0) -> Interval:
    """A quantile and a distribution-free interval between two values of the sample.

    The number of runs below the true quantile is binomial, which gives the ranks of the ends. With too few
    runs an end is infinite: ten runs, for example, are too few for an upper end of the 95 % quantile.

    >>> quantile_interval(range(10), 0.95)
    Interval(estimate=9.0, low=7.0, high=inf)
    """
    x = np.sort(_sample("samples", samples, axis), axis=0)
    q = fraction("probability", probability)
    tail = (1 - fraction("level", level)) / 2
    n = len(x)
    # P(at most i runs lie below the quantile), i = 0 .. n.
    below = [beta_share(n - i, i + 1, 1 - q) if i < n else 1.0 for i in range(n + 1)]
    low_rank = sum(p <= tail for p in below)
    high_rank = next(i for i, p in enumerate(below) if p >= 1 - tail) + 1
    low = x[low_rank - 1] if low_rank >= 1 else np.full(x.shape[1:], -np.inf)
    high = x[high_rank - 1] if high_rank <= n else np.full(x.shape[1:], np.inf)
    return _interval(np.quantile(x, q, axis=0, method="inverted_cdf"), low, high)


def fitted_exponent(t: Any, regret: Any, window: tuple[float, float] | None = None) -> Exponent:
    """The growth exponent of a regret curve: the slope of ln regret against ln t, by least squares.

    Parameters
    ----------
    t
        Time points, positive.
    regret
        A curve ``[points]``, or one curve per run, ``[runs, points]``, whose mean is fitted. It
        must be positive in the window.
    window
        The first and the last time to fit. Default: the last two decades, (max t / 100, max t).

    Notes
    -----
    With runs, ``error`` is the jackknife standard error over the runs. For a single curve it is the least-squares
    standard error, which assumes independent points. Points of a cumulative curve are not independent, so it
    underestimates the variation of the slope between runs.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.array([10, 100, 1000, 10000])
    >>> fit = fitted_exponent(t, 3 * t**0.75, window=(10, 10000))
    >>> round(fit.exponent, 9), round(fit.factor, 9), fit.points
    (0.75, 3.0, 4)
    """
    times, curves = array("t", t), array("regret", regret)
    if times.ndim != 1 or not np.isfinite(times).all():
        raise BadArgument(f"t must be a sequence of numbers, not {shown(t)}")
    if curves.ndim not in (1, 2) or curves.shape[-1] != len(times):
        raise BadArgument(f"regret must be [points] or [runs, points], not {curves.shape} for {len(times)} points")
    last = float(times.max(initial=0.0))
    ends = [last / 100, last] if window is None else listed("window", window, "the first and the last time")
    if len(ends) != 2:
        raise BadArgument(f"window must be the first and the last time, not {shown(window)}")
    first, last = (between("window", end, 0.0, math.inf, "[0, inf]") for end in ends)
    inside = (times >= first) & (times <= last)
    runs = np.atleast_2d(curves)[:, inside]
    mean = runs.mean(axis=0)
    if inside.sum() < 3 or times[inside].min() <= 0 or not mean.min() > 0:
        raise BadArgument(f"a fit needs at least 3 time points with positive regret in the window ({first}, {last})")
    x = np.log(times[inside])
    x_mean = x.mean()
    weights = (x - x_mean) / ((x - x_mean) ** 2).sum()
    y = np.log(mean)
    slope = float(weights @ y)
    if len(runs) > 1:
        n = len(runs)
        others = (n * mean - runs) / (n - 1)
        if not others.min() > 0:
            raise BadArgument("the mean regret without one of the runs is not positive: give more runs")
        slopes = np.log(others) @ weights
        error = math.sqrt((n - 1) / n * ((slopes - slopes.mean()) ** 2).sum())
    else:
        rest = y - y.mean() - slope * (x - x_mean)
        error = math.sqrt((rest @ rest) / (len(x) - 2) * (weights @ weights))
    factor = math.exp(float(y.mean()) - slope * float(x_mean))
    return Exponent(slope, error, factor, float(times[inside][0]), float(times[inside][-1]), int(inside.sum()))


def t_quantile(probability: float, freedom: float) -> float:
    """A quantile of Student's t distribution, by bisection of its distribution function.

    >>> round(t_quantile(0.975, 9), 6)
    2.262157
    """
    p = fraction("probability", probability)
    return _t_quantile(p, between("freedom", freedom, 1e-300, math.inf, "[1e-300, inf]"))


@lru_cache(maxsize=1024)
def _t_quantile(p: float, freedom: float) -> float:
    if p < 0.5:
        return -_t_quantile(1 - p, freedom)
    if p == 0.5:
        return 0.0
    if freedom > 1e16:  # the two differ by less than rounding does
        return _normal.inv_cdf(p)

    def above(t: float) -> float:
        return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2

    low, high = 0.0, 1.0
    while above(high) > 1 - p:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if above(middle) > 1 - p:
            low = middle
        else:
            high = middle
    return high


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method).

    >>> round(beta_share(2, 3, 0.4), 12)
    0.5248
    """
    if not 0.0 < x < 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    tiny = 1e-300
    value, c, d = 1.0, 1.0, 0.0
    for i in range(100_000):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 + term * d
        d = 1 / (d if abs(d) > tiny else tiny)
        c = 1 + term / c
        c = c if abs(c) > tiny else tiny
        value *= c * d
        if abs(1 - c * d) < 1e-16:
            break
    return front * (value - 1) / a


def _sample(name: str, samples: Any, axis: int, least: int = 2) -> Array:
    """A checked sample with its runs along the first axis."""
    x = array(name, samples)
    if x.ndim == 0:
        raise BadArgument(f"{name} must be an array of runs, not {shown(samples)}")
    x = np.moveaxis(x, whole("axis", axis, -x.ndim, x.ndim - 1), 0)
    if len(x) < least:
        raise BadArgument(f"{name} must hold at least {least} runs, not {len(x)}")
    if not np.isfinite(x).all():
        raise BadArgument(f"{name} must be finite numbers")
    return x


def _interval(estimate: Any, low: Any, high: Any) -> Interval:
    """An interval of arrays, or of floats for single numbers."""
    return Interval(*(float(v) if np.ndim(v) == 0 else v for v in (estimate, low, high)))
