"""UCB1: the highest upper confidence bound, for stochastic rewards (Auer, Cesa-Bianchi and Fischer, 2002).

It has no guarantee against an adversary. Two words per child: the sum of its rewards and its number of plays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hlmc.checks import choice
from hlmc.engine.arithmetic import logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import IDLE, LAST, PARAMETERS, PENDING, RANDOM
from hlmc.engine.routines import NotedKernels
from hlmc.engine.ucb import close_slot, close_slots, highest_two, noted_index
from hlmc.routines.base import Array, Kernels, LevelContext, Routine

TIE = PARAMETERS
CLEAR = 1e-12  # indices that differ by this part of them differ, however they are rounded
INFINITE = math.inf  # the index of a slot before its first reward
UNPLAYED = 1e300  # noted instead of an infinite index: differences of two are 0
TIES = ("random", "first", "last")


@kernel
def ucb1_start(program: Array, level: int, row: Array, at: int, n: int) -> tuple[float, float]:
    """Set all sums and counts to 0."""
    for j in range(at, at + 2 * n):
        row[j] = 0.0
    return 0.0, 0.0


@kernel
def ucb1_index(row: Array, at: int, n: int, j: int, twice_log: float) -> float:
    """Mean reward of slot j plus its confidence radius, sqrt(2 ln t / n_j); infinite before its first reward."""
    earned: float = row[at + j]
    played: float = row[at + n + j]
    if played == 0.0:
        return INFINITE
    return earned / played + math.sqrt(twice_log / played)


@kernel
def ucb1_select(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, u: float
) -> tuple[int, float]:
    """Play every slot once, then the highest index; break ties by the tie rule."""
    if tau < n:
        return tau, 1.0
    rule = program[level + TIE]
    twice_log = 2.0 * logarithm(float(tau) + 1.0)
    best = 0
    highest = -1.0
    ties = 0
    for j in range(n):
        index = ucb1_index(row, at, n, j, twice_log)
        if index > highest:
            best = j
            highest = index
            ties = 1
        elif index == highest:
            ties += 1
            if rule == LAST:
                best = j
    if rule != RANDOM or ties == 1:
        return best, 1.0
    wanted = min(int(u * float(ties)), ties - 1)
    for j in range(best, n):
        if ucb1_index(row, at, n, j, twice_log) == highest:
            if wanted == 0:
                return j, 1.0 / float(ties)
            wanted -= 1
    return best, 1.0 / float(ties)


@kernel
def ucb1_update(
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
) -> tuple[float, float]:
    """Count the play and its reward."""
    row[at + slot] += reward
    row[at + n + slot] += 1.0
    return a, b


# --- Notes: the mean reward of every slot; 1 / sqrt(n_j) of every slot; and three words of the last time that all slots
# --- were compared: until another slot than AGAIN is played, no other has an index above BOUND + WIDEST sqrt(2 ln t)

AGAIN, BOUND, WIDEST = range(3)


@kernel
def ucb1_note(row: Array, at: int, n: int, slot: int, notes: Array) -> None:
    """Note what the statistics say of a slot."""
    earned = row[at + slot]
    played = row[at + n + slot]
    notes[slot] = earned / played if played > 0.0 else UNPLAYED
    notes[n + slot] = 1.0 / math.sqrt(played) if played > 0.0 else 0.0


@kernel
def ucb1_start_notes(program: Array, level: int, row: Array, at: int, n: int, notes: Array) -> None:
    """Note what the statistics say of every slot."""
    for slot in range(n):
        ucb1_note(row, at, n, slot, notes)
    notes[2 * n + AGAIN] = -1.0


@kernel
def ucb1_noted_select(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, u: float, notes: Array
) -> tuple[int, float]:
    """By the notes, whose indices are exact but for rounding; where that could decide, by the statistics."""
    if tau < n:
        return tau, 1.0
    spread = math.sqrt(2.0 * logarithm(float(tau) + 1.0))
    last = int(notes[2 * n + AGAIN])
    if last >= 0:
        index = noted_index(notes, n, last, spread)
        if index - CLEAR * index > notes[2 * n + BOUND] + spread * notes[2 * n + WIDEST]:
            return last, 1.0
    best, highest, second, widest = highest_two(notes, n, spread)
    floor = highest - CLEAR * highest
    if second < floor:
        notes[2 * n + AGAIN] = best
        notes[2 * n + BOUND] = second - spread * widest
        notes[2 * n + WIDEST] = widest
        return best, 1.0
    notes[2 * n + AGAIN] = -1.0
    ties, others = close_slots(row, at, n, best, notes, spread, floor)
    if others > 0:
        return ucb1_select(program, level, row, at, n, a, b, tau, u)
    # Slots that have earned the same in as many plays: their indices are equal, however they are rounded.
    rule = program[level + TIE]
    wanted = min(int(u * float(ties)), ties - 1) if rule == RANDOM else ties - 1 if rule == LAST else 0
    return close_slot(n, notes, spread, floor, wanted), 1.0 / float(ties) if rule == RANDOM else 1.0


@kernel
def ucb1_noted_update(
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
    notes: Array,
) -> tuple[float, float]:
    """Count the play and its reward, and note it."""
    a, b = ucb1_update(program, level, row, at, n, a, b, tau, slot, chance, reward)
    ucb1_note(row, at, n, slot, notes)
    return a, b


@kernel
def ucb1_check(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, slot: int, chance: float
) -> bool:
    """The first n choices were the slots in turn, and have been learned from, unless rewards may come late or children
    may join: then a slot that was not played has an index that is not finite."""
    late = program[PENDING] > 0.0 or program[IDLE] > 0.0
    for j in range(n):
        played = row[at + n + j]
        if not (played >= (1.0 if j < tau and not late else 0.0) and 0.0 <= row[at + j] <= played):
            return False
    return slot < 0 or tau >= n or slot == tau or program[IDLE] > 0.0


@kernel
def ucb1_change(
    program: Array, level: int, row: Array, at: int, n: int, m: int, slot: int, a: float, b: float, tau: int
) -> tuple[float, float]:
    """A fresh child has been played once and paid 1. The counts lie behind the sums, so they move."""
    if slot < 0:
        slot = -1 - slot
    first = 0 if n < 2 else n
    stop = m
    if n < 2:
        pass
    elif m > n:
        for k in range(n):
            j = n - 1 - k  # from behind: the two runs overlap
            row[at + m + j] = row[at + n + j]
    elif m < n:
        row[at + slot] = row[at + n - 1]
        row[at + n + slot] = row[at + n + n - 1]
        for j in range(m):
            row[at + m + j] = row[at + n + j]
    else:
        first = slot
        stop = slot + 1
    for j in range(first, stop):
        row[at + j] = 1.0
        row[at + m + j] = 1.0
    return a, b


@dataclass(frozen=True, repr=False)
class UCB1(Routine):
    r"""UCB1 at one level: each child once, then the largest :math:`\bar r_i + \sqrt{2 \ln t / n_i}`.

    Parameters
    ----------
    ties
        ``"random"`` (default), ``"first"`` or ``"last"``: how ties are broken.

    Examples
    --------
    >>> UCB1().words(20)
    40
    """

    ties: str | None = None

    name: ClassVar[str] = "ucb1"
    anytime: ClassVar[bool] = True
    kernels: ClassVar[Kernels] = Kernels(
        ucb1_start,
        ucb1_select,
        ucb1_update,
        ucb1_check,
        NotedKernels(ucb1_start_notes, ucb1_noted_select, ucb1_noted_update, per_slot=4),
        change=ucb1_change,
    )

    def __post_init__(self) -> None:
        if self.ties is not None:
            choice("ties", self.ties, *TIES)

    def words(self, n: int) -> int:
        return 2 * n if n > 1 else 0

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return (float(TIES.index(self.ties or "random")),)
