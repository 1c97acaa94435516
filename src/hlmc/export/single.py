"""Statistics of 32 bits: what a learner in C keeps on processors whose floats have single precision.

**The row.** Its words are those of Python's row in the same order, of 32 bits each. Statistics, probabilities and the
routines' scalars are floats. Whole numbers (clocks, arms, counts) are integers, so that time does not end at 2^24. The
key has 64 bits: its lower half is word 0, its upper half one more word at the end.

**Sums of rewards** are whole numbers of units. A float that has grown to 2^20 would add 0.1 as 0.125, and one of 2^24
nothing at all. The unit is 2^-24, or as much larger as the longest run of a level requires: a sum of n rewards is off
by at most n/2 units, and its mean by half a unit.

**What is left out** is refused with one line: policies that add small numbers to floats that grow with time (UCB1's
sums and counts, EXP3.P's confidence terms), coded statistics, tickets, arms that come and go, and routines of a user's
own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hlmc.engine import layout, weights
from hlmc.engine.scale import update_scaled
from hlmc.engine.step import select, update
from hlmc.engine.weights import SCAN
from hlmc.errors import BadArgument
from hlmc.export.programs import cut
from hlmc.export.vectors import Vectors, quarters_of
from hlmc.export.vectors import played as play
from hlmc.routines import exp3s, kind
from hlmc.targets.c.unit import RowKinds, named
from hlmc.targets.interpreter import single as interpreted

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

MOST = 2**28
"""Arms and steps: with more, an integer of a step could need more than 32 bits."""
FINEST = 24
"""Binary digits after the point of a sum of rewards, where its run is short enough."""
DRIFTING = {
    "ucb1": "its counts and sums grow with time",
    "epsilon-greedy": "its counts and sums grow with time",
    "exp3p": "it adds small terms to sums that grow with time",
}


def program(policy: Policy, steps: int | None) -> Array:
    """The program of a policy for so many steps, or an error that says why there is none in single precision."""
    _refuse(policy)
    horizon = policy.limit if policy.limit is not None else steps if steps is not None else MOST // 2
    if max(policy.arms, horizon) > MOST:
        raise BadArgument(f"precision='float32' takes at most 2^28 arms and steps, not {policy.arms} and {horizon}")
    # Stages end after at most twice the steps that are needed.
    table = np.array(cut(policy, min(horizon, MOST // 2)))
    table[layout.HORIZON] = min(table[layout.HORIZON], MOST if table[layout.DOUBLING] != -1 else horizon)
    records = table.reshape(-1, layout.FIELDS)[1:]
    records[:, [layout.LENGTH, layout.SPAN]] = np.minimum(
        records[:, [layout.LENGTH, layout.SPAN]], table[layout.HORIZON]
    )
    return table


def _refuse(policy: Policy) -> None:
    why = ""
    for routine in policy.routines_used:
        if routine.opaque or kind(routine) < 0:
            why = f"the routine {routine.name} is your own"
        elif routine.bits < 64:
            why = f"its statistics have {routine.bits} bits already"
        elif routine.name in DRIFTING:
            why = DRIFTING[routine.name]
    if policy.pending:
        why = "tickets hold 64-bit words"
    if policy.program[layout.IDLE] > 0:
        why = "its arms come and go"
    if why:
        raise BadArgument(f"there is no {policy!r} with precision='float32': {why}")


def kinds(policy: Policy, table: Array) -> RowKinds:
    """What the words of a policy's row hold, by their names."""
    levels = int(table[layout.LEVELS])
    records = table.reshape(-1, layout.FIELDS)[1:]
    last = np.arange(len(records)) % levels == levels - 1
    longest = int(np.where(last, records[:, layout.SPAN], records[:, layout.LENGTH]).max())
    digits = min(FINEST, 32 - longest.bit_length())
    return RowKinds(named([*layout.ROW, *policy.structure.header]) | named(layout.CONTROL_WORDS), 2.0**digits)


def fresh(policy: Policy, key: int, units: float) -> Array:
    """The words of a learner with this key that has not begun."""
    return interpreted.fresh(policy, key, units).packed()


def of_python(policy: Policy, row: Array, table: Array, units: float) -> Array:
    """The words of a row of Python's, narrowed, for the program ``table``.

    Weights are scaled to the sum 1 first: those of float64 reach further than a float32 does.
    """
    row = row.copy()
    row[layout.UNTIL] = min(row[layout.UNTIL], table[layout.HORIZON])
    for level, routine in enumerate(policy.routines_used):
        record = policy.program[layout.FIELDS * (1 + level) :]
        scaled = _SCALED.get(routine.name)
        if scaled is not None and record[layout.CHILDREN] <= SCAN:
            at, control = int(record[layout.AT]), int(record[layout.CONTROL])
            scaled(
                row[at : at + int(record[layout.CHILDREN])],
                row[control + layout.SCALARS : control + layout.SCALARS + 2],
            )
    narrow = interpreted.fresh(policy, int(row.view(np.uint64)[layout.KEY]), units)
    largest = float(np.finfo(np.float32).max)
    for at, holds in enumerate(narrow.holds):
        if at != layout.KEY:
            narrow[at] = np.float32(np.clip(row[at], -largest, largest)) if holds == layout.REAL else row[at]
    return narrow.packed()


def _scaled_weights(words: Array, scalars: Array) -> None:
    """Scale the words of a scan (:mod:`hlmc.engine.weights`) and their sum. Words of no child are not read again."""
    total = scalars[0]
    if not total > 0.0:
        return  # the level has not begun
    logs = np.where(words > 0.0, np.log(np.where(words > 0.0, words, 1.0)), words) - math.log(total)
    words[:] = np.where(logs > weights.SINGLE["TINY_LOG"], np.exp(np.clip(logs, -600.0, 80.0)), logs)
    scalars[0] = 1.0


def _scaled_shares(words: Array, scalars: Array) -> None:
    """Scale the v of EXP3.S, their sum and B."""
    everything = scalars[0] + len(words) * scalars[1]
    if not everything > 0.0:
        return
    words[:] = np.maximum(words / everything, exp3s.SINGLE["_FLOOR"])
    scalars[:] = max(scalars[0] / everything, len(words) * exp3s.SINGLE["_FLOOR"]), scalars[1] / everything


_SCALED = {
    "exp3": _scaled_weights,
    "exp3-counted": _scaled_weights,
    "exp3-loss": _scaled_weights,
    "exp3-ix": _scaled_weights,
    "exp3s": _scaled_shares,
}


def played(policy: Policy, begins: Array, table: Array, units: float) -> Vectors:
    """What a learner does from these words on, under the interpreter."""
    holds = [word.holds for word in layout.row_words(policy.program, policy.structure.header, policy.words.total)]
    row = interpreted.SingleRow(holds, begins, units)
    ready = interpreted.linked(policy, table)
    choose, learn = interpreted.entry(select), interpreted.entry(update_scaled if policy.scaled else update)
    paying = [np.float32(paid) for paid in quarters_of(policy)]
    return play(lambda: choose(ready, row), lambda reward: learn(ready, row, reward), paying, row.packed)
