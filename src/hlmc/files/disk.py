"""The disk: open, lock, read and write a file. Whatever changes a file in place uses `write`, `sync` and `cut`."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hlmc.checks import path as checked_path
from hlmc.errors import BadFile

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where a file that is open cannot be replaced either
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
"""Whether open files can be locked here."""

StrPath = str | os.PathLike[str]


def bad(path: StrPath, what: str) -> BadFile:
    """The error for a file that cannot be loaded."""
    return BadFile(f"{os.fspath(path)} cannot be loaded: {what}")


def try_lock(file: io.IOBase | int, shared: bool = False) -> bool:
    """Lock an open file until it is closed; False when another process has locked it.

    The lock belongs to the open file, not to the process: a forked child shares it.
    """
    if not LOCKS:  # pragma: no cover
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: io.IOBase | int) -> None:
    """Give the lock back before the file is closed, also for forked children that have it open."""
    if LOCKS:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_UN)


def lock(file: io.FileIO, path: StrPath, shared: bool = False) -> None:
    """Keep other processes from opening a fleet's file as long as this file is open."""
    if not try_lock(file, shared):
        message = "this fleet is open already, here or in another process"
        raise BlockingIOError(errno.EAGAIN, message, os.fspath(path))


def check_ordinary(path: StrPath) -> None:
    """Refuse a pipe, which could let a reader wait for ever, and a device, which may have no end."""
    if stat.S_IFMT(Path(path).stat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        raise bad(path, "it is not an ordinary file")


@contextmanager
def opened(path: StrPath) -> Iterator[io.FileIO]:
    """An ordinary file, to be read."""
    path = checked_path("path", path)
    check_ordinary(path)
    with io.FileIO(os.fspath(path), "r") as file:  # a folder is refused here, with Python's own error
        yield file


def contents(path: StrPath, most: int = 2**26) -> bytes:
    """All of a small file, or of a pipe; one that is longer, or has no end, is refused."""
    with checked_path("path", path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise BadFile(f"{os.fspath(path)} is longer than the {most} bytes that are read of a file of this kind")
    return data


@contextmanager
def writable(path: StrPath, same: io.FileIO | None = None) -> Iterator[io.FileIO]:
    """A file to be changed in place; ``same`` is that file opened before."""
    with io.FileIO(os.fspath(path), "r+") as file:
        if same is not None and inode_of(file) != inode_of(same):
            raise bad(path, "it was replaced by another file just now")
        yield file


def inode_of(file: io.FileIO) -> tuple[int, int]:
    """What identifies a file, whatever its name."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def size_of(file: io.FileIO) -> int:
    """Bytes of a file as it is now."""
    return os.fstat(file.fileno()).st_size


def first_hole(file: io.FileIO) -> int:
    """Where the first bytes are that were never written and take no room on the disk; the size where none are."""
    if not hasattr(os, "SEEK_HOLE"):
        return size_of(file)
    try:
        return os.lseek(file.fileno(), 0, os.SEEK_HOLE)
    except OSError:  # a file system that does not tell
        return size_of(file)


def read(file: io.FileIO, at: int, size: int) -> bytes:
    """As many of these bytes as there are."""
    found = bytearray(max(min(size, size_of(file) - at), 0))
    return bytes(memoryview(found)[: read_into(file, at, found)])


def read_into(file: io.FileIO, at: int, buffer: Any) -> int:
    """Fill a buffer as far as there are bytes; how many there were."""
    file.seek(at)
    left = memoryview(buffer).cast("B")
    size = len(left)
    while len(left):
        count = file.readinto(left)
        if not count:
            break
        left = left[count:]
    return size - len(left)


def write(file: io.FileIO, at: int, data: Any) -> int:
    """Write all of it; the place behind it."""
    file.seek(at)
    left = memoryview(data)
    while len(left):
        left = left[file.write(left) :]
    return at + len(data)


def sync(file: io.FileIO) -> None:
    """Wait until all that was written has reached the disk."""
    os.fsync(file.fileno())


def cut(file: io.FileIO, size: int) -> None:
    """Cut a file to a size."""
    file.truncate(size)
