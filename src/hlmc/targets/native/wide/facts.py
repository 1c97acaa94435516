"""Facts about a kernel's variables and loops, which must be known before its code can be written.

Whether a variable is wide follows from all assignments to it, and some of these stand below its first use. So the
kernel is walked through several times by the code that writes it, with a builder that writes nothing
(:class:`Nowhere`), until a walk finds nothing new (:func:`hlmc.targets.native.wide.function.known_facts`).
Facts only grow in these walks: a uniform variable can become wide, never the other way, so the walks end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hlmc.targets.native.wide.values import BOOL, INT, REAL

Region = tuple[Any, ...]
"""The path of masked branches and diverging loops that leads to a statement, from the outermost; (): all lanes."""

_WIDENING = (BOOL, INT, REAL)


@dataclass
class Facts:
    """What is known of the variables, loops and calls of a function before it is written.

    The key of a variable is (path of calls that leads to its kernel, name): a kernel is written into each of its
    callers' places, and may have other facts there.

    Parameters
    ----------
    lanes
        How many lanes there are.
    kind
        The kind of each variable.
    wide
        Variables that differ between lanes.
    diverging
        Loops that lanes leave at different times, and calls from which they return at different places.
    home
        For each variable the innermost region that contains all its uses, as the walks before this one found it.
    uses
        The same, as this walk finds it.
    grown
        Whether this walk has added to ``kind``, ``wide`` or ``diverging``.
    """

    lanes: int
    kind: dict[Any, str] = field(default_factory=dict)
    wide: set[Any] = field(default_factory=set)
    diverging: set[Any] = field(default_factory=set)
    home: dict[Any, Region] = field(default_factory=dict)
    uses: dict[Any, Region] = field(default_factory=dict)
    grown: bool = False

    def learn_kind(self, key: Any, kind: str) -> None:
        """A variable is assigned a value of a kind. Where truths, whole numbers and floats occur, the widest holds."""
        known = self.kind.get(key, kind)
        if known in _WIDENING and kind in _WIDENING:
            known = max(known, kind, key=_WIDENING.index)
        if self.kind.get(key) != known:
            self.kind[key] = known
            self.grown = True

    def add(self, known: set[Any], key: Any) -> None:
        """Add a key to ``wide`` or ``diverging``."""
        if key not in known:
            known.add(key)
            self.grown = True

    def used_in(self, key: Any, region: Region) -> None:
        """A variable is used in a region: its home is the longest common beginning of the paths of its uses."""
        home = self.uses.get(key, region)
        shared = 0
        while shared < min(len(home), len(region)) and home[shared] == region[shared]:
            shared += 1
        self.uses[key] = home[:shared]

    def partial(self, key: Any, region: Region) -> bool:
        """Whether a variable is also used where more lanes are active than in a region.

        Only then need an assignment in the region leave the other lanes' values as they are.
        """
        home = self.home.get(key)
        return home is not None and len(home) < len(region) and region[: len(home)] == home


# --- Walks that write nothing


class Nothing:
    """Stands for every LLVM value and function in a walk."""

    type = None


class Block:
    """Stands for a basic block. Only whether it has ended matters: what follows a ``return`` is not walked through."""

    is_terminated = False


class Nowhere:
    """A builder that writes nothing. It follows which block is written, and answers every instruction with nothing."""

    def __init__(self) -> None:
        self.block = Block()
        self.module = self

    def append_basic_block(self, name: str) -> Block:
        return Block()

    def position_at_end(self, block: Block) -> None:
        self.block = block

    @contextmanager
    def goto_block(self, block: Block) -> Iterator[None]:
        yield

    def _end(self, *_: Any) -> None:
        self.block.is_terminated = True

    branch = cbranch = unreachable = _end

    def __getattr__(self, name: str) -> Callable[..., Nothing]:
        return lambda *_, **__: _NOTHING


_NOTHING = Nothing()
