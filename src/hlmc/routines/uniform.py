"""Uniform random choice: no memory, no learning; the baseline for every other routine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlmc.engine.kernel import kernel
from hlmc.engine.records import Level
from hlmc.routines.base import Kernels, Routine


@kernel
def uniform_start(level: Level) -> tuple[float, float]:
    """Uniform random choice has no statistics."""
    return 0.0, 0.0


@kernel
def uniform_select(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a uniform random slot."""
    return min(int(u * float(level.n)), level.n - 1), 1.0 / float(level.n)


@kernel
def uniform_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Nothing to learn."""
    return a, b


@kernel
def uniform_change(level: Level, m: int, slot: int, a: float, b: float, tau: int) -> tuple[float, float]:
    """Nothing is known of any child."""
    return a, b


@dataclass(frozen=True, repr=False)
class Uniform(Routine):
    """Uniform random choice among the children.

    Examples
    --------
    >>> Uniform().words(100)
    0
    """

    name: ClassVar[str] = "uniform"
    words_each: ClassVar[int] = 0
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(uniform_start, uniform_select, uniform_update, change=uniform_change)
