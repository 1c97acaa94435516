"""Arms with names: the table, tickets of arms that are gone, files, and refusals."""

import decimal
import json
import math
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hlmc
from driving import named
from hlmc.engine.layout import ARMS, AT, FIELDS, IDLE
from hlmc.errors import BadArgument, BadFile, BadType, HLMCError, OutOfTurn
from hlmc.learners import gate
from hlmc.learners.arms import NamedLearner
from hlmc.learners.format import FIXED, NAMES, sealed
from interrupting import interrupted, matching

T = 2000

# --- The table


def test_the_table_maps_names_to_slots_and_keeps_them_dense() -> None:
    arms = hlmc.Arms(5)
    arms.add("a", "b", 3, "d")
    assert (list(arms), len(arms), "b" in arms, 3 in arms, "3" in arms, 3.0 in arms, [] in arms) == (
        ["a", "b", 3, "d"],
        4,
        True,
        True,
        False,
        False,
        False,
    )
    arms.remove("b")
    assert arms._names == ["a", "d", 3]
    arms.pause("a")
    assert (arms._names, arms.paused, len(arms)) == ([3, "d"], ("a",), 3)
    arms.rename("a", "z")
    arms.rename(3, 4)
    arms.rename(4, 4)
    assert list(arms) == ["z", 4, "d"]
    arms.resume("z")
    assert (arms._names, arms.paused) == ([4, "d", "z"], ())
    arms.forget("z")
    assert [x in arms for x in (4, np.int64(4), 4.0, 4 + 0j, decimal.Decimal(4), "4")] == [True] * 2 + [False] * 4
    arms.add(1)
    assert [x in arms for x in (1, np.uint8(1), True, np.True_)] == [True] * 2 + [False] * 2
    arms.remove(np.int64(1))
    assert repr(arms) == "<arms: 3 of 5, none paused>"
    assert arms.copy() == arms == pickle.loads(pickle.dumps(arms)) != hlmc.Arms(5)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: a.add("x", "x"), BadArgument, "names must differ .*'x'"),
        (lambda a: a.add("new", "a"), BadArgument, "names must differ .*'a'"),
        (lambda a: a.add(*range(4)), BadArgument, "there is room for 5 arms, not for 6"),
        (lambda a: a.add(1.5), BadType, "a name must be a string or a whole number, not 1.5"),
        (lambda a: a.add(True), BadType, "a name must be"),
        (lambda a: a.add("x" * 1001), BadArgument, "at most 1000 characters, not 1001"),
        (lambda a: a.add(2**63), BadArgument, "below 2\\^63"),
        (lambda a: a.add(-(2**63) - 1), BadArgument, "below 2\\^63"),
        (lambda a: a.remove("zz"), BadArgument, "there is no arm of the name 'zz'"),
        (lambda a: a.remove(["a"]), BadArgument, "there is no arm of the name"),
        (lambda a: a.pause("b"), BadArgument, "'b' is paused already"),
        (lambda a: a.resume("a"), BadArgument, "'a' is not paused"),
        (lambda a: a.rename("a", "b"), BadArgument, "'b' is the name of another arm"),
        (lambda a: a.rename("a", None), BadType, "a name must be"),
        (lambda a: hlmc.Arms(0), BadArgument, "capacity must be"),
    ],
)
def test_what_a_table_refuses_changes_nothing(call: object, error: type[Exception], text: str) -> None:
    arms = hlmc.Arms(5)
    arms.add("a", "b")
    arms.pause("b")
    before = arms.copy()
    with pytest.raises(error, match=text) as found:
        call(arms)  # type: ignore[operator]
    assert "\n" not in str(found.value)
    assert arms == before


@pytest.mark.interpreted
def test_the_arms_cannot_change_between_select_and_update() -> None:
    learner = named(hlmc.EXP3(arms=5, horizon=100), 3)
    learner.select()
    before = learner.copy()
    for call in (lambda a: a.add(7), lambda a: a.remove(0), lambda a: a.pause(0), lambda a: a.forget(0)):
        with pytest.raises(OutOfTurn, match="call update\\(\\) first"):
            call(learner.arms)
    assert learner == before
    learner.arms.rename(0, "zero")
    learner.update(1.0)
    learner.arms.add(7)


def test_a_table_belongs_to_one_learner_and_fits_its_policy() -> None:
    learner = named(hlmc.EXP3(arms=5, horizon=100), 3)
    with pytest.raises(BadArgument, match="a table that no other learner has"):
        learner.policy.start(arms=learner.arms)
    with pytest.raises(BadArgument, match="room for the 5 arms of"):
        learner.policy.start(arms=hlmc.Arms(6))
    with pytest.raises(BadType, match="arms must be a table of names"):
        learner.policy.start(arms=["a"])  # type: ignore[arg-type]
    few = hlmc.Arms(5)
    few.add(1, 2)
    with pytest.raises(BadArgument, match="row must have as many arms as the table, 2, and it has 3"):
        NamedLearner(learner.policy, learner.state, few)
    other = learner.copy()
    other.arms.remove(0)
    assert 0 in learner.arms
    assert learner != other


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: hlmc.UCBM(9, 4, dynamic=True), "dynamic must be False for UCBM: its arms cannot come and go"),
        (lambda: hlmc.EXP3M(9, 4, dynamic=True), "dynamic must be False for EXP3M"),
        (lambda: hlmc.EXP3(600, 100, dynamic=True), "600 children at a level: at most 512 children .* of exp3 "),
        (lambda: hlmc.UCB1(9, dynamic=1), "dynamic must be True or False, not 1"),
    ],
)
def test_where_arms_cannot_come_and_go_one_line_says_so(make: object, text: str) -> None:
    with pytest.raises((HLMCError, BadType), match=text):
        make()  # type: ignore[operator]


# --- Tickets


@pytest.mark.interpreted
def test_a_ticket_of_an_arm_that_is_gone_is_expired_and_teaches_nothing() -> None:
    learner = named(hlmc.TsallisINF(arms=5, pending=64), 3, seed=3)
    tickets: dict[object, hlmc.Ticket] = {}
    while len(tickets) < 3:
        ticket = learner.ask()
        tickets.setdefault(ticket.arm, ticket)
    learner.arms.remove(0)  # arm 2 moves into slot 0
    before = learner.state.copy()
    assert learner.tell(tickets[0], 1.0) == "expired"
    assert learner.tell(hlmc.Ticket.from_bytes(bytes(tickets[2])), 1.0) == "expired"
    at = int(learner.policy.program[FIELDS + AT])
    assert learner.state[at:].tolist() == before[at:].tolist()
    assert learner.tell(tickets[1], 1.0) == "applied"
    assert [learner.tell(each, 1.0) for each in tickets.values()] == ["duplicate"] * 3
    learner.arms.add(0)
    ticket = learner.ask()
    assert learner.tell(ticket, 1.0) == "applied"
    with pytest.raises(hlmc.BadTicket):
        learner.tell(hlmc.Ticket.from_bytes(bytes(len(bytes(ticket)))), 1.0)
    assert repr(ticket) == f"<ticket for {ticket.arm!r} at time {ticket.time}>"
    assert ticket == hlmc.Ticket.from_str(str(ticket))
    # The name is not stored: what is read is a plain ticket, whoever reads it.
    for read in (type(ticket).from_str(str(ticket)), type(ticket).from_bytes(bytes(ticket))):
        assert type(read) is hlmc.Ticket
        assert read.arm == ticket.slot


def test_a_ticket_told_as_a_string_is_held_against_the_table_too() -> None:
    """While arms come and go, each ticket is told to two learners that are alike: as it is, and as it was stored."""
    dice = random.Random(1)
    learner = named(hlmc.TsallisINF(arms=9, pending=512), 6, seed=3)
    one, two = learner.copy(identity=1), learner.copy(identity=1)
    tickets, codes, newcomers = [], [], iter(range(100, 10**6))
    for t in range(1500):
        tickets.append(one.ask())
        assert two.ask() == tickets[-1]
        if t % 5 == 0:
            gone, new = dice.choice(list(one.arms)), next(newcomers)
            for each in (one, two):
                each.arms.remove(gone)
                each.arms.add(new)
        ticket = tickets.pop(dice.randrange(len(tickets))) if t % 3 else tickets[-1]
        stored = hlmc.Ticket.from_str(str(ticket)) if t % 2 else hlmc.Ticket.from_bytes(bytes(ticket))
        codes.append(one.tell(ticket, 1.0))
        assert two.tell(stored, 1.0) == codes[-1]
        assert one == two
        if codes[-1] == "applied":
            assert ticket.arm in one.arms
    assert {"applied", "expired"} <= set(codes)


@pytest.mark.parametrize(
    "change",
    [
        lambda learner: learner.arms.add("tea", "coffee"),
        lambda learner: learner.arms.remove(1),
        lambda learner: learner.arms.remove(4),
        lambda learner: learner.arms.pause(0),
        lambda learner: learner.arms.resume(3),
        lambda learner: learner.arms.rename(2, "two"),
        lambda learner: learner.arms.forget(2),
        lambda learner: learner.reset(7),
    ],
    ids=["add", "remove", "remove the last", "pause", "resume", "rename", "forget", "reset"],
)
def test_a_signal_finds_table_and_row_changed_together_or_not_at_all(change: Callable[[NamedLearner], None]) -> None:
    """At every instruction of Python in turn."""
    learner = named(hlmc.TsallisINF(arms=9, pending=64), 5, seed=3)
    for t in range(30):
        learner.tell(learner.ask(), t % 2)
    learner.arms.pause(3)
    changed = learner.copy()
    change(changed)
    assert changed != learner
    ends, at = [], 1
    while True:
        other = learner.copy()
        if not interrupted(lambda other=other: change(other), at):  # type: ignore[misc]
            break
        ends.append(other == changed)
        assert ends[-1] or other == learner
        assert matching(other)
        at += 1
    assert other == changed
    assert ends == sorted(ends)
    assert len(ends) > 20
    assert set(ends) == {False, True}


def test_a_file_is_not_replaced_by_one_that_could_not_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "learner"
    learner = named(hlmc.EXP3(arms=9, horizon=T), 5)
    learner.save(path)
    good = path.read_bytes()
    learner.arms._names.pop()  # as no call does
    with pytest.raises(HLMCError, match=r"could not be loaded \(5 arms in the row and 4 in the table\): not saved"):
        learner.save(path)
    for torn in (hlmc.EXP3(arms=9, horizon=T).start(), named(hlmc.EXP3(arms=9, horizon=T), 5)):
        torn._row[2] = 1e9
        with pytest.raises(HLMCError, match="could not be loaded"):
            torn.save(path)
    assert path.read_bytes() == good


# --- Files


def test_names_are_saved_with_the_learner(tmp_path: Path) -> None:
    learner = named(hlmc.Champion(arms=30, memory=12, horizon=T, pending=32), 7, seed=5)
    learner.arms.add("tea", "ünïcödé \ud800", -5)
    for t in range(60):
        learner.tell(learner.ask(), t % 2)
    learner.arms.remove(3)
    learner.arms.pause("tea")
    late = learner.ask()
    learner.save(tmp_path / "learner")
    again = hlmc.load(tmp_path / "learner")
    assert isinstance(again, NamedLearner)
    assert again == learner
    assert (list(again.arms), again.arms.paused) == (list(learner.arms), learner.arms.paused)
    assert again.tell(late, 1.0) == learner.tell(late, 1.0)
    again.arms.resume("tea")
    learner.arms.resume("tea")
    assert [again.ask().arm for _ in range(50)] == [learner.ask().arm for _ in range(50)]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.update(capacity=31),
        lambda table: table["names"].append(["more", 3]),
        lambda table: table["names"].append(["more", -2]),
        lambda table: table["names"].append([1.5, 3]),
        lambda table: table["names"].append(["tea", -1]),
        lambda table: table["names"].append(["x" * 1001, -1]),
        lambda table: table["names"].append([True, -1]),
        lambda table: table["names"].pop(),
        lambda table: table["names"][0].__setitem__(1, 1),
        lambda table: table["names"][0].__setitem__(1, 0.0),
        lambda table: table["names"].extend([i, -1] for i in range(100, 130)),
        lambda table: table["since"].append([40, 1]),
        lambda table: table["since"].append([1, 10**6]),
        lambda table: table["since"].append([1, -1]),
        lambda table: table.pop("since"),
        lambda table: table.update(names=3),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(tmp_path: Path, change: object) -> None:
    learner = named(hlmc.EXP3(arms=30, horizon=T), 2)
    learner.arms.add("tea")
    learner.save(tmp_path / "learner")
    data = (tmp_path / "learner").read_bytes()
    fixed = list(FIXED.unpack(data[: FIXED.size]))
    own, _, names = data[FIXED.size : FIXED.size + fixed[6]].partition(NAMES)
    table = json.loads(names)
    change(table)  # type: ignore[operator]
    description = own + NAMES + json.dumps(table, separators=(",", ":")).encode()
    block = -(-(FIXED.size + fixed[6]) // 16) * 16
    checksum = data[block : block + 16]
    front = (bytes(FIXED.size) + description).ljust(-(-(FIXED.size + len(description)) // 16) * 16, b"\0") + checksum
    offset = -(-len(front) // 64) * 64
    fixed[6], rows, fixed[7] = len(description), data[fixed[7] :], offset
    front = FIXED.pack(*fixed) + front.ljust(offset, b"\0")[FIXED.size :]
    (tmp_path / "other").write_bytes(sealed(front) + rows)
    with pytest.raises(BadFile, match="its table of arms makes no sense"):
        hlmc.load(tmp_path / "other")


def test_the_number_of_arms_is_one_word_of_control() -> None:
    policy = hlmc.HLMC(arms=100, memory=20, horizon=T)
    dynamic = replace(policy, dynamic=True)
    assert dynamic.words == hlmc.Words(policy.words.statistics, policy.words.control + 1)
    assert repr(dynamic) == "HLMC(arms=100, memory=20, horizon=2000, dynamic=True)"
    assert policy.program[IDLE] == 0.0
    row = dynamic.start().state.copy()
    for idle, good in ((0.0, True), (99.0, True), (100.0, False), (-1.0, False), (0.5, False), (math.nan, False)):
        row[int(dynamic.program[IDLE])] = idle
        assert (gate.first_unsound(dynamic, row[None, :].copy()) == 1) is good
    assert dynamic.program[ARMS] == 100
