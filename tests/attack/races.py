"""Two at once: processes that make or write the same file, and threads that change what is being read."""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hlmc
from attack.damage import identical, stored
from attack.harness import Forked, Harm, Trial, attack, attempt, slow_disk
from attack.kills import versions
from attack.material import compiled
from hlmc import adversaries


def until(moment: float) -> None:
    """Wait for a moment without leaving the processor."""
    while time.monotonic() < moment:
        pass


def together(trial: Trial, *works: Any) -> list[tuple[int, str]]:
    """Run things at about the same moment, each in a process of its own: their statuses, and what they said."""
    moment = time.monotonic() + 0.02
    begins = [moment + trial.random.uniform(0.0, 0.003) for _ in works]
    children = [Forked(work, lambda begin=begin: until(begin)) for work, begin in zip(works, begins, strict=True)]
    return [child.wait() for child in children]


@attack(short=12, long=3000, prepare=compiled)
def same_new_fleet(trial: Trial) -> None:
    """Two processes make a fleet in the same new file, play and write a checkpoint.

    Harm: both succeed; the loser says something else than that the file exists; the winner's checkpoint is lost.
    """
    path = trial.folder / "fleet"
    policy = hlmc.EXP3(arms=5, horizon=100)

    def work(seed: int) -> str | None:
        try:
            fleet = policy.fleet(size=2000, seed=seed, file=path)
        except (FileExistsError, BlockingIOError):
            return "lost"
        fleet.select()
        fleet.update(np.ones(2000))
        fleet.checkpoint()
        return f"won {seed}"

    with slow_disk():
        ends = together(trial, lambda: work(1), lambda: work(2))
    winners = [said for status, said in ends if status == 0 and said.startswith("won")]
    if any(status not in (0, 2) for status, _ in ends) or len(winners) != 1:
        raise Harm(f"two processes that make one file: {ends}")
    expected = policy.fleet(size=2000, seed=int(winners[0].split()[1]))
    expected.select()
    expected.update(np.ones(2000))
    if hlmc.load(path, mapped=False) != expected:
        raise Harm("the checkpoint of the one who made the file is lost")


@attack(short=5, long=3000, prepare=versions)
def same_file_saved(trial: Trial) -> None:
    """Two processes save to the same file while a third loads it. Harm: anything but one of the two is loaded."""
    path = trial.folder / "learner"
    first, second, _ = versions()
    first.save(path)

    def save(learner: hlmc.Learner) -> None:
        for _ in range(5):
            learner.save(path, force=True)

    def load() -> None:
        for _ in range(20):
            if hlmc.load(path) not in (first, second):
                raise Harm("something else was loaded")

    ends = together(trial, lambda: save(first), lambda: save(second), load)
    if any(status for status, _ in ends):
        raise Harm(f"saving and loading one file: {ends}")


def half(folder: Path, name: str, policy: hlmc.Policy | None = None) -> Any:
    """One policy's part of an experiment with a store."""
    return hlmc.simulate(
        {name: policy or hlmc.EXP3(arms=4, horizon=60)},
        adversaries.Bernoulli([0.1, 0.2, 0.3, 0.9]),
        runs=2,
        points=10,
        store=folder,
        progress=False,
    )


@cache
def ready() -> None:
    compiled()
    stored(None)  # type: ignore[arg-type]


@attack(short=8, long=1000, prepare=ready)
def same_store(trial: Trial) -> None:
    """Two simulations of different policies share a new store.

    Harm: either is refused; or afterwards another policy under one of the names is given the runs of the first.
    """
    folder = trial.folder / "store"
    with slow_disk():
        ends = together(trial, lambda: half(folder, "a"), lambda: half(folder, "b"))
    if any(status for status, _ in ends):
        raise Harm(f"two simulations on one store: {ends}")
    for name in "ab":
        other = hlmc.EXP3(arms=4, horizon=60, gamma=0.9)
        found, refusal = attempt(lambda name=name, other=other: half(folder, name, other))
        if refusal is None and not identical(found, half(None, name, other)):  # type: ignore[arg-type]
            raise Harm(f"the store has forgotten policy {name!r}, and another is given its runs")


@attack(short=2, long=50, prepare=ready)
def foreign_runs(trial: Trial) -> None:
    """Copy runs against another adversary into a store. Harm: they are taken for the store's own."""
    theirs = trial.folder / "theirs"
    hlmc.simulate(
        {"a": hlmc.EXP3(arms=4, horizon=60)},
        adversaries.Bernoulli([0.9, 0.8, 0.7, 0.6], seed=trial.number),
        runs=2,
        points=10,
        store=theirs,
        progress=False,
    )
    ours = trial.folder / "ours"
    half(ours, "a")
    for path in theirs.glob("*.parquet"):
        (ours / path.name).write_bytes(path.read_bytes())
    found, refusal = attempt(lambda: half(ours, "a"))
    if refusal is None and not identical(found, half(None, "a")):  # type: ignore[arg-type]
        raise Harm("runs against another adversary are taken for the store's own")


@cache
def colliding() -> tuple[str, str]:
    """Two names that are alike in 40 letters and in 24 bits of their digest."""
    seen: dict[bytes, str] = {}
    for number in itertools.count():
        name = "p" * 40 + f" {number}"
        digest = hashlib.blake2b(name.encode(), digest_size=3).digest()
        if digest in seen:
            return seen[digest], name
        seen[digest] = name
    raise AssertionError


@attack(short=1, long=1, prepare=ready)
def names_that_collide(trial: Trial) -> None:
    """Keep runs of two policies whose names have one short digest. Harm: those of one are lost or the other's."""
    folder = trial.folder / "store"
    policies = dict(zip(colliding(), (hlmc.EXP3(arms=4, horizon=60), hlmc.Uniform(arms=4)), strict=True))

    def play(store: Path | None) -> Any:
        bernoulli = adversaries.Bernoulli([0.1, 0.2, 0.3, 0.9])
        return hlmc.simulate(policies, bernoulli, horizon=60, runs=2, points=10, store=store, progress=False)

    play(folder)
    kept = set(pd.read_parquet(folder)["policy"])
    if kept != set(policies):
        raise Harm(f"of two policies the store keeps {len(kept)}")
    found, refusal = attempt(lambda: play(folder))
    if refusal is not None or not identical(found, play(None)):
        raise Harm(f"two policies share a file: {refusal or 'another result'}")


@attack(short=3, long=2000, prepare=compiled)
def rewards_changed_meanwhile(trial: Trial) -> None:
    """Change the array of rewards in another thread while a fleet learns it.

    Harm: the call is refused half-way, or some learner has not learned although it was not refused.
    """
    size = 100_000
    fleet = hlmc.EXP3(arms=3, horizon=100).fleet(size=size)
    rewards = np.full(size, 0.5)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            rewards[-1000:] = np.nan
            rewards[-1000:] = 0.5

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(5):
            fleet.select()
            before = fleet.time.copy()
            _, refusal = attempt(lambda: fleet.update(rewards))
            gone = fleet.time - before
            if gone.min() != gone.max() or (refusal is None) != bool(gone.min()):
                raise Harm(f"{int((gone == 0).sum())} of {size} learners were skipped; refused: {refusal}")
            if refusal is not None:
                fleet.update(np.full(size, 0.5))
            if not np.isfinite(fleet.state[:, 1:]).all():
                raise Harm("a reward that is no number was learned")
    finally:
        stop.set()
        thread.join()
