"""The table of a result: numbers for programs, and a way to print them for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hlmc import latex
from hlmc.errors import HLMCError
from hlmc.evaluation import by_environment, fitted_exponent, is_skewed, mean_interval, too_few

if TYPE_CHECKING:
    from hlmc.simulation.result import Result


class Summary(pd.DataFrame):
    """A data frame like any other, with full numbers in its cells, that prints rounded ones.

    Its attributes: of which column ``low`` and ``high`` are the interval, its level, the kind of regret, the number of
    steps, and a note on the interval where it is made of few runs.
    """

    @property
    def note(self) -> str:
        """A warning about the intervals; empty if there are enough runs."""
        return str(self.attrs.get("note", ""))

    def shown(self) -> pd.DataFrame:
        """The cells as they are printed: the interval in one column, words as statistics + control, ``-`` if unknown.

        A bound of as many as there are steps is one that any policy keeps, and is printed as such.
        """
        steps = self.attrs.get("steps", np.inf)
        ways: dict[str, Callable[[float], str]] = {
            "exponent": lambda x: f"{x:.2f}",
            "bound": lambda x: "≥ T" if x >= steps else number_shown(x),
            "ns_per_step": nanoseconds_shown,
            "ns_per_choice": nanoseconds_shown,
        }
        cells = {}
        for name in self.columns.drop(["low", "high"], errors="ignore"):
            way = ways.get(str(name), number_shown)
            cells[self._heading(str(name))] = [_cell(x, way) for x in self[name]]
            if name == "words":
                control = self.attrs.get("control", {})
                known = zip(cells["words"], self.index, strict=True)
                cells["words"] = [f"{cell} + {control[i]}" if control.get(i) else cell for cell, i in known]
            if name == self.attrs.get("of", "regret") and {"low", "high"} <= set(self.columns):
                ends = zip(self["low"], self["high"], strict=True)
                cells[f"{100 * self.attrs.get('level', 0.95):g} % interval"] = [_interval(*each) for each in ends]
        return pd.DataFrame(cells, index=self.index)

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:  # type: ignore[override]
        """The cells as they are printed, as LaTeX; with a caption or a label, in a ``table``.

        It needs ``\\usepackage{booktabs}`` in the paper and no other package in Python.

        >>> import hlmc
        >>> result = hlmc.simulate(hlmc.UCB1(arms=2), hlmc.adversaries.Bernoulli([0.2, 0.4]), 50, progress=False)
        >>> print(result.summary().to_latex())
        \\begin{tabular}{lrrrrrrr}
        ...
        """
        return latex.table(self.shown().rename_axis(None), caption, label, self.note)

    def _heading(self, name: str) -> str:
        """How a column is headed; a regret that is not against the rewards as they fell says so."""
        if name == "regret" and self.attrs.get("kind") == "pseudo":
            return "pseudo-regret"
        return name.replace("ns_per_", "ns/")

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self.shown().rename_axis(None).to_string(), self.note)))

    def _repr_html_(self) -> str:
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f"{self.shown().rename_axis(None).to_html()}{note}"


def nanoseconds_shown(x: float) -> str:
    """Three digits, and no exponent.

    >>> nanoseconds_shown(5701.2), nanoseconds_shown(44.43)
    ('5,701', '44.4')
    """
    return f"{x:,.0f}" if x >= 1000.0 else f"{x:.3g}"


def summarise(result: Result, kind: str | None, switches: int | None, level: float) -> Summary:
    """One row per policy, at the last time point. ``kind`` None: the result's default; if that is None, no regret."""
    kind = result.default_kind() if kind is None else kind
    regret = result.reward * np.nan if kind is None else result.regret(kind, switches)
    bound = result.bound(kind or "weak", switches)
    rows = {name: _row(result, regret.sel(policy=name), level) for name in result.policies}
    for name, row in rows.items():
        row["bound"] = float(bound.sel(policy=name)[-1])
        row["ns_per_step"] = result.nanoseconds.get(name, np.nan)
    table = Summary.from_dict(rows, orient="index")
    table = Summary(table.rename_axis("policy"))
    table.attrs["level"] = level
    table.attrs["kind"] = kind
    table.attrs["steps"] = int(result.times[-1])
    judged = result.reward if kind is None else regret
    table.attrs["note"] = note(result, {name: judged.sel(policy=name).values[:, -1] for name in result.policies})
    table.attrs["control"] = control_words(result)
    return table


def control_words(result: Result) -> dict[str, int]:
    """The words of each policy besides its statistics, where they are known."""
    total, words = (result.provenance.get(key, {}) for key in ("words_total", "words"))
    return {name: total[name] - words[name] for name in words if words[name] is not None and total.get(name)}


def note(result: Result, values: Mapping[str, Any]) -> str:
    """What to know of the intervals of these ``values`` of all runs over the runs or environments of a result."""
    skewed = [name for name, each in values.items() if len(each) and is_skewed(by_environment(each, result.units))]
    return too_few(len(np.unique(result.units)), "environment" if len(set(result.faced)) > 1 else "run", skewed)


def _row(result: Result, curves: Any, level: float) -> dict[str, Any]:
    """``curves``: the regret [run, time] of one policy."""
    name = str(curves["policy"].item())
    if not len(curves["run"]):
        nothing = dict.fromkeys(("reward", "regret", "low", "high", "exponent"), np.nan)
        return {"words": _words(result, name), **nothing}
    final = curves.values[:, -1]
    reward = result.reward.sel(policy=name).values[:, -1]
    mean = float(final.mean())
    low, high = np.nan, np.nan
    if not np.isnan(mean) and len(units := by_environment(final, result.units)) > 1:
        _, low, high = mean_interval(units, level)
    try:
        exponent = float(fitted_exponent(curves["time"].values, curves.values.mean(axis=0)).exponent)
    except HLMCError:
        exponent = np.nan
    return {
        "words": _words(result, name),
        "reward": float(reward.mean()),
        "regret": mean,
        "low": float(low),
        "high": float(high),
        "exponent": exponent,
    }


def _words(result: Result, name: str) -> int | float:
    """The words of a policy; not a number where they are unknown."""
    words = result.provenance["words"][name]
    return np.nan if words is None else int(words)


def _cell(x: Any, way: Callable[[float], str]) -> str:
    """What a user has put in a column is printed as it is."""
    if not isinstance(x, (int, float)):
        return str(x)
    return "-" if np.isnan(x) else way(x)


def _interval(low: float, high: float) -> str:
    return "-" if np.isnan(low) else f"{number_shown(low)} to {number_shown(high)}"


def number_shown(x: float) -> str:
    """A number in as many digits as people read.

    >>> number_shown(1513114.5), number_shown(12.3456), number_shown(float("nan"))
    ('1,513,114', '12.35', '-')
    """
    if np.isnan(x):
        return "-"
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"
