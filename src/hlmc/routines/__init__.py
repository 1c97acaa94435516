"""The catalogue of routines: one file an algorithm, found here by name.

A level's routine is a number in its policy's program, and each of ``start``, ``select`` and ``update`` below is a
chain of the catalogue's functions, asked in turn whether the number is theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlmc.errors import BadArgument, BadType
from hlmc.kernels.build import kernel, specialised
from hlmc.kernels.layout import KIND
from hlmc.routines.base import Array, Kernels, Place, Routine
from hlmc.routines.contest import Contest
from hlmc.routines.custom import Custom
from hlmc.routines.exp3 import EXP3
from hlmc.routines.exp3_loss import EXP3IX, EXP3Loss
from hlmc.routines.exp3m import CountedEXP3
from hlmc.routines.exp3p import EXP3P
from hlmc.routines.exp3s import EXP3S
from hlmc.routines.tsallis import TsallisINF
from hlmc.routines.ucb1 import UCB1
from hlmc.routines.uniform import Uniform

__all__ = [
    "CATALOGUE",
    "EXP3",
    "EXP3IX",
    "EXP3P",
    "EXP3S",
    "UCB1",
    "Contest",
    "CountedEXP3",
    "Custom",
    "EXP3Loss",
    "Place",
    "Routine",
    "TsallisINF",
    "Uniform",
    "routine",
]

CATALOGUE: tuple[type[Routine], ...] = (
    Uniform,
    EXP3,
    EXP3P,
    EXP3S,
    UCB1,
    CountedEXP3,
    EXP3Loss,
    EXP3IX,
    TsallisINF,
    Contest,
    Custom,
)
"""A routine's place in this tuple is its number in a program."""


def kind(routine: Routine) -> int:
    """The number by which compiled code knows a routine."""
    return CATALOGUE.index(type(routine))


def routine(given: str | Routine) -> Routine:
    """A routine by its name, or the routine itself.

    >>> routine("exp3s")
    EXP3S()
    >>> routine("exp4")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no routine 'exp4'; there are exp3, exp3-counted, ...
    """
    if isinstance(given, Routine):
        return given
    if not isinstance(given, str):
        raise BadType(f"a routine is given by its name or as a Routine, not as {given!r}")
    named = {cls.name: cls for cls in CATALOGUE if cls is not Custom}
    if given not in named:
        raise BadArgument(f"there is no routine {given!r}; there are {', '.join(sorted(named))}")
    return named[given]()


here: Callable[..., Any]
otherwise: Callable[..., Any]
number: int


@kernel
def _start(program: Array, level: int, row: Array, at: int, n: int) -> Any:
    if int(program[level + KIND]) == number:
        return here(program, level, row, at, n)
    return otherwise(program, level, row, at, n)


@kernel
def _select(
    program: Array, level: int, row: Array, at: int, n: int, a: float, b: float, tau: int, u: float
) -> Any:
    if int(program[level + KIND]) == number:
        return here(program, level, row, at, n, a, b, tau, u)
    return otherwise(program, level, row, at, n, a, b, tau, u)


@kernel
def _update(
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    a: float,
    b: float,
    tau: int,
    slot: int,
    chance: float,
    reward: float,
) -> Any:
    if int(program[level + KIND]) == number:
        return here(program, level, row, at, n, a, b, tau, slot, chance, reward)
    return otherwise(program, level, row, at, n, a, b, tau, slot, chance, reward)


def _chain(link: Callable[..., Any], role: str) -> Callable[..., Any]:
    chain = getattr(CATALOGUE[0].kernels, role)
    for place, cls in list(enumerate(CATALOGUE))[1:]:
        name = f"{role}_{cls.name}_or_other"
        chain = specialised(link, name, number=place, here=getattr(cls.kernels, role), otherwise=chain)
    return chain  # type: ignore[no-any-return]


ANY = Kernels(_chain(_start, "start"), _chain(_select, "select"), _chain(_update, "update"))
"""The routine that a program's level names, whichever it is."""
