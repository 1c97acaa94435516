"""Power cuts on SQLite: what a process wrote and synced is recorded, and states of the disk are made of it.

A write, a truncation or a new, removed or renamed entry of the folder that was not synced before the cut may be lost,
each by itself, and a write may reach the disk in part, by sectors. What was synced is there. The worst disk that keeps
its word does all of that.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

import hlmc
from crashes import OPTIONS, POLICY, play, problems, saying, until_full

TESTS = Path(__file__).resolve().parent
OPEN, WRITE, TRUNCATE, SYNC, UNLINK, SYNC_FOLDER = range(1, 7)
SECTOR = 512
STORE, ACKS = "shop.db", "acks"


class Call(NamedTuple):
    """A line of the record of powercuts.c."""

    kind: int
    file: int
    offset: int
    length: int
    bytes: bytes


def library(folder: Path) -> Path:
    """powercuts.c, compiled; the test is skipped where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    made = folder / "powercuts.so"
    source = TESTS / "powercuts.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", made, source, "-ldl", "-lpthread"], check=True)
    return made


def run(what: str, folder: Path, **variables: str) -> str:
    """Call a function of this module in a process whose writes to a folder are watched; what it printed."""
    path = os.pathsep.join([str(TESTS), *sys.path])
    environment = {**os.environ, "LD_PRELOAD": str(library(folder)), "PYTHONPATH": path, **variables}
    folder = folder / "disk"
    folder.mkdir()
    environment["HLMC_FOLDER"] = f"{folder}/"
    command = [sys.executable, "-c", f"import powercuts; print(powercuts.{what}({str(folder)!r}))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def record(folder: Path, steps: int) -> list[Call]:
    """The record of a bandit that is made, plays, is closed, opened again and plays on."""
    path = folder / "record"
    run("_played", folder, HLMC_LOG=str(path), STEPS=str(steps))
    whole, at, calls = path.read_bytes(), 0, []
    while at < len(whole):
        *header, follow = struct.unpack_from("5q", whole, at)
        calls.append(Call(*header, whole[at + 40 : at + 40 + follow]))
        at += 40 + follow
    return calls


def _played(folder: str) -> None:
    say, dice = saying(Path(folder) / ACKS), random.Random(1)
    for part in range(2):
        with hlmc.open(Path(folder) / STORE, POLICY, seed=1, **OPTIONS if part == 0 else {}) as bandit:
            bandit._experiment.store.all("pragma wal_autocheckpoint = 40")
            for _ in zip(range(int(os.environ["STEPS"]) // 2), play(bandit, say, dice), strict=False):
                pass


def filled(folder: Path, room: int) -> str:
    """The message when a disk with so much room for everything that is written is full."""
    return run("_until_full", folder, HLMC_ROOM=str(room))


def _until_full(folder: str) -> str:
    return until_full(str(Path(folder) / STORE), Path(folder).parent / ACKS)


class Disk:
    """A disk that is cut off: entries of one folder, files with what is safe and what is on its way."""

    def __init__(self) -> None:
        self.safe: dict[int, bytearray] = defaultdict(bytearray)
        self.coming: dict[int, list[Call]] = defaultdict(list)
        self.entries: dict[str, int] = {}  # that are safe
        self.changes: list[tuple[str, int | None]] = []  # of entries, on their way
        self.seen: dict[str, int] = {}  # entries as processes see them
        self.files: dict[int, int] = {}  # by the numbers of the record: a file that is opened twice has two
        self.acks = bytearray()

    def take(self, call: Call) -> None:
        """Let a call happen."""
        file = self.files.get(call.file, -1)
        if call.kind == OPEN:
            name = call.bytes.decode()
            if name not in self.seen:
                self.seen[name] = call.file
                self.changes.append((name, call.file))
            self.files[call.file] = self.seen[name]
        elif call.kind == WRITE and self.seen.get(ACKS) == file:
            self.acks += call.bytes
        elif call.kind in (WRITE, TRUNCATE):
            self.coming[file].append(call)
        elif call.kind == SYNC:
            for each in self.coming.pop(file, []):
                _write(self.safe[file], each)
        elif call.kind == UNLINK:
            name = call.bytes.decode()
            del self.seen[name]
            self.changes.append((name, None))
        else:
            self.entries = _changed(self.entries, self.changes)
            self.changes.clear()

    def cut(self, folder: Path, dice: random.Random) -> None:
        """Write a state in which the disk may be after the power has gone."""
        share = dice.choice([0.0, 0.5, 0.9, 1.0, dice.random()])
        entries = _changed(self.entries, [each for each in self.changes if dice.random() < share])
        for name, file in entries.items():
            content = bytearray(self.safe[file])
            for call in self.coming[file]:
                if dice.random() < share:
                    _write(content, call)
                elif call.kind == WRITE and dice.random() < 0.3:
                    for at in range(0, call.length, SECTOR):
                        if dice.random() < share:
                            _write(content, Call(WRITE, 0, call.offset + at, 0, call.bytes[at : at + SECTOR]))
            if name.startswith(STORE) and not name.endswith("-shm"):  # which is made anew
                (folder / name).write_bytes(content)

    @property
    def acknowledged(self) -> list[list]:
        return [json.loads(line) for line in self.acks.split(b"\n")[:-1]]


def _write(content: bytearray, call: Call) -> None:
    if call.kind == TRUNCATE:
        del content[call.length :]
        content.extend(bytes(call.length - len(content)))
        return
    if len(content) < call.offset:
        content.extend(bytes(call.offset - len(content)))
    content[call.offset : call.offset + len(call.bytes)] = call.bytes


def _changed(entries: dict[str, int], changes: list[tuple[str, int | None]]) -> dict[str, int]:
    changed = {**entries, **{name: file for name, file in changes if file is not None}}
    for name, file in changes:
        if file is not None:
            changed[name] = file
        else:
            changed.pop(name, None)
    return changed


def check_cuts(calls: list[Call], folder: Path, states: int, dice: random.Random) -> list[str]:
    """Cut the power so often, at random moments, and look at what is left; what is wrong."""
    wrong: list[str] = []
    disk, at = Disk(), 0
    for moment in sorted(dice.randrange(len(calls) + 1) for _ in range(states)):
        for call in calls[at:moment]:
            disk.take(call)
        at = moment
        here = folder / "state"
        here.mkdir()
        disk.cut(here, dice)
        acknowledged = disk.acknowledged
        if not acknowledged:
            hlmc.open(here / STORE, POLICY, **OPTIONS).close()
        wrong += [f"after call {moment}: {text}" for text in problems(str(here / STORE), acknowledged)]
        with hlmc.open(here / STORE) as bandit:
            bandit.tell(bandit.ask().id, 1.0)
        shutil.rmtree(here)
    return wrong
