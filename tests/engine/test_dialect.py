"""Kernels keep to the dialect of docs/dialect.md, so that every target can read them."""

import ast
import importlib
import inspect
import math
import os
import pkgutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType

import pytest

import hlmc
from hlmc.engine.kernel import is_kernel, is_primitive, is_record, kernel
from hlmc.engine.linker import Kernel, substitute, substitute_where_used
from hlmc.errors import BadArgument

NODES = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Pass, ast.Break, ast.Expr),
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.While, ast.For),
    *(ast.Name, ast.Load, ast.Store, ast.Constant, ast.Subscript, ast.Tuple, ast.Call, ast.Attribute),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor),
    *(ast.UnaryOp, ast.USub, ast.Not, ast.BoolOp, ast.And, ast.Or, ast.IfExp),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
BUILTINS = {"int", "float", "bool", "min", "max", "abs", "range"}
MATH = ("sqrt", "expm1", "log1p", "floor", "pow", "sin", "cos", "pi", "inf")
ATTRIBUTES = {"np.uint64"} | {f"math.{name}" for name in MATH}
SCALARS = {"float", "int", "bool", "np.uint64"}
# The GPU's own kernels are written for one translator, and are no part of the engine's language.
OUTSIDE = ("hlmc.targets.cuda", "hlmc.games.cuda")
MODULES = [
    importlib.import_module(each.name)
    for each in pkgutil.walk_packages(hlmc.__path__, "hlmc.")
    if not each.name.startswith(OUTSIDE) and not each.name.endswith("__main__")
]
RECORDS = {kind.__name__: kind for module in MODULES for kind in vars(module).values() if is_record(kind)}
TYPES = SCALARS | {"Array", "Address"} | RECORDS.keys()
FIELDS = {field for kind in RECORDS.values() for field in kind._fields}


def kernels() -> Iterator[FunctionType]:
    """Every kernel that is written in the package, once; copies made by the linker are not written anywhere."""
    seen = set()
    for module in MODULES:
        for value in vars(module).values():
            written = (
                is_kernel(value) and not hasattr(value, "__hlmc_source__") and value.__module__.startswith("hlmc.")
            )
            if written and not value.__module__.startswith(OUTSIDE) and value not in seen:
                seen.add(value)
                yield value


KERNELS = sorted(kernels(), key=lambda each: (each.__module__, each.__code__.co_firstlineno))


def tree_of(function: FunctionType) -> ast.FunctionDef:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


RUNS = {"words", "offset", "noalias"}
"""Primitives whose result is a run of words."""


def _is_run(node: ast.expr) -> bool:
    """Whether an expression may be a run of words: a name, a field, or a call of a primitive that gives one."""
    return isinstance(node, (ast.Name, ast.Attribute)) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RUNS
    )


def problems(tree: ast.FunctionDef) -> Iterator[str]:
    """What a kernel says that is not in the dialect."""
    if not ast.get_docstring(tree):
        yield "it has no docstring"
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        yield "its parameters must be plain ones"
    for parameter in arguments.args:
        if parameter.annotation is None or ast.unparse(parameter.annotation) not in TYPES:
            yield f"the type of {parameter.arg} is not in the dialect"
    result = ast.unparse(tree.returns) if tree.returns else "missing"
    parts = result.removeprefix("tuple[").removesuffix("]").split(", ") if result.startswith("tuple[") else [result]
    if not set(parts) <= TYPES | {"None"}:
        yield f"its result of type {result} is not in the dialect"
    body = [node for statement in tree.body for node in ast.walk(statement)]
    for node in body:
        where = f"line {getattr(node, 'lineno', tree.lineno)}: "
        if not isinstance(node, NODES) or (isinstance(node, ast.FunctionDef)):
            yield f"{where}{type(node).__name__} is not in the dialect"
        elif isinstance(node, (ast.While, ast.For)) and node.orelse:
            yield f"{where}a loop has no else"
        elif isinstance(node, ast.For) and not (
            isinstance(node.iter, ast.Call)
            and ast.unparse(node.iter.func) == "range"
            and isinstance(node.target, ast.Name)
        ):
            yield f"{where}for goes over a range"
        elif isinstance(node, ast.Call) and node.keywords:
            yield f"{where}calls have no keywords"
        elif isinstance(node, ast.Call) and not isinstance(node.func, (ast.Name, ast.Attribute)):
            yield f"{where}only names are called"
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name not in ATTRIBUTES and not (isinstance(node.value, ast.Name) and node.attr in FIELDS):
                yield f"{where}{name} is not in the dialect"
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Slice, ast.Tuple)):
            yield f"{where}a run is indexed by one number"
        elif isinstance(node, ast.Subscript) and not _is_run(node.value):
            yield f"{where}{ast.unparse(node)} is no word of a run; several results are given names"


@pytest.mark.parametrize("function", KERNELS, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_every_kernel_keeps_to_the_dialect(function: FunctionType) -> None:
    if is_primitive(function):
        assert function.__doc__, "a primitive needs a docstring"
        return
    assert list(problems(tree_of(function))) == []


@pytest.mark.parametrize("function", KERNELS, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_every_kernel_calls_only_kernels_and_what_the_dialect_lists(function: FunctionType) -> None:
    if is_primitive(function):
        return
    for node in ast.walk(tree_of(function)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in BUILTINS | {"kernel"}:
            called = function.__globals__[node.func.id]
            assert is_kernel(called) or is_record(called), f"{node.func.id} is no kernel"


OUTSIDERS = {
    "no docstring": "def f(x: float) -> float:\n    return x",
    "no type": "def f(x) -> float:\n    'Text.'\n    return x",
    "a power": "def f(x: float) -> float:\n    'Text.'\n    return x ** 2",
    "an else": "def f(n: int) -> int:\n    'Text.'\n    while n > 0:\n        n -= 1\n    else:\n        n = 5",
    "a list": "def f(n: int) -> int:\n    'Text.'\n    return len([i for i in range(n)])",
    "not our own": "def f(x: float) -> float:\n    'Text.'\n    return math.exp(x)",
    "a slice": "def f(run: Array) -> float:\n    'Text.'\n    return run[1:]",
    "an indexed tuple": "def f(t: int) -> int:\n    'Text.'\n    return phase(t)[0]",
    "a try": "def f(x: float) -> float:\n    'Text.'\n    try:\n        return x\n    finally:\n        return 0.0",
}


@pytest.mark.parametrize("source", OUTSIDERS.values(), ids=OUTSIDERS)
def test_what_is_not_in_the_dialect_is_found(source: str) -> None:
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.FunctionDef)
    assert list(problems(tree))


CHECKED = """
import ast, importlib, pkgutil, sys
import hlmc
from hlmc.engine.kernel import is_kernel

def _floordiv(a, b):
    assert a >= 0 and b > 0, f"{a} // {b}"
    return a // b

def _mod(a, b):
    assert a >= 0 and b > 0, f"{a} % {b}"
    return a % b

class Check(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.FloorDiv: "_floordiv", ast.Mod: "_mod"}.get(type(node.op))
        if name is None:
            return node
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])

checked = 0
for found in pkgutil.walk_packages(hlmc.__path__, "hlmc."):
    if found.name.startswith("hlmc.targets.cuda") or found.name.endswith("__main__"):
        continue
    module = importlib.import_module(found.name)
    tree = ast.fix_missing_locations(Check().visit(ast.parse(open(module.__file__).read())))
    found_codes = compile(tree, module.__file__, "exec").co_consts
    codes = {code.co_name: code for code in found_codes if hasattr(code, "co_name")}
    for value in list(vars(module).values()):
        if is_kernel(value) and value.__module__ == found.name and value.__code__.co_name in codes:
            # Copies that the linker has made share neither code nor names with the kernel that they are copies of.
            value.__code__ = codes[value.__code__.co_name]
            value.__globals__.update(_floordiv=_floordiv, _mod=_mod)
            checked += "_floordiv" in value.__code__.co_names or "_mod" in value.__code__.co_names
assert checked > 25, checked

from hlmc.adversaries import EXAMPLES as ADVERSARIES
from hlmc.policies import EXAMPLES as POLICIES
for policy in POLICIES:
    learner = policy.start(seed=3)
    for t in range(min(policy.limit or 150, 150)):
        learner.update((7 * t + 3 * learner.select()) % 11 / 10)
for adversary in ADVERSARIES:
    last = min(adversary.length or 10**6, 10**6)
    for t in (0, 1, 999, 1000, last - 1):
        adversary.rewards(min(t, last - 1), min(t, last - 1) + 1)
for game in (hlmc.games.Spectrum(agents=5, channels=4), hlmc.games.Routing(agents=5, links=3)):
    hlmc.play(hlmc.HLMC(game.arms, levels=2, horizon=20), game, horizon=20, runs=1)
hlmc.play(hlmc.EXP3(4, horizon=20), hlmc.games.Spectrum(5, 4, hlmc.games.jammers.Circulating(period=2)), 20, runs=1)
"""


def test_divisions_are_of_non_negative_numbers_by_positive_ones() -> None:
    """There Python, C and GPUs agree. Interpreted, with operators that look at their operands."""
    environment = {**os.environ, "HLMC_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", CHECKED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@kernel
def _called(x: float) -> float:
    return x + 1.0


@kernel
def _calling(x: float) -> float:
    return 2.0 * _called(x)


@kernel
def _other(x: float) -> float:
    return 3.0 * x


@kernel
def _recursive(x: float) -> float:
    return _recursive(x - 1.0)


@pytest.mark.parametrize(
    ("function", "substitutions", "circle"),
    [
        (_calling, {_called: _called}, "_called -> _called"),
        (_calling, {_called: _other, _other: _called}, "_called -> _other -> _called"),
        (_calling, {_called: _calling}, "_calling -> _called -> _calling"),
        (_recursive, {}, "_recursive -> _recursive"),
    ],
)
def test_a_substitution_that_would_never_end_is_one_clear_error(
    function: Kernel, substitutions: dict[Kernel, Kernel], circle: str
) -> None:
    for copy in (substitute, substitute_where_used):
        with pytest.raises(BadArgument, match=f"would never end: {circle}$"):
            copy(function, substitutions)


def test_a_substitute_may_be_substituted_itself() -> None:
    assert substitute_where_used(_calling, {_called: _other, _other: math.sqrt})(9.0) == 6.0
