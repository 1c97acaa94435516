"""Values on lanes: what a value is, and arithmetic, comparisons and conversions of values.

A :class:`Value` is *uniform* (one LLVM scalar for all lanes) or *wide* (an LLVM vector with one element per lane).
:class:`Numbers` writes the operations on them. An operation is wide if one of its operands is; the other operands are
then spread over all lanes first. Operations ignore masks: a lane that is not active computes a number that is not
used. No operation here can trap but the division of whole numbers, which the dialect allows by positive
numbers only.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from hlmc.targets.native.refused import NotWide

REAL, INT, BITS, BOOL, RUN, NONE = "float", "int", "bits", "bool", "run", "none"
"""The kinds of values: float64, signed and raw 64-bit words, truths, runs of words, and no value."""

DOUBLE, WORD, BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
_INDEX = ir.IntType(32)  # of an element of a vector
SCALAR = {REAL: DOUBLE, INT: WORD, BITS: WORD, BOOL: BIT}

_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class Value(NamedTuple):
    """A number or a run of words.

    Parameters
    ----------
    kind
        ``REAL``, ``INT``, ``BITS``, ``BOOL`` or ``RUN``.
    ir
        The LLVM value: of a number a scalar or a vector, of a run the address of its first word.
    wide
        Of a number: one per lane. Of a run: the words of the lanes are interleaved.
    """

    kind: str
    ir: Any
    wide: bool = False


def integer(number: int) -> Value:
    """A whole number that is known now."""
    return Value(INT, ir.Constant(WORD, number))


def same(kind: Any, number: float) -> Any:
    """A constant of an LLVM type; of a vector type, with the number in every lane."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


class Numbers:
    """Writes operations on values where an LLVM builder stands.

    Parameters
    ----------
    builder
        LLVM's ``IRBuilder``, or one that writes nothing (:class:`hlmc.targets.native.wide.facts.Nowhere`).
    lanes
        How many lanes a vector has.
    """

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder = builder
        self.lanes = lanes
        self.mask_type = ir.VectorType(BIT, lanes)

    def refuse(self, node: ast.AST | None, what: str) -> NotWide:
        """The error about something that has no form on several lanes; ``node`` is where it stands in the kernel."""
        return NotWide(what)

    def type_of(self, kind: str, wide: bool) -> Any:
        """The LLVM type of a number."""
        return ir.VectorType(SCALAR[kind], self.lanes) if wide else SCALAR[kind]

    # --- Between scalars and vectors

    def spread(self, value: Value) -> Value:
        """A number in all lanes."""
        if value.wide:
            return value
        kind = self.type_of(value.kind, True)
        if isinstance(value.ir, ir.Constant):
            return Value(value.kind, same(kind, value.ir), True)
        undefined = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(undefined, value.ir, ir.Constant(_INDEX, 0))
        return Value(
            value.kind, self.builder.shuffle_vector(one, undefined, same(ir.VectorType(_INDEX, self.lanes), 0)), True
        )

    def lane(self, value: Value, k: int) -> Value:
        """The number of one lane."""
        return Value(value.kind, self.element(value.ir, k)) if value.wide else value

    def element(self, vector: Any, k: int) -> Any:
        """Element k of an LLVM vector."""
        return self.builder.extract_element(vector, ir.Constant(_INDEX, k))

    def together(self, values: list[Value]) -> Value:
        """A number of each lane as one wide value."""
        found = ir.Constant(self.type_of(values[0].kind, True), ir.Undefined)
        for k, value in enumerate(values):
            found = self.builder.insert_element(found, value.ir, ir.Constant(_INDEX, k))
        return Value(values[0].kind, found, True)

    def any(self, mask: Any) -> Any:
        """Whether any lane is in a mask: an LLVM bit."""
        number = ir.IntType(self.lanes)  # with one bit per lane
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(mask, number), ir.Constant(number, 0))

    def negated(self, truth: Any, wide: bool = True) -> Any:
        """The complement of an LLVM bit or mask."""
        return self.builder.xor(truth, same(self.mask_type if wide else BIT, 1))

    # --- Conversions

    def constant(self, node: ast.expr, number: Any) -> Value:
        """A number that stands in a kernel or that one of its names means."""
        if isinstance(number, bool | np.bool_):
            return Value(BOOL, ir.Constant(BIT, int(number)))
        if isinstance(number, np.uint64):
            return Value(BITS, ir.Constant(WORD, int(number)))
        if isinstance(number, int):
            return integer(number)
        if isinstance(number, float):
            return Value(REAL, ir.Constant(DOUBLE, float(number)))
        raise self.refuse(node, f"a constant {number!r}")

    def converted(self, value: Value, kind: str) -> Value:
        """A number of another kind: bool to int to float, and whole numbers to and from raw bits."""
        if value.kind == kind:
            return value
        to, builder = self.type_of(kind, value.wide), self.builder
        if value.kind == BOOL and kind in (INT, BITS):
            return Value(kind, builder.zext(value.ir, to), value.wide)
        if {value.kind, kind} == {INT, BITS}:
            return Value(kind, value.ir, value.wide)
        if kind == REAL and value.kind in (INT, BOOL):
            return Value(kind, builder.sitofp(self.converted(value, INT).ir, to), value.wide)
        if kind == REAL and value.kind == BITS:
            return Value(kind, builder.uitofp(value.ir, to), value.wide)
        if kind == INT and value.kind == REAL:
            return Value(kind, builder.fptosi(value.ir, to), value.wide)
        if kind == BOOL and value.kind in (INT, BITS):
            return Value(kind, builder.icmp_signed("!=", value.ir, same(self.type_of(INT, value.wide), 0)), value.wide)
        if kind == BOOL and value.kind == REAL:
            # Unordered: NaN is true in Python.
            return Value(
                kind, builder.fcmp_unordered("!=", value.ir, same(self.type_of(REAL, value.wide), 0.0)), value.wide
            )
        raise self.refuse(None, f"a {value.kind} where a {kind} is needed")

    def alike(self, *values: Value) -> tuple[str, bool, list[Any]]:
        """Operands made alike: their kind, whether they are wide, and their LLVM values."""
        kinds = {value.kind for value in values}
        kind = next(each for each in (REAL, BITS, INT, BOOL) if each in kinds)
        wide = any(value.wide for value in values)
        found = [self.converted(value, kind) for value in values]
        return kind, wide, [(self.spread(value) if wide else value).ir for value in found]

    # --- Operations

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """``a if condition else b`` of two numbers that are known already."""
        kind, wide, (x, y) = self.alike(a, b)
        if condition.wide and not wide:
            x, y, wide = self.spread(Value(kind, x)).ir, self.spread(Value(kind, y)).ir, True
        return Value(kind, self.builder.select(condition.ir, x, y), wide)

    def operation(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """``left op right``."""
        builder = self.builder
        if isinstance(op, ast.Div):
            left, right = self.converted(left, REAL), self.converted(right, REAL)
        if left.kind == right.kind == BOOL:
            left, right = self.converted(left, INT), self.converted(right, INT)
        kind, wide, (a, b) = self.alike(left, right)
        # The dialect divides non-negative whole numbers by positive ones, where rounding down and towards 0 agree.
        made = {
            (ast.Add, True): builder.fadd,
            (ast.Sub, True): builder.fsub,
            (ast.Mult, True): builder.fmul,
            (ast.Div, True): builder.fdiv,
            (ast.Add, False): builder.add,
            (ast.Sub, False): builder.sub,
            (ast.Mult, False): builder.mul,
            (ast.FloorDiv, False): builder.udiv if kind == BITS else builder.sdiv,
            (ast.Mod, False): builder.urem if kind == BITS else builder.srem,
            (ast.LShift, False): builder.shl,
            (ast.RShift, False): builder.lshr if kind == BITS else builder.ashr,
            (ast.BitAnd, False): builder.and_,
            (ast.BitOr, False): builder.or_,
            (ast.BitXor, False): builder.xor,
        }.get((type(op), kind == REAL))
        if made is None:
            raise self.refuse(node, f"{type(op).__name__} of a {left.kind} and a {right.kind}")
        return Value(kind, made(a, b), wide)

    def compared(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        """``left op right`` of one comparison. With NaN all but ``!=`` are false, as in Python."""
        sign = _SIGNS[type(op)]
        kind, wide, (a, b) = self.alike(left, right)
        if kind == REAL:
            compared = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        else:
            compared = self.builder.icmp_unsigned if kind in (BITS, BOOL) else self.builder.icmp_signed
        return Value(BOOL, compared(sign, a, b), wide)

    def both(self, left: Value, right: Value) -> Value:
        """``left and right`` of two truths that are known already."""
        _, wide, (a, b) = self.alike(left, right)
        return Value(BOOL, self.builder.and_(a, b), wide)

    def either(self, left: Value, right: Value) -> Value:
        """``left or right`` of two truths that are known already."""
        _, wide, (a, b) = self.alike(left, right)
        return Value(BOOL, self.builder.or_(a, b), wide)

    def negative(self, value: Value) -> Value:
        """``-value``."""
        if value.kind == REAL:
            return Value(REAL, self.builder.fneg(value.ir), value.wide)
        number = self.converted(value, INT)
        return Value(INT, self.builder.neg(number.ir), number.wide)

    def absolute(self, value: Value) -> Value:
        """``abs(value)``."""
        if value.kind == REAL:
            return self.intrinsic("fabs", value)
        return self.select(self.compared(ast.Lt(), value, integer(0)), self.negative(value), value)

    def extreme(self, name: str, values: list[Value]) -> Value:
        """``min`` or ``max`` of numbers; of equal ones the first, as in Python."""
        found = values[0]
        for each in values[1:]:
            better = self.compared(ast.Lt() if name == "min" else ast.Gt(), each, found)
            found = self.select(better, each, found)
        return found

    def intrinsic(self, name: str, value: Value) -> Value:
        """A function of one float that LLVM knows: ``"sqrt"``, ``"floor"`` or ``"fabs"``."""
        kind = self.type_of(REAL, value.wide)
        called = f"llvm.{name}.{f'v{self.lanes}' if value.wide else ''}f64"
        function = self.builder.module.declare_intrinsic(called, (), ir.FunctionType(kind, [kind]))
        return Value(REAL, self.builder.call(function, [value.ir]), value.wide)
