"""Rewards of runs as a Parquet file: policy, run, time, reward; everything else as JSON in the file's metadata.

:mod:`hlmc.files.parquet` adds a digest, so that a damaged file is noticed and never half believed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import ending
from hlmc.checks import path as checked_path
from hlmc.errors import BadFile
from hlmc.files.parquet import Part, check_digest, table_of, write_table
from hlmc.files.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

Array = np.ndarray

ENDINGS = (".parquet", ".csv")
"""The files that a result can be saved as; the first holds all of it."""
_NOTES = b"hlmc"


@dataclass(frozen=True)
class Runs:
    """Cumulative rewards [policy, run, time] with the labels of the three axes, and notes that JSON can hold."""

    policies: list[str]
    runs: Array
    times: Array
    rewards: Array
    notes: dict[str, Any]

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is in the columns of a file, for its digest."""
        return (self.policies, self.runs.astype(np.int64), self.times.astype(np.int64), self.rewards.astype(np.float64))


def write_runs(path: Path, table: Runs) -> None:
    """Write a file; its folder must exist."""
    import pyarrow as pa

    policies, runs, times = table.rewards.shape
    place = np.repeat(np.arange(policies, dtype=np.int32), runs * times)
    columns = {
        "policy": pa.DictionaryArray.from_arrays(place, pa.array(table.policies, pa.string())).cast(pa.string()),
        "run": np.tile(np.repeat(table.runs.astype(np.int64), times), policies),
        "time": np.tile(table.times.astype(np.int64), policies * runs),
        "reward": np.ascontiguousarray(table.rewards, dtype=np.float64).reshape(-1),
    }
    write_table(path, columns, _NOTES, {"shape": [policies, runs, times], **table.notes}, table.parts)


def saved_path(name: str, value: Any) -> Path:
    """The path of a result to be saved: one of `ENDINGS`, or none, which is the first."""
    path = checked_path(name, value)
    return ending(name, path, *ENDINGS) if path.suffix else path


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table that any program reads; its numbers are those that were measured, to the last digit."""
    with replacing(path) as file:
        table.to_csv(file, index=False)


def read_runs(path: Path) -> Runs:
    """Read a file that :func:`write_runs` has written, or refuse it."""
    with table_of(path) as (found, metadata):
        if any(key.startswith(b"hlmc-game") for key in metadata):
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
        check_digest(path, metadata, _NOTES, table.parts)
        return table
