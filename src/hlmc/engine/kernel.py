"""Marks for what every target can read: kernels, primitives and records.

A *kernel* is a plain Python function over scalars and runs of words. It allocates nothing, keeps no state and calls
only other kernels, primitives and the functions of :mod:`math` that the dialect allows (``docs/dialect.md``). Nothing
is compiled when it is defined: a target (:mod:`hlmc.targets`) copies it, with everything that it calls, when it is
first wanted.

A *primitive* is a kernel that Python and machine code must say differently: reading raw bits, calling through a table
of functions. Its body is what the interpreter runs; every compiling target brings its own implementation.

A *record* is a named tuple that kernels take and give as one argument: what would be several that go together.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound=type)

Address: TypeAlias = Any
"""An address in memory: a 64-bit integer once compiled; under the interpreter, the array or the function itself."""


def kernel(function: F) -> F:
    """Mark a plain function as one that targets can compile and that other kernels can call.

    >>> @kernel
    ... def half(x: float) -> float:
    ...     return 0.5 * x
    >>> half(3.0), is_kernel(half), is_kernel(abs)
    (1.5, True, False)
    """
    function.__hlmc_kernel__ = True  # type: ignore[attr-defined]
    return function


def primitive(function: F) -> F:
    """Mark a kernel whose body is for the interpreter alone: each compiling target has its own implementation."""
    function.__hlmc_primitive__ = True  # type: ignore[attr-defined]
    return kernel(function)


def indirect(*signature: str) -> Callable[[F], F]:
    """Mark a primitive that calls the C function of this signature at the address that is its first argument.

    The signature names the types of the result and of the arguments after the address: ``float64``, ``int64``,
    ``void`` or ``words``, a run of words.
    """

    def mark(function: F) -> F:
        function.__hlmc_indirect__ = signature  # type: ignore[attr-defined]
        return primitive(function)

    return mark


def record(kind: R) -> R:
    """Mark a named tuple whose fields have types of the dialect as one that kernels can take, make and return.

    >>> from typing import NamedTuple
    >>> @record
    ... class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> is_record(Point), is_record(Point(1.0, 2.0)), is_record(tuple)
    (True, False, False)
    """
    kind.__hlmc_record__ = True  # type: ignore[attr-defined]
    return kind


def is_record(kind: object) -> bool:
    """Whether a class is marked as a record."""
    return isinstance(kind, type) and hasattr(kind, "__hlmc_record__")


def is_kernel(function: object) -> bool:
    """Whether a function is marked as a kernel. What a compiler makes of one carries the mark on, but is none."""
    return isinstance(function, FunctionType) and hasattr(function, "__hlmc_kernel__")


def is_primitive(function: object) -> bool:
    """Whether a kernel has an implementation of its own on each target."""
    return hasattr(function, "__hlmc_primitive__")
