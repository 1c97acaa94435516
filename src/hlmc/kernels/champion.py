"""A champion across epochs: one arm that outlives the forgetting and defends itself in every group.

HLMC forgets everything about arms when an epoch ends. Here one arm, the champion, is carried on and plays as slot 0 in
whatever group is chosen, with a prior that grows with its tenure. It is challenged at times, less often the longer it
has reigned, and after every epoch that paid much less than those before it (a crisis): a challenge goes to the groups
in turn and starts from an even prior. Arms are known by their places in a random order.

The theorem in docs/champion.md rests on three things. Challenges are few: at most 4 sqrt(s) among the first s choices
of a run of the lowest group level. That level learns nothing from them, so that its own choices are those of
Tsallis-INF. The levels above it choose as they always do.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.kernels.build import kernel
from hlmc.kernels.ftrl import ftrl_draw, ftrl_leader, ftrl_learn, loss_of, normaliser, probability_of
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
    CRISIS,
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
    TURN,
    UNTIL,
)
from hlmc.kernels.native import bits
from hlmc.kernels.permutation import permuted
from hlmc.kernels.stream import uniform
from hlmc.kernels.tree import stage_of
from hlmc.routines.contest import FADING, contest_rate

Array = np.ndarray

# The arms' record holds Delta at PARAMETERS, for the contest, and then
LEAST_DOUBT = PARAMETERS + 1  # the least share of an epoch's prior that is left to others than the champion

BASELINE = 0.5  # of the group levels' estimates: they run Tsallis-INF with reduced variance, as it is published
EVEN = 0.5  # the share of the prior that others have in a challenge, and after a coronation
CHALLENGES = 0.25  # a champion of tenure s is challenged with probability 0.25 / sqrt(s + 1),
MOST = 4.0  # and never more than MOST sqrt(s) times in s choices of a run of the lowest group level
DECISIVE = 0.65  # who has this probability at the end of a challenge has won it
CALMER = 0.6  # doubt shrinks by this factor when the champion has held its own,
UNEASIER = 1.5  # and grows by this one when it has not
SETTLED = 5  # epochs before a crisis can be told from the noise of the first ones
DEVIATIONS = (
    4.0  # a crisis is a loss of an epoch by so many standard deviations (at most 0.5 / sqrt(steps)) above its mean
)

DUEL = 63  # the purpose of the random number that decides on a challenge


@kernel
def group_rate(tau: int) -> float:
    """The learning rate of a group level before choice ``tau`` (from 0)."""
    return 4.0 / math.sqrt(tau + 1.0)


@kernel
def _other(base: int, champion: int, slot: int) -> int:
    """The place of slot 1, 2, ...: the group's places in order, the champion's own left out."""
    place = base + slot - 1
    return place + 1 if base <= champion <= place else place


@kernel
def champion_arm(program: Array, row: Array, slot: int) -> int:
    """The arm of a slot: the champion first, then the group without it."""
    place = int(row[PLACE])
    if slot > 0:
        place = _other(int(row[BASE]), place, slot)
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
    if local == 0:
        row[DOUBT] = EVEN
        row[TENURE] = 0.0
        row[CRISIS] = 0.0
    # The choices that the lowest group level has made since it was restarted; with one level there is no such level.
    lowest = record - FIELDS
    made = local % int(program[lowest + SPAN]) // int(program[lowest + LENGTH]) if levels > 1 else 0
    if made == 0:
        row[TURN] = 0.0
    rate = 0.0
    if row[PLACE] >= 0.0 and row[TURN] + 1.0 <= MOST * math.sqrt(made + 1.0):
        rate = 1.0 if row[CRISIS] == 1.0 else CHALLENGES / math.sqrt(row[TENURE] + 1.0)
    challenged = uniform(key, t, DUEL) < rate
    base = 0
    count = int(program[ARMS])
    probability = 1.0
    afresh = local == 0
    until = length
    into = local  # steps since the choice above was made
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        n = (count + size - 1) // size
        if afresh:
            for j in range(at, at + n - 1):
                row[j] = 0.0
            row[control + SCALARS] = -2.0 * math.sqrt(float(n)) / group_rate(0)
            row[control + SCALARS + 1] = 0.5
        tau = into // stands
        into -= tau * stands
        afresh = into == 0
        if afresh:
            child = 0
            chance = 1.0
            reached = 1.0  # the probability of this child, whether there is a challenge being part of the chance
            if n > 1:
                eta = group_rate(tau)
                x = row[control + SCALARS]
                child, chance = ftrl_draw(row, at, n, eta, x, uniform(key, t, d))
                reached = chance
                if level == lowest:
                    next_in_turn = permuted(key, n, int(row[TURN]) % n)
                    if challenged:
                        child = next_in_turn
                        chance = probability_of(loss_of(row, at, child), x, eta)
                    reached = (1.0 - rate) * chance + (rate if child == next_in_turn else 0.0)
            row[control + CHILD] = child
            row[control + CHANCE] = chance
            row[control + SUM] = 0.0
            probability *= reached
        base += int(row[control + CHILD]) * size
        count = min(size, count - int(row[control + CHILD]) * size)
        until = min(until, local - into + stands)
        level += FIELDS
    if challenged:
        row[TURN] += 1.0
    row[CHALLENGE] = 1.0 if challenged else 0.0
    row[RECORD] = record
    row[BASE] = base
    row[BEGAN] = t
    row[UNTIL] = origin + until
    _lay_prior(program, row, record, base, count)
    return probability


@kernel
def _lay_prior(program: Array, row: Array, record: int, base: int, count: int) -> None:
    """The champion, of loss 0, has probability 1 - doubt, and the others share the rest."""
    control = int(program[record + CONTROL])
    at = int(program[record + AT])
    champion = int(row[PLACE])
    if champion < 0:
        # Nobody has won yet: the group's first arm sits in slot 0, and all start even.
        champion = base
        row[PLACE] = base
        n = count
        doubt = 1.0
    else:
        n = count if base <= champion < base + count else count + 1
        doubt = EVEN if row[CHALLENGE] == 1.0 else row[DOUBT]
    doubt = min(doubt, (n - 1.0) / n)
    if n > 1:
        eta = contest_rate(program, record, 0)
        sure = math.sqrt(1.0 - doubt)
        # Never negative by a last digit: among equals, slot 0 is the best.
        behind = max(0.0, 2.0 / eta * (math.sqrt((n - 1.0) / doubt) - 1.0 / sure))
        for j in range(at, at + n - 1):
            row[j] = behind
        row[control + SCALARS] = -2.0 / (eta * sure)
    row[control + SCALARS + 1] = 0.5
    row[control + SUM] = 0.0
    row[COUNT] = n


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
    into = local - 1  # steps since the choice above was made, but for the last
    for d in range(levels - 1):
        control = int(program[level + CONTROL])
        at = int(program[level + AT])
        size = int(program[level + SIZE])
        stands = int(program[level + LENGTH])
        n = (count + size - 1) // size
        child = int(row[control + CHILD])
        tau = into // stands
        into -= tau * stands
        steps = into + 1
        row[control + SUM] += earned
        if (steps == stands or local == length) and n > 1:
            loss = 1.0 - min(1.0, row[control + SUM] / steps)
            x = row[control + SCALARS]
            mean = row[control + SCALARS + 1]
            if d == levels - 2:
                worse = loss - mean > DEVIATIONS * 0.5 / math.sqrt(float(steps))
                row[CRISIS] = 1.0 if worse and tau >= SETTLED else 0.0
            # The lowest level made no choice of its own in a challenge, and learns nothing from it.
            if d < levels - 2 or row[CHALLENGE] == 0.0:
                ftrl_learn(row, at, n, group_rate(tau), x, child, row[control + CHANCE], loss, BASELINE)
            row[control + SCALARS] = normaliser(row, at, n, group_rate(tau + 1), x)
            row[control + SCALARS + 1] = mean + max(1.0 / (tau + 2.0), FADING) * (loss - mean)
        count = min(size, count - child * size)
        level += FIELDS
    row[TENURE] += 1.0
    if int(row[COUNT]) > 1:
        _crown(program, row, record, t)


@kernel
def _crown(program: Array, row: Array, record: int, t: int) -> None:
    """The winner of the epoch is champion; if that is the old one, it is doubted less, or more, than before."""
    at = int(program[record + AT])
    x = row[int(program[record + CONTROL]) + SCALARS]
    eta = contest_rate(program, record, t - int(row[BEGAN]))
    best = ftrl_leader(row, at, int(row[COUNT]))
    challenged = row[CHALLENGE] == 1.0
    if best != 0 and (not challenged or probability_of(loss_of(row, at, best), x, eta) >= DECISIVE):
        row[PLACE] = _other(int(row[BASE]), int(row[PLACE]), best)
        row[DOUBT] = EVEN
        row[TENURE] = 0.0
        row[CRISIS] = 0.0
    elif not challenged:
        held = probability_of(0.0, x, eta)
        if held >= 0.5:
            row[DOUBT] = max(program[record + LEAST_DOUBT], CALMER * row[DOUBT])
        elif held < 0.25:
            row[DOUBT] = min(EVEN, UNEASIER * row[DOUBT])
