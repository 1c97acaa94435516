"""The workspace: a copy of the last level's statistics on which a thread works between two restarts of its routine.

It lies in shared memory where that has room, in the precision asked for. Its words are, in this order,

====================  =========================================================================================
``pieces``            sums of the weights of each piece, last piece first; none if the routine keeps no weights
``stat_words``        the statistics, as they lie in the row; exponential weights in pieces
                      (:func:`hlmc.engine.weights.pieces_start`)
``piece``             words that a draw reads past the last weight and does not use; none without pieces
====================  =========================================================================================

The thread that plays a learner is the only one that reads or writes its workspace. When a run of the routine begins the
statistics are loaded from the row, when it ends they are stored again unless nobody would read them
(:attr:`hlmc.targets.cuda.shape.Shape.forgets`), and in between they are rescaled when they have grown or shrunk too
far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hlmc.engine import weights
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import BEGAN, COUNT, UNTIL, WORDS
from hlmc.engine.linker import Kernel, constant, substitute, substitute_where_used
from hlmc.engine.step import needs_rescale
from hlmc.targets.cuda.ftrl import one_path, padding
from hlmc.targets.cuda.shape import Shape

Array = np.ndarray


# --- Hooks


@kernel
def stats_start() -> int:
    """Where in the workspace the statistics begin: after the sums of the pieces."""
    return 0


@kernel
def arrange(workspace: Array, at: int, n: int) -> None:
    """Lay n statistics, which begin at ``at`` as in a row, out for the routine. Default: they are already."""


@kernel
def restore(workspace: Array, at: int, n: int, a: float) -> float:
    """Undo ``arrange`` and rescale if needed; the routine's first scalar then. Default: there is nothing to undo."""
    return a


@kernel
def load(program: Array, row: Array, at: int, workspace: Array) -> None:
    """Load the statistics, which begin at word ``at`` of the row, into the workspace."""
    for j in range(int(program[WORDS]) - at):
        workspace[stats_start() + j] = row[at + j]
    arrange(workspace, stats_start(), int(row[COUNT]))


@kernel
def store(program: Array, row: Array, at: int, workspace: Array, a: float) -> float:
    """Store the statistics in the row from word ``at`` on; the routine's first scalar, rescaled with them."""
    a = restore(workspace, stats_start(), int(row[COUNT]), a)
    for j in range(int(program[WORDS]) - at):
        row[at + j] = workspace[stats_start() + j]
    return a


@kernel
def forget(program: Array, row: Array, at: int, workspace: Array, a: float) -> float:
    """Instead of :func:`store`, where nobody reads the statistics of a run that has ended."""
    return a


@kernel
def rescale(row: Array, workspace: Array, a: float) -> float:
    """Rescale the statistics in the workspace; the routine's first scalar, rescaled with them."""
    n = int(row[COUNT])
    a = restore(workspace, stats_start(), n, a)
    arrange(workspace, stats_start(), n)
    return a


# --- The loop's hooks (hlmc.engine.hooks.LoopHooks)


@kernel
def load_stats(program: Array, row: Array, at: int, workspace: Array, t: int) -> int:
    """Before step t: load the statistics if the routine has just been restarted; where in the workspace they begin.

    Otherwise the workspace holds them since an earlier stretch, or an earlier launch.
    """
    if t == int(row[BEGAN]):
        load(program, row, at, workspace)
    return stats_start()


@kernel
def store_stats(program: Array, row: Array, at: int, workspace: Array, t: int, a: float) -> float:
    """Before step t: store the statistics if the run of the routine has ended, else rescale them if needed."""
    if t == int(row[UNTIL]):
        return store(program, row, at, workspace, a)
    return rescale(row, workspace, a) if needs_rescale(a) else a


@dataclass(frozen=True)
class WorkspaceKernels:
    """What is done with the workspaces of learners of one shape; the kernels above, in one precision.

    ``needs_rescale`` looks at the routine's first scalar, the sum of the weights.
    """

    stats_start: Kernel
    load: Kernel
    store: Kernel
    rescale: Kernel
    needs_rescale: Kernel
    load_stats: Kernel
    store_stats: Kernel


def workspace_kernels(shape: Shape, leaf: dict[Kernel, Kernel], precision: str, forgets: bool) -> WorkspaceKernels:
    """The workspace's kernels for learners of this shape.

    Parameters
    ----------
    leaf
        What is replaced in the last level's routine (:func:`hlmc.targets.cuda.arithmetic.leaf_substitutions`).
    precision
        In which weights are arranged and restored. The copying converts, because a row is float64.
    forgets
        Whether the end of a run forgets the statistics.
    """

    def narrowed(function: Kernel) -> Kernel:
        return substitute_where_used(function, leaf, precision)

    start = constant(shape.pieces)
    inside: dict[Kernel, Kernel] = {stats_start: start}
    needed = needs_rescale
    if shape.pieces:
        grown = weights.growing_pieces_need_rescale if shape.only_grows else weights.pieces_need_rescale
        needed = narrowed(grown)
        inside |= {arrange: narrowed(weights.pieces_start), restore: narrowed(weights.pieces_end)}
    stored = forget if forgets else substitute(store, {k: v for k, v in inside.items() if k is not arrange})
    ends: dict[Kernel, Kernel] = {store: stored, rescale: substitute(rescale, inside)}
    if shape.pieces:
        ends[needs_rescale] = needed
    elif one_path(shape, precision):
        inside[arrange] = narrowed(padding(shape.slots))
    return WorkspaceKernels(
        stats_start=start,
        load=substitute(load, {k: v for k, v in inside.items() if k is not restore}),
        store=stored,
        rescale=ends[rescale],
        needs_rescale=needed,
        load_stats=substitute(load_stats, {k: v for k, v in inside.items() if k is not restore}),
        store_stats=substitute(store_stats, ends),
    )
