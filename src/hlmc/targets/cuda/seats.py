"""An agent's turn on a device: what it learns of the last round and chooses for the next.

Its *hand* is what it chose and the two scalars of its routine, its *purse* what it earned in this epoch, its *desk* the
statistics of its last level. They change in every round. Its row is written when an epoch begins or ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hlmc.device import arithmetic
from hlmc.device.calls import calls_of
from hlmc.device.desks import desk_kernels
from hlmc.device.shape import Shape
from hlmc.device.target import retold
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.engine.layout import (
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
    LEVEL_CONTROL,
    LEVELS,
    RECORD,
    ROUNDS,
    SCALARS,
    SUM,
    TREE,
)
from hlmc.engine.primitives import apart
from hlmc.games.board import take_turn
from hlmc.kernels.champion import champion_arm
from hlmc.kernels.rounds import rounds_arm
from hlmc.kernels.step import overdue
from hlmc.policies.base import Policy

Array = np.ndarray

HAND = LEVEL_CONTROL
"""Words of a hand: a level's control words. The sum lies elsewhere and leaves its place to the arm, or to the first."""
HELD_ARM = SUM


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


DEPTH = RECORD_AT = FULL = PLACE = 0
lay_out = clear_away = put_in_order = first = rest = disorder = unbound
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
    hand[SCALARS] = put_in_order(row, desk, hand[SCALARS])


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
def seated(
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
def nobody(
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


def turns(seat: Seat, precision: str) -> tuple[Callable[..., int], Callable[..., int], Callable[..., bool]]:
    """An agent's turn at any time and in the middle of an epoch, and whether a desk is in disorder.

    What calls through addresses mean is settled within a turn, for other seats have other routines.
    """
    shape = seat.shape
    narrowly = arithmetic.without_trees(shape.children)
    calls = calls_of(shape)
    store = narrowly | arithmetic.in_pieces(shape) | arithmetic.fast(precision)
    tell = partial(retold, meanings=store, precision=precision)
    desk = desk_kernels(shape, tell)
    names: dict[str, Any] = {
        "SUM": 0,
        "levels_of": specialised(_depth, "levels_of", DEPTH=seat.levels),
        "hand_of": _hand_of,
        "place_of": specialised(_place_of, "place_of", PLACE=desk["PLACE"]),
        "arm_held": _arm_held,
        "credit": _no_credit,
        "take_up": specialised(_take_up, "take_up", **desk),
        "lay_down": specialised(_lay_down, "lay_down", **desk),
    }
    if shape.structure in (TREE, CROWNED):
        names |= {"arm_held": _neighbour_held, "arm_taken": _neighbour_taken}
    else:
        arm_of = rounds_arm if shape.structure == ROUNDS else champion_arm
        names["arm_taken"] = specialised(_arm_taken, "arm_taken", first=arm_of)
    leaf = shape.last[1]
    if shape.pieces:
        names |= {"overdue": desk["overdue"], "tidy": specialised(_tidy, "tidy", **desk)}
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
    return retold(turn, narrowly | calls), retold(short, narrowly | calls), desk["overdue"]
