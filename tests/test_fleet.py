"""Fleets: the same as so many learners, refusing what they must, and safe in their files."""

import copy
import mmap
import multiprocessing
import os
import pickle
import random
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from fleets import EXAMPLES, STEPS, fixed_rewards, flipped, killed_after
from hlmc import fleet as fleet_module
from hlmc.engine.layout import ARM, TIME
from hlmc.errors import BadArgument, BadFile, BadReward, BadType, HLMCError, OutOfTurn
from hlmc.files import disk, journal, rows
from hlmc.files.format import FIXED, Layout
from hlmc.fleet import LEAST_SHARE, Fleet

POLICY = hlmc.HLMC(arms=20, memory=10, horizon=40)
LONG = hlmc.HLMC(arms=20, memory=10, horizon=10**6)


def loaded(path: Path, **options: Any) -> Fleet:
    fleet = hlmc.load(path, **options)
    assert isinstance(fleet, Fleet)
    return fleet


def step(fleet: Fleet, pay: Callable[[int], Any]) -> None:
    fleet.select()
    fleet.update(pay(len(fleet)))


def bits(fleet: Fleet) -> bytes:
    return fleet.state.tobytes()


# The same as learners.


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_a_fleet_is_so_many_learners(policy: hlmc.Policy) -> None:
    size = 7
    rng = np.random.default_rng(1)
    pay = fixed_rewards(2)
    fleet = policy.fleet(size, seed=5)
    learners = [policy.start(5, i) for i in range(size)]
    assert fleet.state.nbytes == size * 8 * policy.words.total
    for t in range(STEPS):
        ids = None if t % 5 == 0 else rng.permutation(size)[: rng.integers(size + 1)]
        chosen = range(size) if ids is None else ids
        arms = fleet.select(ids)
        assert arms.dtype == np.int64
        assert arms.tolist() == [learners[i].select() for i in chosen]
        if t % 7 == 3:
            continue  # asked again, they give the same answer
        rewards = pay(len(arms))
        fleet.update(rewards, ids)
        for i, reward in zip(chosen, rewards, strict=True):
            learners[i].update(reward)
    for i, learner in enumerate(learners):
        assert fleet[i] == learner
    assert fleet.time.tolist() == [learner.time for learner in learners]
    assert fleet.probability.tolist() == [learner.probability for learner in learners]


@pytest.mark.interpreted
def test_a_learner_of_a_fleet_is_live() -> None:
    fleet = POLICY.fleet(3, seed=1)
    learner, again = fleet[2], fleet[-1]
    arm = learner.select()
    assert again.select() == arm == fleet.select([2])[0]
    again.update(1.0)
    assert learner.time == fleet.time[2] == 1
    with pytest.raises(OutOfTurn):
        fleet.update([1.0], [2])
    apart = learner.copy()
    apart.select()
    assert fleet[2].state[ARM] == -1.0
    for i in (3, -4):
        with pytest.raises(IndexError, match=f"no learner {i} in a fleet of 3"):
            fleet[i]
    assert [each.time for each in fleet] == [0, 0, 1]


def test_copies_go_on_by_themselves() -> None:
    fleet = POLICY.fleet(5, seed=1)
    step(fleet, fixed_rewards(0))
    twins = [fleet.copy(), copy.copy(fleet), copy.deepcopy(fleet), pickle.loads(pickle.dumps(fleet))]
    for twin in twins:
        assert twin == fleet
        step(twin, fixed_rewards(1))
        assert twin != fleet
        assert twin == twins[0]
    assert fleet != POLICY.fleet(5, seed=2)
    assert fleet != POLICY.fleet(4, seed=1)
    assert fleet != 5
    assert repr(fleet) == f"<fleet of 5 learners of {POLICY!r}>"
    assert len(fleet) == 5
    with pytest.raises(ValueError, match="read-only"):
        fleet.state[0, 0] = 1.0


def test_the_number_of_threads_changes_nothing() -> None:
    size = 5 * LEAST_SHARE
    fleets = [POLICY.fleet(size, seed=3) for _ in range(3)]
    for fleet, threads in zip(fleets, (1, 2, 5), strict=True):
        fleet.threads = threads
    rng = np.random.default_rng(0)
    for ids in (None, rng.permutation(size), rng.permutation(size)[: 3 * LEAST_SHARE]):
        arms = [fleet.select(ids) for fleet in fleets]
        assert (arms[0] == arms[1]).all()
        assert (arms[0] == arms[2]).all()
        rewards = rng.random(len(arms[0]))
        for fleet in fleets:
            fleet.update(rewards, ids)
    assert bits(fleets[0]) == bits(fleets[1]) == bits(fleets[2])
    fleets[2].select()
    rewards = np.full(size, 0.5)
    rewards[[size - 1, size // 2 + 7, size // 2 + 9]] = np.nan
    with pytest.raises(BadReward, match=f"learner {size // 2 + 7}: "):
        fleets[2].update(rewards)


def test_several_threads_may_call() -> None:
    size = 400
    fleet = POLICY.fleet(size, seed=3)

    def work(ids: Any) -> None:
        for _ in range(30):
            fleet.select(ids)
            fleet.update(np.full(len(ids), 0.5), ids)

    callers = [threading.Thread(target=work, args=(np.arange(part, size, 4),)) for part in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    alone = POLICY.fleet(size, seed=3)
    for _ in range(30):
        alone.select()
        alone.update(np.full(size, 0.5))
    assert fleet == alone


@pytest.mark.slow
def test_a_million_learners() -> None:
    fleet = LONG.fleet(10**6, seed=1)
    assert fleet.state.nbytes == 8 * 10**6 * LONG.words.total
    ids = np.random.default_rng(0).permutation(10**6)[:1000]
    arms = fleet.select(ids)
    fleet.update(np.full(1000, 0.5), ids)
    assert fleet.time.sum() == 1000
    learner = LONG.start(1, int(ids[17]))
    assert learner.select() == arms[17]
    learner.update(0.5)
    assert fleet[int(ids[17])] == learner


# What is refused has changed nothing.

NOT_READY = "update needs a selection first"
REFUSED: list[tuple[str, Callable[[Fleet], object], type[Exception], str]] = [
    ("negative", lambda f: f.select([1, -1]), BadArgument, r"ids must be from 0 to 5, not -1 \(in place 1\)"),
    ("beyond", lambda f: f.select([0, 6, 9]), BadArgument, r"ids must be from 0 to 5, not 6 \(in place 1\)"),
    ("huge", lambda f: f.select(np.array([2**64 - 1], np.uint64)), BadArgument, "not 18446744073709551615"),
    ("twice", lambda f: f.select([4, 0, 1, 0]), BadArgument, "must not repeat a learner, and 0 comes again in place 3"),
    ("update twice", lambda f: f.update([0.1] * 2, [4, 4]), BadArgument, "must not repeat a learner"),
    ("float ids", lambda f: f.select([1.0]), BadType, "ids must be whole numbers, not float64"),
    ("mask", lambda f: f.select([True] * 6), BadType, "ids must be whole numbers, not bool"),
    ("words", lambda f: f.select(["1"]), BadType, "ids must be whole numbers"),
    ("one id", lambda f: f.select(3), BadArgument, "ids must be a list"),
    ("table", lambda f: f.select([[1, 2]]), BadArgument, r"ids must be a list of learners, not of shape \(1, 2\)"),
    ("turn", lambda f: f.update([0.5] * 2, [4, 3]), OutOfTurn, f"learner 3: {NOT_READY}"),
    ("turn of all", lambda f: f.update([0.5] * 6), OutOfTurn, f"learner 1: {NOT_READY}"),
    ("nan", lambda f: f.update([0.5, np.nan], [0, 4]), BadReward, r"learner 4: reward must be a number in \[0, 1\]"),
    ("inf", lambda f: f.update([np.inf, 0.0], [0, 4]), BadReward, "learner 0: reward must be"),
    ("above", lambda f: f.update([0.0, 1.0000001], [0, 4]), BadReward, "learner 4: .*, not 1.0000001"),
    ("below", lambda f: f.update([-1e-300, 1.0], [0, 4]), BadReward, "learner 0: .*, not -1e-300"),
    ("too few", lambda f: f.update([0.5], [0, 4]), BadReward, r"must be 2 numbers, one a learner, not of shape \(1,\)"),
    ("one reward", lambda f: f.update(0.5), BadReward, r"must be 6 numbers, one a learner, not of shape \(\)"),
    ("text", lambda f: f.update(["a", "b"], [0, 4]), BadType, "rewards must be numbers"),
    ("complex", lambda f: f.update([1j, 0j], [0, 4]), BadType, "rewards must be numbers"),
    ("horizon", lambda f: f.select([1, 5]), OutOfTurn, "learner 5: the horizon of 40 steps has been reached"),
    ("horizon of all", lambda f: f.select(), OutOfTurn, "learner 5: the horizon of 40 steps has been reached"),
    ("no file", lambda f: f.checkpoint(), BadArgument, "no file to write a checkpoint to"),
]


def unequal_fleet() -> Fleet:
    """Learners 0 and 4 wait for a reward, learner 5 is at its end."""
    fleet = POLICY.fleet(6, seed=1)
    for _ in range(40):
        fleet.select([5])
        fleet.update([0.5], [5])
    fleet.select([0, 4])
    return fleet


@pytest.mark.interpreted
@pytest.mark.parametrize(("call", "error", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused_calls_change_nothing(call: Callable[[Fleet], object], error: type[Exception], text: str) -> None:
    fleet, untouched = unequal_fleet(), unequal_fleet()
    with pytest.raises(error, match=text) as caught:
        call(fleet)
    assert isinstance(caught.value, (HLMCError, BadType))
    assert bits(fleet) == bits(untouched)
    # Also the marks that find repeated learners have been wiped: the next call goes through.
    for each in (fleet, untouched):
        each.update([0.25, 1.0], [4, 0])
        each.select([4, 3, 2, 1, 0])
    assert fleet == untouched


@pytest.mark.interpreted
@pytest.mark.parametrize("ids", [None, np.array([3, 0, 1])], ids=["all", "some"])
def test_what_a_fleet_knows_of_its_learners_is_right(ids: Any) -> None:
    """Selected and then taught the same learners, they are not looked at again; what comes between is noticed."""
    fleet, rewards = POLICY.fleet(4, seed=1), [0.5] * (4 if ids is None else 3)
    for _ in range(2):
        fleet.select(ids)
        before = bits(fleet)
        with pytest.raises(BadReward, match=r"learner 1: .* not nan"):
            fleet.update([0.5, np.nan, 0.5, 0.5] if ids is None else [0.5, 0.5, np.nan], ids)
        with pytest.raises(BadReward, match="one a learner"):
            fleet.update(rewards[1:], ids)
        assert bits(fleet) == before
        fleet.update(rewards, ids)
        before = bits(fleet)
        with pytest.raises(OutOfTurn, match=r"learner [03]: "):
            fleet.update(rewards, ids)
        assert bits(fleet) == before
    if ids is not None:
        asked = ids.copy()
        fleet.select(asked)
        asked[:] = [2, 0, 1]
        with pytest.raises(OutOfTurn, match="learner 2: "):
            fleet.update(rewards, asked)
        fleet.update(rewards, ids)
    live = fleet[3]
    fleet.select(ids)
    live.update(1.0)
    with pytest.raises(OutOfTurn, match="learner 3: "):
        fleet.update(rewards, ids)
    while live.time < 40:
        live.select()
        live.update(0.0)
    with pytest.raises(OutOfTurn, match="learner 3: the horizon"):
        fleet.copy().select([3])
    with pytest.raises(OutOfTurn, match="learner 3: the horizon"):
        fleet.select(ids)


@pytest.mark.interpreted
def test_nobody_is_a_batch_too() -> None:
    fleet = POLICY.fleet(3)
    before = bits(fleet)
    assert fleet.select([]).shape == (0,)
    fleet.update([], [])
    assert bits(fleet) == before


@pytest.mark.parametrize("size", [0, -1, 2.5, "3", None])
def test_a_fleet_has_a_size(size: Any) -> None:
    with pytest.raises((BadArgument, BadType), match="size must be a whole number of at least 1"):
        POLICY.fleet(size)


# In files.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fleet"


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


@pytest.mark.parametrize("ids", [None, np.array([3, 0, 1])], ids=["all", "some"])
def test_what_the_caller_gives_may_change_meanwhile(ids: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is what the arrays held at the call, also when another thread writes to them."""
    fleet, twin = POLICY.fleet(4, seed=1), POLICY.fleet(4, seed=1)
    use = Fleet._use
    rewards = np.full(4 if ids is None else 3, 0.5)
    given = None if ids is None else ids.copy()

    def spoiling(self: Fleet, chosen: Any) -> None:
        if self is fleet:
            rewards[:] = np.nan
            if given is not None:
                given[:] = 2**40
        use(self, chosen)

    monkeypatch.setattr(Fleet, "_use", spoiling)
    assert (fleet.select(given) == twin.select(ids)).all()
    for each in (fleet, twin):
        rewards[:] = 0.5
        given = None if ids is None else ids.copy()
        each.update(rewards, given if each is fleet else ids)
    assert fleet == twin
    assert fleet.time.tolist() == ([1] * 4 if ids is None else [1, 1, 0, 1])


def test_masked_places_are_no_numbers() -> None:
    fleet = POLICY.fleet(3)
    with pytest.raises(BadArgument, match="ids must not have masked places, and 1 are masked"):
        fleet.select(np.ma.array([0, 1], mask=[True, False]))
    fleet.select()
    with pytest.raises(BadArgument, match="rewards must not have masked places, and 2 are masked"):
        fleet.update(np.ma.array([0.5, 0.5, 0.5], mask=[True, False, True]))
    fleet.update(np.ma.array([0.5, 0.5, 0.5]))


# Forks: each in a process of its own.


def in_another_process(script: str, path: Path) -> str:
    """What a script prints. It ends by itself; the limit is there so that a deadlock is a failure."""
    head = (
        "import os, sys, threading, hlmc, numpy as np\n"
        "path = sys.argv[1]\n"
        "policy = hlmc.HLMC(arms=20, memory=10, horizon=10**6)\n"
        "def child(work):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        try:\n"
        "            work()\n"
        "            os._exit(0)\n"
        "        finally:\n"
        "            os._exit(1)\n"
        "    return os.waitpid(pid, 0)[1]\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", head + textwrap.dedent(script), str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_the_file_to_its_parent(path: Path) -> None:
    found = in_another_process(
        """
        fleet = policy.fleet(50, seed=1, file=path)
        fleet.select()
        learner = fleet[3]
        def work():
            learner.update(1.0)
            calls = [fleet.select, lambda: fleet.update([0.5] * 50), fleet.checkpoint, fleet.verify, fleet.copy]
            calls += [lambda: fleet.state, lambda: fleet.time, lambda: fleet[1], lambda: fleet.save(path + "2")]
            for call in calls:
                try:
                    call()
                    print("not refused", call)
                except hlmc.errors.BadArgument as error:
                    print(str(error).replace(path, "PATH").replace(str(os.getppid()), "PID"))
            sys.stdout.flush()
        assert child(work) == 0
        fleet.update([0.5] * 50)
        fleet.checkpoint()
        twin = fleet.copy()
        assert learner.time == 1 and learner == twin[3]
        del fleet, learner
        assert hlmc.load(path) == twin
        """,
        path,
    )
    line = "this fleet's file, PATH, is open in process PID, of which this one is a fork: "
    line += "fork with a fleet in memory, fleet.copy(), or open the file in one of the two alone"
    assert set(found.splitlines()) == {line}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_the_file_locked(path: Path) -> None:
    in_another_process(
        """
        fleet = policy.fleet(50, seed=1, file=path)
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(w)
            os.read(r, 1)  # until the parent has written, or has ended
            os._exit(0)
        del fleet
        fleet = hlmc.load(path)  # while the child lives
        os.write(w, b"x")
        assert os.waitpid(pid, 0)[1] == 0
        """,
        path,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_a_call_that_makes_another_lock(path: Path) -> None:
    in_another_process(
        """
        from hlmc import turns
        lock, entered = turns.turn(), threading.Event()
        def work():
            with lock:
                entered.set()
                while turns._forks.acquire(blocking=False):  # until the fork waits for this lock
                    turns._forks.release()
                with turns.turn():
                    pass
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        assert child(lambda: lock.acquire()) == 0
        thread.join()
        """,
        path,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_finds_fleets_between_two_calls(path: Path) -> None:
    """Other threads are at work on a fleet when the process forks: the child gets it whole and can use it."""
    in_another_process(
        """
        fleet = policy.fleet(3 * 4096, seed=1)
        rewards = np.full(len(fleet), 0.5)
        stop = False
        def step():
            fleet.select()
            fleet.update(rewards)
        def work():
            while not stop:
                step()
        threads = [threading.Thread(target=work) for _ in range(1)]
        for thread in threads:
            thread.start()
        def use():
            assert len(set(fleet.time)) == 1
            step()
            fleet.copy()
            policy.fleet(3).select()
        ended = [child(use) for _ in range(20)]
        stop = True
        for thread in threads:
            thread.join()
        assert ended == [0] * 20, ended
        """,
        path,
    )


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
    fleet._rows[:] = before.state
    fleet.checkpoint()
    del fleet
    assert loaded(path) == before


@pytest.mark.skipif(not Path("/proc/self/pagemap").exists(), reason="needs /proc")
def test_a_checkpoint_frees_the_memory_of_what_has_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "KEPT", rows.SMALL)
    fleet = POLICY.fleet(20_000, seed=2, file=path)
    size = fleet._rows.nbytes
    assert size > rows.SMALL

    def resident() -> int:
        """Bytes of the rows in memory, page by page: a mapping can be merged with its neighbour, which is not ours."""
        page = mmap.PAGESIZE
        first, stop = fleet._rows.ctypes.data // page, -(-(fleet._rows.ctypes.data + size) // page)
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
