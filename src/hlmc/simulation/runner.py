"""Hand an experiment's runs to workers and gather what they bring back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.errors import BadArgument, BadType
from hlmc.simulation.experiment import Experiment
from hlmc.simulation.progress import reporter
from hlmc.simulation.result import Result
from hlmc.simulation.runs import Played, Task, play
from hlmc.simulation.store import Store

Array = np.ndarray


def simulate(
    policies: Any,
    adversary: Adversary,
    horizon: int | None = None,
    runs: int = 10,
    seed: int = 0,
    points: Any = 200,
    device: str = "cpu",
    executor: Executor | None = None,
    store: str | Path | None = None,
    progress: Any = None,
) -> Result:
    """Let policies play against an adversary, many times, and judge them against what could have been earned.

    Parameters
    ----------
    policies
        A policy, a list of policies, or a dictionary of policies by name.
    adversary
        What they face: one reward sequence, the same for all.
    horizon
        Steps to play; default: the policies' own.
    runs
        Independent runs of each policy.
    seed
        Decides everything random in the policies. Run r of a policy named "HLMC" is the learner
        ``policy.start(hlmc.derive_seed(seed, "HLMC"), stream=r)``, whoever else takes part.
    points
        Time points at which rewards are noted: a number, ``("log", number)``, or a list of steps.
    device
        ``"cpu"``.
    executor
        Who does the work: any :class:`concurrent.futures.Executor` (a Dask client's ``get_executor()`` too). Default: threads
        on all of this machine's cores. The result does not depend on it.
    store
        A folder in which finished runs are kept at once, as Parquet; the same call again plays only what is missing.
    progress
        None: a bar on a terminal, a line every few seconds elsewhere. False: silence.

    Returns
    -------
    Result
        After Ctrl-C, what was finished is in ``store``; without a store it is in the exception's ``partial`` attribute.

    Examples
    --------
    >>> import hlmc
    >>> result = hlmc.simulate(
    ...     {"HLMC": hlmc.HLMC(arms=100, memory=20, horizon=10_000)},
    ...     hlmc.adversaries.BlockTrap(arms=100, memory=20), runs=3, progress=False)
    >>> result.data["reward"].dims
    ('policy', 'run', 'time')
    """
    experiment = Experiment.of(policies, adversary, horizon, runs, seed, points)
    if device != "cpu":
        raise BadArgument(f'device must be "cpu", not {device!r}')
    if executor is not None and not isinstance(executor, Executor):
        raise BadType(f"executor must be a concurrent.futures.Executor, not {executor!r}")
    gathered = _Gathered(experiment)
    kept = Store(store, experiment) if store is not None else None
    if kept is not None:
        for name, run, rewards in kept.finished():
            gathered.add(Played(name, run, rewards[None, :], 0.0))
    tasks = list(gathered.missing())
    totals = {name: sum(t.count for t in tasks if t.name == name) for name in experiment.policies}
    with reporter(progress, {name: total for name, total in totals.items() if total}) as report:
        try:
            for played in _played(tasks, experiment.points, executor):
                gathered.add(played)
                if kept is not None:
                    kept.add(played)
                report.advance(played.name, len(played.rewards))
        except KeyboardInterrupt as interrupt:
            interrupt.partial = gathered.result(finished_only=True)  # type: ignore[attr-defined]
            raise
    return gathered.result()


def _played(tasks: list[Task], points: Array, executor: Executor | None) -> Iterator[Played]:
    """What the workers bring back, in the order in which they finish."""
    if not tasks:
        return
    stop = Event()
    own = ThreadPoolExecutor(os.cpu_count()) if executor is None else None
    arguments = (points, stop) if own else (points,)
    with own or nullcontext():
        workers = own or executor
        assert workers is not None
        futures: list[Future[Played]] = [workers.submit(play, task, *arguments) for task in tasks]
        try:
            for future in _completed(futures, own is not None):
                yield future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _completed(futures: list[Future[Played]], ours: bool) -> Iterator[Future[Played]]:
    """Futures as they finish; those of foreign kinds, which the standard library cannot wait for, in order."""
    if ours or all(isinstance(f, Future) for f in futures):
        return as_completed(futures)
    return iter(futures)


class _Gathered:
    """Rewards as they come in, and which are still missing."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        shape = (experiment.runs, len(experiment.points))
        self._rewards = {name: np.full(shape, np.nan) for name in experiment.policies}
        self._done = {name: np.zeros(experiment.runs, dtype=bool) for name in experiment.policies}
        self._seconds = dict.fromkeys(experiment.policies, 0.0)
        self._timed = dict.fromkeys(experiment.policies, 0)

    def add(self, played: Played) -> None:
        """Take in finished runs; those that the experiment does not ask for are passed over."""
        if played.name not in self._rewards or played.first >= self.experiment.runs:
            return
        there = slice(played.first, played.first + len(played.rewards))
        wanted = len(self._done[played.name][there])
        self._rewards[played.name][there] = played.rewards[:wanted]
        self._done[played.name][there] = True
        if played.seconds:
            self._seconds[played.name] += played.seconds
            self._timed[played.name] += len(played.rewards)

    def missing(self) -> Iterator[Task]:
        """Tasks for the runs that are not there yet, run by run so that all policies advance together."""
        experiment = self.experiment
        for first in range(0, experiment.runs, experiment.batch):
            for name, policy in experiment.policies.items():
                last = min(first + experiment.batch, experiment.runs)
                open_runs = [r for r in range(first, last) if not self._done[name][r]]
                for begin, count in _stretches(open_runs):
                    yield Task(name, policy, experiment.adversary, experiment.seed, begin, count)

    def result(self, finished_only: bool = False) -> Result:
        """Put together; a run that not all policies have finished is left out when asked."""
        done = np.logical_and.reduce(list(self._done.values()))
        chosen = np.flatnonzero(done) if finished_only else np.arange(self.experiment.runs)
        rewards = np.stack([self._rewards[name][chosen] for name in self.experiment.policies])
        nanoseconds = {
            name: 1e9 * seconds / (self._timed[name] * self.experiment.horizon)
            for name, seconds in self._seconds.items()
            if self._timed[name]
        }
        return Result.of(self.experiment, rewards, chosen, nanoseconds)


def _stretches(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """(first, count) of each stretch of consecutive numbers."""
    start = 0
    for i in range(1, len(numbers) + 1):
        if i == len(numbers) or numbers[i] != numbers[i - 1] + 1:
            yield numbers[start], i - start
            start = i
