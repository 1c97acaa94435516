"""A plain reading of statistics of b bits (research/bits.md): the codes in a row and the losses that they stand for."""

import math
from bisect import bisect_right

import numpy as np

import hlmc
from hlmc.engine.layout import AT, CONTROL, FIELDS, SCALARS


def unpacked(words: np.ndarray, bits: int, n: int) -> list[int]:
    """The codes as the digits of one large number."""
    number = int.from_bytes(words.tobytes(), "little")
    return [number >> bits * j & (2**bits - 1) for j in range(n)]


def grid(k: int, bits: int, s: float) -> float:
    """The distance that code k stands for at scale s."""
    return s * ((1 - k / 2**bits) ** -2 - 1)


def neighbours(value: float, bits: int, s: float) -> tuple[int, int, float]:
    """The two codes around a distance, and the probability of the upper one."""
    last = 2**bits - 1
    if value <= 0:
        return 0, 0, 0.0
    if value >= grid(last, bits, s):
        return last, last, 0.0
    k = bisect_right(range(2**bits), value, key=lambda j: grid(j, bits, s)) - 1
    low, high = grid(k, bits, s), grid(k + 1, bits, s)
    return k, k + 1, (value - low) / (high - low)


class Level:
    """A flat learner's level, read plainly."""

    def __init__(self, policy: hlmc.Policy, learner: hlmc.Learner) -> None:
        self.policy, self.row = policy, learner.state
        record = FIELDS
        self.at, self.control = int(policy.program[record + AT]), int(policy.program[record + CONTROL])
        self.bits, self.n = policy.bits, policy.arms

    def codes(self) -> list[int]:
        return unpacked(self.row[self.at :], self.bits, self.n)

    @property
    def x(self) -> float:
        return float(self.row[self.control + SCALARS])

    @property
    def seed(self) -> float:
        return float(self.row[self.control + SCALARS + 1])


def rate_and_scale(tau: int, rate: float) -> tuple[float, float]:
    """The learning rate and the scale of the codes at choice ``tau`` of Tsallis-INF."""
    root = math.sqrt(tau + 1)
    return rate / root, 2 / rate * 2 ** math.floor(math.log2(root))
