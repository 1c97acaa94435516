"""Targets: how the engine's kernels run on a machine.

======================  =========================================================================================
``native``              machine code for this processor, by Numba (the default)
``interpreter``         the kernels as plain Python: to debug, and to measure coverage (``HLMC_JIT=0``)
``cuda``                NVIDIA GPUs, by NVRTC
``c``                   C99 for microcontrollers and WebAssembly; translated, not run here
======================  =========================================================================================

The processor has one target per process, which :data:`JIT` says. Both offer the same six functions, found here:

``compiled(kernel)``
    A function that takes arrays' addresses and numbers.
``entry(kernel, *signature, release=False)``
    The same for one signature, called without a look at the types of its arguments.
``callback(kernel, signature)``
    An object whose ``address`` other kernels can call.
``address_of(array)``
    What a kernel takes for an array of words.
``linked(policy)``
    The policy's program with the functions that it calls; its ``address`` is what kernels take for a program.
``side_by_side(policy, adversary, runs)``
    A loop that plays many runs at once, with the same results as one by one; None where there is none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.delayed import delayed_loop
from hlmc.engine.layout import CHILDREN, FIELDS
from hlmc.engine.loops import loop_over

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

JIT = os.environ.get("HLMC_JIT", "1") != "0" and os.environ.get("NUMBA_DISABLE_JIT", "") in ("", "0")
"""Whether kernels are compiled. Numba's own switch counts too: its plain functions could not call our primitives."""

if TYPE_CHECKING or JIT:
    from hlmc.targets.native import address_of, callback, compiled, entry, linked, side_by_side
else:
    from hlmc.targets.interpreter import address_of, callback, compiled, entry, linked, side_by_side

__all__ = [
    "JIT",
    "address_of",
    "address_table",
    "callback",
    "compiled",
    "entry",
    "linked",
    "loop",
    "loop_with_delays",
    "notes_for",
    "side_by_side",
]


def address_table(entries: list[Any]) -> tuple[Any, Any]:
    """A table of addresses and whole numbers for kernels: what must be kept alive, and what a kernel takes."""
    if not JIT:
        return entries, entries
    table = np.array(entries, dtype=np.int64)
    return table, address_of(table)


def notes_for(policy: Policy, program: Array | None = None) -> Array:
    """The words for the notes of :func:`hlmc.engine.step.run` on a learner of a policy (or of another program)."""
    noted = policy.routines_used[-1].kernels.noted
    if policy.structure.contiguous and noted is None:
        return np.empty(1)
    children = (policy.program if program is None else program).reshape(-1, FIELDS)[1:, CHILDREN]
    slots = int(children.max()) + policy.structure.extra_slots
    return np.empty(slots * (1 + (0 if noted is None else noted.per_slot)))


def loop(policy: Policy) -> Callable[..., int]:
    """:func:`hlmc.engine.step.run` for the learners of a policy, the routine of its last level compiled in."""
    last = policy.routines_used[-1]
    run = loop_over(None if last.opaque else last.kernels)
    return entry(run, "int64", *["int64"] * 10, release=True)


def loop_with_delays(policy: Policy) -> Callable[..., int]:
    """:func:`hlmc.engine.delayed.run_delayed` for the learners of a policy."""
    last = policy.routines_used[-1]
    run = delayed_loop(policy.structure, None if last.opaque else last.kernels)
    return entry(run, "int64", *["int64"] * 10, release=True)
