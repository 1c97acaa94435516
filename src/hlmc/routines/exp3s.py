"""EXP3.S: EXP3 that adds a fixed share of the total weight to every child in each step, and so can follow changes.

Algorithm 4 of the paper, after Auer, Cesa-Bianchi, Freund and Schapire (2002), section 8. The share is (e alpha / n) W
for every child, as in the algorithm; the paper's prose writes alpha W.

Adding to every weight would take n operations per step. Weights are stored as ``v_i + B`` instead: the share is one
addition to B. To draw in proportion to ``v_i + B``, draw uniformly with probability n B / W, else in proportion to v.

Without rewards, B grows and the v_i do not, so rescaling drives the v_i towards 0. They stop at 2^-1000, where they
are negligible compared with B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from hlmc.engine.arithmetic import exponential, exponential_less_one, logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.records import Level
from hlmc.engine.weight_tree import softplus, tree_log_share, tree_multiply
from hlmc.engine.weights import GAIN_LOG, SCAN, mixed_draw, scan_limit, weights_sound, weights_start
from hlmc.routines.base import SHARE_RANGE, Kernels, LevelContext, Routine

GAMMA = PARAMETERS
RATE = PARAMETERS + 1  # gamma / N
SHARE = PARAMETERS + 2  # e alpha
_HIGH = 2.0**500
_SCALE = 2.0**-500
_FLOOR = 2.0**-1000  # below this, scaling down stops: a v_i of 0 could never grow again, and their sum is divided by
_STRAYED = 1024.0  # the sum is within this factor of the v, and everything within it of _HIGH
SINGLE = {"_HIGH": 2.0**60, "_SCALE": 2.0**-60, "_FLOOR": 2.0**-120}


@kernel
def exp3s_start(level: Level) -> tuple[float, float]:
    """Set all v to 1. The scalars are their sum and B."""
    return weights_start(level.row, level.at, level.n), 0.0


@kernel
def exp3s_select(level: Level, total: float, added: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot in proportion to v, or uniformly with the combined probability of gamma and B."""
    gamma = level.program[level.record + GAMMA]
    mixed = gamma + (1.0 - gamma) * (float(level.n) * added / (total + float(level.n) * added))
    return mixed_draw(level.row, level.at, level.n, total, mixed, u)


@kernel
def exp3s_update(
    level: Level, total: float, added: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Grow the weight played and share: one addition to B. Rescale where the sum has grown far."""
    everything = total + float(level.n) * added
    x = level.program[level.record + RATE] * reward / chance
    if x > 0.0:
        growth = exponential_less_one(x)
        if level.n <= scan_limit():
            gain = (level.row[level.at + slot] + added) * growth
            level.row[level.at + slot] += gain
        else:
            log_v = tree_log_share(level.row, level.at, level.n, slot) + logarithm(total)
            log_w = log_v + softplus(logarithm(added) - log_v) if added > 0.0 else log_v
            log_gain = log_w + logarithm(growth)
            gain = exponential(log_gain)
            tree_multiply(level.row, level.at, level.n, slot, softplus(log_gain - log_v))
        total += gain
    if tau >= 0:  # a part that is credited later shares nothing: the sharing is for choices, not for rewards
        added += level.program[level.record + SHARE] / float(level.n) * everything
    if everything > _HIGH:
        if level.n <= scan_limit():
            for j in range(level.at, level.at + level.n):
                level.row[j] = max(level.row[j] * _SCALE, _FLOOR)
        total = max(total * _SCALE, float(level.n) * _FLOOR)
        added *= _SCALE
    return total, added


@kernel
def exp3s_check(level: Level, total: float, added: float, tau: int, slot: int, chance: float) -> bool:
    """The v, their sum and B are positive and of moderate size; no chance is below gamma / n, so v grow as in EXP3."""
    if not (chance >= 0.5 * level.program[level.record + GAMMA] / float(level.n) and added >= 0.0):
        return False
    if not (0.5 * float(level.n) * _FLOOR <= total and total + float(level.n) * added <= _STRAYED * _HIGH):
        return False
    if level.n > scan_limit():
        return weights_sound(level.row, level.at, level.n, total, GAIN_LOG)
    weight = 0.0
    for j in range(level.at, level.at + level.n):
        if not (level.row[j] >= 0.5 * _FLOOR):
            return False
        weight += level.row[j]
    return weight <= _STRAYED * total and total <= _STRAYED * weight


@kernel
def exp3s_change(level: Level, m: int, slot: int, total: float, added: float, tau: int) -> tuple[float, float]:
    """A fresh child has the mean v of the others; B is for all children alike."""
    if level.n < 2:
        return weights_start(level.row, level.at, m), 0.0
    if slot < 0:
        slot = -1 - slot
        if level.row[level.at + slot] >= total / float(level.n):
            return total, added
    if m < level.n:
        level.row[level.at + slot] = level.row[level.at + level.n - 1]
    elif m == level.n:
        level.row[level.at + slot] = 0.0
    total = 0.0
    for j in range(level.at, level.at + min(level.n, m)):
        total += level.row[j]
    if m == level.n:
        level.row[level.at + slot] = total / float(level.n - 1)
        total += level.row[level.at + slot]
    elif m > level.n:
        mean = total / float(level.n)
        for j in range(level.at + level.n, level.at + m):
            level.row[j] = mean
            total += mean
    return total, added


@dataclass(frozen=True, repr=False)
class EXP3S(Routine):
    r"""EXP3.S at one level.

    .. math:: w_i \leftarrow w_i \exp(\gamma \hat r_i / N) + \frac{e \alpha}{n} \textstyle\sum_j w_j

    Parameters
    ----------
    gamma
        Probability of uniform exploration, in [1e-300, 1]. Default: min(1, sqrt(V N ln(N S) / S)) (Theorem 3; V = 1 if
        the number of switches is unknown, Theorem 4).
    alpha
        The share, in (0, 1). Default: 1 / S.

    Examples
    --------
    >>> context = LevelContext(arms=16, horizon=10**6, children=4, choices=10417, levels=2, switches=10)
    >>> {name: round(value, 3) for name, value in EXP3S().parameters(context).items()}
    {'gamma': 0.202, 'alpha': 0.0}
    """

    gamma: float | None = None
    alpha: float | None = None

    name: ClassVar[str] = "exp3s"
    most_changing: ClassVar[int] = SCAN
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "gain"
    kernels: ClassVar[Kernels] = Kernels(exp3s_start, exp3s_select, exp3s_update, exp3s_check, change=exp3s_change)

    def __post_init__(self) -> None:
        self.check(gamma=SHARE_RANGE, alpha=(0.0, 1.0, "(0, 1)"))

    def cost(self, context: LevelContext) -> float:
        n = context.children
        return context.switches * n * math.log(context.horizon * n) if n > 1 else 0.0

    def parameters(self, context: LevelContext) -> dict[str, float]:
        n, s = context.children, context.choices
        return self.chosen(gamma=min(1.0, math.sqrt(context.switches * n * math.log(n * s) / s)), alpha=1.0 / max(s, 2))

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        gamma, alpha = self.parameters(context).values()
        return gamma, gamma / context.children, math.e * alpha
