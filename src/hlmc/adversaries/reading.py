"""Parse the printed form of an adversary or another value, without executing anything."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from hlmc.adversaries.base import Adversary


def from_repr(text: str) -> Adversary | None:
    """The adversary of the catalogue with this printed form, or None if the text does not determine it.

    >>> from_repr("BlockTrap(arms=100, memory=20)")
    BlockTrap(arms=100, memory=20)
    >>> from_repr("Function(arms=2, reward=staircase)") is None
    True
    """
    from hlmc.adversaries import CATALOGUE

    found: Adversary | None = parsed(text, {cls.__name__: cls for cls in CATALOGUE})
    return found


def parsed(text: str, classes: Mapping[str, type]) -> Any:
    """The value of one of some classes with this printed form, or None if the text does not determine it.

    >>> from hlmc.policies import CATALOGUE
    >>> parsed("HLMC(arms=9, groups=(3, 3), horizon=90)", CATALOGUE)
    HLMC(arms=9, groups=(3, 3), horizon=90)
    """
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        positional = [ast.literal_eval(value) for value in call.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return classes[call.func.id](*positional, **named)
    except (SyntaxError, ValueError, TypeError, KeyError, OSError, MemoryError, RecursionError):
        return None
