"""Tickets: what a learner hands out with a decision, and takes back with its reward."""

from __future__ import annotations

import base64
import binascii
import struct
from functools import cache
from typing import Any

import numpy as np

from hlmc.engine.tickets import CHILDREN_AT
from hlmc.errors import BadTicket, BadType, shown

CODES = ("applied", "late", "duplicate", "expired", "finished")
"""What became of a reward that was told. A fleet answers with the places in this tuple, and it alone with the last: its
learner had reached the horizon and made no decision."""

MOST_LEVELS = 64

_HEAD = struct.Struct("<Qqqqddq")


@cache
def ticket_dtype(levels: int) -> np.dtype:
    """The tickets of a policy with so many levels as the elements of a structured array.

    >>> ticket_dtype(2).names
    ('tag', 'learner', 'time', 'arm', 'probability', 'propensity', 'block', 'children', 'chances')
    """
    whole, number = "<i8", "<f8"
    return np.dtype(
        [
            ("tag", "<u8"),
            ("learner", whole),
            ("time", whole),
            ("arm", whole),
            ("probability", number),
            ("propensity", number),
            ("block", whole),
            ("children", whole, (levels,)),
            ("chances", number, (levels,)),
        ]
    )


class Ticket(bytes):
    """A decision that awaits its reward. Made by :meth:`Learner.ask <hlmc.Learner.ask>`.

    It holds what the learner would otherwise have to remember: for every level the choice and its probability. It is
    bytes, 56 and 16 for each level, which can be compared, hashed and kept outside, in a log or in a link:
    ``bytes(ticket)`` and ``str(ticket)`` are read back by :meth:`from_bytes` and :meth:`from_str`.

    Examples
    --------
    >>> import hlmc
    >>> learner = hlmc.EXP3(arms=3, horizon=100, pending=64).start(seed=1)
    >>> ticket = learner.ask()
    >>> ticket.arm, ticket.time, round(ticket.probability, 2)
    (2, 0, 0.33)
    >>> hlmc.Ticket.from_str(str(ticket)) == hlmc.Ticket.from_bytes(bytes(ticket)) == ticket
    True
    >>> learner.tell(ticket, 1.0), learner.tell(ticket, 1.0)
    ('applied', 'duplicate')
    """

    __slots__ = ()

    @classmethod
    def from_bytes(cls, data: bytes) -> Ticket:
        """The ticket that ``bytes(ticket)`` was made of. Its learner checks whether it is genuine."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise BadType(f"a ticket is read from bytes, not from {shown(data)}")
        found = bytes(data)
        size, rest = divmod(len(found) - 8 * CHILDREN_AT, 16)
        if rest or not 1 <= size <= MOST_LEVELS:
            raise BadTicket(f"a ticket has 56 bytes and 16 for each level, not {len(found)}")
        return Ticket(found)

    @classmethod
    def from_str(cls, text: str) -> Ticket:
        """The ticket that ``str(ticket)`` was made of."""
        if not isinstance(text, str):
            raise BadType(f"a ticket is read from a string, not from {shown(text)}")
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise BadTicket(f"{shown(text)} is not a ticket: it must be a string of A-Z, a-z, 0-9, - and _") from None
        ticket = cls.from_bytes(data)
        if str(ticket) != text:
            raise BadTicket(f"{shown(text)} is not a ticket as one is written")
        return ticket

    @property
    def learner(self) -> int:
        """The number of the learner in its fleet; 0 if it is in none."""
        return int(_HEAD.unpack_from(self)[1])

    @property
    def time(self) -> int:
        """The number of decisions before this one."""
        return int(_HEAD.unpack_from(self)[2])

    @property
    def arm(self) -> int:
        """The arm to play."""
        return int(_HEAD.unpack_from(self)[3])

    @property
    def probability(self) -> float:
        """The probability of the decision, given everything before it: see :attr:`Learner.probability`.

        Logs are weighed by the :attr:`propensity`.
        """
        return float(_HEAD.unpack_from(self)[4])

    @property
    def propensity(self) -> float:
        """The probability by which a log of decisions is weighed: that of the arm, given all that was known when the
        top level chose last, the first step of the :attr:`block`.

        Of every arm a that had a chance then, the expectation of 1{arm = a} / propensity is 1. It is infinite, so that
        the decision weighs nothing, where the group that was chosen has been removed and another one is played instead.
        """
        return float(_HEAD.unpack_from(self)[5])

    @property
    def block(self) -> int:
        """The step at which the top level chose last. Decisions of one block share this choice and its chance."""
        return int(_HEAD.unpack_from(self)[6])

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"<ticket for arm {self.arm} at time {self.time}>"


def as_ticket(given: Any) -> Any:
    """A ticket of its text, or of an element of what a fleet's ``ask`` has returned; anything else as it is."""
    if isinstance(given, str):
        return Ticket.from_str(given)
    if isinstance(given, np.void) and given.dtype.names == ticket_dtype(1).names:
        return Ticket.from_bytes(given.tobytes())
    return given


class NamedTicket(Ticket):
    """A ticket of a learner whose arms have names: ``arm`` is the name.

    It is stored as any other ticket is, without the name: what :meth:`from_bytes` and :meth:`from_str` read is a
    :class:`Ticket`, whose ``arm`` is the slot.
    """

    _name: str | int

    @property
    def arm(self) -> str | int:  # type: ignore[override]
        """The name of the arm to play."""
        return self._name

    @property
    def slot(self) -> int:
        """The slot that the arm had when the decision was made."""
        return int(Ticket.arm.__get__(self))

    def __repr__(self) -> str:
        return f"<ticket for {self._name!r} at time {self.time}>"
