"""The dialect's types in C, and values of them: pieces of C text that know their type and how tightly they bind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from hlmc.targets.c.reading import OutsideDialect

__all__ = ["ATOM", "DOUBLE", "NUMBERS", "REALS", "WHOLES", "Numbers", "Type", "Value", "converted", "join", "literal"]


class Type(Enum):
    """A type of the dialect (``docs/dialect.md``). Those with the names of NumPy's are a device's alone."""

    REAL = "float"
    INT = "int"
    BOOL = "bool"
    BITS = "np.uint64"
    SINGLE = "np.float32"
    SHORT = "np.int32"
    HALF = "np.uint32"
    RECORD = "NamedTuple"
    RUN = "Array"
    PROGRAM = "Array (the program)"
    NONE = "None"


_RANKS: tuple[dict[Type, int], ...] = (
    {Type.BOOL: 0, Type.SHORT: 1, Type.INT: 2, Type.SINGLE: 3, Type.REAL: 4},
    {Type.HALF: 0, Type.BITS: 1},
)
NUMBERS = frozenset(kind for rank in _RANKS for kind in rank)
REALS = (Type.REAL, Type.SINGLE)
WHOLES = (Type.INT, Type.SHORT)


def join(first: object, second: object) -> Type | None:
    """The wider of two types of numbers; of others, the type that both are; else None."""
    if not isinstance(first, Type) or not isinstance(second, Type):
        return None
    for rank in _RANKS:
        if first in rank and second in rank:
            return first if rank[first] >= rank[second] else second
    return first if first is second else None


@dataclass(frozen=True)
class Numbers:
    """What ``float`` and ``int`` are in C: double or float, 64 bits or 32."""

    real: str = "double"
    whole: str = "int64_t"

    @property
    def single(self) -> bool:
        """Whether floats have 32 bits."""
        return self.real == "float"

    @property
    def narrow(self) -> bool:
        """Whether ints have 32 bits."""
        return self.whole == "int32_t"

    def c(self, kind: Type) -> str:
        """The C type of a scalar."""
        names = {Type.REAL: self.real, Type.INT: self.whole, Type.BOOL: "bool", Type.BITS: "uint64_t"}
        names |= {Type.SINGLE: "float", Type.SHORT: "int32_t", Type.HALF: "uint32_t"}
        return names.get(kind, "void")


DOUBLE = Numbers()


# How tightly C's operators bind, loosest first. An operand that binds less tightly is put in parentheses.
CONDITIONAL, OR, AND, BITWISE, EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(11)


@dataclass(frozen=True)
class Value:
    """A C expression.

    Parameters
    ----------
    text
        The expression.
    type
        Its type; a tuple of types for a call that returns several results.
    binds
        How tightly its outermost operator binds.
    number
        Its value if that is known now.
    root
        For a run of words: the parameter of the function through which it is reached.
    place
        For a word that is not read as it is stored: what is assigned to.
    run
        Of a run of words or a record on a device: its C++ type.
    """

    text: str
    type: Type | tuple[Type, ...]
    binds: int = ATOM
    number: int | float | None = None
    root: str | None = None
    place: str | None = None
    run: str | None = None

    def within(self, binds: int) -> str:
        """The text as an operand of an operator that binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


def literal(number: bool | int | float, numbers: Numbers) -> Value:
    """A number written out.

    >>> literal(0.1, DOUBLE).text, literal(-2, DOUBLE).text, literal(2.0, Numbers("float")).text
    ('0.1', '-2', '2.0f')
    """
    if isinstance(number, bool):
        return Value("true" if number else "false", Type.BOOL, number=number)
    if isinstance(number, float):
        if numbers.single and not math.isinf(number) and not _is_single(number):
            raise OutsideDialect(f"{number!r} is no number of single precision")
        if math.isinf(number):
            text = "INFINITY" if number > 0 else "-INFINITY"
        else:
            text = repr(number) if not numbers.single else f"{_single(number)}f"
        return Value(text, Type.REAL, ATOM if number >= 0 else UNARY, number)
    text = str(number) if abs(number) < 2**31 else f"INT64_C({number})"
    return Value(text, Type.INT, ATOM if number >= 0 else UNARY, number)


def _is_single(number: float) -> bool:
    """Whether single precision has a number near this one: not 0 unless it is, and not infinite."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.float32(number)
    return math.isfinite(rounded) and (rounded == 0.0) == (number == 0.0)


def _single(number: float) -> str:
    """The shortest text of a float32."""
    text = repr(float(str(np.float32(number))))
    return text if "." in text or "e" in text else f"{text}.0"


def converted(value: Value, kind: Type, numbers: Numbers) -> Value | None:
    """A value in another type, where the dialect converts by itself: bool to int to float, numbers in conditions."""
    if value.type is kind:
        return value
    if value.type is Type.INT and kind is Type.REAL and value.number is not None and value.text.lstrip("-").isdigit():
        return literal(float(value.number), numbers)
    if (value.type, kind) in ((Type.INT, Type.REAL), (Type.BOOL, Type.REAL), (Type.BOOL, Type.INT)):
        return cast(value, kind, numbers)
    if kind is Type.BOOL and value.type in (Type.INT, Type.REAL):
        zero = "0" if value.type is Type.INT else literal(0.0, numbers).text
        return Value(f"{value.within(RELATION)} != {zero}", Type.BOOL, EQUALITY)
    return None


def cast(value: Value, kind: Type, numbers: Numbers) -> Value:
    """A C cast."""
    if value.type is kind:
        return value
    number = None if value.number is None or kind is Type.BITS else float(value.number)
    if number is not None and kind is Type.INT:
        number = int(number)
    return Value(f"({numbers.c(kind)}){value.within(UNARY)}", kind, UNARY, number)
