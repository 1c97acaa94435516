"""Experiment 3: the arm that pays moves to another group in every phase."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hlmc.adversaries.arithmetic import divides, divisor, quotient
from hlmc.adversaries.base import STEPS, Adversary, Array, packed, pays
from hlmc.checks import whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.errors import BadArgument

LONG_STEPS, LONG, LONG_INVERSE, LONGS, SHORT, SHORT_INVERSE, GROUP, ARMS, INVERSE, TWOS, MOST = range(11)


@kernel
def _phase(spec: Array, t: int) -> tuple[int, int]:
    """The phase v of step t, and the step at which it ends."""
    rest = t - int(spec[LONG_STEPS])
    if rest < 0:
        v = quotient(t, int(spec[LONG]), spec[LONG_INVERSE])
        return v, (v + 1) * int(spec[LONG])
    short = quotient(rest, int(spec[SHORT]), spec[SHORT_INVERSE])
    return int(spec[LONGS]) + short, int(spec[LONG_STEPS]) + (short + 1) * int(spec[SHORT])


@kernel
def shifting(spec: Array, t: int, arm: int) -> float:
    """1 for arm v N mod K in phase v, 0 for the others."""
    v, _ = _phase(spec, t)
    distance = v * int(spec[GROUP]) + (int(spec[ARMS]) - arm)
    return 1.0 if divides(np.uint64(distance), bits(spec, INVERSE), bits(spec, TWOS), bits(spec, MOST)) else 0.0


@kernel
def _paying(spec: Array, t: int) -> tuple[int, int]:
    """The arm that pays at step t, and the step at which that ends."""
    v, until = _phase(spec, t)
    return v * int(spec[GROUP]) % int(spec[ARMS]), until


@dataclass(frozen=True, repr=False)
class Shifting(Adversary):
    r"""Experiment 3 of the paper: in each of V phases one arm pays, each time in another group.

    The horizon is divided evenly into phases v = 0, ..., V - 1. If V does not divide T, the first phases
    are one step longer than the last. In phase v

    .. math:: r_t(a) = 1 \text{ if } a = v N \bmod K, \text{ else } 0,

    with arms counted from 0. Playing that arm in every phase is the best sequence with V - 1 switches. No
    fixed arm is good.

    Parameters
    ----------
    arms
        K, the number of arms.
    horizon
        T; there are no rewards after it.
    phases
        V, at most T.
    groupsize
        N, the number of arms per group of the learner. Default: ceil(sqrt(K)).

    Examples
    --------
    >>> shifting = Shifting(arms=16, horizon=100, phases=10)
    >>> [int(shifting.rewards(t, t + 1).argmax()) for t in (0, 9, 10, 25, 35, 40)]
    [0, 0, 4, 8, 12, 0]
    >>> list(shifting.changes(35))
    [10, 20, 30]

    References
    ----------
    The paper's Section on numerical examples, shifting regret (Fig. 4).
    """

    arms: int = 16
    horizon: int = 10**6
    phases: int = 10
    groupsize: int | None = None

    rule = staticmethod(shifting)
    piecewise = (_paying, pays)
    binary = True

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1), horizon=whole("horizon", self.horizon, 1))
        self._keep(phases=whole("phases", self.phases, 1, self.horizon))
        self._keep_given(whole, "groupsize", least=1, most=self.arms)
        if self.phases * self.N > STEPS:
            raise BadArgument(f"phases times groupsize must be at most 2^53, not {self.phases} * {self.N}")

    @property
    def N(self) -> int:
        """Arms per group."""
        return self.groupsize or 1 + math.isqrt(self.arms - 1)

    @property
    def length(self) -> int:
        return self.horizon

    @cached_property
    def spec(self) -> Array:
        short, longs = divmod(self.horizon, self.phases)
        long = short + 1
        lengths = (longs * long, long, 1.0 / long, longs, short, 1.0 / short)
        return packed(*lengths, self.N, self.arms, *divisor(self.arms))

    def changes(self, horizon: int) -> Iterator[int]:
        return self._changes(whole("horizon", horizon, 0))

    def _changes(self, horizon: int) -> Iterator[int]:
        short, longs = divmod(self.horizon, self.phases)
        if self.N % self.arms == 0:
            return
        for v in range(1, self.phases):
            t = v * short + min(v, longs)
            if t >= horizon:
                return
            yield t
