"""Tsallis-INF in single precision, for groups so small that loops over their slots are unrolled.

A warp whose threads have groups of ten and of eleven slots would wait for two copies of the loop over the steps, one
for each count; and where every thread ends its search at another slot, it waits for the last. Here all threads take
the same path: loops go over as many slots as a group can have, those that a group lacks have a loss whose probability
no sum notices, and a draw counts the partial sums that it has passed. Last digits differ from the engine's, whose sums
have another order; so this is for single precision alone.
"""

from __future__ import annotations

import numpy as np

from hlmc.engine import ftrl
from hlmc.engine.arithmetic import divide
from hlmc.engine.ftrl import LEAST, PAD, SINGLE, loss_of
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel, constant, reaches, substitute
from hlmc.targets.cuda.shape import Shape

__all__ = ["SINGLE", "add_everywhere", "counted_draw", "one_path", "pad", "padding", "sums_of_all", "unrolled"]

Array = np.ndarray

# SINGLE is imported for the linker, which takes the single-precision values of PAD and LEAST from this module.

MOST = 32  # slots of a group; more would make the loop longer than a multiprocessor's instruction cache


@kernel
def slots() -> int:
    """Hook: how many slots a group has at most; a constant."""
    return 1


@kernel
def pad(workspace: Array, at: int, n: int) -> None:
    """Give the slots that a group of n lacks a loss that counts for nothing."""
    for slot in range(n, slots()):
        workspace[at + slot - 1] = PAD


@kernel
def sums_of_all(row: Array, at: int, n: int, x: float, scale: float) -> tuple[float, float, float]:
    """:func:`hlmc.engine.ftrl.power_sums`."""
    far = 0.5 * scale * scale
    squares = 0.0
    cubes = 0.0
    beyond = 0.0
    for slot in range(slots()):
        distance = loss_of(row, at, slot) - x
        root = divide(scale, distance)
        square = root * root
        squares += square
        cube = square * root
        cubes += cube
        beyond += cube if distance > far else 0.0
    return squares, cubes, beyond


@kernel
def counted_draw(row: Array, at: int, n: int, scale: float, x: float, squares: float, u: float) -> tuple[int, float]:
    """:func:`hlmc.engine.ftrl.ftrl_draw`: it counts the partial sums that u has passed."""
    u *= squares
    total = 0.0
    slot = 0
    for j in range(slots() - 1):
        root = divide(scale, loss_of(row, at, j) - x)
        total += root * root
        slot += u >= total
    slot = min(slot, n - 1)
    root = divide(scale, loss_of(row, at, slot) - x)
    return slot, max(root * root * divide(1.0, squares), LEAST)


@kernel
def add_everywhere(
    row: Array, at: int, n: int, near: float, baseline: float, zero: float, slot: int, above: float
) -> None:
    """:func:`hlmc.engine.ftrl.add_losses`, without asking which slots a group has.

    A padded slot's loss is PAD, 1e15; what is added to it changes nothing while slot 0 has lost less than that.
    """
    for k in range(at, at + slots() - 1):
        row[k] += (baseline if row[k] <= near else 0.0) - zero
    if slot > 0:
        row[at + slot - 1] += above


def one_path(shape: Shape, precision: str) -> bool:
    """Whether this module is for learners of a shape."""
    return precision == "float32" and 1 < shape.slots <= MOST and reaches(shape.last.select, ftrl.power_sums)


def unrolled(count: int) -> dict[Kernel, Kernel]:
    """What stands for kernels of the engine where a group has at most ``count`` slots."""
    here = {slots: constant(count)}
    return {
        ftrl.power_sums: substitute(sums_of_all, here),
        ftrl.ftrl_draw: substitute(counted_draw, here),
        ftrl.add_losses: substitute(add_everywhere, here),
    }


def padding(count: int) -> Kernel:
    """:func:`pad` for groups of at most ``count`` slots."""
    return substitute(pad, {slots: constant(count)})
