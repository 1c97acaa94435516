"""Load for services: many connections, as little work per request as possible, so that the service is what is measured.

Talks to 127.0.0.1 alone. Used by ``benchmarks/serve.py`` and by tests.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any


class Connection(asyncio.Protocol):
    """A connection that sends one request after the other, and reads answers that have a Content-Length."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Read a part of an answer, or all of it."""
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(rest) >= length and self._waiting is not None and not self._waiting.done():
            self._buffer = rest[length:]
            self._waiting.set_result((int(head[9:12]), rest[:length]))

    def connection_lost(self, error: Exception | None) -> None:
        """The service has gone: whoever waits is told."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionResetError("the connection was lost"))

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer to a request."""
        if self._transport.is_closing():
            raise ConnectionResetError("the connection was lost")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """End."""
        self._transport.close()


async def connected(port: int) -> Connection:
    """A new connection to a port of this machine."""
    _, protocol = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return protocol


def get(path: str) -> bytes:
    """A request."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def post(path: str, body: Any) -> bytes:
    """A request with JSON in it."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    )
    return head.encode() + b"\r\n\r\n" + content


class Measured:
    """How many items were done, and how long each request took."""

    def __init__(self) -> None:
        self.items = 0
        self.latencies: list[float] = []
        self.seconds = 0.0

    @property
    def rate(self) -> float:
        """Items a second."""
        return self.items / self.seconds

    def quantile(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        ordered = sorted(self.latencies)
        return 1000.0 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


Step = Callable[[Connection, Measured], Awaitable[int]]


async def driven(ports: list[int], connections: int, seconds: float, step: Step) -> Measured:
    """Let every connection take one step after the other; a step gives the number of items that it did."""
    measured = Measured()
    made = [await connected(ports[i % len(ports)]) for i in range(connections)]
    end = time.perf_counter() + seconds

    async def go_on(connection: Connection) -> None:
        while time.perf_counter() < end:
            done = await step(connection, measured)
            measured.items += done

    begun = time.perf_counter()
    await asyncio.gather(*(go_on(each) for each in made))
    measured.seconds = time.perf_counter() - begun
    for each in made:
        each.close()
    return measured


async def timed(connection: Connection, measured: Measured, request: bytes) -> bytes:
    """Send a request that must succeed, and note how long it took."""
    begun = time.perf_counter()
    status, body = await connection.send(request)
    measured.latencies.append(time.perf_counter() - begun)
    if status != 200:
        raise RuntimeError(f"status {status}: {body[:200]!r}")
    return body
