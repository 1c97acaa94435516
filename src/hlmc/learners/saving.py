"""Read and write the files of learners and fleets. ``loading.py`` makes learners of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import flag
from hlmc.errors import BadFile, BadType, shown
from hlmc.files import disk
from hlmc.files.disk import StrPath
from hlmc.files.writing import replacing
from hlmc.learners import journal
from hlmc.learners.filed import FiledRows, check_rows
from hlmc.learners.format import FIXED, SEAL, Front, Layout, as_bytes, digest

if TYPE_CHECKING:
    from hlmc.policies.base import Policy
    from hlmc.routines.base import Routine

Array = np.ndarray


def read(
    path: StrPath, routines: Mapping[str, Routine] | None = None, mapped: bool = True
) -> FiledRows | tuple[Front, Array]:
    """What a file holds: the rows of a fleet, or the front and the one row of a learner. The row has been checked.

    Parameters
    ----------
    path, routines, mapped
        As for :func:`hlmc.load`. A fleet's file is locked: by this process alone if it is ``mapped``, else for reading.
    """
    if routines is not None and not isinstance(routines, Mapping):
        raise BadType(f"routines must be a dictionary of routines by label, not {shown(routines)}")
    with disk.opened(path) as file:
        layout = Layout.read(file, path)
        if layout.kind == "fleet":
            disk.lock(file, path, shared=not mapped)
            layout = Layout.read(file, path)  # it does not change from now on
            journal.finish(file, path, layout)
        front = Front.read(file, path, layout, routines)
        if layout.kind == "fleet":
            found = FiledRows(front, file, path)
            if not (mapped and front.outdated):
                return found
            _bring_up_to_date(path, found)
            del found  # and with it the lock on the file that was replaced
            return read(path, routines)
        row = np.empty(layout.words, "<f8")
        disk.read_into(file, layout.offset, row.view(np.uint8))
        front.check_block(0, as_bytes(row), path)
        row = row.astype(np.float64, copy=False)
        row = front.in_full(row)
        check_rows(front.policy, row[None, :], path)
        return front, row


def _bring_up_to_date(path: StrPath, filed: FiledRows) -> None:
    """Write a fleet's file of an earlier format anew: rows that grow cannot be changed in place."""
    size = len(filed.array)
    front = Front.new(filed.policy, "fleet", size)
    step = front.layout.chunk
    create(path, front, (filed.piece(i, min(i + step, size)) for i in range(0, size, step)))


Seen = dict[str, bytes]
"""The files that a learner or a fleet has read or written, by their real paths, and the seals that they had then."""


def save(
    path: StrPath, policy: Policy, row: Array, arms: dict[str, Any] | None, seen: Seen, force: bool = False
) -> None:
    """Write a learner: its row, and the names of its arms. A crash leaves the old file or the new."""
    front = Front.new(policy, "learner", 1, arms)
    save_over(path, front, [row[None, :]], seen, force)


def save_over(path: StrPath, front: Front, chunks: Iterable[Array], seen: Seen, force: bool) -> None:
    """Write a file, unless it is one of those ``seen`` and has been written since by others; ``force``: even then."""
    create(path, front, chunks, unchanged=None if flag("force", force) else seen)
    note_seen(seen, path, front)


def note_seen(seen: Seen, path: StrPath, front: Front) -> None:
    """Remember a file as it is now."""
    seen[os.path.realpath(path)] = front.seal


def _refuse_changed(path: StrPath, seen: Seen) -> None:
    known = seen.get(os.path.realpath(path))
    if known is None:
        return
    try:
        with disk.opened(path) as file:
            found = disk.read(file, 0, FIXED.size)[-SEAL:]
    except OSError:
        return  # it is gone: nothing is lost
    if found != known:
        raise BadFile(
            f"{os.fspath(path)} has been saved by another learner or process since it was read: "
            "save to another path, or with force=True"
        )


def create(
    path: StrPath, front: Front, chunks: Iterable[Array], new: bool = False, unchanged: Seen | None = None
) -> None:
    """Write a file whose rows come in chunks of whole blocks; ``new``: where there is none.

    ``unchanged``: the files that must be as they were seen.
    """
    width = front.layout.block_bytes
    with replacing(path, new) as file:
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
        if unchanged is not None:
            _refuse_changed(path, unchanged)
