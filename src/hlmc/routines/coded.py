"""Routines with statistics of b bits."""

from __future__ import annotations

from dataclasses import dataclass, field

from hlmc.checks import whole
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
    """A routine whose statistics are codes of ``bits`` bits (:mod:`hlmc.engine.codes`).

    Codes are how statistics are stored: the algorithm, its parameters and its name are those of the routine with 64.

    Parameters
    ----------
    plain
        The routine, of which there is a form with codes (:attr:`Routine.coded`).
    bits
        Bits of a statistic, from 4 to 32.

    Examples
    --------
    >>> from hlmc.routines import TsallisINF
    >>> CodedRoutine(TsallisINF(), bits=12)
    routines.coded(routines.TsallisINF(), 12)
    """

    plain: Routine
    bits: int = field(kw_only=True)  # type: ignore[misc]  # a field here

    def __post_init__(self) -> None:
        if checked_bits(self.bits) == ALL_BITS:
            raise BadArgument(f"bits must be from {FEWEST_BITS} to {MOST_BITS}, not {ALL_BITS}")
        self.plain.check_coded(self.bits)
        same = {name: getattr(self.plain, name) for name in ("name", "feedback", "anytime", "full_support")}
        self._keep(kernels=self.plain.coded, source=self.plain.coded_source, **same)

    def __repr__(self) -> str:
        return f"routines.coded({self.plain!r}, {self.bits})"

    def words(self, n: int) -> int:
        return self.plain.coded_words(n, self.bits)

    def cost(self, context: LevelContext) -> float:
        return self.plain.cost(context)

    def regret(self, context: LevelContext) -> float | None:
        return self.plain.coded_regret(context, self.bits)

    def parameters(self, context: LevelContext) -> dict[str, float]:
        return self.plain.parameters(context)

    def packed(self, context: LevelContext) -> tuple[float, ...]:
        return self.plain.coded_packed(context, self.bits)
