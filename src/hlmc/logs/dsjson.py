"""Lines of VW's ``dsjson``: one decision each, with its cost, its probability and its context."""

from __future__ import annotations

from typing import Any


def is_one(event: Any) -> bool:
    """Whether an object is a decision of ``dsjson``; other lines of such a log, such as dangling rewards, are none."""
    return isinstance(event, dict) and "_label_cost" in event and "_label_probability" in event


def row(event: dict[str, Any]) -> dict[str, Any]:
    """A decision as a row of a log. The reward is the cost with the other sign, the arm the action (from 1) or its id.

    >>> row({"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 3, "Timestamp": "2026-01-01T00:00:00Z"})
    {'arm': 3, 'reward': 1, 'propensity': 0.8, 'time': '2026-01-01T00:00:00Z', 'context': None}
    """
    if event.get("pdrop"):
        raise ValueError("decisions were dropped from it (pdrop), and what is left says nothing about how many")
    actions = event.get("a") or [event.get("_label_Action")]
    return {
        "arm": event.get("_label_Action", actions[0]),
        "reward": -event["_label_cost"],
        "propensity": event["_label_probability"],
        "time": event.get("Timestamp"),
        "context": event.get("c"),
    }
