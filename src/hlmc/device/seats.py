"""A game's rounds, built for a device: one agent a thread, and for every run a referee.

All agents of a run are at the same time, so they wait for one another in every round: when everybody has chosen, the
last block to come counts, pays and keeps the books while the others wait; then everybody learns and chooses again. An
agent's *hand* (what it chose, and the two scalars of its routine), its *desk* (the statistics of its last level) and
its *purse* (what it earned in this epoch) change in every round and lie side by side with those of its neighbours, as
[tile of agents, word, agent]. Its row is written when an epoch begins or ends.

Most turns fall in the middle of everybody's epoch. They have code of their own, in which nothing of beginnings and
endings is left that would take registers away; for every tile it is known when one of its agents is next due for more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hlmc.device import arithmetic, places
from hlmc.device.calls import calls_of
from hlmc.device.desks import desk_kernels
from hlmc.device.grid import together
from hlmc.device.shape import Shape
from hlmc.device.target import SIMULATED, Target, retold
from hlmc.games import board as layout
from hlmc.games.board import add_up, appraise, call_observe, call_pay, price, take_turn, tally
from hlmc.games.board import instead as instead_here
from hlmc.games.board import put_back as put_back_here
from hlmc.kernels.build import kernel, specialised, unbound
from hlmc.kernels.champion import champion_arm
from hlmc.kernels.layout import (
    ARMS,
    AT,
    BASE,
    CHANCE,
    CHILD,
    CHILDREN,
    CONTROL,
    CROWNED,
    DOUBLING,
    FIELDS,
    FOREVER,
    LEVEL_CONTROL,
    LEVELS,
    RECORD,
    ROUNDS,
    SCALARS,
    SUM,
    TREE,
    UNTIL,
)
from hlmc.kernels.native import apart, offset
from hlmc.kernels.rounds import rounds_arm
from hlmc.kernels.step import overdue
from hlmc.policies.base import Policy

Array = np.ndarray

LANES = 4 if SIMULATED else 256
"""Agents in a tile, and threads in a block."""

COPIES = 1 if SIMULATED else 8
"""Places in which the blocks of a run count, so that they need not queue for one."""

HAND = LEVEL_CONTROL
"""Words of a hand: a level's control words. The sum lies elsewhere and leaves its place to the arm, or to the first."""
HELD_ARM = SUM

LIVE, SEAT, GROUP, ROW_AT, DESK_AT = range(5)
TILE = 5
"""What is known of a tile: how many agents it has, their kind and group, where their words begin."""


@dataclass(frozen=True)
class Seat:
    """What policies must share to be played by one piece of machine code. 0: where that differs in time or by agent."""

    shape: Shape
    levels: int
    record: int
    full: int

    @classmethod
    def of(cls, policy: Policy) -> Seat:
        """The kind of seat that a policy's agents need."""
        shape = replace(Shape.of(policy), stride=1)  # agents take one step at a time
        header, *records = policy.program.reshape(-1, FIELDS)
        levels = int(header[LEVELS])
        if shape.structure != TREE:
            return cls(shape, levels, 0, 0)
        children = np.array(records)[:, CHILDREN].astype(int).reshape(-1, levels)
        even = all(math.prod(stage) == int(header[ARMS]) and stage[-1] == shape.full for stage in children)
        return cls(shape, levels, FIELDS * levels if header[DOUBLING] < 0 else 0, shape.full if even else 0)


# --- what the names of an agent's turn mean here

DEPTH = RECORD_AT = FULL = PLACE = 0
lay_out = clear_away = first = rest = disorder = unbound
WHICH = 0


@kernel
def _depth(program: Array) -> int:
    return DEPTH


@kernel
def _one_record(program: Array, row: Array) -> int:
    return RECORD_AT


@kernel
def _full(row: Array) -> int:
    return FULL


@kernel
def _hand_of(program: Array, level: int) -> int:
    return 0


@kernel
def _place_of(program: Array, level: int) -> int:
    return PLACE


@kernel
def _neighbour_held(row: Array, hand: Array, slot: int) -> int:
    return int(hand[HELD_ARM]) + slot


@kernel
def _neighbour_taken(program: Array, row: Array, hand: Array, slot: int) -> int:
    return int(hand[HELD_ARM]) + slot


@kernel
def _arm_held(row: Array, hand: Array, slot: int) -> int:
    return int(hand[HELD_ARM])


@kernel
def _arm_taken(program: Array, row: Array, hand: Array, slot: int) -> Any:
    arm = first(program, row, slot)
    hand[HELD_ARM] = arm
    return arm


@kernel
def _never_afresh(row: Array, t: int) -> bool:
    return False


@kernel
def _no_credit(totals: Array, i: int, payoffs: Array, arm: int) -> None:
    """What was earned in this epoch is in the purse."""


@kernel
def _take_up(program: Array, row: Array, desk: Array, hand: Array, purse: Array) -> None:
    apart()
    level = int(row[RECORD])
    control = int(program[level + CONTROL])
    lay_out(program, row, int(program[level + AT]), desk)
    hand[CHILD] = 0.0
    hand[CHANCE] = 1.0
    hand[HELD_ARM] = row[BASE]
    hand[SCALARS] = row[control + SCALARS]
    hand[SCALARS + 1] = row[control + SCALARS + 1]
    purse[0] = row[control + SUM]


@kernel
def _lay_down(
    program: Array, row: Array, level: int, desk: Array, hand: Array, purse: Array, totals: Array, i: int
) -> None:
    apart()
    control = int(program[level + CONTROL])
    row[control + CHILD] = hand[CHILD]
    row[control + CHANCE] = hand[CHANCE]
    row[control + SCALARS] = clear_away(program, row, int(program[level + AT]), desk, hand[SCALARS])
    row[control + SCALARS + 1] = hand[SCALARS + 1]
    row[control + SUM] = purse[0]
    totals[i] += purse[0]
    purse[0] = 0.0


@kernel
def _tidy(program: Array, row: Array, level: int, desk: Array, hand: Array) -> None:
    apart()
    at = int(program[level + AT])
    hand[SCALARS] = clear_away(program, row, at, desk, hand[SCALARS])
    lay_out(program, row, at, desk)


@kernel
def _sized_select(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, u: float
) -> Any:
    """Most groups are full. A compiler that knows their size has no loop left over the children."""
    if n == FULL:
        return first(program, level, row, at, FULL, a, b, tau, u)
    return first(program, level, row, at, n, a, b, tau, u)


@kernel
def _sized_update(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    a: float,
    b: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
) -> Any:
    if n == FULL:
        return first(program, level, row, at, FULL, a, b, tau, slot, chance, reward)
    return first(program, level, row, at, n, a, b, tau, slot, chance, reward)


@kernel
def _seated(
    which: int,
    program: Array,
    own: Array,
    row: Array,
    desk: Array,
    hand: Array,
    purse: Array,
    totals: Array,
    seen: Array,
    t: int,
    learn: int,
    choose: int,
) -> Any:
    """An agent's turn at the seat of its kind: the arm, and whether its desk is in disorder now."""
    if which == WHICH:
        arm = first(program, own, row, desk, hand, purse, totals, 0, seen, seen, t, learn, choose)
        return arm, disorder(hand[SCALARS])
    return rest(which, program, own, row, desk, hand, purse, totals, seen, t, learn, choose)


@kernel
def _nobody(
    which: int,
    program: Array,
    own: Array,
    row: Array,
    desk: Array,
    hand: Array,
    purse: Array,
    totals: Array,
    seen: Array,
    t: int,
    learn: int,
    choose: int,
) -> Any:
    return 0, False


def _turns(seat: Seat, precision: str) -> tuple[Callable[..., int], Callable[..., int], Callable[..., bool]]:
    """An agent's turn at any time and in the middle of an epoch, and whether a desk is in disorder.

    What calls through addresses mean is settled within a turn, for other seats have other routines.
    """
    shape = seat.shape
    narrowly = arithmetic.without_trees(shape.children)
    calls = calls_of(shape)
    store = narrowly | arithmetic.in_pieces(shape) | arithmetic.fast(precision)
    tell = partial(retold, meanings=store, precision=precision)
    desk = desk_kernels(shape, tell)
    lay_out, clear_away = desk["lay_out"], desk["clear_away"]
    names: dict[str, Any] = {
        "SUM": 0,
        "levels_of": specialised(_depth, "levels_of", DEPTH=seat.levels),
        "hand_of": _hand_of,
        "place_of": specialised(_place_of, "place_of", PLACE=desk["PLACE"]),
        "arm_held": _arm_held,
        "credit": _no_credit,
        "take_up": specialised(_take_up, "take_up", lay_out=lay_out),
        "lay_down": specialised(_lay_down, "lay_down", clear_away=clear_away),
    }
    if shape.structure in (TREE, CROWNED):
        names |= {"arm_held": _neighbour_held, "arm_taken": _neighbour_taken}
    else:
        arm_of = rounds_arm if shape.structure == ROUNDS else champion_arm
        names["arm_taken"] = specialised(_arm_taken, "arm_taken", first=arm_of)
    leaf = shape.last[1]
    if shape.pieces:
        names["overdue"] = desk["overdue"]
        names["tidy"] = specialised(_tidy, "tidy", lay_out=lay_out, clear_away=clear_away)
    select, update = tell(leaf.select), tell(leaf.update)
    if seat.record:
        names["record_of"] = specialised(_one_record, "record_of", RECORD_AT=seat.record)
    if seat.full:
        names["count_of"] = specialised(_full, "count_of", FULL=seat.full)
    elif shape.full > 1:
        select = specialised(_sized_select, "select", first=select, FULL=shape.full)
        update = specialised(_sized_update, "update", first=update, FULL=shape.full)
    if precision == "float32":
        names |= {"working": arithmetic.single_working, "unit": arithmetic.single_unit}
    turn = specialised(take_turn, "take_turn", leaf_select=select, leaf_update=update, **names)
    short = specialised(turn, "short_turn", starts_afresh=_never_afresh, overdue=overdue)
    disorder = names.get("overdue", overdue)
    return retold(turn, narrowly | calls), retold(short, narrowly | calls), disorder


# --- what a game's names mean here


@kernel
def _paid(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> Any:
    if which == WHICH:
        return first(spec, state, t, counts, arm)
    return rest(which, spec, state, t, counts, arm)


@kernel
def _nothing_paid(which: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    return 0.0


@kernel
def _observed(which: int, spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    first(spec, state, t, counts, payoffs)


@kernel
def _left_alone(run: Array, at: int, x: float) -> None:
    pass


@dataclass(frozen=True)
class Rules:
    """A game as machine code sees it: its kernels, not its numbers."""

    pay: Callable[..., float]
    observe: Callable[..., None]
    facts: tuple[Callable[..., float], ...]

    def meanings(self) -> dict[Callable[..., Any], Any]:
        """What calls of the game mean: "pay" has the address 0, the facts follow."""
        paid: Callable[..., Any] = _nothing_paid
        for which, called in reversed(list(enumerate((self.pay, *self.facts)))):
            paid = specialised(_paid, f"paid_{which}", WHICH=which, first=called, rest=paid)
        return {
            call_pay: paid,
            call_observe: specialised(_observed, "observed", first=self.observe),
            instead_here: _instead(),
            put_back_here: _left_alone,
        }


class _Altered:
    """The simulator's run of words with another number in one place."""

    def __init__(self, run: Array, at: int, x: float) -> None:
        self._known = run, at, x

    def __getitem__(self, i: int) -> float:
        run, at, x = self._known
        return x if i == at else float(run[i])


def _instead() -> Any:
    if SIMULATED:
        return _Altered
    from hlmc.device import gates

    return gates.instead


# --- what is launched

cuda: Any = None
wait = add = take = lower = last_to_come = let_go = unbound
sit = at_tile = in_full = clear_bin = read_bin = count_one = unbound
program_of = own_of = spec_of = many_of = desks_of = one_of = unbound
IN_SHARED = True
int32: Any = None


# Where choices are counted first: in the block's own memory, which the simulator knows only where it was launched; or,
# where there are too many arms for that, in the memory of all.


@kernel
def _clear_bin(held: Array, k: int) -> None:
    cuda.shared.array(0, int32)[k] = 0


@kernel
def _read_bin(held: Array, k: int) -> Any:
    return cuda.shared.array(0, int32)[k]


@kernel
def _count(held: Array, counters: Array, k: int) -> None:
    cuda.atomic.add(cuda.shared.array(0, int32), k, 1)


@kernel
def _simulated_clear_bin(held: Array, k: int) -> None:
    held[k] = 0


@kernel
def _simulated_read_bin(held: Array, k: int) -> Any:
    return held[k]


@kernel
def _simulated_count(held: Array, counters: Array, k: int) -> None:
    add(held, k, 1)


@kernel
def _count_for_all(held: Array, counters: Array, k: int) -> None:
    add(counters, k, 1)


def _bins(names: dict[str, Any], in_shared: bool) -> dict[str, Any]:
    kernels: dict[str, Callable[..., Any]]
    if SIMULATED:
        kernels = {"clear_bin": _simulated_clear_bin, "read_bin": _simulated_read_bin, "count_one": _simulated_count}
    else:
        kernels = {"clear_bin": _clear_bin, "read_bin": _read_bin, "count_one": _count}
    if not in_shared:
        kernels["count_one"] = _count_for_all
    return {name: specialised(each, name, **names) for name, each in kernels.items()}


@kernel
def _at_tile(
    programs: Any,
    owns: Any,
    rows: Any,
    desks: Any,
    hands: Any,
    purses: Any,
    totals: Any,
    seen: Array,
    tiles: Array,
    length: int,
    rows_each: int,
    desks_each: int,
    count: int,
    run: int,
    tile: int,
    lane: int,
    t: int,
    learn: int,
    choose: int,
) -> Any:
    """The turn of one agent of a tile."""
    known = TILE * tile
    group = tiles[known + GROUP]
    place = run * count + tile
    return sit(
        tiles[known + SEAT],
        program_of(programs, group, length),
        own_of(owns, group, length),
        many_of(rows, run * rows_each + tiles[known + ROW_AT] * LANES + lane),
        desks_of(desks, run * desks_each + tiles[known + DESK_AT] * LANES + lane),
        desks_of(hands, place * HAND * LANES + lane),
        many_of(purses, place * LANES + lane),
        many_of(totals, place * LANES + lane),
        seen,
        t,
        learn,
        choose,
    )


@kernel
def _in_full(
    programs: Any,
    owns: Any,
    rows: Any,
    desks: Any,
    hands: Any,
    purses: Any,
    totals: Any,
    board: Array,
    tiles: Array,
    counters: Array,
    due: Array,
    held: Array,
    length: int,
    rows_each: int,
    desks_each: int,
    count: int,
    counted: int,
    run: int,
    worker: int,
    workers: int,
    lane: int,
    t: int,
    learn: int,
    choose: int,
) -> None:
    """The turns of all agents of tiles in which somebody is due for more than an ordinary one."""
    apart()
    seen = offset(board, int(board[layout.SEEN]))
    arms = int(board[layout.ARMS])
    wait()
    for tile in range(worker, count, workers):
        place = run * count + tile
        if not (learn and choose and t < due[place]):
            wait()  # everybody has seen that it is due
            if lane == 0:
                due[place] = FOREVER
            wait()
            known = TILE * tile
            if lane < tiles[known + LIVE]:
                arm, _ = at_tile(
                    programs,
                    owns,
                    rows,
                    desks,
                    hands,
                    purses,
                    totals,
                    seen,
                    tiles,
                    length,
                    rows_each,
                    desks_each,
                    count,
                    run,
                    tile,
                    lane,
                    t,
                    learn,
                    choose,
                )
                if choose:
                    count_one(held, counters, counted + tiles[known + GROUP] * arms + arm)
                row = many_of(rows, run * rows_each + tiles[known + ROW_AT] * LANES + lane)
                lower(due, place, int(row[UNTIL]))


@kernel
def _pass(
    programs: Any,
    owns: Any,
    rows: Any,
    desks: Any,
    hands: Any,
    purses: Any,
    totals: Any,
    board: Array,
    tiles: Array,
    counters: Array,
    due: Array,
    held: Array,
    length: int,
    rows_each: int,
    desks_each: int,
    count: int,
    bins: int,
    run: int,
    worker: int,
    workers: int,
    lane: int,
    t: int,
    learn: int,
    choose: int,
) -> None:
    """Everybody in this block's tiles learns from round t - 1 and chooses for round t; choices are counted."""
    counted = (run * COPIES + worker % COPIES) * bins
    start = 0 if IN_SHARED else counted
    if IN_SHARED:
        for k in range(lane, bins, LANES):
            clear_bin(held, k)
        wait()
    somebody = True
    if learn and choose:
        somebody = False
        seen = offset(board, int(board[layout.SEEN]))
        arms = int(board[layout.ARMS])
        for tile in range(worker, count, workers):
            if t >= due[run * count + tile]:
                somebody = True
            elif lane < tiles[TILE * tile + LIVE]:
                arm, disorder = at_tile(
                    programs,
                    owns,
                    rows,
                    desks,
                    hands,
                    purses,
                    totals,
                    seen,
                    tiles,
                    length,
                    rows_each,
                    desks_each,
                    count,
                    run,
                    tile,
                    lane,
                    t,
                    1,
                    1,
                )
                count_one(held, counters, start + tiles[TILE * tile + GROUP] * arms + arm)
                if disorder:
                    due[run * count + tile] = t + 1
    if somebody:
        in_full(
            programs,
            owns,
            rows,
            desks,
            hands,
            purses,
            totals,
            board,
            tiles,
            counters,
            due,
            held,
            length,
            rows_each,
            desks_each,
            count,
            start,
            run,
            worker,
            workers,
            lane,
            t,
            learn,
            choose,
        )
    if IN_SHARED:
        wait()
        for k in range(lane, bins, LANES):
            here = read_bin(held, k)
            if here > 0:
                add(counters, counted + k, here)


@kernel
def _referee(
    board: Array, spec: Array, state: Array, flags: Array, counters: Array, bins: int, run: int, lane: int, t: int
) -> None:
    """Count who is where, pay, and keep the books; the threads of a block share the arms."""
    apart()
    if lane == 0:
        counts = offset(board, int(board[layout.COUNTS]))
        call_observe(0, spec, state, t, counts, offset(board, int(board[layout.PAYOFFS])))
    members = offset(board, int(board[layout.MEMBERS]))
    for k in range(lane, bins, LANES):
        here = 0
        for copy in range(COPIES):
            here += take(counters, (run * COPIES + copy) * bins + k)
        members[k] = float(here)
    wait()
    arms = int(board[layout.ARMS])
    for arm in range(lane, arms, LANES):
        tally(board, arm)
    wait()
    for arm in range(lane, arms, LANES):
        if not price(board, spec, state, 0, t, arm) and flags[run] == 0.0:
            flags[run] = -float(t + 1)
        appraise(board, spec, state, 0, t, arm)
    wait()
    for item in range(lane, int(board[layout.GROUPS]) * (1 + int(board[layout.FACTS])), LANES):
        add_up(board, item)


passed = refereed = unbound


@kernel
def _rounds(
    programs: Any,
    owns: Any,
    rows: Any,
    desks: Any,
    hands: Any,
    purses: Any,
    totals: Any,
    spec: Any,
    states: Any,
    boards: Any,
    flags: Any,
    gates: Any,
    tiles: Array,
    counters: Array,
    due: Array,
    length: int,
    rows_each: int,
    desks_each: int,
    state_each: int,
    board_each: int,
    count: int,
    bins: int,
    begin: int,
    end: int,
) -> None:
    """Play the rounds begin .. end - 1 of every run in the passes begin .. end, and learn from all of them."""
    worker = cuda.blockIdx.x
    workers = cuda.gridDim.x
    run = cuda.blockIdx.y
    lane = cuda.threadIdx.x
    held = cuda.shared.array(0, int32)
    note = cuda.shared.array(1, int32)
    board = one_of(boards, run * board_each)
    state = one_of(states, run * state_each)
    for t in range(begin, end + 1):
        learn = 1 if t > begin else 0
        choose = 1 if t < end else 0
        passed(
            programs,
            owns,
            rows,
            desks,
            hands,
            purses,
            totals,
            board,
            tiles,
            counters,
            due,
            held,
            length,
            rows_each,
            desks_each,
            count,
            bins,
            run,
            worker,
            workers,
            lane,
            t,
            learn,
            choose,
        )
        if choose and last_to_come(gates, run, workers, lane, note):
            refereed(board, spec_of(spec), state, one_of(flags, 0), counters, bins, run, lane, t)
            let_go(gates, run, lane)


@kernel
def _squares(purses: Any, totals: Any, tiles: Array, found: Any, count: int) -> None:
    """For every tile the sum of the squares of what its agents have earned, as learners see it."""
    tile = cuda.blockIdx.x * LANES + cuda.threadIdx.x
    run = cuda.blockIdx.y
    if tile < count:
        place = (run * count + tile) * LANES
        purse = one_of(purses, place)
        total = one_of(totals, place)
        squares = 0.0
        for lane in range(tiles[TILE * tile + LIVE]):
            earned = total[lane] + purse[lane]
            squares += earned * earned
        one_of(found, run * count + tile)[0] = squares


def built(seats: tuple[Seat, ...], rules: Rules, precision: str, in_shared: bool, registers: int) -> tuple[Any, Any]:
    """What plays the rounds and what sums up squares: to be launched, not yet compiled."""
    from numba import cuda

    names = _places(precision) | together() | {"cuda": cuda, "int32": _int32(), "IN_SHARED": in_shared}
    full: Callable[..., Any] = _nobody
    short: Callable[..., Any] = _nobody
    for which in reversed(range(len(seats))):
        turn, short_turn, disorder = _turns(seats[which], precision)
        full = specialised(_seated, f"full_{which}", WHICH=which, first=turn, disorder=overdue, rest=full)
        short = specialised(_seated, f"short_{which}", WHICH=which, first=short_turn, disorder=disorder, rest=short)
    names |= _bins(names, in_shared)
    in_full = specialised(_in_full, "in_full", at_tile=specialised(_at_tile, "at_tile", sit=full, **names), **names)
    at_tile = specialised(_at_tile, "at_tile", sit=short, **names)
    passed = specialised(_pass, "pass", at_tile=at_tile, in_full=in_full, **names)
    refereed = specialised(_referee, "referee", **names)
    rounds = specialised(_rounds, "rounds", passed=passed, refereed=refereed, **names)
    squares = specialised(_squares, "squares", **names)
    target = Target(rules.meanings())
    fast = precision == "float32"
    return target.entry(rounds, registers, fastmath=fast), target.entry(squares, registers)


def _int32() -> Any:
    if SIMULATED:
        return np.dtype(np.int32)
    from numba.cuda import types

    return types.int32


# --- where things lie

at_words = unbound
SIZE = 8


@kernel
def _from(address: int, start: int) -> Any:
    return at_words(address + SIZE * start)


@kernel
def _simulated_lane(array: Array, start: int) -> Array:
    return array[start::LANES]


@kernel
def _simulated_from(array: Array, start: int) -> Array:
    return array[start:]


@kernel
def _simulated_numbered(array: Array, number: int, length: int) -> Array:
    return array[number * length :]


def _places(precision: str) -> dict[str, Any]:
    """How a thread finds words in what a launch is given: addresses, or arrays in the simulator."""
    if SIMULATED:
        return {
            "program_of": _simulated_numbered,
            "own_of": _simulated_numbered,
            "many_of": _simulated_lane,
            "desks_of": _simulated_lane,
            "one_of": _simulated_from,
            "spec_of": places.simulated_alone,
        }
    from hlmc.device.pointers import run_at

    size = np.dtype(precision).itemsize
    fixed = run_at("float64", 1, constant=True)
    own = run_at(precision, 1, constant=True)
    return {
        "program_of": specialised(places.in_list, "program_of", at_words=fixed),
        "own_of": specialised(places.in_list, "own_of", at_words=own, SIZE=size),
        "many_of": specialised(_from, "many_of", at_words=run_at("float64", LANES)),
        "desks_of": specialised(_from, "desks_of", at_words=run_at(precision, LANES), SIZE=size),
        "one_of": specialised(_from, "one_of", at_words=run_at("float64", 1)),
        "spec_of": specialised(places.alone, "spec_of", at_words=fixed),
    }
