"""The expressions of a kernel in C: names, words, arithmetic, comparisons and calls, each with its type.

What is not in the dialect is refused with its file and line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.targets.c.reading import Source, constant_result, is_number
from hlmc.targets.c.types import (
    AND,
    ATOM,
    BITWISE,
    CONDITIONAL,
    EQUALITY,
    NUMBERS,
    OR,
    PRODUCT,
    REALS,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    WHOLES,
    Numbers,
    Type,
    Value,
    cast,
    converted,
    join,
    literal,
)

if TYPE_CHECKING:
    from hlmc.targets.c.unit import Unit

Kernel = Callable[..., Any]
Types = Type | tuple[Type, ...]

# Names that mean something in C or C++ and nothing in Python.
RESERVED = frozenset(
    """
    asm auto bool case catch char class const constexpr default delete do double enum explicit extern false float
    goto inline int long mutable namespace new operator private protected public register restrict short signed
    sizeof static struct switch template this throw true typedef typename union unsigned using virtual void volatile
    bitand bitor compl decltype friend noexcept nullptr xor
    """.split()  # noqa: SIM905
)

ARITHMETIC = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.FloorDiv: ("/", PRODUCT),
    ast.Mod: ("%", PRODUCT),
    ast.LShift: ("<<", SHIFT),
    ast.RShift: (">>", SHIFT),
    ast.BitAnd: ("&", BITWISE),
    ast.BitOr: ("|", BITWISE),
    ast.BitXor: ("^", BITWISE),
}
_INTEGER_ONLY = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_COMPARISONS = {
    ast.Lt: ("<", RELATION),
    ast.LtE: ("<=", RELATION),
    ast.Gt: (">", RELATION),
    ast.GtE: (">=", RELATION),
    ast.Eq: ("==", EQUALITY),
    ast.NotEq: ("!=", EQUALITY),
}
_MATH = {"sqrt": 1, "floor": 1, "expm1": 1, "log1p": 1, "exp": 1, "log": 1, "sin": 1, "cos": 1, "pow": 2}


@dataclass
class Translated:
    """A C function.

    Parameters
    ----------
    name, parameters, result
        Its signature: C name; names and types; type, or several for a struct.
    mutable
        The names of those parameters, runs of words, through which it writes.
    text
        Its definition, with a comment in front.
    """

    name: str
    parameters: list[tuple[str, Type]] = field(default_factory=list)
    result: Types = Type.NONE
    mutable: set[str] = field(default_factory=set)
    text: str = ""
    calls: list[str] = field(default_factory=list)


class Expressions:
    """The expressions of one kernel.

    Attributes
    ----------
    unit, source, numbers
        Where functions and constants go; the kernel; what floats and ints are.
    done
        The C function that is being made: calls and writes are noted in it.
    variables, roots, runs
        The types of the variables that have been met; of runs of words, the parameter that a local name leads to, or
        on a device the C++ type.
    used
        The names that have been read.
    """

    unit: Unit
    source: Source
    numbers: Numbers
    done: Translated
    variables: dict[str, Types]
    roots: dict[str, str]
    runs: dict[str, str]
    used: set[str]

    def c_name(self, name: str) -> str:
        """A Python variable's name in C."""
        if name == "_":
            return "unused"
        return f"{name}_" if name in RESERVED else name.lstrip("_")

    def value(self, node: ast.expr) -> Value:
        """An expression."""
        method = getattr(self, f"_value_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.source.refuse(node, f"{type(node).__name__} ({ast.unparse(node)}) is not in the dialect")
        return method(node)  # type: ignore[no-any-return]

    def convert(self, value: Value, kind: Type, node: ast.AST) -> Value:
        found = converted(value, kind, self.numbers) if isinstance(value.type, Type) else None
        if found is None:
            given = value.type.value if isinstance(value.type, Type) else "several results"
            raise self.source.refuse(node, f"{given} where {kind.value} is needed")
        return found

    def condition(self, node: ast.expr) -> str:
        return self.convert(self.value(node), Type.BOOL, node).text

    def _value_constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, bool | int | float):
            raise self.source.refuse(node, f"the constant {node.value!r} is not in the dialect")
        return literal(node.value, self.numbers)

    def _value_name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.variables:
            self.used.add(name)
            if self.variables[name] is Type.PROGRAM:
                return self.unit.program_value()
            return Value(self.c_name(name), self.variables[name], root=self.roots.get(name), run=self.runs.get(name))
        if name in self.source.names and is_number(self.source.names[name]):
            return self.unit.constant(name, self.source.names[name], self.source.kernel)
        raise self.source.refuse(node, f"{name} is neither a variable nor a constant")

    def _value_attribute(self, node: ast.Attribute) -> Value:
        text = ast.unparse(node)
        if text == "math.inf":
            return literal(float("inf"), self.numbers)
        if text == "math.pi":
            return literal(3.141592653589793, self.numbers)
        raise self.source.refuse(node, f"{text} is not in the dialect")

    def _value_subscript(self, node: ast.Subscript) -> Value:
        found = self.value(node.value) if isinstance(node.value, ast.Call) else None
        return self.word(node, writes=False) if found is None or found.run else self._result_of(node, found)

    def _result_of(self, node: ast.Subscript, found: Value) -> Value:
        """One of the results of a call: ``phase(t)[0]``."""
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(found.type, tuple) or not isinstance(place, int) or not 0 <= place < len(found.type):
            raise self.source.refuse(node, f"{ast.unparse(node)} is none of the results of a call")
        return Value(f"{found.text}.r{place}", found.type[place])

    def word(self, node: ast.Subscript, writes: bool) -> Value:
        run = self.value(node.value)
        if run.type not in (Type.RUN, Type.PROGRAM) or isinstance(node.slice, ast.Slice | ast.Tuple):
            raise self.source.refuse(node, f"{ast.unparse(node)} is not a word of an Array")
        index = self.convert(self.value(node.slice), Type.INT, node)
        if writes:
            self.writes(run, node)
        return self.unit.word(run, index, node.slice, self.source)

    def writes(self, run: Value, node: ast.AST | None = None) -> None:
        """Note that words of a run are written."""
        if run.root is None:
            raise self.source.refuse(node or self.source.tree, "the words of a program are constants")
        self.done.mutable.add(run.root)

    def _value_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(f"!{self.convert(value, Type.BOOL, node).within(ATOM)}", Type.BOOL, UNARY)
        if isinstance(node.op, ast.USub) and value.type in (*WHOLES, *REALS):
            number = None if value.number is None else -value.number
            return Value(f"-{value.within(ATOM)}", value.type, UNARY, number)
        raise self.source.refuse(node, f"{ast.unparse(node)} is not in the dialect")

    def _value_binop(self, node: ast.BinOp) -> Value:
        return self.binary(node, node.op, self.value(node.left), self.value(node.right))

    def binary(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        if type(op) not in ARITHMETIC:
            raise self.source.refuse(node, f"the operator {type(op).__name__} is not in the dialect")
        symbol, binds = ARITHMETIC[type(op)]
        kind = self.joined(left, right)
        if kind not in NUMBERS and Type.BITS not in (left.type, right.type):
            raise self.source.refuse(node, f"{symbol} of something else than numbers")
        if kind is None or (kind is Type.BITS and isinstance(op, ast.Div)):
            raise self.source.refuse(node, f"{symbol} of np.uint64 and another type; convert with np.uint64(...)")
        if isinstance(op, _INTEGER_ONLY) and kind in REALS:
            raise self.source.refuse(node, f"{type(op).__name__} of floats is not in the dialect")
        if isinstance(op, ast.Div) and kind not in REALS:
            kind = Type.REAL
        if kind in REALS:
            left, right = self.convert(left, kind, node), self.convert(right, kind, node)
        elif kind is Type.BOOL:
            kind = Type.INT
        # C computes literals in 32 bits: where no operand is a variable, the first is widened.
        literals = kind is Type.INT and left.type is Type.INT and left.number is not None
        if literals and (isinstance(op, ast.LShift) or right.number is not None):
            left = replace(left, text=self.unit.wide(left), binds=ATOM)
        # Mixed with another operator, shifts and bits are put in parentheses, as compilers ask for.
        strict = binds in (SHIFT, BITWISE)
        inner_left = ATOM if (strict and left.binds < UNARY) or left.type is Type.BOOL else binds
        inner_right = ATOM if (strict and right.binds < UNARY) or right.type is Type.BOOL else binds + 1
        return Value(f"{left.within(inner_left)} {symbol} {right.within(inner_right)}", kind, binds)

    def _value_boolop(self, node: ast.BoolOp) -> Value:
        symbol, binds = ("&&", AND) if isinstance(node.op, ast.And) else ("||", OR)
        parts = [self.convert(self.value(each), Type.BOOL, each) for each in node.values]
        inner = AND if binds == AND else EQUALITY
        return Value(f" {symbol} ".join(part.within(max(inner, binds)) for part in parts), Type.BOOL, binds)

    def _value_compare(self, node: ast.Compare) -> Value:
        values = [self.value(each) for each in (node.left, *node.comparators)]
        parts = []
        if len(node.ops) > 1 and any(
            isinstance(each, ast.Call) and not self._is_plain_call(each)
            for middle in node.comparators[:-1]
            for each in ast.walk(middle)
        ):
            raise self.source.refuse(node, "a call in the middle of a chain of comparisons is not in the dialect")
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self.source.refuse(node, f"the comparison {type(op).__name__} is not in the dialect")
            symbol, binds = _COMPARISONS[type(op)]
            if Type.BITS in (left.type, right.type) and left.type is not right.type:
                raise self.source.refuse(node, "comparing np.uint64 with another type; convert with np.uint64(...)")
            left, right = self._alike(left, right, node)
            parts.append(f"{left.within(SHIFT)} {symbol} {right.within(SHIFT)}")
        if len(parts) == 1:
            return Value(parts[0], Type.BOOL, binds)
        return Value(" && ".join(parts), Type.BOOL, AND)

    def _is_plain_call(self, node: ast.Call) -> bool:
        return ast.unparse(node.func) in ("int", "float", "bool", "min", "max", "abs", "math.sqrt")

    def joined(self, left: Value, right: Value) -> Type | None:
        """The type of two numbers together. A literal whole number has the width of the other."""
        if {left.type, right.type} == {Type.INT, Type.SHORT}:
            wide = left if left.type is Type.INT else right
            if wide.number is not None and abs(wide.number) < 2**31:
                return Type.SHORT
        return join(left.type, right.type)

    def _alike(self, left: Value, right: Value, node: ast.AST) -> tuple[Value, Value]:
        """Two values in the type that both have or become. An int and a literal whole number stay ints."""
        if (left.type in WHOLES and right.type in REALS) or (left.type in REALS and right.type in WHOLES):
            real = left if left.type in REALS else right
            if real.number is not None and real.number == real.number // 1 and abs(real.number) < 2**31:
                whole = literal(int(real.number), self.numbers)
                left, right = (whole, right) if real is left else (left, whole)
        kind = self.joined(left, right)
        if kind not in NUMBERS or kind is left.type is right.type:
            return left, right
        assert kind is not None
        return self.convert(left, kind, node), self.convert(right, kind, node)

    def _value_ifexp(self, node: ast.IfExp) -> Value:
        test = self.convert(self.value(node.test), Type.BOOL, node.test)
        first, second = self._alike(self.value(node.body), self.value(node.orelse), node)
        if first.type is not second.type or first.type is Type.RUN:
            raise self.source.refuse(node, "the two sides of a conditional expression have different types")
        text = f"{test.within(OR)} ? {first.within(OR)} : {second.within(CONDITIONAL)}"
        return Value(text, first.type, CONDITIONAL)

    def _value_call(self, node: ast.Call) -> Value:
        if node.keywords:
            raise self.source.refuse(node, "keyword arguments are not in the dialect")
        if any(isinstance(each, ast.Starred) for each in node.args):
            raise self.source.refuse(node, "starred arguments are not in the dialect")
        if isinstance(node.func, ast.Attribute):
            return self._library(node)
        if not isinstance(node.func, ast.Name):
            raise self.source.refuse(node, f"only names are called, not {ast.unparse(node.func)}")
        name = node.func.id
        called = self.source.names.get(name)
        if called is np.float32:
            called = None  # a kernel that was narrowed to single precision calls it float
        if called is not None and is_kernel(called):
            return self._kernel_call(node, called)
        if called is None and hasattr(self, f"_builtin_{name}"):
            return getattr(self, f"_builtin_{name}")(node)  # type: ignore[no-any-return]
        raise self.source.refuse(node, f"{name} is no kernel and no function of the dialect")

    def _kernel_call(self, node: ast.Call, called: Kernel) -> Value:
        values = [self.value(each) for each in node.args]
        if called in self.unit.table.hooks:
            return self.unit.through_table(called, self.unit.table.hooks[called], values, node, self)
        if is_primitive(called):
            found = self.unit.primitive(called, values, node, self)
            if found is not None:
                return found
            raise self.source.refuse(node, f"the primitive {called.__name__} has no form in C")
        known = constant_result(called)
        if known is not None and not values:
            if isinstance(known, str):
                return self.unit.constant(known, called.__globals__[known], called)
            return literal(known, self.numbers)
        target = self.unit.function(called, [scalar(value) for value in values], self.source, node)
        return self.call(target, values, node)

    def call(self, target: Translated, values: list[Value], node: ast.AST) -> Value:
        """A call of a C function."""
        texts = []
        for value, (name, kind) in zip(values, target.parameters, strict=True):
            if kind is Type.PROGRAM:
                continue
            if kind is Type.RUN:
                if value.type is not Type.RUN:
                    raise self.source.refuse(node, f"{value.text} is no Array")
                if name in target.mutable:
                    self.writes(value, node)
                texts.append(value.text)
            else:
                texts.append(self.convert(value, kind, node).text)
        if target.name not in self.done.calls:
            self.done.calls.append(target.name)
        return Value(f"{target.name}({', '.join(texts)})", target.result)

    def _library(self, node: ast.Call) -> Value:
        text = ast.unparse(node.func)
        values = [self.value(each) for each in node.args]
        if text == "np.uint64" and len(values) == 1:
            return self._bits(node, values[0])
        name = text.removeprefix("math.")
        if text.startswith("math.") and _MATH.get(name) == len(values):
            kind = Type.SINGLE if all(value.type is Type.SINGLE for value in values) else Type.REAL
            return self.unit.mathematics(name, [self.convert(value, kind, node) for value in values])
        raise self.source.refuse(node, f"{text} is not in the dialect")

    def _bits(self, node: ast.Call, value: Value) -> Value:
        if value.type not in (Type.INT, Type.BOOL, Type.BITS):
            raise self.source.refuse(node, "np.uint64 of something else than an integer")
        return self._widened(node.args[0], value) if self.numbers.narrow else cast(value, Type.BITS, self.numbers)

    def _widened(self, node: ast.expr, value: Value) -> Value:
        """An integer in 64 bits, computed there: 32 do not hold what is made of several."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            left = self._widened(node.left, self.value(node.left))
            return self.binary(node, node.op, left, self._widened(node.right, self.value(node.right)))
        return cast(value, Type.BITS, self.numbers)

    def _builtin_int(self, node: ast.Call) -> Value:
        return self._cast(node, Type.INT)

    def _builtin_float(self, node: ast.Call) -> Value:
        return self._cast(node, Type.REAL)

    def _builtin_bool(self, node: ast.Call) -> Value:
        (value,) = [self.value(each) for each in node.args]
        return self.convert(value, Type.BOOL, node)

    def _cast(self, node: ast.Call, kind: Type) -> Value:
        values = [self.value(each) for each in node.args]
        kinds = (Type.REAL, Type.INT, Type.BOOL, Type.BITS)
        if len(values) != 1 or values[0].type not in kinds:
            raise self.source.refuse(node, f"{ast.unparse(node)} is not a conversion of one number")
        (value,) = values
        if value.type is Type.INT and kind is Type.REAL:
            return self.convert(value, kind, node)
        return cast(value, kind, self.numbers)

    def _builtin_min(self, node: ast.Call) -> Value:
        return self._extreme(node, "min")

    def _builtin_max(self, node: ast.Call) -> Value:
        return self._extreme(node, "max")

    def _extreme(self, node: ast.Call, which: str) -> Value:
        values = [self.value(each) for each in node.args]
        if len(values) < 2:
            raise self.source.refuse(node, f"{which} takes two or more numbers")
        found = values[0]
        for value in values[1:]:
            kind = self.joined(found, value)
            kind = Type.INT if kind is Type.BOOL else kind
            if kind not in (*WHOLES, *REALS):
                raise self.source.refuse(node, f"{which} of something else than numbers")
            found = self.unit.extreme(which, self.convert(found, kind, node), self.convert(value, kind, node))
        return found

    def _builtin_abs(self, node: ast.Call) -> Value:
        (value,) = [self.value(each) for each in node.args]
        if value.type in REALS:
            return self.unit.mathematics("fabs", [value])
        value = value if value.type in WHOLES else self.convert(value, Type.INT, node)
        return Value(f"{self.unit.helper('abs_int')}({value.text})", value.type)


def scalar(value: Value) -> Type:
    assert isinstance(value.type, Type), "a call with several results is no argument"
    return value.type
