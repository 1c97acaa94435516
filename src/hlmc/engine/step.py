"""One step of a learner, and many: the only place where a learner's row is read and written.

:func:`select` and :func:`update` take one step by hand. :func:`run` takes many against an adversary, with the working
values of the last level in registers, and leaves the very same row behind. What happens between two restarts of the
last level's routine is up to the structure (:mod:`hlmc.engine.structures`), called through the program's table.

The kernels under "Hooks" have a default for processors. A target that keeps a level's statistics elsewhere, or counts
in other types, substitutes its own: :class:`hlmc.engine.hooks.LoopHooks` lists them.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.arithmetic import arm_number, counter, working
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARM,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    CONTIGUOUS,
    CONTROL,
    COUNT,
    DUE,
    FOREVER,
    HORIZON,
    KEY,
    LEVELS,
    PENDING,
    PROBABILITY,
    RECORD,
    ROUTINE,
    SCALARS,
    SUM,
    TIME,
    UNANSWERED,
    UNTIL,
    WINDOW,
)
from hlmc.engine.linker import Kernel
from hlmc.engine.primitives import (
    bits,
    call_arm_of,
    call_begin,
    call_end,
    call_reward,
    call_select,
    call_update,
    offset,
    words,
)
from hlmc.engine.records import Level, Run
from hlmc.engine.routines import RoutineKernels, routine_select, routine_update
from hlmc.engine.stream import first_number, mix, uniform, unit
from hlmc.engine.structures.base import LEAST_PROBABILITY, choices_counted

Array = np.ndarray

SINGLE = {"LEAST_PROBABILITY": 2.0**-126}

# What select and update answer instead of an arm or 0.
PAST_HORIZON = -1
NOT_SELECTED = -2
BAD_REWARD = -3


@kernel
def arm_of(program: Array, row: Array, slot: int) -> int:
    """The arm that a slot of the last level stands for."""
    if program[CONTIGUOUS] == 1.0:
        return int(row[BASE]) + slot
    return call_arm_of(program, row, slot)


@kernel
def select(program_at: Address, row_at: Address) -> int:
    """The arm to play next; asking again before the update gives the same arm."""
    program = words(program_at)
    row = words(row_at)
    if row[ARM] >= 0.0:
        return int(row[ARM])
    t = int(row[TIME])
    if t >= int(program[HORIZON]):
        return PAST_HORIZON
    arm = arm_of(program, row, decide(program, row, t))
    row[ARM] = arm
    return arm


@kernel
def decide(program: Array, row: Array, t: int) -> int:
    """Make the choices of step t; the slot that the last level chose. Its control words have its probability too."""
    above = 1.0
    if t == int(row[UNTIL]):
        above = _begin(program, row, t)
    level = int(row[RECORD])
    n = int(row[COUNT])
    slot = 0
    chance = 1.0
    if n > 1:
        control = int(program[level + CONTROL])
        u = uniform(bits(row, KEY), t, int(program[LEVELS]) - 1)
        at = int(program[level + AT])
        tau = choices_counted(program, row, level, t)
        last_select(program, level, row, at, n, control, tau, u)
        slot = int(row[control + CHILD])
        chance = row[control + CHANCE]
    # Rounding can carry a share of everything past 1 by a last digit. What is learned by keeps it.
    row[PROBABILITY] = max(min(above * chance, 1.0), LEAST_PROBABILITY)
    return slot


@kernel
def last_select(program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, u: float) -> None:
    """Hook: the last level's choice. Default: through the program's table."""
    call_select(int(program[level + ROUTINE]), program, level, row, at, n, control, tau, u)


@kernel
def _begin(program: Array, row: Array, t: int) -> float:
    """Begin a run of the last level, after the end of the one before it where that was put off."""
    if program[PENDING] > 0.0:
        window = int(program[WINDOW])
        if row[window + DUE] == 1.0:
            # Put off until now, so that the last rewards could still come in time.
            row[window + DUE] = 0.0
            call_end(program, row, t)
        above = call_begin(program, row, t)
        row[window + UNANSWERED] = 0.0
        return above
    return call_begin(program, row, t)


@kernel
def update(program_at: Address, row_at: Address, reward: float) -> int:
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
        tau = choices_counted(program, row, level, t)
        call_update(int(program[level + ROUTINE]), program, level, row, at, n, control, tau, reward)
    row[control + SUM] += reward
    row[ARM] = -1.0
    row[TIME] = t + 1
    if t + 1 == int(row[UNTIL]):
        call_end(program, row, t + 1)
    return 0


# --- Hooks of the loop


@kernel
def start_notes(level: Level, notes: Array) -> None:
    """Make a routine's notes on the statistics of the last level. Default: it takes none."""


@kernel
def leaf_select(level: Level, a: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float, float]:
    """Choose a slot of the last level; its probability; and what :func:`leaf_update` needs of the choice.

    The kernels of a routine that has some for the loop (:class:`hlmc.engine.routines.NotedKernels`) stand for these
    two. Default: its plain ones, compiled into the loop.
    """
    slot, chance = routine_select(level, a, b, tau, u)
    return slot, chance, a


@kernel
def leaf_update(
    level: Level, found: float, b: float, tau: int, slot: int, chance: float, reward: float, notes: Array
) -> tuple[float, float]:
    """Learn the reward of a slot of the last level; the routine's two scalars."""
    return routine_update(level, found, b, tau, slot, chance, reward)


@kernel
def stride() -> int:
    """Steps that are taken without asking how many are left."""
    return 1


@kernel
def contiguous(program: Array) -> bool:
    """Whether slot j of the last level is arm BASE + j, so that a slot's arm need not be looked up."""
    return bool(program[CONTIGUOUS] == 1.0)


@kernel
def start_arms(program: Array, row: Array, notes: Array, n: int) -> None:
    """Make the table of the arms of n slots ready, which :func:`slot_arm` reads. Default: none is known yet."""
    for slot in range(n):
        notes[slot] = -1.0


@kernel
def slot_arm(program: Array, row: Array, notes: Array, slot: int) -> int:
    """The arm of a slot whose neighbours are no neighbours. Default: looked up once, then known."""
    arm = int(notes[slot])
    if arm < 0:
        arm = call_arm_of(program, row, slot)
        notes[slot] = arm
    return arm


@kernel
def load_stats(program: Array, row: Array, at: int, workspace: Array, t: int) -> int:
    """Bring the statistics of the last level into the workspace; where in it they begin. Default: it is the row."""
    return at


@kernel
def store_stats(program: Array, row: Array, at: int, workspace: Array, t: int, a: float) -> float:
    """Before step t, write to the row what is needed elsewhere; return the routine's first scalar as it is then."""
    return a


@kernel
def needs_rescale(a: float) -> bool:
    """Whether the statistics in the workspace must be rescaled, judged by the routine's first scalar."""
    return False


@kernel
def phase_at(reward_at: Address, spec: Array, t: int) -> tuple[int, int]:
    """The state of a piecewise constant adversary at step t, and the step until which it lasts. Default: no state."""
    return 0, FOREVER


@kernel
def reward_of(reward_at: Address, spec: Array, state: int, t: int, arm: int) -> float:
    """The reward of an arm at step t; ``state`` is what :func:`phase_at` gave."""
    return call_reward(reward_at, spec, t, arm)


@kernel
def learned_reward(spec: Array, state: int, arm: int, reward: float) -> float:
    """The reward in the precision in which the routine learns it."""
    return working(reward)


@kernel
def refused(reward: float) -> bool:
    """Whether the adversary paid something that is no reward: to any of the learners that are played side by side."""
    return not (0.0 <= reward <= 1.0)


@kernel
def common(x: float) -> float:
    """A number of the row that all learners share that are played side by side."""
    return x


@kernel
def acc_init(total: float) -> float:
    """The accumulator of a stretch's rewards when ``total`` was earned before. Default: the total itself."""
    return total


@kernel
def acc_add(earned: float, reward: float, gain: float) -> float:
    """The accumulator after one more reward; ``gain`` is the same in working precision."""
    return earned + reward


@kernel
def acc_result(total: float, earned: float) -> float:
    """What has been earned in all."""
    return earned


# --- The loop


@kernel
def stretch(
    run: Run, level: Level, t: int, pause: int, a: float, b: float, total: float
) -> tuple[int, int, float, float, float, float]:
    """Take steps between which nothing happens above the last level: until ``pause``, or until a rescale is needed.

    Parameters
    ----------
    run
        The learner and its adversary.
    level
        The last level; its statistics are in the workspace. On a processor that is the row.
    t, pause
        The first step, and the step before which to stop. May stop up to ``stride() - 1`` steps early.
    a, b
        The routine's two scalars.
    total
        What was earned since the routine was restarted.

    Returns
    -------
    (t, slot, chance, a, b, total): the time then, or -(t + 1) if the adversary paid something outside [0, 1] at
    time t; the last choice and its probability; the scalars; what was earned since the restart.
    """
    program, row, n = run.program, run.row, level.n
    counter_bits, advance = first_number(run.key, t, int(program[LEVELS]) - 1)
    neighbours = contiguous(program)
    notes = offset(run.notes, n)
    since = t - int(common(row[BEGAN]))
    base = arm_number(int(row[BASE]))
    slot = 0
    chance = working(1.0)
    earned = acc_init(total)
    span = counter(pause - t)
    done = counter(0)
    u = unit(mix(counter_bits))
    while done <= counter(span - stride()):
        for _ in range(stride()):
            # The next number depends on nothing here: it is made while this step waits for its own.
            counter_bits += advance
            following = unit(mix(counter_bits))
            if n > 1:
                slot, chance, found = leaf_select(level, a, b, since + done, u, notes)
            arm = arm_number(base + slot if neighbours else slot_arm(program, row, run.notes, slot))
            reward = reward_of(run.reward_at, run.spec, run.state, t + done, arm)
            if refused(reward):
                return -(t + done + 1), slot, chance, a, b, total
            gain = learned_reward(run.spec, run.state, arm, reward)
            earned = acc_add(earned, reward, gain)
            if n > 1:
                a, b = leaf_update(level, found, b, since + done, slot, chance, gain, notes)
            u = following
            done = counter(done + 1)
        if needs_rescale(a):
            break
    return t + done, slot, chance, a, b, acc_result(total, earned)


@kernel
def run(
    program_at: Address,
    own_at: Address,
    row_at: Address,
    workspace_at: Address,
    notes_at: Address,
    reward_at: Address,
    spec_at: Address,
    stops_at: Address,
    sums_at: Address,
    count: int,
) -> int:
    """Play until each of the times ``stops[:count]`` and note the rewards so far in ``sums[:count]``.

    Parameters
    ----------
    program_at, own_at, row_at, workspace_at
        Addresses of the program, of the same numbers in the precision of the workspace, of the learner's row, and of
        the workspace. On a processor the second is the first and the fourth is the third.
    notes_at
        Address of words in which the loop notes what follows from the row, while it runs: for every slot of the last
        level its arm, and as much as the routine takes notes of. They hold nothing between two calls.
    reward_at, spec_at
        Addresses of the adversary's function and of its numbers.
    stops_at
        ``count`` increasing times, none before the learner's time and none past the horizon.
    sums_at
        ``count + 1`` words. The last one holds, on entry and on return, what was earned before the routine over the
        arms was last restarted: so sums do not depend on where a run is cut.

    Returns
    -------
    0, or -(t + 1) if the adversary paid something outside [0, 1] at time t.
    """
    program = words(program_at)
    own = words(own_at)
    row = words(row_at)
    workspace = words(workspace_at)
    notes = words(notes_at)
    spec = words(spec_at)
    stops = words(stops_at)
    sums = words(sums_at)
    key = bits(row, KEY)
    t = int(row[TIME])
    before = sums[count]
    earned = before
    noted = -1  # when the run of the last level began that the notes are about
    for point in range(count):
        stop = int(stops[point])
        while t < stop:
            above = call_begin(program, row, t) if t == int(row[UNTIL]) else 1.0
            found, lasts = phase_at(reward_at, spec, t)
            state = arm_number(found)
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
            place = load_stats(program, row, at, workspace, t)
            if noted != int(row[BEGAN]):
                noted = int(row[BEGAN])
                if not contiguous(program):
                    start_arms(program, row, notes, n)
                start_notes(Level(own, level, workspace, place, n), offset(notes, n))
            t, slot, chance, a, b, total = stretch(
                Run(program, row, notes, key, reward_at, spec, state), Level(own, level, workspace, place, n),
                t, pause, a, b, total,
            )  # fmt: skip
            if t < 0:
                return t
            row[control + SCALARS] = store_stats(program, row, at, workspace, t, a)
            row[control + SCALARS + 1] = b
            row[control + SUM] = total
            if n > 1:
                row[control + CHILD] = slot
                row[control + CHANCE] = chance
            row[PROBABILITY] = max(min(above * chance, 1.0), LEAST_PROBABILITY)
            row[TIME] = t
            earned = before + total
            if t == int(row[UNTIL]):
                call_end(program, row, t)
                before = earned
        sums[point] = earned
    sums[count] = before
    return 0


def last_level(routine: RoutineKernels, memory: bool = True) -> dict[Kernel, Kernel]:
    """What stands for the hooks of a loop so that it has the last level's routine in it.

    ``memory``: whether the loop has memory for notes on every slot.
    """
    noted = routine.noted
    if noted is None or (noted.per_slot > 0 and not memory):
        return {routine_select: routine.select, routine_update: routine.update}
    return {start_notes: noted.start, leaf_select: noted.select, leaf_update: noted.update}
