"""What a routine is: the bandit algorithm that one level of a hierarchy runs over its children."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hlmc.checks import between
from hlmc.engine.routines import RoutineKernels as Kernels
from hlmc.values import Value

__all__ = ["RATE_RANGE", "SHARE_RANGE", "Array", "Kernels", "LevelContext", "Routine"]

SHARE_RANGE = (1e-300, 1.0, "[1e-300, 1]")
"""A share of uniform play gamma: gamma / n is a positive float64 for every n up to 2^53."""
RATE_RANGE = (0.0, 1e10, "(0, 1e10]")
"""A learning rate: over the least chance that a draw states, it is finite in either precision."""

Array = np.ndarray
"""A run of words: an array of float64, or its address once compiled."""


@dataclass(frozen=True)
class LevelContext:
    """The level of a hierarchy that a routine runs at: all that it may tune itself by."""

    arms: int  # K
    horizon: int  # T, of the stage
    children: int  # N_d
    choices: int  # S_d
    level: int = 1  # d, from 1
    levels: int = 1  # D
    groups: int = 0  # N_1 ... N_d, at most K; 0 means the children of a single level
    restarts: int = 1  # S_1 ... S_{d-1}: how often the level is started anew
    switches: int = 1  # V
    delta: float = 0.05


@dataclass(frozen=True, repr=False)
class Routine(Value):
    """A bandit algorithm over n children that chooses S times before it is forgotten.

    Subclasses are dataclasses (``frozen=True, repr=False``) whose fields are the algorithm's parameters; ``None`` means
    what the theorem chooses for the level.
    """

    _module: ClassVar[str] = "routines."
    name: ClassVar[str]
    kernels: ClassVar[Kernels]
    weights: ClassVar[Literal["none", "growing", "any"]] = "none"
    """Whether its statistics begin with exponential weights, one per child, and if so, whether they only grow. A GPU
    keeps sums of such weights beside them."""
    opaque: ClassVar[bool] = False
    """Whether its statistics are a user's own, of which nothing is known, not even that they are finite."""
    source: ClassVar[str] = ""
    """Where what :meth:`regret` gives is proved."""
    anytime: ClassVar[bool] = False
    """Whether it needs no horizon: flat, it then runs on for ever instead of starting afresh in stages."""

    def words(self, n: int) -> int:
        """Statistics words for n children."""
        return n if n > 1 else 0

    def cost(self, context: LevelContext) -> float:
        """x in the level's regret c sqrt(x S): what epoch lengths are balanced by."""
        n = context.children
        return n * math.log(n) if n > 1 else 0.0

    def regret(self, context: LevelContext) -> float | None:
        """A bound on the expected weak regret of one run of S choices, or None where nothing is proved."""
        return None

    def parameters(self, context: LevelContext) -> dict[str, float]:
        """The values in force at a level, by the paper's names."""
        return {}

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        """What the kernels read, in the order in which they read it."""
        return tuple(self.parameters(context).values())

    def chosen(self, **defaults: float) -> dict[str, float]:
        """The defaults, with this routine's own fields in place of those that were given."""
        return {
            name: value if getattr(self, name) is None else float(getattr(self, name))
            for name, value in defaults.items()
        }

    def check(self, **ranges: tuple[float, float, str]) -> None:
        """Refuse a field outside its range, an end of which is open when the text says so; keep it as a float."""
        for name, (low, high, text) in ranges.items():
            value = getattr(self, name)
            if value is not None:
                self._keep(**{name: between(name, value, low, high, text)})
