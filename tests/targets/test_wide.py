"""Kernels on several lanes (hlmc.targets.native.wide): every lane must do what the kernel does alone."""

from __future__ import annotations

import builtins
import ctypes
from functools import cache

import numpy as np
import pytest

from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import bits, exponent, offset, power_of_two, put_bits, words
from hlmc.engine.stream import mix
from hlmc.targets import JIT, address_of

if not JIT:
    pytest.skip("vectors are machine code", allow_module_level=True)

from hlmc.targets.native.compiler import written
from hlmc.targets.native.many import LANES, TWICE
from hlmc.targets.native.refused import NotWide
from hlmc.targets.native.wide import BITS, INT, RUN, Value, integer

Array = np.ndarray
RUNS = ("int64", "words", "words", "int64")


@cache
def compiled(function, lanes=LANES):
    """``function(own, shared, n, x, k)`` on all lanes; x and k are a lane's words 0 and 1, and it returns word 0."""

    def write(writer, arguments):
        own, same = Value(RUN, arguments[0], True), Value(RUN, arguments[1])
        x = writer.load(own, integer(0))
        k = writer.converted(writer.load(own, integer(1)), INT)
        result = writer.call(function, [own, same, Value(INT, arguments[2]), x, k])
        writer.store(own, integer(0), result)
        return integer(0).ir

    return written(function, RUNS, write, lanes)


def on_lanes(function, rows, shared, n):
    """What a kernel leaves in every lane's words."""
    held = np.ascontiguousarray(rows.T)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(compiled(function, len(rows)).address)
    call(address_of(held), address_of(shared), n)
    return held.T


def alone(function, rows, shared, n):
    """The same by the interpreter, lane by lane."""
    rows = rows.copy()
    for row in rows:
        with np.errstate(over="ignore"):
            row[0] = function(row, shared, n, float(row[0]), int(row[1]))
    return rows


@kernel
def _branches(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """Branches within branches, one of which returns; a variable that only one of them has."""
    y = 0.0
    if x < 0.5:
        small = x * shared[1]
        if k % 2 == 0:
            return small + 10.0
        y = small - 1.0
    elif k > 3 and own[2 + k] > 0.5:
        y = own[2 + k]
        own[2 + k] = x
    else:
        own[2] += 1.0
    y += shared[0] if n > 3 else 100.0
    return -y if k < 5 else y


@kernel
def _loops(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """A loop that lanes leave at different times, with one around it that they do not."""
    total = 0.0
    steps = 0
    for j in range(n):
        left = x + j
        for i in range(2, 2 + n):
            w = own[i] * shared[0]
            if left < w:
                break
            left -= w
            steps += 1
        total += left
        if total > 5.0:
            total -= 1.0
    return total + 1000.0 * steps


@kernel
def _searches(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """A loop with a wide condition, one to a wide bound, and a return from within a loop."""
    low = 0
    while low < k and x > own[2 + low]:
        low += 1
        x *= 0.9
    for j in range(k):
        if own[2 + j] > 0.8 and j > 1:
            own[2 + j] = -1.0
            return x + j
        own[2 + j] += 0.25
    return float(low) + x


@kernel
def _numbers(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """Raw bits, powers of two, whole and real numbers, truths that are counted."""
    word = bits(own, 3) ^ (bits(own, 4) >> np.uint64(9))
    put_bits(own, 4, word * np.uint64(0x9E3779B97F4A7C15))
    count = 3 + (x >= 0.2) + (x >= 0.4) + (own[5] >= 0.5)
    beside = offset(own, 2)
    scale = power_of_two(k - 4) + exponent(1.0 + 100.0 * x)
    between = 0.1 <= x <= 0.7
    return (
        float(count) * scale + (min(x, beside[1]) if between else max(abs(-x), 0.3, beside[2])) + (7 * k + 3) // 4 % 5
    )


@kernel
def _clips(x: float, low: float) -> float:
    """A callee with two returns."""
    if x < low:
        return low
    return x


@kernel
def _calls(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """The same callee with shared and with own arguments, under a mask and without."""
    y = _clips(shared[0], 0.25)
    if x > 0.3 or own[3] > 0.9:
        y += _clips(x, own[4])
    z = _clips(own[5], y)
    return y + 2.0 * z


@pytest.mark.parametrize("function", [_branches, _loops, _searches, _numbers, _calls])
@pytest.mark.parametrize(("n", "lanes"), [(2, LANES), (6, LANES), (6, TWICE)])
def test_a_lane_gets_the_bits_that_it_would_get_alone(function, n, lanes):
    shared = np.array([0.75, 3.0])
    for seed in range(12):
        rng = np.random.default_rng([seed, n])
        rows = rng.random((lanes, 10))
        rows[:, 1] = rng.integers(0, 7, lanes)
        assert on_lanes(function, rows, shared, n).tobytes() == alone(function, rows, shared, n).tobytes()


@kernel
def _shares(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """Writes to words that all lanes share."""
    shared[0] = x
    return x


@kernel
def _calls_through_an_address(own: Array, shared: Array, n: int, x: float, k: int) -> float:
    """Reads through an address that differs between lanes."""
    return words(k)[0]


def test_what_has_no_form_for_several_lanes_is_refused():
    for function, what in (
        (_shares, "words that all learners share"),
        (_calls_through_an_address, "words has no form"),
    ):
        with pytest.raises(NotWide, match=rf"test_wide.py, line \d+: {what}.*kernel {function.__name__}"):
            compiled(function)


class _Notebook:
    """Jupyter's kernel, as far as it matters: it replaces a builtin function and remembers the old one."""

    def __init__(self):
        self.before = builtins.input

    def ask(self, prompt=""):
        raise NotImplementedError


def test_a_notebook_can_keep_what_it_compiles(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(builtins, "input", _Notebook().ask)

    def write(writer, arguments):
        writer.call(mix, [writer.load(Value(RUN, arguments[0], True), integer(0), BITS)])
        return integer(0).ir

    written(mix, ("int64", "words"), write, LANES)
    assert list(tmp_path.glob("kernels-*/mix-*.nbc"))
