"""How many steps a second a CUDA device takes, with the processor's beside them.

    python benchmarks/gpu.py --no-processor    # everything, about three minutes on an H200
    python benchmarks/gpu.py                   # with the processor's figures, some minutes more
    python benchmarks/gpu.py hlmc exp3         # some of the parts
    python benchmarks/gpu.py --quick           # a twentieth of the steps

On a bare machine with a GPU, a driver for CUDA 13 and Python 3.11, in this project's folder:

    python -m venv gpu && gpu/bin/pip install -e '.[cuda]'
    gpu/bin/python benchmarks/gpu.py --no-processor

The figure counts from the second launch to the last; compilation comes before it and is printed apart. The mean reward
of every part is printed with its interval, beside what numba-cuda gave with the same runs on an H200 in version 0.3. As
the kernels are the same, both should be equal to the last digit (Champion has had another rule since, and codes have no
such figure). Each part says whether its speed is what it should be at least.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import gpu_games

import hlmc
from hlmc.targets.cuda.memory import checked_device

TRAP = hlmc.adversaries.BlockTrap(arms=100, memory=20)


class Part(NamedTuple):
    """What is measured."""

    title: str
    policy: Callable[[int], hlmc.Policy]
    """The policy for a horizon."""
    runs: int
    """What an H200 holds, or a multiple."""
    steps: int
    wanted: float | None
    """Steps a second at least, on an H200."""
    before: str | None
    """The mean reward through numba-cuda."""


PARTS = {
    "hlmc": Part(
        "two-level HLMC, K = 100, M = 20, experiment 1",
        lambda T: hlmc.HLMC(100, memory=20, horizon=T), 132 * 1536 * 8, 10**7, 403e9, "1,412,159 +- 122",
    ),
    "exp3": Part(
        "EXP3, K = 100, experiment 1",
        lambda T: hlmc.EXP3(100, horizon=T), 132 * 448 * 4, 10**7, 180e9, "2,684,348 +- 6",
    ),
    "deep": Part(
        "three-level HLMC, K = 100, M = 14, experiment 1",
        lambda T: hlmc.HLMC(100, memory=14, horizon=T), 132 * 1280 * 4, 10**7, 370e9, "760,182 +- 233",
    ),
    "champion": Part(
        "Champion, K = 100, M = 20, experiment 1",
        lambda T: hlmc.Champion(100, memory=20, horizon=T), 132 * 1024 * 8, 10**6, 62e9, None,
    ),
    "tsallis": Part(
        "Tsallis-INF, K = 100, experiment 1",
        lambda T: hlmc.TsallisINF(100), 132 * 448, 10**5, 7e9, "39,493 +- 16",
    ),
    "coded": Part(
        "Tsallis-INF, K = 100, 12 bits a statistic, experiment 1",
        lambda T: hlmc.TsallisINF(100, bits=12), 132 * 1280, 10**5, 0.3e9, None,
    ),
}  # fmt: skip
"""The parts, by their names on the command line.

Some warps are served before others, so that the last of a launch have a multiprocessor to themselves: with eight times
what the device holds that costs some 1 %, with no more than it holds 10 %.
"""


def measure(part: str, share: float, processor: bool) -> None:
    title, made, runs, steps, wanted, before = PARTS[part]
    policy = made(steps)
    horizon = max(1000, int(steps * share))
    print(f"-- {title}, T = {horizon:,}, {runs:,} runs of {policy.words.statistics} words")
    began = time.perf_counter()
    hlmc.estimate(policy, TRAP, 1000, runs=256, points=[1000], progress=False)
    print(f"   compiled and started in {time.perf_counter() - began:.1f} s")
    found = hlmc.estimate(policy, TRAP, horizon, runs=runs, points=[horizon], progress=False)
    (nanoseconds,) = found.nanoseconds.values()
    speed = 1e9 / nanoseconds
    verdict = f", wanted: at least {wanted / 1e9:.3g}e9: {'reached' if speed >= wanted else 'missed'}" if wanted else ""
    print(f"   device     {speed / 1e9:8.1f}e9 steps/s{verdict}")
    mean, error = float(found.data["mean"].item()), math.sqrt(float(found.data["variance"].item()) / runs)
    same = f", through numba-cuda {before}" if before and share == 1.0 else ""
    print(f"   reward     {mean:,.1f} +- {1.96 * error:,.1f}{same}")
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
    print(f"{checked_device()}, hlmc {hlmc.__version__}")
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
