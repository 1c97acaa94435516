"""A million radios with nine numbers each share twenty channels, of which a jammer blocks three quarters.

In the paper's game a clear channel pays 10 in all. Among a million radios that is too little per radio to learn from.
Here a channel has a capacity: it serves up to 200,000 radios in full and shares that among more, so the five clear
channels can serve all radios. The jammer moves on by one channel from time to time. The radios know neither this nor
how many others there are.

    python examples/million_radios.py --device cuda    # a million radios, 20,000 steps
    python examples/million_radios.py                  # a thousandth of them, on the processor
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import hlmc
from hlmc import plotting
from hlmc.engine.kernel import kernel
from hlmc.games.jammers import CLEAR_REWARD, Circulating

CHANNELS, CLEAR = 20, 5


@kernel
def served(spec, state, t, counts, arm):
    """A clear channel serves up to its capacity, and shares that among more; a jammed one serves none."""
    return min(1.0, spec[CLEAR_REWARD] / counts[arm]) if state[arm] > 0.0 else 0.0


@dataclass(frozen=True, repr=False)
class Radios(hlmc.games.Spectrum):
    """The spectrum game with channels that have room: ``clear_reward`` is for how many radios."""

    pay = staticmethod(served)
    scale = 1.0


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default cpu)")
    parser.add_argument("--radios", type=int, help="how many (default a million on cuda, a thousand on cpu)")
    parser.add_argument("--steps", type=int, default=20_000, help="(default 20,000)")
    parser.add_argument("--out", default="million_radios.png", help="the picture (default million_radios.png)")
    options = parser.parse_args(arguments)
    radios = options.radios or (10**6 if options.device == "cuda" else 1000)
    jammer = Circulating(period=max(1, options.steps // 4), clear=CLEAR)
    game = Radios(radios, CHANNELS, jammer, clear_reward=radios / CLEAR, jammed_reward=0.0)
    policy = hlmc.HLMC(arms=CHANNELS, memory=10, switches=4, horizon=options.steps)
    began = time.perf_counter()
    result = hlmc.play(policy, game, options.steps, runs=1, device=options.device)
    seconds = time.perf_counter() - began
    row = result.summary().iloc[0]
    choices = radios * options.steps
    where = f"{result.provenance['device']}, {result.provenance['precision']}"
    lines = [
        f"{radios:,} radios, {policy.words.statistics} numbers each, {CHANNELS} channels, {options.steps:,} steps",
        f"served: {row['reward']:.3f} of all calls; {CLEAR / CHANNELS:.3f} if all had stayed put",
        f"on a clear channel: {row['clear']:.3f} of all choices; fairness {row['fairness']:.4f}",
        f"{choices:.3g} choices in {seconds:.1f} s ({where}); {1.0 / result.nanoseconds:.3g}e9 per second of play",
        f"drawn: {plotting.save(result.plot_occupancy().figure, options.out)}",
    ]
    print(*lines, sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (hlmc.errors.HLMCError, ImportError) as error:
        sys.exit(f"{error}")
