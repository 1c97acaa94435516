"""Which policy to take for K arms, M words and T steps, from the arena's measurements and the proved bounds.

``measured.csv`` has medians and worst cases of the arena's ratios to the paper's HLMC, by size; ``scripts/advice.py``
writes it from the files of the arena. 10^6 arms with 10^8 steps were measured before Champion drew from weights whose
sum is only nearly 1, which changes nothing that could be measured. Nothing here needs a compiler, so ``hlmc plan``
answers at once.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hlmc import planning, policies
from hlmc.checks import flag, whole
from hlmc.policies.base import Policy
from hlmc.policies.hierarchy import UNKNOWN
from hlmc.policies.tree import SHOWN_STAGE

__all__ = ["Advice", "Candidate", "Measured", "advise", "measured"]

STAYS = ("Bernoulli", "OneGoodArm", "UniformMeans", "Beta", "Needle", "Decoy")
"""Adversaries whose best arm is fixed, evaluated by weak regret. All others are evaluated by shifting regret."""


@dataclass(frozen=True)
class Measured:
    """The arena's results for a policy at a size: ratios of its regret to HLMC's.

    ``stays`` is the median ratio of weak regret over the adversaries whose best arm is fixed. ``changes`` is the median
    ratio of shifting regret over the others, NaN where none was played (more than 1,000 arms). ``worst`` is the largest
    ratio, against ``adversary``.

    >>> found = measured(100, 10**6)["UCB-M"]
    >>> found.words, found.worst, found.adversary
    (20, 1.08, 'Alternating')
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


def measured(arms: int, horizon: int | None = None, changes: bool = False) -> dict[str, Measured]:
    """The measurements by policy, at the size nearest to this one on logarithmic scales.

    With ``changes``, only sizes count at which adversaries were played whose best arm changes; those are the sizes at
    which all policies were. So it is with an unknown horizon, which counts as the longest that was measured there.

    >>> found = measured(120, 2 * 10**5)
    >>> found["Champion"].arms, found["Champion"].horizon
    (100, 100000)
    """
    arms, changes = whole("arms", arms, 1), flag("changes", changes)
    table = [row for row in _table() if not ((changes or horizon is None) and math.isnan(row.changes))]
    steps = max(row.horizon for row in table) if horizon is None else whole("horizon", horizon, 1)

    def distance(row: Measured) -> float:
        return abs(math.log(row.arms / arms)) + abs(math.log(row.horizon / steps))

    nearest = min(table, key=distance)
    return {row.policy: row for row in table if (row.arms, row.horizon) == (nearest.arms, nearest.horizon)}


@dataclass(frozen=True)
class Candidate:
    """A policy that fits, the bound on its regret at the horizon (None: not proved), and its measurements.

    >>> lowest = advise(arms=100, memory=20, horizon=10**6).lowest
    >>> lowest.policy, lowest.bound == lowest.policy.bound(), lowest.measured.stays
    (Champion(arms=100, memory=20, horizon=1000000), True, 0.0447)
    """

    policy: Policy
    bound: float | None
    measured: Measured


@dataclass(frozen=True)
class Advice:
    """The candidates, sorted by measured regret.

    ``size`` is the size of the measurements: (arms, horizon). ``differences`` lists, as text, how the question is far
    from it: arms or steps by more than a factor of ten, words by more than a factor of three. The policies may rank
    differently there.

    >>> advice = advise(arms=120, memory=30, horizon=2 * 10**6)
    >>> advice.size, type(advice.proved.policy).__name__
    ((100, 1000000), 'HLMC')
    >>> advice.far, advise(arms=100, memory=20, horizon=10).differences
    (False, ('1/10,000 of the steps',))
    """

    candidates: tuple[Candidate, ...]
    size: tuple[int, int]
    differences: tuple[str, ...] = ()

    @property
    def far(self) -> bool:
        """Whether the question is far from what was measured."""
        return bool(self.differences)

    @property
    def lowest(self) -> Candidate:
        """The candidate with the lowest measured regret."""
        return self.candidates[0]

    @property
    def proved(self) -> Candidate | None:
        """The candidate with the smallest bound, or None if no bound is proved."""
        with_bound = [c for c in self.candidates if c.bound is not None]
        return min(with_bound, key=lambda c: c.bound or 0.0) if with_bound else None


def _made(arms: int, memory: int, horizon: int | None, switches: int | str | None) -> Iterator[tuple[str, Policy]]:
    """The policies that fit in ``memory`` words, each with its name in the measurements."""
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
        tsallis = policies.HLMC(arms, memory=memory, horizon=horizon, routines="tsallis-inf")
        yield "HLMC tsallis-rv", tsallis
    if memory >= 4:
        yield "UCB-M", policies.UCBM(arms, memory=memory // 2)


def advise(arms: int, memory: int, horizon: int | None = None, switches: int | str | None = None) -> Advice:
    """Policies for K arms, M words and T steps, with the measurements and the bound of each.

    Parameters
    ----------
    arms, memory, horizon
        K, M (words of statistics) and T, or None if unknown.
    switches
        V, the number of pieces if the best arm changes, or "unknown". If given, the candidates are sorted by shifting
        regret, otherwise by weak regret.

    Examples
    --------
    >>> import hlmc
    >>> advice = hlmc.advice.advise(arms=100, memory=20, horizon=10**6)
    >>> advice.lowest.policy
    Champion(arms=100, memory=20, horizon=1000000)
    """
    K, M = whole("arms", arms, 2), whole("memory", memory, 2)
    T = None if horizon is None else whole("horizon", horizon, 1)
    known_word = switches is None or (isinstance(switches, str) and switches == UNKNOWN)
    V = switches if known_word else whole("switches", switches, 1)
    known = measured(K, T, changes=V is not None)
    found = [
        Candidate(policy, _bound(policy, T, V), known[name]) for name, policy in _made(K, M, T, V) if name in known
    ]
    order: Callable[[Candidate], float] = (lambda c: c.measured.stays) if V is None else (lambda c: c.measured.changes)
    row = next(iter(known.values()))
    return Advice(tuple(sorted(found, key=order)), (row.arms, row.horizon), tuple(_differences(K, M, T, row)))


def _differences(arms: int, memory: int, horizon: int | None, row: Measured) -> Iterator[str]:
    """How what is asked for differs from a measurement by large factors."""
    if not 0.1 <= (factor := arms / row.arms) <= 10.0:
        yield f"{_times(factor)} the arms"
    if horizon is not None and not 0.1 <= (factor := horizon / row.horizon) <= 10.0:
        yield f"{_times(factor)} the steps"
    # Policies in bounded memory were measured in about 2 sqrt(K) words.
    usual = sum(planning.even_groups(arms, min(2, planning.deepest(arms))))
    if memory < arms - 1 and not 1.0 / 3.0 <= (factor := memory / usual) <= 3.0:
        yield f"{_times(factor)} the words that the arena gives as many arms ({usual:,})"


def _times(factor: float) -> str:
    """A factor in words.

    >>> _times(100.0), _times(2.5), _times(0.01)
    ('100 times', '2.5 times', '1/100 of')
    """
    large = factor if factor >= 1.0 else 1.0 / factor
    number = f"{float(f'{large:.2g}'):,g}" if large < 1e6 else f"{large:.1g}".replace("e+0", "e")
    return f"{number} times" if factor >= 1.0 else f"1/{number} of"


def _bound(policy: Policy, horizon: int | None, switches: int | str | None) -> float | None:
    """The bound at the horizon or, if it is unknown, at the stage that the plan shows.

    A bound on weak regret does not bound shifting regret.
    """
    if switches is not None and "shifting regret" not in policy.guarantee.proved:
        return None
    return policy.bound(2**SHOWN_STAGE if horizon is None else horizon)
