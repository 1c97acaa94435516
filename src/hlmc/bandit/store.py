"""What a bandit needs of a database. :mod:`hlmc.bandit.sqlite` and :mod:`hlmc.bandit.postgres` provide it.

All SQL of the package is written once, for SQLite, in words that both databases know. A store may rewrite three of
them: the placeholder ``?``, the list ``in (select value from json_each(?))``, whose parameter :meth:`Store.listed`
makes, and the comment ``/* lock */``, which stands where rows are to be locked until the transaction ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

LISTED = "in (select value from json_each(?))"
"""The condition that a column is in a list of values."""
LOCK = "/* lock */"
"""Stands at the end of a select whose rows are to be locked."""


class Again(Exception):
    """The database refused a transaction because of others that ran at the same time: it is to be tried again."""


class Store(ABC):
    """A database that holds experiments. One connection; the caller sees to it that one thread uses it at a time."""

    shown: str
    """The store as messages name it, without a password."""
    rereads: bool
    """Whether what was read before a lock was granted must be read again after it."""
    bad: tuple[type[BaseException], ...]
    """The driver's own errors. :meth:`explained` says in one line what they mean."""

    @abstractmethod
    def transaction(self, alone: bool = False) -> AbstractContextManager[None]:
        """A transaction that writes: committed at the end of the block, rolled back if that raises.

        When the block is left without an error, what it wrote is as safe as ``durable`` says. ``alone``: no other
        transaction that writes decisions runs at the same time.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """A transaction that only reads: all of it sees one state of the database."""

    @abstractmethod
    def all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""

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
