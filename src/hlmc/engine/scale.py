"""Rewards in the caller's units: what a learner makes of them before it learns.

All of the engine learns from rewards in [0, 1], and adversaries and games pay such. A policy with another range, or
with losses, has two numbers in its program: the one that is learned as 0 (ZERO) and the one that is learned as 1
(ONE). For losses ZERO is the larger of the two. In all other programs both are 0.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import ONE, ZERO
from hlmc.engine.primitives import words
from hlmc.engine.step import update

Array = np.ndarray

OUTSIDE = -1.0
"""What :func:`scaled` answers to a number outside the range. No step function learns from it."""


@kernel
def scaled(program: Array, reward: float) -> float:
    """The reward in [0, 1] that a number in the caller's units stands for; OUTSIDE if it is none or out of range.

    (reward - ZERO) / (ONE - ZERO). The range is looked at before, as the difference of two numbers is rounded: a
    number just outside would be taken for an end. Subtraction and division are monotonic, so a number within the
    range gives one in [0, 1], and the ends give exactly 0 and 1.
    """
    zero: float = program[ZERO]
    one: float = program[ONE]
    if zero == one:
        return reward
    if not (min(zero, one) <= reward <= max(zero, one)):
        return OUTSIDE
    return (reward - zero) / (one - zero)


@kernel
def update_scaled(program_at: Address, row_at: Address, reward: float) -> int:
    """:func:`hlmc.engine.step.update` for a reward in the caller's units."""
    return update(program_at, row_at, scaled(words(program_at), reward))


@kernel
def scale_many(program_at: Address, rewards_at: Address, count: int) -> int:
    """Scale ``count`` rewards in place."""
    program = words(program_at)
    rewards = words(rewards_at)
    for k in range(count):
        rewards[k] = scaled(program, rewards[k])
    return count
