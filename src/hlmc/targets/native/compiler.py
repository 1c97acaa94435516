"""Kernels to machine code.

:func:`compiled` copies a kernel and every kernel that it calls, and hands the copies to Numba. Primitives are replaced
by what :mod:`hlmc.targets.native.lowering` makes of them, a few kernels by their twins in
:mod:`hlmc.targets.native.lanes`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hlmc.engine.kernel import is_primitive
from hlmc.engine.linker import callees, relink
from hlmc.errors import HLMCError
from hlmc.interrupts import Interrupts, signals_waiting
from hlmc.targets.native.cache import attach as cache_on_disk
from hlmc.turns import wait_for


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The machine code of a kernel.

    >>> import numpy as np
    >>> from hlmc.engine.stream import uniform
    >>> 0.0 <= compiled(uniform)(np.uint64(7), 0, 0) < 1.0
    True
    """
    return _primitive(function) or _dispatcher(function, nogil=True, forceinline=True)  # type: ignore[no-any-return]


@cache
def _inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that only kernels call: without the wrappers for Python and C, which take a quarter of the time."""
    options = {"nogil": True, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return _primitive(function) or _dispatcher(function, **options)  # type: ignore[no-any-return]


def _primitive(function: Callable[..., Any]) -> Any:
    """What stands for a primitive in machine code; None for other kernels."""
    if not is_primitive(function):
        return None
    from hlmc.targets.native.lowering import lowered

    return lowered(function)


def _uninterrupted(found: Any) -> Any:
    """Let Ctrl-C and other signals wait until a dispatcher or C function has been compiled, whoever asks for it.

    LLVM calls Python back while it compiles. An exception raised there is printed and ignored, and Numba then fails
    with another because it misses what the callback should have given.
    """
    compile_it = found.compile

    def compile_all(*arguments: Any) -> Any:
        with Interrupts(), signals_waiting():
            return compile_it(*arguments)

    found.compile = compile_all
    return found


@cache
def entry(function: Callable[..., Any], *signature: str, release: bool = False) -> Callable[..., Any]:
    """A kernel's machine code for one signature (result first), called without a look at the types of its arguments.

    That look is most of what a call from Python costs. ``release``: other threads may run meanwhile.
    """
    from numba import types

    result, *arguments = (getattr(types, name) for name in signature)
    dispatcher = _dispatcher(function, nogil=release)
    dispatcher.compile(result(*arguments))
    (compiled_once,) = dispatcher.overloads.values()
    return compiled_once.entry_point  # type: ignore[no-any-return]


@cache
def callback(function: Callable[..., Any], signature: tuple[str, ...]) -> Any:
    """A kernel compiled as a C function of a fixed signature; keep the result alive as long as its address is used."""
    from numba.core.ccallback import CFunc
    from numba.core.sigutils import normalize_signature

    from hlmc.targets.native.lowering import c_signature

    _check_enabled()
    options = {"nogil": True, "error_model": "numpy"}
    found = CFunc(_linked(function), normalize_signature(c_signature(signature)), locals={}, options=options)
    cache_on_disk(found, function)
    _uninterrupted(found).compile()
    return found


def written(function: Callable[..., Any], signature: tuple[str, ...], write: Callable[..., Any], lanes: int) -> Any:
    """A C function of a fixed signature that calls a kernel on several lanes (:mod:`hlmc.targets.native.wide`).

    Raises ``NotWide`` if it cannot be written. ``write`` must follow from the other arguments: the cache on disk knows
    no more of it.
    """
    from numba.core.ccallback import CFunc
    from numba.core.sigutils import normalize_signature

    from hlmc.targets.native.lowering import c_signature
    from hlmc.targets.native.wide import caller

    _check_enabled()
    options = {"nogil": True, "error_model": "numpy"}
    refused: list[Exception] = []
    body = caller(function.__name__, signature, write, lanes, refused)
    found = CFunc(body, normalize_signature(c_signature(signature)), locals={}, options=options)
    cache_on_disk(found, function, lanes=(lanes, *signature))
    try:
        _uninterrupted(found).compile()
    except Exception:
        if refused:
            raise refused[0] from None
        raise
    return found


def _linked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a kernel that calls machine code."""
    return relink(function, {name: _inlined(callee) for name, callee in callees(function).items()})


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    import numba

    from hlmc.targets.native.lanes import TWINS

    _check_enabled()
    dispatcher = numba.njit(error_model="numpy", **options)(TWINS.get(function) or _linked(function))
    cache_on_disk(dispatcher, function, **options)
    return _uninterrupted(dispatcher)


def _check_enabled() -> None:
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    # A child that was forked while another thread compiles would wait for a thread that it does not have.
    wait_for(global_compiler_lock)
    if numba.config.DISABLE_JIT:
        raise HLMCError("Numba's compiler is disabled; set HLMC_JIT=0 in the environment to run without it")
