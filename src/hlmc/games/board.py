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
from hlmc.kernels.build import JIT, kernel, native, specialised, unbound
from hlmc.kernels.layout import ARM, CHANCE, CHILD, SCALARS
from hlmc.kernels.native import address_of, callback, offset, words
from hlmc.kernels.step import select, update
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
HEADER = 18


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


@kernel
def turn(parts_at: Any, part: int, board: Array, learn: int, choose: int) -> None:
    """One pass over the rows of a part: learn from the last round, choose for the next."""
    at = PART * part
    program_at = address_at(parts_at, at + PROGRAM)
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
        row_at = row_of(rows_at, i, width)
        if learn:
            arm = int(words(row_at)[ARM])
            totals[i] += payoffs[arm]
            update(program_at, row_at, seen[arm])
        if choose:
            chosen[select(program_at, row_at)] += 1.0


@kernel
def settle(parts_at: Any, parts: int, board: Array, spec: Array, state: Array, pay_at: int, t: int) -> int:
    """Count who is where, pay, and keep the books. 0, or -(t + 1) when a payoff is outside [0, scale]."""
    arms = int(board[ARMS])
    groups = int(board[GROUPS])
    scale = board[SCALE]
    counts = offset(board, int(board[COUNTS]))
    payoffs = offset(board, int(board[PAYOFFS]))
    seen = offset(board, int(board[SEEN]))
    alone = offset(board, int(board[ALONE]))
    together = offset(board, int(board[TOGETHER]))
    sizes = offset(board, int(board[SIZES]))
    earned = offset(board, int(board[EARNED]))
    members = offset(board, int(board[MEMBERS]))
    stayed = offset(board, int(board[STAYED]))
    occupancy = offset(board, int(board[OCCUPANCY]))
    codes = offset(board, int(board[CODES]))
    choices = offset(board, int(board[CHOICES]))
    true_of = offset(board, int(board[TRUE_OF]))
    for k in range(groups * arms):
        members[k] = 0.0
    for part in range(parts):
        chosen = words(address_at(parts_at, PART * part + CHOSEN))
        group = address_at(parts_at, PART * part + GROUP)
        for arm in range(arms):
            members[group * arms + arm] += chosen[arm]
    for arm in range(arms):
        counts[arm] = 0.0
        for group in range(groups):
            counts[arm] += members[group * arms + arm]
            occupancy[group * arms + arm] += members[group * arms + arm]
    for arm in range(arms):
        payoff = call_pay(pay_at, spec, state, t, counts, arm) if counts[arm] > 0.0 else 0.0
        if not (0.0 <= payoff <= scale):
            return -(t + 1)
        payoffs[arm] = payoff
        seen[arm] = payoff / scale
    for arm in range(arms):
        here = counts[arm]
        counts[arm] = here + 1.0
        joining = call_pay(pay_at, spec, state, t, counts, arm) if here < board[AGENTS] else 0.0
        counts[arm] = here
        alone[arm] = board[AGENTS]
        together[arm] += call_pay(pay_at, spec, state, t, alone, arm)
        alone[arm] = 0.0
        for group in range(groups):
            there = members[group * arms + arm]
            stayed[group * arms + arm] += there * payoffs[arm] + (sizes[group] - there) * joining
            earned[group] += there * payoffs[arm]
    for fact in range(int(board[FACTS])):
        for arm in range(arms):
            true = call_pay(int(codes[fact]), spec, state, t, counts, arm)
            true_of[fact * arms + arm] += true
            for group in range(groups):
                choices[fact * groups + group] += true * members[group * arms + arm]
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
            turn(parts_at, part, board, learn, choose)
        if referee and choose:
            status = settle(parts_at, parts, board, spec, state, pay_at, t)
            if status < 0:
                return status
    return 0


routine_select = routine_update = unbound


@kernel
def _own_select(
    address: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, u: float
) -> None:
    """What a call through the address of a routine's select does, with the routine compiled in."""
    a, b = row[control + SCALARS], row[control + SCALARS + 1]
    row[control + CHILD], row[control + CHANCE] = routine_select(program, level, row, at, n, a, b, tau, u)


@kernel
def _own_update(
    address: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, reward: float
) -> None:
    a, b = row[control + SCALARS], row[control + SCALARS + 1]
    slot, chance = int(row[control + CHILD]), row[control + CHANCE]
    a, b = routine_update(program, level, row, at, n, a, b, tau, slot, chance, reward)
    row[control + SCALARS], row[control + SCALARS + 1] = a, b


@cache
def rounds_of(kind: int | None) -> Callable[..., int]:
    """:func:`rounds` for agents whose last level runs this routine, compiled in; None, or a user's own: called."""
    if kind is None or CATALOGUE[kind] is Custom:
        return rounds
    cls = CATALOGUE[kind]

    def own(template: Callable[..., Any], role: str, **meanings: Any) -> Callable[..., Any]:
        return specialised(template, f"{role}_of_{cls.name}", **meanings)

    choose = own(_own_select, "own_select", routine_select=cls.kernels.select)
    learn = own(_own_update, "own_update", routine_update=cls.kernels.update)
    steps = {
        "select": own(select, "select", call_select=choose),
        "update": own(update, "update", call_update=learn),
    }
    return own(rounds, "rounds", turn=own(turn, "turn", **steps))


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
