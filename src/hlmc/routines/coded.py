"""Routines with statistics of b bits: what they share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

from hlmc.checks import whole
from hlmc.engine.layout import PARAMETERS, WIDTH
from hlmc.errors import BadArgument
from hlmc.routines.base import LevelContext, Routine

FEWEST_BITS, MOST_BITS, ALL_BITS = 4, 32, 64
"""The least and the most bits of a coded statistic, and those of one that is not coded."""


def checked_bits(bits: int) -> int:
    """A number of bits per statistic.

    >>> checked_bits(12)
    12
    >>> checked_bits(40)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: bits must be from 4 to 32, or 64, not 40
    """
    b = whole("bits", bits, 1)
    if not (FEWEST_BITS <= b <= MOST_BITS or b == ALL_BITS):
        raise BadArgument(f"bits must be from {FEWEST_BITS} to {MOST_BITS}, or {ALL_BITS}, not {b}")
    return b


AUTO = "auto"
"""The planner chooses the bits."""


def checked_or_auto(bits: int | str, memory: int | None) -> int | str:
    """A number of bits per statistic, or "auto" where there is a memory that the planner can fill.

    >>> checked_or_auto("auto", 20), checked_or_auto(8, None)
    ('auto', 8)
    >>> checked_or_auto("auto", None)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: bits can be "auto" only where memory is given
    """
    if isinstance(bits, str) and bits == AUTO:
        if memory is None:
            raise BadArgument('bits can be "auto" only where memory is given')
        return AUTO
    return checked_bits(bits)  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class CodedRoutine(Routine):
    """A routine whose statistics are codes of ``bits`` bits. It has the fields of its 64-bit form, and ``bits``."""

    plain_class: ClassVar[type[Routine]]
    bits: int  # type: ignore[misc]  # a field here

    def __post_init__(self) -> None:
        if checked_bits(self.bits) == ALL_BITS:
            raise BadArgument(f"bits must be from {FEWEST_BITS} to {MOST_BITS}, not {ALL_BITS}")
        _ = self.plain

    @cached_property
    def plain(self) -> Routine:
        """The same routine with 64 bits."""
        return self.plain_class(**{f.name: getattr(self, f.name) for f in fields(self) if f.name != "bits"})

    def words(self, n: int) -> int:
        return -(-n * self.bits // 64) if n > 1 else 0

    def cost(self, context: LevelContext) -> float:
        return self.plain.cost(context)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        return self.plain.parameters(context)

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        own = self.plain.packed(context)
        between = (0.0,) * (WIDTH - PARAMETERS - len(own))
        return *own, *between, float(self.bits), 2.0**-self.bits
