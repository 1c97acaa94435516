"""How many steps a second a CUDA device takes, with the processor's beside them.

    python benchmarks/gpu.py                   # everything, about four minutes on a large device
    python benchmarks/gpu.py hlmc exp3         # some of the parts
    python benchmarks/gpu.py --quick           # a twentieth of the steps

The figure counts from the first launch to the last; compilation comes before it and is printed apart. The mean reward
of every part is printed with its interval, beside that of some runs on the processor: speed without it says nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import gpu_games

import hlmc

TRAP = hlmc.adversaries.BlockTrap(arms=100, memory=20)

PARTS = {
    "hlmc": (
        "two-level HLMC, K = 100, M = 20, experiment 1",
        lambda T: hlmc.HLMC(100, memory=20, horizon=T),
        132 * 1536 * 8,
        10**7,
        400e9,
    ),
    "exp3": ("EXP3, K = 100, experiment 1", lambda T: hlmc.EXP3(100, horizon=T), 132 * 448 * 4, 10**7, 100e9),
    "deep": (
        "three-level HLMC, K = 100, M = 14, experiment 1",
        lambda T: hlmc.HLMC(100, memory=14, horizon=T),
        132 * 1280 * 4,
        10**7,
        300e9,
    ),
    "champion": (
        "Champion, K = 100, M = 20, experiment 1",
        lambda T: hlmc.Champion(100, memory=20, horizon=T),
        132 * 1024 * 8,
        10**6,
        50e9,
    ),
    "tsallis": ("Tsallis-INF, K = 100, experiment 1", lambda T: hlmc.TsallisINF(100), 132 * 448, 10**5, 20e9),
    "coded": (
        "Tsallis-INF, K = 100, 12 bits a statistic, experiment 1",
        lambda T: hlmc.TsallisINF(100, bits=12),
        132 * 1280,
        10**5,
        None,
    ),
}
"""What is measured: a title, the policy, how many runs (what an H200 holds, or a multiple), steps, the aim.

Some warps are served before others, so that the last of a launch have a multiprocessor to themselves: with eight times
what the device holds that costs some 1 %, with no more than it holds 10 %.
"""


def measure(part: str, share: float, processor: bool) -> None:
    title, made, runs, steps, wanted = PARTS[part]
    policy = made(steps)
    horizon = max(1000, int(steps * share))
    print(f"-- {title}, T = {horizon:,}, {runs:,} runs of {policy.words.statistics} words")
    began = time.perf_counter()
    hlmc.estimate(policy, TRAP, 1000, runs=256, points=[1000], progress=False)
    print(f"   compiled and started in {time.perf_counter() - began:.1f} s")
    found = hlmc.estimate(policy, TRAP, horizon, runs=runs, points=[horizon], progress=False)
    (nanoseconds,) = found.nanoseconds.values()
    target = f", wanted: at least {wanted / 1e9:.0f}e9" if wanted else ""
    print(f"   device     {1.0 / nanoseconds:8.1f}e9 steps/s{target}")
    mean, error = float(found.data["mean"].item()), math.sqrt(float(found.data["variance"].item()) / runs)
    print(f"   reward     {mean:,.1f} +- {1.96 * error:,.1f}")
    if processor:
        result = hlmc.simulate(policy, TRAP, horizon, runs=32, points=[horizon], progress=False)
        rewards = result.data["reward"].values[0, :, -1]
        (nanoseconds,) = result.nanoseconds.values()
        print(f"   processor  {1.0 / nanoseconds:8.3f}e9 steps/s a core")
        print(f"   reward     {rewards.mean():,.1f} +- {1.96 * rewards.std(ddof=1) / math.sqrt(32):,.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = [*PARTS, "spectrum"]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(parts)}; default: all")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the steps")
    parser.add_argument("--no-processor", action="store_true", help="leave the processor out")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(parts)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}: {', '.join(parts)}")
    share = 0.05 if arguments.quick else 1.0
    for part in arguments.parts or parts:
        if part == "spectrum":
            gpu_games.spectrum(share, not arguments.no_processor)
        else:
            measure(part, share, not arguments.no_processor)


if __name__ == "__main__":
    try:
        main()
    except (hlmc.errors.HLMCError, ImportError) as error:
        sys.exit(f"{error}")
