"""Rewards from a table: an array or a memory-mapped file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.adversaries import tables
from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.tables import check_length, checked, digest, loaded, prepared, stamp
from hlmc.checks import path as checked_path
from hlmc.checks import unmasked
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import load_float32, load_float64, load_uint8
from hlmc.errors import BadArgument, BadFile, BadType

ADDRESS, KIND, ROW, COLUMN = range(4)
FLOAT64, FLOAT32, UINT8 = range(3)
_KINDS = {np.dtype("float64"): FLOAT64, np.dtype("float32"): FLOAT32, np.dtype("uint8"): UINT8}
_SPELLED_OUT = 64


@kernel
def trace(spec: Array, t: int, arm: int) -> float:
    """Entry (t, arm) of the table at ADDRESS, which has one of three types."""
    at = int(spec[ADDRESS]) + t * int(spec[ROW]) + arm * int(spec[COLUMN])
    kind = int(spec[KIND])
    if kind == FLOAT64:
        return load_float64(at)
    if kind == FLOAT32:
        return load_float32(at)
    return load_uint8(at)


@dataclass(frozen=True, repr=False, eq=False)
class Trace(Adversary):
    """Recorded rewards: row t of a table has the rewards of all arms at step t.

    Files of up to 64 MiB are read into memory. Larger ones are memory-mapped, so only the rewards in use are read. CSV
    and Parquet files are first converted to ``.npy``, once and in chunks, in the user's cache folder. All values are
    checked when the adversary is made; a mapped ``.npy`` file that has not changed is checked only the first time.

    Parameters
    ----------
    table
        An array [steps, arms], or the path of an ``.npy``, ``.csv``, ``.csv.gz`` or ``.parquet`` file of
        that shape. In a CSV file every line is a step; a first line without numbers is a header. An index, as pandas
        writes it, is left out: a first column of a CSV file that has no name, counts the lines or is not numbers, and
        the index columns of a Parquet file. float64, float32, uint8 and bool are used as stored; other types are
        converted to float64. A writable array is copied.

    Examples
    --------
    >>> trace = Trace([[0.0, 1.0], [0.25, 0.5], [1.0, 0.0]])
    >>> trace.arms, trace.length, trace.reward(1, 0)
    (2, 3, 0.25)
    >>> Trace([[0.0, 1.5]])
    Traceback (most recent call last):
    hlmc.errors.BadReward: table: step 0, arm 1 holds 1.5; rewards must be numbers in [0, 1]

    References
    ----------
    Designed for this library.
    """

    table: Any
    arms: int = field(init=False)
    _path: Path | None = field(init=False)
    _stamp: tuple[int, int] | None = field(init=False)

    rule = staticmethod(trace)

    def __post_init__(self) -> None:
        if isinstance(self.table, (str, os.PathLike)):
            path = checked_path("table", self.table)
            # Another process, in another folder, must find the same file, as it is now.
            self._keep(table=str(self.table), _path=path.absolute(), _stamp=stamp(path))
        else:
            self._keep(table=_owned(self.table), _path=None, _stamp=None)
            checked(self.table, "table")
        self._keep(arms=self._rows.shape[1])

    @cached_property
    def _rows(self) -> Array:
        if self._path is None:
            return self.table  # type: ignore[no-any-return]
        if stamp(self._path) != self._stamp:
            raise BadFile(f"{self.table} has changed since this adversary was made; make it again")
        return loaded(prepared(self._path, self.table), self.table)

    @property
    def length(self) -> int:
        return self._rows.shape[0]  # type: ignore[no-any-return]

    @property
    def spec(self) -> Array:
        # Asked for before every batch of runs. A file that is cut short while runs are being played is another matter.
        check_length(self._rows, "table" if self._path is None else self.table)
        return self._spec

    @cached_property
    def _spec(self) -> Array:
        rows = self._rows
        if rows.shape[1] != self.arms:
            raise BadArgument(f"table must have {self.arms} arms, not {rows.shape[1]}")
        return packed(rows.ctypes.data, _KINDS[rows.dtype], *rows.strides)

    def reward(self, t: int, arm: int) -> float:
        if self._mapped:
            check_length(self._rows, "table" if self._path is None else self.table)
        return super().reward(t, arm)

    @cached_property
    def _mapped(self) -> bool:
        return _is_mapped_and_large(self._rows) or isinstance(self._rows, np.memmap)

    def spec_in(self, put: Callable[[Array], int]) -> Array:
        check_length(self._rows, "table" if self._path is None else self.table)
        rows = np.ascontiguousarray(self._rows)
        return packed(put(rows), _KINDS[rows.dtype], *rows.strides)

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        """What makes two traces equal: the same file, or the same numbers of the same type."""
        if self._path is not None:
            return (self._path, self._stamp)
        return (self.table.dtype.name, self.table.shape, digest(self.table))

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The file as it was when this adversary was made, wherever it is read again.
        self._keep(**state)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        if self._path is not None:
            return f"Trace(table={self.table!r})"
        if self.table.dtype == np.float64 and self.table.size <= _SPELLED_OUT:
            return f"Trace(table={self.table.tolist()!r})"
        name, shape, contents = self._identity
        return f"Trace(table=<{name} {list(shape)} {contents}>)"


def _is_mapped_and_large(array: Array) -> bool:
    return isinstance(array.base, np.memmap) and array.nbytes > tables.COPIED


def _owned(table: Any) -> Array:
    """The table as a read-only array, in one of the types that the rule reads."""
    unmasked("table", table)
    try:
        array = np.asarray(table)
    except ValueError as error:
        raise BadArgument(f"table must be an array [steps, arms]: {error}") from None
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    if array.dtype.kind not in "fiu":
        raise BadType(f"table must be an array of numbers or a path, not {type(table).__name__} of {array.dtype}")
    if array.ndim != 2 or 0 in array.shape:
        raise BadArgument(f"table must be an array [steps, arms], not one of shape {list(array.shape)}")
    if array.dtype not in _KINDS:
        array = array.astype(np.float64)
    elif array.flags.writeable or not (array.base is None or _is_mapped_and_large(array)):
        array = array.copy()
    array.flags.writeable = False
    return array
