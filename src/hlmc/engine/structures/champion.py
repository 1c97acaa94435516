"""A champion across epochs: one arm that outlives the forgetting and defends itself in every group.

HLMC forgets everything about arms when an epoch ends. Here one arm, the champion, is carried on and plays as slot 0 in
whatever group is chosen, with a prior that grows while it holds its own. It is challenged at times, less and less
often, and after every epoch that paid much less than those before it (a crisis): a challenge goes to the groups
in turn and starts from a prior that favours it little. Trust must pay: a challenge that paid clearly more than the
usual epoch shows that the prior was misplaced, whichever arm won it, and the champion is doubted as a new one. A
champion that is firm must be beaten twice: an arm that wins against it once meets it again in the next epoch, in a
challenge in the same group. In a crisis once is enough. Arms are known by their places in a random order.

The walk through the levels is the tree's. The theorem (research/champion.md) rests on three things. Challenges are few:
at most 4 sqrt(s) among the first s epochs of a run of the lowest group level. That level does not count them among its
choices and learns nothing from them, so that it runs Tsallis-INF as it is published. The levels above it choose as they
always do.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine import ftrl
from hlmc.engine.ftrl import LEAST
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import (
    ARMS,
    AT,
    BASE,
    BEGAN,
    CHANCE,
    CHILD,
    COMMON,
    CONTROL,
    COUNT,
    CROWNED,
    FIELDS,
    IDLE,
    KEY,
    LENGTH,
    LEVELS,
    MOVED,
    PARAMETERS,
    PENDING,
    REACHED,
    RECORD,
    ROUTINE,
    SCALARS,
    SIZE,
    SUM,
    WHOLE,
    WINDOW,
    Word,
)
from hlmc.engine.linker import substitute
from hlmc.engine.permutation import permuted
from hlmc.engine.primitives import bits, call_select, call_update
from hlmc.engine.stream import uniform
from hlmc.engine.structures.base import (
    choices_counted,
    live_arms,
    unanswered,
)
from hlmc.engine.structures.contest import contest_rate, group_rate, lay_prior, leader, slot_chance
from hlmc.engine.structures.stages import choice_at, stage_of
from hlmc.engine.structures.tree import (
    choose,
    learn,
    start_last,
    tree_begin,
    tree_end,
    weigh_reached,
)
from hlmc.engine.tickets import CHILDREN_AT

Array = np.ndarray

DOUBT, CHALLENGE, CRISIS, TURN, USUAL, SPREAD, PLACE = range(COMMON, COMMON + 7)

UNCHALLENGED, BY_CHANCE, AFTER_CRISIS, IN_REMATCH = range(4)  # what CHALLENGE may hold

# What CRISIS may hold, that is, the reason for which the next epoch is probably a challenge. By chance it may always be
# one. Above REMATCH: arms have joined the last CRISIS - REMATCH groups, and their challenges come before all others.
NO_REASON, PAID_LESS, REMATCH = range(3)

HEADER = (
    Word("DOUBT", "the share of the prior that is left to others than the champion"),
    Word("CHALLENGE", "while it is being challenged: 1 by chance, 2 after a crisis, 3 in a rematch; else 0", WHOLE),
    Word(
        "CRISIS",
        "1 when the last epoch paid much less than those before it, 2 when a rematch is due, "
        "2 + j when the last j groups have newcomers",
        WHOLE,
    ),
    Word("TURN", "challenges since the lowest group level was restarted; they go round its groups", WHOLE),
    Word("USUAL", "mean loss of the last epochs, by which a crisis is told"),
    Word("SPREAD", "mean square of what the last epochs without a challenge lost above or below USUAL"),
    Word("PLACE", "the champion's place in the order of the arms, or -1; a statistic", WHOLE),
)

LEAST_DOUBT = PARAMETERS + 1  # the least share of an epoch's prior that is left to others; in the arms' record

FADING = 0.02  # a baseline is a mean over about the last 50 losses,
RECENT = 0.1  # and the usual loss of epochs one over about the last 10: what trust costs is seen soon after a change
STEADY = 0.001  # the least standard deviation of an epoch's loss that is reckoned with
EVEN = 0.5  # the share of the prior that others have after a coronation,
OPEN = 0.75  # and in a challenge
CHALLENGES = 0.4  # after s epochs of a run of the lowest group level a challenge has probability 0.4 / sqrt(s + 1),
MOST = 4.0  # and there are never more than MOST sqrt(s)
DECISIVE = 0.5  # who has this probability at the end of a challenge has won it
FIRM = 0.1  # a champion that is doubted no more than this is beaten twice before another is crowned
CALMER = 0.6  # doubt shrinks by this factor when the champion has held its own
SETTLED = 5  # epochs before the usual loss is told from the noise of the first ones
DEVIATIONS = 4.0  # a crisis is a loss so many standard deviations (each at most 0.5 / sqrt(steps)) above the usual one
PAYS = 1.5  # a challenge pays more than trust where its loss is so many of those of the last epochs below it
SUREST = 0.9375  # the largest probability of a challenge: no group's choice is certain

SINGLE = ftrl.SINGLE  # what LEAST is in single precision

DUEL = 63  # the purpose of the random number that decides on a challenge


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
    if program[IDLE] > 0.0:
        return place  # an order of a number that changes would change, too
    return permuted(bits(row, KEY), int(program[ARMS]), place)


@kernel
def newcomers(program: Array, row: Array) -> int:
    """The number of groups, the last ones, that arms have joined and that have had no challenge since.

    0 where arms do not come and go.
    """
    return max(0, int(row[CRISIS]) - REMATCH) if program[IDLE] > 0.0 else 0


@kernel
def put_newcomers(row: Array, groups: int) -> None:
    """Say how many of the last groups have newcomers."""
    row[CRISIS] = float(REMATCH + groups) if groups > 0 else float(NO_REASON)


@kernel
def put_crisis(program: Array, row: Array, reason: int) -> None:
    """Say what the reason for the next challenge is, unless newcomers are."""
    if newcomers(program, row) == 0:
        row[CRISIS] = float(reason)


@kernel
def _may_challenge(row: Array, epochs: int) -> bool:
    """Whether one more challenge keeps to the limit after ``epochs`` epochs of a run of the lowest group level."""
    return bool(row[TURN] + 1.0 <= MOST * math.sqrt(epochs + 1.0))


@kernel
def _challenge_rate(row: Array, epochs: int) -> float:
    """The probability of a challenge after ``epochs`` epochs of a run of the lowest group level."""
    if int(row[PLACE]) < 0 or not _may_challenge(row, epochs):
        return 0.0
    return SUREST if int(row[CRISIS]) != NO_REASON else CHALLENGES / math.sqrt(epochs + 1.0)


@kernel
def _decide(program: Array, row: Array, t: int, epochs: int) -> float:
    """Decide before step t whether the champion is challenged; the probability with which it was to be."""
    if epochs == 0:
        row[TURN] = 0.0
        if int(row[CRISIS]) == REMATCH:
            row[CRISIS] = float(NO_REASON)  # the group of the rematch is none of this run's
    rate = _challenge_rate(row, epochs)
    row[CHALLENGE] = float(UNCHALLENGED)
    if uniform(bits(row, KEY), t, DUEL) < rate:
        row[CHALLENGE] = float(BY_CHANCE + (int(row[CRISIS]) if newcomers(program, row) == 0 else NO_REASON))
    return rate


@kernel
def _group_challenged(program: Array, row: Array, t: int, d: int, level: int, n: int) -> int:
    """The group of a challenge: one with newcomers; in a rematch that of the last epoch; else the next in turn.

    A run of the level may have few challenges, so that every run begins one group later than the run before it.
    """
    waiting = newcomers(program, row)
    if waiting > 0:
        return max(0, n - waiting)
    if int(row[CRISIS]) == REMATCH:
        within = int(program[level - FIELDS + SIZE]) if d > 0 else int(program[ARMS])
        return min(int(row[BASE]) % within // int(program[level + SIZE]), n - 1)
    run = 0
    if d > 0:
        _, origin, _ = stage_of(program, t)
        run = (t - origin) // int(program[level - FIELDS + LENGTH])
    return permuted(bits(row, KEY), n, (int(row[TURN]) + run) % n)


@kernel
def _choose(program: Array, row: Array, t: int, d: int, level: int, n: int, control: int, tau: int) -> float:
    """The lowest group level chooses by its routine, or the group that a challenge goes to.

    ``tau`` counts its epochs, of which those with a challenge are no choices of its own. CHANCE is the probability
    that the routine gives the child; the answer is that with which it is reached.
    """
    at = int(program[level + AT])
    u = uniform(bits(row, KEY), t, d)
    if d < int(program[LEVELS]) - 2:
        call_select(int(program[level + ROUTINE]), program, level, row, at, n, control, tau, u)
        return float(row[control + CHANCE])
    rate = _decide(program, row, t, tau)
    turn = int(row[TURN])
    call_select(int(program[level + ROUTINE]), program, level, row, at, n, control, tau - turn, u)
    challenged = _group_challenged(program, row, t, d, level, n)
    if int(row[CHALLENGE]) > 0:
        waiting = newcomers(program, row)
        if waiting > 0:
            put_newcomers(row, waiting - 1)
        row[TURN] += 1.0
        row[control + CHILD] = challenged
        eta = group_rate(program, row, level, control, tau - turn)
        chance = slot_chance(program, row, level, at, n, challenged, row[control + SCALARS], eta, tau - turn)
        row[control + CHANCE] = max(chance, LEAST)
    reached = (1.0 - rate) * float(row[control + CHANCE])
    return reached + (rate if int(row[control + CHILD]) == challenged else 0.0)


@kernel
def _start_last(program: Array, row: Array, record: int, base: int, count: int) -> int:
    """Lay the prior before the first choice of an epoch."""
    return start_contest(program, row, record, base, count, 0)


@kernel
def start_contest(program: Array, row: Array, record: int, base: int, count: int, tau: int) -> int:
    """Before choice ``tau``, the champion, of loss 0, has probability 1 - doubt, and the others share the rest.

    Returns the number of slots.
    """
    control = int(program[record + CONTROL])
    at = int(program[record + AT])
    champion = int(row[PLACE])
    if champion < 0:
        # No arm has won yet: the group's first arm sits in slot 0, and all start even.
        champion = base
        row[PLACE] = base
        n = count
        doubt = 1.0
    else:
        n = count if base <= champion < base + count else count + 1
        doubt = OPEN if row[CHALLENGE] > 0.0 else row[DOUBT]
    doubt = min(doubt, (n - 1.0) / n)
    if n > 1:
        eta = contest_rate(program, record, tau)
        sure = math.sqrt(1.0 - doubt)
        # Never negative by a last digit: among equals, slot 0 is the best.
        behind = max(0.0, 2.0 / eta * (math.sqrt((n - 1.0) / doubt) - 1.0 / sure))
        lay_prior(program, row, record, at, n, control, behind, -2.0 / (eta * sure))
    else:
        row[control + SCALARS + 1] = 0.5
    return n


@kernel
def _learn(program: Array, row: Array, d: int, level: int, n: int, control: int, tau: int, mean: float) -> None:
    """A group level learns; the lowest one only from its own choices."""
    own = tau
    if d == int(program[LEVELS]) - 2:
        if int(row[CHALLENGE]) > 0:
            return
        own = tau - int(row[TURN])
    call_update(int(program[level + ROUTINE]), program, level, row, int(program[level + AT]), n, control, own, mean)


_tree_begin = substitute(tree_begin, {choose: _choose, start_last: _start_last})
_tree_end = substitute(tree_end, {learn: _learn})


@kernel
def champion_begin(program: Array, row: Array, t: int) -> float:
    """Choose the groups that fall due before step t and lay the arms' prior; the probability of those choices."""
    stage, origin, _ = stage_of(program, t)
    if t == 0:
        row[PLACE] = -1.0
    if t == origin:
        row[USUAL] = 0.5
        row[SPREAD] = 0.25
        row[DOUBT] = EVEN
        row[CRISIS] = float(NO_REASON)
    # Where the lowest group level has a choice it decides on a challenge too. Until then there is none.
    row[CHALLENGE] = float(UNCHALLENGED)
    reigns = int(row[PLACE]) >= 0
    probability = float(_tree_begin(program, row, t))
    if program[PENDING] > 0.0:
        window = int(program[WINDOW])
        row[window + CROWNED] = _way_to_champion(program, row, t, stage, origin) if reigns else row[window + REACHED]
    return probability


@kernel
def _way_to_champion(program: Array, row: Array, t: int, stage: int, origin: int) -> float:
    """The chance of the choices that stood before step t, if the champion is in the group that they lead to; or 0.

    Whatever is chosen now, the champion plays. But whether it is champion may depend on choices that stand: of the
    groups that they could have led to, exactly one has it as its own, and there it gets its weight.
    """
    if t < int(row[int(program[WINDOW]) + MOVED]):
        return 0.0
    levels = int(program[LEVELS])
    into = t - origin
    base = 0
    count = live_arms(program, row)
    chance = 1.0
    level = FIELDS * (1 + stage * levels)
    for _ in range(levels - 1):
        choice = choice_at(program, level, count, into)
        into = choice.into
        if into == 0:
            break
        child = int(row[choice.control + CHILD])
        chance *= row[choice.control + CHANCE]
        base += child * choice.size
        count = min(choice.size, count - child * choice.size)
        level += FIELDS
    return chance if base <= int(row[PLACE]) < base + count else 0.0


@kernel
def champion_weigh(program: Array, row: Array, t: int, ticket: Array) -> None:
    """As in a tree, where a group counts all ways to it, challenges too; but the champion plays in every group."""
    window = int(program[WINDOW])
    control = int(program[int(row[RECORD]) + CONTROL])
    crowned = int(row[COUNT]) < 2 or int(row[control + CHILD]) == 0
    weigh_reached(program, row, t, ticket, row[window + CROWNED] if crowned else row[window + REACHED])


@kernel
def _tell_crisis(program: Array, row: Array, t: int) -> None:
    """Whether the epoch that ends at time t paid much less than those before it, in this run and in earlier ones.

    And whether a challenge paid clearly more: then the champion is not trusted any longer, whichever arm has won it.
    What is clear depends on how much the last epochs without a challenge differed: where rewards hardly vary, a small
    difference is.
    """
    record = int(row[RECORD])
    began = int(row[BEGAN])
    _, origin, _ = stage_of(program, began)
    epochs = (began - origin) // int(program[record - FIELDS + LENGTH])  # of the stage, before this one
    told = float(t - began) - unanswered(program, row)  # rewards that have come
    worse = False
    if told > 0.0:
        above = 1.0 - min(1.0, row[int(program[record + CONTROL]) + SUM] / told) - row[USUAL]
        most = 0.5 / math.sqrt(told)  # the standard deviation of a mean of fair coins
        worse = above > DEVIATIONS * most and epochs >= SETTLED
        rate = max(1.0 / (epochs + 2.0), RECENT)
        if row[CHALLENGE] == 0.0:
            row[SPREAD] += rate * (above * above - row[SPREAD])
        elif above < -PAYS * min(most, max(STEADY, math.sqrt(row[SPREAD]))) and epochs >= SETTLED:
            row[DOUBT] = EVEN
        row[USUAL] += rate * above
    put_crisis(program, row, PAID_LESS if worse else NO_REASON)


@kernel
def champion_end(program: Array, row: Array, t: int) -> None:
    """The epoch is over: the group levels learn, and the winner is champion."""
    _tell_crisis(program, row, t)
    _tree_end(program, row, t)
    if int(row[COUNT]) > 1:
        _crown(program, row, int(row[RECORD]), t)


@kernel
def champion_note(program: Array, row: Array, ticket: Array) -> None:
    """The lowest group level learns nothing from a challenge, and no more when a reward of it comes late."""
    levels = int(program[LEVELS])
    if levels > 1 and row[CHALLENGE] > 0.0:
        ticket[CHILDREN_AT + levels + levels - 2] = 0.0


@kernel
def lowest_groups(program: Array, level: int) -> bool:
    """Whether a record is that of the lowest group level, which decides on challenges."""
    levels = int(program[LEVELS])
    return (level // FIELDS - 1) % levels == levels - 2


@kernel
def choices_of_its_own(program: Array, row: Array, level: int, tau: int, stands: bool) -> int:
    """Of the lowest group level's ``tau`` epochs those without a challenge.

    A challenge that ``stands`` is counted in TURN already, and not yet in ``tau``.
    """
    if not lowest_groups(program, level):
        return tau
    return tau - int(row[TURN]) + (1 if stands and row[CHALLENGE] > 0.0 else 0)


@kernel
def _may_follow(program: Array, row: Array, record: int, t: int) -> bool:
    """Whether the epoch that ends at time t can be followed by a challenge."""
    levels = int(program[LEVELS])
    if levels < 2:
        return False
    _, origin, _ = stage_of(program, t - 1)
    into = t - 1 - origin
    if levels > 2:
        into %= int(program[record - 2 * FIELDS + LENGTH])  # steps since the run of the lowest group level began
    return _may_challenge(row, into // int(program[record - FIELDS + LENGTH]) + 1)


@kernel
def _crown(program: Array, row: Array, record: int, t: int) -> None:
    """The winner of the epoch is champion, or meets a firm one again; a champion that holds its own is doubted less."""
    at = int(program[record + AT])
    x = row[int(program[record + CONTROL]) + SCALARS]
    eta = contest_rate(program, record, choices_counted(program, row, record, t))
    n = int(row[COUNT])
    best = leader(program, row, record, at, n)
    challenge = int(row[CHALLENGE])
    chance = slot_chance(program, row, record, at, n, best, x, eta, 0)
    beaten = best != 0 and (challenge == UNCHALLENGED or chance >= DECISIVE)
    firm = row[DOUBT] <= FIRM and challenge < AFTER_CRISIS and int(row[CRISIS]) == NO_REASON
    if beaten and firm and _may_follow(program, row, record, t):
        row[CRISIS] = float(REMATCH)
    elif beaten:
        row[PLACE] = _other(int(row[BASE]), int(row[PLACE]), best)
        row[DOUBT] = EVEN
        put_crisis(program, row, NO_REASON)
    elif challenge == UNCHALLENGED and chance >= DECISIVE:  # the champion has held its own
        row[DOUBT] = max(program[record + LEAST_DOUBT], CALMER * row[DOUBT])
