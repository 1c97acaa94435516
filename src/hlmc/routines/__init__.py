"""The catalogue of routines: one algorithm per file, found by name.

To add an algorithm, add a file and a line here.
"""

from __future__ import annotations

from typing import Any

from hlmc.errors import BadArgument, BadType, shown
from hlmc.routines.base import Kernels, LevelContext, Routine
from hlmc.routines.coded import ALL_BITS, CodedRoutine, checked_bits
from hlmc.routines.contest import Contest
from hlmc.routines.custom import Custom
from hlmc.routines.epsilon_greedy import EpsilonGreedy
from hlmc.routines.exp3 import EXP3
from hlmc.routines.exp3_loss import EXP3IX, EXP3Loss
from hlmc.routines.exp3m import CountedEXP3
from hlmc.routines.exp3p import EXP3P
from hlmc.routines.exp3s import EXP3S
from hlmc.routines.thompson import Thompson
from hlmc.routines.tsallis import TsallisINF
from hlmc.routines.ucb1 import UCB1
from hlmc.routines.uniform import Uniform
from hlmc.spelling import hint, no_attribute, spelled, suggest_arguments

__all__ = [
    "CATALOGUE",
    "CODED",
    "EXP3",
    "EXP3IX",
    "EXP3P",
    "EXP3S",
    "UCB1",
    "CodedRoutine",
    "Contest",
    "CountedEXP3",
    "Custom",
    "EXP3Loss",
    "EpsilonGreedy",
    "LevelContext",
    "Routine",
    "Thompson",
    "TsallisINF",
    "Uniform",
    "coded",
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
    Thompson,
    EpsilonGreedy,
)
"""Every routine. Its index in this tuple is its number in a program."""
suggest_arguments(*CATALOGUE)

VARIANTS: dict[str, Routine] = {
    "tsallis-rv": TsallisINF(),
    "tsallis-iw": TsallisINF(estimator="importance-weighted"),
}
"""Routines with parameters that the arena and the literature have names for."""


def kind(routine: Routine) -> int:
    """The number of a routine in a program; -1 for a routine outside this package."""
    if isinstance(routine, CodedRoutine):
        routine = routine.plain
    return CATALOGUE.index(type(routine)) if type(routine) in CATALOGUE else -1


CODED = tuple(cls for cls in CATALOGUE if cls.coded is not None)
"""The routines of which there is a form with statistics of b bits."""


def coded(routine: Routine, bits: int) -> Routine:
    """A routine with statistics of so many bits; 64: the routine itself.

    >>> coded(TsallisINF(), 12).words(100)
    19
    >>> coded(EXP3P(), 12)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: bits must be 64 for routines.EXP3P(), not 12; fewer are for ...
    """
    b = checked_bits(bits)
    if b == ALL_BITS:
        return routine
    if routine.coded is None:
        names = ", ".join(sorted(cls.name for cls in CODED))
        raise BadArgument(f"bits must be {ALL_BITS} for {routine!r}, not {b}; fewer are for {names}")
    return CodedRoutine(routine, bits=b)


def routine(given: str | Routine) -> Routine:
    """A routine by its name, or the routine itself. Case, dots, hyphens and spaces in a name do not matter.

    >>> routine("exp3s"), routine("EXP3.S"), routine("tsallis-iw")
    (routines.EXP3S(), routines.EXP3S(), routines.TsallisINF(estimator='importance-weighted'))
    >>> routine("exp4")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no routine 'exp4'; did you mean 'exp3'?
    """
    if isinstance(given, Routine):
        if not isinstance(getattr(given, "kernels", None), Kernels):
            raise BadType(f"a routine of your own needs kernels, or is a routines.Custom; {shown(given)} is neither")
        return given
    if not isinstance(given, str):
        raise BadType(f"a routine is given by its name or as a Routine, not as {shown(given)}")
    named = {cls.name: cls for cls in CATALOGUE if cls is not Custom}
    meant = spelled(given, [*named, *VARIANTS])
    if meant is None:
        raise BadArgument(f"there is no routine {shown(given)}; {hint(given, sorted(named))}")
    return VARIANTS[meant] if meant in VARIANTS else named[meant]()


def canonical(given: Any) -> Any:
    """A routine's name in its one spelling; whatever else is given stays as it is.

    >>> canonical("EXP3.S"), canonical("tsallis-rv"), canonical("tsallis-iw"), canonical("exp4")
    ('exp3s', 'tsallis-inf', routines.TsallisINF(estimator='importance-weighted'), 'exp4')
    """
    meant = spelled(given, [*(cls.name for cls in CATALOGUE if cls is not Custom), *VARIANTS])
    if meant in VARIANTS:
        made = VARIANTS[meant]
        return made.name if made == type(made)() else made
    return given if meant is None else meant


def __getattr__(name: str) -> Any:
    raise no_attribute(__name__, name, __all__)
