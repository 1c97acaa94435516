"""Adversaries of your own, as they come: a function, an object, an array, a data frame or a file."""

from __future__ import annotations

import os
from inspect import signature
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.adversaries.function import Function
from hlmc.adversaries.tables import UNNAMED
from hlmc.adversaries.trace import Trace
from hlmc.checks import whole
from hlmc.errors import BadArgument, BadType, shown
from hlmc.spelling import spelled

_WAYS = (
    "adversary must be one of hlmc.adversaries, a function (t, arm) -> reward, an object with reward(t, arm), "
    "a table [steps, arms] or the path of one (.npy, .csv, .parquet)"
)
_STEPS = (0, 1, 2, 3, 7, 10, 100, 1000)
_TRIED_ARMS = 4


def adversary_of(given: Any, arms: int | None = None) -> Adversary:
    """The adversary that an argument of :func:`hlmc.simulate` stands for.

    Parameters
    ----------
    given
        An adversary; a function ``(t, arm)`` or an object with a method ``reward(t, arm)``, both counted from 0; a
        table [steps, arms] as an array, a data frame or nested lists; the path of a file with one; or the name of an
        adversary of this package, which is made for as many arms as the policies have.
    arms
        The number of arms of the policies, for a function or an object that does not say how many it has.

    Examples
    --------
    >>> adversary_of(lambda t, arm: arm / 4, arms=4)
    Function(arms=4, reward=<lambda>)
    >>> adversary_of([[0.0, 1.0], [0.5, 0.5]])
    Trace(table=[[0.0, 1.0], [0.5, 0.5]])
    >>> adversary_of("Needle", arms=4)
    Needle(arms=4, ...)
    >>> adversary_of(7)
    Traceback (most recent call last):
    hlmc.errors.BadType: adversary must be one of hlmc.adversaries, ... not 7
    """
    if isinstance(given, Adversary):
        return given
    if isinstance(given, str) and not os.path.exists(given):  # noqa: PTH110 - Path.exists fails where a text is too long for a path
        from hlmc.adversaries import CATALOGUE, named  # which import this module

        classes = {cls.__name__: cls for cls in CATALOGUE}
        found = spelled(given, classes)
        if found is not None:
            takes = arms is not None and "arms" in signature(classes[found]).parameters
            return named(found, **({"arms": arms} if takes else {}))
    if isinstance(given, (str, os.PathLike)):
        return Trace(os.fspath(given))
    if isinstance(given, (np.ndarray, list, tuple)):
        return Trace(given)
    if hasattr(given, "to_numpy") and hasattr(given, "columns"):
        return Trace(_without_index(given))
    if isinstance(given, type):
        raise BadType(f"{_WAYS}, not the class {given.__name__}: make an object of it")
    reward = getattr(given, "reward", None)
    function = reward if callable(reward) else given
    if not callable(function):
        raise BadType(f"{_WAYS}, not {shown(given)}")
    known = getattr(given, "arms", None)
    known = arms if known is None else whole("adversary.arms", known, 1)
    if known is None:
        raise BadArgument(
            "adversary must say how many arms it has, as no policy does: hlmc.adversaries.Function(arms=K, reward=...)"
        )
    adversary = Function(known, function)
    _check_repeats(adversary)
    return adversary


def _without_index(frame: Any) -> Any:
    """A data frame as an array, without the column that an index becomes in a CSV file."""
    if len(frame.columns) > 1 and str(frame.columns[0]) in UNNAMED:
        frame = frame.iloc[:, 1:]
    return frame.to_numpy()


def _check_repeats(adversary: Function) -> None:
    """Refuse a function that draws rewards anew at every call: a benchmark would be that of other rewards."""
    arms = np.unique(np.linspace(0, adversary.arms - 1, _TRIED_ARMS).astype(int))
    places = [(t, int(arm)) for t in _STEPS for arm in arms]
    try:
        first = [adversary.reward(*place) for place in places]
        again = [adversary.reward(*place) for place in reversed(places)][::-1]
    except Exception:  # whatever it raises, it raises when it is played
        return
    for (t, arm), one, other in zip(places, first, again, strict=True):
        if one != other:
            raise BadArgument(
                f"adversary must pay the same whenever it is asked, and pays {one} and {other} at step {t} to arm "
                f"{arm}; draw the rewards before, as a table, or take hlmc.adversaries.Bernoulli"
            )
