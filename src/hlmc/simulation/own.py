"""Policies in plain Python: any object that selects an arm and learns its reward, played beside compiled policies.

A Python policy is an object (copied for every run) or a factory (called for every run). :class:`PythonPolicy` wraps
either; :func:`hlmc.simulate`, :func:`hlmc.arena` and :func:`hlmc.play` wrap every object that is not a policy of this
library. :func:`hlmc.simulation.players.player_of` reduces its interface to two functions.

Runs are played one at a time in a process. Python's global lock would let only one advance anyway, and so the global
generators of ``random`` and ``numpy.random`` can be seeded for each run.
"""

from __future__ import annotations

import copy
import inspect
import operator
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.checks import whole
from hlmc.errors import BadArgument, BadType, OutOfTurn, shown
from hlmc.learners.learner import Learner
from hlmc.policies.base import Policy, Words
from hlmc.simulation.players import WAYS, Player, interface_of, player_of
from hlmc.streams import derive_seed
from hlmc.turns import turn
from hlmc.values import Value

if TYPE_CHECKING:
    from hlmc.simulation.own_fleet import PythonFleet

Array = np.ndarray

LONGEST = 1 << 16
"""At most so many steps lie between two looks at whether to stop: one at first, more while they take little time."""

BREATH = 0.05
"""Seconds that the steps between two looks should take."""

_GIVEN = ("arms", "horizon", "seed")
_ALONE = turn()  # held by the thread that plays a run
_PLAYING = threading.local()


@dataclass(frozen=True, repr=False, eq=False)
class PythonPolicy(Value):
    """A policy written in plain Python, for :func:`hlmc.simulate`, :func:`hlmc.arena` and :func:`hlmc.play`.

    These functions take the object or the factory itself. This class adds what they cannot know of it.

    Parameters
    ----------
    source
        An object with ``select()`` and ``update(reward)`` or ``update(arm, reward)``, or with the interface of river,
        SMPyBandits, MABWiser or pymab (``docs/own.md``); it is copied for every run. Or a factory: a function or
        class that takes ``arms``, ``horizon`` and ``seed`` (by these names all or some of them; by other names all
        three, in this order) and returns such an object.
    version
        Name of this state of the code. With it, runs are kept in a store, and found there as long as the version is the
        same. Without it they are played every time: the code of an object cannot be compared.
    memory
        Numbers that it keeps per learner, for tables. Default: unknown.

    Examples
    --------
    >>> import random
    >>> import hlmc
    >>> class Coin:
    ...     def __init__(self, arms, seed):
    ...         self.arms, self.rng = arms, random.Random(seed)
    ...     def select(self):
    ...         return self.rng.randrange(self.arms)
    ...     def update(self, reward):
    ...         pass
    >>> result = hlmc.simulate({"coin": Coin, "HLMC": hlmc.HLMC(arms=100, memory=20, horizon=1000)},
    ...                        hlmc.adversaries.BlockTrap(arms=100, memory=20), runs=2, progress=False)
    >>> result.policies
    ['coin', 'HLMC']
    >>> PythonPolicy(Coin, version="1", memory=0)
    PythonPolicy(Coin, version='1', memory=0)
    """

    source: Any
    version: str | None = None
    memory: int | None = None

    horizon = None
    limit = None
    pending = 0

    def __post_init__(self) -> None:
        if self.version is not None and not isinstance(self.version, str):
            raise BadType(f"version must be a string, not {shown(self.version)}")
        self._keep_given(whole, "memory", least=0)
        if isinstance(self.source, Policy):
            raise BadType(f"source must be a policy in plain Python, and {shown(self.source)} is a compiled one")
        if isinstance(self.source, Learner):
            raise BadType(f"source must not be a learner: give its policy, {shown(self.source.policy)}")
        if not (_is_factory(self.source) or interface_of(self.source)):
            raise BadType(f"source must be {WAYS}, not {shown(self.source)}")
        if _is_factory(self.source):
            _arguments(self.source)

    @property
    def label(self) -> str:
        """The name of the class or function that it is."""
        name = getattr(self.source, "__name__", None) or type(self.source).__name__
        return "policy" if name == "<lambda>" else str(name)

    @property
    def words(self) -> Words | None:
        """The words of a learner, None if they are not known."""
        return None if self.memory is None else Words(self.memory, 0)

    def bound(self, horizon: int | None = None) -> None:
        """Nothing is proved."""

    def player(self, arms: int, horizon: int, seed: int) -> Player:
        """A new learner: the object copied, or what the factory returns."""
        if _is_factory(self.source):
            given = dict(zip(_GIVEN, (arms, horizon, seed), strict=True))
            positional, named = _arguments(self.source)
            made = self.source(*(given[name] for name in positional), **{name: given[name] for name in named})
            if isinstance(made, Policy):
                made = made.start(seed)
        else:
            made = _copied(self.source, seed)
        return player_of(made, arms, seed)

    def fleet(self, size: int, arms: int, horizon: int = 10**6, seed: int = 0) -> PythonFleet:
        """Many learners: the object copied, or the factory called, once for each; ``docs/own.md``.

        ``arms``, ``horizon`` and a seed of its own are what each is made with, as in a simulation.
        """
        from hlmc.simulation.own_fleet import PythonFleet  # it needs this module

        horizon = whole("horizon", horizon, 1)
        return PythonFleet(self, whole("size", size, 1), whole("arms", arms, 1), horizon, whole("seed", seed, 0))

    def __repr__(self) -> str:
        further = "".join(
            f", {name}={value!r}"
            for name, value in (("version", self.version), ("memory", self.memory))
            if value is not None
        )
        return f"PythonPolicy({self.label}{further})"


AnyPolicy = Policy | PythonPolicy


def policy_of(given: Any, argument: str = "policies") -> AnyPolicy:
    """The policy that an argument stands for: itself, or wrapped. ``argument`` is its name in errors.

    >>> policy_of(3)
    Traceback (most recent call last):
    hlmc.errors.BadType: policies must be a compiled policy such as hlmc.HLMC(arms, memory=20, horizon=T), ... not 3
    """
    if isinstance(given, (Policy, PythonPolicy)):
        return given
    try:
        return PythonPolicy(given)
    except BadType as error:
        raise BadType(str(error).replace("source", argument, 1)) from None


def words_of(policy: AnyPolicy) -> int | None:
    """The words of statistics of a policy, None if they are not known."""
    return None if policy.words is None else policy.words.statistics


def run_seed(seed: int, name: str, run: int, *more: Any) -> int:
    """The seed of a run of a Python policy: 32 bits, which every generator takes, and other ones for every run.

    >>> import hlmc
    >>> run_seed(0, "mine", 3) == (hlmc.derive_seed(0, "mine") + 3) % 2**32
    True
    """
    return (derive_seed(seed, name, *more) + run) % 2**32


def _is_factory(source: Any) -> bool:
    return isinstance(source, type) or (callable(source) and interface_of(source) is None)


def _arguments(factory: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of ``arms``, ``horizon`` and ``seed`` a factory is given by place, and which by name."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return _GIVEN, ()
    needed = [
        p.name for p in parameters.values() if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if set(needed) <= set(_GIVEN):
        return (), tuple(name for name in _GIVEN if name in parameters)
    if len(needed) == 3 and all(parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY for name in needed):
        return _GIVEN, ()
    name = getattr(factory, "__name__", None) or shown(factory)
    raise BadType(
        f"source {name} needs {', '.join(needed)}, and a factory is given arms, horizon and seed; "
        f"write lambda arms, horizon, seed: {name}(...)"
    )


def _copied(learner: Any, seed: int) -> Any:
    """A deep copy of an object, whose own random generators begin anew from the seed."""
    memo: dict[int, Any] = {}
    try:
        new = copy.deepcopy(learner, memo)
    except Exception as error:
        raise BadType(
            f"{shown(learner)} cannot be copied for every run ({type(error).__name__}: {error}); "
            "give a factory such as lambda arms, horizon, seed: ..."
        ) from error
    # What was copied on the way, in the order in which it was met: the same in every copy of an object.
    kinds = (random.Random, np.random.RandomState, np.random.Generator)
    for number, generator in enumerate(part for part in memo.values() if isinstance(part, kinds)):
        own = derive_seed(seed, number) % 2**32
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = type(generator.bit_generator)(own).state
        else:
            generator.seed(own)
    return new


@contextmanager
def alone(seed: int) -> Iterator[None]:
    """Play a run: the only one in this process, and with the global generators seeded; both as before afterwards."""
    before = getattr(_PLAYING, "here", False)
    with _ALONE:
        _PLAYING.here = True
        plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - policies of others use it
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            _PLAYING.here = before
            random.setstate(plain)
            np.random.set_state(legacy)  # noqa: NPY002


def check_not_within(policies: Iterable[AnyPolicy]) -> None:
    """Refuse to let threads play Python policies for one that is being played: they would wait for it, and it for them.

    :func:`hlmc.trace`, which plays in the thread that calls it, does not wait.
    """
    if getattr(_PLAYING, "here", False) and any(isinstance(policy, PythonPolicy) for policy in policies):
        raise OutOfTurn("a policy in plain Python cannot simulate another one while it plays; hlmc.trace can be used")


def walk(
    name: str,
    player: Player,
    adversary: Adversary,
    points: Array,
    sums: Array,
    refusal: Callable[[Adversary, int], Exception],
    between: Callable[[int], bool],
) -> bool:
    """Play from the first step to the last point, noting in ``sums`` what was earned; False when told to stop before.

    Parameters
    ----------
    name
        Of the policy, for errors. An error of its own code is passed on, with a note that says at which step.
    points, sums
        Numbers of completed steps, increasing; the cumulative reward at each.
    refusal
        ``refusal(adversary, t)`` is the error for a reward that is not in [0, 1].
    between
        Told now and then how many steps were taken; the answer is whether to stop.
    """
    select, update, _ = player
    pays, arms = adversary.unchecked, adversary.arms
    total, t, length = 0.0, 0, 1
    try:
        for noted, point in enumerate(points.tolist()):
            while t < point:
                began, first = time.monotonic(), t
                for t in range(first, min(first + length, point)):
                    arm = select()
                    if type(arm) is not int or not 0 <= arm < arms:
                        arm = checked_arm(name, arm, arms, t)
                    reward = pays(t, arm)
                    if not 0.0 <= reward <= 1.0:
                        raise refusal(adversary, t)
                    total += reward
                    update(arm, reward)
                t += 1
                if between(t - first) and t < points[-1]:
                    return False
                taken = time.monotonic() - began
                length = min(2 * length, LONGEST) if taken < BREATH / 2 else max(1, length // 2)
            sums[noted] = total
    except Exception as error:
        error.add_note(f"in policy {name!r}, at step {t}")
        raise
    return True


def checked_arm(name: str, arm: Any, arms: int, t: int) -> int:
    """What a policy selected, as an arm.

    >>> checked_arm("mine", np.int64(2), 3, 0)
    2
    """
    try:
        number = operator.index(arm)
    except TypeError:
        number = -1
    if not 0 <= number < arms:
        raise BadArgument(
            f"policy {name!r} selected {shown(arm)} at step {t}; arms are whole numbers from 0 to {arms - 1}"
        )
    return number
