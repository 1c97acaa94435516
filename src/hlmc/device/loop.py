"""The loop over the steps, built for a device: one learner a thread.

Between two restarts of the last level's routine a thread works on its *desk*, the statistics of that level in the
block's shared memory and in the precision asked for. Everything else, the clocks and the levels above, stays in its
row, in double precision and in the layout that the processor uses; it is touched once an epoch. Desks are kept as they
are from one launch to the next, so that nothing depends on how a run is cut, if at multiples of :data:`WHILE`.

Rows lie in memory as [block of threads, word, thread], so that neighbours read and write side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.device.target import SIMULATED, Target, retold
from hlmc.kernels import native, weights
from hlmc.kernels.build import kernel, leads_to, specialised, unbound
from hlmc.kernels.calls import routine_calls
from hlmc.kernels.layout import (
    AT,
    BEGAN,
    BEGIN_AT,
    CHAMPION,
    CHILDREN,
    COUNT,
    CROWNED,
    END_AT,
    FIELDS,
    FOREVER,
    LEVELS,
    SELECT_AT,
    SPAN,
    START_AT,
    STRUCTURE,
    TREE,
    UNTIL,
    UPDATE_AT,
    WORDS,
)
from hlmc.kernels.native import apart
from hlmc.kernels.step import STRUCTURES, looped
from hlmc.kernels.step import overdue as overdue_never
from hlmc.kernels.weights import pieces_end, pieces_start
from hlmc.policies.base import Policy
from hlmc.routines import Custom
from hlmc.routines.base import Kernels
from hlmc.routines.exp3s import exp3s_update

Array = np.ndarray

BLOCK = 4 if SIMULATED else 128
"""Threads in a block; the simulator makes a thread of the operating system of each."""

WHILE = 256
"""Where a run is cut makes no difference if it is at a multiple of so many steps, itself a multiple of all strides."""

RARELY = 1000
"""Steps between two restarts from which on it pays to write out several one after the other."""

# --- what the loop's names mean on a device

PLACE = 0  # where on the desk the statistics begin
arrange = rearrange = lay_out = clear_away = overdue = unbound


@kernel
def lay_on_desk(program: Array, row: Array, at: int, desk: Array) -> None:
    """Lay the statistics of the last level on the desk."""
    for j in range(int(program[WORDS]) - at):
        desk[PLACE + j] = row[at + j]
    arrange(desk, PLACE, int(row[COUNT]))


@kernel
def left_lying(desk: Array, at: int, n: int) -> None:
    pass


@kernel
def bring_back(program: Array, row: Array, at: int, desk: Array, a: float) -> float:
    """Bring them back into the row; the routine's first scalar as it is then."""
    a = rearrange(desk, PLACE, int(row[COUNT]), a)
    for j in range(int(program[WORDS]) - at):
        row[at + j] = desk[PLACE + j]
    return a


@kernel
def forget(program: Array, row: Array, at: int, desk: Array, a: float) -> float:
    """Where a run of the routine has ended and nobody asks for what it knew."""
    return a


@kernel
def left_as_they_lay(desk: Array, at: int, n: int, a: float) -> float:
    return a


@kernel
def _take_up(program: Array, row: Array, at: int, desk: Array, t: int) -> int:
    if t == int(row[BEGAN]):
        lay_out(program, row, at, desk)
    return PLACE


@kernel
def _lay_down(program: Array, row: Array, at: int, desk: Array, t: int, a: float) -> float:
    if t == int(row[UNTIL]):
        return clear_away(program, row, at, desk, a)
    if overdue(a):
        n = int(row[COUNT])
        a = rearrange(desk, PLACE, n, a)
        arrange(desk, PLACE, n)
    return a


_S40 = np.uint64(40)
_STEP = np.float32(2.0**-24)


@kernel
def single_unit(bits: np.uint64) -> Any:
    """A number in [0, 1) from the upper 24 bits: as many as a float32 can tell."""
    return np.float32(np.uint32(bits >> _S40)) * _STEP


steps = orderly_steps = in_order = unbound
FULL = STRIDE = 1
AGAIN = FOREVER


@kernel
def _either(
    program: Array,
    own: Array,
    row: Array,
    desk: Array,
    reward_at: Any,
    spec: Array,
    key: np.uint64,
    state: int,
    level: int,
    place: int,
    n: int,
    t: int,
    pause: int,
    a: float,
    b: float,
    total: float,
) -> tuple[int, int, float, float, float, float]:
    """Steps until ``pause``, or for a while.

    Most groups are full: a compiler that knows their size has no loop left over the children. Most desks are in order:
    nothing need be asked of a weight then, and steps are taken in strides. Strides begin at multiples of STRIDE, and
    whether a desk is in order is asked at multiples of AGAIN, which is why a cut there changes nothing. A time point
    elsewhere can leave its trace in last digits.
    """
    apart()
    if n != FULL:
        return steps(program, own, row, desk, reward_at, spec, key, state, level, place, n, t, pause, a, b, total)
    if in_order(desk, place, FULL):
        if t % STRIDE == 0 and pause - t >= STRIDE:
            return orderly_steps(
                program, own, row, desk, reward_at, spec, key, state, level, place, FULL, t, pause, a, b, total
            )
        pause = min(pause, t - t % STRIDE + STRIDE)
    else:
        pause = min(pause, t - t % AGAIN + AGAIN)
    return steps(program, own, row, desk, reward_at, spec, key, state, level, place, FULL, t, pause, a, b, total)


@kernel
def _out_of_order(desk: Array, at: int, n: int) -> bool:
    return False


@kernel
def _always(program: Array) -> bool:
    return True


@kernel
def _never(program: Array) -> bool:
    return False


# --- calls of the routines above the last level: an address is a number in a list

first = rest = unbound
WHICH = 0


@kernel
def _start(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    if which == WHICH:
        first(program, level, row, at, n, control)
    else:
        rest(which, program, level, row, at, n, control)


@kernel
def _step(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    if which == WHICH:
        first(program, level, row, at, n, control, tau, x)
    else:
        rest(which, program, level, row, at, n, control, tau, x)


@kernel
def _nothing_started(which: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    pass


@kernel
def _nothing_done(
    which: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, x: float
) -> None:
    pass


def chained(routines: Sequence[tuple[str, Kernels]]) -> dict[Callable[..., Any], Callable[..., Any]]:
    """What calls through addresses mean when the addresses are places in this list."""
    calls = [routine_calls(f"{name}_{i}", kernels) for i, (name, kernels) in enumerate(routines)]
    meanings: dict[Callable[..., Any], Callable[..., Any]] = {}
    roles: list[tuple[Callable[..., Any], ...]] = [
        (native.call_start, _start, _nothing_started),
        (native.call_select, _step, _nothing_done),
        (native.call_update, _step, _nothing_done),
    ]
    for role, (call, link, chain) in enumerate(roles):
        for which in reversed(range(len(calls))):
            chain = specialised(link, f"{call.__name__}_{which}", WHICH=which, first=calls[which][role], rest=chain)
        meanings[call] = chain
    return meanings


@kernel
def direct_begin(address: int, program: Array, row: Array, t: int) -> float:
    apart()
    return first(program, row, t)


@kernel
def direct_end(address: int, program: Array, row: Array, t: int) -> None:
    apart()
    first(program, row, t)


@kernel
def _reward(address: Any, spec: Array, t: int, arm: int) -> float:
    return first(spec, t, arm)


# --- what is launched

cuda: Any = None
loop = program_of = own_of = row_of = desk_of = kept_desk_of = spec_of = plain_of = unbound
SHARED_DESKS = False


@kernel
def _play(
    programs: Any,
    owns: Any,
    which: Any,
    rows: Any,
    desks: Any,
    spec: Any,
    stops: Any,
    sums: Any,
    kept: Any,
    flag: Any,
    length: int,
    width: int,
    desk_width: int,
    room: int,
    count: int,
) -> None:
    """Every thread takes its learner to the last of the stops.

    ``which`` says of every block which program it runs, and how many of its threads have a learner. Where an adversary
    pays something outside [0, 1] at time t, ``kept`` is left at -(t + 1).
    """
    block = cuda.blockIdx.x
    lane = cuda.threadIdx.x
    if lane < int(plain_of(which)[2 * block + 1]):
        number = int(plain_of(which)[2 * block])
        found = row_of(sums, block, room, lane)
        before = row_of(kept, block, 1, lane)
        found[count] = before[0]
        desk = desk_of(desks, block, desk_width, lane)
        kept_desk = kept_desk_of(desks, block, desk_width, lane)
        if SHARED_DESKS:
            for j in range(desk_width):
                desk[j] = kept_desk[j]
        status = loop(
            program_of(programs, number, length),
            own_of(owns, number, length),
            row_of(rows, block, width, lane),
            desk,
            0,
            spec_of(spec),
            plain_of(stops),
            found,
            count,
        )
        before[0] = found[count]
        if SHARED_DESKS:
            for j in range(desk_width):
                kept_desk[j] = desk[j]
        if status < 0:
            before[0] = float(status)
            plain_of(flag)[0] = 1.0


@dataclass(frozen=True)
class Layout:
    """How a device holds learners: threads in a block, registers of a thread, desks in shared memory or beside it."""

    precision: str
    shared: bool
    registers: int
    block: int = BLOCK


def built(shape: Shape, adversary: Adversary, layout: Layout) -> Any:
    """The function to launch, not yet compiled: that happens at its first launch."""
    from numba import cuda

    precision = layout.precision
    begin, end = STRUCTURES[shape.structure]
    narrowly = without_trees(shape.children)
    meanings = (
        narrowly
        | chained(shape.routines)
        | {
            native.call_begin: specialised(direct_begin, "begin", first=begin),
            native.call_end: specialised(direct_end, "end", first=end),
            native.call_reward: specialised(_reward, "reward", first=adversary.rule),
        }
    )
    _, leaf = shape.last
    pieces = shape.pieces
    arranged, rearranged = (pieces_start, pieces_end) if pieces else (left_lying, left_as_they_lay)
    store = narrowly | in_pieces(shape) | fast_arithmetic(precision, adversary.coins)
    tell = partial(retold, meanings=store, precision=precision)
    names: dict[str, Any] = {"arrange": tell(arranged), "rearrange": tell(rearranged), "PLACE": pieces}
    names["overdue"] = overdue_never
    if pieces:
        names["overdue"] = tell(weights.pieces_overgrown if shape.only_grows else weights.pieces_overdue)
    lay_out = specialised(lay_on_desk, "lay_out", **names)
    clear_away = forget if shape.forgets else specialised(bring_back, "clear_away", **names)
    device: dict[str, Any] = {
        "take_up": specialised(_take_up, "take_up", lay_out=lay_out, PLACE=pieces),
        "lay_down": specialised(_lay_down, "lay_down", clear_away=clear_away, **names),
        "overdue": names["overdue"],
        "in_tree": _always if shape.structure in (TREE, CROWNED) else _never,
    }
    if not SIMULATED:
        device["small"] = _small
        if adversary.arms < 2**31:
            device["numbered"] = _small
    if precision == "float32":
        device |= {"working": single_working, "unit": single_unit}
        if adversary.coins:
            device |= {"opened": _opened, "added": _added, "closed": _closed}
    if adversary.phased is not None:
        outlook, paid = adversary.phased
        device["outlook"] = specialised(_outlook, "outlook", first=outlook)
        device["paid"] = specialised(_paid, "paid", first=paid)
        if precision == "float32":
            device["learned"] = specialised(_learned, "learned", first=retold(paid, {}, precision))
    steps = looped("steps", tell(leaf.select), tell(leaf.update), **device)
    if shape.full > 1:
        stretch = steps.__globals__["stretch"]
        either: dict[str, Any] = {"steps": stretch, "orderly_steps": stretch, "in_order": _out_of_order}
        if pieces and shape.only_grows:
            orderly = tell(leaf.update, meanings=store | {weights.weighs: _any_worth})
            either["orderly_steps"] = specialised(stretch, "orderly_steps", leaf_update=orderly, STRIDE=shape.stride)
            either |= {"in_order": tell(weights.pieces_clean), "STRIDE": shape.stride, "AGAIN": WHILE}
        steps = specialised(steps, "loop", stretch=specialised(_either, "either", FULL=shape.full, **either))
    launched = specialised(_play, "play", loop=steps, cuda=cuda, BLOCK=layout.block, **_places(layout))
    return Target(meanings).entry(launched, layout.registers, fastmath=precision == "float32")


def without_trees(children: int) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Where nobody has more children than the scan is for, machine code for trees of weights is not needed."""
    if children > weights.SCAN:
        return {}
    return {each: specialised(each, each.__name__, SCAN=2**63 - 1) for each in (*weights.EITHER, exp3s_update)}


def in_pieces(shape: Shape) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Weights in pieces, for those who draw by them."""
    if not shape.pieces:
        return {}
    sized = {"PIECE": shape.piece, "PIECE_LOG": shape.piece.bit_length() - 1}
    store: dict[Callable[..., Any], Callable[..., Any]] = {
        weights.mixed_draw: weights.pieces_draw,
        weights.pure_draw: weights.pieces_pure_draw,
        weights.weights_grow: weights.pieces_grow,
        weights.weights_multiply: weights.pieces_multiply,
    }
    return store | {each: specialised(each, each.__name__, **sized) for each in weights.SIZED}


def fast_arithmetic(precision: str, coins: bool = False) -> dict[Callable[..., Any], Any]:
    """Single precision is for speed: quotients and exponentials off by a few units in the last place are welcome.

    ``coins``: all rewards are 0 or 1.
    """
    fast: dict[Callable[..., Any], Any] = {weights.worth_learning: _any_worth}
    if not SIMULATED:
        fast[weights.small] = _small
    if precision == "float32" and not SIMULATED:
        from numba.cuda import libdevice

        fast[weights.divided] = _fast_divided
        fast[weights.exponential] = specialised(_fast_exponential, "exponential", libdevice=libdevice)
        fast[weights.reached] = specialised(_fast_reached, "reached", libdevice=libdevice)
        fast[weights.counted] = single_working
        rewarded = _all_or_nothing if coins else _in_proportion
        fast[weights.growth] = specialised(_fast_growth, "growth", libdevice=libdevice, rewarded=rewarded)
    return fast


@kernel
def _small(x: int) -> Any:
    return np.int32(x)


# A float32 counts coins exactly up to 2^24, and no launch has more steps.

_COIN = np.float32(1.0)


@kernel
def _opened(total: float) -> Any:
    return np.float32(0.0)


@kernel
def _added(earned: Any, reward: float, gain: float) -> Any:
    return earned + _COIN if reward > 0.0 else earned


@kernel
def _closed(total: float, earned: float) -> float:
    return total + earned


@kernel
def _any_worth(gain: float) -> bool:
    return True


@kernel
def _fast_divided(x: float, y: float) -> float:
    return x * (1.0 / y)


libdevice: Any = None


@kernel
def _fast_exponential(x: float) -> float:
    return libdevice.fast_expf(x)


rewarded = unbound
_LOG2_E = np.float32(math.log2(math.e))


@kernel
def _fast_growth(rate: float, reward: float, chance: float) -> float:
    """A power of two, whose exponent is scaled once and for all."""
    return libdevice.exp2f(rewarded(rate * _LOG2_E, reward) * (1.0 / chance))


@kernel
def _in_proportion(rate: float, reward: float) -> float:
    return rate * reward


@kernel
def _all_or_nothing(rate: float, reward: float) -> float:
    return rate if reward > 0.0 else 0.0


_FAR = np.float32(2.0**60)  # sums are below 2^66, numbers below 2^128


@kernel
def _fast_reached(rest: float) -> float:
    """The rest times something very large, cut off at 0 and 1: a fraction only where it is next to nothing."""
    return libdevice.saturatef(rest * _FAR)


@kernel
def _learned(spec: Array, state: int, arm: int, reward: float) -> Any:
    return np.float32(first(spec, state, arm))


@kernel
def single_working(x: float) -> Any:
    return np.float32(x)


@kernel
def _outlook(reward_at: Any, spec: Array, t: int) -> tuple[int, int]:
    return first(spec, t)


@kernel
def _paid(reward_at: Any, spec: Array, state: int, t: int, arm: int) -> float:
    return first(spec, state, arm)


# --- where things lie

at_words = start_of = unbound
SIZE = 8


@kernel
def _in_blocks(address: Any, block: int, width: int, lane: int) -> Array:
    return at_words(address + SIZE * (block * width * BLOCK + lane))


@kernel
def _in_shared(address: Any, block: int, width: int, lane: int) -> Array:
    return at_words(start_of() + SIZE * lane)


@kernel
def in_list(address: Any, number: int, length: int) -> Array:
    return at_words(address + SIZE * number * length)


@kernel
def alone(address: Any) -> Array:
    return at_words(address)


@kernel
def _simulated_in_blocks(array: Array, block: int, width: int, lane: int) -> Array:
    return array[block, :, lane]


@kernel
def _simulated_in_list(array: Array, number: int, length: int) -> Array:
    return array[number]


@kernel
def simulated_alone(array: Array) -> Array:
    return array


def _places(layout: Layout) -> dict[str, Any]:
    """How a thread finds its words in what a launch is given: addresses, or arrays in the simulator."""
    if SIMULATED:
        lists = dict.fromkeys(("program_of", "own_of"), _simulated_in_list)
        blocks = dict.fromkeys(("row_of", "desk_of", "kept_desk_of"), _simulated_in_blocks)
        return lists | blocks | dict.fromkeys(("spec_of", "plain_of"), simulated_alone)
    from hlmc.device.pointers import SHARED, run_at, shared_address

    precision, block = layout.precision, layout.block
    fixed = run_at("float64", 1, constant=True)
    size = np.dtype(precision).itemsize
    own = run_at(precision, 1, constant=True)
    kept = specialised(_in_blocks, "kept_desk_of", at_words=run_at(precision, block), SIZE=size, BLOCK=block)
    desk = kept
    if layout.shared:
        held = run_at(precision, block, SHARED)
        desk = specialised(_in_shared, "desk_of", at_words=held, start_of=shared_address, SIZE=size)
    return {
        "program_of": specialised(in_list, "program_of", at_words=fixed),
        "own_of": specialised(in_list, "own_of", at_words=own, SIZE=size),
        "row_of": specialised(_in_blocks, "row_of", at_words=run_at("float64", block), BLOCK=block),
        "desk_of": desk,
        "kept_desk_of": kept,
        "SHARED_DESKS": layout.shared,
        "spec_of": specialised(alone, "spec_of", at_words=fixed),
        "plain_of": specialised(alone, "plain_of", at_words=run_at("float64", 1)),
    }


@dataclass(frozen=True)
class Shape:
    """What policies must share to be played by one piece of machine code; their numbers may differ.

    ``forgets``: what the last level knows is not wanted when it restarts; a user's own routine might look at it.
    ``stride``: how many steps are written out one after the other.
    """

    structure: int
    routines: tuple[tuple[str, Kernels], ...]
    last: tuple[str, Kernels]
    width: int
    desk: int
    full: int
    children: int
    length: int
    forgets: bool
    stride: int = 1

    @classmethod
    def of(cls, policy: Policy) -> Shape:
        """The shape of a policy."""
        program = policy.program
        record = FIELDS * int(program[LEVELS])
        structure = int(program[STRUCTURE])
        used = [(routine.name, routine.kernels) for routine in policy.routines_used]
        width = policy.words.total
        full = int(program[record + CHILDREN]) + (structure == CHAMPION)  # who defends itself in a group of others
        shape = cls(
            structure,
            tuple(dict.fromkeys(used)),
            used[-1],
            width,
            width - int(program[record + AT]),
            full,
            int(program.reshape(-1, FIELDS)[1:, CHILDREN].max()) + 1,
            len(program),
            structure == TREE and not isinstance(policy.routines_used[-1], Custom),
        )
        rarely = program[-FIELDS + SPAN] >= RARELY
        return replace(shape, stride=4 if rarely and shape.pieces and shape.only_grows and full <= 16 else 1)

    @property
    def only_grows(self) -> bool:
        """Whether the weights of the last level only grow."""
        return leads_to(self.last[1].update, weights.weights_grow)

    @property
    def pieces(self) -> int:
        """How many sums of weights are kept on the desk; 0 for a routine that does not draw by weights."""
        weighs = 1 < self.full <= weights.SCAN and leads_to(self.last[1].update, weights.weights_multiply)
        return -(-self.full // self.piece) if weighs else 0

    @property
    def piece(self) -> int:
        """How many weights make a piece."""
        if self.full <= 16:
            return (self.full + 1) // 2
        return 1 << (math.isqrt(self.full - 1).bit_length())

    @property
    def desk_words(self) -> int:
        """The words of a desk: sums, statistics, and a few that are read and not used."""
        return self.pieces + self.desk + (self.piece if self.pieces else 0)

    def program(self, policy: Policy) -> Array:
        """A policy's program with places in :attr:`routines` instead of addresses."""
        table = policy.program.reshape(-1, FIELDS).copy()
        used = [self.routines.index((routine.name, routine.kernels)) for routine in policy.routines_used]
        for i in range(1, len(table)):
            table[i, [START_AT, SELECT_AT, UPDATE_AT]] = used[(i - 1) % len(used)]
        table[0, [BEGIN_AT, END_AT]] = 0.0
        return table.reshape(-1)
