"""Tsallis-INF at one level in terms of a *schedule* and a *store*: the one text of its select and its update.

The schedule says which learning rate, which baseline and which second scalar a choice has: :mod:`hlmc.routines.tsallis`
or :mod:`hlmc.routines.contest`. The store says how losses are kept: as words (:mod:`hlmc.engine.ftrl`) or as packed
codes (:mod:`hlmc.engine.coded_ftrl`). Each is a set of kernels that stand for the hooks below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hlmc.engine.coded_ftrl import NOTED, NOTED_DRAW, PER_SLOT, coded_draw, coded_learn, coded_settled_sums, coded_sound
from hlmc.engine.codes import note_weights, rounding_bits, seed_sound
from hlmc.engine.ftrl import ftrl_draw, ftrl_update, settled_sums
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, WIDTH
from hlmc.engine.linker import Kernel, Substitutions, substitute, substitute_where_used
from hlmc.engine.records import Codes, Level, Rates, Sums
from hlmc.engine.routines import NotedKernels, RoutineKernels, no_notes

Array = np.ndarray

# --- Hooks of the schedule. ``b`` is the second scalar; ``tau`` is that of ``update``: negative for a part of a loss
# --- that is credited late.


@kernel
def scale_of(level: Level, b: float, tau: int) -> float:
    """2 / eta of choice ``tau``, where losses are words."""
    return 2.0


@kernel
def rate_of(program: Array, record: int, tau: int) -> float:
    """The learning rate of choice ``tau`` >= 0, where losses are codes."""
    return 1.0


@kernel
def code_scale_of(level: Level, tau: int) -> float:
    """The scale of the codes at choice ``tau`` >= 0."""
    return 2.0


@kernel
def baseline_of(level: Level, b: float, tau: int) -> float:
    """What a loss is compared with."""
    return 0.0


@kernel
def next_scalar(level: Level, b: float, tau: int, loss: float) -> float:
    """The second scalar after a loss."""
    return b


# --- Hooks of the store. Defaults: losses are words.


@kernel
def sums_of(level: Level, x: float, b: float, tau: int, notes: Array) -> Sums:
    """The normaliser and the sums of the losses as they stand; ``x`` is the normaliser that is kept."""
    return settled_sums(level.row, level.at, level.n, scale_of(level, b, tau), x)


@kernel
def draw_of(level: Level, sums: Sums, b: float, tau: int, u: float, notes: Array) -> tuple[int, float]:
    """A slot and its probability."""
    return ftrl_draw(level.row, level.at, level.n, scale_of(level, b, tau), sums.x, sums.squares, u)


@kernel
def add_loss(
    level: Level, sums: Sums, b: float, after: float, tau: int, slot: int, chance: float, loss: float, notes: Array
) -> float:
    """Add a loss; the normaliser for the next choice. ``after`` is the second scalar then."""
    drawn, comes = scale_of(level, b, tau), scale_of(level, after, tau + 1)
    baseline = baseline_of(level, b, tau)
    return ftrl_update(level.row, level.at, level.n, sums, drawn, slot, chance, loss, baseline, comes)


@kernel
def rates_at(level: Level, tau: int) -> Rates:
    """The rates of choice ``tau`` >= 0, where losses are codes."""
    return Rates(code_scale_of(level, tau), rate_of(level.program, level.record, tau))


@kernel
def coded_sums(level: Level, x: float, b: float, tau: int, notes: Array) -> Sums:
    """:func:`sums_of` of codes."""
    now = tau if tau >= 0 else -1 - tau
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, notes, level.at, level.n, width, inverse)
    rates = rates_at(level, now)
    return coded_settled_sums(codes, rates, x)


@kernel
def coded_draw_of(level: Level, sums: Sums, b: float, tau: int, u: float, notes: Array) -> tuple[int, float]:
    """:func:`draw_of` of codes."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, notes, level.at, level.n, width, inverse)
    rates = rates_at(level, tau)
    return coded_draw(codes, rates, sums, u)


@kernel
def add_coded(
    level: Level, sums: Sums, b: float, after: float, tau: int, slot: int, chance: float, loss: float, notes: Array
) -> float:
    """:func:`add_loss` of codes. A part that is credited late leaves the rates as they are."""
    now = tau if tau >= 0 else -1 - tau
    then = tau + 1 if tau >= 0 else now
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, notes, level.at, level.n, width, inverse)
    baseline = baseline_of(level, b, tau)
    drawn = rates_at(level, now)
    comes = rates_at(level, then)
    return coded_learn(codes, sums, drawn, comes, slot, chance, loss, baseline, rounding_bits(b))


@kernel
def coded_check(level: Level, x: float, b: float, tau: int, slot: int, chance: float) -> bool:
    """The check of codes: ``b`` holds a seed, and the normaliser is one for the learning rate of the choice."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    rates = rates_at(level, tau)
    return seed_sound(b) and coded_sound(codes, rates, x, chance)


CODED: Substitutions = {sums_of: coded_sums, draw_of: coded_draw_of, add_loss: add_coded}

# --- The routine


@kernel
def ftrl_start(level: Level, eta: float) -> float:
    """Set all losses to 0, as words; the normaliser."""
    for j in range(level.at, level.at + level.n - 1):
        level.row[j] = 0.0
    return -2.0 * math.sqrt(float(level.n)) / eta


@kernel
def ftrl_choose(level: Level, x: float, b: float, tau: int, u: float, notes: Array) -> tuple[int, float, Sums]:
    """:func:`ftrl_select`, and what :func:`ftrl_learn_from` needs of it."""
    sums = sums_of(level, x, b, tau, notes)
    slot, chance = draw_of(level, sums, b, tau, u, notes)
    return slot, chance, sums


@kernel
def ftrl_select(level: Level, x: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot with the learning rate of this choice; ``x`` is the normaliser, or nearly so."""
    slot, chance, _ = ftrl_choose(level, x, b, tau, u, level.row)
    return slot, chance


@kernel
def ftrl_learn_from(
    level: Level, sums: Sums, b: float, tau: int, slot: int, chance: float, reward: float, notes: Array
) -> tuple[float, float]:
    """Add the estimated losses and predict the next normaliser, from the sums before the choice."""
    loss = 1.0 - reward
    after = next_scalar(level, b, tau, loss)
    return add_loss(level, sums, b, after, tau, slot, chance, loss, notes), after


@kernel
def ftrl_learn(
    level: Level, x: float, b: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """Add the estimated losses and predict the next normaliser."""
    sums = sums_of(level, x, b, tau, level.row)
    return ftrl_learn_from(level, sums, b, tau, slot, chance, reward, level.row)


class FTRL(NamedTuple):
    """The kernels of a schedule over a store."""

    select: Kernel
    update: Kernel
    noted: NotedKernels


def over_words(scale: Kernel, baseline: Kernel, following: Kernel) -> FTRL:
    """The kernels of a schedule where losses are words.

    The arguments stand for :func:`scale_of`, :func:`baseline_of` and :func:`next_scalar`.
    """
    hooks: Substitutions = {scale_of: scale, baseline_of: baseline, next_scalar: following}
    choose, learn_from, select, update = (substitute_where_used(each, hooks) for each in _OF_A_SCHEDULE)
    return FTRL(select, update, NotedKernels(no_notes, choose, learn_from))


def over_codes(
    start: Kernel,
    rate: Kernel,
    scale: Kernel,
    baseline: Kernel,
    following: Kernel,
    faster: Substitutions | None = None,
) -> RoutineKernels:
    """The kernels of a routine where losses are codes.

    The arguments are its start; what stands for :func:`rate_of`, :func:`code_scale_of`, :func:`baseline_of` and
    :func:`next_scalar`; and what may stand for other kernels in a draw with notes.
    """
    schedule: Substitutions = {rate_of: rate, code_scale_of: scale, baseline_of: baseline, next_scalar: following}
    hooks = {**schedule, **CODED}
    choose, learn_from, select, update = (substitute_where_used(each, hooks) for each in _OF_A_SCHEDULE)
    choose = substitute(choose, {**NOTED_DRAW, **(faster or {})})
    noted = NotedKernels(note_weights, choose, substitute(learn_from, NOTED), PER_SLOT)
    return RoutineKernels(start, select, update, substitute_where_used(coded_check, hooks), noted)


_OF_A_SCHEDULE = ftrl_choose, ftrl_learn_from, ftrl_select, ftrl_learn
