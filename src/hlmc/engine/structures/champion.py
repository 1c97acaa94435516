"""A champion across epochs: one arm that outlives the forgetting and defends itself in every group.

HLMC forgets everything about arms when an epoch ends. Here one arm, the champion, is carried on and plays as slot 0 in
whatever group is chosen, with a prior that grows with its tenure. It is challenged at times, less often the longer it
has reigned, and after every epoch that paid much less than those before it (a crisis): a challenge goes to the groups
in turn and starts from an even prior. Arms are known by their places in a random order.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine.ftrl import LEAST, ftrl_draw, ftrl_leader, ftrl_learn, ftrl_sound, loss_of, normaliser, probability_of
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    CHILDREN,
    COMMON,
    CONTROL,
    COUNT,
    FIELDS,
    FOREVER,
    KEY,
    LENGTH,
    LEVELS,
    PARAMETERS,
    RECORD,
    SCALARS,
    SIZE,
    SUM,
    UNTIL,
    Word,
)
from hlmc.engine.linker import substitute
from hlmc.engine.permutation import permuted
from hlmc.engine.primitives import bits
from hlmc.engine.stream import uniform
from hlmc.engine.structures.base import Structure, whole_within
from hlmc.engine.structures.tree import check_choices, check_groups, check_last_level, stage_of, tree_check_program

Array = np.ndarray

DOUBT, CHALLENGE, TENURE, CRISIS, TURN, PLACE = range(COMMON, COMMON + 6)

HEADER = (
    Word("DOUBT", "the share of the prior that is left to others than the champion"),
    Word("CHALLENGE", "1 while it is being challenged"),
    Word("TENURE", "epochs since it was crowned"),
    Word("CRISIS", "1 when the last epoch paid much less than those before it"),
    Word("TURN", "challenges so far; they go round the groups"),
    Word("PLACE", "its place in the order of the arms, or -1; a statistic"),
)

# The arms' record holds Delta at PARAMETERS, for the contest, and then
LEAST_DOUBT = PARAMETERS + 1  # the least share of an epoch's prior that is left to others than the champion
# A group level's record holds
CHOICES = PARAMETERS  # S: the learning rate is at least 8 / sqrt(S), so that old losses fade

EVEN = 0.5  # the share of the prior that others have in a challenge, and after a coronation
CHALLENGES = 0.25  # a champion of tenure s is challenged with probability 0.25 / sqrt(s + 1)
DECISIVE = 0.65  # who has this probability at the end of a challenge has won it
CALMER = 0.6  # doubt shrinks by this factor when the champion has held its own,
UNEASIER = 1.5  # and grows by this one when it has not
SETTLED = 5  # epochs before a crisis can be told from the noise of the first ones
DEVIATIONS = (
    4.0  # a crisis is a loss of an epoch by so many standard deviations (at most 0.5 / sqrt(steps)) above its mean
)

SPAN_STEPS = PARAMETERS  # Delta, in the arms' record: the learning rate there is 4 / sqrt(Delta + tau)
FADING = 0.02  # a baseline is a mean over about the last 50 losses

DUEL = 63  # the purpose of the random number that decides on a challenge


@kernel
def contest_rate(program: Array, level: int, tau: int) -> float:
    """The learning rate of the contest among the arms before choice ``tau`` (from 0)."""
    return 4.0 / math.sqrt(program[level + SPAN_STEPS] + float(tau) + 1.0)


@kernel
def group_rate(program: Array, level: int, tau: int) -> float:
    """The learning rate of a group level before choice ``tau`` (from 0)."""
    return max(4.0 / math.sqrt(tau + 1.0), 8.0 / math.sqrt(program[level + CHOICES]))


@kernel
def _other(base: int, champion: int, slot: int) -> int:
    """The place of slot 1, 2, ...: the group's places in order, the champion's own left out."""
    place = base + slot - 1
    return place + 1 if base <= champion <= place else place


@kernel
def champion_arm_of(program: Array, row: Array, slot: int) -> int:
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
    rate = 0.0
    if row[PLACE] >= 0.0:
        rate = 1.0 if row[CRISIS] == 1.0 else CHALLENGES / math.sqrt(row[TENURE] + 1.0)
    challenged = uniform(key, t, DUEL) < rate
    turn = int(row[TURN])
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
            row[control + SCALARS] = -2.0 * math.sqrt(float(n)) / group_rate(program, level, 0)
            row[control + SCALARS + 1] = 0.5
        tau = into // stands
        into -= tau * stands
        afresh = into == 0
        if afresh:
            child = 0
            chance = 1.0
            if n > 1:
                eta = group_rate(program, level, tau)
                x = row[control + SCALARS]
                next_in_turn = permuted(key, n, turn % n)
                child, chance = ftrl_draw(row, at, n, eta, x, uniform(key, t, d))
                if challenged:
                    child = next_in_turn
                    chance = probability_of(loss_of(row, at, child), x, eta)
                chance *= 1.0 - rate
                if child == next_in_turn:
                    chance += rate
                    # What this choice tells a level below that chooses now about whether there is a challenge.
                    rate /= chance
                else:
                    rate = 0.0
                turn //= n
                # After a choice that was next to impossible the rate rounds to 1, and would leave nothing to this one.
                chance = max(chance, LEAST)
            row[control + CHILD] = child
            row[control + CHANCE] = chance
            row[control + SUM] = 0.0
            probability *= chance
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
            ftrl_learn(row, at, n, group_rate(program, level, tau), x, child, row[control + CHANCE], loss, mean)
            row[control + SCALARS] = normaliser(row, at, n, group_rate(program, level, tau + 1), x)
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


@kernel
def _check_choices(program: Array, checks: Address, row: Array, level: int, n: int, tau: int, stands: bool) -> bool:
    """Group levels are Tsallis-INF with rates of their own, and their second scalar is a mean of losses."""
    if n < 2:
        return True
    control = int(program[level + CONTROL])
    chance = row[control + CHANCE] if stands else 1.0
    eta = group_rate(program, level, tau)
    sound = ftrl_sound(row, int(program[level + AT]), n, eta, row[control + SCALARS], chance)
    return sound and -0.01 <= row[control + SCALARS + 1] <= 1.01


_check_groups = substitute(check_groups, {check_choices: _check_choices})


@kernel
def champion_check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """As in a tree; and the champion's own words.

    PLACE is a place in the order of the arms. Slot 0 is the champion's: a group has one slot more than arms, for which
    the last level has room, unless the champion is of the group, and then the others skip its place. So every slot
    below COUNT has a place below ARMS. When an epoch has ended, the champion may be another one than it was while COUNT
    was set; no slot is looked up before the next epoch.

    DOUBT is from LEAST_DOUBT to EVEN, so the prior divides by no 0; TENURE and TURN are counts, so the rate of
    challenges is a probability and ``turn % n`` one of the groups; CHALLENGE and CRISIS are 0 or 1.
    """
    arms = int(program[ARMS])
    if not (whole_within(row[PLACE], 0, arms - 1) and whole_within(row[TURN], 0, FOREVER)):
        return False
    if not (whole_within(row[TENURE], 0, FOREVER) and whole_within(row[CHALLENGE], 0, 1)):
        return False
    if not whole_within(row[CRISIS], 0, 1):
        return False
    sound, base, count, began, until, record = _check_groups(program, checks, row, step, running)
    if not (sound and 0.99 * program[record + LEAST_DOUBT] <= row[DOUBT] <= EVEN):
        return False
    if not (base <= row[PLACE] < base + count) or (not running and row[COUNT] == count + 1):
        count += 1
    slots = int(program[record + CHILDREN]) + 1
    return check_last_level(program, checks, row, record, base, count, began, until, slots, running)


CHAMPION = Structure(
    name="champion",
    begin=champion_begin,
    end=champion_end,
    arm_of=champion_arm_of,
    check_row=champion_check_row,
    check_program=tree_check_program,
    header=HEADER,
    extra_slots=1,
    random_order=True,
)
