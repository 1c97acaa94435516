"""What the tests of fleets and of files share."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from hlmc import routines
from hlmc.learners.fleet import Fleet
from hlmc.policies import CATALOGUE
from hlmc.targets import JIT


def plainest(cls: type[hlmc.Policy]) -> hlmc.Policy:
    """A policy of this class with what it must be told, and a horizon that ends within an epoch."""
    told = {"arms": 9, "memory": 6, "horizon": 77}
    return cls(**{f.name: told[f.name] for f in fields(cls) if f.name in told})  # type: ignore[arg-type]


EXAMPLES: list[hlmc.Policy] = [
    *map(plainest, CATALOGUE.values()),
    hlmc.HLMC(arms=1, levels=1, horizon=50),
    hlmc.HLMC(arms=23, groups=(3, 2, 2, 2), horizon=90),
    hlmc.HLMC(arms=23, groups=(5, 5), delta=0.1, horizon=90),
    hlmc.HLMC(arms=10, groups=(4, 3), switches=3),
    hlmc.HLMC(arms=10, levels=2, routines=("ucb1", routines.EXP3(gamma=0.25)), horizon=80, epochs=7),
    hlmc.HLMC(arms=30, levels=3, routines="uniform", first_stage=2),
    hlmc.EXP3(arms=4, horizon=None),
    hlmc.UCBM(arms=7, memory=3, fill="wrap", ties="last", sublength=4),
    hlmc.EXP3M(arms=7, memory=3, shuffle=False, sublength=5, gamma=0.5),
    hlmc.UCBM(arms=1, memory=2),
]

STEPS = 60 if JIT else 12

POLICY = hlmc.HLMC(arms=20, memory=10, horizon=40)
LONG = hlmc.HLMC(arms=20, memory=10, horizon=10**6)


def fixed_rewards(seed: int) -> Callable[[int], Any]:
    """A source of rewards, the ends of [0, 1] often among them."""
    rng = np.random.default_rng(seed)
    return lambda n: np.clip(rng.uniform(-0.3, 1.3, n), 0.0, 1.0)


def played(policy: hlmc.Policy, steps: int, seed: int = 0, waiting: bool = False) -> hlmc.Learner:
    """A learner after some steps; ``waiting`` for a reward or not."""
    learner = policy.start(seed=seed)
    pay = fixed_rewards(seed)
    for reward in pay(steps):
        learner.select()
        learner.update(reward)
    if waiting:
        learner.select()
    return learner


def loaded(path: Path, **options: Any) -> Fleet:
    """The fleet of a file."""
    fleet = hlmc.load(path, **options)
    assert isinstance(fleet, Fleet)
    return fleet


def step(fleet: Fleet, pay: Callable[[int], Any]) -> None:
    """Let all learners take a step."""
    fleet.select()
    fleet.update(pay(len(fleet)))


def bits(fleet: Fleet) -> bytes:
    """All that the learners know."""
    return fleet.state.tobytes()


def killed_after(seconds: float, work: Callable[[], None], ready: Callable[[], bool] = lambda: True) -> None:
    """Run something in a copy of this process and kill it, wherever it is, a while after ``ready()`` is true."""
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            work()
        finally:
            os._exit(1)
    while not ready():
        ended, status = os.waitpid(child, os.WNOHANG)
        assert not ended, f"the process ended by itself with status {status}"
        time.sleep(0.0002)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def flipped(path: Path, at: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)
