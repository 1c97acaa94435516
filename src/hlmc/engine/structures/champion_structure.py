"""The champion as a structure: the rule (:mod:`hlmc.engine.structures.champion`), arms that come and go, and the check
of rows from outside.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARMS,
    CHILDREN,
    COUNT,
    CROWNED,
    FIELDS,
    FOREVER,
    IDLE,
    LEVELS,
    PENDING,
    REACHED,
    SIZE,
    TIME,
    WINDOW,
)
from hlmc.engine.linker import substitute
from hlmc.engine.records import Change
from hlmc.engine.structures.base import (
    Structure,
    change_level,
    check_routine,
    choices_counted,
    live_arms,
    whole_within,
)
from hlmc.engine.structures.champion import (
    CHALLENGE,
    CRISIS,
    DOUBT,
    EVEN,
    HEADER,
    IN_REMATCH,
    LEAST_DOUBT,
    NO_REASON,
    PLACE,
    REMATCH,
    SPREAD,
    TURN,
    UNCHALLENGED,
    USUAL,
    champion_arm_of,
    champion_begin,
    champion_end,
    champion_note,
    champion_weigh,
    choices_of_its_own,
    lowest_groups,
    newcomers,
    put_crisis,
    put_newcomers,
    start_contest,
)
from hlmc.engine.structures.tree import change_arms, change_groups, own_choices, tree_change, tree_late
from hlmc.engine.structures.tree_checks import check_choices, check_groups, check_last_level, tree_check_program

Array = np.ndarray


@kernel
def _change_groups(
    program: Array, changes: Address, row: Array, level: int, n: int, m: int, slot: int, tau: int, stands: bool
) -> None:
    """As in a tree; but of the lowest group level's ``tau`` epochs those with a challenge are no choices of its own."""
    if n < 2 and lowest_groups(program, level):
        # With one group no challenge has been decided on, and these words are older than the run.
        row[TURN] = 0.0
        row[CHALLENGE] = float(UNCHALLENGED)
    change_level(program, changes, row, level, n, m, slot, choices_of_its_own(program, row, level, tau, stands))


@kernel
def _change_arms(program: Array, changes: Address, row: Array, record: int, base: int, change: Change) -> None:
    """A champion that leaves or is forgotten abdicates; one that moves stays champion; one that newcomers have not yet
    challenged is doubted.

    Between epochs no arm is champion after an abdication. In an epoch the contest starts afresh if its arms have
    changed. (Where there is one level there is no champion.)
    """
    champion = int(row[PLACE])
    abdicates = champion >= 0 and change.arm == champion
    follows = change.last >= 0 and champion == change.last and change.arm != change.last
    if abdicates or change.arm < 0:
        row[DOUBT] = EVEN
        put_crisis(program, row, NO_REASON)
    if abdicates:
        row[PLACE] = -1.0
        if program[PENDING] > 0.0:  # slot 0 is the group's own from now on
            row[int(program[WINDOW]) + CROWNED] = row[int(program[WINDOW]) + REACHED]
    elif follows:
        row[PLACE] = change.arm
    if not change.running:
        row[COUNT] = change.after if base <= row[PLACE] < base + change.after else change.after + 1
    elif (
        change.moved
        or abdicates
        or follows
        or change.before != change.after
        or base <= change.arm < base + change.before
    ):
        tau = choices_counted(program, row, record, int(row[TIME]))
        row[COUNT] = start_contest(program, row, record, base, change.after, tau)


_tree_change = substitute(tree_change, {change_groups: _change_groups, change_arms: _change_arms})


@kernel
def champion_change(
    program: Array, changes: Address, row: Array, step: int, running: bool, live: int, arm: int
) -> None:
    """As in a tree; and where one level chooses groups, those that have newcomers are the next to challenge.

    They are the last ones, so CRISIS counts them from behind, with those that have not had their turn since before.
    """
    before = live_arms(program, row)
    _tree_change(program, changes, row, step, running, live, arm)
    levels = int(program[LEVELS])
    if live > before and (levels == 2 or (levels == 3 and program[FIELDS + SIZE] >= program[ARMS])):
        size = int(program[(levels - 1) * FIELDS + SIZE])
        # The group that the first newcomer joins, or the first of those that wait already.
        first = min(before // size, max(0, (before + size - 1) // size - newcomers(program, row)))
        put_newcomers(row, (live + size - 1) // size - first)


@kernel
def _check_choices(program: Array, checks: Address, row: Array, level: int, n: int, tau: int, stands: bool) -> bool:
    """As in a tree; but of the lowest group level's ``tau`` epochs those with a challenge are no choices of its own."""
    own = choices_of_its_own(program, row, level, tau, stands) if n > 1 else tau
    return own >= 0 and check_routine(program, checks, row, level, n, own, stands)


_check_groups = substitute(check_groups, {check_choices: _check_choices})


@kernel
def champion_check_row(program: Array, checks: Address, row: Array, step: int, running: bool) -> bool:
    """As in a tree; and the champion's own words.

    PLACE is a place in the order of the arms. Slot 0 is the champion's: a group has one slot more than arms, for which
    the last level has room, unless the champion is of the group, and then the others skip its place. So every slot
    below COUNT has a place below ARMS. When an epoch has ended, the champion may be another one than it was while COUNT
    was set; no slot is looked up before the next epoch.

    Where arms come and go, PLACE can be -1 between two epochs, as it is before the first one.

    DOUBT is from LEAST_DOUBT to EVEN, so the prior divides by no 0; TURN is a count, so ``TURN % n`` one of the
    groups; CHALLENGE is 0 to 3; CRISIS is 0 to 2, or tells a count of groups, of which no more than there are is
    taken; the group of a rematch is found from BASE, which is that of a group; USUAL is a mean of losses, but for
    rounding; SPREAD is a mean of squares, of which the root is taken.
    """
    arms = live_arms(program, row)
    least = -1 if program[IDLE] > 0.0 and not running else 0
    if not (whole_within(row[PLACE], least, arms - 1) and whole_within(row[TURN], 0, FOREVER)):
        return False
    if not whole_within(row[CHALLENGE], UNCHALLENGED, IN_REMATCH):
        return False
    if not (
        whole_within(row[CRISIS], NO_REASON, FOREVER if program[IDLE] > 0.0 else REMATCH)
        and -0.01 <= row[USUAL] <= 1.01
        and 0.0 <= row[SPREAD] <= 1.1
    ):
        return False
    group = _check_groups(program, checks, row, step, running)
    if group.record == 0 or not (0.99 * program[group.record + LEAST_DOUBT] <= row[DOUBT] <= EVEN):
        return False
    count = group.arms
    if not (group.base <= row[PLACE] < group.base + count) or (not running and row[COUNT] == count + 1):
        count += 1
    slots = int(program[group.record + CHILDREN]) + 1
    return check_last_level(program, checks, row, group, count, slots, running)


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
    late=substitute(tree_late, {own_choices: choices_of_its_own}),
    note=champion_note,
    weigh=champion_weigh,
    full_support=True,
    change=champion_change,
)
