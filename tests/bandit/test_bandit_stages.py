"""Learners that go on past their horizon, and learners that are planned for the delay that was measured."""

from __future__ import annotations

import pytest

import hlmc
from bandits import NAMES, POLICY, Clock, Opener
from hlmc.bandit.rows import stored_policy


def learners(bandit: hlmc.Bandit, columns: str) -> list[tuple]:
    with bandit._experiment.store.reading():
        return bandit._experiment.store.all(f"select {columns} from learners order by id")


def test_a_horizon_does_not_end_it(opened: Opener) -> None:
    """Stages of 10, 20, 40 and 80 decisions, asked one by one and in batches that cross their ends."""
    bandit = opened(hlmc.HLMC(arms=9, groups=(3, 3), horizon=10), arms=NAMES, seed=1)
    for size in (1,) * 12 + (7, 30, 2, 40, 9):
        decisions = bandit.ask(["u"] * size + ["v"])
        assert {each.arm for each in decisions} <= set(NAMES)
        bandit.tell([each.id for each in decisions], [0.5] * len(decisions))
    # u: 70 asks before the last stage, and the rewards of 10 + 9 + 21 of them; those that the batches of 30 and 40 had
    # asked for in an earlier stage had expired when they came.
    assert learners(bandit, "unit, horizon, began") == [("u", 80, 70 + 10 + 9 + 21), ("v", 20, 10 + 10)]
    assert bandit.check() == []


def test_a_stage_is_a_learner_of_twice_the_horizon(opened: Opener) -> None:
    policy = hlmc.EXP3(arms=9, horizon=4)
    bandit = opened(policy, arms=NAMES, seed=1)
    for _ in range(9):
        bandit.tell(bandit.ask("u").id, 1.0)
    ((state, horizon),) = learners(bandit, "state, horizon")
    assert horizon == 8
    rows = bandit._experiment.rows_of(8, 0)
    own = hlmc.Learner(stored_policy(hlmc.EXP3(arms=9, horizon=8)), rows.fresh(["u\x1e8"], 9)[0])
    for _ in range(5):
        own.tell(own.ask(), 1.0)
    theirs = own.state.copy()
    theirs[rows._left_out] = 0.0
    assert rows.unpacked([state])[0].tobytes() == theirs.tobytes()


def test_rewards_of_an_earlier_stage_are_expired(opened: Opener) -> None:
    bandit = opened(hlmc.EXP3(arms=9, horizon=3), arms=NAMES, seed=1)
    first = bandit.ask(["u"] * 3)
    assert bandit.tell(first[0].id, 1.0) == "applied"
    second = bandit.ask("u")
    assert bandit.tell([first[1].id, second.id], [1.0, 1.0]) == ["expired", "applied"]
    assert bandit.check() == []


def test_a_horizon_that_cannot_be_doubled_begins_again(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = opened(hlmc.EXP3(arms=9, horizon=2), arms=NAMES, seed=1)

    def refused(*_: object) -> None:
        raise hlmc.errors.BadArgument("no")

    monkeypatch.setattr("hlmc.bandit.experiment.planned", refused)
    for _ in range(5):
        bandit.tell(bandit.ask("u").id, 1.0)
    assert learners(bandit, "horizon, began") == [(2, 8)]


def test_new_units_are_planned_for_the_measured_delay(opened: Opener, clock: Clock) -> None:
    bandit = opened(hlmc.HLMC(arms=9, groups=(3, 3), horizon=10**6), arms=NAMES, seed=1, delay="measured")
    waiting = [bandit.ask("old") for _ in range(100)]
    for _ in range(300):
        waiting.append(bandit.ask("old"))
        bandit.tell(waiting.pop(0).id, 0.5)
    assert bandit.report().delay == pytest.approx(100, rel=0.2)
    bandit.settle()
    bandit.ask("new")
    assert learners(bandit, "unit, delay") == [("old", 0), ("new", 128)]
    rows = bandit._experiment.rows_of(10**6, 128)
    assert rows.policy == stored_policy(hlmc.HLMC(arms=9, groups=(3, 3), horizon=10**6, pending=1, delay=128))
    # Both in one transaction, and with a policy of another width.
    batch = opened().ask(["new", "old", "newer", "old", "new"])
    assert set(bandit.tell([each.id for each in batch], [1.0] * 5)) == {"applied"}
    assert bandit.check() == []


def test_learners_of_rows_of_several_widths_share_transactions(opened: Opener) -> None:
    """A plan for another delay may have other groups."""
    bandit = opened(POLICY, arms=NAMES, seed=1)
    bandit.ask("u")
    with bandit._experiment.store.transaction():
        bandit._experiment.store.all("update experiments set delay = 5")
    wide = hlmc.HLMC(arms=9, groups=(9,), horizon=10**6)
    from hlmc.bandit.rows import Rows

    for delay, policy in ((5, wide), (0, POLICY)):
        bandit._experiment._rows[10**6, delay] = Rows(policy, "1")
    for _ in range(20):
        batch = bandit.ask(["u", "v", "u", "w"])
        bandit.tell([each.id for each in reversed(batch)], [0.5] * 4)
    sizes = [len(state) for (state,) in learners(bandit, "state")]
    assert sizes[0] != sizes[1] == sizes[2]
    assert bandit._experiment.rows_of(10**6, 5).policy.groups_used == (9,)
