"""Parts of a result: some of its policies, two of them compared, a frame of all runs, a table for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hlmc.checks import choice
from hlmc.errors import BadArgument, BadType, shown
from hlmc.evaluation import by_environment, mean_interval
from hlmc.simulation.drawing import sizes
from hlmc.simulation.environments import title
from hlmc.simulation.merging import BY_POLICY
from hlmc.simulation.result import Result
from hlmc.simulation.summary import note, number_shown

Array = np.ndarray


def chosen(result: Result, policies: str | Sequence[str]) -> Result:
    """The result of some policies, with the benchmarks that are known; see :meth:`hlmc.Result.__getitem__`."""
    names = [policies] if isinstance(policies, str) else policies
    if not isinstance(names, (list, tuple)):
        raise BadType(f"policies must be a name or a list of names, not {shown(policies)}")
    for name in names:
        choice("policies", name, *result.policies)
    if not names or len(set(names)) < len(names):
        raise BadArgument(f"policies must be different names of policies, at least one, not {shown(policies)}")
    names = list(names)
    provenance = dict(result.provenance)
    for field in BY_POLICY:
        if field in provenance:
            provenance[field] = {name: provenance[field][name] for name in names if name in provenance[field]}
    nanoseconds = {name: result.nanoseconds[name] for name in names if name in result.nanoseconds}
    part = Result(result._data.sel(policy=names), provenance, nanoseconds)
    part._benchmarks, part._stored, part.progress = result._benchmarks, result._stored, result.progress
    part.__dict__["environments"] = result.environments
    return part


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What one policy earns more than another until the last time point.

    Attributes
    ----------
    a, b
        The names of the policies.
    difference, low, high, level
        The mean reward of ``a`` less that of ``b``, and the ends of its interval of this level.
    values
        The differences [run], or [environment] where there are several.
    note
        What to know of the interval; empty where it is made of enough runs.
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    level: float
    values: Array
    unit: str
    note: str

    def __repr__(self) -> str:
        more = "more" if self.difference >= 0.0 else "less"
        ends = sorted((self.low, self.high) if self.difference >= 0.0 else (-self.low, -self.high))
        number = f"{self.a} earns {number_shown(abs(self.difference))} {more} than {self.b}"
        over = f"{len(self.values)} {self.unit}{'s' * (len(self.values) != 1)}"
        if np.isnan(self.low):
            return f"{number} ({over}: no interval)"
        said = f"{number_shown(ends[0])} to {number_shown(ends[1])}: {100 * self.level:g} % interval of {over}"
        return f"{number} ({said})" + f"\n{self.note}" * bool(self.note)


def compared(result: Result, a: str, b: str, level: float) -> Comparison:
    """The paired difference of two policies; see :meth:`hlmc.Result.compare`."""
    earned = []
    for name, policy in (("a", a), ("b", b)):
        choice(name, policy, *result.policies)
        earned.append(result.reward.sel(policy=policy).values[:, -1])
    if not len(earned[0]):
        raise BadArgument("there is nothing to compare: no run was finished")
    difference = earned[0] - earned[1]
    values = by_environment(difference, result.units)
    low, high = mean_interval(values, level)[1:] if len(values) > 1 else (np.nan, np.nan)
    unit = "environment" if len(set(result.faced)) > 1 else "run"
    told = note(result, {"their difference": difference})
    return Comparison(a, b, float(values.mean()), float(low), float(high), level, values, unit, told)


def frame(result: Result, kind: str | None, switches: int | None) -> pd.DataFrame:
    """A row for each policy, run and time point; see :meth:`hlmc.Result.to_pandas`."""
    columns = {"reward": result.reward}
    if kind is not None:
        columns[f"{kind}_regret"] = result.regret(kind, switches)
    shape = [result._data[axis].values for axis in ("policy", "run", "time")]
    index = pd.MultiIndex.from_product(shape, names=["policy", "run", "time"])
    flat = {name: np.asarray(values.values).reshape(-1) for name, values in columns.items()}
    return pd.DataFrame(flat, index=index).reset_index()


def latex(result: Result, kind: str | None, switches: int | None, level: float) -> str:
    """The summary with a caption that says what was measured; see :meth:`hlmc.Result.to_latex`."""
    table = result.summary(kind, switches, level)
    what = f"{table.attrs['kind']} regret" if table.attrs["kind"] else "Reward"
    pieces = "" if switches is None else f" ({switches} switches)"
    caption = f"{what}{pieces} against {title(result.provenance)}, {sizes(result)}"
    return table.to_latex(caption=caption[0].upper() + caption[1:])
