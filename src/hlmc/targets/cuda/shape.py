"""What policies must share to be played by one piece of machine code.

Machine code depends on the structure, on the routines, and on how many words and children there are; it does not depend
on learning rates, epoch lengths or the horizon, which are numbers of the program. Policies of one shape therefore share
a compilation and a launch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hlmc.engine.layout import AT, CHILDREN, FIELDS, LEVELS, ONE, ROUTINE, SPAN, ZERO
from hlmc.engine.routines import RoutineKernels
from hlmc.engine.structures import Structure
from hlmc.engine.weights import SCAN
from hlmc.errors import BadArgument

if TYPE_CHECKING:
    from hlmc.policies.base import Policy

Array = np.ndarray

LONG = 1000
"""Steps between two restarts from which on unrolling the loop over the steps pays."""

UNROLLED = 4
"""Steps that are then taken without asking how many are left."""


def steps_between_restarts(policy: Policy) -> float:
    """How many steps the routine over the arms runs at most before it is restarted."""
    return float(policy.program[-FIELDS + SPAN])


@dataclass(frozen=True)
class Shape:
    """The part of a policy that is compiled.

    Parameters
    ----------
    structure
        The structure, a value with kernels.
    routines
        The distinct routines of all levels. On a device the ROUTINE word of a program is a place in this tuple.
    last
        The routine of the last level.
    weights
        What the last level's routine declares of its weights: ``"none"``, ``"growing"`` or ``"any"``.
    row_words
        Words of a row.
    stat_words
        Words of the last level's statistics, which end the row.
    slots
        The most slots that the last level has; most of its groups have just so many.
    children
        The most children that any level has.
    program_words
        Words of a program.
    forgets
        Nobody reads the last level's statistics after a run of its routine has ended, so they are not written back.
        A user's own routine might read them when it is started again.
    stride
        Steps that are taken without asking how many are left.
    coded
        The last level's words are codes, which only words of 64 bits can hold.
    """

    structure: Structure
    routines: tuple[RoutineKernels, ...]
    last: RoutineKernels
    weights: str
    row_words: int
    stat_words: int
    slots: int
    children: int
    program_words: int
    forgets: bool
    stride: int = 1
    coded: bool = False

    @classmethod
    def of(cls, policy: Policy) -> Shape:
        """The shape of a policy."""
        if not policy.known_probability:  # its draws need a loop of unknown length for every slot
            raise BadArgument(f'{policy!r} is played with device="cpu" only')
        program, structure = policy.program, policy.structure
        record = FIELDS * int(program[LEVELS])
        used = policy.routines_used
        width = policy.words.total
        shape = cls(
            structure=structure,
            routines=tuple(dict.fromkeys(routine.kernels for routine in used)),
            last=used[-1].kernels,
            weights=used[-1].weights,
            row_words=width,
            stat_words=width - int(program[record + AT]),
            slots=int(program[record + CHILDREN]) + structure.extra_slots,
            children=int(program.reshape(-1, FIELDS)[1:, CHILDREN].max()) + 1,
            program_words=len(program),
            forgets=not structure.keeps_statistics and not used[-1].opaque,
            coded=used[-1].bits < 64,
        )
        long = steps_between_restarts(policy) >= LONG
        unrolled = long and shape.pieces and shape.only_grows and shape.slots <= 16
        return replace(shape, stride=UNROLLED) if unrolled else shape

    def precision(self, asked: str) -> str:
        """The precision of a workspace where ``asked`` is asked for."""
        return "float64" if self.coded else asked

    @property
    def only_grows(self) -> bool:
        """Whether the weights of the last level only grow."""
        return self.weights == "growing"

    @property
    def pieces(self) -> int:
        """How many sums of weights precede the statistics in the workspace; 0 if the last level draws otherwise."""
        if self.weights == "none" or not 1 < self.slots <= SCAN:
            return 0
        return -(-self.slots // self.piece)

    @property
    def piece(self) -> int:
        """How many weights make a piece: half of a few, else a power of two near the square root."""
        if self.slots <= 16:
            return (self.slots + 1) // 2
        return 1 << (math.isqrt(self.slots - 1).bit_length())

    @property
    def workspace_words(self) -> int:
        """Words of a workspace: sums, statistics, and up to a piece that a draw reads past the last weight."""
        return self.pieces + self.stat_words + (self.piece if self.pieces else 0)

    @property
    def loop_words(self) -> int:
        """Words of a workspace in the loop over the steps: a table of the slots' arms follows, unless these are
        neighbours.
        """
        return self.workspace_words + (0 if self.structure.contiguous else self.slots)

    def program(self, policy: Policy) -> Array:
        """A policy's program with places in :attr:`routines` as its ROUTINE words."""
        table = policy.program.reshape(-1, FIELDS).copy()
        used = [self.routines.index(routine.kernels) for routine in policy.routines_used]
        for i in range(1, len(table)):
            table[i, ROUTINE] = used[(i - 1) % len(used)]
        # Here adversaries and games pay, always in [0, 1]; and single precision might not hold these.
        table[0, ZERO] = table[0, ONE] = 0.0
        return table.reshape(-1)
