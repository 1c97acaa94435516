"""Regret against a swept parameter, as in Fig. 5 of the paper: one policy for each value, in one simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import plotting
from hlmc.checks import flag
from hlmc.errors import BadArgument, BadType, shown
from hlmc.evaluation import by_environment, mean_interval
from hlmc.simulation.drawing import ROOM, quantity, sizes
from hlmc.simulation.environments import title
from hlmc.simulation.result import Result
from hlmc.simulation.runner import simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hlmc.simulation.summary import Summary


@dataclass(frozen=True, eq=False)
class Sweep:
    """The outcome of :func:`hlmc.sweep`.

    Attributes
    ----------
    name
        The parameter that was swept.
    values
        Its values, in order.
    result
        The simulation, whose policies are named ``"M = 14"``, one for each value in order.
    """

    name: str
    values: tuple[float, ...]
    result: Result

    def summary(self, kind: str | None = None, switches: int | None = None, level: float = 0.95) -> Summary:
        """The table of :meth:`hlmc.Result.summary`, with a row for each value."""
        return self.result.summary(kind, switches, level)

    def plot(
        self, kind: str | None = None, switches: int | None = None, *, ax: Axes | None = None, log: bool = False
    ) -> Axes:
        """The mean regret at the last time point against the parameter, with 95 % intervals; returns the axes.

        ``result.plot()`` draws the same regrets against time.
        """
        kind = self.result.default_kind() if kind is None else kind
        regret = self.result.reward if kind is None else self.result.regret(kind, switches)
        bound = self.result.bound(kind or "weak", switches).where(kind is not None).isel(time=-1).values
        units = self.result.units
        last = regret.isel(time=-1)
        final = np.array([by_environment(last.sel(policy=name).values, units) for name in self.result.policies])
        look = plotting.Look("blue", "solid", "o")
        with plotting.style():
            ax = plotting.axes(ax)
            if flag("log", log):
                ax.set_xscale("log")
                ax.set_yscale("log", nonpositive="mask")
            mean = final.mean(axis=1)
            ax.plot(self.values, mean, **look.line() | {"markevery": 1})
            if final.shape[1] > 1:
                _, low, high = mean_interval(final, axis=1)
                ax.vlines(self.values, low, high, color=plotting.COLOURS["blue"])
                ax.fill_between(self.values, low, high, **look.band())
            near = np.where(bound <= ROOM * mean.max(), bound, np.nan)
            if np.isfinite(near).any():
                plotting.draw_bound(ax, self.values, near, "black", "proved bound")
                plotting.legend(ax)
            ax.set_xlabel(self.name)
            ax.set_ylabel(quantity(kind, switches))
            plotting.short_ticks(ax.xaxis)
            plotting.short_ticks(ax.yaxis)
            plotting.title(ax, title(self.result.provenance), sizes(self.result))
        return ax


def sweep(
    make: Callable[[Any], Any], values: Sequence[float], adversary: Any, *, name: str = "value", **options: Any
) -> Sweep:
    """Simulate a policy at several values of a parameter and draw its regret against them.

    Parameters
    ----------
    make
        ``make(value)`` gives the policy.
    values
        The values of the parameter: different numbers, in increasing order.
    adversary
        As in :func:`hlmc.simulate`.
    name
        The name of the parameter.
    options
        The other arguments of :func:`hlmc.simulate`: ``horizon``, ``runs``, ``seed``, ``store``, ...

    Examples
    --------
    >>> import hlmc
    >>> found = hlmc.sweep(lambda M: hlmc.HLMC(arms=100, memory=M, horizon=2000), [20, 50, 80],
    ...                    hlmc.adversaries.BlockTrap(), name="M", runs=2, progress=False)
    >>> found.result.policies, found.summary()["words"].tolist()
    (['M = 20', 'M = 50', 'M = 80'], [20, 37, 52])
    """
    if not callable(make):
        raise BadType(f"make must be a function of one value that gives a policy, not {shown(make)}")
    given: Any = values
    numbers = list(given) if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else []
    if not numbers or not all(isinstance(value, Real) for value in numbers):
        raise BadType(f"values must be a list of numbers, not {shown(values)}")
    if any(b <= a for a, b in pairwise(numbers)):
        raise BadArgument(f"values must increase, not {shown(values)}")
    policies = {f"{name} = {value:,}": make(value) for value in numbers}
    return Sweep(name, tuple(float(value) for value in numbers), simulate(policies, adversary, **options))
