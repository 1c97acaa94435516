"""The GPU, as simulations call it. What plays there is imported when it is needed: it takes a CUDA driver, and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
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
