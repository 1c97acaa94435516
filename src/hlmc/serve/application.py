"""The ASGI application: routes, the page, and what happens at the start and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.routing import Route, Router

from hlmc.serve.endpoint import Call, Endpoint, Operation
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


def application(service: Service, guard: Guard, rights: Rights, beside: Beside | None = None) -> Any:
    """The ASGI application of a service; ``beside`` runs when it is ready."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        warming = asyncio.create_task(_begin(service, beside))
        yield
        service.stopping.set()
        warming.cancel()
        service.close()

    def endpoint(path: str, operations: Mapping[str, Operation]) -> Endpoint:
        return Endpoint(service, guard, rights, path, operations)

    routes = [Route(path, endpoint(path, operations)) for path, operations in ROUTES.items()]
    routes += [Route(path, endpoint(path, {"GET": _file(*file)})) for path, file in PAGE.items()]
    nothing: Any = endpoint("(unknown)", {method: Operation(_nothing, None) for method in _METHODS})
    return Router(routes, redirect_slashes=False, default=nothing, lifespan=lifespan)


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


async def _begin(service: Service, beside: Beside | None) -> None:
    """Compile what decisions need, and then take requests."""
    for hosted in service.hosted.values():
        await asyncio.to_thread(warm, hosted.bandit.policy)
        hosted.looker.begin()
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
