"""Digests of what every policy does against every adversary, to compare two versions of the library byte by byte.

    python scripts/digests.py write FILE      # before a change
    python scripts/digests.py check FILE      # after it: prints what differs, exit status 1 if anything does
    python scripts/digests.py check FILE together     # the same with the two runs side by side, wherever that can be

A digest covers the rewards of two simulated runs, the arms of a traced run, and the row of a learner that was
played by hand. Last digits of exp and log depend on the C library, so a file is good for the machine that wrote it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import hlmc
from hlmc import adversaries
from hlmc.simulation import runs

STEPS = 1500
BY_HAND = 300


def policies(K: int) -> Iterator[hlmc.Policy]:
    """Every policy class, with the arguments that lead to different kernels."""
    M = min(K, 5)
    yield from (hlmc.EXP3(K, STEPS), hlmc.EXP3P(K, STEPS), hlmc.EXP3S(K, STEPS, 4), hlmc.EXP3IX(K, STEPS))
    yield from (hlmc.EXP3Loss(K, STEPS), hlmc.UCB1(K), hlmc.Uniform(K), hlmc.EXP3(K, None))
    yield from (hlmc.TsallisINF(K), hlmc.TsallisINF(K, estimator="importance-weighted"))
    yield from (hlmc.UCBM(K, M), hlmc.UCBM(K, M, shuffle=False, ties="first", fill="wrap"), hlmc.EXP3M(K, M))
    for options in ({}, {"delta": 0.1}, {"switches": 5}, {"switches": "unknown"}, {"routines": "tsallis-inf"}):
        yield hlmc.HLMC(K, levels=2, horizon=STEPS, **options)
    yield from (hlmc.HLMC(K, levels=2, horizon=None), hlmc.HLMC(K, levels=2, horizon=STEPS, routines="ucb1"))
    yield from (hlmc.Champion(K, horizon=STEPS), hlmc.Champion(K, horizon=None), hlmc.CrownedHLMC(K, horizon=STEPS))
    if K > 27:
        yield from (
            hlmc.HLMC(K, levels=3, horizon=STEPS),
            hlmc.Champion(K, memory=14 if K <= 100 else 30, horizon=STEPS),
        )


def opponents() -> Iterator[hlmc.adversaries.Adversary]:
    yield from adversaries.EXAMPLES
    yield adversaries.UniformMeans(arms=700, seed=2)  # more arms than a scan of weights is for


def digest(*arrays: np.ndarray) -> str:
    found = hashlib.blake2b(digest_size=10)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def measured(policy: hlmc.Policy, adversary: hlmc.adversaries.Adversary, steps: int) -> str:
    result = hlmc.simulate(policy, adversary, horizon=steps, runs=2, seed=5, points=7, executor=None)
    arms, rewards = hlmc.trace(policy, adversary, horizon=steps, seed=3)
    learner = policy.start(seed=9)
    table = adversary.rewards(0, min(steps, BY_HAND))
    for row in table:
        learner.update(float(row[learner.select()]))
    return digest(result.data.reward.values, arms, rewards, learner.state)


def games() -> Iterator[tuple[str, str]]:
    for game in (hlmc.games.Spectrum(agents=12, channels=5), hlmc.games.Routing(agents=9, links=4)):
        K = game.arms
        for policy in (hlmc.EXP3(K, 200), hlmc.HLMC(K, levels=2, horizon=200), hlmc.TsallisINF(K), hlmc.UCBM(K, 3)):
            result = hlmc.play(policy, game, horizon=200, runs=2, seed=1)
            yield (
                f"{game!r} | {policy!r}",
                digest(*(result.data[name].values for name in sorted(map(str, result.data)))),
            )


def everything() -> dict[str, str]:
    warnings.simplefilter("ignore")
    found = {}
    for adversary in opponents():
        steps = min(STEPS, adversary.length or STEPS)
        for policy in policies(adversary.arms):
            found[f"{adversary!r} | {policy!r}"] = measured(policy, adversary, steps)
    return found | dict(games())


def main() -> int:
    command, path = sys.argv[1], Path(sys.argv[2])
    if sys.argv[3:] == ["together"]:
        runs.FEWEST = runs.WORTH = 1
    found = everything()
    if command == "write":
        path.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        print(f"{len(found)} digests in {path}")
        return 0
    known = json.loads(path.read_text())
    differing = sorted(name for name in known.keys() | found.keys() if known.get(name) != found.get(name))
    for name in differing:
        print(name)
    print(f"{len(known) - len(differing)} of {len(known)} digests are the same")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
