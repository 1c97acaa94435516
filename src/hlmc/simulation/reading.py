"""Results on disk: a file that is saved and read, or the store of a simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hlmc.checks import path as checked_path
from hlmc.errors import BadArgument, BadFile, HLMCError, need_lab
from hlmc.simulation.labels import dataset
from hlmc.simulation.result import Result
from hlmc.simulation.store import read_store
from hlmc.simulation.stored import StoredBenchmarks
from hlmc.simulation.tables import Runs, read_runs, saved_path, write_csv, write_runs

Array = np.ndarray

FORMAT = "result 1"


def save(result: Result, path: str | Path) -> None:
    """Write a result to a file; see :meth:`hlmc.Result.save`."""
    path = saved_path("path", path)
    if path.suffix.lower() == ".csv":
        write_csv(path, result.to_pandas(result.default_kind()))
        return
    if "best_fixed" not in result._data and result.default_kind() == "weak":
        result._find_best_fixed(force=False)
    data = result._data
    known = [name for name in ("best_fixed", "best_arm", "bound") if name in data]
    notes = {
        "format": FORMAT,
        "provenance": result.provenance,
        "judged": {name: data[name].values.tolist() for name in known},
        "benchmarks": {name: values.tolist() for name, values in result._benchmarks.items()},
        "nanoseconds": result.nanoseconds,
    }
    table = Runs(result.policies, data["run"].values, data["time"].values, data["reward"].values, notes)
    write_runs(path, table)


def load_result(path: str | Path) -> Result:
    """Read a result that :meth:`Result.save` wrote as Parquet, or what the store of :func:`hlmc.simulate` holds.

    A store is the folder of that name. It may be read while the experiment goes on: a run that some policy has not
    finished is left out.

    >>> import hlmc, tempfile, os
    >>> result = hlmc.simulate(hlmc.EXP3(arms=100, horizon=100), hlmc.adversaries.BlockTrap(), runs=2, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(os.path.join(folder, "result.parquet"))
    ...     again = hlmc.load_result(os.path.join(folder, "result.parquet"))
    >>> again.data.identical(result.data)
    True
    """
    need_lab()
    path = checked_path("path", path)
    if path.is_dir():
        return _stored(path)
    if path.suffix.lower() == ".csv":
        raise BadArgument(f"path must be a .parquet file or the folder of a store, not {path.name}; pandas reads .csv")
    table = read_runs(path)
    if table.notes.get("format") != FORMAT:
        raise BadFile(f"{path} holds runs of hlmc but not a result; was it written by Result.save?")
    try:
        notes = table.notes
        judged = {name: np.array(values) for name, values in notes["judged"].items()}
        provenance = notes["provenance"]
        result = Result(dataset(Runs(*_axes(table), provenance), judged), provenance, notes["nanoseconds"])
        result._benchmarks = {name: np.array(values) for name, values in notes["benchmarks"].items()}
    except (HLMCError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise BadFile(f"{path} does not hold a whole result: {error}") from error
    return result


def _stored(folder: Path) -> Result:
    """What the store of an experiment holds."""
    table, nanoseconds = read_store(folder)
    bounds = [_bounds(table.notes["policies"][name], table.times) for name in table.policies]
    result = Result(dataset(table, {"bound": np.array(bounds)}), table.notes, nanoseconds)
    result.keep_benchmarks(
        StoredBenchmarks(folder, len(table.times), len(result.provenance.get("environments", [None])))
    )
    return result


def _bounds(policy: str, times: Array) -> Array:
    """The bounds of a policy that is known by its printed form; not a number if that does not determine it."""
    from hlmc.adversaries.reading import parsed
    from hlmc.policies import CATALOGUE
    from hlmc.simulation.experiment import bounds_at

    found = parsed(policy, CATALOGUE)
    return np.full(len(times), np.nan) if found is None else bounds_at(found, times)


def _axes(table: Runs) -> tuple[list[str], Array, Array, Array]:
    return table.policies, table.runs, table.times, table.rewards
