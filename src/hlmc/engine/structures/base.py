"""What a structure is: what happens between two restarts of the routine over the arms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from hlmc.engine.kernel import Address, kernel
from hlmc.engine.layout import (
    ARMS,
    AT,
    BEGAN,
    CHANCE,
    CHILD,
    COMMON,
    CONTROL,
    COUNT,
    COUNTS,
    FEEDBACK,
    HORIZON,
    IDLE,
    LEVEL_CONTROL,
    OPAQUE,
    PENDING,
    RECORD,
    ROUTINE,
    SUM,
    UNANSWERED,
    WINDOW,
    Word,
)
from hlmc.engine.primitives import call_change, call_check, call_update, int_at
from hlmc.engine.tickets import TICKET_BLOCK, TICKET_PROPENSITY, put_number

Array = np.ndarray

LEAST_PROBABILITY = 5e-324  # what was selected was possible, also where a product of many chances underflows


@kernel
def no_late(program: Array, row: Array, ticket: Array, reward: float, current: int) -> bool:
    """Default of :attr:`Structure.late`: there is no level that outlives a run, and so nothing to credit."""
    return False


@kernel
def no_note(program: Array, row: Array, ticket: Array) -> None:
    """Default of :attr:`Structure.note`: a ticket holds the choices of all levels as they stand."""


@kernel
def chance_within(program: Array, row: Array) -> float:
    """The probability with which the last level has chosen its slot, given the group that is played."""
    if int(row[COUNT]) < 2:
        return 1.0
    return float(row[int(program[int(row[RECORD]) + CONTROL]) + CHANCE])


@kernel
def put_propensity(ticket: Array, reached: float, chance: float, block: int) -> None:
    """Write into a ticket that its arm was played with probability ``reached`` (0: not known) times ``chance``.

    A decision of unknown probability gets an infinite one, so that it weighs nothing.
    """
    ticket[TICKET_PROPENSITY] = max(min(reached * chance, 1.0), LEAST_PROBABILITY) if reached > 0.0 else inf
    put_number(ticket, TICKET_BLOCK, block)


@kernel
def weigh_slots(program: Array, row: Array, t: int, ticket: Array) -> None:
    """Default of :attr:`Structure.weigh`: no level is above the last, and its slots change from run to run."""
    put_propensity(ticket, 1.0, chance_within(program, row), int(row[BEGAN]))


@dataclass(frozen=True)
class Structure:
    """How the arms are grouped and when the routine over them starts afresh, as a value.

    A structure is one file in this folder and one class of policies. Nothing outside its file asks which structure
    a program has: everything that others need to know is a field.

    Parameters
    ----------
    name
        Its name, as in ``hlmc.engine.structures.CATALOGUE``.
    begin
        Kernel ``begin(program, row, t) -> probability``. Called before step t (from 0) when ``t == row[UNTIL]``.
        Makes the choices that fall due, starts the routine over the arms, and sets RECORD, BASE, COUNT, BEGAN, UNTIL.
    end
        Kernel ``end(program, row, t)``. Called after step t (from 1) when ``t == row[UNTIL]``: the levels above learn.
    arm_of
        Kernel ``arm_of(program, row, slot) -> arm``.
    check_row
        Kernel ``check_row(program, checks, row, step, running) -> bool``: whether the words are what they can be during
        step ``step``. ``running``: the run of the last level that contains the step has not ended. ``checks``: the
        addresses of the routines' checks, for :func:`check_routine`. The kernels trust what it has accepted; why it is
        enough for them is said in its docstring.
    check_program
        Python function ``check_program(table, structure) -> bool``, for a program of shape (1 + records, FIELDS) whose
        words are whole numbers (:func:`hlmc.engine.soundness.check_program`): whether the structure's kernels find a
        record for every step, and a slot for every child. Default: no more is asked.
    header
        The structure's own words in a row; they follow the common ones.
    contiguous
        Whether slot j of the last level is arm BASE + j, so that ``arm_of`` need not be called.
    extra_slots
        Slots of the last level, if it is not the top one, beyond the CHILDREN of its record.
    full_groups
        Whether every group has as many arms as the last level has CHILDREN, if the CHILDREN of all levels multiply to
        the number of arms.
    keeps_statistics
        Whether ``end`` reads the statistics of the last level. If not, a target that works on a copy of them
        need not write them back.
    random_order
        Whether a random order of the arms, which the key decides, says which of them are neighbours. ``None``: the
        program's SHUFFLE word says so.
    late
        Kernel ``late(program, row, ticket, reward, current) -> credited``. Called when a reward comes after the run of
        the last level in which its decision was made: credit the levels that are still in the run of the ticket.
        ``current``: the step to which the row belongs (:mod:`hlmc.engine.feedback`). Default: there are none.
    change
        Kernel ``change(program, changes, row, step, running, live, arm)``: arms join, one leaves, or one is forgotten
        (:func:`hlmc.engine.arms.change`). ``step`` and ``running``: as for ``check_row``. ``changes``: the addresses of
        the routines' changes, for :func:`change_level`. None: arms cannot come and go.
    note
        Kernel ``note(program, row, ticket)``. Called when a ticket has been written: a level that must not learn from
        this decision gets the probability 0. Default: all levels learn.
    weigh
        Kernel ``weigh(program, row, t, ticket)``. Called when decision t has been made, before the clock moves on:
        writes PROPENSITY and BLOCK of its ticket (:func:`put_propensity`). Of every arm a that had a chance when the
        top level chose last, E[1{arm = a} / PROPENSITY] is 1, given the row of then. BLOCK is the step of that choice.
        Default: there is one level, whose slots change from run to run.
    full_support
        Whether every arm has a chance whenever the top level chooses, if its routines give every slot one.
    """

    name: str
    begin: Callable[[Array, Array, int], float]
    end: Callable[[Array, Array, int], None]
    arm_of: Callable[[Array, Array, int], int]
    check_row: Callable[[Array, Address, Array, int, bool], bool]
    check_program: Callable[[Array, Structure], bool] = lambda table, structure: True
    header: tuple[Word, ...] = ()
    contiguous: bool = False
    extra_slots: int = 0
    full_groups: bool = False
    keeps_statistics: bool = True
    random_order: bool | None = None
    late: Callable[[Array, Array, Array, float, int], bool] = no_late
    note: Callable[[Array, Array, Array], None] = no_note
    weigh: Callable[[Array, Array, int, Array], None] = weigh_slots
    full_support: bool = False
    change: Callable[..., None] | None = None

    @property
    def header_words(self) -> int:
        """Words of a row before the control words of the levels."""
        return COMMON + len(self.header)


# --- Arms that come and go


@kernel
def live_arms(program: Array, row: Array) -> int:
    """The number of arms that there are: K, or fewer where arms come and go."""
    at = int(program[IDLE])
    return int(program[ARMS]) - int(row[at]) if at > 0 else int(program[ARMS])


@kernel
def change_level(program: Array, changes: Address, row: Array, level: int, n: int, m: int, slot: int, tau: int) -> None:
    """Have the routine of a level make m children of its n (:class:`hlmc.engine.routines.RoutineKernels`).

    With a single child nothing is ever drawn or learned, and the words are not read before a start or a change.
    """
    if m > 1:
        call_change(int_at(changes, int(program[level + ROUTINE])), program, level, row, n, m, slot, tau)


# --- What is not answered yet


@kernel
def unanswered(program: Array, row: Array) -> float:
    """Decisions of the present run of the last level that have no reward yet; 0 where every step is answered."""
    return row[int(program[WINDOW]) + UNANSWERED] if program[PENDING] > 0.0 else 0.0


@kernel
def choices_counted(program: Array, row: Array, level: int, t: int) -> int:
    """The ``tau`` of the routine at the last level, whose record is ``level``, before step t.

    It is the number of choices since the restart that were learned from, so that a decision without an answer is as if
    it had not been made. Routines that count plays (COUNTS) get the number of choices made.
    """
    tau = t - int(row[BEGAN])
    if program[PENDING] > 0.0 and program[level + FEEDBACK] != COUNTS:
        tau -= int(row[int(program[WINDOW]) + UNANSWERED])
    return tau


@kernel
def learn_from(
    program: Array, row: Array, level: int, n: int, tau: int, slot: int, chance: float, reward: float
) -> None:
    """Have the routine of a level learn the reward of an earlier choice; the current choice stays as it is."""
    control = int(program[level + CONTROL])
    child = row[control + CHILD]
    standing = row[control + CHANCE]
    row[control + CHILD] = slot
    row[control + CHANCE] = chance
    update_level(program, level, row, int(program[level + AT]), n, control, tau, reward)
    row[control + CHILD] = child
    row[control + CHANCE] = standing


@kernel
def update_level(
    program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, reward: float
) -> None:
    """Hook: a level learns. Default: through the program's table."""
    call_update(int(program[level + ROUTINE]), program, level, row, at, n, control, tau, reward)


# --- What the checks of all structures share


@kernel
def whole_within(x: float, least: int, most: int) -> bool:
    """Whether a word holds a whole number from ``least`` to ``most``."""
    return x >= least and x <= most and float(int(x)) == x


@kernel
def all_finite(row: Array, first: int, stop: int) -> bool:
    """Whether the words first .. stop - 1 are finite numbers."""
    # Of a number that is not finite, the difference with itself is not a number.
    total = 0.0
    for j in range(first, stop):
        total += row[j] - row[j]
    return total == 0.0


@kernel
def check_level(program: Array, row: Array, level: int, stop: int) -> bool:
    """Whether a level's control words and, unless they are a user's own, its statistics before ``stop`` are finite.

    Also that SUM is a sum of rewards, so that their mean, which ``end`` cuts off at 1, is a reward.
    """
    control = int(program[level + CONTROL])
    if not all_finite(row, control, control + LEVEL_CONTROL):
        return False
    if not (0.0 <= row[control + SUM] <= 2.0 * program[HORIZON]):
        return False
    if program[level + OPAQUE] == 1.0:
        return True
    return all_finite(row, int(program[level + AT]), stop)


@kernel
def check_routine(program: Array, checks: Address, row: Array, level: int, n: int, tau: int, stands: bool) -> bool:
    """Whether the words of a level with n children are what its routine can have made of them after ``tau`` rewards.

    ``stands``: a choice was made that is not yet learned from; CHILD has been checked. With a single child nothing is
    ever drawn or learned, and the words are not read before a start writes them.
    """
    if n < 2:
        return True
    address = int_at(checks, int(program[level + ROUTINE]))
    return call_check(address, program, level, row, n, tau, 1 if stands else 0) == 1
