"""The kernels of a game: every agent chooses, the game pays by the counts, every agent learns.

Three kinds of words take part:

*parts*
    Which rows of which policy are played, and where their choices are counted. One part per group of agents, or more if
    several threads share the work. Read only.
*board*
    The referee's words: counts, payoffs, and the sums from which results are made. Its first words say where the rest
    lies. Only the referee writes there; agents read what each arm paid.
*spec*, *state*
    The game's numbers and its state. ``observe`` may write the state, nobody writes the spec.

A pass over the rows learns from one round and chooses for the next, so a million rows are read once per round. A row
holds its own choice, so choices need no array. Counts are whole numbers and payoffs depend only on counts, so neither
the order of the rows nor the number of threads changes a result.

A GPU runs the same kernels with other places for the words (:mod:`hlmc.games.cuda`); :class:`TurnHooks` lists what it
replaces in an agent's turn. The referee's work is cut into arms, so that there each arm can have a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hlmc.engine import arithmetic, step, stream
from hlmc.engine.arithmetic import working
from hlmc.engine.hooks import Hook, Hooks
from hlmc.engine.kernel import Address, indirect, kernel
from hlmc.engine.layout import (
    ARM,
    AT,
    BEGAN,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    KEY,
    LEVELS,
    RECORD,
    SCALARS,
    SUM,
    UNTIL,
)
from hlmc.engine.linker import Kernel, substitute
from hlmc.engine.primitives import bits, call_begin, call_end, function_at, int_at, offset, row_of, words
from hlmc.engine.routines import RoutineKernels
from hlmc.engine.step import arm_of, leaf_select, leaf_update, needs_rescale
from hlmc.engine.stream import increment, number, unit
from hlmc.targets import JIT, address_of

Array = np.ndarray

PAY = ("float64", "words", "words", "int64", "words", "int64")
"""``pay(spec, state, t, counts, arm)`` as a C function; a fact has the same signature."""
OBSERVE = ("void", "words", "words", "int64", "words", "words")
"""``observe(spec, state, t, counts, payoffs)`` as a C function."""

# A part.
PROGRAM, ROWS, WIDTH, FIRST, STOP, TOTALS, CHOSEN, GROUP = range(8)
PART = 8

# The board's first words: sizes, and where its sections begin.
AGENTS, ARMS, GROUPS, FACTS, SCALE = range(5)
COUNTS = 5  # [arm] agents on each arm in the last round
PAYOFFS = 6  # [arm] what each of them got
SEEN = 7  # [arm] the same over the scale: what learners learn
ALONE = 8  # [arm] zeros, a place to ask what a round with everybody on one arm would pay
TOGETHER = 9  # [arm] sum over the rounds of an agent's payoff with everybody on this arm
SIZES = 10  # [group] agents in each group
EARNED = 11  # [group] sum over rounds and agents of their payoffs
MEMBERS = 12  # [group, arm] agents of each group on each arm in the last round
STAYED = 13  # [group, arm] the same if each of them, by itself, had always been here
OCCUPANCY = 14  # [group, arm] sum of MEMBERS over the rounds since it was last cleared
CODES = 15  # [fact] the facts' functions
CHOICES = 16  # [fact, group] sum over rounds and agents on arms that the fact was true of
TRUE_OF = 17  # [fact, arm] rounds in which it was true of the arm, since it was last cleared
TRUE_NOW = 18  # [fact, arm] whether it was in the last round
HEADER = 19


def table_of(entries: list[Any]) -> tuple[Any, Any]:
    """A table of addresses and whole numbers for kernels: what must be kept alive, and what a kernel takes."""
    if not JIT:
        return entries, entries
    table = np.array(entries, dtype=np.int64)
    return table, address_of(table)


@indirect(*PAY)
def call_pay(address: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """Ask a game's ``pay``, or a fact."""
    return float(function_at(address)(spec, state, t, counts, arm))


@indirect(*OBSERVE)
def call_observe(address: int, spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Let a game make its move."""
    function_at(address)(spec, state, t, counts, payoffs)


# --- One agent's turn
#
# Hooks: where an agent keeps what it holds from one pass to the next. On the processor all of it lies in the agent's
# row. A GPU keeps it together, in the precision asked for, and touches the row only when an epoch begins or ends:
# the *registers* (the control words of the last level), the *workspace* (its statistics) and the *epoch reward*.


@kernel
def record_of(program: Array, row: Array) -> int:
    """Where the record of the routine over the arms lies in the program."""
    return int(row[RECORD])


@kernel
def count_of(row: Array) -> int:
    """How many arms are in play."""
    return int(row[COUNT])


@kernel
def epoch_begins(row: Array, t: int) -> bool:
    """Whether an epoch ends before round t, and another begins with it."""
    return t == int(row[UNTIL])


@kernel
def levels_of(program: Array) -> int:
    """How many levels a policy has."""
    return int(program[LEVELS])


@kernel
def registers_at(program: Array, level: int) -> int:
    """Where in the registers the control words of the last level begin."""
    return int(program[level + CONTROL])


@kernel
def reward_at(program: Array, level: int) -> int:
    """Where in the words of the epoch reward it lies."""
    return int(program[level + CONTROL]) + SUM


@kernel
def stats_at(program: Array, level: int) -> int:
    """Where in the workspace the statistics of the last level begin."""
    return int(program[level + AT])


@kernel
def held_arm(row: Array, registers: Array, slot: int) -> int:
    """The arm chosen in the last pass."""
    return int(row[ARM])


@kernel
def take_arm(program: Array, row: Array, registers: Array, slot: int) -> int:
    """The arm that a slot stands for, from now on the arm chosen."""
    arm = arm_of(program, row, slot)
    row[ARM] = arm
    return arm


@kernel
def credit(totals: Array, i: int, payoffs: Array, arm: int) -> None:
    """Add to what an agent has earned."""
    totals[i] += payoffs[arm]


@kernel
def load_agent(program: Array, row: Array, workspace: Array, registers: Array, epoch_reward: Array) -> None:
    """An epoch has begun: load what the row says of the last level."""


@kernel
def store_agent(
    program: Array,
    row: Array,
    level: int,
    workspace: Array,
    registers: Array,
    epoch_reward: Array,
    totals: Array,
    i: int,
) -> None:
    """An epoch ends: bring the row up to date."""


@kernel
def rescale(program: Array, row: Array, level: int, workspace: Array, registers: Array) -> None:
    """Rescale a workspace whose statistics have grown or shrunk too far."""


@kernel
def take_turn(
    program: Array,
    own: Array,
    row: Array,
    workspace: Array,
    registers: Array,
    epoch_reward: Array,
    totals: Array,
    i: int,
    payoffs: Array,
    seen: Array,
    t: int,
    learn: int,
    choose: int,
) -> int:
    """Learn from round t - 1, choose for round t: the arm, or -1 where nothing is chosen.

    The same as :func:`hlmc.engine.step.update`, then :func:`hlmc.engine.step.select`. The clock is the game's: all
    agents of a run are at the same time.

    Parameters
    ----------
    program, own
        The policy's program, and the same numbers in the precision of the workspace.
    row, workspace, registers, epoch_reward
        The agent's words; on the processor all four are its row.
    totals, i
        [agent] what every agent has earned, and this agent's place there.
    payoffs, seen
        [arm] what each arm paid in the last round, in the game's units and as a reward in [0, 1].
    t, learn, choose
        The round to choose for; whether there is a round to learn from, and one to choose for.
    """
    fresh = epoch_begins(row, t)
    key = bits(row, KEY)
    if learn:
        # Everything that is needed is asked for before anything is written: memory answers all of it at once.
        level = record_of(program, row)
        n = count_of(row)
        control = registers_at(program, level)
        earned_at = reward_at(program, level)
        earned = epoch_reward[earned_at]
        slot = int(registers[control + CHILD])
        chance = registers[control + CHANCE]
        a = registers[control + SCALARS]
        b = registers[control + SCALARS + 1]
        tau = t - 1 - int(row[BEGAN])
        arm = held_arm(row, registers, slot)
        gain = seen[arm]
        credit(totals, i, payoffs, arm)
        epoch_reward[earned_at] = earned + gain
        if n > 1:
            place = stats_at(program, level)
            a, b = leaf_update(own, level, workspace, place, n, a, b, tau, slot, chance, working(gain))
            registers[control + SCALARS] = a
            registers[control + SCALARS + 1] = b
        if fresh:
            store_agent(program, row, level, workspace, registers, epoch_reward, totals, i)
            call_end(program, row, t)
        elif needs_rescale(a):
            rescale(program, row, level, workspace, registers)
    if not choose:
        return -1
    if fresh:
        call_begin(program, row, t)
        load_agent(program, row, workspace, registers, epoch_reward)
    slot = 0
    n = count_of(row)
    if n > 1:
        level = record_of(program, row)
        control = registers_at(program, level)
        a = registers[control + SCALARS]
        b = registers[control + SCALARS + 1]
        place = stats_at(program, level)
        tau = t - int(row[BEGAN])
        u = unit(number(key, increment(key), t, levels_of(program) - 1))
        slot, chance = leaf_select(own, level, workspace, place, n, a, b, tau, u)
        registers[control + CHILD] = slot
        registers[control + CHANCE] = chance
    return take_arm(program, row, registers, slot)


@dataclass(frozen=True)
class TurnHooks(Hooks):
    """What a target may replace in an agent's turn (:func:`take_turn`)."""

    leaf_select: Hook = step.leaf_select
    """The last level's choice."""
    leaf_update: Hook = step.leaf_update
    """What the last level learns."""
    record_of: Hook = record_of
    """Where the record of the last level lies."""
    count_of: Hook = count_of
    """How many arms are in play."""
    epoch_begins: Hook = epoch_begins
    """Whether an epoch ends before this round."""
    levels_of: Hook = levels_of
    """How many levels a policy has."""
    registers_at: Hook = registers_at
    """Where the control words lie in the registers."""
    reward_at: Hook = reward_at
    """Where the epoch reward lies."""
    stats_at: Hook = stats_at
    """Where the statistics lie in the workspace."""
    held_arm: Hook = held_arm
    """The arm chosen in the last pass."""
    take_arm: Hook = take_arm
    """The arm of a slot."""
    credit: Hook = credit
    """Add to what an agent has earned."""
    load_agent: Hook = load_agent
    """Load what the row says when an epoch begins."""
    store_agent: Hook = store_agent
    """Bring the row up to date when an epoch ends."""
    needs_rescale: Hook = step.needs_rescale
    """Whether the workspace must be rescaled."""
    rescale: Hook = rescale
    """Rescale the workspace."""
    working: Hook = arithmetic.working
    """A float in the precision of the workspace."""
    unit: Hook = stream.unit
    """A number in [0, 1) from 64 random bits."""


@kernel
def turn(parts_at: Address, part: int, board: Array, t: int, learn: int, choose: int) -> None:
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
        arm = take_turn(program, program, row, row, row, row, totals, i, payoffs, seen, t, learn, choose)
        if choose:
            chosen[arm] += 1.0


# --- The referee's work. All of these read and write the board alone, whose sections are named above.


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
    """Set what an arm pays: PAYOFFS in the game's units, SEEN as a reward in [0, 1]; 0 if nobody is there.

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
    """Add an arm's round to the books, after :func:`price`: what it would have paid, and which facts are true of it.

    TOGETHER grows by what an agent would have got with everybody on the arm. STAYED of a group grows by what its agents
    would have got if each, by itself, had been here: those who are here the payoff, the others what one agent more
    would have got. TRUE_NOW and TRUE_OF are set for every fact. COUNTS and ALONE are unchanged afterwards.
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
    """Add a group's round to the books, after all arms: one of ``groups * (1 + facts)`` items.

    Item g < groups adds the payoffs of group g to EARNED; item ``(1 + f) * groups + g`` adds to CHOICES how many of its
    agents were on arms that fact f was true of.
    """
    arms = int(board[ARMS])
    groups = int(board[GROUPS])
    group = item % groups
    members = offset(board, int(board[MEMBERS]) + group * arms)
    if item < groups:
        each = offset(board, int(board[PAYOFFS]))
        book = offset(board, int(board[EARNED]) + item)
    else:
        each = offset(board, int(board[TRUE_NOW]) + (item // groups - 1) * arms)
        book = offset(board, int(board[CHOICES]) + item - groups)
    total = book[0]
    for arm in range(arms):
        total += each[arm] * members[arm]
    book[0] = total


@kernel
def settle(parts_at: Address, parts: int, board: Array, spec: Array, state: Array, pay_at: int, t: int) -> int:
    """Count the choices of round t in all parts, pay, and keep the books: all of the above.

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
    first: int,
    last: int,
    referee: int,
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
    first, last
        The passes that are made in this call.
    referee
        0: leave out what happens between passes. Threads that share the rows make one pass each, wait for one
        another, and call :func:`between`.

    Returns
    -------
    0, or -(t + 1) if a payoff of round t is outside [0, scale].
    """
    board = words(board_at)
    spec = words(spec_at)
    state = words(state_at)
    counts = offset(board, int(board[COUNTS]))
    payoffs = offset(board, int(board[PAYOFFS]))
    for t in range(first, last + 1):
        learn = 1 if t > begin else 0
        choose = 1 if t < end else 0
        if referee and choose:
            call_observe(observe_at, spec, state, t, counts, payoffs)
        for part in range(parts):
            turn(parts_at, part, board, t, learn, choose)
        if referee and choose:
            status = settle(parts_at, parts, board, spec, state, pay_at, t)
            if status < 0:
                return status
    return 0


@cache
def rounds_of(routine: RoutineKernels | None) -> Kernel:
    """:func:`rounds` with the routine of the agents' last level compiled in; None: called through the program."""
    if routine is None:
        return rounds
    return substitute(rounds, {leaf_select: routine.select, leaf_update: routine.update})


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
    (:func:`settle`, whose status is returned).
    """
    board = words(board_at)
    spec = words(spec_at)
    state = words(state_at)
    if after:
        return settle(parts_at, parts, board, spec, state, pay_at, t)
    counts = offset(board, int(board[COUNTS]))
    call_observe(observe_at, spec, state, t, counts, offset(board, int(board[PAYOFFS])))
    return 0


@kernel
def squares(totals_at: Address, agents: int) -> float:
    """The mean square of the agents' totals [agent]."""
    totals = words(totals_at)
    total = 0.0
    for i in range(agents):
        total += totals[i] * totals[i]
    return total / agents
