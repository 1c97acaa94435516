"""Parquet files of results: a table, notes as JSON in its metadata, and a digest of both.

Any reader of Parquet shows the table. Parquet itself has no checksum of its metadata, and its readers accept many
damaged files. The digest is of what was read, so that a damaged file is refused or holds all that it held before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import path as checked_path
from hlmc.errors import BadFile, need_lab
from hlmc.files import disk
from hlmc.files.disk import StrPath
from hlmc.files.writing import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

_DIGEST = b"hlmc-digest"
# What reading a file that is not a table, or not of this library, may raise.
_NONSENSE = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)

Part = np.ndarray | Sequence[str]
"""A part of what a digest is of: an array (its bytes count, not its shape) or some words."""


def write_table(path: StrPath, columns: Mapping[str, Any], key: bytes, notes: Any, parts: Iterable[Part]) -> None:
    """Write a table with notes under a key of its metadata; its folder must exist.

    ``parts`` is all that a reader takes from the columns, as it will give it to :func:`check_digest`.
    """
    need_lab("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = json.dumps(notes).encode()
    table = pa.table(dict(columns)).replace_schema_metadata({key: text, _DIGEST: _digest(text, parts)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, write_page_checksum=True)
    write_whole(checked_path("path", path), sink.getvalue())


@contextmanager
def table_of(path: StrPath) -> Iterator[tuple[pa.Table, dict[bytes, bytes]]]:
    """The table of a file and its metadata. Whatever goes wrong in the block is a :class:`BadFile`."""
    need_lab("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = checked_path("path", path)
    disk.check_ordinary(path)
    try:
        with pq.ParquetFile(str(path), page_checksum_verification=True) as file:
            found = file.read()
        yield found, found.schema.metadata or {}
    except BadFile:
        raise
    except (pa.ArrowException, *_NONSENSE) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BadFile(f"{path} is damaged or no Parquet file of hlmc's: {reason}") from error


def check_digest(path: StrPath, metadata: Mapping[bytes, bytes], key: bytes, parts: Iterable[Part]) -> None:
    """Refuse a file whose notes and parts do not have the digest that was noted."""
    if metadata.get(_DIGEST) != _digest(metadata[key], parts):
        raise BadFile(f"{path} is damaged: its contents do not have the digest that was noted when it was written")


def _digest(notes: bytes, parts: Iterable[Part]) -> bytes:
    digest = hashlib.blake2b(notes, digest_size=16)
    for part in parts:
        data = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else "\0".join(part).encode()
        digest.update(data)
    return digest.hexdigest().encode()
