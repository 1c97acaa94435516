"""A policy in plain Python beside compiled ones: Thompson sampling with a Beta prior, on two adversaries.

It keeps two numbers per arm, 200 in all; HLMC and Champion keep 20. Where means are fixed it is ahead of both. Where
the rewards are made against learners (experiment 1 of the paper), nothing is promised.

    python examples/own_policy.py
"""

import random

import hlmc


class Thompson:
    """Draw a mean for every arm from its posterior, and play the largest."""

    def __init__(self, arms: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.wins = [1.0] * arms
        self.losses = [1.0] * arms

    def select(self) -> int:
        drawn = [self.rng.betavariate(a, b) for a, b in zip(self.wins, self.losses, strict=True)]
        return drawn.index(max(drawn))

    def update(self, arm: int, reward: float) -> None:
        self.wins[arm] += reward
        self.losses[arm] += 1.0 - reward


def main(steps: int = 10_000, runs: int = 4) -> None:
    arms = 100
    policies = {
        "Thompson": hlmc.PythonPolicy(Thompson, memory=2 * arms),
        "HLMC": hlmc.HLMC(arms, memory=20, horizon=steps),
        "Champion": hlmc.Champion(arms, memory=20, horizon=steps),
        "UCB1": hlmc.UCB1(arms),
    }
    for adversary in (hlmc.adversaries.UniformMeans(arms), hlmc.adversaries.BlockTrap(arms, memory=20)):
        result = hlmc.simulate(policies, adversary, steps, runs=runs, progress=False)
        print(adversary)
        print(result.summary(), end="\n\n")


if __name__ == "__main__":
    main()
