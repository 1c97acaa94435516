"""Rewards of runs as a Parquet file: policy, run, time, reward; everything else as JSON in the file's metadata.

Any reader of Parquet shows the table. A digest of the table and of the JSON stands beside them, so that a file that was
damaged is noticed and never half believed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.errors import BadFile
from hlmc.files import disk
from hlmc.files.writing import write_whole

Array = np.ndarray

_NOTES = b"hlmc"
_DIGEST = b"hlmc-digest"
# What reading a table that is none, or not ours, may raise.
_NONSENSE = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Runs:
    """Cumulative rewards [policy, run, time] with the labels of the three axes, and notes that JSON can hold."""

    policies: list[str]
    runs: Array
    times: Array
    rewards: Array
    notes: dict[str, Any]


def write_runs(path: Path, table: Runs) -> None:
    """Write a file; its folder must exist."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    policies, runs, times = table.rewards.shape
    place = np.repeat(np.arange(policies, dtype=np.int32), runs * times)
    columns = {
        "policy": pa.DictionaryArray.from_arrays(place, pa.array(table.policies, pa.string())).cast(pa.string()),
        "run": np.tile(np.repeat(table.runs.astype(np.int64), times), policies),
        "time": np.tile(table.times.astype(np.int64), policies * runs),
        "reward": np.ascontiguousarray(table.rewards, dtype=np.float64).reshape(-1),
    }
    notes = json.dumps({"shape": [policies, runs, times], **table.notes}).encode()
    metadata = {_NOTES: notes, _DIGEST: _digest(table, notes).encode()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), sink, write_page_checksum=True)
    write_whole(path, sink.getvalue())


def read_runs(path: Path) -> Runs:
    """Read a file that :func:`write_runs` has written, or refuse it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    disk.check_ordinary(path)
    try:
        with pq.ParquetFile(str(path), page_checksum_verification=True) as file:
            found = file.read()
        metadata = found.schema.metadata or {}
        if any(key.startswith(b"hlmc-game-result") for key in metadata):
            raise BadFile(f"{path} is the result of a game: read it with hlmc.games.load_result")
        if _NOTES not in metadata:
            raise BadFile(f"{path} is a Parquet file, but none that hlmc has written")
        notes = json.loads(metadata[_NOTES])
        policies, runs, times = notes["shape"]
        table = Runs(
            found.column("policy").to_pylist()[:: max(runs * times, 1)],
            found.column("run").to_numpy()[: runs * times : max(times, 1)],
            found.column("time").to_numpy()[:times],
            found.column("reward").to_numpy().reshape(policies, runs, times),
            notes,
        )
        sound = _digest(table, metadata[_NOTES]).encode() == metadata.get(_DIGEST)
    except BadFile:
        raise
    except (pa.ArrowException, *_NONSENSE) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BadFile(f"{path} is damaged or no Parquet file of hlmc's: {reason}") from error
    if not sound:
        raise BadFile(f"{path} is damaged: its contents do not have the digest that was noted when it was written")
    return table


def _digest(table: Runs, notes: bytes) -> str:
    digest = hashlib.blake2b(notes, digest_size=16)
    digest.update("\0".join(table.policies).encode())
    for array, kind in ((table.runs, np.int64), (table.times, np.int64), (table.rewards, np.float64)):
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()
