"""Files and objects made by somebody who knows the format: checksums fit, and what they hold is chosen to do harm.

Whatever is accepted must then play: every arm in range, every probability in (0, 1]. Whatever is refused must be
refused in one line, without taking memory or time in proportion to a number in the file.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from attack.harness import LONGEST, Forked, Harm, Trial, attack, attempt, redirected
from attack.material import (
    FIXED,
    crafted_row,
    fields_of,
    front_sealed,
    learner_file,
    learners,
    plays_on,
    saved,
    sealed,
)
from hlmc import adversaries
from hlmc.cli import main as command_line


@cache
def files() -> list[bytes]:
    """The files of learners of every policy."""
    with tempfile.TemporaryDirectory() as folder:
        return [saved(learner, Path(folder)) for learner in learners()]


@attack(short=800, long=1_000_000, prepare=files)
def crafted_rows(trial: Trial) -> None:
    """Load a learner with a crafted row. Harm: it is accepted and plays an arm or a probability out of range."""
    which = trial.random.randrange(len(learners()))
    data, offset = files()[which], fields_of(files()[which])["offset"]
    path = trial.folder / "file"
    path.write_bytes(sealed(data[:offset] + crafted_row(trial.random, learners()[which].state).tobytes()))
    learner, refusal = attempt(lambda: hlmc.load(path))
    if refusal is None:
        plays_on(learner)


@attack(short=200, long=100_000, prepare=files, limit=20.0)
def crafted_objects(trial: Trial) -> None:
    """Make a learner or a fleet of a crafted array, and unpickle one. Harm: as above; a fleet that reads other rows.

    Pickles from strangers are not promised to be safe, but those of ours pass the same gate as every other array.
    """
    dice = trial.random
    learner = dice.choice(learners())
    policy, row = learner.policy, crafted_row(trial.random, learner.state)
    kind = dice.randrange(8)
    if kind == 0:
        row = row[: dice.randrange(len(row))]
    elif kind == 1:
        row = np.concatenate([row, row])
    elif kind == 2:
        row = row.astype(dice.choice((np.float32, np.int64, np.uint8, complex, object)))
    elif kind == 3:
        row = np.repeat(row, 2)[::2]
    elif kind == 4:
        row = row[None, :]

    def made() -> Any:
        forged, plain = row.tobytes(), learner.state.tobytes()
        if len(forged) == len(plain) and dice.random() < 0.5:
            return pickle.loads(pickle.dumps(learner).replace(plain, forged))
        return hlmc.Learner(policy, row)

    with np.errstate(all="ignore"):
        found, refusal = attempt(made)
    if refusal is None:
        plays_on(found)
    rows = np.array([learner.state, learner.copy().state, policy.start(seed=3).state])
    shaped = dice.choice((np.asfortranarray(rows), rows[::-1], rows.astype(np.float32), rows[:, 1:], rows[0]))
    fleet, refusal = attempt(lambda: hlmc.Fleet(policy, shaped))
    if refusal is None:
        arms, refusal = attempt(fleet.select)
        if refusal is None:
            expected = [attempt(hlmc.Learner(policy, np.array(row, np.float64)).select)[0] for row in shaped]
            if list(arms) != expected:
                raise Harm(f"a fleet of an array with strides {shaped.strides} selects other arms than its learners")


@attack(short=200, long=100_000, prepare=files)
def crafted_headers(trial: Trial) -> None:
    """Load a file whose sizes were changed and sealed again. Harm: memory or time in proportion to what it claims."""
    dice = trial.random
    data = dice.choice(files())
    at = fields_of(data)
    for name in dice.sample(
        ("version", "kind", "rows", "words", "shift", "described", "offset"), dice.choice((1, 1, 2))
    ):
        most = 2**32 - 1 if name in ("version", "kind", "shift", "described") else 2**64 - 1
        odd = (0, 1, 2, 27, 28, 31, 62, 63, 2**16, 2**20, 2**31, 2**32 - 1, 2**40, 2**53, 2**63, 2**64 - 1)
        at[name] = min(dice.choice((*odd, at[name] + 1, max(at[name] - 1, 0), 2 * at[name])), most)
    if dice.random() < 0.5:
        # An offset that fits the other sizes, and a file as long as they say where that costs nothing.
        blocks = (max(at["rows"], 1) - 1 >> min(at["shift"], 64)) + 1
        unit = 64 if at["kind"] == 1 else 4096
        table = -(-(FIXED.size + at["described"]) // 16) * 16
        at["offset"] = min(-(-(table + 16 * blocks) // unit) * unit, 2**64 - 1)
    front = FIXED.pack(*at.values()) + data[FIXED.size :]
    offset = min(at["offset"], 2**22)
    front = front_sealed(front[:offset].ljust(offset, b"\0"))
    path = trial.folder / "file"
    path.write_bytes(front + data[fields_of(data)["offset"] :])
    size = at["offset"] + 8 * at["words"] * at["rows"]
    if size < 2**42:
        os.truncate(path, size)  # sparse: it claims more than it takes
    # A mapping of a fleet that is said to be large costs addresses, not memory.
    found, refusal = attempt(lambda: hlmc.load(path), OSError)
    if isinstance(refusal, OSError) and refusal.errno not in (12,):
        raise Harm(f"OSError: {refusal}")
    if isinstance(found, hlmc.Learner):
        plays_on(found)


VALUES = [0, 1, -1, 2, 3, 7, 2**31, 2**53, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, 0.5, 1e-300, 5e-324, 1e308, 1e999]
VALUES += [
    -1e999,
    math.nan,
    True,
    False,
    None,
    "",
    "exp3",
    "unknown",
    "x" * 300,
    [],
    [[]],
    [1, 2**40, 2**40],
    {},
    [None],
]
VALUES += [{"routine": "exp3", "gamma": 1e-320}, {"routine": "exp3s"}, {"routine": []}, ["exp3", {"routine": "ucb1"}]]


def crafted_description(trial: Trial, description: dict[str, Any]) -> bytes:
    """A description of a policy in which some arguments are others, or which is no description."""
    dice = trial.random
    if trial.number < 6:
        deep = (b"[" * 200_000, b'{"policy":' * 100_000, b"1" * 900_000, b"", b"\xff\xfe", b"null")
        return deep[trial.number]
    arguments = description["arguments"]
    for _ in range(dice.choice((1, 1, 2))):
        names = [*arguments, "memory", "groups", "levels", "epochs", "routines", "subphases", "sublength", "gamma"]
        names += ["alpha", "delta", "switches", "horizon", "first_stage", "fill", "ties", "shuffle", "__class__"]
        arguments[dice.choice(names)] = dice.choice(VALUES)
    return json.dumps(description).encode()


@attack(short=500, long=300_000, prepare=files)
def crafted_programs(trial: Trial) -> None:
    """Load a learner whose policy has crafted arguments: a fresh row of it, as if it had just been started.

    Harm: as for crafted rows, over 1,200 steps, so that the sizes which overflow late are reached.
    """
    dice = trial.random
    data = dice.choice(files())
    at = fields_of(data)
    description = json.loads(data[FIXED.size : FIXED.size + at["described"]])
    given = crafted_description(trial, description)
    row = np.zeros(at["words"])
    # The sizes of the row and the levels noted follow the arguments as far as the library is willing to say.
    if trial.number >= 6:
        arguments = json.loads(given)["arguments"]
        cls = getattr(hlmc, description["policy"])
        policy, refusal = attempt(lambda: cls(**arguments), TypeError)
        if refusal is None and policy.words.total < 10**6:
            learner = policy.start(seed=trial.number)
            path = trial.folder / "own"
            learner.save(path)
            if attempt(lambda: hlmc.load(path))[0] != learner:
                raise Harm(f"{policy!r} saves what load refuses")
            plays_on(learner, 1200)
            return
    row[2], row[3] = -1.0, 1.0
    path = trial.folder / "file"
    path.write_bytes(learner_file(given, row.tobytes()))
    found, refusal = attempt(lambda: hlmc.load(path))
    if refusal is None:
        plays_on(found, 1200)


EXTREMES: list[Callable[[], hlmc.Policy]] = [
    lambda: hlmc.UCBM(arms=10, memory=3, subphases=2**53, sublength=1024),
    lambda: hlmc.UCBM(arms=2**53, memory=1100),
    lambda: hlmc.UCBM(arms=17, memory=2**31),
    lambda: hlmc.EXP3M(arms=2**53, memory=1100),
    lambda: hlmc.HLMC(arms=27, levels=3, horizon=1000, epochs=(1, 2**40, 2**40)),
    lambda: hlmc.HLMC(arms=27, levels=3, horizon=2**53, epochs=(2**26, 2**26, 1)),
    lambda: hlmc.HLMC(arms=2**53, levels=30, horizon=2**53),
    lambda: hlmc.EXP3(arms=2, horizon=2**53),
    lambda: hlmc.EXP3P(arms=10, horizon=100, delta=5e-324),
    lambda: hlmc.EXP3S(arms=10, horizon=10**6, alpha=5e-324, gamma=5e-324),
    lambda: hlmc.EXP3S(arms=10, horizon=10**6, alpha=0.01, gamma=0.3),
    lambda: hlmc.Champion(arms=2**53, memory=20, horizon=2**53),
]


@attack(short=len(EXTREMES), long=len(EXTREMES), prepare=files)
def extreme_policies(trial: Trial) -> None:
    """Play 50,000 steps without reward with legal but extreme arguments; save and load. Harm: as for crafted rows.

    Where the arguments cannot be honoured, the constructor has to say so.
    """
    policy, refusal = attempt(EXTREMES[trial.number % len(EXTREMES)])
    if refusal is not None or policy.words.total > 10**7:
        return
    learner = policy.start(seed=1)
    path = trial.folder / "learner"
    for reward in [0.0] * 50_000 + [1.0] * 100:
        arm, refusal = attempt(learner.select)
        if refusal is not None:
            break
        if not 0 <= arm < policy.arms or not 0.0 < learner.probability <= 1.0:
            raise Harm(f"{policy!r}: arm {arm}, probability {learner.probability} at step {learner.time}")
        learner.update(reward)
    learner.save(path)
    if attempt(lambda: hlmc.load(path))[0] != learner:
        raise Harm(f"{policy!r} saves what load refuses")


def deep_toml(folder: Path) -> str:
    (folder / "x.toml").write_text("a = " + "[" * 100_000)
    return str(folder / "x.toml")


def dotted_toml(folder: Path) -> str:
    (folder / "x.toml").write_text(".".join("a" * 50_000) + " = 1")
    return str(folder / "x.toml")


def binary_toml(folder: Path) -> str:
    (folder / "x.toml").write_bytes(os.urandom(1000))
    return str(folder / "x.toml")


def endless_toml(folder: Path) -> str:
    """A pipe, from which an experiment may come, into which somebody writes for ever."""
    os.mkfifo(folder / "x.toml")

    def write() -> None:
        with (folder / "x.toml").open("wb") as pipe:
            while True:
                pipe.write(b"# nothing\n" * 10_000)

    Forked(write)
    return str(folder / "x.toml")


def huge_numbers(folder: Path) -> str:
    (folder / "x.toml").write_text(f"horizon = {10**400}\n[adversary]\nname='BlockTrap'\narms=4\n[policies.Uniform]\n")
    return str(folder / "x.toml")


def pipe_table(folder: Path) -> str:
    os.mkfifo(folder / "fifo.npy")
    name = json.dumps(str(folder / "fifo.npy"))
    (folder / "x.toml").write_text(f"[adversary]\nname='Trace'\ntable={name}\n[policies.Uniform]\n")
    return str(folder / "x.toml")


EXPERIMENTS: list[Callable[[Path], str]] = [
    deep_toml,
    dotted_toml,
    binary_toml,
    endless_toml,
    huge_numbers,
    pipe_table,
    lambda folder: "/dev/zero",
    lambda folder: "/dev/full",
    lambda folder: str(folder),
    lambda folder: str(folder / ("x" * 300)),
    lambda folder: "a\0b",
]


@attack(short=len(EXPERIMENTS), long=len(EXPERIMENTS), prepare=files, limit=20.0)
def crafted_experiments(trial: Trial) -> None:
    """Give ``hlmc simulate`` a file that is deep, without end or no text. Harm: no exit status 2 with one line."""
    make = EXPERIMENTS[trial.number % len(EXPERIMENTS)]
    path = make(trial.folder)
    with redirected(trial.folder / "said", 2) as said:
        status = command_line(["simulate", path, "--quiet"])
    text = said.read_text()
    name = getattr(make, "__name__", "path")
    if status not in (1, 2) or text.count("\n") != 1 or len(text) > LONGEST:
        raise Harm(f"{name}: exit status {status}, {len(text)} characters: {text[:80]!r}")


@attack(short=60, long=2000, prepare=files)
def crafted_tables(trial: Trial) -> None:
    """Make a Trace of a ``.npy`` file whose header was changed. Harm: a reward outside [0, 1], memory as it claims."""
    dice = trial.random
    path = trial.folder / "t.npy"
    np.save(path, np.full((40, 5), 0.5))
    data = path.read_bytes()
    shapes = ("(40, 5)", "(2**40, 5)", "(9999999999999, 5)", "(40, -5)", "(40,)", "()", "(0, 5)", "(40, 0)", "(" * 500)
    kinds = ("'<f8'", "'|O'", "'<f2'", "'<c16'", "'|S5'", "'<f8" * 30, "[('a','<f8')]")
    text = f"{{'descr': {dice.choice(kinds)}, 'fortran_order': {dice.choice(('True', 'False'))}, "
    text += f"'shape': {dice.choice(shapes)}, }}"
    header = text.encode().ljust(118 if len(text) < 118 else len(text) + 1) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data[128:])
    found, refusal = attempt(lambda: adversaries.Trace(path).rewards(0, 40))
    if refusal is None and not ((found >= 0.0) & (found <= 1.0)).all():
        raise Harm("a reward outside [0, 1] was accepted")
