"""SQLite's log is copied into the store by a thread of its own, so that no answer waits for it.

SQLite does this within a commit once the log has some thousand pages, and every request that comes meanwhile waits.
Here most of the log is copied while others write. What they have added meanwhile is copied with the store's turn held,
which takes milliseconds, and the log begins anew: it stays short, and a commit finds no need to do it.
"""

from __future__ import annotations

import asyncio
import fcntl
import time
from contextlib import suppress
from pathlib import Path

from hlmc.bandit.sqlite import SQLiteStore
from hlmc.errors import HLMCError

LEAST = 4000
"""Pages of the log for which it begins anew."""
EVERY = 0.2
"""Seconds between two looks at the log."""


class Log(SQLiteStore):
    """A connection that copies the log of a store and does nothing else."""

    def __init__(self, path: Path, durable: bool = True) -> None:
        super().__init__(path, durable)
        self._task: asyncio.Task[None] | None = None
        with self.guard:
            self._connected().execute("pragma busy_timeout = 0")  # whoever reads is not waited for

    def begin(self) -> None:
        """Copy from now on, in the running event loop."""
        self._task = asyncio.create_task(self._copy_on())

    async def _copy_on(self) -> None:
        while True:
            begun = time.monotonic()
            with suppress(HLMCError):  # a store that is away is seen by those who ask
                await asyncio.to_thread(self.copy)
            await asyncio.sleep(max(EVERY, time.monotonic() - begun))

    def copy(self) -> None:
        """Copy the log, and have it begin anew if it is long and nobody reads what is in it."""
        with self.guard, self.explaining():
            connection = self._connected()
            _, pages, _ = connection.execute("pragma wal_checkpoint(passive)").fetchone()
            if pages >= LEAST:
                fcntl.flock(self._turn, fcntl.LOCK_EX)
                try:
                    connection.execute("pragma wal_checkpoint(restart)").fetchone()
                finally:
                    fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Copy no more."""
        if self._task is not None:
            self._task.cancel()
        super().close()
