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
from typing import Any

import numpy as np

from hlmc.engine.kernel import is_kernel, is_primitive
from hlmc.engine.linker import names_of
from hlmc.errors import BadArgument

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
        Its syntax tree, without branches that its constants rule out. Lines are those of the file.
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


def read(kernel: Kernel) -> Source:
    """Read a kernel's source."""
    code = kernel.__code__
    try:
        lines, first = inspect.getsourcelines(code)
        text = textwrap.dedent("".join(lines))
        (tree,) = ast.parse(text).body
    except (OSError, SyntaxError, ValueError):
        raise OutsideDialect(
            f"{code.co_filename}, line {code.co_firstlineno}: the source of kernel {kernel.__name__} cannot be read; "
            "write it in a file"
        ) from None
    ast.increment_lineno(tree, first - 1)
    if not isinstance(tree, ast.FunctionDef):
        raise OutsideDialect(f"{code.co_filename}, line {first}: a kernel is a function made by def, not {_kind(tree)}")
    names = dict(names_of(kernel))
    comments = {
        token.start[0] + first - 1: token.string.lstrip("# ").rstrip()
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
    }
    tree.body = _pruned(tree.body, names)
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


def number_of(node: ast.expr, names: Mapping[str, Any]) -> int | float | None:
    """The number that an expression is, if it is a literal, a constant or a kernel that returns one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name) and isinstance(names.get(node.id), int | float):
        return names[node.id]  # type: ignore[no-any-return]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        called = names.get(node.func.id)
        if called is not None and is_kernel(called):
            found = constant_result(called)
            return names_of(called).get(found) if isinstance(found, str) else found
    return None


def _truth(test: ast.expr, names: Mapping[str, Any]) -> bool | None:
    """Whether a condition holds, if constants decide it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, names)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = number_of(test.left, names), number_of(test.comparators[0], names)
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
    known = number_of(test, names)
    return None if known is None else bool(known)


def _pruned(body: list[ast.stmt], names: Mapping[str, Any]) -> list[ast.stmt]:
    """Statements without the branches that constants rule out, and without what follows a return."""
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If):
            truth = _truth(statement.test, names)
            if truth is None:
                statement.body = _pruned(statement.body, names)
                statement.orelse = _pruned(statement.orelse, names)
                found.append(_Choices(names).visit(statement))
            else:
                found += _pruned(statement.body if truth else statement.orelse, names)
        else:
            if isinstance(statement, ast.While | ast.For):
                statement.body = _pruned(statement.body, names)
            found.append(_Choices(names).visit(statement))
        if found and isinstance(found[-1], ast.Return):
            break
    return found


class _Choices(ast.NodeTransformer):
    """Conditional expressions that constants decide."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        truth = _truth(node.test, self._names)
        return node if truth is None else node.body if truth else node.orelse


def is_number(value: object) -> bool:
    """Whether a global is a constant of the dialect."""
    return isinstance(value, int | float | np.uint64 | np.floating)
