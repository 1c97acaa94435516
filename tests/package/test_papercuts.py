"""Small things that people run into: what a call accepts, and what it says when it does not."""

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

import hlmc
from hlmc.cli import main
from hlmc.errors import BadArgument, BadFile, BadReward, BadTicket, BadType, OutOfTurn
from hlmc.versions import VERSION

EXP3 = hlmc.EXP3(arms=3, horizon=100, pending=64)


def test_the_version() -> None:
    assert hlmc.__version__ == VERSION


def test_a_seed_of_none_is_drawn() -> None:
    assert EXP3.start() == EXP3.start(seed=0)
    assert EXP3.start(seed=None) != EXP3.start(seed=None)
    fleets = [EXP3.fleet(2, seed=None) for _ in range(2)]
    assert fleets[0] != fleets[1]
    for each in (EXP3.start(), EXP3.fleet(2), hlmc.TsallisINF(arms=3).start(arms=hlmc.Arms(3))):
        fresh = each.copy()
        each.reset(seed=None)
        assert each != fresh
    with pytest.raises(BadType, match="seed must be a whole number"):
        EXP3.start(seed="me")


def test_delay_and_missing_need_pending() -> None:
    for name, value in (("delay", 5), ("missing", 0.0)):
        with pytest.raises(BadArgument, match=f"{name}={value} needs pending=W"):
            hlmc.EXP3(arms=3, horizon=100, **{name: value})
        assert replace(EXP3, **{name: value}).start().ask().arm in range(3)


def test_a_policy_says_who_selects() -> None:
    for name in ("select", "update", "ask", "tell", "drop"):
        with pytest.raises(AttributeError, match=rf"EXP3 is a policy, .* learner\.{name}\(\)"):
            getattr(EXP3, name)
    with pytest.raises(AttributeError, match="'EXP3' object has no attribute 'choose'"):
        EXP3.choose  # noqa: B018
    assert not hasattr(EXP3, "choose")


def test_a_champion_says_what_memory_it_leaves() -> None:
    assert "20 of 200 words are used: T < 30 K" in str(hlmc.Champion(100, memory=200, horizon=2999).plan)
    assert "words are used" not in str(hlmc.Champion(100, memory=200, horizon=3000).plan)
    assert "words are used" not in str(hlmc.Champion(100, memory=20, horizon=1000).plan)


def test_tickets_are_taken_as_text() -> None:
    learner = EXP3.start(seed=1)
    first, second = learner.ask(), learner.ask()
    assert (learner.tell(str(first), 1.0), learner.tell(first, 1.0)) == ("applied", "duplicate")
    assert (learner.drop(str(second)), learner.pending) == ("applied", 0)
    with pytest.raises(BadTicket, match="is not a ticket"):
        learner.tell("no ticket", 1.0)
    with pytest.raises(BadType, match="ticket must be a Ticket"):
        learner.tell(7, 1.0)
    arms = hlmc.Arms(3)
    arms.add("tea", "coffee")
    named = EXP3.start(seed=1, arms=arms)
    ticket = named.ask()
    assert (named.tell(str(ticket), 1.0), named.tell(ticket, 1.0)) == ("applied", "duplicate")


def test_a_fleet_takes_what_it_gave() -> None:
    fleet = EXP3.fleet(4, seed=1)
    tickets = fleet.ask()
    text = [str(hlmc.Ticket.from_bytes(each.tobytes())) for each in tickets]
    assert fleet.tell([tickets[0], text[1]], [1.0, 0.5]).tolist() == [0, 0]
    assert fleet.tell(list(tickets), [1.0] * 4).tolist() == [2, 2, 0, 0]
    assert fleet[2].tell(fleet.ask([2])[0], 1.0) == "applied"


def test_fleets_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "fleet"
    with EXP3.fleet(4, seed=1, file=path) as fleet:
        fleet.select()
        fleet.update([1.0] * 4)
    fleet.close()
    with hlmc.load(path) as again:
        assert again.time.tolist() == [1] * 4
    for closed in (fleet, again):
        for use in (closed.select, closed.ask, closed.checkpoint, closed.copy, closed.verify):
            with pytest.raises(OutOfTurn, match="this fleet is closed"):
                use()
        with pytest.raises(OutOfTurn, match="this fleet is closed"):
            _ = closed.time
    with EXP3.fleet(4) as fleet:
        assert len(fleet) == 4
    with pytest.raises(OutOfTurn, match="this fleet is closed"):
        fleet.select()


def test_adversaries_by_name() -> None:
    found = hlmc.simulate(EXP3, "Needle", horizon=50, runs=2, progress=False)
    wanted = hlmc.simulate(EXP3, hlmc.adversaries.Needle(arms=3), horizon=50, runs=2, progress=False)
    assert found.data.equals(wanted.data)
    with pytest.raises(BadArgument, match="Bernoulli needs the argument 'means'"):
        hlmc.simulate(EXP3, "Bernoulli", progress=False)
    with pytest.raises(BadFile, match="No such file"):
        hlmc.simulate(EXP3, "nothing.csv", progress=False)


def test_a_wrong_reward_is_shown() -> None:
    learner = EXP3.start()
    learner.select()
    with pytest.raises(BadReward, match=r"not 2\.0"):
        learner.update(2.0)
    learner.update(1.0)
    with pytest.raises(BadReward, match=r"not 2\.0"):
        learner.tell(learner.ask(), 2.0)
    with pytest.raises(BadReward, match=r"at step 7: 2\.0 for arm 0"):
        hlmc.simulate(EXP3, lambda t, arm: 2.0 if t == 7 else 0.5, progress=False)


def test_the_cache_is_warmed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "EXP3(3, 100, pending=64)", "UCB1(3)"]) in (0, None)
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["EXP3(arms=3, horizon=100, pending=64)", "UCB1(arms=3)"]
    assert said[2].startswith(("cache: ", "HLMC_JIT=0"))
    assert importlib.import_module("hlmc.cli.warm").EXAMPLES
