"""At which steps an experiment is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hlmc.checks import fitting, listed, whole
from hlmc.errors import BadArgument, shown

Array = np.ndarray


def time_points(points: Any, horizon: int) -> Array:
    """Time points as increasing whole numbers that end at the horizon.

    A number gives that many evenly spaced ones; ``"log"`` or ``("log", number)`` spaces them evenly on a logarithmic
    scale; a sequence is taken as it is.

    >>> time_points(4, 100)
    array([ 25,  50,  75, 100])
    >>> time_points(("log", 3), 100)
    array([  1,  10, 100])
    >>> time_points([10, 50], 100)
    array([ 10,  50, 100])
    """
    if isinstance(points, str):
        points = (points, 200)
    if isinstance(points, tuple) and len(points) == 2 and isinstance(points[0], str):
        if points[0] not in ("linear", "log"):
            raise _wrong(points[0])
        scale, count = points[0], whole("points", points[1], 1)
    elif isinstance(points, (Sequence, np.ndarray)) and not isinstance(points, str):
        return _listed(points, horizon)
    else:
        scale, count = "linear", whole("points", points, 1)
    if scale == "log" and count > 1:
        with fitting("points"):
            return _rounded(np.geomspace(1.0, horizon, count), horizon)
    count = min(count, horizon)
    with fitting("points"):
        return _rounded(np.arange(1, count + 1) * (horizon / count), horizon)


def _rounded(spaced: Array, horizon: int) -> Array:
    return np.unique(np.clip(np.rint(spaced).astype(np.int64), 1, horizon))


def _wrong(points: Any) -> BadArgument:
    return BadArgument(f'points must be a number, "log", ("log", number) or a list of steps, not {shown(points)}')


def _listed(points: Any, horizon: int) -> Array:
    steps = listed("points", points, "steps", empty=True)
    if not all(isinstance(t, (int, np.integer, float)) for t in steps):
        raise _wrong(points)
    chosen = [whole("points", t, 1, horizon) for t in steps]
    if any(b <= a for a, b in pairwise(chosen)):
        raise BadArgument(f"points must increase, not {shown(points)}")
    return np.union1d(np.array(chosen, dtype=np.int64), [horizon]).astype(np.int64)
