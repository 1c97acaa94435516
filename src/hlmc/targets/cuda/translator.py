"""One kernel to one function of CUDA C++, for arguments of given types.

Unlike in the translation to C, annotations of numbers are not read: types come from the arguments, as in Numba. A
number is of 32 or of 64 bits; a variable, and a result, has the widest of the types that it is given. The functions of
users are held to Python's meaning where C has another: quotients and remainders of negative numbers, powers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from hlmc.engine.kernel import is_primitive
from hlmc.targets.c.expressions import Kernel, Translated, Types
from hlmc.targets.c.reading import constant_result
from hlmc.targets.c.translator import Translator, _ends
from hlmc.targets.c.types import EQUALITY, NUMBERS, REALS, RELATION, WHOLES, Type, Value, cast, join
from hlmc.targets.cuda.unit import Argument, DeviceUnit

_NUMPY = {"np.float32": Type.SINGLE, "np.int32": Type.SHORT, "np.uint32": Type.HALF, "np.uint64": Type.BITS}
_NAMED = (Type.RUN, Type.RECORD)  # their C++ types have names
_MATH = ("acos", "asin", "atan", "ceil", "cosh", "sinh", "tan", "tanh")  # for users, beside those of the dialect
_PYTHONS = {ast.FloorDiv: "device_quotient", ast.Mod: "device_remainder", ast.Pow: "device_power"}


class DeviceTranslator(Translator):
    """The translation of one kernel."""

    unit: DeviceUnit
    any_step = True
    inferring = False

    def _signature(self, arguments: Sequence[Argument]) -> None:  # type: ignore[override]
        """The types of the parameters are those of the arguments."""
        kernel, tree = self.source.kernel, self.source.tree
        self.narrow = kernel.__globals__.get("float") is np.float32
        self.own = kernel.__module__.split(".")[0] == "hlmc"
        self._results: Types | None = None
        self._names = [each.arg for each in tree.args.args]
        if len(self._names) != len(arguments):
            raise self.source.refuse(tree, f"it is called with {len(arguments)} arguments")
        for name, (kind, run) in zip(self._names, arguments, strict=True):
            self.variables[name] = kind
            if run is not None:
                self.runs[name] = run

    def translate(self) -> Translated:
        """The function, when two walks have found the same types."""
        tree = self.source.tree
        body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
        known: Any = None
        for _ in range(8):
            self.lines, self.done.calls, self._temporary, self.used = [], [], 0, set()
            self._walk(body)
            if known == (known := (dict(self.variables), dict(self.runs), self._results)):
                break
        else:
            raise self.source.refuse(tree, "its types do not settle")
        if self._results is not None and not _ends(body):
            raise self.source.refuse(tree, "a kernel with a result ends in a return")
        self.done.parameters = [(name, self.variables[name]) for name in self._names]  # type: ignore[misc]
        self.done.result = Type.NONE if self._results is None else self._results
        head = f"{self.unit.qualifier(self.source.kernel)} {self.unit.signature(self.done, self.runs)}"
        self.done.text = "\n".join([*self.described(), head, "{", *self.lines, "}"])
        return self.done

    # --- Types

    def convert(self, value: Value, kind: Type, node: ast.AST) -> Value:
        """Any number in the type of any other."""
        if value.type is kind:
            return value
        if value.type not in NUMBERS or kind not in NUMBERS:
            given = value.type.value if isinstance(value.type, Type) else "several results"
            raise self.source.refuse(node, f"{given} where {kind.value} is needed")
        if kind is Type.BOOL:
            return Value(f"{value.within(RELATION)} != 0", Type.BOOL, EQUALITY)
        if value.number is not None and kind in REALS:
            return self.unit.literal_of(float(value.number), kind is Type.SINGLE)
        return cast(value, kind, self.numbers)

    def _kept(self, name: str, kind: Type, node: ast.AST) -> None:
        """A variable has the widest of its types."""
        found = join(self.variables.setdefault(name, kind), kind)
        if found is None:
            raise self.source.refuse(node, f"{name} is {self.variables[name]} first and {kind.value} here")
        self.variables[name] = found

    def _declared(self, name: str, kind: Type) -> str:
        return f"{self.runs[name] if kind in _NAMED else self.numbers.c(kind)} "

    def writes(self, run: Value, node: ast.AST | None = None) -> None:
        """The C++ type of a run says whether words may be written."""

    # --- Statements

    def _continue(self, statement: ast.Continue) -> None:
        self._line("continue;")

    def _return(self, statement: ast.Return) -> None:
        if statement.value is None:
            self._line("return;")
            return
        if isinstance(statement.value, ast.Tuple):
            values = [self.value(part) for part in statement.value.elts]
        else:
            value = self.value(statement.value)
            values = [value]
            if value.type == self._results or (self._results is None and isinstance(value.type, tuple)):
                self._results = value.type
                self._line(f"return {value.text};")
                return
            if isinstance(value.type, tuple):
                self._temporary += 1
                kept = self._own_name(f"given_{self._temporary}")
                self._line(f"const {self.unit.struct(value.type)} {kept} = {value.text};")
                values = [Value(f"{kept}.r{i}", kind) for i, kind in enumerate(value.type)]
            else:
                found = join(value.type, value.type if self._results is None else self._results)
                if found is None:
                    raise self.source.refuse(statement, "it returns results of several types")
                self._results = found
                self._line(f"return {self.convert(value, found, statement).text};")
                return
        kinds = tuple(value.type for value in values)
        before = self._results if isinstance(self._results, tuple) else kinds
        wanted: Any = tuple(join(a, b) for a, b in zip(before, kinds, strict=True))
        self._results = wanted
        parts = [self.convert(value, kind, statement).text for value, kind in zip(values, wanted, strict=True)]
        self._line(f"return {self.unit.struct(wanted)}{{{', '.join(parts)}}};")

    def _annassign(self, statement: ast.AnnAssign) -> None:
        self._store(statement, statement.target, statement.value)  # type: ignore[arg-type]

    def _augassign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        assert not isinstance(target, ast.Attribute), "records are taken apart"
        read = ast.Name(target.id) if isinstance(target, ast.Name) else ast.Subscript(target.value, target.slice)
        place = self.value(ast.copy_location(read, target))
        result = self.binary(statement, statement.op, place, self.value(statement.value))
        if isinstance(target, ast.Name):
            self._kept(target.id, result.type, statement)  # type: ignore[arg-type]
        self._line(f"{place.text} = {self.convert(result, place.type, statement).text};")  # type: ignore[arg-type]

    # --- Expressions

    def _value_constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, bool | int | float):
            return super()._value_constant(node)
        return self.unit.literal_of(node.value, self.narrow)

    def _value_attribute(self, node: ast.Attribute) -> Value:
        """A field of a record, or a constant of a module."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if self.variables.get(name) is Type.RECORD:
            self.used.add(name)
            kind, run = self.unit.records[self.runs[name]][node.attr]
            return Value(f"{self.c_name(name)}.{node.attr}", kind, run=run)
        found = self.source.names.get(name)
        value = getattr(found, node.attr, None) if isinstance(found, ModuleType) else None
        if isinstance(value, int | float):
            return self.unit.literal_of(value, self.narrow)
        return super()._value_attribute(node)

    def binary(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """Python's meaning in the functions of users."""
        if type(op) not in _PYTHONS or self.own:
            return super().binary(node, op, left, right)
        kind = self.joined(left, right)
        if kind not in (*WHOLES, *REALS) or kind is None:
            raise self.source.refuse(node, f"{type(op).__name__} of something else than numbers")
        if isinstance(op, ast.Pow) and kind in WHOLES and not (right.number is not None and right.number >= 0):
            kind = Type.REAL
        parts = [self.convert(value, kind, node).text for value in (left, right)]
        return Value(f"{_PYTHONS[type(op)]}<{self.numbers.c(kind)}>({', '.join(parts)})", kind)

    def _kernel_call(self, node: ast.Call, called: Kernel) -> Value:
        known = None if node.args or is_primitive(called) else constant_result(called)
        if isinstance(known, str):
            return self.unit.constant(known, called.__globals__[known], called)
        if known is not None:
            return self.unit.literal_of(known, called.__globals__.get("float") is np.float32)
        if is_primitive(called):
            return super()._kernel_call(node, called)
        values = [self.value(each) for each in node.args]
        target = self.unit.function(called, [(v.type, v.run) for v in values], self.source, node)
        return self.call(target, values, node)

    def call(self, target: Translated, values: list[Value], node: ast.AST) -> Value:
        """A call of a function that was made for just these arguments."""
        return Value(f"{target.name}({', '.join(value.text for value in values)})", target.result)

    def _library(self, node: ast.Call) -> Value:
        text = ast.unparse(node.func)
        if text.removeprefix("math.") in _MATH and not self.own and len(node.args) == 1:
            return self.unit.mathematics(
                text.removeprefix("math."), [self.convert(self.value(node.args[0]), Type.REAL, node)]
            )
        kind = _NUMPY.get(text)
        if kind is None or len(node.args) != 1:
            return super()._library(node)
        return cast(self.value(node.args[0]), kind, self.numbers)

    def _cast(self, node: ast.Call, kind: Type) -> Value:
        (value,) = [self.value(each) for each in node.args]
        if value.type not in NUMBERS:
            raise self.source.refuse(node, f"{ast.unparse(node)} is not a conversion of one number")
        if kind is Type.REAL and self.narrow:
            kind = Type.SINGLE
        if value.number is not None and kind in REALS:
            return self.unit.literal_of(float(value.number), kind is Type.SINGLE)
        return value if value.type is kind else cast(value, kind, self.numbers)
