"""EXP3, EXP3 on losses and EXP3-IX with statistics of b bits, packed and changed by stochastic rounding.

The algorithms are those of :mod:`hlmc.routines.exp3` and :mod:`hlmc.routines.exp3_loss`. They store estimated losses,
or how far estimated gains are behind the largest, as codes (:mod:`hlmc.engine.codes`) of scale 2 / rate, and compute
the weights exp(-rate A) when they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hlmc import bounds
from hlmc.engine.arithmetic import exponential
from hlmc.engine.codes import (
    clear_codes,
    distance_of,
    largest_weight,
    move_base,
    move_slot,
    next_seed,
    rounding_bits,
    rounding_seed,
    seed_sound,
    too_high,
    weight_of,
)
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INVERSE, WIDTH
from hlmc.engine.records import Codes, Level
from hlmc.engine.stream import mix
from hlmc.routines.base import Kernels, LevelContext
from hlmc.routines.coded import CodedRoutine
from hlmc.routines.exp3 import EXP3, GAMMA, RATE
from hlmc.routines.exp3_loss import ETA, EXP3IX, IMPLICIT, EXP3Loss

LEAST = 1e-270  # no probability is stated below this, so that a loss over it, times any rate, is a finite number
FAR = 600.0  # the exponential of less than -FAR counts as that of -FAR


@kernel
def share_of(w: float, most: float, rate: float) -> float:
    """exp(-rate (A - least A)) of a slot with weight w, where the slot of least A has the weight ``most``."""
    # With s = 2 / rate, rate A = 2 / w - 2.
    return exponential(-min(2.0 / w - 2.0 / most, FAR))


@kernel
def shares_total(level: Level, rate: float) -> float:
    """The sum of the shares of all slots, from 1 to n."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    most = largest_weight(codes)
    total = 0.0
    for j in range(level.n):
        total += share_of(weight_of(codes, j), most, rate)
    return total


@kernel
def coded_shares_draw(level: Level, total: float, rate: float, gamma: float, u: float) -> tuple[int, float]:
    """A slot by its share, or with probability gamma any slot; and its probability."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    most = largest_weight(codes)
    mixed = gamma / float(level.n)
    slot = 0
    p = (1.0 - gamma) * share_of(weight_of(codes, 0), most, rate) / total + mixed
    u -= p
    while u >= 0.0 and slot < level.n - 1:
        slot += 1
        p = (1.0 - gamma) * share_of(weight_of(codes, slot), most, rate) / total + mixed
        u -= p
    return slot, max(p, LEAST)


@kernel
def coded_shares_move(level: Level, rate: float, slot: int, change: float, draw: np.uint64) -> float:
    """Add to a slot's distance; the sum of the shares then."""
    width, inverse = int(level.program[level.record + WIDTH]), level.program[level.record + INVERSE]
    codes = Codes(level.row, level.row, level.at, level.n, width, inverse)
    s = 2.0 / rate
    value = distance_of(weight_of(codes, slot), s) + change
    move_slot(codes, s, s, slot, value, 0.0, 0.0, draw)
    if too_high(largest_weight(codes)):
        move_base(codes, s, s, -1, 0.0, 0.0, 0.0, mix(draw))
    return shares_total(level, rate)


@kernel
def coded_shares_sound(level: Level, total: float, rate: float, seed: float, chance: float) -> bool:
    """Every pattern of bits is a code; the total is positive, and that of the codes but for rounding."""
    expected = shares_total(level, rate)
    return seed_sound(seed) and abs(total - expected) <= 1e-3 * expected and chance >= 0.5 * LEAST


@kernel
def coded_shares_start(level: Level) -> tuple[float, float]:
    """All slots equal. The scalars are the sum of the shares and the seed of the roundings."""
    clear_codes(level.row, level.at, int(level.program[level.record + WIDTH]), level.n)
    return float(level.n), rounding_seed(level.row, level.record)


@kernel
def coded_exp3_select(level: Level, total: float, seed: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot in proportion to the weights, mixed with uniform exploration."""
    return coded_shares_draw(level, total, level.program[level.record + RATE], level.program[level.record + GAMMA], u)


@kernel
def coded_exp3_update(
    level: Level, total: float, seed: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """The slot played is r / p_i less behind."""
    if reward > 0.0:
        draw = rounding_bits(seed)
        rate = level.program[level.record + RATE]
        total = coded_shares_move(level, rate, slot, -reward / chance, draw)
        seed = next_seed(seed)
    return total, seed


@kernel
def coded_exp3_check(level: Level, total: float, seed: float, tau: int, slot: int, chance: float) -> bool:
    """As for all exponential weights."""
    return coded_shares_sound(level, total, level.program[level.record + RATE], seed, chance)


@kernel
def coded_exp3_loss_select(level: Level, total: float, seed: float, tau: int, u: float) -> tuple[int, float]:
    """Draw a slot in proportion to the weights."""
    return coded_shares_draw(level, total, level.program[level.record + ETA], 0.0, u)


@kernel
def coded_exp3_loss_update(
    level: Level, total: float, seed: float, tau: int, slot: int, chance: float, reward: float
) -> tuple[float, float]:
    """The slot played loses (1 - r) / (p_i + implicit) more."""
    if reward < 1.0:
        draw = rounding_bits(seed)
        eta = level.program[level.record + ETA]
        change = (1.0 - reward) / (chance + level.program[level.record + IMPLICIT])
        total = coded_shares_move(level, eta, slot, change, draw)
        seed = next_seed(seed)
    return total, seed


@kernel
def coded_exp3_loss_check(level: Level, total: float, seed: float, tau: int, slot: int, chance: float) -> bool:
    """As for all exponential weights."""
    return coded_shares_sound(level, total, level.program[level.record + ETA], seed, chance)


_LOSS_KERNELS = Kernels(coded_shares_start, coded_exp3_loss_select, coded_exp3_loss_update, coded_exp3_loss_check)


@dataclass(frozen=True, repr=False)
class CodedEXP3(CodedRoutine):
    """EXP3 at one level with gains of ``bits`` bits.

    Examples
    --------
    >>> CodedEXP3(bits=8).words(10)
    2
    """

    gamma: float | None = None
    bits: int = 12  # type: ignore[misc]  # a field here

    name: ClassVar[str] = "exp3"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "gain"
    plain_class: ClassVar[type[EXP3]] = EXP3
    source: ClassVar[str] = "the second theorem of docs/research/bits.md"
    kernels: ClassVar[Kernels] = Kernels(coded_shares_start, coded_exp3_select, coded_exp3_update, coded_exp3_check)

    def regret(self, context: LevelContext) -> float | None:
        if context.children == 1:
            return 0.0
        return bounds.exp3_coded(context.choices, context.children, self.parameters(context)["gamma"], self.bits)


@dataclass(frozen=True, repr=False)
class CodedEXP3Loss(CodedRoutine):
    """EXP3 on losses at one level with losses of ``bits`` bits."""

    eta: float | None = None
    bits: int = 12  # type: ignore[misc]  # a field here

    name: ClassVar[str] = "exp3-loss"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    plain_class: ClassVar[type[EXP3Loss]] = EXP3Loss
    source: ClassVar[str] = "the second theorem of docs/research/bits.md"
    kernels: ClassVar[Kernels] = _LOSS_KERNELS

    def regret(self, context: LevelContext) -> float | None:
        if context.children == 1:
            return 0.0
        return bounds.exp3_loss_coded(context.choices, context.children, self.parameters(context)["eta"], self.bits)


@dataclass(frozen=True, repr=False)
class CodedEXP3IX(CodedRoutine):
    """EXP3-IX at one level with losses of ``bits`` bits."""

    eta: float | None = None
    bits: int = 12  # type: ignore[misc]  # a field here

    name: ClassVar[str] = "exp3-ix"
    feedback: ClassVar[Literal["gain", "loss", "counts"]] = "loss"
    plain_class: ClassVar[type[EXP3IX]] = EXP3IX
    source: ClassVar[str] = "the second theorem of docs/research/bits.md"
    kernels: ClassVar[Kernels] = _LOSS_KERNELS

    def regret(self, context: LevelContext) -> float | None:
        if context.children == 1:
            return 0.0
        return bounds.exp3_ix_coded(context.choices, context.children, self.parameters(context)["eta"], self.bits)
