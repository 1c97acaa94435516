"""Records taken apart: a kernel's syntax tree in which every field of a record is a variable of its own.

What is left has numbers and runs of words only, so that the translations of a tree (to C, to vectors) need not know of
records, and make of a kernel what they would make of one with as many more parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from hlmc.engine.kernel import is_kernel, is_record

Kernel = Callable[..., Any]


def flatten(tree: ast.FunctionDef, kernel: Kernel) -> None:
    """Take the records in a kernel's tree apart.

    A field becomes a variable of its own name, or ``record_field`` where the kernel uses that name for something else.
    """
    flattener = _Flattener(tree, kernel.__globals__)
    parameters = []
    for argument in tree.args.args:
        kind = flattener.record(argument.annotation)
        if kind is None:
            parameters.append(argument)
            continue
        annotations = _annotations(kind)
        for field, name in zip(kind._fields, flattener.declare(argument.arg, kind), strict=True):
            parameters.append(ast.copy_location(ast.arg(name, annotations[field]), argument))
    tree.args.args = parameters
    tree.body = [flattener.visit(statement) for statement in tree.body]
    if tree.returns is not None:
        parts = _results(tree.returns, kernel.__globals__)
        if any(is_record(part) for part in parts):
            flat = [
                annotation
                for part in parts
                for annotation in (_annotations(part).values() if is_record(part) else [part])
            ]
            tree.returns = ast.Subscript(ast.Name("tuple", ast.Load()), ast.Tuple(flat, ast.Load()), ast.Load())
    ast.fix_missing_locations(tree)


def _annotations(kind: Any) -> dict[str, ast.expr]:
    """The types of a record's fields, as annotations."""
    written = {
        field: getattr(hint, "__forward_arg__", None) or _WRITTEN[hint] for field, hint in kind.__annotations__.items()
    }
    return {field: ast.parse(text, mode="eval").body for field, text in written.items()}


_WRITTEN = {float: "float", int: "int", bool: "bool", np.uint64: "np.uint64", np.ndarray: "Array", Any: "Address"}
"""The types of the dialect as annotations, for modules whose annotations are no text."""


def _results(annotation: ast.expr, names: Mapping[str, Any]) -> list[Any]:
    """What a kernel gives, part by part: a record, or the annotation of something else."""
    tuple_of = isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple)
    parts = annotation.slice.elts if tuple_of else [annotation]  # type: ignore[attr-defined]
    return [_named(part, names) or part for part in parts]


def _named(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """The record that a name stands for, or None."""
    found = names.get(node.id) if isinstance(node, ast.Name) else None
    return found if is_record(found) else None


class _Flattener(ast.NodeTransformer):
    """Replaces records by their fields. ``names``: what the global names of the kernel mean."""

    def __init__(self, tree: ast.FunctionDef, names: Mapping[str, Any]) -> None:
        self._names = names
        self._fields: dict[str, list[str]] = {}  # of a variable: the variables of its fields
        self._kinds: dict[str, Any] = {}
        self._taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self._taken |= {argument.arg for argument in tree.args.args}
        self._taken -= {argument.arg for argument in tree.args.args if self.record(argument.annotation)}

    def record(self, node: ast.expr | None) -> Any:
        """The record that a name stands for, or None."""
        return _named(node, self._names)

    def declare(self, name: str, kind: Any) -> list[str]:
        """The variables for the fields of a record."""
        if name not in self._fields:
            own = [field if field not in self._taken else f"{name}_{field}" for field in kind._fields]
            self._taken |= set(own)
            self._fields[name], self._kinds[name] = own, kind
        return self._fields[name]

    def _parts(self, node: ast.expr) -> list[ast.expr]:
        """An expression, or the values of the fields if it is a record."""
        if isinstance(node, ast.Name) and node.id in self._fields:
            return [ast.copy_location(ast.Name(name, ast.Load()), node) for name in self._fields[node.id]]
        if isinstance(node, ast.Call) and self.record(node.func) is not None:
            return [part for argument in node.args for part in self._parts(argument)]
        return [self.visit(node)]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._fields:
            place = self._kinds[node.value.id]._fields.index(node.attr)
            return ast.copy_location(ast.Name(self._fields[node.value.id][place], node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [part for argument in node.args for part in self._parts(argument)]
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            parts = [part for value in values for part in self._parts(value)]
            node.value = parts[0] if len(parts) == 1 else ast.copy_location(ast.Tuple(parts, ast.Load()), node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        (target,) = node.targets
        value = node.value
        kind = self.record(value.func) if isinstance(value, ast.Call) else None
        if isinstance(target, ast.Name) and kind is not None:
            parts = self._parts(value)
            node.targets = [self._stored(target, kind)]
            node.value = ast.copy_location(ast.Tuple(parts, ast.Load()), value)
            return node
        if (
            isinstance(target, ast.Name | ast.Tuple)
            and isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
        ):
            called = self._names.get(value.func.id)
            if called is not None and is_kernel(called) and "return" in called.__annotations__:
                self._receive(node, target, called)
        return self.generic_visit(node)

    def _receive(self, node: ast.Assign, target: ast.Name | ast.Tuple, called: Kernel) -> None:
        """Assign the results of a kernel that gives records."""
        given = called.__annotations__["return"]
        if isinstance(given, str):
            kinds = _results(ast.parse(given, mode="eval").body, called.__globals__)
        else:
            kinds = list(get_args(given) or [given])
        if not any(is_record(kind) for kind in kinds):
            return
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if isinstance(target, ast.Tuple) and len(kinds) == 1 < len(targets):
            return  # the fields of one record, unpacked
        stored: list[ast.expr] = []
        for each, kind in zip(targets, kinds, strict=True):
            if is_record(kind) and isinstance(each, ast.Name) and each.id == "_":
                stored += [each] * len(kind._fields)
            elif is_record(kind) and isinstance(each, ast.Name):
                stored += self._stored(each, kind).elts
            else:
                stored.append(each)
        node.targets = [ast.copy_location(ast.Tuple(stored, ast.Store()), target)]

    def _stored(self, target: ast.Name, kind: Any) -> ast.Tuple:
        """The variables of a record's fields, to assign to."""
        names = self.declare(target.id, kind)
        return ast.copy_location(ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store()), target)
