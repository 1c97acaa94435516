"""Full disks: a limit on the size of files, at which writing fails as it does without space.

The call must raise an ``OSError``; what was there before must be there still, the object must be as it was, and the
same call must succeed when there is space again.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import hlmc
from attack.damage import identical, stored
from attack.harness import Harm, Trial, attack, attempt, file_size_limit, redirected
from attack.kills import undisturbed, versions
from hlmc.cli import main as command_line


@attack(short=40, long=3000, prepare=versions)
def full_disk_while_saving(trial: Trial) -> None:
    """Save a learner where there is no space for it. Harm: the old file is lost; a temporary file is left."""
    old, new, _ = versions()
    path = trial.folder / "learner"
    old.save(path)
    with file_size_limit(trial.random.randrange(path.stat().st_size)):
        _, refusal = attempt(lambda: new.save(path), OSError)
    if refusal is None:
        raise Harm("a save without space succeeded")
    if hlmc.load(path) != old or list(trial.folder.iterdir()) != [path]:
        raise Harm("a failed save has left something else than the old file")
    new.save(path)
    if hlmc.load(path) != new:
        raise Harm("a save after a failed one does not hold")


@attack(short=40, long=3000, prepare=versions)
def full_disk_at_a_checkpoint(trial: Trial) -> None:
    """Write checkpoints without space for their journal. Harm: state, file or a later checkpoint is wrong."""
    path = trial.folder / "fleet"
    fleet = hlmc.EXP3(arms=50, horizon=1000).fleet(size=200, seed=1, file=path)
    size = path.stat().st_size
    pay = np.linspace(0.0, 1.0, 200)
    kept = fleet.copy()
    for _ in range(4):
        fleet.select()
        fleet.update(pay)
        before = fleet.copy()
        with file_size_limit(size + trial.random.randrange(size)):
            _, refusal = attempt(fleet.checkpoint, OSError)
        if fleet != before:
            raise Harm("a checkpoint has changed the fleet")
        if refusal is None:
            kept = before
    del fleet
    again = hlmc.load(path)
    if again not in (kept, before):
        raise Harm("the file holds no checkpoint")
    again.checkpoint()


@attack(short=20, long=1000, prepare=undisturbed)
def full_disk_in_a_store(trial: Trial) -> None:
    """Simulate into a store without space, then with. Harm: the second call is refused or gives another result."""
    folder = trial.folder / "store"
    with file_size_limit(trial.random.randrange(8000)):
        attempt(lambda: stored(folder, runs=40), OSError)
    found, refusal = attempt(lambda: stored(folder, runs=40))
    if refusal is not None or not identical(found, undisturbed()):
        raise Harm(f"a store after a full disk: {refusal or 'another result'}")


TOML = """
runs = 3
horizon = 60
save = "{save}"
[adversary]
name = "Bernoulli"
means = [0.1, 0.2, 0.3, 0.9]
[policies.EXP3]
"""


@attack(short=4, long=300, prepare=undisturbed)
def nowhere_to_save(trial: Trial) -> None:
    """``hlmc simulate`` of a file whose ``save`` cannot be written. Harm: the runs are played first and then lost.

    A folder that is missing has to be told before anything is played; on a full disk the result is written elsewhere
    or shown.
    """
    full = trial.number % 2 == 1
    path = trial.folder / "x.toml"
    path.write_text(TOML.format(save=trial.folder / ("result.parquet" if full else "missing/result.parquet")))
    calls: list[Any] = []
    sys.setprofile(lambda frame, event, _: calls.append(1) if frame.f_code.co_name == "simulate" else None)
    os.chdir(trial.folder)
    try:
        with file_size_limit(4000 if full else 2**40), redirected(trial.folder / "said", 1, 2) as said:
            status = command_line(["simulate", str(path)])
    finally:
        sys.setprofile(None)
    if not full and (status != 2 or calls):
        raise Harm(f"a missing folder is told after the simulation (exit status {status})")
    others = set(trial.folder.iterdir()) - {path, said}
    if full and not others and "words" not in said.read_text():
        raise Harm(f"a full disk: exit status {status}, and the result is neither written elsewhere nor shown")
