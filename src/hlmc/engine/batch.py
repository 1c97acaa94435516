"""Many learners at a time: loops over the rows of a fleet.

The loops call the very step functions that a single learner calls. A batch is first looked through and then played,
so that one that must be refused has changed nothing. Learners that have reached the horizon are passed over, and the
others of the batch are served. Rows lie far apart in memory: the next ones are fetched while one is played.

In all kernels here ``batch_at`` is the address of the words of a :class:`hlmc.engine.records.Batch`, and places first
.. stop - 1 of that batch are worked on.
"""

from __future__ import annotations

from math import inf

import numpy as np

from hlmc.engine.feedback import FINISHED, ask, genuine, settle_ticket
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import ARM, HORIZON, LEVELS, TIME
from hlmc.engine.primitives import bits, int_at, prefetch, put_bits, put_int, row_of, words
from hlmc.engine.records import Batch
from hlmc.engine.step import PAST_HORIZON, select, update
from hlmc.engine.tickets import (
    CHILDREN_AT,
    LEARNER,
    TICKET_ARM,
    TICKET_BLOCK,
    TICKET_PROPENSITY,
    TICKET_TIME,
    put_number,
)

AHEAD = 16
"""How many learners ahead rows are fetched."""
FETCHED = 8
"""The most cache lines of a row that are fetched ahead."""
LINE = 64
"""Bytes of a cache line."""
_NO_ARM = np.uint64(2**64 + PAST_HORIZON)


@kernel
def _batch(batch_at: Address) -> Batch:
    """The batch whose four whole numbers are at an address."""
    return Batch(int_at(batch_at, 0), int_at(batch_at, 1), int_at(batch_at, 2), int_at(batch_at, 3))


@kernel
def _learner(batch: Batch, k: int) -> int:
    """The learner in place k of a batch: as listed, or, if all are asked, k itself."""
    return int_at(batch.ids_at, k) if batch.listed else k


@kernel
def _row(batch: Batch, k: int, stop: int, lines: int) -> Address:
    """The row of the learner in place k. Asks for the first cache lines of the row that is needed AHEAD places on."""
    if k + AHEAD < stop:
        ahead = row_of(batch.rows_at, _learner(batch, k + AHEAD), batch.width)
        for line in range(lines):
            prefetch(ahead, line)
    return row_of(batch.rows_at, _learner(batch, k), batch.width)


@kernel
def _lines(width: int) -> int:
    """How many cache lines of a row of so many words are asked for."""
    return min((8 * width + LINE - 1) // LINE + 1, FETCHED)


@kernel
def first_refused(ids_at: Address, count: int, size: int, marks_at: Address) -> int:
    """The first place in the list with a learner that is not there or comes a second time; ``count`` if there is none.

    ``marks`` is all zeros and stays so: 32 learners a word.
    """
    k = 0
    while k < count:
        i = int_at(ids_at, k)
        if i < 0 or i >= size:
            break
        mark = int_at(marks_at, i >> 5)
        bit = 1 << (i & 31)
        if mark & bit:
            break
        put_int(marks_at, i >> 5, mark | bit)
        k += 1
    for j in range(k):
        put_int(marks_at, int_at(ids_at, j) >> 5, 0)
    return k


@kernel
def first_unteachable(program_at: Address, batch_at: Address, first: int, stop: int, rewards_at: Address) -> int:
    """The first place at which nothing was selected or the reward is not in [0, 1]; ``stop`` when there is none.

    Learners that have reached the horizon select nothing, and whatever reward there is for them is not learned.
    """
    rewards = words(rewards_at)
    horizon = words(program_at)[HORIZON]
    batch = _batch(batch_at)
    for k in range(first, stop):
        row = words(_row(batch, k, stop, 1))
        waiting = row[ARM] >= 0.0
        if not (waiting and 0.0 <= rewards[k] <= 1.0) and (waiting or row[TIME] < horizon):
            return k
    return stop


@kernel
def select_many(program_at: Address, batch_at: Address, first: int, stop: int, arms_at: Address) -> int:
    """Select for the learners in places first .. stop - 1 of a batch; PAST_HORIZON for those that have reached it."""
    batch = _batch(batch_at)
    lines = _lines(batch.width)
    for k in range(first, stop):
        put_int(arms_at, k, select(program_at, _row(batch, k, stop, lines)))
    return stop


@kernel
def update_many(program_at: Address, batch_at: Address, first: int, stop: int, rewards_at: Address) -> int:
    """Teach the learners in places first .. stop - 1 of a batch."""
    rewards = words(rewards_at)
    batch = _batch(batch_at)
    lines = _lines(batch.width)
    for k in range(first, stop):
        update(program_at, _row(batch, k, stop, lines), rewards[k])
    return stop


# --- Ask and tell. ``tickets_at`` is the address of a matrix with one ticket per place of the batch.


@kernel
def first_selected(batch_at: Address, first: int, stop: int) -> int:
    """The first place at which an arm was selected that awaits its update; ``stop`` when there is none."""
    batch = _batch(batch_at)
    for k in range(first, stop):
        if words(_row(batch, k, stop, 1))[ARM] >= 0.0:
            return k
    return stop


@kernel
def undecided(program_at: Address, ticket_at: Address) -> bool:
    """Whether a ticket says that no decision was made, because the learner had reached the horizon."""
    ticket = words(ticket_at)
    end = np.uint64(int(words(program_at)[HORIZON]))
    return bool(bits(ticket, TICKET_ARM) == _NO_ARM and bits(ticket, TICKET_TIME) == end)


@kernel
def put_undecided(program_at: Address, learner: int, ticket_at: Address, width: int) -> None:
    """Write the ticket of no decision. Its propensity is infinite, so that it weighs nothing."""
    ticket = words(ticket_at)
    end = int(words(program_at)[HORIZON])
    for j in range(width):
        ticket[j] = 0.0
    put_number(ticket, LEARNER, learner)
    put_number(ticket, TICKET_TIME, end)
    put_bits(ticket, TICKET_ARM, _NO_ARM)
    put_number(ticket, TICKET_BLOCK, end)
    ticket[TICKET_PROPENSITY] = inf


@kernel
def first_forged(program_at: Address, batch_at: Address, first: int, stop: int, tickets_at: Address) -> int:
    """The first place with a ticket that is not its learner's; ``stop`` when there is none."""
    program = words(program_at)
    ticket_width = CHILDREN_AT + 2 * int(program[LEVELS])
    batch = _batch(batch_at)
    for k in range(first, stop):
        row = words(_row(batch, k, stop, 1))
        ticket_at = row_of(tickets_at, k, ticket_width)
        if not genuine(program, row, words(ticket_at)) and not undecided(program_at, ticket_at):
            return k
    return stop


@kernel
def ask_many(
    program_at: Address, batch_at: Address, first: int, stop: int, identity_at: Address, tickets_at: Address
) -> int:
    """Ask the learners in places first .. stop - 1 of a batch, in this order."""
    ticket_width = CHILDREN_AT + 2 * int(words(program_at)[LEVELS])
    batch = _batch(batch_at)
    lines = _lines(batch.width)
    for k in range(first, stop):
        row_at = _row(batch, k, stop, lines)
        i = _learner(batch, k)
        ticket_at = row_of(tickets_at, k, ticket_width)
        if ask(program_at, row_at, i, identity_at, ticket_at) == PAST_HORIZON:
            put_undecided(program_at, i, ticket_at, ticket_width)
    return stop


@kernel
def settle_many(program_at: Address, batch_at: Address, first: int, stop: int, told_at: Address) -> int:
    """Tell the learners in places first .. stop - 1 of a batch, in this order, of tickets that have been checked.

    ``told_at`` is the address of four whole numbers: the addresses of the tickets and of their rewards, 0 if rewards
    are only said to be missing, and the address of the answers, which are whole numbers too.
    """
    program = words(program_at)
    tickets_at, rewards = int_at(told_at, 0), words(int_at(told_at, 1))
    learns, codes_at = int_at(told_at, 2), int_at(told_at, 3)
    ticket_width = CHILDREN_AT + 2 * int(program[LEVELS])
    batch = _batch(batch_at)
    lines = _lines(batch.width)
    for k in range(first, stop):
        row = words(_row(batch, k, stop, lines))
        ticket_at = row_of(tickets_at, k, ticket_width)
        if undecided(program_at, ticket_at):
            put_int(codes_at, k, FINISHED)
        else:
            put_int(codes_at, k, settle_ticket(program, row, words(ticket_at), rewards[k], learns))
    return stop
