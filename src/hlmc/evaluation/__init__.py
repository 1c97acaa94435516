"""Evaluation: exact benchmarks, regret and intervals, computed only from the adversary and the rewards earned."""

from hlmc.evaluation.benchmarks import best_fixed, cumulative, dynamic, too_long
from hlmc.evaluation.intervals import (
    ENOUGH,
    Exponent,
    Interval,
    by_environment,
    fitted_exponent,
    is_skewed,
    mean_interval,
    paired_ratio_interval,
    quantile_interval,
    quantiles,
    t_interval,
    t_quantile,
    too_few,
)
from hlmc.evaluation.regret import benchmark, regret
from hlmc.evaluation.switching import Segment, SwitchingBenchmark, best_switching

__all__ = [
    "ENOUGH",
    "Exponent",
    "Interval",
    "Segment",
    "SwitchingBenchmark",
    "benchmark",
    "best_fixed",
    "best_switching",
    "by_environment",
    "cumulative",
    "dynamic",
    "fitted_exponent",
    "is_skewed",
    "mean_interval",
    "paired_ratio_interval",
    "quantile_interval",
    "quantiles",
    "regret",
    "t_interval",
    "t_quantile",
    "too_few",
    "too_long",
]
