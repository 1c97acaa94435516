"""Rows of an experiment as the database keeps them, and the engine's steps on many of them at once.

A stored row is a learner's row without the bits of its window and without its identity: which decisions are
outstanding, and whose they are, is in the table of decisions. In memory the rows of a transaction are one matrix, on
which a batch of decisions or of rewards is one call.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hlmc.engine.arms import changer
from hlmc.engine.feedback import for_structure
from hlmc.engine.layout import ARM, CHANCE, CONTROL, FIELDS, IDLE, LEVELS, REACHED, SECRET, WINDOW
from hlmc.engine.primitives import CHANGE
from hlmc.engine.routines import level_change_kernel
from hlmc.engine.scale import scale_many
from hlmc.engine.stored import ASK, TELL, steps_stored
from hlmc.engine.tickets import TICKET_PROPENSITY, ticket_words
from hlmc.errors import BadArgument
from hlmc.learners.gate import soundness
from hlmc.learners.learner import Learner, fresh_rows
from hlmc.policies.base import Policy
from hlmc.targets import JIT, address_of, callback, entry, linked

Array = np.ndarray

MOST_KNOWN = 1000
"""Rows that a process knows, by their hashes, because it has written them: the first ones need not pass the gate, so
that the first answers do not wait for its compilation. Once it is there, it takes less time than a hash."""


def stored_policy(policy: Policy) -> Policy:
    """The policy that the rows of a bandit follow: with late rewards, and with arms that come and go where they can.

    >>> import hlmc
    >>> stored_policy(hlmc.EXP3(arms=3, horizon=100, pending=500))
    EXP3(arms=3, horizon=100, pending=1, dynamic=True)
    """
    return replace(policy, pending=1, dynamic=policy.structure.change is not None)


class Rows:
    """The steps of one policy of an experiment on matrices of rows [row, word], which may be wider than its rows.

    Parameters
    ----------
    policy
        What the user gave.
    seed
        What the random streams of all learners are derived from.
    """

    def __init__(self, policy: Policy, seed: str) -> None:
        self.policy = stored_policy(policy)
        self.width = self.policy.words.total
        self._seed = seed.encode()
        window = int(self.policy.program[WINDOW])
        # Identity and bits of the window: words that are 0 in every row here, and are not stored.
        self._left_out = slice(window + SECRET, window + self.policy.window_words - self.policy.dynamic)
        self._stored = self.width - (self._left_out.stop - self._left_out.start)
        self.stored_bytes = 8 * self._stored  # of a row in the database
        self._known: set[int] = set()
        self._ticket = ticket_words(int(self.policy.program[LEVELS]))
        self._program_at = linked(self.policy).address

    # --- Between bytes and matrices

    def unpacked(self, states: Sequence[bytes]) -> Array:
        """Rows from the database as a matrix with ``width`` words per row; they have not been checked."""
        stored = np.frombuffer(b"".join(states), "<f8").reshape(len(states), self._stored)
        rows = np.zeros((len(states), self.width))
        first, last = self._left_out.start, self._left_out.stop
        rows[:, :first], rows[:, last:] = stored[:, :first], stored[:, first:]
        return rows

    def packed(self, rows: Array) -> list[bytes]:
        """Rows as the database keeps them."""
        stored = np.empty((len(rows), self._stored), "<f8")
        first, last = self._left_out.start, self._left_out.stop
        stored[:, :first], stored[:, first:] = rows[:, :first], rows[:, last : self.width]
        return _pieces(stored)

    def vouched(self, rows: Array) -> list[bytes]:
        """The same for rows that kernels have made of sound ones: they need not pass the gate when they are read."""
        packed = self.packed(rows)
        if len(self._known) <= MOST_KNOWN:
            self._known.update(map(hash, packed))
        return packed

    def admitted(self, states: Sequence[bytes]) -> tuple[Array, int]:
        """Rows from the database, and the first that no learner of the policy can have; their number if none is."""
        sizes = [len(state) for state in states]
        if sizes.count(self.stored_bytes) < len(states):
            return np.zeros((0, self.width)), next(at for at, size in enumerate(sizes) if size != self.stored_bytes)
        rows = self.unpacked(states)
        if len(self._known) <= MOST_KNOWN and self._known.issuperset(map(hash, states)):
            return rows, len(rows)
        return rows, self.first_unsound(rows)

    def fresh(self, units: Iterable[str], live: int) -> Array:
        """Rows of learners that have yet to choose among ``live`` arms. Their streams follow from seed and unit."""
        digests = (hashlib.blake2b(unit.encode(), digest_size=8, key=self._key).digest() for unit in units)
        rows = fresh_rows(self.policy, np.frombuffer(b"".join(digests), np.uint64))
        if self.policy.dynamic:
            rows[:, int(self.policy.program[IDLE])] = self.policy.arms - max(1, live)
        return rows

    def adopted(self, learner: Learner, live: int) -> Array:
        """The row of a learner that has played elsewhere, alone in a matrix, for ``live`` arms; an error if it cannot.

        Between its control words and its statistics lie those of its window and of its arms, which are others here.
        """
        own, row, kind = learner.policy, learner.state, type(learner.policy).__name__
        if row[ARM] >= 0.0 or learner.pending:
            raise BadArgument(
                "policy must be a learner that awaits no reward: update, tell or drop what is outstanding"
            )
        if own.structure.random_order and self.policy.dynamic and not own.dynamic:
            raise BadArgument(
                f"policy must be a learner of {kind}(..., dynamic=True), as the arms of a bandit come and go"
            )
        there = own.arms - int(row[int(own.program[IDLE])]) if own.dynamic else own.arms
        if there != max(1, live):
            raise BadArgument(f"arms must be the {there} arms of the learner, not {live}")
        adopted = np.zeros((1, self.width))
        window, statistics = int(self.policy.program[WINDOW]), own.words.statistics
        adopted[0, :window] = row[:window]
        adopted[0, self.width - statistics :] = row[len(row) - statistics :]
        if own.pending:
            adopted[0, window : window + SECRET] = row[window : window + SECRET]
        elif own.structure.contiguous and not own.dynamic:
            # One way leads to each arm: the chances of the groups that stand say what their propensity is. Otherwise
            # propensities are known from the next choice of a group on.
            levels = np.arange(int(own.program[LEVELS]) - 1)
            controls = own.program[FIELDS * (1 + levels) + CONTROL].astype(np.int64)
            adopted[0, window + REACHED] = row[controls + CHANCE].prod()
        if self.policy.dynamic:
            adopted[0, int(self.policy.program[IDLE])] = own.arms - there
        return adopted

    @cached_property
    def _key(self) -> bytes:
        return hashlib.blake2b(self._seed, digest_size=32).digest()

    def first_unsound(self, rows: Array) -> int:
        """The first row that no learner of the policy can have; their number when there is none."""
        return self._unsound(_at(rows), rows.shape[1], len(rows))

    @cached_property
    def _unsound(self) -> Callable[[int, int, int], int]:
        return soundness(self.policy)

    # --- Steps

    def ask(self, rows: Array, places: Sequence[int]) -> list[tuple[int, bytes, float]]:
        """Make a decision for each place, which is the number of a row: arm, packed ticket, propensity.

        An arm is negative, and its row as before, where the policy's horizon has been reached.
        """
        count = len(places)
        tickets = np.zeros((count, self._ticket))
        arms = self.steps(rows, places, [ASK] * count, tickets, np.zeros(count))
        packed, chances = _pieces(tickets.astype("<f8", copy=False)), tickets[:, TICKET_PROPENSITY].tolist()
        return list(zip(arms, packed, chances, strict=True))

    def tell(self, rows: Array, places: Sequence[int], tickets: Sequence[bytes], rewards: Sequence[float]) -> list[int]:
        """Learn rewards in the caller's units; a code of :mod:`hlmc.engine.feedback` for each.

        BAD_TICKET stands where a ticket is not the row's own: then it was damaged in the database.
        """
        return self.steps(rows, places, [TELL] * len(places), self.tickets(tickets), np.array(rewards))

    def steps(
        self, rows: Array, places: Sequence[int], kinds: Sequence[int], tickets: Array, shares: Array
    ) -> list[int]:
        """Decisions and rewards in one call: see :func:`hlmc.engine.stored.steps_stored`. Arms and codes.

        Rows and tickets are changed, and ``shares``: float64, the rewards in the user's units.
        """
        count = len(places)
        numbers = np.array((places, kinds, kinds), np.int64)
        places_at, shares_at = _at(numbers), _at(shares)
        if self.policy.scaled:
            entry(scale_many, *["int64"] * 4, release=True)(self._program_at, shares_at, count)
        where = _at(rows), rows.shape[1], places_at, places_at + 8 * count
        self._steps(self._program_at, *where, count, _at(tickets), shares_at, places_at + 16 * count)
        return numbers[2].tolist()  # type: ignore[no-any-return]

    @cached_property
    def _steps(self) -> Callable[..., Any]:
        return entry(for_structure(steps_stored, self.policy.structure), *["int64"] * 10, release=True)

    def tickets(self, packed: Sequence[bytes]) -> Array:
        """Tickets from the database as a matrix; one of another length is damaged, and becomes zeros."""
        size = 8 * self._ticket
        if any(len(each) != size for each in packed):
            packed = [each if len(each) == size else bytes(size) for each in packed]
        return np.frombuffer(bytearray().join(packed), "<f8").astype(np.float64, copy=False).reshape(-1, self._ticket)

    def change(self, row: Array, live: int, slot: int) -> None:
        """Have a row follow one change of the arms (:func:`hlmc.engine.arms.change`)."""
        function, changes = self._change
        function(self._program_at, address_of(changes), address_of(row), max(1, live), slot)

    @cached_property
    def _change(self) -> tuple[Any, Array]:
        kernels = [level_change_kernel(routine.kernels) for routine in self.policy.routines_used]
        changes = np.array([callback(kernel, CHANGE).address for kernel in kernels], np.int64)
        return entry(changer(self.policy.structure), "int64", *["int64"] * 5), changes


def _at(array: Array) -> Any:
    """``address_of`` for an array that is not empty and can be written: compiled, twenty times as fast."""
    if not JIT:
        return address_of(array)
    return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]


def _pieces(matrix: Array) -> list[bytes]:
    """The rows of a matrix as bytes."""
    whole, size = matrix.tobytes(), matrix.shape[1] * matrix.itemsize
    return [whole[at : at + size] for at in range(0, len(whole), size)]
