"""Rewards from a user's function."""

from __future__ import annotations

import ctypes
import math
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary, Array, packed
from hlmc.checks import whole
from hlmc.engine.kernel import kernel
from hlmc.engine.linker import callees, relink, substitute
from hlmc.engine.primitives import REWARD
from hlmc.errors import BadReward, BadType, HLMCError, shown
from hlmc.targets import JIT, callback, compiled


@kernel
def users_own(t: int, arm: int) -> float:
    """Placeholder for the user's function."""
    return 0.0


class NotCompiled(UserWarning):
    """Warning: Numba cannot compile a function, which is therefore slow."""


@kernel
def _reward(spec: Array, t: int, arm: int) -> float:
    """The result of the user's function, as a float."""
    return users_own(t, arm) * 1.0


def _guarded_reward(spec: Array, t: int, arm: int) -> float:
    """The same with exceptions turned into NaN, which is noticed later. For Numba only, so not a kernel."""
    try:
        return users_own(t, arm) * 1.0
    except Exception:
        return math.nan


@dataclass(frozen=True, repr=False, init=False)
class Function(Adversary):
    """Rewards from a function ``reward(t, arm)``: plain Python, or already compiled by Numba.

    Numba compiles the function if possible, with the values that its global names have at that time. Otherwise
    a warning (:class:`NotCompiled`) gives the reason, and every step calls Python, which takes one or two
    microseconds. The function must be deterministic: the same step and arm always give the same number in [0, 1].

    Parameters
    ----------
    arms
        K, the number of arms.
    reward
        ``reward(t, arm)``, both counted from 0. To be sent to other processes, it must be picklable:
        defined at the top level of a module.

    Examples
    --------
    >>> def staircase(t, arm):
    ...     return ((t // 100 + arm) % 4) / 4
    >>> adversary = Function(arms=4, reward=staircase)
    >>> adversary.rewards(99, 101).tolist()
    [[0.0, 0.25, 0.5, 0.75], [0.25, 0.5, 0.75, 0.0]]
    >>> adversary
    Function(arms=4, reward=staircase)

    References
    ----------
    Designed for this library.
    """

    arms: int
    function: Callable[[int, int], float]

    def __init__(self, arms: int, reward: Callable[[int, int], float]) -> None:
        if not callable(reward):
            raise BadType(f"reward must be a function of (t, arm), not {shown(reward)}")
        self._keep(arms=whole("arms", arms, 1), function=reward)

    def __getstate__(self) -> dict[str, Any]:
        return {"arms": self.arms, "reward": self.function}

    @property
    def rule(self) -> Callable[..., float]:  # type: ignore[override]
        """The function as a kernel."""
        return substitute(_reward, {users_own: kernel(_plain(self.function))})

    @cached_property
    def spec(self) -> Array:
        return packed(0.0)

    @cached_property
    def code(self) -> Any:
        return _code(self.function)

    @property
    def failure(self) -> BaseException | None:
        return getattr(self.code, "failure", None)

    @cached_property
    def unchecked(self) -> Callable[[int, int], float]:
        if not isinstance(self.code, _Called):
            return super().unchecked
        # Called from Python, a function that is not compiled need not go through machine code, and its errors come out.
        function = _plain(self.function)
        return lambda t, arm: _paid(function(t, arm))

    def reward(self, t: int, arm: int) -> float:
        try:
            return super().reward(t, arm)
        except (HLMCError, BadType):
            raise
        except Exception as failure:
            raise self._failed(failure) from failure

    def rewards(self, first: int, last: int, low: int = 0, high: int | None = None) -> Array:
        out = super().rewards(first, last, low, high)
        if self.failure is not None:
            failure, self.code.failure = self.failure, None
            raise self._failed(failure) from failure
        return out

    def _failed(self, failure: BaseException) -> BadReward:
        return BadReward(f"{_name(self.function)} failed: {type(failure).__name__}: {failure}")

    def __repr__(self) -> str:
        return f"Function(arms={self.arms}, reward={_name(self.function)})"


class _Called:
    """A C function that calls Python, with its address for compiled code."""

    def __init__(self, function: Callable[[int, int], float]) -> None:
        self.failure: BaseException | None = None

        def call(spec: int, t: int, arm: int) -> float:
            try:
                return _paid(function(t, arm))
            except BaseException as error:  # nothing can be raised through machine code; it is kept for later
                self.failure = error
                return math.nan

        kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self._held = kind(call)
        self.address = ctypes.cast(self._held, ctypes.c_void_p).value


def _paid(found: Any) -> float:
    """What a function gives, as a float, if it is a number and not text that looks like one."""
    if not isinstance(found, (Real, np.bool_)):
        raise TypeError(f"a reward must be a number, not {shown(found)}")
    return float(found)


@lru_cache(maxsize=64)
def _code(function: Callable[[int, int], float]) -> Any:
    """The function as a C function, compiled if possible."""
    plain = _plain(function)
    if not JIT:
        return callback(relink(_reward, {"users_own": plain}), REWARD)
    if isinstance(plain, types.MethodType):
        return _Called(plain)  # an object with a method is not expected to be compiled
    import numba

    try:
        if not isinstance(plain, types.FunctionType):
            raise TypeError(f"it is a {type(plain).__name__}, not a function written with def or lambda")
        if plain is function:
            # Not stored: Numba would not notice a change in what the function's global names mean.
            linked = relink(plain, {name: compiled(callee) for name, callee in callees(plain).items()})
            function = numba.njit(nogil=True, error_model="numpy")(linked)
        return callback(relink(_guarded_reward, {"users_own": function}), REWARD)
    except Exception as error:  # Numba has many ways to say that it cannot
        warnings.warn(f"{_name(plain)} is not compiled, and slow: {_reason(error)}", NotCompiled, stacklevel=2)
        return _Called(plain)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a function that Numba has compiled."""
    return getattr(function, "py_func", function)


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None) or repr(function)
    return f"{type(function.__self__).__name__}.{name}" if isinstance(function, types.MethodType) else name


def _reason(error: Exception) -> str:
    """The line of an error message that gives the reason."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith("Failed in ")), type(error).__name__)
