"""What a policy is: a value that says how to learn. What it learns lives in its learners."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.guarantee import Guarantee
from hlmc.kernels.layout import BEGIN_AT, END_AT, SELECT_AT, START_AT, STRUCTURE, UPDATE_AT
from hlmc.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
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


class Policy:
    """A way to learn: frozen, hashable, comparable, picklable; prints as the call that makes it.

    Subclasses are frozen dataclasses that check their arguments when they are made and compile to a *program*, the
    small table that the step functions read (:mod:`hlmc.kernels.layout`).
    """

    arms: int
    horizon: int | None

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

    @property
    def last_kind(self) -> int:
        """The number of the routine that chooses among the arms, which decides which compiled loop runs it."""
        raise NotImplementedError

    def _wired(self, table: Array, structure: int, routines: Sequence[Routine]) -> Array:
        """Put addresses of compiled functions into a program, those of ``routines[i % len]`` into row 1 + i."""
        from hlmc.kernels.step import structure_callbacks

        table[0, [BEGIN_AT, END_AT]] = [c.address for c in structure_callbacks(structure)]
        table[0, STRUCTURE] = structure
        addresses = [[c.address for c in routine.callbacks()] for routine in routines]
        for i in range(1, len(table)):
            table[i, [START_AT, SELECT_AT, UPDATE_AT]] = addresses[(i - 1) % len(routines)]
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

    def arguments(self) -> dict[str, Any]:
        """The arguments that differ from their defaults, as they were given."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)  # type: ignore[arg-type]
            if f.default is MISSING or getattr(self, f.name) != f.default
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.arguments().items())})"

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Whatever a pickle says is checked like the arguments of a call.
        self.__init__(**state)  # type: ignore[misc]

    def _adopt(self, routine: Routine) -> None:
        """Keep a routine's parameters, which are fields of the same names here, as the routine has checked them."""
        self._set(**{f.name: getattr(routine, f.name) for f in fields(routine)})

    def _set(self, **values: Any) -> None:
        """Normalise fields of a frozen dataclass while it is being made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
