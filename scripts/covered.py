"""How often do the intervals that hlmc reports cover the mean regret of Champion? Printed from real runs.

    python scripts/covered.py [--runs 2048] [--horizon 1e5] [--drawn 3000] [--adversaries NAME,NAME]

For every adversary of the arena, many runs of Champion (K = 100, M = 20) against one sequence of rewards; the mean over
all of them is taken as the truth. Samples of 8 to 96 runs are drawn from them, without replacement, and it is counted
how often the interval of a sample holds the truth: ``t_interval`` and ``mean_interval``, which summaries, plots and the
arena report. Behind the slash: the median width, as a multiple of Student's. The last line of each adversary has the
share of samples that a summary calls skewed, and how often the others' intervals hold the truth. One core takes about
ten minutes.
"""

from __future__ import annotations

import argparse

import numpy as np

import hlmc
from hlmc.arenas import CASES
from hlmc.evaluation import Interval, is_skewed, mean_interval, t_interval

SIZES = (8, 16, 32, 48, 96)
LEFT_OUT = ("Shifting", "PiecewiseStationary", "RandomWalk", "Beta")
"""Whose best arm changes, so that weak regret is not the question, or which take long to draw."""


def runs_of(name: str, horizon: int, runs: int) -> np.ndarray:
    """The regret of each run, up to a constant: what it has not earned."""
    adversary = CASES[name].make(100, 20, horizon, 1)
    assert adversary is not None
    policy = hlmc.Champion(100, memory=20, horizon=horizon)
    result = hlmc.simulate(policy, adversary, runs=runs, points=[horizon], progress=False)
    return -result.reward.values[0, :, -1]


def covered(interval: Interval, truth: float) -> tuple[float, np.ndarray]:
    """The share of intervals that hold the truth, and their widths."""
    return float(np.mean((interval.low <= truth) & (truth <= interval.high))), interval.high - interval.low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2048)
    parser.add_argument("--horizon", type=float, default=1e5)
    parser.add_argument("--drawn", type=int, default=3000)
    parser.add_argument("--adversaries", default=",".join(name for name in CASES if name not in LEFT_OUT))
    options = parser.parse_args()
    print(f"{'coverage of 95 % intervals':28}" + "".join(f"{n:>6} runs      " for n in SIZES))
    lowest = dict.fromkeys(SIZES, 1.0)
    for name in options.adversaries.split(","):
        regret = runs_of(name, int(options.horizon), options.runs)
        centred = regret - regret.mean()
        skewness = float((centred**3).mean() / (centred**2).mean() ** 1.5)
        lines = {"t": "", "mean_interval": "", "skewed": ""}
        for n in SIZES:
            random = np.random.default_rng(n)
            drawn = np.array([random.choice(regret, n, replace=False) for _ in range(options.drawn)]).T
            usual = covered(t_interval(drawn), regret.mean())
            ours = covered(mean_interval(drawn), regret.mean())
            lowest[n] = min(lowest[n], ours[0])
            skewed = is_skewed(drawn)
            others = covered(mean_interval(drawn[:, ~skewed]), regret.mean())[0]
            lines["skewed"] += f"{100 * skewed.mean():6.1f} %, {100 * others:5.1f} %"
            for kind, (share, widths) in zip(lines, (usual, ours), strict=False):
                lines[kind] += f"{100 * share:8.1f} % / {np.median(widths) / np.median(usual[1]):.2f}"
        for kind, text in lines.items():
            label = {"t": name, "mean_interval": f"  skewness {skewness:.1f}"}.get(kind, "")
            print(f"{label:18}{kind:>14}{text}", flush=True)
    print(f"{'lowest':18}{'mean_interval':>14}" + "".join(f"{100 * lowest[n]:8.1f} %       " for n in SIZES))


if __name__ == "__main__":
    main()
