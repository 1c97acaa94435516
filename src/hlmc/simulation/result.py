"""What came out of an experiment: rewards, benchmarks, regret, a table, a plot, a file."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.errors import BadArgument, BadFile, HLMCError
from hlmc.simulation.store import write_whole

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from hlmc.adversaries.base import Adversary
    from hlmc.simulation.experiment import Experiment

Array = np.ndarray

_KEY = b"hlmc-result-1"


class Result:
    """The outcome of :func:`hlmc.simulate`.

    >>> import hlmc
    >>> result = hlmc.simulate(
    ...     {"EXP3": hlmc.EXP3(arms=100, horizon=2000)},
    ...     hlmc.adversaries.BlockTrap(arms=100, memory=20), runs=4, progress=False)
    >>> result.regret("weak").dims
    ('policy', 'run', 'time')
    >>> list(result.summary().columns[:3])
    ['words', 'reward', 'regret']
    """

    def __init__(
        self,
        data: xr.Dataset,
        provenance: dict[str, Any],
        adversary: Adversary | None = None,
        nanoseconds: dict[str, float] | None = None,
    ) -> None:
        self.data = data
        self.provenance = provenance
        self.adversary = adversary
        self.nanoseconds = nanoseconds or {}
        self._benchmarks: dict[str, Array] = {}

    @classmethod
    def of(cls, experiment: Experiment, rewards: Array, runs: Array, nanoseconds: dict[str, float]) -> Result:
        """From rewards [policy, run, time]; the best fixed arm is computed here, from the adversary."""
        from hlmc.evaluation import best_fixed

        try:
            best, arms = best_fixed(experiment.adversary, experiment.points)
        except HLMCError as error:
            warnings.warn(f"the best fixed arm was not computed: {error}", stacklevel=3)
            best = np.full(len(experiment.points), np.nan)
            arms = np.full(len(experiment.points), -1)
        bounds = experiment.bounds()
        data = _dataset(list(experiment.policies), runs, experiment.points, rewards, best, arms, bounds)
        provenance = experiment.provenance()
        data.attrs = {"provenance": json.dumps(provenance)}
        return cls(data, provenance, experiment.adversary, nanoseconds)

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return [str(name) for name in self.data["policy"].values]

    def benchmark(self, kind: str = "weak", switches: int | None = None) -> xr.DataArray:
        """What could have been earned until each time point: ``"weak"``, ``"shifting"`` or ``"dynamic"``."""
        import xarray as xr

        from hlmc.evaluation import benchmark

        if kind == "weak" and switches is None:
            return self.data["best_fixed"]
        name = kind if switches is None else f"{kind}-{switches}"
        if name not in self._benchmarks:
            if self.adversary is None:
                raise BadArgument(
                    f"the {kind} benchmark was not saved with this result, and its adversary "
                    f"({self.provenance['adversary']}) cannot be made again from the file"
                )
            times = self.data["time"].values
            self._benchmarks[name] = benchmark(self.adversary, times, kind, switches)
        return xr.DataArray(self._benchmarks[name], dims="time", coords={"time": self.data["time"]})

    def regret(self, kind: str = "weak", switches: int | None = None) -> xr.DataArray:
        """Regret(policy, run, time): what the benchmark earns until each time point minus what was earned.

        ``"weak"`` is against the best fixed arm of the prefix, ``"shifting"`` against the best sequence of at most ``switches``
        constant pieces, ``"dynamic"`` against the best arm of every step.
        """
        return (
            (self.benchmark(kind, switches) - self.data["reward"])
            .transpose("policy", "run", "time")
            .rename("regret")
        )

    def summary(self, kind: str = "weak", switches: int | None = None, level: float = 0.95) -> pd.DataFrame:
        """One row a policy at the last time point: words, reward, regret with its interval, bound, nanoseconds a step."""
        import pandas as pd

        from hlmc.evaluation import fitted_exponent, t_interval

        regret = self.regret(kind, switches)
        rows = {}
        for name in self.policies:
            curve = regret.sel(policy=name)
            final = curve.isel(time=-1).values
            mean = float(final.mean())
            low, high = t_interval(final, level)[1:] if len(final) > 1 else (np.nan, np.nan)
            try:
                exponent = fitted_exponent(curve["time"].values, curve.mean("run").values).exponent
            except HLMCError:
                exponent = np.nan
            rows[name] = {
                "words": self.provenance["words"].get(name),
                "reward": float(self.data["reward"].sel(policy=name).isel(time=-1).mean()),
                "regret": mean,
                "low": float(low),
                "high": float(high),
                "exponent": exponent,
                "bound": float(self.data["bound"].sel(policy=name).isel(time=-1)),
                "ns_per_step": self.nanoseconds.get(name, np.nan),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    def plot(
        self, ax: Axes | None = None, kind: str = "weak", switches: int | None = None, log: bool = False
    ) -> Axes:
        """Mean regret with 95 % intervals against time, theoretical bounds dashed; returns the axes."""
        from hlmc.simulation.drawing import draw_regret

        return draw_regret(self, ax, kind, switches, log)

    def save(self, path: str | Path) -> None:
        """Write everything to one Parquet file (policy, run, time, reward; the rest in its metadata)."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        reward = self.data["reward"]
        policies, runs, times = reward.shape
        text = {
            "provenance": self.provenance,
            "best_fixed": self.data["best_fixed"].values.tolist(),
            "best_arm": self.data["best_arm"].values.tolist(),
            "bound": [
                [None if np.isnan(b) else b for b in row] for row in self.data["bound"].values.tolist()
            ],
            "benchmarks": {name: values.tolist() for name, values in self._benchmarks.items()},
            "nanoseconds": self.nanoseconds,
            "shape": [policies, runs, times],
        }
        table = pa.table(
            {
                "policy": np.repeat(np.array(self.policies, dtype=object), runs * times),
                "run": np.tile(np.repeat(self.data["run"].values, times), policies),
                "time": np.tile(self.data["time"].values, policies * runs),
                "reward": reward.values.reshape(-1),
            }
        ).replace_schema_metadata({_KEY: json.dumps(text).encode()})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        write_whole(Path(path), sink.getvalue().to_pybytes())

    def __repr__(self) -> str:
        sizes = self.data.sizes
        return (
            f"<result of {', '.join(self.policies)} against {self.provenance['adversary']}: "
            f"{sizes['run']} runs of {self.provenance['horizon']} steps>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>" + self.summary().to_html(float_format=lambda x: f"{x:,.4g}")


def load_result(path: str | Path) -> Result:
    """Read a result that :meth:`Result.save` wrote.

    >>> import hlmc, tempfile, os
    >>> result = hlmc.simulate(hlmc.EXP3(arms=100, horizon=100), hlmc.adversaries.BlockTrap(), runs=2, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(os.path.join(folder, "result.parquet"))
    ...     again = hlmc.load_result(os.path.join(folder, "result.parquet"))
    >>> again.data.identical(result.data)
    True
    """
    import pyarrow.parquet as pq

    from hlmc.adversaries.reading import from_repr

    if not Path(path).exists():
        raise FileNotFoundError(path)
    try:
        table = pq.read_table(path)
        text = json.loads((table.schema.metadata or {})[_KEY])
        policies, runs, times = text["shape"]
        rewards = table.column("reward").to_numpy().reshape(policies, runs, times)
        names = list(dict.fromkeys(table.column("policy").to_pylist()))
        run = table.column("run").to_numpy()[: runs * times : times]
        time = table.column("time").to_numpy()[:times]
        best, arms = np.array(text["best_fixed"]), np.array(text["best_arm"])
        bounds = np.array(text["bound"], dtype=np.float64)
        data = _dataset(names, run, time, rewards, best, arms, bounds)
        provenance = text["provenance"]
        data.attrs = {"provenance": json.dumps(provenance)}
        result = Result(data, provenance, from_repr(provenance["adversary"]), text["nanoseconds"])
        result._benchmarks = {name: np.array(values) for name, values in text["benchmarks"].items()}
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise BadFile(f"{path} is not a result of hlmc, or is damaged: {error}") from error
    return result


def _dataset(
    names: list[str], runs: Array, points: Array, rewards: Array, best: Array, arms: Array, bounds: Array
) -> xr.Dataset:
    import xarray as xr

    return xr.Dataset(
        {
            "reward": (("policy", "run", "time"), rewards),
            "best_fixed": ("time", np.asarray(best, dtype=np.float64)),
            "best_arm": ("time", np.asarray(arms, dtype=np.int64)),
            "bound": (("policy", "time"), bounds),
        },
        coords={
            "policy": np.array(names, dtype=object),
            "run": np.asarray(runs, dtype=np.int64),
            "time": np.asarray(points, dtype=np.int64),
        },
    )
