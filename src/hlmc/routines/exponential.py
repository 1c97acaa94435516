"""Exponential weights at one level over a *store*: as words (:mod:`hlmc.engine.weights`) or as packed codes
(:mod:`hlmc.engine.coded_weights`). EXP3, EXP3 on losses and EXP3-IX are written in terms of it.
"""

from __future__ import annotations

from hlmc.engine.coded_weights import shares_draw, shares_grow, shares_sound, shares_start
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, Substitutions, substitute_where_used
from hlmc.engine.records import Level
from hlmc.engine.weights import (
    mixed_draw,
    pure_draw,
    weights_change,
    weights_grow,
    weights_multiply,
    weights_sound,
    weights_start,
)
from hlmc.routines.base import Kernels

# Hooks of the store. Defaults: weights are words. ``b`` is the second scalar: 0; of codes, the seed of their roundings.


@kernel
def draw_mixed(level: Level, total: float, rate: float, gamma: float, u: float) -> tuple[int, float]:
    """A slot by its weight, or with probability gamma any slot; and its probability."""
    return mixed_draw(level.row, level.at, level.n, total, gamma, u)


@kernel
def draw_pure(level: Level, total: float, rate: float, u: float) -> tuple[int, float]:
    """A slot by its weight, and its probability."""
    return pure_draw(level.row, level.at, level.n, total, u)


@kernel
def shares_draw_pure(level: Level, total: float, rate: float, u: float) -> tuple[int, float]:
    """:func:`draw_pure` of codes."""
    return shares_draw(level, total, rate, 0.0, u)


@kernel
def grow(
    level: Level, total: float, b: float, rate: float, slot: int, gain: float, chance: float
) -> tuple[float, float]:
    """Multiply the weight of a slot by exp(rate gain / chance), which is at least 1; the two scalars."""
    return weights_grow(level.row, level.at, level.n, total, slot, rate, gain, chance), b


@kernel
def move(
    level: Level, total: float, b: float, rate: float, slot: int, gain: float, chance: float
) -> tuple[float, float]:
    """The same for any gain. A target that keeps sums of weights must know whether they can shrink."""
    return weights_multiply(level.row, level.at, level.n, total, slot, rate * gain / chance), b


@kernel
def exponential_sound(
    level: Level, total: float, b: float, rate: float, chance: float, widest: float, least: float
) -> bool:
    """Whether the weights can be drawn from and grow, where logarithms of them may reach ``widest``, and the
    probability of a choice is at least ``least``.
    """
    return weights_sound(level.row, level.at, level.n, total, widest) and chance >= least


CODES: Substitutions = {
    draw_mixed: shares_draw,
    draw_pure: shares_draw_pure,
    grow: shares_grow,
    move: shares_grow,
    exponential_sound: shares_sound,
}
"""What stands for the hooks where weights are codes."""


@kernel
def _start(level: Level) -> tuple[float, float]:
    """Set all weights to 1. The first scalar is their sum."""
    return weights_start(level.row, level.at, level.n), 0.0


@kernel
def _change(level: Level, m: int, slot: int, total: float, _: float, tau: int) -> tuple[float, float]:
    """A fresh child has the mean weight of the others."""
    return weights_change(level.row, level.at, level.n, m, slot, total), 0.0


def over_words(select: Kernel, update: Kernel, check: Kernel) -> Kernels:
    """The kernels of a routine where weights are words."""
    return Kernels(_start, select, update, check, change=_change)


def over_codes(select: Kernel, update: Kernel, check: Kernel) -> Kernels:
    """The kernels of a routine where weights are codes; the arguments are those over words."""
    return Kernels(
        shares_start,
        substitute_where_used(select, CODES),
        substitute_where_used(update, CODES),
        substitute_where_used(check, CODES),
    )
