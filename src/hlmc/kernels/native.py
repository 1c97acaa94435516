"""What Python cannot say and machine code can: addresses as words, calls through addresses, a bit count.

Each of these is a kernel with two bodies: the one below it for the interpreter, and a few lines of LLVM for the
compiler. Under the interpreter an "address" is the array or the place of the function in a list.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from hlmc.kernels.build import JIT, compiled, linked, native
from hlmc.kernels.cache import attach as cache_on_disk

Array = np.ndarray

_functions: list[Callable[..., Any]] = []

# C signatures, result first; a "words" is the address of a run of words.
REWARD = ("float64", "words", "int64", "int64")
BEGIN = ("float64", "words", "words", "int64")
END = ("void", "words", "words", "int64")
START = ("void", "words", "int64", "words", "int64", "int64", "int64")
SELECT = ("void", "words", "int64", "words", "int64", "int64", "int64", "int64", "float64")
UPDATE = ("void", "words", "int64", "words", "int64", "int64", "int64", "int64", "float64")


@cache
def callback(function: Callable[..., Any], signature: tuple[str, ...], store: bool = True) -> Any:
    """A kernel compiled as a C function of a fixed signature; keep the result alive as long as its address is used."""
    if not JIT:
        if function not in _functions:
            _functions.append(function)
        return _Listed(_functions.index(function))
    from numba.core.ccallback import CFunc
    from numba.core.sigutils import normalize_signature

    options = {"nogil": True, "error_model": "numpy"}
    found = CFunc(linked(function, compiled), normalize_signature(_signature(signature)), locals={}, options=options)
    if store:
        cache_on_disk(found, function)
    found.compile()
    return found


class _Listed:
    """The interpreter's stand-in for a C function: its address is a place in a list."""

    def __init__(self, address: int) -> None:
        self.address = address


def address_of(array: Array) -> Any:
    """What a compiled kernel takes for an array of words: its address (under the interpreter, the array itself)."""
    return array.ctypes.data if JIT else array


def _signature(names: tuple[str, ...]) -> Any:
    from numba import types

    result, *arguments = [types.CPointer(types.float64) if name == "words" else getattr(types, name) for name in names]
    return result(*arguments)


def _words() -> Any:
    """LLVM's type for the address of a run of words."""
    from llvmlite import ir

    return ir.DoubleType().as_pointer()


def _native_words() -> Any:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def words(typingctx: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], _words())

        return types.CPointer(types.float64)(types.int64), generate

    return words


def _native_offset() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def offset(typingctx: Any, words: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.gep(args[0], [builder.sext(args[1], ir.IntType(64))])

        return types.CPointer(types.float64)(types.CPointer(types.float64), types.int64), generate

    return offset


def _native_beside() -> Any:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def beside(typingctx: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return args[0]

        return types.CPointer(types.float64)(types.CPointer(types.float64)), generate

    return beside


def _native_bits() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def bits(typingctx: Any, words: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(args[0], [args[1]])
            return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))

        return types.uint64(types.CPointer(types.float64), types.int64), generate

    return bits


def _native_log2() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def floor_log2(typingctx: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
            return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

        return types.int64(types.int64), generate

    return floor_log2


def _native_nothing() -> Any:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def nothing(typingctx: Any) -> Any:
        return types.none(), lambda context, builder, signature, args: context.get_dummy_value()

    return nothing


def _native_load(kind: str) -> Callable[[], Any]:
    """An intrinsic that reads a number of another kind than a word, at any address, as a float64."""

    def build() -> Any:
        from llvmlite import ir
        from numba import types
        from numba.extending import intrinsic

        stored = {"float64": ir.DoubleType(), "float32": ir.FloatType(), "uint8": ir.IntType(8)}[kind]

        @intrinsic
        def load(typingctx: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                value = builder.load(builder.inttoptr(args[0], stored.as_pointer()), align=1)
                if kind == "uint8":
                    return builder.uitofp(value, ir.DoubleType())
                return value if kind == "float64" else builder.fpext(value, ir.DoubleType())

            return types.float64(types.int64), generate

        return load

    return build


def _native_call(names: tuple[str, ...]) -> Callable[[], Any]:
    """An intrinsic that calls the C function of this signature at an address."""

    def build() -> Any:
        from llvmlite import ir
        from numba import types
        from numba.extending import intrinsic

        target = _signature(names)
        llvm = {
            types.float64: ir.DoubleType(),
            types.int64: ir.IntType(64),
            types.void: ir.VoidType(),
            types.CPointer(types.float64): _words(),
        }
        function_type = ir.FunctionType(llvm[target.return_type], [llvm[a] for a in target.args])

        def typed(typingctx: Any, address: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                function = builder.inttoptr(args[0], function_type.as_pointer())
                result = builder.call(function, args[1:])
                return context.get_dummy_value() if target.return_type == types.void else result

            return target.return_type(types.int64, *target.args), generate

        # Numba reads the number of arguments from the signature of the function, so it is spelt out.
        count = len(target.args)
        spelled: dict[int, Callable[..., Any]] = {
            3: lambda typingctx, address, a, b, c: typed(typingctx, address),
            6: lambda typingctx, address, a, b, c, d, e, f: typed(typingctx, address),
            8: lambda typingctx, address, a, b, c, d, e, f, g, h: typed(typingctx, address),
        }
        return intrinsic(spelled[count])

    return build


@native(_native_nothing)
def apart() -> None:
    """Said by kernels that a device should not copy into those that call them: they are seldom called."""


@native(_native_words)
def words(address: Any) -> Any:
    """The run of words at an address."""
    return address


@native(_native_offset)
def offset(run: Array, at: int) -> Array:
    """The run of words that begins ``at`` words further on."""
    return run[int(at) :]


@native(_native_beside)
def beside(run: Array) -> Array:
    """The same run, for words that must never be reached through :func:`offset`: a device takes the two for different
    memory.
    """
    return run


@native(_native_bits)
def bits(run: Array, at: int) -> np.uint64:
    """The raw bits of a word."""
    return run[at : at + 1].view(np.uint64)[0]  # type: ignore[no-any-return]


@native(_native_load("float64"))
def load_float64(address: int) -> float:
    """The number at an address in memory, under the interpreter too."""
    return ctypes.c_double.from_address(int(address)).value


@native(_native_load("float32"))
def load_float32(address: int) -> float:
    return ctypes.c_float.from_address(int(address)).value


@native(_native_load("uint8"))
def load_uint8(address: int) -> float:
    return float(ctypes.c_uint8.from_address(int(address)).value)


@native(_native_log2)
def floor_log2(x: int) -> int:
    """The place of the highest bit of a positive whole number."""
    return int(x).bit_length() - 1


@native(_native_call(REWARD))
def call_reward(address: int, spec: Array, t: int, arm: int) -> float:
    return _functions[int(address)](spec, t, arm)  # type: ignore[no-any-return]


@native(_native_call(BEGIN))
def call_begin(address: int, program: Array, row: Array, t: int) -> float:
    return _functions[int(address)](program, row, t)  # type: ignore[no-any-return]


@native(_native_call(END))
def call_end(address: int, program: Array, row: Array, t: int) -> None:
    _functions[int(address)](program, row, t)


@native(_native_call(START))
def call_start(address: int, program: Array, level: int, row: Array, at: int, n: int, control: int) -> None:
    _functions[int(address)](program, level, row, at, n, control)


@native(_native_call(SELECT))
def call_select(
    address: int, program: Array, level: int, row: Array, at: int, n: int, control: int, tau: int, u: float
) -> None:
    _functions[int(address)](program, level, row, at, n, control, tau, u)


@native(_native_call(UPDATE))
def call_update(
    address: int,
    program: Array,
    level: int,
    row: Array,
    at: int,
    n: int,
    control: int,
    tau: int,
    reward: float,
) -> None:
    _functions[int(address)](program, level, row, at, n, control, tau, reward)
