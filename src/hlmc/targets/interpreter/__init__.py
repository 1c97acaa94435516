"""The interpreter: kernels run as the Python functions that they are, hundreds of times slower than compiled.

An address of words is the array itself; the address of a function is its place in a list of
:mod:`hlmc.engine.primitives`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.primitives import function_address
from hlmc.engine.routines import LevelKernels, level_kernels

if TYPE_CHECKING:
    from hlmc.adversaries.base import Adversary
    from hlmc.engine.structures import Structure
    from hlmc.policies.base import Policy

Array = np.ndarray


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel itself."""
    return function


def entry(function: Callable[..., Any], *signature: str, release: bool = False) -> Callable[..., Any]:
    """The kernel itself, with the arithmetic of a processor, which NumPy has too, but warns of.

    Machine words wrap around when they overflow. A division by 0 is an infinity, and what has no value is not a number:
    where losses are so large that a word cannot tell them from their normaliser, :mod:`hlmc.engine.ftrl` meets both
    and goes on without them.
    """

    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return function(*arguments)

    return run


class Callback:
    """A function with the address by which kernels call it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.address = function_address(function)


def callback(function: Callable[..., Any], signature: tuple[str, ...]) -> Callback:
    """The kernel with an address."""
    return Callback(function)


def address_of(array: Array) -> Any:
    """The array itself."""
    return array


class LinkedProgram(np.ndarray):
    """A program that carries the functions which it calls."""

    structure: Structure
    routines: tuple[LevelKernels, ...]

    @property
    def address(self) -> LinkedProgram:
        """What a kernel takes for the program."""
        return self


def linked(policy: Policy) -> LinkedProgram:
    """A policy's program with the functions that it calls."""
    program = policy.program.view(LinkedProgram)
    program.structure = policy.structure
    program.routines = tuple(level_kernels(routine.kernels) for routine in policy.routines_used)
    return program


def side_by_side(policy: Policy, adversary: Adversary, runs: int) -> None:
    """Runs are interpreted one by one."""
