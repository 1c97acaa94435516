"""Single precision: the kernels that a GPU narrows to float32 compute in float32 throughout.

A float64 that slips in makes no result wrong, but is slow on every GPU: arithmetic of one operand in double precision
drags all that follows along. So Numba infers the types here, on the processor, of every kernel that is narrowed, with
runs of float32 words, and no variable may be a float64. No GPU and no simulator is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import pytest
from numba import types

from hlmc import routines
from hlmc.engine import primitives, weights
from hlmc.engine.kernel import is_primitive, kernel
from hlmc.engine.linker import Kernel, callees, constant, reaches, relink, substitute_where_used
from hlmc.engine.records import Level
from hlmc.targets.cuda import arithmetic

ROUTINES = {routine.name: routine for routine in routines.CATALOGUE if not routine.opaque}
RUN = types.float32[::1]
INT, FLOAT = types.int64, types.float32
LEVEL = (types.NamedTuple((RUN, INT, RUN, INT, INT), Level), FLOAT, FLOAT, INT)  # level, a, b, tau
SIGNATURES = {"select": (*LEVEL, FLOAT), "update": (*LEVEL, INT, FLOAT, FLOAT)}
PIECES = {
    weights.pieces_start: (RUN, INT, INT),
    weights.pieces_end: (RUN, INT, INT, FLOAT),
    weights.pieces_clean: (RUN, INT, INT),
    weights.pieces_need_rescale: (FLOAT,),
    weights.growing_pieces_need_rescale: (FLOAT,),
}
STORES = {
    "scan": {},
    "pieces": {
        weights.scan_limit: constant(2**63 - 1),
        weights.piece_size: constant(4),
        weights.piece_log: constant(2),
        weights.mixed_draw: weights.pieces_draw,
        weights.pure_draw: weights.pieces_pure_draw,
        weights.weights_grow: weights.pieces_grow,
        weights.weights_multiply: weights.pieces_multiply,
    },
}

# The primitives that narrowed kernels call, on arrays.
LOWERED = {
    primitives.offset: lambda run, at: run[at:],
    primitives.noalias: lambda run: run,
    primitives.exponent: lambda x: math.frexp(x)[1],
    arithmetic.fast_exp: lambda x: math.exp(x),
    arithmetic.exp2: lambda x: math.exp(x),
    arithmetic.saturate: lambda x: min(max(x, x), x),
}


class Typing:
    """Infers the types of kernels, and of all that they call."""

    def __init__(self) -> None:
        self._dispatchers: dict[Kernel, Any] = {}

    def infer(self, function: Kernel, signature: tuple[Any, ...]) -> None:
        """Type a kernel for arguments of these types."""
        self._dispatcher(function).compile(signature)

    def _dispatcher(self, kernel: Kernel) -> Any:
        if kernel not in self._dispatchers:
            function = LOWERED[kernel] if is_primitive(kernel) else self._linked(kernel)
            options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            self._dispatchers[kernel] = numba.njit(function, **options)
        return self._dispatchers[kernel]

    def _linked(self, kernel: Kernel) -> Kernel:
        return relink(kernel, {name: self._dispatcher(callee) for name, callee in callees(kernel).items()})

    def doubles(self) -> list[str]:
        """The variables of double precision in everything that was typed."""
        return sorted(
            f"{kernel.__name__}: {variable} is {kind}"
            for kernel, dispatcher in self._dispatchers.items()
            for compiled in dispatcher.overloads.values()
            for variable, kind in compiled.type_annotation.typemap.items()
            if any(each == types.float64 for each in (kind, *getattr(kind, "types", ())))
        )


def narrowed(kernel: Kernel, store: str) -> Kernel:
    """A kernel as a GPU has it in single precision."""
    hooks = arithmetic.routine_hooks("float32").substitutions
    return substitute_where_used(kernel, {**STORES[store], **hooks}, "float32")


@pytest.mark.parametrize("store", STORES)
def test_kernels_narrowed_to_float32_compute_in_float32(store: str) -> None:
    typing = Typing()
    for routine in ROUTINES.values():
        for role, signature in SIGNATURES.items():
            typing.infer(narrowed(getattr(routine.kernels, role), store), signature)
    for function, signature in PIECES.items():
        typing.infer(narrowed(function, store), signature)
    assert typing.doubles() == []


@kernel
def _mixed(row: Any, at: int, n: int) -> float:
    """Not narrow: an integer of 64 bits times a float32 is a float64."""
    return row[at] * n  # type: ignore[no-any-return]


def test_a_float64_is_noticed() -> None:
    typing = Typing()
    typing.infer(narrowed(_mixed, "scan"), (RUN, INT, INT))
    assert typing.doubles() != []


@pytest.mark.parametrize("name", ROUTINES)
def test_what_a_routine_declares_of_its_weights_is_what_it_does(name: str) -> None:
    """A GPU keeps sums of the weights of routines that say so; those that do not say so would draw from stale sums."""
    routine = ROUTINES[name]
    grows = reaches(routine.kernels.update, weights.weights_grow)
    multiplies = reaches(routine.kernels.update, weights.weights_multiply)
    assert routine.weights == ("growing" if grows else "any" if multiplies else "none")
