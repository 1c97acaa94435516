"""Ask and tell: decisions whose rewards come late, out of order or never.

:func:`ask` makes a decision and goes on to the next step at once. It hands out a ticket (:mod:`hlmc.engine.tickets`)
with everything that is needed to learn from the reward when it comes. :func:`tell` learns from it. The learner keeps
one bit per decision, in a window over the last W of them (PENDING): set while the reward is outstanding, so that no
ticket counts twice. It is the anti-replay window of RFC 6479. Whose tickets it takes is :mod:`hlmc.engine.identity`'s
affair.

*Time.* A row belongs to the step ``current``: TIME, or TIME - 1 while the end of a run is due. The levels above learn
from a run when the first decision after it is made, so that a reward told at once is always in time. All decisions
told at once leave the row that select and update leave.

*In time.* While the run of the last level is still that of the ticket, its routine learns the reward, with the slot
and the probability of the ticket, so that the estimates stay unbiased. What has not come by the end of the run counts
for nothing: as a reward of 0 where the level above learns gains, as a loss of 0 where it learns losses.

*Late.* Otherwise the structure's ``late`` credits the levels that are still in the run of the ticket.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from hlmc.engine.identity import FORGOTTEN, NUMBER, begin_incarnation, incarnation_of
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARM,
    BEGAN,
    BITS,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    COUNTS,
    DUE,
    FEEDBACK,
    FIELDS,
    HORIZON,
    IDLE,
    INCARNATIONS,
    LEVELS,
    PENDING,
    PROBABILITY,
    RECORD,
    SUM,
    TIME,
    UNANSWERED,
    UNTIL,
    WINDOW,
)
from hlmc.engine.linker import Kernel, substitute_where_used
from hlmc.engine.primitives import bits, put_bits, words
from hlmc.engine.step import BAD_REWARD, PAST_HORIZON, arm_of, decide
from hlmc.engine.structures.base import Structure, choices_counted, learn_from, no_late, no_note, weigh_slots
from hlmc.engine.tickets import (
    CHILDREN_AT,
    LEARNER,
    TAG,
    TICKET_ARM,
    TICKET_PROBABILITY,
    TICKET_TIME,
    put_number,
    tag_of,
    ticket_chance,
    ticket_int,
    ticket_slot,
)

Array = np.ndarray

# What ask answers instead of an arm, and tell instead of a code; see also hlmc.engine.step.
SELECTED = -4
BAD_TICKET = -5

# What tell answers.
APPLIED, LATE, DUPLICATE, EXPIRED = range(4)
FINISHED = 4
"""What a fleet answers about the ticket of a learner that had reached the horizon and made no decision."""

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel
def ask(program_at: Address, row_at: Address, learner: int, identity_at: Address, ticket_at: Address) -> int:
    """Make a decision and write its ticket; the arm. ``learner`` is the learner's number in its fleet.

    A row that last lived as another identity (:mod:`hlmc.engine.identity`) begins an incarnation.
    """
    program = words(program_at)
    row = words(row_at)
    ticket = words(ticket_at)
    if row[ARM] >= 0.0:
        return SELECTED
    t = int(row[TIME])
    if t >= int(program[HORIZON]):
        return PAST_HORIZON
    incarnation = int(program[WINDOW]) + INCARNATIONS
    identity = words(identity_at)
    if bits(row, incarnation) != bits(identity, NUMBER):
        begin_incarnation(program, row, learner, identity)
    arm = arm_of(program, row, decide(program, row, t))
    put_number(ticket, LEARNER, learner)
    describe_decision(program, row, t, ticket)
    hand_out(program, row, t, arm, ticket)
    put_bits(ticket, TAG, tag_of(program, row, ticket, incarnation))
    place = t % int(program[PENDING])
    word = int(program[WINDOW]) + BITS + (place >> 6)
    put_bits(row, word, bits(row, word) | (_ONE << np.uint64(place & 63)))
    return arm


@kernel
def describe_decision(program: Array, row: Array, t: int, ticket: Array) -> None:
    """Write what the ticket of decision t says to its user alone; before :func:`hand_out`."""
    ticket[TICKET_PROBABILITY] = row[PROBABILITY]
    weigh_slots(program, row, t, ticket)


@kernel
def hand_out(program: Array, row: Array, t: int, arm: int, ticket: Array) -> None:
    """Write what the ticket of decision t must carry for its learner, and go on to the next step.

    The bit of the window is not set, and the words that only users read are not written.
    """
    levels = int(program[LEVELS])
    put_number(ticket, TICKET_TIME, t)
    put_number(ticket, TICKET_ARM, arm)
    last = int(row[RECORD])
    level = last - FIELDS * (levels - 1)
    for d in range(levels):
        control = int(program[level + CONTROL])
        # A group of one arm leaves the words of the last level as they were.
        chosen = level != last or int(row[COUNT]) > 1
        put_number(ticket, CHILDREN_AT + d, int(row[control + CHILD]) if chosen else 0)
        ticket[CHILDREN_AT + levels + d] = row[control + CHANCE] if chosen else 1.0
        level += FIELDS
    no_note(program, row, ticket)
    window = int(program[WINDOW])
    row[TIME] = t + 1
    row[window + UNANSWERED] += 1.0
    if t + 1 == int(row[UNTIL]):
        row[window + DUE] = 1.0


@kernel
def genuine(program: Array, row: Array, ticket: Array) -> bool:
    """Whether a ticket is one of this learner's, as it was made.

    A decision that lies ahead is another copy's. One of an incarnation that is no longer known is not looked at
    further: it is expired, whoever made it.
    """
    # Compared as raw bits: the number of a forged ticket need not be one that an integer can hold.
    if bits(ticket, TICKET_TIME) >= np.uint64(int(row[TIME])):
        return False
    incarnation = incarnation_of(program, row, ticket_int(ticket, TICKET_TIME))
    if incarnation <= 0:
        return incarnation == FORGOTTEN
    return bool(tag_of(program, row, ticket, incarnation) == bits(ticket, TAG))


@kernel
def tell(program_at: Address, row_at: Address, ticket_at: Address, reward: float, learns: int) -> int:
    """Learn the reward of a ticket, or with ``learns`` = 0 only that none will come; a code.

    A ticket that is not genuine, or a reward outside [0, 1], changes nothing.
    """
    program = words(program_at)
    row = words(row_at)
    ticket = words(ticket_at)
    if not genuine(program, row, ticket):
        return BAD_TICKET
    if not (0.0 <= reward <= 1.0):
        return BAD_REWARD
    return settle_ticket(program, row, ticket, reward, learns)


@kernel
def settle_ticket(program: Array, row: Array, ticket: Array, reward: float, learns: int) -> int:
    """What :func:`tell` does when the ticket and the reward have been checked."""
    now = int(row[TIME])
    t = ticket_int(ticket, TICKET_TIME)
    pending = int(program[PENDING])
    if now - t > pending or incarnation_of(program, row, t) == FORGOTTEN:
        return EXPIRED
    window = int(program[WINDOW])
    place = t % pending
    word = window + BITS + (place >> 6)
    outstanding = bits(row, word)
    mask = _ONE << np.uint64(place & 63)
    if outstanding & mask == _NONE:
        return DUPLICATE
    put_bits(row, word, outstanding ^ mask)
    return APPLIED if learns == 0 else credit_decision(program, row, ticket, t, now, reward)


@kernel
def credit_decision(program: Array, row: Array, ticket: Array, t: int, now: int, reward: float) -> int:
    """Learn the reward of decision t after ``now`` decisions; a code."""
    current = now - int(row[int(program[WINDOW]) + DUE])
    if t >= int(row[BEGAN]) and current < int(row[UNTIL]):
        return _learn_in_time(program, row, ticket, reward, now)
    return LATE if no_late(program, row, ticket, reward, current) else EXPIRED


@kernel
def _learn_in_time(program: Array, row: Array, ticket: Array, reward: float, now: int) -> int:
    """Learn a reward while the run of the last level is that of the ticket; a code."""
    level = int(row[RECORD])
    n = int(row[COUNT])
    if n > 1:
        levels = int(program[LEVELS])
        slot = ticket_slot(ticket, levels, levels - 1)
        chance = ticket_chance(ticket, levels, levels - 1)
        if not (0 <= slot < n and chance > 0.0):
            return EXPIRED  # no ticket of ours, although the tag matches; or there are fewer arms than there were
        if program[IDLE] > 0.0 and arm_of(program, row, slot) != ticket_int(ticket, TICKET_ARM):
            return EXPIRED
        # Told at once, ``now`` is one step after the decision: the tau of its choice.
        tau = choices_counted(program, row, level, now)
        if program[level + FEEDBACK] == COUNTS:
            tau -= 1
        learn_last(program, row, level, n, tau, slot, chance, reward)
    row[int(program[level + CONTROL]) + SUM] += reward
    row[int(program[WINDOW]) + UNANSWERED] -= 1.0
    return APPLIED


@kernel
def learn_last(
    program: Array, row: Array, level: int, n: int, tau: int, slot: int, chance: float, reward: float
) -> None:
    """Hook: the last level learns the reward of an earlier choice. Default: through the program's table."""
    learn_from(program, row, level, n, tau, slot, chance, reward)


@cache
def for_structure(kernel: Kernel, structure: Structure) -> Kernel:
    """:func:`ask`, :func:`tell`, or a kernel that leads to them or to :func:`settle_ticket`, for a structure."""
    hooks: dict[Kernel, Kernel] = {no_note: structure.note, no_late: structure.late, weigh_slots: structure.weigh}
    return substitute_where_used(kernel, {hook: own for hook, own in hooks.items() if own is not hook})
