"""The TOML file of a service: where the store is, who may use it, and which experiments there are.

::

    store = "shop.db"                 # beside this file; or postgresql://...
    tokens = "shop.tokens"            # hlmc token new shop.tokens; without it: loopback alone
    origins = ["https://shop.example"]

    [experiments.drinks]
    arms = ["tea", "coffee"]
    policy = { policy = "Champion", arms = 1000, memory = 64 }
    units = "each"                    # "all": all share a learner; "any": as the request says
    rewards = [0.0, 1.0]
    wait = "1 hour"
    default = 0.0
    control = 0.02

    [limits]
    batch = 500
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import hlmc.bandit as bandits
from hlmc.bandit.opening import experiments as found_in
from hlmc.checks import between, flag, whole
from hlmc.errors import BadArgument, BadType, shown
from hlmc.policies.base import Policy
from hlmc.serve.copying import Log
from hlmc.serve.guard import LOOPBACK
from hlmc.serve.service import Hosted, Limits, Units
from hlmc.toml import contents_of, known, policy_of, within

KEYS = ("store", "durable", "tokens", "origins", "hosts", "experiments", "limits", "every")
SETTINGS = ("wait", "default", "control", "keep", "idle", "shards", "delay")
OWN = ("policy", "arms", "units", "rewards", "seed", *SETTINGS)
UNITS = ("all", "each", "any")
NAME = re.compile(r"[^/?#%\s]{1,100}")
"""Names of experiments that an address can have."""


@dataclass(frozen=True)
class Planned:
    """An experiment as a file has it."""

    name: str
    policy: Policy | None
    arms: tuple[str, ...] | None
    units: Units
    settings: dict[str, Any]


@dataclass(frozen=True)
class Config:
    """What is to be served.

    Attributes
    ----------
    hosts
        Names by which the service may be called besides those of loopback.
    every
        Seconds between two looks at the store, for the page and the metrics.
    """

    store: str
    experiments: tuple[Planned, ...]
    tokens: Path | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    every: float = 5.0
    durable: bool = True

    def opened(self) -> list[Hosted]:
        """Open every experiment; those that are not there are made."""
        hosted: list[Hosted] = []
        try:
            for each in self.experiments:
                with within(each.name):
                    options = {"arms": each.arms, "name": each.name, "durable": self.durable, **each.settings}
                    bandit = bandits.open(self.store, each.policy, **options)
                hosted.append(Hosted(bandit, each.units, self.every))
        except BaseException:
            for made in hosted:
                made.bandit.close()
            raise
        return hosted

    def log(self) -> Log | None:
        """The log of the store, if that is an SQLite file which is there."""
        return None if "://" in self.store else Log(Path(self.store), self.durable)

    @property
    def names(self) -> tuple[str, ...]:
        """What the header Host may say. Empty: anything, because everybody needs a token."""
        return () if self.tokens is not None and not self.hosts else (*LOOPBACK, *self.hosts)


def of_store(store: str, tokens: Path | None = None) -> Config:
    """All experiments of a store that is there."""
    names = tuple(found_in(store))
    if not names:
        raise BadArgument(f"store must have an experiment, and {shown(store)} has none: describe one in a TOML file")
    for name in names:
        _check_name(name)
    return Config(store, tuple(Planned(name, None, None, "any", {}) for name in names), tokens)


def read_config(path: Path, store: str | None = None, tokens: Path | None = None) -> Config:
    """Read a file. ``store`` and ``tokens`` take the place of what stands there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "shop.toml")
    ...     _ = file.write_text('experiments.drinks = { policy = "UCB1", arms = ["tea", "coffee"], wait = 60 }')
    ...     config = read_config(file)
    >>> config.experiments[0].policy, config.experiments[0].arms, Path(config.store).name
    (UCB1(arms=2), ('tea', 'coffee'), 'shop.db')
    """
    contents = contents_of(path)
    with within(str(path)):
        known(contents, KEYS)
        listed = contents.get("experiments")
        if not isinstance(listed, dict) or not listed:
            raise BadArgument("experiments must be tables, such as [experiments.drinks]")
        planned = []
        for name, table in listed.items():
            with within(f"experiments.{name}"):
                planned.append(_experiment(name, table))
        address = store or contents.get("store", f"{path.stem}.db")
        if not isinstance(address, str):
            raise BadType(f"store must be a path or a URL, not {shown(address)}")
        if "://" not in address and store is None:
            address = str(path.parent / address)
        if tokens is None and "tokens" in contents:
            tokens = path.parent / _text("tokens", contents["tokens"])
        return Config(
            address,
            tuple(planned),
            tokens,
            tuple(_texts("origins", contents.get("origins", []))),
            tuple(_texts("hosts", contents.get("hosts", []))),
            _limits(contents.get("limits", {})),
            between("every", contents.get("every", 5.0), 0.1, 3600.0, "[0.1, 3600]"),
            flag("durable", contents.get("durable", True)),
        )


def _experiment(name: str, table: Any) -> Planned:
    if not isinstance(table, dict):
        raise BadType(f"it must be a table, not {shown(table)}")
    _check_name(name)
    known(table, OWN)
    arms = _texts("arms", table["arms"]) if "arms" in table else None
    units = table.get("units", "any")
    if units not in UNITS:
        raise BadArgument(f"units must be one of {', '.join(UNITS)}, not {shown(units)}")
    policy = None
    if "policy" in table:
        given = table["policy"]
        described = dict(given) if isinstance(given, dict) else {"policy": given}
        if "rewards" in table:
            described.setdefault("rewards", table["rewards"])
        with within("policy"):
            if arms is None and "arms" not in described:
                raise BadArgument("arms are needed: their names, or how many the policy has room for")
            policy = policy_of(described.pop("policy", "Champion"), described, len(arms or ()), None)
    settings = {key: table[key] for key in (*SETTINGS, "seed") if key in table}
    return Planned(name, policy, None if arms is None else tuple(arms), units, settings)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadArgument(
            f"name of an experiment must have from 1 to 100 characters that an address can have, not {shown(name)}"
        )


def _limits(table: Any) -> Limits:
    if not isinstance(table, dict):
        raise BadType(f"limits must be a table, not {shown(table)}")
    names = [each.name for each in fields(Limits)]
    with within("limits"):
        known(table, names)
        numbers: dict[str, Any] = {}
        for name, value in table.items():
            if name in ("patience", "stop"):
                numbers[name] = between(name, value, 0.1, 3600.0, "[0.1, 3600]")
            else:
                numbers[name] = whole(name, value, 0 if name == "units" else 1, 10**9)
        return Limits(**numbers)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise BadType(f"{name} must be a text, not {shown(value)}")
    return value


def _texts(name: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        raise BadType(f"{name} must be a list of texts, not {shown(value)}")
    return [_text(name, each) for each in value]
