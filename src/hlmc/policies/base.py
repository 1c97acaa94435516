"""The base class of policies. A policy is a value that describes how to learn; the state is in its learners."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hlmc.engine.layout import (
    CONTIGUOUS,
    KIND,
    LEVELS,
    OPAQUE,
    ROUTINE,
    STRUCTURE,
)
from hlmc.engine.soundness import check_program
from hlmc.engine.structures import CATALOGUE as STRUCTURES
from hlmc.engine.structures import Structure
from hlmc.guarantee import Guarantee
from hlmc.plan import Plan
from hlmc.routines import kind
from hlmc.values import Value

if TYPE_CHECKING:
    from pathlib import Path

    from hlmc.fleet import Fleet
    from hlmc.learner import Learner
    from hlmc.routines.base import Routine

Array = np.ndarray


@dataclass(frozen=True)
class Words:
    """The number of 64-bit words of a learner.

    ``statistics`` is the paper's M: the numbers kept per arm or per group. ``control`` is the rest (clocks, sums and
    the random stream): a few words per level, independent of the number of arms.

    >>> Words(20, 19).total
    39
    """

    statistics: int
    control: int

    @property
    def total(self) -> int:
        """Statistics and control: ``learner.state.nbytes == 8 * total``."""
        return self.statistics + self.control


class Policy(Value):
    """A description of how to learn: frozen, hashable, comparable and picklable. It prints as the call that makes it.

    Subclasses are frozen dataclasses that check their arguments on construction. They compile to a *program*, the
    small table that the step functions read (:mod:`hlmc.engine.layout`).
    """

    arms: int
    horizon: int | None
    structure: ClassVar[Structure]
    """How the arms are grouped, and when the routine over them restarts."""
    _shows_defaults: ClassVar[bool] = False

    @property
    def words(self) -> Words:
        """The memory of one learner, in 64-bit words."""
        raise NotImplementedError

    @cached_property
    def program(self) -> Array:
        """The table that the step functions read, flattened."""
        raise NotImplementedError

    @property
    def routines_used(self) -> tuple[Routine, ...]:
        """The routine of each level, top first."""
        raise NotImplementedError

    def _finished(self, table: Array) -> Array:
        """Complete a program: fill in the fields that the structure and the routines determine; return it flattened."""
        check_program(table, self.structure, [routine.words for routine in self.routines_used])
        table[0, STRUCTURE] = STRUCTURES.index(self.structure) if self.structure in STRUCTURES else -1
        table[0, CONTIGUOUS] = self.structure.contiguous
        for i, record in enumerate(table[1:]):
            d = i % int(table[0, LEVELS])
            routine = self.routines_used[d]
            record[KIND] = kind(routine)
            record[ROUTINE] = d
            record[OPAQUE] = routine.opaque or routine.bits < 64
        table.flags.writeable = False
        return table.reshape(-1)

    @property
    def plan(self) -> Plan:
        """Levels, groups, epochs, routines, parameters, words and bound; prints as a table."""
        raise NotImplementedError

    def bound(self, horizon: int | None = None, switches: int | None = None) -> float | None:
        """The proved bound on the regret of the policy at a horizon (by default its own), or None if there is none.

        ``switches`` is the V of shifting regret, for policies that were not given it.
        """
        return None

    @property
    def guarantee(self) -> Guarantee:
        """What is proved about the regret, and where; what was measured; what is not covered. Prints as a few lines."""
        return Guarantee()

    def start(self, seed: int = 0, stream: int = 0) -> Learner:
        """A new learner. Equal seeds and streams give equal learners; different ones give independent learners.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
        >>> arm = learner.select()
        >>> learner.update(1.0)
        >>> learner.time
        1
        """
        # A learner is made of a policy: imported here, the circle is never closed.
        from hlmc.learner import Learner

        return Learner.fresh(self, seed, stream)

    def fleet(self, size: int, seed: int = 0, file: str | Path | None = None) -> Fleet:
        """``size`` learners as the rows of one array, or of a memory-mapped file. Learner i is ``start(seed, i)``.

        >>> import hlmc
        >>> fleet = hlmc.EXP3(arms=3, horizon=100).fleet(size=4, seed=1)
        >>> fleet.select().shape
        (4,)
        """
        # A fleet is made of a policy: imported here, the circle is never closed.
        from hlmc.fleet import Fleet

        return Fleet.fresh(self, size, seed, file)

    def _adopt(self, routine: Routine) -> None:
        """Keep a routine's parameters, which are fields of the same names here, as the routine has checked them."""
        self._keep(**{f.name: getattr(routine, f.name) for f in fields(routine)})
