"""The catalogue of adversaries, one per file: rewards as a function of time and arm."""

from __future__ import annotations

import inspect
from typing import Any

from hlmc.adversaries.alternating import Alternating
from hlmc.adversaries.base import Adversary, packed
from hlmc.adversaries.bernoulli import Bernoulli
from hlmc.adversaries.beta import Beta
from hlmc.adversaries.block_trap import BlockTrap
from hlmc.adversaries.decoy import Decoy
from hlmc.adversaries.fallen_favourite import FallenFavourite
from hlmc.adversaries.function import Function, NotCompiled
from hlmc.adversaries.late_bloomer import LateBloomer
from hlmc.adversaries.needle import Needle
from hlmc.adversaries.one_good_arm import OneGoodArm
from hlmc.adversaries.piecewise_stationary import PiecewiseStationary
from hlmc.adversaries.random_walk import RandomWalk
from hlmc.adversaries.sawtooth import Sawtooth
from hlmc.adversaries.shifting import Shifting
from hlmc.adversaries.trace import Trace
from hlmc.adversaries.uniform_means import UniformMeans
from hlmc.errors import BadArgument, shown
from hlmc.spelling import hint, no_attribute, spelled, suggest_arguments

__all__ = [
    "CATALOGUE",
    "EXAMPLES",
    "Adversary",
    "Alternating",
    "Bernoulli",
    "Beta",
    "BlockTrap",
    "Decoy",
    "FallenFavourite",
    "Function",
    "LateBloomer",
    "Needle",
    "NotCompiled",
    "OneGoodArm",
    "PiecewiseStationary",
    "RandomWalk",
    "Sawtooth",
    "Shifting",
    "Trace",
    "UniformMeans",
    "named",
    "packed",
]

CATALOGUE: tuple[type[Adversary], ...] = (
    BlockTrap,
    Alternating,
    Shifting,
    Bernoulli,
    OneGoodArm,
    UniformMeans,
    Beta,
    RandomWalk,
    PiecewiseStationary,
    Sawtooth,
    LateBloomer,
    FallenFavourite,
    Needle,
    Decoy,
    Trace,
    Function,
)
"""Every class of adversaries."""
suggest_arguments(*CATALOGUE)


def staircase(t: int, arm: int) -> float:
    """An example of a function for :class:`Function`."""
    return ((t // 100 + arm) % 4) / 4


EXAMPLES: tuple[Adversary, ...] = (
    BlockTrap(),
    BlockTrap(arms=7, memory=3, subphases=5),
    Alternating(),
    Shifting(),
    Shifting(arms=10, horizon=1003, phases=7, groupsize=3),
    Bernoulli((0.2, 0.5, 0.8), seed=1),
    OneGoodArm(arms=100, arm=42, seed=1),
    UniformMeans(arms=100, seed=1),
    Beta((0.2, 0.5, 0.8), seed=1),
    RandomWalk(arms=10, seed=1),
    PiecewiseStationary(arms=10, segment=1000, seed=1),
    Sawtooth(arms=10, seed=1),
    LateBloomer(arms=10, bloom=1000, seed=1),
    FallenFavourite(arms=10, fall=1000, better=0.625, noise=0.2, seed=1),
    FallenFavourite(arms=10, fall=500, ramp=900, coins=True, seed=1),
    Needle(arms=100, seed=1),
    Decoy(arms=100, seed=1),
    Trace([[0.0, 1.0, 0.5], [0.25, 0.5, 0.75], [1.0, 0.0, 0.5], [0.5, 0.5, 0.5]]),
    Function(arms=4, reward=staircase),
)
"""Every adversary at least once. The tests run :func:`hlmc.testing.check_adversary` on each."""


def named(name: Any, /, **arguments: Any) -> Adversary:
    """The adversary with a name and arguments. Experiment files use it.

    >>> named("block-trap", arms=100, memory=20)
    BlockTrap(arms=100, memory=20)
    >>> named("BlokTrap")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no adversary 'BlokTrap'; did you mean 'BlockTrap'?
    >>> named("BlockTrap", arm=100)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: BlockTrap has no argument 'arm'; it takes arms, memory, subphases
    """
    classes = {cls.__name__: cls for cls in CATALOGUE}
    known = spelled(name, classes)
    if known is None:
        raise BadArgument(f"there is no adversary {shown(name)}; {hint(name, classes)}")
    parameters = inspect.signature(classes[known]).parameters
    for argument in arguments:
        if argument not in parameters:
            raise BadArgument(f"{known} has no argument {argument!r}; it takes {', '.join(parameters)}")
    for parameter in parameters.values():
        if parameter.default is parameter.empty and parameter.name not in arguments:
            raise BadArgument(f"{known} needs the argument {parameter.name!r}")
    return classes[known](**arguments)


def __getattr__(name: str) -> Any:
    raise no_attribute(__name__, name, __all__)
