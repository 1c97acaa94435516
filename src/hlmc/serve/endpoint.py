"""From an ASGI call to a function of :mod:`hlmc.serve.routes`, and back.

The order is: Host, Origin and Content-Type (nothing is read of a request that must not be); the token and its rights;
the body; the function. Whatever is raised on the way is a problem (RFC 9457).
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from hlmc.serve.guard import Guard, Headers, headers_of
from hlmc.serve.problems import MEDIA, Problem, problem_of
from hlmc.serve.rights import ADMIN, Rights, Token
from hlmc.serve.service import Hosted, Service

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Pairs = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
log = logging.getLogger("hlmc.serve")
_TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
SAFE: Pairs = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class Call(NamedTuple):
    """A request whose right is proved."""

    service: Service
    hosted: Hosted | None
    token: Token
    headers: Headers
    body: bytes

    @property
    def experiment(self) -> Hosted:
        """The experiment that the address names."""
        assert self.hosted is not None
        return self.hosted


class Streamed(Protocol):
    """An answer that comes in pieces: a media type and a function that gives them, one after the other."""

    media: bytes
    headers: Pairs

    def pieces(self) -> Any:
        """An asynchronous iterator over bytes."""


class Operation(NamedTuple):
    """What a method of an address does.

    ``function`` gives bytes of ``media``, something that becomes JSON, or a stream. ``right`` None: anybody may.
    ``takes`` and ``gives`` are types of :mod:`hlmc.serve.wire`; a pair of types is one of the first, or a list of both.
    """

    function: Callable[[Call], Awaitable[Any]]
    right: str | None
    takes: Any = None
    gives: Any = None
    media: bytes = JSON
    headers: Pairs = ()


class Endpoint:
    """The ASGI application of one address.

    Parameters
    ----------
    path
        The address as the route has it, which is what log lines say.
    operations
        What each method does.
    """

    def __init__(
        self, service: Service, guard: Guard, rights: Rights, path: str, operations: Mapping[str, Operation]
    ) -> None:
        self._service, self._guard, self._rights = service, guard, rights
        self._path = path
        self._operations = dict(operations)

    async def __call__(self, scope: Scope, receive: Receive, send: Send, name: str | None) -> None:
        """Answer a request about an experiment of this name; None: about no experiment."""
        begun = time.perf_counter()
        method = scope["method"]
        headers: Headers = {}
        more: Pairs = ()
        failed = False
        try:
            headers = headers_of(scope["headers"])
            if method == "OPTIONS":
                await _answer(send, 204, b"", (*self._guard.preflight(headers), *SAFE))
                return
            result, operation = await self._done(receive, method, name, headers)
            media, more = operation.media, operation.headers
            status = 200
            if isinstance(result, bytes):
                body = result
            elif hasattr(result, "pieces"):
                await self._stream(send, result, headers)
                return
            else:
                body = msgspec.json.encode(result)
        except Exception as error:
            problem = problem_of(error)
            failed = problem.name == "internal"
            if failed:
                log.exception("an error of the service itself", extra=self._said(method, 500, begun, headers))
            status, body, media, more = problem.status, problem.encoded(), MEDIA, problem.headers
        if b"origin" in headers:
            more = (*more, *self._guard.allowing(headers))
        if b"traceparent" in headers and _TRACE.fullmatch(headers[b"traceparent"]):
            more = (*more, (b"traceparent", headers[b"traceparent"]))
        await _answer(send, status, body, ((b"content-type", media), *SAFE, *more))
        if status >= 500 and not failed and self._path != "/readyz" and begun >= self._service.quiet_until:
            self._service.quiet_until = begun + 1.0  # a database that is away is one line a second
            log.error("refused: %s", problem.name, extra=self._said(method, status, begun, headers))
        elif log.isEnabledFor(logging.DEBUG):
            log.debug("answered", extra=self._said(method, status, begun, headers))

    async def _done(self, receive: Receive, method: str, name: str | None, headers: Headers) -> tuple[Any, Operation]:
        """Check a request and do what it asks for."""
        operation = self._operations.get("GET" if method == "HEAD" else method)
        self._guard.check(headers, operation is not None and operation.takes is not None)
        if operation is None:
            allowed = ", ".join(self._operations).encode()
            raise Problem(405, "bad-method", f"this address does not take {method[:20]}", ((b"allow", allowed),))
        hosted, token = None, self._rights.EVERYBODY
        if operation.right is not None:
            hosted, token = self._allowed(operation.right, name, headers)
        body = b"" if operation.takes is None else await self._body(headers, receive)
        result = await operation.function(Call(self._service, hosted, token, headers, body))
        if operation.right == ADMIN:
            log.info("changed", extra=self._said(method, 200, None, headers) | {"token": token.id})
        return result, operation

    def _allowed(self, right: str, name: str | None, headers: Headers) -> tuple[Hosted | None, Token]:
        """The experiment of this name, if the request has the right to it."""
        token = self._rights.of(headers.get(b"authorization"))
        hosted = None if name is None else self._service.hosted.get(name)
        if token is None:
            raise Problem(401, "no-token", "this needs a token: Authorization: Bearer ...", _CHALLENGE)
        if name is None:
            # What is about no experiment is for every token that is known; each sees what it may.
            return None, token
        if not token.allows(right, name):
            if token is self._rights.EVERYBODY:
                raise Problem(401, "no-token", f"{right} needs a token, which hlmc token new makes", _CHALLENGE)
            raise Problem(403, "no-right", f"this token does not give the right {right} here")
        if hosted is None:
            raise Problem(404, "no-experiment", "there is no experiment of this name")
        return hosted, token

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The body, if it is not too long. Whoever sends it too slowly is cut off by the server."""
        most = self._service.limits.body
        said = headers.get(b"content-length", b"0")
        if said.isdigit() and int(said[:20]) > most:
            raise Problem(413, "too-large", f"a request may have {most} bytes")
        message = await receive()
        if not message.get("more_body"):
            whole: bytes = message.get("body", b"")
        else:
            parts, size = [], 0
            while True:
                if message["type"] == "http.disconnect":
                    raise Problem(400, "cut-off", "the request ended too early")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise Problem(413, "too-large", f"a request may have {most} bytes")
                if not message.get("more_body"):
                    break
                message = await receive()
            whole = b"".join(parts)
        if len(whole) > most:
            raise Problem(413, "too-large", f"a request may have {most} bytes")
        return whole

    async def _stream(self, send: Send, result: Streamed, headers: Headers) -> None:
        """Send an answer piece by piece; who takes none for too long is cut off."""
        pairs = ((b"content-type", result.media), *SAFE, *result.headers, *self._guard.allowing(headers))
        await send({"type": "http.response.start", "status": 200, "headers": list(pairs)})
        patience = self._service.limits.patience
        async for piece in result.pieces():
            async with asyncio.timeout(patience):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _said(self, method: str, status: int, begun: float | None, headers: Headers) -> dict[str, Any]:
        """What a log line says of a request: never a token, an id, a unit or a name."""
        said: dict[str, Any] = {"method": method[:20], "path": self._path, "status": status}
        if begun is not None:
            said["seconds"] = round(time.perf_counter() - begun, 6)
        trace = _TRACE.fullmatch(headers.get(b"traceparent", b""))
        if trace:
            said["trace_id"] = trace[1].decode()
        return said


_CHALLENGE = ((b"www-authenticate", b"Bearer"),)


async def _answer(send: Send, status: int, body: bytes, headers: Pairs) -> None:
    start = [(b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
