"""Our own exponential and logarithm: within one unit in the last place of the true value, on every target."""

import ctypes
import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

from c_tools import compiled as compile_c
from c_tools import needs
from hlmc.engine import elementary
from hlmc.targets import entry
from hlmc.targets.c.types import Type
from hlmc.targets.c.unit import Table, Unit

FUNCTIONS = {
    "exp": (elementary.exponential, lambda x: x.exp(), 1.0),
    "log": (elementary.logarithm, lambda x: x.ln(), 1.0),
    "expm1": (elementary.exponential_less_one, lambda x: x.exp() - 1, 2.0),
    "log1p": (elementary.logarithm_one_plus, lambda x: (1 + x).ln(), 2.0),
}


def arguments(name: str, count: int) -> np.ndarray:
    """Numbers of all sizes, and those near which the functions change their ways."""
    random = np.random.default_rng(8)
    tiny = random.choice([-1.0, 1.0], count) * 10.0 ** random.uniform(-15, -0.5, count)
    edges = np.array([0.34657, math.log(2) / 2, 0.29289, 0.41421, 0.7071, 1.0, 2.0]) * (
        1 + 1e-9 * random.normal(size=7)
    )
    if name == "exp":
        return np.concatenate([tiny, edges, -edges, random.uniform(-745, 709.7, count), random.uniform(-3, 3, count)])
    if name == "expm1":
        return np.concatenate([tiny, edges, -edges, random.uniform(-40, 700, count), random.uniform(-3, 3, count)])
    if name == "log":
        wide = np.exp(random.uniform(-744, 709, count))
        return np.concatenate([1 + tiny, edges, wide, random.uniform(0.3, 3, count), [5e-324, 1.7e308]])
    return np.concatenate(
        [tiny, edges, -edges[:5], np.exp(random.uniform(0, 700, count)), random.uniform(-0.99, 3, count)]
    )


def ulps(found: float, x: float, true: Callable[[Decimal], Decimal]) -> float:
    with localcontext() as context:
        context.prec = 60
        value = true(Decimal(x))
        return float(abs(Decimal(found) - value) / Decimal(math.ulp(float(value))))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_below_the_stated_units_in_the_last_place(name: str) -> None:
    kernel, true, most = FUNCTIONS[name]
    function = entry(kernel, "float64", "float64")
    assert max(ulps(function(x), x, true) for x in arguments(name, 700).tolist()) < most


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreter_and_compiler_agree_in_the_last_digit(name: str) -> None:
    kernel = FUNCTIONS[name][0]
    function = entry(kernel, "float64", "float64")
    xs = arguments(name, 300).tolist()
    assert [kernel(x) for x in xs] == [function(x) for x in xs]


@pytest.mark.interpreted
def test_limits() -> None:
    exp, log, expm1, log1p = (entry(kernel, "float64", "float64") for kernel, _, _ in FUNCTIONS.values())
    assert [exp(x) for x in (710.0, math.inf, -746.0, -math.inf, 0.0)] == [math.inf, math.inf, 0.0, 0.0, 1.0]
    assert [log(x) for x in (0.0, math.inf, 1.0)] == [-math.inf, math.inf, 0.0]
    assert [expm1(x) for x in (800.0, -800.0, 0.0)] == [math.inf, -1.0, 0.0]
    assert [log1p(x) for x in (-1.0, math.inf, 0.0)] == [-math.inf, math.inf, 0.0]
    assert all(math.isnan(f(math.nan)) for f in (exp, log, expm1, log1p))


@needs("gcc")
def test_c_computes_the_same_last_digit(tmp_path) -> None:
    unit = Unit("it", Table({}, {}))
    names = {name: unit.entry(kernel, Type.REAL).name for name, (kernel, _, _) in FUNCTIONS.items()}
    text = unit.text().replace("static double", "double")
    (tmp_path / "it.c").write_text(
        f"#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n{text}\n"
    )
    compile_c(
        "gcc", "-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "it.c", "-o", "it.so", "-lm", where=tmp_path
    )
    library = ctypes.CDLL(str(tmp_path / "it.so"))
    for name, (kernel, _, _) in FUNCTIONS.items():
        function = getattr(library, names[name])
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
        ours = entry(kernel, "float64", "float64")
        xs = arguments(name, 2000).tolist()
        assert [function(x) for x in xs] == [ours(x) for x in xs]
