"""Who a learner is: a secret, and the incarnations of its row, in words of the window (:mod:`hlmc.engine.layout`).

A row can be copied, saved and loaded, and each copy goes on by itself. An *incarnation* is one of these lives: a random
number, and the step at which it began. A row keeps its last four, newest first. A decision belongs to the newest
incarnation that had begun by its time, so a ticket need not name its own. Copies share the incarnations from before
the copy and no later ones: a ticket is good for every copy that was taken after it was made, and for no other.

The secret authenticates tickets (:func:`hlmc.engine.tickets.tag_of`). It is drawn once, before the first decision that
is asked for, and is no part of the random stream.

An *identity* is what a caller brings to a row to live with: three words of raw bits, ``SEED`` (two words, from which a
row without a secret derives one) and ``NUMBER`` (that of the incarnation, not 0). Kernels have no entropy.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import INCARNATIONS, KEPT, SECRET, TIME, WINDOW
from hlmc.engine.primitives import bits, put_bits
from hlmc.engine.tickets import siphash

Array = np.ndarray

SEED, NUMBER = 0, 2
IDENTITY = 3  # words of an identity

# What incarnation_of answers instead of a place.
NEVER = 0
FORGOTTEN = -1

_NONE = np.uint64(0)


@kernel
def begin_incarnation(program: Array, row: Array, learner: int, identity: Array) -> None:
    """Have a row live as this identity from its present step on; the oldest of four incarnations is forgotten.

    ``learner`` is the learner's number in its fleet, so that one identity gives every row of a fleet its own secret.
    """
    window = int(program[WINDOW])
    if bits(row, window + SECRET) == _NONE and bits(row, window + SECRET + 1) == _NONE:
        for j in range(2):
            drawn = siphash(bits(identity, SEED), bits(identity, SEED + 1), np.uint64(2 * learner + j), row, 0, 0)
            put_bits(row, window + SECRET + j, drawn)
    last = window + INCARNATIONS + 2 * KEPT - 1
    for j in range(2 * KEPT - 2):
        put_bits(row, last - j, bits(row, last - j - 2))
    put_bits(row, window + INCARNATIONS, bits(identity, NUMBER))
    row[window + INCARNATIONS + 1] = row[TIME]


@kernel
def incarnation_of(program: Array, row: Array, t: int) -> int:
    """Where the incarnation that made decision t lies in the row.

    FORGOTTEN if it is older than those that are kept, NEVER if no decision of that time was asked for.
    """
    at = int(program[WINDOW]) + INCARNATIONS
    for j in range(at, at + 2 * KEPT, 2):
        if bits(row, j) == _NONE:
            return NEVER
        if t >= int(row[j + 1]):
            return j
    return FORGOTTEN


@kernel
def sound_identity(program: Array, row: Array, t: int) -> bool:
    """Whether the incarnations of a row can be those before step t. A secret can be any bits.

    Used ones lie before unused ones, and none began before an older one or after step t.
    """
    at = int(program[WINDOW]) + INCARNATIONS
    first = float(t)
    for j in range(at, at + 2 * KEPT, 2):
        if bits(row, j) == _NONE:
            if bits(row, j + 1) != _NONE:
                return False
            first = -1.0
        elif not (0.0 <= row[j + 1] <= first and float(int(row[j + 1])) == row[j + 1]):
            return False
        else:
            first = row[j + 1]
    return True
