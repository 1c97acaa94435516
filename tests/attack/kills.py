"""SIGKILL at any moment while something is being written. What is there afterwards must be the old or the new."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from attack.damage import identical, stored
from attack.harness import Forked, Harm, Trial, attack, attempt
from attack.material import compiled
from fleets import played


def killed(trial: Trial, work: Any, longest: float) -> None:
    """Run something in a copy of this process, and kill that at a random moment after it has begun."""
    begun = multiprocessing.get_context("fork").Value("b", 0, lock=False)

    def begin() -> None:
        begun.value = 1

    child = Forked(work, begin)
    while not begun.value:
        time.sleep(0.0001)
    time.sleep(trial.random.uniform(0.0, longest))
    child.send(signal.SIGKILL)
    status, said = child.wait()
    if status not in (-signal.SIGKILL, 0):
        raise Harm(f"the process ended by itself with status {status}: {said}")


@cache
def versions() -> list[hlmc.Learner]:
    compiled()
    policy = hlmc.EXP3(arms=5000, horizon=100)
    return [played(policy, 5, seed=seed) for seed in range(3)]


@attack(short=10, long=5000, prepare=versions)
def kill_while_saving(trial: Trial) -> None:
    """Kill a process that saves three learners in turn to one file. Harm: the file is none of the three."""
    path = trial.folder / "learner"
    versions()[0].save(path)

    def work() -> None:
        while True:
            for version in versions():
                version.save(path, force=True)

    killed(trial, work, 0.01)
    found, refusal = attempt(lambda: hlmc.load(path))
    if refusal is not None or found not in versions():
        raise Harm(f"the file after a kill: {refusal or 'another learner'}")


STEPS = 30


@cache
def fleets() -> list[np.ndarray]:
    """The state of a fleet after each of some rounds."""
    compiled()
    fleet = hlmc.EXP3(arms=50, horizon=1000).fleet(size=200, seed=1)
    states = [fleet.state.copy()]
    for _ in range(STEPS):
        fleet.select()
        fleet.update(np.linspace(0.0, 1.0, 200))
        states.append(fleet.state.copy())
    return states


@attack(short=10, long=5000, prepare=fleets)
def kill_at_a_checkpoint(trial: Trial) -> None:
    """Kill a process that writes a checkpoint after every round. Harm: the file does not hold one of them."""
    path = trial.folder / "fleet"
    hlmc.EXP3(arms=50, horizon=1000).fleet(size=200, seed=1, file=path)

    def work() -> None:
        fleet = hlmc.load(path)
        for _ in range(STEPS):
            fleet.select()
            fleet.update(np.linspace(0.0, 1.0, 200))
            fleet.checkpoint()

    killed(trial, work, 0.02)
    fleet, refusal = attempt(lambda: hlmc.load(path), OSError)
    if refusal is not None:
        raise Harm(f"the file after a kill: {refusal}")
    if not any(np.array_equal(fleet.state.view(np.uint64), state.view(np.uint64)) for state in fleets()):
        raise Harm("the file after a kill holds no checkpoint")


@cache
def undisturbed() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return stored(Path(folder), runs=40)


@attack(short=5, long=1000, prepare=undisturbed)
def kill_while_simulating(trial: Trial) -> None:
    """Kill a simulation with a store, and go on. Harm: going on is refused, or gives another result."""
    folder = trial.folder / "store"
    killed(trial, lambda: stored(folder, runs=40), 0.1)
    found, refusal = attempt(lambda: stored(folder, runs=40))
    if refusal is not None or not identical(found, undisturbed()):
        raise Harm(f"a store after a kill: {refusal or 'another result'}")


@attack(short=5, long=2000, prepare=undisturbed)
def kill_while_saving_a_result(trial: Trial) -> None:
    """Kill a process that saves a result again and again. Harm: the file is not the result."""
    path = trial.folder / "result.parquet"
    undisturbed().save(path)

    def work() -> None:
        while True:
            undisturbed().save(path)

    killed(trial, work, 0.02)
    found, refusal = attempt(lambda: hlmc.load_result(path))
    if refusal is not None or not identical(found, undisturbed()):
        raise Harm(f"the file after a kill: {refusal or 'another result'}")
