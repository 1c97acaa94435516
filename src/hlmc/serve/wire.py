"""What requests and answers are made of. The OpenAPI document is derived from these (:mod:`hlmc.serve.openapi`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

MOST_UNIT = 200
"""Characters of a unit. The store takes more; a service that anybody may ask should not."""
MOST_KEY = 200
MOST_ITEMS = 1000
"""Items of a list, unless the limits say fewer."""

Unit = Annotated[str, Meta(min_length=1, max_length=MOST_UNIT)]
Key = Annotated[str, Meta(min_length=1, max_length=MOST_KEY)]
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Id = Annotated[str, Meta(max_length=64, description="The id of a decision")]


class Ask(Struct, forbid_unknown_fields=True):
    """A decision to be made."""

    unit: Unit | None = None
    count: Annotated[int, Meta(ge=1, le=MOST_ITEMS)] | UnsetType = UNSET
    key: Key | None = None


class AskItem(Struct, forbid_unknown_fields=True):
    """A decision to be made, in a list."""

    unit: Unit | None = None
    key: Key | None = None


class Tell(Struct, forbid_unknown_fields=True):
    """The reward of a decision."""

    id: Id
    reward: float


class Drop(Struct, forbid_unknown_fields=True):
    """A decision whose reward will not come."""

    id: Id


class Decision(Struct):
    """Which arm to play, and the id under which its reward is told."""

    arm: str
    id: str
    propensity: float
    unit: str | None = None
    control: bool = False


class Problem(Struct):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class Refused(Struct):
    """An item of a list that could not be done; the others were."""

    error: Problem


class Told(Struct):
    """What became of a reward."""

    result: Annotated[str, Meta(description="applied, late, duplicate, expired; in a list also unknown")]


class ArmChange(Struct, forbid_unknown_fields=True):
    """A change of the arms: ``names`` for add, ``name`` for the others, and ``new`` for rename."""

    action: Literal["add", "remove", "pause", "resume", "rename", "forget"]
    name: Name | UnsetType = UNSET
    names: list[Name] | UnsetType = UNSET
    new: Name | UnsetType = UNSET


class Arm(Struct):
    """An arm that is there."""

    name: str
    paused: bool


class Arms(Struct):
    """The arms, in the order in which they came."""

    arms: list[Arm]
    capacity: int


class Forget(Struct, forbid_unknown_fields=True):
    """A unit to be forgotten."""

    unit: Unit


class Forgotten(Struct):
    """Whether the unit was there."""

    forgotten: bool


class Changes(Struct, forbid_unknown_fields=True):
    """Settings to be changed; null resets one, what is left out stays."""

    wait: float | str | UnsetType | None = UNSET
    default: float | str | UnsetType | None = UNSET
    control: float | UnsetType | None = UNSET
    keep: float | str | UnsetType | None = UNSET
    idle: float | str | UnsetType | None = UNSET
    shards: int | UnsetType | None = UNSET
    delay: str | UnsetType | None = UNSET


class Experiment(Struct):
    """What an experiment is."""

    name: str
    policy: str
    description: dict[str, Any]
    words: dict[str, int]
    plan: str
    guarantee: str
    settings: dict[str, Any]
    units: Literal["all", "each", "any"]
    rewards: tuple[float, float]


class Experiments(Struct):
    """The experiments that a token may see."""

    experiments: list[str]


class State(Struct):
    """Whether the service can answer."""

    status: str
