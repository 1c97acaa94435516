"""What several families of attacks need: learners and files to attack, and ways to damage and to forge them.

Files are taken apart and put together by what ``docs/format.md`` says, not with the library's own code.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import hlmc
from attack.harness import Harm, attempt
from fleets import EXAMPLES, played

FIXED = struct.Struct("<8sIIQQIIQ32s")
FIELDS = ("magic", "version", "kind", "rows", "words", "shift", "described", "offset", "seal")
SEAL_AT = 48
ODD = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 8.0, 19.0, 20.0, 60.0, 1e9, 2.0**31, 2.0**53, 2.0**63, 1e300, -1e300, 5e-324]
ODD += [-0.0, math.nan, math.inf, -math.inf]


@cache
def compiled() -> None:
    """Compile, once and before any fork, what every trial uses."""
    for policy in EXAMPLES[:2]:
        fleet = policy.fleet(size=3)
        fleet.select()
        fleet.update([0.0, 0.5, 1.0])
        played(policy, 2)


@cache
def learners() -> list[hlmc.Learner]:
    """A learner of every policy and of every shape of policy, some waiting for a reward."""
    compiled()
    return [played(policy, 7 * (i % 5), waiting=i % 2 == 0) for i, policy in enumerate(EXAMPLES)]


def saved(thing: Any, folder: Path) -> bytes:
    """The file of a learner, a fleet or a result."""
    path = folder / f"saved-{os.urandom(4).hex()}"
    thing.save(path)
    data = path.read_bytes()
    path.unlink()
    return data


def damage(data: bytes, dice: random.Random, others: Sequence[bytes]) -> bytes:
    """A file to which something has happened that happens to files."""
    if not data:
        return dice.randbytes(dice.choice((1, 8, 64)))
    changed = bytearray(data)
    while bytes(changed) == data:
        at = dice.randrange(len(data))
        length = min(dice.choice((1, 2, 8, 64, 512, 4096)), len(data) - at)
        how = dice.randrange(10)
        if how <= 2:
            for _ in range(dice.choice((1, 1, 1, 2, 5))):
                changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        elif how == 3:
            changed[at : at + length] = dice.randbytes(length)
        elif how == 4:
            changed[at : at + length] = bytes(length)
        elif how == 5:
            del changed[at:]
        elif how == 6:
            del changed[at : at + length]
        elif how == 7:
            changed[at:at] = dice.randbytes(length)
        elif how == 8:
            changed[at : at + length] = dice.choice(others)[at : at + length]
        else:
            changed[at:] = dice.choice(others)[at:]
    return bytes(changed)


def crafted_row(dice: random.Random, row: np.ndarray) -> np.ndarray:
    """A row in which some words are what no learner would write."""
    row = row.copy()
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        at = dice.randrange(1, dice.choice((10, len(row))))
        change = dice.randrange(4)
        if change == 0:
            row[at] = dice.choice(ODD)
        elif change == 1:
            row[at] += dice.choice((-20.0, -1.0, 1.0, 20.0))
        elif change == 2:
            row[at] = row[dice.randrange(1, len(row))]
        else:
            row[at] = struct.unpack("<d", dice.randbytes(8))[0]
    return row


def fields_of(data: bytes) -> dict[str, Any]:
    """The fixed fields of a learner's or a fleet's file."""
    return dict(zip(FIELDS, FIXED.unpack(data[: FIXED.size]), strict=True))


def sealed(data: bytes) -> bytes:
    """A file with its checksums made to fit: not damaged but forged. Its sizes must make sense."""
    at = fields_of(data)
    table = -(-(FIXED.size + at["described"]) // 16) * 16
    front, rows = bytearray(data[: at["offset"]]), data[at["offset"] :]
    width = 8 * at["words"] << at["shift"]
    size = 8 * at["words"] * at["rows"]
    for block, first in enumerate(range(0, size, width)):
        checksum = hashlib.blake2b(rows[first : min(first + width, size)], digest_size=16).digest()
        front[table + 16 * block : table + 16 * block + 16] = checksum
    return front_sealed(bytes(front)) + rows


def front_sealed(front: bytes) -> bytes:
    """A front, everything before the rows, with the seal that fits it."""
    end = SEAL_AT + 32
    seal = hashlib.blake2b(front[:SEAL_AT] + front[end:], digest_size=32).digest()
    return front[:SEAL_AT] + seal + front[end:]


def learner_file(description: bytes, row: bytes) -> bytes:
    """A learner's file with this description and this row, and checksums that fit."""
    table = -(-(FIXED.size + len(description)) // 16) * 16
    offset = -(-(table + 16) // 64) * 64
    fixed = FIXED.pack(b"\x93hlmc\r\n\x1a", 1, 1, 1, max(len(row) // 8, 1), 0, len(description), offset, bytes(32))
    return sealed((fixed + description).ljust(offset, b"\0") + row)


def plays_on(learner: hlmc.Learner, steps: int = 20) -> None:
    """Let a learner that was accepted play: every arm must be one of its policy's, every probability one."""
    policy = learner.policy
    for t in range(steps):
        arm, refusal = attempt(learner.select)
        if refusal is not None:
            return
        if not 0 <= arm < policy.arms:
            raise Harm(f"{policy!r} selects arm {arm} in step {t}")
        if not (0.0 < learner.probability <= 1.0 if policy.known_probability else math.isnan(learner.probability)):
            raise Harm(f"{policy!r} has probability {learner.probability} in step {t}")
        attempt(lambda t=t: learner.update((0.0, 1.0, 0.5)[t % 3]))


def loads_or_refuses(
    path: Path, load: Callable[[Path], Any], originals: Sequence[Any], same: Callable[..., bool]
) -> None:
    """Load a damaged file: it must be refused or hold all that one of the originals held."""
    found, refusal = attempt(lambda: load(path))
    if refusal is None and not any(same(found, original) for original in originals):
        raise Harm("a damaged file is loaded and holds something else")
