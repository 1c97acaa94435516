"""What a step of a policy in plain Python costs beyond its own time, and what one reward costs in Python.

    python benchmarks/own.py            # a few seconds
    python benchmarks/own.py --quick    # a tenth of the steps, to see that it runs

Own time is that of a bare loop that calls the same methods of the same object with rewards that are known beforehand.
Both loops alternate, and the least of their processor times counts, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hlmc
from hlmc.simulation.players import player_of

K = 10
AIM = 2000.0
"""Nanoseconds."""


class Greedy:
    """Epsilon-greedy with select() and update(reward)."""

    def __init__(self, arms: int = K, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.counts = [0] * arms
        self.means = [0.0] * arms
        self.arm = 0

    def select(self) -> int:
        if self.rng.random() < 0.1:
            self.arm = self.rng.randrange(len(self.means))
        else:
            self.arm = self.means.index(max(self.means))
        return self.arm

    def update(self, reward: float) -> None:
        arm = self.arm
        self.counts[arm] += 1
        self.means[arm] += (reward - self.means[arm]) / self.counts[arm]


class Nothing:
    """Always the first arm: the least that a policy can do."""

    def select(self) -> int:
        return 0

    def update(self, reward: float) -> None:
        pass


class WithArm(Greedy):
    """As Greedy, with update(arm, reward)."""

    def update(self, arm: int, reward: float) -> None:  # type: ignore[override]
        self.counts[arm] += 1
        self.means[arm] += (reward - self.means[arm]) / self.counts[arm]


class Pulled(WithArm):
    """With river's interface."""

    select = None  # type: ignore[assignment]

    def pull(self, arms: list[int]) -> int:
        return Greedy.select(self)


def bare(make: Callable[[], Any], rewards: list[float]) -> float:
    """Seconds of the policy's own calls."""
    policy = make()
    if isinstance(policy, Pulled):
        arms = list(range(K))
        began = time.process_time()
        for reward in rewards:
            policy.update(policy.pull(arms), reward)
    elif isinstance(policy, WithArm):
        began = time.process_time()
        for reward in rewards:
            policy.update(policy.select(), reward)
    else:
        began = time.process_time()
        for reward in rewards:
            policy.select()
            policy.update(reward)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description="Time policies in plain Python.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps")
    options = parser.parse_args()
    steps = 20_000 if options.quick else 200_000
    faced = {
        "UniformMeans": hlmc.adversaries.UniformMeans(K),
        "BlockTrap": hlmc.adversaries.BlockTrap(K, memory=4),
        "a function": hlmc.adversaries.Function(K, lambda t, arm: (t + arm) % 4 / 4),
    }
    print(f"{'policy':<10} {'adversary':<14} {'own':>8} {'played':>8} {'beyond':>8}   ns a step, aim {AIM:.0f}")
    with ThreadPoolExecutor(1) as one:
        for make in (Nothing, Greedy, WithArm, Pulled):
            for name, adversary in faced.items():
                player = player_of(make(), K)
                arms: list[int] = []
                known: list[float] = []
                for t in range(steps):
                    arms.append(player.select())
                    known.append(adversary.unchecked(t, arms[-1]))
                    player.update(arms[-1], known[-1])

                def play(make: Any = make, adversary: Any = adversary) -> float:
                    began = time.process_time()
                    hlmc.simulate(make(), adversary, steps, runs=1, points=1, executor=one, progress=False)
                    return time.process_time() - began

                play()
                own, played = (
                    1e9 * min(times) / steps
                    for times in zip(*((bare(make, known), play()) for _ in range(7)), strict=True)
                )
                print(f"{make.__name__:<10} {name:<14} {own:8.0f} {played:8.0f} {played - own:8.0f}")
    for name, adversary in faced.items():
        times = []
        for _ in range(7):
            began = time.process_time()
            for t in range(20_000):
                adversary.reward(t, 3)
            times.append((time.process_time() - began) / 20_000 * 1e9)
        print(f"adversary.reward of {name:<14} {min(times):6.0f} ns, aim 1000")


if __name__ == "__main__":
    main()
