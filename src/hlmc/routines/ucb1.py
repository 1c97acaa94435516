"""UCB1: the highest upper confidence bound, for stochastic rewards (Auer, Cesa-Bianchi and Fischer, 2002).

It has no guarantee against an adversary. Two words per child: the sum of its rewards and its number of plays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hlmc.checks import choice
from hlmc.engine.arithmetic import logarithm
from hlmc.engine.coded_ucb import (
    base_less_one,
    coded_index,
    coded_play,
    coded_plays_sound,
    coded_start,
    note_coded_slot,
    note_coded_slots,
    noted_coded_index,
)
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import IDLE, LAST, PARAMETERS, PENDING, RANDOM, WIDTH
from hlmc.engine.linker import Substitutions, substitute_where_used
from hlmc.engine.records import Level
from hlmc.engine.routines import NotedKernels
from hlmc.engine.ucb import AGAIN, note_slot, note_slots, noted_best, pairs_change, pairs_play, pairs_sound, pairs_start
from hlmc.routines.base import Array, Kernels, LevelContext, Routine
from hlmc.routines.coded import MOST_BITS

TIE = PARAMETERS
INFINITE = math.inf  # the index of a slot before its first reward
TIES = ("random", "first", "last")
COUNT_BITS = 8  # bits of a coded count where there are enough: the radius depends on the count only by the root


# Hooks of the store. Defaults: sums and counts are words. ``notes`` is memory in which a loop keeps what follows from
# the row, or without any the row itself. ``b`` is the second scalar: 0; of codes, the seed of their roundings.


@kernel
def ucb1_index(level: Level, notes: Array, slot: int, twice_log: float) -> float:
    """Mean reward of a slot plus its confidence radius, sqrt(2 ln t / n_j); infinite before its first reward."""
    earned: float = level.row[level.at + slot]
    played: float = level.row[level.at + level.n + slot]
    if played == 0.0:
        return INFINITE
    return earned / played + math.sqrt(twice_log / played)


@kernel
def add_play(level: Level, b: float, slot: int, reward: float) -> float:
    """Count a play and its reward; the second scalar then."""
    return pairs_play(level, b, slot, reward)


@kernel
def plays_sound(level: Level, b: float, played: int) -> bool:
    """Whether the statistics can be those of plays, of which slots 0 .. played - 1 have some."""
    return pairs_sound(level, played)


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
    return a, add_play(level, b, slot, reward)


@kernel
def ucb1_noted_select(level: Level, a: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float, float]:
    """By the notes; where rounding could decide, by the statistics."""
    slot, chance = noted_best(level, level.program[level.record + TIE], tau, u, notes)
    if slot < 0:
        slot, chance = ucb1_select(level, a, b, tau, u)
        notes[2 * level.n + AGAIN] = slot
    return slot, chance, a


@kernel
def ucb1_noted_update(
    level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float, notes: Array
) -> tuple[float, float]:
    """Count the play and its reward, and note the first play of a slot: :func:`ucb1_noted_select` notes the others."""
    a, b = ucb1_update(level, a, b, tau, slot, chance, reward)
    if tau < level.n:
        note_slot(level, slot, notes)
    return a, b


@kernel
def ucb1_check(level: Level, a: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """The first n choices were the slots in turn, and have been learned from, unless rewards may come late or children
    may join: then a slot that was not played has an index that is not finite."""
    late = level.program[PENDING] > 0.0 or level.program[IDLE] > 0.0
    played = plays_sound(level, b, 0 if late else tau)
    return played and (slot < 0 or tau >= level.n or slot == tau or level.program[IDLE] > 0.0)


@kernel
def ucb1_change(level: Level, m: int, slot: int, a: float, b: float, tau: int) -> tuple[float, float]:
    """A fresh child has been played once and paid 1."""
    pairs_change(level, m, slot, 1.0)
    return a, b


# Where counts and means are codes (:mod:`hlmc.engine.coded_ucb`), their indices are noted, and no more is.


@kernel
def _noted_select(level: Level, a: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float, float]:
    """The slot of the highest index, by the notes."""
    slot, chance = ucb1_best(level, a, b, tau, u, notes)
    return slot, chance, a


@kernel
def _noted_update(
    level: Level, a: float, seed: float, tau: int, slot: int, chance: float, reward: float, notes: Array
) -> tuple[float, float]:
    """Count the play and its reward, and note them."""
    a, seed = ucb1_update(level, a, seed, tau, slot, chance, reward)
    note_coded_slot(level, slot, notes)
    return a, seed


CODES: Substitutions = {ucb1_index: coded_index, add_play: coded_play, plays_sound: coded_plays_sound}
"""What stands for the hooks where counts and means are codes."""

NOTED_CODES: Substitutions = {**CODES, ucb1_index: noted_coded_index}


def widths(bits: int) -> tuple[int, int]:
    """Bits of the count and of the mean of a slot, 2 ``bits`` in all.

    >>> [widths(bits) for bits in (4, 8, 12, 20, 32)]
    [(4, 4), (8, 8), (8, 16), (8, 32), (32, 32)]
    """
    mean = min(MOST_BITS, 2 * bits - min(bits, COUNT_BITS))
    return 2 * bits - mean, mean


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
    words_each: ClassVar[int] = 2
    anytime: ClassVar[bool] = True
    full_support: ClassVar[bool] = False
    kernels: ClassVar[Kernels] = Kernels(
        pairs_start,
        ucb1_select,
        ucb1_update,
        ucb1_check,
        NotedKernels(note_slots, ucb1_noted_select, ucb1_noted_update, per_slot=8),
        change=ucb1_change,
    )
    coded: ClassVar[Kernels] = Kernels(
        coded_start,
        substitute_where_used(ucb1_select, CODES),
        substitute_where_used(ucb1_update, CODES),
        substitute_where_used(ucb1_check, CODES),
        NotedKernels(
            note_coded_slots,
            substitute_where_used(_noted_select, NOTED_CODES),
            substitute_where_used(_noted_update, NOTED_CODES),
            per_slot=2,
        ),
    )

    def __post_init__(self) -> None:
        if self.ties is not None:
            choice("ties", self.ties, *TIES)

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return (float(TIES.index(self.ties or "random")),)

    def coded_words(self, n: int, bits: int) -> int:
        return sum(-(-n * width // 64) for width in widths(bits)) if n > 1 else 0

    def coded_packed(self, context: LevelContext, bits: int) -> tuple[float, ...]:
        count, mean = widths(bits)
        a = base_less_one(count)
        tie, *_, width, inverse = super().coded_packed(context, count)
        own = tie, math.log1p(a), 1.0 / a, float(mean)  # GROWTH, SHRINK and MEAN_WIDTH follow TIE
        return *own, *(0.0,) * (WIDTH - PARAMETERS - len(own)), width, inverse
