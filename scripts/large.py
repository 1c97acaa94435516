"""Many arms in few words: mean reward and pseudo-regret of K = 10^3 to 10^6 arms with about 2 sqrt(K) words.

    python scripts/large.py                                  # about ten minutes on one core
    python scripts/large.py --arms 1e5 --horizon 1e7,1e8 --runs 2

The best arm is known from what the adversaries expect to pay, so nothing here takes K T evaluations. UCB-M keeps half
as many arms as there are words. Ratios are of pseudo-regret to that of the paper's HLMC in the same runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

import hlmc
from hlmc.cli.numbers import whole_numbers

ADVERSARIES: dict[str, Callable[[int, int], hlmc.adversaries.Adversary]] = {
    "needle": lambda K, seed: hlmc.adversaries.Needle(arms=K, seed=seed),
    "uniform means": lambda K, seed: hlmc.adversaries.UniformMeans(arms=K, seed=seed),
    "one arm 0.9 among 0.5": lambda K, seed: hlmc.adversaries.OneGoodArm(arms=K, arm=7 * K // 10, high=0.9, seed=seed),
}


def policies(K: int, M: int, T: int) -> dict[str, hlmc.Policy]:
    """Everybody in M words of statistics."""
    return {
        "HLMC": hlmc.HLMC(K, memory=M, horizon=T),
        "Champion": hlmc.Champion(K, memory=M, horizon=T),
        "UCB-M": hlmc.UCBM(K, memory=M // 2),
        "Uniform": hlmc.Uniform(K),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=whole_numbers, default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--horizon", type=whole_numbers, default=[10**6, 10**7])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| adversary | K | words | T | mean reward: HLMC | Champion | UCB-M | uniform | ratio: Champion | UCB-M |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for K in options.arms:
        M = 2 * math.ceil(math.sqrt(K))
        for T in options.horizon:
            for name, make in ADVERSARIES.items():
                made = policies(K, M, T)
                rewards = np.zeros((options.runs, len(made)))
                regrets = np.zeros_like(rewards)
                for run in range(options.runs):
                    seed = options.seed + run
                    result = hlmc.simulate(
                        made, make(K, seed), horizon=T, runs=1, seed=seed, points=[T], progress=False
                    )
                    rewards[run] = result.reward.values[:, 0, -1] / T
                    regrets[run] = result.regret("pseudo").values[:, 0, -1]
                means = " | ".join(f"{x:.3f}" for x in rewards.mean(axis=0))
                ratios = regrets.sum(axis=0) / regrets[:, 0].sum()
                print(f"| {name} | {K:,} | {M} | {T:,} | {means} | {ratios[1]:.3f} | {ratios[2]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
