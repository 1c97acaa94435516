"""The rows of a fleet in memory, behind the calls of a fleet's file (:class:`hlmc.learners.filed.FiledRows`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlmc.errors import BadArgument, OutOfTurn

Array = np.ndarray


class HeldRows:
    """Rows in memory: all of them are there and have been checked.

    Attributes
    ----------
    array
        float64 [rows, words].
    path
        There is no file.
    """

    path = None

    def __init__(self, array: Array) -> None:
        self.array = array

    def load(self, ids: Array | None) -> None:
        """Nothing is to be read."""

    def mark(self, ids: Array | None) -> None:
        """Nothing is to be written."""

    def row(self, i: int) -> Array:
        """The row of a learner."""
        row: Array = self.array[i]
        return row

    def all(self) -> Array:
        """All rows."""
        return self.array.view()

    def piece(self, first: int, stop: int) -> Array:
        """The rows first .. stop - 1."""
        return self.array[first:stop]

    def verify(self) -> None:
        """There is nothing to check."""

    def checkpoint(self) -> None:
        """Refused."""
        raise BadArgument("this fleet has no file to write a checkpoint to; save(path) writes one")


class ClosedRows:
    """The rows of a closed fleet: every use is refused."""

    def __getattr__(self, name: str) -> Any:
        raise OutOfTurn("this fleet is closed; hlmc.load opens its file again")
