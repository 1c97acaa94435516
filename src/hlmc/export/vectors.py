"""What a learner does, for the test that is exported with it: the arms that it selects and the row that it leaves.

The kernels run under the interpreter, whose rows are those of every target: nothing need be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.scale import update_scaled
from hlmc.engine.step import select, update
from hlmc.targets.interpreter import entry, linked

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

SHOWN = 100
"""Steps that are compared arm by arm."""
STEPS = 1000
"""Steps in all."""

_FNV, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


@dataclass(frozen=True)
class Vectors:
    """What a test compares: arms and rewards in quarters of the first steps; digests of all arms and of the row."""

    steps: int
    arms: tuple[int, ...]
    quarters: tuple[int, ...]
    arms_digest: int
    row_digest: int


def digested(digest: int, bits: int) -> int:
    """FNV-1a of 64 more bits, from the least significant byte on."""
    for _ in range(8):
        digest = (digest ^ (bits & 0xFF)) * _PRIME & _MASK
        bits >>= 8
    return digest


def quarters_of(policy: Policy) -> list[float]:
    """Five rewards: the ends of the policy's range and what lies evenly between.

    >>> import hlmc
    >>> quarters_of(hlmc.UCB1(arms=3)), quarters_of(hlmc.UCB1(arms=3, rewards=(-1, 7)))
    ([0.0, 0.25, 0.5, 0.75, 1.0], [-1.0, 1.0, 3.0, 5.0, 7.0])
    """
    low, high = map(float, policy.rewards)
    return [min(low + 0.25 * i * (high - low), high) for i in range(5)]


def vectors(policy: Policy, row: Array, steps: int = STEPS) -> Vectors:
    """Play from a row of Python's on, which is changed."""
    program = linked(policy)
    choose, learn = entry(select), entry(update_scaled if policy.scaled else update)
    return played(
        lambda: choose(program, row),
        lambda reward: learn(program, row, reward),
        quarters_of(policy),
        lambda: row.view(np.uint64),
        steps,
    )


def played(
    choose: Callable[[], int],
    learn: Callable[[Any], int],
    paying: Sequence[Any],
    words: Callable[[], Array],
    steps: int = STEPS,
) -> Vectors:
    """What a learner does that chooses and learns so and is paid so; at the end its words are these."""
    drawn = np.random.default_rng(0).integers(0, 5, SHOWN)
    arms: list[int] = []
    quarters: list[int] = []
    digest = _FNV
    for t in range(steps):
        arm = int(choose())
        if arm < 0:
            break
        paid = int(drawn[t]) if t < SHOWN else (7 * t + 3 * arm) % 5
        learn(paying[paid])
        digest = digested(digest, arm)
        arms.append(arm)
        quarters.append(paid)
    left = _FNV
    for bits in words():
        left = digested(left, int(bits))
    return Vectors(len(arms), tuple(arms[:SHOWN]), tuple(quarters[:SHOWN]), digest, left)
