"""The format of a file of learners: where everything lies, and the checksums that it carries.

A file is a *front* (sizes, a description in JSON of the policy and, if its arms have names, of these, one checksum for
every block of rows, and a checksum of all this) and then the rows as they are in memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.layout import LATER_WORDS, REACHED, WINDOW
from hlmc.errors import BadArgument
from hlmc.files import disk
from hlmc.files.disk import StrPath, bad
from hlmc.policies.description import described, read_policy

if TYPE_CHECKING:
    from hlmc.policies.base import Policy
    from hlmc.routines.base import Routine

Array = np.ndarray

# Like PNG's: not text, and no longer itself after a transfer that turns line ends.
MAGIC = b"\x93hlmc\r\n\x1a"
VERSION = 2
READ = (1, 2)
"""The versions that are read. In version 1, rows with a window say neither who their learners are nor by what chance
their groups are played."""
KINDS = ("learner", "fleet")

FIXED = struct.Struct("<8sIIQQIIQ32s")
SEAL = 32  # bytes of the checksum of a front, its last fixed field
ENTRY = 16  # bytes of the checksum of a block
_BLOCK = 16384  # a block has as many rows, a power of two, as fit in here; at least one
_MOST_DESCRIPTION = 2**26  # bytes, with the names of arms
_MOST_POLICY = 2**20  # ... and without
NAMES = b"\0"  # what separates them; no JSON has it


@dataclass(frozen=True)
class Layout:
    """Where everything lies in a file."""

    kind: str
    rows: int
    words: int
    shift: int  # a block has 2^shift rows
    described: int  # bytes of the description
    version: int = VERSION

    @classmethod
    def new(cls, kind: str, rows: int, words: int, described: int, version: int = VERSION) -> Layout:
        """The layout of a file that is yet to be written."""
        return cls(kind, rows, words, max(_BLOCK // (8 * words), 1).bit_length() - 1, described, version)

    @classmethod
    def read(cls, file: io.FileIO, path: StrPath) -> Layout:
        """The layout of a file, if it can be one: nothing of what it says has been believed but its sizes."""
        length = disk.size_of(file)
        fixed = disk.read(file, 0, FIXED.size)
        if len(fixed) < FIXED.size:
            raise bad(path, f"it has {length} bytes, fewer than any file of hlmc")
        magic, version, kind, rows, words, shift, described, offset, _ = FIXED.unpack(fixed)
        if magic != MAGIC:
            raise bad(path, "it is not a file of hlmc")
        if version not in READ:
            raise bad(path, f"it is of format {version}, and this version of hlmc reads formats up to {VERSION}")
        if kind not in (1, 2) or not (rows and words) or described > _MOST_DESCRIPTION:
            raise bad(path, "its header is damaged")
        layout = cls.new(KINDS[kind - 1], rows, words, described, version)
        if (layout.shift, layout.offset) != (shift, offset) or (layout.kind == "learner" and rows > 1):
            raise bad(path, "its header is damaged")
        # Python's integers do not overflow: a size that is nonsense is just larger than the file.
        if length < layout.size:
            raise bad(path, f"it is cut short: {length} bytes of {layout.size}")
        if length > layout.size and layout.kind == "learner":
            raise bad(path, f"it is too long: {length} bytes instead of {layout.size}")
        # The checksums are held in memory. They have no holes: a header is no larger in memory than on the disk.
        if disk.first_hole(file) < layout.table_end:
            raise bad(path, "its header is damaged: a part of it was never written")
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
        return -(-(FIXED.size + self.described) // ENTRY) * ENTRY

    @property
    def table_end(self) -> int:
        """Where they end."""
        return self.table_at + ENTRY * self.blocks

    @property
    def offset(self) -> int:
        """Where the rows begin: in a fleet's file, with a page; in a learner's, to keep it small, with a cache line."""
        unit = 4096 if self.kind == "fleet" else 64
        return -(-self.table_end // unit) * unit

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
    def new(cls, policy: Policy, kind: str, rows: int, arms: dict[str, Any] | None = None) -> Front:
        """The front of a file that is yet to be written; its table is still to be filled."""
        description = described(policy)
        if arms is not None:
            description += NAMES + json.dumps(arms, separators=(",", ":")).encode()
            if len(description) > _MOST_DESCRIPTION:
                raise BadArgument(f"names of arms can take {_MOST_DESCRIPTION} bytes in a file, not {len(description)}")
        layout = Layout.new(kind, rows, policy.words.total, len(description))
        return cls(layout, policy, description, np.zeros((layout.blocks, ENTRY), np.uint8))

    @classmethod
    def read(
        cls, file: io.FileIO, path: StrPath, layout: Layout, routines: Mapping[str, Routine] | None = None
    ) -> Front:
        """The front of a file of this layout, checked."""
        front = disk.read(file, 0, layout.offset)
        if len(front) < layout.offset or front[FIXED.size - SEAL : FIXED.size] != seal_of(front):
            raise bad(path, "its header is damaged")
        description = front[FIXED.size : FIXED.size + layout.described]
        own, named, _ = description.partition(NAMES)
        if len(own) > _MOST_POLICY or (named and layout.kind == "fleet"):
            raise bad(path, "its header is damaged")
        policy = read_policy(path, own, layout.words, routines, layout.version == 1)
        return cls(layout, policy, description, table_of(front, layout).copy())

    @property
    def arms(self) -> Any:
        """The table of names, as :meth:`hlmc.Arms.described` has it, or None."""
        names = self.description.partition(NAMES)[2]
        return json.loads(names) if names else None

    @property
    def outdated(self) -> bool:
        """Whether the rows lack words of the window."""
        return self.layout.words < self.policy.words.total

    def in_full(self, rows: Array) -> Array:
        """Rows as they are in the file with all the words that they have today."""
        if not self.outdated:
            return rows
        at = int(self.policy.program[WINDOW]) + REACHED
        return np.insert(rows, [at] * LATER_WORDS, 0.0, axis=-1)

    @property
    def seal(self) -> bytes:
        """The checksum of the front, which has those of all rows in it."""
        return self.encoded()[FIXED.size - SEAL : FIXED.size]

    def encoded(self) -> bytes:
        """The front as it stands in the file."""
        at = self.layout
        kind = KINDS.index(at.kind) + 1
        fixed = FIXED.pack(MAGIC, at.version, kind, at.rows, at.words, at.shift, at.described, at.offset, bytes(SEAL))
        start = (fixed + self.description).ljust(at.table_at, b"\0")
        return sealed((start + self.table.tobytes()).ljust(at.offset, b"\0"))

    def check_block(self, block: int, data: Any, path: StrPath) -> None:
        """Refuse a block of rows that is not what its checksum says."""
        if digest(data) != self.table[block].tobytes():
            first, stop = self.layout.span(block)
            where = "its state is" if self.layout.kind == "learner" else f"its rows {first} to {stop - 1} are"
            raise bad(path, f"{where} damaged")


def digest(data: Any) -> bytes:
    """A block's checksum."""
    return hashlib.blake2b(data, digest_size=ENTRY).digest()


def as_bytes(rows: Array) -> memoryview:
    """Rows as a file has them: little-endian, whatever the machine; without a copy where it is so already."""
    return np.ascontiguousarray(rows, "<f8").reshape(-1).view(np.uint8).data


def table_of(front: bytes | bytearray, layout: Layout) -> Array:
    """The checksums in a front: a view."""
    return np.frombuffer(front, np.uint8, ENTRY * layout.blocks, layout.table_at).reshape(-1, ENTRY)


def seal_of(front: bytes | bytearray) -> bytes:
    """The checksum of a front, of all of it but the place of the checksum itself."""
    state = hashlib.blake2b(front[: FIXED.size - SEAL], digest_size=SEAL)
    state.update(memoryview(front)[FIXED.size :])
    return state.digest()


def sealed(front: bytes | bytearray) -> bytes:
    """A front with its checksum put in."""
    return b"".join((front[: FIXED.size - SEAL], seal_of(front), memoryview(front)[FIXED.size :]))
