"""The expressions of a kernel on lanes: syntax trees to values.

Most expressions are operations of :class:`hlmc.targets.native.wide.values.Numbers`. ``and``, ``or`` and conditional
expressions are branches, because an operand may be computed only where it matters: it may read a word that exists only
then. On a wide condition the operands are computed under masks and the results selected. On a uniform condition they
are computed in an ordinary branch, and the result passes through a variable.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from hlmc.engine.kernel import is_kernel
from hlmc.targets.c.reading import Source
from hlmc.targets.native.refused import NotWide
from hlmc.targets.native.wide.facts import Facts, Region
from hlmc.targets.native.wide.memory import Memory
from hlmc.targets.native.wide.values import BITS, BOOL, INT, NONE, REAL, RUN, Value

Kernel = Callable[..., Any]


@dataclass
class Frame:
    """A kernel that is being written into its caller's place.

    Parameters
    ----------
    path
        The calls that lead to it; part of the keys of its variables.
    source
        Its syntax tree, and what its names mean.
    region
        The region of the call.
    exit
        The block that follows the kernel's code.
    runs
        The runs of words that its names mean. A run cannot differ between lanes, so it needs no variable.
    results
        How many numbers it returns as a tuple; 0: one number; -1: nothing.
    gone
        Where the mask of the lanes lies that have returned, if lanes return at different places.
    """

    path: Any
    source: Source
    region: Region
    exit: Any
    runs: dict[str, Value] = field(default_factory=dict)
    results: int = -1
    gone: Any = None


class Expressions(Memory):
    """Writes expressions."""

    def __init__(self, builder: Any, body: Any, facts: Facts) -> None:
        super().__init__(builder, body, facts)
        self.frames: list[Frame] = []  # of the kernels that are being written, from the outermost

    def call(self, kernel: Kernel, arguments: list[Value], node: Any = None) -> Any:
        """The result of a kernel (:class:`hlmc.targets.native.wide.calls.Writer`)."""
        raise NotImplementedError

    def refuse(self, node: ast.AST | None, what: str) -> NotWide:
        if not self.frames:
            return NotWide(what)
        source = self.frames[-1].source
        line = getattr(node, "lineno", source.tree.lineno)
        return NotWide(f"{source.kernel.__code__.co_filename}, line {line}: {what} (kernel {source.kernel.__name__})")

    def place(self, node: ast.expr | ast.stmt, *more: Any) -> Any:
        """A name for a piece of a kernel: where it is called from, line and column, and what else tells it apart."""
        return (self.frames[-1].path, node.lineno, node.col_offset, *more)

    def value(self, node: ast.expr) -> Any:
        """A value; of a call with several results, a tuple of values; of one with none, None."""
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in ("inf", "pi"):
                return self.constant(node, getattr(math, name))
            case ast.BinOp():
                return self.operation(node, node.op, self.number(node.left), self.number(node.right))
            case ast.UnaryOp(op=ast.Not()):
                truth = self.truth(node.operand)
                return Value(BOOL, self.negated(truth.ir, truth.wide), truth.wide)
            case ast.UnaryOp(op=ast.USub()):
                return self.negative(self.number(node.operand))
            case ast.BoolOp():
                return self._joined(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Subscript():
                return self.load(self.value(node.value), self.converted(self.number(node.slice), INT))
            case ast.Tuple():
                return tuple(self.value(each) for each in node.elts)
            case ast.Call():
                return self._called(node)
        raise self.refuse(node, f"{type(node).__name__} has no form for several lanes")

    def number(self, node: ast.expr) -> Value:
        """A value that must be a number."""
        value = self.value(node)
        if not isinstance(value, Value) or value.kind in (RUN, NONE):
            raise self.refuse(node, "a number is needed")
        return value

    def truth(self, node: ast.expr) -> Value:
        """A condition."""
        return self.converted(self.number(node), BOOL)

    def _named(self, node: ast.expr, name: str) -> Value:
        frame = self.frames[-1]
        if name in frame.runs:
            return frame.runs[name]
        if (frame.path, name) in self.facts.kind:
            return self.variable((frame.path, name), node)
        if name in frame.source.names:
            return self.constant(node, frame.source.names[name])
        raise self.refuse(node, f"{name} has no value")

    def _comparison(self, node: ast.Compare) -> Value:
        values = [self.number(each) for each in (node.left, *node.comparators)]
        first, *others = (self.compared(op, *pair) for op, pair in zip(node.ops, pairwise(values), strict=True))
        for each in others:
            first = self.both(first, each)
        return first

    def _joined(self, node: ast.BoolOp) -> Value:
        """``and`` and ``or``. The later operands are computed in the lanes in which they matter."""
        both = isinstance(node.op, ast.And)
        found = self.truth(node.values[0])
        for k, each in enumerate(node.values[1:]):
            go_on = found.ir if both else self.negated(found.ir, found.wide)
            if found.wide:
                with self.under(go_on, self.place(node, k)):
                    other = self.truth(each)
                found = self.both(found, other) if both else self.either(found, other)
            else:
                key = self.place(node, "join", k)
                self.assign(key, found)
                self.branch(go_on, partial(self._assign_truth, key, each), lambda: None)
                found = self.variable(key, node)
        return found

    def _assign_truth(self, key: Any, node: ast.expr) -> None:
        self.assign(key, self.truth(node))

    def _choice(self, node: ast.IfExp) -> Value:
        condition = self.truth(node.test)
        if condition.wide:
            with self.under(condition.ir, self.place(node, "then")):
                then = self.number(node.body)
            with self.under(self.negated(condition.ir), self.place(node, "else")):
                otherwise = self.number(node.orelse)
            return self.select(condition, then, otherwise)
        key = self.place(node, "choice")
        self.branch(
            condition.ir,
            lambda: self.assign(key, self.number(node.body)),
            lambda: self.assign(key, self.number(node.orelse)),
        )
        return self.variable(key, node)

    def _called(self, node: ast.Call) -> Any:
        called = self.frames[-1].source.names.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if called is not None and is_kernel(called):
            return self.call(called, [self.value(each) for each in node.args], node)
        arguments = [self.number(each) for each in node.args]
        match ast.unparse(node.func):
            case "int":
                return self.converted(arguments[0], INT)
            case "float":
                return self.converted(arguments[0], REAL)
            case "bool":
                return self.converted(arguments[0], BOOL)
            case "np.uint64":
                return self.converted(arguments[0], BITS)
            case "abs":
                return self.absolute(arguments[0])
            case "min" | "max" as name:
                return self.extreme(name, arguments)
            case "math.sqrt" | "math.floor" as name:
                return self.intrinsic(name[5:], self.converted(arguments[0], REAL))
        raise self.refuse(node, f"a call of {ast.unparse(node.func)}")
