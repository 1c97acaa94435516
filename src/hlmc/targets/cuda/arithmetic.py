"""Numbers as a device holds them: single precision where it is asked for, whole numbers of 32 bits, fast quotients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hlmc.device.shape import Shape
from hlmc.device.target import SIMULATED
from hlmc.engine.kernel import kernel, specialised, unbound
from hlmc.kernels import weights
from hlmc.routines.exp3s import exp3s_update

_S40 = np.uint64(40)
_STEP = np.float32(2.0**-24)


@kernel
def single_unit(bits: np.uint64) -> Any:
    """A number in [0, 1) from the upper 24 bits: as many as a float32 can tell."""
    return np.float32(np.uint32(bits >> _S40)) * _STEP


@kernel
def single_working(x: float) -> Any:
    return np.float32(x)


def without_trees(children: int) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Where nobody has more children than the scan is for, machine code for trees of weights is not needed."""
    if children > weights.SCAN:
        return {}
    return {each: specialised(each, each.__name__, SCAN=2**63 - 1) for each in (*weights.EITHER, exp3s_update)}


def in_pieces(shape: Shape) -> dict[Callable[..., Any], Callable[..., Any]]:
    """Weights in pieces, for those who draw by them."""
    if not shape.pieces:
        return {}
    sized = {"PIECE": shape.piece, "PIECE_LOG": shape.piece.bit_length() - 1}
    store: dict[Callable[..., Any], Callable[..., Any]] = {
        weights.mixed_draw: weights.pieces_draw,
        weights.pure_draw: weights.pieces_pure_draw,
        weights.weights_grow: weights.pieces_grow,
        weights.weights_multiply: weights.pieces_multiply,
    }
    return store | {each: specialised(each, each.__name__, **sized) for each in weights.SIZED}


def fast(precision: str, coins: bool = False) -> dict[Callable[..., Any], Any]:
    """Single precision is for speed: quotients and exponentials off by a few units in the last place are welcome.

    ``coins``: all rewards are 0 or 1.
    """
    names: dict[Callable[..., Any], Any] = {weights.worth_learning: any_worth}
    if not SIMULATED:
        names[weights.small] = in_32_bits
    if precision == "float32" and not SIMULATED:
        from numba.cuda import libdevice

        names[weights.divided] = _fast_divided
        names[weights.exponential] = specialised(_fast_exponential, "exponential", libdevice=libdevice)
        names[weights.reached] = specialised(_fast_reached, "reached", libdevice=libdevice)
        names[weights.counted] = single_working
        rewarded = _all_or_nothing if coins else _in_proportion
        names[weights.growth] = specialised(_fast_growth, "growth", libdevice=libdevice, rewarded=rewarded)
    return names


@kernel
def in_32_bits(x: int) -> Any:
    return np.int32(x)


# A float32 counts coins exactly up to 2^24, and no launch has more steps.

_COIN = np.float32(1.0)


@kernel
def _opened(total: float) -> Any:
    return np.float32(0.0)


@kernel
def _added(earned: Any, reward: float, gain: float) -> Any:
    return earned + _COIN if reward > 0.0 else earned


@kernel
def _closed(total: float, earned: float) -> float:
    return total + earned


COINS = {"opened": _opened, "added": _added, "closed": _closed}
"""How the loop counts rewards that are 0 or 1."""


@kernel
def any_worth(gain: float) -> bool:
    return True


@kernel
def _fast_divided(x: float, y: float) -> float:
    return x * (1.0 / y)


libdevice: Any = None


@kernel
def _fast_exponential(x: float) -> float:
    return libdevice.fast_expf(x)


rewarded = unbound
_LOG2_E = np.float32(math.log2(math.e))


@kernel
def _fast_growth(rate: float, reward: float, chance: float) -> float:
    """A power of two, whose exponent is scaled once and for all."""
    return libdevice.exp2f(rewarded(rate * _LOG2_E, reward) * (1.0 / chance))


@kernel
def _in_proportion(rate: float, reward: float) -> float:
    return rate * reward


@kernel
def _all_or_nothing(rate: float, reward: float) -> float:
    return rate if reward > 0.0 else 0.0


_FAR = np.float32(2.0**60)  # sums are below 2^66, numbers below 2^128


@kernel
def _fast_reached(rest: float) -> float:
    """The rest times something very large, cut off at 0 and 1: a fraction only where it is next to nothing."""
    return libdevice.saturatef(rest * _FAR)
