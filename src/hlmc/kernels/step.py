"""One step of a learner, and many: the only place where a learner's row is read and written.

``select`` and ``update`` take one step by hand. ``run`` takes many against an adversary, with the working values of the
last level in registers, and leaves the very same row behind. What happens between two restarts of the last level's
routine depends on the policy's structure: a tree of groups (HLMC; a flat policy is a tree of one level), rounds of
blocks (UCB-M, EXP3-M), or a tree with a champion or a crown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.kernels.build import kernel, specialised, unbound
from hlmc.kernels.champion import champion_arm, champion_begin, champion_end
from hlmc.kernels.crowned import crowned_begin, crowned_end
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
    CROWNED,
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
from hlmc.kernels.stream import first_number, mix, uniform, unit
from hlmc.kernels.tree import tree_begin, tree_end
from hlmc.kernels.weights import small
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
    if program[STRUCTURE] == TREE or program[STRUCTURE] == CROWNED:
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
    # Rounding can carry a share of everything past 1 by a last digit. What is learned by keeps it.
    row[PROBABILITY] = min(above * chance, 1.0)
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
STRIDE = 1
"""Steps of a stretch that are taken without asking how many are left; those that do not fill one are not taken."""


@kernel
def in_tree(program: Array) -> bool:
    """Whether the arms in play are neighbours, so that a slot's arm need not be looked up."""
    return bool(program[STRUCTURE] == TREE or program[STRUCTURE] == CROWNED)


@kernel
def take_up(program: Array, row: Array, at: int, desk: Array, t: int) -> int:
    """Have the statistics of the last level on the desk; where on it they lie. Here the desk is the row itself."""
    return at


@kernel
def lay_down(program: Array, row: Array, at: int, desk: Array, t: int, a: float) -> float:
    """Before step t, bring back from the desk what is wanted elsewhere; the routine's first scalar as it is then."""
    return a


@kernel
def overdue(a: float) -> bool:
    """Whether the statistics on the desk must be put in order, as a routine's first scalar tells."""
    return False


@kernel
def working(x: float) -> float:
    """A number as the loop holds it: in the precision of the desk."""
    return x


@kernel
def outlook(reward_at: Any, spec: Array, t: int) -> tuple[int, int]:
    """What the adversary will pay from step t on, in a number of its own, and for how long that stands."""
    return 0, FOREVER


@kernel
def numbered(arm: int) -> int:
    """An arm's number as the loop holds it."""
    return arm


@kernel
def learned(spec: Array, state: int, arm: int, reward: float) -> float:
    """A reward as the routine learns it."""
    return working(reward)


@kernel
def opened(total: float) -> float:
    """Where the sum of a stretch's rewards begins: here, at what was earned before."""
    return total


@kernel
def added(earned: float, reward: float, gain: float) -> float:
    return earned + reward


@kernel
def closed(total: float, earned: float) -> float:
    """What has been earned in all."""
    return earned


@kernel
def paid(reward_at: Any, spec: Array, state: int, t: int, arm: int) -> float:
    return call_reward(reward_at, spec, t, arm)


@kernel
def stretch(
    program: Array,
    own: Array,
    row: Array,
    desk: Array,
    reward_at: Any,
    spec: Array,
    key: np.uint64,
    state: int,
    level: int,
    place: int,
    n: int,
    t: int,
    pause: int,
    a: float,
    b: float,
    total: float,
) -> tuple[int, int, float, float, float, float]:
    """Steps between which nothing happens above the last level, until ``pause`` or until the desk is in disorder.

    Where steps are taken several at a time, fewer than that may be left.
    The first answer is the time then, or -(t + 1) when the adversary paid something outside [0, 1] at time t.
    """
    counter, advance = first_number(key, t, int(program[LEVELS]) - 1)
    neighbours = in_tree(program)
    since = t - int(row[BEGAN])
    base = numbered(int(row[BASE]))
    slot = 0
    chance = working(1.0)
    earned = opened(total)
    span = small(pause - t)
    done = small(0)
    u = unit(mix(counter))
    while done <= small(span - STRIDE):
        for _ in range(STRIDE):
            # The next number depends on nothing here: it is made while this step waits for its own.
            counter += advance
            following = unit(mix(counter))
            if n > 1:
                slot, chance = leaf_select(own, level, desk, place, n, a, b, since + done, u)
            arm = numbered(base + slot if neighbours else arm_of(program, row, slot))
            reward = paid(reward_at, spec, state, t + done, arm)
            if not (0.0 <= reward <= 1.0):
                return -(t + done + 1), slot, chance, a, b, total
            gain = learned(spec, state, arm, reward)
            earned = added(earned, reward, gain)
            if n > 1:
                a, b = leaf_update(own, level, desk, place, n, a, b, since + done, slot, chance, gain)
            u = following
            done = small(done + 1)
        if overdue(a):
            break
    return t + done, slot, chance, a, b, closed(total, earned)


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
    count: int,
) -> int:
    """Play until each of the times ``stops[:count]`` and note the rewards so far in ``sums[:count]``.

    ``sums[count]`` is what was earned before the routine over the arms was last restarted, in and out: sums do not
    depend on where a run is cut. The answer is 0, or -(t + 1) when the adversary paid something outside [0, 1] at time
    t. The stops lie ahead, and none past the horizon. The routine at the last level reads its parameters from ``own``
    and works on a ``desk``: here these are the program and the row, on other devices something faster.
    """
    program = words(program_at)
    own = words(own_at)
    row = words(row_at)
    desk = words(desk_at)
    spec = words(spec_at)
    stops = words(stops_at)
    sums = words(sums_at)
    key = bits(row, KEY)
    t = int(row[TIME])
    before = sums[count]
    earned = before
    for point in range(count):
        stop = int(stops[point])
        while t < stop:
            above = call_begin(int(program[BEGIN_AT]), program, row, t) if t == int(row[UNTIL]) else 1.0
            state, lasts = outlook(reward_at, spec, t)
            state = numbered(state)
            pause = min(stop, int(row[UNTIL]), lasts)
            if pause - t > 1:
                above = 1.0  # by the last of these steps, the choices above have stood
            level = int(row[RECORD])
            control = int(program[level + CONTROL])
            n = int(row[COUNT])
            a = working(row[control + SCALARS])
            b = working(row[control + SCALARS + 1])
            total = row[control + SUM]
            at = int(program[level + AT])
            place = take_up(program, row, at, desk, t)
            t, slot, chance, a, b, total = stretch(
                program, own, row, desk, reward_at, spec, key, state, level, place, n, t, pause, a, b, total
            )
            if t < 0:
                return t
            row[control + SCALARS] = lay_down(program, row, at, desk, t, a)
            row[control + SCALARS + 1] = b
            row[control + SUM] = total
            if n > 1:
                row[control + CHILD] = slot
                row[control + CHANCE] = chance
            row[PROBABILITY] = min(above * chance, 1.0)
            row[TIME] = t
            earned = before + total
            if t == int(row[UNTIL]):
                call_end(int(program[END_AT]), program, row, t)
                before = earned
        sums[point] = earned
    sums[count] = before
    return 0


@kernel
def addressed_select(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, u: float
) -> tuple[int, float]:
    """A routine at the last level that is not compiled into the loop: a user's own."""
    control = int(program[level + CONTROL])
    call_select(int(program[level + SELECT_AT]), program, level, row, at, n, control, tau, u)
    return int(row[control + CHILD]), row[control + CHANCE]


@kernel
def addressed_update(
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


def looped(name: str, select: Callable[..., Any], update: Callable[..., Any], **meanings: Any) -> Callable[..., int]:
    """The loop over the steps with the last level's routine, and whatever else is told, compiled into it."""
    steps = specialised(stretch, f"stretch_{name}", leaf_select=select, leaf_update=update, **meanings)
    return specialised(_run, f"run_{name}", stretch=steps, **meanings)


def _looped(cls: type[Routine]) -> Callable[..., int]:
    if cls is Custom:
        return looped("addressed", addressed_select, addressed_update)
    return looped(cls.name, cls.kernels.select, cls.kernels.update)


RUN = tuple(_looped(cls) for cls in CATALOGUE)
"""The loop over the steps, once for every routine that can stand at the last level."""

STRUCTURES = {
    TREE: (tree_begin, tree_end),
    ROUNDS: (rounds_begin, rounds_end),
    CHAMPION: (champion_begin, champion_end),
    CROWNED: (crowned_begin, crowned_end),
}


def structure_callbacks(structure: int) -> tuple[Any, Any]:
    """C functions that begin and end a run of the last level's routine, for the addresses in a program's header."""
    begin, end = STRUCTURES[structure]
    return callback(begin, BEGIN), callback(end, END)
