"""What a bandit needs of a database. :mod:`hlmc.bandit.sqlite` and :mod:`hlmc.bandit.postgres` provide it.

All SQL of the package is written once, for SQLite, in words that both databases know. A store may rewrite three of
them: the placeholder ``?``, the list ``in (select value from json_each(?))``, whose parameter :meth:`Store.listed`
makes, and what :func:`lock` gives, which stands where rows are to be locked until the transaction ends.

Rows are locked in one order everywhere: decisions by number, then learners by id, then aggregates, then the experiment.

*Forks.* A connection must not be carried across a fork, not even to be closed there. Before a fork of this process all
connections are closed, and parent and child open their own when they next need one.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from hlmc.errors import HLMCError

LISTED = "in (select value from json_each(?))"
"""The condition that a column is in a list of values."""


def lock(column: str = "") -> str:
    """Stands at the end of a select whose rows are to be locked; if a column is given, in its order.

    Where nobody else writes at the same time it is a comment, and the rows are not sorted.
    """
    return f"/* lock {column} */"


class Again(Exception):
    """The database refused a transaction because of others that ran at the same time: it is to be tried again."""


class Store(ABC):
    """A database that holds experiments. One connection; the caller sees to it that one thread uses it at a time."""

    shown: str
    """The store as messages name it, without a password."""
    bad: tuple[type[BaseException], ...]
    """The driver's own errors. :meth:`explained` says in one line what they mean."""

    def __init__(self) -> None:
        self.guard = RLock()
        """Held while the connection is in use, so that a fork waits."""
        _stores.add(self)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Errors of the driver become errors of this library."""
        try:
            yield
        except self.bad as error:
            raise self.explained(error) from None

    @abstractmethod
    def explained(self, error: BaseException) -> HLMCError | Again:
        """What an error of the driver means."""

    @abstractmethod
    def transaction(self, alone: bool = False) -> AbstractContextManager[None]:
        """A transaction that writes: committed at the end of the block, rolled back if that raises.

        When the block is left without an error, what it wrote is as safe as ``durable`` says. ``alone``: no other
        transaction that writes runs at the same time, in any process.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction that only reads: all of it sees one state of the database."""

    @abstractmethod
    def all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""

    def several(self, questions: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        """The rows that each of some statements gives; a question is a statement and its values."""
        return [self.all(*question) for question in questions]

    @abstractmethod
    def each(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement gives, a few at a time, for results of any length."""

    @abstractmethod
    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add rows. A learner that is there already stays as it is."""

    @abstractmethod
    def update(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Set columns. The last one of them is the key by which each row is found."""

    @abstractmethod
    def numbers(self, count: int) -> tuple[Any, ...] | None:
        """What gives numbers for so many new decisions; None: they go on from the last one, as nobody else writes."""

    @abstractmethod
    def listed(self, values: Iterable[Any]) -> Any:
        """The parameter for a :data:`LISTED` of these strings or whole numbers."""

    @abstractmethod
    def now(self) -> float:
        """The time, in seconds since 1970: the database's, or the machine's if the database has none."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """What the database itself finds wrong with its files; empty if nothing."""

    @abstractmethod
    def backup(self, path: Path) -> None:
        """Write a copy of the store, as it is at one moment, to a new file."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection. The next use opens it again."""

    def one(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """The first row that a statement gives; None if there is none."""
        found = self.all(sql, *values)
        return found[0] if found else None


# --- Forks

_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_held: list[Store] = []


def _before_fork() -> None:
    _held[:] = list(_stores)
    for store in _held:
        store.guard.acquire()
        store.close()


def _after_fork() -> None:
    for store in _held:
        store.guard.release()
    _held.clear()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
