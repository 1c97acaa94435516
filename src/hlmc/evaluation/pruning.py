r"""The best fixed arm and the best arm of every step without all K T rewards. Both are exact.

*Pruning.* Rewards are at most 1. An arm that has lost :math:`\ell` of the first s steps, :math:`\ell = s - \sum_{t<s}
r_{k,t}`, has lost at least as much at every later point. If some arm loses :math:`\Lambda < \ell` until the last point,
it has lost no more than that at any point, and arm k is the best at none of those that are left. So the arms are
added up one after another, each until it has lost more than :math:`\Lambda`. :math:`\Lambda` is that of the best of a
few arms that looked good at some steps, and falls when a better arm is found. It decides how long this takes, not what
comes out: an arm's rewards are added in the same order with the same arithmetic as without pruning.

With uniform random means the best of K arms loses about T / K, and an arm of mean :math:`\mu` is given up after about
T / (K (1 - \mu)) steps: T log K rewards in all. If the best arm loses half of the time, half of the steps are needed.

*Periods.* If rewards repeat every P steps, the sum of n = q P + r steps is q times that of a period plus that of its
first r steps: K P rewards in all.

*The best arm of every step.* The arms of a step are asked in order until one pays 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import call_reward, words
from hlmc.errors import BadReward
from hlmc.evaluation.records import Found
from hlmc.evaluation.segments import REWARD_NS, Report, best_of, in_order
from hlmc.evaluation.sums import added, added_product
from hlmc.targets import address_of, compiled

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary

Array = np.ndarray

FEW = 1 << 22
"""With at most this many rewards, there is nothing to save."""

SAMPLED = 128
"""Steps at which all arms are looked at, to find good ones."""

CANDIDATES = 4
"""How many of them are added up to the last point first."""

LARGEST = 1 << 24
"""With more arms than this, not even a few steps are looked at."""

_BUDGET = 1 << 22  # rewards between two looks at whether to stop
_CHUNK = 64  # steps between two looks at what an arm has lost


@kernel
def prune(
    reward_at: Address,
    spec_at: Address,
    arm: int,
    last: int,
    points_at: Address,
    point: int,
    count: int,
    found: Found,
    budget: int,
) -> int:
    """Add up the rewards of the arms from ``arm`` on, each until it cannot be the best any more.

    Parameters
    ----------
    arm, last
        The first arm, and the one before which to end.
    points_at, point, count
        Increasing numbers of steps, and which of them are left: those from ``point`` to ``count - 1``.
    limit_at
        ``limit[0]`` is a loss at the last point that is certain, plus a margin for rounding; it is lowered when an arm
        loses less. ``limit[1]`` is the margin. ``limit[2]`` is the step of a reward that is outside [0, 1].
    values_at, best_at
        The largest sum so far at each point, and its arm.
    budget
        End after about so many rewards.

    Returns
    -------
    The next arm, or -(arm + 1) if a reward of this arm is outside [0, 1].
    """
    spec = words(spec_at)
    points = words(points_at)
    limit = words(found.limit_at)
    values = words(found.values_at)
    best = words(found.best_at)
    horizon = int(points[count - 1])
    spent = 0
    while arm < last and spent < budget:
        total = 0.0
        error = 0.0
        t = 0
        lost = False
        for p in range(point, count):
            stop = int(points[p])
            while t < stop and not lost:
                for _ in range(min(_CHUNK, stop - t)):
                    reward = call_reward(reward_at, spec, t, arm)
                    if not (0.0 <= reward <= 1.0):
                        limit[2] = t
                        return -(arm + 1)
                    total, error = added(total, error, reward)
                    t += 1
                lost = t - total > limit[0]
            if t == stop and total + error > values[p]:
                values[p] = total + error
                best[p] = arm
            if lost:
                break
        if t == horizon:
            limit[0] = min(limit[0], horizon - total + limit[1])
        spent += t
        arm += 1
    return arm


@kernel
def repeat(
    reward_at: Address,
    spec_at: Address,
    arm: int,
    last: int,
    period: int,
    rests_at: Address,
    count: int,
    found: Found,
    budget: int,
) -> int:
    """:func:`prune` for rewards that repeat every ``period`` steps; nothing is given up.

    ``rests`` is [5, count], the points in the order of r = n mod P: r, q = n // P, and which point it is; the other two
    rows are for sums.
    """
    spec = words(spec_at)
    rests = words(rests_at)
    limit = words(found.limit_at)
    values = words(found.values_at)
    best = words(found.best_at)
    spent = 0
    while arm < last and spent < budget:
        total = 0.0
        error = 0.0
        t = 0
        for i in range(count + 1):
            stop = int(rests[i]) if i < count else period
            while t < stop:
                reward = call_reward(reward_at, spec, t, arm)
                if not (0.0 <= reward <= 1.0):
                    limit[2] = t
                    return -(arm + 1)
                total, error = added(total, error, reward)
                t += 1
            if i < count:
                rests[3 * count + i] = total
                rests[4 * count + i] = error
        for i in range(count):
            q = rests[count + i]
            p = int(rests[2 * count + i])
            whole, rounding = added_product(rests[3 * count + i], rests[4 * count + i] + q * error, total, q)
            if whole + rounding > values[p]:
                values[p] = whole + rounding
                best[p] = arm
        spent += period
        arm += 1
    return arm


@kernel
def tops(reward_at: Address, spec_at: Address, first: int, steps: int, arms: int, out_at: Address) -> int:
    """Write the largest reward of every step, and how many arms were asked: ``out`` is [2, steps].

    0, or -(i + 1) if a reward of step ``first + i`` is outside [0, 1]; then ``out[i]`` is the arm.
    """
    spec = words(spec_at)
    out = words(out_at)
    for i in range(steps):
        most = 0.0
        asked = 0
        while asked < arms and most < 1.0:
            reward = call_reward(reward_at, spec, first + i, asked)
            if not (0.0 <= reward <= 1.0):
                out[i] = asked
                return -(i + 1)
            most = max(most, reward)
            asked += 1
        out[i] = most
        out[steps + i] = asked
    return 0


def worthwhile(adversary: Adversary, horizon: int) -> bool:
    """Whether there are enough rewards for pruning, and no phases to count instead."""
    return adversary.arms > 1 and adversary.arms * horizon > FEW and adversary.changes(horizon) is None


@dataclass(frozen=True)
class Outlook:
    """What a few steps say of all arms: which arms are good, and how many rewards pruning will take."""

    adversary: Adversary
    horizon: int

    @property
    def period(self) -> int | None:
        """The period of the rewards, if it is shorter than the horizon."""
        period = self.adversary.repeats
        return period if period is not None and period < self.horizon else None

    @cached_property
    def means(self) -> Array:
        """The mean reward of every arm at some steps; for random rewards, the mean of what is expected there."""
        known = self.adversary.expected
        changes = known.changes(self.horizon)
        if changes is not None and not any(True for _ in changes):  # one step is like any other
            return np.asarray(known.rewards(0, 1)[0])
        # Evenly over time, but at no fixed distance, which could be a multiple of a period.
        places = (np.arange(SAMPLED) + np.arange(SAMPLED) * 0.6180339887498949 % 1.0) / SAMPLED
        steps = np.unique((places * self.horizon).astype(np.int64)).tolist()
        means = np.zeros(known.arms)
        for t in steps:
            means += known.rewards(t, t + 1)[0] / len(steps)
        return means

    @cached_property
    def limit(self) -> float:
        """A loss at the horizon that is certain: that of the best of a few good arms, plus a margin for rounding."""
        if self.adversary.arms > LARGEST:
            return np.inf
        few = np.argpartition(-self.means, min(CANDIDATES, self.adversary.arms) - 1)[:CANDIDATES]
        search = _Search(self.adversary, np.array([float(self.horizon)]), np.inf)
        for arm in few.tolist():
            search.ask(arm, arm + 1, Event())
        return float(search.limit[0])

    @property
    def rewards(self) -> float:
        """About how many rewards it takes to find the best fixed arm."""
        if self.period is not None:
            return float(self.adversary.arms) * self.period
        if self.adversary.arms > LARGEST:
            return float(self.adversary.arms) * self.horizon
        with np.errstate(divide="ignore"):
            each = np.minimum(self.limit / (1.0 - self.means), self.horizon)
        return float(np.maximum(each, 1.0).sum())

    @property
    def seconds(self) -> float:
        """About how long that takes on one core."""
        return 1e-9 * REWARD_NS * self.rewards


class _Search:
    """Sums of some arms, and the best of them at every point."""

    def __init__(self, adversary: Adversary, times: Array, limit: float, period: int | None = None) -> None:
        self._adversary = adversary
        self._times = times
        self._margin = 1e-6 + 1e-9 * float(times[-1])
        self.limit = np.array([limit, self._margin, -1.0])
        self.values = np.full(len(times), -1.0)
        self.best = np.zeros(len(times))
        self._code = (adversary.address, address_of(adversary.spec))
        self._found = Found(address_of(self.limit), address_of(self.values), address_of(self.best))
        self._period = period
        # Nothing has been earned after no steps: the first arm is as good as any.
        self._first = int(np.searchsorted(times, 0.0, side="right"))
        self.values[: self._first] = 0.0
        if period is not None:
            rest = times % period
            order = np.argsort(rest, kind="stable")
            table = np.zeros((5, len(times)))
            table[:3] = rest[order], (times // period)[order], order
            self._rests = table.reshape(-1)

    def ask(self, low: int, high: int, stop: Event, report: Report | None = None) -> None:
        """Look at the arms low to high - 1."""
        arm = low
        with np.errstate(over="ignore"):  # as in Adversary.rewards
            while arm < high and not stop.is_set():
                before = arm
                if self._period is None:
                    at = (address_of(self._times), self._first, len(self._times))
                    arm = compiled(prune)(*self._code, arm, high, *at, self._found, _BUDGET)
                else:
                    at = (self._period, address_of(self._rests), len(self._times))
                    arm = compiled(repeat)(*self._code, arm, high, *at, self._found, _BUDGET)
                if arm < 0:
                    raise refusal(self._adversary, int(self.limit[2]), -arm - 1)
                if report is not None:
                    report((arm - before) / self._adversary.arms)


def best_arms(
    adversary: Adversary, times: Array, outlook: Outlook, threads: int, report: Report | None = None
) -> tuple[Array, Array]:
    """The largest sums at the points and the arms that have them, ties to the lowest: as by all K T rewards.

    ``times``: at least one point, the last of them the horizon of the outlook. ``report`` is told shares of the work,
    by any thread.
    """
    period = outlook.period
    limit = np.inf if period is not None else outlook.limit
    shared = np.array([limit])
    compiled(prune if period is None else repeat)
    _ = adversary.spec, adversary.address
    stop = Event()
    pieces = min(adversary.arms, 1 if threads == 1 else 16 * threads)
    cut = [(i * adversary.arms // pieces, (i + 1) * adversary.arms // pieces) for i in range(pieces)]

    def search(arms: tuple[int, int]) -> tuple[Array, Array]:
        found = _Search(adversary, times, float(shared[0]), period)
        found.ask(*arms, stop, report)
        shared[0] = min(shared[0], found.limit[0])  # in a race either may win: both losses are certain
        return found.values, found.best

    return best_of(in_order(search, cut, threads, stop), len(times))


def tops_of(adversary: Adversary, first: int, last: int) -> tuple[Array, Array]:
    """The largest rewards of the steps first to last - 1, and how many arms were asked for each."""
    out = np.empty((2, last - first))
    with np.errstate(over="ignore"):
        spec = address_of(adversary.spec)
        at = (first, last - first, adversary.arms, address_of(out.reshape(-1)))
        status = compiled(tops)(adversary.address, spec, *at)
    if status < 0:
        raise refusal(adversary, first - status - 1, int(out[0, -status - 1]))
    return out[0], out[1]


def tops_seconds(adversary: Adversary, horizon: int) -> float:
    """About how long the best arm of every step takes on one core, from a few steps."""
    some = np.unique(np.linspace(0, horizon - 1, 16).astype(np.int64)).tolist()
    if adversary.arms > LARGEST:
        return 1e-9 * REWARD_NS * adversary.arms * horizon
    asked = sum(float(tops_of(adversary, t, t + 1)[1][0]) for t in some) / len(some)
    return 1e-9 * REWARD_NS * asked * horizon


def refusal(adversary: Adversary, t: int, arm: int) -> BadReward:
    """The error for a reward that is not in [0, 1]; if a function of the user's failed, it raises that."""
    reward = adversary.rewards(t, t + 1, arm, arm + 1)[0, 0]
    return BadReward(f"{adversary!r} gives {reward} at step {t} to arm {arm}; rewards must be numbers in [0, 1]")
