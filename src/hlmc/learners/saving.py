"""Read and write the files of learners and fleets. ``loading.py`` makes learners of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.errors import BadType, shown
from hlmc.files import disk, journal
from hlmc.files.disk import StrPath
from hlmc.files.format import Front, Layout, as_bytes, digest
from hlmc.files.writing import replacing
from hlmc.learners.filed import FiledRows, check_rows

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
            layout = Layout.read(file, path)  # nobody changes it from now on
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


def save(path: StrPath, policy: Policy, rows: Array, kind: str, arms: dict[str, Any] | None = None) -> None:
    """Write a learner (its one row, and the names of its arms) or a fleet. A crash leaves the old file or the new."""
    front = Front.new(policy, kind, len(rows), arms)
    step = front.layout.chunk
    create(path, front, (rows[first : first + step] for first in range(0, len(rows), step)))


def create(path: StrPath, front: Front, chunks: Iterable[Array], new: bool = False) -> None:
    """Write a file whose rows come in chunks of whole blocks; ``new``: where there is none."""
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
