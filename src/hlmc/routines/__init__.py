"""The catalogue of routines: one file an algorithm, found here by name.

Adding an algorithm is adding a file, and a line here.
"""

from __future__ import annotations

from hlmc.errors import BadArgument, BadType, shown
from hlmc.routines.base import Kernels, LevelContext, Routine
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
    "LevelContext",
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
"""Every routine; its place in this tuple is its number in a program."""


def kind(routine: Routine) -> int:
    """The number of a routine in a program; -1 for one that stands outside this package."""
    return CATALOGUE.index(type(routine)) if type(routine) in CATALOGUE else -1


def routine(given: str | Routine) -> Routine:
    """A routine by its name, or the routine itself.

    >>> routine("exp3s")
    routines.EXP3S()
    >>> routine("exp4")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no routine 'exp4'; there are contest, exp3, ...
    """
    if isinstance(given, Routine):
        if not isinstance(getattr(given, "kernels", None), Kernels):
            raise BadType(f"a routine of your own needs kernels, or is a routines.Custom; {shown(given)} is neither")
        return given
    if not isinstance(given, str):
        raise BadType(f"a routine is given by its name or as a Routine, not as {shown(given)}")
    named = {cls.name: cls for cls in CATALOGUE if cls is not Custom}
    if given not in named:
        raise BadArgument(f"there is no routine {shown(given)}; there are {', '.join(sorted(named))}")
    return named[given]()
