"""The GPU: NVRTC compiles, the driver's interface loads and launches (package cuda-bindings).

Everything that NVIDIA's libraries are asked for stands here. Every call gives a status first, and every status is
looked at. :mod:`hlmc.targets.cuda.host` has the same methods for a host.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.errors import NoDevice, extra
from hlmc.targets.cuda.code import Code

Array = np.ndarray

OTHERWISE = '; device="cpu" plays on the processor'

STATIC_BYTES = 48 * 1024
"""Shared memory that a launch may ask for without a word to the driver before."""

FLAGS = ("--ftz=true", "--prec-div=false", "--prec-sqrt=false")
"""For single precision: approximate quotients and roots, and no subnormal numbers."""


def libraries() -> tuple[Any, Any]:
    """The driver's interface and NVRTC."""
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError as error:
        raise extra("cuda-bindings", "cuda", OTHERWISE) from error
    return driver, nvrtc


def to_machine_code(nvrtc: Any, code: Code, architecture: str) -> bytes:
    """A file as machine code for an architecture such as ``sm_90``. No GPU is needed."""

    def asked(call: Callable[..., Any], *arguments: Any) -> Any:
        status, *found = call(*arguments)
        if int(status):
            raise NoDevice(f"NVRTC: {call.__name__}: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
        return found[0] if found else None

    def text(size: Callable[..., Any], get: Callable[..., Any]) -> bytes:
        found = bytearray(asked(size, program))
        asked(get, program, found)
        return bytes(found)

    program = asked(nvrtc.nvrtcCreateProgram, code.text.encode(), b"hlmc.cu", 0, [], [])
    try:
        flags = [f"--gpu-architecture={architecture}", f"--maxrregcount={code.layout.registers}", *FLAGS]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if int(status):
            said = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode(errors="replace")
            errors = [line for line in said.splitlines() if "error" in line]
            raise NoDevice(f"NVRTC cannot compile for {architecture}: {' | '.join(errors[:3]) or said[:300]}")
        return text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


class Device:
    """The first GPU, through its primary context."""

    def __init__(self, driver: Any, nvrtc: Any) -> None:
        self._driver = driver
        self._nvrtc = nvrtc
        try:
            self._call(driver.cuInit, 0)
            self._device = self._call(driver.cuDeviceGet, 0)
        except Exception as error:  # without a driver, a library cannot be loaded: an error of the package's own
            raise NoDevice(f"there is no CUDA device to run on: {one_line(error)}{OTHERWISE}") from error
        self.name = self._call(driver.cuDeviceGetName, 128, self._device).split(b"\0")[0].decode()
        kind = driver.CUdevice_attribute
        have = [
            self._asked(kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            self._asked(kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ]
        try:
            status, _, known = nvrtc.nvrtcGetSupportedArchs()
        except Exception as error:  # the bindings are there, and the library is not
            raise extra("nvidia-cuda-nvrtc", "cuda", OTHERWISE) from error
        if not int(status) and 10 * have[0] + have[1] < min(known):
            need = f"{min(known) // 10}.{min(known) % 10}"
            old = f"{self.name} is too old: its compute capability is {have[0]}.{have[1]}"
            raise NoDevice(f"{old}, and {need} is needed{OTHERWISE}")
        self._architecture = f"sm_{have[0]}{have[1]}"
        self._processors = self._asked(kind.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        self._context = self._call(driver.cuDevicePrimaryCtxRetain, self._device)

    def _asked(self, attribute: Any) -> int:
        return int(self._call(self._driver.cuDeviceGetAttribute, attribute, self._device))

    def _call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """What a call of the driver gives; an error in one line if it fails."""
        status, *found = call(*arguments)
        if int(status):
            _, text = self._driver.cuGetErrorString(status)
            raise NoDevice(f"the device gave up: {call.__name__}: {text.decode() if text else int(status)}")
        return found[0] if len(found) == 1 else tuple(found)

    def _here(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """The same in the context, which every thread has to choose for itself."""
        self._call(self._driver.cuCtxSetCurrent, self._context)
        return self._call(call, *arguments)

    # --- Memory

    def free(self) -> float:
        """Free bytes of the device's memory."""
        return float(self._here(self._driver.cuMemGetInfo)[0])

    def allocate(self, size: int) -> int:
        """The address of so many bytes."""
        return int(self._here(self._driver.cuMemAlloc, size))

    def release(self, address: int) -> None:
        """Give memory back."""
        self._here(self._driver.cuMemFree, address)

    def write(self, address: int, array: Array) -> None:
        """Copy a contiguous array to the device."""
        self._here(self._driver.cuMemcpyHtoD, address, array.ctypes.data, array.nbytes)

    def read(self, array: Array, address: int) -> None:
        """Copy from the device into a contiguous array, when all that was launched has ended."""
        self._here(self._driver.cuMemcpyDtoH, array.ctypes.data, address, array.nbytes)

    # --- Code

    def load(self, code: Code) -> dict[str, Any]:
        """The entry points of a file, ready to be launched, by their names."""
        image = to_machine_code(self._nvrtc, code, self._architecture)
        held = ctypes.create_string_buffer(image, len(image))
        module = self._here(self._driver.cuModuleLoadData, ctypes.addressof(held))
        return {name: self._here(self._driver.cuModuleGetFunction, module, name.encode()) for name in code.entries}

    def room(self, function: Any, block: int, shared: int) -> int:
        """How many blocks of a function the device holds at once, with so many bytes of shared memory each."""
        self._allow(function, shared)
        count = self._here(self._driver.cuOccupancyMaxActiveBlocksPerMultiprocessor, function, block, shared)
        return int(count) * self._processors

    def launch(
        self, function: Any, grid: tuple[int, int], block: int, shared: int, record: Array, together: bool = False
    ) -> None:
        """Run a function and wait for its end.

        Parameters
        ----------
        function
            An entry point.
        grid, block, shared
            Blocks in x and in y, threads per block, bytes of dynamic shared memory.
        record
            What it is given: 8 bytes a field, in order. The driver copies them before this returns.
        together
            Whether blocks wait for one another: then all must be resident at once, or the driver refuses.
        """
        self._allow(function, shared)
        pointers = (ctypes.c_void_p * 1)(record.ctypes.data)
        launch = self._driver.cuLaunchCooperativeKernel if together else self._driver.cuLaunchKernel
        rest = () if together else (0,)
        self._here(launch, function, *grid, 1, block, 1, 1, shared, 0, ctypes.addressof(pointers), *rest)
        self._here(self._driver.cuCtxSynchronize)

    def _allow(self, function: Any, shared: int) -> None:
        if shared > STATIC_BYTES:
            attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._here(self._driver.cuFuncSetAttribute, function, attribute, shared)


def one_line(error: BaseException) -> str:
    """The first lines of an error's text that say something, as one."""
    lines = [line.strip(" :") for line in str(error).splitlines() if line.strip(" :")]
    return ": ".join(lines[:2]) or type(error).__name__
