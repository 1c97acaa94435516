"""Runs of one policy side by side: the loop over the steps for many rows at once.

:func:`run_many` does for several rows what :func:`hlmc.engine.step.run` does for one, and leaves the same bits behind.
The learners of one policy share their clock, so they begin and end runs of the last level together. In between,
:data:`LANES` or :data:`TWICE` of them are copied into a *block* in which their words are interleaved, take their
steps together (:mod:`hlmc.targets.native.wide`), and are copied back. What begins and ends a run of the last
level is done row by row, as always.

The lanes of a block have equally many slots, so that all loops over slots are the same for all: at every restart,
blocks are put together anew. Since a lane gets the bits that it would get alone, it does not matter with whom.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlmc.engine.hooks import LoopHooks, StoreHooks
from hlmc.engine.kernel import Address, indirect, kernel, record
from hlmc.engine.layout import (
    AT,
    BEGAN,
    CHANCE,
    CHILD,
    CHILDREN,
    CONTROL,
    COUNT,
    FIELDS,
    KEY,
    PROBABILITY,
    RECORD,
    SCALARS,
    SUM,
    TIME,
    UNTIL,
)
from hlmc.engine.linker import Kernel, constant, substitute
from hlmc.engine.primitives import call_arm_of, call_begin, call_end, call_reward, int_at, offset, row_of, words
from hlmc.engine.routines import RoutineKernels
from hlmc.engine.step import last_level, stretch
from hlmc.engine.structures.base import LEAST_PROBABILITY
from hlmc.engine.weights import SCAN
from hlmc.targets.native.cache import identity
from hlmc.targets.native.compiler import callback, entry, written
from hlmc.targets.native.program import address_of, linked
from hlmc.targets.native.refused import NotWide

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary
    from hlmc.policies.base import Policy

Array = np.ndarray

LANES = 8
"""Learners of a block: as many float64 as the widest registers of today's processors hold. Narrower ones take two."""

TWICE = 2 * LANES
"""Learners of a block whose last level has exponential weights. A step of theirs is mostly a chain of operations that
wait for one another, so two vectors take little longer than one. FTRL has enough to do in between, and too many numbers
at a time for the registers."""


_A, _B, _TOTAL, _SLOT, _CHANCE, _CHOSEN, _BLOCK = range(7)
# The words of the scratch memory, as many of each as lanes: what a stretch takes and gives, which run is in which
# lane, then the block's rows, then its arms.

_ABOVE, _BEFORE, _EARNED, _NOTED, _WAITING = range(5)
_STATE = 5
# What is kept of a run while the loop runs: the probability of the choices above the last level; what was earned before
# the last restart, and in all; the restart that its table of arms is about; 1 if its steps are still to be taken.

_MOST = 2**63 - 1
_FEW = 32
_PAST = 8  # words that a kernel may look at, and not use, past its last slot

STRETCH = ("int64", *["words"] * 4, "int64", "words", *["int64"] * 3)
REWARDS = ("int64", "words", "int64", "int64", "int64", "words")


@indirect(*STRETCH)
def call_stretch(
    address: int,
    program: Array,
    block: Array,
    arms: Array,
    numbers: Array,
    rewards_at: Address,
    spec: Array,
    level: int,
    t: int,
    pause: int,
) -> int:
    """:func:`hlmc.engine.step.stretch` on all lanes of a block; the time then, or -(t + 1)."""
    raise NotImplementedError


# --- The loop


@record
class Together(NamedTuple):
    """Runs that are played together, and memory for it, which holds nothing between two calls."""

    lanes: int
    """How many learners a block has: as many as the stretch was compiled for."""
    rows_at: Address
    """Rows of ``width`` words, at the same time."""
    runs: int
    """How many."""
    width: int
    """The words of a row."""
    slots: int
    """For structures whose slots are no neighbouring arms, the most slots; otherwise 0."""
    run_state: Array
    """``runs * 5`` words."""
    tables: Array
    """``runs * slots`` words."""
    scratch: Array
    """What a block takes: :meth:`SideBySide.start` has its size."""


@kernel
def _fill_block(together: Together, run: int) -> int:
    """Copy the rows of a run and of up to ``lanes - 1`` later ones like it into the block; how many.

    They wait no longer. The lanes that are left over repeat the first.
    """
    lanes, width, slots = together.lanes, together.width, together.slots
    run_state, scratch = together.run_state, together.scratch
    first = words(row_of(together.rows_at, run, width))
    count = 0
    for other in range(run, together.runs):
        if run_state[_STATE * other + _WAITING] == 1.0 and count < lanes:
            row = words(row_of(together.rows_at, other, width))
            if row[COUNT] == first[COUNT] and row[RECORD] == first[RECORD] and row[BEGAN] == first[BEGAN]:
                run_state[_STATE * other + _WAITING] = 0.0
                scratch[lanes * _CHOSEN + count] = other
                count += 1
    block = offset(scratch, lanes * _BLOCK)
    arms = offset(scratch, lanes * (_BLOCK + width))
    for lane in range(lanes):
        which = int(scratch[lanes * _CHOSEN + lane]) if lane < count else run
        row = words(row_of(together.rows_at, which, width))
        for j in range(width):
            block[j * lanes + lane] = row[j]
        if slots > 0:
            for j in range(int(first[COUNT])):
                arms[j * lanes + lane] = together.tables[which * slots + j]
    return count


@kernel
def _play_block(
    program: Array, together: Together, run: int, t: int, pause: int, stretch_at: Address, rewards_at: Address,
    spec: Array,
) -> int:  # fmt: skip
    """Take the steps from t to ``pause`` of a run and of others like it; 0, or -(t + 1)."""
    lanes, width = together.lanes, together.width
    run_state, scratch = together.run_state, together.scratch
    filled = _fill_block(together, run)
    first = words(row_of(together.rows_at, run, width))
    level = int(first[RECORD])
    control = int(program[level + CONTROL])
    at = int(program[level + AT])
    n = int(first[COUNT])
    block = offset(scratch, lanes * _BLOCK)
    arms = offset(scratch, lanes * (_BLOCK + width))
    for lane in range(lanes):
        scratch[lanes * _A + lane] = block[(control + SCALARS) * lanes + lane]
        scratch[lanes * _B + lane] = block[(control + SCALARS + 1) * lanes + lane]
        scratch[lanes * _TOTAL + lane] = block[(control + SUM) * lanes + lane]
    status = call_stretch(stretch_at, program, block, arms, scratch, rewards_at, spec, level, t, pause)
    if status < 0:
        return status
    for lane in range(filled):
        which = int(scratch[lanes * _CHOSEN + lane])
        row = words(row_of(together.rows_at, which, width))
        for j in range(at, width):
            row[j] = block[j * lanes + lane]
        chance = scratch[lanes * _CHANCE + lane]
        row[control + SCALARS] = scratch[lanes * _A + lane]
        row[control + SCALARS + 1] = scratch[lanes * _B + lane]
        row[control + SUM] = scratch[lanes * _TOTAL + lane]
        if n > 1:
            row[control + CHILD] = scratch[lanes * _SLOT + lane]
            row[control + CHANCE] = chance
        above = 1.0 if pause - t > 1 else run_state[_STATE * which + _ABOVE]
        row[PROBABILITY] = max(min(above * chance, 1.0), LEAST_PROBABILITY)
        row[TIME] = pause
        run_state[_STATE * which + _EARNED] = run_state[_STATE * which + _BEFORE] + scratch[lanes * _TOTAL + lane]
    return 0


@kernel
def run_many(
    program_at: Address, together_at: Address, stretch_at: Address, rewards_at: Address, spec_at: Address,
    stops_at: Address, sums_at: Address, count: int,
) -> int:  # fmt: skip
    """Play all runs until each of the times ``stops[:count]`` and note the rewards so far of each.

    Parameters
    ----------
    program_at
        Address of the program.
    together_at
        Address of an array of whole numbers: the fields of :class:`Together`, addresses for runs of words.
    stretch_at, rewards_at
        Address of the compiled stretch (:func:`wide_stretch`) and of a pair of addresses: the adversary's rewards of a
        block (:func:`wide_rewards`), and its function.
    spec_at
        Address of the adversary's numbers.
    stops_at, count
        ``count`` increasing times, none before the rows' time and none past the horizon.
    sums_at
        ``count + 1`` words per run, as :func:`hlmc.engine.step.run` has them.

    Returns
    -------
    0, or -(t + 1) if the adversary paid something outside [0, 1] at time t to some run. The rows are then of no use.
    """
    program = words(program_at)
    spec = words(spec_at)
    lanes, rows_at = int_at(together_at, 0), int_at(together_at, 1)
    runs, width, slots = int_at(together_at, 2), int_at(together_at, 3), int_at(together_at, 4)
    run_state, tables = words(int_at(together_at, 5)), words(int_at(together_at, 6))
    together = Together(lanes, rows_at, runs, width, slots, run_state, tables, words(int_at(together_at, 7)))
    stops = words(stops_at)
    sums = words(sums_at)
    t = int(words(row_of(rows_at, 0, width))[TIME])
    for run in range(runs):
        run_state[_STATE * run + _BEFORE] = sums[run * (count + 1) + count]
        run_state[_STATE * run + _EARNED] = sums[run * (count + 1) + count]
        run_state[_STATE * run + _NOTED] = -1.0
    for point in range(count):
        stop = int(stops[point])
        while t < stop:
            pause = stop
            for run in range(runs):
                row = words(row_of(rows_at, run, width))
                run_state[_STATE * run + _ABOVE] = call_begin(program, row, t) if t == int(row[UNTIL]) else 1.0
                run_state[_STATE * run + _WAITING] = 1.0
                pause = min(pause, int(row[UNTIL]))
                if slots > 0 and run_state[_STATE * run + _NOTED] != row[BEGAN]:
                    run_state[_STATE * run + _NOTED] = row[BEGAN]
                    for slot in range(int(row[COUNT])):
                        tables[run * slots + slot] = call_arm_of(program, row, slot)
            for run in range(runs):
                if run_state[_STATE * run + _WAITING] == 1.0:
                    status = _play_block(program, together, run, t, pause, stretch_at, rewards_at, spec)
                    if status < 0:
                        return status
            t = pause
            for run in range(runs):
                row = words(row_of(rows_at, run, width))
                if t == int(row[UNTIL]):
                    call_end(program, row, t)
                    run_state[_STATE * run + _BEFORE] = run_state[_STATE * run + _EARNED]
        for run in range(runs):
            sums[run * (count + 1) + point] = run_state[_STATE * run + _EARNED]
    for run in range(runs):
        sums[run * (count + 1) + count] = run_state[_STATE * run + _BEFORE]
    return 0


# --- Hooks of the stretch


@kernel
def _contiguous(program: Array) -> bool:
    """``contiguous`` for structures whose slots are neighbouring arms."""
    return True


@kernel
def _scattered(program: Array) -> bool:
    """``contiguous`` for the other structures."""
    return False


@kernel
def _arm_in_table(program: Array, row: Array, notes: Array, slot: int) -> int:
    """``slot_arm`` of a table that is complete."""
    return int(notes[slot])


@kernel
def lane_count() -> int:
    """Learners of a block, where the rewards of a block are asked for one by one."""
    return LANES


@kernel
def rewards_one_by_one(spec: Array, reward_at: Address, t: int, arms: Address, paid: Array) -> int:
    """The rewards of a block's arms from the adversary's function; 0."""
    for lane in range(lane_count()):
        paid[lane] = call_reward(reward_at, spec, t, int_at(arms, lane))
    return 0


# --- Putting it together


@cache
def _stretch_kernel(routine: RoutineKernels, neighbours: bool) -> Kernel:
    # Where there are so few weights that they are scanned, the kernels need not ask.
    scanned = StoreHooks(scan_limit=constant(_MOST))
    chosen = {hook.__name__: scanned.into(function) for hook, function in last_level(routine, memory=False).items()}
    hooks = LoopHooks(**chosen, contiguous=_contiguous if neighbours else _scattered, slot_arm=_arm_in_table)
    return hooks.into(stretch)


@cache
def _compiled_stretch(function: Kernel, lanes: int) -> Any:
    # Imported where something is compiled: it brings LLVM along, for which `import hlmc` need not wait.
    from hlmc.targets.native.wide import BITS, INT, REAL, RUN, Value, Writer, integer

    def write(writer: Writer, arguments: list[Any]) -> Any:
        program, block, arms, numbers, rewards_at, spec, level, t, pause = arguments
        shared, row = Value(RUN, program), Value(RUN, block, True)
        scratch = Value(RUN, numbers, True)
        a, b, total = (writer.load(scratch, integer(k)) for k in (_A, _B, _TOTAL))
        key, rewards = writer.load(row, integer(KEY), BITS), Value(INT, rewards_at)
        run = (shared, row, Value(RUN, arms, True), key, rewards, Value(RUN, spec), integer(0))
        at = Value(INT, writer.builder.add(level, integer(AT).ir))
        place = writer.converted(writer.load(shared, at), INT)
        count = writer.converted(writer.lane(writer.load(row, integer(COUNT)), 0), INT)  # all lanes have as many slots
        last = (shared, Value(INT, level), row, place, count)
        results = writer.call(function, [*run, *last, Value(INT, t), Value(INT, pause), a, b, total])
        for k, value in zip((_SLOT, _CHANCE, _A, _B, _TOTAL), results[1:], strict=True):
            writer.store(scratch, integer(k), writer.converted(value, REAL))
        return results[0].ir

    return written(function, STRETCH, write, lanes)


@cache
def _compiled_rewards(rule: Kernel, lanes: int) -> Any:
    from hlmc.targets.native.wide import INT, REAL, RUN, Value, Writer, integer

    def write(writer: Writer, arguments: list[Any]) -> Any:
        spec, _, t, arms, paid = arguments
        held = Value(RUN, writer.builder.inttoptr(arms, paid.type), True)
        arm = writer.load(held, integer(0), INT)
        reward = writer.call(rule, [Value(RUN, spec), Value(INT, t), arm])
        writer.store(Value(RUN, paid, True), integer(0), writer.converted(reward, REAL))
        return integer(0).ir

    if identity(rule) is not None:
        try:
            return written(rule, REWARDS, write, lanes)
        except NotWide:
            pass
    return callback(substitute(rewards_one_by_one, {lane_count: constant(lanes)}), REWARDS)


class SideBySide:
    """Runs of one policy against one adversary, side by side.

    Parameters
    ----------
    policy, adversary
        What :func:`side_by_side` was asked for.
    lanes, stretch
        How many learners a block has, and the stretch of the policy compiled for as many.
    """

    def __init__(self, policy: Policy, adversary: Adversary, lanes: int, stretch: Any) -> None:
        self._program = linked(policy)
        self._lanes = lanes
        self._adversary = adversary
        self._stretch = stretch
        self._rewards = _compiled_rewards(adversary.rule, lanes)
        self._functions = np.array([self._rewards.address, adversary.address], dtype=np.int64)
        self._slots = 0 if policy.structure.contiguous else _most_slots(policy)
        self._loop = entry(run_many, "int64", *["int64"] * 8, release=True)

    def start(self, rows: Array) -> Callable[[Array, Array], int]:
        """``play(stops, sums)`` for rows [run, word]: :func:`run_many` with the memory that it needs.

        ``stops`` are ``count`` times, ``sums`` an array [run, count + 1]; both float64.
        """
        runs, width = rows.shape
        run_state = np.empty(runs * _STATE)
        tables = np.empty(max(1, runs * self._slots))
        # A row's words, the arms of its slots, and as many more as a kernel may look at past the last slot.
        scratch = _aligned(self._lanes * (_BLOCK + width + self._slots + _PAST))
        rule = [self._stretch.address, address_of(self._functions), address_of(self._adversary.spec)]
        memory = [address_of(run_state), address_of(tables), address_of(scratch)]
        together = np.array([self._lanes, address_of(rows), runs, width, self._slots, *memory], dtype=np.int64)
        who = [self._program.address, address_of(together), *rule]

        def play(stops: Array, sums: Array) -> int:
            return int(self._loop(*who, address_of(stops), address_of(sums), len(stops)))

        play.memory = run_state, tables, scratch, rows, together  # type: ignore[attr-defined]  # whose addresses are used
        return play


def _aligned(words: int) -> Array:
    """Uninitialised words that begin at a cache line, as do vectors in them."""
    memory = np.zeros(words + LANES)
    return memory[-(address_of(memory) // 8) % LANES :]


def _most_slots(policy: Policy) -> int:
    return int(policy.program.reshape(-1, FIELDS)[1:, CHILDREN].max()) + policy.structure.extra_slots


def side_by_side(policy: Policy, adversary: Adversary, runs: int) -> SideBySide | None:
    """The loop over so many runs of a policy at once, compiled; None where they are better played one by one.

    That is so for more weights than are scanned, for the routines of others, whose kernels need not keep to the
    dialect, for kernels that cannot be written on lanes, and for many slots with a routine that takes notes: there is
    no room for notes here, and with many slots they save more than lanes do. UCB1's rule for ties cannot be written on
    lanes; rewritten, it took 1.5 to 2.8 times the time per run of UCB-M one by one with notes (K = 100, M = 20).
    """
    last = policy.routines_used[-1]
    kernels = last.kernels
    if last.opaque or (kernels.noted is not None and kernels.noted.per_slot > 0 and _most_slots(policy) > _FEW):
        return None
    if identity(kernels.select) is None or identity(kernels.update) is None:
        return None
    if last.weights != "none" and _most_slots(policy) > SCAN:
        return None
    lanes = TWICE if last.weights != "none" and runs > LANES else LANES
    steps = _stretch_kernel(kernels, policy.structure.contiguous)
    try:
        stretched = _compiled_stretch(steps, lanes)
    except NotWide:
        return None
    return SideBySide(policy, adversary, lanes, stretched)
