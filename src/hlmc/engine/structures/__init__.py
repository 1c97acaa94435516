"""The structures: one file each. The number of a structure in a program is its place in :data:`CATALOGUE`."""

from __future__ import annotations

from hlmc.engine.structures.base import Structure
from hlmc.engine.structures.block_rotation import BLOCK_ROTATION
from hlmc.engine.structures.champion_structure import CHAMPION
from hlmc.engine.structures.coded_champion import CODED_CHAMPION
from hlmc.engine.structures.tree import TREE

__all__ = ["BLOCK_ROTATION", "CATALOGUE", "CHAMPION", "CODED_CHAMPION", "TREE", "Structure"]

CATALOGUE: tuple[Structure | None, ...] = (TREE, BLOCK_ROTATION, CHAMPION, None, CODED_CHAMPION)
"""Every structure; new ones go to the end. Number 3 is reserved: programs of version 0.2.0 have it (CrownedHLMC)."""
