"""Which lanes are active, and branches: ordinary ones on uniform conditions, masked ones on wide conditions.

The *mask* is a vector with one bit per lane. Under a wide condition both branches are written one after the other,
each under the mask of the lanes that take it. Code under a mask writes words and variables in the lanes of the mask
only (:mod:`hlmc.targets.native.wide.memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hlmc.targets.native.wide.facts import Facts, Region
from hlmc.targets.native.wide.values import Numbers, same


class Masks(Numbers):
    """Writes branches.

    Parameters
    ----------
    builder
        As for :class:`hlmc.targets.native.wide.values.Numbers`.
    facts
        What is known of the variables and loops, and what this walk finds.
    """

    def __init__(self, builder: Any, facts: Facts) -> None:
        super().__init__(builder, facts.lanes)
        self.facts = facts
        self.mask: Any = None  # of the lanes that are active; None: all
        self.region: Region = ()  # changes with the mask, but for lanes that leave a loop or a kernel early

    def full_mask(self) -> Any:
        """The mask as a vector, also where all lanes are active."""
        return same(self.mask_type, 1) if self.mask is None else self.mask

    def masked(self, mask: Any, other: Any) -> Any:
        """The lanes of a mask (None: all) that are also in another."""
        return other if mask is None else self.builder.and_(mask, other)

    @contextmanager
    def under(self, condition: Any, name: Any) -> Iterator[None]:
        """What is written here is for the active lanes that meet a condition: a region of its own, called ``name``."""
        before = self.mask, self.region
        self.mask, self.region = self.masked(self.mask, condition), (*self.region, name)
        yield
        self.mask, self.region = before

    def unless_empty(self, write: Callable[[], None]) -> None:
        """Write statements that are skipped if no lane is active."""
        taken, after = (self.builder.append_basic_block(name) for name in ("taken", "skipped"))
        self.builder.cbranch(self.any(self.mask), taken, after)
        self.builder.position_at_end(taken)
        write()
        if not self.builder.block.is_terminated:
            self.builder.branch(after)
        self.builder.position_at_end(after)

    def branch(self, condition: Any, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """An ordinary branch on an LLVM bit.

        Afterwards the mask is what it was before, whatever the branches did to it: which lanes have left a loop or a
        kernel is kept in memory, and is asked there.
        """
        blocks = [self.builder.append_basic_block(name) for name in ("then", "else", "then.after")]
        self.builder.cbranch(condition, blocks[0], blocks[1])
        mask, ended = self.mask, 0
        for block, write in zip(blocks, (then, otherwise), strict=False):
            self.builder.position_at_end(block)
            self.mask = mask
            write()
            if self.builder.block.is_terminated:
                ended += 1
            else:
                self.builder.branch(blocks[2])
        self.mask = mask
        self.builder.position_at_end(blocks[2])
        if ended == 2:
            self.builder.unreachable()
