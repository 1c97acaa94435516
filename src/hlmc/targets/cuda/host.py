"""A host in place of a GPU: the same text, compiled by a C++ compiler, whose threads take turns.

It plays small experiments where there is no GPU (``HLMC_DEVICE=host``), and it is how device code is tested: kernels,
views, launches and books are those of a device, and results are the interpreter's bit for bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.errors import NoDevice
from hlmc.targets.cuda.code import Code

Array = np.ndarray

FLAGS = ("-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC")

ROOM = 6
"""Blocks that a host claims to hold at once: few, so that a block has several tiles to play."""


class Host:
    """The methods of :class:`hlmc.targets.cuda.device.Device`; addresses are those of the process."""

    name = "a host that stands for a CUDA device"

    def __init__(self) -> None:
        self._compiler = os.environ.get("CXX") or next(filter(shutil.which, ("g++", "clang++", "c++")), "")
        if not self._compiler:
            raise NoDevice("HLMC_DEVICE=host needs a C++ compiler: g++, clang++, or one named by CXX")
        self._held: dict[int, Array] = {}

    def free(self) -> float:
        """Free bytes: no limit is known."""
        return float("inf")

    def allocate(self, size: int) -> int:
        """The address of so many bytes."""
        held = np.empty(size, dtype=np.uint8)
        self._held[held.ctypes.data] = held
        return int(held.ctypes.data)

    def release(self, address: int) -> None:
        """Give memory back."""
        del self._held[address]

    def write(self, address: int, array: Array) -> None:
        """Copy a contiguous array."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def read(self, array: Array, address: int) -> None:
        """Copy into a contiguous array."""
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def load(self, code: Code) -> dict[str, Any]:
        """The entry points of a file, by their names."""
        library = ctypes.CDLL(str(_built(self._compiler, code.text)))
        return {name: getattr(library, name) for name in code.entries}

    def room(self, function: Any, block: int, shared: int) -> int:
        """How many blocks are resident at once."""
        return ROOM

    def launch(
        self, function: Any, grid: tuple[int, int], block: int, shared: int, record: Array, together: bool = False
    ) -> None:
        """Run an entry point; see :meth:`hlmc.targets.cuda.device.Device.launch`."""
        function(ctypes.c_void_p(record.ctypes.data), (ctypes.c_int64 * 2)(*grid), ctypes.c_int64(shared),
                 ctypes.c_int64(together))  # fmt: skip


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hlmc-host-")


def _built(compiler: str, text: str) -> Path:
    """The shared library that a compiler makes of device code."""
    parts = text.partition("\n\n")
    source = f"{parts[0]}\n{Path(__file__).with_name('host.cuh').read_text(encoding='utf-8')}\n{parts[2]}"
    made = Path(_folder().name) / hashlib.sha256(f"{compiler}\n{source}".encode()).hexdigest()
    if not made.exists():
        partly = made.with_suffix(f".{os.getpid()}")
        command = [compiler, *FLAGS, "-x", "c++", "-", "-o", str(partly)]
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise NoDevice(f"{compiler} cannot compile: {' | '.join(errors[:3])}")
        partly.replace(made)
    return made
