"""The one driver of experiments: take what is stored, play what is missing, keep it at once, end in order after Ctrl-C.

:func:`hlmc.simulate`, :func:`hlmc.estimate`, :func:`hlmc.arena` and :func:`hlmc.play` are an :class:`Undertaking` each,
which says what the runs are; :func:`drive` does the rest. ``hlmc reproduce`` calls ``simulate`` and ``play``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hlmc.interrupts import Interrupted, Interrupts, kept_in
from hlmc.simulation.own import AnyPolicy, check_not_within
from hlmc.simulation.progress import Reporter
from hlmc.simulation.workers import Work

Advance = Callable[[str, float], None]
"""Told by any thread, of the bar with this name, how many more steps were taken."""


class Undertaking:
    """The runs of an experiment: those that are there, those that are missing, and the result.

    A task is anything with a ``name``, that of its bar in the report of progress, and a ``count`` of runs.

    Attributes
    ----------
    policies
        What plays.
    wanted, finished
        How many runs there are to be, and how many are there.
    horizon
        Steps of a run.
    play
        ``play(task, watch)`` for a worker; see :class:`hlmc.simulation.workers.Work`.
    device
        ``"cpu"``, or what :meth:`on_device` is for.
    store
        Where finished runs are kept, if anywhere.
    """

    policies: Iterable[AnyPolicy]
    wanted: int
    finished: int = 0
    horizon: int
    play: Callable[..., Any]
    device: str = "cpu"
    store: str | Path | None = None

    def stored(self) -> Iterable[Any]:
        """The finished runs that the store has."""
        return ()

    def missing(self) -> list[Any]:
        """Tasks for the runs that are not there, in the order in which they are to be played."""
        raise NotImplementedError

    def on_device(self, tasks: list[Any], advance: Advance) -> Iterable[Any]:
        """Play tasks on a GPU."""
        raise NotImplementedError

    def add(self, played: Any) -> None:
        """Take in finished runs, from the store or new."""
        raise NotImplementedError

    def keep(self, played: Any) -> None:
        """Put new runs into the store."""

    def result(self) -> Any:
        """What is there, as a result; None if that cannot be."""
        raise NotImplementedError

    def interrupted(self) -> Interrupted:
        """The error after Ctrl-C."""
        said = f"interrupted after {self.finished} of {self.wanted} runs{kept_in(self.store)}"
        return Interrupted(said, self.finished, self.result)


Some = TypeVar("Some", bound=Undertaking)


def drive(
    undertaking: Some, opened: Callable[[Mapping[str, int]], Reporter], executor: Any = None, threads: int | None = None
) -> Some:
    """Have all runs played that are not stored, by an executor, so many threads or a GPU.

    ``opened`` is given the steps that are missing, by bar, and makes the report on them.
    """
    check_not_within(undertaking.policies)

    def take(played: Any) -> None:
        undertaking.add(played)
        undertaking.keep(played)

    try:
        with Interrupts() as held:
            for played in undertaking.stored():
                undertaking.add(played)
                held.check()
            tasks = undertaking.missing()
            steps = dict.fromkeys((task.name for task in tasks), 0)
            for task in tasks:
                steps[task.name] += task.count * undertaking.horizon
            with opened(steps) as report:
                if undertaking.device == "cpu":
                    work = Work(tasks, undertaking.play, undertaking.horizon, report.advance, held, executor, threads)
                    try:
                        for played in work:
                            take(played)
                    finally:  # after an error or Ctrl-C too, what was finished by then
                        for played in work.end():
                            take(played)
                elif tasks:
                    with held.opened():  # a GPU is played in this thread, where an interrupt may come at any place
                        for played in undertaking.on_device(tasks, report.advance):
                            take(played)
    except KeyboardInterrupt:
        raise undertaking.interrupted() from None
    return undertaking
