"""The GPU, as simulations and games call it: the one place that knows which modules play there.

They are imported when they are needed: they need a CUDA driver, and they import this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hlmc.games.runs import Played as PlayedGame
    from hlmc.games.runs import Task as GameTask
    from hlmc.simulation.runs import Played, Task

Array = np.ndarray


def check() -> None:
    """Raise :class:`hlmc.errors.NoDevice` where there is no GPU that can be used."""
    from hlmc.targets.cuda.memory import checked_device

    checked_device()


def simulated(
    tasks: list[Task], points: Array, precision: str, advance: Callable[[str, float], None]
) -> Iterable[Played]:
    """All runs of all tasks, each task when it is finished."""
    from hlmc.simulation.on_device import DeviceWork

    return DeviceWork(tasks, points, precision, advance) if tasks else ()


def noted(tasks: list[Task], points: Array, precision: str, advance: Callable[[str, float], None]) -> Iterator[Any]:
    """All runs of all tasks, time point by time point: ``task``, ``point``, ``rewards`` [run] and ``seconds``."""
    from hlmc.simulation.on_device import play_on_device

    return play_on_device(tasks, points, precision, advance)


def played(tasks: list[GameTask], precision: str, advance: Callable[[float], None]) -> Iterator[PlayedGame]:
    """All runs of a game."""
    from hlmc.games.on_device import play_on_device

    return play_on_device(tasks, precision, advance)
