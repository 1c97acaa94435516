"""The parts of a figure: experiments and their results, claims, tables and plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import Policy
from hlmc.adversaries import Adversary
from hlmc.paper.claims import Claim
from hlmc.simulation import Reporter, Result, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

Array = np.ndarray

FULL = 10**7
"""The paper's longest horizon."""


@dataclass(frozen=True)
class Settings:
    """Size and number of runs. ``horizon`` is that of the longest experiments; the others are scaled in proportion."""

    runs: int = 10
    horizon: int = FULL
    seed: int = 0
    device: str = "cpu"

    def scaled(self, steps: int, least: int = 1) -> int:
        """A horizon of the paper, scaled to these settings.

        >>> Settings(horizon=10**6).scaled(10**6), Settings().scaled(10**6)
        (100000, 1000000)
        """
        return max(least, steps * self.horizon // FULL)


@dataclass(frozen=True)
class Part:
    """One experiment of a figure: policies against one adversary, evaluated by one kind of regret."""

    key: str
    title: str
    policies: Mapping[str, Policy]
    adversary: Adversary
    horizon: int
    runs: int
    points: tuple[int, ...]
    kind: str = "weak"
    switches: int | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    """Depth of the curve that the paper plots, by policy. The other policies have no curve."""
    cost: float = 50.0
    """Approximate nanoseconds per step, by policy, for the estimate of the remaining time."""

    @property
    def work(self) -> float:
        """Approximate time on one core, in seconds."""
        return 1e-9 * self.cost * self.horizon * self.runs * len(self.policies)

    def play(self, settings: Settings, jobs: int | None, store: Path, report: Reporter, name: str) -> Result:
        """Simulate the runs that are not in the store; ``name`` is the name in progress messages."""
        with report.part(name, self.work, self.horizon * self.runs * len(self.policies)) as told:
            return simulate(
                dict(self.policies),
                self.adversary,
                self.horizon,
                self.runs,
                settings.seed,
                points=list(self.points),
                device=settings.device,
                executor=ThreadPoolExecutor(jobs) if jobs and settings.device == "cpu" else None,
                store=store,
                progress=told,
            )

    def code(self, settings: Settings) -> str:
        """The experiment as Python code."""
        policies = "".join(f'    "{name}": hlmc.{policy!r},\n' for name, policy in self.policies.items())
        regret = f'"{self.kind}"' + (f", switches={self.switches}" if self.switches else "")
        return (
            f"policies = {{\n{policies}}}\n"
            f"adversary = hlmc.adversaries.{self.adversary!r}\n"
            f"result = hlmc.simulate(policies, adversary, horizon={self.horizon}, runs={self.runs}, "
            f"seed={settings.seed})\n"
            f"regret = result.regret({regret})\n"
        )


@dataclass(frozen=True)
class Table:
    """A table: headings and rows; the first column holds names."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A plot: the name of its files, its caption, and the function that draws it."""

    name: str
    caption: str
    draw: Callable[[], Drawn]


@dataclass(frozen=True)
class Section:
    """The section of a report about one figure of the paper."""

    name: str
    title: str
    source: str
    text: str
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    claims: tuple[Claim, ...]
    code: str
    seconds: float = math.nan


def time_points(horizon: int, *also: int) -> tuple[int, ...]:
    """Time points, dense enough for linear and logarithmic axes, and additional ones.

    >>> points = time_points(1000, 123)
    >>> points[0], points[-1], 123 in points
    (10, 1000, True)
    """
    linear = np.arange(1, 101) * horizon / 100
    logarithmic = np.geomspace(max(1.0, horizon / 1e5), horizon, 81)
    steps = np.rint(np.concatenate([linear, logarithmic, also])).astype(np.int64)
    kept = np.unique(steps[(steps >= min(10, horizon)) & (steps <= horizon)])
    return tuple(int(t) for t in kept)


def final(result: Result, policy: str, kind: str = "weak", switches: int | None = None, at: int | None = None) -> Array:
    """The regret of each run at the horizon, or at a time point."""
    curve = result.regret(kind, switches).sel(policy=policy)
    chosen = curve.isel(time=-1) if at is None else curve.sel(time=at)
    return np.asarray(chosen.values, dtype=np.float64)


def curves(result: Result, policy: str, kind: str = "weak", switches: int | None = None) -> tuple[Array, Array]:
    """Time points, and regret [run, time]."""
    curve = result.regret(kind, switches).sel(policy=policy).transpose("run", "time")
    return curve["time"].values, np.asarray(curve.values, dtype=np.float64)


def share_of_best(result: Result) -> float:
    """The reward of the best arm per step."""
    best = result.data["best_fixed"]
    return float(best.isel(time=-1)) / int(best["time"][-1])


def phase_ends(h0: int, b0: int, horizon: int) -> tuple[int, ...]:
    """The last steps of the phases of h0 b0 2^i steps that end by the horizon.

    >>> phase_ends(5, 440, 10**7)[-2:]
    (4503400, 9009000)
    """
    ends = []
    i = 1
    while (end := h0 * b0 * (2**i - 1)) <= horizon:
        ends.append(end)
        i += 1
    return tuple(ends)


Results = dict[str, Any]
