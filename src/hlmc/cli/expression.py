"""A policy from the text of the call that makes it: the text is parsed, and nothing in it is evaluated as Python."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from hlmc.errors import BadArgument, BadType, shown
from hlmc.spelling import hint, spelled

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

LONGEST = 2000
"""Characters of an expression."""


def policy_of(text: str) -> Policy:
    """The policy that a call describes: a policy's name and literal arguments; also routines by their names.

    >>> policy_of("HLMC(arms=100, memory=20, horizon=10**6)")
    HLMC(arms=100, memory=20, horizon=1000000)
    >>> policy_of("__import__('os').abort()")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: a policy is written as a call such as HLMC(arms=100, memory=20, horizon=10**6), not ...
    """
    from hlmc.policies import CATALOGUE

    call = None
    if len(text) <= LONGEST:
        try:
            call = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            call = None
    if not isinstance(call, ast.Call) or _name(call.func) is None:
        raise BadArgument(
            f"a policy is written as a call such as HLMC(arms=100, memory=20, horizon=10**6), not {shown(text)}"
        )
    name = str(_name(call.func)).removeprefix("hlmc.")
    known = spelled(name, CATALOGUE)
    if known is None:
        raise BadArgument(f"there is no policy {name!r}; {hint(name, CATALOGUE)}")
    return _made(CATALOGUE[known], call)  # type: ignore[no-any-return]


def _name(node: ast.expr) -> str | None:
    """A name, or several with dots."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _name(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None


def _made(cls: Any, call: ast.Call) -> Any:
    positional = [_value(node) for node in call.args]
    named = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise BadArgument(f"** is not understood in {ast.unparse(call)!r}")
        named[keyword.arg] = _value(keyword.value)
    try:
        return cls(*positional, **named)
    except BadType as error:
        raise BadArgument(str(error)) from None
    except TypeError as error:
        raise BadArgument(f"{cls.__name__}: {str(error).removeprefix(f'{cls.__name__}.').strip()}") from None


def _value(node: ast.expr) -> Any:
    """A literal, a power of literals such as 10**6, a tuple of values, or a routine."""
    from hlmc.routines import CATALOGUE, Custom

    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str | None):
        return node.value
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(each) for each in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand)
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, power = _value(node.left), _value(node.right)
        # A small number before it is raised: 9**999999999 would keep the machine busy for ever.
        numbers = isinstance(base, int | float) and isinstance(power, int | float) and abs(base) >= 1
        if numbers and abs(power) * math.log2(abs(base)) <= 1000:
            return base**power
    if isinstance(node, ast.Call):
        name = (_name(node.func) or "").removeprefix("hlmc.").removeprefix("routines.")
        known = {cls.__name__: cls for cls in CATALOGUE if cls is not Custom}
        if name in known:
            return _made(known[name], node)
    raise BadArgument(f"{ast.unparse(node)!r} is not a number, text, tuple or routine")
