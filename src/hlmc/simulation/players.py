"""Objects that play, in plain Python: the interfaces in use, reduced to ``select()`` and ``update(arm, reward)``."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hlmc.errors import BadArgument, BadType, shown

WAYS = (
    "a compiled policy such as hlmc.HLMC(arms, memory=20, horizon=T), an object with select() and update(reward), "
    "or a factory such as lambda arms, horizon, seed: MyPolicy(arms, seed)"
)
"""The three ways in, for error messages."""


class Player(NamedTuple):
    """A running Python policy: how to ask it for an arm, and how to tell it the reward of that arm."""

    select: Callable[[], Any]
    update: Callable[[int, float], Any]
    by_arm: bool = True  # whether update says of which arm, so that a reward may come late


def player_of(learner: Any, arms: int, seed: int = 0) -> Player:
    """The two functions of an object, whichever of the known interfaces it has.

    Parameters
    ----------
    learner
        The object, which is used up: its state changes as it is played.
    arms
        K. An object that says otherwise (in ``arms``, ``n_arms`` or ``nbArms``) is refused.
    seed
        For interfaces that are given their randomness from outside.

    Examples
    --------
    >>> class Greedy:
    ...     def __init__(self): self.value = [1.0, 1.0]
    ...     def select_arm(self): return self.value.index(max(self.value))
    ...     def update(self, arm, reward): self.value[arm] = reward
    >>> player = player_of(Greedy(), arms=2)
    >>> player.update(player.select(), 0.0)
    >>> player.select()
    1
    """
    make = interface_of(learner)
    if make is None:
        raise BadType(f"policies must be {WAYS}; this factory made {shown(learner)}")
    for name in ("arms", "n_arms", "nbArms"):
        own = getattr(learner, name, None)
        count = len(own) if isinstance(own, (list, tuple)) else own
        if isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count != arms:
            raise BadArgument(f"the object {shown(learner)} has {count} arms, and there are {arms}; they must be equal")
    return make(learner, arms, seed)


def interface_of(learner: Any) -> Callable[[Any, int, int], Player] | None:
    """How to play an object, from the methods that it has; None if these are not known."""
    for select, update, make in _INTERFACES:
        if callable(getattr(learner, select, None)) and callable(getattr(learner, update, None)):
            return make
    return None


def _plain(learner: Any, arms: int, seed: int) -> Player:
    """``select()`` or ``select_arm()``, and ``update(reward)`` or ``update(arm, reward)``."""
    select = learner.select if hasattr(learner, "select") else learner.select_arm
    if _required(select):
        raise BadType(f"select of {shown(learner)} must need no arguments")
    update = learner.update
    needed = _required(update)
    if len(needed) == 2:
        return Player(select, update)
    if len(needed) == 1:
        return Player(select, lambda arm, reward: update(reward), by_arm=False)
    raise BadType(f"update of {shown(learner)} must be update(reward) or update(arm, reward)")


def _pymab(learner: Any, arms: int, seed: int) -> Player:
    """pymab: ``select_action(rng=...)`` and ``update(action=..., reward=...)``; others have no ``rng``."""
    select, update = learner.select_action, learner.update
    if "rng" in inspect.signature(select).parameters:
        rng = np.random.default_rng(seed)
        return Player(lambda: select(rng=rng), lambda arm, reward: update(action=arm, reward=reward))
    return Player(select, update)


def _river(learner: Any, arms: int, seed: int) -> Player:
    """river: ``pull(arms)`` and ``update(arm, reward)``."""
    pull, labels = learner.pull, list(range(arms))
    return Player(lambda: pull(labels), learner.update)


def _smpybandits(learner: Any, arms: int, seed: int) -> Player:
    """SMPyBandits: ``startGame()``, then ``choice()`` and ``getReward(arm, reward)``."""
    if hasattr(learner, "startGame"):
        learner.startGame()
    return Player(learner.choice, learner.getReward)


def _mabwiser(learner: Any, arms: int, seed: int) -> Player:
    """MABWiser: ``predict()`` and ``partial_fit([arm], [reward])``. Before the first reward it has no answer.

    The first arm is drawn at random. Its arms are those of the list ``arms``, in that order.
    """
    predict, fit = learner.predict, learner.partial_fit
    labels = list(getattr(learner, "arms", range(arms)))
    place = {label: arm for arm, label in enumerate(labels)}
    first: list[int] = [random.Random(seed).randrange(arms)]

    def update(arm: int, reward: float) -> None:
        fit([labels[arm]], [reward])
        first.clear()

    return Player(lambda: first[0] if first else place[predict()], update)


_INTERFACES = (
    ("select", "update", _plain),
    ("select_arm", "update", _plain),
    ("select_action", "update", _pymab),
    ("pull", "update", _river),
    ("choice", "getReward", _smpybandits),
    ("predict", "partial_fit", _mabwiser),
)


def _required(function: Callable[..., Any]) -> list[str]:
    """The parameters that must be given, by place. ``*rewards``, as river has it, stands for one."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # compiled functions may not tell
        return []
    named = [
        p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return named + [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
