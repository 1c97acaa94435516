"""Single precision under the interpreter: what exported C with float32 statistics is compared with.

Kernels are narrowed (:mod:`hlmc.engine.linker`) and compute with NumPy's float32, one rounding per operation. Which
words are whole numbers and which are sums is decided here by their places in the row; the translator to C decides by
the names with which kernels reach them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.layout import ARM, PROBABILITY, REAL, TOTAL, WHOLE, program_words, row_words
from hlmc.engine.linker import callees, relink, substitute_where_used
from hlmc.engine.routines import LevelKernels, level_kernels
from hlmc.engine.single import SUBSTITUTES

if TYPE_CHECKING:
    from hlmc.engine.structures import Structure
    from hlmc.policies.base import Policy

Array = np.ndarray
Kernel = Callable[..., Any]


def _single(function: Callable[[float], float]) -> Callable[[float], np.float32]:
    return lambda x: np.float32(function(float(np.float32(x))))


_MATH = SimpleNamespace(sqrt=_single(math.sqrt), floor=_single(math.floor), inf=np.float32(np.inf))


@cache
def narrowed(kernel: Kernel) -> Kernel:
    """A kernel that computes in single precision, here and in all that it calls."""
    return _rooted(substitute_where_used(kernel, SUBSTITUTES, "float32"))


@cache
def _rooted(kernel: Kernel) -> Kernel:
    """A copy whose roots are float32, too: those of the library for Python are float64."""
    if getattr(kernel, "__hlmc_source__", None) is None:
        return kernel  # a primitive
    return relink(kernel, {"math": _MATH, **{name: _rooted(callee) for name, callee in callees(kernel).items()}})


class _Total(np.float32):
    """A sum of rewards as it is read. ``row[at] += x`` must add whole units to it: see :class:`SingleRow`."""

    def __iadd__(self, other: Any) -> _Added:  # type: ignore[misc,override]
        return _Added(np.float32(other))


class _Added:
    """What is to be added to a sum."""

    def __init__(self, amount: np.float32) -> None:
        self.amount = amount


class SingleRow:
    """A row in which statistics are float32, clocks integers, and sums of rewards whole numbers of units.

    Parameters
    ----------
    holds
        What each word holds (:mod:`hlmc.engine.layout`).
    words
        ``len(holds) + 1`` words of 32 bits; the key's lower half is the first, its upper half the last.
    units
        Units of a sum in a reward of 1.
    """

    def __init__(self, holds: Sequence[str], words: Array, units: float) -> None:
        self.holds, self.units = list(holds), np.float32(units)
        self._key = np.uint64(int(words[0]) | int(words[-1]) << 32)
        real, whole = words.view(np.float32), words.view(np.int32)
        views: dict[str, Array] = {REAL: real, WHOLE: whole, TOTAL: words}
        read = [views[kind][i] for i, kind in enumerate(self.holds)]
        self._words: list[Any] = [x if kind is REAL else int(x) for x, kind in zip(read, self.holds, strict=True)]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            if (at.start, at.stop) != (0, 1):
                raise IndexError("only the key has raw bits")
            return np.array([self._key])
        word = self._words[at]
        return _Total(np.float32(word) / self.units) if self.holds[at] is TOTAL else word

    def __setitem__(self, at: int, value: Any) -> None:
        holds = self.holds[at]
        if holds is WHOLE:
            value = int(value)
        elif holds is TOTAL:
            kept, value = (self._words[at], value.amount) if isinstance(value, _Added) else (0, value)
            value = (kept + int(np.float32(value) * self.units + np.float32(0.5))) % 2**32
        else:
            assert not isinstance(value, np.float64), "a kernel has computed in double precision"
            value = np.float32(value)
        self._words[at] = value

    def packed(self) -> Array:
        """The words of 32 bits."""
        packed = np.zeros(len(self._words) + 1, np.uint32)
        views: dict[str, Array] = {REAL: packed.view(np.float32), WHOLE: packed.view(np.int32), TOTAL: packed}
        for at, (kind, word) in enumerate(zip(self.holds, self._words, strict=True)):
            views[kind][at] = word
        packed[0], packed[-1] = int(self._key) & 0xFFFFFFFF, int(self._key) >> 32
        return packed


class SingleProgram:
    """A program in which numbers are float32 and whole numbers integers; with the functions that it calls."""

    def __init__(self, program: Array, structure: Structure, routines: tuple[LevelKernels, ...]) -> None:
        kinds = [word.holds for word in program_words(len(program))]
        self._words = [
            int(x) if kind is WHOLE else np.float32(x) for x, kind in zip(program.tolist(), kinds, strict=True)
        ]
        names = ("begin", "end", "arm_of")
        self.structure = SimpleNamespace(**{name: narrowed(getattr(structure, name)) for name in names})
        self.routines = tuple(LevelKernels(*(narrowed(kernel) for kernel in kernels)) for kernels in routines)

    def __getitem__(self, at: int) -> Any:
        return self._words[at]


def fresh(policy: Policy, key: int, units: float) -> SingleRow:
    """The row of a learner that has not begun."""
    holds = [word.holds for word in row_words(policy.program, policy.structure.header, policy.words.total)]
    row = SingleRow(holds, np.zeros(len(holds) + 1, np.uint32), units)
    row._key = np.uint64(key)
    row[ARM], row[PROBABILITY] = -1, np.float32(1.0)
    return row


def linked(policy: Policy, program: Array) -> SingleProgram:
    """A policy's program with the functions that it calls."""
    return SingleProgram(program, policy.structure, tuple(level_kernels(r.kernels) for r in policy.routines_used))


def entry(kernel: Kernel) -> Kernel:
    """A narrowed kernel, to be called from outside. Machine words wrap around when they overflow."""
    function = narrowed(kernel)

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run
