"""One step of a learner, and many: the only place where a learner's row is read and written.

``select`` and ``update`` take one step by hand. ``run`` takes many against an adversary, with the working values of the
last level in registers, and leaves the very same row behind. What happens between two restarts of the last level's
routine depends on the policy's structure: a tree of groups (HLMC; a flat policy is a tree of one level), rounds of
blocks (UCB-M, EXP3-M), or a tree with a champion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.kernels.build import kernel, specialised, unbound
from hlmc.kernels.champion import champion_arm, champion_begin, champion_end
from hlmc.kernels.layout import (
    ARM,
    AT,
    BASE,
    BEGAN,
    BEGIN_AT,
    CHAMPION,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    END_AT,
    FOREVER,
    HORIZON,
    KEY,
    LEVELS,
    PROBABILITY,
    RECORD,
    ROUNDS,
    SCALARS,
    SELECT_AT,
    STRUCTURE,
    SUM,
    TIME,
    TREE,
    UNTIL,
    UPDATE_AT,
)
from hlmc.kernels.native import (
    BEGIN,
    END,
    bits,
    call_begin,
    call_end,
    call_reward,
    call_select,
    call_update,
    callback,
    words,
)
from hlmc.kernels.rounds import rounds_arm, rounds_begin, rounds_end
from hlmc.kernels.stream import increment, number, uniform, unit
from hlmc.kernels.tree import tree_begin, tree_end
from hlmc.routines import CATALOGUE, Custom
from hlmc.routines.base import Routine

Array = np.ndarray

# What select and update answer instead of an arm or 0.
PAST_HORIZON = -1
NOT_SELECTED = -2
BAD_REWARD = -3


@kernel
def arm_of(program: Array, row: Array, slot: int) -> int:
    """The arm that a slot of the last level stands for."""
    if program[STRUCTURE] == TREE:
        return int(row[BASE]) + slot
    if program[STRUCTURE] == ROUNDS:
        return rounds_arm(program, row, slot)
    return champion_arm(program, row, slot)


@kernel
def select(program_at: Any, row_at: Any) -> int:
    """The arm to play next; asking again before the update gives the same arm."""
    program = words(program_at)
    row = words(row_at)
    if row[ARM] >= 0.0:
        return int(row[ARM])
    t = int(row[TIME])
    if t >= int(program[HORIZON]):
        return PAST_HORIZON
    above = call_begin(int(program[BEGIN_AT]), program, row, t) if t == int(row[UNTIL]) else 1.0
    level = int(row[RECORD])
    n = int(row[COUNT])
    slot = 0
    chance = 1.0
    if n > 1:
        control = int(program[level + CONTROL])
        u = uniform(bits(row, KEY), t, int(program[LEVELS]) - 1)
        at = int(program[level + AT])
        tau = t - int(row[BEGAN])
        call_select(int(program[level + SELECT_AT]), program, level, row, at, n, control, tau, u)
        slot = int(row[control + CHILD])
        chance = row[control + CHANCE]
    arm = arm_of(program, row, slot)
    row[ARM] = arm
    row[PROBABILITY] = above * chance
    return arm


@kernel
def update(program_at: Any, row_at: Any, reward: float) -> int:
    """Learn the reward of the arm selected."""
    program = words(program_at)
    row = words(row_at)
    if row[ARM] < 0.0:
        return NOT_SELECTED
    if not (0.0 <= reward <= 1.0):
        return BAD_REWARD
    t = int(row[TIME])
    level = int(row[RECORD])
    n = int(row[COUNT])
    control = int(program[level + CONTROL])
    if n > 1:
        at = int(program[level + AT])
        tau = t - int(row[BEGAN])
        call_update(int(program[level + UPDATE_AT]), program, level, row, at, n, control, tau, reward)
    row[control + SUM] += reward
    row[ARM] = -1.0
    row[TIME] = t + 1
    if t + 1 == int(row[UNTIL]):
        call_end(int(program[END_AT]), program, row, t + 1)
    return 0


leaf_select = leaf_update = unbound


@kernel
def take_up(program: Array, row: Array, at: int, desk: Array) -> int:
    """Lay the statistics of the last level on the desk; where on it they lie. Here the desk is the row itself."""
    return at


@kernel
def lay_down(program: Array, row: Array, at: int, desk: Array) -> None:
    """Bring the statistics back from the desk."""


@kernel
def working(x: float) -> float:
    """A number as the loop holds it: in the precision of the desk."""
    return x


@kernel
def outlook(reward_at: Any, spec: Array, t: int) -> tuple[int, int]:
    """What the adversary will pay from step t on, in a number of its own, and for how long that stands."""
    return 0, FOREVER


@kernel
def paid(reward_at: Any, spec: Array, state: int, t: int, arm: int) -> float:
    return call_reward(reward_at, spec, t, arm)


@kernel
def _run(
    program_at: Any,
    own_at: Any,
    row_at: Any,
    desk_at: Any,
    reward_at: Any,
    spec_at: Any,
    stops_at: Any,
    sums_at: Any,
    first: int,
    count: int,
    earned: float,
) -> int:
    """Play until each of the times ``stops[first:first + count]`` and note the rewards so far in ``sums``.

    ``earned`` is what was earned before. The answer is 0, or -(t + 1) when the adversary paid something outside
    [0, 1] at time t. The caller asks for no step past the horizon. The routine at the last level reads its parameters
    from ``own`` and works on a ``desk``: here these are the program and the row, on other devices something faster.
    """
    program = words(program_at)
    own = words(own_at)
    row = words(row_at)
    desk = words(desk_at)
    spec = words(spec_at)
    stops = words(stops_at)
    sums = words(sums_at)
    key = bits(row, KEY)
    advance = increment(key)
    purpose = int(program[LEVELS]) - 1
    in_tree = program[STRUCTURE] == TREE
    t = int(row[TIME])
    for point in range(first, first + count):
        stop = int(stops[point])
        while t < stop:
            above = call_begin(int(program[BEGIN_AT]), program, row, t) if t == int(row[UNTIL]) else 1.0
            began = int(row[BEGAN])
            state, lasts = outlook(reward_at, spec, t)
            pause = min(stop, int(row[UNTIL]), lasts)
            level = int(row[RECORD])
            control = int(program[level + CONTROL])
            n = int(row[COUNT])
            base = int(row[BASE])
            a = working(row[control + SCALARS])
            b = working(row[control + SCALARS + 1])
            total = row[control + SUM]
            at = int(program[level + AT])
            place = take_up(program, row, at, desk)
            if pause - t > 1:
                above = 1.0  # by the last of these steps, the choices above have stood
            slot = 0
            chance = working(1.0)
            while t < pause:
                if n > 1:
                    u = unit(number(key, advance, t, purpose))
                    slot, chance = leaf_select(own, level, desk, place, n, a, b, t - began, u)
                arm = base + slot if in_tree else arm_of(program, row, slot)
                reward = paid(reward_at, spec, state, t, arm)
                if not (0.0 <= reward <= 1.0):
                    return -(t + 1)
                if n > 1:
                    gain = working(reward)
                    a, b = leaf_update(own, level, desk, place, n, a, b, t - began, slot, chance, gain)
                total += reward
                earned += reward
                t += 1
            lay_down(program, row, at, desk)
            row[control + SCALARS] = a
            row[control + SCALARS + 1] = b
            row[control + SUM] = total
            if n > 1:
                row[control + CHILD] = slot
                row[control + CHANCE] = chance
            row[PROBABILITY] = above * chance
            row[TIME] = t
            if t == int(row[UNTIL]):
                call_end(int(program[END_AT]), program, row, t)
        sums[point] = earned
    return 0


@kernel
def _addressed_select(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, u: float
) -> tuple[int, float]:
    """A routine at the last level that is not compiled into the loop: a user's own."""
    control = int(program[level + CONTROL])
    call_select(int(program[level + SELECT_AT]), program, level, row, at, n, control, tau, u)
    return int(row[control + CHILD]), row[control + CHANCE]


@kernel
def _addressed_update(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    a: float,
    b: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
) -> tuple[float, float]:
    control = int(program[level + CONTROL])
    call_update(int(program[level + UPDATE_AT]), program, level, row, at, n, control, tau, reward)
    return row[control + SCALARS], row[control + SCALARS + 1]


def _looped(cls: type[Routine]) -> Callable[..., int]:
    if cls is Custom:
        return specialised(_run, "run_addressed", leaf_select=_addressed_select, leaf_update=_addressed_update)
    return specialised(_run, f"run_{cls.name}", leaf_select=cls.kernels.select, leaf_update=cls.kernels.update)


RUN = tuple(_looped(cls) for cls in CATALOGUE)
"""The loop over the steps, once for every routine that can stand at the last level."""

_STRUCTURES = {
    TREE: (tree_begin, tree_end),
    ROUNDS: (rounds_begin, rounds_end),
    CHAMPION: (champion_begin, champion_end),
}


def structure_callbacks(structure: int) -> tuple[Any, Any]:
    """C functions that begin and end a run of the last level's routine, for the addresses in a program's header."""
    begin, end = _STRUCTURES[structure]
    return callback(begin, BEGIN), callback(end, END)
