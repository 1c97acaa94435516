"""The OpenAPI 3.1 document, derived from the routes and from the types of :mod:`hlmc.serve.wire`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hlmc.serve import wire
from hlmc.serve.endpoint import JSON, Operation
from hlmc.versions import VERSION

_REFUSALS = {
    "400": "The request cannot be read.",
    "401": "A token is needed.",
    "403": "The token does not give this right, or the page is of another site.",
    "404": "There is no such experiment, or no such decision.",
    "405": "The address does not take this method.",
    "409": "The key was used with other arguments, or there is no arm to play, or no room for another unit.",
    "413": "The body or the list is too long.",
    "415": "The body is not application/json.",
    "421": "The service is not known by this Host.",
    "422": "An argument is outside its range.",
    "429": "Overload: come back after Retry-After seconds.",
    "500": "The store is damaged, or the service has a mistake.",
    "503": "The store cannot be used now. What was acknowledged is kept.",
}


def document(routes: Mapping[str, Mapping[str, Operation]]) -> dict[str, Any]:
    """The document for these routes."""
    listed = [each for methods in routes.values() for each in methods.values()]
    types = [kind for each in listed for kind in (each.takes, *_given(each)) if kind is not None] + [wire.Problem]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    known = iter(schemas)
    paths: dict[str, Any] = {}
    for path, methods in routes.items():
        paths[path] = {}
        for method, operation in methods.items():
            takes = next(known) if operation.takes is not None else None
            gives = [next(known) for _ in _given(operation)]
            if len(gives) == 2:  # one, or a list in which some were refused
                gives = [{"anyOf": [gives[0], {"type": "array", "items": {"anyOf": gives}}]}]
            paths[path][method.lower()] = _operation(path, method, operation, takes, gives[0])
    return {
        "openapi": "3.1.0",
        "info": {"title": "hlmc serve", "version": VERSION, "description": "Decisions and rewards of bandits."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                status: {
                    "description": text,
                    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
                for status, text in _REFUSALS.items()
            },
        },
    }


def _given(operation: Operation) -> tuple[Any, ...]:
    return operation.gives if isinstance(operation.gives, tuple) else (operation.gives,)


def _operation(path: str, method: str, operation: Operation, takes: Any, gives: Any) -> dict[str, Any]:
    media = operation.media.decode().split(";")[0]
    name = path.strip("/").replace("{experiment}/", "").replace("/", "_") or "page"
    made: dict[str, Any] = {
        "operationId": f"{method.lower()}_{name}".replace("{experiment}", "experiment"),
        "summary": (operation.function.__doc__ or "").split("\n")[0],
        "responses": {
            "200": {"description": "Done.", "content": {media: {"schema": gives if media == JSON.decode() else {}}}},
            **{status: {"$ref": f"#/components/responses/{status}"} for status in _REFUSALS},
        },
    }
    if "{experiment}" in path:
        made["parameters"] = [_parameter("experiment", "path", 100, True)]
    if path.endswith("/ask"):
        made["parameters"].append(_parameter("Idempotency-Key", "header", wire.MOST_KEY, False))
    if takes is not None:
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": takes}}}
    if operation.right is not None:
        made["security"] = [{"token": []}, {}]
        made["description"] = f"Needs the right `{operation.right}`."
    return made


def _parameter(name: str, where: str, most: int, required: bool) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "maxLength": most}
    return {"name": name, "in": where, "required": required, "schema": schema}
