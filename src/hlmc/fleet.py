"""Fleets: many learners of one policy as the rows of one matrix, in memory or in a file."""

from __future__ import annotations

import io
import itertools
import math
import mmap
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hlmc import files
from hlmc.checks import whole
from hlmc.engine import batch
from hlmc.engine.layout import ARM, PROBABILITY, TIME
from hlmc.engine.step import BAD_REWARD, NOT_SELECTED, PAST_HORIZON
from hlmc.errors import BadArgument, BadReward, BadType, HLMCError
from hlmc.files import Front, StrPath
from hlmc.learner import Learner, fresh_rows, refusal
from hlmc.policies.base import Policy
from hlmc.streams import keys
from hlmc.targets import JIT, address_of, entry, linked

Array = np.ndarray

LEAST_SHARE = 4096
"""A second thread is worth its while from about so many learners each."""
CHECKED_ON_OPENING = 2**22
"""Rows of up to so many bytes are checked when their file is opened; of more, as they are first used."""


class Fleet:
    """Many learners of one policy. Made by :meth:`Policy.fleet <hlmc.Policy.fleet>` or :func:`hlmc.load`.

    Learner i of ``policy.fleet(size, seed)`` does for ever what ``policy.start(seed, i)`` does. A call is for all
    learners or for those listed, each at most once, in any order; a call that is refused has changed none of them.
    Several threads may call; they wait for one another. ``docs/fleets.md`` tells of fleets in files.

    Attributes
    ----------
    policy
        What all of them follow.
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

    def __init__(self, policy: Policy, rows: Array, file: _File | None = None, latest: float = math.inf) -> None:
        self.policy = policy
        self.threads = _cores()
        self._rows = rows
        self._file = file
        self._marks: Array | None = None
        self._lock = threading.Lock()
        # What is known of the learners spares a look at their rows, which lie far apart: no clock is later than
        # `latest`, and those in `asked` wait for their rewards. A live learner puts an end to such knowledge.
        self._latest = latest
        self._asked: _Chosen | None = None
        self._lent = False

    @classmethod
    def fresh(cls, policy: Policy, size: int, seed: int = 0, file: StrPath | None = None) -> Fleet:
        """Learners that have yet to choose, in memory or in a new file."""
        size = whole("size", size, 1)
        if file is None:
            return cls(policy, fresh_rows(policy, keys(seed, 0, size)), latest=0)
        path = Path(file)
        if path.exists():
            raise FileExistsError(f"{path} exists already; hlmc.load opens a fleet, and a file is not overwritten")
        front = Front.new(policy, "fleet", size)
        step = front.layout.chunk
        chunks = (fresh_rows(policy, keys(seed, i, min(step, size - i))) for i in range(0, size, step))
        files.create(path, front, chunks)
        fleet = files.load(path, files.own_routines(policy))
        assert isinstance(fleet, Fleet)
        return fleet

    @classmethod
    def attached(cls, front: Front, file: io.FileIO, path: StrPath) -> Fleet:
        """The fleet of an open file."""
        attached = _File(front, file, Path(path))
        return cls(front.policy, attached.rows, attached)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, i: int) -> Learner:
        """Learner i, live: it and the fleet share the row, and what one does the other sees."""
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no learner {i} in a fleet of {len(self)}")
        i %= len(self)
        with self._lock:
            if self._file is not None:
                self._file.lend(i)
            self._lent = True
        return Learner(self.policy, self._rows[i])

    def __iter__(self) -> Iterator[Learner]:
        return (self[i] for i in range(len(self)))

    def select(self, ids: Any = None) -> Array:
        """The arms to play now, of all learners or of those listed, in the order of the list.

        Asked again before :meth:`update`, a learner gives the same answer.
        """
        with self._lock:
            chosen = self._chosen(ids)
            self._check_horizon(chosen)
            self._use(chosen)
            arms = np.empty(chosen.size, np.int64)
            self._spread(batch.select_many, chosen, self._program_at, address_of(arms))
            self._asked = chosen
            return arms

    def update(self, rewards: Any, ids: Any = None) -> None:
        """Learn the rewards, in [0, 1], of the arms selected: one for every learner, or for each of those listed."""
        with self._lock:
            asked = None if self._lent else self._asked
            if asked is None or not asked.is_list(ids):
                asked = None
            chosen = asked or self._chosen(ids)
            given = _rewards(rewards, chosen.size)
            if asked is None or not ((given >= 0.0) & (given <= 1.0)).all():
                self._check_turn(chosen, given)
            self._asked = None
            self._latest += 1
            self._use(chosen)
            self._spread(batch.update_many, chosen, self._program_at, address_of(given))

    @property
    def state(self) -> Array:
        """All that the learners know: a row of 64-bit words each; live, and read-only."""
        self.verify()
        view = self._rows.view()
        view.flags.writeable = False
        return view

    @property
    def time(self) -> Array:
        """The number of steps that each learner has completed."""
        return self.state[:, TIME].astype(np.int64)

    @property
    def probability(self) -> Array:
        """The probability of each learner's last selection, given everything before it."""
        return self.state[:, PROBABILITY].copy()

    @property
    def path(self) -> Path | None:
        """The file that :meth:`checkpoint` writes to, or None."""
        return None if self._file is None else self._file.path

    def copy(self) -> Fleet:
        """A second fleet, in memory, whose learners know the same and go on by themselves."""
        return Fleet(self.policy, self.state.copy(), latest=math.inf if self._lent else self._latest)

    def save(self, path: StrPath) -> None:
        """Write policy and state to a file, which after a crash is the old one or the new one, never half of each."""
        if self._file is not None and Path(path).exists() and self._file.path.samefile(path):
            self.checkpoint()
        else:
            files.save(path, self.policy, self.state, "fleet")

    def checkpoint(self) -> None:
        """Write what has changed to the fleet's file. After a crash the file has the state of a checkpoint: this one,
        once the call has returned; until then this one or the one before.

        No learner of the fleet may be at work in another thread meanwhile.

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
        if self._file is None:
            raise BadArgument("this fleet has no file to write a checkpoint to; save(path) writes one")
        with self._lock:
            self._file.checkpoint()

    def verify(self) -> None:
        """Check every row that has not been checked since the file was opened; a damaged one raises ``BadFile``."""
        if self._file is not None:
            with self._lock:
                self._file.check(None)

    def __eq__(self, other: object) -> bool:
        """Whether the two will behave alike from here on: the same policy and the same states."""
        if not isinstance(other, Fleet):
            return NotImplemented
        mine, theirs = (np.ascontiguousarray(fleet.state).view(np.uint64) for fleet in (self, other))
        return self.policy == other.policy and np.array_equal(mine, theirs)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Fleet, (self.policy, self.state.copy()))

    def __repr__(self) -> str:
        return f"<fleet of {len(self)} learners of {self.policy!r}>"

    @property
    def _program_at(self) -> Any:
        return linked(self.policy).address

    def _chosen(self, ids: Any) -> _Chosen:
        """The learners of a batch, all of them there and none of them twice."""
        if ids is None:
            if self._file is not None:
                self._file.check(None)
            return _Chosen(None, np.empty(0, np.int64), len(self))
        given = np.asarray(ids)
        if given.ndim != 1:
            raise BadArgument(f"ids must be a list of learners, not of shape {given.shape}")
        if given.dtype.kind not in "iu" and given.size:
            raise BadType(f"ids must be whole numbers, not {given.dtype}")
        # A copy, which nobody can change after it has been checked.
        listed = np.array(given, np.int64)
        if self._marks is None:
            self._marks = np.zeros(len(self) // 32 + 1, np.int64)
        search = _compiled(batch.first_refused, 4)
        place = search(address_of(listed), len(listed), len(self), address_of(self._marks))
        if place < len(listed):
            if 0 <= given[place] < len(self):
                raise BadArgument(f"ids must not repeat a learner, and {given[place]} comes again in place {place}")
            raise BadArgument(f"ids must be from 0 to {len(self) - 1}, not {given[place]} (in place {place})")
        if self._file is not None:
            self._file.check(listed)
        return _Chosen(listed, listed, len(listed))

    def _check_horizon(self, chosen: _Chosen) -> None:
        """Refuse a learner that has no step left."""
        if self.policy.horizon is None or (self._latest < self.policy.horizon and not self._lent):
            return
        place = self._first(batch.first_unselectable, chosen, self._program_at)
        if place < chosen.size:
            raise self._refusal(PAST_HORIZON, chosen, place)

    def _check_turn(self, chosen: _Chosen, rewards: Array) -> None:
        """Refuse a learner that has selected nothing, and a reward that is none."""
        place = self._first(batch.first_unteachable, chosen, None, address_of(rewards))
        if place < chosen.size:
            waiting = self._rows[chosen.learner(place), ARM] >= 0.0
            raise self._refusal(BAD_REWARD if waiting else NOT_SELECTED, chosen, place, float(rewards[place]))

    def _use(self, chosen: _Chosen) -> None:
        """The rows of these learners are about to change."""
        if self._file is not None:
            self._file.mark(chosen.ids)

    def _first(self, search: Callable[..., int], chosen: _Chosen, program_at: Any, *more: Any) -> int:
        """The first place at which a search stops; the number of places when it does not."""
        for stop, found in self._spread(search, chosen, program_at, *more):
            if found < stop:
                return found
        return chosen.size

    def _spread(
        self, function: Callable[..., int], chosen: _Chosen, program_at: Any, *more: Any
    ) -> list[tuple[int, int]]:
        """Run a kernel over a batch, in several threads when it is large: where each part ends, and its answer."""
        head = () if program_at is None else (program_at,)
        shared = (address_of(self._rows), self._rows.shape[1], address_of(chosen.listed), int(chosen.ids is not None))
        call = _compiled(function, len(head) + len(shared) + 2 + len(more))
        parts = max(1, min(self.threads, chosen.size // LEAST_SHARE)) if JIT else 1
        ends = [chosen.size * part // parts for part in range(parts + 1)]

        def run(first: int, stop: int) -> tuple[int, int]:
            return stop, call(*head, *shared, first, stop, *more)

        if parts == 1:
            return [run(0, chosen.size)]
        running = [_pool().submit(run, first, stop) for first, stop in itertools.pairwise(ends)]
        try:
            return [part.result() for part in running]
        finally:
            wait(running)  # after Ctrl-C too: nobody is to be at work on the rows when this returns

    def _refusal(self, status: int, chosen: _Chosen, place: int, reward: object = None) -> HLMCError:
        error = refusal(status, self.policy, reward)
        return type(error)(f"learner {chosen.learner(place)}: {error}")


class _Chosen(NamedTuple):
    """The learners of a batch: those listed, or all."""

    ids: Array | None
    listed: Array
    size: int

    def learner(self, place: int) -> int:
        """Who is in this place."""
        return place if self.ids is None else int(self.ids[place])

    def is_list(self, ids: Any) -> bool:
        """Whether a caller's list has the same learners in the same order."""
        if self.ids is None or ids is None:
            return self.ids is ids
        return isinstance(ids, np.ndarray) and ids.dtype == np.int64 and np.array_equal(ids, self.ids)


def _rewards(rewards: Any, count: int) -> Array:
    given = np.asarray(rewards)
    if given.dtype.kind not in "biuf" and given.size:
        raise BadType(f"rewards must be numbers in [0, 1], not {given.dtype}")
    if given.shape != (count,):
        raise BadReward(f"rewards must be {count} numbers, one a learner, not of shape {given.shape}")
    return np.ascontiguousarray(given, np.float64)


_CHANGED = 1
_LENT = 2


class _File:
    """The file of a fleet, mapped into memory as a private copy: it changes by checkpoints alone.

    A row is checked before it is first used: its block's checksum, and whether it is a state of the policy at all.
    """

    def __init__(self, front: Front, file: io.FileIO, path: Path) -> None:
        if sys.byteorder != "little":
            raise NotImplementedError("the rows of a fleet's file are little-endian, and this machine is not")
        layout = front.layout
        self.path = Path(os.path.realpath(path))
        self._front = front
        self._inode = files.inode_of(file)
        # The mapping keeps the file open and thereby its lock, for as long as anybody has a row of it.
        self._map = _private_map(file, layout.size)
        flat = np.frombuffer(self._map, np.float64, layout.rows * layout.words, layout.offset)
        self.rows = flat.reshape(layout.rows, layout.words)
        self._checked = np.zeros(layout.blocks, np.bool_)
        self._all_checked = False
        self._marks = np.zeros(layout.blocks, np.uint8)
        if self.rows.nbytes <= CHECKED_ON_OPENING:
            self.check(None)

    def check(self, ids: Array | None) -> None:
        """Check the rows of these learners, or of all, as far as that has not been done."""
        if self._all_checked:
            return
        wanted = ~self._checked
        if ids is not None:
            used = np.zeros(len(wanted), np.bool_)
            used[ids >> self._front.layout.shift] = True
            wanted &= used
        for block in np.flatnonzero(wanted).tolist():
            first, stop = self._front.layout.span(block)
            self._front.check_block(block, files.as_bytes(self.rows[first:stop]), self.path)
            files.check_rows(self._front.policy, self.rows, first, stop, self.path)
            self._checked[block] = True
        self._all_checked = bool(self._checked.all())

    def mark(self, ids: Array | None) -> None:
        """Note that these learners, or all, are about to change."""
        if ids is None:
            self._marks |= _CHANGED
        else:
            self._marks[ids >> self._front.layout.shift] |= _CHANGED

    def lend(self, i: int) -> None:
        """Note that a learner can change at any time from now on."""
        self.check(np.array([i]))
        self._marks[i >> self._front.layout.shift] |= _LENT

    def checkpoint(self) -> None:
        marked = np.flatnonzero(self._marks).tolist()
        files.checkpoint(self.path, self._inode, self._front, self.rows, marked)
        self._marks &= _LENT
        if hasattr(mmap, "MADV_DONTNEED") and sys.platform == "linux":
            # What the file has now need not be held twice: the next use reads it from there.
            self._map.madvise(mmap.MADV_DONTNEED)


def _private_map(file: io.FileIO, size: int) -> mmap.mmap:
    if sys.platform != "linux":
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    # Without a reservation, a file can be larger than the memory of the machine.
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return mmap.mmap(file.fileno(), size, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)


@cache
def _compiled(function: Callable[..., int], arguments: int) -> Callable[..., int]:
    return entry(function, "int64", *["int64"] * arguments, release=True)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="hlmc-fleet")


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork; the child makes its own.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover
