"""The engine's primitives in LLVM's terms. Importing this module imports Numba.

A word is a float64, a run of words a pointer to one, an address a 64-bit integer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hlmc.engine import primitives
from hlmc.targets.native.program import (
    ARM_OF_ENTRY,
    BEGIN_ENTRY,
    END_ENTRY,
    ENTRIES,
    ROUTINES,
    SELECT_ENTRY,
    START_ENTRY,
    UPDATE_ENTRY,
)

_INT = ir.IntType(64)
_INTS = _INT.as_pointer()
_RUN = types.CPointer(types.float64)
_NUMBA = {"words": _RUN, "float64": types.float64, "int64": types.int64, "void": types.void}
_LLVM = {"words": ir.DoubleType().as_pointer(), "float64": ir.DoubleType(), "int64": _INT, "void": ir.VoidType()}


def c_signature(names: tuple[str, ...]) -> Any:
    """Numba's form of a C signature, result first."""
    result, *arguments = (_NUMBA[name] for name in names)
    return result(*arguments)


def llvm_types(names: tuple[str, ...]) -> list[Any]:
    """LLVM's types of a C signature, result first."""
    return [_LLVM[name] for name in names]


@cache
def lowered(primitive: Callable[..., Any]) -> Any:
    """The intrinsic that stands for a primitive."""
    if hasattr(primitive, "__hlmc_indirect__"):
        return _call_at_address(primitive.__hlmc_indirect__)
    return _LOWERED[primitive]


# --- Words


@intrinsic
def _words(typingctx: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], _LLVM["words"])

    return _RUN(types.int64), generate


@intrinsic
def _offset(typingctx: Any, run: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [builder.sext(args[1], _INT)])

    return _RUN(_RUN, types.int64), generate


@intrinsic
def _noalias(typingctx: Any, run: Any) -> Any:
    return _RUN(_RUN), lambda context, builder, signature, args: args[0]


@intrinsic
def _noinline(typingctx: Any) -> Any:
    return types.none(), lambda context, builder, signature, args: context.get_dummy_value()


@intrinsic
def _bits(typingctx: Any, run: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.bitcast(builder.gep(args[0], [args[1]]), _INTS))

    return types.uint64(_RUN, types.int64), generate


@intrinsic
def _put_bits(typingctx: Any, run: Any, at: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], builder.bitcast(builder.gep(args[0], [args[1]]), _INTS))
        return context.get_dummy_value()

    return types.void(_RUN, types.int64, types.uint64), generate


def _load(kind: str) -> Any:
    """An intrinsic that reads a number of another kind than a word, at any address, as a float64."""
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


@intrinsic
def _floor_log2(typingctx: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(_INT, 63), zeros)

    return types.int64(types.int64), generate


@intrinsic
def _exponent(typingctx: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # Sign 1 bit, exponent 11 bits with a bias of 1022 for a mantissa in [1/2, 1), fraction 52 bits.
        high = builder.lshr(builder.bitcast(args[0], _INT), ir.Constant(_INT, 52))
        return builder.sub(builder.and_(high, ir.Constant(_INT, 0x7FF)), ir.Constant(_INT, 1022))

    return types.int64(types.float64), generate


@intrinsic
def _power_of_two(typingctx: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        biased = builder.add(args[0], ir.Constant(_INT, 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(_INT, 52)), ir.DoubleType())

    return types.float64(types.int64), generate


# --- Matrices of rows, and arrays of whole numbers


@intrinsic
def _row_of(typingctx: Any, rows_at: Any, i: Any, width: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.add(args[0], builder.mul(ir.Constant(_INT, 8), builder.mul(args[1], args[2])))

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def _prefetch(typingctx: Any, at: Any, line: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        flag = ir.IntType(32)
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [pointer], function)
        place = builder.add(args[0], builder.mul(args[1], ir.Constant(_INT, 64)))
        # For reading, into the second-level cache (the first has too few places for lines on their way), data.
        builder.call(hint, [builder.inttoptr(place, pointer), flag(0), flag(2), flag(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def _int_at(typingctx: Any, run: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.gep(builder.inttoptr(args[0], _INTS), [args[1]]))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _put_int(typingctx: Any, run: Any, k: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], builder.gep(builder.inttoptr(args[0], _INTS), [args[1]]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


# --- Calls


def _call(context: Any, builder: Any, address: Any, names: tuple[str, ...], args: Any) -> Any:
    """Call the C function of a signature at an address."""
    kind = ir.FunctionType(_LLVM[names[0]], [_LLVM[name] for name in names[1:]])
    result = builder.call(builder.inttoptr(address, kind.as_pointer()), args)
    return context.get_dummy_value() if names[0] == "void" else result


def _call_at_address(names: tuple[str, ...]) -> Any:
    """An intrinsic ``(address, *arguments)``."""
    signature = c_signature(names)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call(context, builder, args[0], names, args[1:])

    return of_arity(1 + len(signature.args), signature.return_type(types.int64, *signature.args), generate)


def _entry(builder: Any, program: Any, place: Any) -> Any:
    """The address in an entry of the table in front of a program."""
    before = builder.sub(ir.Constant(_INT, -1), place)
    return builder.load(builder.gep(builder.bitcast(program, _INTS), [before]))


def _call_structure(place: int, names: tuple[str, ...]) -> Any:
    """An intrinsic ``(program, row, t)`` that calls a function of the program's structure."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _entry(builder, args[0], ir.Constant(_INT, place))
        return _call(context, builder, address, names, args)

    return of_arity(len(names) - 1, c_signature(names), generate)


def _call_routine(role: int, names: tuple[str, ...]) -> Any:
    """An intrinsic ``(which, program, *arguments)`` that calls a function of one of the program's routines."""
    signature = c_signature(names)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = builder.mul(args[0], ir.Constant(_INT, ENTRIES))
        address = _entry(builder, args[1], builder.add(first, ir.Constant(_INT, ROUTINES + role)))
        return _call(context, builder, address, names, args[1:])

    return of_arity(1 + len(signature.args), signature.return_type(types.int64, *signature.args), generate)


def of_arity(count: int, signature: Any, generate: Callable[..., Any]) -> Any:
    """An intrinsic of so many arguments: Numba counts those that are spelt out."""
    names = ", ".join(f"a{k}" for k in range(count))
    return intrinsic(eval(f"lambda typingctx, {names}: found", {"found": (signature, generate)}))


_LOWERED: dict[Callable[..., Any], Any] = {
    primitives.words: _words,
    primitives.offset: _offset,
    primitives.noalias: _noalias,
    primitives.noinline: _noinline,
    primitives.bits: _bits,
    primitives.put_bits: _put_bits,
    primitives.load_float64: _load("float64"),
    primitives.load_float32: _load("float32"),
    primitives.load_uint8: _load("uint8"),
    primitives.floor_log2: _floor_log2,
    primitives.exponent: _exponent,
    primitives.power_of_two: _power_of_two,
    primitives.row_of: _row_of,
    primitives.prefetch: _prefetch,
    primitives.int_at: _int_at,
    primitives.put_int: _put_int,
    primitives.call_begin: _call_structure(BEGIN_ENTRY, primitives.BEGIN),
    primitives.call_end: _call_structure(END_ENTRY, primitives.END),
    primitives.call_arm_of: _call_structure(ARM_OF_ENTRY, primitives.ARM_OF),
    primitives.call_start: _call_routine(START_ENTRY, primitives.START),
    primitives.call_select: _call_routine(SELECT_ENTRY, primitives.SELECT),
    primitives.call_update: _call_routine(UPDATE_ENTRY, primitives.UPDATE),
}
