"""Where a C function declares the variables of a kernel.

Python's variables belong to the function. C's are declared in the innermost block that can hold them: by their first
assignment where that is always executed first, otherwise before the first statement that contains them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Declarations:
    """Where variables are declared.

    ``by_assignment``: for an assignment or a ``for``, the variables that it declares. ``before``: for a statement, the
    variables that are declared in front of it.
    """

    by_assignment: dict[ast.stmt, set[str]] = field(default_factory=dict)
    before: dict[ast.stmt, list[str]] = field(default_factory=dict)


def declarations(function: ast.FunctionDef) -> Declarations:
    """Place the declarations of all variables of a function but its parameters."""
    parameters = {argument.arg for argument in function.args.args}
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    found = Declarations()
    for name in sorted(names - parameters):
        place = _Placing(name, found)
        if not place.in_block(function.body, False):
            place.hoist(function.body)
    return found


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    if isinstance(statement, ast.If):
        return [statement.body, statement.orelse]
    if isinstance(statement, ast.While | ast.For):
        return [statement.body]
    return []


def _head(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement outside its blocks."""
    inner = {id(each) for block in blocks(statement) for each in block}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if id(child) not in inner]


class _Placing:
    """The search for the place of one variable's declaration."""

    def __init__(self, name: str, found: Declarations) -> None:
        self._name = name
        self._found = found

    def in_block(self, block: list[ast.stmt], looped: bool) -> bool:
        """Declare the variable within a block; False, with nothing done, if it must be declared further out.

        ``looped``: the block is repeated, so a variable declared in it must not carry a value to the next round.
        """
        holding = [statement for statement in block if self._occurs(statement)]
        if not holding:
            return True
        if self._declares(holding[0]):
            self._found.by_assignment.setdefault(holding[0], set()).add(self._name)
            return True
        separate = [statement for statement in holding if self._is_own_loop(statement)]
        others = [statement for statement in holding if statement not in separate]
        if any(self._in_head(statement) for statement in others):
            if looped:
                return False
            self.hoist(block)
            return True
        before = {key: set(value) for key, value in self._found.by_assignment.items()}
        hoisted = {key: list(value) for key, value in self._found.before.items()}
        inner = all(
            self.in_block(each, looped or isinstance(statement, ast.While | ast.For))
            for statement in others
            for each in blocks(statement)
        )
        if inner and not (len(others) > 1 and self._hoisted_within(hoisted)):
            for statement in separate:
                self._found.by_assignment.setdefault(statement, set()).add(self._name)
            return True
        self._found.by_assignment, self._found.before = before, hoisted
        if looped:
            return False
        self.hoist(block)
        return True

    def hoist(self, block: list[ast.stmt]) -> None:
        """Declare the variable before the first statement of a block that contains it."""
        first = next(statement for statement in block if self._occurs(statement))
        self._found.before.setdefault(first, []).append(self._name)

    def _hoisted_within(self, before: dict[ast.stmt, list[str]]) -> bool:
        """Whether inner blocks have declared it without a value, so that a later block might rely on an earlier one."""
        return {k: list(v) for k, v in self._found.before.items()} != before

    def _occurs(self, statement: ast.stmt) -> bool:
        return any(isinstance(node, ast.Name) and node.id == self._name for node in ast.walk(statement))

    def _in_head(self, statement: ast.stmt) -> bool:
        return any(isinstance(node, ast.Name) and node.id == self._name for node in _head(statement))

    def _is_own_loop(self, statement: ast.stmt) -> bool:
        """Whether a statement is a loop over the variable."""
        return (
            isinstance(statement, ast.For)
            and isinstance(statement.target, ast.Name)
            and statement.target.id == self._name
        )

    def _declares(self, statement: ast.stmt) -> bool:
        """Whether a statement assigns to the variable before anything reads it."""
        if isinstance(statement, ast.AnnAssign):
            targets: list[ast.expr] = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            return False
        named = [node for target in targets for node in ([target] if isinstance(target, ast.Name) else [])]
        named += [
            node
            for target in targets
            if isinstance(target, ast.Tuple)
            for node in target.elts
            if isinstance(node, ast.Name)
        ]
        value = statement.value
        read = value is not None and any(
            isinstance(node, ast.Name) and node.id == self._name for node in ast.walk(value)
        )
        return any(node.id == self._name for node in named) and not read
