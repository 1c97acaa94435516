"""Forks, threads and shared files of fleets."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from attack.harness import Forked, Harm, Trial, attack, attempt, slow_disk
from attack.material import compiled, fields_of
from attack.races import until
from hlmc import adversaries

POLICY = hlmc.EXP3(arms=5, horizon=1000)
SIZE = 3000
ROUNDS = 5


def play(fleet: hlmc.Fleet, reward: float, half: bool = False) -> None:
    """A round of all learners, or of one half of them: the first for a reward of 0, the second for any other."""
    middle = len(fleet) // 2
    ids = np.arange(len(fleet))[slice(middle, None) if reward else slice(middle)] if half else np.arange(len(fleet))
    fleet.select(ids)
    fleet.update(np.full(len(ids), reward), ids)


def rounds(fleet: hlmc.Fleet, reward: float, begin: float) -> None:
    """Play rounds of half of the learners and write a checkpoint after each, from a moment on."""
    until(begin)
    for _ in range(ROUNDS):
        play(fleet, reward, half=True)
        fleet.checkpoint()


def parent_and_child(path: Path) -> tuple[int, hlmc.Fleet]:
    """Fork with a fleet in a new file, and let both write checkpoints: the child's status, the parent's last state."""
    fleet = POLICY.fleet(size=SIZE, file=path)
    begin = time.monotonic() + 0.05
    child = Forked(lambda: rounds(fleet, 1.0, begin))
    _, refusal = attempt(lambda: rounds(fleet, 0.0, begin))
    status, said = child.wait()
    if refusal is not None or status not in (0, 2):
        raise Harm(f"parent: {refusal or 'done'}; child: status {status} {said}")
    return status, fleet.copy()


@attack(short=4, long=2000, prepare=compiled)
def both_write_checkpoints(trial: Trial) -> None:
    """Fork with a mapped fleet; parent and child play with different learners and write checkpoints at the same time.

    The child may be refused. Harm: the file is damaged, or holds neither's last checkpoint.
    """
    path = trial.folder / "fleet"
    with slow_disk():
        status, mine = parent_and_child(path)
    found, refusal = attempt(lambda: hlmc.load(path, mapped=False))
    if refusal is not None:
        raise Harm(f"after checkpoints of parent and child: {refusal}")
    theirs = POLICY.fleet(size=SIZE)
    for _ in range(ROUNDS):
        play(theirs, 1.0, half=True)
    if found != mine and not (status == 0 and found == theirs):
        raise Harm("the file holds neither the parent's nor the child's checkpoint")


@attack(short=2, long=500, prepare=compiled, limit=40.0)
def fork_while_a_thread_selects(trial: Trial) -> None:
    """Fork while other threads are in a fleet's calls; the child calls too. Harm: it hangs, or ends in a crash."""
    fleet = POLICY.fleet(size=40_000)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            fleet.select()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            status, said = Forked(fleet.select).wait(6.0)
            if status not in (0, 2):
                raise Harm(f"the child ends with status {status}: {said}")
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def own_function(number: int) -> adversaries.Function:
    """An adversary that nobody has compiled before."""
    space: dict[str, Any] = {}
    exec(f"def reward(t, arm):\n    return ((t + {number}) % 7) / 7.0", space)  # noqa: S102 - whose code differs from that of all others
    return adversaries.Function(3, space["reward"])


@attack(short=1, long=200, prepare=compiled, limit=60.0)
def fork_while_a_thread_compiles(trial: Trial) -> None:
    """Fork while another thread compiles; the child compiles too. Harm: it hangs, or ends in a crash."""
    stop = threading.Event()

    def work() -> None:
        for number in itertools.count():
            if stop.is_set():
                break
            own_function(number).reward(0, 0)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for number in range(5):
            time.sleep(trial.random.uniform(0.0, 0.1))
            status, said = Forked(lambda: own_function(-number).reward(0, 0)).wait(20.0)  # noqa: B023
            if status:
                raise Harm(f"the child ends with status {status}: {said}")
    finally:
        stop.set()
        thread.join()


@attack(short=1, long=200, prepare=compiled, limit=60.0)
def fork_while_a_thread_simulates(trial: Trial) -> None:
    """Fork while another thread simulates; the child simulates too. Harm: it hangs, or ends in a crash."""
    stop = threading.Event()
    faced = adversaries.Bernoulli([0.1, 0.2, 0.3, 0.4, 0.9])

    def simulate() -> None:
        hlmc.simulate(POLICY, faced, runs=20, points=2, progress=False)

    def work() -> None:
        while not stop.is_set():
            simulate()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            time.sleep(trial.random.uniform(0.0, 0.03))
            status, said = Forked(simulate).wait(20.0)
            if status:
                raise Harm(f"the child ends with status {status}: {said}")
    finally:
        stop.set()
        thread.join()


def overwrite(path: Path, trial: Trial) -> None:
    """Change rows of a fleet's file behind its owner's back: a bit, a word or a page; or make the file shorter."""
    dice = trial.random
    data = path.read_bytes()
    at = dice.randrange(fields_of(data)["offset"], len(data) - 4096)
    length = dice.choice((0, 1, 8, 4096))
    new = bytes([data[at] ^ 1 << dice.randrange(8)]) if length == 1 else dice.randbytes(length)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(new)
        if length == 0:
            file.truncate()
        file.flush()
        os.fsync(file.fileno())


@attack(short=8, long=2000, prepare=compiled)
def written_while_open(trial: Trial) -> None:
    """Another program writes into the file of an open fleet, after a checkpoint or before the rows are first used.

    Harm: an arm out of range; or ``verify`` is content although the state is no longer what it was.
    """
    path = trial.folder / "fleet"
    used = trial.random.random() < 0.7
    # Rows of a small file are checked when it is opened; those of a large one when they are used.
    size = SIZE if used else 100_000
    fleet, expected = POLICY.fleet(size=size, file=path), POLICY.fleet(size=size)
    if used:
        play(fleet, 0.5)
        play(expected, 0.5)
        fleet.checkpoint()
    overwrite(path, trial)
    arms, refusal = attempt(fleet.select)
    if refusal is None and not ((arms >= 0) & (arms < POLICY.arms)).all():
        raise Harm("an arm out of range")
    _, refused = attempt(fleet.verify)
    expected.select()
    if refusal is None and refused is None and fleet != expected:
        raise Harm("verify is content although the rows were changed by somebody else")


@attack(short=4, long=200, prepare=compiled)
def table_cut_while_open(trial: Trial) -> None:
    """Make the ``.npy`` file of a Trace shorter while a simulation may still read it. Harm: a crash."""
    path = trial.folder / "t.npy"
    np.save(path, np.full((100_000, 5), 0.5))
    trace = adversaries.Trace(path)
    attempt(lambda: trace.reward(0, 0))
    cut = threading.Timer(
        trial.random.uniform(0.0, 0.02), os.truncate, (path, trial.random.choice((0, 100, 4096, 2_000_000)))
    )
    cut.start()
    policy = hlmc.EXP3(arms=5, horizon=100_000)
    attempt(lambda: hlmc.simulate(policy, trace, runs=3, points=2, progress=False))
    cut.join()
    attempt(lambda: trace.reward(99_999, 4))
