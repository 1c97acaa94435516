"""Regret of policies in equal bytes, played in C on all cores: the tables of docs/research/bits.md.

    python benchmarks/bits.py plan FOLDER [EXPERIMENT ...]          # the experiments of docs/research/bits.md
    python benchmarks/bits.py write FOLDER ARMS HORIZON RUNS NAME=POLICY ...
    python benchmarks/bits.py play FOLDER [--cores N] [--seconds S]
    python benchmarks/bits.py check FOLDER
    python benchmarks/bits.py table FOLDER
    python benchmarks/bits.py plot FOLDER FILE
    python benchmarks/bits.py plot-bytes FOLDER FILE                # regret against bytes
    python benchmarks/bits.py [speed]                               # a step with 64 bits and with 12

``write`` exports the policies (``policy.to_c``) and the adversaries of the arena, catalogue and held out, as C, and the
adversaries' numbers as data, to a folder; ``plan`` writes several such folders into one. ``play`` compiles and plays
them on N cores, and starts nothing after S seconds; the same call again plays what is left. It needs no more than
Python and a C compiler, so that the folder can be played on another machine: ``python3 FOLDER/bits.py play FOLDER``.
Every run is a sequence of rewards of its own, on which all policies are played. ``played.csv`` has one line for each
run of a policy. ``table`` prints weak regret, mean and 95 % interval, and ratios to the first policy; above 1,000
arms, mean rewards. A policy is written as in Python: ``few="TsallisINF(100, bits=12)"``; K and T stand for the arms and
the horizon, ``flat`` for ``flat_tsallis.c``. ``check`` plays 20,000 steps of each case with the policies as exported
and as in ``bits_lanes.txt``, in which they are played, and fails if a reward differs.

The best fixed arm is found in two passes: the rewards of all arms at about 150,000 steps drawn at random, one of each
stretch of equal length, then all rewards of those arms whose mean was within 0.008 of the best. An arm of fixed mean
that is best and is left out would have to be off by six standard deviations.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from equal_bytes import Experiment, check, plan, play, plot, plot_bytes, table, write


def speed(times: int = 10, steps: int = 1_000_000) -> None:
    """Print nanoseconds a step in simulation, 64 and 12 bits in turns, the least of each, and their ratio."""
    import numpy as np

    import hlmc
    from hlmc.simulation.runs import Task
    from hlmc.simulation.runs import play as play_task

    adversary = hlmc.adversaries.UniformMeans(arms=100, seed=1)
    policies = {64: hlmc.TsallisINF(100), 12: hlmc.TsallisINF(100, bits=12)}
    least = dict.fromkeys(policies, math.inf)
    for _ in range(times + 1):  # the first compiles
        for bits, policy in policies.items():
            played = play_task(Task("", policy, adversary, 0, range(1)), np.array([steps]))
            least[bits] = min(least[bits], 1e9 * played.seconds / steps)
    print(
        f"Tsallis-INF, K = 100: {least[64]:.0f} ns with 64 bits, {least[12]:.0f} with 12: {least[12] / least[64]:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = ("plan", "write", "play", "check", "table", "plot", "plot-bytes", "speed")
    parser.add_argument("verb", choices=verbs, nargs="?", default="speed")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/bits"))
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args()
    if options.verb == "plan":
        plan(options.folder, options.rest)
    elif options.verb == "write":
        arms, horizon, runs = (int(float(text)) for text in options.rest[:3])
        policies = dict(text.split("=", 1) for text in options.rest[3:])
        write(options.folder, Experiment(arms, horizon, runs, policies))
    elif options.verb == "play":
        play(options.folder, options.cores, options.seconds)
    elif options.verb == "speed":
        speed()
    elif options.verb == "check":
        check(options.folder)
    elif options.verb == "plot":
        plot(options.folder, options.rest[0])
    elif options.verb == "plot-bytes":
        plot_bytes(options.folder, options.rest[0])
    else:
        table(options.folder)


if __name__ == "__main__":
    sys.exit(main())
