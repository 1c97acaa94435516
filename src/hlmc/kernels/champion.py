"""A champion across epochs: one arm that outlives the forgetting and defends itself in every group.

HLMC forgets everything about arms when an epoch ends. Here one arm, the champion, is carried on and plays as slot 0 in whatever
group is chosen, with a prior that grows with its tenure. Now and then it is challenged: the group is drawn uniformly and
the prior is even.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.kernels.build import kernel
from hlmc.kernels.ftrl import ftrl_draw, ftrl_learn, loss_of, normaliser, probability_of
from hlmc.kernels.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHALLENGE,
    CHANCE,
    CHILD,
    CONTROL,
    COUNT,
    DOUBT,
    FIELDS,
    KEY,
    LENGTH,
    LEVELS,
    PARAMETERS,
    PLACE,
    RECORD,
    SCALARS,
    SIZE,
    SPAN,
    SUM,
    TENURE,
    UNTIL,
)
from hlmc.kernels.native import bits
from hlmc.kernels.permutation import permuted
from hlmc.kernels.stream import uniform
from hlmc.kernels.tree import stage_of
from hlmc.routines.contest import FADING, contest_rate

Array = np.ndarray

# The arms' record: Delta at PARAMETERS, then
LEAST_DOUBT = PARAMETERS + 1  # the least share of an epoch's prior that is left to others than the champion
CHALLENGES = (
    PARAMETERS + 2
)  # a champion of tenure s is challenged with probability this / sqrt(s), at most 1/2
FADE = PARAMETERS + 3
WIN = PARAMETERS + 4
# A group level's record:
CHOICES = PARAMETERS  # S: the learning rate is at least 8 / sqrt(S)

DUEL = 62  # the purposes of the numbers that decide on a challenge, and on whom
PICK = 63


@kernel
def group_rate(program: Array, level: int, tau: int) -> float:
    """The learning rate of a group level before choice ``tau`` (from 0)."""
    return max(4.0 / math.sqrt(tau + 1.0), 8.0 / math.sqrt(program[level + CHOICES]))


@kernel
def challenge_rate(program: Array, record: int, tenure: float) -> float:
    """The probability that the next epoch is a challenge."""
    return min(0.5, program[record + CHALLENGES] / math.sqrt(tenure + 1.0))


@kernel
def champion_arm(program: Array, row: Array, slot: int) -> int:
    """The arm of a slot: the champion first, then the group without it. Arms are known by their places in a random order."""
    place = int(row[PLACE])
    if slot > 0:
        base = int(row[BASE])
        other = base + slot - 1
        place = other + 1 if base <= place <= other else other
    return permuted(bits(row, KEY), int(program[ARMS]), place)


@kernel
def champion_begin(program: Array, row: Array, t: int) -> float:
    """Choose the groups that fall due before step t and lay the arms' prior; the probability of those choices."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t)
    local = t - origin
    key = bits(row, KEY)
    level = FIELDS * (1 + stage * levels)
    record = level + FIELDS * (levels - 1)
    if t == 0:
        row[PLACE] = -1.0
        row[TENURE] = 0.0
    if local == 0:
        row[DOUBT] = 0.5
    rate = 0.0
    if row[PLACE] >= 0.0 and levels > 1:
        rate = challenge_rate(program, record, row[TENURE])
    challenged = uniform(key, t, DUEL) < rate
    base = 0
    count = int(program[ARMS])
    probability = 1.0
    afresh = local == 0
    until = length
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        n = (count + size - 1) // size
        if afresh:
            for j in range(at, at + n - 1):
                row[j] = 0.0
            row[control + SCALARS] = -2.0 * math.sqrt(float(n)) / group_rate(program, level, 0)
            row[control + SCALARS + 1] = 0.5
        afresh = local % stands == 0
        if afresh:
            child = 0
            chance = 1.0
            if n > 1:
                tau = (local % int(program[level + SPAN])) // stands
                eta = group_rate(program, level, tau)
                x = row[control + SCALARS]
                if challenged:
                    child = min(int(uniform(key, t, PICK - 2 - d) * n), n - 1)
                    chance = probability_of(loss_of(row, at, child), x, eta)
                else:
                    child, chance = ftrl_draw(row, at, n, eta, x, uniform(key, t, d))
                chance = (1.0 - rate) * chance + rate / n
            row[control + CHILD] = child
            row[control + CHANCE] = chance
            row[control + SUM] = 0.0
            probability *= chance
        base += int(row[control + CHILD]) * size
        count = min(size, count - int(row[control + CHILD]) * size)
        until = min(until, (local // stands + 1) * stands)
        level += FIELDS
    control = int(program[record + CONTROL])
    at = int(program[record + AT])
    if row[PLACE] < 0.0:
        # Nobody has won yet: the first arm of the group sits in slot 0, and all start even.
        row[PLACE] = base
        n = count
        prior = (n - 1.0) / n
    else:
        n = count if base <= int(row[PLACE]) < base + count else count + 1
        prior = min(0.5 if challenged else row[DOUBT], (n - 1.0) / n)
    eta = contest_rate(program, record, 0)
    offset = 0.0
    if n > 1:
        offset = 2.0 / eta * (math.sqrt((n - 1.0) / prior) - 1.0 / math.sqrt(1.0 - prior))
        for j in range(at, at + n - 1):
            row[j] = offset
        # slot 0 has loss 0 and probability 1 - prior: 4 / (eta x)^2 = 1 - prior
        row[control + SCALARS] = -2.0 / (eta * math.sqrt(1.0 - prior))
    row[control + SCALARS + 1] = 0.5
    row[control + SUM] = 0.0
    row[CHALLENGE] = 1.0 if challenged else 0.0
    row[RECORD] = record
    row[BASE] = base
    row[COUNT] = n
    row[BEGAN] = t
    row[UNTIL] = origin + until
    return probability


@kernel
def champion_end(program: Array, row: Array, t: int) -> None:
    """The epoch is over: teach the group levels, and see who is champion now."""
    levels = int(program[LEVELS])
    stage, origin, length = stage_of(program, t - 1)
    local = t - origin
    level = FIELDS * (1 + stage * levels)
    record = int(row[RECORD])
    earned = row[int(program[record + CONTROL]) + SUM]
    count = int(program[ARMS])
    for _ in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        n = (count + size - 1) // size
        child = int(row[control + CHILD])
        row[control + SUM] += earned
        if (local % stands == 0 or local == length) and n > 1:
            before = local - 1
            tau = (before % int(program[level + SPAN])) // stands
            loss = 1.0 - min(1.0, row[control + SUM] / (before % stands + 1))
            x = row[control + SCALARS]
            baseline = row[control + SCALARS + 1]
            ftrl_learn(
                row, at, n, group_rate(program, level, tau), x, child, row[control + CHANCE], loss, baseline
            )
            row[control + SCALARS] = normaliser(row, at, n, group_rate(program, level, tau + 1), x)
            row[control + SCALARS + 1] = baseline + max(1.0 / (tau + 2.0), FADING) * (loss - baseline)
        count = min(size, count - child * size)
        level += FIELDS
    _crown(program, row, record, t)


@kernel
def _crown(program: Array, row: Array, record: int, t: int) -> None:
    n = int(row[COUNT])
    row[TENURE] += 1.0
    if n < 2:
        return
    at = int(program[record + AT])
    x = row[int(program[record + CONTROL]) + SCALARS]
    eta = contest_rate(program, record, t - int(row[BEGAN]))
    best = 0
    least = 0.0
    for j in range(1, n):
        if row[at + j - 1] < least:
            least = row[at + j - 1]
            best = j
    challenged = row[CHALLENGE] == 1.0
    if best != 0 and (not challenged or probability_of(least, x, eta) >= program[record + WIN]):
        place = int(row[PLACE])
        base = int(row[BASE])
        other = base + best - 1
        row[PLACE] = other + 1 if base <= place <= other else other
        row[DOUBT] = 0.5
        row[TENURE] = 0.0
    elif not challenged:
        p = probability_of(0.0, x, eta)
        if p >= 0.5:
            row[DOUBT] = max(program[record + LEAST_DOUBT], program[record + FADE] * row[DOUBT])
        elif p < 0.25:
            row[DOUBT] = min(0.5, 1.5 * row[DOUBT])
