"""Digests of what every policy does, in every way that it can be run, to compare two versions of the library.

    python scripts/digests.py write FILE            # before a change
    python scripts/digests.py check FILE            # after it: prints what differs, exit status 1 if anything does
    python scripts/digests.py check FILE alone c    # some of the ways only

=============  ==========================================================================================
``alone``      simulated runs one by one and a traced run, every policy against every adversary
``together``   the same simulated runs side by side
``delays``     simulated runs whose rewards come late or never
``hand``       select and update by hand, ask and tell by hand, and a fleet
``dynamic``    arms that join, leave and are forgotten
``games``      many agents
``c``          exported C, compiled with gcc
``wasm``       the shipped WebAssembly module, under Node
=============  ==========================================================================================

A digest covers rewards, arms and whole rows. Last digits of exp and log depend on the C library, so a file is good for
the machine that wrote it. What only one of the two versions has is counted and is no difference.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from hlmc import adversaries
from hlmc.errors import BadArgument
from hlmc.export import exported
from hlmc.export.javascript import program_json, save
from hlmc.export.vectors import played, quarters_of
from hlmc.policies import EXAMPLES
from hlmc.simulation import runs

STEPS = 1500
BY_HAND = 300
Found = Iterator[tuple[str, str]]


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
    yield from (hlmc.Champion(K, horizon=STEPS), hlmc.Champion(K, horizon=None))
    yield from (hlmc.EXP3(K, STEPS, bits=9), hlmc.EXP3Loss(K, STEPS, bits=12), hlmc.EXP3IX(K, STEPS, bits=7))
    yield from (hlmc.TsallisINF(K, bits=12), hlmc.TsallisINF(K, estimator="importance-weighted", bits=5))
    yield from (hlmc.UCB1(K, bits=10), hlmc.HLMC(K, levels=2, horizon=STEPS, bits=(8, 11)))
    yield from (hlmc.Champion(K, horizon=STEPS, bits=12), hlmc.Champion(K, horizon=None, bits=8))
    if K > 27:
        memory = 14 if K <= 100 else 30
        yield from (
            hlmc.HLMC(K, levels=3, horizon=STEPS),
            hlmc.Champion(K, memory=memory, horizon=STEPS),
            hlmc.Champion(K, memory=memory, horizon=STEPS, bits=12),
        )


def opponents() -> Iterator[hlmc.adversaries.Adversary]:
    yield from adversaries.EXAMPLES
    yield adversaries.UniformMeans(arms=700, seed=2)  # more arms than a scan of weights is for


def digest(*arrays: Any) -> str:
    found = hashlib.blake2b(digest_size=10)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def varied(**options: Any) -> Iterator[hlmc.Policy]:
    """The policies of the catalogue and of :func:`policies`, with options that not all of them take."""
    for policy in dict.fromkeys((*EXAMPLES, *policies(11), *policies(40))):
        with suppress(BadArgument):
            yield replace(policy, **options)


def simulated(policy: hlmc.Policy, adversary: hlmc.adversaries.Adversary, **options: Any) -> np.ndarray:
    steps = min(STEPS, adversary.length or STEPS)
    result = hlmc.simulate(policy, adversary, horizon=steps, runs=2, seed=5, points=7, executor=None, **options)
    return np.asarray(result.data.reward.values)


def alone() -> Found:
    for adversary in opponents():
        steps = min(STEPS, adversary.length or STEPS)
        for policy in policies(adversary.arms):
            traced = hlmc.trace(policy, adversary, horizon=steps, seed=3)
            yield f"{adversary!r} | {policy!r}", digest(simulated(policy, adversary), *traced)


def together() -> Found:
    usual = runs.FEWEST, runs.WORTH
    runs.FEWEST = runs.WORTH = 1
    for adversary in opponents():
        for policy in policies(adversary.arms):
            yield f"{adversary!r} | {policy!r}", digest(simulated(policy, adversary))
    runs.FEWEST, runs.WORTH = usual


def delays() -> Found:
    adversary = adversaries.UniformMeans(arms=40, seed=2)
    for policy in policies(adversary.arms):
        late = replace(policy, pending=60)
        yield repr(late), digest(simulated(late, adversary, delays=hlmc.delays.Uniform(0, 50), missing=0.2))


def hand() -> Found:
    """The rewards of a step are a function of the step and the arm."""
    for policy in varied():
        learner, fleet = policy.start(seed=9), policy.fleet(3, seed=4)
        steps = min(BY_HAND, policy.limit or BY_HAND)
        for t in range(steps):
            learner.update(0.25 * ((7 * t + 3 * learner.select()) % 5))
            fleet.update(0.25 * ((7 * t + 3 * fleet.select()) % 5))
        yield repr(policy), digest(learner.state, fleet.state)
    for policy in varied(pending=8):
        learner = policy.start(seed=9, identity=1)  # without one, its secret would be another every time
        waiting = []
        for t in range(min(BY_HAND, policy.limit or BY_HAND)):
            waiting.append(learner.ask())
            if t % 3:  # newest first, oldest first, or never
                ticket = waiting.pop(0 if t % 5 else -1)
                learner.tell(ticket, 0.25 * ((7 * t + 3 * ticket.arm) % 5))
        yield f"ask and tell {policy!r}", digest(learner.state)


def dynamic() -> Found:
    for policy in varied(dynamic=True):
        K = policy.arms
        if K > 1000:
            continue
        arms = hlmc.Arms(K)
        arms.add(*range((K + 1) // 2))
        try:
            learner = policy.start(seed=9, arms=arms)
        except BadArgument:
            continue
        fresh = K
        for t in range(min(BY_HAND, policy.limit or BY_HAND)):
            learner.update(0.25 * ((7 * t + 3 * learner.select()) % 5))
            if t % 7 == 3 and len(arms) < K:
                arms.add(fresh)
                fresh += 1
            if t % 11 == 5 and len(arms) > 1:
                arms.remove(list(arms)[t % len(arms)])
            if t % 29 == 8 and len(arms) < K - 2:
                arms.add(fresh, fresh + 1)
                fresh += 2
        yield repr(policy), digest(learner.state)


def games() -> Found:
    for game in (hlmc.games.Spectrum(agents=12, channels=5), hlmc.games.Routing(agents=9, links=4)):
        K = game.arms
        for policy in (hlmc.EXP3(K, 200), hlmc.HLMC(K, levels=2, horizon=200), hlmc.TsallisINF(K), hlmc.UCBM(K, 3)):
            result = hlmc.play(policy, game, horizon=200, runs=2, seed=1)
            arrays = (result.data[name].values for name in sorted(map(str, result.data)))
            yield f"{game!r} | {policy!r}", digest(*arrays)


def in_c() -> Iterator[hlmc.Policy]:
    """The policies that can be exported."""
    return (policy for policy in dict.fromkeys((*EXAMPLES, *policies(11))) if policy.known_probability)


def c() -> Found:
    with tempfile.TemporaryDirectory() as folder:
        for policy in in_c():
            source = exported(policy, "one")
            source.save(folder)
            flags = ["-O1", "-std=c99", "-ffp-contract=off", "-fPIC", "-shared"]
            place = Path(folder) / f"{digest(np.frombuffer(repr(policy).encode(), np.uint8))}.so"
            subprocess.run(["gcc", *flags, "-o", str(place), "one.c", "-lm"], cwd=folder, check=True)
            library = ctypes.CDLL(str(place))
            row = np.zeros(policy.words.total)
            at = ctypes.c_void_p(row.ctypes.data)
            library.one_start.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
            library.one_update.argtypes = [ctypes.c_void_p, ctypes.c_double]
            library.one_start(at, 12345)
            choose, learn = partial(library.one_select, at), partial(library.one_update, at)
            words = partial(row.view, np.uint64)
            done = played(choose, learn, quarters_of(policy), words, min(BY_HAND, policy.limit or BY_HAND))
            yield repr(policy), f"{done.arms_digest:x} {done.row_digest:x}"


WASM = """
import { load } from "./hlmc.js";
import { readFileSync } from "fs";
for (const [name, program] of JSON.parse(readFileSync("programs.json"))) {
    const learner = await load(program, { key: 12345n });
    const arms = [];
    for (let t = 0; t < program.digest_steps; t++) {
        arms.push(learner.select());
        learner.update(0.25 * ((7 * t + 3 * arms[t]) % 5));
    }
    console.log(JSON.stringify([name, arms, Array.from(new Uint8Array(learner.state.buffer))]));
}
"""


def wasm() -> Found:
    with tempfile.TemporaryDirectory() as folder:
        save(folder, hlmc.UCB1(3))
        every = []
        for policy in in_c():
            steps = min(BY_HAND, policy.limit or BY_HAND)
            every.append((repr(policy), json.loads(program_json(policy)) | {"digest_steps": steps}))
        (Path(folder) / "programs.json").write_text(json.dumps(every))
        (Path(folder) / "play.mjs").write_text(WASM)
        answer = subprocess.run(["node", "play.mjs"], cwd=folder, check=True, capture_output=True, text=True).stdout
        for name, arms, row in map(json.loads, answer.splitlines()):
            yield name, digest(np.array(arms), np.array(row, np.uint8))


WAYS: tuple[Callable[[], Found], ...] = (alone, together, delays, hand, dynamic, games, c, wasm)


def main() -> int:
    command, path = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    ways = [way for way in WAYS if way.__name__ in sys.argv[3:] or not sys.argv[3:]]
    found = {f"{way.__name__}: {name}": value for way in ways for name, value in way()}
    if command == "write":
        path.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        print(f"{len(found)} digests in {path}")
        return 0
    before = json.loads(path.read_text())
    known = {name: value for name, value in before.items() if name.split(":")[0] in [way.__name__ for way in ways]}
    common = known.keys() & found.keys()
    differing = sorted(name for name in common if known[name] != found[name])
    for name in differing:
        print(name)
    print(
        f"{len(common) - len(differing)} of {len(common)} digests are the same; "
        f"{len(known) - len(common)} only before, {len(found) - len(common)} only now"
    )
    return 1 if differing or not common else 0


if __name__ == "__main__":
    sys.exit(main())
