"""The referee of a game: after every round it counts the choices, pays, and updates the sums.

All of these kernels read and write the board alone, whose sections :mod:`hlmc.games.board` names. The work is cut into
arms, so that on a GPU each arm can have a thread. Counts are whole numbers and payoffs depend only on counts, so
neither the order of the rows nor the number of threads changes a result.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import int_at, offset, words
from hlmc.games.board import (
    AGENTS,
    ALONE,
    ARMS,
    CHOICES,
    CHOSEN,
    CODES,
    COUNTS,
    EARNED,
    FACTS,
    GROUP,
    GROUPS,
    MEMBERS,
    OCCUPANCY,
    PART,
    PAYOFFS,
    SCALE,
    SEEN,
    SIZES,
    STAYED,
    TOGETHER,
    TRUE_NOW,
    TRUE_OF,
    call_observe,
    call_pay,
)

Array = np.ndarray


@kernel
def instead(run: Array, at: int, x: float) -> Array:
    """Hook: a run that reads as ``run`` with x at place ``at``. Default: write it there, until :func:`put_back`."""
    run[at] = x
    return run


@kernel
def put_back(run: Array, at: int, x: float) -> None:
    """Hook: restore the number x that :func:`instead` replaced at place ``at``."""
    run[at] = x


@kernel
def tally(board: Array, arm: int) -> None:
    """Count the agents on an arm: reads its MEMBERS of all groups, adds them to OCCUPANCY, sets COUNTS."""
    arms = int(board[ARMS])
    counts = offset(board, int(board[COUNTS]))
    members = offset(board, int(board[MEMBERS]))
    occupancy = offset(board, int(board[OCCUPANCY]))
    here = 0.0
    for group in range(int(board[GROUPS])):
        here += members[group * arms + arm]
        occupancy[group * arms + arm] += members[group * arms + arm]
    counts[arm] = here


@kernel
def price(board: Array, spec: Array, state: Array, pay_at: int, t: int, arm: int) -> bool:
    """Set what an arm pays: PAYOFFS in the game's units, SEEN as a reward in [0, 1]; 0 if no agent is there.

    COUNTS must be set for all arms. ``pay_at`` is the address of the game's ``pay``. False if the payoff is outside
    [0, scale]; then nothing has changed.
    """
    scale = board[SCALE]
    counts = offset(board, int(board[COUNTS]))
    payoff = call_pay(pay_at, spec, state, t, counts, arm) if counts[arm] > 0.0 else 0.0
    if not (0.0 <= payoff <= scale):
        return False
    offset(board, int(board[PAYOFFS]))[arm] = payoff
    offset(board, int(board[SEEN]))[arm] = payoff / scale
    return True


@kernel
def appraise(board: Array, spec: Array, state: Array, pay_at: int, t: int, arm: int) -> None:
    """Add an arm's round to the sums, after :func:`price`: what it would have paid, and which facts are true of it.

    TOGETHER grows by what an agent would have got with all agents on the arm. STAYED of a group grows by what its
    agents would have got if each, by itself, had been here: those that are here the payoff, the others what one agent
    more would have got. TRUE_NOW and TRUE_OF are set for every fact. COUNTS and ALONE are unchanged afterwards.
    """
    arms = int(board[ARMS])
    groups = int(board[GROUPS])
    counts = offset(board, int(board[COUNTS]))
    sizes = offset(board, int(board[SIZES]))
    members = offset(board, int(board[MEMBERS]))
    stayed = offset(board, int(board[STAYED]))
    codes = offset(board, int(board[CODES]))
    alone = offset(board, int(board[ALONE]))
    payoff = offset(board, int(board[PAYOFFS]))[arm]
    here = counts[arm]
    joining = 0.0
    if here < board[AGENTS]:
        joining = call_pay(pay_at, spec, state, t, instead(counts, arm, here + 1.0), arm)
        put_back(counts, arm, here)
    offset(board, int(board[TOGETHER]))[arm] += call_pay(
        pay_at, spec, state, t, instead(alone, arm, board[AGENTS]), arm
    )
    put_back(alone, arm, 0.0)
    for group in range(groups):
        there = members[group * arms + arm]
        stayed[group * arms + arm] += there * payoff + (sizes[group] - there) * joining
    for fact in range(int(board[FACTS])):
        true = call_pay(int(codes[fact]), spec, state, t, counts, arm)
        offset(board, int(board[TRUE_NOW]))[fact * arms + arm] = true
        offset(board, int(board[TRUE_OF]))[fact * arms + arm] += true


@kernel
def add_up(board: Array, item: int) -> None:
    """Add a group's round to the sums, after all arms: one of ``groups * (1 + facts)`` items.

    Item g < groups adds the payoffs of group g to EARNED; item ``(1 + f) * groups + g`` adds to CHOICES how many of its
    agents were on arms that fact f was true of.
    """
    arms = int(board[ARMS])
    groups = int(board[GROUPS])
    group = item % groups
    members = offset(board, int(board[MEMBERS]) + group * arms)
    if item < groups:
        each = offset(board, int(board[PAYOFFS]))
        total_at = offset(board, int(board[EARNED]) + item)
    else:
        each = offset(board, int(board[TRUE_NOW]) + (item // groups - 1) * arms)
        total_at = offset(board, int(board[CHOICES]) + item - groups)
    total = total_at[0]
    for arm in range(arms):
        total += each[arm] * members[arm]
    total_at[0] = total


@kernel
def close_round(parts_at: Address, parts: int, board: Array, spec: Array, state: Array, pay_at: int, t: int) -> int:
    """Count the choices of round t in all parts, pay, and update the sums: all of the above.

    0, or -(t + 1) if a payoff is outside [0, scale].
    """
    arms = int(board[ARMS])
    groups = int(board[GROUPS])
    members = offset(board, int(board[MEMBERS]))
    for k in range(groups * arms):
        members[k] = 0.0
    for part in range(parts):
        chosen = words(int_at(parts_at, PART * part + CHOSEN))
        group = int_at(parts_at, PART * part + GROUP)
        for arm in range(arms):
            members[group * arms + arm] += chosen[arm]
    for arm in range(arms):
        tally(board, arm)
    for arm in range(arms):
        if not price(board, spec, state, pay_at, t, arm):
            return -(t + 1)
    for arm in range(arms):
        appraise(board, spec, state, pay_at, t, arm)
    for item in range(groups * (1 + int(board[FACTS]))):
        add_up(board, item)
    return 0


@kernel
def between(
    parts_at: Address,
    parts: int,
    board_at: Address,
    spec_at: Address,
    state_at: Address,
    pay_at: int,
    observe_at: int,
    t: int,
    after: int,
) -> int:
    """What happens between passes, for threads that share the rows; the arguments are those of :func:`rounds`.

    ``after`` 0: before the choices of round t the game observes the round before. 1: after them it pays
    (:func:`close_round`, whose status is returned).
    """
    board = words(board_at)
    spec = words(spec_at)
    state = words(state_at)
    if after:
        return close_round(parts_at, parts, board, spec, state, pay_at, t)
    counts = offset(board, int(board[COUNTS]))
    call_observe(observe_at, spec, state, t, counts, offset(board, int(board[PAYOFFS])))
    return 0
