"""The loop over the steps, built for a device: one learner a thread.

Between two restarts of the last level's routine a thread works on its *desk*, the statistics of that level in the
block's shared memory and in the precision asked for. Everything else, the clocks and the levels above, stays in its
row, in double precision and in the layout that the processor uses; it is touched once an epoch. Desks are kept as they
are from one launch to the next, so that nothing depends on how a run is cut, if at multiples of :data:`WHILE`.

Rows lie in memory as [block of threads, word, thread], so that neighbours read and write side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.device import arithmetic
from hlmc.device.calls import calls_of
from hlmc.device.desks import desk_kernels, forget, lay_down, take_up
from hlmc.device.places import Layout, places
from hlmc.device.shape import Shape
from hlmc.device.target import SIMULATED, Target, retold
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.engine.layout import CROWNED, FOREVER, TREE
from hlmc.engine.primitives import apart
from hlmc.kernels import native, weights
from hlmc.kernels.step import looped

Array = np.ndarray
Meanings = dict[Callable[..., Any], Any]

WHILE = 256
"""Where a run is cut makes no difference if it is at a multiple of so many steps, itself a multiple of all strides."""

# --- what the loop's names mean on a device

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


first = unbound


@kernel
def _reward(address: Any, spec: Array, t: int, arm: int) -> float:
    return first(spec, t, arm)


@kernel
def _learned(spec: Array, state: int, arm: int, reward: float) -> Any:
    return np.float32(first(spec, state, arm))


@kernel
def _outlook(reward_at: Any, spec: Array, t: int) -> tuple[int, int]:
    return first(spec, t)


@kernel
def _paid(reward_at: Any, spec: Array, state: int, t: int, arm: int) -> float:
    return first(spec, state, arm)


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


def built(shape: Shape, adversary: Adversary, layout: Layout) -> Any:
    """The function to launch, not yet compiled: that happens at its first launch."""
    from numba import cuda

    narrowly = arithmetic.without_trees(shape.children)
    reward = specialised(_reward, "reward", first=adversary.rule)
    meanings = narrowly | calls_of(shape) | {native.call_reward: reward}
    steps = _steps(shape, adversary, layout.precision, narrowly)
    launched = specialised(_play, "play", loop=steps, cuda=cuda, BLOCK=layout.block, **places(layout))
    return Target(meanings).entry(launched, layout.registers, fastmath=layout.precision == "float32")


def _steps(shape: Shape, adversary: Adversary, precision: str, narrowly: Meanings) -> Callable[..., int]:
    """The loop over the steps for learners of this shape."""
    store = narrowly | arithmetic.in_pieces(shape) | arithmetic.fast(precision, adversary.coins)
    tell = partial(retold, meanings=store, precision=precision)
    desk = desk_kernels(shape, tell)
    if shape.forgets:
        desk["clear_away"] = forget
    leaf = shape.last[1]
    steps = looped(
        "steps",
        tell(leaf.select),
        tell(leaf.update),
        take_up=specialised(take_up, "take_up", **desk),
        lay_down=specialised(lay_down, "lay_down", **desk),
        overdue=desk["overdue"],
        in_tree=_always if shape.structure in (TREE, CROWNED) else _never,
        **_numbers(adversary, precision),
        **_prospects(adversary, precision),
    )
    if shape.full == 1:
        return steps
    stretch = steps.__globals__["stretch"]
    either: dict[str, Any] = {"steps": stretch, "orderly_steps": stretch, "in_order": _out_of_order}
    if shape.pieces and shape.only_grows:
        orderly = tell(leaf.update, meanings=store | {weights.weighs: arithmetic.any_worth})
        either["orderly_steps"] = specialised(stretch, "orderly_steps", leaf_update=orderly, STRIDE=shape.stride)
        either |= {"in_order": tell(weights.pieces_clean), "STRIDE": shape.stride, "AGAIN": WHILE}
    return specialised(steps, "loop", stretch=specialised(_either, "either", FULL=shape.full, **either))


def _numbers(adversary: Adversary, precision: str) -> dict[str, Any]:
    """How the loop holds numbers."""
    names: dict[str, Any] = {}
    if not SIMULATED:
        names["small"] = arithmetic.in_32_bits
        if adversary.arms < 2**31:
            names["numbered"] = arithmetic.in_32_bits
    if precision == "float32":
        names |= {"working": arithmetic.single_working, "unit": arithmetic.single_unit}
        if adversary.coins:
            names |= arithmetic.COINS
    return names


def _prospects(adversary: Adversary, precision: str) -> dict[str, Any]:
    """How the loop asks an adversary whose rewards stand still for long."""
    if adversary.phased is None:
        return {}
    outlook, paid = adversary.phased
    names = {
        "outlook": specialised(_outlook, "outlook", first=outlook),
        "paid": specialised(_paid, "paid", first=paid),
    }
    if precision == "float32":
        names["learned"] = specialised(_learned, "learned", first=retold(paid, {}, precision))
    return names
