"""Play one policy against one adversary, many times: the work that is handed to workers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.errors import BadReward
from hlmc.kernels.build import entry
from hlmc.kernels.native import address_of
from hlmc.kernels.step import RUN
from hlmc.learner import fresh_rows
from hlmc.policies.base import Policy
from hlmc.streams import derive_seed, keys

Array = np.ndarray

BREATH = 2_000_000
"""Steps between two looks at whether to stop: a fraction of a second."""


@dataclass(frozen=True)
class Task:
    """Some runs of one policy of an experiment. Run r of the policy draws from stream r of (seed, name)."""

    name: str
    policy: Policy
    adversary: Adversary
    seed: int
    first: int
    count: int


@dataclass(frozen=True)
class Played:
    """What became of a task: cumulative rewards [run, time point], and the seconds it took."""

    name: str
    first: int
    rewards: Array
    seconds: float


def play(task: Task, points: Array, stop: Event | None = None) -> Played:
    """Play a task through to the last time point; returns early, with fewer runs, when told to stop."""
    stops = np.union1d(points, np.arange(BREATH, points[-1], BREATH, dtype=np.int64))
    kept = np.searchsorted(stops, points)
    streams = keys(derive_seed(task.seed, task.name), task.first, task.count)
    rows = fresh_rows(task.policy, streams)
    _compile(task.policy, task.adversary)
    started = time.perf_counter()
    rewards = np.empty((task.count, len(points)))
    for run in range(task.count):
        sums = _run(task.policy, task.adversary, rows[run], stops, stop)
        if sums is None:
            return Played(task.name, task.first, rewards[:run], time.perf_counter() - started)
        rewards[run] = sums[kept]
    return Played(task.name, task.first, rewards, time.perf_counter() - started)


def _compile(policy: Policy, adversary: Adversary) -> Any:
    """Whatever has to be compiled or laid out once, before the clock runs; the loop itself is returned."""
    _ = policy.program, adversary.spec, adversary.address
    return entry(RUN[policy.last_kind], *["int64"] * 9, "float64", release=True)


def _run(policy: Policy, adversary: Adversary, row: Array, stops: Array, stop: Event | None) -> Array | None:
    run = _compile(policy, adversary)
    at = stops.astype(np.float64)
    sums = np.zeros(len(stops))
    program, spec = policy.program, adversary.spec
    addresses = [address_of(array) for array in (program, row)]
    outputs = [address_of(array) for array in (spec, at, sums)]
    done = 0
    while done < len(stops):
        if stop is not None and stop.is_set():
            return None
        begin = int(stops[done - 1]) if done else 0
        last = max(done + 1, int(np.searchsorted(stops, begin + BREATH, side="right")))
        earned = sums[done - 1] if done else 0.0
        status = run(addresses[0], addresses[1], adversary.address, *outputs, done, last - done, earned)
        if status < 0:
            raise BadReward(f"{adversary!r} paid something outside [0, 1] at step {-status - 1}")
        done = last
    return sums
