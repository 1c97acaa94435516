"""The loop of a game: passes over the agents' rows, and the referee's work between them.

A pass learns from one round and chooses for the next, so a million rows are read once per round. A row holds its own
choice, so choices need no array.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.loops import THROUGH_TABLE
from hlmc.engine.primitives import int_at, offset, row_of, words
from hlmc.engine.routines import RoutineKernels, routine_select, routine_update
from hlmc.games.board import (
    ARMS,
    CHOSEN,
    COUNTS,
    FIRST,
    PART,
    PAYOFFS,
    PROGRAM,
    ROWS,
    SEEN,
    STOP,
    TOTALS,
    WIDTH,
    call_observe,
)
from hlmc.games.referee import close_round
from hlmc.games.turn import Agent, take_turn

Array = np.ndarray


@kernel
def take_turns(parts_at: Address, part: int, board: Array, t: int, learn: int, choose: int) -> None:
    """One pass over the rows of a part: learn from the last round, choose for the next."""
    at = PART * part
    program = words(int_at(parts_at, at + PROGRAM))
    rows_at = int_at(parts_at, at + ROWS)
    width = int_at(parts_at, at + WIDTH)
    totals = words(int_at(parts_at, at + TOTALS))
    chosen = words(int_at(parts_at, at + CHOSEN))
    payoffs = offset(board, int(board[PAYOFFS]))
    seen = offset(board, int(board[SEEN]))
    if choose:
        for arm in range(int(board[ARMS])):
            chosen[arm] = 0.0
    for i in range(int_at(parts_at, at + FIRST), int_at(parts_at, at + STOP)):
        row = words(row_of(rows_at, i, width))
        agent = Agent(program, program, row, row, row, row, totals)
        arm = take_turn(agent, i, payoffs, seen, t, learn, choose)
        if choose:
            chosen[arm] += 1.0


@kernel
def rounds(
    parts_at: Address,
    parts: int,
    board_at: Address,
    spec_at: Address,
    state_at: Address,
    pay_at: int,
    observe_at: int,
    begin: int,
    end: int,
    alone: int,
) -> int:
    """Play the rounds begin .. end - 1 in the passes begin .. end.

    Pass t learns from round t - 1 and chooses for round t.

    Parameters
    ----------
    parts_at, parts
        The table of parts (PART integers each), and how many of them to play.
    board_at, spec_at, state_at
        The board, and the game's numbers and state.
    pay_at, observe_at
        Addresses of the game's functions.
    begin, end
        The rounds: the first pass only chooses, the last only learns.
    alone
        The one pass that is made in this call, without what happens between passes: threads that share the rows make
        one pass each, wait for one another, and call :func:`hlmc.games.referee.between`. -1: all passes, with it.

    Returns
    -------
    0, or -(t + 1) if a payoff of round t is outside [0, scale].
    """
    board = words(board_at)
    spec = words(spec_at)
    state = words(state_at)
    counts = offset(board, int(board[COUNTS]))
    payoffs = offset(board, int(board[PAYOFFS]))
    for t in range(begin if alone < 0 else alone, (end if alone < 0 else alone) + 1):
        learn = 1 if t > begin else 0
        choose = 1 if t < end else 0
        if alone < 0 and choose:
            call_observe(observe_at, spec, state, t, counts, payoffs)
        for part in range(parts):
            take_turns(parts_at, part, board, t, learn, choose)
        if alone < 0 and choose:
            status = close_round(parts_at, parts, board, spec, state, pay_at, t)
            if status < 0:
                return status
    return 0


@cache
def rounds_of(routine: RoutineKernels | None) -> Kernel:
    """:func:`rounds` with the routine of the agents' last level compiled in; None: called through the program."""
    if routine is None:
        return substitute(rounds, THROUGH_TABLE)
    return substitute(rounds, {routine_select: routine.select, routine_update: routine.update})


@kernel
def squares(totals_at: Address, agents: int) -> float:
    """The mean square of the agents' totals [agent]."""
    totals = words(totals_at)
    total = 0.0
    for i in range(agents):
        total += totals[i] * totals[i]
    return total / agents
