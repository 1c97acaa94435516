"""How many turns a second the agents of a game take on a CUDA device, with the processor's beside them.

    python benchmarks/gpu_games.py                  # a million radios, and the paper's thousand in many runs
    python benchmarks/gpu_games.py --quick          # fewer rounds
    python benchmarks/gpu_games.py --no-processor   # leave the processor out
    python benchmarks/gpu_games.py --check          # the quick ones of the device's tests first

A turn is one agent in one round: it learns what the last round paid and chooses for the next. Compilation and the
making of a million agents come before the clock starts and are printed apart. Mean rewards stand beside the figures;
those of the device and of the processor come from the same seeds, and rounding parts them in time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

import hlmc
from hlmc.games import board as layout
from hlmc.games.match import Board
from hlmc.games.on_device import Tables, runs_at_once
from hlmc.games.population import population
from hlmc.games.runs import Table, Task
from hlmc.targets.cuda.memory import checked_device

WANTED = 20e9
"""Turns a second of a million agents on 20 channels, on one H200."""


def tasks(agents: int, runs: int) -> list[Task]:
    """Runs of the spectrum game for HLMC with ten words, as in benchmarks/games.py."""
    game = hlmc.games.Spectrum(agents=agents, channels=20)
    groups = population(hlmc.HLMC(arms=20, memory=10, horizon=10**7), game)
    return [Task(groups, game, 0, run, np.array([10**7]), False) for run in range(runs)]


def earned(board: Board, agents: int, rounds: int) -> float:
    """What an agent has earned a round."""
    return float(board[layout.EARNED].sum()) / (agents * rounds)


def measure(title: str, agents: int, rounds: int, processor: int) -> float:
    """Print the turns a second of runs that fill the device; and, if asked, of one run on one core."""
    began = time.perf_counter()
    runs = runs_at_once(tasks(agents, 1)[0], "float32")
    print(f"-- {title}: {agents:,} agents, 20 channels, {runs:,} run{'s' * (runs > 1)}, {rounds:,} rounds", flush=True)
    tables = Tables(tasks(agents, runs), "float32")
    warm = 64
    tables.advance(0, warm)
    print(f"   compiled, made and warmed up in {time.perf_counter() - began:.1f} s; {tables.blocks} blocks")
    seconds = tables.advance(warm, warm + rounds)
    speed = agents * runs * rounds / seconds
    print(f"   device     {speed / 1e9:8.2f}e9 turns/s, {1e6 * seconds / rounds:.1f} us a round")
    tables.look()
    rewards = [earned(board, agents, warm + rounds) for board in tables.boards]
    print(f"   reward     {np.mean(rewards):.6g} an agent and round", flush=True)
    if processor:
        table = Table(tasks(agents, 1)[0])
        table.advance(0, 2)
        began = time.perf_counter()
        table.advance(2, 2 + processor)
        seconds = time.perf_counter() - began
        print(f"   processor  {agents * processor / seconds / 1e9:8.4f}e9 turns/s on one core, {processor:,} rounds")
        print(f"   reward     {earned(table.board, agents, 2 + processor):.6g} an agent and round")
    return speed


def spectrum(share: float = 1.0, processor: bool = True) -> None:
    """The spectrum game: a million agents in one run, and a thousand in many."""
    speed = measure("a million radios", 10**6, int(20_000 * share), 30 if processor else 0)
    print(f"   wanted     at least {WANTED / 1e9:.0f}e9: {'reached' if speed >= WANTED else 'missed'}")
    measure("the paper's thousand", 1000, int(20_000 * share), 20_000 if processor else 0)


def check() -> None:
    """The tests that need few compilations, in this process, so that what they compile is there for the figures."""
    os.environ.setdefault("HLMC_DEVICE_TESTS", "1")
    import pytest

    tests = Path(__file__).parent.parent / "tests" / "device" / "test_games.py"
    if pytest.main(["-q", "-p", "no:cacheprovider", "-k", "quick", "--durations=5", str(tests)]):
        sys.exit("the device does not do what the processor does")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    parser.add_argument("--no-processor", action="store_true", help="leave the processor out")
    parser.add_argument("--check", action="store_true", help="run the quick ones of the device's tests first")
    arguments = parser.parse_args()
    checked_device()
    if arguments.check:
        check()
    spectrum(0.1 if arguments.quick else 1.0, not arguments.no_processor)


if __name__ == "__main__":
    try:
        main()
    except (hlmc.errors.HLMCError, ImportError) as error:
        sys.exit(f"{error}")
