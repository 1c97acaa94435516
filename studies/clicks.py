"""Rare rewards: 1,000 arms with click rates of at most 5 %, mean reward per step with 95 % intervals.

    python studies/clicks.py                       # K = 1,000, M = 64, T = 10^6, 32 runs: about two minutes on one core
    python studies/clicks.py --high 0.2 --horizon 1e5

Every run has click rates of its own, drawn uniformly from [0, high].
"""

from __future__ import annotations

import argparse

import hlmc
from hlmc.adversaries import UniformMeans
from hlmc.evaluation import mean_interval


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--memory", type=int, default=64)
    parser.add_argument("--horizon", type=float, default=1e6)
    parser.add_argument("--high", type=float, default=0.05)
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--seed", type=int, default=300)
    options = parser.parse_args()
    K, M, T = options.arms, options.memory, int(options.horizon)
    policies = {
        "HLMC": hlmc.HLMC(K, memory=M, horizon=T),
        "HLMC, Tsallis-INF": hlmc.HLMC(K, memory=M, horizon=T, routines="tsallis-inf"),
        "Champion": hlmc.Champion(K, memory=M, horizon=T),
        "UCB-M": hlmc.UCBM(K, memory=M // 2),
        "EXP3, all words": hlmc.EXP3(K, T),
        "Tsallis-INF, all words": hlmc.TsallisINF(K),
    }
    rates = [UniformMeans(K, 0.0, options.high, seed=options.seed + run) for run in range(options.runs)]
    result = hlmc.simulate(policies, rates, T, options.runs, options.seed, points=1, progress=False)
    print("| policy | words | mean reward |\n|---|---|---|")
    for name, policy in policies.items():
        mean, low, high = mean_interval(result.reward.sel(policy=name).values[:, -1] / T)
        print(f"| {name} | {policy.words.statistics:,} | {mean:.4f} ({low:.4f} to {high:.4f}) |")


if __name__ == "__main__":
    main()
