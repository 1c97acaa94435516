"""What a learner does, for the test that is exported with it: the arms that it selects and the row that it leaves.

The kernels run under the interpreter, with the functions of the C file in place of Python's :mod:`math`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.engine.linker import callees, names_of, relink
from hlmc.engine.routines import level_kernels
from hlmc.engine.step import select, update
from hlmc.targets.interpreter import LinkedProgram, entry

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray
Kernel = Callable[..., Any]

SHOWN = 100
"""Steps that are compared arm by arm."""
STEPS = 1000
"""Steps in all."""

_FNV, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


@dataclass(frozen=True)
class Vectors:
    """What a test compares: arms and rewards in quarters of the first steps; digests of all arms and of the row."""

    steps: int
    arms: tuple[int, ...]
    quarters: tuple[int, ...]
    arms_digest: int
    row_digest: int


def digested(digest: int, bits: int) -> int:
    """FNV-1a of 64 more bits, from the least significant byte on."""
    for _ in range(8):
        digest = (digest ^ (bits & 0xFF)) * _PRIME & _MASK
        bits >>= 8
    return digest


def vectors(policy: Policy, row: Array, own: Mapping[str, Kernel], steps: int = STEPS) -> Vectors:
    """Play from a row on, which is changed; ``own``: kernels in place of functions of :mod:`math`."""
    program = policy.program.view(LinkedProgram)
    structure = policy.structure
    program.structure = SimpleNamespace(  # type: ignore[assignment]
        **{role: replaced(getattr(structure, role), own) for role in ("begin", "end", "arm_of")}
    )
    program.routines = tuple(
        type(kernels)(*(replaced(kernel, own) for kernel in kernels))
        for kernels in (level_kernels(routine.kernels) for routine in policy.routines_used)
    )
    choose, learn = entry(replaced(select, own)), entry(replaced(update, own))
    drawn = np.random.default_rng(0).integers(0, 5, SHOWN)
    arms: list[int] = []
    quarters: list[int] = []
    digest = _FNV
    for t in range(steps):
        arm = int(choose(program, row))
        if arm < 0:
            break
        paid = int(drawn[t]) if t < SHOWN else (7 * t + 3 * arm) % 5
        learn(program, row, 0.25 * paid)
        digest = digested(digest, arm)
        arms.append(arm)
        quarters.append(paid)
    left = _FNV
    for bits in row.view(np.uint64):
        left = digested(left, int(bits))
    return Vectors(len(arms), tuple(arms[:SHOWN]), tuple(quarters[:SHOWN]), digest, left)


def replaced(kernel: Kernel, own: Mapping[str, Kernel]) -> Kernel:
    """A copy of a kernel that calls some kernels in place of functions of :mod:`math`, wherever it leads."""
    return _replaced(kernel, frozenset(own.items())) if own else kernel


@lru_cache(maxsize=4096)
def _replaced(kernel: Kernel, own: frozenset[tuple[str, Kernel]]) -> Kernel:
    if not is_kernel(kernel) or is_primitive(kernel):
        return kernel
    before = callees(kernel)
    changed: dict[str, Any] = {
        name: new for name, callee in before.items() if (new := _replaced(callee, own)) is not callee
    }
    if names_of(kernel).get("math") is math:
        changed["math"] = SimpleNamespace(**{**vars(math), **dict(own)})
    return relink(kernel, changed) if changed else kernel
