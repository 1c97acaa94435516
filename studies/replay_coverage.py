"""How often the intervals of ``hlmc.replay`` contain the truth, on logs of EXP3, HLMC, Champion and Tsallis-INF.

    python studies/replay_coverage.py [--logs 100] [--steps 20000]

Rewards are one fixed table per world, so that the truth is known: what an arm would have earned is the mean of its
column. Every policy writes many logs of each world, with other random numbers. The table counts, over logs and arms,
the share of 95 % intervals with the truth inside: those of ``hlmc.replay``, and normal intervals of IPS over blocks and
over single steps, which are what one would compute at first sight. "width" is the median width of the first, "normal"
that of the second.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import hlmc

ARMS = 12
CANDIDATES = (0, 3, 7, 11)


def worlds(steps: int) -> dict[str, np.ndarray]:
    """Tables of rewards [step, arm]: means that stay, and means that change twice."""
    rng = np.random.default_rng(1)
    means = np.linspace(0.1, 0.9, ARMS)
    stays = rng.random((steps, ARMS)) < means
    turns = np.concatenate([np.tile(np.roll(means, 5 * k), (n, 1)) for k, n in enumerate(thirds(steps))])
    return {"means stay": stays.astype(float), "means change": (rng.random((steps, ARMS)) < turns).astype(float)}


def thirds(steps: int) -> tuple[int, int, int]:
    """The lengths of three parts."""
    return steps // 3, steps // 3, steps - 2 * (steps // 3)


def logs(policy: hlmc.Policy, table: np.ndarray, count: int) -> list[pd.DataFrame]:
    """Logs of so many learners of a policy, which all face the same rewards."""
    fleet = policy.fleet(count, seed=7)
    steps = len(table)
    arm = np.empty((steps, count), np.int64)
    propensity, block = np.empty((steps, count)), np.empty((steps, count), np.int64)
    for t in range(steps):
        tickets = fleet.ask()
        arm[t], propensity[t], block[t] = tickets["arm"], tickets["propensity"], tickets["block"]
        fleet.tell(tickets, table[t, arm[t]])
    reward = table[np.arange(steps)[:, None], arm]
    names = ("arm", "reward", "propensity", "block")
    return [
        pd.DataFrame(dict(zip(names, (each[:, i] for each in (arm, reward, propensity, block)), strict=True)))
        for i in range(count)
    ]


def normal(log: pd.DataFrame, arm: int, by: str | None) -> tuple[float, float]:
    """The 95 % normal interval of IPS, from sums over blocks or over steps."""
    weighted = (log["arm"] == arm) / log["propensity"] * log["reward"]
    sums = weighted if by is None else weighted.groupby(log[by]).sum()
    half = 1.96 * sums.std() * np.sqrt(len(sums)) / len(log)
    value = weighted.mean()
    return value - half, value + half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20_000)
    options = parser.parse_args()
    steps = options.steps
    policies = {
        "EXP3": hlmc.EXP3(arms=ARMS, horizon=steps, pending=1),
        "HLMC": hlmc.HLMC(arms=ARMS, levels=2, horizon=steps, pending=1),
        "Champion": hlmc.Champion(arms=ARMS, memory=8, horizon=steps, pending=1),
        "Tsallis-INF": hlmc.TsallisINF(arms=ARMS, pending=1),
    }
    rows = []
    for world, table in worlds(steps).items():
        truth = table.mean(axis=0)
        for name, policy in policies.items():
            inside, blocks, single, width, usual, weight = [], [], [], [], [], []
            for log in logs(policy, table, options.logs):
                found = hlmc.replay(CANDIDATES, log)
                for arm, (_, row) in zip(CANDIDATES, found.iterrows(), strict=True):
                    inside.append(row["low"] <= truth[arm] <= row["high"])
                    width.append(row["high"] - row["low"])
                    weight.append(row["mean_weight"])
                    low, high = normal(log, arm, "block")
                    blocks.append(low <= truth[arm] <= high)
                    usual.append(high - low)
                    low, high = normal(log, arm, None)
                    single.append(low <= truth[arm] <= high)
            rows.append(
                {
                    "world": world,
                    "log of": name,
                    "blocks": log["block"].nunique(),
                    "covered": np.mean(inside),
                    "width": np.median(width),
                    "by block": np.mean(blocks),
                    "normal": np.median(usual),
                    "by step": np.mean(single),
                    "mean weight": np.mean(weight),
                }
            )
    print(f"{options.logs} logs of {steps:,} steps, {ARMS} arms, of which {len(CANDIDATES)} are candidates")
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
