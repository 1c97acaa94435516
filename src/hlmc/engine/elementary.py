"""e^x and the natural logarithm in the dialect: the same last digit on every machine.

C libraries differ in the last digit of these functions, and so would rows. Here they are made of sums, products,
quotients and powers of two, which IEEE 754 fixes. Nothing must be contracted to a fused multiplication and addition.

*Exponential.* x = k ln 2 + r with |r| <= ln(2)/2, and e^r = 1 + r + r^2 q(r) with a polynomial q of degree 9. ln 2 is
the sum of two numbers, the first of which has 32 bits, so that k times it is exact. Error below 1 unit in the last
place (measured: 0.93).

*Logarithm.* x = 2^k m with m between sqrt(1/2) and sqrt(2); with s = (m - 1) / (m + 1), log m = log(1 + s) - log(1 - s)
= 2 s + s R(s^2) with a polynomial R. It is added up from small to large as f - (f^2/2 - s (f^2/2 + R)), f = m - 1, an
arrangement of K. C. Ng's for fdlibm (Sun Microsystems, 1993). Error below 1 unit in the last place.

In single precision the constants are those of SINGLE and the two polynomials those of :mod:`hlmc.engine.single`.

The polynomials interpolate at Chebyshev nodes, and their errors are below 2e-17
(``tests/engine/test_elementary.py`` compares with 60 digits).
"""

from __future__ import annotations

import math

from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import exponent, power_of_two

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # 32 bits of ln 2,
_LN2_LOW = 1.9082149292705877e-10  # and the rest
_WHOLE = 6755399441055744.0  # 1.5 * 2^52: what is added to it is rounded to a whole number
_NEAR = 0.34657  # a little less than ln(2)/2: nothing to reduce
_NORMAL = 708.0  # e^x and e^-x are normal numbers
_LARGEST = 709.782712893384  # the largest x with a finite e^x
_LEAST = -745.1332191019412  # e^x is 0 below
_HALF = 512  # half the exponent of such numbers
_MINUS_ONE = -37.0  # e^x - 1 is -1 below,
_NO_ONE = 39.0  # and e^x above

_E0 = 0.5
_E1 = 0.16666666666666669
_E2 = 0.04166666666662399
_E3 = 0.008333333333330051
_E4 = 0.0013888888917281794
_E5 = 0.00019841269863105968
_E6 = 2.480152119021773e-05
_E7 = 2.7557268378684192e-06
_E8 = 2.7620138719733994e-07
_E9 = 2.5100424157005067e-08

_L1 = 0.666666666666667
_L2 = 0.3999999999989889
_L3 = 0.28571428626253836
_L4 = 0.22222211089379496
_L5 = 0.1818289243253687
_L6 = 0.15331611722055008
_L7 = 0.14617807153417325

_SQRT_HALF = 0.7071067811865476
_SUBNORMAL = 2.2250738585072014e-308  # 2^-1022: smaller numbers are subnormal
_UP = 18014398509481984.0  # what makes them normal,
_UP_LOG = 54  # 2^54
_MINUS_HALF = -0.2928932188134524  # sqrt(1/2) - 1,
_PLUS_HALF = 0.41421356237309503  # sqrt(2) - 1: within, 1 + x needs no power of two

SINGLE = {
    "_LOG2_E": 1.442695,
    "_LN2_HIGH": 0.693145751953125,  # 15 bits
    "_LN2_LOW": 1.4286068e-06,
    "_WHOLE": 12582912.0,  # 1.5 * 2^23
    "_NORMAL": 87.0,
    "_LARGEST": 88.72283,
    "_LEAST": -103.97208,
    "_HALF": 64,
    "_MINUS_ONE": -17.0,
    "_NO_ONE": 17.0,
    "_SUBNORMAL": 2.0**-126,
    "_UP": 2.0**25,
    "_UP_LOG": 25,
}


@kernel
def _rest(r: float) -> float:
    """(e^r - 1 - r) / r^2 for |r| <= ln(2)/2. Pairs are added first: the sums wait less for one another."""
    r2 = r * r
    r4 = r2 * r2
    low = (_E0 + _E1 * r) + (_E2 + _E3 * r) * r2
    high = (_E4 + _E5 * r) + (_E6 + _E7 * r) * r2
    return low + (high + (_E8 + _E9 * r) * r4) * r4


@kernel
def exponential(x: float) -> float:
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
    half = -_HALF if x < 0.0 else _HALF
    return near * power_of_two(int(k) - half) * power_of_two(half)


@kernel
def exponential_less_one(x: float) -> float:
    """e^x - 1, for small x too. Error below 2 units in the last place."""
    if abs(x) < _NEAR:
        return x + x * x * _rest(x)
    if not (_MINUS_ONE < x < _NO_ONE):
        return exponential(x) - 1.0
    k = (x * _LOG2_E + _WHOLE) - _WHOLE
    high = x - k * _LN2_HIGH
    low = k * _LN2_LOW
    r = high - low
    scale = power_of_two(int(k))
    return ((scale - 1.0) + scale * high) + scale * (r * r * _rest(r) - low)


@kernel
def logarithm(x: float) -> float:
    """The natural logarithm of x > 0."""
    return _logarithm(x, 0.0)


@kernel
def logarithm_one_plus(x: float) -> float:
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
        x *= _UP
        k = -_UP_LOG
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
    w = z * z
    R = z * ((_L1 + w * (_L3 + w * (_L5 + w * _L7))) + z * (_L2 + w * (_L4 + w * _L6)))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + R) + (k * _LN2_LOW + lost))) - f)
