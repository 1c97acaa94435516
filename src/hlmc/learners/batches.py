"""A batch: one call of a fleet for many learners at once.

What a caller gives (numbers of learners, rewards, tickets) is copied and checked here, before a lock is taken, because
an object of the caller's may run code of its own while it is read. :class:`Batch` says which learners a call is for,
and :func:`spread` runs a kernel of :mod:`hlmc.engine.batch` over their rows, in several threads if they are many.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlmc.checks import listed
from hlmc.engine.batch import first_refused
from hlmc.engine.feedback import BAD_TICKET
from hlmc.engine.layout import LEVELS
from hlmc.errors import BadArgument, BadTicket, BadType, HLMCError, shown
from hlmc.learners.learner import no_window, refusal
from hlmc.learners.tickets import Ticket, as_ticket, ticket_dtype
from hlmc.targets import JIT, address_of, address_table, entry

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

LEAST_SHARE = 4096
"""A second thread is worth its while from about so many learners each."""


class Batch(NamedTuple):
    """The learners that a call is for: those listed, or all.

    Parameters
    ----------
    ids
        The numbers of the learners, int64, in the order of the list; None: all learners, in order.
    size
        How many places the batch has.
    repeated
        Whether some learner has several places.
    """

    ids: Array | None
    size: int
    repeated: bool = False

    def learner(self, place: int) -> int:
        """Who is in this place."""
        return place if self.ids is None else int(self.ids[place])

    def is_list(self, given: Array | None) -> bool:
        """Whether a list has the same learners in the same order."""
        if self.ids is None or given is None:
            return self.ids is given
        return given.dtype == np.int64 and np.array_equal(given, self.ids)


def batch_of(given: Array, size: int, marks: Array, repeats: bool) -> Batch:
    """The batch of a list of learners. An error if one is not there, or comes again and must not.

    Parameters
    ----------
    given
        What :func:`given_ids` has returned.
    size
        Learners of the fleet.
    marks
        Memory for the search, ``size // 32 + 1`` words of int64: zeros before and after.
    repeats
        Whether a learner may be listed again.
    """
    ids = given.astype(np.int64, copy=False)
    place = compiled(first_refused, 4)(address_of(ids), len(ids), size, address_of(marks))
    repeated = False
    if place < len(ids) and repeats:
        repeated = True
        outside = np.flatnonzero((given < 0) | (given >= size))
        place = int(outside[0]) if outside.size else len(ids)
    if place < len(ids):
        if 0 <= given[place] < size:
            raise BadArgument(f"ids must not repeat a learner, and {given[place]} comes again in place {place}")
        raise BadArgument(f"ids must be from 0 to {size - 1}, not {given[place]} (in place {place})")
    return Batch(ids, len(ids), repeated)


# --- What a caller gives: copies, which cannot be changed after they have been checked


def given_ids(ids: Any) -> Array | None:
    """Numbers of learners as an array of whole numbers; None for all."""
    if ids is None:
        return None
    given = _given("ids", ids)
    if given.ndim != 1:
        raise BadArgument(f"ids must be a list of learners, not of shape {given.shape}")
    if given.dtype.kind not in "iu" and given.size:
        raise BadType(f"ids must be whole numbers, not {given.dtype}")
    return given


def given_rewards(rewards: Any, policy: Policy) -> Array:
    """Rewards in the policy's units as an array of float64, of any shape."""
    given = _given("rewards", rewards)
    if given.dtype.kind not in "biuf" and given.size:
        told = "losses" if policy.losses else "rewards"
        raise BadType(f"{told} must be numbers in {policy.range_shown}, not {given.dtype}")
    return given.astype(np.float64, copy=False)


def given_tickets(tickets: Any, policy: Policy) -> Array:
    """Tickets as a structured array. Whether they are genuine is not asked here."""
    if not policy.pending:
        raise no_window(policy)
    wanted = ticket_dtype(int(policy.program[LEVELS]))
    if isinstance(tickets, np.ndarray) and tickets.dtype == wanted and tickets.ndim == 1:
        # As plain bytes, which NumPy copies at once; the fields of a structure it copies one by one.
        return np.array(np.ascontiguousarray(tickets).view(np.uint8), subok=False).view(wanted)
    given = [as_ticket(each) for each in listed("tickets", tickets, "Ticket, or what ask() has returned", empty=True)]
    if isinstance(tickets, np.ndarray) or not all(isinstance(each, Ticket) for each in given):
        raise BadType(f"tickets must be a list of Ticket or what ask() has returned, not {shown(tickets)}")
    for place, each in enumerate(given):
        if len(each) != wanted.itemsize:
            raise bad_ticket(policy, place)
    return np.frombuffer(b"".join(given), wanted)


def bad_ticket(policy: Policy, place: int) -> HLMCError:
    """The error about the ticket in a place."""
    return BadTicket(f"tickets[{place}]: {refusal(BAD_TICKET, policy)}")


def as_words(tickets: Array) -> Array:
    """Tickets as a matrix of words, the same memory."""
    return tickets.view(np.float64).reshape(len(tickets), -1)


def _given(name: str, values: Any) -> Array:
    """A copy of what a caller gives as an array."""
    try:
        given = np.array(values, order="C", subok=True)
    except ValueError as error:
        raise BadArgument(f"{name} must be a list of numbers: {error}") from None
    if isinstance(given, np.ma.MaskedArray) and given.mask.any():
        raise BadArgument(f"{name} must not have masked places, and {int(given.mask.sum())} are masked")
    return np.asarray(given)


# --- Kernels over a batch


def spread(
    function: Callable[..., int], rows: Array, batch: Batch, threads: int, program_at: Any, *more: Any
) -> list[tuple[int, int]]:
    """Run a kernel of :mod:`hlmc.engine.batch` over a batch, in several threads if it is large.

    Parameters
    ----------
    function
        The kernel. Its arguments are ``program_at`` (unless that is None), the batch, the first place and the one after
        the last, and ``more``.
    rows
        The rows of all learners [learner, word].
    threads
        The most threads. Two must not be at one row, so a batch with repetitions has one.

    Returns
    -------
    For each part of the batch, in order, the place after its last, and the kernel's answer.
    """
    head = () if program_at is None else (program_at,)
    ids = rows if batch.ids is None else batch.ids
    words = [address_of(rows), rows.shape[1], address_of(ids), int(batch.ids is not None)]
    _table, batch_at = address_table(words)
    call = compiled(function, len(head) + 3 + len(more))
    parts = max(1, min(threads, batch.size // LEAST_SHARE)) if JIT and not batch.repeated else 1
    ends = [batch.size * part // parts for part in range(parts + 1)]

    def run(first: int, stop: int) -> tuple[int, int]:
        return stop, call(*head, batch_at, first, stop, *more)

    if parts == 1:
        return [run(0, batch.size)]
    running = [_pool().submit(run, first, stop) for first, stop in itertools.pairwise(ends)]
    try:
        return [part.result() for part in running]
    finally:
        wait(running)  # after Ctrl-C too: no thread is to work on the rows when this returns


@cache
def compiled(function: Callable[..., int], arguments: int) -> Callable[..., int]:
    """The machine code of a kernel of so many whole numbers and addresses; other threads may run meanwhile."""
    return entry(function, "int64", *["int64"] * arguments, release=True)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="hlmc-fleet")


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork; the child makes its own.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover
