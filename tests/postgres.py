"""A real PostgreSQL server for tests: its own folder, its own user, a socket and no port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
PATIENCE = 60
"""Seconds until a server that does not answer has failed."""


def _tool(name: str) -> str:
    """Where a program of PostgreSQL is; the test is skipped if it is nowhere."""
    found = shutil.which(name) or next((str(each / name) for each in reversed(BINARIES) if (each / name).exists()), "")
    if not found:
        pytest.skip(f"{name} of PostgreSQL is not installed")
    return found


class Postgres:
    """A server with a database; ``options`` are for ``postgres``. ``with Postgres() as server: server.url``."""

    def __init__(self, *options: str) -> None:
        self._driver = pytest.importorskip("psycopg")
        self._server, initdb = _tool("postgres"), _tool("initdb")
        self._options = options
        self._as: dict[str, object] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="hlmc-pg-", dir="/tmp"))
        if os.geteuid() == 0:  # which PostgreSQL refuses to run as
            names = {each.pw_name: each for each in pwd.getpwall()}
            user = names.get("postgres") or names["nobody"]
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        command = [initdb, "-D", self.folder / "data", "-U", "hlmc", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        self._run(command)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql:///postgres?host={self.folder}&user=hlmc"

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            command = [self._server, "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses="]
            output = {"stdout": log, "stderr": log, "cwd": self.folder}
            self.process = subprocess.Popen([*command, *self._options], **output, **self._as)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._driver.connect(self.url).close()
                return
            except self._driver.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.02)

    def stop(self, how: int = signal.SIGQUIT) -> None:
        """SIGINT: fast, SIGQUIT: immediate, SIGKILL: at once, and the children follow."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
            self.process = None
            if how == signal.SIGKILL:  # which a server's children notice later than it does
                (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget all stores."""
        with self._driver.connect(self.url, autocommit=True) as connection:
            connection.execute("set client_min_messages = warning")
            connection.execute("drop schema if exists hlmc cascade")

    def _run(self, command: list[object]) -> None:
        done = subprocess.run(command, capture_output=True, cwd=self.folder, **self._as)
        assert done.returncode == 0, done.stderr.decode()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
