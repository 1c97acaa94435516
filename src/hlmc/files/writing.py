"""The writer of all files of this library: a file is written beside its place and moved there when it is whole.

What every caller gets:

- A crash leaves the old file or the new one. Both the file and its folder have reached the disk at the end.
- A link is followed: the file that it names is replaced, and the link stays.
- The new file has the permissions of the old one; where there is none, those that the process gives to new files.
- Only an ordinary file is replaced; a device, a pipe or a folder is refused.
- ``new=True`` never replaces anything, not even a file that appears while this one is being written.
- The temporary of a process that was killed is removed by the next write to the same place, or by :func:`tidy`.

A temporary is called ``.NAME.0.tmp``, with the next number where another process is writing the same file. A
process holds a lock on its temporary, so that one that can be locked has no owner any more.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from hlmc.checks import path as checked_path
from hlmc.errors import BadArgument
from hlmc.files import disk
from hlmc.files.disk import StrPath

_TEMPORARY = re.compile(r"\..+\.\d+\.tmp")
_MOST_WRITERS = 100
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def write_whole(path: StrPath, data: Any) -> None:
    """Write bytes as :func:`replacing` does."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: StrPath, new: bool = False) -> Iterator[IO[bytes]]:
    """A file to be written; at the end of the block it takes the place of the old one, which it must not with ``new``.

    An error in the block leaves the old file as it was.
    """
    target = Path(os.path.realpath(checked_path("path", path)))
    old = _old(target)
    if old is not None and new:
        raise _exists(target)
    temporary, handle = _temporary(target, 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777)
    with os.fdopen(handle, "w+b") as file:
        try:
            if old is not None:
                _inherit(handle, old)
            yield file
            file.flush()
            os.fsync(handle)
            if sys.platform == "win32":  # pragma: no cover - an open file cannot be moved there
                file.close()
            if new:
                _move_new(temporary, target)
            else:
                temporary.replace(target)
        except BaseException:
            if sys.platform == "win32":  # pragma: no cover
                file.close()
            # Still locked: the file of that name is ours.
            temporary.unlink(missing_ok=True)
            raise
        if not file.closed:
            disk.unlock(handle)
    if sys.platform != "win32":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def tidy(folder: Path) -> None:
    """Remove from a folder the temporaries of processes that were killed."""
    for path in folder.glob(".*.tmp"):
        if _TEMPORARY.fullmatch(path.name):
            _removed(path)


def _old(target: Path) -> os.stat_result | None:
    """The file that is to be replaced, or None."""
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    try:
        old = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(old.st_mode):
        raise BadArgument(f"{target} is not an ordinary file, and nothing else is replaced")
    return old


def _exists(target: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "there is a file already, and it is not overwritten", str(target))


def _inherit(handle: int, old: os.stat_result) -> None:
    """Give a file the owner and the permissions of another, as far as the process may."""
    if not hasattr(os, "fchown"):  # pragma: no cover - Windows
        return
    now = os.fstat(handle)
    with suppress(PermissionError):
        if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode) & 0o777)


def _temporary(target: Path, mode: int) -> tuple[Path, int]:
    """A new file beside the target, open and locked. Abandoned ones with its name are removed."""
    found: tuple[Path, int] | None = None
    for number in range(_MOST_WRITERS):
        path = target.with_name(f".{target.name}.{number}.tmp")
        if found is None:
            handle = _created(path, mode)
            found = None if handle is None else (path, handle)
        elif os.path.lexists(path):
            _removed(path)
        else:
            break
    if found is None:
        raise FileExistsError(errno.EEXIST, f"{_MOST_WRITERS} processes are writing this file", str(target))
    return found


def _created(path: Path, mode: int) -> int | None:
    """Create and lock a temporary, in place of an abandoned one; None while another process writes to it."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
        except FileExistsError:
            if not _removed(path):
                return None
            continue
        try:
            ours = disk.try_lock(handle)
        except OSError:  # a file system without locks, where nothing is removed
            ours = True
        # Before it was locked, another process may have taken it for an abandoned one and removed it, or be about to.
        if ours and _is_at(path, handle):
            return handle
        os.close(handle)


def _removed(path: Path) -> bool:
    """Remove a temporary that is not being written; False where it must stay."""
    if not disk.LOCKS:  # pragma: no cover - it cannot be known
        return False
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:  # a link, or not ours to read
        return False
    try:
        # While it is locked, no other process removes it.
        if stat.S_ISREG(os.fstat(handle).st_mode) and disk.try_lock(handle) and _is_at(path, handle):
            path.unlink()
            return True
    except OSError:
        pass
    finally:
        os.close(handle)
    return False


def _is_at(path: Path, handle: int) -> bool:
    """Whether a path leads to an open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _move_new(temporary: Path, target: Path) -> None:
    """Move a file to a place where there is none; where there is one, it stays."""
    try:
        if sys.platform == "win32":  # pragma: no cover - where renaming does not replace
            temporary.rename(target)
            return
        try:
            target.hardlink_to(temporary)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A file system without hard links. The process that made the empty file may replace it.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            temporary.replace(target)
        else:
            temporary.unlink()
    except FileExistsError:
        raise _exists(target) from None
