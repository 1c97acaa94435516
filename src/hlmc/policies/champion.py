"""The champion: HLMC that carries one arm across epochs. Our own design; see docs/champion.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hlmc import planning
from hlmc.errors import whole
from hlmc.kernels.champion import CHALLENGES, CHOICES, FADE, LEAST_DOUBT, WIN
from hlmc.kernels.layout import CHAMPION, CHAMPION_HEADER, CONTROL, LEVEL_CONTROL
from hlmc.policies.base import Array, Words
from hlmc.policies.tree import TreePolicy
from hlmc.routines import Contest, TsallisINF
from hlmc.routines.base import Routine


@dataclass(frozen=True, repr=False)
class Champion(TreePolicy):
    """HLMC with a champion."""

    structure: ClassVar[int] = CHAMPION

    arms: int
    memory: int | None = None
    horizon: int | None = None
    switches: int | None = None
    challenges: float = 1.0
    least_doubt: float | None = None
    fade: float = 0.6
    win: float = 0.95
    epochs: int | None = None

    def __post_init__(self) -> None:
        self._set(arms=whole("arms", self.arms, 1))
        if self.horizon is not None:
            self._set(horizon=whole("horizon", self.horizon, 1))

    @cached_property
    def groups_used(self) -> tuple[int, ...]:
        if self.memory is None:
            return planning.even_groups(self.arms, 2)
        given = planning.tight_depth(self.arms, self.memory)[1]
        return given

    @property
    def routines_used(self) -> tuple[Routine, ...]:
        return (TsallisINF(),) * (len(self.groups_used) - 1) + (Contest(),)

    def epochs_used(self, horizon: int) -> tuple[int, ...]:
        if self.epochs is not None:
            return -(-horizon // self.epochs), self.epochs
        return super().epochs_used(horizon)

    @property
    def words(self) -> Words:
        groups = self.groups_used
        return Words(
            sum(n - 1 for n in groups[:-1]) + groups[-1] + 1,
            CHAMPION_HEADER - 1 + LEVEL_CONTROL * len(groups),
        )

    def _write(self, records: Array, horizon: int) -> None:
        super()._write(records, horizon)
        at = CHAMPION_HEADER + LEVEL_CONTROL * len(self.groups_used)
        levels = self.levels_at(horizon)
        for d, level in enumerate(levels):
            records[d][CONTROL] = CHAMPION_HEADER + LEVEL_CONTROL * d
            records[d][6] = at
            at += level.place.children - 1
            if d < len(levels) - 1:
                records[d][CHOICES] = level.place.choices
            else:
                delta = level.place.choices
                n = level.place.children
                least = self.least_doubt
                records[d][LEAST_DOUBT] = least if least is not None else 0.01
                records[d][CHALLENGES] = self.challenges
                records[d][FADE] = self.fade
                records[d][WIN] = self.win

    def bound(self, horizon: int | None = None, switches: int | None = None) -> float | None:
        return None
