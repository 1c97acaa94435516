"""What an experiment was opened with besides its policy and its arms: kept in the store, checked here."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from hlmc.checks import between, whole
from hlmc.errors import BadArgument, BadStore, BadType, shown
from hlmc.policies.base import SKIP, Policy

MEASURED = "measured"
_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
LONGEST = 1e10
"""Seconds: about 300 years."""
MOST_SHARDS = 1024


@dataclass(frozen=True)
class Settings:
    """The settings of an experiment, checked.

    Parameters
    ----------
    wait, default
        Seconds until a decision without a reward is settled, and the reward that it is settled with (or "skip").
    control
        The share of decisions that are made uniformly and are not learned from.
    keep
        Seconds for which settled decisions are kept; None: for ever.
    idle
        Seconds after which a unit that did not ask is forgotten; None: never.
    shards
        Learners among which decisions without a unit are divided.
    delay
        None: that of the policy. "measured": new units use a policy planned for the measured delay.
    """

    wait: float | None = None
    default: float | str | None = None
    control: float = 0.0
    keep: float | None = None
    idle: float | None = None
    shards: int = 1
    delay: str | None = None

    def described(self) -> str:
        """As the store keeps them."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str, store: str) -> Settings:
        """What :meth:`described` has written; ``store`` is where."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            raise BadStore(f"{store} is damaged: settings cannot be {shown(text)}; restore it from a backup") from None

    @property
    def unanswered(self) -> float | None:
        """The reward of a decision that gets none; None: nothing is learned from it."""
        return None if isinstance(self.default, str) or self.default is None else self.default


NAMES = tuple(field.name for field in fields(Settings))


def checked(policy: Policy, given: dict[str, Any]) -> Settings:
    """The settings that a caller gave (those that are None are left out), or a refusal.

    >>> import hlmc
    >>> checked(hlmc.UCB1(arms=2), {"wait": "1 hour", "default": 0}).wait
    3600.0
    """
    own = {name: value for name, value in given.items() if value is not None}
    for name in ("wait", "keep", "idle"):
        if name in own:
            own[name] = duration(name, own[name])
    if "default" in own:
        default = own["default"]
        if isinstance(default, str):
            if default != SKIP:
                raise BadArgument(f'default must be "skip" or a number in {policy.range_shown}, not {shown(default)}')
        else:
            own["default"] = between("default", default, *policy.rewards, policy.range_shown)
    if "control" in own:
        own["control"] = between("control", own["control"], 0.0, 1.0, "[0, 1)")
    if "shards" in own:
        own["shards"] = whole("shards", own["shards"], 1, MOST_SHARDS)
    if "delay" in own and not (isinstance(own["delay"], str) and own["delay"] == MEASURED):
        raise BadArgument(f'delay must be "measured" or left out, not {shown(own["delay"])}')
    settings = Settings(**own)
    if settings.wait is not None and settings.default is None:
        raise BadArgument(
            f'wait needs default: the reward in {policy.range_shown} of a decision that got none, or "skip"; '
            "for clicks it is 0"
        )
    return settings


def duration(name: str, value: Any) -> float:
    """A time in seconds: a number, or a text such as "90 days".

    >>> duration("keep", "1.5 hours"), duration("wait", 60)
    (5400.0, 60.0)
    """
    wanted = f'{name} must be a number of seconds above 0 or a text such as "90 days"'
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(second|minute|hour|day|week)s?\s*", value)
        if match is None:
            raise BadArgument(f"{wanted}, not {shown(value)}")
        value = float(match[1]) * _UNITS[match[2]]
    try:
        return between(name, value, 0.0, LONGEST, f"(0, {LONGEST:g}]")
    except BadType:
        raise BadType(f"{wanted}, not {shown(value)}") from None
