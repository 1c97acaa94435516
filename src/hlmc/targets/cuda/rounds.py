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

from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.device import places
from hlmc.device.grid import together
from hlmc.device.rules import Rules
from hlmc.device.seats import HAND, Seat, nobody, seated, turns
from hlmc.device.target import SIMULATED, Target
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.engine.layout import FOREVER, UNTIL
from hlmc.engine.primitives import apart, offset
from hlmc.games import board as layout
from hlmc.games.board import add_up, appraise, call_observe, price, tally
from hlmc.kernels.step import overdue

Array = np.ndarray

LANES = 4 if SIMULATED else 256
"""Agents in a tile, and threads in a block."""

COPIES = 1 if SIMULATED else 8
"""Places in which the blocks of a run count, so that they need not queue for one."""

LIVE, SEAT, GROUP, ROW_AT, DESK_AT = range(5)
TILE = 5
"""What is known of a tile: how many agents it has, their kind and group, where their words begin."""

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
    full: Callable[..., Any] = nobody
    short: Callable[..., Any] = nobody
    for which in reversed(range(len(seats))):
        turn, short_turn, disorder = turns(seats[which], precision)
        full = specialised(seated, f"full_{which}", WHICH=which, first=turn, disorder=overdue, rest=full)
        short = specialised(seated, f"short_{which}", WHICH=which, first=short_turn, disorder=disorder, rest=short)
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
