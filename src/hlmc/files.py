"""Files of learners and fleets: one format, checked before it is believed and read without executing anything.

``docs/format.md`` has the layout byte by byte. A file is a *front* (sizes, a description of the policy in JSON, one
checksum for every block of rows, and a checksum of all this) and then the rows as they are in memory. A file is
written beside its place and moved there when it is whole; a fleet's file is also changed in place, by
:func:`checkpoint`, through a journal.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.soundness import checker
from hlmc.errors import BadArgument, BadFile, BadType, shown
from hlmc.targets import address_of, entry, linked

if TYPE_CHECKING:
    from hlmc.fleet import Fleet
    from hlmc.learner import Learner
    from hlmc.policies.base import Policy
    from hlmc.routines.base import Routine

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where a file that is open cannot be replaced either
    fcntl = None  # type: ignore[assignment]

Array = np.ndarray
StrPath = str | os.PathLike[str]

# Like PNG's: not text, and no longer itself after a transfer that turns line ends.
MAGIC = b"\x93hlmc\r\n\x1a"
VERSION = 1
KINDS = ("learner", "fleet")

_FIXED = struct.Struct("<8sIIQQIIQ32s")
_SEAL = 32  # bytes of the checksum of a front, its last fixed field
_ENTRY = 16  # bytes of the checksum of a block
_BLOCK = 16384  # a block has as many rows, a power of two, as fit in here; at least one
_MOST_DESCRIPTION = 2**20

_JOURNAL_MAGIC = b"\x93hlmcjrn"
_JOURNAL = struct.Struct("<8sQ32s")


def load(path: StrPath, routines: Mapping[str, Routine] | None = None, *, mapped: bool = True) -> Learner | Fleet:
    """The learner or the fleet of a file, as it was when it was saved.

    Parameters
    ----------
    path
        What :meth:`Learner.save`, :meth:`Fleet.save` or ``policy.fleet(..., file=path)`` has written.
    routines
        The routines of your own that the policy uses, by label: a file holds their names, not their code.
    mapped
        A fleet's rows are read as they are used, and :meth:`Fleet.checkpoint` writes them back; nobody else can open
        the file meanwhile. False: all rows are read now, and the fleet has nothing more to do with the file.

    Examples
    --------
    >>> import hlmc, tempfile
    >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
    >>> arm = learner.select()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(folder + "/learner")
    ...     again = hlmc.load(folder + "/learner")
    >>> again == learner, again.select() == arm
    (True, True)
    """
    from hlmc.fleet import Fleet
    from hlmc.learner import Learner

    with _opened(path) as file:
        layout = Layout.read(file, path)
        if layout.kind == "fleet":
            lock(file, path, shared=not mapped)
        front = Front.read(file, path, routines)
        if front.layout.kind == "fleet":
            fleet = Fleet.attached(front, file, path)
            return fleet if mapped else fleet.copy()
        block = _read(file, front.layout.offset, front.layout.block_bytes)
        front.check_block(0, block, path)
        row = np.frombuffer(block, "<f8").astype(np.float64)
        check_rows(front.policy, row[None, :], 0, 1, path)
        return Learner(front.policy, row)


def save(path: StrPath, policy: Policy, rows: Array, kind: str) -> None:
    """Write a learner (its one row) or a fleet. A crash leaves the old file or the new one."""
    front = Front.new(policy, kind, len(rows))
    step = front.layout.chunk
    create(path, front, (rows[first : first + step] for first in range(0, len(rows), step)))


def create(path: StrPath, front: Front, chunks: Iterable[Array]) -> None:
    """Write a file whose rows come in chunks of whole blocks."""
    width = front.layout.block_bytes
    with _replacing(path) as file:
        file.seek(front.layout.offset)
        block = 0
        for chunk in chunks:
            data = as_bytes(chunk)
            for first in range(0, len(data), width):
                front.table[block] = np.frombuffer(digest(data[first : first + width]), np.uint8)
                block += 1
            file.write(data)
        file.seek(0)
        file.write(front.encoded())


@dataclass(frozen=True)
class Layout:
    """Where everything lies in a file."""

    kind: str
    rows: int
    words: int
    shift: int  # a block has 2^shift rows
    described: int  # bytes of the description

    @classmethod
    def new(cls, kind: str, rows: int, words: int, described: int) -> Layout:
        """The layout of a file that is yet to be written."""
        return cls(kind, rows, words, max(_BLOCK // (8 * words), 1).bit_length() - 1, described)

    @classmethod
    def read(cls, file: io.FileIO, path: StrPath) -> Layout:
        """The layout of a file, if it can be one: nothing of what it says has been believed but its sizes."""
        length = os.fstat(file.fileno()).st_size
        fixed = _read(file, 0, _FIXED.size)
        if len(fixed) < _FIXED.size:
            raise _bad(path, f"it has {length} bytes, fewer than any file of hlmc")
        magic, version, kind, rows, words, shift, described, offset, _ = _FIXED.unpack(fixed)
        if magic != MAGIC:
            raise _bad(path, "it is not a file of hlmc")
        if version != VERSION:
            raise _bad(path, f"it is of format {version}, and this version of hlmc reads format {VERSION}")
        if kind not in (1, 2) or not (rows and words) or shift > 62 or described > _MOST_DESCRIPTION:
            raise _bad(path, "its header is damaged")
        layout = cls(KINDS[kind - 1], rows, words, shift, described)
        if layout.offset != offset or (layout.kind == "learner" and rows > 1):
            raise _bad(path, "its header is damaged")
        # Python's integers do not overflow: a size that is nonsense is just larger than the file.
        if length < layout.size:
            raise _bad(path, f"it is cut short: {length} bytes of {layout.size}")
        if length > layout.size and layout.kind == "learner":
            raise _bad(path, f"it is too long: {length} bytes instead of {layout.size}")
        return layout

    @property
    def blocks(self) -> int:
        return ((self.rows - 1) >> self.shift) + 1

    @property
    def block_bytes(self) -> int:
        """Bytes of a block; the last may have fewer."""
        return (8 * self.words) << self.shift

    @property
    def table_at(self) -> int:
        """Where the blocks' checksums begin."""
        return -(-(_FIXED.size + self.described) // _ENTRY) * _ENTRY

    @property
    def offset(self) -> int:
        """Where the rows begin: in a fleet's file, with a page; in a learner's, to keep it small, with a cache line."""
        unit = 4096 if self.kind == "fleet" else 64
        return -(-(self.table_at + _ENTRY * self.blocks) // unit) * unit

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.offset + 8 * self.words * self.rows

    @property
    def chunk(self) -> int:
        """Rows of so many whole blocks as make about a megabyte."""
        return max(2**20 // self.block_bytes, 1) << self.shift

    def span(self, block: int, count: int = 1) -> tuple[int, int]:
        """The rows, first and behind the last, of some blocks in a row."""
        return block << self.shift, min((block + count) << self.shift, self.rows)

    def place(self, row: int) -> int:
        """Where a row begins."""
        return self.offset + 8 * self.words * row


@dataclass(eq=False)
class Front:
    """All of a file but its rows."""

    layout: Layout
    policy: Policy
    description: bytes
    table: Array  # the blocks' checksums: uint8, (blocks, 16)

    @classmethod
    def new(cls, policy: Policy, kind: str, rows: int) -> Front:
        """The front of a file that is yet to be written; its table is still to be filled."""
        description = _described(policy)
        layout = Layout.new(kind, rows, policy.words.total, len(description))
        return cls(layout, policy, description, np.zeros((layout.blocks, _ENTRY), np.uint8))

    @classmethod
    def read(cls, file: io.FileIO, path: StrPath, routines: Mapping[str, Routine] | None) -> Front:
        """The front of a file, checked; a checkpoint that a crash has interrupted is finished first."""
        layout = Layout.read(file, path)
        finish(file, path, layout)
        front = _read(file, 0, layout.offset)
        if front != _sealed(front):
            raise _bad(path, "its header is damaged")
        description = front[_FIXED.size : _FIXED.size + layout.described]
        policy = _policy(path, description, layout.words, routines)
        return cls(layout, policy, description, _table(front, layout).copy())

    def encoded(self) -> bytes:
        """The front as it stands in the file."""
        at = self.layout
        kind = KINDS.index(at.kind) + 1
        fixed = _FIXED.pack(MAGIC, VERSION, kind, at.rows, at.words, at.shift, at.described, at.offset, bytes(_SEAL))
        start = (fixed + self.description).ljust(at.table_at, b"\0")
        return _sealed((start + self.table.tobytes()).ljust(at.offset, b"\0"))

    def check_block(self, block: int, data: Any, path: StrPath) -> None:
        """Refuse a block of rows that is not what its checksum says."""
        if digest(data) != self.table[block].tobytes():
            first, stop = self.layout.span(block)
            where = "its state is" if self.layout.kind == "learner" else f"its rows {first} to {stop - 1} are"
            raise _bad(path, f"{where} damaged")


def check_rows(policy: Policy, rows: Array, first: int, stop: int, path: StrPath) -> None:
    """Refuse rows that no learner of the policy can have, whatever the checksums say."""
    check = entry(checker(policy.structure), "int64", *["int64"] * 5, release=True)
    found = check(linked(policy).address, address_of(rows), rows.shape[1], first, stop)
    if found < stop:
        raise _bad(path, f"its row {found} is no state of {policy!r}")


def digest(data: Any) -> bytes:
    """A block's checksum."""
    return hashlib.blake2b(data, digest_size=_ENTRY).digest()


def as_bytes(rows: Array) -> memoryview:
    """Rows as a file has them: little-endian, whatever the machine; without a copy where it is so already."""
    return np.ascontiguousarray(rows, "<f8").reshape(-1).view(np.uint8).data


def _bad(path: StrPath, what: str) -> BadFile:
    return BadFile(f"{os.fspath(path)} cannot be loaded: {what}")


def _table(front: bytes | bytearray, layout: Layout) -> Array:
    return np.frombuffer(front, np.uint8, _ENTRY * layout.blocks, layout.table_at).reshape(-1, _ENTRY)


def _sealed(front: bytes | bytearray) -> bytes:
    """A front with the checksum of all of it but the place of the checksum itself."""
    at, end = _FIXED.size - _SEAL, _FIXED.size
    state = hashlib.blake2b(front[:at], digest_size=_SEAL)
    state.update(memoryview(front)[end:])
    return bytes(front[:at]) + state.digest() + bytes(front[end:])


# Checkpoints: changing a file in place, through a journal.


def checkpoint(path: StrPath, inode: tuple[int, int], front: Front, rows: Array, marked: Iterable[int]) -> None:
    """Bring the marked blocks of a fleet's file up to the rows in memory, all of them or none.

    What is to change is first written behind the rows, with checksums; then to its place; then the file is cut to its
    length again. Each has reached the disk before the next begins. Whoever opens the file after a crash finds behind
    the rows nothing; or something unfinished, and rows as yet untouched; or all that it takes to finish.
    """
    layout = front.layout
    with _writable(path) as file:
        if inode_of(file) != inode:
            raise BadArgument(f"{os.fspath(path)} is no longer the file that was opened: save this fleet elsewhere")
        if finish(file, path, layout, locked=True):
            # A checkpoint that failed half-way, for want of space perhaps, has been finished now.
            front.table = _table(_read(file, 0, layout.offset), layout).copy()
        table = front.table.copy()
        changed = []
        for block in marked:
            first, stop = layout.span(block)
            found = digest(as_bytes(rows[first:stop]))
            if found != table[block].tobytes():
                table[block] = np.frombuffer(found, np.uint8)
                changed.append(block)
        if not changed:
            return
        after = Front(layout, front.policy, front.description, table).encoded()
        try:
            at = _write(file, layout.size, _Journal(np.array(changed, "<u8"), table[changed], after).encoded())
            for block, count in _runs(changed):
                first, stop = layout.span(block, count)
                at = _write(file, at, as_bytes(rows[first:stop]))
            _sync(file)
        except BaseException:
            with suppress(OSError):
                _cut(file, layout.size)
            raise
        for block, count in _runs(changed):
            first, stop = layout.span(block, count)
            _write(file, layout.place(first), as_bytes(rows[first:stop]))
        _write(file, 0, after)
        _sync(file)
        _cut(file, layout.size)
        front.table = table


def finish(file: io.FileIO, path: StrPath, layout: Layout, locked: bool = False) -> bool:
    """Finish the checkpoint that a crash has interrupted, if there is one and it was written down to the end."""
    if os.fstat(file.fileno()).st_size == layout.size or not _Journal.read(file, path, layout):
        return False
    if not locked:
        lock(file, path)
    journal = _Journal.read(file, path, layout)
    if journal is None:
        return False
    with _writable(path, file) as target:
        for block, data in journal.data(file, layout):
            _write(target, layout.place(layout.span(block)[0]), data)
        _write(target, 0, journal.front)
        _sync(target)
        _cut(target, layout.size)
    return True


@dataclass(eq=False)
class _Journal:
    """What a checkpoint is about to change. The blocks themselves follow it."""

    blocks: Array
    table: Array  # their checksums
    front: bytes  # the front as it will be, of which only the checksum is written down

    def encoded(self) -> bytes:
        seal = self.front[_FIXED.size - _SEAL : _FIXED.size]
        body = _JOURNAL.pack(_JOURNAL_MAGIC, len(self.blocks), seal) + self.blocks.tobytes() + self.table.tobytes()
        return body + hashlib.blake2b(body, digest_size=_SEAL).digest()

    @classmethod
    def read(cls, file: io.FileIO, path: StrPath, layout: Layout) -> _Journal | None:
        """The journal behind the rows, or None when there is none or it is unfinished."""
        head = _read(file, layout.size, _JOURNAL.size)
        if len(head) < _JOURNAL.size:
            return None
        magic, count, seal = _JOURNAL.unpack(head)
        if magic != _JOURNAL_MAGIC or not 1 <= count <= layout.blocks:
            return None
        body = _read(file, layout.size, cls.length(count))
        if hashlib.blake2b(body[:-_SEAL], digest_size=_SEAL).digest() != body[-_SEAL:]:
            return None
        blocks = np.frombuffer(body, "<u8", count, _JOURNAL.size)
        table = np.frombuffer(body, np.uint8, _ENTRY * count, _JOURNAL.size + 8 * count).reshape(-1, _ENTRY)
        if blocks.max() >= layout.blocks:
            return None
        front = bytearray(_read(file, 0, layout.offset))
        entries = _table(front, layout)
        entries[blocks] = table
        journal = cls(blocks, table, _sealed(front))
        for (_, data), checksum in zip(journal.data(file, layout), table, strict=True):
            if digest(data) != checksum.tobytes():
                return None
        if journal.front[_FIXED.size - _SEAL : _FIXED.size] != seal:
            raise _bad(path, "its header is damaged")
        return journal

    @staticmethod
    def length(count: int) -> int:
        """Bytes of a journal of so many blocks, without the blocks."""
        return _JOURNAL.size + (8 + _ENTRY) * count + _SEAL

    def data(self, file: io.FileIO, layout: Layout) -> Iterator[tuple[int, bytes]]:
        """The blocks that follow the journal, by their numbers."""
        at = layout.size + self.length(len(self.blocks))
        for block in self.blocks.tolist():
            first, stop = layout.span(block)
            size = 8 * layout.words * (stop - first)
            yield block, _read(file, at, size)
            at += size


def _runs(blocks: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of neighbours in an ascending list: (first, how many).

    >>> list(_runs([1, 2, 3, 7, 9, 10]))
    [(1, 3), (7, 1), (9, 2)]
    """
    start = 0
    for place in range(1, len(blocks) + 1):
        if place == len(blocks) or blocks[place] != blocks[place - 1] + 1:
            yield blocks[start], place - start
            start = place


# The policy in words.


def _described(policy: Policy) -> bytes:
    from hlmc.policies import CATALOGUE

    name = type(policy).__name__
    if CATALOGUE.get(name) is not type(policy):
        raise BadType(f"only the policies of hlmc can be saved, not {shown(policy)}")
    content = {
        "policy": name,
        "arguments": {key: _plain(value) for key, value in policy.arguments().items()},
        "levels": _levels(policy),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """An argument as JSON has it."""
    from hlmc.routines import Custom, Routine

    if isinstance(value, Custom):
        return {"routine": value.name, "label": value.label}
    if isinstance(value, Routine):
        own = {f.name: getattr(value, f.name) for f in fields(value)}
        return {"routine": value.name, **{k: _plain(v) for k, v in own.items() if v is not None}}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def _policy(path: StrPath, description: bytes, words: int, routines: Mapping[str, Routine] | None) -> Policy:
    """The policy that a file describes."""
    try:
        policy = _understood(description, routines) if routines else _understood_alone(description)
        if policy.words.total != words:
            raise _Unfit(f"it has rows of {words} words, and those of {policy!r} have {policy.words.total}")
    except _Unfit as problem:
        raise _bad(path, str(problem)) from None
    except _NotGiven as problem:
        raise BadArgument(f"{os.fspath(path)} {problem}") from None
    return policy


class _Unfit(Exception):
    """What is wrong with a description."""


class _NotGiven(Exception):
    """Which routine only the caller has."""


def _understood(description: bytes, routines: Mapping[str, Routine]) -> Policy:
    """The policy that a description describes."""
    from hlmc.policies import CATALOGUE

    try:
        content = json.loads(description)
        name, arguments, levels = (content[key] for key in ("policy", "arguments", "levels"))
        cls = CATALOGUE.get(name)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _Unfit("its description of the policy cannot be read") from None
    if cls is None:
        raise _Unfit(f"it is for a policy {name!r}, which this version of hlmc does not have")
    try:
        policy = cls(**{key: _value(value, routines) for key, value in arguments.items()})
        fits = _levels(policy) == levels
    except _NotGiven:
        raise
    except Exception as error:  # whatever a constructor makes of nonsense
        raise _Unfit(f"its description of the policy makes no sense ({error})") from None
    if not fits:
        raise _Unfit(f"this version of hlmc divides arms and time in other ways for {policy!r}")
    return policy


@lru_cache(maxsize=64)
def _understood_alone(description: bytes) -> Policy:
    """The same for many files of one policy, which then is made once."""
    return _understood(description, {})


def _value(value: Any, routines: Mapping[str, Routine]) -> Any:
    """An argument from JSON."""
    from hlmc.routines import CATALOGUE, Custom

    if isinstance(value, list):
        return tuple(_value(v, routines) for v in value)
    if not isinstance(value, dict):
        return value
    own = dict(value)
    name = own.pop("routine")
    if name == Custom.name:
        return _given(own["label"], routines)
    cls = {cls.name: cls for cls in CATALOGUE}[name]
    return cls(**own)


def _given(label: str, routines: Mapping[str, Routine]) -> Routine:
    from hlmc.routines import Custom

    routine = routines.get(label)
    if not isinstance(routine, Custom) or routine.label != label:
        found = "" if routine is None else f", not {shown(routine)}"
        raise _NotGiven(f"uses a routine of your own: give it with load(path, routines={{{label!r}: ...}}){found}")
    return routine


def own_routines(policy: Policy) -> dict[str, Routine]:
    """The routines of a policy that a file only names."""
    from hlmc.routines import Custom

    used = getattr(policy, "routines_used", ())
    return {routine.label: routine for routine in used if isinstance(routine, Custom)}


def _levels(policy: Policy) -> list[list[int]]:
    """How the policy divides arms and time, which another version of the planner may do otherwise."""
    return [[level.children, level.size, level.length] for level in policy.plan.levels]


# The disk. Everything that changes a file in place goes through `_write`, `_sync` and `_cut`.


def lock(file: io.FileIO, path: StrPath, shared: bool = False) -> None:
    """Let nobody else open a fleet's file as long as this file, or a mapping of it, is open."""
    if fcntl is None:  # pragma: no cover
        return
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BlockingIOError(
            errno.EAGAIN, "this fleet is open already, here or in another process", os.fspath(path)
        ) from None


@contextmanager
def _opened(path: StrPath) -> Iterator[io.FileIO]:
    if stat.S_IFMT(Path(path).stat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        raise _bad(path, "it is not an ordinary file")
    with io.FileIO(os.fspath(path), "r") as file:  # a folder is refused here, with Python's own error
        yield file


@contextmanager
def _writable(path: StrPath, same: io.FileIO | None = None) -> Iterator[io.FileIO]:
    with io.FileIO(os.fspath(path), "r+") as file:
        if same is not None and inode_of(file) != inode_of(same):
            raise _bad(path, "it was replaced by another file just now")
        yield file


def inode_of(file: io.FileIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _read(file: io.FileIO, at: int, size: int) -> bytes:
    """As many of these bytes as there are."""
    file.seek(at)
    parts = []
    while size > 0:
        part = file.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _write(file: io.FileIO, at: int, data: Any) -> int:
    """Write all of it; the place behind it."""
    file.seek(at)
    left = memoryview(data)
    while len(left):
        left = left[file.write(left) :]
    return at + len(data)


def _sync(file: io.FileIO) -> None:
    os.fsync(file.fileno())


def _cut(file: io.FileIO, size: int) -> None:
    file.truncate(size)


@contextmanager
def _replacing(path: StrPath) -> Iterator[io.BufferedWriter]:
    """A new file that takes the place of the old one when all of it has reached the disk."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if sys.platform != "win32":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
