"""Do larger groups help the champion? Regret by split and by length of the epochs, on adversaries for tuning.

    python studies/split.py 100 1e6 16 10,5,4,3,2,1            # K, T, runs, numbers of groups
    python studies/split.py 1000 1e6 8 32,16,8,4,2,1 1.2,3     # and epochs, 1: two levels balance
    python studies/split.py 100 1e6 8 10,5,2 1.2 others        # on adversaries on which nothing was chosen

Weak regret to the best mean, with half the 95 % interval; the runs have their own rewards. One group is Tsallis-INF
with memory for all arms. docs/research/bits.md ("The planner") has the table.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import hlmc
from hlmc.adversaries import Bernoulli, LateBloomer, OneGoodArm, PiecewiseStationary
from hlmc.adversaries.base import Adversary
from hlmc.arenas.cases import CASES
from hlmc.arenas.held_out import HELD_OUT
from hlmc.policies.champion import STRETCH
from hlmc.policies.tree import TreePolicy
from hlmc.simulation.runs import Task, play


@dataclass(frozen=True, repr=False)
class Split(hlmc.Champion):
    """A champion with so many groups and epochs of such a length, whatever the planner would choose."""

    count: int = 2
    stretch: float = STRETCH

    @property
    def groups_used(self) -> tuple[int, ...]:
        return self.count, -(-self.arms // self.count)

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        balanced = TreePolicy.epochs_used(self, horizon)
        return self._relengthened(balanced, round(self.stretch * balanced[-1]), horizon)


def adversaries(K: int, T: int, seed: int) -> dict[str, Adversary]:
    """Rewards that are used for nothing else."""
    rng = np.random.default_rng(seed + 12345)
    arm = int(rng.integers(K))
    return {
        "means from Beta(2, 5)": Bernoulli(rng.beta(2, 5, K).tolist(), seed=seed),
        "0.56 in 0.5": OneGoodArm(K, arm=arm, high=0.56, low=0.5, seed=seed),
        "0.9 in 0.5": OneGoodArm(K, arm=arm, high=0.9, low=0.5, seed=seed),
        "0.3 in 0.2": OneGoodArm(K, arm=arm, high=0.3, low=0.2, seed=seed),
        "late bloomer, T/3": LateBloomer(K, bloom=T // 3, seed=seed),
        "five pieces": PiecewiseStationary(K, segment=T // 5, seed=seed),
    }


OTHERS = ("twins", "correlated", "sevenths", "near_zero", "ramp", "wearing_out", "hairline", "swap")
"""Held-out adversaries, reported beside three of the catalogue."""


def others(policies: dict[str, hlmc.Policy], K: int, T: int, runs: int) -> dict[tuple[str, str], list[float]]:
    """Weak regret to the best fixed arm on adversaries on which nothing was chosen."""
    found: dict[tuple[str, str], list[float]] = {}
    for case in (CASES["Needle"], CASES["UniformMeans"], CASES["Sawtooth"], *(HELD_OUT[name] for name in OTHERS)):
        for run in range(runs):
            adversary = case.make(K, 20, T, 1000 + run)
            assert adversary is not None
            result = hlmc.simulate(policies, adversary, T, runs=1, seed=run, points=[T], progress=False)
            for title in policies:
                regret = result.regret().sel(policy=title)[..., -1]
                found.setdefault((title, case.name), []).append(float(regret.item()))
    return found


def best(adversary: Adversary, T: int) -> float:
    """What the arm of the best mean earns on average."""
    expected = adversary.expected
    changes = expected.changes(T)
    assert changes is not None
    points = [0, *(t for t in changes if 0 < t < T), T]
    totals = sum(expected.rewards(a, a + 1)[0] * (b - a) for a, b in pairwise(points))
    return float(np.max(totals))


def tuned(policies: dict[str, hlmc.Policy], K: int, T: int, runs: int) -> dict[tuple[str, str], list[float]]:
    """Weak regret to the best mean on the adversaries for tuning."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in range(runs):
        for name, adversary in adversaries(K, T, run).items():
            most = best(adversary, T)
            for title, policy in policies.items():
                played = play(Task("", policy, adversary, run, range(run, run + 1)), np.array([T]))
                found.setdefault((title, name), []).append(most - float(played.rewards[0, -1]))
    return found


def main() -> None:
    K, T, runs = (int(float(text)) for text in sys.argv[1:4])
    counts = [int(text) for text in sys.argv[4].split(",")]
    stretches = [float(text) for text in sys.argv[5].split(",")] if len(sys.argv) > 5 else [STRETCH]
    policies: dict[str, hlmc.Policy] = {}
    for L in counts:
        for stretch in stretches if L > 1 else [STRETCH]:
            policy = Split(K, horizon=T, count=L, stretch=stretch) if L > 1 else hlmc.TsallisINF(K)
            length = policy.plan.lengths[0] if L > 1 else T
            policies[f"({L}, {-(-K // L)}) | {length:,}" if L > 1 else f"({K},) | {length:,}"] = policy
    found = others(policies, K, T, runs) if "others" in sys.argv else tuned(policies, K, T, runs)
    names = list(dict.fromkeys(name for _, name in found))
    print(f"K = {K:,}, T = {T:,}, {runs} runs\n\n| groups | steps an epoch | " + " | ".join(names) + " |")
    print("| --- " * (2 + len(names)) + "|")
    for title in policies:
        cells = []
        for name in names:
            values = np.array(found[title, name])
            cells.append(f"{values.mean():,.0f} ± {1.96 * values.std(ddof=1) / math.sqrt(runs):,.0f}")
        print(f"| {title} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
