"""Copy kernels, substituting callees recursively: the one mechanism by which targets and structures vary a kernel.

A kernel calls other kernels by name. :func:`substitute` copies a kernel and whatever it calls, with some kernels in
place of others: the loop over the steps is written once and exists once for every routine, a structure can be another
one that says two things differently, and a target can replace a kernel by what its hardware does faster.

What may be replaced is declared: a key of ``substitutions`` must be a kernel that the copied one reaches. Targets pass
the fields of a record of hooks (:mod:`hlmc.engine.hooks`), whose names and defaults are checked when it is made.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive, kernel
from hlmc.errors import BadArgument

Kernel = Callable[..., Any]
Substitutions = Mapping[Kernel, Any]


def callees(function: Kernel) -> dict[str, Kernel]:
    """The kernels that a kernel calls, by the names that it calls them by: global names and closure variables."""
    values = names_of(function)
    return {name: value for name, value in values.items() if is_kernel(value)}


def names_of(function: Kernel) -> dict[str, Any]:
    """What the global names and closure variables of a function mean."""
    code = function.__code__
    known = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            known[name] = cell.cell_contents
        except ValueError:
            raise BadArgument(f"{_where(function)} uses {name!r} before it has a value") from None
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _refuse_calls(function, inner)
    return known


def _refuse_calls(function: Kernel, inner: types.CodeType) -> None:
    """A nested function would keep calling the kernels that it was written with: refuse it if it calls any."""
    for name in inner.co_names:
        if is_kernel(function.__globals__.get(name)):
            raise BadArgument(
                f"{_where(function)} calls {name} from a nested function ({inner.co_name}); "
                "a kernel must call others itself: define the nested function at module level"
            )


def _where(function: Kernel) -> str:
    code = function.__code__
    return f"kernel {function.__qualname__} ({code.co_filename}, line {code.co_firstlineno})"


def relink(function: Kernel, replaced: Mapping[str, Any], name: str | None = None) -> Kernel:
    """A copy of a kernel in which the given global names and closure variables mean something else."""
    code = function.__code__
    cells = tuple(
        types.CellType(replaced[free]) if free in replaced else cell
        for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    )
    copy = types.FunctionType(
        code, {**function.__globals__, **replaced}, name or function.__name__, function.__defaults__, cells or None
    )
    copy.__qualname__ = name or function.__qualname__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    copy.__annotations__ = function.__annotations__
    copy.__hlmc_source__ = getattr(function, "__hlmc_source__", function)  # type: ignore[attr-defined]
    return kernel(copy)


def substitute(function: Kernel, substitutions: Substitutions, precision: str = "float64") -> Kernel:
    """Copy a kernel, substituting callees recursively; in single precision, narrow its constants.

    A substitute may itself be substituted. Parts of the call graph in which nothing changes are shared with the
    original, and equal requests give the same copy.

    Parameters
    ----------
    function
        The kernel to copy.
    substitutions
        Which kernel stands for another. Every key must be reached from ``function``.
    precision
        ``"float32"``: float constants become float32, ``float`` means ``numpy.float32``, and constants that a module
        lists in ``SINGLE`` take the values given there.

    Examples
    --------
    >>> from hlmc.engine.kernel import kernel
    >>> @kernel
    ... def change(x: float) -> float:
    ...     return x + 1.0
    >>> @kernel
    ... def twice(x: float) -> float:
    ...     return change(change(x))
    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2.0 * x
    >>> substitute(twice, {change: double})(5.0)
    20.0
    >>> substitute(double, {change: twice})
    Traceback (most recent call last):
    hlmc.errors.BadArgument: kernel double ... does not call change, so it cannot be substituted there
    """
    copy = substitute_where_used(function, substitutions, precision)
    for hook in substitutions:
        if not reaches(function, hook):
            raise BadArgument(
                f"{_where(function)} does not call {hook.__qualname__}, so it cannot be substituted there"
            )
    return copy


def substitute_where_used(function: Kernel, substitutions: Substitutions, precision: str = "float64") -> Kernel:
    """The same for substitutions of which a kernel need not reach all: those that serve a family of kernels."""
    items = frozenset(substitutions.items())
    _refuse_circle(function, items)
    return _substituted(function, items, precision)


@lru_cache(maxsize=4096)
def _refuse_circle(function: Kernel, items: frozenset[tuple[Kernel, Any]]) -> None:
    """Raise an error if the copy would call itself: a substitute leads back to what it replaces, or a kernel recurs."""
    substitutions = dict(items)
    path: list[Kernel] = []
    finished: set[Kernel] = set()

    def visit(each: Kernel) -> None:
        if each in path:
            circle = " -> ".join(one.__qualname__ for one in [*path[path.index(each) :], each])
            raise BadArgument(f"{_where(each)} cannot be copied, since the substitution would never end: {circle}")
        if each in finished:
            return
        path.append(each)
        if each in substitutions:
            visit(substitutions[each])
        elif is_kernel(each) and not is_primitive(each):
            for callee in callees(each).values():
                visit(callee)
        finished.add(path.pop())

    visit(function)


@lru_cache(maxsize=4096)
def _substituted(function: Kernel, items: frozenset[tuple[Kernel, Any]], precision: str) -> Kernel:
    substitutions = dict(items)
    while function in substitutions:
        function = substitutions[function]
    if not is_kernel(function) or is_primitive(function):
        return function
    before = callees(function)
    after = {name: _substituted(callee, items, precision) for name, callee in before.items()}
    if precision == "float64" and after == before:
        return function
    copy = relink(function, after)
    if precision == "float32":
        _narrow(copy)
    return copy


def _narrow(copy: Kernel) -> None:
    """Make a copy's float constants single precision, and what it calls ``float``."""
    names = copy.__globals__
    used = [name for name in copy.__code__.co_names if name in names]
    names.update({name: value for name, value in names.get("SINGLE", {}).items() if name in used})
    with np.errstate(over="ignore", under="ignore"):
        single = {name: np.float32(names[name]) for name in used if isinstance(names[name], float)}
        constants = tuple(np.float32(x) if isinstance(x, float) else x for x in copy.__code__.co_consts)
    names.update(single, float=np.float32)
    copy.__code__ = copy.__code__.replace(co_consts=constants)


@cache
def reaches(function: Kernel, other: Kernel) -> bool:
    """Whether a kernel is another one or calls it, directly or through others."""
    return function is other or any(reaches(callee, other) for callee in callees(function).values())


def constant(value: int) -> Kernel:
    """A kernel without arguments that gives a number known at compile time.

    >>> constant(4)()
    4
    """
    return relink(_constant, {"_VALUE": value}, f"constant_{value}")


_VALUE = 0


@kernel
def _constant() -> int:
    """A number known at compile time."""
    return _VALUE
