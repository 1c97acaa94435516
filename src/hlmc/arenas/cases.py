"""The adversaries of the arena: those of the catalogue that can be constructed from a size and a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hlmc import adversaries as catalogue
from hlmc.adversaries.base import Adversary
from hlmc.arenas.contenders import SWITCHES
from hlmc.streams import derive_seed

Make = Callable[[int, int, int, int], Adversary | None]

JUDGED = 10**10
"""Limit on the number of rewards that a benchmark computes. A case whose best fixed arm needs more omits that size."""

FINELY = 10**9
"""The same limit for the best sequence and the best arm of every step. A benchmark that needs more is omitted."""


@dataclass(frozen=True)
class Case:
    """An adversary for any size and seed.

    Attributes
    ----------
    name
        The name in tables.
    make
        ``make(arms, memory, horizon, seed)``, or None to omit a size.
    random
        Whether the rewards depend on the seed. If so, every run has its own sequence of rewards.
    weight
        The cost of computing a reward; 1 is a few nanoseconds.

    Examples
    --------
    >>> CASES["Needle"].make(100, 20, 10**6, 7)
    Needle(arms=100, good=0.9, poor=0.1, fair=0.4, seed=7)
    """

    name: str
    make: Make
    random: bool = True
    weight: int = 1

    def kinds(self, arms: int, memory: int, horizon: int) -> tuple[str, ...]:
        """The kinds of regret that are evaluated at a size; none if the case omits it.

        >>> CASES["Needle"].kinds(100, 20, 10**7), CASES["Needle"].kinds(10_000, 200, 10**6)
        (('weak', 'shifting', 'dynamic'), ('weak',))
        >>> CASES["RandomWalk"].kinds(10_000, 200, 10**6)
        ()
        """
        adversary = self.make(arms, memory, horizon, 0)
        if adversary is None:
            return ()
        changes = adversary.changes(horizon)
        most = JUDGED // arms
        rows = horizon if changes is None else 1 + sum(1 for _ in islice(changes, most))
        rewards = arms * rows * self.weight
        return ("weak", "shifting", "dynamic") if rewards <= FINELY else ("weak",) if rewards <= JUDGED else ()


LISTED = 1000
"""The most arms for adversaries that take a list of means. UniformMeans covers more arms."""


def _bernoulli(arms: int, memory: int, horizon: int, seed: int) -> Adversary | None:
    """One arm with mean 0.7, a tenth of the arms 0.6, the others 0.5, in random order."""
    if arms > LISTED:
        return None
    means = np.full(arms, 0.5)
    means[: 1 + arms // 10] = 0.6
    means[0] = 0.7
    return catalogue.Bernoulli(np.random.default_rng(seed).permutation(means).tolist(), seed=seed)


def _beta(arms: int, memory: int, horizon: int, seed: int) -> Adversary | None:
    """Random means between 0.2 and 0.8."""
    if arms > LISTED:
        return None
    means = np.random.default_rng(seed).uniform(0.2, 0.8, arms).round(3)
    return catalogue.Beta(means.tolist(), seed=seed)


def _one_good_arm(arms: int, memory: int, horizon: int, seed: int) -> Adversary:
    return catalogue.OneGoodArm(arms, arm=derive_seed(seed, "arena", "arm") % arms, seed=seed)


def _shifting(arms: int, memory: int, horizon: int, seed: int) -> Adversary | None:
    return catalogue.Shifting(arms, horizon=horizon, phases=SWITCHES) if horizon >= SWITCHES else None


def _pieces(arms: int, memory: int, horizon: int, seed: int) -> Adversary:
    return catalogue.PiecewiseStationary(arms, segment=max(1, horizon // SWITCHES), seed=seed)


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("BlockTrap", lambda K, M, T, seed: catalogue.BlockTrap(K, memory=M), random=False),
        Case("Alternating", lambda K, M, T, seed: catalogue.Alternating(K, memory=M), random=False),
        Case("Shifting", _shifting, random=False),
        Case("Bernoulli", _bernoulli),
        Case("OneGoodArm", _one_good_arm),
        Case("UniformMeans", lambda K, M, T, seed: catalogue.UniformMeans(K, seed=seed)),
        Case("Beta", _beta, weight=10),
        Case("RandomWalk", lambda K, M, T, seed: catalogue.RandomWalk(K, seed=seed), weight=10),
        Case("PiecewiseStationary", _pieces),
        Case("Sawtooth", lambda K, M, T, seed: catalogue.Sawtooth(K, seed=seed)),
        Case("LateBloomer", lambda K, M, T, seed: catalogue.LateBloomer(K, bloom=max(1, T // 10), seed=seed)),
        Case("FallenFavourite", lambda K, M, T, seed: catalogue.FallenFavourite(K, fall=max(1, T // 10), seed=seed)),
        Case("Needle", lambda K, M, T, seed: catalogue.Needle(K, seed=seed)),
        Case("Decoy", lambda K, M, T, seed: catalogue.Decoy(K, seed=seed)),
    )
}
"""Every adversary of the catalogue except Trace and Function, which need data. Rewards that change do so ten times."""
