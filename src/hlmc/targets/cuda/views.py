"""Where a thread finds its words in what a launch was given.

A launch hands over addresses; in the simulator, the arrays themselves. A *view* is a kernel that makes a run of words
of one of them. The bodies below are the simulator's. On a device each is replaced by address arithmetic and a pointer
whose stride, precision and address space are part of its type (:mod:`hlmc.targets.cuda.pointers`), which is why there
is a view for each kind of memory and not one for all.

Rows and workspaces of a simulation lie as [block, word, lane] (structure of arrays per block), so that the threads of a
warp read and write neighbouring words. :mod:`hlmc.games.cuda` has the views of a game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hlmc.engine.hooks import Hook, Hooks
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, constant, substitute_where_used
from hlmc.targets.cuda.compiler import SIMULATED
from hlmc.targets.cuda.primitives import shared_base

Array = np.ndarray

BLOCK = 4 if SIMULATED else 128
"""Threads per block; the simulator makes a thread of the operating system of each."""


@dataclass(frozen=True)
class Layout:
    """How a simulation holds its learners.

    ``precision`` is that of the workspaces. ``shared``: they lie in shared memory while a launch runs. ``registers``
    is the most that a thread may use, ``block`` the number of threads per block.
    """

    precision: str
    shared: bool
    registers: int
    block: int = BLOCK


# --- Views, as the simulator has them


@kernel
def program_view(programs: Any, number: int, length: int) -> Array:
    """One of many programs [number, word], float64, read only."""
    return programs[number]  # type: ignore[no-any-return]


@kernel
def own_view(programs: Any, number: int, length: int) -> Array:
    """The same in the precision of the workspaces."""
    return programs[number]  # type: ignore[no-any-return]


@kernel
def row_view(rows: Any, block: int, width: int, lane: int) -> Array:
    """One thread's float64 words in an array [block, word, lane] with ``width`` words per thread."""
    return rows[block, :, lane]  # type: ignore[no-any-return]


@kernel
def stored_workspace_view(workspaces: Any, block: int, width: int, lane: int) -> Array:
    """One thread's workspace in global memory, where it lies between launches: [block, word, lane]."""
    return workspaces[block, :, lane]  # type: ignore[no-any-return]


@kernel
def workspace_view(workspaces: Any, block: int, width: int, lane: int) -> Array:
    """One thread's workspace where it works on it: in global memory, or [word, lane] in the block's shared memory."""
    return workspaces[block, :, lane]  # type: ignore[no-any-return]


@kernel
def constants_view(words: Any) -> Array:
    """Float64 words that nobody writes."""
    return words  # type: ignore[no-any-return]


@kernel
def words_view(words: Any) -> Array:
    """Float64 words that anybody may write."""
    return words  # type: ignore[no-any-return]


@kernel
def in_shared_memory() -> bool:
    """Whether workspaces lie in shared memory, so that a launch must load them and store them again."""
    return False


@dataclass(frozen=True)
class ViewHooks(Hooks):
    """How a simulation's threads find their words."""

    program_view: Hook = program_view
    """One of many programs."""
    own_view: Hook = own_view
    """The same in the precision of the workspaces."""
    row_view: Hook = row_view
    """One thread's row, or its sums."""
    stored_workspace_view: Hook = stored_workspace_view
    """One thread's workspace between launches."""
    workspace_view: Hook = workspace_view
    """One thread's workspace during a launch."""
    words_view: Hook = words_view
    """Words that anybody may write."""
    in_shared_memory: Hook = in_shared_memory
    """Whether the last two workspaces differ."""


# --- Views on a device: templates, in which the four hooks below are replaced


@kernel
def pointer(address: Any) -> Any:
    """The run of words at an address."""
    return address


@kernel
def word_size() -> int:
    """Bytes of a word."""
    return 8


@kernel
def block_size() -> int:
    """Threads per block."""
    return BLOCK


@kernel
def numbered(address: Any, number: int, length: int) -> Array:
    """Words [number, word] in order."""
    return pointer(address + word_size() * number * length)  # type: ignore[no-any-return]


@kernel
def blocked(address: Any, block: int, width: int, lane: int) -> Array:
    """Words [block, word, lane]; the stride of the pointer is the block's size."""
    return pointer(address + word_size() * (block * width * block_size() + lane))  # type: ignore[no-any-return]


@kernel
def shared(address: Any, block: int, width: int, lane: int) -> Array:
    """Words [word, lane] in the block's shared memory."""
    return pointer(shared_base() + word_size() * lane)  # type: ignore[no-any-return]


@kernel
def from_start(address: Any, start: int) -> Array:
    """Words from word ``start`` on."""
    return pointer(address + word_size() * start)  # type: ignore[no-any-return]


@kernel
def whole(address: Any) -> Array:
    """Words from the first on."""
    return pointer(address)  # type: ignore[no-any-return]


def view(template: Kernel, precision: str, stride: int = 1, **options: Any) -> Kernel:
    """A view on a device: a template above, with a pointer of this precision and stride.

    ``options`` are those of :func:`hlmc.targets.cuda.pointers.run_at`: the address space, and whether the words are
    constant.
    """
    from hlmc.targets.cuda.pointers import run_at

    size = constant(np.dtype(precision).itemsize)
    replaced: dict[Kernel, Any] = {
        pointer: run_at(precision, stride, **options),
        word_size: size,
        block_size: constant(stride),
    }
    return substitute_where_used(template, replaced)


def views(layout: Layout) -> ViewHooks:
    """The views of a simulation with this layout."""
    if SIMULATED:
        return ViewHooks()
    from hlmc.targets.cuda.pointers import SHARED

    precision, block = layout.precision, layout.block
    stored = view(blocked, precision, block)
    return ViewHooks(
        program_view=view(numbered, "float64", constant=True),
        own_view=view(numbered, precision, constant=True),
        row_view=view(blocked, "float64", block),
        stored_workspace_view=stored,
        workspace_view=view(shared, precision, block, space=SHARED) if layout.shared else stored,
        words_view=view(whole, "float64"),
        in_shared_memory=constant(layout.shared),
    )
