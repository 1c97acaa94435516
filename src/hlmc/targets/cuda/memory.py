"""A device's memory, and what can be wrong with a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from hlmc.device.target import SIMULATED
from hlmc.errors import NoDevice, extra

Array = np.ndarray

OTHERWISE = '; device="cpu" plays on the processor'

OLDEST = (6, 0)
"""The least compute capability: what adds to a float64 in memory at once."""


@cache
def checked_device() -> str:
    """The name of the device to run on, or an error that says in one line why there is none."""
    try:
        from numba import cuda
        from numba.cuda.cudadrv.error import CudaSupportError
    except ImportError as error:
        raise extra("numba.cuda", "cuda", OTHERWISE) from error
    if SIMULATED:
        return "Numba's CUDA simulator"
    try:
        import numba_cuda  # noqa: F401
    except ImportError as error:
        raise extra("numba-cuda", "cuda", OTHERWISE) from error
    try:
        device = cuda.get_current_device()
    except CudaSupportError as error:
        raise NoDevice(f"there is no CUDA device to run on: {_line(error)}{OTHERWISE}") from error
    except Exception as error:  # a driver has many ways to fail
        raise NoDevice(f"the CUDA device cannot be used: {_line(error)}") from error
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    if tuple(device.compute_capability) < OLDEST:
        have, need = (".".join(map(str, version)) for version in (device.compute_capability, OLDEST))
        raise NoDevice(f"{name} is too old: its compute capability is {have}, and {need} is needed")
    return name


def _line(error: BaseException) -> str:
    """The first lines of an error's text that say something, as one."""
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip(" :")]
    return ": ".join(lines[:2]) or type(error).__name__


@contextmanager
def gives_up() -> Iterator[None]:
    """Say in one line what a driver says in many when a launch fails."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in ("CudaAPIError", "CUDAError"):
            raise NoDevice(f"the device gave up: {_line(error)}") from error
        raise


class Memory:
    """Arrays on the device, which stay there for as long as this is kept."""

    def __init__(self) -> None:
        self._held: list[Any] = []

    def put(self, array: Array) -> Any:
        """A copy of an array on the device."""
        from numba import cuda

        self.room_for(array.nbytes)
        try:
            there = cuda.to_device(np.ascontiguousarray(array))
        except Exception as error:
            if "OUT_OF_MEMORY" in str(error):
                raise NoDevice(_too_much(array.nbytes, _free())) from error
            raise
        self._held.append(there)
        return there

    @staticmethod
    def room_for(size: int) -> None:
        """Refuse what does not fit, before anything is copied."""
        if size > _free():
            _let_go()
            free = _free()
            if size > free:
                raise NoDevice(_too_much(size, free))

    @staticmethod
    def given(there: Any) -> Any:
        """What a launch is given for an array: its address; in the simulator, the array."""
        return there if SIMULATED else int(there.__cuda_array_interface__["data"][0])

    def address(self, array: Array) -> int:
        """Put an array there, and say where."""
        there = self.put(array)
        return there._ary.ctypes.data if SIMULATED else self.given(there)


def _free() -> float:
    if SIMULATED:
        return float("inf")
    from numba import cuda

    return float(cuda.current_context().get_memory_info()[0])


def _let_go() -> None:
    """Have what nobody holds any more given back now: Numba puts it off."""
    if not SIMULATED:
        from numba import cuda

        cuda.current_context().memory_manager.deallocations.clear()


def _too_much(size: float, free: float) -> str:
    need, have = size / 2**30, free / 2**30
    return (
        f"the device has {have:.2f} GiB of memory left and {need:.2f} GiB more are needed; ask for fewer runs at a time"
    )
