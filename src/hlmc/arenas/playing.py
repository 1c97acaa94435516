"""Play one case at one size: rewards and benchmarks of every run, stored as soon as they are computed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.arenas.cases import Case
from hlmc.arenas.contenders import SWITCHES
from hlmc.delays import Delays
from hlmc.errors import BadFile
from hlmc.evaluation import best_fixed, best_switching, dynamic
from hlmc.files.writing import write_whole
from hlmc.simulation.driver import drive
from hlmc.simulation.experiment import Experiment
from hlmc.simulation.own import AnyPolicy
from hlmc.simulation.progress import Reporter, reporter
from hlmc.simulation.runner import Gathered
from hlmc.simulation.runs import Task
from hlmc.simulation.runs import play as play_task
from hlmc.streams import derive_seed

Array = np.ndarray

BENCHMARKS = "_benchmarks.json"
SAMPLE = 2000
"""Number of steps that are timed for the estimate."""


@dataclass(frozen=True)
class Cell:
    """One case at one size, with its policies.

    If the rewards of the case are random, each run has its own sequence of rewards. Otherwise all runs share one.
    """

    case: Case
    arms: int
    memory: int
    horizon: int
    runs: int
    seed: int
    kinds: tuple[str, ...]
    policies: Mapping[str, AnyPolicy]
    arithmetic: tuple[str, str] = ("cpu", "float64")
    delays: Delays | None = None
    missing: float = 0.0

    @property
    def name(self) -> str:
        """The name in progress messages."""
        return f"{self.case.name}, K = {self.arms:,}, T = {self.horizon:,}"

    def adversary(self, run: int) -> Adversary:
        """The adversary of a run."""
        seed = derive_seed(self.seed, "arena", self.case.name, run) % 10**9
        adversary = self.case.make(self.arms, self.memory, self.horizon, seed)
        assert adversary is not None
        return adversary

    def experiment(self) -> tuple[str, Experiment]:
        """The name of the cell's folder, and its experiment: random rewards are drawn anew for every run."""
        faced = [self.adversary(run) for run in range(self.runs if self.case.random else 1)]
        return f"{self.case.name}-K{self.arms}-T{self.horizon}", Experiment.of(
            self.policies,
            faced,
            self.horizon,
            self.runs,
            derive_seed(self.seed, "arena", 0),
            [self.horizon],
            self.arithmetic,
            delays=self.delays,
            missing=self.missing,
        )


@dataclass(frozen=True)
class Scores:
    """The rewards [run] by policy, and the benchmarks [run] by kind of regret."""

    rewards: dict[str, Array]
    benchmarks: dict[str, Array]


def play(
    cell: Cell,
    store: Path | None,
    executor: Any,
    threads: int,
    slow: Mapping[str, float],
    report: Reporter,
    cost: float,
) -> Scores:
    """Play the missing runs of a cell and compute its benchmarks.

    Policies are scheduled from the slowest to the fastest, by ``slow``. ``cost`` is the weight of the cell in the
    progress report.
    """
    name, experiment = cell.experiment()
    folder = None if store is None else store / name
    steps = experiment.horizon * experiment.runs * len(experiment.policies)
    with report.part(cell.name, cost, steps) as told:
        opened = partial(reporter, told, unit=experiment.horizon)
        gathered = drive(Gathered(experiment, folder, slow), opened, executor, threads)
    path = None if folder is None else folder / BENCHMARKS
    faced = np.arange(cell.runs) % len(experiment.environments)
    return Scores(
        {policy: values[:, -1] for policy, values in gathered.rewards.items()},
        {kind: values[faced] for kind, values in _benchmarks(experiment, cell.kinds, path, threads).items()},
    )


def _benchmarks(experiment: Experiment, kinds: tuple[str, ...], path: Path | None, threads: int) -> dict[str, Array]:
    """The benchmarks [environment] at the horizon by kind of regret; from the folder, if stored there."""
    names = {kind: f"{kind}-{SWITCHES}" if kind == "shifting" else kind for kind in kinds}
    stored = _known(path)
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for e, adversary in enumerate(experiment.environments):
        known = {name: values[e] for name, values in stored.items() if e < len(values)}
        missing = [kind for kind in kinds if names[kind] not in known]
        _compute(known, missing, adversary, experiment.horizon, threads)
        for kind in kinds:
            found[kind].append(known[names[kind]])
    new = {names[kind]: values for kind, values in found.items() if len(values) > len(stored.get(names[kind], ()))}
    if path is not None and new:
        write_whole(path, json.dumps(stored | new).encode())
    return {kind: np.array(values) for kind, values in found.items()}


def _compute(known: dict[str, float], missing: list[str], adversary: Adversary, T: int, threads: int) -> None:
    """Add what is missing to the known benchmarks of an environment."""
    if "shifting" in missing:  # the best fixed arm is the best sequence of one piece
        levels = best_switching(adversary, T, SWITCHES, threads=threads, force=True).levels[:, -1]
        known |= {f"shifting-{SWITCHES}": float(levels[-1]), "weak": float(levels[0])}
    elif "weak" in missing:
        known["weak"] = float(best_fixed(adversary, [T], threads=threads, force=True)[0][-1])
    if "dynamic" in missing:
        known["dynamic"] = float(dynamic(adversary, [T], threads=threads, force=True)[-1])


def _known(path: Path | None) -> dict[str, list[float]]:
    """The benchmarks [environment] stored in a folder; a damaged file is an error."""
    if path is None or not path.exists():
        return {}
    try:
        # Older versions have one number in the place of a list.
        contents = {name: np.atleast_1d(values) for name, values in json.loads(path.read_bytes()).items()}
        return {str(name): [float(value) for value in values] for name, values in contents.items()}
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise BadFile(f"{path} does not hold benchmarks: {error}; delete it to compute them again") from error


@dataclass(frozen=True)
class Costs:
    """An estimate from a short trial: processor seconds of each cell, and nanoseconds per step by (policy, arms)."""

    cells: tuple[float, ...]
    steps: dict[tuple[str, int], float]

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Costs:
        """Time some steps of every policy and some rewards of every case."""
        steps: dict[tuple[str, int], float] = {}
        rewards: dict[str, float] = {}
        costs = []
        for cell in cells:
            adversary = cell.adversary(0)
            trial = np.array([min(SAMPLE, cell.horizon)])
            for name, policy in cell.policies.items():
                if (name, cell.arms) not in steps:
                    played = play_task(Task(name, policy, adversary, 0, range(1)), trial)
                    steps[name, cell.arms] = 1e9 * played.seconds / int(trial[-1])
            if cell.case.name not in rewards:
                rewards[cell.case.name] = _reward_seconds(adversary, cell.horizon)
            a_step = 1e-9 * sum(steps[name, cell.arms] for name in cell.policies)
            if adversary.changes(cell.horizon) is None:  # benchmarks of adversaries with known changes take no time
                a_step += rewards[cell.case.name] * cell.arms * len(cell.kinds)
            costs.append(a_step * cell.horizon * cell.runs)
        return cls(tuple(costs), steps)


def _reward_seconds(adversary: Adversary, horizon: int) -> float:
    rows = max(1, min(horizon, 10 * SAMPLE // adversary.arms))
    adversary.rewards(0, 1)  # compile before timing
    began = time.thread_time()
    adversary.rewards(0, rows)
    return (time.thread_time() - began) / (rows * adversary.arms)
