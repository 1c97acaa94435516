"""Results from disk: a file that was saved, or the store of a simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hlmc.checks import path as checked_path
from hlmc.errors import BadArgument, BadFile, HLMCError, need_lab
from hlmc.simulation.result import FORMAT, Result, dataset
from hlmc.simulation.shelf import Shelf
from hlmc.simulation.store import read_store
from hlmc.simulation.tables import Runs, read_runs

Array = np.ndarray


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
    result.keep_benchmarks(Shelf(folder, len(table.times), len(result.provenance.get("environments", [None]))))
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
