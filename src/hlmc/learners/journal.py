"""Changing a fleet's file in place: all of a checkpoint or nothing of it, through a journal behind the rows."""

from __future__ import annotations

import hashlib
import io
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hlmc.errors import BadArgument
from hlmc.files import disk
from hlmc.files.disk import StrPath, bad
from hlmc.learners.format import ENTRY, FIXED, SEAL, Front, Layout, as_bytes, digest, sealed, table_of

Array = np.ndarray

MAGIC = b"\x93hlmcjrn"
HEAD = struct.Struct("<8sQ32s")


def checkpoint(path: StrPath, inode: tuple[int, int], front: Front, rows: Array, marked: Iterable[int]) -> None:
    """Bring the marked blocks of a fleet's file up to the rows in memory, all of them or none.

    What is to change is first written behind the rows, with checksums; then to its place; then the file is cut to its
    length again. Each has reached the disk before the next begins. Whoever opens the file after a crash finds behind
    the rows nothing; or something unfinished, and rows as yet untouched; or all that it takes to finish.
    """
    layout = front.layout
    with disk.writable(path) as file:
        if disk.inode_of(file) != inode:
            raise BadArgument(f"{os.fspath(path)} is no longer the file that was opened: save this fleet elsewhere")
        if disk.size_of(file) < layout.size:
            # What is missing may not be in memory either: to write the rest would hide that.
            raise bad(path, f"it was cut short: {disk.size_of(file)} bytes of {layout.size}")
        if finish(file, path, layout, locked=True):
            # A checkpoint that failed half-way, for want of space perhaps, has been finished now.
            front.table = table_of(disk.read(file, 0, layout.offset), layout).copy()
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
            at = disk.write(file, layout.size, Journal(np.array(changed, "<u8"), table[changed], after).encoded())
            for block, count in runs(changed):
                first, stop = layout.span(block, count)
                at = disk.write(file, at, as_bytes(rows[first:stop]))
            disk.sync(file)
        except BaseException:
            with suppress(OSError):
                disk.cut(file, layout.size)
            raise
        for block, count in runs(changed):
            first, stop = layout.span(block, count)
            disk.write(file, layout.place(first), as_bytes(rows[first:stop]))
        disk.write(file, 0, after)
        disk.sync(file)
        disk.cut(file, layout.size)
        front.table = table


def finish(file: io.FileIO, path: StrPath, layout: Layout, locked: bool = False) -> bool:
    """Finish the checkpoint that a crash has interrupted, if there is one and it was written down to the end."""
    if disk.size_of(file) == layout.size or not Journal.read(file, path, layout):
        return False
    if not locked:
        disk.lock(file, path)
    journal = Journal.read(file, path, layout)
    if journal is None:
        return False
    with disk.writable(path, file) as target:
        for block, data in journal.data(file, layout):
            disk.write(target, layout.place(layout.span(block)[0]), data)
        disk.write(target, 0, journal.front)
        disk.sync(target)
        disk.cut(target, layout.size)
    return True


@dataclass(eq=False)
class Journal:
    """What a checkpoint is about to change. The blocks themselves follow it."""

    blocks: Array
    table: Array  # their checksums
    front: bytes  # the front as it will be, of which only the checksum is written down

    def encoded(self) -> bytes:
        seal = self.front[FIXED.size - SEAL : FIXED.size]
        body = HEAD.pack(MAGIC, len(self.blocks), seal) + self.blocks.tobytes() + self.table.tobytes()
        return body + hashlib.blake2b(body, digest_size=SEAL).digest()

    @classmethod
    def read(cls, file: io.FileIO, path: StrPath, layout: Layout) -> Journal | None:
        """The journal behind the rows, or None when there is none or it is unfinished."""
        head = disk.read(file, layout.size, HEAD.size)
        if len(head) < HEAD.size:
            return None
        magic, count, seal = HEAD.unpack(head)
        if magic != MAGIC or not 1 <= count <= layout.blocks:
            return None
        body = disk.read(file, layout.size, cls.length(count))
        if hashlib.blake2b(body[:-SEAL], digest_size=SEAL).digest() != body[-SEAL:]:
            return None
        blocks = np.frombuffer(body, "<u8", count, HEAD.size)
        table = np.frombuffer(body, np.uint8, ENTRY * count, HEAD.size + 8 * count).reshape(-1, ENTRY)
        if blocks.max() >= layout.blocks:
            return None
        front = bytearray(disk.read(file, 0, layout.offset))
        entries = table_of(front, layout)
        entries[blocks] = table
        journal = cls(blocks, table, sealed(front))
        for (_, data), checksum in zip(journal.data(file, layout), table, strict=True):
            if digest(data) != checksum.tobytes():
                return None
        if journal.front[FIXED.size - SEAL : FIXED.size] != seal:
            raise bad(path, "its header is damaged")
        return journal

    @staticmethod
    def length(count: int) -> int:
        """Bytes of a journal of so many blocks, without the blocks."""
        return HEAD.size + (8 + ENTRY) * count + SEAL

    def data(self, file: io.FileIO, layout: Layout) -> Iterator[tuple[int, bytes]]:
        """The blocks that follow the journal, by their numbers."""
        at = layout.size + self.length(len(self.blocks))
        for block in self.blocks.tolist():
            first, stop = layout.span(block)
            size = 8 * layout.words * (stop - first)
            yield block, disk.read(file, at, size)
            at += size


def runs(blocks: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of neighbours in an ascending list: (first, how many).

    >>> list(runs([1, 2, 3, 7, 9, 10]))
    [(1, 3), (7, 1), (9, 2)]
    """
    start = 0
    for place in range(1, len(blocks) + 1):
        if place == len(blocks) or blocks[place] != blocks[place - 1] + 1:
            yield blocks[start], place - start
            start = place
