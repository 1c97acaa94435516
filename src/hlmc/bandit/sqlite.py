"""A store in one SQLite file, by the standard library's ``sqlite3``: nothing to install, nothing to run.

The file is in WAL mode: readers and the writer do not wait for one another. ``synchronous=FULL`` syncs the log before a
commit returns; ``NORMAL`` (``durable=False``) leaves that to checkpoints.

*Many processes.* SQLite lets one process write at a time, and the others ask again after a pause, so that one of them
can keep all of the others out for seconds. Before a transaction each process takes ``flock`` on a file beside the
store (``NAME-turn``), which the kernel hands to those who wait in the order in which they came.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from hlmc.bandit.schema import APPLICATION, VERSION, migrated, statements
from hlmc.bandit.store import LISTED, Store
from hlmc.errors import BadStore, HLMCError, StoreUnavailable

TYPES = {
    "key": "INTEGER PRIMARY KEY",
    "lasting": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "int": "INTEGER",
    "real": "REAL",
    "text": "TEXT",
    "blob": "BLOB",
}
PATIENCE = 30.0
"""Seconds to wait for a program that is not hlmc and has locked the file."""
PAGE = 1024
"""Bytes of a page of a new file. A decision changes the rows of some learner, and SQLite writes whole pages."""
LOG = 16 << 20
"""Bytes of the log at which it is copied to the file."""
REMOTE = ("nfs", "cifs", "smb", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs")
"""Kinds of network file systems, on which SQLite's log and locks do not work."""


class SQLiteStore(Store):
    """A store in an SQLite file, which is made if it is not there, unless ``readonly``."""

    bad = (sqlite3.Error, UnicodeDecodeError)

    def __init__(self, path: Path, durable: bool = True, readonly: bool = False) -> None:
        super().__init__()
        self.path = path
        self.shown = str(path)
        self._durable = durable
        self._readonly = readonly
        self._connection: sqlite3.Connection | None = None
        self._turn = -1
        if not readonly or path.exists():
            _check_local(path)
        elif readonly:
            raise BadStore(f"store must be an SQLite file that is there if it is opened readonly, not {self.shown}")
        with self.guard:
            self._connected()

    # --- The connection

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = self._connect()
            except self.bad as error:
                raise self.explained(error) from None
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self._readonly else "rwc"
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        if not self._readonly and not self.path.parent.is_dir():
            raise BadStore(f"store must be a file in a folder that is there, not {self.shown}")
        connection = sqlite3.connect(
            address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        if not self._readonly:
            side = self.path.with_name(self.path.name + "-turn")
            self._turn = os.open(side, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Set the modes, and make or bring up the tables."""
        found = _pragma(connection, "user_version")
        connection.execute(f"pragma page_size = {PAGE}")  # of no effect on a file that is there
        if found != VERSION or _pragma(connection, "application_id") != APPLICATION:
            self._set_up(connection)
        if not self._readonly:
            if _pragma(connection, "journal_mode = wal") != "wal":
                raise BadStore(f"{self.shown} cannot be a store: its file system does not allow SQLite's WAL mode")
            connection.execute(f"pragma synchronous = {'full' if self._durable else 'normal'}")
        connection.execute("pragma cache_size = -65536")
        connection.execute(f"pragma wal_autocheckpoint = {LOG // int(_pragma(connection, 'page_size'))}")

    def _set_up(self, connection: sqlite3.Connection) -> None:
        if self._readonly:
            self._check_version(connection)
            raise BadStore(f"{self.shown} has an older schema, and readonly does not allow to bring it up")
        connection.execute("begin immediate")
        try:
            found = self._check_version(connection)
            for statement in statements(TYPES) if found == 0 else migrated(found):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {VERSION}")
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute("commit")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("rollback")
            raise

    def _check_version(self, connection: sqlite3.Connection) -> int:
        """The schema's version, 0 for an empty file; an error if the file is not ours or newer."""
        (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
        if tables and _pragma(connection, "application_id") != APPLICATION:
            raise BadStore(f"{self.shown} is a database of another program, not a store of hlmc")
        found = int(_pragma(connection, "user_version"))
        if found > VERSION:
            raise BadStore(f"{self.shown} has schema {found}, and this version of hlmc knows schemas up to {VERSION}")
        return found

    def close(self) -> None:
        with self.guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._turn >= 0:
                os.close(self._turn)
                self._turn = -1

    # --- Transactions

    @contextmanager
    def transaction(self, alone: bool = False) -> Iterator[None]:
        if self._readonly:
            raise BadStore(f"{self.shown} was opened readonly")
        with self.guard:
            connection = self._connected()
            fcntl.flock(self._turn, fcntl.LOCK_EX)
            try:
                connection.execute("begin immediate")
                yield
                connection.execute("commit")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    connection.execute("rollback")
                if isinstance(error, self.bad):
                    raise self.explained(error) from None
                raise
            finally:
                fcntl.flock(self._turn, fcntl.LOCK_UN)

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self.guard, self.explaining():
            connection = self._connected()
            connection.execute("begin")
            try:
                yield
            finally:
                connection.execute("rollback")

    def explained(self, error: BaseException) -> HLMCError:
        code = getattr(error, "sqlite_errorname", "") or ""
        for name, kind, meaning in _MEANINGS:
            if code.startswith(name):
                return kind(f"{self.shown} {meaning} ({error})")
        return BadStore(f"{self.shown} cannot be used: {error}")

    # --- Statements

    def all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connected().execute(*_bound(sql, values)).fetchall()

    def each(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return iter(self._connected().execute(*_bound(sql, values)))

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._write(_insertion(table, tuple(columns)), list(rows))

    def update(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self._write(_change(table, tuple(columns)), list(rows))

    def _write(self, sql: str, rows: list[Sequence[Any]]) -> None:
        if len(rows) == 1:
            self._connected().execute(sql, rows[0])
        else:
            self._connected().executemany(sql, rows)

    def numbers(self, count: int) -> None:
        return None

    def listed(self, values: Iterable[Any]) -> Any:
        return _List(values)

    def now(self) -> float:
        return time.time()

    # --- The whole file

    def integrity(self) -> list[str]:
        return [text for (text,) in self.all("pragma integrity_check") if text != "ok"]

    def backup(self, path: Path) -> None:
        """Copy in one read transaction, which sees one state while others write."""
        with self.guard, self.explaining():
            source = self._connected()
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            except FileExistsError:
                raise BadStore(f"path must be a file that is not there yet, not {path}") from None
            copy = sqlite3.connect(path, isolation_level=None)
            try:
                source.backup(copy)
                copy.execute("pragma journal_mode = wal")
            except BaseException:
                copy.close()
                path.unlink()
                raise
            copy.close()


class _List(list[Any]):
    """The parameter for a LISTED."""


def _bound(sql: str, values: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    """A statement and its parameters: lists as JSON, unless all of them have one member."""
    if _List not in map(type, values):
        return sql, values
    if all(len(each) == 1 for each in values if type(each) is _List):
        return _of_one(sql), [value[0] if type(value) is _List else value for value in values]
    return sql, [json.dumps(value) if type(value) is _List else value for value in values]


@lru_cache(maxsize=1000)
def _of_one(sql: str) -> str:
    return sql.replace(LISTED, "= ?")


@lru_cache(maxsize=1000)
def _insertion(table: str, columns: tuple[str, ...]) -> str:
    return f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})"


@lru_cache(maxsize=1000)
def _change(table: str, columns: tuple[str, ...]) -> str:
    *changed, key = columns
    return f"update {table} set {', '.join(f'{name} = ?' for name in changed)} where {key} = ?"


def _pragma(connection: sqlite3.Connection, pragma: str) -> Any:
    return connection.execute(f"pragma {pragma}").fetchone()[0]


_MEANINGS: tuple[tuple[str, type[HLMCError], str], ...] = (
    ("SQLITE_FULL", StoreUnavailable, "cannot be written: the disk is full; what was acknowledged is kept"),
    ("SQLITE_BUSY", StoreUnavailable, f"is locked by another program for more than {PATIENCE:g} s"),
    ("SQLITE_LOCKED", StoreUnavailable, "is locked by another statement"),
    ("SQLITE_IOERR", StoreUnavailable, "cannot be read or written; what was acknowledged is kept"),
    ("SQLITE_READONLY", StoreUnavailable, "cannot be written: the file or its folder is read-only"),
    ("SQLITE_CANTOPEN", BadStore, "cannot be opened"),
    ("SQLITE_CORRUPT", BadStore, "is damaged: restore it from a backup"),
    ("SQLITE_NOTADB", BadStore, "is not an SQLite file, or it is damaged"),
)


def _check_local(path: Path) -> None:
    """Refuse a file on a network, where the kernel says what is mounted where."""
    kind = _file_system(path)
    if kind.startswith(REMOTE):
        raise BadStore(f"{path} lies on a network file system ({kind}), where SQLite is not safe: use a local disk")


def _file_system(path: Path) -> str:
    """The kind of file system that a path lies on; empty where it is not known."""
    whole = path.resolve()
    found, longest = "", -1
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, mounted, kind, *_ = line.split(" ")
            at = Path(mounted.encode().decode("unicode_escape"))
            if whole.is_relative_to(at) and len(at.parts) > longest:
                found, longest = kind, len(at.parts)
    return found
