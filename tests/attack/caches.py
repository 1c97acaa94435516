"""The cache of compiled kernels: damaged, unwritable, shared.

A learner in a new process must select the same arms as ever. Harm: it does not, or the process ends in any other way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from attack.harness import Harm, Trial, at_most, attack
from attack.material import damage

CODE = """
import hlmc
learner = hlmc.Uniform(arms=1000).start(seed=1)
for _ in range(5):
    print(learner.select())
    learner.update(0.5)
"""


def selected(folder: Path) -> str:
    """What a learner in a new process selects that keeps its machine code here."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=at_most(50.0),
    )
    if done.returncode:
        raise Harm(f"status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


@cache
def filled() -> tuple[str, Path, tempfile.TemporaryDirectory[str]]:
    """What is selected, and a cache that holds the machine code for it."""
    folder = tempfile.TemporaryDirectory(prefix="hlmc-attack-")
    return selected(Path(folder.name)), Path(folder.name), folder


@attack(short=1, long=100, prepare=filled)
def damaged_cache(trial: Trial) -> None:
    """Damage some files of the cache, or put a file or nothing where its folder was."""
    right, cache, _ = filled()
    place = trial.folder / "cache"
    if trial.number % 10 == 9:
        place.touch()
    else:
        shutil.copytree(cache, place)
        files = sorted(path for path in place.rglob("*") if path.is_file())
        data = [path.read_bytes() for path in files]
        for path in trial.random.sample(files, trial.random.choice((1, 2, len(files)) if trial.number else (1, 2))):
            path.write_bytes(damage(path.read_bytes(), trial.random, data))
    if selected(place) != right:
        raise Harm("a damaged cache makes a learner select other arms")


@attack(short=0, long=20, prepare=filled, limit=600.0)  # five processes of 120 s at most
def shared_cache(trial: Trial) -> None:
    """Fill one cache from four processes at the same time; in every second trial some of it is there already."""
    right, cache, _ = filled()
    place = trial.folder / "cache"
    if trial.number % 2:
        shutil.copytree(cache, place)
        for path in trial.random.sample(sorted(path for path in place.rglob("*") if path.is_file()), 3):
            path.unlink()
    command = [sys.executable, "-W", "ignore", "-c", CODE]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(place)}
    started = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        said, _ = process.communicate(timeout=at_most(120.0))
        if process.returncode or said != right:
            raise Harm(f"a shared cache: status {process.returncode}, {said!r}")
    if selected(place) != right:
        raise Harm("a shared cache makes a learner select other arms")
