"""Kernels to machine code.

:func:`compiled` copies a kernel and every kernel that it calls, and hands the copies to Numba. Primitives are replaced
by what :mod:`hlmc.targets.native.lowering` makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hlmc.engine.kernel import is_primitive
from hlmc.engine.linker import callees, relink
from hlmc.targets.native.cache import cache_folder, keep_on_disk, storable


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The machine code of a kernel.

    >>> import numpy as np
    >>> from hlmc.engine.stream import uniform
    >>> 0.0 <= compiled(uniform)(np.uint64(7), 0, 0) < 1.0
    True
    """
    if is_primitive(function):
        from hlmc.targets.native.lowering import lowered

        return lowered(function)  # type: ignore[no-any-return]
    return _dispatcher(function, nogil=True, forceinline=True)  # type: ignore[no-any-return]


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
def callback(function: Callable[..., Any], signature: tuple[str, ...], store: bool = True) -> Any:
    """A kernel compiled as a C function of a fixed signature; keep the result alive as long as its address is used.

    ``store``: its machine code may be kept on disk, if all of it stands in this package.
    """
    import numba

    from hlmc.targets.native.lowering import c_signature

    with cache_folder():
        keep = store and storable(function)
        return numba.cfunc(c_signature(signature), cache=keep, nogil=True, error_model="numpy")(_linked(function))


def _linked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a kernel that calls machine code."""
    return relink(function, {name: compiled(callee) for name, callee in callees(function).items()})


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    import numba

    dispatcher = numba.njit(error_model="numpy", **options)(_linked(function))
    if storable(function):
        keep_on_disk(dispatcher)
    return dispatcher
