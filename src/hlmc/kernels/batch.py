"""Many learners at a time: loops over the rows of a fleet, and the check of rows that come from outside.

The loops call the very step functions that a single learner calls. A batch is first looked through and then played,
so that one that must be refused has changed nothing. Rows lie far apart in memory: the next ones are fetched while one
is played.

Select and update trust a row: some of its words say where in the row or in the program to go on. :func:`sound` tells
whether those words are what they must be at the row's time, so that no file can lead the step functions astray.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlmc.kernels.build import kernel, native
from hlmc.kernels.layout import (
    ARM,
    ARMS,
    AT,
    BASE,
    BEGAN,
    CARRIED,
    CHAMPION,
    CHILD,
    CHILDREN,
    CONTROL,
    COUNT,
    CROWN,
    CROWNED,
    DOUBT,
    FIELDS,
    FOREVER,
    HORIZON,
    KIND,
    LENGTH,
    LEVEL_CONTROL,
    LEVELS,
    MEMORY,
    PAID,
    PLACE,
    PROBABILITY,
    RECORD,
    ROUNDS,
    SIZE,
    STRUCTURE,
    SUBLENGTH,
    SUBPHASES,
    TIME,
    TREE,
    TURN,
    UNTIL,
    WORDS,
)
from hlmc.kernels.native import floor_log2, words
from hlmc.kernels.step import arm_of, select, update
from hlmc.kernels.tree import stage_of
from hlmc.routines import CATALOGUE, Custom

Array = np.ndarray

AHEAD = 16
"""How many learners ahead rows are fetched."""
FETCHED = 8
"""The most cache lines of a row that are fetched ahead."""
LINE = 64

_CUSTOM = CATALOGUE.index(Custom)


def _native_row_of() -> Any:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def row_of(typingctx: Any, rows_at: Any, i: Any, width: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            size = context.get_constant(types.int64, 8)
            return builder.add(args[0], builder.mul(size, builder.mul(args[1], args[2])))

        return types.int64(types.int64, types.int64, types.int64), generate

    return row_of


def _native_fetch() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def fetch(typingctx: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flag = ir.IntType(32)
            pointer = ir.IntType(8).as_pointer()
            signature = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], signature)
            # For reading, into the second-level cache (the first has too few places for lines on their way), data.
            builder.call(prefetch, [builder.inttoptr(args[0], pointer), flag(0), flag(2), flag(1)])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return fetch


def _native_whole_at() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def whole_at(typingctx: Any, run: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(builder.gep(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), [args[1]]))

        return types.int64(types.int64, types.int64), generate

    return whole_at


def _native_put_whole() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def put_whole(typingctx: Any, run: Any, k: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(builder.inttoptr(args[0], ir.IntType(64).as_pointer()), [args[1]])
            builder.store(args[2], place)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return put_whole


@native(_native_row_of)
def row_of(rows_at: Any, i: int, width: int) -> Any:
    """The address of row i."""
    return rows_at[i]


@native(_native_fetch)
def fetch(at: Any) -> None:
    """Ask for the cache line at an address (a hint; never a fault)."""


@native(_native_whole_at)
def whole_at(run: Any, k: int) -> int:
    """Number k of a run of 64-bit integers."""
    return int(run[k])


@native(_native_put_whole)
def put_whole(run: Any, k: int, value: int) -> None:
    """Set number k of a run of 64-bit integers."""
    run[k] = value


@native(_native_row_of)
def _line_of(row_at: Any, line: int, width: int) -> Any:
    return row_at


@kernel
def _learner(ids_at: Any, listed: int, k: int) -> int:
    """The learner in place k of a batch: as listed, or, when everyone is asked, k itself."""
    return whole_at(ids_at, k) if listed else k


@kernel
def _fetch_row(rows_at: Any, width: int, i: int, lines: int) -> None:
    at = row_of(rows_at, i, width)
    for line in range(lines):
        fetch(_line_of(at, line, LINE // 8))


@kernel
def _lines(width: int) -> int:
    return min((8 * width + LINE - 1) // LINE + 1, FETCHED)


@kernel
def first_refused(ids_at: Any, count: int, size: int, marks_at: Any) -> int:
    """The first place in the list with a learner that is not there or comes a second time; ``count`` if there is none.

    ``marks`` is all zeros and stays so: 32 learners a word.
    """
    k = 0
    while k < count:
        i = whole_at(ids_at, k)
        if i < 0 or i >= size:
            break
        mark = whole_at(marks_at, i >> 5)
        bit = 1 << (i & 31)
        if mark & bit:
            break
        put_whole(marks_at, i >> 5, mark | bit)
        k += 1
    for j in range(k):
        put_whole(marks_at, whole_at(ids_at, j) >> 5, 0)
    return k


@kernel
def first_unselectable(
    program_at: Any, rows_at: Any, width: int, ids_at: Any, listed: int, first: int, stop: int
) -> int:
    """The first place at which a learner has reached the horizon; ``stop`` when there is none."""
    horizon = words(program_at)[HORIZON]
    for k in range(first, stop):
        if k + AHEAD < stop:
            _fetch_row(rows_at, width, _learner(ids_at, listed, k + AHEAD), 1)
        row = words(row_of(rows_at, _learner(ids_at, listed, k), width))
        if row[ARM] < 0.0 and row[TIME] >= horizon:
            return k
    return stop


@kernel
def first_unteachable(
    rows_at: Any, width: int, ids_at: Any, listed: int, first: int, stop: int, rewards_at: Any
) -> int:
    """The first place at which nothing was selected or the reward is not in [0, 1]; ``stop`` when there is none."""
    rewards = words(rewards_at)
    for k in range(first, stop):
        if k + AHEAD < stop:
            _fetch_row(rows_at, width, _learner(ids_at, listed, k + AHEAD), 1)
        row = words(row_of(rows_at, _learner(ids_at, listed, k), width))
        if row[ARM] < 0.0 or not (0.0 <= rewards[k] <= 1.0):
            return k
    return stop


@kernel
def select_many(
    program_at: Any, rows_at: Any, width: int, ids_at: Any, listed: int, first: int, stop: int, arms_at: Any
) -> int:
    """Select for the learners in places first .. stop - 1 of a batch."""
    lines = _lines(width)
    for k in range(first, stop):
        if k + AHEAD < stop:
            _fetch_row(rows_at, width, _learner(ids_at, listed, k + AHEAD), lines)
        i = _learner(ids_at, listed, k)
        put_whole(arms_at, k, select(program_at, row_of(rows_at, i, width)))
    return stop


@kernel
def update_many(
    program_at: Any, rows_at: Any, width: int, ids_at: Any, listed: int, first: int, stop: int, rewards_at: Any
) -> int:
    """Teach the learners in places first .. stop - 1 of a batch."""
    rewards = words(rewards_at)
    lines = _lines(width)
    for k in range(first, stop):
        if k + AHEAD < stop:
            _fetch_row(rows_at, width, _learner(ids_at, listed, k + AHEAD), lines)
        i = _learner(ids_at, listed, k)
        update(program_at, row_of(rows_at, i, width), rewards[k])
    return stop


@kernel
def first_unsound(program_at: Any, rows_at: Any, width: int, first: int, stop: int) -> int:
    """The first row that no learner of this program can have; ``stop`` when there is none."""
    program = words(program_at)
    for i in range(first, stop):
        if not sound(program, words(row_of(rows_at, i, width))):
            return i
    return stop


@kernel
def _whole_within(x: float, least: int, most: int) -> bool:
    return x >= least and x <= most and float(int(x)) == x


@kernel
def _finite(row: Array, first: int, stop: int) -> bool:
    # Of a number that is not finite, the difference with itself is not a number.
    total = 0.0
    for j in range(first, stop):
        total += row[j] - row[j]
    return total == 0.0


@kernel
def sound(program: Array, row: Array) -> bool:
    """Whether a row's clock and the words that lead somewhere are what they can be, and its numbers finite."""
    horizon = int(program[HORIZON])
    arms = int(program[ARMS])
    if not (_whole_within(row[TIME], 0, horizon) and _whole_within(row[UNTIL], 0, 2 * horizon)):
        return False
    if not (_whole_within(row[ARM], -1, arms - 1) and _finite(row, PROBABILITY, PROBABILITY + 1)):
        return False
    t = int(row[TIME])
    waiting = row[ARM] >= 0.0
    if int(row[UNTIL]) == 0:
        # A learner that has yet to choose holds nothing but its key, no arm, and probability 1.
        blank = t == 0 and not waiting and row[PROBABILITY] == 1.0
        for j in range(PROBABILITY + 1, int(program[WORDS])):
            blank = blank and row[j] == 0.0
        return blank
    # The last step for which the routine over the arms was, or is being, run.
    step = t if int(row[UNTIL]) > t else t - 1
    if step < 0 or step >= horizon or (waiting and step != t):
        return False
    if program[STRUCTURE] == ROUNDS:
        if not _sound_rounds(program, row, step):
            return False
    elif not _sound_tree(program, row, step, int(row[UNTIL]) > t):
        return False
    if not waiting:
        return True
    slot = 0
    if int(row[COUNT]) > 1:
        level = int(row[RECORD])
        slot = int(row[int(program[level + CONTROL]) + CHILD])
        if slot >= int(row[COUNT]):
            return False
    return int(row[ARM]) == arm_of(program, row, slot)


@kernel
def _sound_level(program: Array, row: Array, level: int, words_end: int) -> bool:
    """A level's control words and, unless they are a user's own, its statistics."""
    control = int(program[level + CONTROL])
    if not _finite(row, control, control + LEVEL_CONTROL):
        return False
    if int(program[level + KIND]) == _CUSTOM:
        return True
    return _finite(row, int(program[level + AT]), words_end)


@kernel
def _sound_tree(program: Array, row: Array, step: int, running: bool) -> bool:
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, step)
    local = step - origin
    crowned = program[STRUCTURE] == CROWNED
    if crowned and not (_whole_within(row[CROWN], 0, int(program[ARMS]) - 1) and _finite(row, PAID, PAID + 1)):
        return False
    base = 0
    count = int(program[ARMS])
    began = 0
    until = length
    level = FIELDS * (1 + stage * levels)
    for d in range(levels):
        last = d == levels - 1
        end = int(program[WORDS]) if last else int(program[level + FIELDS + AT])
        if not _sound_level(program, row, level, end):
            return False
        child = row[int(program[level + CONTROL]) + CHILD]
        size = int(program[level + SIZE])
        if last:
            # A choice of the last level can be older than its group, which may be smaller; a champion is one more.
            more = 1 if program[STRUCTURE] == CHAMPION else 0
            if not _whole_within(child, 0, int(program[level + CHILDREN]) - 1 + more):
                return False
        else:
            stands = int(program[level + LENGTH])
            groups = (count + size - 1) // size
            # The crown is one more child of the top level, the last.
            if not _whole_within(child, 0, groups if crowned and d == 0 else groups - 1):
                return False
            if int(child) == groups:
                base = int(row[CROWN])
                count = 1
            else:
                base += int(child) * size
                count = min(size, count - int(child) * size)
            began = max(began, local // stands * stands)
            until = min(until, (local // stands + 1) * stands)
            level += FIELDS
    if program[STRUCTURE] == CHAMPION:
        if not (_whole_within(row[PLACE], 0, int(program[ARMS]) - 1) and _finite(row, DOUBT, PLACE)):
            return False
        if not _whole_within(row[TURN], 0, FOREVER):
            return False
        # Slot 0 is the champion's. It is one more, unless it is of the group; when an epoch ends it may be another.
        if not (base <= row[PLACE] < base + count) or (not running and row[COUNT] == count + 1):
            count += 1
    elif program[STRUCTURE] != TREE and not crowned:
        return False
    return bool(
        row[RECORD] == level
        and row[BASE] == base
        and row[COUNT] == count
        and row[BEGAN] == origin + began
        and row[UNTIL] == origin + until
    )


@kernel
def _sound_rounds(program: Array, row: Array, step: int) -> bool:
    arms = int(program[ARMS])
    unit = int(program[SUBLENGTH])
    phase = floor_log2(step // (int(program[SUBPHASES]) * unit) + 1)
    length = unit << phase
    origin = int(program[SUBPHASES]) * (length - unit)
    began = origin + (step - origin) // length * length
    record = FIELDS * (1 + phase)
    control = int(program[record + CONTROL])
    return bool(
        row[RECORD] == record
        and row[BEGAN] == began
        and row[UNTIL] == min(began + length, int(program[HORIZON]))
        and _whole_within(row[COUNT], 1, int(program[MEMORY]))
        and _whole_within(row[BASE], 0, arms)
        and _whole_within(row[CARRIED], -1, arms - 1)
        and _whole_within(row[control + CHILD], 0, int(program[MEMORY]) - 1)
        and _sound_level(program, row, record, int(program[WORDS]))
    )
