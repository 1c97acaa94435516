"""Four numbers side by side: kernels of the engine whose sums LLVM does not vectorise by itself.

A compiler may not change the order of additions, so a sum in one variable stays one addition after another; and where a
kernel adds in four variables, LLVM finds the four only sometimes. Here a few kernels are said a second time with the
type ``lanes``: four float64 in one register, operated on together. They give the same bits as the kernels that they
stand for (:data:`TWINS`), which say what is computed; ``tests/routines/test_losses.py`` compares them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_jitable, register_model

from hlmc.engine import coded_ftrl, ftrl, ucb
from hlmc.engine.ftrl import PAD

_FLOAT = ir.DoubleType()
_FOUR = ir.VectorType(_FLOAT, 4)
_FOUR_BITS = ir.VectorType(ir.IntType(1), 4)
_RUN = types.CPointer(types.float64)


class _Lanes(types.Type):  # type: ignore[misc]
    """Four float64, or four truth values."""

    def __init__(self, name: str, held: Any) -> None:
        super().__init__(name=name)
        self.held = held


lanes = _Lanes("lanes", _FOUR)
truths = _Lanes("truths", _FOUR_BITS)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.held)


def _spread(builder: Any, kind: Any, value: Any) -> Any:
    """A number as four; four as they are."""
    if kind is lanes:
        return value
    undefined = ir.Constant(_FOUR, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4))


def _define(symbol: Any, result: Any, make: Callable[[Any, Any, Any], Any]) -> None:
    """An operator on four numbers and four, or four and one."""
    pairs = [(lanes, lanes), (lanes, types.float64), (types.float64, lanes)]
    cases = [signature(result, *pair) for pair in pairs]
    infer_global(symbol)(type(f"_Typed_{symbol.__name__}", (ConcreteTemplate,), {"key": symbol, "cases": cases}))

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return make(builder, *(_spread(builder, kind, value) for kind, value in zip(sig.args, args, strict=True)))

    for pair in pairs:
        lower_builtin(symbol, *pair)(generate)


_define(operator.add, lanes, lambda builder, a, b: builder.fadd(a, b))
_define(operator.sub, lanes, lambda builder, a, b: builder.fsub(a, b))
_define(operator.mul, lanes, lambda builder, a, b: builder.fmul(a, b))
_define(operator.truediv, lanes, lambda builder, a, b: builder.fdiv(a, b))
_define(operator.lt, truths, lambda builder, a, b: builder.fcmp_ordered("<", a, b))


@intrinsic
def where(typingctx: Any, condition: Any, a: Any, b: Any) -> Any:
    """Of each pair of lanes the first where the condition holds, else the second."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return lanes(truths, lanes, lanes), generate


@intrinsic
def lane(typingctx: Any, four: Any, k: Any) -> Any:
    """One of the four; ``k`` is a constant."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return types.float64(lanes, types.int64), generate


@intrinsic
def repeat(typingctx: Any, x: Any) -> Any:
    """The same number four times."""
    return lanes(types.float64), lambda context, builder, sig, args: _spread(builder, types.float64, args[0])


@intrinsic
def four_at(typingctx: Any, run: Any, at: Any) -> Any:
    """Four neighbouring words."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(builder.bitcast(builder.gep(args[0], [args[1]]), _FOUR.as_pointer()), align=8)

    return lanes(_RUN, types.int64), generate


@intrinsic
def four(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Four numbers side by side."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = ir.Constant(_FOUR, ir.Undefined)
        for k, value in enumerate(args):
            found = builder.insert_element(found, value, ir.Constant(ir.IntType(32), k))
        return found

    return lanes(*[types.float64] * 4), generate


@intrinsic
def _added(typingctx: Any, four: Any) -> Any:
    """The sum of the four, the first and the third and the second and the fourth first."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        index = ir.VectorType(ir.IntType(32), 2)
        low = builder.shuffle_vector(args[0], args[0], ir.Constant(index, [0, 1]))
        high = builder.shuffle_vector(args[0], args[0], ir.Constant(index, [2, 3]))
        two = builder.fadd(low, high)
        first, second = (builder.extract_element(two, ir.Constant(ir.IntType(32), k)) for k in (0, 1))
        return builder.fadd(first, second)

    return types.float64(lanes), generate


@intrinsic
def put_four(typingctx: Any, run: Any, at: Any, value: Any) -> Any:
    """Write four neighbouring words."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], builder.bitcast(builder.gep(args[0], [args[1]]), _FOUR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(_RUN, types.int64, lanes), generate


def _power_sums(row: Any, at: Any, n: Any, x: Any, scale: Any) -> Any:
    whole = at + (n - 1) // 4 * 4
    stop = at + n - 1
    far = repeat(0.5 * scale * scale)
    none = repeat(0.0)
    w1 = row[whole] if whole < stop else PAD
    w2 = row[whole + 1] if whole + 1 < stop else PAD
    w3 = row[whole + 2] if whole + 2 < stop else PAD
    distance = four(0.0, w1, w2, w3) - x
    root = scale / distance
    squares = root * root
    cubes = squares * root
    beyond = where(far < distance, cubes, none)
    for k in range(at, whole, 4):
        distance = four_at(row, k) - x
        root = scale / distance
        p = root * root
        squares = squares + p
        p = p * root
        cubes = cubes + p
        beyond = beyond + where(far < distance, p, none)
    return _added(squares), _added(cubes), _added(beyond)


def _four_chances(row: Any, at: Any, n: Any, slot: Any, x: Any, scale: Any) -> Any:
    k = at + slot - 1
    stop = at + n - 1
    if k + 4 <= stop:
        loss = four_at(row, k)
    else:
        w0 = row[k]
        w1 = row[k + 1] if k + 1 < stop else PAD
        w2 = row[k + 2] if k + 2 < stop else PAD
        loss = four(w0, w1, w2, PAD)
    root = scale / (loss - x)
    p = root * root
    return lane(p, 0), lane(p, 1), lane(p, 2), lane(p, 3)


@register_jitable
def _noted_four(notes: Any, place: Any, w: Any, c: Any, d: Any, squares: Any, cubes: Any, most: Any) -> Any:
    root = c * w / (1.0 - d * w)
    p = root * root
    put_four(notes, place, p)
    return squares + p, cubes + p * root, where(most < w, w, most)


def _noted_sums(codes: Any, c: Any, d: Any) -> Any:
    notes, n = codes.notes, codes.n
    squares = repeat(0.0)
    cubes = repeat(0.0)
    most = repeat(0.0)
    whole = n // 4 * 4
    for slot in range(0, whole, 4):
        squares, cubes, most = _noted_four(notes, n + slot, four_at(notes, slot), c, d, squares, cubes, most)
    if whole < n:
        w1 = notes[whole + 1] if whole + 1 < n else 0.0
        w2 = notes[whole + 2] if whole + 2 < n else 0.0
        w = four(notes[whole], w1, w2, 0.0)
        squares, cubes, most = _noted_four(notes, n + whole, w, c, d, squares, cubes, most)
    largest = max(max(lane(most, 0), lane(most, 1)), max(lane(most, 2), lane(most, 3)))
    return _added(squares), _added(cubes), largest


@register_jitable
def _merged(slot: Any, top: Any, under: Any, other: Any, index: Any, below: Any) -> Any:
    under = max(max(under, below), min(top, index))
    return (other, index, under) if index > top else (slot, top, under)


def _highest_two(notes: Any, n: Any, spread: Any) -> Any:
    best = four(0.0, 0.0, 0.0, 0.0)
    highest = repeat(-1.0)
    second = repeat(-1.0)
    widest = repeat(0.0)
    slots = four(0.0, 1.0, 2.0, 3.0)
    whole = n // 4 * 4
    for slot in range(0, whole, 4):
        width = four_at(notes, n + slot)
        widest = where(widest < width, width, widest)
        index = four_at(notes, slot) + spread * width
        lower = where(highest < index, highest, index)
        second = where(second < lower, lower, second)
        best = where(highest < index, slots, best)
        highest = where(highest < index, index, highest)
        slots = slots + 4.0
    slot = int(lane(best, 0))
    top = lane(highest, 0)
    under = lane(second, 0)
    slot, top, under = _merged(slot, top, under, int(lane(best, 1)), lane(highest, 1), lane(second, 1))
    slot, top, under = _merged(slot, top, under, int(lane(best, 2)), lane(highest, 2), lane(second, 2))
    slot, top, under = _merged(slot, top, under, int(lane(best, 3)), lane(highest, 3), lane(second, 3))
    broadest = max(max(lane(widest, 0), lane(widest, 1)), max(lane(widest, 2), lane(widest, 3)))
    for rest in range(whole, n):
        slot, top, under = _merged(slot, top, under, rest, notes[rest] + spread * notes[n + rest], -1.0)
        broadest = max(broadest, notes[n + rest])
    return slot, top, under, broadest


TWINS: dict[Callable[..., Any], Callable[..., Any]] = {
    ftrl.power_sums: _power_sums,
    ftrl.four_chances: _four_chances,
    ucb.highest_two: _highest_two,
    coded_ftrl.noted_sums: _noted_sums,
}
"""Kernels of the engine, and what this target compiles in their place."""
