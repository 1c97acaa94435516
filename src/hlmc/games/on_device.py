"""Play the runs of a game on a CUDA device, as many at a time as fill it, some rounds per launch.

:mod:`hlmc.games.cuda.game_kernel` has the kernels and says how the words of a run are laid out. All of them stay on the
device from the first launch to the last; at every time point the boards are copied back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from hlmc.errors import BadArgument
from hlmc.games.base import Game
from hlmc.games.cuda.agents import REGISTERS, AgentShape
from hlmc.games.cuda.game_kernel import COPIES, LANES, TILE, GameLaunch, code_of
from hlmc.games.cuda.rules import Rules
from hlmc.games.match import Board, bad_payoff, game_key
from hlmc.games.population import Group
from hlmc.games.runs import Notes, Played, Task
from hlmc.learners.learner import fresh_rows
from hlmc.streams import derive_seed, keys
from hlmc.targets.cuda.launch import next_length
from hlmc.targets.cuda.memory import DeviceArray, checked_device, device, packed, room_for
from hlmc.targets.cuda.shape import Shape

Array = np.ndarray

SHORTEST = 16
LONGEST = 1 << 20
"""Rounds of a launch: few at first, then as many as take :data:`hlmc.targets.cuda.launch.SECONDS`."""

THREAD_REGISTERS = 48
"""Registers per thread: more of them leave room for fewer threads."""

SHARED_BINS = 8192
"""Up to so many bins, a block counts choices in its shared memory first."""

MOST_ARMS = {"float32": 1 << 24, "float64": 1 << 31}
"""Arms that a number of this precision can tell apart."""


def play_on_device(tasks: list[Task], precision: str, advance: Callable[[int], None]) -> Iterator[Played]:
    """Play all runs, as many at a time as fill the device; ``advance`` is told how many rounds were played since."""
    checked_device()
    game = tasks[0].game
    if any(Shape.of(group.compiled).coded for group in tasks[0].groups):
        precision = "float64"
    if game.arms >= MOST_ARMS[precision]:
        most = f"fewer than {MOST_ARMS[precision]:,} arms in {precision}"
        raise BadArgument(f'{game!r} has too many arms for device="cuda": it takes {most}')
    at_once = runs_at_once(tasks[0], precision)
    for first in range(0, len(tasks), at_once):
        yield from Tables(tasks[first : first + at_once], precision).play(advance)


def runs_at_once(task: Task, precision: str) -> int:
    """How many runs fill the device."""
    room = _compiled(*_kind(task.groups, task.game, precision)).room
    return max(1, room // sum(_tiles(group) for group in task.groups))


def _tiles(group: Group) -> int:
    """How many tiles the agents of a group fill."""
    return -(-group.agents // LANES)


class Tables:
    """Runs of one game that are played at the same time, with all of their words on the device.

    ``workers`` is how many blocks share the agents of a run. Default: as many as there are tiles, or as fit. ``boards``
    are the referee's words as they were when :meth:`look` was last called.
    """

    def __init__(self, tasks: list[Task], precision: str, workers: int | None = None) -> None:
        self._tasks = tasks
        self._groups = groups = tasks[0].groups
        self._game = game = tasks[0].game
        self._code = code = _compiled(*_kind(groups, game, precision))
        self._count = sum(_tiles(group) for group in groups)
        self._workers = workers or min(self._count, max(1, code.room // len(tasks)))
        R, shapes = len(tasks), [AgentShape.of(group.compiled).shape for group in groups]
        table, row_words, workspace_words = _tile_table(groups)
        size = np.dtype(precision).itemsize
        agent_bytes = 8 * row_words + size * (workspace_words + REGISTERS * self._count) + 16 * self._count
        room_for(R * LANES * agent_bytes)
        length = max(shape.program_words for shape in shapes)
        programs = np.zeros((len(groups), length))
        for program, group, shape in zip(programs, groups, shapes, strict=True):
            program[: shape.program_words] = shape.program(group.compiled)
        sizes = [group.agents for group in groups]
        self.boards = [Board(game, sizes, list(range(1, len(game.facts) + 1))) for _ in tasks]
        states = np.stack([game.start(game_key(derive_seed(task.seed, task.run))) for task in tasks])
        nothing = np.zeros(R * self._count * LANES)
        bins = len(groups) * game.arms
        self._record = GameLaunch(
            programs=DeviceArray(programs),
            own_programs=DeviceArray(programs.astype(precision)),
            rows=DeviceArray(self._fresh(row_words)),
            workspaces=DeviceArray(np.zeros(R * workspace_words * LANES, dtype=precision)),
            registers=DeviceArray(np.zeros(R * self._count * REGISTERS * LANES, dtype=precision)),
            epoch_rewards=DeviceArray(nothing),
            totals=DeviceArray(nothing),
            spec=DeviceArray(np.asarray(game.spec, dtype=np.float64)),
            states=DeviceArray(states.reshape(-1)),
            boards=DeviceArray(self._words()),
            flags=DeviceArray(np.zeros(R)),
            squares=DeviceArray(np.zeros(R * self._count)),
            barriers=DeviceArray(np.zeros(2 * R, dtype=np.int32)),
            tiles=DeviceArray(table.reshape(-1)),
            counters=DeviceArray(np.zeros(R * COPIES * bins, dtype=np.int32)),
            due=DeviceArray(np.zeros(R * self._count, dtype=np.int64)),
            program_words=length,
            row_words_per_run=row_words * LANES,
            workspace_words_per_run=workspace_words * LANES,
            state_words=states.shape[1],
            board_words=len(self.boards[0].words),
            tile_count=self._count,
            bins=bins,
            begin=0,
            end=0,
        )

    @property
    def blocks(self) -> int:
        """How many blocks are on the device at once."""
        return self._workers * len(self._tasks)

    def _words(self) -> Array:
        """The words of all boards, one after another."""
        return np.concatenate([board.words for board in self.boards])

    def _fresh(self, words: int) -> Array:
        """The rows of all agents of all runs as [run, tile, word, lane], flat; a run has ``words`` of them per lane."""
        rows = np.zeros((len(self._tasks), words * LANES))
        for row, task in zip(rows, self._tasks, strict=True):
            at = 0
            for group in self._groups:
                tiles, width = _tiles(group), group.compiled.words.total
                fresh = np.zeros((tiles * LANES, width))
                everyone = keys(derive_seed(task.seed, group.name, task.run), 0, group.agents)
                fresh_rows(group.compiled, everyone, fresh[: group.agents])
                there = row[at : at + fresh.size].reshape(tiles, width, LANES)
                there[:] = fresh.reshape(tiles, LANES, width).transpose(0, 2, 1)
                at += fresh.size
        return rows.reshape(-1)

    def play(self, advance: Callable[[int], None]) -> Iterator[Played]:
        """Play all runs to the last time point."""
        notes = [Notes(task) for task in self._tasks]
        before, length = 0, SHORTEST
        started = time.perf_counter()
        for point in (int(t) for t in self._tasks[0].points):
            while before < point:
                end = min(before + length, point)
                seconds = self.advance(before, end)
                advance(len(self._tasks) * (end - before))
                length = next_length(length, seconds, SHORTEST, LONGEST)
                before = end
            self.look()
            for note, board, squares in zip(notes, self.boards, self._mean_squares(), strict=True):
                note.take(board, squares)
            self._record.boards.copy_to_device(self._words())
        totals = self._earned()
        seconds = (time.perf_counter() - started) / len(self._tasks)
        for note, total in zip(notes, totals, strict=True):
            yield note.played(total, seconds)

    def advance(self, begin: int, end: int) -> float:
        """Play the rounds begin .. end - 1 and learn from all of them; how many seconds that took."""
        grid = (self._workers, len(self._tasks))
        record = self._record._replace(begin=begin, end=end)
        started = time.perf_counter()
        # Blocks that wait for one another must all be resident: the launch is refused where they are not.
        device().launch(self._code.rounds, grid, LANES, self._code.shared, packed(record), together=True)
        flags = record.flags.copy_to_host()
        if flags.any():
            raise bad_payoff(self._game, int(flags[flags < 0].max()))
        return time.perf_counter() - started

    def look(self) -> None:
        """Copy the boards back from the device."""
        words = self._record.boards.copy_to_host().reshape(len(self.boards), -1)
        for board, there in zip(self.boards, words, strict=True):
            board.words[:] = there

    def _mean_squares(self) -> Array:
        """[run, group] The mean square of what the agents of each group earned so far."""
        grid = (-(-self._count // LANES), len(self._tasks))
        device().launch(self._code.squares, grid, LANES, 0, packed(self._record))
        tiles = self._record.squares.copy_to_host().reshape(len(self._tasks), self._count)
        starts = np.cumsum([0, *(_tiles(group) for group in self._groups)])
        sums = np.stack([tiles[:, a:b].sum(axis=1) for a, b in pairwise(starts)], axis=1)
        return np.asarray(sums * self._game.scale**2 / [group.agents for group in self._groups])

    def _earned(self) -> Array:
        """[run, agent] What every agent earned so far."""
        earned = (self._record.totals.copy_to_host() + self._record.epoch_rewards.copy_to_host()).reshape(
            len(self._tasks), -1
        )
        live, at = [], 0
        for group in self._groups:
            live.append(np.arange(at, at + group.agents))
            at += _tiles(group) * LANES
        return np.asarray(earned[:, np.concatenate(live)] * self._game.scale)


def _tile_table(groups: tuple[Group, ...]) -> tuple[Array, int, int]:
    """The numbers of every tile [tile, TILE], and how many words of rows and of workspaces a run has per lane."""
    shapes = [AgentShape.of(group.compiled) for group in groups]
    kinds = list(dict.fromkeys(shapes))
    table: list[tuple[int, ...]] = []
    row_at = workspace_at = 0
    for g, (group, agent) in enumerate(zip(groups, shapes, strict=True)):
        for k in range(_tiles(group)):
            live = min(LANES, group.agents - LANES * k)
            table.append((live, kinds.index(agent), g, row_at, workspace_at))
            row_at += agent.shape.row_words
            workspace_at += agent.shape.workspace_words
    return np.array(table, dtype=np.int32).reshape(-1, TILE), row_at, workspace_at


class _Code:
    """The entry points for a kind of game, and how many of its blocks the device holds at once."""

    def __init__(self, shapes: tuple[AgentShape, ...], rules: Rules, precision: str, bins: int) -> None:
        in_shared = bins <= SHARED_BINS
        self.shared = 4 * bins if in_shared else 0
        code = code_of(shapes, rules, precision, in_shared, THREAD_REGISTERS)
        functions = device().load(code)
        self.rounds, self.squares = functions["rounds"], functions["squares"]
        self.room = device().room(self.rounds, LANES, self.shared)


def _kind(groups: tuple[Group, ...], game: Game, precision: str) -> tuple[Any, ...]:
    """What machine code depends on, as the arguments of :func:`_compiled`."""
    shapes = tuple(dict.fromkeys(AgentShape.of(group.compiled) for group in groups))
    rules = Rules(game.pay, game.observe, tuple(game.facts.values()))
    return shapes, rules, precision, len(groups) * game.arms


@lru_cache(maxsize=32)
def _compiled(shapes: tuple[AgentShape, ...], rules: Rules, precision: str, bins: int) -> _Code:
    """The entry points for a kind of game, compiled once."""
    return _Code(shapes, rules, precision, bins)
