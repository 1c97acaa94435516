"""Single precision: polynomials and uniform numbers for kernels that compute in float32.

They stand in for kernels of :mod:`hlmc.engine.elementary` and :mod:`hlmc.engine.stream` where a learner's statistics
have 32 bits (``policy.to_c(precision="float32")``). Everything else of e^x and of the logarithm is shared with double
precision, with the constants that :data:`hlmc.engine.elementary.SINGLE` gives. Like those they are made of sums,
products, quotients and powers of two, so that every machine with IEEE 754 floats computes the same last digit.

Both polynomials interpolate at Chebyshev nodes and are as long as 24 bits need: errors below 2e-8 of the result before
it is rounded. Exponential and logarithm are then off by less than 1 unit in the last place, e^x - 1 and log(1 + x) by
less than 2 (``tests/export/test_single.py``).
"""

from __future__ import annotations

import numpy as np

from hlmc.engine import elementary, stream
from hlmc.engine.elementary import _LN2_HIGH, _LN2_LOW
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import Kernel

_S40 = np.uint64(40)
_STEP = 2.0**-24

_E0 = 0.5
_E1 = 0.16666576
_E2 = 0.041666556
_E3 = 0.008363179
_E4 = 0.0013926184

_L1 = 0.66666687
_L2 = 0.3998875
_L3 = 0.29581314

SINGLE = elementary.SINGLE


@kernel
def single_unit(bits: np.uint64) -> float:
    """A number in [0, 1) from the upper 24 of 64 random bits: as many as a float32 can tell apart."""
    return float(int(bits >> _S40)) * _STEP


@kernel
def single_rest(r: float) -> float:
    """(e^r - 1 - r) / r^2 for |r| <= ln(2)/2."""
    r2 = r * r
    return (_E0 + _E1 * r) + (_E2 + _E3 * r) * r2 + _E4 * (r2 * r2)


@kernel
def single_near_logarithm(f: float, k: float, lost: float) -> float:
    """k ln 2 + log(1 + f) + lost, for 1 + f between sqrt(1/2) and sqrt(2)."""
    s = f / (2.0 + f)
    z = s * s
    R = z * (_L1 + z * (_L2 + z * _L3))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + R) + (k * _LN2_LOW + lost))) - f)


SUBSTITUTES: dict[Kernel, Kernel] = {
    stream.unit: single_unit,
    elementary._rest: single_rest,
    elementary._near_logarithm: single_near_logarithm,
}
"""What stands for what."""
