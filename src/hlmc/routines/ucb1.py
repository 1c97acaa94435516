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
from hlmc.engine.records import Level
from hlmc.engine.routines import NotedKernels
from hlmc.engine.ucb import highest_two, list_slots, noted_index, pairs_change, unlike_slots
from hlmc.routines.base import Array, Kernels, LevelContext, Routine

TIE = PARAMETERS
CLEAR = 1e-12  # indices that differ by this part of them differ, however they are rounded
INFINITE = math.inf  # the index of a slot before its first reward
UNPLAYED = 1e300  # noted instead of an infinite index: differences of two are 0
TIES = ("random", "first", "last")


@kernel
def ucb1_start(level: Level) -> tuple[float, float]:
    """Set all sums and counts to 0."""
    for j in range(level.at, level.at + 2 * level.n):
        level.row[j] = 0.0
    return 0.0, 0.0


# Hook: the index of a slot. ``notes`` is what a loop keeps beside the row, or where there is nothing, the row itself.


@kernel
def ucb1_index(level: Level, notes: Array, slot: int, twice_log: float) -> float:
    """Mean reward of a slot plus its confidence radius, sqrt(2 ln t / n_j); infinite before its first reward."""
    earned: float = level.row[level.at + slot]
    played: float = level.row[level.at + level.n + slot]
    if played == 0.0:
        return INFINITE
    return earned / played + math.sqrt(twice_log / played)


@kernel
def ucb1_best(level: Level, a: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float]:
    """Play every slot once, then the highest index; break ties by the tie rule.

    Gives the slot and its probability: 1 unless ties are broken at random, then 1 / (number of slots that tie).
    """
    if tau < level.n:
        return tau, 1.0
    rule = level.program[level.record + TIE]
    twice_log = 2.0 * logarithm(float(tau) + 1.0)
    best = 0
    highest = -1.0
    ties = 0
    for j in range(level.n):
        index = ucb1_index(level, notes, j, twice_log)
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
    for j in range(best, level.n):
        if ucb1_index(level, notes, j, twice_log) == highest:
            if wanted == 0:
                return j, 1.0 / float(ties)
            wanted -= 1
    return best, 1.0 / float(ties)


@kernel
def ucb1_select(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """:func:`ucb1_best` without notes."""
    return ucb1_best(level, a, b, tau, u, level.row)


@kernel
def ucb1_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Count the play and its reward."""
    level.row[level.at + slot] += reward
    level.row[level.at + level.n + slot] += 1.0
    return a, b


# --- Notes: the mean reward of every slot; 1 / sqrt(n_j) of every slot; the words below; and a list of up to n slots.
# --- To compare all indices is slow, so it is also noted for how long the outcome of the comparison is certain:
# --- * One slot was highest. It is slot AGAIN. Until it has been played more than PLAYS times, it stays highest while
# ---   its rewards sum to more than LEAST + SLOPE times its plays (:func:`ucb1_note_lead`). Otherwise PLAYS is -1.
# --- * Several slots with equal statistics were highest. The LEFT of them that have not been played since are on the
# ---   list, in order. They stay highest while each slot that is played falls below FLOOR, by the SPREAD of then, and
# ---   GROWTH times the time is less than ROOM (:func:`ucb1_tie_stands`). Otherwise LEFT is 0.
# --- AGAIN is the slot selected last. Its mean and 1 / sqrt(n_j) are noted by the next selection that needs them.

AGAIN, LEAST, SLOPE, PLAYS, LEFT, SPREAD, FLOOR, GROWTH, ROOM, LIST = range(10)

FURTHER = 1.25  # how far a lead is looked ahead: to so many times the plays
CHORD = (math.sqrt(FURTHER) - 1.0) / (FURTHER - 1.0)


@kernel
def ucb1_note(row: Array, at: int, n: int, slot: int, notes: Array) -> None:
    """Note what the statistics say of a slot."""
    earned = row[at + slot]
    played = row[at + n + slot]
    notes[slot] = earned / played if played > 0.0 else UNPLAYED
    notes[n + slot] = 1.0 / math.sqrt(played) if played > 0.0 else 0.0


@kernel
def ucb1_start_notes(level: Level, notes: Array) -> None:
    """Note what the statistics say of every slot."""
    for slot in range(level.n):
        ucb1_note(level.row, level.at, level.n, slot, notes)
    notes[2 * level.n + AGAIN] = 0.0
    notes[2 * level.n + PLAYS] = -1.0
    notes[2 * level.n + LEFT] = 0.0


@kernel
def ucb1_note_lead(
    row: Array, at: int, n: int, slot: int, radius: float, lead: float, second: float, growth: float, notes: Array
) -> None:
    """Note for how long a slot is certain to keep the highest index.

    After j more plays of the slot and of no other, and with N plays and the rewards E at first, its index is at least
    E_j / (N + j) + s / sqrt(N + j), since the spread s only grows. The index of every other slot is at most
    second + j growth. So the slot stays highest while

    E_j > (N + j) (second + j growth) - s sqrt(N + j).

    For j <= (FURTHER - 1) N a line in j lies above the right-hand side: (N + j) j growth <= FURTHER N j growth, and the
    concave root lies above its chord, sqrt(N + j) >= sqrt(N) + CHORD j / sqrt(N). At j = 0 the right-hand side is
    E - N lead. All terms are at most a few times N times the index, so the part CLEAR of the index by which ``lead`` is
    reduced is more than rounding can change.

    Parameters
    ----------
    slot, radius
        The slot, and s / sqrt(N).
    lead, second, growth
        How far its index, less the part CLEAR of it, is above those of the others; the highest of these; and by how
        much each of these grows in a step at most: 1 / (t s) / sqrt(n_j), as s = sqrt(2 ln t) is concave.
    """
    played = row[at + n + slot]
    slope = second - CHORD * radius + FURTHER * played * growth
    notes[2 * n + AGAIN] = slot
    notes[2 * n + LEAST] = row[at + slot] - played * (lead + slope)
    notes[2 * n + SLOPE] = slope
    notes[2 * n + PLAYS] = FURTHER * played


@kernel
def ucb1_lead_stands(row: Array, at: int, n: int, slot: int, notes: Array) -> bool:
    """Whether slot AGAIN is certain to have the highest index still."""
    played = row[at + n + slot]
    return bool(
        played <= notes[2 * n + PLAYS] and row[at + slot] > notes[2 * n + LEAST] + notes[2 * n + SLOPE] * played
    )


@kernel
def ucb1_tie_stands(n: int, slot: int, tau: int, notes: Array) -> bool:
    """Whether the slots on the list are certain to have the highest index still.

    ``slot`` was on the list and was played since, so its 1 / sqrt(n_j) is less than theirs. If it is behind at the
    spread of the time at which the list was made, it is so at every later one. The slots played before it were judged
    in the same way.
    """
    return bool(
        notes[2 * n + LEFT] > 0.0
        and noted_index(notes, n, slot, notes[2 * n + SPREAD]) < notes[2 * n + FLOOR]
        and float(tau) * notes[2 * n + GROWTH] < notes[2 * n + ROOM]
    )


@kernel
def ucb1_next_tied(program: Array, level: int, n: int, u: float, notes: Array) -> tuple[int, float]:
    """Choose one of the slots on the list by the tie rule, and take it from the list; its probability."""
    first = 2 * n + LIST
    ties = int(notes[2 * n + LEFT])
    rule = program[level + TIE]
    wanted = min(int(u * float(ties)), ties - 1) if rule == RANDOM else ties - 1 if rule == LAST else 0
    slot = int(notes[first + wanted])
    for k in range(first + wanted, first + ties - 1):
        notes[k] = notes[k + 1]
    notes[2 * n + LEFT] = ties - 1
    notes[2 * n + AGAIN] = slot
    return slot, 1.0 / float(ties) if rule == RANDOM else 1.0


@kernel
def ucb1_noted_select(level: Level, a: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float, float]:
    """By the notes, whose indices are exact but for rounding; where that could decide, by the statistics."""
    if tau < level.n:
        return tau, 1.0, a
    last = int(notes[2 * level.n + AGAIN])
    if ucb1_lead_stands(level.row, level.at, level.n, last, notes):
        return last, 1.0, a
    ucb1_note(level.row, level.at, level.n, last, notes)
    if ucb1_tie_stands(level.n, last, tau, notes):
        slot, chance = ucb1_next_tied(level.program, level.record, level.n, u, notes)
        return slot, chance, a
    notes[2 * level.n + PLAYS] = -1.0
    notes[2 * level.n + LEFT] = 0.0
    spread = math.sqrt(2.0 * logarithm(float(tau) + 1.0))
    best, highest, second, widest = highest_two(notes, level.n, spread)
    growth = widest / ((float(tau) + 1.0) * spread)
    floor = highest - CLEAR * highest
    if second < floor:
        ucb1_note_lead(
            level.row, level.at, level.n, best, spread * notes[level.n + best], floor - second, second, growth, notes
        )
        return best, 1.0, a
    if unlike_slots(level.row, level.at, level.n, best, notes, spread, floor) > 0:
        slot, chance = ucb1_select(level, a, b, tau, u)
        notes[2 * level.n + AGAIN] = slot
        return slot, chance, a
    # Slots that have earned the same in as many plays: their indices are equal, however they are rounded.
    ties, below = list_slots(level.n, notes, spread, floor, 2 * level.n + LIST)
    notes[2 * level.n + LEFT] = ties
    notes[2 * level.n + SPREAD] = spread
    notes[2 * level.n + FLOOR] = floor
    notes[2 * level.n + GROWTH] = growth
    notes[2 * level.n + ROOM] = floor - below + float(tau) * growth
    slot, chance = ucb1_next_tied(level.program, level.record, level.n, u, notes)
    return slot, chance, a


@kernel
def ucb1_noted_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float, notes: Array
) -> tuple[float, float]:
    """Count the play and its reward, and note the first play of a slot: :func:`ucb1_noted_select` notes the others."""
    a, b = ucb1_update(level, a, b, tau, slot, chance, reward)
    if tau < level.n:
        ucb1_note(level.row, level.at, level.n, slot, notes)
    return a, b


@kernel
def ucb1_check(level: Level, a: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """The first n choices were the slots in turn, and have been learned from, unless rewards may come late or children
    may join: then a slot that was not played has an index that is not finite."""
    late = level.program[PENDING] > 0.0 or level.program[IDLE] > 0.0
    for j in range(level.n):
        played = level.row[level.at + level.n + j]
        if not (played >= (1.0 if j < tau and not late else 0.0) and 0.0 <= level.row[level.at + j] <= played):
            return False
    return slot < 0 or tau >= level.n or slot == tau or level.program[IDLE] > 0.0


@kernel
def ucb1_change(level: Level, m: int, slot: int, a: float, b: float, tau: int) -> tuple[float, float]:
    """A fresh child has been played once and paid 1."""
    pairs_change(level, m, slot, 1.0)
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
    full_support: ClassVar[bool] = False
    kernels: ClassVar[Kernels] = Kernels(
        ucb1_start,
        ucb1_select,
        ucb1_update,
        ucb1_check,
        NotedKernels(ucb1_start_notes, ucb1_noted_select, ucb1_noted_update, per_slot=8),
        change=ucb1_change,
    )

    def __post_init__(self) -> None:
        if self.ties is not None:
            choice("ties", self.ties, *TIES)

    def words(self, n: int) -> int:
        return 2 * n if n > 1 else 0

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return (float(TIES.index(self.ties or "random")),)
