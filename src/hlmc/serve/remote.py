"""What both clients share: how a call becomes a request, and an answer a result. Nothing here waits or sends."""

from __future__ import annotations

import json
import math
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from hlmc.bandit import Decision, Report, Settings, Tally
from hlmc.bandit.arms import text_of
from hlmc.errors import BadArgument, BadReward, BadType, shown
from hlmc.policies.base import Policy
from hlmc.policies.description import read_policy
from hlmc.serve.problems import error_of

BATCH = 1000
"""Items of a request; longer lists are several requests."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


class Request(NamedTuple):
    """A request, and what its answer means. ``repeats``: it may be sent again when nobody knows whether it arrived."""

    method: str
    path: str
    body: Any
    read: Callable[[Any], Any]
    repeats: bool = True
    key: str | None = None


def pause(attempt: int, retry_after: str | None) -> float:
    """Seconds to wait before the next attempt: at random, so that clients do not come back together.

    >>> 0.0 <= pause(0, None) <= 0.05, 1.0 <= pause(0, "1") <= 1.05
    (True, True)
    """
    least = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
    return min(LONGEST_PAUSE, least + random.uniform(0.0, FIRST_PAUSE * 2**attempt))


def answered(status: int, text: bytes) -> Any:
    """The JSON of an answer, or the error that it stands for."""
    try:
        body = json.loads(text) if text else None
    except ValueError:
        body = None
    if status >= 300:
        raise error_of(body, status)
    return body


class Remote:
    """The requests of one experiment of a service."""

    def __init__(self, name: str) -> None:
        self.name = text_of("name", name)
        self._base = f"/v1/{quote(self.name, safe='')}"

    # --- Decisions and rewards

    def ask(self, unit: Any, key: Any) -> tuple[bool, list[Request]]:
        """Whether it is a list, and the requests. Each has a key, so that a repeated one makes no second decision."""
        many = unit is not None and not isinstance(unit, (str, bytes)) and hasattr(unit, "__iter__")
        units = [None if each is None else text_of("unit", each) for each in (unit if many else [unit])]
        path = f"{self._base}/ask"
        if not many:
            own = secrets.token_urlsafe(18) if key is None else text_of("key", key)
            return False, [Request("POST", path, {"unit": units[0], "key": own}, lambda body: [_decision(body)])]
        if key is None:
            return True, [Request("POST", path, [{"unit": each} for each in part], _decisions, key=_own_key())
                          for part in _parts(units)]  # fmt: skip
        keys = [None if each is None else text_of("key", each) for each in key]
        if len(keys) != len(units):
            raise BadArgument(f"key must be a list of {len(units)} keys, one for each unit, not of {len(keys)}")
        items = [{"unit": u, "key": _own_key() if k is None else k} for u, k in zip(units, keys, strict=True)]
        return True, [Request("POST", path, part, _decisions) for part in _parts(items)]

    def tell(self, decision: Any, reward: Any) -> tuple[bool, list[Request]]:
        """Whether it is a list, and the requests."""
        path = f"{self._base}/tell"
        if isinstance(decision, (str, Decision)):
            body = {"id": _id(decision), "reward": _number(reward)}
            return False, [Request("POST", path, body, lambda answer: [answer["result"]])]
        names, rewards = list(decision), list(np.asarray(reward).tolist() if isinstance(reward, np.ndarray) else reward)
        if len(names) != len(rewards):
            raise BadArgument(f"reward must be a list of {len(names)}, one for each decision, not of {len(rewards)}")
        items = [{"id": _id(name), "reward": _number(each)} for name, each in zip(names, rewards, strict=True)]
        return True, [Request("POST", path, part, _results) for part in _parts(items)]

    def drop(self, decision: Any) -> tuple[bool, list[Request]]:
        """Whether it is a list, and the requests."""
        path = f"{self._base}/drop"
        if isinstance(decision, (str, Decision)):
            return False, [Request("POST", path, {"id": _id(decision)}, lambda answer: [answer["result"]])]
        items = [{"id": _id(name)} for name in decision]
        return True, [Request("POST", path, part, _results) for part in _parts(items)]

    # --- The rest

    def experiment(self) -> Request:
        """What the experiment is."""
        return Request("GET", self._base, None, lambda body: body)

    def report(self) -> Request:
        """The report."""
        return Request("GET", f"{self._base}/report", None, report_of)

    def configure(self, changes: dict[str, Any]) -> Request:
        """Change settings."""
        return Request("POST", f"{self._base}/settings", changes, lambda body: Settings(**body))

    def forget(self, unit: Any) -> Request:
        """Forget a unit."""
        body = {"unit": text_of("unit", unit)}
        return Request("POST", f"{self._base}/forget", body, lambda answer: bool(answer["forgotten"]))

    def arms(self) -> Request:
        """The arms that are there."""
        return Request("GET", f"{self._base}/arms", None, lambda body: body)

    def change_arms(self, action: str, **named: Any) -> Request:
        """Change the arms. Not repeated: a second "add" would be refused."""
        return Request("POST", f"{self._base}/arms", {"action": action, **named}, lambda body: None, repeats=False)


def policy_of(body: Any) -> Policy:
    """The policy of an experiment that a service describes."""
    description = json.dumps(body["description"]).encode()
    return read_policy("the service's answer", description, int(body["words"]["total"]), None)


def report_of(body: dict[str, Any]) -> Report:
    """A report as the service's own process has it."""
    arms = tuple({**each, "tally": _tally(each["tally"])} for each in body["arms"])
    hours = tuple(
        {"time": each["time"], "learned": _tally(each["learned"]), "control": _tally(each["control"])}
        for each in body["hours"]
    )
    return Report(
        name=body["name"],
        policy=body["policy"],
        units=body["units"],
        learned=_tally(body["learned"]),
        control=_tally(body["control"]),
        arms=arms,
        hours=hours,
        favourites=tuple((name, share) for name, share in body["favourites"]),
        delay=body["delay"],
        warnings=tuple(body["warnings"]),
    )


_SUMS = tuple(each.name for each in fields(Tally))


def _tally(body: dict[str, Any]) -> Tally:
    whole = {name: body[name] for name in _SUMS if name != "delay"}
    return Tally(**whole, delay=(body["delay"] or 0.0) * body["told"])


def _own_key() -> str:
    return secrets.token_urlsafe(18)


def _parts(items: Sequence[Any]) -> Iterator[list[Any]]:
    for at in range(0, len(items), BATCH):
        yield list(items[at : at + BATCH])


def _decision(body: dict[str, Any]) -> Decision:
    return Decision(body["arm"], body["id"], body["propensity"], body["unit"], body["control"])


def _decisions(body: list[dict[str, Any]]) -> list[Decision]:
    for each in body:
        if "error" in each:
            raise error_of(each["error"], each["error"]["status"])
    return [_decision(each) for each in body]


def _results(body: list[dict[str, Any]]) -> list[str]:
    for each in body:
        if "error" in each:
            raise error_of(each["error"], each["error"]["status"])
    return [each["result"] for each in body]


def _id(decision: Any) -> str:
    found = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(found, str):
        raise BadType(f"decision must be the id of a decision, a text, not {shown(found)}")
    return found


def _number(reward: Any) -> float:
    try:
        found = float(reward)
    except (TypeError, ValueError):
        raise BadReward(f"reward must be a number, not {shown(reward)}") from None
    if not math.isfinite(found):
        raise BadReward(f"reward must be a finite number, not {shown(reward)}")
    return found
