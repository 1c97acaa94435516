"""A ticket: what a decision must remember until its reward comes, and the tag by which a learner knows its own.

A ticket is a run of 64-bit words (:data:`TICKET`): for every level the child chosen and its probability, so that the
learner need not keep them. Whole numbers are stored as 64-bit integers and not as floats, because users read them.

The tag is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) of the other words, of the
incarnation that made the decision and of the digest of the program, under the learner's secret
(:mod:`hlmc.engine.identity`). So tickets of another learner, of a copy or of another policy do not match, and who does
not know the secret cannot make one.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.engine.layout import DIGEST, LEVELS, SECRET, WINDOW, Word
from hlmc.engine.primitives import bits, put_bits

Array = np.ndarray

LEAST_CHANCE = 2.0**-64
"""The least probability of a choice that is learned from."""

TAG, LEARNER, TICKET_TIME, TICKET_ARM, TICKET_PROBABILITY, TICKET_PROPENSITY, TICKET_BLOCK, CHILDREN_AT = range(8)

TICKET = (
    Word("TAG", "SipHash-1-3 of the words that follow, of the incarnation and of the program"),
    Word("LEARNER", "the learner's number in its fleet; an integer"),
    Word("TIME", "decisions before this one; an integer"),
    Word("ARM", "the arm chosen; an integer"),
    Word("PROBABILITY", "with which it was, given everything before it"),
    Word("PROPENSITY", "with which it was, given what was known when the top level chose last; infinite: not known"),
    Word("BLOCK", "the step at which the top level chose last; an integer"),
    Word("CHILDREN", "the child chosen at each level, top first; integers"),
    Word("CHANCES", "the probability of each of these choices; 0: the level does not learn from this decision"),
)


def ticket_words(levels: int) -> int:
    """The words of a ticket.

    >>> ticket_words(2)
    11
    """
    return CHILDREN_AT + 2 * levels


@kernel
def ticket_int(ticket: Array, at: int) -> int:
    """A whole number of a ticket, which is from 0 to 2^53 in every ticket of ours."""
    return int(float(bits(ticket, at)))


@kernel
def ticket_slot(ticket: Array, levels: int, d: int) -> int:
    """The child that level d (from 0) had chosen."""
    return ticket_int(ticket, CHILDREN_AT + d)


@kernel
def ticket_chance(ticket: Array, levels: int, d: int) -> float:
    """The probability with which level d (from 0) had chosen its child; 0, from which no level learns, if it is none.

    Draws have 53 bits and hardly ever choose what has less than LEAST_CHANCE. Who knows the secret can make a
    ticket that says so, and its reward over 1e-300 would be a statistic that the row's own check refuses.
    """
    chance = float(ticket[CHILDREN_AT + levels + d])
    return chance if LEAST_CHANCE <= chance <= 1.0 else 0.0


_C0 = np.uint64(0x736F6D6570736575)
_C1 = np.uint64(0x646F72616E646F6D)
_C2 = np.uint64(0x6C7967656E657261)
_C3 = np.uint64(0x7465646279746573)
_FF = np.uint64(0xFF)
_S13, _S51 = np.uint64(13), np.uint64(51)
_S16, _S48 = np.uint64(16), np.uint64(48)
_S17, _S47 = np.uint64(17), np.uint64(47)
_S21, _S43 = np.uint64(21), np.uint64(43)
_S32 = np.uint64(32)
_S56 = np.uint64(56)


@kernel
def sip_round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """One SipRound."""
    v0 = v0 + v1
    v2 = v2 + v3
    v1 = ((v1 << _S13) | (v1 >> _S51)) ^ v0
    v3 = ((v3 << _S16) | (v3 >> _S48)) ^ v2
    v0 = (v0 << _S32) | (v0 >> _S32)
    v2 = v2 + v1
    v0 = v0 + v3
    v1 = ((v1 << _S17) | (v1 >> _S47)) ^ v2
    v3 = ((v3 << _S21) | (v3 >> _S43)) ^ v0
    v2 = (v2 << _S32) | (v2 >> _S32)
    return v0, v1, v2, v3


@kernel
def siphash(k0: np.uint64, k1: np.uint64, head: np.uint64, run: Array, first: int, stop: int) -> np.uint64:
    """SipHash-1-3 of a word and of the words first .. stop - 1 of a run, under the key (k0, k1)."""
    v0 = k0 ^ _C0
    v1 = k1 ^ _C1
    v2 = k0 ^ _C2
    v3 = k1 ^ _C3
    word = head
    for j in range(first, stop + 1):
        v3 = v3 ^ word
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
        v0 = v0 ^ word
        if j < stop:
            word = bits(run, j)
    last = np.uint64(8 * (1 + stop - first)) << _S56
    v3 = v3 ^ last
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    v0 = v0 ^ last
    v2 = v2 ^ _FF
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@kernel
def tag_of(program: Array, row: Array, ticket: Array, incarnation: int) -> np.uint64:
    """The tag that a ticket of this learner has; ``incarnation`` is the place in the row of the one that made it.

    An incarnation's number is random, so that its exclusive or with the digest of the program stands for both.
    """
    secret = int(program[WINDOW]) + SECRET
    head = bits(row, incarnation) ^ np.uint64(int(program[DIGEST]))
    stop = CHILDREN_AT + 2 * int(program[LEVELS])
    return siphash(bits(row, secret), bits(row, secret + 1), head, ticket, TAG + 1, stop)


@kernel
def put_number(ticket: Array, at: int, value: int) -> None:
    """Write a whole number into a ticket."""
    put_bits(ticket, at, np.uint64(value))
