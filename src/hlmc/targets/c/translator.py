"""One kernel to one C function.

The translator walks the kernel's syntax tree twice with the same methods. The first walk finds the types of the
variables, which functions are called and through which parameters words are written; its text is discarded. The second
walk writes the text. What is not in the dialect is refused with its file and line.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.targets.c.reading import OutsideDialect, Source, constant_result, is_number, read
from hlmc.targets.c.scopes import declarations
from hlmc.targets.c.types import (
    AND,
    ATOM,
    BITWISE,
    CONDITIONAL,
    EQUALITY,
    OR,
    PRODUCT,
    RELATION,
    SHIFT,
    SUM,
    UNARY,
    Type,
    Value,
    cast,
    converted,
    literal,
)

if TYPE_CHECKING:
    from hlmc.targets.c.unit import Unit

Kernel = Callable[..., Any]
Types = Type | tuple[Type, ...]

WIDTH = 116  # of a line of C
_INDENT = "    "

_ANNOTATIONS = {
    "float": Type.REAL,
    "int": Type.INT,
    "bool": Type.BOOL,
    "np.uint64": Type.BITS,
    "Array": Type.RUN,
    "Address": Type.RUN,
    "None": Type.NONE,
}

# Names that mean something in C or C++ and nothing in Python.
_RESERVED = frozenset(
    """
    asm auto bool case catch char class const constexpr default delete do double enum explicit extern false float
    goto inline int long mutable namespace new operator private protected public register restrict short signed
    sizeof static struct switch template this throw true typedef typename union unsigned using virtual void volatile
    """.split()  # noqa: SIM905
)

_ARITHMETIC = {
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


def comment(text: str, indent: str = "") -> list[str]:
    """Text as a C comment, without the markup of docstrings.

    >>> comment("As :func:`mixed_draw`, for ``n`` slots.")
    ['/* As mixed_draw, for n slots. */']
    """
    plain = re.sub(r":[a-z]+:`~?([^`]*)`", lambda found: found[1].split(".")[-1], text)
    plain = plain.replace("``", "").replace("*/", "* /").replace("/*", "/ *")
    lines: list[str] = []
    for paragraph in plain.split("\n"):
        inner = paragraph[: len(paragraph) - len(paragraph.lstrip())]
        lines += textwrap.wrap(paragraph, WIDTH - len(indent) - 6, subsequent_indent=inner) or [""]
    if len(lines) == 1:
        return [f"{indent}/* {lines[0]} */"]
    return [f"{indent}/* {lines[0]}", *(f"{indent} * {line}".rstrip() for line in lines[1:]), f"{indent} */"]


class Translator:
    """The translation of one kernel."""

    def __init__(self, unit: Unit, kernel: Kernel, arguments: Iterable[Type]) -> None:
        arguments = list(arguments)
        code = kernel.__code__
        given = zip(code.co_varnames[: code.co_argcount], arguments, strict=False)
        self.unit = unit
        self.source: Source = read(kernel, {name: unit.program for name, kind in given if kind is Type.PROGRAM})
        self.numbers = unit.numbers
        self.done = Translated(unit.name_of(kernel, arguments))
        self.variables: dict[str, Types] = {}
        self.roots: dict[str, str] = {}  # of runs: the parameter that a local name leads to
        self.used: set[str] = set()
        self.lines: list[str] = []
        self.depth = 1
        self._temporary = 0
        self._signature(arguments)
        self._places = declarations(self.source.tree)
        self._named = {self.c_name(name) for name in (*self.variables, *_stored_names(self.source.tree))}
        self._read = {
            node.id
            for node in ast.walk(self.source.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }

    def translate(self) -> Translated:
        """The C function."""
        tree = self.source.tree
        body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
        if self.done.result is Type.NONE and tree.returns is None:
            # A function without annotations: its result is what it returns.
            self.inferring = True
            self._walk(body)
        self.inferring = False
        for _ in range(2):
            self.lines, self.done.calls, self._temporary = [], [], 0
            self.used = set()
            self._walk(body)
        if self.done.result is not Type.NONE and not _ends(body):
            raise self.source.refuse(tree, "a kernel with a result ends in a return")
        idle = [name for name, kind in self.done.parameters if kind is not Type.PROGRAM and name not in self.used]
        head = [f"{_INDENT}(void){self.c_name(name)};" for name in idle]
        signature = self.unit.signature(self.done)
        text = ast.get_docstring(tree) or ""
        # Docstrings with sections are for Python's readers.
        text = text.split("\n\nParameters\n---")[0].split("\n\nExamples\n---")[0]
        note = self.unit.note(self.source.kernel)
        lines = comment("\n".join(filter(None, [text, note]))) if text or note else []
        self.done.text = "\n".join([*lines, f"static {signature}", "{", *head, *self.lines, "}"])
        return self.done

    # --- Signatures

    def _signature(self, arguments: list[Type]) -> None:
        tree = self.source.tree
        given = tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
            raise self.source.refuse(tree, "a kernel has plain parameters only")
        if len(given.args) != len(arguments):
            raise self.source.refuse(tree, f"it is called with {len(arguments)} arguments")
        for argument, kind in zip(given.args, arguments, strict=True):
            declared = self._annotated(argument, argument.annotation) if argument.annotation else kind
            if declared is Type.RUN and kind is Type.PROGRAM:
                declared = kind
            self.done.parameters.append((argument.arg, declared))
            self.variables[argument.arg] = declared
            if declared is Type.RUN:
                self.roots[argument.arg] = argument.arg
        if tree.returns is not None:
            self.done.result = self._result(tree.returns)

    def _annotated(self, node: ast.AST, annotation: ast.expr) -> Type:
        text = ast.unparse(annotation).strip("'\"")
        if text == "Any":
            raise self.source.refuse(node, "the annotation Any says nothing about a type")
        if text not in _ANNOTATIONS:
            raise self.source.refuse(node, f"the type {text} is not in the dialect")
        return _ANNOTATIONS[text]

    def _result(self, annotation: ast.expr) -> Types:
        if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "tuple":
            parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
            return tuple(self._annotated(part, part) for part in parts)
        return self._annotated(annotation, annotation)

    def c_name(self, name: str) -> str:
        """A Python variable's name in C."""
        if name == "_":
            return "unused"
        return f"{name}_" if name in _RESERVED else name.lstrip("_")

    def _own_name(self, text: str) -> str:
        """A name for a variable of the translator's own, unlike those of the kernel's."""
        while text in self._named:
            text += "_"
        return text

    # --- Statements

    def _walk(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._comments(statement)
            for name in self._places.before.get(statement, ()):
                self._declare_before(name)
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                raise self.source.refuse(statement, f"{type(statement).__name__} is not in the dialect")
            method(statement)

    def _line(self, text: str) -> None:
        self.lines += _wrapped(text, _INDENT * self.depth)

    def _comments(self, statement: ast.stmt) -> None:
        first = statement.lineno
        while first - 1 in self.source.comments:
            first -= 1
        text = " ".join(self.source.comments[line] for line in range(first, statement.lineno))
        if text:
            self.lines += comment(text, _INDENT * self.depth)

    def _declare_before(self, name: str) -> None:
        kind = self.variables.get(name)
        if kind is None or kind is Type.PROGRAM or name == "_" or name not in self._read:
            return  # the first walk has yet to see its type, or there is nothing to declare
        if kind is Type.RUN:
            self._line(f"{self._run_type(self.roots[name])}{self.c_name(name)};")
        else:
            assert isinstance(kind, Type)
            zero = {Type.BOOL: "false", Type.REAL: literal(0.0, self.numbers).text}.get(kind, "0")
            self._line(f"{self.numbers.c(kind)} {self.c_name(name)} = {zero};")

    def _run_type(self, root: str) -> str:
        return self.unit.run_type(root in self.done.mutable)

    def _pass(self, statement: ast.Pass) -> None:
        pass

    def _break(self, statement: ast.Break) -> None:
        self._line("break;")

    def _expr(self, statement: ast.Expr) -> None:
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
            return
        if not isinstance(statement.value, ast.Call):
            raise self.source.refuse(statement, "an expression that is no call has no effect")
        value = self.value(statement.value)
        if value.text:
            self._line(f"{value.text};" if value.type is Type.NONE else f"(void){value.within(UNARY)};")

    def _return(self, statement: ast.Return) -> None:
        wanted = self.done.result
        if statement.value is None:
            if wanted is not Type.NONE:
                raise self.source.refuse(statement, "a return without a value in a kernel that has a result")
            self._line("return;")
            return
        if isinstance(statement.value, ast.Tuple):
            values = [self.value(part) for part in statement.value.elts]
            if self.inferring:
                self.done.result = tuple(_scalar(value) for value in values)
                wanted = self.done.result
            if not isinstance(wanted, tuple) or len(values) != len(wanted):
                raise self.source.refuse(statement, "it returns another number of results than its annotation says")
            parts = [self._convert(v, k, statement).text for v, k in zip(values, wanted, strict=True)]
            struct = self.unit.struct(wanted)
            self._line(f"return ({struct}){{{', '.join(parts)}}};")
            return
        value = self.value(statement.value)
        if self.inferring:
            self.done.result = value.type
            wanted = value.type
        if isinstance(wanted, tuple) or isinstance(value.type, tuple):
            if value.type != wanted:
                raise self.source.refuse(statement, "it returns other results than its annotation says")
            self._line(f"return {value.text};")
            return
        if wanted is Type.NONE:
            raise self.source.refuse(statement, "a return with a value in a kernel that has no result")
        self._line(f"return {self._convert(value, wanted, statement).text};")

    def _assign(self, statement: ast.Assign) -> None:
        if len(statement.targets) != 1:
            raise self.source.refuse(statement, "several targets in one assignment are not in the dialect")
        self._store(statement, statement.targets[0], statement.value)

    def _annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is None or not isinstance(statement.target, ast.Name):
            raise self.source.refuse(statement, "an annotated assignment has a name and a value")
        name = statement.target.id
        self._kept(name, self._annotated(statement, statement.annotation), statement)
        self._store(statement, statement.target, statement.value)

    def _store(self, statement: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            self._unpack(statement, target, value)
        elif isinstance(target, ast.Name):
            self._assign_name(statement, target.id, self.value(value))
        elif isinstance(target, ast.Subscript):
            word = self._word(target, writes=True)
            self._line(f"{word.place or word.text} = {self._stored(self.value(value), word, statement)};")
        else:
            raise self.source.refuse(statement, f"assigning to {ast.unparse(target)} is not in the dialect")

    def _stored(self, value: Value, word: Value, node: ast.AST) -> str:
        """A value as a word holds it. What is kept in a word of whole numbers is whole, whatever its type."""
        assert isinstance(word.type, Type)
        if word.place is not None:
            return self.unit.added(self._convert(value, Type.REAL, node))
        if word.type is Type.INT and value.type is Type.REAL:
            if value.number is not None:
                return literal(int(value.number), self.numbers).text
            return cast(value, Type.INT, self.numbers).text
        return self._convert(value, word.type, node).text

    def _assign_name(self, statement: ast.stmt, name: str, value: Value) -> None:
        if name == "_":
            self._line(f"(void){value.within(UNARY)};")
            return
        if isinstance(value.type, tuple):
            raise self.source.refuse(statement, f"several results cannot be kept in one variable, {name}")
        if value.type is Type.NONE:
            raise self.source.refuse(statement, f"{value.text} has no result to assign")
        self._kept(name, value.type, statement)
        kind = self.variables[name]
        assert isinstance(kind, Type)
        if kind is Type.PROGRAM:
            return
        if name not in self._read:
            self._line(f"(void){value.within(UNARY)};")
            return
        if kind is Type.RUN:
            self._joined(name, value.root or "", statement)
            declared = self._run_type(value.root or "")
        else:
            declared = f"{self.numbers.c(kind)} "
        text = f"{self.c_name(name)} = {self._convert(value, kind, statement).text};"
        self._line(declared + text if name in self._places.by_assignment.get(statement, ()) else text)

    def _kept(self, name: str, kind: Type, node: ast.AST) -> None:
        """A variable has one type for its whole life; an int may be kept in a float, and a bool in either."""
        known = self.variables.setdefault(name, kind)
        rank = {Type.BOOL: 0, Type.INT: 1, Type.REAL: 2}
        if known is not kind and not (known in rank and kind in rank and rank[kind] < rank[known]):
            assert isinstance(known, Type)
            raise self.source.refuse(node, f"{name} is {known.value} first and {kind.value} here")

    def _joined(self, name: str, root: str, node: ast.AST) -> None:
        if self.roots.setdefault(name, root) != root:
            raise self.source.refuse(node, f"{name} stands for words of {self.roots[name]} first and of {root} here")

    def _unpack(self, statement: ast.stmt, target: ast.Tuple, value: ast.expr) -> None:
        names = [node.id if isinstance(node, ast.Name) else None for node in target.elts]
        if None in names:
            raise self.source.refuse(statement, "results are unpacked into names")
        if isinstance(value, ast.Tuple):
            values = [self.value(part) for part in value.elts]
            if len(values) != len(names):
                raise self.source.refuse(statement, "as many names as values are needed")
            # All values are computed before any name changes, where a later value reads an earlier name.
            reads = [{node.id for node in ast.walk(part) if isinstance(node, ast.Name)} for part in value.elts]
            swaps = any(name in read for i, name in enumerate(names) for read in reads[i + 1 :])
            later = []
            for name, each in zip(names, values, strict=True):
                assert name is not None
                ready = each
                if swaps:
                    self._temporary += 1
                    text = self._own_name(f"next_{self.c_name(name)}_{self._temporary}")
                    self._line(f"const {self.numbers.c(_scalar(each))} {text} = {each.text};")
                    ready = replace(each, text=text, binds=ATOM, number=None)
                later.append((name, ready))
            for name, each in later:
                self._assign_name(statement, name, each)
            return
        call = self.value(value)
        if not isinstance(call.type, tuple) or len(call.type) != len(names):
            raise self.source.refuse(statement, f"{ast.unparse(value)} has another number of results")
        if not any(name in self._read for name in names):
            self._line(f"(void){call.text};")
            return
        self._temporary += 1
        kept = self._own_name(f"found_{self._temporary}" if self._temporary > 1 else "found")
        self._line(f"const {self.unit.struct(call.type)} {kept} = {call.text};")
        for i, (name, part) in enumerate(zip(names, call.type, strict=True)):
            assert name is not None
            if name != "_" and name in self._read:
                self._assign_name(statement, name, Value(f"{kept}.r{i}", part))

    def _augassign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        if isinstance(target, ast.Subscript):
            place = self._word(target, writes=True)
        elif isinstance(target, ast.Name):
            place = self.value(ast.Name(target.id, ast.Load(), lineno=target.lineno))
        else:
            raise self.source.refuse(statement, f"assigning to {ast.unparse(target)} is not in the dialect")
        value = self.value(statement.value)
        assert isinstance(place.type, Type)
        if isinstance(target, ast.Subscript) and (place.place is not None or place.type is Type.INT):
            if not isinstance(statement.op, ast.Add | ast.Sub):
                raise self.source.refuse(statement, "a word of whole numbers is only added to or subtracted from")
            symbol, _ = _ARITHMETIC[type(statement.op)]
            self._line(f"{place.place or place.text} {symbol}= {self._stored(value, place, statement)};")
            return
        result = self._binary(statement, statement.op, place, value)
        if result.type is not place.type:
            raise self.source.refuse(statement, f"{ast.unparse(target)} would change its type")
        symbol, _ = _ARITHMETIC[type(statement.op)]
        right = self._convert(value, place.type, statement) if place.type is not Type.BITS else value
        if value.type is Type.BOOL:
            right = replace(value, text=f"({value.text})", binds=ATOM)
        self._line(f"{place.text} {symbol}= {right.text};")

    def _if(self, statement: ast.If, keyword: str = "if") -> None:
        test = self._condition(statement.test)
        self._line(f"{keyword} ({test}) {{")
        self._block(statement.body)
        # A block that ends in a return needs no else, but what is written with one keeps it.
        if statement.orelse:
            if (
                len(statement.orelse) == 1
                and isinstance(statement.orelse[0], ast.If)
                and statement.orelse[0] not in self._places.before
                and not self._commented(statement.orelse[0])
            ):
                self._if(statement.orelse[0], "} else if")
                return
            self._line("} else {")
            self._block(statement.orelse)
        self._line("}")

    def _commented(self, statement: ast.stmt) -> bool:
        return statement.lineno - 1 in self.source.comments

    def _block(self, body: list[ast.stmt]) -> None:
        self.depth += 1
        self._walk(body)
        self.depth -= 1

    def _while(self, statement: ast.While) -> None:
        if statement.orelse:
            raise self.source.refuse(statement, "a loop with else is not in the dialect")
        self._line(f"while ({self._condition(statement.test)}) {{")
        self._block(statement.body)
        self._line("}")

    def _for(self, statement: ast.For) -> None:
        loop = statement.iter
        if statement.orelse:
            raise self.source.refuse(statement, "a loop with else is not in the dialect")
        if not (
            isinstance(loop, ast.Call)
            and ast.unparse(loop.func) == "range"
            and isinstance(statement.target, ast.Name)
            and not loop.keywords
            and 1 <= len(loop.args) <= 3
        ):
            raise self.source.refuse(statement, "a for loop goes over a range of integers")
        bounds = [self._convert(self.value(node), Type.INT, node) for node in loop.args]
        first = bounds[0] if len(bounds) > 1 else literal(0, self.numbers)
        last = bounds[1] if len(bounds) > 1 else bounds[0]
        step = bounds[2] if len(bounds) > 2 else literal(1, self.numbers)
        if step.number is None or step.number == 0:
            raise self.source.refuse(statement, "the step of a range is a constant")
        name = statement.target.id
        self._kept(name, Type.INT, statement)
        kind = self.numbers.c(Type.INT)
        own = name == "_" or name in self._places.by_assignment.get(statement, ())
        changed = {name for each in statement.body for name in _stored_names(each)}
        counter = self.c_name(name)
        if name == "_":
            counter = self._own_name(f"round_{self.depth}")
        elif not own or name in changed:
            counter = self._own_name(f"{self.c_name(name)}_at")
        end = last.within(SUM)
        # A range is computed once: what the body might change is kept.
        reads = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name)}
        if last.number is None and (
            reads & changed or any(isinstance(node, ast.Call | ast.Subscript) for node in ast.walk(loop.args[-1]))
        ):
            end = self._own_name(f"{counter}_end")
            self._line(f"const {kind} {end} = {last.text};")
        sign = "<" if step.number > 0 else ">"
        advance = {1: f"{counter}++", -1: f"{counter}--"}.get(int(step.number), f"{counter} += {step.text}")
        self._line(f"for ({kind} {counter} = {first.text}; {counter} {sign} {end}; {advance}) {{")
        self.depth += 1
        if counter != self.c_name(name) and name != "_":
            self._line(f"{kind + ' ' if own else ''}{self.c_name(name)} = {counter};")
        self._walk(statement.body)
        self.depth -= 1
        self._line("}")

    # --- Expressions

    def value(self, node: ast.expr) -> Value:
        """An expression."""
        method = getattr(self, f"_value_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.source.refuse(node, f"{type(node).__name__} ({ast.unparse(node)}) is not in the dialect")
        return method(node)  # type: ignore[no-any-return]

    def _convert(self, value: Value, kind: Type, node: ast.AST) -> Value:
        found = converted(value, kind, self.numbers) if isinstance(value.type, Type) else None
        if found is None:
            given = value.type.value if isinstance(value.type, Type) else "several results"
            raise self.source.refuse(node, f"{given} where {kind.value} is needed")
        return found

    def _condition(self, node: ast.expr) -> str:
        return self._convert(self.value(node), Type.BOOL, node).text

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
            return Value(self.c_name(name), self.variables[name], root=self.roots.get(name))
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
        if isinstance(node.value, ast.Call):
            return self._result_of(node, node.value)
        return self._word(node, writes=False)

    def _result_of(self, node: ast.Subscript, call: ast.Call) -> Value:
        """One of the results of a call: ``phase(t)[0]``."""
        found = self.value(call)
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(found.type, tuple) or not isinstance(place, int) or not 0 <= place < len(found.type):
            raise self.source.refuse(node, f"{ast.unparse(node)} is none of the results of a call")
        return Value(f"{found.text}.r{place}", found.type[place])

    def _word(self, node: ast.Subscript, writes: bool) -> Value:
        run = self.value(node.value)
        if run.type not in (Type.RUN, Type.PROGRAM) or isinstance(node.slice, ast.Slice | ast.Tuple):
            raise self.source.refuse(node, f"{ast.unparse(node)} is not a word of an Array")
        index = self._convert(self.value(node.slice), Type.INT, node)
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
            return Value(f"!{self._convert(value, Type.BOOL, node).within(ATOM)}", Type.BOOL, UNARY)
        if isinstance(node.op, ast.USub) and value.type in (Type.INT, Type.REAL):
            number = None if value.number is None else -value.number
            return Value(f"-{value.within(ATOM)}", value.type, UNARY, number)
        raise self.source.refuse(node, f"{ast.unparse(node)} is not in the dialect")

    def _value_binop(self, node: ast.BinOp) -> Value:
        return self._binary(node, node.op, self.value(node.left), self.value(node.right))

    def _binary(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        if type(op) not in _ARITHMETIC:
            raise self.source.refuse(node, f"the operator {type(op).__name__} is not in the dialect")
        symbol, binds = _ARITHMETIC[type(op)]
        kinds = {left.type, right.type}
        if not kinds <= {Type.REAL, Type.INT, Type.BOOL, Type.BITS}:
            raise self.source.refuse(node, f"{symbol} of something else than numbers")
        if Type.BITS in kinds:
            if kinds != {Type.BITS} or isinstance(op, ast.Div):
                raise self.source.refuse(node, f"{symbol} of np.uint64 and another type; convert with np.uint64(...)")
            kind = Type.BITS
        elif isinstance(op, _INTEGER_ONLY):
            if Type.REAL in kinds:
                raise self.source.refuse(node, f"{type(op).__name__} of floats is not in the dialect")
            kind = Type.INT
        elif isinstance(op, ast.Div) or Type.REAL in kinds:
            kind = Type.REAL
            left, right = self._convert(left, kind, node), self._convert(right, kind, node)
        else:
            kind = Type.INT
        # C computes literals in 32 bits: where no operand is a variable, the first is widened.
        literals = kind is Type.INT and left.type is Type.INT and left.number is not None
        if literals and (isinstance(op, ast.LShift) or right.number is not None):
            left = replace(left, text=self.unit.wide(left), binds=ATOM)
        # Mixed with another operator, shifts and bits are put in parentheses, as compilers ask for.
        strict = binds in (SHIFT, BITWISE)
        inner_left = ATOM if strict and left.binds < UNARY else binds
        inner_right = ATOM if strict and right.binds < UNARY else binds + 1
        if kind is Type.INT and Type.BOOL in kinds:
            inner_left = ATOM if left.type is Type.BOOL else inner_left
            inner_right = ATOM if right.type is Type.BOOL else inner_right
        return Value(f"{left.within(inner_left)} {symbol} {right.within(inner_right)}", kind, binds)

    def _value_boolop(self, node: ast.BoolOp) -> Value:
        symbol, binds = ("&&", AND) if isinstance(node.op, ast.And) else ("||", OR)
        parts = [self._convert(self.value(each), Type.BOOL, each) for each in node.values]
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

    def _alike(self, left: Value, right: Value, node: ast.AST) -> tuple[Value, Value]:
        """Two values in the type that both have or become. An int and a literal whole number stay ints."""
        if {left.type, right.type} == {Type.INT, Type.REAL}:
            real = left if left.type is Type.REAL else right
            if real.number is not None and real.number == real.number // 1 and abs(real.number) < 2**31:
                whole = literal(int(real.number), self.numbers)
                left, right = (whole, right) if real is left else (left, whole)
        for kind in (Type.REAL, Type.INT):
            if kind in (left.type, right.type):
                return self._convert(left, kind, node), self._convert(right, kind, node)
        return left, right

    def _value_ifexp(self, node: ast.IfExp) -> Value:
        test = self._convert(self.value(node.test), Type.BOOL, node.test)
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
        target = self.unit.function(called, [_scalar(value) for value in values], self.source, node)
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
                texts.append(self._convert(value, kind, node).text)
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
            reals = [self._convert(value, Type.REAL, node) for value in values]
            return self.unit.mathematics(name, reals)
        raise self.source.refuse(node, f"{text} is not in the dialect")

    def _bits(self, node: ast.Call, value: Value) -> Value:
        if value.type not in (Type.INT, Type.BOOL, Type.BITS):
            raise self.source.refuse(node, "np.uint64 of something else than an integer")
        return self._widened(node.args[0], value) if self.numbers.narrow else cast(value, Type.BITS, self.numbers)

    def _widened(self, node: ast.expr, value: Value) -> Value:
        """An integer in 64 bits, computed there: 32 do not hold what is made of several."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            left = self._widened(node.left, self.value(node.left))
            return self._binary(node, node.op, left, self._widened(node.right, self.value(node.right)))
        return cast(value, Type.BITS, self.numbers)

    def _builtin_int(self, node: ast.Call) -> Value:
        return self._cast(node, Type.INT)

    def _builtin_float(self, node: ast.Call) -> Value:
        return self._cast(node, Type.REAL)

    def _builtin_bool(self, node: ast.Call) -> Value:
        (value,) = [self.value(each) for each in node.args]
        return self._convert(value, Type.BOOL, node)

    def _cast(self, node: ast.Call, kind: Type) -> Value:
        values = [self.value(each) for each in node.args]
        kinds = (Type.REAL, Type.INT, Type.BOOL, Type.BITS)
        if len(values) != 1 or values[0].type not in kinds:
            raise self.source.refuse(node, f"{ast.unparse(node)} is not a conversion of one number")
        (value,) = values
        if value.type is Type.INT and kind is Type.REAL:
            return self._convert(value, kind, node)
        return cast(value, kind, self.numbers)

    def _builtin_min(self, node: ast.Call) -> Value:
        return self._extreme(node, "min")

    def _builtin_max(self, node: ast.Call) -> Value:
        return self._extreme(node, "max")

    def _extreme(self, node: ast.Call, which: str) -> Value:
        values = [self.value(each) for each in node.args]
        kind = Type.REAL if any(value.type is Type.REAL for value in values) else Type.INT
        if len(values) < 2:
            raise self.source.refuse(node, f"{which} takes two or more numbers")
        values = [self._convert(value, kind, node) for value in values]
        name = self.unit.helper(f"{which}_{'real' if kind is Type.REAL else 'int'}")
        found = values[0]
        for value in values[1:]:
            found = Value(f"{name}({found.text}, {value.text})", kind)
        return found

    def _builtin_abs(self, node: ast.Call) -> Value:
        (value,) = [self.value(each) for each in node.args]
        if value.type is Type.REAL:
            return self.unit.mathematics("fabs", [value])
        value = self._convert(value, Type.INT, node)
        return Value(f"{self.unit.helper('abs_int')}({value.text})", Type.INT)


def _scalar(value: Value) -> Type:
    assert isinstance(value.type, Type), "a call with several results is no argument"
    return value.type


def _stored_names(tree: ast.AST) -> set[str]:
    """The names that are assigned to somewhere in a tree."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _ends(body: list[ast.stmt]) -> bool:
    """Whether the end of a block cannot be reached."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return):
        return True
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.While):
        forever = isinstance(last.test, ast.Constant) and bool(last.test.value)
        return forever and not any(isinstance(node, ast.Break) for node in ast.walk(last))
    return False


def _wrapped(text: str, indent: str) -> list[str]:
    """A line of C, broken after commas and before operators if it is too long."""
    if len(indent) + len(text) <= WIDTH:
        return [indent + text]
    lines, rest, hanging = [], text, indent
    while len(hanging) + len(rest) > WIDTH:
        limit = WIDTH - len(hanging)
        cut = max(rest.rfind(", ", 0, limit) + 2, rest.rfind(" && ", 0, limit) + 1, rest.rfind(" || ", 0, limit) + 1)
        if cut <= 2:
            cut = max(rest.rfind(mark, 0, limit) + 1 for mark in (" + ", " - ", " ? ", " : ", " * ", " = "))
        if cut <= 1:
            break
        lines.append(hanging + rest[:cut].rstrip())
        rest, hanging = rest[cut:], indent + 2 * _INDENT
    return [*lines, hanging + rest]


__all__ = ["OutsideDialect", "Translated", "Translator", "comment"]
