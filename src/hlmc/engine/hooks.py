"""What a target may replace: every hook, with its default and its meaning.

A hook is a kernel with a default body. A target fills in a record of the hooks that it replaces; :meth:`Hooks.into`
copies a kernel with them in place of the defaults. A name that is not a field is an error when the record is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from hlmc.engine import arithmetic, routines, step, stream, weights
from hlmc.engine.linker import substitute_where_used

Hook = Callable[..., Any]


@dataclass(frozen=True)
class Hooks:
    """A record of kernels that stand in for others. Subclasses declare one field per hook; defaults change nothing."""

    @property
    def substitutions(self) -> dict[Hook, Hook]:
        """The kernels that are replaced, and by what."""
        chosen: list[tuple[Any, Hook]] = [(f.default, getattr(self, f.name)) for f in fields(self)]
        return {hook: kernel for hook, kernel in chosen if kernel is not hook}

    def into(self, function: Hook, precision: str = "float64") -> Hook:
        """A copy of a kernel in which these hooks are replaced wherever it leads."""
        return substitute_where_used(function, self.substitutions, precision)


@dataclass(frozen=True)
class ArithmeticHooks(Hooks):
    """How numbers are held and computed within a level's routine.

    >>> ArithmeticHooks(divde=None)
    Traceback (most recent call last):
    TypeError: ArithmeticHooks.__init__() got an unexpected keyword argument 'divde'...
    """

    exponential: Hook = arithmetic.exponential
    """e^x."""
    logarithm: Hook = arithmetic.logarithm
    """The natural logarithm."""
    exponential_less_one: Hook = arithmetic.exponential_less_one
    """e^x - 1."""
    logarithm_one_plus: Hook = arithmetic.logarithm_one_plus
    """log(1 + x)."""
    divide: Hook = arithmetic.divide
    """A quotient."""
    counter: Hook = arithmetic.counter
    """A whole number of 32 bits."""
    growth: Hook = weights.growth
    """What a reward multiplies a weight by."""
    worth_learning: Hook = weights.worth_learning
    """Whether a reward moves a weight at all; GPUs do not ask."""
    slot_count: Hook = weights.slot_count
    """A number of slots in the type in which a draw counts them."""
    passed: Hook = weights.passed
    """1 in that type where the rest of a draw is not negative, else 0."""
    is_weight: Hook = weights.is_weight
    """Whether a word is a weight and not the code of a logarithm."""


@dataclass(frozen=True)
class StoreHooks(Hooks):
    """How exponential weights are stored, drawn from and changed."""

    scan_limit: Hook = weights.scan_limit
    """Up to so many weights are scanned, more are kept in a tree."""
    piece_size: Hook = weights.piece_size
    """Weights of a piece."""
    piece_log: Hook = weights.piece_log
    """The logarithm of that."""
    mixed_draw: Hook = weights.mixed_draw
    """A slot by its weight, or with probability gamma any slot."""
    pure_draw: Hook = weights.pure_draw
    """A slot by its weight."""
    weights_grow: Hook = weights.weights_grow
    """Multiply a weight by exp(rate * reward / chance)."""
    weights_multiply: Hook = weights.weights_multiply
    """Multiply a weight by exp(x)."""


@dataclass(frozen=True)
class LoopHooks(Hooks):
    """The loop over the steps of one learner (:func:`hlmc.engine.step.run`)."""

    stretch: Hook = step.stretch
    """Steps between which nothing happens above the last level."""
    routine_select: Hook = routines.routine_select
    """The choice of the last level's routine,"""
    routine_update: Hook = routines.routine_update
    """and what it learns."""
    leaf_select: Hook = step.leaf_select
    """The same where the routine has kernels for the loop,"""
    leaf_update: Hook = step.leaf_update
    """which may pass on what a choice has found."""
    stride: Hook = step.stride
    """Steps that are taken without asking how many are left."""
    contiguous: Hook = step.contiguous
    """Whether slot j of the last level is arm BASE + j."""
    start_notes: Hook = step.start_notes
    """Make a routine's notes."""
    start_arms: Hook = step.start_arms
    """Make the table of the slots' arms ready."""
    slot_arm: Hook = step.slot_arm
    """The arm of a slot, from the table."""
    load_stats: Hook = step.load_stats
    """Bring the last level's statistics into the workspace."""
    store_stats: Hook = step.store_stats
    """Write back what is needed elsewhere."""
    needs_rescale: Hook = step.needs_rescale
    """Whether the statistics in the workspace must be rescaled."""
    phase_at: Hook = step.phase_at
    """The state of a piecewise constant adversary."""
    reward_of: Hook = step.reward_of
    """The reward of an arm."""
    learned_reward: Hook = step.learned_reward
    """The reward as the routine learns it."""
    acc_init: Hook = step.acc_init
    """The accumulator of rewards at the start of a stretch."""
    acc_add: Hook = step.acc_add
    """The accumulator after one more reward."""
    acc_result: Hook = step.acc_result
    """What has been earned in all."""
    counter: Hook = arithmetic.counter
    """A whole number of 32 bits."""
    working: Hook = arithmetic.working
    """A float in the precision of the workspace."""
    arm_number: Hook = arithmetic.arm_number
    """The number of an arm as the loop holds it."""
    unit: Hook = stream.unit
    """A number in [0, 1) from 64 random bits."""
