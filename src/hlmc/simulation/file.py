"""An experiment as a TOML file: policies, adversary, steps, runs, and what to show of the result.

Every complaint names the file, the key, and what would have been right. Paths are those of the folder one works in.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hlmc import plotting
from hlmc.adversaries import CATALOGUE as ADVERSARIES
from hlmc.adversaries import Adversary, named
from hlmc.checks import fraction, whole, writable
from hlmc.checks import path as checked_path
from hlmc.delays import CATALOGUE as DELAYS
from hlmc.delays import Delays, checked
from hlmc.delays import named as named_delays
from hlmc.errors import BadArgument, BadType, shown
from hlmc.evaluation.regret import KINDS
from hlmc.policies import Policy
from hlmc.simulation.experiment import Experiment
from hlmc.simulation.tables import saved_path
from hlmc.spelling import spelled
from hlmc.toml import contents_of, frozen, known, nearest, policy_of, within

KEYS = (
    "horizon",
    "runs",
    "seed",
    "points",
    "policies",
    "adversary",
    "delays",
    "missing",
    "environments",
    "store",
    "save",
    "summary",
    "plots",
)
"""What may stand at the top of a file."""


@dataclass(frozen=True)
class Look:
    """What to show: a kind of regret with its switches, and for a plot its file and scale."""

    kind: str | None = None
    switches: int | None = None
    level: float = 0.95
    file: Path | None = None
    log: bool = False


@dataclass(frozen=True)
class Described:
    """What a file asks for: the arguments of :func:`hlmc.simulate`, and what to do with the result."""

    policies: dict[str, Policy]
    adversary: Adversary | list[Adversary]
    arguments: dict[str, Any] = field(default_factory=dict)
    save: Path | None = None
    summary: Look = Look()
    plots: tuple[Look, ...] = ()


def read_experiment(path: str | Path, settings: Mapping[str, Any] | None = None) -> Described:
    """Read a file; ``settings`` such as ``{"policies.HLMC.memory": 20}`` take the place of what stands there.

    >>> import tempfile, pathlib
    >>> text = '''
    ... horizon = 1e4
    ... [policies.HLMC]
    ... memory = 20
    ... [adversary]
    ... name = "BlockTrap"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trap.toml")
    ...     _ = file.write_text(text)
    ...     described = read_experiment(file, {"horizon": 1e5, "runs": 3})
    >>> described.policies["HLMC"], described.arguments["runs"]
    (HLMC(arms=100, memory=20, horizon=100000), 3)
    """
    path = Path(path)
    contents = contents_of(path)
    with within(str(path)):
        for key, value in (settings or {}).items():
            _set(contents, key, value)
        return _described(contents)


def _described(contents: dict[str, Any]) -> Described:
    known(contents, KEYS)
    for key, kinds in (("policies", dict), ("adversary", (dict, list))):
        if not isinstance(contents.get(key), kinds) or not contents[key]:
            example = (
                '[policies.HLMC] with policy = "HLMC"' if key == "policies" else '[adversary] with name = "BlockTrap"'
            )
            raise BadArgument(f"{key} must be a table, such as {example}")
    horizon = contents.get("horizon")
    with within("horizon"):
        horizon = None if horizon is None else whole("it", horizon, 1)
    with within("adversary"):
        adversary = _adversaries(contents["adversary"], horizon)
    policies = {}
    for name, table in contents["policies"].items():
        with within(f"policies.{name}"):
            arms = (adversary[0] if isinstance(adversary, list) else adversary).arms
            policies[name] = policy_of(name, table, arms, horizon)
    arguments: dict[str, Any] = {
        key: contents[key]
        for key in ("horizon", "runs", "seed", "points", "missing", "environments", "store")
        if key in contents
    }
    if "delays" in contents:
        with within("delays"):
            arguments["delays"] = _delays(contents["delays"])
    if isinstance(arguments.get("points"), list) and arguments["points"][:1] in (["log"], ["linear"]):
        arguments["points"] = tuple(arguments["points"])
    defaults: dict[str, Any] = {"horizon": None, "runs": 10, "seed": 0, "points": 200}
    late = {key: arguments[key] for key in ("delays", "missing", "environments") if key in arguments}
    Experiment.of(policies, adversary, *(arguments.get(key, value) for key, value in defaults.items()), **late)
    if "store" in contents:
        checked_path("store", contents["store"])
    return Described(
        policies,
        adversary,
        arguments,
        writable("save", saved_path("save", contents["save"])) if "save" in contents else None,
        _summary(contents.get("summary", {})),
        tuple(_plots(contents.get("plots", []))),
    )


def _adversaries(given: Any, horizon: int | None) -> Adversary | list[Adversary]:
    """One table, or a list of them: the environments."""
    if isinstance(given, dict):
        return _adversary(given, horizon)
    found = []
    for e, table in enumerate(given):
        if not isinstance(table, dict):
            raise BadType(f'[{e}] must be a table, such as [[adversary]] with name = "BlockTrap", not {shown(table)}')
        with within(f"[{e}]"):
            found.append(_adversary(table, horizon))
    return found


def _adversary(table: dict[str, Any], horizon: int | None) -> Adversary:
    arguments = {key: frozen(value) for key, value in table.items() if key != "name"}
    if "name" not in table:
        raise BadArgument(f"name is missing; there are {', '.join(cls.__name__ for cls in ADVERSARIES)}")
    classes = {cls.__name__: cls for cls in ADVERSARIES}
    name = spelled(table["name"], classes) or table["name"]
    if name in classes:
        parameters = inspect.signature(classes[name]).parameters
        known(arguments, parameters)
        if "horizon" in parameters and horizon is not None:
            arguments.setdefault("horizon", horizon)
    return named(name, **arguments)


def _delays(given: Any) -> Delays | None:
    """A number of decisions, or a table with the name of the law and its numbers."""
    if not isinstance(given, dict):
        return checked(given)
    arguments = {key: value for key, value in given.items() if key != "name"}
    classes = {cls.__name__: cls for cls in DELAYS}
    if given.get("name") in classes:
        known(arguments, ("name", *inspect.signature(classes[given["name"]]).parameters))
    return named_delays(given.get("name"), **arguments)


def _summary(table: Any) -> Look:
    if not isinstance(table, dict):
        raise BadType(f'summary must be a table, such as [summary] with regret = "weak", not {shown(table)}')
    with within("summary"):
        known(table, ("regret", "switches", "level"))
        kind, switches = _kind(table)
        return Look(kind, switches, fraction("level", table.get("level", 0.95)))


def _plots(listed: Any) -> Iterator[Look]:
    if not isinstance(listed, list):
        raise BadType(f"plots must be a list of files or of tables, not {shown(listed)}")
    for i, plot in enumerate(listed):
        table = {"file": plot} if isinstance(plot, str) else plot
        if not isinstance(table, dict) or not isinstance(table.get("file"), str):
            raise BadType(f'plots[{i}] must be a file or a table with file = "...", not {shown(plot)}')
        with within(f"plots[{i}]"):
            known(table, ("file", "regret", "switches", "log"))
            if not isinstance(table.get("log", False), bool):
                raise BadType(f"log must be true or false, not {shown(table['log'])}")
            kind, switches = _kind(table)
            yield Look(kind, switches, file=plotting.check_path(table["file"]), log=table.get("log", False))


def _kind(table: Mapping[str, Any]) -> tuple[str | None, int | None]:
    kind = table.get("regret")
    if kind is not None and kind not in KINDS:
        raise BadArgument(f"there is no regret {kind!r}; {nearest(kind, KINDS)}")
    if (kind == "shifting") != ("switches" in table):
        raise BadArgument('switches belongs to regret = "shifting" and to no other')
    return kind, whole("switches", table["switches"], 1) if "switches" in table else None


def _set(contents: dict[str, Any], key: str, value: Any) -> None:
    """Put a value at a.b.c into nested tables."""
    *folders, last = key.split(".")
    table = contents
    for folder in folders:
        table = table.setdefault(folder, {})
        if not isinstance(table, dict):
            raise BadArgument(f"{key} cannot be set: {folder} is not a table")
    table[last] = value
