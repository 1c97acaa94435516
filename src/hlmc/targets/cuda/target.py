"""Build the library's kernels for a CUDA device, in either precision.

There is no second implementation of anything here. :class:`Target` takes the kernels that run on the processor, copies
them as :mod:`hlmc.kernels.build` does, and hands the copies to numba-cuda. What differs is told by name: calls through
addresses become direct calls of what this policy and this adversary need, and words lie where a device wants them.

Single precision is a property of the copies, too: their constants become float32, and so does what ``float`` means in
them. A module whose thresholds depend on the range or the precision of a word lists the other ones in ``SINGLE``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hlmc.engine.kernel import kernel, linked, specialised
from hlmc.kernels import native

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"
"""Whether Numba's simulator stands in for a device: slow, exact, and everywhere."""

PRECISIONS = ("float32", "float64")


@kernel
def as_it_is(run: Any) -> Any:
    """What :func:`hlmc.kernels.native.words` is where a run is handed over and not its address."""
    return run


cuda: Any = None


@kernel
def _floor_log2(x: int) -> int:
    return 63 - cuda.clz(x)


class Target:
    """Kernels for one device. ``meanings`` says what kernel stands for another: ``{native.call_reward: rule}``."""

    def __init__(self, meanings: Mapping[Callable[..., Any], Any]) -> None:
        self._meanings = dict(_natives()) | dict(meanings)
        self._built: dict[Callable[..., Any], Any] = {}

    def function(self, function: Callable[..., Any]) -> Any:
        """A device function."""
        meaning = self._meanings.get(function, function)
        if not hasattr(meaning, "__hlmc_kernel__"):
            return meaning
        if meaning not in self._built:
            copy = linked(meaning, self.function)
            if not SIMULATED:
                from numba import cuda

                copy = cuda.jit(copy, device=True, forceinline="apart" not in copy.__code__.co_names, lto=False)
            self._built[meaning] = copy
        return self._built[meaning]

    def entry(self, function: Callable[..., Any], registers: int, **options: Any) -> Any:
        """A function that can be launched, whose threads have at most so many registers."""
        from numba import cuda

        if not SIMULATED:
            # The link-time optimiser would make exact quotients of the fast ones that single precision is for.
            options |= {"max_registers": registers, "lto": False}
        return cuda.jit(linked(function, self.function), **options)


def retold(
    function: Callable[..., Any], meanings: Mapping[Callable[..., Any], Any], precision: str = "float64"
) -> Callable[..., Any]:
    """A kernel like this one in which, wherever it leads, some kernels stand for others; in either precision.

    >>> from hlmc.engine.kernel import kernel
    >>> @kernel
    ... def third(n):
    ...     return 1.0 / float(n)
    >>> third(3), retold(third, {}, "float32")(3)
    (0.3333333333333333, np.float32(0.33333334))
    """
    done: dict[Callable[..., Any], Any] = {}

    def tell(kernel: Callable[..., Any]) -> Any:
        while kernel in meanings:
            kernel = meanings[kernel]
        if not hasattr(kernel, "__hlmc_kernel__") or hasattr(kernel, "__hlmc_native__"):
            return kernel
        if kernel not in done:
            done[kernel] = copy = linked(kernel, tell)
            if precision == "float32":
                _narrow(copy)
        return done[kernel]

    return tell(function)


def _narrow(copy: Callable[..., Any]) -> None:
    """Make single precision of a copy's constants, and of what it calls float."""
    names = copy.__globals__
    used = [name for name in copy.__code__.co_names if name in names]
    changed = {name: value for name, value in names.get("SINGLE", {}).items() if name in used}
    names.update(changed)
    names.update({name: np.float32(names[name]) for name in used if isinstance(names[name], float)}, float=np.float32)
    constants = tuple(np.float32(x) if isinstance(x, float) else x for x in copy.__code__.co_consts)
    copy.__code__ = copy.__code__.replace(co_consts=constants)


def _natives() -> dict[Callable[..., Any], Any]:
    """What the kernels that have no body of their own mean on this device."""
    meanings: dict[Callable[..., Any], Any] = {native.words: as_it_is}
    if SIMULATED:
        return meanings
    from numba import cuda

    from hlmc.device import pointers

    meanings[native.apart] = pointers.stay_apart
    meanings[native.bits] = pointers.bits
    meanings[native.offset] = pointers.offset
    meanings[native.beside] = pointers.beside
    meanings[native.floor_log2] = specialised(_floor_log2, "floor_log2", cuda=cuda)
    meanings[native.load_float64] = pointers.loader("float64")
    meanings[native.load_float32] = pointers.loader("float32")
    meanings[native.load_uint8] = pointers.loader("uint8")
    return meanings
