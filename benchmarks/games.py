"""How long games take, and how much memory: a thousand radios, and a million.

    python benchmarks/games.py                      # everything, about three minutes on two cores
    python benchmarks/games.py --quick              # smaller, to see that it runs
    python benchmarks/games.py --smpybandits PYTHON # also time SMPyBandits, installed for that interpreter

Compilation is done before the clock starts. "Core" is the time that the threads of the process used together, "clock"
what a clock on the wall says; on a machine that others use too, the first says more. SMPyBandits 0.9.7 needs numpy<2,
scipy<1.12 and pandas<2.2 and so an environment of its own; without it, its multi-player loop is taken to need 52 ms a
round of a thousand EXP3 agents, as was measured for it before.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import hlmc
from hlmc.games.population import population
from hlmc.games.runs import Table, Task

PEER_ROUND = 52e-3
"""Seconds a round of SMPyBandits' multi-player loop, 1,000 agents with EXP3."""

PEER = """
import contextlib, io, time, warnings
warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import numpy as np
    from SMPyBandits.Arms import Bernoulli
    from SMPyBandits.Environment import MAB
    from SMPyBandits.Environment.CollisionModels import onlyUniqUserGetsReward
    from SMPyBandits.Policies import Exp3
    from SMPyBandits.PoliciesMultiPlayers import Selfish
    N, K, T = 1000, 20, 50
    env = MAB({"arm_type": Bernoulli, "params": [0.1 + 0.04 * k for k in range(K)]})
    players = Selfish(N, K, Exp3).children
    for player in players:
        player.startGame()
rewards, pulls = np.zeros(N), np.zeros((N, K), dtype=np.int32)
choices, collisions = np.zeros(N, dtype=np.int32), np.zeros(K, dtype=np.int32)
def play(t):
    rewards.fill(0), pulls.fill(0), collisions.fill(0)
    for i, player in enumerate(players):
        choices[i] = player.choice()
    onlyUniqUserGetsReward(t, env.arms, players, choices, rewards, pulls, collisions)
play(0)
core = time.process_time()
for t in range(1, T + 1):
    play(t)
print((time.process_time() - core) / T)
"""


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of cores and of the clock."""
    core, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - core, time.perf_counter() - clock


def thousand(rounds: int, peer: float) -> None:
    """The paper's size, on one thread."""
    game = hlmc.games.Spectrum(agents=1000, channels=20)
    policies = {
        "HLMC, 9 words, horizon known": hlmc.HLMC(arms=20, memory=10, horizon=10**7),
        "HLMC, 9 words, horizon unknown": hlmc.HLMC(arms=20, memory=10),
        "EXP3, 20 words": hlmc.EXP3(arms=20, horizon=10**7),
        "UCB-M, 10 arms in 20 words": hlmc.UCBM(arms=20, memory=10, shuffle=False),
    }
    print(f"1,000 agents, 20 channels, one thread, the best of five times {rounds:,} rounds; an agent and step:")
    for name, policy in policies.items():
        table = Table(Task(population(policy, game), game, 0, 0, np.array([1]), False))
        table.advance(0, 200)
        spent = []
        for first in range(200, 200 + 5 * rounds, rounds):
            spent.append(timed(lambda t=first, table=table: table.advance(t, t + rounds)))  # type: ignore[misc]
        core, clock = (min(each) / rounds for each in zip(*spent, strict=True))
        print(
            f"  {name:31} {core * 1e6:6.1f} ns core, {clock * 1e6:6.1f} ns clock; "
            f"{1 / core:,.0f} rounds a second, {peer / core:,.0f} times SMPyBandits"
        )


def million(agents: int, steps: int) -> None:
    """Many radios, on two threads, and what memory they take beyond their rows."""
    policy = hlmc.HLMC(arms=20, memory=10, horizon=steps)

    def play(size: int, horizon: int) -> None:
        game = hlmc.games.Spectrum(agents=size, channels=20)
        hlmc.play(policy, game, horizon, runs=1, points=10, progress=False, threads=2)

    play(1000, 10)
    before = peak()
    core, clock = timed(lambda: play(agents, steps))
    rows = 8 * policy.words.total * agents
    print(f"{agents:,} agents, {steps:,} steps, two threads:")
    print(f"  {clock:.1f} s clock, {core:.1f} s core, {1e9 * core / agents / steps:.0f} ns core an agent and step")
    print(f"  rows {rows / 2**20:,.0f} MiB; {(peak() - before) / rows:.2f} times that were in use at most")


def peak() -> int:
    """The most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--smpybandits", metavar="PYTHON", help="an interpreter that can import SMPyBandits")
    options = parser.parse_args()
    peer, when = PEER_ROUND, "measured before"
    if options.smpybandits:
        done = subprocess.run([options.smpybandits, "-c", PEER], check=True, capture_output=True, text=True)
        peer, when = float(done.stdout.split()[-1]), "core, measured now"
    print(f"SMPyBandits, 1,000 agents with EXP3: {1e3 * peer:.0f} ms a round, {when}")
    thousand(200 if options.quick else 2000, peer)
    million(100_000 if options.quick else 10**6, 100 if options.quick else 1000)


if __name__ == "__main__":
    main()
