"""What the tests of exported C share: compiling, loading, driving."""

import ctypes
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror", "-ffp-contract=off"]
SANITIZE = ["-O1", "-g0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def needs(*tools: str) -> pytest.MarkDecorator:
    """Skip a test where a tool is not installed, by its name."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def compiled(*command: str | Path, where: Path) -> None:
    """Run a compiler; its complaints are the test's."""
    done = subprocess.run([str(part) for part in command], cwd=where, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr[:4000]}"


def at_once(function, items) -> list:
    """A function of every item, in as many threads as there are processors: compilers are processes of their own."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


class Compiled:
    """A learner of an exported policy in a shared library, driven like one of Python's."""

    def __init__(self, library: ctypes.CDLL, name: str, words: int) -> None:
        self.row = np.zeros(words)
        self._at = ctypes.c_void_p(self.row.ctypes.data)
        self._library, self._name = library, name
        self.select = self._bound("select", ctypes.c_int32)
        self._update = getattr(library, f"{name}_update")
        self._update.restype = ctypes.c_int32
        self._update.argtypes = [ctypes.c_void_p, ctypes.c_double]

    def _bound(self, role: str, result):
        function = getattr(self._library, f"{self._name}_{role}")
        function.restype = result
        function.argtypes = [ctypes.c_void_p]
        return lambda: function(self._at)

    def start(self, key: int) -> None:
        function = getattr(self._library, f"{self._name}_start")
        function.restype = None
        function.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        function(self._at, key)

    def resume(self) -> None:
        self._bound("resume", None)()

    @property
    def time(self) -> int:
        return self._bound("time", ctypes.c_int64)()

    @property
    def probability(self) -> float:
        return self._bound("probability", ctypes.c_double)()

    def update(self, reward: float) -> int:
        return self._update(self._at, reward)


def library(folder: Path, *sources, flags: tuple[str, ...] = ("-O2",), compiler: str = "gcc") -> ctypes.CDLL:
    """One shared library of several exported policies."""
    for source in sources:
        (folder / f"{source.name}.h").write_text(source.header)
        (folder / f"{source.name}.c").write_text(source.source)

    def build(source) -> None:
        compiled(compiler, *STRICT, *flags, "-fPIC", "-c", f"{source.name}.c", "-o", f"{source.name}.o", where=folder)

    at_once(build, sources)
    objects = [f"{source.name}.o" for source in sources]
    compiled(compiler, "-shared", "-o", "all.so", *objects, "-lm", where=folder)
    return ctypes.CDLL(str(folder / "all.so"))
