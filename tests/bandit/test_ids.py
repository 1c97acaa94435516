"""Ids of decisions."""

from __future__ import annotations

import base64

import pytest

import hlmc
from bandits import NAMES, POLICY, Opener
from hlmc.bandit.ids import LENGTH, NUMBER, id_of, number_of, random_parts
from hlmc.errors import UnknownDecision


def test_ids_are_of_one_length_and_say_their_number() -> None:
    parts = random_parts(1000)
    found = [id_of(number, part) for number, part in enumerate(parts, 2**47)]
    assert {len(name) for name in found} == {LENGTH}
    assert [number_of(name) for name in found] == list(range(2**47, 2**47 + 1000))
    assert len(set(parts)) == 1000


def test_ids_have_120_random_bits_in_characters_that_are_safe_in_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_bytes", lambda size: bytes(range(200, 200 + size)))
    wanted = base64.urlsafe_b64encode(bytes(range(200, 230))).decode()
    assert random_parts(2) == [wanted[:20], wanted[20:]]


@pytest.mark.parametrize("at", [0, NUMBER - 1, NUMBER, LENGTH - 1])
def test_an_id_of_which_one_character_is_another_is_unknown(opened: Opener, at: int) -> None:
    bandit = opened(POLICY, arms=NAMES, seed=1)
    ids = [each.id for each in bandit.ask(["u"] * 3)]
    other = ids[1][:at] + ("1" if ids[1][at] != "1" else "3") + ids[1][at + 1 :]
    for text in (other, ids[1][:NUMBER].upper() + "A" * 20, " " * 11 + "2" + ids[1][NUMBER:], "0_0" + ids[1][3:]):
        with pytest.raises(UnknownDecision):
            bandit.tell(text, 1.0)
    assert bandit.tell([other, ids[1]], [1.0, 1.0]) == ["unknown", "applied"]


def test_an_id_of_another_experiment_is_unknown(opened: Opener) -> None:
    one, two = (opened(hlmc.UCB1(arms=2), name=name, seed=1) for name in ("one", "two"))
    with pytest.raises(UnknownDecision):
        two.tell(one.ask().id, 1.0)
