"""The rows of a fleet's file: read and checked block by block when they are first used, written by checkpoints alone.

The rows in memory are a copy: a block is read from the file, checked, and from then on belongs to this process.
Whatever else happens to the file, learners never play rows that were not checked, and a file that is cut short while
it is open is an error like any other damage. The copy takes room only for the blocks in use. A checkpoint frees that
of a large fleet, except for the blocks of which a row is still in use outside; they are read and checked again when
they are next used.
"""

from __future__ import annotations

import io
import mmap
import os
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hlmc.errors import BadArgument
from hlmc.files import disk
from hlmc.files.disk import StrPath, bad
from hlmc.learners import gate, journal
from hlmc.learners.format import Front, as_bytes

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

SMALL = 2**22
"""Rows of up to so many bytes are all read when their file is opened."""
KEPT = 2**26
"""Rows of up to so many bytes stay in memory after a checkpoint: to read them again would cost more than they take."""


class FiledRows:
    """The rows of a fleet's file, which this object has locked.

    Every call must be made by one thread at a time. Before a kernel sees a row, :meth:`load` must have been called for
    it; before a kernel changes it, :meth:`mark`.

    Attributes
    ----------
    path
        The file.
    array
        float64 [rows, words]. A row that has not been loaded is zeros, or what it once was.
    """

    def __init__(self, front: Front, file: io.FileIO, path: StrPath) -> None:
        if sys.byteorder != "little":
            raise NotImplementedError("the rows of a fleet's file are little-endian, and this machine is not")
        layout = front.layout
        self.path = Path(os.path.realpath(path))
        self._front = front
        self._words = front.policy.words.total
        self._memory = _memory(8 * self._words * layout.rows, file)
        self._inode = disk.inode_of(file)
        self._process = os.getpid()
        self.array = self._view().reshape(layout.rows, self._words)
        self._loaded = np.zeros(layout.blocks, np.bool_)
        self._all_loaded = False
        self._marked = np.zeros(layout.blocks, np.bool_)  # may differ from the file
        # Who outside has a row of a block, and who has a view of all rows.
        self._row_holders: dict[int, list[weakref.ref[Array]]] = {}
        self._view_holders: list[weakref.ref[Array]] = []
        if self.array.nbytes <= SMALL:
            self.load(None)

    @property
    def front(self) -> Front:
        """All of the file but its rows."""
        return self._front

    @property
    def policy(self) -> Policy:
        """What the learners of these rows follow."""
        return self._front.policy

    def load(self, ids: Array | None) -> None:
        """Have the rows of these learners, or of all, in memory and checked."""
        self._check_process()
        if self._all_loaded:
            return
        if ids is None:
            missing = np.flatnonzero(~self._loaded)
        else:
            blocks = ids >> self._front.layout.shift
            missing = blocks[~self._loaded[blocks]]
            if not missing.size:
                return
        for block, count in journal.runs(np.unique(missing).tolist()):
            self._load_run(block, count)
        self._all_loaded = bool(self._loaded.all())

    def mark(self, ids: Array | None) -> None:
        """Note that these learners, or all, are about to change."""
        if ids is None:
            self._marked[:] = True
        else:
            self._marked[ids >> self._front.layout.shift] = True

    def row(self, i: int) -> Array:
        """The row of a learner, for a caller who may change it for as long as they have it."""
        self.load(np.array([i]))
        block = i >> self._front.layout.shift
        row = self._view(i)
        self._marked[block] = True
        self._row_holders[block] = [*_alive(self._row_holders.get(block, [])), weakref.ref(row)]
        return row

    def all(self) -> Array:
        """All rows, for a caller who may look at them for as long as they want to."""
        self.load(None)
        flat = self._view()
        self._view_holders = [*_alive(self._view_holders), weakref.ref(flat)]
        return flat.reshape(self.array.shape)

    def piece(self, first: int, stop: int) -> Array:
        """The rows first .. stop - 1, to be used at once: what is not in memory is read and not kept."""
        self._check_process()
        shift = self._front.layout.shift
        low, high = first >> shift, ((stop - 1) >> shift) + 1
        if self._loaded[low:high].all():
            return self.array[first:stop]
        piece = np.empty((stop - first, self._words))
        for loaded in (False, True):
            for block, count in journal.runs((low + np.flatnonzero(self._loaded[low:high] == loaded)).tolist()):
                begin, end = self._front.layout.span(block, count)
                low_row, high_row = max(begin, first), min(end, stop)
                whole = self.array[begin:end] if loaded else self._read(block, count)
                piece[low_row - first : high_row - first] = whole[low_row - begin : high_row - begin]
        return piece

    def verify(self) -> None:
        """Check the whole file, except for blocks that the next checkpoint will write anyway."""
        self._check_process()
        for block, count in journal.runs(np.flatnonzero(~self._marked).tolist()):
            self._load_run(block, count, keep=False)

    def checkpoint(self) -> None:
        """Write the marked blocks to the file, and free the memory of what no caller has."""
        self._check_process()
        marked = np.flatnonzero(self._marked).tolist()
        journal.checkpoint(self.path, self._inode, self._front, self.array, marked)
        holders = {block: _alive(rows) for block, rows in self._row_holders.items()}
        self._row_holders = {block: rows for block, rows in holders.items() if rows}
        self._view_holders = _alive(self._view_holders)
        held = list(self._row_holders)
        self._marked[:] = False
        self._marked[held] = True
        if self.array.nbytes > KEPT and not self._view_holders and sys.platform == "linux":
            self._free(held)

    def _free(self, held: list[int]) -> None:
        """Give memory back, of all blocks but those held, in whole pages."""
        layout, page = self._front.layout, mmap.PAGESIZE
        keep = np.zeros(layout.blocks, np.bool_)
        keep[held] = True
        self._all_loaded = False
        self._loaded &= keep
        for block, count in journal.runs(np.flatnonzero(~keep).tolist()):
            first, stop = (8 * self._words * row for row in layout.span(block, count))
            start = -(-first // page) * page
            end = len(self._memory) if block + count == layout.blocks else stop // page * page
            if start < end:
                self._memory.madvise(mmap.MADV_DONTNEED, start, end - start)

    def _load_run(self, block: int, count: int, keep: bool = True) -> None:
        """Read and check blocks, a megabyte at a time, and keep those that are sound in memory."""
        step = max(self._front.layout.chunk >> self._front.layout.shift, 1)
        for start in range(block, block + count, step):
            number = min(step, block + count - start)
            rows = self._read(start, number)
            if keep:
                first, stop = self._front.layout.span(start, number)
                self.array[first:stop] = rows
                self._loaded[start : start + number] = True

    def _read(self, block: int, count: int) -> Array:
        """The rows of some neighbouring blocks as they are in the file, checked."""
        layout = self._front.layout
        first, stop = layout.span(block, count)
        rows = np.empty((stop - first, layout.words))
        data = rows.reshape(-1).view(np.uint8)
        if disk.read_into(self._memory.file, layout.place(first), data) < len(data):
            raise bad(self.path, f"it was cut short: {disk.size_of(self._memory.file)} bytes of {layout.size}")
        for number in range(block, block + count):
            begin, end = layout.span(number)
            self._front.check_block(number, as_bytes(rows[begin - first : end - first]), self.path)
        rows = self._front.in_full(rows)
        check_rows(self._front.policy, rows, self.path, first)
        return rows

    def _view(self, i: int | None = None) -> Array:
        """The words of a row, or of all, as an array that lives as long as anybody has a part of it.

        It is made from the buffer, not from another array, so that NumPy takes it for the base of its own views.
        """
        words = self._words
        if i is None:
            return np.frombuffer(self._memory, np.float64, self._front.layout.rows * words)
        return np.frombuffer(self._memory, np.float64, words, 8 * words * i)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise BadArgument(
                f"this fleet's file, {self.path}, is open in process {self._process}, of which this one is a fork: "
                f"fork with a fleet in memory, fleet.copy(), or open the file in one of the two alone"
            )


class _Memory(mmap.mmap):
    """Memory for rows, which keeps the file open and thereby locked as long as anybody has a row."""

    file: io.FileIO


_memories: weakref.WeakSet[_Memory] = weakref.WeakSet()


def _memory(size: int, file: io.FileIO) -> _Memory:
    if sys.platform == "win32":  # pragma: no cover
        memory = _Memory(-1, size)
    else:
        # Private: a fork gets a copy. Without a reservation, a fleet can be larger than the memory of the machine.
        no_reserve = getattr(mmap, "MAP_NORESERVE", 0x4000) if sys.platform == "linux" else 0
        memory = _Memory(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    memory.file = io.FileIO(os.dup(file.fileno()))
    weakref.finalize(memory, _release, memory.file)
    _memories.add(memory)
    return memory


def _release(file: io.FileIO) -> None:
    """Unlock and close a file: a child that was forked a moment ago may not have closed its own yet."""
    if not file.closed:
        disk.unlock(file)
        file.close()


def _close_in_child() -> None:
    """A lock lasts until every process has closed the file: a forked child must not keep the parent's."""
    for memory in list(_memories):
        memory.file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _alive(holders: list[weakref.ref[Array]]) -> list[weakref.ref[Array]]:
    return [holder for holder in holders if holder() is not None]


def check_rows(policy: Policy, rows: Array, path: StrPath, first: int = 0) -> None:
    """Refuse rows that no learner of the policy can have, whatever the checksums say; ``first`` numbers them."""
    found = gate.first_unsound(policy, rows)
    if found < len(rows):
        raise bad(path, f"its row {first + found} is no state of {policy!r}")
