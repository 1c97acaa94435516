"""Parse the printed form of an adversary, without executing anything."""

from __future__ import annotations

import ast

from hlmc.adversaries.base import Adversary


def from_repr(text: str) -> Adversary | None:
    """The adversary of the catalogue with this printed form, or None if the text does not determine it.

    >>> from_repr("BlockTrap(arms=100, memory=20)")
    BlockTrap(arms=100, memory=20)
    >>> from_repr("Function(arms=2, reward=staircase)") is None
    True
    """
    from hlmc.adversaries import CATALOGUE

    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        classes = {cls.__name__: cls for cls in CATALOGUE}
        positional = [ast.literal_eval(value) for value in call.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        return classes[call.func.id](*positional, **named)
    except (SyntaxError, ValueError, TypeError, KeyError, OSError, MemoryError, RecursionError):
        return None
