"""The words of a program and of a row: where each lies and what it means.

A *program* is what a policy compiles to: a small read-only matrix of float64, the same for all of its learners, on
every machine and target. Row 0 is the header. Row ``1 + stage * levels + d`` is the record of level d (from 0) in a
stage of the doubling scheme (stage 0 alone when the horizon is known). Kernels see it flat: record i begins at word
``FIELDS * i``.

A *row* is everything that one learner knows: float64 words, of which one (the key) holds 64 raw bits. Its first words
are common to all policies, then come those of the structure, the control words of each level, and the statistics of
each level. Whole numbers up to 2^53 are exact in a float64.

:func:`describe` prints either as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from hlmc.engine.structures.base import Structure

Array = np.ndarray
FOREVER = 2**53

REAL, WHOLE, TOTAL, RAW = "real", "whole", "total", "raw"
"""What a word holds: a number, a whole number, a sum of rewards, or raw bits. All are float64 in a program and a row;
exported C keeps whole numbers of its program as integers and, in single precision, those of its row, too."""


class Word(NamedTuple):
    """A word's name and meaning, and what it holds."""

    name: str
    meaning: str
    holds: str = REAL

    @property
    def optional(self) -> bool:
        """Whether some policies do not use it."""
        return self.name.startswith("PARAMETERS") or self.meaning.startswith(
            ("block rotation", "ask and tell", "scale", "arms", "coded statistics")
        )


# --- A program's header

STRUCTURE, ARMS, HORIZON, LEVELS, DOUBLING, WORDS = range(6)
SHUFFLE, MEMORY, SUBPHASES, SUBLENGTH, WRAP, TIES = range(6, 12)
CONTIGUOUS = 12
PENDING, WINDOW, DIGEST = range(13, 16)
ZERO, ONE = 16, 17
IDLE = 18

HEADER = (
    Word("STRUCTURE", "the structure's number in hlmc.engine.structures.CATALOGUE", WHOLE),
    Word("ARMS", "K", WHOLE),
    Word("HORIZON", "T, or nearly 2^53 when it is not known", WHOLE),
    Word("LEVELS", "D", WHOLE),
    Word("DOUBLING", "the first stage takes 2^this steps; -1: one stage, the horizon; -2: SPAN of level 0", WHOLE),
    Word("WORDS", "words of a row", WHOLE),
    Word("SHUFFLE", "block rotation: 1 if the order of the arms is random", WHOLE),
    Word("MEMORY", "block rotation: arms held at a time", WHOLE),
    Word("SUBPHASES", "block rotation: h0, sub-phases of a phase", WHOLE),
    Word("SUBLENGTH", "block rotation: b0, steps of a sub-phase of phase 0", WHOLE),
    Word("WRAP", "block rotation: 1 if the last sub-phase of a phase is filled from the start of the order", WHOLE),
    Word("TIES", "block rotation: how ties for the most played arm are broken (RANDOM, FIRST, LAST)", WHOLE),
    Word("CONTIGUOUS", "1 if slot j of the last level is arm BASE + j", WHOLE),
    Word("PENDING", "ask and tell: W, the decisions that can await their rewards; 0 if there is no window", WHOLE),
    Word("WINDOW", "ask and tell: where the words of the window begin in a row", WHOLE),
    Word("DIGEST", "ask and tell: 53 bits of a digest of the program, by which it knows its own tickets"),
    Word("ZERO", "scale: the number that is learned as a reward of 0; both 0: rewards are in [0, 1] as they are"),
    Word("ONE", "scale: the number that is learned as a reward of 1"),
    Word("IDLE", "arms that come and go: where the row counts the slots without an arm; 0 if it does not", WHOLE),
)

RANDOM, FIRST, LAST = range(3)  # what TIES may hold
CONTINUED = -2
"""What DOUBLING holds where the first stage takes SPAN steps of the first record; every later one takes twice as many
as the one before it, whatever the first takes."""

# --- A program's record of a level

KIND, CHILDREN, SIZE, LENGTH, SPAN, CONTROL, AT, ROUTINE, OPAQUE, FEEDBACK = range(10)
PARAMETERS = 10
WIDTH, INVERSE = 18, 19
FIELDS = 20

LEVEL = (
    Word("KIND", "the routine's number in hlmc.routines.CATALOGUE", WHOLE),
    Word("CHILDREN", "N_d, the most children that a group has at this level", WHOLE),
    Word("SIZE", "arms in a child (the last child may have fewer)", WHOLE),
    Word("LENGTH", "steps for which one choice stands", WHOLE),
    Word("SPAN", "steps between two restarts: LENGTH of the level above, or the stage", WHOLE),
    Word("CONTROL", "where the level's control words begin in a row", WHOLE),
    Word("AT", "where its statistics begin in a row", WHOLE),
    Word("ROUTINE", "which of the policy's routines: its level, from 0", WHOLE),
    Word("OPAQUE", "1 if the words of the statistics are no numbers: a user's own, or coded", WHOLE),
    Word(
        "FEEDBACK", "ask and tell: what a reward that has not come counts as at this level (COUNTS, GAIN, LOSS)", WHOLE
    ),
    *(Word(f"PARAMETERS + {i}", "the routine's own number") for i in range(WIDTH - PARAMETERS)),
    Word("WIDTH", "coded statistics: bits of each", WHOLE),
    Word("INVERSE", "coded statistics: 2^-WIDTH"),
)

COUNTS, GAIN, LOSS = range(3)  # what FEEDBACK may hold

# --- A row's first words

KEY, TIME, ARM, PROBABILITY, BEGAN, UNTIL, BASE, COUNT, RECORD = range(9)
COMMON = 9  # words before those of the structure

ROW = (
    Word("KEY", "the random stream: 64 raw bits"),
    Word("TIME", "completed steps", WHOLE),
    Word("ARM", "the arm selected and not yet updated, or -1", WHOLE),
    Word("PROBABILITY", "of the last selection, given everything before it"),
    Word("BEGAN", "time at which the routine over the arms was last restarted", WHOLE),
    Word("UNTIL", "time at which it will be restarted; 0 before the first selection", WHOLE),
    Word("BASE", "first arm of the group played (block rotation: place in the order of the first arm held)", WHOLE),
    Word("COUNT", "arms in play: slots of the last level", WHOLE),
    Word("RECORD", "where the record of the last level lies in the program", WHOLE),
)

# --- A level's control words, relative to its CONTROL

CHILD, CHANCE, SUM, SCALARS = range(4)
LEVEL_CONTROL = 5

CONTROL_WORDS = (
    Word("CHILD", "the child chosen", WHOLE),
    Word("CHANCE", "the probability with which it was"),
    Word("SUM", "rewards since then; at the last level, since the restart", TOTAL),
    Word("SCALARS", "first number of the routine's own"),
    Word("SCALARS + 1", "second number of the routine's own"),
)


# --- The words of the window, relative to the program's WINDOW; they follow the control words of the levels

KEPT = 4
"""Incarnations that a row remembers (:mod:`hlmc.engine.identity`)."""
UNANSWERED, DUE, REACHED, CROWNED, MOVED, SECRET = range(6)
INCARNATIONS = SECRET + 2
BITS = INCARNATIONS + 2 * KEPT
IDENTITY_WORDS = BITS - SECRET
LATER_WORDS = BITS - REACHED
"""Words of the window that rows in files of version 1 lack."""

WINDOW_WORDS = (
    Word("UNANSWERED", "decisions of the present run of the last level that have no reward yet"),
    Word("DUE", "1 when the run has had its last decision and the levels above have not yet learned from it"),
    Word("REACHED", "the chance of the groups played, counting all ways to them; 0: not known"),
    Word("CROWNED", "the same for slot 0 of a champion, which plays in many groups; 0: not known"),
    Word("MOVED", "the step until which REACHED cannot be known: the group chosen has lost its last arm", WHOLE),
    Word("SECRET", "authenticates tickets: 64 raw bits", RAW),
    Word("SECRET + 1", "and 64 more", RAW),
    *(
        word
        for i in range(KEPT)
        for word in (
            Word(f"INCARNATION {i}", "its number, newest first: 64 raw bits; 0: none", RAW),
            Word(f"BEGAN {i}", "the step at which it began"),
        )
    ),
)


IDLE_WORD = Word("IDLE", "slots that have no arm; there are K less this many arms")


def program_words(length: int) -> list[Word]:
    """The words of a program of this length, in order.

    >>> [word.name for word in program_words(2 * FIELDS)][ARMS : LEVELS + 1], len(program_words(60))
    (['ARMS', 'HORIZON', 'LEVELS'], 60)
    """
    unused = [Word("", "not used")] * (FIELDS - len(HEADER))
    return [*HEADER, *unused, *(LEVEL * (length // FIELDS - 1))]


def row_words(program: Array, header: Sequence[Word], length: int) -> list[Word]:
    """The words of a row of this length, in order, for a structure with these words of its own."""
    before = [*ROW, *header, *(CONTROL_WORDS * int(program[LEVELS]))]
    return before + [Word("", "what follows: a window, statistics")] * (length - len(before))


def window_words(pending: int) -> int:
    """The words of a window over so many decisions: one bit for each, two counters, and who the learner is.

    >>> window_words(0), window_words(64), window_words(65)
    (0, 16, 17)
    """
    return BITS + -(-pending // 64) if pending else 0


def describe(words: Array, program: Array | None = None, structure: Structure | None = None) -> str:
    """A program or a row as a table: place, name, value and meaning of every word.

    ``describe(program)`` shows the header and the levels of the first stage; ``describe(row, program, structure)`` a
    learner's row, of which only its program and its structure know where everything lies.

    >>> import hlmc
    >>> policy = hlmc.EXP3(arms=4, horizon=100)
    >>> print(describe(policy.program))
    header
        0  STRUCTURE                       0  the structure's number in hlmc.engine.structures.CATALOGUE
        1  ARMS                            4  K
        2  HORIZON                       100  T, or nearly 2^53 when it is not known
    ...
    >>> print(describe(policy.start(seed=1).state, policy.program, policy.structure))
    common
        0  KEY            0x96b97c7958ab49db  the random stream: 64 raw bits
        1  TIME                            0  completed steps
        2  ARM                            -1  the arm selected and not yet updated, or -1
    ...
    """
    if program is None or structure is None:
        return "\n".join(_program_lines(words))
    return "\n".join(_row_lines(words, program, structure))


def _program_lines(program: Array) -> list[str]:
    table = program.reshape(-1, FIELDS)
    levels = int(table[0, LEVELS])
    lines = ["header", *_lines(0, HEADER, table[0])]
    for d in range(levels):
        lines += [f"level {d}", *_lines(FIELDS * (1 + d), LEVEL, table[1 + d])]
    stages = (len(table) - 1) // levels
    return lines if stages == 1 else [*lines, f"and {stages - 1} more stages"]


def _row_lines(row: Array, program: Array, structure: Structure) -> list[str]:
    lines = ["common", *_lines(0, ROW, row)]
    lines[1] = _line(0, ROW[0], f"{int(row.view(np.uint64)[KEY]):#x}")
    if structure.header:
        lines += [structure.name, *_lines(COMMON, structure.header, row[COMMON:])]
    table = program.reshape(-1, FIELDS)
    levels = int(table[0, LEVELS])
    for d in range(levels):
        control = int(table[1 + d, CONTROL])
        lines += [f"control of level {d}", *_lines(control, CONTROL_WORDS, row[control:])]
    if pending := int(table[0, PENDING]):
        first = int(table[0, WINDOW])
        lines += ["window", *_lines(first, WINDOW_WORDS, row[first:])]
        bits = row.view(np.uint64)[first + BITS : first + window_words(pending)]
        lines += [_line(first + BITS + i, Word("BITS", ""), f"{int(word):#x}") for i, word in enumerate(bits)]
    if idle := int(table[0, IDLE]):
        lines += ["arms", *_lines(idle, (IDLE_WORD,), row[idle:])]
    for d in range(levels):
        at = int(table[1 + d, AT])
        end = int(table[2 + d, AT]) if d + 1 < levels else int(table[0, WORDS])
        lines.append(f"statistics of level {d}")
        coded = table[1 + d, WIDTH] > 0
        raw = row.view(np.uint64)
        lines += [
            _line(j, Word(str(j - at), ""), f"{int(raw[j]):#x}" if coded else f"{row[j]:.6g}") for j in range(at, end)
        ]
    return lines


def _lines(first: int, words: Sequence[Word], values: Array) -> list[str]:
    """A line for each word, but not for those that this policy does not use."""
    return [
        _line(first + i, word, f"{int(values.view(np.uint64)[i]):#x}" if word.holds == RAW else f"{values[i]:.10g}")
        for i, word in enumerate(words)
        if word.name and (values[i] != 0 or not word.optional)
    ]


def _line(place: int, word: Word, value: str) -> str:
    return f"{place:5}  {word.name:14} {value:>18}  {word.meaning}".rstrip()
