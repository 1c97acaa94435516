"""The impact of memory (Fig. 5): HLMC with M = 14, 20, 50 and 80 words on the rewards of experiment 1."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hlmc import HLMC, Sweep, adversaries, derive_seed, planning, plotting, trace
from hlmc.paper.claims import Claim, all_of, at_most, fact, less, mean
from hlmc.paper.drawing import plotted_curve, regret_pictures
from hlmc.paper.experiment import Part, Picture, Results, Settings, final, phase_ends, time_points
from hlmc.paper.weak_1 import B0, K

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "memory"
TITLE = "Impact of memory"
SOURCE = "Fig. 5"
TEXT = """\
The rewards of experiment 1 (h0 = 6) and HLMC with four sizes of memory. M = 14 takes three levels, (5, 5, 4); the
others take two, split by the paper's formula N = ceil((M - (M² - 4K)^(1/2))/2), L = ceil(K/N)."""

SIZES = (14, 20, 50, 80)
THREE_LEVELS = (5, 5, 4)
TRACED = 10**6
"""Number of steps of the runs that are examined step by step."""


def policy(memory: int, horizon: int) -> HLMC:
    """HLMC with the paper's split of M words."""
    groups = THREE_LEVELS if memory == 14 else planning.two_level_split(K, memory)
    return HLMC(arms=K, groups=groups, horizon=horizon)


def label(memory: int) -> str:
    """The name of a curve."""
    return f"HLMC, M = {memory}"


def parts(settings: Settings) -> list[Part]:
    """One experiment."""
    T = settings.horizon
    return [
        Part(
            "all",
            f"T = {T:,}",
            {label(m): policy(m, T) for m in SIZES},
            adversaries.BlockTrap(arms=K, memory=20),
            T,
            settings.runs,
            time_points(T, *phase_ends(6, B0, T)),
            levels={label(14): 3, label(20): 2},
            cost=30.0,
        )
    ]


def claims(results: Results, settings: Settings) -> list[Claim]:
    """The claims about Fig. 5."""
    result = results["all"]
    T = settings.horizon
    regret = {m: (label(m), final(result, label(m))) for m in SIZES}
    improves = "“The regret performance of HLMC improves as the size of the memory space increases.”"
    found = [
        less(f"M = {more} below M = {fewer}", improves, regret[more], regret[fewer]).read(
            "The rewards end inside a phase (reading 1)."
        )
        for fewer, more in pairwise(SIZES)
    ]
    lengths = {m: policy(m, T).plan.lengths[0] for m in SIZES[1:]}
    found += [
        less(
            "Two levels below three",
            "“Adopting a hierarchy with fewer levels improves the regret order.”",
            regret[20],
            regret[14],
        ).read("The values at T; the orders are measured under “theorems”."),
        all_of(
            "With two levels more memory is better",
            "“Even with the same number of levels, a smaller regret can be achieved with a larger memory space.”",
            [less("", "", regret[50], regret[20]), less("", "", regret[80], regret[50])],
        ),
        fact(
            "The epochs get shorter",
            "“As M increases, the epoch length Δ decreases.”",
            lengths[20] > lengths[50] > lengths[80],
            ", ".join(f"Δ = {length:,} for M = {m}" for m, length in lengths.items()),
        ),
        _groups_dominate(settings),
    ]
    verifies = "“The comparison between the theoretical and the simulated results verifies our analysis.”"
    for m in SIZES:
        depth = len(policy(m, T).groups_used)
        limit = float(plotted_curve(result, depth)[1][-1])
        curve = (f"D = {depth} curve", limit)
        claim = at_most(f"M = {m} below the plotted curve", verifies, label(m), mean(regret[m][1]), curve)
        found.append(claim.read("h0 = 6 (readings 1, 6, 7)."))
    return found


def _groups_dominate(settings: Settings) -> Claim:
    """Of the steps at which the best arm pays and is not played: was the group wrong, or the arm in the group?"""
    T = min(settings.horizon, TRACED)
    trap = adversaries.BlockTrap(arms=K, memory=20)
    best = int(np.argmax(_earned(trap, T)))
    pays = _pays(trap, best, T)
    checks = []
    for m in SIZES[1:]:
        hierarchy = policy(m, T)
        size = -(-K // hierarchy.groups_used[0])
        gaps = []
        for run in range(4):
            arms, _ = trace(hierarchy, trap, T, derive_seed(settings.seed, NAME, m, run))
            group = pays & (arms // size != best // size)
            arm = pays & (arms // size == best // size) & (arms != best)
            gaps.append((arm.sum() / T, group.sum() / T))
        samples = np.array(gaps)
        checks.append(less("", "", (f"M = {m}: wrong arm", samples[:, 0]), ("wrong group", samples[:, 1])))
    return all_of(
        "Loss is mostly at the groups", "“The arm-level regret is dominated by the group-level regret.”", checks
    ).read(
        f"Read as shares of {T:,} steps at which the best arm pays and is not played, by where the choice went wrong; "
        "four runs."
    )


def _earned(trap: adversaries.BlockTrap, horizon: int) -> np.ndarray:
    earned = np.zeros(K)
    for first, last, arm in _stretches(trap, horizon):
        earned[arm] += last - first
    return earned


def _pays(trap: adversaries.BlockTrap, arm: int, horizon: int) -> np.ndarray:
    pays = np.zeros(horizon, dtype=bool)
    for first, last, paying in _stretches(trap, horizon):
        pays[first:last] = paying == arm
    return pays


def _stretches(trap: adversaries.BlockTrap, horizon: int) -> list[tuple[int, int, int]]:
    """(first step, last step, the arm that pays) of each interval of constant rewards."""
    edges = [0, *trap.changes(horizon), horizon]
    return [(first, last, int(trap.rewards(first, first + 1).argmax())) for first, last in pairwise(edges)]


def pictures(results: Results, settings: Settings) -> list[Picture]:
    """Regret against time, and at the horizon against M."""
    (part,) = parts(settings)
    result = results[part.key]
    swept = Sweep("M", tuple(map(float, SIZES)), result)
    return [
        *regret_pictures(NAME, part, result, f"{part.title}."),
        Picture(f"{NAME}-swept", "Regret at the horizon against the words of memory.", partial(_draw_swept, swept)),
    ]


def _draw_swept(swept: Sweep) -> Figure:
    with plotting.style():
        figure = plotting.figure(7.4, 4.0)
        swept.plot(ax=figure.subplots())
    return figure
