"""The arena: policies in equal memory against every adversary, as ratios to the paper's HLMC.

``hlmc.arena(...)`` plays it. The package answers to the call itself, so that the name means one thing however it was
imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from hlmc.arena.cases import CASES, Case
from hlmc.arena.field import BASELINE, FULL, POLICIES, SWITCHES, budget
from hlmc.arena.held_out import HELD_OUT, HeldOut
from hlmc.arena.result import ArenaResult
from hlmc.arena.suite import Interrupted, arena
from hlmc.arena.targets import TARGETS, FiguresResult, figures

__all__ = [
    "BASELINE",
    "CASES",
    "FULL",
    "HELD_OUT",
    "POLICIES",
    "SWITCHES",
    "TARGETS",
    "ArenaResult",
    "Case",
    "FiguresResult",
    "HeldOut",
    "Interrupted",
    "arena",
    "budget",
    "figures",
]


class _Arena(ModuleType):
    """A module that can be called: ``hlmc.arena(...)`` is ``hlmc.arena.arena(...)``."""

    def __call__(self, *arguments: Any, **settings: Any) -> ArenaResult:
        return arena(*arguments, **settings)


sys.modules[__name__].__class__ = _Arena
