"""Benchmarks in a store: what the judge has computed once is not computed again.

``_judged.json`` lies beside the runs. It holds, by the name of a benchmark ("weak", "shifting-10", "pseudo", ...), its
value at each time point (with several environments: in each, [environment, time]) and, of the best fixed arm, which
arm it is. A digest makes damage an error.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hlmc.errors import BadFile
from hlmc.files import disk
from hlmc.files.writing import write_whole

Array = np.ndarray

JUDGED = "_judged.json"
VALUES, ARMS = "values", "arms"


class StoredBenchmarks:
    """The benchmarks in a folder. Reading is immediate, so that a damaged file is an error before anything is played.

    Parameters
    ----------
    folder
        A store's, which says which adversary and time points the benchmarks are for.
    count, environments
        The numbers of time points and of environments. What is kept for another number of environments is passed over.
    """

    def __init__(self, folder: Path, count: int, environments: int = 1) -> None:
        self._path = folder / JUDGED
        self._count = count
        self._environments = environments
        self.kept = self._read()

    def put(self, name: str, values: Array, arms: Array | None = None) -> None:
        """Keep a benchmark; two processes at once may lose one of theirs, which is computed again."""
        new = {VALUES: values} if arms is None else {VALUES: values, ARMS: arms}
        self.kept = self._read() | {name: new}
        found = {name: {key: part.tolist() for key, part in each.items()} for name, each in self.kept.items()}
        # The folder may be gone or its disk full by now. The benchmark is known all the same, and computed again later.
        with suppress(OSError):
            write_whole(self._path, json.dumps({"benchmarks": found, "digest": _digest(found)}).encode())

    def _read(self) -> dict[str, dict[str, Array]]:
        if not self._path.exists():
            return {}
        try:
            contents = json.loads(disk.contents(self._path))
            if _digest(contents["benchmarks"]) != contents["digest"]:
                raise ValueError("its digest is that of other contents")
            found = {
                str(name): {key: self._array(key, part) for key, part in each.items()}
                for name, each in contents["benchmarks"].items()
            }
            return {name: each for name, each in found.items() if each[VALUES].size == self._count * self._environments}
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise BadFile(f"{self._path} does not hold benchmarks: {error}; delete it to compute them again") from error

    def _array(self, key: str, part: Any) -> Array:
        found = np.array(part, np.int64 if key == ARMS else np.float64)
        if found.ndim not in (1, 2) or found.shape[-1] != self._count:
            raise ValueError(f"{found.size} values for {self._count} time points")
        return found


def _digest(benchmarks: Any) -> str:
    return hashlib.blake2b(json.dumps(benchmarks, sort_keys=True).encode(), digest_size=8).hexdigest()
