"""Rewards between 0 and 1 from fixed beta distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real

import numpy as np

from hlmc.adversaries.base import Adversary, Array
from hlmc.adversaries.chance import fork, key, seed_of
from hlmc.checks import between, one_an_arm
from hlmc.engine.arithmetic import exponential, logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.engine.stream import unit
from hlmc.errors import BadArgument

KEY, SHAPES = 0, 1
_LEAST = 1e-3


@kernel
def log_gamma_variate(source: np.uint64, shape: float) -> float:
    """The logarithm of a gamma variate, from the random stream of a key.

    Shapes of at least 1 use the rejection method of Marsaglia and Tsang. Smaller shapes use a variate of
    shape + 1, times U^(1 / shape).
    """
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    n = 1
    while True:
        # A standard normal number by Box and Muller; 1 - u is never 0.
        radius = math.sqrt(-2.0 * logarithm(1.0 - unit(fork(source, n))))
        x = radius * math.cos(2.0 * math.pi * unit(fork(source, n + 1)))
        u = 1.0 - unit(fork(source, n + 2))
        n += 3
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if logarithm(u) < 0.5 * x * x + d - d * v + d * logarithm(v):
                break
    value = logarithm(d * v)
    if shape < 1.0:
        value += logarithm(1.0 - unit(fork(source, 0))) / shape
    return value


@kernel
def beta(spec: Array, t: int, arm: int) -> float:
    """X / (X + Y) for gamma variates X and Y, from their logarithms because small shapes would underflow."""
    source = fork(fork(bits(spec, KEY), t), arm)
    x = log_gamma_variate(fork(source, 0), spec[SHAPES + 2 * arm])
    y = log_gamma_variate(fork(source, 1), spec[SHAPES + 2 * arm + 1])
    return 1.0 / (1.0 + exponential(min(y - x, 700.0)))


@kernel
def beta_mean(spec: Array, t: int, arm: int) -> float:
    """The mean of the arm, a / (a + b) for shapes a and b."""
    a, b = spec[SHAPES + 2 * arm], spec[SHAPES + 2 * arm + 1]
    return a / (a + b)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Beta(Adversary):
    """Each arm pays a beta-distributed reward with a fixed mean, independently at every step.

    With mean m and concentration c the distribution is Beta(m c, (1 - m) c). Its variance is m (1 - m) / (c + 1):
    a small c is almost Bernoulli, a large c almost constant.

    Parameters
    ----------
    means
        The mean of each arm, strictly between 0 and 1.
    concentration
        c, one for all arms or one per arm. The shapes m c and (1 - m) c must be at least 0.001.
    seed
        Seed of the rewards.

    Examples
    --------
    >>> Beta([0.2, 0.8]).rewards(0, 2).round(3).tolist()
    [[0..., 0...], [0..., 0...]]
    >>> Beta.shapes(a=[2.0, 6.0], b=[6.0, 2.0])
    Beta(means=(0.25, 0.75), concentration=(8.0, 8.0), seed=0)

    References
    ----------
    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Trans. Math.
    Software 26 (2000).
    """

    means: tuple[float, ...]
    concentration: float | tuple[float, ...] = 4.0
    seed: int = 0
    arms: int = field(init=False, compare=False)

    rule = staticmethod(beta)
    mean_rule = staticmethod(beta_mean)

    def __post_init__(self) -> None:
        self._keep(means=one_an_arm("means", self.means, 0.0, 1.0, "(0, 1)"), seed=seed_of(self.seed))
        self._keep(arms=len(self.means))
        if isinstance(self.concentration, Real):
            self._keep(concentration=between("concentration", self.concentration, 0.0, math.inf, "(0, inf)"))
        else:
            given = one_an_arm("concentration", self.concentration, 0.0, math.inf, "(0, inf)")
            if len(given) != self.arms:
                raise BadArgument(
                    f"concentration must be one number, or one per arm: {self.arms} numbers, not {len(given)}"
                )
            self._keep(concentration=given)
        for arm, shapes in enumerate(self._shapes()):
            if min(shapes) < _LEAST:
                raise BadArgument(
                    f"concentration must be larger: arm {arm} has the shapes {shapes[0]:g} and "
                    f"{shapes[1]:g}, and the least is {_LEAST:g}"
                )

    @classmethod
    def shapes(cls, a: Sequence[float], b: Sequence[float], seed: int = 0) -> Beta:
        """A Beta adversary from the two shapes of each arm."""
        first = one_an_arm("a", a, 0.0, math.inf, "(0, inf)")
        second = one_an_arm("b", b, 0.0, math.inf, "(0, inf)")
        if len(first) != len(second):
            raise BadArgument(f"b must hold as many numbers as a: {len(first)}, not {len(second)}")
        sums = tuple(x + y for x, y in zip(first, second, strict=True))
        return cls(tuple(x / total for x, total in zip(first, sums, strict=True)), sums, seed)

    def _shapes(self) -> list[tuple[float, float]]:
        given = self.concentration
        each = given if isinstance(given, tuple) else (given,) * self.arms
        return [(mean * c, (1.0 - mean) * c) for mean, c in zip(self.means, each, strict=True)]

    @cached_property
    def spec(self) -> Array:
        run = np.empty(1 + 2 * self.arms)
        run.view(np.uint64)[KEY] = key(self.seed, "Beta", "variate")
        run[SHAPES:] = np.ravel(self._shapes())
        return run
