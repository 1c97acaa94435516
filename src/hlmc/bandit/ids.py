"""Ids of decisions: the decision's number in the table and 120 random bits from ``secrets``.

An id is 32 characters that are safe in a URL or a cookie: twelve for the number, in hexadecimal, and twenty that nobody
can guess. The table keeps the random ones, so that a decision is found by its number, without an index of texts. Up to
version 0.3 ids had no number, and the table has all of their characters.
"""

from __future__ import annotations

import base64
import secrets

LENGTH = 32
NUMBER = 12
"""Characters that say the number."""
RANDOM = LENGTH - NUMBER

HOUR = 3600


def random_parts(count: int) -> list[str]:
    """What distinguishes so many new decisions from whatever others guess.

    >>> [len(each) for each in random_parts(2)]
    [20, 20]
    """
    text = base64.urlsafe_b64encode(secrets.token_bytes(RANDOM * 3 // 4 * count)).decode()
    return [text[at : at + RANDOM] for at in range(0, len(text), RANDOM)]


def id_of(number: int, kept: str) -> str:
    """The id of a decision, from its number and what the table has of its id.

    >>> id_of(1000, "abcdefghijklmnopqrst")
    '0000000003e8abcdefghijklmnopqrst'
    """
    return f"{number:012x}{kept}" if len(kept) == RANDOM else kept


def number_of(text: str) -> int:
    """The number that an id says; -1 if it says none. Whether it is the id of that decision is for the table to say.

    >>> number_of("0000000003e8abcdefghijklmnopqrst"), number_of("something else")
    (1000, -1)
    """
    if len(text) != LENGTH:
        return -1
    try:
        return int(text[:NUMBER], 16)
    except ValueError:
        return -1
