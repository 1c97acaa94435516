"""The arena: compare policies of equal memory on every adversary, as ratios to the paper's HLMC.

:func:`hlmc.arena` is :func:`hlmc.arenas.arena`.
"""

from __future__ import annotations

from hlmc.arenas.cases import CASES, Case
from hlmc.arenas.contenders import BASELINE, FULL, IN_BYTES, POLICIES, SWITCHES, budget
from hlmc.arenas.held_out import HELD_OUT, HeldOut
from hlmc.arenas.result import ArenaResult
from hlmc.arenas.suite import arena

__all__ = [
    "BASELINE",
    "CASES",
    "FULL",
    "HELD_OUT",
    "IN_BYTES",
    "POLICIES",
    "SWITCHES",
    "ArenaResult",
    "Case",
    "HeldOut",
    "arena",
    "budget",
]
