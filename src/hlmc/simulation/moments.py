"""Mean, variance and quantiles over many runs: summary statistics of runs that are not stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.checks import fraction, listed
from hlmc.errors import BadArgument, need_lab
from hlmc.evaluation import benchmark, t_quantile
from hlmc.simulation.driver import drive
from hlmc.simulation.experiment import Experiment, checked_arithmetic
from hlmc.simulation.progress import Progress, reporter
from hlmc.simulation.runner import Gathered
from hlmc.simulation.runs import Task
from hlmc.spelling import suggesting

if TYPE_CHECKING:
    import xarray as xr

    from hlmc.simulation.summary import Summary

Array = np.ndarray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Moments:
    """The result of :func:`hlmc.estimate`.

    Attributes
    ----------
    data
        An :class:`xarray.Dataset` of cumulative rewards: ``mean(policy, time)``, ``variance(policy, time)`` over runs,
        and ``quantile(policy, probability, time)``.
    provenance
        The policies, the device and the precision.
    adversary
        The adversary that they faced.
    nanoseconds
        Time per step, by policy.

    Examples
    --------
    >>> import hlmc
    >>> policy = hlmc.EXP3(arms=16, horizon=300)
    >>> found = hlmc.estimate(policy, hlmc.adversaries.Needle(16), runs=20, points=1, device="cpu", progress=False)
    >>> regret = found.regret()
    >>> bool((regret["low"] < regret["mean"]).all()), regret["quantile"].sel(probability=0.95).dims
    (True, ('policy', 'time'))
    """

    data: xr.Dataset
    provenance: dict[str, Any]
    adversary: Adversary
    nanoseconds: dict[str, float]

    @property
    def runs(self) -> int:
        """The number of runs of each policy."""
        return int(self.provenance["runs"])

    def regret(
        self, kind: str = "weak", switches: int | None = None, level: float = 0.95, force: bool = False
    ) -> xr.Dataset:
        """Regret(policy, time): its ``mean`` with the ends ``low`` and ``high`` of an interval, and its quantiles.

        All runs face one sequence, so regret is what the benchmark earns less the reward, and its quantiles are the
        reward's from the other end. ``force`` computes the benchmark even if that takes hours.
        """
        import xarray as xr

        data = self.data
        best = xr.DataArray(benchmark(self.adversary, data["time"].values, kind, switches, force=force), dims="time")
        mean = best - data["mean"]
        half = t_quantile(0.5 + fraction("level", level) / 2, self.runs - 1) * np.sqrt(data["variance"] / self.runs)
        # Rounded, so that 0.95 from the other end is 0.05.
        others = (1.0 - data["probability"]).round(12)
        mirrored = (best - data["quantile"]).assign_coords(probability=others).sortby("probability")
        parts = {"mean": mean, "low": mean - half, "high": mean + half, "quantile": mirrored}
        return xr.Dataset({name: part.transpose("policy", ..., "time") for name, part in parts.items()})

    def summary(
        self, kind: str = "weak", switches: int | None = None, level: float = 0.95, force: bool = False
    ) -> Summary:
        """One row per policy, at the last time point; arguments are those of :meth:`regret`."""
        from hlmc.simulation.summary import Summary

        last = self.regret(kind, switches, level, force).isel(time=-1)
        table = last[["mean", "low", "high"]].to_dataframe()[["mean", "low", "high"]]
        table = table.rename(columns={"mean": "regret"})
        words = [self.provenance["words"][name] for name in table.index]
        table.insert(0, "words", [np.nan if each is None else each for each in words])
        table.insert(1, "reward", self.data["mean"].isel(time=-1).values)
        table["ns_per_step"] = [self.nanoseconds[name] for name in table.index]
        summary = Summary(table)
        summary.attrs |= {"level": level, "steps": int(last["time"])}
        return summary

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary()._repr_html_()}"

    def __repr__(self) -> str:
        names = [str(name) for name in self.data["policy"].values]
        shown = ", ".join(names if len(names) < 6 else [*names[:4], f"and {len(names) - 4} more"])
        return (
            f"<moments of {shown} against {self.provenance['adversary']}: {self.runs:,} runs of "
            f"{self.provenance['horizon']:,} steps in {self.provenance['precision']}>"
        )


@suggesting
def estimate(
    policies: Any,
    adversary: Any,
    horizon: int | None = None,
    runs: int = 100_000,
    seed: int = 0,
    points: Any = 20,
    device: str = "cuda",
    precision: str | None = None,
    quantiles: Sequence[float] = QUANTILES,
    progress: Progress = None,
) -> Moments:
    """Like :func:`hlmc.simulate` for very many runs: keep only the mean, variance and quantiles of their rewards.

    Policies that differ only in the values of parameters share a launch, so a sweep of parameters costs no more than
    its runs. The runs are those of :func:`hlmc.simulate`: same seed, same names, same streams.

    Parameters
    ----------
    policies, adversary, horizon, seed, points, precision, progress
        As there.
    device
        As there, but a GPU by default; on ``"cpu"`` use fewer runs.
    runs
        Runs of each policy, at least 2.
    quantiles
        The quantiles of the rewards over the runs to keep, strictly between 0 and 1.

    Examples
    --------
    >>> import hlmc
    >>> found = hlmc.estimate(hlmc.EXP3(arms=100, horizon=500), hlmc.adversaries.BlockTrap(), runs=50, points=2,
    ...                       device="cpu", progress=False)
    >>> found.data["mean"].dims, found.regret()["mean"].dims
    (('policy', 'time'), ('policy', 'time'))
    >>> list(found.summary().columns)
    ['words', 'reward', 'regret', 'low', 'high', 'ns_per_step']
    """
    need_lab()
    experiment = Experiment.of(policies, adversary, horizon, runs, seed, points, checked_arithmetic(device, precision))
    if len(experiment.environments) > 1:
        raise BadArgument("adversary must be one adversary, not a list: only hlmc.simulate has environments")
    if experiment.runs < 2:
        raise BadArgument("runs must be at least 2: a single run has no variance")
    wanted = np.array([fraction("quantiles", q) for q in listed("quantiles", quantiles)])
    kept = _Kept(experiment, wanted)
    if device == "cpu":
        opened = partial(reporter, progress, unit=experiment.horizon)
        gathered = drive(Gathered(experiment), opened)
        for name, rewards in gathered.rewards.items():
            for point in range(len(experiment.points)):
                kept.add(name, point, rewards[:, point])
        return kept.moments(gathered.nanoseconds)
    from hlmc.simulation.on_device import play_on_device

    tasks = [
        Task(name, policy, experiment.adversary, experiment.seed, range(experiment.runs))
        for name, policy in experiment.policies.items()
    ]
    steps = experiment.runs * experiment.horizon
    seconds = dict.fromkeys(experiment.policies, 0.0)
    with reporter(progress, dict.fromkeys(experiment.policies, steps), experiment.horizon) as report:
        for noted in play_on_device(tasks, experiment.points, experiment.precision, report.advance):
            kept.add(noted.task.name, noted.point, noted.rewards)
            seconds[noted.task.name] = noted.seconds
    return kept.moments({name: 1e9 * spent / steps for name, spent in seconds.items()})


class _Kept:
    """Moments as they come in."""

    def __init__(self, experiment: Experiment, quantiles: Array) -> None:
        self._experiment = experiment
        self._quantiles = quantiles
        self._place = {name: i for i, name in enumerate(experiment.policies)}
        shape = (len(experiment.policies), len(experiment.points))
        self._mean = np.full(shape, np.nan)
        self._variance = np.full(shape, np.nan)
        self._found = np.full((shape[0], len(quantiles), shape[1]), np.nan)

    def add(self, name: str, point: int, rewards: Array) -> None:
        """All runs of a policy at a time point."""
        i = self._place[name]
        self._mean[i, point] = rewards.mean()
        self._variance[i, point] = rewards.var(ddof=1)
        self._found[i, :, point] = np.quantile(rewards, self._quantiles)

    def moments(self, nanoseconds: dict[str, float]) -> Moments:
        import xarray as xr

        experiment = self._experiment
        data = xr.Dataset(
            {
                "mean": (("policy", "time"), self._mean),
                "variance": (("policy", "time"), self._variance),
                "quantile": (("policy", "probability", "time"), self._found),
            },
            coords={
                "policy": np.array(list(experiment.policies), dtype=object),
                "probability": self._quantiles,
                "time": experiment.points,
            },
        )
        return Moments(data, experiment.provenance(), experiment.adversary, nanoseconds)
