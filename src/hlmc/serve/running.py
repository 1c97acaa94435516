"""uvicorn, with what it leaves to others: a limit on connections, slow clients, and streams that end when it stops."""

from __future__ import annotations

import gc
import ipaddress
import logging
import signal
import socket
import time
from typing import Any

from hlmc.errors import BadArgument, extra
from hlmc.serve.config import Config
from hlmc.serve.guard import Guard
from hlmc.serve.rights import Rights, Token
from hlmc.serve.service import Beside, Service

try:
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError as error:
    raise extra(str(error.name), "serve") from None

log = logging.getLogger("hlmc.serve")
COLLECTED = (10_000, 20, 50)
"""When the process looks for cyclic garbage, of which requests leave hardly any: thresholds of :mod:`gc`."""
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Protocol(HttpToolsProtocol):
    """A connection that is refused when there are too many, and knows since when a request is coming in."""

    most = 1000
    since: float | None = None
    full: float | None = None

    def connection_made(self, transport: Any) -> None:
        """Take a connection, or close it at once."""
        if len(self.connections) >= self.most:
            self.transport = transport
            transport.write(_FULL)
            transport.close()
            return
        self.since = time.monotonic()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """A request goes on, unless the connection was refused."""
        if self.flow is not None:
            cycle: Any = self.cycle  # None before the first request
            if self.since is None and (cycle is None or cycle.response_complete):
                self.since = time.monotonic()
            super().data_received(data)

    def is_stuck(self, now: float, late: float) -> bool:
        """Whether a request has been coming, or an answer been going, since before a time."""
        if not self.transport.get_write_buffer_size():
            self.full = None
        elif self.full is None:
            self.full = now
        return any(since is not None and since < late for since in (self.since, self.full))

    def on_message_complete(self) -> None:
        """A request is there."""
        self.since = None
        super().on_message_complete()


class Server(uvicorn.Server):
    """A server that cuts off slow clients, and tells streams to end when it is told to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: once a second, look for connections whose request does not come."""
        if counter % 10 == 0:
            now, patience = time.monotonic(), self.service.limits.patience
            for connection in list(self.server_state.connections):
                if isinstance(connection, Protocol) and connection.is_stuck(now, now - patience):
                    connection.transport.abort()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """A signal to stop: no new connections, streams end, and what was begun is finished."""
        self.service.stopping.set()
        super().handle_exit(sig, frame)


def serve(
    config: Config,
    host: str = "127.0.0.1",
    port: int = 8000,
    more: tuple[Token, ...] = (),
    beside: Beside | None = None,
) -> None:
    """Serve until a signal comes.

    ``more`` are tokens that are good for this run beside those of the file. ``beside`` runs in the same event loop.
    """
    server, listening = prepared(config, host, port, more, _begun(beside))
    log.info(
        "serving %s at http://%s:%d/ %s",
        "1 experiment" if len(config.experiments) == 1 else f"{len(config.experiments)} experiments",
        host if ":" not in host else f"[{host}]",
        listening.getsockname()[1],
        "to everybody on this machine, without tokens" if config.tokens is None else "to those who have a token",
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn raises the signal again when it has stopped
    server.run(sockets=[listening])
    log.info("stopped")


def _begun(beside: Beside | None) -> Beside:
    """What runs when this process, which is the service's own, is ready.

    Collections of cyclic garbage took a sixth of the service's processor time, and stops of more than ten milliseconds:
    each went through all that Numba and the kernels have loaded, which stays until the end.
    """

    async def begun(service: Service) -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECTED)
        if beside is not None:
            await beside(service)

    return begun


def prepared(
    config: Config, host: str, port: int, more: tuple[Token, ...] = (), beside: Beside | None = None
) -> tuple[Server, socket.socket]:
    """A server that has its socket and has opened its experiments."""
    from hlmc.serve.application import Application

    rights = Rights(config.tokens, more)
    if rights.open and not is_loopback(host):
        raise BadArgument(
            f"host must be 127.0.0.1 or another address of loopback where there are no tokens, not {host}: "
            "make one with hlmc token new FILE, and name the file with --tokens"
        )
    try:
        listening = _bound(host, port)
    except OSError as error:
        raise BadArgument(f"port must be free: {host}:{port} cannot be used ({error.strerror})") from None
    try:
        service = Service(config.opened(), config.limits, config.log())
    except BaseException:
        listening.close()
        raise
    settings = uvicorn.Config(
        Application(service, Guard(config.names, config.origins), rights, beside),
        http=type("Limited", (Protocol,), {"most": config.limits.connections}),
        ws="none",
        loop="uvloop",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=config.limits.connections,
        timeout_graceful_shutdown=max(1, int(config.limits.stop)),
    )
    return Server(settings, service), listening


def _bound(host: str, port: int) -> socket.socket:
    """A socket for an address; port 0 takes one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1000)  # whoever comes before the service is ready waits
    except BaseException:
        listening.close()
        raise
    return listening


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("::1")
    (True, True, False, True)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
