"""Which stage a step falls in, and which choice of a level stands then: arithmetic on the clock."""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import CONTINUED, CONTROL, DOUBLING, FIELDS, HORIZON, LENGTH, SIZE, SPAN
from hlmc.engine.primitives import floor_log2
from hlmc.engine.records import Choice

Array = np.ndarray


@kernel
def stage_of(program: Array, t: int) -> tuple[int, int, int]:
    """The stage in which step t (from 0) falls, the stage's first step, and its length."""
    first = int(program[DOUBLING])
    if first == CONTINUED:
        span = int(program[FIELDS + SPAN])
        r = floor_log2(t // span + 1)
        return r, ((1 << r) - 1) * span, span << r
    if first < 0:
        return 0, 0, int(program[HORIZON])
    r = floor_log2(t + (1 << first))
    return r - first, (1 << r) - (1 << first), 1 << r


@kernel
def choice_at(program: Array, level: int, count: int, into: int) -> Choice:
    """The choice of a level over ``count`` arms that stands ``into`` steps after the one above it was made."""
    size = int(program[level + SIZE])
    stands = int(program[level + LENGTH])
    tau = into // stands
    return Choice(int(program[level + CONTROL]), size, stands, (count + size - 1) // size, tau, into - tau * stands)
