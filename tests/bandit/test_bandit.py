"""Bandits in a database: one suite for every kind of store."""

from __future__ import annotations

import asyncio
import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hlmc
from bandits import NAMES, POLICY, Opener
from hlmc.bandit.rows import stored_policy
from hlmc.errors import BadArgument, BadReward, BadStore, BadType, ConflictingKey, OutOfTurn

# --- Decisions and rewards


def test_a_reward_counts_once(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decision = bandit.ask("user-17")
    assert decision.arm in NAMES
    assert decision.unit == "user-17"
    assert 0.0 < decision.propensity <= 1.0
    assert len(decision.id) == 32
    assert bandit.tell(decision.id, 1.0) == "applied"
    assert bandit.tell(decision.id, 1.0) == "duplicate"
    assert bandit.drop(decision.id) == "duplicate"


def test_the_rows_are_those_of_learners_that_are_told_at_once(opened: Opener) -> None:
    """What the database keeps and what a learner in memory keeps are the same, word by word."""
    bandit = opened(POLICY, arms=NAMES, seed=1)
    for step in range(200):
        decision = bandit.ask("u")
        bandit.tell(decision.id, float(decision.arm == "arm 4") * (step % 3) / 2)
    experiment = bandit._experiment
    own = hlmc.Learner(stored_policy(POLICY), experiment.rows.fresh(["u"], 9)[0])
    for step in range(200):
        ticket = own.ask()
        own.tell(ticket, float(ticket.arm == 4) * (step % 3) / 2)
    (state,) = experiment.store.all("select state from learners")[0]
    assert experiment.rows.packed(own.state[None, :].copy()) != []
    mine = experiment.rows.unpacked([state])[0]
    theirs = own.state.copy()
    left = experiment.rows._left_out
    theirs[left] = 0.0
    assert mine.tobytes() == theirs.tobytes()


def test_units_are_their_text(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask(17), bandit.ask("17"), bandit.ask(b"17"), bandit.ask(np.int64(17))
    assert bandit.report().units == 1
    for bad in ("", "a\nb", "\ud800", "x" * 1001, 1.5, b"\xff", True):
        with pytest.raises(BadArgument, match="unit"):
            bandit.ask(bad)


def test_without_a_unit_all_share_one_learner(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    assert bandit.ask().unit is None
    assert [each.unit for each in bandit.ask([None, "u", None])] == [None, "u", None]
    assert bandit.report().units == 2


def test_a_batch_has_one_answer_per_item(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    first, second, third = bandit.ask(["u", "v", "u"])
    assert len({first.id, second.id, third.id}) == 3
    answers = bandit.tell([third.id, "nonsense", first.id, third.id], [1.0, 1.0, 0.5, 1.0])
    assert answers == ["applied", "unknown", "applied", "duplicate"]
    assert bandit.drop([second.id, first.id]) == ["applied", "duplicate"]
    assert bandit.ask([]) == []
    assert bandit.tell([], []) == []
    with pytest.raises(BadArgument, match="one for each decision"):
        bandit.tell([first.id], [1.0, 0.0])


def test_an_unknown_id_is_an_error(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    with pytest.raises(hlmc.UnknownDecision, match="'nonsense' is not the id"):
        bandit.tell("nonsense", 1.0)
    for never in ("\ud800", "a\0b", "\u00e9", ""):
        with pytest.raises(hlmc.UnknownDecision):
            bandit.drop(never)
    assert bandit.tell(["\ud800"], [1.0]) == ["unknown"]
    other = opened(POLICY, arms=NAMES, name="other")
    with pytest.raises(hlmc.UnknownDecision):
        other.tell(bandit.ask().id, 1.0)


def test_bad_rewards_change_nothing(opened: Opener) -> None:
    bandit = opened(replace(POLICY, rewards=(0.0, 10.0)), arms=NAMES, seed=1)
    decision = bandit.ask()
    for bad in (11.0, -0.1, float("nan"), float("inf")):
        with pytest.raises(BadReward, match=r"\[0, 10\]"):
            bandit.tell(decision.id, bad)
    with pytest.raises(TypeError):
        bandit.tell(decision.id, "1")
    with pytest.raises(TypeError):
        bandit.tell(17, 1.0)
    assert bandit.tell(decision.id, 10) == "applied"


def test_a_key_makes_asking_safe_to_repeat(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    first = bandit.ask("u", key="request-7")
    assert bandit.ask("u", key="request-7") == first
    with pytest.raises(ConflictingKey, match="'request-7' was used with another unit or request"):
        bandit.ask("v", key="request-7")
    again = opened()
    assert again.ask("u", key="request-7") == first
    one, two, three = bandit.ask(["u", "u", "u"], key=["a", "a", None])
    assert one == two != three
    assert bandit.report().decisions == 3


def test_equal_seeds_give_equal_decisions(tmp_path: Path) -> None:
    played = []
    for name in ("one.db", "two.db"):
        with hlmc.open(tmp_path / name, POLICY, arms=NAMES, seed=7, control=0.2) as bandit:
            decisions = [bandit.ask(f"u{i % 3}") for i in range(60)]
        played.append([(each.arm, each.control, each.propensity) for each in decisions])
    assert played[0] == played[1]
    assert len({control for _, control, _ in played[0]}) == 2


# --- Opening


def test_an_experiment_goes_on(opened: Opener) -> None:
    first = opened(POLICY, arms=NAMES, seed=1)
    decision = first.ask("u")
    first.close()
    with pytest.raises(OutOfTurn, match="closed"):
        first.ask("u")
    again = opened()
    assert again.policy == POLICY
    assert again.tell(decision.id, 1.0) == "applied"
    assert list(opened(POLICY, arms=NAMES).arms) == NAMES


def test_what_differs_is_refused(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES[:5], wait=60, default=0)
    with pytest.raises(BadArgument, match=r"policy of experiment 'default' is HLMC\(arms=9.*not UCB1"):
        opened(hlmc.UCB1(arms=9))
    with pytest.raises(BadArgument, match=r"does not have .*'arm 5'"):
        opened(arms=NAMES[:6])
    with pytest.raises(BadArgument, match=r"also has .*'arm 4'"):
        opened(arms=NAMES[:4])
    with pytest.raises(BadArgument, match=r"wait of experiment 'default' is 60.0 and not 30.0"):
        opened(wait=30)
    with pytest.raises(BadArgument, match="seed"):
        opened(seed=1)
    with pytest.raises(BadArgument, match="policy is needed"):
        opened(name="elsewhere")
    bandit.arms.add("arm 5")
    assert list(opened(arms=NAMES[:6]).arms) == NAMES[:6]


def test_a_store_that_is_not_there_is_not_made_without_a_policy(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="policy is needed: there is no store"):
        hlmc.open(tmp_path / "shop.db")
    assert list(tmp_path.iterdir()) == []


def test_wrong_arguments_are_told(opened: Opener) -> None:
    with pytest.raises(BadArgument, match="wait needs default"):
        opened(POLICY, wait=60)
    with pytest.raises(BadArgument, match=r"default must be a number in \[0, 1\]"):
        opened(POLICY, wait=60, default=2)
    with pytest.raises(BadArgument, match='such as "90 days"'):
        opened(POLICY, keep="a while")
    with pytest.raises(BadArgument, match=r"control must be a number in \[0, 1\)"):
        opened(POLICY, control=1)
    with pytest.raises(BadArgument, match="there is room for 9 arms"):
        opened(POLICY, arms=[*NAMES, "one more"])
    with pytest.raises(BadArgument, match="'a' comes twice"):
        opened(POLICY, arms=["a", "b", "a"])
    with pytest.raises(TypeError, match="policy must be"):
        opened("UCB1")


@pytest.mark.parametrize(
    "call",
    [
        lambda bandit: bandit.tell(3, 1.0),
        lambda bandit: bandit.tell({1: 2}, 1.0),
        lambda bandit: bandit.tell(["x"], 1.0),
        lambda bandit: bandit.drop(object),
        lambda bandit: bandit.drop(np.int64(-1)),
        lambda bandit: bandit.ask(np.array(0.5)),
        lambda bandit: bandit.ask(np.zeros((2, 1))),
        lambda bandit: bandit.ask(["u"], key=3),
        lambda bandit: bandit.ask(10**5000),
        lambda bandit: bandit.forget(np.array(["a", "b"])),
        lambda bandit: bandit.arms.remove(np.array([1])),
        lambda bandit: bandit.configure(delay=np.array([1, 2])),
        lambda bandit: bandit.configure(delay=np.ma.masked),
    ],
)
def test_what_is_none_of_what_is_wanted_is_one_line(opened: Opener, call: Callable[[hlmc.Bandit], object]) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    with pytest.raises((BadArgument, BadType)) as caught:
        call(bandit)
    assert "\n" not in str(caught.value)
    assert bandit.report().decisions == 0
    assert object() not in bandit.arms
    assert "\ud800" not in bandit.arms
    assert bandit.check() == []


def test_readonly_looks_and_does_not_touch(opened: Opener) -> None:
    with pytest.raises((BadArgument, BadStore)):
        opened(POLICY, readonly=True)
    bandit = opened(POLICY, arms=NAMES)
    decision = bandit.ask("u")
    looking = opened(readonly=True)
    assert looking.report().decisions == 1
    assert list(looking.arms) == NAMES
    for change in (lambda: looking.ask(), lambda: looking.tell(decision.id, 1.0), lambda: looking.arms.remove("arm 1")):
        with pytest.raises(OutOfTurn, match="readonly"):
            change()


def test_a_policy_whose_arms_stay_has_all_of_them(opened: Opener) -> None:
    policy = hlmc.EXP3M(arms=6, memory=3)
    with pytest.raises(BadArgument, match="arms must be 6 names"):
        opened(policy, arms=["a"])
    bandit = opened(policy)
    assert list(bandit.arms) == list("012345")
    assert bandit.ask("u").arm in "012345"
    with pytest.raises(BadArgument, match="cannot come and go"):
        bandit.arms.remove("1")


# --- Arms


def test_arms_come_and_go_for_all_units(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES[:2], seed=1)
    decisions = bandit.ask(["u", "v"] * 10)
    bandit.arms.add("new")
    with pytest.raises(BadArgument, match="'new' is the name of an arm"):
        bandit.arms.add("more", "new")
    seen = {each.arm for _ in range(20) for each in bandit.ask(["u", "v"])}
    assert seen == {*NAMES[:2], "new"}
    bandit.arms.remove("arm 0")
    assert {each.arm for each in bandit.ask(["u", "v", "w"] * 20)} == {"arm 1", "new"}
    answers = bandit.tell([each.id for each in decisions], [1.0] * 20)
    for decision, answer in zip(decisions, answers, strict=True):
        assert (answer == "expired") == (decision.arm == "arm 0"), decision
    bandit.arms.rename("arm 1", "renamed")
    bandit.arms.pause("new")
    assert {bandit.ask("u").arm for _ in range(5)} == {"renamed"}
    assert (list(bandit.arms), bandit.arms.paused, len(bandit.arms)) == (["renamed", "new"], ("new",), 2)
    bandit.arms.pause("renamed")
    with pytest.raises(OutOfTurn, match="no arm to play"):
        bandit.ask("u")
    bandit.arms.resume("new")
    assert bandit.ask("u").arm == "new"
    with pytest.raises(BadArgument, match="not paused"):
        bandit.arms.resume("new")
    with pytest.raises(BadArgument, match="no arm of the name 'arm 0'"):
        bandit.arms.forget("arm 0")


def test_another_process_sees_changed_arms_at_once(opened: Opener) -> None:
    one, two = opened(POLICY, arms=NAMES[:1]), opened()
    assert two.ask("u").arm == "arm 0"
    one.arms.add("b")
    one.arms.remove("arm 0")
    assert two.ask("u").arm == "b"


def test_rows_that_catch_up_are_rows_that_followed(opened: Opener) -> None:
    """A row that has not been read during ten changes ends as one that was read after each."""
    bandit = opened(POLICY, arms=NAMES[:4], seed=3)
    rows = bandit._experiment.rows
    for i in range(30):
        bandit.tell(bandit.ask("idle").id, i % 2)
    own = hlmc.Arms(9)
    own.add(*NAMES[:4])
    learner = rows.policy.start(seed=0, arms=own)
    learner._row[:] = rows.fresh(["idle"], 4)[0]
    for i in range(30):
        learner.tell(learner.ask(), i % 2)
    for change in ("add", "remove", "pause", "resume", "forget"):
        name = "new" if change == "add" else "arm 1" if change == "remove" else "arm 2"
        getattr(bandit.arms, change)(name)
        getattr(own, change)(name)
    assert bandit.ask("idle").arm == learner.ask().arm
    (state,) = bandit._experiment.store.all("select state from learners")[0]
    theirs = learner.state.copy()
    theirs[rows._left_out] = 0.0
    assert rows.unpacked([state])[0].tobytes() == theirs.tobytes()


# --- Many at a time


def test_threads_and_tasks_share_transactions(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    told: list[str] = []

    def play() -> None:
        for _ in range(20):
            told.append(bandit.tell(bandit.ask().id, 1.0))

    threads = [threading.Thread(target=play) for _ in range(8)]
    for thread in threads:
        thread.start()

    async def task() -> None:
        for _ in range(20):
            decision = await bandit.ask_async("task")
            told.append(await bandit.tell_async(decision.id, 1.0))

    async def tasks() -> None:
        await asyncio.gather(*(task() for _ in range(8)))

    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    assert len(told) == 320
    assert set(told) <= {"applied", "late", "expired"}
    report = bandit.report()
    assert (report.decisions, report.learned.told, report.learned.pending) == (320, 320, 0)


def test_what_is_wrong_with_one_fails_no_other(opened: Opener) -> None:
    """A damaged row is told to the one who asks for its unit, not to those who share the transaction."""
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask(["good", "bad"])
    with bandit._experiment.store.transaction():
        bandit._experiment.store.all("update learners set state = ? where unit = 'bad'", b"\xff" * 8)
    answers: dict[str, object] = {}

    async def ask(unit: str) -> None:
        try:
            answers[unit] = (await bandit.ask_async(unit)).unit
        except BadStore as error:
            answers[unit] = str(error)

    async def both() -> None:
        await asyncio.gather(ask("good"), ask("bad"), ask("new"))

    asyncio.run(both())
    assert (answers["good"], answers["new"]) == ("good", "new")
    assert "damaged: the row of unit 'bad'" in str(answers["bad"])


PLAY = """
import sys, hlmc
with hlmc.open(sys.argv[1]) as bandit:
    for _ in range(30):
        bandit.tell(bandit.ask().id, 1.0)
"""


def test_processes_share_a_store(opened: Opener, address: str) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask()
    others = [subprocess.Popen([sys.executable, "-c", PLAY, address]) for _ in range(2)]
    for _ in range(30):
        bandit.tell(bandit.ask().id, 1.0)
    assert [other.wait() for other in others] == [0, 0]
    assert bandit.report().decisions == 91


def test_a_fork_uses_a_connection_of_its_own(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask("parent")
    child = multiprocessing.get_context("fork").Process(target=lambda: bandit.tell(bandit.ask("child").id, 1.0))
    child.start()
    bandit.ask("parent")
    child.join()
    assert child.exitcode == 0
    bandit.ask("parent")
    assert (bandit.report().decisions, bandit.report().units) == (4, 2)


def test_a_forgotten_unit_starts_afresh(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decision = bandit.ask("u")
    assert bandit.forget("u")
    assert not bandit.forget("u")
    assert bandit.tell(decision.id, 1.0) == "expired"
    bandit.ask("u")
    assert (bandit.report().units, bandit.report().decisions) == (1, 2)


def test_the_decisions_of_a_forgotten_unit_are_of_no_other(opened: Opener) -> None:
    """A database may give the number of a row that has gone to the next one."""
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decision = bandit.ask("u")
    bandit.forget("u")
    bandit.ask("v")
    assert bandit.tell(decision.id, 1.0) == "expired"
    assert bandit.check() == []


def test_a_million_names_are_compared_by_their_digest(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is as it was made is neither read nor checked name by name; a name is counted by two lookups."""
    names = [f"arm {i}" for i in range(3000)]
    bandit = opened(hlmc.TsallisINF(arms=4000), arms=names, seed=1)
    monkeypatch.setattr("hlmc.bandit.opening.text_of", lambda what, value: value if what == "name" else 1 / 0)
    again = opened(arms=names)
    assert len(again.arms) == 3000
    bandit.arms.pause("arm 7")
    assert len(again.arms) == 3000
    again.arms.rename("arm 8", "renamed")
    with pytest.raises(ZeroDivisionError):
        opened(arms=names)
    monkeypatch.undo()
    with pytest.raises(BadArgument, match=r"does not have .*'arm 8'.* also has .*'renamed'"):
        opened(arms=names)
