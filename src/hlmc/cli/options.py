"""How commands declare their options: one call each, in the order of the help."""

from __future__ import annotations

from argparse import _ActionsContainer
from collections.abc import Callable
from typing import Any

from hlmc.cli.numbers import whole_number


def option(
    parser: _ActionsContainer,
    flags: str,
    value: str | tuple[str, ...],
    about: str,
    of: Callable[[str], Any] | None = None,
    default: Any = None,
    **more: Any,
) -> None:
    """Add an option that takes a value.

    Parameters
    ----------
    parser
        The parser, or a group of its arguments.
    flags
        ``"--arms"``, or several with spaces between them, ``"-o --out"``.
    value
        The name of the value in the help, or the values to choose from.
    about
        What the help says.
    of
        How the value is made from its text.
    default, more
        As in :meth:`argparse.ArgumentParser.add_argument`.

    Examples
    --------
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> option(parser, "-n --runs", "N", "runs per policy", int, 10)
    >>> option(parser, "--device", ("cpu", "cuda"), "where to run", default="cpu")
    >>> parser.parse_args(["-n", "3"])
    Namespace(runs=3, device='cpu')
    """
    more |= {"type": of} | ({"metavar": value} if isinstance(value, str) else {"choices": value})
    parser.add_argument(*flags.split(), default=default, help=about, **more)


def switch(parser: _ActionsContainer, flag: str, about: str) -> None:
    """Add an option that takes no value: False, or True where it is given."""
    parser.add_argument(flag, action="store_true", help=about)


def seed(parser: _ActionsContainer) -> None:
    """``--seed``."""
    option(parser, "--seed", "S", "random seed (default: 0)", whole_number, 0)


def jobs(parser: _ActionsContainer) -> None:
    """``--jobs``."""
    option(parser, "--jobs", "N", "threads (default: one per core)", whole_number)


def device(parser: _ActionsContainer, what: str = "where to run") -> None:
    """``--device``."""
    option(parser, "--device", ("cpu", "cuda"), f"{what} (default: cpu)", default="cpu")


def precision(parser: _ActionsContainer) -> None:
    """``--precision``."""
    option(parser, "--precision", ("float32", "float64"), "precision on a CUDA device (default: float32)")
