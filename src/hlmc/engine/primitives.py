"""What Python and machine code must say differently: addresses as words, calls through a table, raw bits.

The bodies below are the interpreter's. There an *address* of words is the array itself, the address of a function is
its place in a list (:func:`function_address`), and a program is a :class:`hlmc.targets.interpreter.LinkedProgram`,
which carries the functions that it calls.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.engine.kernel import Address, indirect, primitive

Array = np.ndarray
"""A run of words: an array of float64, or its address once compiled."""

# C signatures, result first; ``words`` is the address of a run of words.
REWARD = ("float64", "words", "int64", "int64")
BEGIN = ("float64", "words", "words", "int64")
END = ("void", "words", "words", "int64")
ARM_OF = ("int64", "words", "words", "int64")
START = ("void", "words", "int64", "words", "int64", "int64", "int64")
SELECT = ("void", "words", "int64", "words", "int64", "int64", "int64", "int64", "float64")
UPDATE = SELECT
CHECK = ("int64", "words", "int64", "words", "int64", "int64", "int64")
CHANGE = ("int64", "words", "int64", "words", "int64", "int64", "int64", "int64")

_functions: list[Callable[..., Any]] = []


def function_address(function: Callable[..., Any]) -> int:
    """The interpreter's address of a function: its place in a list that only grows."""
    if function not in _functions:
        _functions.append(function)
    return _functions.index(function)


def function_at(address: int) -> Callable[..., Any]:
    """The function at an address of the interpreter's."""
    return _functions[int(address)]


# --- Words


@primitive
def words(address: Address) -> Any:
    """The run of words at an address."""
    return address


@primitive
def offset(run: Array, at: int) -> Array:
    """The run of words that begins ``at`` words further on."""
    return run[int(at) :]


@primitive
def noalias(run: Array) -> Array:
    """The same run, for words that are never reached through :func:`offset`.

    A compiler may take the two for different memory.
    """
    return run


@primitive
def noinline() -> None:
    """Called by kernels that a GPU compiler must not inline: they are seldom called and need many registers."""


@primitive
def bits(run: Array, at: int) -> np.uint64:
    """The raw 64 bits of a word."""
    return run[at : at + 1].view(np.uint64)[0]  # type: ignore[no-any-return]


@primitive
def put_bits(run: Array, at: int, value: np.uint64) -> None:
    """Set the raw 64 bits of a word."""
    run[at : at + 1].view(np.uint64)[0] = value


@primitive
def load_float64(address: int) -> float:
    """The float64 at an address in memory, under the interpreter too."""
    return ctypes.c_double.from_address(int(address)).value


@primitive
def load_float32(address: int) -> float:
    """The float32 at an address in memory, as a float64."""
    return ctypes.c_float.from_address(int(address)).value


@primitive
def load_uint8(address: int) -> float:
    """The byte at an address in memory, as a float64."""
    return float(ctypes.c_uint8.from_address(int(address)).value)


@primitive
def floor_log2(x: int) -> int:
    """The place of the highest set bit of a positive whole number."""
    return int(x).bit_length() - 1


@primitive
def exponent(x: float) -> int:
    """The binary exponent e of a positive number: x = m 2^e with m in [1/2, 1)."""
    return math.frexp(x)[1]


@primitive
def power_of_two(k: int) -> float:
    """2^k for -1022 <= k <= 1023."""
    return math.ldexp(1.0, int(k))


# --- Matrices of rows, and arrays of whole numbers


@primitive
def row_of(rows_at: Address, i: int, width: int) -> Any:
    """The address of row i of a matrix with ``width`` words per row."""
    return rows_at[i]


@primitive
def prefetch(at: Address, line: int) -> None:
    """Ask for a cache line of the words at an address. A hint, never a fault."""


@primitive
def int_at(run: Address, k: int) -> Any:
    """Entry k of an array of 64-bit integers (under the interpreter, also of a list that holds arrays)."""
    return run[k]


@primitive
def put_int(run: Address, k: int, value: int) -> None:
    """Set entry k of an array of 64-bit integers."""
    run[k] = value


# --- Calls. A program knows the functions of its structure and of its routines; ``which`` numbers the routines.


@indirect(*REWARD)
def call_reward(address: int, spec: Array, t: int, arm: int) -> float:
    """The reward of an arm at step t, from the adversary whose function is at this address."""
    return function_at(address)(spec, t, arm)  # type: ignore[no-any-return]


@indirect(*CHECK)
def call_check(address: int, program: Array, level: int, row: Array, n: int, tau: int, stands: int) -> int:
    """1 if a level's words are what the routine whose check is at this address can have made of them, else 0."""
    return function_at(address)(program, level, row, n, tau, stands)  # type: ignore[no-any-return]


@indirect(*CHANGE)
def call_change(address: int, program: Array, level: int, row: Array, n: int, m: int, slot: int, tau: int) -> int:
    """Have the routine whose change is at this address make m children of the n children of a level."""
    return function_at(address)(program, level, row, n, m, slot, tau)  # type: ignore[no-any-return]


@primitive
def call_begin(program: Address, row: Array, t: int) -> float:
    """Begin a run of the last level's routine before step t; the probability of the choices made above it."""
    return program.structure.begin(program, row, t)  # type: ignore[no-any-return]


@primitive
def call_end(program: Address, row: Array, t: int) -> None:
    """End a run of the last level's routine after step t (counted from 1)."""
    program.structure.end(program, row, t)


@primitive
def call_arm_of(program: Address, row: Array, slot: int) -> int:
    """The arm that a slot of the last level stands for."""
    return program.structure.arm_of(program, row, slot)  # type: ignore[no-any-return]


@primitive
def call_start(which: int, program: Address, level: int, row: Array, at: int, n: int, control: int) -> None:
    """Start routine ``which`` over n children, with its statistics at ``at`` and its control words at ``control``."""
    program.routines[int(which)].start(program, level, row, at, n, control)


@primitive
def call_select(
    which: int, program: Address, level: int, row: Array, at: int, n: int, control: int, tau: int, u: float
) -> None:
    """Have routine ``which`` choose a child from the uniform number u, before its choice ``tau`` (from 0)."""
    program.routines[int(which)].select(program, level, row, at, n, control, tau, u)


@primitive
def call_update(
    which: int, program: Address, level: int, row: Array, at: int, n: int, control: int, tau: int, reward: float
) -> None:
    """Have routine ``which`` learn the reward of its choice ``tau``."""
    program.routines[int(which)].update(program, level, row, at, n, control, tau, reward)
