"""Thompson sampling with Beta posteriors, for stochastic rewards (Thompson, 1933; Agrawal and Goyal, 2012).

Play the child whose mean, drawn from its posterior Beta(1 + successes, 1 + failures), is largest. A reward r in [0, 1]
counts as a success with probability r and as a failure otherwise (Algorithm 2 of Agrawal and Goyal, "Analysis of
Thompson Sampling for the multi-armed bandit problem", COLT 2012). Two words per child: its successes and its plays.

The probability of a choice is an integral over all posteriors, which is not computed: ``probability`` is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hlmc.engine.codes import next_seed, rounding_bits, rounding_seed, seed_sound
from hlmc.engine.kernel import kernel
from hlmc.engine.records import Level
from hlmc.engine.stream import mix, unit
from hlmc.engine.ucb import pairs_change, pairs_play, pairs_sound, pairs_start
from hlmc.engine.variates import beta_variate
from hlmc.routines.base import Kernels, Routine

_DIGITS = 9007199254740992.0  # 2^53, of which a uniform number is a multiple of the inverse


@kernel
def thompson_start(level: Level) -> tuple[float, float]:
    """Set all successes and plays to 0. The second scalar is the seed of the coins."""
    a, _ = pairs_start(level)
    return a, rounding_seed(level.row, level.record)


@kernel
def thompson_select(level: Level, a: float, seed: float, tau: int, u: float) -> tuple[int, float]:
    """Draw every child's mean from its posterior and take the largest; 1 stands for the unknown probability."""
    source = mix(np.uint64(int(u * _DIGITS)))
    best = 0
    highest = -1.0
    for j in range(level.n):
        won: float = level.row[level.at + j]
        played: float = level.row[level.at + level.n + j]
        drawn = beta_variate(source + np.uint64(2 * j), 1.0 + won, 1.0 + (played - won))
        if drawn > highest:
            best = j
            highest = drawn
    return best, 1.0


@kernel
def thompson_update(
    level: Level, a: float, seed: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Count the play, and with probability ``reward`` a success."""
    return a, next_seed(pairs_play(level, seed, slot, 1.0 if unit(rounding_bits(seed)) < reward else 0.0))


@kernel
def thompson_check(level: Level, a: float, seed: float, tau: int, slot: int, chance: float) -> bool:
    """No child has more successes than plays; the seed is a whole number."""
    return pairs_sound(level, 0) and seed_sound(seed)


@kernel
def thompson_change(level: Level, m: int, slot: int, a: float, seed: float, tau: int) -> tuple[float, float]:
    """A fresh child has the prior, Beta(1, 1)."""
    if level.n < 2:
        seed = rounding_seed(level.row, level.record)
    pairs_change(level, m, slot, 0.0)
    return a, seed


@dataclass(frozen=True, repr=False)
class Thompson(Routine):
    """Thompson sampling at one level, with a uniform prior on every child's mean.

    Examples
    --------
    >>> Thompson().words(20)
    40
    """

    name: ClassVar[str] = "thompson"
    words_each: ClassVar[int] = 2
    anytime: ClassVar[bool] = True
    known_chance: ClassVar[bool] = False
    kernels: ClassVar[Kernels] = Kernels(
        thompson_start, thompson_select, thompson_update, thompson_check, change=thompson_change
    )
