"""Ids of decisions: 128 random bits, the hour in which they were made, and a check that the store made them.

An id is 32 characters that are safe in a URL or a cookie. The hour and the check tell two cases apart after a decision
has gone from its table: it was made here and is past retention, or it was never made here (or is lost).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets

RANDOM, STAMP, CHECK = 16, 4, 4
SIZE = RANDOM + STAMP + CHECK
LENGTH = SIZE * 4 // 3
HOUR = 3600


def made(secret: bytes, now: float, count: int) -> list[str]:
    """New ids.

    >>> [len(each) for each in made(b"secret", 0.0, 2)]
    [32, 32]
    """
    noise = secrets.token_bytes(RANDOM * count)
    stamp = (int(now) // HOUR).to_bytes(STAMP, "big")
    parts = []
    for at in range(0, len(noise), RANDOM):
        head = noise[at : at + RANDOM] + stamp
        parts.append(head + hashlib.blake2b(head, digest_size=CHECK, key=secret).digest())
    text = base64.urlsafe_b64encode(b"".join(parts)).decode()
    return [text[at : at + LENGTH] for at in range(0, len(text), LENGTH)]


def made_before(secret: bytes, text: str, time: float) -> bool:
    """Whether an id was made with this secret before a time, to the hour.

    >>> (one,) = made(b"secret", 7200.0, 1)
    >>> made_before(b"secret", one, 10800.0), made_before(b"secret", one, 7200.0), made_before(b"other", one, 10800.0)
    (True, False, False)
    """
    try:
        whole = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    head, check = whole[:-CHECK], whole[-CHECK:]
    if len(whole) != SIZE or hashlib.blake2b(head, digest_size=CHECK, key=secret).digest() != check:
        return False
    return (int.from_bytes(head[RANDOM:], "big") + 1) * HOUR <= time
