"""Bandits over time: waiting, defaults, roll-ups, retention, the control group, check, backup and export."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import hlmc
from bandits import NAMES, POLICY, Clock, Opener
from hlmc.cli import main
from hlmc.errors import BadArgument, BadStore


def scan(bandit: hlmc.Bandit, sql: str) -> list[tuple]:
    with bandit._experiment.store.reading():
        return bandit._experiment.store.all(sql)


def change(bandit: hlmc.Bandit, sql: str, *values: object) -> None:
    with bandit._experiment.store.transaction():
        bandit._experiment.store.all(sql, *values)


def played(bandit: hlmc.Bandit, rounds: int = 30) -> list[hlmc.Decision]:
    """Some traffic: rewards at once, late, never, dropped, for units and for the learner that all share."""
    decisions = []
    for i in range(rounds):
        batch = bandit.ask([f"u{i % 4}", None, f"u{i % 7}"])
        decisions += batch
        bandit.tell([batch[0].id, decisions[len(decisions) // 2].id], [i % 3 / 2, 1.0])
        if i % 5 == 0:
            bandit.drop(batch[1].id)
    return decisions


# --- Waiting


def test_what_is_due_is_settled_once(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=60, default=0.0)
    first, second = bandit.ask("u"), bandit.ask("u")
    assert bandit.tell(first.id, 1.0) == "applied"
    clock.time += 59
    bandit.settle()
    assert scan(bandit, "select result from decisions order by number") == [(0,), (None,)]
    clock.time += 1
    other = opened()
    bandit.settle()
    other.settle()
    assert scan(bandit, "select result, reward, tell_event from decisions order by number")[1] == (5, 0.0, 4)
    assert bandit.tell(second.id, 1.0) == "expired"
    report = other.report()
    assert (report.learned.settled, report.learned.pending, report.learned.mean) == (1, 0, 0.5)
    assert bandit.check() == []


def test_a_reward_after_the_wait_is_settled_as_the_default(opened: Opener, clock: Clock) -> None:
    """Whether the settling or the reward comes first must not matter."""
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=60, default=0.25)
    decision = bandit.ask("u")
    clock.time += 60
    assert bandit.tell(decision.id, 1.0) == "expired"
    assert scan(bandit, "select result, reward from decisions") == [(5, 0.25)]
    assert bandit.tell(decision.id, 1.0) == "expired"


def test_skip_settles_without_learning(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=60, default="skip")
    bandit.ask("u")
    before = scan(bandit, "select state, event from learners")
    clock.time += 100
    bandit.settle()
    assert scan(bandit, "select result, reward from decisions") == [(5, None)]
    assert scan(bandit, "select state, event from learners") == before


def test_many_are_settled_after_a_restart(opened: Opener, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlmc.bandit.upkeep.SETTLED_AT_ONCE", 7)
    first = opened(POLICY, arms=NAMES, seed=1, wait=60, default=0)
    first.ask(["u", "v", None] * 10)
    first.close()
    clock.time += 60
    again = opened()
    again.settle()
    assert again.report().learned.settled == 30
    assert again.check() == []


def test_time_does_not_go_backwards(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=60, default=0)
    bandit.ask("u")
    clock.time -= 1000
    opened().ask("u")
    (first,), (second,) = scan(bandit, "select asked from decisions order by number")
    assert second >= first


def test_drop_counts_as_the_default(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=60, default=0.5)
    bandit.drop(bandit.ask("u").id)
    assert scan(bandit, "select result, reward, tell_event from decisions") == [(4, 0.5, 2)]


def test_settings_are_changed_for_all(opened: Opener, clock: Clock) -> None:
    bandit, other = opened(POLICY, arms=NAMES), opened()
    bandit.configure(wait=5, default=1.0)
    other.ask("u")
    clock.time += 5
    other.settle()
    assert scan(bandit, "select reward from decisions") == [(1.0,)]
    with pytest.raises(BadArgument, match="settings are wait"):
        bandit.configure(waiting=5)
    with pytest.raises(BadArgument, match="wait needs default"):
        bandit.configure(default=None)
    assert other.settings.wait == 5


# --- The control group


def test_the_control_group_is_uniform_and_teaches_nothing(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES[:4], seed=1, control=0.5)
    decisions = bandit.ask(["u"] * 200)
    control = [each for each in decisions if each.control]
    assert 60 < len(control) < 140
    assert {each.propensity for each in control} == {0.25}
    assert {each.arm for each in control} == set(NAMES[:4])
    before = scan(bandit, "select state from learners")
    assert set(bandit.tell([each.id for each in control], [1.0] * len(control))) == {"applied"}
    assert scan(bandit, "select state from learners") == before
    report = bandit.report()
    assert (report.control.decisions, report.control.mean) == (len(control), 1.0)
    assert (report.learned.decisions, report.learned.mean) == (200 - len(control), None)
    assert "control group" in str(report)
    assert bandit.check() == []


# --- Aggregates and retention


def test_roll_ups_change_no_report(opened: Opener, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, wait=7200, default=0, control=0.2)
    decisions = played(bandit)
    clock.time += 3600
    decisions += played(bandit)
    before = bandit.report().as_dict()
    monkeypatch.setattr("hlmc.bandit.rollups.LAG", 0)
    monkeypatch.setattr("hlmc.bandit.rollups.BLOCK", 13)
    bandit.settle()
    assert scan(bandit, "select rolled from experiments") == [(len(decisions),)]
    assert scan(bandit, "select sum(decisions) from rollups") == [(len(decisions),)]
    assert bandit.report().as_dict() == before
    # Rewards of decisions that are in the aggregates already.
    answers = bandit.tell([each.id for each in decisions], [0.5] * len(decisions))
    clock.time += 7200
    bandit.settle()
    after = bandit.report()
    both = after.learned + after.control
    assert both.pending == 0
    assert both.decisions == len(decisions)
    assert len(after.hours) == 2
    rewards = [reward for (reward,) in scan(bandit, "select reward from decisions where reward is not null")]
    assert both.reward == pytest.approx(sum(rewards))
    assert "applied" in answers
    assert bandit.check() == []


def test_retention_keeps_aggregates_and_replay(opened: Opener, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlmc.bandit.rollups.LAG", 0)
    monkeypatch.setattr("hlmc.bandit.upkeep.PRUNED_AT_ONCE", 17)
    bandit = opened(POLICY, arms=NAMES, seed=1, keep="2 days")
    old = played(bandit)
    bandit.ask("u", key="once")
    clock.time += 86400
    recent = played(bandit)
    before = bandit.report()
    clock.time += 86400 + 3600
    bandit.settle()
    assert len(scan(bandit, "select 1 from decisions")) == len(recent)
    assert scan(bandit, "select count(*) from keys") == [(0,)]
    after = bandit.report()
    assert (after.decisions, after.learned, after.arms) == (before.decisions, before.learned, before.arms)
    assert bandit.tell(old[-1].id, 1.0) == "expired"
    assert bandit.tell(recent[-1].id, 1.0) in ("applied", "late", "expired")
    with pytest.raises(hlmc.UnknownDecision):
        bandit.tell("A" * 32, 1.0)
    bandit.arms.remove(NAMES[3])
    played(bandit)
    assert bandit.check() == []


def test_idle_units_are_forgotten(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, idle="30 days")
    bandit.ask(["old", "busy", None])
    clock.time += 20 * 86400
    bandit.ask("busy")
    clock.time += 20 * 86400
    bandit.settle()
    assert sorted(unit for (unit,) in scan(bandit, "select unit from learners")) == ["", "busy"]
    assert bandit.check() == []


# --- Check


def test_every_row_is_what_its_events_make_of_it(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES[:5], seed=1, control=0.1, wait=60, default=0)
    for change_arms in (lambda: bandit.arms.add("new"), lambda: bandit.arms.remove(NAMES[0]), lambda: None):
        played(bandit, 20)
        clock.time += 61
        change_arms()
    bandit.settle()
    assert bandit.check() == []
    assert opened(readonly=True).check() == []


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("update decisions set reward = 0.77 where result = 0", "the row makes of it|make of it"),
        ("update decisions set tell_event = tell_event + 90 where result = 0", "events are not the numbers"),
        ("delete from decisions where number = 5", "events are not the numbers"),
        ("update learners set event = event + 1 where unit = 'u1'", "unit 'u1': its events"),
        ("update learners set state = substr(state, 1, 8) where unit = 'u1'", "unit 'u1': its row is damaged"),
        ("update decisions set result = 1 where result = 0", "is not what the row makes of it"),
        ("update rollups set reward = reward + 1", "the aggregates: reward is"),
    ],
)
def test_damage_is_found(opened: Opener, monkeypatch: pytest.MonkeyPatch, sql: str, found: str) -> None:
    monkeypatch.setattr("hlmc.bandit.rollups.LAG", 0)
    bandit = opened(POLICY, arms=NAMES, seed=1)
    played(bandit, 10)
    bandit.settle()
    assert bandit.check() == []
    change(bandit, sql)
    problems = " / ".join(bandit.check())
    assert re.search(found, problems), problems


def test_a_damaged_ticket_is_refused(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decision = bandit.ask("u")
    ticket = bytearray(scan(bandit, "select ticket from decisions")[0][0])
    ticket[45] ^= 1
    change(bandit, "update decisions set ticket = ?", bytes(ticket))
    with pytest.raises(BadStore, match=r"the ticket of decision .* is not genuine"):
        bandit.tell(decision.id, 1.0)


@pytest.mark.parametrize("text", ['{"sh!rds": 1}', '{"shards": 1', "1"])
def test_damaged_settings_are_one_line(opened: Opener, text: str) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask("u")
    change(bandit, "update experiments set settings = ?", text)
    bandit.close()
    with pytest.raises(BadStore, match=r"is damaged: settings cannot be .*; restore it from a backup"):
        opened().ask("v")


def test_an_arm_that_is_gone_from_the_store_is_one_line(opened: Opener) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask("u")
    change(bandit, "update arms set slot = slot + 100")
    bandit.close()
    with pytest.raises(BadStore, match=r"is damaged: no arm has slot \d+; restore it from a backup"):
        opened().ask("v")


# --- Copies


def test_a_backup_is_a_store(opened: Opener, tmp_path: Path) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decisions = played(bandit, 5)
    bandit.backup(tmp_path / "copy.db")
    last = bandit.ask("u1")
    with hlmc.open(tmp_path / "copy.db") as copy:
        assert copy.report().decisions == len(decisions)
        assert copy.check() == []
        assert copy.tell(decisions[-1].id, 1.0) in ("applied", "late", "duplicate", "expired")
        with pytest.raises(hlmc.UnknownDecision):
            copy.tell(last.id, 1.0)
    with pytest.raises(BadStore, match="not there yet"):
        bandit.backup(tmp_path / "copy.db")


def test_export_writes_every_decision(opened: Opener, tmp_path: Path) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, control=0.2)
    decisions = played(bandit, 10)
    bandit.forget("u1")
    assert bandit.export(tmp_path / "log.csv") == bandit.export(tmp_path / "log.parquet") == len(decisions)
    with (tmp_path / "log.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == [each.id for each in decisions]
    assert [line["arm"] for line in lines] == [each.arm for each in decisions]
    assert [float(line["propensity"]) for line in lines] == [each.propensity for each in decisions]
    units = [each.unit if each.unit != "u1" else None for each in decisions]
    assert [line["unit"] or None for line in lines] == units
    import pandas as pd

    table = pd.read_parquet(tmp_path / "log.parquet")
    assert table["id"].tolist() == [each.id for each in decisions]
    assert np.isclose(table["reward"].sum(), bandit.report().learned.reward + bandit.report().control.reward)
    with pytest.raises(BadArgument, match=r"must end in .csv or .parquet"):
        bandit.export(tmp_path / "log.txt")


def test_export_says_which_decisions_share_an_epoch(opened: Opener, tmp_path: Path) -> None:
    policy = hlmc.HLMC(arms=9, groups=(3, 3), horizon=3000, epochs=(300, 10))
    bandit = opened(policy, arms=NAMES, seed=1, control=0.2)
    for each in bandit.ask(["u1", "u2"] * 60):
        bandit.tell(each.id, 1.0)
    bandit.export(tmp_path / "log.csv")
    bandit.export(tmp_path / "log.parquet")
    with (tmp_path / "log.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    epochs = 0
    for unit in ("u1", "u2"):
        own = [line for line in lines if line["unit"] == unit]
        blocks = [int(line["block"]) for line in own if line["control"] == "0"]
        assert 30 < len(blocks) < 60
        assert blocks == [10 * (step // 10) for step in range(len(blocks))]
        assert [line["block"] for line in own if line["control"] == "1"] == [""] * (60 - len(blocks))
        epochs += len(set(blocks))
    for name in ("log.csv", "log.parquet"):
        found = hlmc.replay(NAMES, tmp_path / name)
        control = sum(line["control"] == "1" for line in lines)
        assert found["blocks"].tolist() == [epochs + control] * 9


def test_the_report_in_frames_and_dictionaries(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    played(bandit, 10)
    clock.time += 3600
    played(bandit, 10)
    report = bandit.report()
    assert json.loads(json.dumps(report.as_dict()))["decisions"] == 60
    frame = report.frame()
    assert frame["decisions"].tolist() == [30, 30]
    assert "<pre>default: 60 decisions" in report._repr_html_()


# --- The command line


def test_the_command_line(opened: Opener, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    decisions = played(bandit, 5)
    assert main(["bandit", address]) == 0
    assert f"default: {len(decisions)} decisions" in capsys.readouterr().out
    assert main(["bandit", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decisions"] == len(decisions)
    assert main(["bandit", address, "--list"]) == 0
    assert capsys.readouterr().out.startswith("default: HLMC(")
    assert main(["bandit", address, "--check"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    assert main(["bandit", address, "--backup", str(tmp_path / "copy.db")]) == 0
    assert main(["bandit", address, "--export", str(tmp_path / "log.csv")]) == 0
    assert len((tmp_path / "log.csv").read_text().splitlines()) == len(decisions) + 1
    change(bandit, "update learners set event = event + 1 where unit = 'u1'")
    assert main(["bandit", address, "--check", "--json"]) == 1
    assert main(["bandit", address, "--name", "nowhere"]) == 2
    assert "no experiment 'nowhere'" in capsys.readouterr().err
