"""Play one run of a game from the first round to the last, on one thread or on several."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hlmc.games import board as layout
from hlmc.games.base import Game
from hlmc.games.match import Board, bad_payoff, fact_codes, game_key
from hlmc.games.population import Group
from hlmc.games.referee import between as between_passes
from hlmc.games.rounds import rounds_of, squares
from hlmc.learners.learner import fresh_rows
from hlmc.policies.base import Policy
from hlmc.simulation.own import PythonPolicy, alone, checked_arm, run_seed
from hlmc.simulation.players import Player
from hlmc.simulation.workers import COMPILING, Watch
from hlmc.streams import derive_seed, keys
from hlmc.targets import address_of, address_table, entry, linked

Array = np.ndarray

BREATH = 20_000_000
"""Choices between two checks for an interrupt: about a second."""

PYTHON_BREATH = 100_000
"""The same for agents in plain Python."""


@dataclass(frozen=True)
class Task:
    """One run of a game."""

    groups: tuple[Group, ...]
    game: Game
    seed: int
    run: int
    points: Array
    occupancy: bool
    threads: int = 1
    count: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """The population, for the report of progress."""
        return " + ".join(group.name for group in self.groups)


@dataclass(frozen=True)
class Played:
    """The records of a run, at each time point.

    ``sums`` [time, group]: cumulative reward per agent. ``squares`` [time, group]: mean square over the agents.
    ``stayed`` [time, group] and ``together`` [time]: the reward of the best fixed arm. ``shares`` [fact, time, group]:
    the fraction of choices so far for which a fact was true. ``occupancy`` [time, group, arm] and ``true_of`` [fact,
    time, arm]: means over the rounds since the previous point. ``agents``: the total reward of each agent.
    """

    run: int
    sums: Array
    squares: Array
    stayed: Array
    together: Array
    shares: Array
    occupancy: Array
    true_of: Array
    agents: Array
    seconds: float


def prepared(task: Task) -> Callable[..., int]:
    """Compile all that a run needs."""
    with COMPILING:
        policies = [group.policy for group in task.groups if isinstance(group.policy, Policy)]
        for policy in policies:
            linked(policy)
        _ = task.game.codes, _mean_square()
        used = {policy.routines_used[-1].kernels for policy in policies}
        opaque = any(policy.routines_used[-1].opaque for policy in policies)
        return entry(rounds_of(used.pop() if len(used) == 1 and not opaque else None), *["int64"] * 11, release=True)


def play(task: Task, watch: Watch | None = None) -> Played | None:
    """Play a run to the last time point; None if it was stopped before."""
    if any(isinstance(group.policy, PythonPolicy) for group in task.groups):
        with alone(derive_seed(task.seed, task.run) % 2**32):
            return None if watch is not None and watch(0) else _play(task, watch)
    return _play(task, watch)


def _play(task: Task, watch: Watch | None) -> Played | None:
    points, game, notes, table = task.points, task.game, Notes(task), Table(task)
    before = 0
    started = time.perf_counter()
    with table.pool or nullcontext():
        for point in (int(t) for t in points):
            most = max(1, table.breath // game.agents)
            for begin in range(before, point, most):
                end = min(begin + most, point)
                table.advance(begin, end)
                if watch is not None and watch(end - begin):
                    return None
            notes.take(table.board, table.mean_squares())
            before = point
    return notes.played(table.totals, time.perf_counter() - started)


class Notes:
    """Collects the records of a run, time point by time point."""

    def __init__(self, task: Task) -> None:
        G, K, F, P = len(task.groups), task.game.arms, len(task.game.facts), len(task.points)
        self._task = task
        self._taken = 0
        self._sums, self._squares, self._stayed = (np.empty((P, G)) for _ in range(3))
        self._together, self._shares = np.empty(P), np.empty((F, P, G))
        kept = P if task.occupancy else 0
        self._occupancy, self._true_of = np.empty((kept, G, K)), np.empty((F, kept, K))

    def take(self, board: Board, mean_squares: Any) -> None:
        """Record the board at the next time point, and clear the sums that restart there."""
        p = self._taken
        point = int(self._task.points[p])
        since = point - (int(self._task.points[p - 1]) if p else 0)
        sizes = board[layout.SIZES]
        self._sums[p] = board[layout.EARNED] / sizes
        self._squares[p] = mean_squares
        self._stayed[p] = board[layout.STAYED].max(axis=1) / sizes
        self._together[p] = board[layout.TOGETHER].max()
        self._shares[:, p] = board[layout.CHOICES] / (sizes * point)
        if self._task.occupancy:
            self._occupancy[p] = board[layout.OCCUPANCY] / since
            self._true_of[:, p] = board[layout.TRUE_OF] / since
        board[layout.OCCUPANCY][:] = 0.0
        board[layout.TRUE_OF][:] = 0.0
        self._taken += 1

    def played(self, totals: Array, seconds: float) -> Played:
        """The records, after the last time point."""
        noted = (self._sums, self._squares, self._stayed, self._together, self._shares)
        return Played(self._task.run, *noted, self._occupancy, self._true_of, totals, seconds)


class Table:
    """The memory of a run: rows, board and state, and which thread plays which rows.

    A part of a group in plain Python has no rows. Its agents learn and choose between the pass over the rows and the
    referee, and count their choices in the part themselves; then one thread plays all agents.
    """

    def __init__(self, task: Task) -> None:
        game = self._game = task.game
        self._rounds = prepared(task)
        self._groups = task.groups
        self.totals = np.zeros(game.agents)
        self.board = Board(game, [group.agents for group in task.groups], fact_codes(game))
        self._state = game.start(game_key(derive_seed(task.seed, task.run)))
        self._rows = [_rows(group, task.seed, task.run) for group in task.groups]
        self._players = [_players(group, task) for group in task.groups]
        self._last: list[list[int]] = [[] for _ in task.groups]
        in_python = any(self._players)
        self.breath = PYTHON_BREATH if in_python else BREATH
        threads = 1 if in_python else max(1, min(task.threads, game.agents))
        self._chosen: list[Array] = []
        shares = [self._share(thread, threads) for thread in range(threads)]
        self._own = [address_table(share) for share in shares]
        self._all = address_table([number for share in shares for number in share])
        self._counted = [len(share) // layout.PART for share in shares]
        arrays = [address_of(array) for array in (self.board.words, game.spec, self._state)]
        self._codes = (*arrays, game.codes["pay"].address, game.codes["observe"].address)
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._referee: Callable[..., int] | None = None
        if self.pool is not None or in_python:
            with COMPILING:
                self._referee = entry(between_passes, *["int64"] * 10, release=True)

    def _share(self, thread: int, threads: int) -> list[Any]:
        """The parts of one thread: its range of the rows of every group."""
        numbers: list[Any] = []
        for g, group in enumerate(self._groups):
            first, stop = (group.agents * k // threads for k in (thread, thread + 1))
            start = sum(other.agents for other in self._groups[:g])
            # The counts of two threads do not share a cache line.
            self._chosen.append(np.zeros(self._game.arms + 8))
            part: list[Any] = [0] * layout.PART
            if isinstance(group.policy, Policy):
                part[layout.PROGRAM] = linked(group.policy).address
                part[layout.ROWS] = address_of(self._rows[g])
                part[layout.WIDTH] = group.policy.words.total
                part[layout.FIRST], part[layout.STOP] = first, stop
            part[layout.TOTALS] = address_of(self.totals[start : start + group.agents])
            part[layout.CHOSEN] = address_of(self._chosen[-1])
            part[layout.GROUP] = g
            numbers += part
        return numbers

    def advance(self, begin: int, end: int) -> None:
        """Play the rounds begin .. end - 1, and learn from all of them."""
        everyone = (self._all[1], sum(self._counted), *self._codes)
        if self._referee is None:
            self._check(self._rounds(*everyone, begin, end, -1))
            return
        for t in range(begin, end + 1):
            if t < end:
                self._referee(*everyone, t, 0)
            self._pass(begin, end, t)
            if t < end:
                self._check(self._referee(*everyone, t, 1))

    def _check(self, status: int) -> None:
        if status < 0:
            raise bad_payoff(self._game, status)

    def _pass(self, begin: int, end: int, t: int) -> None:
        """All agents learn from round t - 1 and choose for round t, as far as these are among the rounds."""
        if self.pool is None:
            self._rounds(self._own[0][1], self._counted[0], *self._codes, begin, end, t)
            self._take_turns(t, t < end)
            return
        passes = [
            self.pool.submit(self._rounds, own[1], counted, *self._codes, begin, end, t)
            for own, counted in zip(self._own, self._counted, strict=True)
        ]
        for each in passes:
            each.result()

    def _take_turns(self, t: int, choose: bool) -> None:
        """What :func:`hlmc.games.rounds.take_turns` does for rows, for agents in plain Python."""
        payoffs, seen = self.board[layout.PAYOFFS].tolist(), self.board[layout.SEEN].tolist()
        arms = self._game.arms
        first = 0
        for g, group in enumerate(self._groups):
            players, last = self._players[g], self._last[g]
            for i, arm in enumerate(last):
                self.totals[first + i] += payoffs[arm]
                players[i].update(arm, seen[arm])
            last.clear()
            if players and choose:
                last += [checked_arm(group.name, player.select(), arms, t) for player in players]
                self._chosen[g][:arms] = np.bincount(last, minlength=arms)
            first += group.agents

    def mean_squares(self) -> list[float]:
        """The mean squared cumulative reward of the agents of each group."""
        mean_square = _mean_square()
        starts = np.cumsum([0, *(group.agents for group in self._groups)])
        return [
            mean_square(address_of(self.totals[first : first + group.agents]), group.agents)
            for first, group in zip(starts, self._groups, strict=False)
        ]


def _mean_square() -> Callable[..., float]:
    return entry(squares, "float64", "int64", "int64")


def _rows(group: Group, seed: int, run: int) -> Array:
    """Agent i of a group is ``policy.start(derive_seed(seed, name, run), stream=i)``."""
    if not isinstance(group.policy, Policy):
        return np.empty((0, 0))
    return fresh_rows(group.policy, keys(derive_seed(seed, group.name, run), 0, group.agents))


def _players(group: Group, task: Task) -> list[Player]:
    """The agents of a group in plain Python."""
    if not isinstance(group.policy, PythonPolicy):
        return []
    make, T = group.policy.player, int(task.points[-1])
    seeds = (run_seed(task.seed, group.name, i, task.run) for i in range(group.agents))
    return [make(task.game.arms, T, seed) for seed in seeds]
