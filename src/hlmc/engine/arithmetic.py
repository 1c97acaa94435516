"""Numbers as kernels compute them: the few operations that a target may replace by faster or narrower ones."""

from __future__ import annotations

from hlmc.engine.elementary import exponential, exponential_less_one, logarithm, logarithm_one_plus
from hlmc.engine.kernel import kernel

__all__ = [
    "arm_number",
    "counter",
    "divide",
    "exponential",
    "exponential_less_one",
    "logarithm",
    "logarithm_one_plus",
    "working",
]


@kernel
def divide(x: float, y: float) -> float:
    """x / y."""
    return x / y


@kernel
def counter(x: float) -> int:
    """The whole part of a number that 32 bits hold: a GPU counts steps and slots in 32 bits."""
    return int(x)


@kernel
def working(x: float) -> float:
    """A float in the precision in which a level's statistics are kept."""
    return x


@kernel
def arm_number(arm: int) -> int:
    """The number of an arm as the loop holds it: 32 bits on a GPU where they hold all arms."""
    return arm
