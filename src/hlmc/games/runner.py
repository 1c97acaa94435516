"""Hand the runs of a game to workers and gather what they bring back."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from threading import Event
from typing import Any

from hlmc.errors import BadArgument, BadType, whole
from hlmc.evaluation.rows import checked_threads
from hlmc.games.base import Game
from hlmc.games.population import Group, population
from hlmc.games.result import GameResult
from hlmc.games.runs import Played, Task, prepared
from hlmc.games.runs import play as play_run
from hlmc.simulation.experiment import checked_arithmetic
from hlmc.simulation.points import time_points
from hlmc.simulation.progress import reporter
from hlmc.simulation.workers import checked_executor
from hlmc.streams import SCHEME, derive_seed

LARGE = 50_000
"""From so many agents on, threads share one run after another; below, each thread has runs of its own."""


def play(
    policies: Any,
    game: Game,
    horizon: int,
    runs: int = 10,
    seed: int = 0,
    points: Any = 200,
    progress: bool | None = None,
    executor: Any = None,
    threads: int | None = None,
    occupancy: bool = True,
    device: str = "cpu",
    precision: str | None = None,
) -> GameResult:
    """Let a population play a game: everybody chooses, the game pays from the counts, everybody learns.

    Parameters
    ----------
    policies
        A policy that all agents follow, or a mixed population: a dictionary of ``name: (policy, share)``,
        ``policy: share`` or ``share: policy``. Shares are relative; ``name: policy`` gives equal shares.
    game
        One of :mod:`hlmc.games`, or your own :class:`hlmc.games.Game`.
    horizon
        Rounds to play.
    runs
        Independent runs.
    seed
        Decides everything random. In run r, agent i of the group named "HLMC" is
        ``policy.start(hlmc.derive_seed(seed, "HLMC", r), stream=i)``, and the game is
        ``game.match(hlmc.derive_seed(seed, r))``.
    points
        Time points at which results are noted: a number, ``("log", number)``, or a list of steps.
    progress
        None: a bar on a terminal, a line every few seconds elsewhere. False: silence.
    executor
        Who does the work, a run at a time: any :class:`concurrent.futures.Executor`. Default: threads on
        all of this machine's cores.
    threads
        How many threads share the agents of one run. Default: 1, and all cores from 50,000 agents on. The
        result depends on neither.
    occupancy
        Whether to keep how many agents were on each arm between time points, an array [run, time, arm] a
        group.
    device
        ``"cpu"``, or ``"cuda"`` for a GPU (the extra ``hlmc[cuda]``): one agent a thread, and as many runs side by
        side as keep it busy.
    precision
        ``"float64"``, or ``"float32"``, which only a GPU has and which is its default: what the routines over the arms
        learn is then held in single precision; payoffs, clocks and sums are not. The result's provenance says which it
        was.

    Returns
    -------
    GameResult
        After Ctrl-C, the runs that were finished are in the exception's ``partial`` attribute, if there are
        any.

    Examples
    --------
    >>> import hlmc
    >>> game = hlmc.games.Spectrum(agents=50, channels=4)
    >>> result = hlmc.play(hlmc.HLMC(arms=4, levels=2), game, horizon=500, runs=2, progress=False)
    >>> result.data["reward"].dims
    ('policy', 'run', 'time')
    """
    if not isinstance(game, Game):
        raise BadType(f"game must be one of hlmc.games, not {game!r}")
    groups = population(policies, game)
    derive_seed(seed)  # refuses what is no seed
    steps = whole("horizon", horizon, 1)
    for group in groups:
        if group.policy.horizon is not None and group.policy.horizon < steps:
            made = f"{group.name} was made for {group.policy.horizon} steps"
            raise BadArgument(f"{made}, fewer than the horizon of {steps}")
    checked_executor(executor)
    place, numbers = checked_arithmetic(device, precision)
    if place != "cpu" and (executor is not None or threads is not None):
        raise BadArgument(f'executor and threads must be left out with device="{place}": the device does the work')
    cores = checked_threads(None)
    shared = checked_threads(threads) if threads is not None else 1
    if threads is None and executor is None and game.agents >= LARGE:
        shared = cores
    times = time_points(points, steps)
    count = whole("runs", runs, 1)
    tasks = [Task(groups, game, int(seed), run, times, occupancy, shared) for run in range(count)]
    provenance = _provenance(groups, game, steps, count, int(seed)) | {"device": place, "precision": numbers}
    finished: list[Played] = []
    label = " + ".join(group.name for group in groups)
    with reporter(progress, {label: count * steps}, steps) as report:
        advance = partial(report.advance, label)
        try:
            if place == "cpu":
                found = _played(tasks, executor, max(1, cores // shared), advance)
            else:
                from hlmc.games.on_device import play_on_device

                found = play_on_device(tasks, numbers, advance)
            for played in found:
                finished.append(played)
        except KeyboardInterrupt as interrupt:
            if finished:
                interrupt.partial = GameResult.of(groups, game, times, finished, provenance)  # type: ignore[attr-defined]
            raise
    return GameResult.of(groups, game, times, finished, provenance)


def _played(tasks: list[Task], executor: Any, workers: int, advance: Callable[[int], None]) -> Iterator[Played]:
    """What the workers bring back, in the order in which they finish."""
    stop = Event()
    own = ThreadPoolExecutor(workers) if executor is None else None

    def between(steps: int) -> bool:
        advance(steps)
        return stop.is_set()

    if own:
        prepared(tasks[0])
    with own or nullcontext():
        # Our own threads can be watched and told to stop.
        watched = (between,) if own else ()
        futures = [(own or executor).submit(play_run, task, *watched) for task in tasks]
        # Futures of foreign kinds, which the standard library cannot wait for, are taken in order.
        known = all(isinstance(future, Future) for future in futures)
        try:
            for future in as_completed(futures) if known else futures:
                played = future.result()
                if not own:
                    advance(int(tasks[0].points[-1]))
                if played is not None:
                    yield played
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


def _provenance(groups: tuple[Group, ...], game: Game, horizon: int, runs: int, seed: int) -> dict[str, Any]:
    """Where a result comes from: enough to get it again, and to draw it."""
    return {
        "game": repr(game),
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "streams": SCHEME,
        "policies": {group.name: repr(group.policy) for group in groups},
        "agents": {group.name: group.agents for group in groups},
        "words": {group.name: group.policy.words.statistics for group in groups},
        "words_total": {group.name: group.policy.words.total for group in groups},
        "facts": list(game.facts),
        "marks": game.marks,
        "units": list(game.units),
        "versions": {name: version(name) for name in ("hlmc", "numpy", "numba")}
        | {"python": platform.python_version()},
    }
