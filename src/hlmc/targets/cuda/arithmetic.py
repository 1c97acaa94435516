"""Numbers on a device: single precision where it is asked for, 32-bit counters, fast quotients and exponentials.

Everything here fills in hooks of the engine (:mod:`hlmc.engine.hooks`). What bounds the loop over the steps is the
number of instructions (``docs/device.md``), so the aim is few of them: quotients by an approximate reciprocal, growth
as one power of two, slots counted as floats so that a draw needs no conversion. Whether a reward is worth learning is
not asked, because the 32 threads of a warp execute both sides of a branch anyway.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hlmc.engine import weights
from hlmc.engine.hooks import ArithmeticHooks, LoopHooks, StoreHooks
from hlmc.engine.kernel import kernel, primitive
from hlmc.engine.linker import Kernel, constant
from hlmc.targets.cuda.ftrl import one_path, unrolled
from hlmc.targets.cuda.shape import Shape

_S40 = np.uint64(40)
_STEP = np.float32(2.0**-24)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_LOG2_E = np.float32(math.log2(math.e))
_FAR = np.float32(2.0**60)  # sums are below 2^66, numbers below 2^128


# --- Single precision


@kernel
def single_unit(bits: np.uint64) -> Any:
    """A float32 in [0, 1) from the upper 24 of 64 random bits: as many as a float32 can tell apart."""
    return np.float32(np.uint32(bits >> _S40)) * _STEP


@kernel
def single(x: float) -> Any:
    """A number as a float32."""
    return np.float32(x)


@kernel
def in_32_bits(x: int) -> Any:
    """A whole number below 2^31 as an int32: half the registers and instructions of an int64."""
    return np.int32(x)


@kernel
def always_true(x: float) -> bool:
    """Instead of ``worth_learning`` and, where no word is a logarithm, of ``is_weight``."""
    return True


# --- Fast operations of single precision, off by a few units in the last place
#
# The primitives are functions of the device's library, on a host of the C library; the bodies are the interpreter's.


@primitive
def fast_exp(x: Any) -> Any:
    """e^x as ex2.approx of a product."""
    return np.exp(x)


@primitive
def exp2(x: Any) -> Any:
    """2^x."""
    return np.exp2(x)


@primitive
def library_log(x: Any) -> Any:
    """The natural logarithm of x > 0."""
    return np.log(x)


@primitive
def library_expm1(x: Any) -> Any:
    """e^x - 1."""
    return np.expm1(x)


@primitive
def library_log1p(x: Any) -> Any:
    """log(1 + x)."""
    return np.log1p(x)


@primitive
def saturate(x: Any) -> Any:
    """x cut off at 0 and 1, in one instruction."""
    return min(max(x, _ZERO), _ONE)


@kernel
def fast_divide(x: float, y: float) -> float:
    """x / y by an approximate reciprocal: the compiler makes rcp.approx of it."""
    return x * (1.0 / y)


@kernel
def fast_growth(rate: float, reward: float, chance: float) -> Any:
    """exp(rate * reward / chance) as a power of two; rate * log2(e) does not change within a loop."""
    return exp2(rate * _LOG2_E * reward * (1.0 / chance))


@kernel
def fast_binary_growth(rate: float, reward: float, chance: float) -> Any:
    """The same for a reward that is 0 or 1: a selection in place of a product."""
    scaled = rate * _LOG2_E
    return exp2((scaled if reward > 0.0 else 0.0) * (1.0 / chance))


@kernel
def fast_passed(rest: float) -> Any:
    """1 where what is left of a draw is positive, else 0: the rest times something very large, cut off at 0 and 1.

    It is a fraction only where the rest is next to nothing, and then either slot is right.
    """
    return saturate(rest * _FAR)


# --- Rewards that are 0 or 1, counted in float32: exact up to 2^24, and no launch has more steps


@kernel
def binary_acc_init(total: float) -> Any:
    """Count from 0 within a stretch; ``total`` is added when it ends."""
    return np.float32(0.0)


@kernel
def binary_acc_add(earned: Any, reward: float, gain: float) -> Any:
    """One more reward."""
    return earned + _ONE if reward > 0.0 else earned


@kernel
def binary_acc_result(total: float, earned: float) -> float:
    """What was earned in all, in float64."""
    return total + earned


# --- Records of hooks


def without_trees(children: int) -> dict[Kernel, Kernel]:
    """Drop the machine code for trees of weights where no level has more children than the scan is for."""
    return {weights.scan_limit: constant(2**63 - 1)} if children <= weights.SCAN else {}


def store_hooks(shape: Shape) -> StoreHooks:
    """The store of the last level's weights: in pieces, unless its routine has none.

    The size of a piece is a constant of the shape, so that the loops over pieces are unrolled.
    """
    chosen: dict[str, Kernel] = {hook.__name__: value for hook, value in without_trees(shape.children).items()}
    if shape.pieces:
        chosen |= {
            "piece_size": constant(shape.piece),
            "piece_log": constant(shape.piece.bit_length() - 1),
            "mixed_draw": weights.pieces_draw,
            "pure_draw": weights.pieces_pure_draw,
            "weights_grow": weights.pieces_grow,
            "weights_multiply": weights.pieces_multiply,
        }
    return StoreHooks(**chosen)


def routine_hooks(precision: str, binary: bool = False) -> ArithmeticHooks:
    """How the last level's routine computes.

    In double precision only the types of counters change, so that results agree with the processor's. ``binary``: all
    rewards are 0 or 1, which makes growth cheaper.
    """
    chosen: dict[str, Kernel] = {"worth_learning": always_true, "counter": in_32_bits}
    if precision == "float32":
        chosen |= {
            "logarithm": library_log,
            "exponential_less_one": library_expm1,
            "logarithm_one_plus": library_log1p,
            "divide": fast_divide,
            "exponential": fast_exp,
            "passed": fast_passed,
            "slot_count": single,
            "growth": fast_binary_growth if binary else fast_growth,
        }
    return ArithmeticHooks(**chosen)


def leaf_substitutions(shape: Shape, precision: str, binary: bool = False) -> dict[Kernel, Kernel]:
    """Everything that is replaced in the last level's routine and in what is done with its workspace."""
    return {
        **store_hooks(shape).substitutions,
        **routine_hooks(precision, binary).substitutions,
        **(unrolled(shape.slots) if one_path(shape, precision) else {}),
    }


def loop_hooks(precision: str, arms: int, binary: bool) -> dict[str, Kernel]:
    """Fields of :class:`hlmc.engine.hooks.LoopHooks`: how the loop over the steps holds its numbers."""
    chosen: dict[str, Kernel] = {"counter": in_32_bits}
    if arms < 2**31:
        chosen["arm_number"] = in_32_bits
    if precision == "float32":
        chosen |= {"working": single, "unit": single_unit}
        if binary:
            chosen |= {"acc_init": binary_acc_init, "acc_add": binary_acc_add, "acc_result": binary_acc_result}
    LoopHooks(**chosen)  # a name that is not a hook is an error here
    return chosen
