"""Reference means at small horizons, from many runs, with which new runs are compared.

``golden.json`` beside this module is written by ``scripts/make_golden.py``: for each policy of each case the number of
runs, the mean final reward and its standard deviation. `compare` compares new runs with them by Welch's test.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hlmc.evaluation import t_quantile
from hlmc.paper import figure
from hlmc.paper.experiment import Part, Settings
from hlmc.simulation import simulate

FILE = Path(__file__).with_name("golden.json")

CASES = {
    "weak-1 six": ("weak-1", "six", 20_000),
    "weak-1 five": ("weak-1", "five", 20_000),
    "weak-2 all": ("weak-2", "all", 20_000),
    "weak-2 unshuffled": ("weak-2", "unshuffled", 20_000),
    "shifting all": ("shifting", "all", 200_000),
    "memory all": ("memory", "all", 20_000),
    "theorems probable": ("theorems", "probable", 200_000),
    "theorems unknown-v": ("theorems", "unknown-v", 200_000),
    "theorems doubling": ("theorems", "doubling", 20_000),
}
"""Cases: the figure, the part, and the horizon of the settings."""


class Sample(NamedTuple):
    """Summary statistics of a sample."""

    runs: int
    mean: float
    deviation: float


def part(case: str) -> Part:
    """The experiment of a case."""
    name, key, horizon = CASES[case]
    found: list[Part] = figure(name).parts(Settings(runs=1, horizon=horizon))
    return next(each for each in found if each.key == key)


def sample(case: str, runs: int, seed: int) -> dict[str, Sample]:
    """Run a case; the final rewards of its policies."""
    played = part(case)
    T = played.horizon
    result = simulate(
        dict(played.policies), played.adversary, horizon=T, runs=runs, seed=seed, points=[T], progress=False
    )
    final = result.data["reward"].isel(time=-1)
    return {name: _kept(final.sel(policy=name).values) for name in played.policies}


def _kept(values: Any) -> Sample:
    x = np.asarray(values, dtype=np.float64)
    return Sample(len(x), float(x.mean()), float(x.std(ddof=1)))


def expected() -> dict[str, dict[str, Sample]]:
    """The values in ``golden.json``."""
    text = json.loads(FILE.read_text())
    return {case: {name: Sample(*values) for name, values in rows.items()} for case, rows in text["cases"].items()}


def differ(a: Sample, b: Sample, alarm: float) -> bool:
    """Whether two means differ, by Welch's test with false-alarm probability ``alarm``.

    >>> [differ(Sample(100, 5.0, 1.0), Sample(100, mean, 1.0), 1e-6) for mean in (5.1, 7.0)]
    [False, True]
    """
    va, vb = a.deviation**2 / a.runs, b.deviation**2 / b.runs
    gap = abs(a.mean - b.mean)
    if va + vb == 0.0:
        return gap > 1e-9 * max(1.0, abs(a.mean))
    freedom = (va + vb) ** 2 / (va**2 / (a.runs - 1) + vb**2 / (b.runs - 1))
    return gap > t_quantile(1 - alarm / 2, freedom) * math.sqrt(va + vb)


def compare(fresh: dict[str, Sample], golden: dict[str, Sample], alarm: float) -> Iterator[str]:
    """One line for every policy whose mean has changed."""
    for name, now in fresh.items():
        then = golden[name]
        if differ(now, then, alarm):
            yield f"{name}: mean reward {now.mean:,.1f} in {now.runs} runs, expected {then.mean:,.1f} from {then.runs}"
