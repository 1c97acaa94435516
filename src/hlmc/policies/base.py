"""What a policy is: a value that says how to learn. What it learns lives in its learners."""

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
    """How many 64-bit words a learner is.

    ``statistics`` is the paper's M, the numbers kept per arm or per group; ``control`` is the rest: clocks, sums and
    the random stream, a few words a level whatever the number of arms.

    >>> Words(20, 19).total
    39
    """

    statistics: int
    control: int

    @property
    def total(self) -> int:
        """All of them: ``learner.state.nbytes == 8 * total``."""
        return self.statistics + self.control


class Policy(Value):
    """A way to learn: frozen, hashable, comparable, picklable; prints as the call that makes it.

    Subclasses are frozen dataclasses that check their arguments when they are made and compile to a *program*, the
    small table that the step functions read (:mod:`hlmc.engine.layout`).
    """

    arms: int
    horizon: int | None
    structure: ClassVar[Structure]
    """How the arms are grouped, and when the routine over them starts afresh."""
    _shows_defaults: ClassVar[bool] = False

    @property
    def words(self) -> Words:
        """The memory of one learner."""
        raise NotImplementedError

    @cached_property
    def program(self) -> Array:
        """The table that the step functions read, flat."""
        raise NotImplementedError

    @property
    def routines_used(self) -> tuple[Routine, ...]:
        """The routine of each level, top first."""
        raise NotImplementedError

    def _finished(self, table: Array) -> Array:
        """A program from its rows: what structure and routines say of themselves is filled in."""
        check_program(table, self.structure, [routine.words for routine in self.routines_used])
        table[0, STRUCTURE] = STRUCTURES.index(self.structure) if self.structure in STRUCTURES else -1
        table[0, CONTIGUOUS] = self.structure.contiguous
        for i, record in enumerate(table[1:]):
            d = i % int(table[0, LEVELS])
            routine = self.routines_used[d]
            record[KIND] = kind(routine)
            record[ROUTINE] = d
            record[OPAQUE] = routine.opaque
        table.flags.writeable = False
        return table.reshape(-1)

    @property
    def plan(self) -> Plan:
        """Levels, groups, epochs, routines, parameters, words and bound; prints as a table."""
        raise NotImplementedError

    def bound(self, horizon: int | None = None, switches: int | None = None) -> float | None:
        """What theory promises for the regret when the policy is made for this horizon (its own by default).

        None where nothing is proved. ``switches`` is the V of shifting regret, where the policy was not told it.
        """
        return None

    @property
    def guarantee(self) -> Guarantee:
        """What is proved about the regret, where, what was measured, and what is lost; prints as a few lines."""
        return Guarantee()

    def start(self, seed: int = 0, stream: int = 0) -> Learner:
        """A fresh learner. Equal seeds and streams give equal learners; different ones, independent learners.

        >>> import hlmc
        >>> learner = hlmc.EXP3(arms=3, horizon=100).start(seed=1)
        >>> arm = learner.select()
        >>> learner.update(1.0)
        >>> learner.time
        1
        """
        from hlmc.learner import Learner

        return Learner.fresh(self, seed, stream)

    def fleet(self, size: int, seed: int = 0, file: str | Path | None = None) -> Fleet:
        """``size`` learners as the rows of one array, or of a memory-mapped file; learner i is ``start(seed, i)``.

        >>> import hlmc
        >>> fleet = hlmc.EXP3(arms=3, horizon=100).fleet(size=4, seed=1)
        >>> fleet.select().shape
        (4,)
        """
        from hlmc.fleet import Fleet

        return Fleet.fresh(self, size, seed, file)

    def _adopt(self, routine: Routine) -> None:
        """Keep a routine's parameters, which are fields of the same names here, as the routine has checked them."""
        self._keep(**{f.name: getattr(routine, f.name) for f in fields(routine)})
