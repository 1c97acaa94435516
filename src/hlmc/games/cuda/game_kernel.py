"""The launch that plays a game: one agent per thread, and a referee per run.

All agents of a run are at the same time, so they wait for one another in every round. When everybody has chosen, the
last block to arrive (:mod:`hlmc.targets.cuda.grid_sync`) is the referee: it counts, pays and keeps the books while the
other blocks of the run wait; then everybody learns and chooses again. Thousands of rounds are one launch.

Agents are held in *tiles* of :data:`LANES`, each of one group of the population. Their words lie as [tile, word, lane],
so that the threads of a warp read and write neighbouring words. A block plays one tile after another: with W blocks per
run, block w plays the tiles w, w + W, w + 2 W and so on.

Most turns fall in the middle of everybody's epoch. They have code of their own (:func:`short_pass`), in which nothing
of beginnings and endings is left that would take registers. For every tile the launch keeps the time at which one of
its agents is next *due* for a full turn; a tile that is due is played by :func:`full_pass`, which is not inlined.

Choices are counted in shared memory first and then added to one of :data:`COPIES` sets of counters, so that blocks
rarely wait for the same counter; with too many arms for that, they are counted in global memory directly.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import FOREVER, UNTIL
from hlmc.engine.linker import Kernel, constant, substitute, substitute_where_used
from hlmc.engine.primitives import noinline, offset
from hlmc.games import board as layout
from hlmc.games.board import call_observe
from hlmc.games.cuda.agents import REGISTERS, AgentShape, other_turn, turn_chains
from hlmc.games.cuda.rules import Rules
from hlmc.games.referee import add_up, appraise, price, tally
from hlmc.games.turn import Agent
from hlmc.targets.cuda.code import Code, Layout, code
from hlmc.targets.cuda.grid_sync import arrive_last, release
from hlmc.targets.cuda.primitives import (
    agent_numbers,
    agent_words,
    atomic_add,
    atomic_min,
    atomic_take,
    block,
    block_row,
    blocks,
    clear_count,
    constants_view,
    increment_count,
    own_view,
    program_view,
    read_count,
    sync_threads,
    thread,
    words_from,
)

Array = np.ndarray
Words: TypeAlias = Any
Numbers: TypeAlias = Any
Ints: TypeAlias = Any
Longs: TypeAlias = Any
"""Fields of a launch record: runs of float64, of numbers in working precision, of int32, of int64."""

LANES = 256
"""Agents per tile, and threads per block."""

COPIES = 8
"""Sets of counters per run."""

LIVE, KIND, GROUP, ROW_AT, WORKSPACE_AT = range(5)
TILE = 5
"""A tile's numbers: how many agents it has, which :class:`AgentShape`, which group of the population, and where its
rows and workspaces begin, in words per lane."""


class GameLaunch(NamedTuple):
    """What a launch is given: arrays on the device and sizes, 8 bytes each (:mod:`hlmc.targets.cuda.device`).

    A field's annotation is the C++ type of the run of words. R runs are played at once. ``run`` is a run's number,
    ``place`` is ``run * tile_count + tile``. Words of an agent are written by its own thread; ``states``, ``boards``
    and ``flags`` by the referee of the run.
    """

    programs: Words
    """[group, program_words] float64."""
    own_programs: Numbers
    """The same in working precision."""
    rows: Words
    """[R, row_words_per_run] float64: tiles one after another, each [word, lane]."""
    workspaces: Numbers
    """[R, workspace_words_per_run] in working precision, laid out alike."""
    registers: Numbers
    """[place, REGISTERS, lane] in working precision."""
    epoch_rewards: Words
    """[place, lane] float64: what an agent has earned in this epoch."""
    totals: Words
    """[place, lane] float64: what it earned in the epochs before, as learners see it."""
    spec: Words
    """The game's numbers, float64."""
    states: Words
    """[R, state_words] float64: the game's state."""
    boards: Words
    """[R, board_words] float64: the referee's words (:mod:`hlmc.games.board`)."""
    flags: Words
    """[R] float64: -(t + 1) if a payoff of round t was outside its range."""
    squares: Words
    """[place] float64: sums of squares (:func:`squares`)."""
    barriers: Ints
    """[R, 2] int32 (:mod:`hlmc.targets.cuda.grid_sync`)."""
    tiles: Ints
    """[tile_count, TILE] int32."""
    counters: Ints
    """[R, COPIES, bins] int32: choices of a round; all blocks add, the referee takes."""
    due: Longs
    """[place] int64: the round before which a tile is due for a full turn."""
    program_words: int
    """Words of the longest program."""
    row_words_per_run: int
    """Words of all rows of a run."""
    workspace_words_per_run: int
    """Words of all workspaces of a run."""
    state_words: int
    """Words of a game's state."""
    board_words: int
    """Words of a board."""
    tile_count: int
    """Tiles of a run."""
    bins: int
    """Groups times arms: one counter each."""
    begin: int
    """The first round that this launch plays."""
    end: int
    """The round before which it stops."""


# --- Where choices are counted


@kernel
def counted_in_shared() -> bool:
    """Hook: whether a block counts in its shared memory first."""
    return True


@kernel
def count_choice(counters: Array, k: int) -> None:
    """Hook: count a choice in bin k of the block's shared counts, or of the global ``counters``."""
    increment_count(k)


@kernel
def count_globally(counters: Array, k: int) -> None:
    """``count_choice`` in global memory."""
    atomic_add(counters, k, 1)


# --- Passes over the agents


@kernel
def tile_turn(
    launch: GameLaunch, seen: Array, run: int, tile: int, lane: int, t: int, learn: int, choose: int
) -> tuple[int, bool]:
    """The turn of one agent of a tile: the arm chosen, and whether its workspace must be rescaled.

    ``seen`` [arm] is what each arm paid in the last round, as learners see it. ``learn`` and ``choose`` are 0 or 1. The
    hook :func:`hlmc.games.cuda.agents.other_turn` stands for the chain of all shapes.
    """
    known = TILE * tile
    group = launch.tiles[known + GROUP]
    place = run * launch.tile_count + tile
    agent = Agent(
        program_view(launch.programs, group, launch.program_words),
        own_view(launch.own_programs, group, launch.program_words),
        agent_words(launch.rows, run * launch.row_words_per_run + launch.tiles[known + ROW_AT] * LANES + lane),
        agent_numbers(
            launch.workspaces,
            run * launch.workspace_words_per_run + launch.tiles[known + WORKSPACE_AT] * LANES + lane,
        ),
        agent_numbers(launch.registers, place * REGISTERS * LANES + lane),
        agent_words(launch.epoch_rewards, place * LANES + lane),
        agent_words(launch.totals, place * LANES + lane),
    )
    return other_turn(launch.tiles[known + KIND], agent, seen, t, learn, choose)


@kernel
def bin_of(launch: GameLaunch, run: int, worker: int) -> int:
    """The bin of arm 0 of group 0 where a block counts choices."""
    return 0 if counted_in_shared() else (run * COPIES + worker % COPIES) * launch.bins


@kernel
def full_pass(
    launch: GameLaunch,
    board: Array,
    run: int,
    worker: int,
    workers: int,
    lane: int,
    t: int,
    learn: int,
    choose: int,
) -> None:
    """Full turns of all agents in those of this block's tiles in which somebody is due for one.

    After it, ``due`` of such a tile is the least UNTIL of its agents. All threads of the block take part; the arguments
    are those of :func:`short_pass`.
    """
    noinline()
    first_bin = bin_of(launch, run, worker)
    seen = offset(board, int(board[layout.SEEN]))
    arms = int(board[layout.ARMS])
    sync_threads()
    for tile in range(worker, launch.tile_count, workers):
        place = run * launch.tile_count + tile
        if not (learn and choose and t < launch.due[place]):
            sync_threads()  # everybody has read that it is due
            if lane == 0:
                launch.due[place] = FOREVER
            sync_threads()
            known = TILE * tile
            if lane < launch.tiles[known + LIVE]:
                arm, _ = tile_turn(launch, seen, run, tile, lane, t, learn, choose)
                if choose:
                    count_choice(launch.counters, first_bin + launch.tiles[known + GROUP] * arms + arm)
                start = run * launch.row_words_per_run + launch.tiles[known + ROW_AT] * LANES + lane
                atomic_min(launch.due, place, int(agent_words(launch.rows, start)[UNTIL]))


@kernel
def short_pass(
    launch: GameLaunch,
    board: Array,
    run: int,
    worker: int,
    workers: int,
    lane: int,
    t: int,
    learn: int,
    choose: int,
) -> None:
    """Everybody in this block's tiles learns from round t - 1 and chooses for round t; choices are counted.

    Parameters
    ----------
    launch
        The launch record.
    board
        The run's board; read only here.
    run, worker, workers, lane
        The run, this block's number among the blocks of the run, how many those are, and this thread's place in its
        block.
    t, learn, choose
        The round to choose for; whether (1 or 0) there is a round to learn from, and one to choose for.
    """
    bins = launch.bins
    first_counter = (run * COPIES + worker % COPIES) * bins
    first_bin = bin_of(launch, run, worker)
    if counted_in_shared():
        for k in range(lane, bins, LANES):
            clear_count(k)
        sync_threads()
    some_due = True
    if learn and choose:
        some_due = False
        seen = offset(board, int(board[layout.SEEN]))
        arms = int(board[layout.ARMS])
        for tile in range(worker, launch.tile_count, workers):
            if t >= launch.due[run * launch.tile_count + tile]:
                some_due = True
            elif lane < launch.tiles[TILE * tile + LIVE]:
                arm, needed = tile_turn(launch, seen, run, tile, lane, t, 1, 1)
                count_choice(launch.counters, first_bin + launch.tiles[TILE * tile + GROUP] * arms + arm)
                if needed:
                    launch.due[run * launch.tile_count + tile] = t + 1
    if some_due:
        full_pass(launch, board, run, worker, workers, lane, t, learn, choose)
    if counted_in_shared():
        sync_threads()
        for k in range(lane, bins, LANES):
            here = read_count(k)
            if here > 0:
                atomic_add(launch.counters, first_counter + k, here)


# --- The referee


@kernel
def referee(launch: GameLaunch, board: Array, run: int, lane: int, t: int) -> None:
    """Count who is where, pay, and keep the books; the threads of the last block share the arms.

    Runs between two barriers, so no other block of the run reads or writes anything meanwhile. Takes the counters,
    writes board, state and flag of the run.
    """
    noinline()
    spec = constants_view(launch.spec)
    state = words_from(launch.states, run * launch.state_words)
    flags = words_from(launch.flags, 0)
    if lane == 0:
        counts = offset(board, int(board[layout.COUNTS]))
        call_observe(0, spec, state, t, counts, offset(board, int(board[layout.PAYOFFS])))
    members = offset(board, int(board[layout.MEMBERS]))
    for k in range(lane, launch.bins, LANES):
        here = 0
        for copy in range(COPIES):
            here += atomic_take(launch.counters, (run * COPIES + copy) * launch.bins + k)
        members[k] = float(here)
    sync_threads()
    arms = int(board[layout.ARMS])
    for arm in range(lane, arms, LANES):
        tally(board, arm)
    sync_threads()
    for arm in range(lane, arms, LANES):
        if not price(board, spec, state, 0, t, arm) and flags[run] == 0.0:
            flags[run] = -float(t + 1)
        appraise(board, spec, state, 0, t, arm)
    sync_threads()
    for item in range(lane, int(board[layout.GROUPS]) * (1 + int(board[layout.FACTS])), LANES):
        add_up(board, item)


# --- Entry points


@kernel
def rounds(launch: GameLaunch) -> None:
    """Entry point: play the rounds begin .. end - 1 of every run in the passes begin .. end, and learn from all.

    Grid: (blocks per run, runs), with LANES threads per block, all resident at once (a cooperative launch). Pass t
    learns from round t - 1 and chooses for round t; the first pass of a launch only chooses, the last only learns.
    """
    worker = block()
    workers = blocks()
    run = block_row()
    lane = thread()
    begin = launch.begin
    end = launch.end
    board = words_from(launch.boards, run * launch.board_words)
    for t in range(begin, end + 1):
        learn = 1 if t > begin else 0
        choose = 1 if t < end else 0
        short_pass(launch, board, run, worker, workers, lane, t, learn, choose)
        if choose and arrive_last(launch.barriers, run, workers, lane):
            referee(launch, board, run, lane, t)
            release(launch.barriers, run, lane)


@kernel
def squares(launch: GameLaunch) -> None:
    """Entry point: for every tile of every run, the sum of the squares of what its agents have earned.

    Grid: enough threads in x for the tiles, the runs in y. Writes ``launch.squares``, as learners see payoffs.
    """
    tile = block() * LANES + thread()
    run = block_row()
    if tile < launch.tile_count:
        place = run * launch.tile_count + tile
        found = 0.0
        for lane in range(launch.tiles[TILE * tile + LIVE]):
            earned = launch.totals[place * LANES + lane] + launch.epoch_rewards[place * LANES + lane]
            found += earned * earned
        launch.squares[place] = found


def code_of(shapes: tuple[AgentShape, ...], rules: Rules, precision: str, in_shared: bool, registers: int) -> Code:
    """The two entry points, :func:`rounds` and :func:`squares`.

    Parameters
    ----------
    shapes
        The shapes of the agents; a tile's KIND is a place here.
    rules
        The game's kernels.
    precision
        Working precision: that of workspaces and registers.
    in_shared
        Whether choices are counted in shared memory first.
    registers
        Registers per thread at most.
    """
    full, short = turn_chains(shapes, precision)
    full_passes = substitute(full_pass, {tile_turn: substitute(tile_turn, {other_turn: full})})
    passes = substitute(short_pass, {tile_turn: substitute(tile_turn, {other_turn: short}), full_pass: full_passes})
    played = substitute(rounds, {short_pass: passes})
    counted: dict[Kernel, Kernel] = {counted_in_shared: constant(in_shared)}
    if not in_shared:
        counted[count_choice] = count_globally
    played = substitute_where_used(played, {**rules.substitutions(), **counted})
    return code(Layout(precision, False, registers, LANES), {"rounds": played, "squares": squares})
