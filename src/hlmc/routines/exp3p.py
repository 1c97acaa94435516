"""EXP3.P: EXP3 whose estimates include an upper confidence term, for a bound with high probability.

Algorithm 3 of the paper, after Bubeck and Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed
bandit problems" (2012), section 3.2. The estimate of every child changes in every step by a different amount, so a
step takes n exponentials. A word stores the sum of the estimates of a child; weights are never stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.arithmetic import exponential, logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.routines.base import RATE_RANGE, SHARE_RANGE, Kernels, LevelContext, Routine

ETA = PARAMETERS
GAMMA = PARAMETERS + 1
BETA = PARAMETERS + 2
_LEAST = 2.0**-950  # an estimate is divided by no less than this, so that 2^53 of them have a finite sum
_HIGHEST = 2.0**1010
_SAME = 1e-9  # a relative difference of probabilities that is rounding
SINGLE = {"_LEAST": 2.0**-70, "_SAME": 1e-4}


@kernel
def exp3p_start(level: Level) -> tuple[float, float]:
    """Set all estimates to 0. The scalars are the largest estimate and the sum of the exponentials."""
    for j in range(level.at, level.at + level.n):
        level.row[j] = 0.0
    return 0.0, float(level.n)


@kernel
def exp3p_select(level: Level, top: float, total: float, tau: int, u: float) -> tuple[int, float]:
    """``top`` is the largest sum of estimates, ``total`` the sum of exp(eta (sum - top))."""
    eta = level.program[level.record + ETA]
    gamma = level.program[level.record + GAMMA]
    if u < gamma:
        slot = min(int(u / gamma * float(level.n)), level.n - 1)
    else:
        x = (u - gamma) / (1.0 - gamma) * total
        slot = 0
        for j in range(level.n):
            weight = exponential(eta * (level.row[level.at + j] - top))
            if weight > 0.0:
                slot = j
            if x < weight:
                break
            x -= weight
    return slot, (1.0 - gamma) * exponential(eta * (level.row[level.at + slot] - top)) / total + gamma / float(level.n)


@kernel
def exp3p_update(
    level: Level, top: float, total: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Add (r 1[j = i] + beta) / p_j to every estimate j. A part that is credited later (tau < 0) brings no beta."""
    eta = level.program[level.record + ETA]
    gamma = level.program[level.record + GAMMA]
    beta = level.program[level.record + BETA] if tau >= 0 else 0.0
    highest = top
    for j in range(level.n):
        p = (1.0 - gamma) * exponential(eta * (level.row[level.at + j] - top)) / total + gamma / float(level.n)
        if j == slot and not (abs(p - chance) <= _SAME * chance):
            # Others have been learned from since the choice: its reward is divided by the probability of then.
            level.row[level.at + j] += reward / max(chance, _LEAST) + beta / max(p, _LEAST)
        else:
            level.row[level.at + j] += ((reward if j == slot else 0.0) + beta) / max(p, _LEAST)
        highest = max(highest, level.row[level.at + j])
    total = 0.0
    for j in range(level.n):
        total += exponential(eta * (level.row[level.at + j] - highest))
    return highest, total


@kernel
def exp3p_check(level: Level, top: float, total: float, tau: int, slot: int, chance: float) -> bool:
    """No estimate is above the highest, so no exponential is above 1. That of the highest is 1, so a sum that is added
    up anew is at least 1: nothing is divided by 0. 2^53 more estimates of at most 2 / _LEAST are finite.
    """
    eta = level.program[level.record + ETA]
    highest = 0.0
    for j in range(level.at, level.at + level.n):
        if not (0.0 <= level.row[j] <= _HIGHEST):
            return False
        highest = max(highest, level.row[j])
    return eta * abs(top - highest) <= 0.5 and 0.5 <= total <= 2.0 * float(level.n)


def log_quotient(count: int, delta: float) -> float:
    """ln(count / delta), also if the quotient overflows a float64.

    >>> log_quotient(10, 0.05), log_quotient(10**400, 5e-324)
    (5.298..., 1665.47...)
    """
    try:
        quotient = count / delta
    except OverflowError:
        quotient = math.inf
    return math.log(quotient) if quotient < math.inf else math.log(count) - math.log(delta)


@kernel
def exp3p_change(level: Level, m: int, slot: int, top: float, total: float, tau: int) -> tuple[float, float]:
    """A fresh child has the mean weight of the others, and so an estimate between theirs."""
    if level.n < 2:
        return exp3p_start(Level(level.program, level.record, level.row, level.at, m))
    eta = level.program[level.record + ETA]
    if slot < 0:
        slot = -1 - slot
        if exponential(eta * (level.row[level.at + slot] - top)) >= total / float(level.n):
            return top, total
    fresh = level.at + slot if m == level.n else -1
    if m < level.n:
        level.row[level.at + slot] = level.row[level.at + level.n - 1]
    highest = -_HIGHEST
    lowest = _HIGHEST
    for j in range(level.at, level.at + min(level.n, m)):
        if j != fresh:
            highest = max(highest, level.row[j])
            lowest = min(lowest, level.row[j])
    total = 0.0
    for j in range(level.at, level.at + min(level.n, m)):
        if j != fresh:
            total += exponential(eta * (level.row[j] - highest))
    if m < level.n:
        return highest, total
    others = level.n - 1 if m == level.n else level.n
    mean = total / float(others)
    estimate = max(lowest, highest + logarithm(mean) / eta)
    weight = exponential(eta * (estimate - highest))
    first = fresh if m == level.n else level.at + level.n
    stop = fresh + 1 if m == level.n else level.at + m
    for j in range(first, stop):
        level.row[j] = estimate
        total += weight
    return highest, total


@dataclass(frozen=True, repr=False)
class EXP3P(Routine):
    r"""EXP3.P at one level.

    .. math:: w_i \leftarrow w_i \exp(\eta \tilde r_i), \qquad
              \tilde r_i = (r_i 1\{i = i_t\} + \beta) / p_i

    Parameters
    ----------
    eta
        Learning rate, in (0, 1e10]. Default: 0.95 sqrt(ln N / (N S)).
    gamma
        Probability of uniform exploration, in [1e-300, 1]. Default: min(1, 1.05 sqrt(N ln N / S)).
    beta
        Confidence term, in (0, 1). Default: sqrt(ln(N / delta_d) / (N S)), where delta_d is the part of delta for
        one run of the level. With D = 2 this gives ln(2L/delta) at the top and ln(2KS/delta) at the arms, as in
        Theorem 2; with D = 1 it gives ln(K/delta), as in Lemma 4.

    Examples
    --------
    >>> EXP3P().parameters(LevelContext(arms=10, horizon=1000, children=10, choices=1000, delta=0.05))
    {'eta': 0.01441..., 'gamma': 0.15932..., 'beta': 0.02301...}
    """

    eta: float | None = None
    gamma: float | None = None
    beta: float | None = None

    name: ClassVar[str] = "exp3p"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "gain"
    kernels: ClassVar[Kernels] = Kernels(exp3p_start, exp3p_select, exp3p_update, exp3p_check, change=exp3p_change)

    def __post_init__(self) -> None:
        self.check(eta=RATE_RANGE, gamma=SHARE_RANGE, beta=(0.0, 1.0, "(0, 1)"))

    def cost(self, context: LevelContext) -> float:
        n = context.children
        runs = context.horizon if context.level > 1 else 1
        return n * log_quotient(context.levels * (context.groups or n) * runs, context.delta) if n > 1 else 0.0

    def parameters(self, context: LevelContext) -> dict[str, float]:
        n, s = context.children, context.choices
        union = log_quotient(context.levels * (context.groups or n) * context.restarts, context.delta)
        return self.chosen(
            eta=0.95 * math.sqrt(math.log(n) / (n * s)),
            gamma=min(1.0, 1.05 * math.sqrt(n * math.log(n) / s)),
            beta=math.sqrt(union / (n * s)),
        )
