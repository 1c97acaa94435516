"""Fleets: many learners of one policy as the rows of one matrix, in memory or in a file."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, cast, overload

import numpy as np

from hlmc.checks import whole
from hlmc.engine import batch
from hlmc.engine.feedback import SELECTED, for_structure
from hlmc.engine.layout import LEVELS, PROBABILITY, TIME
from hlmc.errors import BadReward, BadType, shown
from hlmc.files.disk import StrPath
from hlmc.learners import gate
from hlmc.learners.batches import as_words, given_ids, given_rewards, given_tickets
from hlmc.learners.filed import FiledRows
from hlmc.learners.fleet_rows import FINISHED as FINISHED
from hlmc.learners.fleet_rows import FleetRows
from hlmc.learners.format import Front
from hlmc.learners.held import ClosedRows, HeldRows
from hlmc.learners.identity import checked as checked_identity
from hlmc.learners.identity import give_secrets
from hlmc.learners.learner import Learner, fresh_rows, no_window, outstanding
from hlmc.learners.saving import create, read, save_over
from hlmc.learners.tickets import ticket_dtype
from hlmc.policies.base import Policy
from hlmc.policies.description import own_routines
from hlmc.streams import given_seed, keys
from hlmc.targets import address_of

Array = np.ndarray


class Fleet(FleetRows):
    """Many learners of one policy. Made by :meth:`Policy.fleet <hlmc.Policy.fleet>` or :func:`hlmc.load`.

    Learner i of ``policy.fleet(size, seed)`` behaves exactly as ``policy.start(seed, i)``. A call applies to all
    learners, or to those listed, each at most once, in any order. A call that is refused changes none of them. A
    learner that has reached its horizon does not block the others: it selects :data:`FINISHED` and is skipped. Calls
    from several threads are serialised. ``docs/fleets.md`` describes fleets in files.

    ``Fleet(policy, rows)`` makes one from a copy of :attr:`state`, after a check.

    Attributes
    ----------
    threads
        How many threads a large batch is spread over; results do not depend on it.

    Examples
    --------
    >>> import hlmc, numpy as np
    >>> policy = hlmc.HLMC(arms=20, memory=10, horizon=1000)
    >>> fleet = policy.fleet(size=5, seed=7)
    >>> arms = fleet.select([4, 0])
    >>> fleet.update([1.0, 0.5], [4, 0])
    >>> fleet.time
    array([1, 0, 0, 0, 1])
    >>> learner = policy.start(seed=7, stream=4)
    >>> bool(learner.select() == arms[0])
    True
    >>> learner.update(1.0)
    >>> fleet[4] == learner
    True
    """

    def __init__(self, policy: Policy, rows: Array) -> None:
        self._set_up(policy, HeldRows(gate.admitted(policy, rows, 2)))

    @classmethod
    def trusted(
        cls, policy: Policy, rows: HeldRows | FiledRows, identity: int | None = None, selects: bool = True
    ) -> Fleet:
        """A fleet over rows that are sound, or are checked when they are read; they are shared with the caller.

        ``selects``: some learner may have selected an arm and await its reward.
        """
        fleet = cls.__new__(cls)
        fleet._set_up(policy, rows, identity, selects)
        return fleet

    @classmethod
    def fresh(
        cls, policy: Policy, size: int, seed: int = 0, file: StrPath | None = None, identity: int | None = None
    ) -> Fleet:
        """New learners, in memory or in a new file."""
        size, given = whole("size", size, 1), checked_identity(identity)
        if file is None:
            return cls.trusted(policy, HeldRows(fresh_rows(policy, keys(seed, 0, size))), given, selects=False)
        front = Front.new(policy, "fleet", size)
        step = front.layout.chunk
        chunks = (fresh_rows(policy, keys(seed, i, min(step, size - i))) for i in range(0, size, step))
        try:
            create(file, front, chunks, new=True)
        except FileExistsError:
            raise FileExistsError(
                f"{os.fspath(file)} exists already; hlmc.load opens a fleet, and a file is not overwritten"
            ) from None
        filed = read(file, own_routines(policy))
        assert isinstance(filed, FiledRows)
        return cls.of_file(filed, given)

    @classmethod
    def of_file(cls, filed: FiledRows, identity: int | None = None) -> Fleet:
        """The fleet of a file."""
        return cls.trusted(filed.policy, filed, identity)

    @overload
    def __getitem__(self, i: int) -> Learner: ...

    @overload
    def __getitem__(self, i: slice) -> list[Learner]: ...

    def __getitem__(self, i: int | slice) -> Learner | list[Learner]:
        """Learner i, live: it and the fleet share the row, and what one does the other sees. A list for ``fleet[0:2]``.

        >>> import hlmc
        >>> [learner.time for learner in hlmc.EXP3(arms=3, horizon=100).fleet(size=4)[1:3]]
        [0, 0]
        """
        if isinstance(i, slice):
            return [self[each] for each in range(*i.indices(len(self)))]
        try:
            i = operator.index(i)
        except TypeError:
            raise BadType(f"a learner is found by a whole number or a slice such as 0:2, not {shown(i)}") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no learner {shown(i)} in a fleet of {len(self)}")
        i %= len(self)
        with self._lock:
            row = self._rows.row(i)
            self._lent = True
            self._selects = True
        return Learner.trusted(self.policy, row, i, self._identity)

    def __iter__(self) -> Iterator[Learner]:
        return (self[i] for i in range(len(self)))

    def select(self, ids: Any = None) -> Array:
        """The arms to play now, for all learners or for those listed, in the order of the list.

        Repeated calls before :meth:`update` return the same arm. A learner that has reached its horizon selects
        :data:`FINISHED`, -1.

        >>> import hlmc
        >>> fleet = hlmc.EXP3(arms=3, horizon=1).fleet(size=3)
        >>> arms = fleet.select([0, 1])
        >>> fleet.update([1.0, 0.0], [0, 1])
        >>> fleet.select() >= 0, fleet.finished
        (array([False, False,  True]), array([ True,  True, False]))
        """
        given = given_ids(ids)
        with self._lock:
            chosen = self._chosen(given)
            self._rows.mark(chosen.ids)
            arms = np.empty(chosen.size, np.int64)
            self._selects = True
            self._spread(batch.select_many, chosen, self._program_at, address_of(arms))
            self._asked = chosen
            return arms

    def ask(self, ids: Any = None) -> Array:
        """Make decisions whose rewards may come later, of all learners or of those listed, who may be listed again.

        Returns
        -------
        A structured array of tickets in the order of the list. Its fields are ``learner``, ``arm``, ``time`` and
        ``probability``, and what the learners need to learn from them: ``tag``, ``children`` and ``chances``. The bytes
        of an element are those of a :class:`hlmc.Ticket`. A learner that has reached its horizon makes no decision: the
        ``arm`` of its ticket is :data:`FINISHED`.

        Examples
        --------
        >>> import hlmc
        >>> fleet = hlmc.EXP3(arms=3, horizon=100, pending=8).fleet(size=4, seed=1)
        >>> tickets = fleet.ask([2, 0, 2])
        >>> tickets["learner"], fleet.pending
        (array([2, 0, 2]), array([1, 0, 2, 0]))
        >>> fleet.tell(tickets[::-1], [1.0, 0.0, 0.5])
        array([0, 0, 0], dtype=int8)
        >>> hlmc.tickets.CODES[0]
        'applied'
        """
        if not self.policy.pending:
            raise no_window(self.policy)
        given = given_ids(ids)
        with self._lock:
            chosen = self._chosen(given, repeats=True)
            if self._selects:
                place = self._first(batch.first_selected, chosen, None)
                if place < chosen.size:
                    raise self._refusal(SELECTED, chosen, place)
            tickets = np.empty(chosen.size, ticket_dtype(int(self.policy.program[LEVELS])))
            self._rows.mark(chosen.ids)
            self._asked = None
            if chosen.size:
                ask_many = for_structure(batch.ask_many, self.policy.structure)
                more = self._identity.address, address_of(as_words(tickets))
                self._spread(ask_many, chosen, self._program_at, *more)
            return tickets

    def tell(self, tickets: Any, rewards: Any) -> Array:
        """Learn the rewards of tickets, one for each: numbers in [0, 1], or in the policy's ``rewards``.

        Returns
        -------
        What became of each, as places in ``hlmc.tickets.CODES``: 0 applied, 1 late, 2 duplicate, 3 expired
        (:meth:`Learner.tell`), 4 finished: no decision was made, and the reward is not looked at. A batch with a ticket
        that is damaged, forged or of another fleet raises :class:`hlmc.BadTicket`, and nothing has changed.

        Notes
        -----
        What a learner has learned and which tickets it has seen are in one row: a checkpoint has both or neither. So
        after a crash, whatever was told since the last checkpoint is told again, and none of it counts twice.
        """
        paid = given_rewards(rewards, self.policy)
        given = given_tickets(tickets, self.policy)
        if paid.shape != given.shape:
            raise BadReward(f"rewards must be {given.size} numbers, one a ticket, not of shape {paid.shape}")
        return self._settle(given, self._shares(paid), 1, paid)

    def drop(self, tickets: Any) -> Array:
        """Declare that the rewards of tickets will not come: :meth:`Learner.drop` for each. Returns codes as
        :meth:`tell` does."""
        given = given_tickets(tickets, self.policy)
        missing = self.policy.missing
        paid = np.full(given.shape, 0.0 if isinstance(missing, str) else missing)
        if isinstance(missing, str):
            return self._settle(given, paid, 0, paid)
        return self._settle(given, self._shares(paid), 1, paid)

    @property
    def pending(self) -> Array:
        """The number of outstanding decisions of each learner."""
        with self._lock:
            return np.concatenate([outstanding(self.policy, piece) for _, piece in self._pieces()])

    def update(self, rewards: Any, ids: Any = None) -> None:
        """Learn the rewards of the selected arms: one for every learner, or for each of those listed.

        Rewards are numbers in [0, 1], or in the policy's ``rewards``. Those of finished learners are ignored.
        """
        # Copies, which cannot be changed after they have been checked; made before the lock is taken, because
        # whatever the caller gives may run code of its own.
        given = given_ids(ids)
        paid = given_rewards(rewards, self.policy)
        shares = self._shares(paid)
        with self._lock:
            asked = None if self._lent else self._asked
            if asked is not None and asked.is_list(given):
                chosen = asked
                self._rows.load(chosen.ids)
            else:
                asked, chosen = None, self._chosen(given)
            if paid.shape != (chosen.size,):
                raise BadReward(f"rewards must be {chosen.size} numbers, one per learner, not of shape {paid.shape}")
            if asked is None or not ((shares >= 0.0) & (shares <= 1.0)).all():
                self._check_turn(chosen, shares, paid)
            self._asked = None
            self._rows.mark(chosen.ids)
            self._spread(batch.update_many, chosen, self._program_at, address_of(shares))

    def reset(self, ids: Any = None, seed: int | None = 0, identity: int | None = None) -> None:
        """Reset all learners, or those listed: learner i becomes ``policy.start(seed, i)``.

        Their earlier tickets are refused. ``identity``: as for :meth:`Policy.start <hlmc.Policy.start>`.

        >>> import hlmc
        >>> fleet = hlmc.EXP3(arms=3, horizon=100).fleet(size=4, seed=7)
        >>> arms = fleet.select()
        >>> fleet.update([1.0] * 4)
        >>> fleet.reset([2])
        >>> fleet.time
        array([1, 1, 0, 1])
        """
        given, known = given_ids(ids), checked_identity(identity)
        seed = given_seed(seed)
        with self._lock:
            chosen = self._chosen(given)
            self._rows.mark(chosen.ids)
            self._asked = None
            if chosen.ids is not None:
                streams = [keys(seed, int(i), 1) for i in chosen.ids]
                fresh = fresh_rows(self.policy, np.concatenate([np.empty(0, np.uint64), *streams]))
                give_secrets(self.policy, fresh, known)
                self._rows.array[chosen.ids] = fresh
                return
            for first in range(0, len(self), self._step):
                piece = self._rows.array[first : first + self._step]
                fresh_rows(self.policy, keys(seed, first, len(piece)), piece)
                give_secrets(self.policy, piece, known)

    @property
    def state(self) -> Array:
        """The entire state of the learners: one row of 64-bit words each, as a live, read-only view."""
        with self._lock:
            view = self._rows.all()
        view.flags.writeable = False
        return view

    @property
    def time(self) -> Array:
        """The number of steps that each learner has completed."""
        return self._column(TIME).astype(np.int64)

    @property
    def finished(self) -> Array:
        """Whether each learner has reached its horizon and takes no more steps; never with ``after="continue"``."""
        limit = self.policy.limit
        return np.zeros(len(self), bool) if limit is None else self.time >= limit

    @property
    def probability(self) -> Array:
        """The probability of each learner's last selection, given everything before it."""
        told = self._column(PROBABILITY)
        return told if self.policy.known_probability else np.full_like(told, np.nan)

    @property
    def path(self) -> Path | None:
        """The file that :meth:`checkpoint` writes to, or None."""
        return self._rows.path

    def copy(self, identity: int | None = None) -> Fleet:
        """An independent copy of the fleet, in memory.

        Both accept the tickets made before the copy was taken; later ones only the fleet that made them.
        ``identity``: as for :meth:`Policy.start <hlmc.Policy.start>`.
        """
        given = checked_identity(identity)
        with self._lock:
            rows = np.empty(self._rows.array.shape)
            for first, piece in self._pieces():
                rows[first : first + len(piece)] = piece
            return Fleet.trusted(self.policy, HeldRows(rows), given, self._selects)

    def __copy__(self) -> Fleet:
        return self.copy()

    def save(self, path: StrPath, *, force: bool = False) -> None:
        """Write policy and state to a file. After a crash it is the old file or the new one, never a mixture.

        ``force``: as for :meth:`Learner.save <hlmc.Learner.save>`.
        """
        if self.path is not None and Path(path).exists() and self.path.samefile(path):
            self.checkpoint()
            return
        with self._lock:
            front = Front.new(self.policy, "fleet", len(self))
            save_over(path, front, (piece for _, piece in self._pieces()), self._seen, force)

    def checkpoint(self) -> None:
        """Write all changes to the fleet's file. Once the call has returned, they survive a crash. After a crash during
        the call, the file has this checkpoint or the one before.

        No learner of the fleet may be used by another thread during the call.

        >>> import hlmc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fleet = hlmc.EXP3(arms=3, horizon=100).fleet(size=4, file=folder + "/fleet")
        ...     arms = fleet.select()
        ...     fleet.update([0.0, 0.5, 0.5, 1.0])
        ...     fleet.checkpoint()
        ...     del fleet
        ...     print(hlmc.load(folder + "/fleet").time)
        [1 1 1 1]
        """
        with self._lock:
            self._rows.checkpoint()

    def close(self) -> None:
        """Write a checkpoint if the fleet has a file, and release the file. Later calls are errors. ``with`` closes a
        fleet.

        The file stays locked while a learner or a ``state`` of the fleet is in use.

        >>> import hlmc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hlmc.EXP3(arms=3, horizon=100).fleet(size=4, file=folder + "/fleet") as fleet:
        ...         arms = fleet.select([1])
        ...         fleet.update([0.5], [1])
        ...     print(hlmc.load(folder + "/fleet").time)
        [0 1 0 0]
        """
        if isinstance(self._rows, ClosedRows):
            return
        if self.path is not None:
            self.checkpoint()
        with self._lock:
            self._rows = cast(HeldRows, ClosedRows())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def verify(self) -> None:
        """Check the fleet's whole file, except for blocks that the next checkpoint will write. Damage raises
        ``BadFile``."""
        with self._lock:
            self._rows.verify()

    def __eq__(self, other: object) -> bool:
        """Whether the two have the same policy and the same states, whatever their identities."""
        if not isinstance(other, Fleet):
            return NotImplemented
        if self.policy != other.policy or len(self) != len(other):
            return False
        # Never both locks at once: two threads could wait for each other.
        step = self._step
        return all(
            np.array_equal(self._copied(i, i + step), other._copied(i, i + step)) for i in range(0, len(self), step)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Fleet, (self.policy, self.copy().state))

    def __repr__(self) -> str:
        return f"<fleet of {len(self)} learners of {self.policy!r}>"
