"""From the arguments of :func:`simulate` to its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.checks import fitting
from hlmc.delays import Delays
from hlmc.errors import need_lab
from hlmc.simulation.driver import Advance, Undertaking, drive
from hlmc.simulation.experiment import Experiment, checked_arithmetic, checked_feedback
from hlmc.simulation.own import PythonPolicy
from hlmc.simulation.progress import Progress, reporter
from hlmc.simulation.result import Result
from hlmc.simulation.runs import Played, Task, play
from hlmc.simulation.store import Store
from hlmc.simulation.workers import Watch, checked_executor
from hlmc.spelling import suggesting

Array = np.ndarray


@suggesting
def simulate(
    policies: Any,
    adversary: Any,
    horizon: int | None = None,
    runs: int = 10,
    seed: int = 0,
    *,
    points: Any = 200,
    device: str = "cpu",
    executor: Any = None,
    store: str | Path | None = None,
    progress: Progress = None,
    precision: str | None = None,
    delays: Delays | int | None = None,
    missing: float = 0.0,
    environments: int | None = None,
) -> Result:
    """Simulate policies against an adversary, many times, and compute their exact regret.

    Parameters
    ----------
    policies
        A policy, a list of policies, or a dictionary of policies by name. A policy may be plain Python: an object with
        ``select()`` and ``update(reward)``, or a factory ``(arms, horizon, seed)`` of such objects. See
        :class:`hlmc.PythonPolicy`.
    adversary
        The reward sequence, the same for all policies: one of :mod:`hlmc.adversaries`, a function
        ``(t, arm)``, an object with ``reward(t, arm)``, a table [steps, arms] (array or data frame), or the path of
        one (CSV, Parquet, ``.npy``). A list of adversaries: the environments.
    horizon
        Steps to play; default: the policies' own.
    runs
        Independent runs of each policy.
    seed
        The random seed of the policies. Run r of a policy named "HLMC" is the learner
        ``policy.start(hlmc.derive_seed(seed, "HLMC"), stream=r)``, whatever the other policies are. In plain Python the
        run's seed is ``(hlmc.derive_seed(seed, name) + r) % 2**32``.
    points
        Steps at which rewards are recorded: their number, ``("log", number)``, or a list of steps. The last is the
        horizon.
    device
        ``"cpu"``, or ``"cuda"`` for a GPU (the extra ``hlmc[cuda]``), which plays all runs of all policies at once.
    executor
        An executor with the interface of :mod:`concurrent.futures`, such as a Dask client's ``get_executor()`` or one
        of mpi4py. Default: threads on all of this machine's cores. The result does not depend on it.
    store
        A folder to which every run is written when it finishes, as Parquet; the same call again plays only what is
        missing. A policy in plain Python is kept only if it has a ``version``.
    progress
        None: a bar on a terminal or in a notebook, a line every few seconds elsewhere. False: silence. A function is
        called with the work done and all the work, in steps, one call at a time, from any thread.
    precision
        ``"float64"``, or ``"float32"`` (GPUs only, and their default): the statistics of the routines are then in
        single precision; rewards, clocks and sums are not. The result's provenance records it.
    delays
        When rewards come: one of :mod:`hlmc.delays`. The policies need ``pending``, and a reward that comes after more
        decisions than that is lost. Rewards are counted when they are earned, not when they come. Not on a GPU.
    missing
        The share of decisions, chosen at random, that get no reward. Each is dropped after its delay.
    environments
        E, at most the number of runs: run r faces environment r mod E. Environment 0 is the adversary, the others are
        the same with other seeds. Regret is judged in each environment, and intervals are over environments and the
        policies' coins. Default: one environment, so that intervals are over coins alone.

    Returns
    -------
    Result
        Ctrl-C raises a :class:`KeyboardInterrupt` whose ``partial`` is the result of the finished runs. On a GPU all
        runs of a launch finish together.

    Examples
    --------
    >>> import hlmc
    >>> result = hlmc.simulate(
    ...     {"HLMC": hlmc.HLMC(arms=100, memory=20, horizon=10_000)},
    ...     hlmc.adversaries.BlockTrap(arms=100, memory=20), runs=3, progress=False)
    >>> result.data["reward"].dims
    ('policy', 'run', 'time')
    >>> result = hlmc.simulate(hlmc.EXP3(arms=20, horizon=100), hlmc.adversaries.UniformMeans(arms=20), runs=8,
    ...                        environments=4, progress=False)
    >>> result.data["best_fixed"].dims
    ('environment', 'time')
    """
    need_lab()
    checked_feedback(device, delays, missing)
    arithmetic = checked_arithmetic(device, precision)
    experiment = Experiment.of(
        policies,
        adversary,
        horizon,
        runs,
        seed,
        points,
        arithmetic,
        delays=delays,
        missing=missing,
        environments=environments,
    )
    checked_executor(executor, device)
    opened = partial(reporter, progress, unit=experiment.horizon)
    gathered = drive(Gathered(experiment, store), opened, executor)
    try:
        result = gathered.result()
    except KeyboardInterrupt:
        raise gathered.interrupted() from None
    # A function that was told about the runs need not understand the judge's progress.
    result.progress = False if callable(progress) else progress
    return result


class Gathered(Undertaking):
    """The runs of policies against an adversary: rewards as they come in, and which are still missing.

    ``slow``: policies are handed out from the slowest to the fastest, so that workers end together; by default run by
    run, so that all policies advance together.
    """

    def __init__(
        self, experiment: Experiment, store: str | Path | None = None, slow: Mapping[str, float] | None = None
    ) -> None:
        self.experiment = experiment
        self.policies = experiment.policies.values()
        self.play = partial(_play, experiment.points)
        self.store = store
        self.wanted = experiment.runs * len(experiment.policies)
        self.horizon = experiment.horizon
        self.device = experiment.device
        self._slow = slow or {}
        self._kept: Store | None = None
        shape = (experiment.runs, len(experiment.points))
        with fitting("runs and points"):
            self.rewards = {name: np.full(shape, np.nan) for name in experiment.policies}
            self._done = {name: np.zeros(experiment.runs, dtype=bool) for name in experiment.policies}
        self._seconds = dict.fromkeys(experiment.policies, 0.0)
        self._timed = dict.fromkeys(experiment.policies, 0)

    def stored(self) -> Iterable[Played]:
        if self.store is None:
            return ()
        self._kept = Store(self.store, self.experiment)
        return self._kept.finished()

    def missing(self) -> list[Task]:
        # Those in plain Python last: one thread plays them while the others would wait for it.
        return sorted(
            self._missing(), key=lambda task: (isinstance(task.policy, PythonPolicy), -self._slow.get(task.name, 0.0))
        )

    def _missing(self) -> Iterator[Task]:
        """Tasks run by run, so that all policies advance together."""
        experiment = self.experiment
        E = len(experiment.environments)
        size = experiment.batch * E
        for first in range(0, experiment.runs, size):
            for name, policy in experiment.policies.items():
                numbers = first + np.flatnonzero(~self._done[name][first : first + size])
                for e, adversary in enumerate(experiment.environments):
                    for runs in _stretches(numbers[numbers % E == e], E):
                        yield Task(
                            name, policy, adversary, experiment.seed, runs, experiment.delays, experiment.missing
                        )

    def on_device(self, tasks: list[Task], advance: Advance) -> Iterable[Played]:
        from hlmc.simulation.on_device import DeviceWork

        return DeviceWork(tasks, self.experiment.points, self.experiment.precision, advance)

    def add(self, played: Played) -> None:
        """Take in finished runs; those that the experiment does not ask for are passed over."""
        runs = np.asarray(played.runs, np.int64)
        wanted = runs < self.experiment.runs
        self.rewards[played.name][runs[wanted]] = played.rewards[wanted]
        self._done[played.name][runs[wanted]] = True
        self._seconds[played.name] += played.seconds
        self._timed[played.name] += len(played.rewards)
        self.finished = int(sum(done.sum() for done in self._done.values()))

    def keep(self, played: Played) -> None:
        if self._kept is not None:
            self._kept.add(played)

    def result(self) -> Result:
        """All that is there; a run that some policy has not finished is left out."""
        experiment = self.experiment
        complete = np.flatnonzero(np.logical_and.reduce(list(self._done.values())))
        rewards = np.stack([self.rewards[name][complete] for name in experiment.policies])
        result = Result.of(experiment, rewards, complete, self.nanoseconds)
        if self._kept is not None:
            result.keep_benchmarks(self._kept.benchmarks)
        return result

    @property
    def nanoseconds(self) -> dict[str, float]:
        """Time of a step by policy, where a run was timed."""
        steps = {name: count * self.horizon for name, count in self._timed.items() if count}
        return {name: 1e9 * self._seconds[name] / count for name, count in steps.items()}


def _play(points: Array, task: Task, watch: Watch | None = None) -> Played:
    return play(task, points, watch)


def _stretches(numbers: Array, step: int = 1) -> Iterator[range]:
    """The stretches of numbers that follow one another at so large a step.

    >>> list(_stretches(np.array([0, 1, 2, 5, 7, 8])))
    [range(0, 3), range(5, 6), range(7, 9)]
    >>> list(_stretches(np.array([1, 3, 7]), 2))
    [range(1, 5, 2), range(7, 9, 2)]
    """
    if len(numbers):
        for stretch in np.split(numbers, np.flatnonzero(np.diff(numbers) > step) + 1):
            yield range(int(stretch[0]), int(stretch[-1]) + step, step)
