"""The ASGI application: routes, the page, and what happens at the start and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from hlmc.serve.endpoint import Call, Endpoint, Operation, Receive, Scope, Send
from hlmc.serve.guard import Guard
from hlmc.serve.problems import Problem
from hlmc.serve.rights import Rights
from hlmc.serve.routes import ROUTES
from hlmc.serve.service import Beside, Service
from hlmc.serve.warming import warm

PAGE = {"/": ("index.html", b"text/html; charset=utf-8")} | {
    f"/{name}": (name, kind)
    for name, kind in (
        ("page.css", b"text/css; charset=utf-8"),
        ("page.js", b"text/javascript; charset=utf-8"),
        ("chart.js", b"text/javascript; charset=utf-8"),
    )
}
"""The files of the page and their types."""


class Application:
    """The ASGI application of a service; ``beside`` runs when it is ready.

    A request finds its endpoint by one or two look-ups in a table, whatever it asks for.
    """

    def __init__(self, service: Service, guard: Guard, rights: Rights, beside: Beside | None = None) -> None:
        self._service, self._beside = service, beside

        def endpoint(path: str, operations: Mapping[str, Operation]) -> Endpoint:
            return Endpoint(service, guard, rights, path, operations)

        self._endpoints = {path: endpoint(path, operations) for path, operations in ROUTES.items()}
        self._endpoints |= {path: endpoint(path, {"GET": _file(*file)}) for path, file in PAGE.items()}
        self._nothing = endpoint("(unknown)", {method: Operation(_nothing, None) for method in _METHODS})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path, name = scope["path"], None
        if path.startswith("/v1/"):
            name, slash, rest = path[4:].partition("/")
            path = f"/v1/{{experiment}}{slash}{rest}" if name else ""
        await self._endpoints.get(path, self._nothing)(scope, receive, send, name)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin, and end when the server says so."""
        await receive()
        warming = asyncio.create_task(_begin(self._service, self._beside))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._service.stopping.set()
        warming.cancel()
        self._service.close()
        await send({"type": "lifespan.shutdown.complete"})


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


async def _begin(service: Service, beside: Beside | None) -> None:
    """Compile what decisions need, and then take requests."""
    for hosted in service.hosted.values():
        await asyncio.to_thread(warm, hosted.bandit.policy)
    service.begin()
    service.ready = True
    if beside is not None:
        await beside(service)


async def _nothing(call: Call) -> Any:
    raise Problem(404, "no-address", "there is nothing at this address; /openapi.json lists what there is")


_STRICT = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
            b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"referrer-policy", b"no-referrer"),
)
"""The page loads nothing from elsewhere, and no other page may frame it."""


def _file(name: str, kind: bytes) -> Operation:
    async def read(call: Call) -> bytes:
        return files("hlmc.serve").joinpath("page", name).read_bytes()

    return Operation(read, None, media=kind, headers=_STRICT)
