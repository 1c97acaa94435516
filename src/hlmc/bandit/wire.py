"""Statements to PostgreSQL: many in one message, by the pipeline mode of libpq, which psycopg hands through.

psycopg's own pipelines take as much processor time per statement as all the rest of a decision. What a bandit sends is
little: numbers, texts, bytes and lists of them, always in binary form, in a few statements that are prepared once.
"""

from __future__ import annotations

import re
import select
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

from hlmc.bandit.store import LISTED, lock

Statement = tuple[str, Sequence[Any]]


class Wire:
    """One connection of psycopg, on which nobody else runs statements while :meth:`sent` does."""

    def __init__(self, connection: Any) -> None:
        from psycopg import OperationalError, pq
        from psycopg.adapt import Transformer
        from psycopg.errors import error_from_result

        self._connection, self._libpq = connection, connection.pgconn
        self._lost, self._error, self._rows = OperationalError, error_from_result, Transformer
        self._ready, self._sync = pq.ConnStatus.OK, pq.ExecStatus.PIPELINE_SYNC
        self._fine = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
        self._prepared: dict[Any, bytes] = {}
        self._poll = select.poll()

    def sent(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements, one message there and one back; the rows of each. The error is that of the first that fails.

        After an error the connection is of no more use: which statements it knows is not known.
        """
        libpq, wanted = self._libpq, []
        libpq.enter_pipeline_mode()
        for text, values in statements:
            kinds, given = _packed(values)
            name = self._prepared.get((text, kinds))
            if name is None:
                name = self._prepared[text, kinds] = b"hlmc_%d" % len(self._prepared)
                libpq.send_prepare(name, translated(text).encode(), kinds)
                wanted.append(False)
            libpq.send_query_prepared(name, given, (1,) * len(given), 1)
            wanted.append(True)
        libpq.pipeline_sync()
        results = self._answers()
        libpq.exit_pipeline_mode()
        return [self._read(result) for result, own in zip(results, wanted, strict=True) if own]

    def _answers(self) -> list[Any]:
        """What the server answers to each part of a message."""
        libpq = self._libpq
        found: list[Any] = []
        while True:
            while (unsent := libpq.flush()) or libpq.is_busy():
                self._poll.register(libpq.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
                self._poll.poll()  # other threads run meanwhile
                libpq.consume_input()
            result = libpq.get_result()
            if result is None:  # the end of one part
                if libpq.status != self._ready:
                    raise self._lost("the connection was lost")
            elif result.status == self._sync:
                return found
            elif result.status in self._fine:
                found.append(result)
            else:
                raise self._error(result)

    def _read(self, result: Any) -> list[tuple[Any, ...]]:
        if not result.ntuples:
            return []
        rows = self._rows(self._connection)
        rows.set_pgresult(result)
        return rows.load_rows(0, result.ntuples, tuple)


_LOCK = re.escape(lock("COLUMN")).replace("COLUMN", r"(\w+)")


@lru_cache(maxsize=1000)
def translated(sql: str) -> str:
    """A statement of this package in the words of PostgreSQL."""
    numbers = count(1)
    words = re.sub(_LOCK, r"order by \1 for update", sql.replace(LISTED, "= any(?)").replace(lock(), "for update"))
    return re.sub(r"\?", lambda _: f"${next(numbers)}", words)


# --- Values in binary form


class Column:
    """Many values of one kind, which PostgreSQL takes as an array."""

    def __init__(self, kind: str, values: Sequence[Any]) -> None:
        self.kind, self.values = kind, values

    def packed(self) -> bytes:
        """Dimensions, whether there are nulls, the elements' type, count, lower bound; then size and bytes of each."""
        element, form = _FORMS[_KINDS[self.kind]]
        pieces = [struct.pack(">iiiii", 1, 1, element, len(self.values), 1)]
        for value in self.values:
            if value is None:
                pieces.append(b"\xff\xff\xff\xff")
            else:
                piece = form(value)
                pieces += (len(piece).to_bytes(4, "big"), piece)
        return b"".join(pieces)


_KINDS = {"key": int, "lasting": int, "int": int, "real": float, "text": str, "blob": bytes}
_FORMS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    int: (20, struct.Struct(">q").pack),
    float: (701, struct.Struct(">d").pack),
    str: (25, str.encode),
    bytes: (17, bytes),
}
_ARRAYS = {int: 1016, float: 1022, str: 1009, bytes: 1001}


def _packed(values: Sequence[Any]) -> tuple[tuple[int, ...], list[bytes | None]]:
    """PostgreSQL's numbers of the types of values, and the values."""
    kinds: list[int] = []
    packed: list[bytes | None] = []
    for value in values:
        if value is None:
            kinds.append(0)
            packed.append(None)
        elif type(value) is Column:
            kinds.append(_ARRAYS[_KINDS[value.kind]])
            packed.append(value.packed())
        else:
            kind, form = _FORMS[type(value)]
            kinds.append(kind)
            packed.append(form(value))
    return tuple(kinds), packed
