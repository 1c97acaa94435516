"""What policies must share to be played by one piece of machine code."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hlmc.engine.layout import (
    AT,
    BEGIN_AT,
    CHAMPION,
    CHILDREN,
    END_AT,
    FIELDS,
    LEVELS,
    SELECT_AT,
    SPAN,
    START_AT,
    STRUCTURE,
    TREE,
    UPDATE_AT,
)
from hlmc.kernels import weights
from hlmc.kernels.build import leads_to
from hlmc.policies.base import Policy
from hlmc.routines import Custom
from hlmc.routines.base import Kernels

Array = np.ndarray

RARELY = 1000
"""Steps between two restarts from which on it pays to write out several one after the other."""


def steps_between_restarts(policy: Policy) -> float:
    """For how long the routine over the arms runs, at most."""
    return float(policy.program[-FIELDS + SPAN])


@dataclass(frozen=True)
class Shape:
    """What policies must share to be played by one piece of machine code; their numbers may differ.

    ``forgets``: what the last level knows is not wanted when it restarts; a user's own routine might look at it.
    ``stride``: how many steps are written out one after the other.
    """

    structure: int
    routines: tuple[tuple[str, Kernels], ...]
    last: tuple[str, Kernels]
    width: int
    desk: int
    full: int
    children: int
    length: int
    forgets: bool
    stride: int = 1

    @classmethod
    def of(cls, policy: Policy) -> Shape:
        """The shape of a policy."""
        program = policy.program
        record = FIELDS * int(program[LEVELS])
        structure = int(program[STRUCTURE])
        used = [(routine.name, routine.kernels) for routine in policy.routines_used]
        width = policy.words.total
        full = int(program[record + CHILDREN]) + (structure == CHAMPION)  # who defends itself in a group of others
        shape = cls(
            structure,
            tuple(dict.fromkeys(used)),
            used[-1],
            width,
            width - int(program[record + AT]),
            full,
            int(program.reshape(-1, FIELDS)[1:, CHILDREN].max()) + 1,
            len(program),
            structure == TREE and not isinstance(policy.routines_used[-1], Custom),
        )
        rarely = steps_between_restarts(policy) >= RARELY
        return replace(shape, stride=4 if rarely and shape.pieces and shape.only_grows and full <= 16 else 1)

    @property
    def only_grows(self) -> bool:
        """Whether the weights of the last level only grow."""
        return leads_to(self.last[1].update, weights.weights_grow)

    @property
    def pieces(self) -> int:
        """How many sums of weights are kept on the desk; 0 for a routine that does not draw by weights."""
        weighs = 1 < self.full <= weights.SCAN and leads_to(self.last[1].update, weights.weights_multiply)
        return -(-self.full // self.piece) if weighs else 0

    @property
    def piece(self) -> int:
        """How many weights make a piece."""
        if self.full <= 16:
            return (self.full + 1) // 2
        return 1 << (math.isqrt(self.full - 1).bit_length())

    @property
    def desk_words(self) -> int:
        """The words of a desk: sums, statistics, and a few that are read and not used."""
        return self.pieces + self.desk + (self.piece if self.pieces else 0)

    def program(self, policy: Policy) -> Array:
        """A policy's program with places in :attr:`routines` instead of addresses."""
        table = policy.program.reshape(-1, FIELDS).copy()
        used = [self.routines.index((routine.name, routine.kernels)) for routine in policy.routines_used]
        for i in range(1, len(table)):
            table[i, [START_AT, SELECT_AT, UPDATE_AT]] = used[(i - 1) % len(used)]
        table[0, [BEGIN_AT, END_AT]] = 0.0
        return table.reshape(-1)
