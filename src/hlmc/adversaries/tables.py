"""Files of rewards: checked and, if they cannot be memory-mapped, converted to ``.npy`` once, in chunks."""

from __future__ import annotations

import csv
import hashlib
import io
import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hlmc.errors import BadArgument, BadFile, BadReward, need_lab, shown
from hlmc.files.writing import replacing
from hlmc.targets.native.cache import user_cache

Array = np.ndarray

COPIED = 1 << 26
"""A table of at most this many bytes (64 MiB) is read into memory; a larger one is mapped."""

UNNAMED = ("", "Unnamed: 0")
"""What the first column is called that pandas writes for an index, and what it calls that column when it reads it."""

_PIECE = 1 << 20  # numbers looked at or converted at a time
_FORMAT = 2  # of conversions: 1 read an index as an arm
_MAPPABLE = ("float64", "float32", "uint8")


def stamp(path: Path) -> tuple[int, int]:
    """The modification time and the size of a file."""
    try:
        found = path.stat()
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise BadFile(f"{path} is not an ordinary file")
    return found.st_mtime_ns, found.st_size


def prepared(path: Path, name: str) -> Path:
    """A checked ``.npy`` file with the rewards of a file: the file itself or its conversion."""
    kept = _folder() / hashlib.blake2b(f"{_FORMAT} {path} {stamp(path)}".encode(), digest_size=16).hexdigest()
    kind = path.name.lower()
    if kind.endswith(".npy"):
        rows = _opened(path, name)
        if rows.dtype.name in _MAPPABLE and rows.dtype.isnative:
            mark = kept.with_suffix(".checked")
            if isinstance(rows, np.memmap) and not mark.exists():  # a copy is checked when it is used
                checked(rows, name)
                mark.touch()
            return path
        pieces = (rows[start : start + step] for start, step in _steps(rows))
        return _converted(kept.with_suffix(".npy"), pieces, np.dtype(np.float64), name)
    if kind.endswith((".csv", ".csv.gz", ".parquet")):
        need_lab("pyarrow")
    if kind.endswith((".csv", ".csv.gz")):
        return _converted(kept.with_suffix(".npy"), _csv_pieces(path, name), np.dtype(np.float64), name)
    if kind.endswith(".parquet"):
        return _converted(kept.with_suffix(".npy"), _parquet_pieces(path, name), _parquet_type(path, name), name)
    raise BadArgument(f"table must be a file of the kind .npy, .csv, .csv.gz or .parquet, not {shown(name)}")


def loaded(path: Path, name: str) -> Array:
    """The rows of an ``.npy`` file that :func:`prepared` gave: a copy, checked, or mapped."""
    rows = _opened(path, name)
    if not isinstance(rows, np.memmap):
        checked(rows, name)
    return rows


def check_length(rows: Array, name: str) -> None:
    """Raise an error if the file of a mapped table was truncated: reading the missing part would kill the process."""
    start = 0
    base: Any = rows
    while base is not None:
        if isinstance(base, np.memmap):
            start = base.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        elif isinstance(base, mmap.mmap):
            if base.size() < start + len(base):
                raise BadFile(f"{name} was cut short: {base.size()} bytes of {start + len(base)}")
            return
        base = getattr(base, "base", None)


def checked(rows: Array, name: str) -> None:
    """Raise an error if a value of a table is not a number in [0, 1]."""
    for start, step in _steps(rows):
        _check_piece(rows[start : start + step], start, name)


def _check_piece(piece: Array, start: int, name: str) -> None:
    if piece.min() >= 0 and piece.max() <= 1:
        return
    step, arm = np.argwhere(~((piece >= 0) & (piece <= 1)))[0]
    raise BadReward(
        f"{name}: step {start + step}, arm {arm} holds {piece[step, arm]}; rewards must be numbers in [0, 1]"
    )


def digest(rows: Array) -> str:
    """A short digest of the numbers of a table."""
    found = hashlib.blake2b(digest_size=8)
    for start, step in _steps(rows):
        found.update(np.ascontiguousarray(rows[start : start + step]).data)
    return found.hexdigest()


def _steps(rows: Array) -> Iterator[tuple[int, int]]:
    step = max(1, _PIECE // rows.shape[1])
    return ((start, step) for start in range(0, rows.shape[0], step))


def _opened(path: Path, name: str) -> Array:
    """The rows of an ``.npy`` file, bools as bytes: a copy of their own or, of a large file, mapped."""
    try:
        # Mapped first: NumPy then compares the size in the header with that of the file, before memory is taken.
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # whatever NumPy makes of nonsense
        raise BadFile(f"{name} is not a sound .npy file: {_line(error)}") from None
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiub":
        found = f"{rows.dtype} {list(rows.shape)}" if isinstance(rows, np.ndarray) else "an archive"
        raise BadFile(f"{name} must hold an array of numbers [steps, arms], not {found}")
    if isinstance(rows, np.memmap) and rows.nbytes <= COPIED:
        rows = _copied(rows, path, name)
    # A byte other than 0 and 1 would pass for True, and pay what it is.
    numbers: Array = rows.view(np.uint8) if rows.dtype == np.bool_ else rows
    return numbers


def _copied(rows: np.memmap[Any, Any], path: Path, name: str) -> Array:
    """A copy of a mapped table, read from its file: to touch a page that is no longer there would kill the process."""
    with path.open("rb") as file:
        file.seek(rows.offset)
        data = file.read(rows.nbytes)
    if len(data) < rows.nbytes:
        raise BadFile(f"{name} was cut short: {len(data)} bytes of {rows.nbytes}")
    return np.frombuffer(data, rows.dtype).reshape(rows.shape, order="C" if rows.flags.c_contiguous else "F")


def _converted(target: Path, pieces: Iterator[Array], kind: np.dtype[Any], name: str) -> Path:
    """Write chunks of rows to an ``.npy`` file, which appears complete or not at all."""
    if target.exists():
        return target
    with replacing(target) as out:
        steps = 0
        arms = 0
        for piece in pieces:
            if steps == 0:
                arms = piece.shape[1]
                header = _header(out, kind, 0, arms)
            _check_piece(piece, steps, name)
            out.write(np.ascontiguousarray(piece, dtype=kind).data)
            steps += piece.shape[0]
        if steps == 0:
            raise BadFile(f"{name} holds no rewards")
        out.seek(0)
        # The format leaves room in the header for the number of rows to grow.
        if _header(out, kind, steps, arms) != header:
            raise BadFile(f"{name} could not be written as .npy: its header has outgrown its place")
    return target


def _header(out: Any, kind: np.dtype[Any], steps: int, arms: int) -> int:
    """Write the header of an array [steps, arms]; return its length."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (steps, arms)}
    )
    return out.write(header.getvalue())  # type: ignore[no-any-return]


def _csv_pieces(path: Path, name: str) -> Iterator[Array]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            top = list(islice(csv.reader(io.TextIOWrapper(_readable(stream), encoding="utf-8")), 4))
        if not top or not top[0]:
            raise BadFile(f"{name} holds no rewards")
        first = top[0]
        named, index = _layout(top)
        columns = [str(arm) for arm in range(len(first))]
        arms = columns[1:] if index else columns
        with arrow_csv.open_csv(
            str(path),
            read_options=arrow_csv.ReadOptions(
                column_names=columns, skip_rows=int(named), block_size=max(_PIECE, 64 * len(first))
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(arms, pa.float64()), include_columns=arms
            ),
        ) as reader:
            yield from _arrays(reader, np.dtype(np.float64), name)
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile(f"{name} is not a sound CSV file of numbers: {_line(error)}") from None


def _layout(top: list[list[str]]) -> tuple[bool, bool]:
    """Whether the first line of a CSV file is a header, and whether its first column is an index; from a few lines.

    A header has no numbers, or names no first column, or counts three columns or more. An index has no name, or counts
    the lines, or is not a number. None of these can be rewards: a third number of a count is 2 or more.

    >>> _layout([["", "a", "b"], ["0", "0.5", "1"]]), _layout([["0", "1"], ["1", "0"]])
    ((True, True), (False, False))
    >>> _layout([["day", "a"], ["Mon", "0"], ["Tue", "1"]]), _layout([["0", "1", "2"], ["0.5", "0", "1"]])
    ((True, True), (True, False))
    """
    first = top[0]
    unnamed = len(first) > 1 and first[0].strip() in UNNAMED
    counted = len(first) > 2 and first == [str(arm) for arm in range(len(first))]
    named = unnamed or counted or not any(map(_is_number, first))
    column = [line[0].strip() if line else "" for line in top[named:]][:3]
    counts = column in (["0", "1", "2"], ["1", "2", "3"])
    words = bool(column) and all(cell and not _is_number(cell) for cell in column)
    return named, len(first) > 1 and (unnamed or counts or words)


def _readable(stream: Any) -> BinaryIO:
    return stream  # type: ignore[no-any-return]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet_type(path: Path, name: str) -> np.dtype[Any]:
    """The smallest of the mappable types that stores all columns exactly."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(str(path))
        index = _index_of(schema)
        types = [kind for column, kind in zip(schema.names, schema.types, strict=True) if column not in index]
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"{name} is not a sound Parquet file: {_line(error)}") from None
    for column, kind in enumerate(types):
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise BadFile(f"{name} must hold numbers in every column, not {kind} in column {column}")
    if not types:
        raise BadFile(f"{name} holds no rewards")
    if all(kind in (pa.bool_(), pa.uint8()) for kind in types):
        return np.dtype(np.uint8)
    return np.dtype(np.float32 if all(kind == pa.float32() for kind in types) else np.float64)


def _index_of(schema: Any) -> list[str]:
    """The columns of a Parquet file that pandas has written for an index."""
    try:
        columns = schema.pandas_metadata["index_columns"]
        return [column for column in columns if isinstance(column, str)]
    except (LookupError, RecursionError, TypeError, ValueError):  # none, or nonsense
        return []


def _parquet_pieces(path: Path, name: str) -> Iterator[Array]:
    import pyarrow as pa
    from pyarrow import parquet

    kind = _parquet_type(path, name)
    try:
        with parquet.ParquetFile(str(path)) as file:
            rows = max(1, _PIECE // file.metadata.num_columns)
            index = _index_of(file.schema_arrow)
            arms = [column for column in file.schema_arrow.names if column not in index] if index else None
            yield from _arrays(file.iter_batches(batch_size=rows, columns=arms), kind, name)
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"{name} is not a sound Parquet file: {_line(error)}") from None


def _arrays(batches: Any, kind: np.dtype[Any], name: str) -> Iterator[Array]:
    """Arrow's column batches as arrays of rows."""
    start = 0
    for batch in batches:
        piece = np.empty((batch.num_rows, batch.num_columns), dtype=kind)
        for arm, column in enumerate(batch.columns):
            if column.null_count:
                step = start + column.is_null().to_numpy(zero_copy_only=False).argmax()
                raise BadReward(f"{name}: step {step}, arm {arm} holds nothing; rewards must be numbers in [0, 1]")
            piece[:, arm] = column.to_numpy(zero_copy_only=False)
        if batch.num_rows:
            yield piece
        start += batch.num_rows


@cache
def _folder() -> Path:
    """The folder of converted files; a temporary folder if it is not writable."""
    try:
        folder = user_cache() / "traces"
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="hlmc-traces-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="hlmc-traces-"))


def _line(error: BaseException) -> str:
    """The first line of an error."""
    return str(error).strip().split("\n")[0] or type(error).__name__
