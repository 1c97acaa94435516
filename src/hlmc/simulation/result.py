"""What came out of an experiment: rewards, benchmarks, regret; a table, a picture and a file of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import choice, flag, whole
from hlmc.errors import BadArgument
from hlmc.evaluation.regret import KINDS
from hlmc.simulation.environments import title
from hlmc.simulation.labels import dataset, labelled, stacked
from hlmc.simulation.progress import Progress, checked_progress, reporter
from hlmc.simulation.stored import ARMS, VALUES, StoredBenchmarks
from hlmc.simulation.tables import Runs

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from hlmc.adversaries.base import Adversary
    from hlmc.evaluation.segments import Report
    from hlmc.simulation.experiment import Experiment
    from hlmc.simulation.parts import Comparison
    from hlmc.simulation.summary import Summary

Array = np.ndarray

_MOMENT = 2.0  # seconds: a benchmark that cannot take longer says nothing of its progress


class Result:
    """The outcome of :func:`hlmc.simulate`.

    Attributes
    ----------
    provenance
        What was played, with which versions, when.
    nanoseconds
        Processor time per step, by policy, without compilation.

    Examples
    --------
    >>> import hlmc
    >>> result = hlmc.simulate(
    ...     {"EXP3": hlmc.EXP3(arms=100, horizon=2000)},
    ...     hlmc.adversaries.BlockTrap(arms=100, memory=20), runs=4, progress=False)
    >>> result.regret("weak").dims
    ('policy', 'run', 'time')
    >>> sorted(result.data)
    ['best_arm', 'best_fixed', 'bound', 'reward']
    >>> list(result.summary().columns[:3])
    ['words', 'reward', 'regret']
    """

    def __init__(self, data: xr.Dataset, provenance: dict[str, Any], nanoseconds: dict[str, float]) -> None:
        self._data = data
        self.provenance = provenance
        self.nanoseconds = nanoseconds
        self.progress: Progress = None
        """How benchmarks that take long report their progress, as the argument of :func:`hlmc.simulate`."""
        self._benchmarks: dict[str, Array] = {}
        self._stored: StoredBenchmarks | None = None

    def keep_benchmarks(self, stored: StoredBenchmarks) -> None:
        """Take the benchmarks of a store as known, and put there those that are computed from now on."""
        self._stored = stored
        for name, kept in stored.kept.items():
            if name == "weak":
                self._keep_best(kept[VALUES], kept[ARMS])
            else:
                self._benchmarks[name] = kept[VALUES]

    @classmethod
    def of(cls, experiment: Experiment, rewards: Array, runs: Array, nanoseconds: dict[str, float]) -> Result:
        """From rewards [policy, run, time]. Benchmarks are computed from the adversary when they are asked for."""
        provenance = experiment.provenance() | {"created": datetime.now(UTC).isoformat(timespec="seconds")}
        runs_played = Runs(list(experiment.policies), runs, experiment.points, rewards, provenance)
        data = dataset(runs_played, {"bound": experiment.bounds()})
        result = cls(data, provenance, nanoseconds)
        result.__dict__["environments"] = experiment.environments
        return result

    @cached_property
    def environments(self) -> tuple[Adversary, ...] | None:
        """The adversaries. Run r faced number r mod E; E is 1 by default.

        None where a result was loaded and an adversary cannot be made again from its name alone.
        """
        from hlmc.adversaries.reading import from_repr

        found = [from_repr(text) for text in self.provenance.get("environments", [self.provenance["adversary"]])]
        return None if None in found else tuple(found)  # type: ignore[arg-type]

    @property
    def adversary(self) -> Adversary | None:
        """The first environment, by default the only one; None if unknown."""
        return None if self.environments is None else self.environments[0]

    @property
    def _count(self) -> int:
        """E, the number of environments."""
        return len(self.provenance.get("environments", [None]))

    @property
    def faced(self) -> Array:
        """[run]: the number of the environment that each run faced."""
        return np.asarray(self._data["run"].values % self._count)

    @property
    def units(self) -> Array:
        """[run]: runs of one number are not independent: those in one of several environments."""
        return self.faced if self._count > 1 else np.arange(self._data.sizes["run"])

    def _keep_best(self, values: Array, arms: Array) -> None:
        self._data = self._data.assign(best_fixed=labelled(values), best_arm=labelled(arms))

    @property
    def data(self) -> xr.Dataset:
        """Cumulative ``reward(policy, run, time)`` and the proved ``bound(policy, time)``; what the best fixed arm
        earns, ``best_fixed(time)``, and which it is, ``best_arm(time)``. With several environments, these two are
        ``(environment, time)``.

        The best fixed arm is computed when it is first read, here or as a regret. If that would take very long, it is
        NaN; ``regret("weak", force=True)`` computes it anyway.
        """
        if "best_fixed" in self._data:
            return self._data
        from hlmc.simulation.lazy import lazily

        sizes = {"environment": self._count, "time": len(self.times)}
        if self._count == 1:
            del sizes["environment"]
        return self._data.assign(
            best_fixed=lazily(sizes, np.float64, lambda: self._affordable_best()[0]),
            best_arm=lazily(sizes, np.int64, lambda: self._affordable_best()[1]),
        )

    def _affordable_best(self) -> tuple[Array, Array]:
        """What the best fixed arm earns and which it is, at every time point; NaN and -1 with a warning if that is not
        known and would take very long."""
        if "best_fixed" not in self._data:
            try:
                self._find_best_fixed(force=False)
            except BadArgument as error:
                warnings.warn(f"the best fixed arm is not known: {error}", stacklevel=2)
                nothing = stacked([np.full(len(self.times), np.nan)] * self._count)
                return nothing, np.full(nothing.shape, -1)
        return self._data["best_fixed"].values, self._data["best_arm"].values

    def _find_best_fixed(self, force: bool, progress: Progress = None) -> None:
        """Compute the best fixed arm of every time point and keep it."""
        from hlmc.evaluation import best_fixed

        known = self._known_environments("weak")
        with self._judging("best fixed arm", known, progress) as report:
            each = [best_fixed(adversary, self.times, force=force, report=report) for adversary in known]
        values, arms = (stacked([found[part] for found in each]) for part in (0, 1))
        self._keep_best(values, arms)
        if self._stored is not None:
            self._stored.put("weak", values, arms)

    @contextmanager
    def _judging(self, name: str, environments: Sequence[Adversary], progress: Progress) -> Iterator[Report | None]:
        """How a benchmark tells its progress; None if it can take no more than a moment."""
        from hlmc.evaluation.segments import quick

        wanted = self.progress if progress is None else checked_progress(progress)
        share = 1.0 / len(environments)
        if not callable(wanted) and quick(environments[0], int(self.times[-1]), share * _MOMENT):
            yield None
            return
        with reporter(wanted, {name: 1.0}) as opened:
            yield lambda done: opened.advance(name, share * done)

    def _known_environments(self, kind: str) -> tuple[Adversary, ...]:
        if self.environments is None:
            raise BadArgument(
                f"the {kind} benchmark was not computed before this result was saved, and its adversary, "
                f"{self.provenance['adversary']}, cannot be made again from the file"
            )
        return self.environments

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""
        return [str(name) for name in self._data["policy"].values]

    @property
    def times(self) -> Array:
        """The time points: numbers of completed steps."""
        return np.asarray(self._data["time"].values)

    @property
    def reward(self) -> xr.DataArray:
        """Cumulative reward(policy, run, time)."""
        return self._data["reward"]

    def default_kind(self) -> str | None:
        """The regret that :meth:`summary` and :meth:`plot` show unless told: ``"weak"``; where its benchmark would take
        very long, ``"pseudo"``; where that is not known either, None.
        """
        if "best_fixed" in self._data or self.adversary is None:
            return "weak" if "best_fixed" in self._data else None
        return self._affordable_kind

    @cached_property
    def _affordable_kind(self) -> str | None:
        from hlmc.evaluation import too_long

        adversary, horizon = self._known_environments("weak")[0], int(self.times[-1])
        if not too_long(adversary, horizon, self._count):
            return "weak"
        expected = adversary.expected
        return None if expected is adversary or too_long(expected, horizon, self._count) else "pseudo"

    def benchmark(
        self, kind: str = "weak", switches: int | None = None, force: bool = False, progress: Progress = None
    ) -> xr.DataArray:
        """The reward of the benchmark up to each time point(time); with several environments, (environment, time).

        Parameters
        ----------
        kind, switches
            ``"weak"``, ``"shifting"``, ``"dynamic"`` or ``"pseudo"``, as in :meth:`regret`.
        force
            Compute it even if that takes hours.
        progress
            As in :func:`hlmc.simulate`. Default: as it was there; nothing is shown of what takes a moment.

        It is computed once. The result of a simulation with a store keeps it there.
        """
        import xarray as xr

        from hlmc.evaluation import benchmark

        choice("kind", kind, *KINDS)
        if kind == "weak" and switches is None:
            if "best_fixed" not in self._data:
                self._find_best_fixed(flag("force", force), progress)
            return self._data["best_fixed"]
        if switches is not None:
            whole("switches", switches, 1)
        name = kind if switches is None else f"{kind}-{switches}"
        if name not in self._benchmarks:
            known = self._known_environments(kind)
            judged = [each.expected for each in known] if kind == "pseudo" else known
            options: dict[str, Any] = {"switches": switches, "force": flag("force", force)}
            with self._judging(f"benchmark of {kind} regret", judged, progress) as report:
                each = [benchmark(adversary, self.times, kind, report=report, **options) for adversary in known]
            self._benchmarks[name] = stacked(each)
            if self._stored is not None:
                self._stored.put(name, self._benchmarks[name])
        dims, values = labelled(self._benchmarks[name])
        return xr.DataArray(values, dims=dims, coords={"time": self._data["time"]})

    def regret(
        self, kind: str = "weak", switches: int | None = None, force: bool = False, progress: Progress = None
    ) -> xr.DataArray:
        """Regret(policy, run, time): the reward of the benchmark minus that of the policy, up to each time point.

        ``"weak"`` is against the best fixed arm of the prefix, ``"shifting"`` against the best sequence of at most
        ``switches`` constant pieces, ``"dynamic"`` against the best arm of every step. ``"pseudo"`` is against the
        fixed arm of the largest expected reward, and takes no time at any K where an adversary knows what to expect.
        ``force`` and ``progress`` are those of :meth:`benchmark`. A run is judged in the environment that it faced.
        """
        import xarray as xr

        best = self.benchmark(kind, switches, force, progress)
        if "environment" in best.dims:
            best = best.isel(environment=xr.DataArray(self.faced, dims="run"))
        regret = best - self.reward
        return regret.transpose("policy", "run", "time").rename("regret")

    def bound(self, kind: str = "weak", switches: int | None = None) -> xr.DataArray:
        """The proved bound on a kind of regret(policy, time); NaN where there is none.

        A bound on weak regret does not cover shifting regret, unless the policy was made for as many switches.
        """
        kind = choice("kind", kind, *KINDS)
        bound = self._data["bound"]
        if kind in ("weak", "pseudo"):  # in expectation pseudo-regret is at most weak regret
            return bound
        made_for = self.provenance["switches"]
        holds = [
            kind == "shifting" and isinstance(v := made_for.get(name), int) and v >= (switches or 0)
            for name in self.policies
        ]
        return bound.where(np.array(holds)[:, None])

    def summary(
        self, kind: str | None = None, switches: int | None = None, level: float = 0.95, force: bool = False
    ) -> Summary:
        """One row per policy at the last time point: words, reward, regret with its interval, bound, nanoseconds per
        step.

        A :class:`pandas.DataFrame` whose cells hold full numbers and which prints rounded ones. ``kind`` is that of
        :meth:`regret`; by default the weak regret, or what :meth:`default_kind` says where that would take very long.
        ``force`` computes it all the same.
        """
        from hlmc.simulation.summary import summarise

        if flag("force", force):
            self.benchmark(kind or "weak", switches, force)
        return summarise(self, kind, switches, level)

    def plot(
        self,
        kind: str | Axes | None = None,
        switches: int | None = None,
        *,
        ax: Axes | None = None,
        log: bool = False,
        force: bool = False,
        policies: Sequence[str] | None = None,
        colours: Mapping[str, str] | None = None,
    ) -> Axes:
        """Mean regret with 95 % intervals against time; bounds are lines with ticks. Returns the axes.

        Parameters
        ----------
        kind, switches
            As in :meth:`summary`. Where no benchmark is known, rewards are drawn.
        ax
            Where to draw; ``plot(ax)`` does the same. Default: a new figure of `pyplot`, which a notebook shows by
            itself; ``result.plot().figure.savefig("regret.png")`` writes it to a file.
        log
            Whether both axes are logarithmic.
        force
            Compute the benchmark even if that takes hours.
        policies
            The names of those to draw. Default: all.
        colours
            Colours of your own by name, as Matplotlib takes them; the others keep theirs. ``hlmc.plotting.style`` gives
            the figure the size of a column, a page or a slide.
        """
        from hlmc.simulation.drawing import draw_regret

        if not (kind is None or isinstance(kind, str)):
            kind, ax = None, kind
        if flag("force", force):
            self.benchmark(kind or "weak", switches, force)
        return draw_regret(self if policies is None else self[policies], ax, kind, switches, log, colours)

    def __getitem__(self, policies: str | Sequence[str]) -> Result:
        """The same result of some of its policies: ``result[["HLMC", "EXP3"]]``, in the order given.

        >>> import hlmc
        >>> field = {"one": hlmc.Uniform(arms=100), "two": hlmc.UCB1(arms=100)}
        >>> result = hlmc.simulate(field, hlmc.adversaries.BlockTrap(), horizon=50, runs=2, progress=False)
        >>> result["two"].policies
        ['two']
        """
        from hlmc.simulation.parts import chosen

        return chosen(self, policies)

    def compare(self, a: str, b: str, level: float = 0.95) -> Comparison:
        """How much more policy ``a`` earns than policy ``b`` in the same runs or environments, with its interval.

        It is the regret of ``b`` less that of ``a``, of every kind: the benchmark is the same for both.

        >>> import hlmc
        >>> field = {"UCB1": hlmc.UCB1(arms=100), "uniform": hlmc.Uniform(arms=100)}
        >>> result = hlmc.simulate(field, hlmc.adversaries.UniformMeans(100), 2000, runs=32, progress=False)
        >>> found = result.compare("UCB1", "uniform")
        >>> found
        UCB1 earns ... more than uniform (... to ...: 95 % interval of 32 runs)
        >>> found.low > 0.0, found.values.shape
        (True, (32,))
        """
        from hlmc.simulation.parts import compared

        return compared(self, a, b, level)

    def to_latex(self, kind: str | None = None, switches: int | None = None, level: float = 0.95) -> str:
        """The table of :meth:`summary` for a paper, with a caption; it needs ``\\usepackage{booktabs}``."""
        from hlmc.simulation.parts import latex

        return latex(self, kind, switches, level)

    def to_pandas(self, kind: str | None = None, switches: int | None = None) -> pd.DataFrame:
        """A row for each policy, run and time point: its cumulative reward and, with a ``kind``, its regret.

        >>> import hlmc
        >>> result = hlmc.simulate(hlmc.UCB1(arms=100), hlmc.adversaries.BlockTrap(), horizon=50, runs=2, points=5,
        ...                        progress=False)
        >>> result.to_pandas("weak").columns.tolist(), len(result.to_pandas())
        (['policy', 'run', 'time', 'reward', 'weak_regret'], 10)
        """
        from hlmc.simulation.parts import frame

        return frame(self, kind, switches)

    def merge(self, *others: Result) -> Result:
        """One result of this one and others against the same adversary, with the same time points.

        Results of one seed are put together policy by policy and must have the same runs. Results of different seeds
        are put together run by run and must have the same policies; their runs are numbered anew.

        >>> import hlmc
        >>> adversary = hlmc.adversaries.BlockTrap()
        >>> one, two = (hlmc.simulate(policy, adversary, horizon=50, runs=2, progress=False)
        ...             for policy in (hlmc.UCB1(arms=100), hlmc.Uniform(arms=100)))
        >>> one.merge(two)
        <result of UCB1, Uniform against BlockTrap(arms=100, memory=20): 2 runs of 50 steps>
        """
        from hlmc.simulation.merging import merged

        return merged(self, *others)

    def save(self, path: str | Path) -> None:
        """Write the result to a file of the kind that the path ends in.

        ``.parquet`` (or no ending) holds everything, for :func:`hlmc.load_result`: policy, run, time and reward, and
        the rest in its metadata. ``.csv`` is the table of :meth:`to_pandas` with the default kind of regret, for other
        programs.

        The best fixed arm is computed before, unless that would take very long: an adversary of your own cannot be made
        again from the file.
        """
        from hlmc.simulation.reading import save

        save(self, path)

    def __repr__(self) -> str:
        return (
            f"<result of {', '.join(self.policies)} against {title(self.provenance)}: "
            f"{self._data.sizes['run']} runs of {self.provenance['horizon']:,} steps>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary()._repr_html_()}"
