"""Candidates that learn: they are played on the rows whose arm they would have chosen themselves.

A learner's choice depends on what it has seen, so that rows cannot be weighted. It is shown the log row by row; where
it chooses the arm that was played, it is told the reward and goes on, and every other row is passed over. If every arm
had the same chance, rows are passed over regardless of what they pay, and the learner lives as it would have lived,
only slower. If chances differ but none was ever below a least one, a row is kept with probability least / propensity,
which makes them equal.

The choice must have been random given everything before. Within a block it is not: the group was chosen when the block
began. Only the first row of every block is therefore shown; a row of the control group is a block.

References
----------
L. Li, W. Chu, J. Langford and X. Wang, "Unbiased offline evaluation of contextual-bandit-based news article
recommendation algorithms", WSDM 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlmc.checks import between
from hlmc.errors import BadArgument, OutOfTurn, shown
from hlmc.learners import Learner
from hlmc.learners.arms import NamedLearner
from hlmc.logs.reading import Log
from hlmc.policies.base import Policy

Array = np.ndarray


@dataclass(frozen=True)
class Shown:
    """The rows that learners are shown, and which of them chance keeps."""

    rows: Array
    """Numbers of rows, in order."""
    kept: Array
    """Whether chance keeps them if the learner would have chosen their arms."""


def shown_rows(names: Sequence[str], log: Log, least: float | None, seed: int) -> Shown:
    """The rows that a log can show to learners; an error if its propensities are not bounded from below."""
    rows = np.sort(log.firsts)
    uniform = bool(log.control.any())
    if uniform and least is None:
        rows = np.flatnonzero(log.control)
    rows = rows[np.isfinite(log.propensity[rows])]
    if not len(rows):
        raise BadArgument("log must have propensities that are known for learners")
    propensity = log.propensity[rows]
    smallest = float(propensity.min())
    if least is None:
        even = np.allclose(propensity, 1.0 / len(log.labels), rtol=1e-6)
        if not (uniform or even):
            raise BadArgument(
                f"log must be uniform for learners such as {names[0]!r}, or least= state the least propensity that any "
                f"arm ever had: with {smallest:.3g}, the least that was logged, about {smallest * len(rows):,.0f} of "
                f"{len(log.arm):,} rows would be kept"
            )
        least = smallest
    least = between("least", least, 0.0, 1.0, "(0, 1]")
    if smallest < least * (1.0 - 1e-9):
        raise BadArgument(
            f"least must be at most every propensity of the log, of which one is {smallest:.3g}, not {least:g}"
        )
    coins = np.random.default_rng(seed).random(len(rows))
    return Shown(rows, coins * propensity < least)


def started(
    name: str, candidate: Policy | Learner, arms: Sequence[Any], log: Log, seed: int
) -> tuple[Learner, dict[Any, int]]:
    """A learner that may be played, and the log's number of each arm as the learner calls it; -1: never played."""
    if isinstance(candidate, NamedLearner):
        names = list(candidate.arms)
        return candidate.copy(), dict(zip(names, log.places(names).tolist(), strict=True))
    policy = candidate if isinstance(candidate, Policy) else candidate.policy
    if policy.arms != len(arms):
        raise BadArgument(
            f"arms must name the {policy.arms} arms of candidate {name!r} in order, not {len(arms)}: "
            f"{shown(list(arms))}"
        )
    learner = policy.start(seed) if isinstance(candidate, Policy) else candidate.copy()
    return learner, dict(enumerate(log.places(arms).tolist()))


def play(learner: Learner, numbers: dict[Any, int], log: Log, shown_to: Shown) -> tuple[Learner, Array]:
    """Play a learner on the rows that it would have had: the learner as it is then, and the numbers of these rows."""
    zero, one = learner.policy.scale
    rows = shown_to.rows[shown_to.kept]
    told = (zero + log.reward[rows] * (one - zero)).tolist()
    found = []
    idle = learner.copy()  # as it was before it chose what has not been rewarded
    for row, arm, reward in zip(rows.tolist(), log.arm[rows].tolist(), told, strict=True):
        try:
            chosen = learner.select()
        except OutOfTurn:  # its horizon is over
            break
        if numbers[chosen] == arm:
            learner.update(reward)
            found.append(row)
            idle = learner.copy()
    return idle, np.array(found, np.int64)
