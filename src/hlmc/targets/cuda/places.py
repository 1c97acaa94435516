"""Where a thread finds its words in what a launch is given: addresses, or arrays in the simulator.

Rows and desks lie in memory as [block of threads, word, thread], so that neighbours read and write side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hlmc.device.target import SIMULATED
from hlmc.engine.kernel import kernel, specialised, unbound

Array = np.ndarray

BLOCK = 4 if SIMULATED else 128
"""Threads in a block; the simulator makes a thread of the operating system of each."""


@dataclass(frozen=True)
class Layout:
    """How a device holds learners: threads in a block, registers of a thread, desks in shared memory or beside it."""

    precision: str
    shared: bool
    registers: int
    block: int = BLOCK


at_words = start_of = unbound
SIZE = 8


@kernel
def _in_blocks(address: Any, block: int, width: int, lane: int) -> Array:
    return at_words(address + SIZE * (block * width * BLOCK + lane))


@kernel
def _in_shared(address: Any, block: int, width: int, lane: int) -> Array:
    return at_words(start_of() + SIZE * lane)


@kernel
def in_list(address: Any, number: int, length: int) -> Array:
    return at_words(address + SIZE * number * length)


@kernel
def alone(address: Any) -> Array:
    return at_words(address)


@kernel
def _simulated_in_blocks(array: Array, block: int, width: int, lane: int) -> Array:
    return array[block, :, lane]


@kernel
def _simulated_in_list(array: Array, number: int, length: int) -> Array:
    return array[number]


@kernel
def simulated_alone(array: Array) -> Array:
    return array


def places(layout: Layout) -> dict[str, Any]:
    """How a thread finds its words in what a launch is given: addresses, or arrays in the simulator."""
    if SIMULATED:
        lists = dict.fromkeys(("program_of", "own_of"), _simulated_in_list)
        blocks = dict.fromkeys(("row_of", "desk_of", "kept_desk_of"), _simulated_in_blocks)
        return lists | blocks | dict.fromkeys(("spec_of", "plain_of"), simulated_alone)
    from hlmc.device.pointers import SHARED, run_at, shared_address

    precision, block = layout.precision, layout.block
    fixed = run_at("float64", 1, constant=True)
    size = np.dtype(precision).itemsize
    own = run_at(precision, 1, constant=True)
    kept = specialised(_in_blocks, "kept_desk_of", at_words=run_at(precision, block), SIZE=size, BLOCK=block)
    desk = kept
    if layout.shared:
        held = run_at(precision, block, SHARED)
        desk = specialised(_in_shared, "desk_of", at_words=held, start_of=shared_address, SIZE=size)
    return {
        "program_of": specialised(in_list, "program_of", at_words=fixed),
        "own_of": specialised(in_list, "own_of", at_words=own, SIZE=size),
        "row_of": specialised(_in_blocks, "row_of", at_words=run_at("float64", block), BLOCK=block),
        "desk_of": desk,
        "kept_desk_of": kept,
        "SHARED_DESKS": layout.shared,
        "spec_of": specialised(alone, "spec_of", at_words=fixed),
        "plain_of": specialised(alone, "plain_of", at_words=run_at("float64", 1)),
    }
