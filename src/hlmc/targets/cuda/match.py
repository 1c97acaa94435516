"""Play the runs of a game on a device, as many at a time as fill it, a slice of the rounds at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from hlmc.device.memory import Memory, checked_device, gives_up
from hlmc.device.rounds import COPIES, LANES, TILE, built
from hlmc.device.rules import Rules
from hlmc.device.seats import HAND, Seat
from hlmc.device.slices import next_length
from hlmc.device.target import SIMULATED
from hlmc.errors import BadArgument
from hlmc.games.base import Game
from hlmc.games.match import Board, bad_payoff, game_key
from hlmc.games.population import Group
from hlmc.games.runs import Notes, Played, Task
from hlmc.learner import fresh_rows
from hlmc.streams import derive_seed, keys

Array = np.ndarray

FIRST_SLICE = 16
LONGEST_SLICE = 1 << 20
"""Rounds of a launch: few at first, and as many as take that long."""

REGISTERS = 48
"""Registers of a thread: more of them leave room for fewer threads."""

SHARED_BINS = 8192
"""Up to so many numbers, a block counts choices in its own memory first."""

MOST_ARMS = {"float32": 1 << 24, "float64": 1 << 31}
"""Arms that a number of this precision can tell apart."""

ADDRESSES, SIZES = 12, 9
"""What the function that plays the rounds is given: addresses, three arrays, sizes."""


def play_on_device(tasks: list[Task], precision: str, advance: Callable[[int], None]) -> Iterator[Played]:
    """Play all runs, as many at a time as fill the device; ``advance`` is told how many rounds were played since."""
    checked_device()
    game = tasks[0].game
    if game.arms >= MOST_ARMS[precision]:
        most = f"fewer than {MOST_ARMS[precision]:,} arms in {precision}"
        raise BadArgument(f'{game!r} has too many arms for device="cuda": it takes {most}')
    at_once = runs_at_once(tasks[0], precision)
    for first in range(0, len(tasks), at_once):
        yield from Tables(tasks[first : first + at_once], precision).play(advance)


def runs_at_once(task: Task, precision: str) -> int:
    """How many runs it takes to keep the device busy."""
    if SIMULATED:
        return 2
    room = _compiled(*_kind(task.groups, task.game, precision)).room
    return max(1, room // sum(_tiles(group) for group in task.groups))


def _tiles(group: Group) -> int:
    return -(-group.agents // LANES)


class Tables:
    """Runs of one game that are played at the same time, each at a table of its own.

    ``workers`` is how many blocks share the agents of a run. Default: as many as there are tiles, or as fit.
    """

    def __init__(self, tasks: list[Task], precision: str, workers: int | None = None) -> None:
        self._tasks = tasks
        self._groups = groups = tasks[0].groups
        self._game = game = tasks[0].game
        self._code = code = _compiled(*_kind(groups, game, precision))
        self._count = sum(_tiles(group) for group in groups)
        self._workers = workers or min(self._count, max(1, code.room // len(tasks)))
        self._memory = memory = Memory()
        R, seats = len(tasks), [Seat.of(group.policy) for group in groups]
        kinds = list(dict.fromkeys(seats))
        table = np.zeros((self._count, TILE), dtype=np.int32)
        tile = row_at = desk_at = 0
        for g, (group, seat) in enumerate(zip(groups, seats, strict=True)):
            for k in range(_tiles(group)):
                live = min(LANES, group.agents - LANES * k)
                table[tile] = live, kinds.index(seat), g, row_at, desk_at
                tile, row_at, desk_at = tile + 1, row_at + seat.shape.width, desk_at + seat.shape.desk_words
        size = np.dtype(precision).itemsize
        memory.room_for(R * LANES * (8 * row_at + size * (desk_at + HAND * self._count) + 16 * self._count))
        length = max(seat.shape.length for seat in seats)
        programs = np.zeros((len(groups), length))
        for g, (group, seat) in enumerate(zip(groups, seats, strict=True)):
            programs[g, : seat.shape.length] = seat.shape.program(group.policy)
        sizes = [group.agents for group in groups]
        self.boards = [Board(game, sizes, list(range(1, len(game.facts) + 1))) for _ in tasks]
        states = np.stack([game.start(game_key(derive_seed(task.seed, task.run))) for task in tasks])
        purses = np.zeros(R * self._count * LANES)
        self._purses, self._totals = memory.put(purses), memory.put(purses)
        self._board = memory.put(self._words())
        self._flags = memory.put(np.zeros(R))
        self._found = memory.put(np.zeros(R * self._count))
        self._tiles = memory.put(table.reshape(-1))
        bins = len(groups) * game.arms
        counters = memory.put(np.zeros(R * COPIES * bins, dtype=np.int32))
        there = [
            memory.put(programs.reshape(-1)),
            memory.put(programs.astype(precision).reshape(-1)),
            memory.put(self._fresh(row_at)),
            memory.put(np.zeros(R * desk_at * LANES, dtype=precision)),
            memory.put(np.zeros(R * self._count * HAND * LANES, dtype=precision)),
            self._purses,
            self._totals,
            memory.put(game.spec),
            memory.put(states.reshape(-1)),
            self._board,
            self._flags,
            memory.put(np.zeros(2 * R, dtype=np.int32)),
        ]
        due = memory.put(np.zeros(R * self._count, dtype=np.int64))
        self._given = [*map(memory.given, there), self._tiles, counters, due]
        strides = (length, row_at * LANES, desk_at * LANES, states.shape[1], len(self.boards[0].words))
        self._sizes = (*strides, self._count, bins)

    @property
    def blocks(self) -> int:
        """How many blocks are on the device at once."""
        return self._workers * len(self._tasks)

    def _words(self) -> Array:
        return np.concatenate([board.words for board in self.boards])

    def _fresh(self, words: int) -> Array:
        """The rows of all agents of all runs, as [run, tile, word, agent]."""
        rows = np.zeros((len(self._tasks), words * LANES))
        for row, task in zip(rows, self._tasks, strict=True):
            at = 0
            for group in self._groups:
                tiles, width = _tiles(group), group.policy.words.total
                fresh = np.zeros((tiles * LANES, width))
                everyone = keys(derive_seed(task.seed, group.name, task.run), 0, group.agents)
                fresh_rows(group.policy, everyone, fresh[: group.agents])
                there = row[at : at + fresh.size].reshape(tiles, width, LANES)
                there[:] = fresh.reshape(tiles, LANES, width).transpose(0, 2, 1)
                at += fresh.size
        return rows.reshape(-1)

    def play(self, advance: Callable[[int], None]) -> Iterator[Played]:
        """Play all runs to the last time point."""
        notes = [Notes(task) for task in self._tasks]
        before, length = 0, FIRST_SLICE
        started = time.perf_counter()
        for point in (int(t) for t in self._tasks[0].points):
            while before < point:
                end = min(before + length, point)
                seconds = self.advance(before, end)
                advance(len(self._tasks) * (end - before))
                length = next_length(length, seconds, FIRST_SLICE, LONGEST_SLICE)
                before = end
            self.look()
            for note, board, squares in zip(notes, self.boards, self._mean_squares(), strict=True):
                note.take(board, squares)
            self._board.copy_to_device(self._words())
        totals = self._earned()
        seconds = (time.perf_counter() - started) / len(self._tasks)
        for note, total in zip(notes, totals, strict=True):
            yield note.played(total, seconds)

    def advance(self, begin: int, end: int) -> float:
        """Play the rounds begin .. end - 1 and learn from all of them; how many seconds that took."""
        grid = (self._workers, len(self._tasks))
        launched = self._code.rounds[grid, LANES, 0, self._code.shared]
        started = time.perf_counter()
        with gives_up():
            with warnings.catch_warnings():
                if SIMULATED:  # its threads are the interpreter's, whose words say so when they wrap around
                    warnings.simplefilter("ignore", RuntimeWarning)
                launched(*self._given, *self._sizes, begin, end)
            flags = self._flags.copy_to_host()
        if flags.any():
            raise bad_payoff(self._game, int(flags[flags < 0].max()))
        return time.perf_counter() - started

    def look(self) -> None:
        """Fetch what stands on the boards."""
        words = self._board.copy_to_host().reshape(len(self.boards), -1)
        for board, there in zip(self.boards, words, strict=True):
            board.words[:] = there

    def _mean_squares(self) -> Array:
        """[run, group] The mean square of what the agents of each group earned so far."""
        grid = (-(-self._count // LANES), len(self._tasks))
        given = [self._memory.given(x) for x in (self._purses, self._totals)]
        self._code.squares[grid, LANES](*given, self._tiles, self._memory.given(self._found), self._count)
        tiles = self._found.copy_to_host().reshape(len(self._tasks), self._count)
        starts = np.cumsum([0, *(_tiles(group) for group in self._groups)])
        sums = np.stack([tiles[:, a:b].sum(axis=1) for a, b in pairwise(starts)], axis=1)
        return np.asarray(sums * self._game.scale**2 / [group.agents for group in self._groups])

    def _earned(self) -> Array:
        """[run, agent] What every agent earned so far."""
        earned = (self._totals.copy_to_host() + self._purses.copy_to_host()).reshape(len(self._tasks), -1)
        live, at = [], 0
        for group in self._groups:
            live.append(np.arange(at, at + group.agents))
            at += _tiles(group) * LANES
        return np.asarray(earned[:, np.concatenate(live)] * self._game.scale)


class _Code:
    """Machine code for a kind of game, and how many of its blocks the device has room for."""

    def __init__(self, seats: tuple[Seat, ...], rules: Rules, precision: str, bins: int) -> None:
        in_shared = bins <= SHARED_BINS
        self.shared = 4 * bins if in_shared else 0
        self.rounds, self.squares = built(seats, rules, precision, in_shared, REGISTERS)
        self.room = 1
        if not SIMULATED:
            compiled = self.rounds.compile(signature())
            # Blocks that wait for one another must all be there: this launch is refused where they are not.
            compiled.cooperative = True
            self.room = compiled.max_cooperative_grid_blocks(LANES, self.shared)


def signature() -> tuple[Any, ...]:
    """The types of what the function that plays the rounds is given."""
    from numba.cuda import types

    arrays = (types.int32[::1], types.int32[::1], types.int64[::1])
    return (types.int64,) * ADDRESSES + arrays + (types.int64,) * SIZES


def _kind(groups: tuple[Group, ...], game: Game, precision: str) -> tuple[Any, ...]:
    seats = tuple(dict.fromkeys(Seat.of(group.policy) for group in groups))
    rules = Rules(game.pay, game.observe, tuple(game.facts.values()))
    return seats, rules, precision, len(groups) * game.arms


@lru_cache(maxsize=32)
def _compiled(seats: tuple[Seat, ...], rules: Rules, precision: str, bins: int) -> _Code:
    return _Code(seats, rules, precision, bins)
