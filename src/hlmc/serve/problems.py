"""What went wrong, on the wire: RFC 9457 problem details, and which error of the library is which status.

``type`` is ``urn:hlmc:NAME``, by which a client raises the same error again. ``detail`` is the library's own line.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from hlmc import errors

MEDIA = b"application/problem+json"

KINDS: tuple[tuple[type[Exception], str, int], ...] = (
    (errors.UnknownDecision, "unknown-decision", 404),
    (errors.ConflictingKey, "conflicting-key", 409),
    (errors.OutOfTurn, "out-of-turn", 409),
    (errors.StoreUnavailable, "store-unavailable", 503),
    (errors.BadStore, "bad-store", 500),
    (errors.BadReward, "bad-reward", 422),
    (errors.BadArgument, "bad-argument", 422),
    (errors.HLMCError, "bad-argument", 422),
    (errors.BadType, "bad-type", 422),
)
"""An error, its name on the wire, and its status; the first that fits."""


class Problem(Exception):
    """An answer that is an error.

    >>> Problem(404, "no-experiment", "there is no experiment 'tea'").body()["status"]
    404
    """

    def __init__(self, status: int, name: str, detail: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(detail)
        # A decoder's message repeats what a request calls its fields.
        self.status, self.name, self.detail, self.headers = status, name, errors.brief(detail), headers

    def body(self) -> dict[str, Any]:
        """As JSON has it."""
        title = HTTPStatus(self.status).phrase
        return {"type": f"urn:hlmc:{self.name}", "title": title, "status": self.status, "detail": self.detail}

    def encoded(self) -> bytes:
        """As bytes."""
        return json.dumps(self.body(), ensure_ascii=False).encode("utf-8", "replace")


AGAIN = ((b"retry-after", b"1"),)
"""What tells a client to come back after a second."""


def problem_of(error: Exception) -> Problem:
    """The problem that stands for an error; one that is not the library's own is 500 and says nothing of itself.

    >>> problem_of(errors.BadReward("reward must be a number in [0, 1], not 2")).status
    422
    """
    if isinstance(error, Problem):
        return error
    for kind, name, status in KINDS:
        if isinstance(error, kind):
            return Problem(status, name, str(error), AGAIN if status == 503 else ())
    return Problem(500, "internal", "something went wrong in the service; its log has the details")


def error_of(body: Any, status: int) -> Exception:
    """In a client: the error that a problem stands for.

    >>> error_of({"type": "urn:hlmc:bad-reward", "detail": "reward must be a number in [0, 1], not 2"}, 422)
    BadReward('reward must be a number in [0, 1], not 2')
    """
    named = body.get("type", "") if isinstance(body, dict) else ""
    detail = str(body.get("detail", "")) if isinstance(body, dict) else ""
    detail = detail or f"the service answered with status {status}"
    for kind, name, _ in KINDS:
        if named == f"urn:hlmc:{name}":
            return kind(detail)
    if status in (401, 403):
        return errors.BadArgument(detail)
    return errors.StoreUnavailable(detail) if status >= 429 else errors.BadArgument(detail)
