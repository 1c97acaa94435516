"""Kernels to machine code for a CUDA device.

:class:`Compiler` copies a kernel and every kernel that it calls, as :mod:`hlmc.targets.native.compiler` does, and hands
the copies to numba-cuda. Whatever is different on a device has been substituted before; here only primitives are
replaced, by what :mod:`hlmc.targets.cuda.lowering` makes of them.

In Numba's simulator (``NUMBA_ENABLE_CUDASIM=1``) nothing is compiled: kernels call one another as Python functions, a
run of words is a NumPy array, and the body of a primitive is what runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.engine.linker import callees, relink
from hlmc.engine.primitives import noinline
from hlmc.targets.cuda import simulator

Kernel = Callable[..., Any]

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "1"
"""Whether Numba's simulator stands in for a device: slow, exact, and available everywhere."""


class Compiler:
    """Compiles one launch: an entry point with the device functions that it calls, each of them once.

    Device functions are kept for as long as the compiler is, so that two callers of a kernel share one function.
    """

    def __init__(self) -> None:
        self._functions: dict[Kernel, Any] = {}

    def entry(self, function: Kernel, registers: int, fastmath: bool = False) -> Any:
        """A kernel that can be launched. It is compiled at its first launch.

        In an entry point, and nowhere else, the global name ``cuda`` means ``numba.cuda``: thread coordinates and
        shared memory are asked for there, because the simulator knows them only in the function that was launched.

        Parameters
        ----------
        function
            The kernel; it returns nothing.
        registers
            Registers per thread at most. More of them leave room for fewer threads on a multiprocessor.
        fastmath
            Whether float operations written in the entry point itself may be reordered.
        """
        from numba import cuda

        options: dict[str, Any] = {"fastmath": fastmath}
        if SIMULATED:
            simulator.mend()
        else:
            # The link-time optimiser would turn the fast quotients of single precision into exact ones.
            options |= {"max_registers": registers, "lto": False}
        return cuda.jit(self.linked(function, cuda=cuda), **options)

    def linked(self, function: Kernel, **names: Any) -> Kernel:
        """A copy of a kernel that calls device functions; ``names`` are further global names of the copy."""
        called = {name: self.function(callee) for name, callee in callees(function).items()}
        return relink(function, {**called, **names})

    def function(self, function: Kernel) -> Any:
        """A kernel as a device function; in the simulator, as a Python function."""
        if not SIMULATED and is_primitive(function):
            from hlmc.targets.cuda.lowering import lowered

            function = lowered(function)
        if not is_kernel(function) or is_primitive(function):
            return function
        if function not in self._functions:
            copy: Any = self.linked(function)
            if not SIMULATED:
                from numba import cuda

                inline = noinline not in callees(function).values()
                copy = cuda.jit(copy, device=True, forceinline=inline, lto=False)
            self._functions[function] = copy
        return self._functions[function]
