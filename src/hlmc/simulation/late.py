"""Late and missing rewards for policies in plain Python: what they are told, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.delays import Delays
from hlmc.engine.delayed import DELAY, MISSING, delay_of
from hlmc.engine.stream import increment, number, unit


class Mailbox:
    """Stands for the ``update(arm, reward)`` of a policy, and passes on what is due.

    Delays and what never comes are those of :func:`hlmc.engine.delayed.run_delayed`: functions of the run's key and
    the step. A reward that never comes is never told.
    """

    def __init__(self, update: Callable[[int, float], Any], delays: Delays, missing: float, key: np.uint64) -> None:
        self._update, self._law, self._missing, self._key = update, delays.packed(missing, None), missing, key
        self._due: dict[int, list[tuple[int, float]]] = {}
        self._time = 0

    def __call__(self, arm: int, reward: float) -> None:
        t = self._time
        self._time += 1
        with np.errstate(over="ignore"):  # the streams' words wrap around
            step = increment(self._key)
            wait, comes = delay_of(self._law, float(unit(number(self._key, step, t, DELAY))), reward)
            lost = self._missing > 0.0 and unit(number(self._key, step, t, MISSING)) < self._missing
        if comes and not lost:
            self._due.setdefault(t + wait, []).append((arm, reward))
        for told in self._due.pop(t, ()):
            self._update(*told)
