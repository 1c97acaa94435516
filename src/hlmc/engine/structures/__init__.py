"""The structures: one file each. The number of a structure in a program is its place in :data:`CATALOGUE`."""

from __future__ import annotations

from hlmc.engine.structures.base import Structure
from hlmc.engine.structures.block_rotation import BLOCK_ROTATION
from hlmc.engine.structures.champion import CHAMPION
from hlmc.engine.structures.coded_champion import CODED_CHAMPION
from hlmc.engine.structures.crown import CROWN_TREE
from hlmc.engine.structures.tree import TREE

__all__ = ["BLOCK_ROTATION", "CATALOGUE", "CHAMPION", "CODED_CHAMPION", "CROWN_TREE", "TREE", "Structure"]

CATALOGUE: tuple[Structure, ...] = (TREE, BLOCK_ROTATION, CHAMPION, CROWN_TREE, CODED_CHAMPION)
"""Every structure; new ones go to the end."""
