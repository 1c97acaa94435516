"""Ids of decisions."""

from __future__ import annotations

import base64
import hashlib

from hlmc.bandit.ids import made, made_before

SECRET = b"secret"


def test_ids_grow_with_time_and_within_a_batch() -> None:
    """So that the index of decisions grows at one end."""
    found = [name for tick in range(300) for name in made(SECRET, 1e9 + tick / 64, 5)]
    assert found == sorted(found)
    assert len(set(found)) == 1500


def test_ids_made_before_they_grew_are_known() -> None:
    """They began with their random bits, and had the hour in place of the tick."""
    head = bytes(range(16)) + (1000).to_bytes(4, "big")
    former = base64.urlsafe_b64encode(head + hashlib.blake2b(head, digest_size=4, key=SECRET).digest()).decode()
    assert made_before(SECRET, former, 3600.0 * 1001)
    assert not made_before(SECRET, former, 3600.0 * 1001 - 1)
    assert not made_before(b"other", former, 1e9)


def test_other_texts_are_no_ids() -> None:
    (name,) = made(SECRET, 1e9, 1)
    assert made_before(SECRET, name, 2e9)
    changed = name[:-1] + ("A" if name[-1] != "A" else "B")
    for text in ("", "?", name[:-1], name + "A", "\u00e4" * 32, "?" * 32, changed):
        assert not made_before(SECRET, text, 2e9)
