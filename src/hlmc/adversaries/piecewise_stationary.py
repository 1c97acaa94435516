"""Rewards of 0 or 1; all means are redrawn at random times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hlmc.adversaries.arithmetic import quotient
from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import coin, fork, key, seed_of
from hlmc.checks import share, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.engine.stream import unit
from hlmc.errors import BadArgument, shown

COIN, MEAN, CHANGE, SEGMENT, INVERSE, LOW, SPAN = range(7)


@kernel
def segment_of(spec: Array, t: int) -> int:
    """The number of changes up to and including step t; every interval of ``segment`` steps has one."""
    length = int(spec[SEGMENT])
    stretch = quotient(t, length, spec[INVERSE])
    change = int(unit(fork(bits(spec, CHANGE), stretch)) * length)
    return stretch + (1 if t - stretch * length >= change else 0)


@kernel
def segment_mean(spec: Array, t: int, arm: int) -> float:
    """The mean of the arm in the segment of step t."""
    drawn = unit(fork(fork(bits(spec, MEAN), segment_of(spec, t)), arm))
    return spec[LOW] + spec[SPAN] * drawn  # type: ignore[no-any-return]


@kernel
def piecewise_stationary(spec: Array, t: int, arm: int) -> float:
    """1 with the mean of the arm in the segment of step t, else 0."""
    return coin(bits(spec, COIN), t, arm, segment_mean(spec, t, arm))


@dataclass(frozen=True, repr=False)
class PiecewiseStationary(Adversary):
    """Each arm pays 1 with a probability that is constant between changes. At a change, all are redrawn.

    Every interval of ``segment`` steps has one change, at a uniform random position. Segments therefore last
    ``segment`` steps on average and always less than twice that, and a change cannot be predicted from the
    previous one.

    Parameters
    ----------
    arms
        K, the number of arms.
    segment
        Mean number of steps between changes.
    low, high
        The range of the probabilities, within [0, 1]; they are uniform in it.
    seed
        Seed of the rewards.

    Examples
    --------
    >>> adversary = PiecewiseStationary(arms=10**9, segment=1000, seed=1)
    >>> points = list(adversary.change_points(5000))
    >>> len(points), all(c // 1000 == stretch for stretch, c in enumerate(points))
    (5, True)

    References
    ----------
    A. Garivier and E. Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
    """

    arms: int
    segment: int = 10**4
    low: float = 0.0
    high: float = 1.0
    seed: int = 0

    rule = staticmethod(piecewise_stationary)
    mean_rule = staticmethod(segment_mean)
    binary = True

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1), segment=whole("segment", self.segment, 1))
        self._keep(low=share("low", self.low), high=share("high", self.high), seed=seed_of(self.seed))
        if self.low > self.high:
            raise BadArgument(f"low must be at most high, not {shown(self.low)} with high {self.high!r}")

    def change_points(self, horizon: int) -> Iterator[int]:
        """The steps in (0, horizon) at which the probabilities are redrawn, in order."""
        return self._change_points(whole("horizon", horizon, 0))

    def _change_points(self, horizon: int) -> Iterator[int]:
        for stretch in range(-(-horizon // self.segment)):
            with np.errstate(over="ignore"):
                drawn = unit(fork(key(self.seed, "PiecewiseStationary", "change"), stretch))
            t = stretch * self.segment + int(drawn * self.segment)
            if 0 < t < horizon:
                yield t

    def mean_changes(self, horizon: int) -> Iterator[int]:
        return self.change_points(horizon)

    @cached_property
    def spec(self) -> Array:
        keys = (key(self.seed, "PiecewiseStationary", purpose) for purpose in ("coin", "mean", "change"))
        return packed(*keys, self.segment, 1.0 / self.segment, self.low, self.high - self.low)
