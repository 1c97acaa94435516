"""Play a game with a population: check the arguments, schedule the runs, assemble the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hlmc.checks import flag, whole
from hlmc.errors import BadArgument, BadType, need_lab, shown
from hlmc.evaluation.segments import checked_threads
from hlmc.games.base import Game
from hlmc.games.population import Group, population
from hlmc.games.result import GameResult
from hlmc.games.runs import Played, Task
from hlmc.games.runs import play as play_run
from hlmc.simulation.driver import Advance, Undertaking, drive
from hlmc.simulation.experiment import checked_arithmetic, rule_of
from hlmc.simulation.own import PythonPolicy, words_of
from hlmc.simulation.points import time_points
from hlmc.simulation.progress import Progress, reporter
from hlmc.simulation.workers import checked_executor
from hlmc.spelling import suggesting
from hlmc.streams import SCHEME, derive_seed
from hlmc.versions import versions

Array = np.ndarray

LARGE = 50_000
"""With at least this many agents, all threads share one run after another; with fewer, each thread has its own runs."""


@suggesting
def play(
    policies: Any,
    game: Game,
    horizon: int,
    runs: int = 10,
    seed: int = 0,
    *,
    points: Any = 200,
    progress: Progress = None,
    executor: Any = None,
    threads: int | None = None,
    occupancy: bool = True,
    device: str = "cpu",
    precision: str | None = None,
) -> GameResult:
    """Play a game with a population: all agents choose, the game pays by the counts, all agents learn.

    Parameters
    ----------
    policies
        A policy that all agents follow, or a mixed population: a dictionary of ``name: (policy, share)``, or of
        ``name: policy`` for equal shares. Shares are relative. A policy may be plain Python: see
        :class:`hlmc.PythonPolicy`.
    game
        One of :mod:`hlmc.games`, or your own :class:`hlmc.games.Game`.
    horizon
        Rounds to play.
    runs
        Independent runs.
    seed
        The random seed. In run r, agent i of the group named "HLMC" is
        ``policy.start(hlmc.derive_seed(seed, "HLMC", r), stream=i)``, and the game is
        ``game.match(hlmc.derive_seed(seed, r))``. In plain Python the agent's seed is
        ``(hlmc.derive_seed(seed, name, r) + i) % 2**32``.
    points
        Time points at which results are recorded: a number, ``("log", number)``, or a list of steps.
    progress
        None: a bar on a terminal or in a notebook, a line every few seconds elsewhere. False: silence. A function is
        called with the work done and all the work, in steps, one call at a time, from any thread.
    executor
        Any :class:`concurrent.futures.Executor`, which gets one run at a time. Default: threads on all cores of this
        machine.
    threads
        The number of threads that share the agents of one run. Default: 1, or all cores from 50,000 agents on. The
        result does not depend on it.
    occupancy
        Whether to record the number of agents on each arm between time points, an array [run, time, arm] per group.
    device
        ``"cpu"``, or ``"cuda"`` for a GPU (the extra ``hlmc[cuda]``): one agent per thread, and as many runs at
        a time as fill the device.
    precision
        ``"float64"``, or ``"float32"`` (GPUs only, and their default): the statistics of the routines over the arms are
        then in single precision; payoffs, clocks and sums are not. The result's provenance records it.

    Returns
    -------
    GameResult
        Ctrl-C raises a :class:`KeyboardInterrupt` whose ``partial`` is the result of the runs that were
        finished, or None.

    Examples
    --------
    >>> import hlmc
    >>> game = hlmc.games.Spectrum(agents=50, channels=4)
    >>> result = hlmc.play(hlmc.HLMC(arms=4, levels=2), game, horizon=500, runs=2, progress=False)
    >>> result.data["reward"].dims
    ('policy', 'run', 'time')
    """
    need_lab()
    arithmetic = checked_arithmetic(device, precision)
    contest = Contest.of(policies, game, horizon, runs, seed, points, occupancy, arithmetic)
    checked_executor(executor, device, threads=threads)
    cores = checked_threads(None)
    shared = 1 if threads is None else checked_threads(threads)
    if threads is None and executor is None and game.agents >= LARGE:
        shared = cores
    opened = partial(reporter, progress, unit=contest.horizon)
    result = drive(Gathered(contest, shared), opened, executor, max(1, cores // shared)).result()
    assert result is not None
    return result


class Gathered(Undertaking):
    """The runs of a game; so many threads share the agents of a run."""

    play = staticmethod(play_run)

    def __init__(self, contest: Contest, threads: int = 1) -> None:
        self._contest = contest
        self._threads = threads
        self._played: list[Played] = []
        self.policies = [group.policy for group in contest.groups]
        self.wanted = contest.runs
        self.horizon = contest.horizon
        self.device = contest.arithmetic[0]

    def missing(self) -> list[Task]:
        return self._contest.tasks(self._threads)

    def on_device(self, tasks: list[Task], advance: Advance) -> Iterable[Played]:
        from hlmc.games.on_device import play_on_device

        return play_on_device(tasks, self._contest.arithmetic[1], partial(advance, tasks[0].name))

    def add(self, played: Played) -> None:
        self._played.append(played)
        self.finished += 1

    def result(self) -> GameResult | None:
        """The result of the finished runs; None if there are none."""
        contest = self._contest
        if not self._played:
            return None
        return GameResult.of(contest.groups, contest.game, contest.points, self._played, contest.provenance())


@dataclass(frozen=True)
class Contest:
    """A population, a game, and the number of rounds and runs."""

    groups: tuple[Group, ...]
    game: Game
    horizon: int
    runs: int
    seed: int
    points: Array
    occupancy: bool
    arithmetic: tuple[str, str] = ("cpu", "float64")

    @classmethod
    def of(
        cls,
        policies: Any,
        game: Any,
        horizon: Any,
        runs: Any,
        seed: Any,
        points: Any,
        occupancy: bool = True,
        arithmetic: tuple[str, str] = ("cpu", "float64"),
    ) -> Contest:
        """Check the arguments of :func:`play` and collect them."""
        if not isinstance(game, Game):
            raise BadType(f"game must be one of hlmc.games, not {shown(game)}")
        groups = population(policies, game)
        derive_seed(seed)  # refuses an invalid seed
        steps = whole("horizon", horizon, 1)
        for group in groups:
            if group.policy.limit is not None and group.policy.limit < steps:
                made = f"{group.name} was made for {group.policy.limit} steps"
                raise BadArgument(f'{made}, fewer than the horizon of {steps}; with after="continue" it goes on')
            if isinstance(group.policy, PythonPolicy) and arithmetic[0] != "cpu":
                raise BadArgument(f'{group.name} is plain Python, which is played with device="cpu" only')
        times = time_points(points, steps)
        kept = flag("occupancy", occupancy)
        return cls(groups, game, steps, whole("runs", runs, 1), int(seed), times, kept, arithmetic)

    def tasks(self, threads: int = 1) -> list[Task]:
        """One task per run; so many threads share the agents of a run."""
        return [
            Task(self.groups, self.game, self.seed, run, self.points, self.occupancy, threads)
            for run in range(self.runs)
        ]

    def provenance(self) -> dict[str, Any]:
        """The provenance of a result: enough to repeat it, and to draw it."""
        groups, game = self.groups, self.game
        return {
            "game": repr(game),
            "arms": game.arms,
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "streams": SCHEME,
            "policies": {group.name: repr(group.policy) for group in groups},
            "rules": {group.name: rule_of(group.policy) for group in groups},
            "agents": {group.name: group.agents for group in groups},
            "words": {group.name: words_of(group.policy) for group in groups},
            "words_total": {group.name: group.policy.words and group.policy.words.total for group in groups},
            "facts": list(game.facts),
            "marks": game.marks,
            "units": list(game.units),
            "versions": versions(),
            "device": self.arithmetic[0],
            "precision": self.arithmetic[1],
        }
