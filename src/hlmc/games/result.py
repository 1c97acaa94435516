"""The result of a game: rewards, fairness, regret and occupancy; a table, plots, a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.checks import choice, flag
from hlmc.errors import BadFile, need_lab
from hlmc.files.parquet import check_digest, table_of, write_table
from hlmc.simulation.tables import saved_path, write_csv

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from hlmc.games.base import Game
    from hlmc.games.population import Group
    from hlmc.games.runs import Played
    from hlmc.simulation.summary import Summary

Array = np.ndarray

ALL = "all"
"""The name of a whole mixed population in a table."""
_KEY = b"hlmc-game"
_UNSEALED = b"hlmc-game-result-1"  # of files written before they had a digest


class GameResult:
    """The result of :func:`hlmc.play`.

    :attr:`data` is an :class:`xarray.Dataset` over the groups of the population (``policy``), runs and time
    points:

    * ``reward(policy, run, time)``: the cumulative reward of an agent of the group, averaged over its agents, in the
      game's units;
    * ``square(policy, run, time)``: the mean over the agents of the squared cumulative reward;
    * ``best_fixed(policy, run, time)``, ``best_together(run, time)``: the benchmarks of :meth:`regret`;
    * one variable for each fact of the game, ``clear(policy, run, time)``: the fraction of all choices so far
      for which it was true;
    * ``occupancy(policy, run, time, arm)``: agents on an arm, averaged over the steps since the previous point;
    * ``clear_arms(run, time, arm)`` for each fact: the fraction of those steps in which it was true of the arm;
    * ``agent_reward(run, agent)``: the total reward of each agent, group by group;
    * ``agents(policy)``: the number of agents of each group.

    >>> import hlmc
    >>> game = hlmc.games.Spectrum(agents=50, channels=4)
    >>> result = hlmc.play(hlmc.HLMC(arms=4, levels=2), game, horizon=500, runs=3, progress=False)
    >>> list(result.summary().columns[:4])
    ['agents', 'words', 'reward', 'low']
    """

    def __init__(
        self, data: xr.Dataset, provenance: dict[str, Any], game: Game | None = None, nanoseconds: float = np.nan
    ) -> None:
        self.data = data
        self.provenance = provenance
        self.game = game
        self.nanoseconds = nanoseconds
        """Wall-clock nanoseconds per choice (one agent, one step), within its run."""

    @classmethod
    def of(
        cls, groups: tuple[Group, ...], game: Game, points: Array, finished: list[Played], provenance: dict[str, Any]
    ) -> GameResult:
        """A result from the finished runs, in any order."""
        import xarray as xr

        finished = sorted(finished, key=lambda played: played.run)
        by_group = ("policy", "run", "time")

        def grouped(values: list[Array]) -> Array:
            return np.stack(values).transpose(2, 0, 1)  # [run, time, policy] before

        variables: dict[str, Any] = {
            "reward": (by_group, grouped([played.sums for played in finished])),
            "square": (by_group, grouped([played.squares for played in finished])),
            "best_fixed": (by_group, grouped([played.stayed for played in finished])),
            "best_together": (("run", "time"), np.stack([played.together for played in finished])),
            "agent_reward": (("run", "agent"), np.stack([played.agents for played in finished])),
        }
        for f, fact in enumerate(game.facts):
            variables[fact] = (by_group, grouped([played.shares[f] for played in finished]))
        if len(finished[0].occupancy):
            occupancy = np.stack([played.occupancy for played in finished]).transpose(2, 0, 1, 3)
            variables["occupancy"] = ((*by_group, "arm"), occupancy)
            for f, fact in enumerate(game.facts):
                true_of = np.stack([played.true_of[f] for played in finished])
                variables[f"{fact}_arms"] = (("run", "time", "arm"), true_of)
        names = [group.name for group in groups]
        coordinates = {
            "policy": np.array(names, dtype=object),
            "agents": ("policy", np.array([group.agents for group in groups])),
            "run": np.array([played.run for played in finished]),
            "time": points.astype(np.int64),
        }
        if len(finished[0].occupancy):
            coordinates["arm"] = np.arange(game.arms)
        data = xr.Dataset(variables, coordinates, {"provenance": json.dumps(provenance)})
        choices = len(finished) * game.agents * int(points[-1])
        return cls(data, provenance, game, 1e9 * sum(played.seconds for played in finished) / choices)

    @property
    def policies(self) -> list[str]:
        """The names of the groups."""
        return [str(name) for name in self.data["policy"].values]

    def mean_reward(self, window: bool = False) -> xr.DataArray:
        """The mean reward(policy, run, time) per agent per step: up to each time point, or since the previous one."""
        reward = self.data["reward"]
        return (_since(reward) if flag("window", window) else reward / reward["time"]).rename("mean_reward")

    def share(self, fact: str, window: bool = False) -> xr.DataArray:
        """The fraction(policy, run, time) of choices for which a fact was true: so far, or since the last point."""
        choice("fact", fact, *self.provenance["facts"])
        share = self.data[fact]
        return _since(share * share["time"]).rename(fact) if flag("window", window) else share

    def fairness(self, whole: bool = False) -> xr.DataArray:
        r"""Jain's index (policy, run, time) of the agents' cumulative rewards.

        :math:`(\sum x_i)^2 / (n \sum x_i^2)`: 1 if all agents earned the same, 1/n if one agent earned
        everything. It is 1 if no agent earned anything. ``whole``: for the whole population, (run, time).
        """
        mean, square = self.data["reward"], self.data["square"]
        if flag("whole", whole):
            mean, square = self._over_agents(mean), self._over_agents(square)
        index = (mean**2 / square.where(square > 0.0)).fillna(1.0).clip(max=1.0)
        return index.rename("fairness")

    def regret(self, kind: str = "agent") -> xr.DataArray:
        r"""The mean regret per agent against one fixed arm.

        ``"agent"`` (policy, run, time): a single agent plays arm c all the time, while all other agents and the game
        do what they did. In round t it would get :math:`p_t(c, n_t(c))` if it was there anyway
        and :math:`p_t(c, n_t(c) + 1)` if it was not. This is averaged over the agents of the group, and c is the arm
        for which the average is largest, the same for all of them. For one agent alone it is the weak regret. (Where
        payoffs depend on the other arms' counts too, an agent that moves still counts where it was.)

        ``"population"`` (run, time): all agents play the same arm all the time, the best such arm in hindsight, while
        the game does what it did. It can be negative, because spreading over the arms can be better.

        Both are per agent; multiply by the number of agents for the whole population.
        """
        if choice("kind", kind, "agent", "population") == "agent":
            regret = self.data["best_fixed"] - self.data["reward"]
        else:
            regret = self.data["best_together"] - self._over_agents(self.data["reward"])
        return regret.rename("regret")

    def _over_agents(self, values: xr.DataArray) -> xr.DataArray:
        """The mean over all agents from the means over groups."""
        agents = self.data["agents"]
        return (values * agents).sum("policy") / agents.sum()

    def summary(self, level: float = 0.95) -> Summary:
        """One row per group at the last time point, and one for all agents of a mixed population.

        The columns: number of agents; words of statistics; mean reward per agent per step with its interval over the
        runs; Jain's index; the fractions of choices for which the game's facts were true; regret per agent per step;
        nanoseconds per choice.
        """
        import pandas as pd

        from hlmc.evaluation import is_skewed, mean_interval, too_few
        from hlmc.simulation.summary import Summary

        end = self.data.isel(time=-1)
        steps = int(end["time"])
        fairness, regret = self.fairness().isel(time=-1), self.regret().isel(time=-1)
        rows, skewed = {}, []
        for name in [*self.policies, *([ALL] if len(self.policies) > 1 else [])]:

            def of(values: xr.DataArray, name: str = name) -> Array:
                chosen = self._over_agents(values) if name == ALL else values.sel(policy=name)
                return np.asarray(chosen.values, dtype=np.float64)

            reward = of(end["reward"]) / steps
            low, high = mean_interval(reward, level)[1:] if len(reward) > 1 else (np.nan, np.nan)
            if len(reward) and is_skewed(reward):
                skewed.append(name)
            jain = self.fairness(whole=True).isel(time=-1).values if name == ALL else of(fairness)
            rows[name] = {
                "agents": int(end["agents"].sum()) if name == ALL else int(end["agents"].sel(policy=name)),
                "words": np.nan if (words := self.provenance["words"].get(name)) is None else words,
                "reward": float(reward.mean()),
                "low": float(low),
                "high": float(high),
                "fairness": float(jain.mean()),
                **{fact: float(of(end[fact]).mean()) for fact in self.provenance["facts"]},
                "regret": float(of(regret).mean()) / steps,
                "ns_per_choice": self.nanoseconds,
            }
        table = Summary(pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy"))
        table.attrs |= {
            "of": "reward",
            "level": level,
            "steps": steps,
            "note": too_few(end.sizes["run"], skewed=skewed),
        }
        return table

    def plot(self, kind: str | Axes = "reward", *, ax: Axes | None = None, window: bool = False) -> Axes:
        """Mean reward per agent per step against time, with 95 % intervals over the runs; returns the axes.

        Parameters
        ----------
        kind
            ``"reward"``; ``"regret"``, that of one agent; ``"fairness"``, Jain's index; or ``"occupancy"``, as
            :meth:`plot_occupancy` draws it.
        ax
            Where to draw; default: a new figure of `pyplot`. ``plot(ax)`` does the same.
        window
            Mean rewards since the previous time point instead of up to each.
        """
        from hlmc.games.drawing import KINDS, draw_curves

        if not isinstance(kind, str):
            ax, kind = kind, "reward"
        if choice("kind", kind, *KINDS, "occupancy") == "occupancy":
            return self.plot_occupancy(ax)
        return draw_curves({name: (self, name) for name in self.policies}, ax, kind, flag("window", window))

    def plot_occupancy(self, ax: Axes | None = None, policy: str | None = None, run: int | None = None) -> Axes:
        """A heat map of the agents on each arm against time; returns the axes.

        Shows all groups or one of them, and the mean over the runs or one run. The game's marked fact (the clear
        channel) is outlined.
        """
        from hlmc.games.drawing import draw_occupancy

        return draw_occupancy(self, ax, policy, run)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each group, run and time point: reward and regret per agent, fairness, and the game's facts.

        >>> import hlmc
        >>> game = hlmc.games.Routing(agents=20, links=3)
        >>> result = hlmc.play(hlmc.UCB1(arms=3), game, horizon=100, runs=2, points=5, progress=False)
        >>> table = result.to_pandas()
        >>> len(table), table.columns[:6].tolist()
        (10, ['policy', 'run', 'time', 'reward', 'regret', 'fairness'])
        """
        import xarray as xr

        facts = {fact: self.data[fact] for fact in self.provenance["facts"]}
        columns = {"reward": self.data["reward"], "regret": self.regret(), "fairness": self.fairness(), **facts}
        table = xr.Dataset(columns).drop_vars("agents").to_dataframe(dim_order=["policy", "run", "time"])
        return table.reset_index()

    def save(self, path: str | Path) -> None:
        """Write the result to a file of the kind that the path ends in.

        ``.parquet`` (or no ending) holds everything, for :func:`load_result`: one row, one column per variable, shapes
        in the metadata. ``.csv`` is the table of :meth:`to_pandas`, for other programs.
        """
        path = saved_path("path", path)
        if path.suffix.lower() == ".csv":
            write_csv(path, self.to_pandas())
            return
        everything = self.data.reset_coords("agents")
        shapes = {str(name): [list(v.dims), list(v.shape)] for name, v in everything.data_vars.items()}
        notes = {
            "provenance": self.provenance,
            "shapes": shapes,
            "policy": self.policies,
            "run": self.data["run"].values.tolist(),
            "time": self.data["time"].values.tolist(),
            "nanoseconds": self.nanoseconds,
        }
        flat = {name: everything[name].values.reshape(-1).astype(np.float64) for name in shapes}
        write_table(path, {name: [values] for name, values in flat.items()}, _KEY, notes, flat.values())

    def __repr__(self) -> str:
        who = " + ".join(f"{n} {name}" for name, n in self.provenance["agents"].items())
        runs, horizon = self.data.sizes["run"], self.provenance["horizon"]
        return f"<result of {who} in {self.provenance['game']}: {runs} runs of {horizon} steps>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>" + self.summary()._repr_html_()


def load_result(path: str | Path) -> GameResult:
    """Read a result that :meth:`GameResult.save` wrote; its ``game`` is None (``provenance`` says which).

    >>> import hlmc, tempfile, os
    >>> game = hlmc.games.Routing(agents=20, links=3)
    >>> result = hlmc.play(hlmc.UCB1(arms=3), game, horizon=100, runs=2, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(os.path.join(folder, "result.parquet"))
    ...     again = hlmc.games.load_result(os.path.join(folder, "result.parquet"))
    >>> again.data.identical(result.data)
    True
    """
    need_lab()
    import xarray as xr

    with table_of(path) as (table, metadata):
        key = _UNSEALED if _UNSEALED in metadata else _KEY
        if key not in metadata:
            raise BadFile(f"{path} is not a result of a game")
        notes = json.loads(metadata[key])
        flat = {name: table.column(name)[0].values.to_numpy() for name in notes["shapes"]}
        if key == _KEY:
            check_digest(path, metadata, key, flat.values())
        variables = {name: (dims, flat[name].reshape(shape)) for name, (dims, shape) in notes["shapes"].items()}
        coordinates: dict[str, Any] = {
            "policy": np.array(notes["policy"], dtype=object),
            "agents": ("policy", variables.pop("agents")[1].astype(np.int64)),
            "run": np.array(notes["run"], dtype=np.int64),
            "time": np.array(notes["time"], dtype=np.int64),
        }
        if "occupancy" in variables:
            coordinates["arm"] = np.arange(variables["occupancy"][1].shape[-1])
        data = xr.Dataset(variables, coordinates, {"provenance": json.dumps(notes["provenance"])})
        return GameResult(data, notes["provenance"], None, float(notes["nanoseconds"]))


def _since(sums: xr.DataArray) -> xr.DataArray:
    """Means over the steps since the previous time point, from cumulative sums."""
    first = sums.isel(time=0) / sums["time"][0]
    later = sums.diff("time", label="upper") / sums["time"].diff("time", label="upper")
    import xarray as xr

    return xr.concat([first, later], "time").transpose(*sums.dims)
