"""The library's own errors: each says what was wrong and what would be right, and is raised before anything changes."""

from __future__ import annotations

import math
from importlib.util import find_spec

__all__ = [
    "BadArgument",
    "BadFile",
    "BadReward",
    "BadStore",
    "BadTicket",
    "BadType",
    "ConflictingKey",
    "HLMCError",
    "MissingExtra",
    "NoDevice",
    "OutOfTurn",
    "StoreUnavailable",
    "UnknownDecision",
]

LAB = ("matplotlib", "pandas", "pyarrow", "rich", "xarray")
"""The packages of the extra ``lab``: experiments and their figures need them, learners do not."""

LONGEST = 500
"""A message has fewer characters than this: what is shown of a value may be of any length."""


def brief(message: str) -> str:
    r"""A message on one line of printable characters, without its middle if it is too long.

    >>> len(brief("points must increase, not " + "1, " * 10**5 + "as they do")) < 500
    True
    >>> brief("the file\n a\x1b[2J\ud800b is damaged")
    'the file a\\x1b[2J\\ud800b is damaged'
    """
    # Long texts are cut before they are escaped, which makes them longer, and again after.
    line = _cut(" ".join(part.strip() for part in _cut(message).splitlines()))
    if not line.isprintable():
        escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        line = _cut("".join(escaped))
    return line


def _cut(text: str) -> str:
    return text if len(text) < LONGEST else f"{text[: LONGEST - 150]} ... {text[-140:]}"


def shown(value: object) -> str:
    """A value as a message shows it: short, and whatever its ``repr`` does.

    >>> shown("ten"), shown(10**5000), shown([0.5] * 1000)
    ("'ten'", 'a number of about 5000 digits', 'a list of 1000: [0.5, 0.5, 0.5, ...]')
    """
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a number of about {round(value.bit_length() * 0.30103)} digits"
    try:
        if (cut := _cut_array(value)) is not None:
            return cut
        text = repr(value)
    except Exception:  # a stranger's class may raise anything
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:150]} ... {text[-40:]}"


FEW = 8
"""An array or a list of more members than this is described, not shown."""


def _cut_array(value: object) -> str | None:
    """What is said of an array, a table or a list that is too long to be shown; None: it is short, or something else.

    A list is looked at without its ``repr``, which may be of any length.
    """
    kind = type(value).__name__
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and all(isinstance(n, int) for n in shape):
        if math.prod(shape) <= FEW and len(shape) == 1:
            return None
        of = f" of {value.dtype}" if hasattr(value, "dtype") else ""
        return f"{'an array' if kind == 'ndarray' else f'a {kind}'} of shape {shape}{of}"
    if type(value) in (list, tuple) and len(value) > FEW:  # type: ignore[arg-type]
        ends = "[]" if isinstance(value, list) else "()"
        first = ", ".join(map(shown, value[:3]))  # type: ignore[index]
        return f"a {kind} of {len(value)}: {ends[0]}{first}, ...{ends[1]}"  # type: ignore[arg-type]
    return None


class HLMCError(ValueError):
    """The base of every error that is about values. A wrong type is a :class:`BadType`, which is a ``TypeError``.

    >>> import hlmc
    >>> try:
    ...     hlmc.HLMC(arms=100, memory=3, horizon=1000)
    ... except hlmc.errors.HLMCError as error:
    ...     print(error)
    memory must be at least 13 words for 100 arms, not 3
    """

    def __init__(self, message: str) -> None:
        super().__init__(brief(message))


class BadArgument(HLMCError):
    """An argument outside its range."""


class BadType(TypeError):
    """An argument of the wrong type."""

    def __init__(self, message: str) -> None:
        super().__init__(brief(message))


class BadReward(HLMCError):
    """A reward that is not a number in [0, 1], or in the range that the policy was given."""


class OutOfTurn(HLMCError):
    """An update without a selection, or a step past the horizon."""


class BadTicket(HLMCError):
    """A ticket that is damaged, forged, or of another learner."""


class BadFile(HLMCError):
    """A file that is damaged, truncated or not one of ours."""


class BadStore(HLMCError):
    """A database that is damaged, of another program, or of a newer version of hlmc."""


class StoreUnavailable(HLMCError):
    """A database that cannot be used now: the disk is full, it is locked, or its server is away. Nothing is lost."""


class UnknownDecision(HLMCError):
    """The id of a decision that the store has never made, or that was lost in a power cut with ``durable=False``."""


class ConflictingKey(HLMCError):
    """An ask whose key was used before, with other arguments."""


class MissingExtra(ImportError):
    """An optional part of the library that is not installed."""


class NoDevice(HLMCError, RuntimeError):
    """There is no CUDA device to run on, or it cannot do what is asked of it."""


def extra(module: str, name: str, otherwise: str = "") -> MissingExtra:
    """The error for an import that an extra would have satisfied."""
    return MissingExtra(f"{module} is not installed; install it with: pip install 'hlmc[{name}]'{otherwise}")


def need_lab(*modules: str) -> None:
    """Refuse what needs packages of the extra ``lab`` if one is missing; by default, if any of them is.

    Called first, so that an experiment is not played in vain.
    """
    for module in modules or LAB:
        if find_spec(module) is None:
            raise extra(module, "lab")
