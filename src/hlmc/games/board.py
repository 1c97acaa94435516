"""The words that the kernels of a game share, and the calls of the game's own functions.

Three kinds of words take part:

*parts*
    Which rows of which policy are played, and where their choices are counted. One part per group of agents, or more if
    several threads share the work. Read only.
*board*
    The referee's words: counts, payoffs, and the sums from which results are made. Its first words say where the rest
    lies. Only the referee (:mod:`hlmc.games.referee`) writes there; agents read what each arm paid.
*spec*, *state*
    The game's numbers and its state. ``observe`` may write the state; the spec is read only.

:mod:`hlmc.games.turn` is what one agent does in a round, :mod:`hlmc.games.referee` what happens between two rounds, and
:mod:`hlmc.games.rounds` the loop over both. A GPU runs the same kernels with other places for the words
(:mod:`hlmc.games.cuda`).
"""

from __future__ import annotations

import numpy as np

from hlmc.engine.kernel import indirect
from hlmc.engine.primitives import function_at

Array = np.ndarray

PAY = ("float64", "words", "words", "int64", "words", "int64")
"""``pay(spec, state, t, counts, arm)`` as a C function; a fact has the same signature."""
OBSERVE = ("void", "words", "words", "int64", "words", "words")
"""``observe(spec, state, t, counts, payoffs)`` as a C function."""

# A part.
PROGRAM, ROWS, WIDTH, FIRST, STOP, TOTALS, CHOSEN, GROUP = range(8)
PART = 8

# The board's first words: sizes, and where its sections begin.
AGENTS, ARMS, GROUPS, FACTS, SCALE = range(5)
COUNTS = 5  # [arm] agents on each arm in the last round
PAYOFFS = 6  # [arm] what each of them got
SEEN = 7  # [arm] the same over the scale: what learners learn
ALONE = 8  # [arm] zeros, scratch space, to ask what a round with all agents on one arm would pay
TOGETHER = 9  # [arm] sum over the rounds of an agent's payoff with all agents on this arm
SIZES = 10  # [group] agents in each group
EARNED = 11  # [group] sum over rounds and agents of their payoffs
MEMBERS = 12  # [group, arm] agents of each group on each arm in the last round
STAYED = 13  # [group, arm] the same if each of them, by itself, had always been here
OCCUPANCY = 14  # [group, arm] sum of MEMBERS over the rounds since it was last cleared
CODES = 15  # [fact] the facts' functions
CHOICES = 16  # [fact, group] sum over rounds and agents on arms that the fact was true of
TRUE_OF = 17  # [fact, arm] rounds in which it was true of the arm, since it was last cleared
TRUE_NOW = 18  # [fact, arm] whether it was in the last round
HEADER = 19


@indirect(*PAY)
def call_pay(address: int, spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """Ask a game's ``pay``, or a fact."""
    return float(function_at(address)(spec, state, t, counts, arm))


@indirect(*OBSERVE)
def call_observe(address: int, spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Let a game make its move."""
    function_at(address)(spec, state, t, counts, payoffs)
