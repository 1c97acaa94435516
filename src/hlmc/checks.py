"""Checks of arguments: each gives the value in the type that the library keeps, or a refusal in one line.

A refusal names the argument, the range and the value, and is raised before anything has changed. :func:`shown` keeps
what is shown of a value short.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlmc.errors import BadArgument, BadType, shown

if TYPE_CHECKING:
    import numpy as np

LARGEST = 2**53
"""Whole numbers up to this are exact in a word."""

_SEED_BITS = 4096
_NAME_BYTES = 255


def whole(name: str, value: Any, least: int, most: int = LARGEST, otherwise: str = "") -> int:
    """A whole number in a range; whole floats such as 1e6 are taken.

    >>> whole("arms", 1e6, 1)
    1000000
    >>> whole("arms", 0, 1)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: arms must be a whole number of at least 1, not 0
    """
    wanted = f"{name} must be a whole number of at least {least}{otherwise}"
    if isinstance(value, float):
        if not math.isfinite(value) or value != int(value):
            raise BadArgument(f"{wanted}, not {shown(value)}")
        number = int(value)
    else:
        number = _index(value, wanted)
    if number < least:
        raise BadArgument(f"{wanted}, not {shown(value)}")
    if number > most:
        raise BadArgument(f"{name} must be at most {most}, not {shown(value)}")
    return number


def _index(value: Any, wanted: str) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise BadType(f"{wanted}, not {shown(value)}")


def seed(value: Any, name: str = "seed") -> int:
    """A whole number of either sign."""
    number = _index(value, f"{name} must be a whole number")
    if number.bit_length() > _SEED_BITS:
        raise BadArgument(f"{name} must be a whole number of at most {_SEED_BITS} bits, not {shown(number)}")
    return number


def between(name: str, value: Any, low: float, high: float, text: str) -> float:
    """A number in a range, which the text shows; an end of it is open when the text says so.

    >>> between("step", 10**400, 0.0, math.inf, "(0, inf)")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: step must be a number in (0, inf), not a number of about 400 digits
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BadType(f"{name} must be a number in {text}, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.nan
    above = number > low if text[0] == "(" else number >= low
    below = number < high if text[-1] == ")" else number <= high
    if not (above and below):
        raise BadArgument(f"{name} must be a number in {text}, not {shown(value)}")
    return number


def interval(name: str, value: Any) -> tuple[float, float]:
    """The two ends of a range of numbers, of which the first is the lower one.

    >>> interval("rewards", [-1, 1])
    (-1.0, 1.0)
    >>> interval("rewards", (1, 1))
    Traceback (most recent call last):
    hlmc.errors.BadArgument: rewards must be two finite numbers (low, high), low below high, not (1, 1)
    """
    wanted = f"{name} must be two finite numbers (low, high), low below high, not {shown(value)}"
    unmasked(name, value)
    try:
        ends = None if isinstance(value, (str, bytes)) else tuple(islice(value, 3))
    except TypeError:
        ends = None
    if ends is None or any(isinstance(end, bool) or not isinstance(end, Real) for end in ends):
        raise BadType(wanted)
    try:
        low, high = (float(end) for end in ends)
    except (ValueError, OverflowError):
        raise BadArgument(wanted) from None
    # Neither an end that is not finite nor a difference that is none passes this; -0 becomes 0.
    if not 0.0 < high - low < math.inf:
        raise BadArgument(wanted)
    return low + 0.0, high + 0.0


def share(name: str, value: Any) -> float:
    """A number in [0, 1].

    >>> share("high", 1.5)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: high must be a number in [0, 1], not 1.5
    """
    return between(name, value, 0.0, 1.0, "[0, 1]")


def fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1.

    >>> fraction("delta", 1.5)
    Traceback (most recent call last):
    hlmc.errors.BadArgument: delta must be a number in (0, 1), not 1.5
    """
    return between(name, value, 0.0, 1.0, "(0, 1)")


def at_least(name: str, value: Any, least: float) -> float:
    """A finite number of at least so much.

    >>> at_least("horizon", "1000", 1)
    Traceback (most recent call last):
    hlmc.errors.BadType: horizon must be a number in [1, inf), not '1000'
    """
    return between(name, value, least, math.inf, f"[{least}, inf)")


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise BadType(f"{name} must be True or False, not {shown(value)}")
    return value


def choice(name: str, value: Any, *options: str) -> str:
    """One of some words.

    >>> choice("ties", "frist", "first", "random")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: ties must be one of 'first', 'random', not 'frist'
    """
    if not isinstance(value, str) or value not in options:
        there = f"one of {', '.join(map(repr, options))}" if options else "left out: there is nothing to choose"
        raise BadArgument(f"{name} must be {there}, not {shown(value)}")
    return value


def listed(name: str, values: Any, what: str = "numbers", empty: bool = False) -> list[Any]:
    """The members of a sequence, of which there is at least one unless it may be ``empty``; a masked array is refused.

    Whether something can be iterated over is seen only by doing it: an array without axes has the method.

    >>> listed("costs", (1, 2))
    [1, 2]
    """
    unmasked(name, values)
    try:
        found = None if isinstance(values, (str, bytes)) else list(values)
    except TypeError:
        found = None
    if found is None:
        raise BadType(f"{name} must be a sequence of {what}, not {shown(values)}")
    if not found and not empty:
        raise BadArgument(f"{name} must hold at least one number")
    return found


def wholes(name: str, values: Any, least: int = 1) -> tuple[int, ...]:
    """A tuple of whole numbers, which may be empty.

    >>> wholes("groups", [10, 1e1])
    (10, 10)
    """
    return tuple(whole(name, value, least) for value in listed(name, values, "whole numbers", empty=True))


def array(name: str, values: Any) -> np.ndarray:
    """An array of float64."""
    import numpy as np

    unmasked(name, values)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadType(f"{name} must be an array of numbers, not {shown(values)}") from None


def one_an_arm(name: str, values: Any, low: float, high: float, text: str) -> tuple[float, ...]:
    """A tuple of numbers, one for each arm, all within the range."""
    found = listed(name, values, "numbers, one for each arm")
    return tuple(between(f"{name}[{arm}]", value, low, high, text) for arm, value in enumerate(found))


def unmasked(name: str, values: Any) -> None:
    """Refuse a masked array: whoever reads its numbers does not see its mask."""
    if hasattr(values, "mask") and hasattr(values, "filled"):
        raise BadType(f"{name} must not be a masked array; fill or drop what is masked first")


def storable(name: str, text: str) -> str:
    r"""Text that files and random streams can hold.

    >>> storable("policies", "a\0b")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: policies must have names of characters that can be encoded, and no NUL, not 'a\x00b'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        if "\0" not in text:
            return text
    raise BadArgument(f"{name} must have names of characters that can be encoded, and no NUL, not {shown(text)}")


@contextmanager
def fitting(what: str) -> Iterator[None]:
    """Say in one line what did not fit into memory.

    >>> with fitting("runs"):
    ...     raise MemoryError("Unable to allocate 37.3 GiB")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: runs must be so few that memory holds them: Unable to allocate 37.3 GiB
    """
    try:
        yield
    except MemoryError as error:
        raise BadArgument(f"{what} must be so few that memory holds them: {error}") from None


def path(name: str, value: Any) -> Path:
    r"""A path.

    >>> path("store", "runs\0")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: store must be a path without NUL characters, not 'runs\x00'
    """
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise BadType(f"{name} must be a path, not {shown(value)}")
    if not text:
        raise BadArgument(f"{name} must be a path, not ''")
    if "\0" in text:
        raise BadArgument(f"{name} must be a path without NUL characters, not {shown(text)}")
    found = Path(text)
    try:
        longest = max((len(os.fsencode(part)) for part in found.parts), default=0)
    except UnicodeEncodeError:
        raise BadArgument(f"{name} must be a path of characters that can be encoded, not {shown(text)}") from None
    if longest > _NAME_BYTES:
        raise BadArgument(f"{name} must be a path whose parts have at most {_NAME_BYTES} bytes, not {shown(text)}")
    return found


def ending(name: str, value: Any, *endings: str) -> Path:
    """A path that ends in one of some endings, large or small.

    >>> ending("path", "result.xlsx", ".csv", ".parquet")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: path must end in .csv or .parquet, not 'result.xlsx'
    """
    found = path(name, value)
    if found.suffix.lower() not in endings:
        raise BadArgument(f"{name} must end in {' or '.join(endings)}, not {shown(str(found))}")
    return found


def writable(name: str, value: Any) -> Path:
    """The path of a file that can be written, as far as can be told before it is."""
    file = path(name, value)
    if not file.parent.is_dir():
        raise BadArgument(f"{name}: there is no folder {shown(str(file.parent))} for {shown(file.name)}; make it first")
    if file.is_dir():
        raise BadArgument(f"{name} must be a file, and {shown(str(file))} is a folder")
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise BadArgument(f"{name}: the folder {shown(str(file.parent))} cannot be written to")
    return file
