"""Ask and tell on rows whose decisions a database keeps: many decisions and rewards in one call.

The bits of the window (:mod:`hlmc.engine.feedback`) and the incarnations of a row (:mod:`hlmc.engine.identity`) are not
used here; their words are 0. Which decisions are outstanding, and whose, is known to the database, which also keeps
their tickets. So there is no limit to how many may await their rewards.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.feedback import BAD_TICKET, EXPIRED, credit_decision, describe_decision, hand_out
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import HORIZON, KEY, LEVELS, TIME
from hlmc.engine.primitives import bits, int_at, put_bits, put_int, row_of, words
from hlmc.engine.step import PAST_HORIZON, arm_of, decide
from hlmc.engine.tickets import CHILDREN_AT, TAG, TICKET_TIME, siphash, ticket_int

Array = np.ndarray

ASK, TELL = range(2)
"""The kinds of steps."""

_NONE = np.uint64(0)


@kernel
def steps_stored(
    program_at: Address,
    rows_at: Address,
    width: int,
    places_at: Address,
    kinds_at: Address,
    count: int,
    tickets_at: Address,
    rewards_at: Address,
    codes_at: Address,
) -> int:
    """Take ``count`` steps, in order.

    Parameters
    ----------
    program_at
        Address of the program.
    rows_at, width
        Address of a matrix of rows of ``width`` words.
    places_at, kinds_at
        ``count`` integers each: the row that a step is about, and its kind (ASK, TELL). A row may come several times.
    tickets_at
        A matrix [count, words of a ticket]: of ASK written here, from zeros; of TELL read.
    rewards_at
        ``count`` words: the reward in [0, 1] of a TELL.
    codes_at
        ``count`` integers, written here: the arm of an ASK, or PAST_HORIZON; the code of a TELL, or BAD_TICKET where
        the ticket is not the row's own. In both exceptions the row stays as it is.
    """
    program = words(program_at)
    rewards = words(rewards_at)
    ticket_width = CHILDREN_AT + 2 * int(program[LEVELS])
    for k in range(count):
        row = words(row_of(rows_at, int_at(places_at, k), width))
        ticket = words(row_of(tickets_at, k, ticket_width))
        if int_at(kinds_at, k) == ASK:
            put_int(codes_at, k, _ask(program, row, ticket))
        else:
            put_int(codes_at, k, _tell(program, row, ticket, rewards[k]))
    return count


@kernel
def _ask(program: Array, row: Array, ticket: Array) -> int:
    """Make a decision and write its ticket; the arm."""
    t = int(row[TIME])
    if t >= int(program[HORIZON]):
        return PAST_HORIZON
    arm = arm_of(program, row, decide(program, row, t))
    describe_decision(program, row, t, ticket)
    hand_out(program, row, t, arm, ticket)
    put_bits(ticket, TAG, _tag(program, row, ticket))
    return arm


@kernel
def _tell(program: Array, row: Array, ticket: Array, reward: float) -> int:
    """Learn the reward of a ticket that has not been told; a code."""
    if bits(ticket, TAG) != _tag(program, row, ticket):
        return BAD_TICKET
    t = ticket_int(ticket, TICKET_TIME)
    now = int(row[TIME])
    if t < 0 or t >= now:
        return EXPIRED
    return credit_decision(program, row, ticket, t, now, reward)


@kernel
def _tag(program: Array, row: Array, ticket: Array) -> np.uint64:
    """The tag of a ticket. It shows one that was damaged in the database before a kernel follows it."""
    return siphash(bits(row, KEY), _NONE, _NONE, ticket, TAG + 1, CHILDREN_AT + 2 * int(program[LEVELS]))
