"""The figure and the table of docs/arms.md: arms that come at half time, and the best of them leaves again.

    python studies/arms.py --save docs/figures/arms.png        # 16 runs of 10^5 steps: about two minutes on one core

Forty arms have means from 0.1 to 0.5. At half time ten more come, one of them with mean 0.9. After three quarters of
the time that one is removed. All policies have room for 60 arms and play the same rewards.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import hlmc
from hlmc.plotting import figure, look, save, short_ticks, style

OLD, NEW, ROOM = 40, 10, 60
BEST = OLD + 6
MEANS = np.array([*(0.1 + 0.4 * (i * 7 % OLD) / (OLD - 1) for i in range(OLD)), *[0.3] * NEW])
MEANS[BEST] = 0.9
WINDOWS = 100
LIKE = {"HLMC, Tsallis-INF": "HLMC.P"}  # whose look a policy has that has none


def policies(steps: int) -> dict[str, hlmc.Policy]:
    """What is compared; the words are those of statistics."""
    return {
        "Tsallis-INF": hlmc.TsallisINF(arms=ROOM),
        "EXP3": hlmc.EXP3(arms=ROOM, horizon=steps),
        "UCB1": hlmc.UCB1(arms=ROOM),
        "Champion": hlmc.Champion(arms=ROOM, memory=20, horizon=steps),
        "HLMC, Tsallis-INF": hlmc.HLMC(arms=ROOM, memory=20, horizon=steps, routines="tsallis-inf"),
        "HLMC": hlmc.HLMC(arms=ROOM, memory=20, horizon=steps),
    }


def played(policy: hlmc.Policy, steps: int, seed: int) -> np.ndarray:
    """The mean of the means of the arms played, in windows of equal length."""
    arms = hlmc.Arms(ROOM)
    arms.add(*range(OLD))
    learner = policy.start(seed, arms=arms)
    coins = np.random.default_rng(seed).random(steps)
    chosen = np.empty(steps, np.int64)
    for t in range(steps):
        if t == steps // 2:
            arms.add(*range(OLD, OLD + NEW))
        if t == steps // 4 * 3:
            arms.remove(BEST)
        arm = chosen[t] = learner.select()
        learner.update(float(coins[t] < MEANS[arm]))
    means: np.ndarray = MEANS[chosen].reshape(WINDOWS, -1).mean(axis=1)
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000, help="a multiple of 400")
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    times = (np.arange(WINDOWS) + 0.5) * options.steps / WINDOWS
    with style():
        fig = figure()
        ax = fig.subplots()
        print("| policy | words | before the best leaves | at the end |\n|---|---|---|---|")
        for name, policy in policies(options.steps).items():
            runs = np.stack([played(policy, options.steps, seed) for seed in range(options.runs)])
            mean, error = runs.mean(axis=0), 2 * runs.std(axis=0, ddof=1) / np.sqrt(options.runs)
            own = look(LIKE.get(name, name))
            ax.plot(times, mean, **own.line(), label=f"{name}, {policy.words.statistics} words")
            ax.fill_between(times, mean - error, mean + error, **own.band())
            late = [runs[:, end - 3 : end].mean(axis=1) for end in (75, 100)]
            cells = [f"{x.mean():.3f} ± {2 * x.std(ddof=1) / np.sqrt(len(x)):.3f}" for x in late]
            print(f"| {name} | {policy.words.statistics} | {' | '.join(cells)} |")
        for part, text in ((0.5, "ten arms come"), (0.75, "the best leaves")):
            ax.axvline(part * options.steps, color="0.5", linewidth=0.8)
            ax.text(part * options.steps, 0.93, f" {text}", fontsize="small")
        ax.set(xlabel="step", ylabel="mean of the arms played", ylim=(0.25, 1.0), xlim=(0, options.steps))
        short_ticks(ax.xaxis)
        ax.legend(loc="upper left", fontsize="small")
        if options.save:
            save(fig, options.save)


if __name__ == "__main__":
    main()
