"""Turn plain functions into machine code.

A *kernel* is an ordinary Python function over scalars and runs of words, marked with :func:`kernel`. Nothing is
compiled when it is defined (importing Numba takes a quarter of a second, and planning needs none of it). When one is
first wanted, :func:`compiled` copies it and every kernel that it calls by name, hands the copies to Numba and keeps
the result. :func:`specialised` makes one kernel from another by saying what some of its names mean: the loop over the
steps is written once and exists once for every routine. The same plain functions run under the interpreter
(``HLMC_JIT=0``: to debug, to measure coverage), and can be built for another target.

Machine code is kept on disk: see :mod:`hlmc.kernels.cache`.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from hlmc.errors import HLMCError
from hlmc.kernels.cache import attach as cache_on_disk

F = TypeVar("F", bound=Callable[..., Any])

# Numba's own switch has the same meaning: its plain functions could not call our native kernels.
JIT = os.environ.get("HLMC_JIT", "1") != "0" and os.environ.get("NUMBA_DISABLE_JIT", "") in ("", "0")


def kernel(function: F) -> F:
    """Mark a plain function as one that can be compiled and called from other kernels."""
    function.__hlmc_kernel__ = True  # type: ignore[attr-defined]
    return function


def native(build: Callable[[], Any]) -> Callable[[F], F]:
    """Mark a kernel whose machine code is not compiled from its body but comes from ``build()``."""

    def mark(function: F) -> F:
        function.__hlmc_native__ = build  # type: ignore[attr-defined]
        return kernel(function)

    return mark


def unbound(*_: Any) -> Any:
    """What a name in a template means before :func:`specialised` gives it a meaning."""
    raise RuntimeError("this kernel is a template: make one of it with specialised()")


def specialised(template: Callable[..., Any], name: str, **meanings: Any) -> Callable[..., Any]:
    """A kernel like ``template`` in which the given global names mean something else.

    >>> @kernel
    ... def twice(x):
    ...     return operation(operation(x))
    >>> import math
    >>> specialised(twice, "fourth_root", operation=math.sqrt)(16.0)
    2.0
    """
    copy = types.FunctionType(
        template.__code__,
        {**template.__globals__, **meanings},
        name,
        template.__defaults__,
        template.__closure__,
    )
    copy.__qualname__ = name
    copy.__module__ = template.__module__
    copy.__doc__ = template.__doc__
    return kernel(copy)


def linked(function: Callable[..., Any], link: Callable[[Callable[..., Any]], Any]) -> Callable[..., Any]:
    """A copy of a kernel in which the kernels it names are what ``link`` makes of them."""
    kernels = {name: link(value) for name, value in _named(function).items()}
    return specialised(function, function.__qualname__, **kernels)


def _named(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """The kernels that a kernel calls by name."""
    known = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {name: value for name, value in known.items() if value and hasattr(value, "__hlmc_kernel__")}


@cache
def leads_to(function: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether a kernel calls another one, by whatever way."""
    return function is other or any(leads_to(called, other) for called in _named(function).values())


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The machine code of a kernel, or the kernel itself when compilation is switched off.

    >>> import numpy as np
    >>> from hlmc.kernels.stream import uniform
    >>> 0.0 <= compiled(uniform)(np.uint64(7), 0, 0) < 1.0
    True
    """
    if not JIT:
        return function
    if hasattr(function, "__hlmc_native__"):
        return function.__hlmc_native__()  # type: ignore[no-any-return]
    return _dispatcher(function, nogil=True, forceinline=True)  # type: ignore[no-any-return]


@cache
def entry(function: Callable[..., Any], *signature: str, release: bool = False) -> Callable[..., Any]:
    """A kernel's machine code for one signature (result first), called without a look at the types of its arguments.

    That look is most of what a call from Python costs. ``release``: other threads may run meanwhile.
    """
    if not JIT:
        return _interpreted(function)
    from numba import types

    result, *arguments = (getattr(types, name) for name in signature)
    dispatcher = _dispatcher(function, nogil=release)
    dispatcher.compile(result(*arguments))
    (compiled_once,) = dispatcher.overloads.values()
    return compiled_once.entry_point  # type: ignore[no-any-return]


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    import numba

    if numba.config.DISABLE_JIT:
        raise HLMCError("Numba's compiler is disabled; set HLMC_JIT=0 in the environment to run without it")
    dispatcher = numba.njit(error_model="numpy", **options)(linked(function, compiled))
    cache_on_disk(dispatcher, function, **options)
    return dispatcher


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine words wrap around when they overflow; NumPy's do so too, but say so."""

    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return run
