"""The records of the benchmarks' kernels."""

from __future__ import annotations

from typing import NamedTuple

from hlmc.engine.kernel import Address, record


@record
class Marks(NamedTuple):
    """The time points, and what is noted at them."""

    points_at: Address
    """[stop] float64, increasing."""
    point: int
    """The first that is still to come."""
    stop: int
    """How many there are."""
    values_at: Address
    """What is noted at each."""


@record
class Found(NamedTuple):
    """What :func:`hlmc.evaluation.pruning.prune` knows and finds."""

    limit_at: Address
    """What decides when an arm is given up; and the arm of a reward outside [0, 1]."""
    values_at: Address
    """[count] float64: the largest sum so far at each point."""
    best_at: Address
    """[count] float64: the arm that has it."""
