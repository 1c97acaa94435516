"""One kernel to one C function.

The translator walks the kernel's syntax tree twice with the same methods. The first walk finds the types of the
variables, which functions are called and through which parameters words are written; its text is discarded. The second
walk writes the text. What is not in the dialect is refused with its file and line.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlmc.targets.c.expressions import ARITHMETIC, Expressions, Kernel, Translated, Types, scalar
from hlmc.targets.c.reading import OutsideDialect, read
from hlmc.targets.c.scopes import declarations
from hlmc.targets.c.types import ATOM, SUM, UNARY, Type, Value, cast, literal

if TYPE_CHECKING:
    from hlmc.targets.c.unit import Unit

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


class Translator(Expressions):
    """The translation of one kernel."""

    any_step = False
    """Whether the step of a range may be a variable, which is positive then."""

    def __init__(self, unit: Unit, kernel: Kernel, arguments: Iterable[Any]) -> None:
        arguments = list(arguments)
        self.unit = unit
        self.source = read(kernel, {k: unit.program for k, kind in enumerate(arguments) if kind is Type.PROGRAM})
        self.numbers = unit.numbers
        self.done = Translated(unit.name_of(kernel, arguments))
        self.variables: dict[str, Types] = {}
        self.roots: dict[str, str] = {}  # of runs: the parameter that a local name leads to
        self.runs: dict[str, str] = {}
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
        self.done.text = "\n".join([*self.described(), f"static {signature}", "{", *head, *self.lines, "}"])
        return self.done

    def described(self) -> list[str]:
        """The kernel's docstring as a comment, with what it calls in place of what it was written with."""
        text = ast.get_docstring(self.source.tree) or ""
        # Docstrings with sections are for Python's readers.
        text = text.split("\n\nParameters\n---")[0].split("\n\nExamples\n---")[0]
        note = self.unit.note(self.source.kernel)
        return comment("\n".join(filter(None, [text, note]))) if text or note else []

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
            self._line(f"{self._declared(name, kind)}{self.c_name(name)};")
        else:
            assert isinstance(kind, Type)
            zero = {Type.BOOL: "false", Type.REAL: literal(0.0, self.numbers).text}.get(kind, "0")
            self._line(f"{self.numbers.c(kind)} {self.c_name(name)} = {zero};")

    def _declared(self, name: str, kind: Type) -> str:
        """The C type of a variable, up to its name."""
        if kind is Type.RUN:
            return self.unit.run_type(self.roots[name] in self.done.mutable)
        return f"{self.numbers.c(kind)} "

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
                self.done.result = tuple(scalar(value) for value in values)
                wanted = self.done.result
            if not isinstance(wanted, tuple) or len(values) != len(wanted):
                raise self.source.refuse(statement, "it returns another number of results than its annotation says")
            parts = [self.convert(v, k, statement).text for v, k in zip(values, wanted, strict=True)]
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
        self._line(f"return {self.convert(value, wanted, statement).text};")

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
            word = self.word(target, writes=True)
            self._line(f"{word.place or word.text} = {self._stored(self.value(value), word, statement)};")
        else:
            raise self.source.refuse(statement, f"assigning to {ast.unparse(target)} is not in the dialect")

    def _stored(self, value: Value, word: Value, node: ast.AST) -> str:
        """A value as a word holds it. What is kept in a word of whole numbers is whole, whatever its type."""
        assert isinstance(word.type, Type)
        if word.place is not None:
            return self.unit.added(self.convert(value, Type.REAL, node))
        if word.type is Type.INT and value.type is Type.REAL:
            if value.number is not None:
                return literal(int(value.number), self.numbers).text
            return cast(value, Type.INT, self.numbers).text
        return self.convert(value, word.type, node).text

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
            self._joined(name, value, statement)
        text = f"{self.c_name(name)} = {self.convert(value, kind, statement).text};"
        own = name in self._places.by_assignment.get(statement, ())
        self._line(self._declared(name, kind) + text if own else text)

    def _kept(self, name: str, kind: Type, node: ast.AST) -> None:
        """A variable has one type for its whole life; an int may be kept in a float, and a bool in either."""
        known = self.variables.setdefault(name, kind)
        rank = {Type.BOOL: 0, Type.INT: 1, Type.REAL: 2}
        if known is not kind and not (known in rank and kind in rank and rank[kind] < rank[known]):
            assert isinstance(known, Type)
            raise self.source.refuse(node, f"{name} is {known.value} first and {kind.value} here")

    def _joined(self, name: str, value: Value, node: ast.AST) -> None:
        for known, given in ((self.roots, value.root or ""), (self.runs, value.run or "")):
            if known.setdefault(name, given) != given:
                raise self.source.refuse(node, f"{name} stands for words of {known[name]} first and of {given} here")

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
                    self._line(f"const {self.numbers.c(scalar(each))} {text} = {each.text};")
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
            place = self.word(target, writes=True)
        elif isinstance(target, ast.Name):
            place = self.value(ast.Name(target.id, ast.Load(), lineno=target.lineno))
        else:
            raise self.source.refuse(statement, f"assigning to {ast.unparse(target)} is not in the dialect")
        value = self.value(statement.value)
        assert isinstance(place.type, Type)
        if isinstance(target, ast.Subscript) and (place.place is not None or place.type is Type.INT):
            if not isinstance(statement.op, ast.Add | ast.Sub):
                raise self.source.refuse(statement, "a word of whole numbers is only added to or subtracted from")
            symbol, _ = ARITHMETIC[type(statement.op)]
            self._line(f"{place.place or place.text} {symbol}= {self._stored(value, place, statement)};")
            return
        result = self.binary(statement, statement.op, place, value)
        if result.type is not place.type:
            raise self.source.refuse(statement, f"{ast.unparse(target)} would change its type")
        symbol, _ = ARITHMETIC[type(statement.op)]
        right = self.convert(value, place.type, statement) if place.type is not Type.BITS else value
        if value.type is Type.BOOL:
            right = replace(value, text=f"({value.text})", binds=ATOM)
        self._line(f"{place.text} {symbol}= {right.text};")

    def _if(self, statement: ast.If, keyword: str = "if") -> None:
        test = self.condition(statement.test)
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
        self._line(f"while ({self.condition(statement.test)}) {{")
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
        bounds = [self.convert(self.value(node), Type.INT, node) for node in loop.args]
        first = bounds[0] if len(bounds) > 1 else literal(0, self.numbers)
        last = bounds[1] if len(bounds) > 1 else bounds[0]
        step = bounds[2] if len(bounds) > 2 else literal(1, self.numbers)
        if step.number == 0 or (step.number is None and not self.any_step):
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
        sign = ">" if step.number is not None and step.number < 0 else "<"
        advance = {1: f"{counter}++", -1: f"{counter}--"}.get(int(step.number or 0), f"{counter} += {step.text}")
        self._line(f"for ({kind} {counter} = {first.text}; {counter} {sign} {end}; {advance}) {{")
        self.depth += 1
        if counter != self.c_name(name) and name != "_":
            self._line(f"{kind + ' ' if own else ''}{self.c_name(name)} = {counter};")
        self._walk(statement.body)
        self.depth -= 1
        self._line("}")


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
