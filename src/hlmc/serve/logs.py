"""Log lines: plain, or JSON with ``--log-json``. They hold no token, no id of a decision, no unit and no name."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

FIELDS = ("method", "path", "status", "seconds", "trace_id", "token")
"""What a line may say of a request. ``token`` is the public id of one that changed something."""


class Plain(logging.Formatter):
    """A line for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The line, with what is known of the request behind it."""
        said = " ".join(f"{key}={value}" for key, value in _said(record).items())
        return f"{super().format(record)} {said}".rstrip()


class Json(logging.Formatter):
    """A line for machines: one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **_said(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _said(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key in FIELDS if (value := getattr(record, key, None)) is not None}


def set_up(as_json: bool, level: str = "info") -> None:
    """Write the lines of the service, and those of uvicorn, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(Json() if as_json else Plain())
    for name, least in (("hlmc.serve", level.upper()), ("uvicorn.error", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(least)
