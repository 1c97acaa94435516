"""The version of the package, and of what decides its results. Works from a source tree without metadata, too."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

__all__ = ["VERSION", "versions"]

VERSION = "0.3.0"


@cache
def versions() -> dict[str, str]:
    """The versions of hlmc, NumPy, Numba and Python.

    >>> sorted(versions())
    ['hlmc', 'numba', 'numpy', 'python']
    """
    others = {name: version(name) for name in ("numpy", "numba")}
    return {"hlmc": VERSION, **others, "python": platform.python_version()}
