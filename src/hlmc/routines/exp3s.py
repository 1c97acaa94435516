"""EXP3.S: EXP3 that gives every child a fixed share of all weight at each step, and so can follow changes.

Algorithm 4 of the paper, after Auer, Cesa-Bianchi, Freund and Schapire (2002), section 8. The share is (e alpha / n) W
for every child, as in the algorithm; the paper's prose writes alpha W.

Adding to every weight would cost n operations a step. Weights are held as ``v_i + B`` instead: the share is one
addition to B, and playing in proportion to ``v_i + B`` is playing by v, or uniformly with probability n B / W.

Without rewards B grows and the v_i do not, so that scaling all of them down drives the v_i towards 0. They stop at
2^-1000, where they no longer count beside B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hlmc.engine.arithmetic import exponential, logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PARAMETERS
from hlmc.engine.weights import (
    GAIN_LOG,
    mixed_draw,
    scan_limit,
    softplus,
    tree_log_share,
    tree_multiply,
    weights_sound,
    weights_start,
)
from hlmc.routines.base import SHARE_RANGE, Array, Kernels, Place, Routine

GAMMA = PARAMETERS
RATE = PARAMETERS + 1  # gamma / N
SHARE = PARAMETERS + 2  # e alpha
_HIGH = 2.0**500
_SCALE = 2.0**-500
_FLOOR = 2.0**-1000  # below this, scaling down stops: a v_i of 0 could never grow again, and their sum is divided by
_STRAYED = 1024.0  # the sum is within this factor of the v, and everything within it of _HIGH
SINGLE = {"_HIGH": 2.0**60, "_SCALE": 2.0**-60, "_FLOOR": 2.0**-120}


@kernel
def exp3s_start(program: Array, level: int, row: Array, at: int, n: int) -> tuple[float, float]:
    """All v 1; the scalars are their sum and B."""
    return weights_start(row, at, n), 0.0


@kernel
def exp3s_select(
    program: Array, level: int, row: Array, at: int, n: int, total: float, added: float, tau: int, u: float
) -> tuple[int, float]:
    """A slot by v, or any slot with the probability that gamma and B add up to."""
    gamma = program[level + GAMMA]
    mixed = gamma + (1.0 - gamma) * (float(n) * added / (total + float(n) * added))
    return mixed_draw(row, at, n, total, mixed, u)


@kernel
def exp3s_update(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    total: float,
    added: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
) -> tuple[float, float]:
    """Grow the weight played and share: one addition to B. Rescale where the sum has grown far."""
    everything = total + float(n) * added
    x = program[level + RATE] * reward / chance
    if x > 0.0:
        growth = math.expm1(x)
        if n <= scan_limit():
            gain = (row[at + slot] + added) * growth
            row[at + slot] += gain
        else:
            log_v = tree_log_share(row, at, n, slot) + logarithm(total)
            log_w = log_v + softplus(logarithm(added) - log_v) if added > 0.0 else log_v
            log_gain = log_w + logarithm(growth)
            gain = exponential(log_gain)
            tree_multiply(row, at, n, slot, softplus(log_gain - log_v))
        total += gain
    added += program[level + SHARE] / float(n) * everything
    if everything > _HIGH:
        if n <= scan_limit():
            for j in range(at, at + n):
                row[j] = max(row[j] * _SCALE, _FLOOR)
        total = max(total * _SCALE, float(n) * _FLOOR)
        added *= _SCALE
    return total, added


@kernel
def exp3s_check(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    total: float,
    added: float,
    tau: int,
    slot: int,
    chance: float,
) -> bool:
    """The v, their sum and B are positive and of moderate size; no chance is below gamma / n, so v grow as in EXP3."""
    if not (chance >= 0.5 * program[level + GAMMA] / float(n) and added >= 0.0):
        return False
    if not (0.5 * float(n) * _FLOOR <= total and total + float(n) * added <= _STRAYED * _HIGH):
        return False
    if n > scan_limit():
        return weights_sound(row, at, n, total, GAIN_LOG)
    weight = 0.0
    for j in range(at, at + n):
        if not (row[j] >= 0.5 * _FLOOR):
            return False
        weight += row[j]
    return weight <= _STRAYED * total and total <= _STRAYED * weight


@dataclass(frozen=True, repr=False)
class EXP3S(Routine):
    r"""EXP3.S at one level.

    .. math:: w_i \leftarrow w_i \exp(\gamma \hat r_i / N) + \frac{e \alpha}{n} \textstyle\sum_j w_j

    Parameters
    ----------
    gamma
        Share of uniform play, in [1e-300, 1]. Default: sqrt(V N ln(N S) / S), cut off at 1 (Theorem 3; V = 1 when the
        number of switches is unknown, Theorem 4).
    alpha
        The share, in (0, 1). Default: 1 / S.

    Examples
    --------
    >>> place = Place(arms=16, horizon=10**6, children=4, choices=10417, levels=2, switches=10)
    >>> {name: round(value, 3) for name, value in EXP3S().parameters(place).items()}
    {'gamma': 0.202, 'alpha': 0.0}
    """

    gamma: float | None = None
    alpha: float | None = None

    name: ClassVar[str] = "exp3s"
    kernels: ClassVar[Kernels] = Kernels(exp3s_start, exp3s_select, exp3s_update, exp3s_check)

    def __post_init__(self) -> None:
        self.check(gamma=SHARE_RANGE, alpha=(0.0, 1.0, "(0, 1)"))

    def cost(self, place: Place) -> float:
        n = place.children
        return place.switches * n * math.log(place.horizon * n) if n > 1 else 0.0

    def parameters(self, place: Place) -> dict[str, float]:
        n, s = place.children, place.choices
        return self.chosen(gamma=min(1.0, math.sqrt(place.switches * n * math.log(n * s) / s)), alpha=1.0 / max(s, 2))

    def packed(self, place: Place) -> tuple[float, ...]:
        gamma, alpha = self.parameters(place).values()
        return gamma, gamma / place.children, math.e * alpha
