"""What the crown costs beside the champion, and saves beside HLMC: the table of docs/champion.md.

    python scripts/crown.py              # 32 runs of 10^6 steps each: about ten minutes on one core
    python scripts/crown.py --runs 2 --horizon 10000

Regret over that of the paper's HLMC on the same sequences, K = 100 arms and 20 words, with 95 % intervals.
"""

from __future__ import annotations

import argparse

import hlmc

ADVERSARIES = {
    "BlockTrap": "experiment 1",
    "Alternating": "experiment 2",
    "OneGoodArm": "one arm 0.55 among 0.5",
    "UniformMeans": "uniform means",
    "Needle": "needle",
    "Decoy": "decoy",
    "Sawtooth": "sawtooth",
    "LateBloomer": "late bloomer",
}
REDUCED = "CrownedHLMC rv"
POLICIES = ["HLMC tsallis-iw", "HLMC tsallis-rv", "CrownedHLMC", REDUCED, "Champion"]


def reduced(arms: int, memory: int, horizon: int) -> hlmc.Policy:
    return hlmc.CrownedHLMC(arms, memory, horizon, "reduced-variance")


def main() -> None:
    parser = argparse.ArgumentParser(description="Hold the crown against HLMC and the champion.")
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--horizon", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    data = hlmc.arena(
        {REDUCED: reduced},
        against=[name for name in POLICIES if name != REDUCED],
        adversaries=list(ADVERSARIES),
        arms=100,
        horizons=options.horizon,
        runs=options.runs,
        seed=options.seed,
        kinds="weak",
        jobs=options.jobs,
        progress=False,
    ).data
    rows = {(row["adversary"], row["policy"]): row for row in data.to_dict("records")}
    print("| adversary | HLMC's regret |", " | ".join(POLICIES), "|")
    print("|---|---|" + "---|" * len(POLICIES))
    for adversary, shown in ADVERSARIES.items():
        cells = [shown, f"{rows[adversary, 'HLMC']['regret']:,.0f}"]
        for policy in POLICIES:
            row = rows[adversary, policy]
            cells.append(f"{row['ratio']:.3f} ({row['ratio_low']:.3f} to {row['ratio_high']:.3f})")
        print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
