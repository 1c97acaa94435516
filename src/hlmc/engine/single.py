"""Single precision: e^x, logarithms and uniform numbers for kernels that compute in float32.

They stand in for the kernels of :mod:`hlmc.engine.elementary` and :mod:`hlmc.engine.stream` where a learner's
statistics have 32 bits (``policy.to_c(precision="float32")``). The formulas are those of the double ones, with
polynomials as long as 24 bits need. Like those they are made of sums, products, quotients and powers of two, so that
every machine with IEEE 754 floats computes the same last digit. Nothing must be contracted to a fused multiplication
and addition.

*Exponential.* The polynomial has degree 4; ln 2 is the sum of two numbers, the first of which has 15 bits, so that k
times it is exact. *Logarithm.* R has three coefficients. Both interpolate at Chebyshev nodes, with errors below 2e-8 of
the result before it is rounded; the results are off by less than 1 unit in the last place (``tests/test_single.py``).

Kernels here are written for float32: :func:`hlmc.engine.linker.substitute` narrows their constants.
"""

from __future__ import annotations

import math

import numpy as np

from hlmc.engine import arithmetic, stream
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel
from hlmc.engine.primitives import exponent, power_of_two

_S40 = np.uint64(40)
_STEP = 2.0**-24

_LOG2_E = 1.442695
_LN2_HIGH = 0.693145751953125  # 15 bits of ln 2,
_LN2_LOW = 1.4286068e-06  # and the rest
_WHOLE = 12582912.0  # 1.5 * 2^23: what is added to it is rounded to a whole number
_NEAR = 0.34657  # a little less than ln(2)/2: nothing to reduce
_NORMAL = 87.0  # e^x and e^-x are normal numbers
_LARGEST = 88.72283  # the largest x with a finite e^x
_LEAST = -103.97208  # e^x is 0 below

_E0 = 0.5
_E1 = 0.16666576
_E2 = 0.041666556
_E3 = 0.008363179
_E4 = 0.0013926184

_L1 = 0.66666687
_L2 = 0.3998875
_L3 = 0.29581314

_SQRT_HALF = 0.70710677
_SUBNORMAL = 2.0**-126  # smaller numbers are subnormal
_2_25 = 2.0**25
_MINUS_HALF = -0.29289323  # sqrt(1/2) - 1,
_PLUS_HALF = 0.41421357  # sqrt(2) - 1: within, 1 + x needs no power of two


@kernel
def single_unit(bits: np.uint64) -> float:
    """A number in [0, 1) from the upper 24 of 64 random bits: as many as a float32 can tell apart."""
    return float(int(bits >> _S40)) * _STEP


@kernel
def _rest(r: float) -> float:
    """(e^r - 1 - r) / r^2 for |r| <= ln(2)/2."""
    r2 = r * r
    return (_E0 + _E1 * r) + (_E2 + _E3 * r) * r2 + _E4 * (r2 * r2)


@kernel
def single_exponential(x: float) -> float:
    """e^x."""
    if abs(x) < _NEAR:
        return 1.0 + (x + x * x * _rest(x))
    if not (_LEAST <= x <= _LARGEST):
        # Also x itself where it is not a number.
        return 0.0 if x < 0.0 else x * math.inf
    k = (x * _LOG2_E + _WHOLE) - _WHOLE
    high = x - k * _LN2_HIGH
    low = k * _LN2_LOW
    r = high - low
    near = 1.0 + (high + (r * r * _rest(r) - low))
    if abs(x) < _NORMAL:
        return near * power_of_two(int(k))
    # 2^k alone would be too large or too small.
    half = -64 if x < 0.0 else 64
    return near * power_of_two(int(k) - half) * power_of_two(half)


@kernel
def single_exponential_less_one(x: float) -> float:
    """e^x - 1, for small x too. Error below 2 units in the last place."""
    if abs(x) < _NEAR:
        return x + x * x * _rest(x)
    if not (-17.0 < x < 17.0):
        return single_exponential(x) - 1.0
    k = (x * _LOG2_E + _WHOLE) - _WHOLE
    high = x - k * _LN2_HIGH
    low = k * _LN2_LOW
    r = high - low
    scale = power_of_two(int(k))
    return ((scale - 1.0) + scale * high) + scale * (r * r * _rest(r) - low)


@kernel
def single_logarithm(x: float) -> float:
    """The natural logarithm of x > 0."""
    return _logarithm(x, 0.0)


@kernel
def single_logarithm_one_plus(x: float) -> float:
    """log(1 + x), for small x too. Error below 2 units in the last place."""
    if _MINUS_HALF < x < _PLUS_HALF:
        return _near_logarithm(x, 0.0, 0.0)
    whole = 1.0 + x
    if whole == 0.0:
        return -math.inf
    # What the sum has lost, relative to it.
    lost = ((1.0 - (whole - x)) if x > 1.0 else (x - (whole - 1.0))) / whole
    return _logarithm(whole, lost)


@kernel
def _logarithm(x: float, lost: float) -> float:
    """log(x) + lost, for x >= 0."""
    if not (x < math.inf):
        return x
    if x <= 0.0:
        return -math.inf
    k = 0
    if x < _SUBNORMAL:
        x *= _2_25
        k = -25
    e = exponent(x)
    m = 0.25 * (x * power_of_two(2 - e))  # 2^-e itself may be subnormal
    if m < _SQRT_HALF:
        m += m
        e -= 1
    return _near_logarithm(m - 1.0, float(k + e), lost)


@kernel
def _near_logarithm(f: float, k: float, lost: float) -> float:
    """k ln 2 + log(1 + f) + lost, for 1 + f between sqrt(1/2) and sqrt(2)."""
    s = f / (2.0 + f)
    z = s * s
    R = z * (_L1 + z * (_L2 + z * _L3))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + R) + (k * _LN2_LOW + lost))) - f)


SUBSTITUTES: dict[Kernel, Kernel] = {
    stream.unit: single_unit,
    arithmetic.exponential: single_exponential,
    arithmetic.exponential_less_one: single_exponential_less_one,
    arithmetic.logarithm: single_logarithm,
    arithmetic.logarithm_one_plus: single_logarithm_one_plus,
}
"""What stands for what."""
