"""Rewards that rise and drop periodically, with a different phase for each arm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.arithmetic import quotient
from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import fork, key, seed_of
from hlmc.checks import share, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.engine.stream import unit

LEAD, PEAK, PERIOD, INVERSE, LOWEST = range(5)


@kernel
def sawtooth(spec: Array, t: int, arm: int) -> float:
    """The reward of an arm at step t: a ramp that rises to the arm's peak over a period, with the arm's own phase."""
    period = int(spec[PERIOD])
    x = t - quotient(t, period, spec[INVERSE]) * period
    x += int(unit(fork(bits(spec, LEAD), arm)) * period)
    if x >= period:
        x -= period
    peak = spec[LOWEST] + (1.0 - spec[LOWEST]) * unit(fork(bits(spec, PEAK), arm))
    return peak * float(x + 1) / float(period)  # type: ignore[no-any-return]


@dataclass(frozen=True, repr=False)
class Sawtooth(Adversary):
    """The reward of each arm rises linearly to its peak, drops at once and rises again.

    The phase and the peak of each arm are random. At any step the best arm is one that is about to drop, while the
    best fixed arm is the one with the highest peak. A learner whose epochs have the length of the period always sees
    each group at the same phase.

    Parameters
    ----------
    arms
        K, the number of arms.
    period
        Steps from one drop to the next; at least 2.
    lowest
        The smallest peak, in [0, 1]: peaks are uniform between it and 1. With 1, all arms have the same mean.
    seed
        Seed of the rewards.

    Examples
    --------
    >>> Sawtooth(arms=2, period=4, lowest=1.0).rewards(0, 5).tolist()
    [[0.75, 1.0], [1.0, 0.25], [0.25, 0.5], [0.5, 0.75], [0.75, 1.0]]

    References
    ----------
    Designed for this library.
    """

    arms: int
    period: int = 1000
    lowest: float = 0.5
    seed: int = 0

    rule = staticmethod(sawtooth)

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1), period=whole("period", self.period, 2))
        self._keep(lowest=share("lowest", self.lowest), seed=seed_of(self.seed))

    @property
    def repeats(self) -> int:
        return self.period

    @cached_property
    def spec(self) -> Array:
        keys = (key(self.seed, "Sawtooth", purpose) for purpose in ("lead", "peak"))
        return packed(*keys, self.period, 1.0 / self.period, self.lowest)
