"""Rewards that drift: one random walk per arm between 0 and 1, computable at any step."""

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
    """The reward of each arm is a random walk, reflected at 0 and 1, with a uniform random start.

    Adding up all steps would be too slow at step 10^9. The walk is therefore constructed by midpoints, like
    Lévy's construction of Brownian motion. Time is divided into blocks of B steps, where B is the smallest
    power of two with B step^2 >= 4. The values at block boundaries are uniform on the circle of length 2, which is
    [0, 1] and its mirror image. Within a block, the midpoint of an interval of n steps is the mean of its ends
    plus a hashed, almost normal number of variance n step^2 / 4. Any step takes at most log2(B) hashes.

    Its exact properties: apart from the reflection, steps have mean 0, standard deviation ``step`` and no
    correlation. At every step, each arm is uniform on [0, 1]. Values at different block boundaries are independent;
    those of a true reflected walk would be within 10^-8 of independence.

    Parameters
    ----------
    arms
        K, the number of arms.
    step
        The standard deviation of a step, in [1e-6, 1]. Rewards decorrelate after about 1 / step^2 steps.
    seed
        Seed of the rewards.

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
