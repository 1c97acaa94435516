"""The tree of groups and the nested epochs of HLMC (Algorithm 1 of the paper, at any depth).

Level d (from 1) splits its group into children of SIZE arms and lets a choice stand for LENGTH steps. When a choice of
level d is made, level d+1 starts afresh over the arms of the chosen child; when it has stood, level d learns the mean
reward of those steps. The LENGTH of a level is a multiple of the next one's. With an unknown horizon the whole tree
starts afresh in stages of 2^r steps; where a learner continues after its horizon T, in stages of T, 2 T, 4 T, ...
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    CHILDREN,
    CONTROL,
    COUNT,
    COUNTS,
    CROWNED,
    FEEDBACK,
    FIELDS,
    IDLE,
    KEY,
    LENGTH,
    LEVELS,
    LOSS,
    MOVED,
    PENDING,
    REACHED,
    RECORD,
    ROUTINE,
    SUM,
    TIME,
    UNTIL,
    WINDOW,
)
from hlmc.engine.primitives import bits, call_select, call_start, call_update
from hlmc.engine.records import Change
from hlmc.engine.stream import uniform
from hlmc.engine.structures.base import (
    LEAST_PROBABILITY,
    Structure,
    chance_within,
    change_level,
    choices_counted,
    learn_from,
    live_arms,
    put_propensity,
    unanswered,
)
from hlmc.engine.structures.stages import choice_at, stage_of
from hlmc.engine.structures.tree_checks import tree_check_program, tree_check_row
from hlmc.engine.tickets import TICKET_TIME, ticket_chance, ticket_int, ticket_slot

Array = np.ndarray

SINGLE = {"LEAST_PROBABILITY": 2.0**-126}


# Hooks: what another structure that is a tree but for its top level substitutes.


@kernel
def choose(program: Array, row: Array, t: int, d: int, level: int, n: int, control: int, tau: int) -> float:
    """Make choice ``tau`` (from 0) of level d, whose record is ``level``, among n > 1 children, before step t.

    Writes CHILD and CHANCE. Returns the probability of the child chosen.
    """
    u = uniform(bits(row, KEY), t, d)
    call_select(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, tau, u)
    return float(row[control + CHANCE])


@kernel
def learn(program: Array, row: Array, d: int, level: int, n: int, control: int, tau: int, mean: float) -> None:
    """Have level d, which has n children, learn that its choice ``tau`` paid ``mean`` per step."""
    call_update(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, tau, mean)


@kernel
def start_last(program: Array, row: Array, record: int, base: int, count: int) -> int:
    """Start the routine of the last level over ``count`` arms from ``base`` on; the number of its slots."""
    if count > 1:
        at = int(program[record + AT])
        control = int(program[record + CONTROL])
        call_start(int(program[record + ROUTINE]), program, record, row, at, count, control)
    return count


# The walk from the top level to the arms.


@kernel
def tree_begin(program: Array, row: Array, t: int) -> float:
    """Make the choices that fall due before step t and start the routine over the arms; the choices' probability."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t)
    local = t - origin
    base = 0
    count = live_arms(program, row)
    probability = 1.0
    standing = 1.0  # that of the choices which stood before
    afresh = local == 0
    until = length
    into = local  # steps since the choice above was made
    level = FIELDS * (1 + stage * levels)
    for d in range(levels - 1):
        choice = choice_at(program, level, count, into)
        n, control, size, into = choice.n, choice.control, choice.size, choice.into
        if afresh and n > 1:
            at = int(program[level + AT])
            call_start(int(program[level + ROUTINE]), program, level, row, at, n, control)
        afresh = into == 0
        if afresh:
            row[control + CHILD] = 0.0
            row[control + CHANCE] = 1.0
            row[control + SUM] = 0.0
            if n > 1:
                probability *= choose(program, row, t, d, level, n, control, choice.tau)
        else:
            standing *= row[control + CHANCE]
        child = int(row[control + CHILD])
        base += child * size
        count = min(size, count - child * size)
        until = min(until, local - into + choice.stands)
        level += FIELDS
    row[int(program[level + CONTROL]) + SUM] = 0.0
    row[RECORD] = level
    row[BASE] = base
    row[COUNT] = start_last(program, row, level, base, count)
    row[BEGAN] = t
    row[UNTIL] = origin + until
    if program[PENDING] > 0.0:
        window = int(program[WINDOW])
        known = t >= int(row[window + MOVED])
        row[window + REACHED] = max(min(standing * probability, 1.0), LEAST_PROBABILITY) if known else 0.0
    return probability


@kernel
def top_choice(program: Array, t: int) -> int:
    """The step at which the top level that has a choice made the one that stands at step t."""
    levels = int(program[LEVELS])
    stage, origin, _ = stage_of(program, t)
    level = FIELDS * (1 + stage * levels)
    last = level + FIELDS * (levels - 1)
    while level < last and program[level + CHILDREN] == 1.0:
        level += FIELDS
    return t - (t - origin) % int(program[level + LENGTH])


@kernel
def weigh_reached(program: Array, row: Array, t: int, ticket: Array, reached: float) -> None:
    """Write what the ticket of decision t says of its propensity, when the group is ``reached`` with this chance."""
    # With one level nothing is above it that could be unknown, in a row of an earlier version either.
    above = reached if program[LEVELS] > 1.0 else 1.0
    put_propensity(ticket, above, chance_within(program, row), top_choice(program, t))


@kernel
def tree_weigh(program: Array, row: Array, t: int, ticket: Array) -> None:
    """The only way to an arm leads through its groups: the product of the levels' chances, whenever they chose.

    Summed over all ways that the choices can go after that of the top level, the probability of a way times its weight
    adds up to 1 for each arm, level by level from below.
    """
    weigh_reached(program, row, t, ticket, row[int(program[WINDOW]) + REACHED])


@kernel
def tree_end(program: Array, row: Array, t: int) -> None:
    """After step t (from 1) a run of the last level has ended: every level whose choice ends with it learns."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t - 1)
    local = t - origin
    level = FIELDS * (1 + stage * levels)
    earned = row[int(program[level + (levels - 1) * FIELDS + CONTROL]) + SUM]
    # A reward that has not come counts for nothing: where losses are learned, as a loss of 0.
    with_missing = earned + unanswered(program, row)
    count = live_arms(program, row)
    into = local - 1  # steps since the choice above was made, but for the last
    for d in range(levels - 1):
        choice = choice_at(program, level, count, into)
        control, size, into = choice.control, choice.size, choice.into
        child = int(row[control + CHILD])
        steps = into + 1
        row[control + SUM] += with_missing if program[level + FEEDBACK] == LOSS else earned
        if (steps == choice.stands or local == length) and choice.n > 1:
            mean = min(1.0, row[control + SUM] / steps)
            learn(program, row, d, level, choice.n, control, choice.tau, mean)
        count = min(size, count - child * size)
        level += FIELDS


@kernel
def own_choices(program: Array, row: Array, level: int, tau: int, stands: bool) -> int:
    """Hook: of the ``tau`` choices of a level before the present one, those it has learned from. Default: all.

    ``stands``: choice ``tau`` has been made.
    """
    return tau


@kernel
def tree_late(program: Array, row: Array, ticket: Array, reward: float, current: int) -> bool:
    """Credit a reward that comes after the last level has forgotten its decision to the levels that have not.

    ``current`` is the step to which the row belongs. All else is arithmetic on the clock: a level is in the run of the
    ticket while ``current`` lies before the end of that run. If the level's choice of then still stands, the reward
    joins the sum that it will learn from. If the level has learned from it already, the reward is credited by itself:
    the choice stood for ``steps`` steps and paid the mean of their rewards, so one of them adds ``reward / steps``; of
    a loss, ``(1 - reward) / steps``, with 0 where the reward was missing. The estimates of gains and of losses add up
    over such parts, each divided by the probability of the choice. Routines that count (COUNTS) have no parts. A
    routine gets -1 - tau for its present choice tau, whose learning rate stays.

    Returns whether any level was credited.
    """
    levels = int(program[LEVELS])
    t = ticket_int(ticket, TICKET_TIME)
    stage, origin, length = stage_of(program, t)
    local = t - origin
    here = current - origin
    count = live_arms(program, row)
    begins = 0  # the run of the level in which the decision was made
    ends = length
    credited = False
    level = FIELDS * (1 + stage * levels)
    for d in range(levels - 1):
        if here >= ends:
            break
        choice = choice_at(program, level, count, local - begins)
        n, control, size = choice.n, choice.control, choice.size
        slot = ticket_slot(ticket, levels, d)
        chance = ticket_chance(ticket, levels, d)
        tau = own_choices(program, row, level, (here - begins) // choice.stands, current < int(row[UNTIL]))
        begins = local - choice.into  # and its choice of then
        ends = min(begins + choice.stands, ends)
        if not 0 <= slot < n:
            break  # no ticket of ours
        loses = program[level + FEEDBACK] == LOSS
        if n > 1 and here < ends:
            # A missing reward was counted as 1 where losses are learned.
            row[control + SUM] = max(0.0, row[control + SUM] + (reward - 1.0 if loses else reward))
            credited = True
        elif n > 1 and chance > 0.0 and program[level + FEEDBACK] != COUNTS:
            steps = float(ends - begins)
            part = 1.0 - (1.0 - reward) / steps if loses else reward / steps
            learn_from(program, row, level, n, -1 - tau, slot, chance, part)
            credited = True
        count = min(size, count - slot * size)
        level += FIELDS
    return credited


# Arms that come and go


@kernel
def change_groups(
    program: Array, changes: Address, row: Array, level: int, n: int, m: int, slot: int, tau: int, stands: bool
) -> None:
    """Hook: the n groups of a level above the last change (:func:`hlmc.engine.structures.base.change_level`)."""
    change_level(program, changes, row, level, n, m, slot, tau)


@kernel
def change_arms(program: Array, changes: Address, row: Array, record: int, base: int, change: Change) -> None:
    """Hook: the group played, from arm ``base`` on, has changed; sets COUNT."""
    if change.running:
        tau = choices_counted(program, row, record, int(row[TIME]))
        if change.moved:
            change_level(program, changes, row, record, 1, change.after, 0, tau)
        elif base <= change.arm < base + change.before:
            # The last arm brings its statistics along from the same group; from elsewhere it comes as a fresh one.
            change_level(program, changes, row, record, change.before, change.after, change.arm - base, tau)
        elif change.before != change.after:
            change_level(program, changes, row, record, change.before, change.after, change.before - 1, tau)
    row[COUNT] = change.after


@kernel
def forget_way(program: Array, row: Array, since: int, until: int) -> None:
    """A choice that stands from step ``since`` to ``until`` has been moved to another group by no chance of its own.

    That group's own choice may have been drawn as well, with the same arms. It has its full weight, so this one has
    none: the propensity is unknown, and infinite in the tickets.
    """
    window = int(program[WINDOW])
    row[window + MOVED] = max(row[window + MOVED], float(until))
    # A champion plays in both groups, unless they were chosen before it was crowned, or there is none yet.
    if since < int(row[BEGAN]) or row[window + CROWNED] == row[window + REACHED]:
        row[window + CROWNED] = 0.0
    row[window + REACHED] = 0.0


@kernel
def tree_change(program: Array, changes: Address, row: Array, step: int, running: bool, live: int, arm: int) -> None:
    """Follow the choices of all levels as the check of a row does, and change what the number of arms changes.

    Only the levels' numbers of children matter, and only along the groups that are being played: every other group is
    started over the arms that it has when it is chosen. If the group played has lost its last arm, its neighbour is
    played for the rest of the time for which the choice stands, and all levels below start over it.
    """
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, step)
    local = step - origin
    base = 0
    before = live_arms(program, row)  # arms of the group, as it was
    count = live  # and as it will be
    last = before - 1 if live < before else -1
    row[int(program[IDLE])] = float(int(program[ARMS]) - live)
    moved = False
    into = local  # steps since the choice above was made
    level = FIELDS * (1 + stage * levels)
    for _ in range(levels - 1):
        choice = choice_at(program, level, before, into)
        control, size, into = choice.control, choice.size, choice.into
        child = int(row[control + CHILD])
        n = 1 if moved else choice.n
        m = (count + size - 1) // size
        taught = not running and (into + 1 == choice.stands or local + 1 == length)
        learned = choice.tau + 1 if taught else choice.tau
        # A group that an arm joins, a new one behind the last or the last one in the place of another, may be better
        # than it was: it gets at least the share of a fresh one.
        joined = -1
        if not moved and n > 1 and arm < 0 and count > before and before % size > 0:
            joined = n - 1
        elif not moved and n > 1 and base <= arm < base + min(before, count) and last > arm:
            joined = (arm - base) // size
        if joined >= 0:
            change_groups(program, changes, row, level, n, n, -1 - joined, learned, not taught)
        if n != m:
            change_groups(program, changes, row, level, n, m, n - 1, learned, not taught)
        if moved or child >= m:
            moved = True
            child = min(child, m - 1)
            row[control + CHILD] = child
            row[control + CHANCE] = 1.0
            if program[PENDING] > 0.0:
                forget_way(program, row, step - into, min(step - into + choice.stands, origin + length))
        base += child * size
        before = min(size, before - child * size)
        count = min(size, count - child * size)
        level += FIELDS
    change_arms(program, changes, row, level, base, Change(before, count, arm, last, moved, running))
    row[BASE] = base


@kernel
def tree_arm_of(program: Array, row: Array, slot: int) -> int:
    """The arm of a slot: the group's arms are neighbours."""
    return int(row[BASE]) + slot


TREE = Structure(
    name="tree",
    begin=tree_begin,
    end=tree_end,
    arm_of=tree_arm_of,
    check_row=tree_check_row,
    check_program=tree_check_program,
    contiguous=True,
    full_groups=True,
    keeps_statistics=False,
    random_order=False,
    change=tree_change,
    late=tree_late,
    weigh=tree_weigh,
    full_support=True,
)
