"""What a live learner calls: the step functions, with all that they are given behind one address.

An address that Python hands to machine code costs about 20 ns, a tenth of a step. So a learner has a table of them,
made once, and passes the table's address.
"""

from __future__ import annotations

from hlmc.engine.feedback import ask, tell
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import int_at, words
from hlmc.engine.scale import scaled, update_scaled
from hlmc.engine.step import select

PROGRAM, ROW, NUMBER, IDENTITY, TICKET = range(5)
"""The table: addresses of the program, the row, the identity and the room for a ticket; the learner's number in its
fleet."""


@kernel
def select_now(learner_at: Address) -> int:
    """:func:`hlmc.engine.step.select`."""
    return select(int_at(learner_at, PROGRAM), int_at(learner_at, ROW))


@kernel
def update_now(learner_at: Address, reward: float) -> int:
    """:func:`hlmc.engine.scale.update_scaled`."""
    return update_scaled(int_at(learner_at, PROGRAM), int_at(learner_at, ROW), reward)


@kernel
def ask_now(learner_at: Address) -> int:
    """:func:`hlmc.engine.feedback.ask`."""
    identity_at, ticket_at = int_at(learner_at, IDENTITY), int_at(learner_at, TICKET)
    return ask(int_at(learner_at, PROGRAM), int_at(learner_at, ROW), int_at(learner_at, NUMBER), identity_at, ticket_at)


@kernel
def tell_now(learner_at: Address, reward: float, learns: int) -> int:
    """:func:`hlmc.engine.feedback.tell`, for a reward in the caller's units."""
    program_at = int_at(learner_at, PROGRAM)
    share = scaled(words(program_at), reward)
    return tell(program_at, int_at(learner_at, ROW), int_at(learner_at, TICKET), share, learns)
