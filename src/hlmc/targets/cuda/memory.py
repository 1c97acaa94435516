"""Arrays in a device's memory, and whether there is a device at all."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from hlmc.errors import NoDevice, extra
from hlmc.targets.cuda.compiler import SIMULATED
from hlmc.targets.cuda.launch import one_line

Array = np.ndarray

OTHERWISE = '; device="cpu" plays on the processor'

OLDEST = (6, 0)
"""The least compute capability: the first with an atomic addition of float64."""


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
        raise NoDevice(f"there is no CUDA device to run on: {one_line(error)}{OTHERWISE}") from error
    except Exception as error:  # a driver has many ways to fail
        raise NoDevice(f"the CUDA device cannot be used: {one_line(error)}") from error
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    if tuple(device.compute_capability) < OLDEST:
        have, need = (".".join(map(str, version)) for version in (device.compute_capability, OLDEST))
        raise NoDevice(f"{name} is too old: its compute capability is {have}, and {need} is needed")
    return name


class Memory:
    """Arrays on the device, which stay there for as long as this object is kept."""

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
        """Refuse so many bytes if they do not fit, before anything is copied."""
        if size > _free():
            _let_go()
            free = _free()
            if size > free:
                raise NoDevice(_too_much(size, free))

    @staticmethod
    def given(there: Any) -> Any:
        """What a launch record holds for an array on the device: its address; in the simulator, the NumPy array."""
        return there._ary if SIMULATED else int(there.__cuda_array_interface__["data"][0])

    @staticmethod
    def array(there: Any) -> Any:
        """The same where a record holds an array and not its address: atomic operations take arrays."""
        return there._ary if SIMULATED else there

    def address(self, array: Array) -> int:
        """Copy an array to the device; its address, in the simulator too."""
        given = self.given(self.put(array))
        return int(given.ctypes.data) if SIMULATED else int(given)


def _free() -> float:
    """Free bytes of the device's memory."""
    if SIMULATED:
        return float("inf")
    from numba import cuda

    return float(cuda.current_context().get_memory_info()[0])


def _let_go() -> None:
    """Free now what nobody holds any more: Numba defers it."""
    if not SIMULATED:
        from numba import cuda

        cuda.current_context().memory_manager.deallocations.clear()


def _too_much(size: float, free: float) -> str:
    """The text of the error, for bytes."""
    need, have = size / 2**30, free / 2**30
    return (
        f"the device has {have:.2f} GiB of memory left and {need:.2f} GiB more are needed; ask for fewer runs at a time"
    )
