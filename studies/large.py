"""Many arms in few words: mean reward and pseudo-regret of K = 10^3 to 10^6 arms with about 2 sqrt(K) words.

    python studies/large.py                                  # about ten minutes on one core
    python studies/large.py --arms 1e5 --horizon 1e7,1e8 --runs 2 --jobs 4 --csv large.csv

The best arm is known from what the adversaries expect to pay, so nothing here takes K T evaluations. UCB-M keeps half
as many arms as there are words. Ratios are of pseudo-regret to that of the paper's HLMC in the same runs.
scripts/advice.py reads what --csv writes.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import hlmc
from hlmc.cli.numbers import whole_numbers

ADVERSARIES: dict[str, Callable[[int, int], hlmc.adversaries.Adversary]] = {
    "Needle": lambda K, seed: hlmc.adversaries.Needle(arms=K, seed=seed),
    "UniformMeans": lambda K, seed: hlmc.adversaries.UniformMeans(arms=K, seed=seed),
    "OneGoodArm": lambda K, seed: hlmc.adversaries.OneGoodArm(arms=K, arm=7 * K // 10, high=0.9, seed=seed),
}


def policies(K: int, M: int, T: int) -> dict[str, hlmc.Policy]:
    """Everybody in M words of statistics."""
    return {
        "HLMC": hlmc.HLMC(K, memory=M, horizon=T),
        "Champion": hlmc.Champion(K, memory=M, horizon=T),
        "UCB-M": hlmc.UCBM(K, memory=M // 2),
        "Uniform": hlmc.Uniform(K),
    }


def played(K: int, M: int, T: int, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean reward and pseudo-regret of each policy in one run."""
    adversary = ADVERSARIES[name](K, seed)
    result = hlmc.simulate(policies(K, M, T), adversary, horizon=T, runs=1, seed=seed, points=[T], progress=False)
    return result.reward.values[:, 0, -1] / T, result.regret("pseudo").values[:, 0, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=whole_numbers, default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--horizon", type=whole_numbers, default=[10**6, 10**7])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--csv", type=Path, help="write the ratios to this file too")
    options = parser.parse_args()
    print("| adversary | K | words | T | mean reward: HLMC | Champion | UCB-M | uniform | ratio: Champion | UCB-M |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    seeds = range(options.seed, options.seed + options.runs)
    sizes = [(K, 2 * math.ceil(math.sqrt(K)), T) for K in options.arms for T in options.horizon]
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = {
            (K, M, T, name): [pool.submit(played, K, M, T, name, seed) for seed in seeds]
            for K, M, T in sizes
            for name in ADVERSARIES
        }
        for (K, M, T, name), runs in waiting.items():
            rewards, regrets = (np.array(each) for each in zip(*(run.result() for run in runs), strict=True))
            means = " | ".join(f"{x:.3f}" for x in rewards.mean(axis=0))
            ratios = regrets.sum(axis=0) / regrets[:, 0].sum()
            print(f"| {name} | {K:,} | {M} | {T:,} | {means} | {ratios[1]:.3f} | {ratios[2]:.3f} |", flush=True)
            for (policy, made), ratio in zip(policies(K, M, T).items(), ratios, strict=True):
                rows.append((name, K, T, "pseudo", policy, made.words.statistics, options.runs, f"{ratio:.6g}"))
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("adversary", "arms", "horizon", "kind", "policy", "words", "runs", "ratio"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
