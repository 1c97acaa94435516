"""Fleets in files: the same as in memory, opened once, read and checked block by block as they are used."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from fleets import EXAMPLES, POLICY, bits, fixed_rewards, flipped, loaded, step
from hlmc.engine.layout import ARM, TIME
from hlmc.errors import BadArgument, BadFile
from hlmc.files import disk
from hlmc.learners import filed as rows
from hlmc.learners import fleet as fleet_module
from hlmc.learners.fleet import Fleet
from hlmc.learners.format import Layout


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_a_fleet_in_a_file_is_a_fleet_in_memory(policy: hlmc.Policy, path: Path) -> None:
    filed, plain = policy.fleet(5, seed=2, file=path), policy.fleet(5, seed=2)
    assert filed == plain
    for t in range(4):
        for fleet in (filed, plain):
            step(fleet, fixed_rewards(t))
    assert filed == plain
    assert (plain.path, filed.path) == (None, path)
    filed.checkpoint()
    assert filed == plain
    for fleet in (filed, plain):
        fleet.select()
    del fleet, filed
    filed = loaded(path)
    assert filed != plain, "only checkpoints change the file"
    filed.select()
    assert filed == plain
    filed.checkpoint()
    filed.checkpoint()
    del filed
    assert loaded(path, mapped=False) == plain


def test_a_file_is_open_once(path: Path) -> None:
    fleet = POLICY.fleet(5, seed=2, file=path)
    with pytest.raises(BlockingIOError, match="this fleet is open already, here or in another process"):
        hlmc.load(path)
    with pytest.raises(FileExistsError, match=r"exists already; hlmc\.load opens a fleet"):
        POLICY.fleet(5, seed=2, file=path)
    learner = fleet[1]
    del fleet
    with pytest.raises(BlockingIOError):
        hlmc.load(path)
    del learner
    apart = loaded(path, mapped=False)
    assert apart.path is None
    assert loaded(path) == apart


def test_live_learners_are_part_of_every_checkpoint(path: Path) -> None:
    fleet = POLICY.fleet(2000, seed=2, file=path)
    learner = fleet[1234]
    for _ in range(3):
        learner.select()
        learner.update(1.0)
        fleet.checkpoint()
    state = learner.copy()
    del fleet, learner
    fleet = loaded(path)
    assert fleet[1234] == state
    assert fleet.time.sum() == 3


def test_checkpoints_write_what_has_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = POLICY.fleet(20_000, seed=2, file=path)
    written: list[int] = []
    write = disk.write
    monkeypatch.setattr(disk, "write", lambda file, at, data: written.append(len(data)) or write(file, at, data))
    fleet.checkpoint()
    assert not written
    size = path.stat().st_size
    fleet.select([7, 19_999])
    fleet.checkpoint()
    assert 0 < sum(written) < 4 * 2**14 + 2 * 2**14
    assert path.stat().st_size == size
    twin = fleet.copy()
    del fleet
    assert loaded(path) == twin


def test_saving_a_fleet(path: Path, tmp_path: Path) -> None:
    fleet = POLICY.fleet(1000, seed=2)
    step(fleet, fixed_rewards(0))
    fleet.save(path)
    again = loaded(path)
    assert again == fleet
    step(again, fixed_rewards(1))
    again.save(tmp_path / "other")
    assert loaded(tmp_path / "other") == again
    again.save(path)  # its own file: a checkpoint
    twin = again.copy()
    del again
    assert loaded(path) == twin


def test_a_file_that_was_replaced_is_not_written_to(path: Path) -> None:
    fleet, other = POLICY.fleet(10, seed=2, file=path), POLICY.fleet(10, seed=3)
    step(fleet, fixed_rewards(0))
    other.save(path)
    with pytest.raises(BadArgument, match="no longer the file that was opened"):
        fleet.checkpoint()
    assert loaded(path) == other
    fleet.save(path.with_name("rescued"))
    assert loaded(path.with_name("rescued")) == fleet


def test_big_files_are_checked_as_they_are_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "SMALL", 0)
    whole = POLICY.fleet(1000, seed=2)
    whole.save(path)
    layout = Layout.new("fleet", 1000, POLICY.words.total, 0)
    flipped(path, path.stat().st_size - 1)
    damaged = rf"{path} cannot be loaded: its rows {layout.span(layout.blocks - 1)[0]} to 999 are damaged"
    fleet = loaded(path)
    assert (fleet.select(range(500)) == whole.select(range(500))).all()
    fleet.update([0.5] * 500, range(500))
    calls: list[Callable[[Fleet], object]] = [
        lambda f: f.select([3, 998]),
        lambda f: f.select(),
        lambda f: f.update([0.5], [999]),
        lambda f: f[999],
        lambda f: f.state,
        lambda f: f.time,
        lambda f: f.verify(),
        lambda f: f.copy(),
        lambda f: f.save(path.with_name("copy")),
    ]
    for call in calls:
        with pytest.raises(BadFile, match=damaged):
            call(fleet)
    assert fleet[3].time == 1
    assert fleet[3].state[ARM] == -1.0
    fleet.checkpoint()
    del fleet
    assert loaded(path)[3].time == 1
    with pytest.raises(BadFile, match=damaged):
        hlmc.load(path, mapped=False)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small fleets be treated as large ones: read when they are used, freed at a checkpoint."""
    monkeypatch.setattr(rows, "SMALL", 0)
    monkeypatch.setattr(rows, "KEPT", 0)


def test_what_a_checkpoint_has_freed_is_checked_again(path: Path, large: None) -> None:
    fleet = POLICY.fleet(1000, seed=2, file=path)
    step(fleet, fixed_rewards(0))
    fleet.verify()
    fleet.checkpoint()
    twin = fleet.copy()
    layout = Layout.new("fleet", 1000, POLICY.words.total, 0)
    at = path.stat().st_size - 8 * POLICY.words.total + 8 * ARM
    flipped(path, at)
    damaged = rf"its rows {layout.span(layout.blocks - 1)[0]} to 999 are damaged"
    calls: list[Callable[[Fleet], object]] = [
        lambda f: f.select([3, 999]),
        lambda f: f.select(),
        lambda f: f[999],
        lambda f: f.state,
        lambda f: f.verify(),
        lambda f: f.copy(),
        lambda f: f.time,
    ]
    for call in calls:
        with pytest.raises(BadFile, match=damaged):
            call(fleet)
    assert (fleet.select(range(500)) == twin.select(range(500))).all()
    flipped(path, at)
    step(fleet, fixed_rewards(1))
    step(twin, fixed_rewards(1))
    assert fleet == twin


def test_verify_looks_at_the_file_however_often_it_has_been_read(path: Path) -> None:
    fleet = POLICY.fleet(1000, seed=2, file=path)
    fleet.verify()
    flipped(path, path.stat().st_size - 1)
    with pytest.raises(BadFile, match="to 999 are damaged"):
        fleet.verify()
    # The rows in memory are good; once they have changed, a checkpoint writes them and mends the file.
    step(fleet, fixed_rewards(0))
    fleet.verify()
    fleet.checkpoint()
    fleet.verify()


def test_a_file_that_is_cut_short_while_it_is_open_is_refused(path: Path, large: None) -> None:
    fleet = POLICY.fleet(1000, seed=2, file=path)
    fleet.select([3])
    size = path.stat().st_size
    os.truncate(path, size // 2)
    cut = rf"it was cut short: {size // 2} bytes of {size}"
    calls: list[Callable[[], object]] = [lambda: fleet.select([999]), fleet.select, fleet.verify, fleet.checkpoint]
    for call in calls:
        with pytest.raises(BadFile, match=cut):
            call()
    fleet.update([0.5], [3])
    assert fleet[3].time == 1


def test_rows_that_somebody_has_stay_where_they_are(path: Path, large: None) -> None:
    """Whether a learner, its state or the fleet's: a checkpoint leaves what is still looked at in memory."""
    fleet = POLICY.fleet(1000, seed=2, file=path)
    twin = POLICY.fleet(1000, seed=2)
    learner, state = fleet[7], fleet[800].state
    for t in range(4):
        for each in (fleet, twin):
            step(each, fixed_rewards(t))
        fleet.checkpoint()
        for each in (learner, twin[7]):
            each.select()
            each.update(0.5)
        assert learner == twin[7]
        assert state.tobytes() == twin[800].state.tobytes()
    everything = fleet.state
    fleet.checkpoint()
    assert everything.tobytes() == bits(twin)
    del learner, state, everything
    fleet.checkpoint()
    assert fleet == twin
    del fleet
    assert loaded(path) == twin


def test_a_new_file_replaces_none_that_was_made_meanwhile(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = POLICY.fleet(5, seed=9)
    make = fleet_module.fresh_rows

    def overtaken(*arguments: Any) -> Any:
        other.save(path)
        return make(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(fleet_module, "fresh_rows", overtaken)
        with pytest.raises(FileExistsError, match=r"exists already; hlmc\.load opens a fleet"):
            POLICY.fleet(5, seed=2, file=path)
    assert loaded(path) == other
    assert list(path.parent.iterdir()) == [path]


def test_opening_does_not_read_the_rows(path: Path) -> None:
    POLICY.fleet(100_000, seed=2).save(path)
    size = path.stat().st_size
    # Rows that are not there any more: only reading them would tell.
    os.truncate(path, 10_000)
    os.truncate(path, size)
    with pytest.raises(BadFile, match="header is damaged"):
        hlmc.load(path)
    POLICY.fleet(100_000, seed=2).save(path)
    os.truncate(path, size - 10**6)
    os.truncate(path, size)
    fleet = loaded(path)
    assert fleet[0].time == 0
    with pytest.raises(BadFile, match="are damaged"):
        fleet.verify()


def test_fleets_in_files_use_routines_of_ones_own(path: Path) -> None:
    def start(words: Any, n: int, parameters: Any) -> None:
        for j in range(n):
            words[j] = np.inf  # a user's words may be anything

    def select(words: Any, n: int, parameters: Any, tau: int, u: float) -> int:
        return min(int(u * n), n - 1)

    def chance(words: Any, n: int, parameters: Any, tau: int, slot: int) -> float:
        return 1.0 / n

    def update(words: Any, n: int, parameters: Any, tau: int, slot: int, chance: float, reward: float) -> None:
        words[slot] = reward

    own = hlmc.routines.Custom("own", start, select, chance, update)
    policy = hlmc.HLMC(arms=9, levels=2, horizon=50, routines=("exp3", own))
    fleet = policy.fleet(30, seed=1, file=path)
    step(fleet, fixed_rewards(0))
    fleet.checkpoint()
    twin = fleet.copy()
    del fleet
    assert loaded(path, routines={"own": own}) == twin
    with pytest.raises(BadArgument, match=r"uses a routine of your own: give it with load\(path, routines={'own'"):
        hlmc.load(path)


def test_times_are_whole(path: Path) -> None:
    fleet = POLICY.fleet(3, file=path)
    assert fleet.time.dtype == np.int64
    assert (fleet.state[:, TIME] == fleet.time).all()
