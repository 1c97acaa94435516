"""Rewards and benchmarks with the names of their axes: what :attr:`hlmc.Result.data` is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlmc.simulation.tables import Runs

if TYPE_CHECKING:
    import xarray as xr

Array = np.ndarray


def stacked(each: list[Array]) -> Array:
    """What was found in each environment as [environment, time]; of a single one, [time]."""
    return each[0] if len(each) == 1 else np.stack(each)


def labelled(values: Array) -> tuple[tuple[str, ...], Array]:
    """The same with the names of its axes."""
    return ("environment", "time")[-values.ndim :], values


def dataset(table: Runs, judged: dict[str, Array]) -> xr.Dataset:
    """``table.notes`` is the provenance; what does not change from one call to the next becomes attributes."""
    import xarray as xr

    notes = table.notes
    best = {"best_fixed": np.float64, "best_arm": np.int64}
    return xr.Dataset(
        {
            "reward": (("policy", "run", "time"), table.rewards),
            "bound": (("policy", "time"), np.asarray(judged["bound"], dtype=np.float64)),
            **{name: labelled(np.asarray(judged[name], kind)) for name, kind in best.items() if name in judged},
        },
        coords={
            "policy": np.array(table.policies, dtype=object),
            "run": np.asarray(table.runs, dtype=np.int64),
            "time": np.asarray(table.times, dtype=np.int64),
        },
        attrs={name: notes[name] for name in ("adversary", "horizon", "seed", "streams")},
    )
