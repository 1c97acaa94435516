"""Ask and tell on rows whose decisions a database keeps: a batch of decisions or of rewards in one call.

The bits of the window (:mod:`hlmc.engine.feedback`) are not used here. Which decisions are outstanding is known to the
database, which also keeps their tickets. So there is no limit to how many may await their rewards.

In all kernels here ``rows_at`` is the address of a matrix of rows of ``width`` words, ``places_at`` that of ``count``
integers: the row that item k of the batch is about. A row may come several times; items are worked on in order.
"""

from __future__ import annotations

from hlmc.engine.feedback import APPLIED, BAD_TICKET, EXPIRED, credit, genuine, hand_out
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import HORIZON, LEVELS, PROBABILITY, TIME
from hlmc.engine.primitives import int_at, put_bits, put_int, row_of, words
from hlmc.engine.step import PAST_HORIZON, arm_of, decide
from hlmc.engine.tickets import CHILDREN_AT, TAG, TICKET_PROBABILITY, TICKET_TIME, tag_of, ticket_int


@kernel
def ask_stored(
    program_at: Address,
    rows_at: Address,
    width: int,
    places_at: Address,
    count: int,
    tickets_at: Address,
    arms_at: Address,
) -> int:
    """Make ``count`` decisions and write their tickets and arms; an arm is PAST_HORIZON where the row has ended.

    ``tickets``: a matrix of zeros [count, words of a ticket]; ``arms``: ``count`` integers.
    """
    program = words(program_at)
    levels = int(program[LEVELS])
    ticket_width = CHILDREN_AT + 2 * levels
    for k in range(count):
        row = words(row_of(rows_at, int_at(places_at, k), width))
        t = int(row[TIME])
        if t >= int(program[HORIZON]):
            put_int(arms_at, k, PAST_HORIZON)
        else:
            ticket = words(row_of(tickets_at, k, ticket_width))
            arm = arm_of(program, row, decide(program, row, t))
            ticket[TICKET_PROBABILITY] = row[PROBABILITY]
            hand_out(program, row, t, arm, ticket)
            # The tag shows a ticket that was damaged in the database before a kernel follows it.
            put_bits(ticket, TAG, tag_of(program, row, ticket, levels))
            put_int(arms_at, k, arm)
    return count


@kernel
def credit_stored(
    program_at: Address,
    rows_at: Address,
    width: int,
    places_at: Address,
    count: int,
    tickets_at: Address,
    rewards_at: Address,
    learns_at: Address,
    codes_at: Address,
) -> int:
    """Learn the rewards, in [0, 1], of tickets that have not been told; write their codes.

    An item whose ``learns`` is 0 changes nothing: its reward will not come. Nor does one whose ticket is not its row's
    own (BAD_TICKET): it was damaged in the database.
    """
    program = words(program_at)
    rewards = words(rewards_at)
    ticket_width = CHILDREN_AT + 2 * int(program[LEVELS])
    for k in range(count):
        row = words(row_of(rows_at, int_at(places_at, k), width))
        ticket = words(row_of(tickets_at, k, ticket_width))
        t = ticket_int(ticket, TICKET_TIME)
        now = int(row[TIME])
        if not genuine(program, row, ticket):
            put_int(codes_at, k, BAD_TICKET)
        elif t < 0 or t >= now:
            put_int(codes_at, k, EXPIRED)
        elif int_at(learns_at, k) == 0:
            put_int(codes_at, k, APPLIED)
        else:
            put_int(codes_at, k, credit(program, row, ticket, t, now, rewards[k]))
    return count
