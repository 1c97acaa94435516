"""Checkpoints of a fleet's file: whatever fails or is killed meanwhile, the file has the old state or the new."""

import mmap
import multiprocessing
import os
import random
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from fleets import LONG, POLICY, bits, fixed_rewards, killed_after, loaded, step
from hlmc.engine.layout import ARM
from hlmc.errors import BadFile
from hlmc.files import disk
from hlmc.learners import filed as rows
from hlmc.learners import journal
from hlmc.learners.fleet import Fleet
from hlmc.learners.format import FIXED, Layout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_killed_at_a_checkpoint_leaves_a_checkpoint(path: Path) -> None:
    """Its file has the last checkpoint that was finished, or the one under way; never anything else."""
    size = 3000
    reference = LONG.fleet(size, seed=4)
    states = [hash(bits(reference))]
    LONG.fleet(size, seed=4, file=path)
    # Shared with the processes to be killed: how many checkpoints have returned.
    finished = multiprocessing.get_context("fork").Value("q", 0, lock=False)

    def advance(fleet: Fleet, t: int) -> None:
        ids = np.arange(t % 7, size, 1 + t % 5)
        fleet.select(ids)
        fleet.update(np.full(len(ids), (t % 3) / 2), ids)

    def work() -> None:
        fleet = loaded(path)
        while True:
            advance(fleet, finished.value)
            fleet.checkpoint()
            finished.value += 1

    chance = random.Random(5)
    for _ in range(60):
        before = finished.value
        progress = chance.choice((0, 0, 1, 2))
        killed_after(chance.uniform(0.0, 0.02), work, lambda b=before + progress: finished.value >= b)  # type: ignore[misc]
        fleet = loaded(path)
        while len(states) <= finished.value + 1:
            advance(reference, len(states) - 1)
            states.append(hash(bits(reference)))
        at = states.index(hash(bits(fleet)))
        assert at in (finished.value, finished.value + 1)
        finished.value = at
        del fleet


class Disk:
    """Notes what is done to a file, and tells what a crash could leave of it.

    What was written before the last sync is there. Of what was written since, any part may be, sector by sector.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.image = path.read_bytes()
        self.done: list[tuple[str, int, bytes]] = []
        write, sync, cut = disk.write, disk.sync, disk.cut

        def noted_write(file: Any, at: int, data: Any) -> int:
            self.done.append(("write", at, bytes(data)))
            return write(file, at, data)

        def noted_sync(file: Any) -> None:
            self.done.append(("sync", 0, b""))
            sync(file)

        def noted_cut(file: Any, size: int) -> None:
            self.done.append(("cut", size, b""))
            cut(file, size)

        monkeypatch.setattr(disk, "write", noted_write)
        monkeypatch.setattr(disk, "sync", noted_sync)
        monkeypatch.setattr(disk, "cut", noted_cut)

    def crashed(self, count: int, chance: random.Random) -> bytes:
        """The file after a crash that lets this many operations begin."""
        begun = self.done[:count]
        safe = max((i for i, (kind, _, _) in enumerate(begun) if kind == "sync"), default=-1)
        share = chance.choice((0.0, 0.3, 0.9, 1.0))
        file = bytearray(self.image)
        for i, (kind, at, data) in enumerate(begun):
            if kind == "cut" and (i < safe or chance.random() < share):
                del file[at:]
            for first in range(0, len(data), 512) if kind == "write" else ():
                if i < safe or chance.random() < share:
                    piece = data[first : first + 512]
                    if len(file) < at + first + len(piece):
                        file.extend(bytes(at + first + len(piece) - len(file)))
                    file[at + first : at + first + len(piece)] = piece
        return bytes(file)


def test_no_crash_leaves_half_a_checkpoint(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = POLICY.fleet(600, seed=2, file=path)
    disk = Disk(monkeypatch, path)
    states, ends = [bits(fleet)], []
    for t, ids in enumerate((range(600), [0, 599, 300], range(100, 200))):
        fleet.select(ids)
        fleet.update([t / 2] * len(ids), ids)
        fleet.checkpoint()
        states.append(bits(fleet))
        ends.append(len(disk.done))
    del fleet
    chance = random.Random(1)
    crashed = path.with_name("crashed")
    outcomes = set()
    done = disk.done[:]
    for count in range(len(done) + 1):
        for _ in range(12):
            crashed.write_bytes(disk.crashed(count, chance))
            begun = sum(end <= count for end in ends)  # checkpoints that have returned
            found = states.index(bits(loaded(crashed)))
            assert found in (begun, begun + 1)
            outcomes.add(found - begun)
    assert outcomes == {0, 1}
    # A crash of the repair is repaired as well.
    first_sync = done.index(("sync", 0, b"")) + 1
    disk.done = done
    crashed.write_bytes(disk.crashed(first_sync + 1, random.Random(3)))
    repair = Disk(monkeypatch, crashed)
    assert bits(loaded(crashed)) == states[1]
    again = repair.done[:]
    assert len(again) > 3
    for count in range(len(again) + 1):
        for _ in range(5):
            repair.done = again
            crashed.write_bytes(repair.crashed(count, chance))
            assert bits(loaded(crashed)) == states[1]


def test_a_checkpoint_that_fails_can_be_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever writes fail, the file has a checkpoint's state, and the next call brings it up to date."""
    fleet = LONG.fleet(600, seed=2, file=path)
    write = disk.write
    left = 0

    def failing(file: Any, at: int, data: Any) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            write(file, at, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return write(file, at, data)

    def in_file() -> bytes:
        copied = path.with_name("copied")
        copied.write_bytes(path.read_bytes())
        return bits(loaded(copied))

    monkeypatch.setattr(disk, "write", failing)
    for first_fails_at in range(4):
        for then_fails_at in range(8):
            possible = [bits(fleet)]
            for fails_at in (first_fails_at, then_fails_at):
                fleet.select(range(50, 600, 3))
                fleet.update([0.5] * 184, range(50, 600, 3))
                possible.append(bits(fleet))
                left = fails_at
                with suppress(OSError):
                    fleet.checkpoint()
                left = 1000
                assert in_file() in possible
            fleet.checkpoint()
            assert in_file() == bits(fleet)


def test_a_checkpoint_can_follow_a_failed_one_with_older_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = POLICY.fleet(600, seed=2, file=path)
    before = fleet.copy()
    step(fleet, fixed_rewards(0))

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(disk, "cut", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fleet.checkpoint()
    fleet._rows.array[:] = before.state
    fleet.checkpoint()
    del fleet
    assert loaded(path) == before


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="needs /proc")
def test_a_checkpoint_frees_the_memory_of_what_has_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "KEPT", rows.SMALL)
    fleet = POLICY.fleet(20_000, seed=2, file=path)
    size = fleet._rows.array.nbytes
    assert size > rows.SMALL

    def resident() -> int:
        """Bytes of the rows in memory, page by page: a mapping can be merged with its neighbour, which is not ours."""
        page = mmap.PAGESIZE
        first, stop = fleet._rows.array.ctypes.data // page, -(-(fleet._rows.array.ctypes.data + size) // page)
        with Path("/proc/self/pagemap").open("rb") as file:
            file.seek(8 * first)
            entries = np.frombuffer(file.read(8 * (stop - first)), np.uint64)
        # Bits 63 and 62: present, and swapped.
        return page * int((entries >> np.uint64(62) != 0).sum())

    assert resident() == 0
    fleet.verify()
    assert resident() < size // 20
    fleet.select()
    assert resident() > 0.9 * size
    fleet.checkpoint()
    assert resident() < size // 20
    # A live learner keeps its block; a view of all rows keeps all of them.
    learner = fleet[1234]
    before = learner.copy()
    fleet.checkpoint()
    assert 0 < resident() < size // 20
    assert learner == before
    state = fleet.state
    fleet.checkpoint()
    assert resident() > 0.9 * size
    assert (state[:, ARM] >= 0.0).all()
    del state, learner
    fleet.checkpoint()
    assert resident() < size // 20
    assert (fleet.state[:, ARM] >= 0.0).all()


def test_what_is_behind_the_rows_and_no_journal_is_ignored(path: Path) -> None:
    fleet = POLICY.fleet(600, seed=2)
    fleet.save(path)
    size = path.stat().st_size
    whole = path.read_bytes()
    blocks = Layout.new("fleet", 600, POLICY.words.total, 0).blocks
    heads = [b"x", bytes(5000), journal.HEAD.pack(journal.MAGIC, 1, bytes(32)) + bytes(10)]
    heads += [journal.HEAD.pack(journal.MAGIC, n, bytes(32)) + bytes(900) for n in (0, 1, blocks, 2**63)]
    for tail in heads:
        path.write_bytes(whole + tail)
        again = loaded(path)
        assert again == fleet
        step(again, fixed_rewards(0))
        again.checkpoint()
        assert path.stat().st_size == size
        twin = again.copy()
        del again
        assert loaded(path) == twin


def test_a_repair_that_makes_no_sense_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A complete journal over a header that it does not belong to: nothing is written."""
    fleet = POLICY.fleet(600, seed=2, file=path)
    step(fleet, fixed_rewards(0))
    monkeypatch.setattr(disk, "cut", lambda file, size: None)
    fleet.checkpoint()
    del fleet
    data = bytearray(path.read_bytes())
    data[FIXED.size + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadFile, match="its header is damaged"):
        hlmc.load(path)
    assert path.read_bytes() == bytes(data)
    # A journal whose list of blocks leads outside is none.
    layout = Layout.new("fleet", 600, POLICY.words.total, 0)
    body = journal.HEAD.pack(journal.MAGIC, 1, bytes(32)) + struct.pack("<Q", layout.blocks) + bytes(16)
    POLICY.fleet(600, seed=2).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole + body + journal.hashlib.blake2b(body, digest_size=32).digest() + bytes(10**5))
    assert loaded(path).time.sum() == 0
