"""A round of a game in machine code: everybody chooses, the game pays from the counts, everybody learns.

Three runs of words take part. *Parts* say which rows of which policy are played, and where their choices
are counted: one part a group of agents, or more where several threads share the work. The *board* is the
referee's: counts, payoffs and the sums from which results are made; its first words say where the rest
lies. *Spec* and *state* belong to the game.

Learning from one round and choosing in the next is one pass over the rows, so that a million of them are
fetched once a round and the choices need no array of their own: a row holds its own. Counts are whole
numbers and payoffs depend on nothing but counts, so neither the order of the rows nor the number of threads
can be seen in a result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hlmc.kernels.batch import row_of
from hlmc.kernels.build import JIT, kernel, native, specialised
from hlmc.kernels.layout import (
    ARM,
    AT,
    BEGAN,
    BEGIN_AT,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    END_AT,
    KEY,
    LEVELS,
    RECORD,
    SCALARS,
    SUM,
    UNTIL,
)
from hlmc.kernels.native import address_of, bits, call_begin, call_end, callback, offset, words
from hlmc.kernels.step import addressed_select, addressed_update, arm_of, overdue
from hlmc.kernels.stream import increment, number, unit
from hlmc.routines import CATALOGUE, Custom

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


def _native_address_at() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def address_at(typingctx: Any, run: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(builder.gep(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), [args[1]]))

        return types.int64(types.int64, types.int64), generate

    return address_at


@native(_native_address_at)
def address_at(run: Any, k: int) -> Any:
    """Entry k of a table of addresses and whole numbers."""
    return run[k]


def addresses(entries: list[Any]) -> tuple[Any, Any]:
    """A table for :func:`address_at`: what must be kept alive, and what a kernel takes."""
    if not JIT:
        return entries, entries
    table = np.array(entries, dtype=np.int64)
    return table, address_of(table)


class Code(NamedTuple):
    """A kernel of a game as a C function: its address, and what must be kept alive while it is used."""

    address: int
    kept: Any


def code(function: Callable[..., Any], signature: tuple[str, ...]) -> Code:
    """A kernel of a game, to be called through its address; under the interpreter, its place in a list."""
    if not JIT:
        if function not in _interpreted:
            _interpreted.append(function)
        return Code(_interpreted.index(function), function)
    try:
        found = callback(function, signature)
    except RuntimeError:  # a kernel typed in at a prompt has no file beside which machine code could be kept
        found = callback(function, signature, False)
    return Code(int(found.address), found)


_interpreted: list[Callable[..., Any]] = []


def _native_call_pay() -> Any:
    from numba.extending import intrinsic

    @intrinsic
    def call_pay(typingctx: Any, address: Any, spec: Any, state: Any, t: Any, counts: Any, arm: Any) -> Any:
        return _called(PAY)

    return call_pay


def _native_call_observe() -> Any:
    from numba.extending import intrinsic

    @intrinsic
    def call_observe(typingctx: Any, address: Any, spec: Any, state: Any, t: Any, counts: Any, payoffs: Any) -> Any:
        return _called(OBSERVE)

    return call_observe


def _called(names: tuple[str, ...]) -> Any:
    """Numba's signature of a call through an address, and the function that writes the call."""
    from llvmlite import ir
    from numba import types

    numba_types = {
        "words": types.CPointer(types.float64),
        "float64": types.float64,
        "int64": types.int64,
        "void": types.void,
    }
    llvm_types = {
        "words": ir.DoubleType().as_pointer(),
        "float64": ir.DoubleType(),
        "int64": ir.IntType(64),
        "void": ir.VoidType(),
    }
    function_type = ir.FunctionType(llvm_types[names[0]], [llvm_types[name] for name in names[1:]])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.inttoptr(args[0], function_type.as_pointer())
        result = builder.call(function, args[1:])
        return context.get_dummy_value() if names[0] == "void" else result

    return numba_types[names[0]](types.int64, *(numba_types[name] for name in names[1:])), generate


@native(_native_call_pay)
def call_pay(address: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """Ask a game's ``pay``, or a fact."""
    return float(_interpreted[int(address)](spec, state, t, counts, arm))


@native(_native_call_observe)
def call_observe(address: int, spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Let a game make its move."""
    _interpreted[int(address)](spec, state, t, counts, payoffs)


# --- one agent's turn
#
# These names say where an agent keeps what it holds from one pass to the next. On the processor all of it lies in the
# agent's row; a device keeps it together, in the precision asked for, and touches the row when an epoch begins or ends.


@kernel
def record_of(program: Array, row: Array) -> int:
    """Where the record of the routine over the arms lies."""
    return int(row[RECORD])


@kernel
def count_of(row: Array) -> int:
    """How many arms are in play."""
    return int(row[COUNT])


@kernel
def starts_afresh(row: Array, t: int) -> bool:
    """Whether an epoch ends before round t, and another begins with it."""
    return t == int(row[UNTIL])


@kernel
def levels_of(program: Array) -> int:
    """How many levels a policy has."""
    return int(program[LEVELS])


@kernel
def hand_of(program: Array, level: int) -> int:
    """Where in the hand the control words of the last level begin."""
    return int(program[level + CONTROL])


@kernel
def place_of(program: Array, level: int) -> int:
    """Where on the desk the statistics of the last level begin."""
    return int(program[level + AT])


@kernel
def working(x: float) -> float:
    """A number as the routine takes it."""
    return x


@kernel
def arm_held(row: Array, hand: Array, slot: int) -> int:
    """The arm chosen in the last pass."""
    return int(row[ARM])


@kernel
def arm_taken(program: Array, row: Array, hand: Array, slot: int) -> int:
    """The arm that a slot stands for, from now on the arm chosen."""
    arm = arm_of(program, row, slot)
    row[ARM] = arm
    return arm


@kernel
def credit(totals: Array, i: int, payoffs: Array, arm: int) -> None:
    """Add to what an agent has earned."""
    totals[i] += payoffs[arm]


@kernel
def take_up(program: Array, row: Array, desk: Array, hand: Array, purse: Array) -> None:
    """An epoch has begun: take up what the row says of the last level."""


@kernel
def lay_down(
    program: Array, row: Array, level: int, desk: Array, hand: Array, purse: Array, totals: Array, i: int
) -> None:
    """An epoch ends: bring the row up to date."""


@kernel
def tidy(program: Array, row: Array, level: int, desk: Array, hand: Array) -> None:
    """Put a desk in order on which the routine's numbers have grown or shrunk too far."""


leaf_select, leaf_update = addressed_select, addressed_update


@kernel
def take_turn(
    program: Array,
    own: Array,
    row: Array,
    desk: Array,
    hand: Array,
    purse: Array,
    totals: Array,
    i: int,
    payoffs: Array,
    seen: Array,
    t: int,
    learn: int,
    choose: int,
) -> int:
    """Learn from round t - 1, choose for round t: the arm, or -1 where nothing is chosen.

    The same as :func:`hlmc.kernels.step.update`, then :func:`hlmc.kernels.step.select`. The clock is the table's: no
    agent of a game has another time than the others.
    """
    fresh = starts_afresh(row, t)
    key = bits(row, KEY)
    if learn:
        # Everything that is needed is asked for before anything is written: memory answers all of it at once.
        level = record_of(program, row)
        n = count_of(row)
        control = hand_of(program, level)
        earned = purse[control + SUM]
        slot = int(hand[control + CHILD])
        chance = hand[control + CHANCE]
        a = hand[control + SCALARS]
        b = hand[control + SCALARS + 1]
        tau = t - 1 - int(row[BEGAN])
        arm = arm_held(row, hand, slot)
        gain = seen[arm]
        credit(totals, i, payoffs, arm)
        purse[control + SUM] = earned + gain
        if n > 1:
            place = place_of(program, level)
            a, b = leaf_update(own, level, desk, place, n, a, b, tau, slot, chance, working(gain))
            hand[control + SCALARS] = a
            hand[control + SCALARS + 1] = b
        if fresh:
            lay_down(program, row, level, desk, hand, purse, totals, i)
            call_end(int(program[END_AT]), program, row, t)
        elif overdue(a):
            tidy(program, row, level, desk, hand)
    if not choose:
        return -1
    if fresh:
        call_begin(int(program[BEGIN_AT]), program, row, t)
        take_up(program, row, desk, hand, purse)
    slot = 0
    n = count_of(row)
    if n > 1:
        level = record_of(program, row)
        control = hand_of(program, level)
        a = hand[control + SCALARS]
        b = hand[control + SCALARS + 1]
        place = place_of(program, level)
        tau = t - int(row[BEGAN])
        u = unit(number(key, increment(key), t, levels_of(program) - 1))
        slot, chance = leaf_select(own, level, desk, place, n, a, b, tau, u)
        hand[control + CHILD] = slot
        hand[control + CHANCE] = chance
    return arm_taken(program, row, hand, slot)


@kernel
def turn(parts_at: Any, part: int, board: Array, t: int, learn: int, choose: int) -> None:
    """One pass over the rows of a part: learn from the last round, choose for the next."""
    at = PART * part
    program = words(address_at(parts_at, at + PROGRAM))
    rows_at = address_at(parts_at, at + ROWS)
    width = address_at(parts_at, at + WIDTH)
    totals = words(address_at(parts_at, at + TOTALS))
    chosen = words(address_at(parts_at, at + CHOSEN))
    payoffs = offset(board, int(board[PAYOFFS]))
    seen = offset(board, int(board[SEEN]))
    if choose:
        for arm in range(int(board[ARMS])):
            chosen[arm] = 0.0
    for i in range(address_at(parts_at, at + FIRST), address_at(parts_at, at + STOP)):
        row = words(row_of(rows_at, i, width))
        arm = take_turn(program, program, row, row, row, row, totals, i, payoffs, seen, t, learn, choose)
        if choose:
            chosen[arm] += 1.0


# --- the referee's work, an arm at a time, so that on a device each arm can have a thread


@kernel
def instead(run: Array, at: int, x: float) -> Array:
    """The same words with another number in one place: here, until it is put back."""
    run[at] = x
    return run


@kernel
def put_back(run: Array, at: int, x: float) -> None:
    run[at] = x


@kernel
def tally(board: Array, arm: int) -> None:
    """Count who is on an arm."""
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
    """Say what an arm pays; False when that is outside [0, scale], and then nothing is changed."""
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
    """Keep the books of an arm: what it would have paid to others, and which facts are true of it."""
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
    """Keep the books of a group: item g what group g earned, the items after that how often a fact was true."""
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
def settle(parts_at: Any, parts: int, board: Array, spec: Array, state: Array, pay_at: int, t: int) -> int:
    """Count who is where, pay, and keep the books. 0, or -(t + 1) when a payoff is outside [0, scale]."""
    arms = int(board[ARMS])
    groups = int(board[GROUPS])
    members = offset(board, int(board[MEMBERS]))
    for k in range(groups * arms):
        members[k] = 0.0
    for part in range(parts):
        chosen = words(address_at(parts_at, PART * part + CHOSEN))
        group = address_at(parts_at, PART * part + GROUP)
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
    parts_at: Any,
    parts: int,
    board_at: Any,
    spec_at: Any,
    state_at: Any,
    pay_at: int,
    observe_at: int,
    begin: int,
    end: int,
    first: int,
    last: int,
    referee: int,
) -> int:
    """Play the rounds begin .. end - 1 in the passes begin .. end.

    Pass t learns from round t - 1 and chooses for round t. Only the passes first .. last are made here, and
    where ``referee`` is 0, without what happens between passes: threads that share the rows make one pass each
    and wait for one another.
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
def rounds_of(kind: int | None) -> Callable[..., int]:
    """:func:`rounds` for agents whose last level runs this routine, compiled in; None, or a user's own: called."""
    if kind is None or CATALOGUE[kind] is Custom:
        return rounds
    cls = CATALOGUE[kind]

    def own(template: Callable[..., Any], role: str, **meanings: Any) -> Callable[..., Any]:
        return specialised(template, f"{role}_of_{cls.name}", **meanings)

    one = own(take_turn, "take_turn", leaf_select=cls.kernels.select, leaf_update=cls.kernels.update)
    return own(rounds, "rounds", turn=own(turn, "turn", take_turn=one))


@kernel
def between(
    parts_at: Any,
    parts: int,
    board_at: Any,
    spec_at: Any,
    state_at: Any,
    pay_at: int,
    observe_at: int,
    t: int,
    after: int,
) -> int:
    """What happens between passes: before the choices of round t the game looks on; after them it pays."""
    board = words(board_at)
    spec = words(spec_at)
    state = words(state_at)
    if after:
        return settle(parts_at, parts, board, spec, state, pay_at, t)
    counts = offset(board, int(board[COUNTS]))
    call_observe(observe_at, spec, state, t, counts, offset(board, int(board[PAYOFFS])))
    return 0


@kernel
def squares(totals_at: Any, agents: int) -> float:
    """The mean square of the agents' totals."""
    totals = words(totals_at)
    total = 0.0
    for i in range(agents):
        total += totals[i] * totals[i]
    return total / agents
