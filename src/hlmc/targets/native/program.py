"""A policy's program in memory, with the addresses of the functions that it calls in front of it.

A program is pure numbers. In front of its first word lies a table of addresses, which only this target knows of and
which :mod:`hlmc.targets.native.lowering` reads: entry i is the 64-bit integer at word ``-1 - i``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.primitives import ARM_OF, BEGIN, END, SELECT, START, UPDATE
from hlmc.engine.routines import level_kernels
from hlmc.targets.native.compiler import callback

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

# Entries of the table: three of the structure, then three of every routine.
BEGIN_ENTRY, END_ENTRY, ARM_OF_ENTRY, ROUTINES = range(4)
START_ENTRY, SELECT_ENTRY, UPDATE_ENTRY = range(3)
ENTRIES = 3  # of a routine


class LinkedProgram:
    """A program and its table of addresses; both stay where they are for as long as this object is kept."""

    def __init__(self, policy: Policy) -> None:
        structure = policy.structure
        self._callbacks = [callback(structure.begin, BEGIN), callback(structure.end, END)]
        self._callbacks.append(callback(structure.arm_of, ARM_OF))
        for routine in policy.routines_used:
            kernels = level_kernels(routine.kernels)
            self._callbacks.append(callback(kernels.start, START))
            self._callbacks.append(callback(kernels.select, SELECT))
            self._callbacks.append(callback(kernels.update, UPDATE))
        entries = len(self._callbacks)
        self._memory = np.empty(entries + len(policy.program))
        self._memory[entries:] = policy.program
        self._memory[:entries].view(np.int64)[::-1] = [each.address for each in self._callbacks]
        self.address: int = self._memory.ctypes.data + 8 * entries


def linked(policy: Policy) -> LinkedProgram:
    """A policy's program with the functions that it calls: compiled when first asked for, kept with the policy."""
    known = vars(policy)
    if "_linked" not in known:
        known["_linked"] = LinkedProgram(policy)
    return known["_linked"]  # type: ignore[no-any-return]


def address_of(array: Array) -> Any:
    """The address of an array's first word."""
    return array.ctypes.data
