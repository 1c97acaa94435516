"""A kernel's source as a syntax tree: found, pruned of what constants rule out, with its comments.

An error here names the file, the line and the construct (:class:`OutsideDialect`).
"""

from __future__ import annotations

import ast
import inspect
import io
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.engine.linker import callees, names_of
from hlmc.engine.primitives import words
from hlmc.errors import BadArgument
from hlmc.targets.c.records import flatten
from hlmc.turns import turn

Kernel = Callable[..., Any]

_MOST = 2**63 - 1  # no int of the dialect is larger


class OutsideDialect(BadArgument):
    """A kernel that cannot be translated: the message names its file, the line and the construct."""


@dataclass(frozen=True)
class Source:
    """A kernel as it is written, and what its names mean.

    Parameters
    ----------
    kernel
        The kernel, which may be a copy that the linker made.
    tree
        Its syntax tree, without branches that its constants rule out and without records (:func:`flatten`). Lines are
        those of the file.
    names
        What its global names and closure variables mean.
    comments
        Comments that have a line of their own, by line.
    """

    kernel: Kernel
    tree: ast.FunctionDef
    names: Mapping[str, Any]
    comments: Mapping[int, str]

    def refuse(self, node: ast.AST, what: str) -> OutsideDialect:
        """The error about a construct."""
        line = getattr(node, "lineno", self.tree.lineno)
        file = self.kernel.__code__.co_filename
        return OutsideDialect(f"{file}, line {line}: {what} (kernel {self.kernel.__name__}; see docs/dialect.md)")


_PARSER = turn()
"""Held while Python parses: the parser of Python 3.11 cannot be used by two threads at once (cpython issue 106905)."""


def read(kernel: Kernel, programs: Mapping[int, Any] | None = None) -> Source:
    """Read a kernel's source; ``programs``: what is known of the words of some of its parameters, by their places."""
    code = kernel.__code__
    try:
        lines, first = inspect.getsourcelines(code)
        text = textwrap.dedent("".join(lines))
        with _PARSER:
            (tree,) = ast.parse(text).body
    except (OSError, SyntaxError, ValueError):
        raise OutsideDialect(
            f"{code.co_filename}, line {code.co_firstlineno}: the source of kernel {kernel.__name__} cannot be read; "
            "write it in a file"
        ) from None
    ast.increment_lineno(tree, first - 1)
    if not isinstance(tree, ast.FunctionDef):
        raise OutsideDialect(f"{code.co_filename}, line {first}: a kernel is a function made by def, not {_kind(tree)}")
    flatten(tree, kernel)
    names = dict(names_of(kernel))
    known = {tree.args.args[k].arg: program for k, program in (programs or {}).items()}
    comments = {
        token.start[0] + first - 1: token.string.lstrip("# ").rstrip()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }
    tree.body = _pruned(tree.body, _Known(names, known, tree))
    while _drop_unread(tree, names):
        pass
    return Source(kernel, tree, names, comments)


def _kind(node: ast.AST) -> str:
    return type(node).__name__


def constant_result(kernel: Kernel) -> str | int | float | None:
    """What a kernel without parameters that returns a constant returns: a global name or a number; else None.

    >>> from hlmc.engine.linker import constant
    >>> from hlmc.engine.weights import scan_limit
    >>> constant_result(scan_limit), constant_result(constant(4))
    ('SCAN', '_VALUE')
    """
    if is_primitive(kernel) or kernel.__code__.co_argcount:
        return None
    body = [node for node in read(kernel).tree.body if not _is_text(node)]
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return None
    value = body[0].value
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return value.value
    return None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Known:
    """What is known of a kernel's names before it runs.

    Numbers: global constants, and variables that are assigned once, to a number that is known. Programs: parameters
    whose words are known, and the names that they are given.
    """

    def __init__(self, names: Mapping[str, Any], programs: dict[str, Any], tree: ast.FunctionDef) -> None:
        self.names = names
        self.programs = programs
        self.numbers: dict[str, int | float] = {}
        parameters = {argument.arg for argument in tree.args.args}
        stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        for statement in tree.body:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name, value = statement.targets[0].id, statement.value
            if stored.count(name) != 1 or name in parameters:
                continue
            number = self.number(value)
            if number is not None:
                self.numbers[name] = number
            elif isinstance(value, ast.Call) and names.get(ast.unparse(value.func)) is words and len(value.args) == 1:
                source = ast.unparse(value.args[0])
                if source in programs:
                    programs[name] = programs[source]

    def number(self, node: ast.expr) -> int | float | None:
        """The number that an expression is, if that is known."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return node.value
        if isinstance(node, ast.Name):
            value = self.numbers.get(node.id, self.names.get(node.id))
            return value if isinstance(value, int | float) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._called(node.func.id, node.args)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.programs:
            at = self.number(node.slice)
            return float(self.programs[node.value.id][at]) if isinstance(at, int) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            left, right = self.number(node.left), self.number(node.right)
            if isinstance(left, int) and isinstance(right, int):
                return left + right if isinstance(node.op, ast.Add) else left - right
        return None

    def _called(self, name: str, arguments: list[ast.expr]) -> int | float | None:
        called = self.names.get(name)
        if called is None and len(arguments) == 1 and name in ("int", "float"):
            inner = self.number(arguments[0])
            return None if inner is None else int(inner) if name == "int" else float(inner)
        if called is not None and is_kernel(called) and not arguments:
            found = constant_result(called)
            return names_of(called).get(found) if isinstance(found, str) else found
        return None


def _truth(test: ast.expr, known: _Known) -> bool | None:
    """Whether a condition holds, if constants decide it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, known)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = known.number(test.left), known.number(test.comparators[0])
        op = test.ops[0]
        if isinstance(right, int) and right >= _MOST and isinstance(op, ast.LtE | ast.Gt):
            return isinstance(op, ast.LtE)
        if left is None or right is None:
            return None
        results = {
            ast.Lt: left < right,
            ast.LtE: left <= right,
            ast.Gt: left > right,
            ast.GtE: left >= right,
            ast.Eq: left == right,
            ast.NotEq: left != right,
        }
        return results.get(type(op))
    number = None if isinstance(test, ast.Constant) else known.number(test)
    return None if number is None else bool(number)


def _pruned(body: list[ast.stmt], known: _Known) -> list[ast.stmt]:
    """Statements without the branches that constants rule out, and without what follows a return."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            truth = _truth(statement.test, known)
            if truth is None:
                statement.body = _pruned(statement.body, known)
                statement.orelse = _pruned(statement.orelse, known)
                found.append(_Choices(known).visit(statement))
            else:
                found += _pruned(statement.body if truth else statement.orelse, known)
        elif not _never(statement, known):
            if isinstance(statement, ast.While | ast.For):
                statement.body = _pruned(statement.body, known)
            found.append(_Choices(known).visit(statement))
        if found and isinstance(found[-1], ast.Return):
            break
    return found


@cache
def writes(kernel: Kernel) -> bool:
    """Whether a kernel may do more than compute a result: write words, or call through a table."""
    if is_primitive(kernel):
        return kernel.__name__.startswith(("call_", "put_"))
    tree = read(kernel).tree
    stores = any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in ast.walk(tree))
    return stores or any(writes(callee) for callee in callees(kernel).values())


def acts(node: ast.AST, names: Mapping[str, Any]) -> bool:
    """Whether an expression may do more than compute a value."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)]
    called = [names.get(each.func.id) for each in calls if isinstance(each.func, ast.Name)]
    return any(each is not None and is_kernel(each) and writes(each) for each in called)


def _drop_unread(tree: ast.FunctionDef, names: Mapping[str, Any]) -> bool:
    """Drop assignments to variables that nothing reads any more; whether there were any."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    dropped = False

    def keep(statement: ast.stmt) -> bool:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) or statement.value is None:
            return True
        idle = all(isinstance(target, ast.Name) and target.id not in read for target in targets)
        return not idle or acts(statement.value, names)

    def visit(body: list[ast.stmt]) -> list[ast.stmt]:
        nonlocal dropped
        kept = [statement for statement in body if keep(statement)]
        dropped = dropped or len(kept) < len(body)
        for statement in kept:
            for field in ("body", "orelse"):
                if isinstance(statement, ast.If | ast.While | ast.For):
                    setattr(statement, field, visit(getattr(statement, field)))
        return kept

    tree.body = visit(tree.body)
    return dropped


def _never(statement: ast.stmt, known: _Known) -> bool:
    """Whether a statement is a loop over an empty range."""
    if not isinstance(statement, ast.For) or not isinstance(statement.iter, ast.Call):
        return False
    arguments = statement.iter.args
    last = known.number(arguments[0]) if len(arguments) == 1 else None
    return last is not None and last <= 0


class _Choices(ast.NodeTransformer):
    """Conditional expressions that constants decide."""

    def __init__(self, known: _Known) -> None:
        self._known = known

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        truth = _truth(node.test, self._known)
        return node if truth is None else node.body if truth else node.orelse


def is_number(value: object) -> bool:
    """Whether a global is a constant of the dialect."""
    return isinstance(value, int | float | np.uint64 | np.floating)
