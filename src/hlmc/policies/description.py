"""A policy as JSON: its name, the version of its rule, its arguments, and how it divides arms and time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from hlmc.engine.layout import LATER_WORDS
from hlmc.errors import BadArgument, BadType, shown
from hlmc.files.disk import StrPath, bad
from hlmc.policies import CATALOGUE as POLICIES
from hlmc.policies.base import Policy
from hlmc.routines import CATALOGUE as ROUTINES
from hlmc.routines import Custom, Routine, kind


def described(policy: Policy) -> bytes:
    """The JSON from which :func:`read_policy` makes the policy again."""
    name = type(policy).__name__
    if POLICIES.get(name) is not type(policy):
        raise BadType(f"only the policies of hlmc can be saved, not {shown(policy)}")
    content = {
        "policy": name,
        "arguments": {key: _plain(value) for key, value in policy.arguments().items()},
        "levels": _levels(policy),
        **({} if policy.rule == 1 else {"rule": policy.rule}),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """An argument as JSON has it."""
    if isinstance(value, Routine) and _is_own(value):
        return {"routine": Custom.name, "label": _label(value)}
    if isinstance(value, Routine):
        own = {f.name: getattr(value, f.name) for f in fields(value)}
        return {"routine": value.name, **{k: _plain(v) for k, v in own.items() if v is not None}}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def read_policy(
    path: StrPath, description: bytes, words: int, routines: Mapping[str, Routine] | None, first: bool = False
) -> Policy:
    """The policy that a file describes, whose rows must have so many words.

    ``first``: the format is of version 1, in which rows lack some words of the window.
    """
    try:
        policy = _understood(description, routines) if routines else _understood_alone(description)
        wanted = policy.words.total - (LATER_WORDS if first and policy.pending else 0)
        if words != wanted:
            raise _Unfit(f"it has rows of {words} words, and those of {policy!r} have {wanted}")
    except _Unfit as problem:
        raise bad(path, str(problem)) from None
    except _NotGiven as problem:
        raise BadArgument(f"{os.fspath(path)} {problem}") from None
    return policy


class _Unfit(Exception):
    """What is wrong with a description."""


class _NotGiven(Exception):
    """Which routine only the caller has."""


def _understood(description: bytes, routines: Mapping[str, Routine]) -> Policy:
    """The policy that a description describes."""
    try:
        content = json.loads(description)
        name, arguments, levels = (content[key] for key in ("policy", "arguments", "levels"))
        rule = content.get("rule", 1)
        cls = POLICIES.get(name)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _Unfit("its description of the policy cannot be read") from None
    if cls is None:
        raise _Unfit(f"it is for a policy {name!r}, which this version of hlmc does not have")
    if rule != cls.rule:
        raise _Unfit(
            f"it follows rule {shown(rule)} of {name}, and this version of hlmc has rule {cls.rule}: "
            "go on with the version that wrote it, or start anew"
        )
    try:
        policy = cls(**{key: _value(value, routines) for key, value in arguments.items()})
        fits = _levels(policy) == levels
    except _NotGiven:
        raise
    except Exception as error:  # whatever a constructor makes of nonsense
        raise _Unfit(f"its description of the policy makes no sense ({error})") from None
    if not fits:
        raise _Unfit(f"this version of hlmc divides arms and time in other ways for {policy!r}")
    return policy


@lru_cache(maxsize=64)
def _understood_alone(description: bytes) -> Policy:
    """The same for many files of one policy, which then is made once."""
    return _understood(description, {})


def _value(value: Any, routines: Mapping[str, Routine]) -> Any:
    """An argument from JSON."""
    if isinstance(value, list):
        return tuple(_value(v, routines) for v in value)
    if not isinstance(value, dict):
        return value
    own = dict(value)
    name = own.pop("routine")
    if name == Custom.name:
        return _given(own["label"], routines)
    cls = {cls.name: cls for cls in ROUTINES}[name]
    return cls(**own)


def _given(label: str, routines: Mapping[str, Routine]) -> Routine:
    routine = routines.get(label)
    if routine is None or not _is_own(routine) or _label(routine) != label:
        found = "" if routine is None else f", not {shown(routine)}"
        raise _NotGiven(f"uses a routine of your own: give it with load(path, routines={{{label!r}: ...}}){found}")
    return routine


def own_routines(policy: Policy) -> dict[str, Routine]:
    """The routines of a policy that a file only names."""
    used = getattr(policy, "routines_used", ())
    return {_label(routine): routine for routine in used if _is_own(routine)}


def _is_own(routine: Routine) -> bool:
    """Whether a routine is a user's own, so that a file can only name it."""
    return isinstance(routine, Custom) or kind(routine) < 0


def _label(routine: Routine) -> str:
    return str(getattr(routine, "label", routine.name))


def _levels(policy: Policy) -> list[list[int]]:
    """How the policy divides arms and time, which another version of the planner may do otherwise."""
    return [[level.children, level.size, level.length] for level in policy.plan.levels]
