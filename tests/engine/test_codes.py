"""Codes of b bits: packing and rounding."""

import random

import numpy as np
import pytest

from hlmc.engine import codes
from reference_codes import grid, neighbours, unpacked


@pytest.mark.interpreted
@pytest.mark.parametrize("bits", [4, 7, 12, 13, 31, 32])
def test_codes_lie_side_by_side_as_the_digits_of_a_number(bits: int) -> None:
    rng = random.Random(bits)
    n = 50
    row = np.zeros(2 + -(-n * bits // 64))
    row[0] = row[-1] = 7.5  # neighbours of other meaning
    told = [0] * n
    for _ in range(400):
        j = rng.randrange(n)
        told[j] = rng.choice([0, 2**bits - 1, rng.randrange(2**bits)])
        codes.put_code(row, 1, bits, j, told[j])
    assert [codes.code_at(row, 1, bits, j) for j in range(n)] == told
    assert unpacked(row[1:-1], bits, n) == told
    assert row[0] == row[-1] == 7.5


@pytest.mark.parametrize("bits", [4, 6, 12])
def test_rounding_leaves_the_mean_as_it_is(bits: int) -> None:
    rng = random.Random(bits)
    s = 37.0
    for _ in range(60):
        value = s * rng.uniform(0, 3) ** rng.choice([1, 4])
        k, above, share = neighbours(value, bits, s)
        found = [codes.rounded(value, s, bits, 2.0**-bits, (i + 0.5) / 1000) for i in range(1000)]
        assert set(found) <= {k, above}
        assert found.count(above) == pytest.approx(1000 * share, abs=1.0) or k == above
    assert codes.rounded(-1.0, s, bits, 2.0**-bits, 0.5) == 0
    assert codes.rounded(1e300, s, bits, 2.0**-bits, 0.5) == 2**bits - 1


def test_wide_codes_are_rounded_to_the_two_around_a_value() -> None:
    rng = random.Random(1)
    for bits in (20, 32):
        for _ in range(300):
            value = rng.uniform(0, 1) ** 3 * 10 ** rng.uniform(-6, 12)
            low = codes.rounded(value, 3.0, bits, 2.0**-bits, 1 - 2**-53)
            high = codes.rounded(value, 3.0, bits, 2.0**-bits, 0.0)
            below, above = grid(low, bits, 3.0), grid(high, bits, 3.0)
            assert high - low <= 1
            assert below / (1 + 1e-12) <= value <= above * (1 + 1e-12)
