"""Arrays in a device's memory, the record that a launch is given, and which device that is."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from hlmc.errors import NoDevice
from hlmc.targets.cuda.device import Device, libraries
from hlmc.targets.cuda.host import Host

Array = np.ndarray


@cache
def device() -> Device | Host:
    """The device that everything runs on: the first GPU, or a host if ``HLMC_DEVICE=host``."""
    if os.environ.get("HLMC_DEVICE") == "host":
        return Host()
    return Device(*libraries())


def checked_device() -> str:
    """The name of the device to run on, or an error that says in one line why there is none."""
    return device().name


class DeviceArray:
    """An array on the device, contiguous, which is given back with this object.

    Raises :class:`hlmc.errors.NoDevice` with one line if it does not fit.
    """

    def __init__(self, array: Array) -> None:
        there = device()
        room_for(array.nbytes)
        self._shape, self._dtype = array.shape, array.dtype
        self.address = there.allocate(max(1, array.nbytes))
        weakref.finalize(self, there.release, self.address).atexit = False
        self.copy_to_device(array)

    def copy_to_device(self, array: Array) -> None:
        """Overwrite it with an array of the same type and shape."""
        assert (array.shape, array.dtype) == (self._shape, self._dtype)
        if array.nbytes:
            device().write(self.address, np.ascontiguousarray(array))

    def copy_to_host(self) -> Array:
        """Copy it back."""
        found = np.empty(self._shape, self._dtype)
        if found.nbytes:
            device().read(found, self.address)
        return found


def room_for(size: int) -> None:
    """Refuse so many bytes if they do not fit, before anything is copied."""
    free = device().free()
    if size > free:
        need, have = size / 2**30, free / 2**30
        raise NoDevice(
            f"the device has {have:.2f} GiB of memory left and {need:.2f} GiB more are needed; "
            "ask for fewer runs at a time"
        )


def packed(record: Iterable[Any]) -> Array:
    """A launch record as a device reads it: the addresses of arrays, and whole numbers, 8 bytes each."""
    return np.array([each.address if isinstance(each, DeviceArray) else each for each in record], dtype=np.int64)
