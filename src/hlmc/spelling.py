"""Names as people type them: one spelling each, the others accepted where a name is a text, suggestions elsewhere.

An algorithm has a class (``EXP3S``), a routine's name (``exp3s``) and a label in print (``EXP3.S``). The three differ
only in case, dots, hyphens and spaces, which are ignored: where an algorithm or an adversary is named by a text, any of
the three is accepted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hlmc.errors import BadType

Function = TypeVar("Function", bound=Callable[..., Any])


ALIKE = 0.7
"""How alike two names must be, on the scale of :mod:`difflib`, for one to be suggested for the other."""


def plain(name: str) -> str:
    """A name without case, dots, hyphens and spaces.

    >>> plain("EXP3.S") == plain("exp3s") == plain("Exp3-S")
    True
    """
    return "".join(filter(str.isalnum, name.casefold()))


def spelled(given: Any, names: Iterable[str]) -> str | None:
    """The one of some names that a text means, or None.

    >>> spelled("ucb-m", ["UCB1", "UCBM"]), spelled("UCB", ["UCB1", "UCBM"])
    ('UCBM', None)
    """
    if not isinstance(given, str):
        return None
    names = list(names)
    if given in names:
        return given
    return {plain(name): name for name in reversed(names)}.get(plain(given))


def near(given: Any, names: Iterable[str]) -> str | None:
    """The one of some names that is most like a text, if any is like it.

    >>> near("mem", ["arms", "memory", "horizon"]), near("Neddle", ["Needle", "Decoy"]), near("xyz", ["arms"])
    ('memory', 'Needle', None)
    """
    import difflib

    if not isinstance(given, str):
        return None
    known = {plain(name): name for name in names if plain(name)}
    typed = plain(given)
    matches = difflib.get_close_matches(typed, known, n=1, cutoff=ALIKE)
    begun = [name for name in known if len(typed) > 2 and name.startswith(typed)]
    return known[(matches or begun)[0]] if matches or len(begun) == 1 else None


def hint(given: Any, names: Iterable[str]) -> str:
    """The end of a message about a name that is not there: the one that was meant, or those that there are.

    >>> hint("Exp3", ["EXP3", "UCB1"]), hint("bandit", ["EXP3", "UCB1"])
    ("did you mean 'EXP3'?", 'there are EXP3, UCB1')
    """
    names = list(names)
    meant = near(given, names)
    return f"there are {', '.join(names)}" if meant is None else f"did you mean {meant!r}?"


def no_attribute(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error of a module that has no such name; for the module's ``__getattr__``.

    >>> no_attribute("hlmc", "Exp3", ["EXP3", "UCB1"])
    AttributeError("module 'hlmc' has no attribute 'Exp3'; did you mean 'EXP3'?")
    """
    meant = None if name.startswith("_") else near(name, names)
    end = "" if meant is None else f"; did you mean {meant!r}?"
    # With an object of its own in it, Python does not add a suggestion to this one.
    return AttributeError(f"module {module!r} has no attribute {name!r}{end}", name=name, obj=None)


def suggesting(function: Function, called: str | None = None) -> Function:
    """A function that says of an argument that it does not have which one may be meant. Its signature stays.

    >>> @suggesting
    ... def simulate(policy, horizon=None): ...
    >>> simulate("EXP3", horizn=100)
    Traceback (most recent call last):
    hlmc.errors.BadType: simulate has no argument 'horizn'; did you mean 'horizon'?
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = frozenset(names)

    @functools.wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                mine = [each for each in names if each != "self"]
                raise BadType(f"{called or function.__name__} has no argument {name!r}; {hint(name, mine)}")
        return function(*given, **named)

    return checked  # type: ignore[return-value]


def suggest_arguments(*classes: type) -> None:
    """Have some dataclasses say of an argument that they do not have which one may be meant."""
    for cls in classes:
        if "__init__" in vars(cls):
            type.__setattr__(cls, "__init__", suggesting(vars(cls)["__init__"], cls.__name__))
