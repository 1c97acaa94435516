"""Which policy to take for so many arms, words and steps: what the arena measured, beside what is proved.

``measured.csv`` holds medians and worst cases of the arena's ratios to the paper's HLMC, by size; ``scripts/advice.py``
makes it from the arena's own files. Nothing here needs a compiler, so that ``hlmc plan`` answers at once.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hlmc import policies
from hlmc.checks import whole
from hlmc.policies.base import Policy
from hlmc.policies.hierarchy import UNKNOWN
from hlmc.policies.tree import SHOWN_STAGE

__all__ = ["Advice", "Candidate", "Measured", "advise", "measured"]

STAYS = ("Bernoulli", "OneGoodArm", "UniformMeans", "Beta", "Needle", "Decoy")
"""Adversaries whose best arm stays the same; there weak regret counts. It changes in all others: shifting regret."""


@dataclass(frozen=True)
class Measured:
    """What the arena found of a policy at a size: ratios to HLMC's regret over its adversaries.

    ``stays`` is the median over the adversaries whose best arm stays, by weak regret, ``changes`` that over the others,
    by shifting regret; ``worst`` is the highest ratio of all, against ``adversary``.

    >>> found = measured(100, 10**6)["UCB-M"]
    >>> found.words, found.worst, found.adversary
    (20, 1.1, 'Alternating')
    """

    policy: str
    arms: int
    horizon: int
    words: int
    runs: int
    stays: float
    changes: float
    worst: float
    adversary: str


@lru_cache(maxsize=1)
def _table() -> tuple[Measured, ...]:
    with (Path(__file__).parent / "measured.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Measured(
                policy=row["policy"],
                arms=int(row["arms"]),
                horizon=int(row["horizon"]),
                words=int(row["words"]),
                runs=int(row["runs"]),
                stays=float(row["stays"]),
                changes=float(row["changes"]),
                worst=float(row["worst"]),
                adversary=row["adversary"],
            )
            for row in csv.DictReader(file)
        )


def measured(arms: int, horizon: int | None = None) -> dict[str, Measured]:
    """What was measured, by policy, at the size nearest to this one on logarithmic scales.

    An unknown horizon counts as the longest that was measured.

    >>> found = measured(120, 2 * 10**5)
    >>> found["Champion"].arms, found["Champion"].horizon
    (100, 100000)
    """
    table = _table()
    steps = max(row.horizon for row in table) if horizon is None else horizon

    def distance(row: Measured) -> float:
        return abs(math.log(row.arms / arms)) + abs(math.log(row.horizon / steps))

    nearest = min(table, key=distance)
    return {row.policy: row for row in table if (row.arms, row.horizon) == (nearest.arms, nearest.horizon)}


@dataclass(frozen=True)
class Candidate:
    """A policy that fits, what is proved of its regret at the horizon (None: nothing), and what was measured.

    >>> lowest = advise(arms=100, memory=20, horizon=10**6).lowest
    >>> lowest.policy, lowest.bound, lowest.measured.stays
    (Champion(arms=100, memory=20, horizon=1000000), None, 0.0734)
    """

    policy: Policy
    bound: float | None
    measured: Measured


@dataclass(frozen=True)
class Advice:
    """Candidates for a case, the lowest measured regret first.

    ``size`` is what they were measured at: (arms, horizon).

    >>> advice = advise(arms=120, memory=30, horizon=2 * 10**6)
    >>> advice.size, type(advice.proved.policy).__name__
    ((100, 1000000), 'CrownedHLMC')
    """

    candidates: tuple[Candidate, ...]
    size: tuple[int, int]

    @property
    def lowest(self) -> Candidate:
        """The lowest measured regret."""
        return self.candidates[0]

    @property
    def proved(self) -> Candidate | None:
        """The least bound, where one is proved."""
        with_bound = [c for c in self.candidates if c.bound is not None]
        return min(with_bound, key=lambda c: c.bound or 0.0) if with_bound else None


def _made(arms: int, memory: int, horizon: int | None, switches: int | str | None) -> Iterator[tuple[str, Policy]]:
    """The policies that fit in so many words, each with the name of what was measured for it."""
    if memory >= arms - 1:
        yield "Tsallis-INF", policies.TsallisINF(arms)
    if memory >= arms:
        yield "EXP3", policies.EXP3(arms, horizon)
    if memory >= 2 * arms:
        yield "UCB1", policies.UCB1(arms)
    if memory >= arms:
        return
    blind = horizon is None
    if not isinstance(switches, int):
        yield "Champion unknown T" if blind else "Champion", policies.Champion(arms, memory=memory, horizon=horizon)
        yield "HLMC unknown T" if blind else "HLMC", policies.HLMC(arms, memory=memory, horizon=horizon)
    else:
        told = "Champion unknown T" if blind else "Champion known V"
        yield told, policies.Champion(arms, memory=memory, horizon=horizon, switches=switches)
        yield "HLMC.S", policies.HLMC(arms, memory=memory, horizon=horizon, switches=switches)
    if not blind:
        yield "CrownedHLMC", policies.CrownedHLMC(arms, memory=memory, horizon=horizon)
        tsallis = policies.HLMC(arms, memory=memory, horizon=horizon, routines="tsallis-inf")
        yield "HLMC tsallis-rv", tsallis
    if memory >= 4:
        yield "UCB-M", policies.UCBM(arms, memory=memory // 2)


def advise(arms: int, memory: int, horizon: int | None = None, switches: int | str | None = None) -> Advice:
    """Policies for K arms in M words over T steps, with what was measured and what is proved of each.

    Parameters
    ----------
    arms, memory, horizon
        K, M (words of statistics) and T, or None when it is not known.
    switches
        V, if the best arm is known to change so often, or "unknown" if it changes nobody knows how often: then shifting
        regret orders the candidates, and weak regret otherwise.

    Examples
    --------
    >>> import hlmc
    >>> advice = hlmc.advice.advise(arms=100, memory=20, horizon=10**6)
    >>> advice.lowest.policy
    Champion(arms=100, memory=20, horizon=1000000)
    """
    K, M = whole("arms", arms, 2), whole("memory", memory, 2)
    T = None if horizon is None else whole("horizon", horizon, 1)
    V = switches if switches in (None, UNKNOWN) else whole("switches", switches, 1)
    known = measured(K, T)
    found = [
        Candidate(policy, _bound(policy, T, V), known[name]) for name, policy in _made(K, M, T, V) if name in known
    ]
    order: Callable[[Candidate], float] = (lambda c: c.measured.stays) if V is None else (lambda c: c.measured.changes)
    row = next(iter(known.values()))
    return Advice(tuple(sorted(found, key=order)), (row.arms, row.horizon))


def _bound(policy: Policy, horizon: int | None, switches: int | str | None) -> float | None:
    """What is proved, at the horizon or where the plan of an unknown one is shown.

    A bound on weak regret says nothing of shifting regret.
    """
    if switches is not None and "shifting regret" not in policy.guarantee.proved:
        return None
    return policy.bound(2**SHOWN_STAGE if horizon is None else horizon)
