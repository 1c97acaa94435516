"""Numbers as people type them: 1000000, 1_000_000, 1e6 and 10**6 are the same whole number."""

from __future__ import annotations

import argparse
import math
import re
from decimal import Decimal, InvalidOperation

from hlmc.errors import BadArgument

__all__ = ["BadNumber", "number", "whole_number", "whole_numbers"]

LIMIT = 2**53
"""The largest count: integers up to here are exact as 64-bit floats."""

_POWER = re.compile(r"(\d[\d_]{0,30})(?:\*\*|\^)(\d[\d_]{0,30})")


class BadNumber(BadArgument, argparse.ArgumentTypeError):
    """A text that is not a valid number; argparse prints the message unchanged."""


def whole_number(text: str) -> int:
    """A whole number, exactly: through integers and decimals, never through a float.

    >>> [whole_number(text) for text in ("1000000", "1_000_000", "1e6", "1.5e3", "10**6", "2^20")]
    [1000000, 1000000, 1000000, 1500, 1000000, 1048576]
    >>> whole_number("ten")
    Traceback (most recent call last):
    hlmc.cli.numbers.BadNumber: 'ten' is not a whole number; write it as 1000000, 1_000_000, 1e6 or 10**6
    """
    value = _exact(text.strip())
    if value is None:
        raise BadNumber(f"{text!r} is not a whole number; write it as 1000000, 1_000_000, 1e6 or 10**6")
    if abs(value) > LIMIT:
        raise BadNumber(f"{text!r} is beyond 2**53, the largest exact count")
    return value


def _exact(text: str) -> int | None:
    """The number, or None if it is not whole. Numbers beyond the limit may be replaced by any other beyond it."""
    if power := _POWER.fullmatch(text):
        base, exponent = int(power[1]), int(power[2])
        # Limit the exponent before computing the power: 9**999999999 would take for ever.
        if base > 1 and exponent * math.log2(base) > 60:
            return LIMIT + 1
        return int(base**exponent)
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    if value.copy_abs() > LIMIT:  # `abs` rounds, and overflows at 1e999999999
        return LIMIT + 1
    return int(value) if value == int(value) else None


def whole_numbers(text: str) -> tuple[int, ...]:
    """Whole numbers, separated by commas.

    >>> whole_numbers("10,10"), whole_numbers("1e3, 500")
    ((10, 10), (1000, 500))
    """
    return tuple(whole_number(part) for part in text.split(","))


def number(text: str) -> float:
    """A number that need not be whole.

    >>> number("0.05"), number("1e-3")
    (0.05, 0.001)
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadNumber(f"{text!r} is not a number")
    return value
