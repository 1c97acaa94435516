"""The rows of a fleet, and how its calls go over them: a batch at a time, or a piece of a file at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hlmc.engine import batch
from hlmc.engine.feedback import for_structure
from hlmc.engine.layout import ARM
from hlmc.engine.scale import scale_many
from hlmc.engine.step import BAD_REWARD, NOT_SELECTED, PAST_HORIZON
from hlmc.errors import HLMCError
from hlmc.learners.batches import Batch, as_words, bad_ticket, batch_of, compiled, cores, spread
from hlmc.learners.filed import FiledRows
from hlmc.learners.format import Layout
from hlmc.learners.held import HeldRows
from hlmc.learners.identity import Identity, anonymous
from hlmc.learners.learner import refusal
from hlmc.learners.saving import Seen
from hlmc.policies.base import Policy
from hlmc.targets import address_of, address_table, linked
from hlmc.turns import turn

Array = np.ndarray

FINISHED = PAST_HORIZON
"""What a learner of a fleet selects when it has reached its horizon: -1, no arm."""


class FleetRows:
    """What :class:`hlmc.Fleet` is made of: a policy, rows in memory or in a file, and what is known of them."""

    def _set_up(
        self, policy: Policy, rows: HeldRows | FiledRows, identity: int | None = None, selects: bool = True
    ) -> None:
        self.threads = cores()
        self._policy = policy
        self._rows = rows
        self._size = len(rows.array)
        self._identity = Identity(identity)
        self._seen: Seen = {}
        self._marks: Array | None = None
        self._lock = turn()
        # What is known of the learners spares a look at their rows, which lie far apart: those in `asked` wait for
        # their rewards or are finished. A live learner puts an end to such knowledge.
        self._asked: Batch | None = None
        self._lent = False
        # Whether some learner may have selected an arm without an update: so it is of rows that come from elsewhere.
        self._selects = selects

    @property
    def policy(self) -> Policy:
        """The policy of all learners."""
        return self._policy

    def __len__(self) -> int:
        return self._size

    @property
    def _program_at(self) -> Any:
        return linked(self.policy).address

    @property
    def _step(self) -> int:
        """Rows of so many whole blocks of a file as make about a megabyte."""
        return Layout.new("fleet", len(self), self.policy.words.total, 0).chunk

    def _piece(self, first: int, stop: int) -> Array:
        """Some rows, from a multiple of the step on, to be used at once and under the lock."""
        return self._rows.piece(first, min(stop, len(self)))

    def _pieces(self) -> Iterator[tuple[int, Array]]:
        """All rows, a step at a time, and where each piece begins: a fleet in a file may be larger than memory."""
        return ((first, self._piece(first, first + self._step)) for first in range(0, len(self), self._step))

    def _copied(self, first: int, stop: int) -> Array:
        with self._lock:
            return anonymous(self.policy, self._piece(first, stop))

    def _column(self, word: int) -> Array:
        with self._lock:
            return np.concatenate([piece[:, word] for _, piece in self._pieces()])

    def _chosen(self, given: Array | None, repeats: bool = False) -> Batch:
        """The learners of a batch, all of them there, and none of them twice unless they may; their rows in memory."""
        if given is None:
            chosen = Batch(None, len(self))
        else:
            if self._marks is None:
                self._marks = np.zeros(len(self) // 32 + 1, np.int64)
            chosen = batch_of(given, len(self), self._marks, repeats)
        self._rows.load(chosen.ids)
        return chosen

    def _shares(self, paid: Array) -> Array:
        """Rewards in [0, 1] for those in the policy's units."""
        if not self.policy.scaled:
            return paid
        shares = paid.copy()
        compiled(scale_many, 3)(self._program_at, address_of(shares), shares.size)
        return shares

    def _check_turn(self, chosen: Batch, shares: Array, paid: Array) -> None:
        """Refuse a learner that has selected nothing, and a reward that is none."""
        place = self._first(batch.first_unteachable, chosen, self._program_at, address_of(shares))
        if place < chosen.size:
            waiting = self._rows.array[chosen.learner(place), ARM] >= 0.0
            raise self._refusal(BAD_REWARD if waiting else NOT_SELECTED, chosen, place, float(paid[place]))

    def _first(self, search: Callable[..., int], chosen: Batch, program_at: Any, *more: Any) -> int:
        """The first place at which a search stops; the number of places when it does not."""
        for stop, found in self._spread(search, chosen, program_at, *more):
            if found < stop:
                return found
        return chosen.size

    def _spread(
        self, function: Callable[..., int], chosen: Batch, program_at: Any, *more: Any
    ) -> list[tuple[int, int]]:
        return spread(function, self._rows.array, chosen, self.threads, program_at, *more)

    def _refusal(self, status: int, chosen: Batch, place: int, reward: object = None) -> HLMCError:
        error = refusal(status, self.policy, reward)
        return type(error)(f"learner {chosen.learner(place)}: {error}")

    def _settle(self, tickets: Array, shares: Array, learns: int, paid: Array) -> Array:
        """Tell checked copies of tickets, with the rewards in [0, 1] and as they were given."""
        with self._lock:
            owners = np.ascontiguousarray(tickets["learner"])
            unknown = np.flatnonzero((owners < 0) | (owners >= len(self)))
            if unknown.size:
                raise bad_ticket(self.policy, int(unknown[0]))
            if not tickets.size:
                return np.empty(0, np.int8)
            chosen = self._chosen(owners, repeats=True)
            content = as_words(tickets)
            place = self._first(batch.first_forged, chosen, self._program_at, address_of(content))
            if place < chosen.size:
                raise bad_ticket(self.policy, place)
            wrong = np.flatnonzero(~((shares >= 0.0) & (shares <= 1.0)))
            wrong = wrong[tickets["arm"][wrong] != FINISHED]
            if wrong.size:
                raise self._refusal(BAD_REWARD, chosen, int(wrong[0]), float(paid[wrong[0]]))
            self._rows.mark(chosen.ids)
            codes = np.empty(chosen.size, np.int64)
            settle_many = for_structure(batch.settle_many, self.policy.structure)
            _table, told_at = address_table([address_of(content), address_of(shares), learns, address_of(codes)])
            self._spread(settle_many, chosen, self._program_at, told_at)
            return codes.astype(np.int8)
