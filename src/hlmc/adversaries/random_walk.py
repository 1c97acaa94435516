"""Rewards that drift: each arm's walks at random between 0 and 1, and any step can be asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.adversaries.chance import bell, fork, key, seed_of
from hlmc.checks import between, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits
from hlmc.engine.stream import unit

ENDS, DETOURS, MIDDLES, LEVELS, DETOUR, MIDDLE = range(6)
_HALF = math.sqrt(0.5)


@kernel
def random_walk(spec: Array, t: int, arm: int) -> float:
    """The arm's random walk at step t, reflected into [0, 1]."""
    levels = int(spec[LEVELS])
    block = t >> levels
    ends = fork(bits(spec, ENDS), arm)
    left = 2.0 * unit(fork(ends, block))
    # Around the circle of length 2 there are many ways to the next block's start: take the one nearest to a
    # drawn distance.
    way = 2.0 * unit(fork(ends, block + 1)) - left
    drawn = spec[DETOUR] * bell(fork(fork(bits(spec, DETOURS), arm), block))
    right = left + way + 2.0 * math.floor(0.5 * (drawn - way) + 0.5)
    # Halve the block until t is an end of what is left.
    middles = fork(bits(spec, MIDDLES), arm)
    size = spec[MIDDLE]
    start = block << levels
    while start != t:
        levels -= 1
        middle_time = start + (1 << levels)
        middle = 0.5 * (left + right) + size * bell(fork(middles, middle_time))
        size *= _HALF
        if t < middle_time:
            right = middle
        else:
            left = middle
            start = middle_time
    # Fold the circle onto [0, 1].
    left -= 2.0 * math.floor(0.5 * left)
    return min(left, 2.0 - left)


@dataclass(frozen=True, repr=False)
class RandomWalk(Adversary):
    """Each arm's reward is a random walk of its own, reflected at 0 and 1, from an evenly drawn start.

    A walk is a sum of all its steps, which nobody wants to add up at step 10^9. So it is built from the
    outside in, as Lévy built Brownian motion: blocks of B steps, B the least power of two with B step^2 >=
    4, join points drawn evenly on the circle of length 2 that is [0, 1] and its mirror image; within a
    block the middle of every stretch of n steps is the mean of its ends plus a hashed, nearly normal number
    of variance n step^2 / 4. Any step costs log2(B) hashes at most, whatever its number.

    What it is, then, exactly: steps of mean 0, standard deviation ``step`` and no correlation, except for
    the folding; at every single step, each arm evenly distributed on [0, 1]; and from a block's start to
    the next one's independence, where a true reflected walk would be within 10^-8 of it.

    Parameters
    ----------
    arms
        K.
    step
        The standard deviation of a step, in [1e-6, 1]. A reward forgets where it was after about 1 / step^2
        steps.
    seed
        Which of all such sequences it is.

    Examples
    --------
    >>> walk = RandomWalk(arms=10**9, step=0.01, seed=1)
    >>> walk.rewards(10**9, 10**9 + 3, 5, 7).round(3).tolist()
    [[0..., 0...], [0..., 0...], [0..., 0...]]

    References
    ----------
    A. Slivkins and E. Upfal, "Adapting to a changing environment: the Brownian restless bandits", COLT 2008.
    P. Lévy, "Processus stochastiques et mouvement brownien", 1948 (the construction by midpoints).
    """

    arms: int
    step: float = 0.01
    seed: int = 0

    rule = staticmethod(random_walk)

    def __post_init__(self) -> None:
        self._keep(arms=whole("arms", self.arms, 1), seed=seed_of(self.seed))
        self._keep(step=between("step", self.step, 1e-6, 1.0, "[1e-6, 1]"))

    @cached_property
    def spec(self) -> Array:
        keys = (key(self.seed, "RandomWalk", purpose) for purpose in ("ends", "detours", "middles"))
        levels = math.ceil(math.log2(4.0 / self.step**2))
        variance = 2.0**levels * self.step**2
        # Taking the nearest of ways 2 apart adds a number even in [-1, 1], whose variance is 1/3.
        return packed(*keys, levels, math.sqrt(variance - 1.0 / 3.0), 0.5 * math.sqrt(variance))
