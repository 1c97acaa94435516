"""Candidates that learn nothing: for every row, the probability of each arm.

Both kinds answer what estimators ask: the probability of the arm that was played, and the mean of one number per arm,
as these numbers were when a row's block began.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hlmc.errors import BadArgument, BadType, shown
from hlmc.logs.means import Means
from hlmc.logs.reading import Log

Array = np.ndarray

ROUNDING = 1e-6


@dataclass(frozen=True)
class Constant:
    """The same distribution at every row."""

    chances: Array
    """[arm of the log]: its probability; they sum to 1 less what rests on arms that the log has not."""
    without: float
    """The probability of arms that the log has not."""

    def of_logged(self, log: Log) -> Array:
        """[row]: the probability of the arm that was played."""
        found: Array = self.chances[log.arm]
        return found

    def mean(self, means: Means) -> Array:
        """[row]: what the candidate earns if every arm pays its mean."""
        return means.mixed(self.chances)


@dataclass(frozen=True)
class PerRow:
    """A rule that answers for every row: entries (row, arm, chance)."""

    row: Array
    arm: Array
    chance: Array
    rows: int

    @cached_property
    def without(self) -> float:
        """The share of all probability that rests on arms that the log has not."""
        return float(self.chance[self.arm < 0].sum() / self.rows)

    def of_logged(self, log: Log) -> Array:
        """[row]: the probability of the arm that was played."""
        hits = self.arm == log.arm[self.row]
        found: Array = np.bincount(self.row[hits], self.chance[hits], minlength=self.rows)
        return found

    def mean(self, means: Means) -> Array:
        """[row]: what the candidate earns if every arm pays its mean."""
        found: Array = np.bincount(self.row, self.chance * means.of(self.arm, self.row), minlength=self.rows)
        return found


Target = Constant | PerRow


def constant(name: str, chances: Mapping[Any, Any], log: Log) -> Constant:
    """A distribution over arms by their labels."""
    arms, values = _checked(name, chances)
    places = log.places(arms)
    here = places >= 0
    return Constant(np.bincount(places[here], values[here], minlength=len(log.labels)), float(values[~here].sum()))


def rule(name: str, function: Callable[[dict[str, Any]], Any], log: Log) -> PerRow:
    """A function of a row, a dictionary of its columns, that answers with an arm or with a distribution over arms."""
    row: list[int] = []
    answers: list[Any] = []
    chance: list[float] = []
    # The function that chooses must not see what the log says of the choice.
    seen = log.table.drop(columns=["arm", "reward", "propensity", "result", "told"], errors="ignore")
    for number, columns in enumerate(seen.to_dict("records")):
        answer = function(columns)  # type: ignore[arg-type]
        if isinstance(answer, Mapping):
            arms, values = _checked(f"{name}: the answer to row {number}", answer)
            row += [number] * len(arms)
            answers += arms
            chance += values.tolist()
        else:
            row.append(number)
            answers.append(answer)
            chance.append(1.0)
    try:
        places = log.places(answers)
    except TypeError:
        raise BadType(f"{name} must answer with an arm, or with a mapping of arms to probabilities") from None
    return PerRow(np.array(row, np.int64), places, np.array(chance), len(log.arm))


def _checked(name: str, chances: Mapping[Any, Any]) -> tuple[list[Any], Array]:
    try:
        values = np.array([float(value) for value in chances.values()])
    except (TypeError, ValueError):
        raise BadType(f"{name} must map arms to probabilities, not {shown(chances)}") from None
    if not (values >= 0.0).all() or not abs(values.sum() - 1.0) <= ROUNDING:
        raise BadArgument(f"{name} must map arms to probabilities that sum to 1, not {shown(chances)}")
    return list(chances), values / values.sum()
