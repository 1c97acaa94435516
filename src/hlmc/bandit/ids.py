"""Ids of decisions: the time in ticks, 128 random bits, and a check that the store made them.

An id is 32 characters that are safe in a URL or a cookie. Ids grow with time, so that new ones stand side by side in
the index, and a transaction writes few of its pages. Time and check also tell two cases apart after a decision has gone
from its table: it was made here and is past retention, or it was never made here (or is lost).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets

STAMP, RANDOM, CHECK = 5, 16, 3
SIZE = STAMP + RANDOM + CHECK
LENGTH = SIZE * 4 // 3
TICKS = 64
"""Ticks of a second."""
HOUR = 3600

# Base64 with its digits in the order of their characters: texts are in the order of what they stand for.
_USUAL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SORTED = bytes(sorted(_USUAL))
_TO_SORTED, _TO_USUAL = bytes.maketrans(_USUAL, _SORTED), bytes.maketrans(_SORTED, _USUAL)


def made(secret: bytes, now: float, count: int) -> list[str]:
    """New ids, in their order.

    >>> [len(each) for each in made(b"secret", 0.0, 2)]
    [32, 32]
    """
    stamp = int(now * TICKS).to_bytes(STAMP, "big")
    noise = secrets.token_bytes(RANDOM * count)
    heads = sorted([stamp + noise[at : at + RANDOM] for at in range(0, len(noise), RANDOM)])
    whole = b"".join([head + _check(secret, head, CHECK) for head in heads])
    text = base64.urlsafe_b64encode(whole).translate(_TO_SORTED).decode()
    return [text[at : at + LENGTH] for at in range(0, len(text), LENGTH)]


def made_before(secret: bytes, text: str, time: float) -> bool:
    """Whether an id was made with this secret before a time; to the hour, if it was made before there were ticks.

    >>> (one,) = made(b"secret", 7200.0, 1)
    >>> made_before(b"secret", one, 7201.0), made_before(b"secret", one, 7200.0), made_before(b"other", one, 7201.0)
    (True, False, False)
    """
    if len(text) != LENGTH or not text.isascii():
        return False
    try:
        whole = base64.b64decode(text.encode().translate(_TO_USUAL), altchars=b"-_", validate=True)
        former = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return False
    if whole[-CHECK:] == _check(secret, whole[:-CHECK], CHECK):
        return (int.from_bytes(whole[:STAMP], "big") + 1) / TICKS <= time
    if former[-4:] == _check(secret, former[:-4], 4):
        return (int.from_bytes(former[16:-4], "big") + 1) * HOUR <= time
    return False


def _check(secret: bytes, head: bytes, size: int) -> bytes:
    return hashlib.blake2b(head, digest_size=size, key=secret).digest()
