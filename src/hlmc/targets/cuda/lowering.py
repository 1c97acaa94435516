"""The primitives on a real device: the engine's, and those of :mod:`hlmc.targets.cuda.primitives`.

A primitive becomes an intrinsic (LLVM, :mod:`hlmc.targets.cuda.pointers`) or a kernel that uses what ``numba.cuda``
offers. Importing this module needs numba-cuda; the simulator has no use for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda import libdevice, types
from numba.cuda.extending import intrinsic

from hlmc.engine import primitives as engine
from hlmc.engine.kernel import kernel
from hlmc.targets.cuda import arithmetic, pointers, primitives

Array = np.ndarray

NANOSECONDS = 40
"""Between two looks at a barrier."""

_INT = ir.IntType(32)
_WORD = ir.IntType(64)


def lowered(primitive: Callable[..., Any]) -> Any:
    """The intrinsic or kernel that stands for a primitive."""
    return _LOWERED[primitive]


# --- The engine's


@kernel
def _words(run: Any) -> Any:
    """A launch hands over runs and not their addresses."""
    return run


@kernel
def _floor_log2(x: int) -> Any:
    """64-bit integers: 63 less the leading zeros."""
    return 63 - cuda.clz(x)


@intrinsic
def _exponent(typingctx: Any, x: Any) -> Any:
    """The exponent bits of a float64 or of a float32, less the bias for a mantissa in [1/2, 1)."""
    width, fraction, mask, bias = (32, 23, 0xFF, 126) if x == types.float32 else (64, 52, 0x7FF, 1022)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(width)
        high = builder.lshr(builder.bitcast(args[0], word), ir.Constant(word, fraction))
        found = builder.sub(builder.and_(high, ir.Constant(word, mask)), ir.Constant(word, bias))
        return builder.sext(found, _WORD) if width == 32 else found

    return types.int64(x), generate


@intrinsic
def _power_of_two(typingctx: Any, k: Any) -> Any:
    """A float64 whose exponent bits are k and the bias."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        biased = builder.add(args[0], ir.Constant(_WORD, 1023))
        return builder.bitcast(builder.shl(biased, ir.Constant(_WORD, 52)), ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def _noinline(typingctx: Any) -> Any:
    """Keep LLVM from inlining the function that calls this; the compiler does not force it to then."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.none(), generate


# --- Fast operations of single precision


@kernel
def _fast_exp(x: float) -> Any:
    """ex2.approx of x log2(e)."""
    return libdevice.fast_expf(x)


@kernel
def _exp2(x: float) -> Any:
    """ex2, with care for subnormal results."""
    return libdevice.exp2f(x)


@kernel
def _saturate(x: float) -> Any:
    """The ``.sat`` of the instruction that made x."""
    return libdevice.saturatef(x)


# --- Threads of a block


@kernel
def _sync_threads() -> None:
    """bar.sync."""
    cuda.syncthreads()


@kernel
def _atomic_add(numbers: Array, at: int, x: int) -> None:
    """atom.add."""
    cuda.atomic.add(numbers, at, x)


@kernel
def _atomic_take(numbers: Array, at: int) -> Any:
    """atom.exch."""
    return cuda.atomic.exch(numbers, at, 0)


@kernel
def _atomic_min(numbers: Array, at: int, x: int) -> None:
    """atom.min."""
    cuda.atomic.min(numbers, at, x)


@kernel
def _clear_count(counts: Array, k: int) -> None:
    """In dynamic shared memory, whatever ``counts`` is."""
    cuda.shared.array(0, np.int32)[k] = 0


@kernel
def _read_count(counts: Array, k: int) -> Any:
    """In dynamic shared memory, whatever ``counts`` is."""
    return cuda.shared.array(0, np.int32)[k]


@kernel
def _increment_count(counts: Array, k: int) -> None:
    """In dynamic shared memory, whatever ``counts`` is."""
    cuda.atomic.add(cuda.shared.array(0, np.int32), k, 1)


# --- Barriers: 8 bytes each, at an address


def _assembly(text: str, constraints: str, result: Any) -> Any:
    """A generator for one piece of PTX on an address."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = builder.asm(ir.FunctionType(result, [_WORD]), text, constraints, [args[0]], True)
        return context.get_dummy_value() if isinstance(result, ir.VoidType) else found

    return generate


@intrinsic
def _arrive_at(typingctx: Any, address: Any) -> Any:
    """Add 1 to the int32 at an address; what it was before."""
    return types.int32(types.int64), _assembly("atom.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}", _INT)


@intrinsic
def _releases_at(typingctx: Any, address: Any) -> Any:
    """The int32 four bytes further on."""
    return types.int32(types.int64), _assembly("ld.volatile.global.u32 $0, [$1+4];", "=r,l,~{memory}", _INT)


@intrinsic
def _release_at(typingctx: Any, address: Any) -> Any:
    """Set the first int32 to 0, then add 1 to the second."""
    text = "{ .reg .u32 %old; st.volatile.global.u32 [$0], 0; membar.gl; atom.global.add.u32 %old, [$0+4], 1; }"
    return types.void(types.int64), _assembly(text, "l,~{memory}", ir.VoidType())


@kernel
def _barrier_arrive(barriers: int, which: int) -> Any:
    """An atomic increment."""
    return _arrive_at(barriers + 8 * which)


@kernel
def _barrier_releases(barriers: int, which: int) -> Any:
    """A volatile load: no compiler and no first-level cache may answer instead of memory."""
    return _releases_at(barriers + 8 * which)


@kernel
def _barrier_release(barriers: int, which: int) -> None:
    """Arrivals go to 0 before anyone can see the release."""
    _release_at(barriers + 8 * which)


@kernel
def _thread_fence() -> None:
    """membar.gl."""
    cuda.threadfence()


@kernel
def _pause() -> None:
    """Leave the memory system to others for a while."""
    cuda.nanosleep(NANOSECONDS)


_LOWERED: dict[Callable[..., Any], Any] = {
    engine.words: _words,
    engine.offset: pointers.offset,
    engine.noalias: pointers.noalias,
    engine.noinline: _noinline,
    engine.bits: pointers.bits,
    engine.put_bits: pointers.put_bits,
    engine.load_float64: pointers.loader("float64"),
    engine.load_float32: pointers.loader("float32"),
    engine.load_uint8: pointers.loader("uint8"),
    engine.floor_log2: _floor_log2,
    engine.exponent: _exponent,
    engine.power_of_two: _power_of_two,
    arithmetic.fast_exp: _fast_exp,
    arithmetic.exp2: _exp2,
    arithmetic.saturate: _saturate,
    primitives.sync_threads: _sync_threads,
    primitives.atomic_add: _atomic_add,
    primitives.atomic_take: _atomic_take,
    primitives.atomic_min: _atomic_min,
    primitives.clear_count: _clear_count,
    primitives.read_count: _read_count,
    primitives.increment_count: _increment_count,
    primitives.shared_base: pointers.shared_base,
    primitives.barrier_arrive: _barrier_arrive,
    primitives.barrier_releases: _barrier_releases,
    primitives.barrier_release: _barrier_release,
    primitives.thread_fence: _thread_fence,
    primitives.pause: _pause,
    primitives.overlay: pointers.overlay,
}
