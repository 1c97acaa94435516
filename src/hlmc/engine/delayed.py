"""Many steps of a learner whose rewards come late: the loop of simulations with delays.

The pending tickets are the simulator's. They lie in a calendar queue: one list for each of the next R steps, and room
for the ticket of decision t at place t mod R. No ticket waits for R steps or more, so nothing is searched for. The
loop makes the decisions and gives the credits of :mod:`hlmc.engine.feedback`. It leaves out the tags, because no ticket
leaves it, and the bits, because it tells each once.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from hlmc.engine.arithmetic import logarithm
from hlmc.engine.feedback import credit_decision, for_structure, hand_out, learn_last
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import BASE, BEGAN, COUNT, KEY, LEVELS, TIME
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.primitives import bits, call_reward, int_at, put_int, row_of, words
from hlmc.engine.routines import RoutineKernels, level_kernels
from hlmc.engine.step import contiguous, decide, last_select, slot_arm, start_arms
from hlmc.engine.stream import increment, number, unit
from hlmc.engine.structures.base import Structure, learn_from, update_level
from hlmc.engine.tickets import CHILDREN_AT

Array = np.ndarray

# The purposes of the random numbers of the environment: within a learner's stream, and used by nothing else.
DELAY, MISSING = 61, 62

# What an array of delays begins with.
LAW, FIRST, SECOND, LONGEST, WAIT, NEVER, COUNTED, DEFAULT, VALUES = range(9)
"""The law; its two numbers; the longest delay; after how many decisions one that no reward comes for is dropped; the
share of decisions that no reward comes for; 1 if a dropped decision counts; as which reward; the listed delays."""

CONSTANT, UNIFORM, GEOMETRIC, PARETO, LISTED, CLICKS = range(6)


@kernel
def delay_of(law: Array, u: float, reward: float) -> tuple[int, bool]:
    """After how many more decisions the reward comes or is given up, and whether it comes."""
    kind = int(law[LAW])
    longest = law[LONGEST]
    if kind == CONSTANT:
        return int(law[FIRST]), True
    if kind == CLICKS and reward == 0.0:
        return int(law[WAIT]), False
    if kind == UNIFORM or kind == CLICKS:  # noqa: SIM109 - a kernel has no tuples to look in
        return int(law[FIRST] + u * (law[SECOND] - law[FIRST] + 1.0)), True
    if kind == GEOMETRIC:
        return int(min(logarithm(1.0 - u) / law[FIRST], longest)), True
    if kind == PARETO:
        return int(min(law[SECOND] * (math.pow(1.0 - u, -1.0 / law[FIRST]) - 1.0), longest)), True
    listed = law[VALUES + int(u * law[FIRST])]
    if listed < 0.0:
        return int(law[WAIT]), False
    return int(listed), True


@kernel
def run_delayed(
    program_at: Address,
    row_at: Address,
    notes_at: Address,
    reward_at: Address,
    spec_at: Address,
    law_at: Address,
    pending_at: Address,
    stops_at: Address,
    sums_at: Address,
    count: int,
) -> int:
    """Play until each of the times ``stops[:count]`` and note the rewards so far in ``sums[:count]``.

    Parameters
    ----------
    program_at, row_at
        Addresses of the program and of the learner's row.
    notes_at
        Address of a word for every slot of the last level, in which the loop notes the slot's arm while it runs; not
        used where the arms of a group are neighbours.
    reward_at, spec_at
        Addresses of the adversary's function and of its numbers.
    law_at
        Address of the numbers of the delays (LAW, ...).
    pending_at
        Address of four whole numbers: R, more than the longest that a ticket waits; and the addresses of

        - 3 R integers, at first -1: the first and the last ticket of the list of each step, modulo R, and for every
          ticket the next one of its list;
        - the tickets, [R, words of a ticket];
        - their R rewards.
    stops_at
        ``count`` increasing times, none before the learner's time and none past the horizon.
    sums_at
        ``count + 1`` words. The last one holds, on entry and on return, what was earned so far.

    Returns
    -------
    0, or -(t + 1) if the adversary paid something outside [0, 1] at time t.
    """
    places, calendar_at = int_at(pending_at, 0), int_at(pending_at, 1)
    tickets_at, paid_at = int_at(pending_at, 2), int_at(pending_at, 3)
    program = words(program_at)
    row = words(row_at)
    notes = words(notes_at)
    spec = words(spec_at)
    law = words(law_at)
    paid = words(paid_at)
    stops = words(stops_at)
    sums = words(sums_at)
    width = CHILDREN_AT + 2 * int(program[LEVELS])
    key = bits(row, KEY)
    step = increment(key)
    earned = sums[count]
    t = int(row[TIME])
    place = t % places
    noted = -1  # when the run of the last level began that the notes are about
    for point in range(count):
        stop = int(stops[point])
        while t < stop:
            slot = decide(program, row, t)
            if contiguous(program):
                arm = int(row[BASE]) + slot
            else:
                if noted != int(row[BEGAN]):
                    noted = int(row[BEGAN])
                    start_arms(program, row, notes, int(row[COUNT]))
                arm = slot_arm(program, row, notes, slot)
            hand_out(program, row, t, arm, words(row_of(tickets_at, place, width)))
            reward = call_reward(reward_at, spec, t, arm)
            if not (0.0 <= reward <= 1.0):
                return -(t + 1)
            earned += reward
            wait, comes = delay_of(law, unit(number(key, step, t, DELAY)), reward)
            if law[NEVER] > 0.0 and unit(number(key, step, t, MISSING)) < law[NEVER]:
                comes = False
            # Told after W more decisions it would have expired, and what does not count need not be told.
            if wait < places and (comes or law[COUNTED] == 1.0):
                paid[place] = reward if comes else law[DEFAULT]
                due = place + wait
                due = due - places if due >= places else due
                put_int(calendar_at, 2 * places + place, -1)
                if int_at(calendar_at, due) < 0:
                    put_int(calendar_at, due, place)
                else:
                    put_int(calendar_at, 2 * places + int_at(calendar_at, places + due), place)
                put_int(calendar_at, places + due, place)
            t += 1
            told = int_at(calendar_at, place)
            while told >= 0:
                # The decision in place ``told`` is the last one that fell there.
                made = t - 1 - place + told if told <= place else t - 1 - place + told - places
                credit_decision(program, row, words(row_of(tickets_at, told, width)), made, t, paid[told])
                told = int_at(calendar_at, 2 * places + told)
            put_int(calendar_at, place, -1)
            place = place + 1 if place + 1 < places else 0
        sums[point] = earned
    sums[count] = earned
    return 0


@cache
def delayed_loop(structure: Structure, last: RoutineKernels | None) -> Kernel:
    """:func:`run_delayed` for a structure, the last level's routine compiled in; None: called through the table."""
    loop = for_structure(run_delayed, structure)
    if last is None:
        return loop
    own = level_kernels(last)
    return substitute(loop, {last_select: own.select, learn_last: substitute(learn_from, {update_level: own.update})})
