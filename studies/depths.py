"""From which horizon on a hierarchy of D levels learns: levels of ten children, K = 10^D, against `Needle`.

    python studies/depths.py                                 # depths 2 to 5, T to 10^7: about five minutes on one core
    python studies/depths.py --depths 6,9 --horizon 1e9 --runs 2

Prints, for HLMC and Champion, the share of what uniform play leaves that the learner gains: 0 is uniform play, 1 is the
best arm in every step. Expected rewards are compared, so that only the choice of arms is random. A learner has begun
to learn where the mean over the runs exceeds 0 by three standard errors and is at least 0.01.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import hlmc
from hlmc.cli.numbers import whole_numbers

CHILDREN = 10
LEAST = 0.01


def share(policy: hlmc.Policy, horizon: int, seed: int) -> float:
    """What one run gains of the distance between uniform play and the best arm, in expected rewards."""
    adversary = hlmc.adversaries.Needle(arms=policy.arms, seed=seed)
    result = hlmc.simulate(policy, adversary, horizon=horizon, runs=1, seed=seed, points=[horizon], progress=False)
    regret = float(result.regret("pseudo").item()) / horizon
    group = len(adversary.group)
    others = adversary.poor * (group - 1) + adversary.fair * (policy.arms - group)
    uniform = (adversary.good + others) / policy.arms
    return 1.0 - regret / (adversary.good - uniform)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", type=whole_numbers, default=[2, 3, 4, 5])
    parser.add_argument("--horizon", type=whole_numbers, default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("| levels | K | words | T | HLMC | Champion |")
    print("|---|---|---|---|---|---|")
    with ThreadPoolExecutor(options.jobs) as pool:
        for depth in options.depths:
            for T in options.horizon:
                K, M = CHILDREN**depth, CHILDREN * depth
                made: list[hlmc.Policy] = [kind(K, memory=M, horizon=T) for kind in (hlmc.HLMC, hlmc.Champion)]
                assert all(len(policy.plan.levels) == depth for policy in made)
                cells = []
                for policy in made:
                    seeds = range(options.seed, options.seed + options.runs)
                    gained = np.array(list(pool.map(lambda s, p=policy, t=T: share(p, t, s), seeds)))
                    error = gained.std(ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else np.inf
                    mark = "**" if gained.mean() >= max(LEAST, 3 * error) else ""
                    cells.append(f"{mark}{gained.mean():.3f} ± {1.96 * error:.3f}{mark}")
                print(f"| {depth} | 10^{depth} | {M} | {T:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
