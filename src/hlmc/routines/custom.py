"""User-defined routines: four functions over an array of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any, ClassVar

from hlmc.checks import whole
from hlmc.engine.kernel import is_kernel, kernel
from hlmc.engine.layout import FIELDS, PARAMETERS
from hlmc.engine.linker import names_of, substitute
from hlmc.engine.primitives import offset
from hlmc.engine.records import Level
from hlmc.errors import BadArgument, BadType, shown
from hlmc.routines.base import Array, Kernels, LevelContext, Routine

MOST = FIELDS - PARAMETERS

# The user's functions stand in for these four.


@kernel
def user_start(words: Array, n: int, parameters: Array) -> None:
    """Placeholder: initialise the words."""


@kernel
def user_select(words: Array, n: int, parameters: Array, tau: int, u: float) -> int:
    """Placeholder: return the child to play."""
    return 0


@kernel
def user_chance(words: Array, n: int, parameters: Array, tau: int, slot: int) -> float:
    """Placeholder: return the probability that ``select`` returns this child."""
    return 1.0


@kernel
def user_update(words: Array, n: int, parameters: Array, tau: int, slot: int, chance: float, reward: float) -> None:
    """Placeholder: learn from a reward."""


@kernel
def _start(level: Level) -> tuple[float, float]:
    """Call the user's ``start``; the two scalars are not used."""
    user_start(offset(level.row, level.at), level.n, offset(level.program, level.record + PARAMETERS))
    return 0.0, 0.0


@kernel
def _select(level: Level, a: float, b: float, tau: int, u: float) -> tuple[int, float]:
    """Call the user's ``select`` and ``chance``."""
    run = offset(level.row, level.at)
    own = offset(level.program, level.record + PARAMETERS)
    slot = user_select(run, level.n, own, tau, u)
    return slot, user_chance(run, level.n, own, tau, slot)


@kernel
def _update(level: Level, a: float, b: float, tau: int, slot: int, chance: float, reward: float) -> tuple[float, float]:
    """Call the user's ``update``."""
    run = offset(level.row, level.at)
    own = offset(level.program, level.record + PARAMETERS)
    user_update(run, level.n, own, tau, slot, chance, reward)
    return a, b


@dataclass(frozen=True, repr=False)
class Custom(Routine):
    """A user-defined routine.

    The four functions are plain Python that Numba can compile. ``words`` is an array that only they use, ``n`` the
    number of children, ``parameters`` an array of the values given here, ``tau`` the number of choices since the
    start, and ``u`` a uniform random number in [0, 1).

    Parameters
    ----------
    label
        The name of the routine in plans and in saved files.
    start
        ``start(words, n, parameters)`` initialises the words.
    select
        ``select(words, n, parameters, tau, u)`` returns the child to play, 0 to n - 1.
    chance
        ``chance(words, n, parameters, tau, slot)`` returns the probability that ``select`` returns ``slot``.
    update
        ``update(words, n, parameters, tau, slot, chance, reward)`` learns from the reward of ``slot``.
    words_per_child, words_extra
        The routine keeps ``words_per_child * n + words_extra`` words.
    values
        The parameters: a dictionary of numbers, or a function of the :class:`LevelContext` that returns one.

    Examples
    --------
    Follow the leader (which has linear regret against an adversary):

    >>> def start(words, n, parameters):
    ...     for j in range(n):
    ...         words[j] = 0.0
    >>> def select(words, n, parameters, tau, u):
    ...     best = 0
    ...     for j in range(n):
    ...         if words[j] > words[best]:
    ...             best = j
    ...     return best
    >>> def chance(words, n, parameters, tau, slot):
    ...     return 1.0
    >>> def update(words, n, parameters, tau, slot, chance, reward):
    ...     words[slot] += reward
    >>> leader = Custom("leader", start, select, chance, update)
    >>> import hlmc
    >>> learner = hlmc.HLMC(arms=9, levels=2, horizon=100, routines=("exp3", leader)).start(seed=1)
    >>> arm = learner.select(); learner.update(1.0)
    >>> learner.select() == arm
    True
    """

    label: str
    start: Callable[..., None]
    select: Callable[..., int]
    chance: Callable[..., float]
    update: Callable[..., None]
    words_per_child: int = 1
    words_extra: int = 0
    values: Mapping[str, float] | Callable[[LevelContext], Mapping[str, float]] = field(
        default_factory=dict, hash=False
    )

    name: ClassVar[str] = "custom"
    opaque: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not str(self.label).isidentifier():
            raise BadArgument(f"label must be a name such as 'leader', not {shown(self.label)}")
        for role in ("start", "select", "chance", "update"):
            if not isinstance(plain(getattr(self, role)), FunctionType):
                raise BadType(f"{role} must be a function written in Python, not {shown(getattr(self, role))}")
        for count in ("words_per_child", "words_extra"):
            object.__setattr__(self, count, whole(count, getattr(self, count), 0))
        if not callable(self.values) and not isinstance(self.values, Mapping):
            raise BadType(f"values must be numbers by name or a function of a LevelContext, not {shown(self.values)}")

    def __repr__(self) -> str:
        return f"<routine {self.label}>"

    def words(self, n: int) -> int:
        return self.words_per_child * n + self.words_extra if n > 1 else 0

    def parameters(self, context: LevelContext) -> dict[str, float]:
        values = self.values(context) if callable(self.values) else self.values
        if len(values) > MOST:
            raise BadArgument(f"a routine can have {MOST} parameters, not {len(values)}")
        return {name: float(value) for name, value in values.items()}

    @cached_property
    def kernels(self) -> Kernels:  # type: ignore[override]
        """The user's functions with the signatures of a routine's kernels."""
        users = {role: _kernel(getattr(self, role)) for role in ("start", "select", "chance", "update")}
        return Kernels(
            substitute(_start, {user_start: users["start"]}),
            substitute(_select, {user_select: users["select"], user_chance: users["chance"]}),
            substitute(_update, {user_update: users["update"]}),
        )


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a function that Numba has compiled."""
    return getattr(function, "py_func", function)


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a user's function, and the plain functions that it calls, as kernels."""
    own = plain(function)
    if not is_kernel(own):
        kernel(own)
        for called in names_of(own).values():
            if isinstance(called, FunctionType):
                _kernel(called)
    return own
