"""Imports between the package's rooms (its folders and top-level modules) point one way."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import hlmc

PACKAGE = Path(hlmc.__file__).parent
MOST_LAZY = 2
"""Imports within functions that would close a circle: few, and each says why in a comment that names the circle. They
are those of ``policy.start`` and ``policy.fleet``: a policy makes learners, and a learner is made of a policy."""


def room_of(path: Path) -> str:
    """The folder of a file within the package, or the name of a top-level module."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(tree: ast.AST, lazy: bool) -> Iterator[tuple[str, int]]:
    """Rooms that a file imports, at its top or, if ``lazy``, within functions; imports for types alone do not count."""
    for node in ast.iter_child_nodes(tree):
        if (
            isinstance(node, ast.If)
            and "TYPE_CHECKING" in ast.unparse(node.test)
            and "or" not in ast.unparse(node.test)
        ):
            continue
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            if lazy:
                yield from imports(ast.Module(node.body, []), False)
                yield from imports(ast.Module(node.body, []), True)
            continue
        if lazy:
            yield from imports(node, True)
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "hlmc":
            names = [f"hlmc.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from ((name.split(".")[1], node.lineno) for name in names if name.startswith("hlmc."))
        if not names:
            yield from imports(node, False)


def graph() -> tuple[dict[str, set[str]], list[tuple[str, str, Path, int]]]:
    """Which rooms each room imports when it is imported; and (room, imported room, file, line) of all lazy imports."""
    eager: dict[str, set[str]] = {}
    lazy = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room, tree = room_of(path), ast.parse(path.read_text())
        if room == "__init__":
            continue  # the catalogue of everything
        eager.setdefault(room, set()).update(name for name, _ in imports(tree, False) if name != room)
        lazy += [(room, name, path, line) for name, line in imports(tree, True) if name != room]
    return eager, lazy


def reach(edges: dict[str, set[str]], room: str) -> set[str]:
    """All rooms that importing a room imports."""
    found, todo = set(), [room]
    while todo:
        for other in edges.get(todo.pop(), set()) - found:
            found.add(other)
            todo.append(other)
    return found


def test_no_two_rooms_import_one_another() -> None:
    edges, _ = graph()
    assert {room: sorted(reach(edges, room)) for room in edges if room in reach(edges, room)} == {}


def test_lazy_imports_that_close_a_circle_are_few_and_say_why() -> None:
    edges, lazy = graph()
    closing = [(path, line) for room, name, path, line in lazy if room in reach(edges, name) | {name}]
    assert len(closing) <= MOST_LAZY, [f"{path.name}:{line}" for path, line in closing]
    for path, line in closing:
        above = "\n".join(path.read_text().splitlines()[max(0, line - 4) : line])
        assert "circle" in above, f"{path.name}:{line} closes a circle of imports and does not say why"


def test_the_engine_knows_no_compiler_and_targets_know_only_the_engine() -> None:
    edges, lazy = graph()
    of = lambda room: edges[room] | {name for each, name, *_ in lazy if each == room}  # noqa: E731
    assert of("engine") <= {"errors", "checks"}
    assert of("targets") <= {"engine", "errors", "checks", "interrupts", "turns"}
    assert of("interrupts") | of("turns") == set()
    for path in (PACKAGE / "engine").rglob("*.py"):
        assert "numba" not in path.read_text(), f"{path.name} speaks of a compiler"


def strangers(path: Path, room: str) -> Iterator[str]:
    """Names of other rooms that a file uses and that are not public: not in the ``__all__`` of the room."""
    tree = ast.parse(path.read_text())
    modules = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != "hlmc":
            continue
        if node.module == f"hlmc.{room}" or node.module.startswith(f"hlmc.{room}."):
            continue
        public = importlib.import_module(node.module).__all__ if node.module.count(".") < 2 else []
        for alias in node.names:
            if alias.name not in public:
                yield f"{path.name}:{node.lineno} {node.module}.{alias.name}"
            found = getattr(importlib.import_module(node.module), alias.name)
            if isinstance(found, ModuleType):
                modules[alias.asname or alias.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module = modules[node.value.id]
            if node.attr not in module.__all__:
                yield f"{path.name}:{node.lineno} {module.__name__}.{node.attr}"


def test_the_paper_uses_public_names_alone() -> None:
    assert [each for path in sorted((PACKAGE / "paper").glob("*.py")) for each in strangers(path, "paper")] == []
