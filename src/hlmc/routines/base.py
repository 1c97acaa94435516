"""The base class of routines: the bandit algorithm that one level of a hierarchy runs over its children."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hlmc.checks import between
from hlmc.engine.layout import FOREVER, PARAMETERS, WIDTH
from hlmc.engine.routines import RoutineKernels as Kernels
from hlmc.errors import BadArgument
from hlmc.values import Value

__all__ = ["RATE_RANGE", "SHARE_RANGE", "Array", "Kernels", "LevelContext", "Routine"]

SHARE_RANGE = (1e-300, 1.0, "[1e-300, 1]")
"""The range of a probability of uniform exploration gamma: gamma / n is a positive float64 for every n up to 2^53."""
RATE_RANGE = (0.0, 1e10, "(0, 1e10]")
"""The range of a learning rate: divided by the smallest probability of a draw, it is finite in both precisions."""

Array = np.ndarray
"""An array of words (float64), or its address in compiled code."""


@dataclass(frozen=True)
class LevelContext:
    """The level of a hierarchy that a routine runs at: everything that its parameters may depend on."""

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
    """A bandit algorithm over n children that makes S choices before it restarts.

    Subclasses are dataclasses (``frozen=True, repr=False``) whose fields are the parameters of the algorithm. ``None``
    means the theorem's value for the level.
    """

    _module: ClassVar[str] = "routines."
    name: ClassVar[str]
    kernels: ClassVar[Kernels]
    words_each: ClassVar[int] = 1
    """Words of statistics per child."""
    weights: ClassVar[Literal["none", "growing", "any"]] = "none"
    """Whether the statistics begin with exponential weights, one per child, and whether these only grow. A GPU
    stores sums of such weights with them."""
    opaque: ClassVar[bool] = False
    """Whether the statistics belong to a user's code. Nothing is assumed about them, not even that they are finite."""
    source: ClassVar[str] = ""
    """The source of the bound of :meth:`regret`."""
    bits: ClassVar[int] = 64
    """Bits of a statistic. Fewer than 64: the words hold packed codes (:mod:`hlmc.engine.codes`)."""
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "counts"
    """How it learns from rewards that come late (:mod:`hlmc.engine.feedback`). ``"gain"`` and ``"loss"``: its estimates
    of rewards or of losses add up, so that a part of a choice's payoff can be credited later, with -1 - ``tau`` in
    ``update``, where ``tau`` is the present choice; ``tau`` counts the choices that were learned from. ``"counts"``: it
    counts plays, and nothing can be credited later; ``tau`` counts the choices made."""
    known_chance: ClassVar[bool] = True
    """Whether ``select`` knows the probability of its choice. Otherwise it gives 1, and ``probability`` is NaN."""
    most_changing: ClassVar[int] = FOREVER
    """The most children that it can have where they come and go."""
    anytime: ClassVar[bool] = False
    """Whether it needs no horizon. A flat policy then runs without restarts."""
    full_support: ClassVar[bool] = True
    """Whether every child has a chance at every choice."""
    coded: ClassVar[Kernels | None] = None
    """The kernels where statistics are codes of b bits (:class:`hlmc.routines.CodedRoutine`); None: they cannot be."""
    coded_source: ClassVar[str] = ""
    """The source of the bound of :meth:`coded_regret`."""

    def words(self, n: int) -> int:
        """The number of words of statistics for n children."""
        return self.words_each * n if n > 1 else 0

    def cost(self, context: LevelContext) -> float:
        """x in the regret c sqrt(x S) of the level. It determines the balance of the epoch lengths."""
        n = context.children
        return n * math.log(n) if n > 1 else 0.0

    def regret(self, context: LevelContext) -> float | None:
        """A bound on the expected weak regret of one run of S choices, or None if there is none."""
        return None

    def parameters(self, context: LevelContext) -> dict[str, float]:
        """The parameters in use at a level, by the paper's names."""
        return {}

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        """The numbers that the kernels read, in order."""
        return tuple(self.parameters(context).values())

    def check_coded(self, bits: int) -> None:
        """Refuse a routine whose statistics cannot be codes, or not with its parameters."""
        if self.coded is None:
            raise BadArgument(f"bits must be 64 for {self!r}, not {bits}")

    def coded_words(self, n: int, bits: int) -> int:
        """:meth:`words` where statistics are codes."""
        return -(-n * bits // 64) if n > 1 else 0

    def coded_packed(self, context: LevelContext, bits: int) -> tuple[float, ...]:
        """:meth:`packed` where statistics are codes, whose width and its power of two end a level's record."""
        own = self.packed(context)
        return *own, *(0.0,) * (WIDTH - PARAMETERS - len(own)), float(bits), 2.0**-bits

    def coded_regret(self, context: LevelContext, bits: int) -> float | None:
        """:meth:`regret` where statistics are codes."""
        return None

    def chosen(self, **defaults: float) -> dict[str, float]:
        """The defaults, overridden by the fields of this routine that are not None."""
        return {
            name: value if getattr(self, name) is None else float(getattr(self, name))
            for name, value in defaults.items()
        }

    def check(self, **ranges: tuple[float, float, str]) -> None:
        """Refuse a field outside its range, an end of which is open when the text says so; keep it as a float."""
        for name, (low, high, text) in ranges.items():
            self._keep_given(between, name, low=low, high=high, text=text)
