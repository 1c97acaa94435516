"""The records that kernels are given: what goes together, under one name.

They have a module of their own because a kernel's attribute must not be taken for a global name of its module.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hlmc.engine.kernel import Address, record

Array = np.ndarray


@record
class Level(NamedTuple):
    """One level of one learner: where a routine finds its numbers and its statistics.

    In a loop over the steps ``program`` and ``row`` are the numbers in the precision of the workspace, and the
    workspace. On a processor both are the learner's own.
    """

    program: Array
    """The policy's program: words that no kernel changes."""
    record: int
    """Where the level's record begins in it: the routine's own numbers are ``program[record + PARAMETERS]`` and on."""
    row: Array
    """The learner's row."""
    at: int
    """Where the level's statistics begin in it."""
    n: int
    """The number of children of the group that is played."""


@record
class Sums(NamedTuple):
    """What one pass over the losses of a level says (:func:`hlmc.engine.ftrl.settled_sums`)."""

    x: float
    """The normaliser: with it the probabilities sum to 1, or nearly so."""
    squares: float
    """S_2, the sum of the probabilities."""
    cubes: float
    """S_3, the sum of their powers 3/2."""
    rest: float
    """Of losses that are words: the part of S_3 that is of slots with p < eta^2. Of codes: the largest weight."""


@record
class Codes(NamedTuple):
    """The packed codes of a level's losses (:mod:`hlmc.engine.codes`)."""

    row: Array
    """The learner's row."""
    notes: Array
    """Memory in which a loop keeps the weights of all slots; without notes, the row itself."""
    at: int
    """Where the codes begin in the row."""
    n: int
    """The number of slots."""
    width: int
    """Bits of a code."""
    inverse: float
    """1 / 2^width."""


@record
class Rates(NamedTuple):
    """How a choice weighs coded losses."""

    scale: float
    """The scale s of the codes."""
    eta: float
    """The learning rate."""


@record
class Move(NamedTuple):
    """How coded losses change in one update (:func:`hlmc.engine.codes.move_slot`)."""

    s: float
    """The scale as it is,"""
    grown: float
    """and as it is to be."""
    slot: int
    """The slot played; -1: none."""
    value: float
    """Its new distance, which may be negative."""
    far: float
    """Slots that were farther than this before"""
    drop: float
    """are lowered by this."""
    draw: np.uint64
    """64 random bits."""


@record
class Run(NamedTuple):
    """What a stretch of a learner's run is about, besides its last level (:func:`hlmc.engine.step.stretch`)."""

    program: Array
    """The policy's program."""
    row: Array
    """The learner's row."""
    notes: Array
    """What follows from the row and saves work: the arms of the n slots, then the routine's notes."""
    key: np.uint64
    """The learner's random stream."""
    reward_at: Address
    """The address of the adversary's function."""
    spec: Array
    """The adversary's numbers."""
    state: int
    """What the adversary's ``phase_at`` says of the stretch."""


@record
class Choice(NamedTuple):
    """The choice of a level above the last that stands at a step (:func:`hlmc.engine.structures.stages.choice_at`)."""

    control: int
    """Where the level's control words begin in a row."""
    size: int
    """Arms of a child."""
    stands: int
    """Steps for which a choice stands."""
    n: int
    """Children that the level's group has."""
    tau: int
    """Choices that were made since the level was restarted, before this one."""
    into: int
    """Steps since it was made."""


@record
class Group(NamedTuple):
    """The group that is played at a step, as the choices of the levels above it and the clock say."""

    record: int
    """The record of the last level."""
    base: int
    """Its first arm."""
    arms: int
    """How many it has."""
    began: int
    """When its run began,"""
    until: int
    """and when it will end."""


@record
class Change(NamedTuple):
    """What happens to the arms of the group that is played (:func:`hlmc.engine.structures.tree.change_arms`)."""

    before: int
    """How many it had."""
    after: int
    """How many it has."""
    arm: int
    """The arm that leaves, whose place arm ``last`` takes, or that is forgotten (``last`` is -1); -1 if arms join."""
    last: int
    """The arm that takes its place."""
    moved: bool
    """Whether it is another group than before, of which nothing is known."""
    running: bool
    """Whether its run has not ended."""


@record
class Batch(NamedTuple):
    """The rows that one call of a fleet is about (:mod:`hlmc.engine.batch`): whole numbers."""

    rows_at: Address
    """The address of the fleet's matrix of rows."""
    width: int
    """Words of a row."""
    ids_at: Address
    """The address of the numbers of the learners that are listed."""
    listed: int
    """0 if there is no list: the call is for all."""
