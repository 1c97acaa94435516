"""Checks of arguments: each gives the value in the type that the library keeps, or a refusal in one line.

A refusal names the argument, the range and the value, and is raised before anything has changed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hlmc.errors import BadArgument, BadType, shown


def path(name: str, value: Any) -> Path:
    """A path, or a clear refusal.

    >>> path("store", "runs\\0")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: store must be a path without NUL characters, not 'runs\\x00'
    """
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise BadType(f"{name} must be a path, not {shown(value)}")
    if "\0" in text:
        raise BadArgument(f"{name} must be a path without NUL characters, not {shown(text)}")
    return Path(text)


def writable(name: str, value: Any) -> Path:
    """The path of a file that can be written, as far as can be told before it is."""
    file = path(name, value)
    if not file.parent.is_dir():
        raise BadArgument(f"{name}: there is no folder {str(file.parent)!r} for {file.name!r}; make it first")
    if file.is_dir():
        raise BadArgument(f"{name} must be a file, and {shown(str(file))} is a folder")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise BadArgument(f"{name}: the folder {str(file.parent)!r} cannot be written to")
    return file
