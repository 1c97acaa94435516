"""Results on disk while they come in: a folder of Parquet files, each written at once when its runs are finished.

``_experiment.json`` says which experiment this is. Files whose names begin with an underscore are passed over by pandas, Polars
and DuckDB, so that ``pandas.read_parquet(folder)`` reads the rest as one table: policy, run, time, reward.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.errors import BadArgument, BadFile
from hlmc.simulation.runs import Played

if TYPE_CHECKING:
    from hlmc.simulation.experiment import Experiment

Array = np.ndarray

EXPERIMENT = "_experiment.json"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="_writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class Store:
    """A folder that holds one experiment."""

    def __init__(self, folder: str | Path, experiment: Experiment) -> None:
        self.folder = Path(folder)
        self.experiment = experiment
        self._agree()

    def _agree(self) -> None:
        """Refuse a folder that holds another experiment; note policies and runs that are new."""
        path = self.folder / EXPERIMENT
        ours = self.experiment.provenance()
        if path.exists():
            try:
                theirs = json.loads(path.read_text())
            except ValueError as error:
                raise BadFile(f"{path} is not readable as JSON: {error}") from error
            for field, value in self.experiment.identity().items():
                if theirs.get(field) != value:
                    raise BadArgument(
                        f"{self.folder} holds another experiment: {field} is {_short(theirs.get(field))} there "
                        f"and {_short(value)} here"
                    )
            for name, text in theirs.get("policies", {}).items():
                if ours["policies"].get(name, text) != text:
                    raise BadArgument(
                        f"{self.folder} holds another experiment: policy {name!r} is {text} there and "
                        f"{ours['policies'][name]} here"
                    )
            for field in ("policies", "words", "words_total"):
                ours[field] = theirs.get(field, {}) | ours[field]
            ours["runs"] = max(ours["runs"], theirs.get("runs", 0))
        write_whole(path, json.dumps(ours, indent=1).encode())

    def add(self, played: Played) -> None:
        """Write finished runs."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        count, points = played.rewards.shape
        if count == 0:
            return
        runs = np.arange(played.first, played.first + count)
        table = pa.table(
            {
                "policy": pa.DictionaryArray.from_arrays(
                    pa.array(np.zeros(count * points, dtype=np.int32)), pa.array([played.name])
                ).cast(pa.string()),
                "run": np.repeat(runs, points),
                "time": np.tile(self.experiment.points, count),
                "reward": played.rewards.reshape(-1),
            }
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        last = played.first + count - 1
        name = f"{_file_name(played.name)}-{played.first:08d}-{last:08d}.parquet"
        write_whole(self.folder / name, sink.getvalue().to_pybytes())

    def finished(self) -> Iterator[tuple[str, int, Array]]:
        """(policy, run, rewards) of what is there already."""
        import pyarrow.parquet as pq

        points = len(self.experiment.points)
        for path in sorted(self.folder.glob("*.parquet")):
            if path.name.startswith("_"):
                continue
            try:
                table = pq.read_table(path, columns=["policy", "run", "reward"])
            except Exception as error:
                raise BadFile(
                    f"{path} is damaged: {error}; delete it and its runs are played again"
                ) from error
            names = table.column("policy").to_pylist()[::points]
            runs = table.column("run").to_numpy()[::points]
            rewards = table.column("reward").to_numpy().reshape(-1, points)
            yield from zip(names, map(int, runs), rewards, strict=True)


def _file_name(name: str) -> str:
    """A name that any file system takes; the digest keeps apart names that differ only in what it drops."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in ".-") else "-" for c in name).strip(".-")
    return f"{plain[:40] or 'policy'}-{hashlib.blake2b(name.encode(), digest_size=3).hexdigest()}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:60] + "..."
