"""Files: what is saved comes back, a crash leaves the old or the new, and damage is always noticed."""

import base64
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlmc
from attack.material import crafted_row, damage
from fleets import EXAMPLES, STEPS, fixed_rewards, killed_after, played
from hlmc import routines
from hlmc.engine import layout, structures
from hlmc.errors import BadArgument, BadFile, BadType, HLMCError, OutOfTurn
from hlmc.learners import gate
from hlmc.learners.arms import NamedLearner
from hlmc.learners.format import FIXED, KINDS, VERSION, Front, Layout, digest, sealed
from hlmc.learners.learner import Learner
from hlmc.learners.saving import create
from hlmc.policies.description import _understood_alone, described
from hlmc.simulation.file import read_experiment

POLICY = hlmc.HLMC(arms=100, memory=20, horizon=1000)


# Round trips.


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_a_learner_comes_back(policy: hlmc.Policy, path: Path) -> None:
    pay = fixed_rewards(3)
    learner = policy.start(seed=8)
    for t in range(min(STEPS, policy.limit or STEPS)):
        learner.save(path)
        again = hlmc.load(path)
        assert again == learner
        assert isinstance(again, Learner)
        assert again.policy == policy
        assert again.select() == learner.select()
        if t % 3 == 0:
            learner.save(path)
            again = hlmc.load(path)
            assert again == learner
        (reward,) = pay(1)
        for each in (learner, again):
            each.update(reward)
        assert again == learner


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_every_state_of_a_long_run_is_sound(policy: hlmc.Policy) -> None:
    """The check of loaded rows has no false alarms, at any time: ends of epochs, phases, stages and horizons too."""
    fleet = policy.fleet(20, seed=1)
    pay = fixed_rewards(1)
    for _ in range(min(policy.limit or 700, 700)):
        for act in (fleet.select, lambda: fleet.update(pay(20))):
            act()
            assert gate.first_unsound(policy, fleet.state) == 20
    if policy.limit is not None:
        assert (fleet.select() < 0).all()


def test_arguments_of_every_kind_come_back(path: Path) -> None:
    policies = [
        hlmc.HLMC(arms=10**9, levels=30, horizon=None, first_stage=3),
        hlmc.HLMC(arms=100, memory=20, horizon=10**6),
        hlmc.HLMC(arms=10, groups=(4, 3), epochs=(3, 50), horizon=100, switches="unknown"),
        hlmc.HLMC(arms=8, groups=(2, 2, 2), routines=("exp3s", routines.EXP3P(eta=0.1, beta=1e-3), "ucb1")),
        hlmc.HLMC(arms=8, levels=2, routines=routines.UCB1(ties="last"), horizon=100),
        hlmc.EXP3P(arms=3, horizon=10, delta=0.123456789012345678, gamma=1.0),
        hlmc.EXP3S(arms=3, horizon=None, alpha=5e-324),
    ]
    for policy in policies:
        policy.start().save(path)
        again = hlmc.load(path)
        assert again.policy == policy
        assert repr(again.policy) == repr(policy)


def test_a_learner_goes_on_in_another_process(path: Path) -> None:
    learners = [played(policy, 30, seed=9, waiting=True) for policy in EXAMPLES]
    for i, learner in enumerate(learners):
        learner.save(path.with_name(f"{i}"))
    script = (
        "import sys, hlmc\n"
        "for i in range(int(sys.argv[2])):\n"
        "    learner = hlmc.load(f'{sys.argv[1]}/{i}')\n"
        "    for t in range(18):\n"
        "        print(learner.select(), learner.probability.hex())\n"
        "        learner.update(t % 3 / 2)\n"
        "    learner.save(f'{sys.argv[1]}/{i}')\n"
    )
    command = [sys.executable, "-c", script, str(path.parent), str(len(learners))]
    lines = iter(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())
    for i, learner in enumerate(learners):
        for t in range(18):
            assert next(lines) == f"{learner.select()} {learner.probability.hex()}"
            learner.update(t % 3 / 2)
        assert hlmc.load(path.with_name(f"{i}")) == learner


def test_files_are_the_same_every_time_and_small(path: Path) -> None:
    learner = played(POLICY, 30)
    learner.save(path)
    data = path.read_bytes()
    learner.save(path)
    assert path.read_bytes() == data
    assert len(data) - learner.state.nbytes < 512


def test_the_layout_is_that_of_this_format() -> None:
    """Files hold rows as they are. If this fails, rows mean something else now: give the format a new version."""
    assert VERSION == 2
    header = [layout.KEY, layout.TIME, layout.ARM, layout.PROBABILITY, layout.BEGAN, layout.UNTIL]
    header += [layout.BASE, layout.COUNT, layout.RECORD]
    assert header == list(range(9))
    words = {each.name: [word.name for word in each.header] for each in structures.CATALOGUE if each is not None}
    assert words == {
        "tree": [],
        "block rotation": ["CARRIED"],
        "champion": ["DOUBT", "CHALLENGE", "CRISIS", "TURN", "USUAL", "SPREAD", "PLACE"],
        "coded champion": ["DOUBT", "CHALLENGE", "CRISIS", "TURN", "USUAL", "SPREAD", "PLACE"],
    }
    assert [each and each.header_words for each in structures.CATALOGUE] == [9, 10, 16, None, 16]
    assert [layout.CHILD, layout.CHANCE, layout.SUM, layout.SCALARS, layout.LEVEL_CONTROL] == [0, 1, 2, 3, 5]
    assert layout.FIELDS == 20
    window = [layout.UNANSWERED, layout.DUE, layout.REACHED, layout.CROWNED, layout.MOVED, layout.SECRET]
    assert window == list(range(6))
    assert [layout.INCARNATIONS, layout.BITS] == [7, 15]


# Files of format 1, whose rows with a window do not say who their learners are, nor how groups were reached.

OF_0_2 = (
    "k2hsbWMNChoBAAAAAQAAAAEAAAAAAAAAGwAAAAAAAAAGAAAAnAAAAAABAAAAAAAArZh3TrITXU5y+SYaJ6nJYAUAUJexl8HI6zCCpjchVfd7Im"
    "FyZ3VtZW50cyI6eyJhcm1zIjoxMCwiZHluYW1pYyI6dHJ1ZSwicGVuZGluZyI6NjR9LCJsZXZlbHMiOltbMTAsMSwxXV0sInBvbGljeSI6IlRz"
    "YWxsaXNJTkYifQB7ImNhcGFjaXR5IjoxMCwibmFtZXMiOltbImEiLDBdLFsiYiIsMV0sWyJjIiwyXV0sInNpbmNlIjpbXX0AAAAA1YwYNOS+gs"
    "pVOk+UEd1i/9tJq1h5fLmWAAAAAAAANUAAAAAAAADwv4QHtX4lFu0/AAAAAAAAAAAAAAAAAABAQwAAAAAAAAAAAAAAAAAACEAAAAAAAAA0QAAA"
    "AAAAAABAhAe1fiUW7T8AAAAAAAAkQPELiNpvECTAOZz7VpDu6z8AAAAAAADwPwAAAAAAAAAAAAAQAAAAAAAAAAAAAAAcQKrDF+ePU/k/XBVB4l"
    "aEHsAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
)


def test_a_learner_of_0_2_is_read(path: Path) -> None:
    """TsallisINF(arms=10, pending=64) with three named arms, 21 decisions asked for, all but the last told."""
    path.write_bytes(base64.b64decode(OF_0_2))
    learner = hlmc.load(path)
    assert isinstance(learner, NamedLearner)
    assert (list(learner.arms), learner.time, learner.pending) == (["a", "b", "c"], 21, 1)
    assert learner.tell(learner.ask(), 1.0) == "applied"
    learner.save(path)
    assert hlmc.load(path) == learner


@pytest.mark.parametrize("pending", [0, 70])
def test_a_fleet_of_format_1_is_read(path: Path, pending: int) -> None:
    """Mapped, it is written anew once, if its rows grow."""
    policy = hlmc.HLMC(arms=30, memory=12, horizon=100, pending=pending)
    fleet = policy.fleet(900, seed=1)
    if pending:
        fleet.tell(fleet.ask()[::2], [0.5] * 450)
    else:
        fleet.select()
        fleet.update([0.5] * 900)
    front, rows = Front.new(policy, "fleet", 900), fleet.state
    if pending:
        first = int(policy.program[layout.WINDOW])
        fleet._rows.array[:, first + layout.REACHED] = fleet._rows.array[:, first + layout.CROWNED] = 0.0
        rows = np.delete(rows, range(first + layout.REACHED, first + layout.BITS), axis=1)
    old = Layout.new("fleet", 900, rows.shape[1], len(front.description), version=1)
    create(path, Front(old, policy, front.description, np.zeros((old.blocks, 16), np.uint8)), [rows])
    before = path.read_bytes()
    assert hlmc.load(path, mapped=False) == fleet
    assert path.read_bytes() == before
    again = hlmc.load(path)
    assert isinstance(again, hlmc.Fleet)
    assert again == fleet
    assert (path.read_bytes() == before) == (not pending)
    again.ask([3, 500]) if pending else again.select([3])
    again.checkpoint()
    assert FIXED.unpack(path.read_bytes()[: FIXED.size])[1] == (2 if pending else 1)
    del again
    assert hlmc.load(path, mapped=False).time[500] == 1 + (pending > 0)


# Files that somebody else has saved.


@pytest.mark.parametrize("kind", ["learner", "named", "fleet"])
def test_what_somebody_else_has_saved_is_not_replaced(path: Path, kind: str) -> None:
    """Two processes load one file, and both save: the second is told."""
    policy = hlmc.EXP3(arms=3, horizon=100, dynamic=kind == "named")
    if kind == "fleet":
        policy.fleet(2).save(path)
    else:
        policy.start(arms=hlmc.Arms(3)).save(path) if kind == "named" else policy.start().save(path)

    def loaded(seed: int) -> hlmc.Learner | hlmc.Fleet:
        found = hlmc.load(path, mapped=False)
        found.reset(seed=seed)
        return found

    first, second = loaded(1), loaded(2)
    third = second.copy()
    first.save(path)
    first.save(path)
    kept = path.read_bytes()
    for each in (second, third) if kind != "fleet" else (second,):
        with pytest.raises(BadFile, match="has been saved by another learner or process since it was read"):
            each.save(path)
    assert path.read_bytes() == kept
    assert sorted(path.parent.iterdir()) == [path]
    second.save(path, force=True)
    assert path.read_bytes() != kept
    second.save(path)
    with pytest.raises(BadFile, match="force=True"):
        first.save(path)
    path.unlink()
    first.save(path)
    policy.start().save(path)  # it has never seen the file


# Routines of one's own.


def start(words: Any, n: int, parameters: Any) -> None:
    for j in range(n):
        words[j] = 0.0


def select(words: Any, n: int, parameters: Any, tau: int, u: float) -> int:
    return min(int(u * n), n - 1)


def chance(words: Any, n: int, parameters: Any, tau: int, slot: int) -> float:
    return 1.0 / n


def update(words: Any, n: int, parameters: Any, tau: int, slot: int, chance: float, reward: float) -> None:
    words[slot] += reward


def test_routines_of_ones_own_are_given_again(path: Path) -> None:
    own = routines.Custom("own", start, select, chance, update)
    policy = hlmc.HLMC(arms=9, levels=2, horizon=50, routines=("exp3", own))
    learner = played(policy, 20, waiting=True)
    learner.save(path)
    assert hlmc.load(path, routines={"own": own}) == learner
    needed = r"uses a routine of your own: give it with load\(path, routines=\{'own': \.\.\.\}\)"
    with pytest.raises(BadArgument, match=needed):
        hlmc.load(path)
    with pytest.raises(BadArgument, match=needed):
        hlmc.load(path, routines={"other": own})
    with pytest.raises(BadArgument, match=needed + ", not .*EXP3"):
        hlmc.load(path, routines={"own": routines.EXP3()})
    other = routines.Custom("other", start, select, chance, update)
    with pytest.raises(BadArgument, match=needed + ", not <routine other>"):
        hlmc.load(path, routines={"own": other})
    wider = routines.Custom("own", start, select, chance, update, words_per_child=2)
    with pytest.raises(BadFile, match=r"it has rows of 25 words, and those of HLMC.* have 28"):
        hlmc.load(path, routines={"own": wider})


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    learner = hlmc.UCB1(3).start(seed=0)
    with pytest.raises(FileNotFoundError, match=r"there is no such folder: '[^']*nowhere'$"):
        learner.save(tmp_path / "nowhere" / "learner.hlmc")


def test_only_policies_of_the_library_are_saved(path: Path) -> None:
    class Mine(hlmc.EXP3):
        pass

    with pytest.raises(BadType, match="only the policies of hlmc can be saved, not Mine"):
        Mine(arms=3, horizon=10).start().save(path)
    assert not path.exists()


# Crashes.


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_killed_while_saving_leaves_the_old_or_the_new(path: Path) -> None:
    policy = hlmc.EXP3(arms=5000, horizon=100)
    versions = [played(policy, 5, seed=seed) for seed in range(3)]
    versions[0].save(path)

    # Shared with the processes to be killed: how many times they have saved.
    saved = multiprocessing.get_context("fork").Value("q", 0, lock=False)

    def work() -> None:
        while True:
            versions[(saved.value + 1) % 3].save(path, force=True)  # others have saved meanwhile
            saved.value += 1

    moment = random.Random(7)
    for _ in range(100):
        least = saved.value + moment.choice((0, 0, 1))
        killed_after(moment.uniform(0.0, 0.01), work, lambda least=least: saved.value >= least)  # type: ignore[misc]
        found = versions.index(hlmc.load(path))
        assert found in (saved.value % 3, (saved.value + 1) % 3), "neither the last one saved nor the next"
        if found != saved.value % 3:
            saved.value += 1
    assert saved.value > 30


def test_a_failure_while_saving_leaves_the_old(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = played(POLICY, 3), played(POLICY, 4)
    old.save(path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        new.save(path)
    assert hlmc.load(path) == old
    assert list(path.parent.iterdir()) == [path]


def test_saving_through_a_link_keeps_the_link(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    learner = played(POLICY, 3)
    learner.save(link)
    assert link.is_symlink()
    assert hlmc.load(path) == learner


# Damage.


def test_what_is_not_there_is_not_found(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hlmc.load(path)
    with pytest.raises(FileNotFoundError):
        POLICY.start().save(path / "deeper")
    with pytest.raises(IsADirectoryError):
        hlmc.load(path.parent)


def test_files_that_are_no_files(path: Path) -> None:
    with pytest.raises(BadFile, match="not an ordinary file"):
        hlmc.load("/dev/null")
    os.mkfifo(path)
    with pytest.raises(BadFile, match="not an ordinary file"):
        hlmc.load(path)


@pytest.mark.parametrize("read", [hlmc.load_result, hlmc.games.load_result, hlmc.load], ids=["result", "game", "load"])
def test_results_that_are_no_files(read: Callable[[Path], object], path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(path)
    os.mkfifo(path)
    with pytest.raises(BadFile, match="it is not an ordinary file"):
        read(path)
    with pytest.raises(BadFile, match="it is not an ordinary file"):
        read(Path("/dev/zero"))


def test_texts_without_end_or_bottom(tmp_path: Path) -> None:
    """An experiment's file may be a pipe, but is read only so far; what is nested too deeply is no experiment."""
    with pytest.raises(BadFile, match="/dev/zero is longer than the 67108864 bytes"):
        read_experiment("/dev/zero")
    path = tmp_path / "deep.toml"
    path.write_text("x = " + "[" * 10**5)
    with pytest.raises(BadFile, match=r"deep\.toml is not valid TOML"):
        read_experiment(path)
    for part in ("a", "'a b'", '"a \\" b"'):
        path.write_text(" . ".join([part] * 50_000) + " = 1")
        with pytest.raises(BadFile, match="a key has more than 100 parts"):
            read_experiment(path)
    # Long, and not deep: whoever looks for depth must not look at everything again from every letter.
    for text in ("a" * 10**6, '\\"' * 10**6, "a." * 99 + "a" + " " * 10**6):
        path.write_text(f'x = "{text}"')
        with pytest.raises(BadArgument, match="there is no key 'x'"):
            read_experiment(path)
    (tmp_path / "_experiment.json").write_text("[" * 10**5)
    with pytest.raises(BadFile, match=r"_experiment\.json is not readable as JSON"):
        hlmc.simulate(hlmc.EXP3(4, 9), hlmc.adversaries.BlockTrap(4, 2), runs=1, store=tmp_path, progress=False)


def resealed(data: bytes) -> bytes:
    """A file whose checksums have been made to fit what it holds: not damaged but forged."""
    _, _, kind, rows, words, shift, described, _, _ = FIXED.unpack(data[: FIXED.size])
    at = Layout(KINDS[kind - 1], rows, words, shift, described)
    front = bytearray(data[: at.offset])
    for block in range(at.blocks):
        first, stop = at.span(block)
        place = at.table_at + 16 * block
        front[place : place + 16] = digest(data[at.place(first) : at.place(stop)])
    return sealed(front) + data[at.offset :]


def refused(path: Path, data: bytes, text: str) -> None:
    path.write_bytes(data)
    with pytest.raises(BadFile, match=text) as caught:
        hlmc.load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded: ")
    assert isinstance(caught.value, HLMCError)


def with_fields(data: bytes, **changes: int) -> bytes:
    names = ("magic", "version", "kind", "rows", "words", "shift", "described", "offset", "seal")
    fields = dict(zip(names, FIXED.unpack(data[: FIXED.size]), strict=True))
    return FIXED.pack(*{**fields, **changes}.values()) + data[FIXED.size :]


def test_what_is_wrong_is_said(path: Path) -> None:
    played(POLICY, 3).save(path)
    data = path.read_bytes()
    size = len(data)
    refused(path, b"", "it has 0 bytes, fewer than any file of hlmc")
    refused(path, data[:50], "it has 50 bytes, fewer than any file of hlmc")
    refused(path, b"PK" + data[2:], "it is not a file of hlmc")
    refused(path, data.replace(b"\r\n", b"\n"), "it is not a file of hlmc")
    refused(path, with_fields(data, version=3), "it is of format 3, and this version of hlmc reads formats up to 2")
    refused(path, data[:-1], f"it is cut short: {size - 1} bytes of {size}")
    refused(path, data + b"\0", f"it is too long: {size + 1} bytes instead of {size}")
    refused(path, data[:-1] + bytes([data[-1] ^ 1]), "its state is damaged")
    for at in (60, 100, 200):
        refused(path, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], "its header is damaged")
    for changes in (
        {"kind": 0},
        {"kind": 2},
        {"kind": 3},
        {"rows": 0},
        {"rows": 2},
        {"words": 0},
        {"shift": 63},
        {"described": 2**20 + 1},
        {"described": 2**32 - 1},
        {"offset": 0},
        {"offset": 2**63},
    ):
        refused(path, with_fields(data, **changes), "its header is damaged|it is cut short")
    # Absurd sizes are not tried out.
    for changes in ({"words": 2**40, "shift": 0}, {"words": 2**64 - 1, "shift": 0}):
        refused(path, with_fields(data, **changes), "it is cut short: .* bytes of ")


def test_rows_of_another_rule_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A description without a rule means the first: files of policies that never changed stay as they are."""
    assert b"rule" not in described(POLICY)
    for policy in (hlmc.Champion(arms=100, memory=20, horizon=1000), POLICY):
        learner = played(policy, 3)
        learner.save(path)
        assert hlmc.load(path) == learner
        now, other = policy.rule, policy.rule + 1
        monkeypatch.setattr(type(policy), "rule", other)
        _understood_alone.cache_clear()
        with pytest.raises(
            BadFile, match=f"it follows rule {now} of .*, and this version of hlmc has rule {other}: go on"
        ):
            hlmc.load(path)
        monkeypatch.undo()
    assert json.loads(described(hlmc.Champion(arms=100, memory=20)))["rule"] == hlmc.Champion.rule > 1


def test_forged_descriptions_are_refused(path: Path) -> None:
    """Checksums that fit do not help a description that makes no sense."""
    learner = played(POLICY, 3)
    learner.save(path)
    front = Front.new(POLICY, "learner", 1)

    def around(description: bytes, words: int = POLICY.words.total) -> bytes:
        at = Layout("learner", 1, words, front.layout.shift, len(description))
        forged = Front(at, POLICY, description, np.zeros((1, 16), np.uint8)).encoded()
        return resealed(forged + learner.state.tobytes())

    good = described(POLICY)
    path.write_bytes(around(good))
    assert hlmc.load(path) == learner
    unread = "its description of the policy cannot be read"
    nonsense = "its description of the policy makes no sense"
    for description, text in {
        b"": unread,
        b"{": unread,
        b"[]": unread,
        b"7": unread,
        b"null": unread,
        b"\xff\xfe": unread,
        b"[" * 100_000: unread,
        b"1" * 10_000: unread,
        b"{}": unread,
        good.replace(b'"HLMC"', b"[]"): unread,
        good.replace(b'"HLMC"', b'"os.system"'): "it is for a policy 'os.system', which this version",
        good.replace(b'"HLMC"', b'"Policy"'): "it is for a policy 'Policy', which this version",
        good.replace(b'"arms":100', b'"arms":"x"'): nonsense,
        good.replace(b'"arms":100', b'"arms":0'): nonsense,
        good.replace(b'"arms":100', b'"arms":1e999'): nonsense,
        good.replace(b'"arms":100', b'"arms":NaN'): nonsense,
        good.replace(b'"arms":100', b'"arms":{}'): nonsense,
        good.replace(b'"arms":100', b'"arms":{"routine":"exp3"}'): nonsense,
        good.replace(b'"arms":100', b'"arms":100,"routines":{"routine":"exp9"}'): nonsense,
        good.replace(b'"arms":100', b'"arms":100,"routines":{"routine":"exp3","gamma":[]}'): nonsense,
        good.replace(b'"arms":100', b'"arms":100,"routines":[["exp3"]]'): nonsense,
        good.replace(b'"arms":100', b'"arms":100,"__class__":1'): nonsense,
        good.replace(b'"arms":100', b'"arms":1000'): "in other ways for HLMC|makes no sense",
        good.replace(b'"memory":20', b'"memory":30'): "in other ways for HLMC",
        good.replace(b'"horizon":1000', b'"horizon":9000'): "in other ways for HLMC",
        b'{"arguments":{"arms":30},"levels":[],"policy":"CrownedHLMC"}': "'CrownedHLMC', which this version of hlmc",
        b'{"arguments":7,"levels":[],"policy":"HLMC"}': nonsense,
        b'{"arguments":[],"levels":[],"policy":"HLMC"}': nonsense,
        b'{"arguments":{},"levels":[],"policy":"HLMC"}': nonsense,
    }.items():
        refused(path, around(description), text)
    huge = described(hlmc.EXP3(arms=2**53, horizon=10))
    refused(path, around(huge), r"it has rows of 39 words, and those of EXP3.* have 9007199254741006")


def test_headers_that_ask_for_too_much_are_refused(path: Path) -> None:
    """A header is believed as far as it is what a writer makes, and no further than it reaches on the disk."""
    played(POLICY, 3).save(path)
    data = path.read_bytes()
    for shift in (0, 4, 6, 27, 28, 40, 62):
        refused(path, resealed(with_fields(data, shift=shift)), "its header is damaged")
    # A fleet of 10^8 learners in 4 KB: everything but the first page is a hole, and the seal fits.
    rows, words = 10**8, POLICY.words.total
    at = Layout.new("fleet", rows, words, len(described(POLICY)))
    POLICY.fleet(1).save(path)
    small = path.read_bytes()
    fixed = with_fields(small, rows=rows, offset=at.offset)[: FIXED.size]
    with path.open("wb") as file:
        file.write(fixed + described(POLICY))
        file.truncate(at.size)
    assert path.stat().st_blocks * 512 < 10**5
    tracemalloc.start()
    try:
        with pytest.raises(BadFile, match="its header is damaged: a part of it was never written"):
            hlmc.load(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("depth", [100, 900, 3000, 100_000])
def test_deep_descriptions_are_refused(path: Path, depth: int) -> None:
    learner = played(POLICY, 3)
    good, nested = described(POLICY), b"[" * depth + b"]" * depth
    for description in (
        good.replace(b'"arms":100', b'"arms":' + nested),
        good.replace(b'"levels":', b'"levels":' + nested + b',"others":'),
        good.replace(b'"HLMC"', nested),
    ):
        at = Layout.new("learner", 1, POLICY.words.total, len(description))
        front = Front(at, POLICY, description, np.zeros((1, 16), np.uint8)).encoded()
        refused(path, resealed(front + learner.state.tobytes()), "its description of the policy|in other ways")


def forgeries(learner: Learner, dice: random.Random) -> Iterator[bytes]:
    """Files with fitting checksums around rows that have been tampered with."""
    front = Front.new(learner.policy, "learner", 1).encoded()
    while True:
        yield resealed(front + crafted_row(dice, learner.state).tobytes())


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_forged_states_lead_nowhere(policy: hlmc.Policy, path: Path) -> None:
    """Whatever a row says, it is refused or played without leaving the row: then every arm is one of the policy's."""
    dice = random.Random(11)
    accepted = 0
    for steps, waiting in ((0, False), (0, True), (5, False), (20, True), (33, False)):
        source = forgeries(played(policy, steps, waiting=waiting), dice)
        for _ in range(40):
            path.write_bytes(next(source))
            try:
                learner = hlmc.load(path)
            except BadFile:
                continue
            accepted += 1
            for reward in (0.0, 1.0, 0.5, 0.25, 1.0, 0.0):
                try:
                    arm = learner.select()
                except OutOfTurn:
                    break
                assert 0 <= arm < policy.arms
                learner.update(reward)
    assert accepted < 150


DAMAGED = 20_000


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """20,000 of them: each is refused, or holds all that it held before."""
    path = tmp_path / "file"
    originals: list[Any] = [
        played(POLICY, 40),
        played(hlmc.UCBM(arms=10, memory=3), 40, waiting=True),
        hlmc.EXP3(arms=3, horizon=50).fleet(4, seed=1),
        hlmc.HLMC(arms=30, levels=3, horizon=10**6).fleet(150, seed=1),
    ]
    good = []
    for original in originals:
        original.save(path)
        good.append(path.read_bytes())
    dice = random.Random(13)
    unharmed = 0
    with path.open("r+b", buffering=0) as file:
        for _ in range(DAMAGED):
            which = dice.randrange(len(good))
            data = good[which]
            while data in good:  # the whole of another is not damaged
                data = damage(good[which], dice, good)
            file.seek(0)
            file.write(data)
            file.truncate()
            try:
                again = hlmc.load(path)
            except BadFile:
                continue
            # Only behind the rows of a fleet may there be something, which an unfinished checkpoint would have left.
            unharmed += 1
            assert again == originals[which]
            assert data.startswith(good[which])
            del again
    assert unharmed < DAMAGED // 100


@pytest.mark.parametrize("call", [hlmc.load, lambda p: POLICY.start().save(p)], ids=["load", "save"])
def test_a_path_is_a_path(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        call(None)
