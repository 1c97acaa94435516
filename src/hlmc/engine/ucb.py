"""Sums and counts of n slots, and upper confidence bounds from notes: of every slot its mean, then 1 / sqrt(n_j).

An index is a mean plus spread / sqrt(n_j), where spread = sqrt(2 ln t) belongs to the time. With the notes it takes no
division and no root, and agrees with the index of the statistics but for rounding.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.arithmetic import logarithm
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import LAST, RANDOM
from hlmc.engine.records import Level

Array = np.ndarray

MOST_PLAYS = 9007199254740992.0  # 2^53
CLEAR = 1e-12  # indices that differ by this part of them differ, however they are rounded
UNPLAYED = 1e300  # noted instead of an infinite index: differences of two are 0


@kernel
def noted_index(notes: Array, n: int, slot: int, spread: float) -> float:
    """The index of a slot."""
    return float(notes[slot] + spread * notes[n + slot])


@kernel
def highest_two(notes: Array, n: int, spread: float) -> tuple[int, float, float, float]:
    """A slot of highest index, the index, the highest one of the other slots, and the largest 1 / sqrt(n_j).

    No index is negative.
    """
    best = 0
    highest = -1.0
    second = -1.0
    widest = 0.0
    for slot in range(n):
        index = noted_index(notes, n, slot, spread)
        second = max(second, min(highest, index))
        widest = max(widest, notes[n + slot])
        if index > highest:
            highest = index
            best = slot
    return best, highest, second, widest


@kernel
def unlike_slots(row: Array, at: int, n: int, slot: int, notes: Array, spread: float, floor: float) -> int:
    """How many slots with an index of at least ``floor`` have other statistics than ``slot``.

    A slot's statistics are words ``at + slot`` and ``at + n + slot`` of the row.
    """
    unlike = 0
    for j in range(n):
        close = int(noted_index(notes, n, j, spread) >= floor)
        unlike += close & (int(row[at + j] != row[at + slot]) | int(row[at + n + j] != row[at + n + slot]))
    return unlike


@kernel
def list_slots(n: int, notes: Array, spread: float, floor: float, first: int) -> tuple[int, float]:
    """List the slots with an index of at least ``floor`` from ``notes[first]`` on, in order.

    Returns how many there are and the highest index below ``floor``, or -1. Up to n words are overwritten.
    """
    count = 0
    below = -1.0
    for slot in range(n):
        index = noted_index(notes, n, slot, spread)
        notes[first + count] = slot
        count += int(index >= floor)
        below = max(below, -1.0 if index >= floor else index)
    return count, below


@kernel
def pairs_start(level: Level) -> tuple[float, float]:
    """The start of a routine that keeps n sums and then n counts: all are 0, and so are its scalars."""
    for j in range(level.at, level.at + 2 * level.n):
        level.row[j] = 0.0
    return 0.0, 0.0


@kernel
def pairs_play(level: Level, b: float, slot: int, earned: float) -> float:
    """Count a play and what it earned; ``b``, the second scalar, stays."""
    level.row[level.at + slot] += earned
    level.row[level.at + level.n + slot] += 1.0
    return b


@kernel
def pairs_change(level: Level, m: int, slot: int, fresh: float) -> None:
    """The change of a routine (:class:`hlmc.engine.routines.RoutineKernels`) that keeps n sums and then n counts.

    Both numbers of a fresh child are ``fresh``. The counts lie behind the sums, so they move where n changes.
    """
    if slot < 0:
        slot = -1 - slot
    first = 0 if level.n < 2 else level.n
    stop = m
    if level.n < 2:
        pass
    elif m > level.n:
        for k in range(level.n):
            j = level.n - 1 - k  # from behind: the two runs overlap
            level.row[level.at + m + j] = level.row[level.at + level.n + j]
    elif m < level.n:
        level.row[level.at + slot] = level.row[level.at + level.n - 1]
        level.row[level.at + level.n + slot] = level.row[level.at + level.n + level.n - 1]
        for j in range(m):
            level.row[level.at + m + j] = level.row[level.at + level.n + j]
    else:
        first = slot
        stop = slot + 1
    for j in range(first, stop):
        level.row[level.at + j] = fresh
        level.row[level.at + m + j] = fresh


@kernel
def pairs_sound(level: Level, played: int) -> bool:
    """Whether no sum is negative or above its count, no count above what adding up ones can reach, and none of slots
    0 .. played - 1 below 1.
    """
    good = True
    for j in range(level.n):
        count = level.row[level.at + level.n + j]
        good = good and bool(0.0 <= level.row[level.at + j] <= count <= MOST_PLAYS and (count >= 1.0 or j >= played))
    return good


# --- Notes: the mean reward of every slot; 1 / sqrt(n_j) of every slot; the words below; and a list of up to n slots.
# --- To compare all indices is slow, so it is also noted for how long the outcome of the comparison is certain:
# --- * One slot was highest. It is slot AGAIN. Until it has been played more than PLAYS times, it stays highest while
# ---   its rewards sum to more than LEAST + SLOPE times its plays (:func:`_note_lead`). Otherwise PLAYS is -1.
# --- * Several slots with equal statistics were highest. The LEFT of them that have not been played since are on the
# ---   list, in order. They stay highest while each slot that is played falls below FLOOR, by the SPREAD of then, and
# ---   GROWTH times the time is less than ROOM (:func:`tie_stands`). Otherwise LEFT is 0.
# --- AGAIN is the slot selected last. Its mean and 1 / sqrt(n_j) are noted by the next selection that needs them.

AGAIN, LEAST, SLOPE, PLAYS, LEFT, SPREAD, FLOOR, GROWTH, ROOM, LIST = range(10)

FURTHER = 1.25  # how far a lead is looked ahead: to so many times the plays
CHORD = (math.sqrt(FURTHER) - 1.0) / (FURTHER - 1.0)


@kernel
def note_slot(level: Level, slot: int, notes: Array) -> None:
    """Note what the statistics say of a slot."""
    earned = level.row[level.at + slot]
    played = level.row[level.at + level.n + slot]
    notes[slot] = earned / played if played > 0.0 else UNPLAYED
    notes[level.n + slot] = 1.0 / math.sqrt(played) if played > 0.0 else 0.0


@kernel
def note_slots(level: Level, notes: Array) -> None:
    """Note what the statistics say of every slot."""
    for slot in range(level.n):
        note_slot(level, slot, notes)
    notes[2 * level.n + AGAIN] = 0.0
    notes[2 * level.n + PLAYS] = -1.0
    notes[2 * level.n + LEFT] = 0.0


@kernel
def _note_lead(level: Level, slot: int, radius: float, lead: float, second: float, growth: float, notes: Array) -> None:
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
    played = level.row[level.at + level.n + slot]
    slope = second - CHORD * radius + FURTHER * played * growth
    notes[2 * level.n + AGAIN] = slot
    notes[2 * level.n + LEAST] = level.row[level.at + slot] - played * (lead + slope)
    notes[2 * level.n + SLOPE] = slope
    notes[2 * level.n + PLAYS] = FURTHER * played


@kernel
def lead_stands(level: Level, slot: int, notes: Array) -> bool:
    """Whether slot AGAIN is certain to have the highest index still."""
    played = level.row[level.at + level.n + slot]
    return bool(
        played <= notes[2 * level.n + PLAYS]
        and level.row[level.at + slot] > notes[2 * level.n + LEAST] + notes[2 * level.n + SLOPE] * played
    )


@kernel
def tie_stands(n: int, slot: int, tau: int, notes: Array) -> bool:
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
def _next_tied(rule: float, n: int, u: float, notes: Array) -> tuple[int, float]:
    """Choose one of the slots on the list by the tie ``rule``, and take it from the list; its probability."""
    first = 2 * n + LIST
    ties = int(notes[2 * n + LEFT])
    wanted = min(int(u * float(ties)), ties - 1) if rule == RANDOM else ties - 1 if rule == LAST else 0
    slot = int(notes[first + wanted])
    for k in range(first + wanted, first + ties - 1):
        notes[k] = notes[k + 1]
    notes[2 * n + LEFT] = ties - 1
    notes[2 * n + AGAIN] = slot
    return slot, 1.0 / float(ties) if rule == RANDOM else 1.0


@kernel
def noted_best(level: Level, rule: float, tau: int, u: float, notes: Array) -> tuple[int, float]:
    """The slot that choice ``tau`` (from 0) of UCB1 plays, and its probability; ``rule`` says how ties are broken.

    The indices of the notes are exact but for rounding. Where that could decide, the slot is -1: then AGAIN is to be
    set to what the statistics decide.
    """
    if tau < level.n:
        return tau, 1.0
    last = int(notes[2 * level.n + AGAIN])
    if lead_stands(level, last, notes):
        return last, 1.0
    note_slot(level, last, notes)
    if tie_stands(level.n, last, tau, notes):
        return _next_tied(rule, level.n, u, notes)
    notes[2 * level.n + PLAYS] = -1.0
    notes[2 * level.n + LEFT] = 0.0
    spread = math.sqrt(2.0 * logarithm(float(tau) + 1.0))
    best, highest, second, widest = highest_two(notes, level.n, spread)
    growth = widest / ((float(tau) + 1.0) * spread)
    floor = highest - CLEAR * highest
    if second < floor:
        _note_lead(level, best, spread * notes[level.n + best], floor - second, second, growth, notes)
        return best, 1.0
    if unlike_slots(level.row, level.at, level.n, best, notes, spread, floor) > 0:
        return -1, 1.0
    # Slots that have earned the same in as many plays: their indices are equal, however they are rounded.
    ties, below = list_slots(level.n, notes, spread, floor, 2 * level.n + LIST)
    notes[2 * level.n + LEFT] = ties
    notes[2 * level.n + SPREAD] = spread
    notes[2 * level.n + FLOOR] = floor
    notes[2 * level.n + GROWTH] = growth
    notes[2 * level.n + ROOM] = floor - below + float(tau) * growth
    return _next_tied(rule, level.n, u, notes)
