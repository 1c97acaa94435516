"""The champion with losses of b bits (:mod:`hlmc.engine.codes`).

It is :mod:`hlmc.engine.structures.champion` with the kernels replaced that look at the losses of a level.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hlmc.engine.coded_ftrl import coded_normaliser, coded_settled_sums
from hlmc.engine.codes import clear_codes, distance_of, put_code, rounded, rounding_seed, scale_at, weight_of
from hlmc.engine.ftrl import probability_of
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import FIELDS, INVERSE, LEVELS, PARAMETERS, SCALARS, WIDTH
from hlmc.engine.linker import Substitutions, substitute
from hlmc.engine.records import Codes, Rates
from hlmc.engine.structures.champion import champion_begin, champion_end
from hlmc.engine.structures.champion_structure import CHAMPION
from hlmc.engine.structures.contest import contest_rate, group_rate, lay_prior, leader, slot_chance

Array = np.ndarray

GROUP_RATE = PARAMETERS  # the rate of Tsallis-INF over the groups: eta = this / sqrt(t)

UNITS = 1048576.0  # 2^20


@kernel
def contest_code_scale(program: Array, level: int) -> float:
    """The scale of the codes of an epoch: 2 / eta at its first step."""
    return 2.0 / contest_rate(program, level, 0)


@kernel
def seed_and_baseline(seed: float, baseline: float) -> float:
    """One whole number below 2^53 for two: the upper 33 bits of the seed, then the baseline in units of 2^-20."""
    return float(int(seed / UNITS)) * UNITS + min(float(int(baseline * UNITS + 0.5)), UNITS - 1.0)


@kernel
def baseline_in(both: float) -> float:
    """The baseline of :func:`seed_and_baseline`."""
    return (both - float(int(both / UNITS)) * UNITS) / UNITS


@kernel
def _level_scale(program: Array, level: int, tau: int) -> float:
    """The scale of a level's codes: the contest's at the arms, else that of Tsallis-INF at choice ``tau``."""
    last = (level // FIELDS) % int(program[LEVELS]) == 0
    return contest_code_scale(program, level) if last else scale_at(2.0 / program[level + GROUP_RATE], tau)


@kernel
def _codes_chance(
    program: Array, row: Array, level: int, at: int, n: int, slot: int, x: float, eta: float, tau: int
) -> float:
    """The probability of a slot, from its code."""
    s = _level_scale(program, level, tau)
    codes = Codes(row, row, at, n, int(program[level + WIDTH]), program[level + INVERSE])
    sums = coded_settled_sums(codes, Rates(s, eta), x)
    return probability_of(distance_of(weight_of(codes, slot), s), sums.x, eta) / sums.squares


@kernel
def _codes_rate(program: Array, row: Array, level: int, control: int, tau: int) -> float:
    """The learning rate of choice ``tau`` of a group level."""
    return float(program[level + GROUP_RATE]) / math.sqrt(float(tau) + 1.0)


@kernel
def _codes_leader(program: Array, row: Array, level: int, at: int, n: int) -> int:
    """The slot of the largest weight; of several, the first."""
    codes = Codes(row, row, at, n, int(program[level + WIDTH]), program[level + INVERSE])
    slot = 0
    most = 0.0
    for j in range(n):
        w = weight_of(codes, j)
        if w > most:
            most = w
            slot = j
    return slot


@kernel
def _codes_prior(
    program: Array, row: Array, record: int, at: int, n: int, control: int, behind: float, x: float
) -> None:
    """Slot 0 has code 0, the others the code at or below ``behind``: they get a little more than their share."""
    width = int(program[record + WIDTH])
    inverse = program[record + INVERSE]
    s = contest_code_scale(program, record)
    clear_codes(row, at, width, n)
    code = rounded(behind, s, width, inverse, 1.0)
    for j in range(1, n):
        put_code(row, at, width, j, code)
    codes = Codes(row, row, at, n, width, inverse)
    x, _ = coded_normaliser(codes, Rates(s, contest_rate(program, record, 0)), x)
    row[control + SCALARS] = x
    row[control + SCALARS + 1] = seed_and_baseline(rounding_seed(row, record), 0.5)


_hooks: Substitutions = {slot_chance: _codes_chance, leader: _codes_leader}

CODED_CHAMPION = replace(
    CHAMPION,
    name="coded champion",
    begin=substitute(champion_begin, {lay_prior: _codes_prior, slot_chance: _codes_chance, group_rate: _codes_rate}),
    end=substitute(champion_end, _hooks),
)
