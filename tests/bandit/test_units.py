"""How many units there may be."""

from __future__ import annotations

import asyncio

import pytest

import hlmc
from bandits import NAMES, POLICY, Clock, Opener
from hlmc.bandit.units import AGAIN
from hlmc.errors import BadArgument, OutOfTurn


def test_units_are_limited(opened: Opener, clock: Clock) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1, shards=4)
    bandit.ask(["a", "b", None, None, None, None])
    bandit.most_units = 3
    assert bandit.ask("c").unit == "c"
    with pytest.raises(OutOfTurn, match=r"unit must be one that is known: 3 is the most"):
        bandit.ask("d")
    found = asyncio.run(bandit.ask_each(["a", "d", "b", None, "e", "d"]))
    assert [type(each).__name__ for each in found] == ["Decision", "OutOfTurn", "Decision", "Decision"] + [
        "OutOfTurn"
    ] * 2
    names = {unit for (unit,) in bandit._experiment.store.all("select unit from learners")}
    assert {"a", "b", "c"} <= names
    assert not {"d", "e"} & names
    assert bandit.check() == []
    bandit.forget("a")
    clock.time += AGAIN  # units are counted anew
    assert bandit.ask("d").unit == "d"
    with pytest.raises(OutOfTurn, match="unit must be one that is known"):
        bandit.ask("a")
    bandit.most_units = None
    assert bandit.ask("a").unit == "a"


def test_a_limit_is_a_whole_number(opened: Opener) -> None:
    bandit: hlmc.Bandit = opened(POLICY, arms=NAMES, seed=1)
    with pytest.raises(BadArgument, match="most_units must be"):
        bandit.most_units = 0
    assert bandit.most_units is None
