"""Load and save learners and fleets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import gate
from hlmc.errors import BadType, shown
from hlmc.files import disk, journal
from hlmc.files.disk import StrPath, bad
from hlmc.files.format import Front, Layout, as_bytes, digest
from hlmc.files.writing import replacing

if TYPE_CHECKING:
    # A circle of imports: a fleet imports this package, to keep its rows in a file.
    from hlmc.fleet import Fleet
    from hlmc.learner import Learner
    from hlmc.policies.base import Policy
    from hlmc.routines.base import Routine

Array = np.ndarray


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
    # A fleet knows its file, and a file makes its fleet: imported here, the circle is never closed.
    from hlmc.arms import NamedLearner
    from hlmc.fleet import Fleet
    from hlmc.learner import Learner

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
            fleet = Fleet.attached(front, file, path)
            return fleet if mapped else fleet.copy()
        row = np.empty(layout.words, "<f8")
        disk.read_into(file, layout.offset, row.view(np.uint8))
        front.check_block(0, as_bytes(row), path)
        row = row.astype(np.float64, copy=False)
        check_rows(front.policy, row[None, :], path)
        try:
            if (names := front.arms) is not None:
                return NamedLearner.loaded(front.policy, row, names)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise bad(path, f"its table of arms makes no sense ({error})") from None
        return Learner.trusted(front.policy, row)


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


def check_rows(policy: Policy, rows: Array, path: StrPath, first: int = 0) -> None:
    """Refuse rows that no learner of the policy can have, whatever the checksums say; ``first`` numbers them."""
    found = gate.first_unsound(policy, rows)
    if found < len(rows):
        raise bad(path, f"its row {first + found} is no state of {policy!r}")
