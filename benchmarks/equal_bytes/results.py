"""What was played, and the statistics that tables and plots show of it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from pathlib import Path


def read(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The lines of played.csv by experiment."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader((folder / "played.csv").read_text().splitlines()):
        found.setdefault(row["experiment"], []).append(row)
    return found


def regrets(
    rows: list[dict[str, str]], case: str, names: Iterable[str], rewards: bool = False
) -> list[dict[int, float]]:
    """Weak regret of each policy, or its mean reward, by run. Without a best arm: regret to what it pays on average."""
    found: dict[str, dict[int, float]] = {name: {} for name in names}
    for row in rows:
        if row["case"] == case:
            best, earned = float(row["best"]), float(row["earned"])
            if row["policy"] in found:
                found[row["policy"]][int(row["run"])] = earned / float(row["horizon"]) if rewards else best - earned
    return list(found.values())


def mean_and_half(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval; of no values, not a number."""
    sample = list(values)
    n = len(sample)
    if n < 2:
        return (sample or [math.nan])[0], math.nan
    mean = sum(sample) / n
    return mean, 1.96 * math.sqrt(sum((value - mean) ** 2 for value in sample) / (n - 1) / n)


def ratio_and_half(first: dict[int, float], other: dict[int, float]) -> tuple[float, float]:
    """The ratio of the means over the runs that both have, and half its 95 % interval (delta method)."""
    runs = [run for run in first if run in other]
    a, b = sum(first[run] for run in runs), sum(other[run] for run in runs)
    _, half = mean_and_half((other[run] - b / a * first[run]) * len(runs) / a for run in runs)
    return b / a, half


def difference_and_half(first: dict[int, float], other: dict[int, float], unit: float) -> tuple[float, float]:
    """The mean difference over the runs that both have in a unit, and half its 95 % interval."""
    return mean_and_half((other[run] - first[run]) / unit for run in first if run in other)


def quantile(values: Iterable[float], part: float) -> float:
    """The value below which this part of the values lies; of no values, not a number."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)] if ordered else math.nan
