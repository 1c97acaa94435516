"""Single precision: the kernels that a GPU narrows to float32 compute in float32 throughout.

A float64 that slips in makes no result wrong, but is slow on every GPU: arithmetic of one operand in double precision
drags all that follows along. So every kernel that is narrowed is translated here for runs of float32 words, and no
variable and no result may be a double. No GPU and no compiler is needed.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from hlmc import routines
from hlmc.engine import weights
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, constant, reaches, substitute_where_used
from hlmc.targets.c.types import Type
from hlmc.targets.cuda import arithmetic
from hlmc.targets.cuda.unit import device_unit

ROUTINES = {routine.name: routine for routine in routines.CATALOGUE if not routine.opaque}
RUN, PROGRAM = (Type.RUN, "Workspace"), (Type.RUN, "Own")
INT, FLOAT = (Type.INT, None), (Type.SINGLE, None)
LEVEL = (PROGRAM, INT, RUN, INT, INT, FLOAT, FLOAT, INT)  # a level's fields, a, b, tau
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


def doubles(*kernels: tuple[Kernel, tuple[Any, ...]]) -> list[str]:
    """The lines with a double in them of all that is translated with kernels for arguments of these types."""
    unit = device_unit("float32")
    for function, arguments in kernels:
        unit.function(function, list(arguments), None, ast.Pass())
    lines = [line for each in unit.functions for line in re.sub(r"(?s)/[*].*?[*]/", "", each.text).splitlines()]
    found = [line for line in lines if re.search(r"\bdouble\b|_real\b", line)]
    return found + [line for line in lines if re.search(r"\d\.\d+(e[-+]?\d+)?\b", line)]


def narrowed(kernel: Kernel, store: str) -> Kernel:
    """A kernel as a GPU has it in single precision."""
    hooks = arithmetic.routine_hooks("float32").substitutions
    return substitute_where_used(kernel, {**STORES[store], **hooks}, "float32")


@pytest.mark.parametrize("store", STORES)
def test_kernels_narrowed_to_float32_compute_in_float32(store: str) -> None:
    chosen = [
        (narrowed(getattr(routine.kernels, role), store), signature)
        for routine in ROUTINES.values()
        for role, signature in SIGNATURES.items()
    ]
    assert doubles(*chosen, *((narrowed(function, store), signature) for function, signature in PIECES.items())) == []


@kernel
def _mixed(row: Any, at: int, n: int) -> float:
    """Not narrow: a quotient of whole numbers is a float64."""
    return row[at] * (at / n)  # type: ignore[no-any-return]


def test_a_float64_is_noticed() -> None:
    assert doubles((narrowed(_mixed, "scan"), (RUN, INT, INT))) != []


@pytest.mark.parametrize("name", ROUTINES)
def test_what_a_routine_declares_of_its_weights_is_what_it_does(name: str) -> None:
    """A GPU keeps sums of the weights of routines that say so; those that do not say so would draw from stale sums."""
    routine = ROUTINES[name]
    grows = reaches(routine.kernels.update, weights.weights_grow)
    multiplies = reaches(routine.kernels.update, weights.weights_multiply)
    assert routine.weights == ("growing" if grows else "any" if multiplies else "none")
