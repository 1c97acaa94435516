"""Files in TOML: how they are read, and what stands in them for a policy. Complaints name the key."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hlmc.errors import BadArgument, BadFile, BadType, HLMCError, shown
from hlmc.files import disk
from hlmc.policies import CATALOGUE, Policy
from hlmc.spelling import near, spelled

MOST_DOTS = 100
"""Parts of a dotted key: tomllib takes memory that grows with their square."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
# From the beginning of a key on, and without a step back (++, *+): in time proportional to the length of the text.
_DEEP = re.compile(rf"(?<![\w\\.-])(?:{_PART}[ \t]*+\.[ \t]*+){{{MOST_DOTS}}}")


def contents_of(path: Path) -> dict[str, Any]:
    """What stands in a file."""
    try:
        text = disk.contents(path).decode()
        if _DEEP.search(text):
            raise BadFile(f"{path} is not valid here: a key has more than {MOST_DOTS} parts")
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{path} is not valid TOML: {error}") from error


def policy_of(name: str, table: Any, arms: int, horizon: int | None) -> Policy:
    """The policy that a table describes: its arguments, and ``policy``, which is ``name`` where it is left out.

    >>> policy_of("HLMC", {"memory": 20}, 100, 1000)
    HLMC(arms=100, memory=20, horizon=1000)
    """
    if not isinstance(table, dict):
        raise BadType(f"it must be a table of arguments, not {shown(table)}")
    given = table.get("policy", name)
    kind = spelled(given, CATALOGUE)
    if kind is None:
        raise BadArgument(f"there is no policy {given!r}; {nearest(given, CATALOGUE)}")
    parameters = inspect.signature(CATALOGUE[kind]).parameters
    arguments = {key: frozen(value) for key, value in table.items() if key != "policy"}
    known(arguments, ("policy", *parameters))
    arguments.setdefault("arms", arms)
    if "horizon" in parameters:
        arguments.setdefault("horizon", horizon)
        if arguments["horizon"] == "unknown":
            arguments["horizon"] = None
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in arguments]
    if missing:
        raise BadArgument(f"{kind} needs {' and '.join(missing)}")
    return CATALOGUE[kind](**arguments)


def frozen(value: Any) -> Any:
    """Lists as tuples, which a policy can keep."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def known(table: Iterable[str], keys: Iterable[str]) -> None:
    """Refuse keys that there are not."""
    keys = tuple(keys)
    for key in table:
        if key not in keys:
            raise BadArgument(f"there is no key {key!r}; {nearest(key, keys)}")


def nearest(given: Any, choices: Iterable[str]) -> str:
    """The end of a complaint about a choice that there is not."""
    choices = list(choices)
    meant = near(str(given), choices)
    listed = ", ".join(choices)
    return f"did you mean {meant!r}? There are {listed}" if meant else f"there are {listed}"


@contextmanager
def within(place: str) -> Iterator[None]:
    """Say where something was wrong."""
    try:
        yield
    except HLMCError as error:
        raise type(error)(f"{place}: {error}") from error
    except TypeError as error:
        raise BadType(f"{place}: {error}") from error
