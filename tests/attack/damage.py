"""Damaged files: flipped bits, lost and repeated pieces, truncation, pieces of other files.

A damaged file must be refused with ``BadFile`` or hold all that it held before. Rewards in a table (a Trace) have no
checksum: there any rewards in [0, 1] will do.
"""

from __future__ import annotations

import os
import signal
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hlmc
from attack.harness import Forked, Harm, Trial, attack, attempt
from attack.material import compiled, damage, learners, loads_or_refuses, saved
from hlmc import adversaries, games


def equal(found: Any, original: Any) -> bool:
    return bool(found == original)


def identical(found: Any, original: Any) -> bool:
    """Of two results."""
    return bool(found.data.identical(original.data))


@cache
def state_files() -> list[tuple[Any, bytes]]:
    """Learners and fleets with their files."""
    small = hlmc.EXP3(arms=3, horizon=50).fleet(4, seed=1)
    blocks = hlmc.HLMC(arms=30, levels=3, horizon=10**6).fleet(150, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        return [(thing, saved(thing, Path(folder))) for thing in (*learners(), small, blocks)]


@attack(short=800, long=200_000, prepare=state_files)
def damaged_learners_and_fleets(trial: Trial) -> None:
    """Load a damaged file of a learner or a fleet. Harm: it is loaded and is none of those that were saved."""
    originals, data = zip(*state_files(), strict=True)
    path = trial.folder / "file"
    path.write_bytes(damage(trial.random.choice(data), trial.random, data))
    mapped = trial.random.random() < 0.5
    loads_or_refuses(path, lambda path: hlmc.load(path, mapped=mapped), originals, equal)


@cache
def interrupted() -> tuple[list[Any], list[bytes]]:
    """A fleet before and after a checkpoint, and its file when the process was killed at various moments between."""
    compiled()
    policy = hlmc.HLMC(arms=30, levels=3, horizon=10**6)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet"
        for moment in range(4):
            path.unlink(missing_ok=True)
            fleet = policy.fleet(size=150, seed=1, file=path)
            before = fleet.copy()
            del fleet

            def work(moment: int = moment) -> None:
                fleet = hlmc.load(path)
                fleet.select()
                fleet.update(np.linspace(0.0, 1.0, 150))
                syncs, plain = iter(range(10)), os.fsync

                def killing(descriptor: int) -> None:
                    if next(syncs) == moment:
                        os.kill(os.getpid(), signal.SIGKILL)
                    plain(descriptor)

                os.fsync = killing
                fleet.checkpoint()

            Forked(work).wait()
            found.append(path.read_bytes())
        before.select()
        after = before.copy()
        after.update(np.linspace(0.0, 1.0, 150))
    return [policy.fleet(size=150, seed=1), after], found


@attack(short=200, long=50_000, prepare=interrupted)
def damaged_journals(trial: Trial) -> None:
    """Damage the file of a fleet whose checkpoint was interrupted. Harm: it loads as neither before nor after."""
    states, data = interrupted()
    path = trial.folder / "fleet"
    original = trial.random.choice(data)
    path.write_bytes(damage(original, trial.random, data) if trial.number >= len(data) else data[trial.number])
    load = lambda path: hlmc.load(path, mapped=False)  # noqa: E731
    loads_or_refuses(path, load, states, equal)
    if trial.number < len(data) and attempt(lambda: load(path))[1] is not None:
        raise Harm("a file whose checkpoint was interrupted is refused")


@cache
def results() -> tuple[list[Any], list[bytes]]:
    """Two results of simulations with their files."""
    found = [
        hlmc.simulate(
            {"a": hlmc.EXP3(arms=4, horizon=60), "b": hlmc.Uniform(arms=4)},
            adversaries.Bernoulli([0.1, 0.2, 0.3, 0.9]),
            horizon=60,
            runs=runs,
            points=points,
            progress=False,
        )
        for runs, points in ((2, 10), (3, 7))
    ]
    with tempfile.TemporaryDirectory() as folder:
        return found, [saved(result, Path(folder)) for result in found]


@attack(short=100, long=30_000, prepare=results)
def damaged_results(trial: Trial) -> None:
    """Load a damaged result of ``Result.save``. Harm: it is loaded and is none of those that were saved."""
    found, data = results()
    path = trial.folder / "result.parquet"
    path.write_bytes(damage(trial.random.choice(data), trial.random, data))
    loads_or_refuses(path, hlmc.load_result, found, identical)


@cache
def game() -> tuple[Any, bytes]:
    """The result of a game with its file."""
    result = hlmc.play(
        hlmc.EXP3(arms=4, horizon=40),
        games.Spectrum(agents=6, channels=4),
        horizon=40,
        runs=2,
        points=5,
        progress=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        return result, saved(result, Path(folder))


@attack(short=50, long=20_000, prepare=game)
def damaged_games(trial: Trial) -> None:
    """Load a damaged result of a game. Harm: it is loaded and differs from what was saved."""
    result, data = game()
    path = trial.folder / "game.parquet"
    path.write_bytes(damage(data, trial.random, [data]))
    loads_or_refuses(path, games.load_result, [result], identical)


@cache
def arena() -> tuple[Any, bytes]:
    """The result of an arena with its file."""
    result = hlmc.arena(against=[], adversaries=["Needle"], arms=[16], horizons=[50], runs=2, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arena.parquet"
        result.save(path)
        return result, path.read_bytes()


@attack(short=50, long=20_000, prepare=arena)
def damaged_arenas(trial: Trial) -> None:
    """Load a damaged result of an arena. Harm: it is loaded and differs from what was saved."""
    result, data = arena()
    path = trial.folder / "arena.parquet"
    path.write_bytes(damage(data, trial.random, [data]))
    loads_or_refuses(path, hlmc.arenas.ArenaResult.load, [result], lambda a, b: bool(a.runs.equals(b.runs)))


def stored(folder: Path, runs: int = 3) -> Any:
    """A simulation whose runs are kept in a folder."""
    return hlmc.simulate(
        {"a": hlmc.EXP3(arms=4, horizon=60), "b": hlmc.Uniform(arms=4)},
        adversaries.Bernoulli([0.1, 0.2, 0.3, 0.9]),
        horizon=60,
        runs=runs,
        points=10,
        store=folder,
        progress=False,
    )


@cache
def store() -> tuple[Any, dict[str, bytes]]:
    """What a finished simulation gave, and the files of its store."""
    with tempfile.TemporaryDirectory() as folder:
        stored(Path(folder), runs=2)
        result = stored(Path(folder))
        return result, {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@attack(short=20, long=5000, prepare=store)
def damaged_stores(trial: Trial) -> None:
    """Damage a file of a store and simulate again. Harm: the result differs, and nothing was said."""
    result, files = store()
    hit = trial.random.choice(sorted(files))
    for name, data in files.items():
        (trial.folder / name).write_bytes(damage(data, trial.random, list(files.values())) if name == hit else data)
    again, refusal = attempt(lambda: stored(trial.folder))
    if refusal is None and not identical(again, result):
        raise Harm(f"a store with a damaged {hit} gives another result")


@cache
def tables() -> dict[str, bytes]:
    """Files of rewards."""
    rewards = np.random.default_rng(1).random((40, 5)).round(3)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        np.save(at / "t.npy", rewards)
        np.save(at / "coins.npy", rewards < 0.5)
        pd.DataFrame(rewards).to_csv(at / "t.csv", index=False, header=False)
        pd.DataFrame(rewards, columns=list("abcde")).to_parquet(at / "t.parquet")
        return {path.name: path.read_bytes() for path in at.iterdir()}


def traces() -> None:
    for name, data in tables().items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(data)
            adversaries.Trace(Path(folder) / name).rewards(0, 10)


@attack(short=100, long=10_000, prepare=traces)
def damaged_traces(trial: Trial) -> None:
    """Make a Trace of a damaged table and look at all of it. Harm: a reward outside [0, 1]."""
    files = tables()
    name = trial.random.choice(sorted(files))
    path = trial.folder / name
    path.write_bytes(damage(files[name], trial.random, list(files.values())))

    def rewards() -> Any:
        trace = adversaries.Trace(path)
        return trace.rewards(0, min(trace.length or 0, 1000))

    # Kept beside the trial, so that nothing is left in the user's cache.
    os.environ["XDG_CACHE_HOME"] = str(trial.folder)
    found, refusal = attempt(rewards)
    if refusal is None and not ((found >= 0.0) & (found <= 1.0)).all():
        raise Harm("a reward outside [0, 1] was accepted")
