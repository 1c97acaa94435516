"""Adversaries that are data: classes of arms whose rewards are constant between a few changes, and noise.

One kernel reads them all, so that a search compiles it once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hlmc.adversaries import Adversary, packed
from hlmc.adversaries.base import Array
from hlmc.adversaries.chance import around, key
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits

KEY, COINS, WIDTH, PIECES, CLASSES, ENDS = range(6)


@kernel
def level_at(spec: Array, t: int, arm: int) -> float:
    """The level of the arm's class in the piece of step t."""
    pieces = int(spec[PIECES])
    classes = int(spec[CLASSES])
    piece = 0
    for i in range(pieces - 1):
        piece += 1 if t >= int(spec[ENDS + i]) else 0
    table = ENDS + pieces
    of = int(spec[table + pieces * classes + arm])
    return spec[table + piece * classes + of]  # type: ignore[no-any-return]


@kernel
def levels(spec: Array, t: int, arm: int) -> float:
    """The level in uniform noise, or a coin of that mean."""
    return around(bits(spec, KEY), t, arm, level_at(spec, t, arm), spec[WIDTH], spec[COINS])


@dataclass(frozen=True, repr=False)
class Levels(Adversary):
    """``table[p][c]`` is the level of the arms of class c in piece p, which ends at step ``ends[p]``.

    Parameters
    ----------
    arms
        K.
    ends
        The step at which each piece ends; the last piece has no end.
    table
        The levels, [piece][class], in [0, 1].
    sizes
        Arms of every class but the last, which has the others.
    width, coins
        Uniform noise of at most ``width`` on either side, cut to [0, 1]; or rewards of 0 and 1 with these means.
    seed
        Of the places of the arms, and of the noise.
    """

    arms: int
    ends: tuple[int, ...]
    table: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]
    width: float = 0.0
    coins: bool = False
    seed: int = 0

    rule = staticmethod(levels)
    mean_rule = staticmethod(level_at)

    @cached_property
    def spec(self) -> Array:
        classes = np.repeat(np.arange(len(self.sizes) + 1), [*self.sizes, self.arms - sum(self.sizes)])
        places = np.random.default_rng(self.seed).permutation(classes)
        shape = self.coins, self.width, len(self.table), len(self.table[0])
        return packed(key(self.seed, "Levels"), *shape, *self.ends, 0, *np.ravel(self.table), *places)

    def mean_changes(self, horizon: int):
        return iter([t for t in self.ends if t < horizon])
