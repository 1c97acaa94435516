"""The base class of adversaries: a reward in [0, 1] for every step and every arm, fixed in advance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from hlmc.adversaries.chance import chosen, seed_of
from hlmc.checks import share, whole
from hlmc.engine.kernel import Address, kernel
from hlmc.engine.primitives import REWARD, call_reward, words
from hlmc.targets import JIT, address_of, callback, compiled, entry
from hlmc.values import Value

Array = np.ndarray

STEPS = 2**53
"""Steps count from 0 and stay below this: such whole numbers are exact in a word."""


@kernel
def _fill(reward_at: Address, spec_at: Address, out_at: Address, first: int, steps: int, low: int, count: int) -> None:
    """Write the rewards of ``count`` arms from ``low`` on, for ``steps`` steps from ``first`` on, row by row."""
    spec = words(spec_at)
    out = words(out_at)
    for t in range(steps):
        for arm in range(count):
            out[t * count + arm] = call_reward(reward_at, spec, first + t, low + arm)


@kernel
def _one(reward_at: Address, spec_at: Address, t: int, arm: int) -> float:
    """The reward of one arm at one step."""
    return call_reward(reward_at, words(spec_at), t, arm)


class Adversary(Value):
    """Rewards as a function of time and arm, compiled.

    A subclass is a dataclass (``frozen=True, repr=False``) with a field ``arms``. It defines :attr:`rule`, a
    kernel ``rule(spec, t, arm)`` that reads its parameters from an array of words, and :attr:`spec`, that array
    (see :func:`packed`). Steps and arms count from 0. All randomness is a function of (seed, t, arm): rewards
    can be computed for any step in any order, and no table of rewards is stored.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @kernel
    ... def odd_and_even(spec, t, arm):
    ...     return spec[0] if (t + arm) % 2 == 0 else 0.0
    >>> @dataclass(frozen=True, repr=False)
    ... class OddAndEven(Adversary):
    ...     arms: int
    ...     pay: float = 1.0
    ...     rule = staticmethod(odd_and_even)
    ...
    ...     @cached_property
    ...     def spec(self):
    ...         return packed(self.pay)
    >>> OddAndEven(arms=3, pay=0.5).rewards(0, 2).tolist()
    [[0.5, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """

    arms: int
    rule: Callable[..., float]
    piecewise: tuple[Callable[..., tuple[int, int]], Callable[..., float]] | None = None
    """For piecewise constant rewards, the rule in two parts: a kernel ``phase_at(spec, t)`` that returns a state
    and the step at which it ends, and a kernel ``reward_of(spec, state, arm)``."""
    binary: ClassVar[bool] = False
    """Whether every reward is 0 or 1."""
    mean_rule: Callable[..., float] | None = None
    """For random rewards, a kernel ``mean_rule(spec, t, arm)``: the expected reward of an arm at a step."""

    @cached_property
    def spec(self) -> Array:
        """The words that the rule reads."""
        raise NotImplementedError

    def spec_in(self, put: Callable[[Array], int]) -> Array:
        """The words that the rule reads on a device. ``put`` copies a table there and returns its address."""
        return self.spec

    @property
    def length(self) -> int | None:
        """The number of steps that have rewards, or None if there is no limit."""
        return None

    @property
    def repeats(self) -> int | None:
        """The number of steps after which all rewards repeat, or None. With it, benchmarks look at one period."""
        return None

    def changes(self, horizon: int) -> Iterator[int] | None:
        """The steps in (0, horizon) at which some reward changes, in order; None if rewards may change at any step.

        If an adversary has them, benchmarks are computed once per phase.
        """
        return None

    def mean_changes(self, horizon: int) -> Iterator[int] | None:
        """As :meth:`changes`, for the expected rewards. Default: they never change."""
        return iter(())

    @property
    def expected(self) -> Adversary:
        """The adversary that pays each arm its expected reward; this one itself if it has no :attr:`mean_rule`.

        Its best arm is that of the pseudo-regret. Where expectations change rarely, finding it takes K evaluations a
        change instead of K a step.

        >>> from hlmc.adversaries import Needle
        >>> adversary = Needle(arms=100, good=0.9)
        >>> adversary.expected.reward(0, adversary.best_arm)
        0.9
        """
        return self if self.mean_rule is None else Expected(self)

    @cached_property
    def code(self) -> Any:
        """The rule as a C function."""
        return callback(self.rule, REWARD)

    @property
    def address(self) -> int:
        """The address of the C function, for :func:`hlmc.engine.primitives.call_reward`."""
        return int(self.code.address)

    @property
    def failure(self) -> BaseException | None:
        """The exception of a rule that runs in Python, which compiled code sees as NaN only."""
        return None

    def reward(self, t: int, arm: int) -> float:
        """The reward of an arm at a step.

        >>> from hlmc.adversaries import BlockTrap
        >>> BlockTrap(arms=100, memory=20).reward(0, 20)
        1.0
        """
        if not (type(t) is type(arm) is int and 0 <= arm < self.arms and 0 <= t <= self._last):
            t = whole("t", t, 0, self._last)
            arm = whole("arm", arm, 0, self.arms - 1)
        reward = self.unchecked(t, arm)
        # A user's function that has failed pays NaN; this way raises its error.
        return reward if reward == reward else float(self.rewards(t, t + 1, arm, arm + 1)[0, 0])

    @cached_property
    def unchecked(self) -> Callable[[int, int], float]:
        """:meth:`reward` for loops in Python: a function of a step and an arm, Python's own integers within range.

        A call takes about 0.2 us. Nothing is checked: a step or an arm out of range reads memory of others.
        """
        call = entry(_one, "float64", "int64", "int64", "int64", "int64")
        found = partial(call, self.address, address_of(self.spec))
        return found if JIT else lambda t, arm: float(found(t, arm))  # under the interpreter, NumPy's numbers

    def rewards(self, first: int, last: int, low: int = 0, high: int | None = None) -> Array:
        """The rewards of steps first to last - 1 and arms low to high - 1, as an array [steps, arms]."""
        first = whole("first", first, 0, self._last + 1)
        last = whole("last", last, first, self._last + 1)
        high = whole("high", self.arms if high is None else high, 0, self.arms)
        low = whole("low", low, 0, high)
        out = np.empty((last - first, high - low))
        arguments = (address_of(self.spec), address_of(out.reshape(-1)), first, last - first, low, high - low)
        with np.errstate(over="ignore"):  # hashing wraps around; the interpreter would mention it
            compiled(_fill)(self.address, *arguments)
        return out

    @property
    def _last(self) -> int:
        """The last step that has rewards."""
        return (STEPS if self.length is None else self.length) - 1


@dataclass(frozen=True, repr=False)
class Expected(Adversary):
    """What :attr:`Adversary.expected` is for an adversary with random rewards.

    >>> from hlmc.adversaries import UniformMeans
    >>> random = UniformMeans(arms=3, seed=1)
    >>> random.expected.reward(7, 2) == random.mean(2)
    True
    """

    adversary: Adversary
    arms: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        self._keep(arms=self.adversary.arms)

    @property
    def rule(self) -> Callable[..., float]:  # type: ignore[override]
        """The mean rule of the adversary."""
        assert self.adversary.mean_rule is not None
        return self.adversary.mean_rule

    @property
    def length(self) -> int | None:
        return self.adversary.length

    @cached_property
    def spec(self) -> Array:
        return self.adversary.spec

    def changes(self, horizon: int) -> Iterator[int] | None:
        return self.adversary.mean_changes(horizon)


@kernel
def pays(spec: Array, paying: int, arm: int) -> float:
    """1 for the paying arm, 0 for all others."""
    return 1.0 if arm == paying else 0.0


class Grouped(Adversary):
    """An adversary whose best arm lies in one of the groups of ``groupsize`` consecutive arms that HLMC makes."""

    groupsize: int | None
    seed: int
    stream: ClassVar[str]
    """The name in the seed of what is drawn."""
    binary = True

    def _check(self, *probabilities: str, groups: int = 1) -> None:
        """Check the fields: there are at least so many groups, and these fields are probabilities."""
        self._keep(arms=whole("arms", self.arms, 2), seed=seed_of(self.seed))
        if self.groupsize is not None:
            self._keep(groupsize=group_size(self.arms + 1 - groups, self.groupsize))
        self._keep_each(share, *probabilities)

    @property
    def best_arm(self) -> int:
        """The best arm."""
        return chosen(self.arms, self.seed, self.stream, "arm")

    @property
    def group(self) -> range:
        """The arms of the best arm's group."""
        size = group_size(self.arms, self.groupsize)
        return group_at(self.arms, size, self.best_arm // size)


def packed(*values: float | np.uint64) -> Array:
    """An array of words from the numbers ``values``.

    A ``np.uint64`` (a key) is stored as its 64 bits; ``primitives.bits`` reads it.

    >>> packed(2, 0.5).tolist()
    [2.0, 0.5]
    >>> packed(np.uint64(7)).view(np.uint64).tolist()
    [7]
    """
    run = np.empty(len(values))
    for place, value in enumerate(values):
        if isinstance(value, np.uint64):
            run.view(np.uint64)[place] = value
        else:
            run[place] = value
    run.flags.writeable = False
    return run


def group_size(arms: int, groupsize: Any) -> int:
    """Arms per group: as given, or ceil(sqrt(K)); for two arms, 1, so that there are two groups.

    >>> group_size(100, None), group_size(2, None), group_size(100, 7)
    (10, 1, 7)
    """
    if groupsize is None:
        return min(1 + math.isqrt(arms - 1), (arms + 1) // 2)
    return whole("groupsize", groupsize, 1, arms)


def group_at(arms: int, size: int, group: int) -> range:
    """The arms of a group; the last group may have fewer."""
    return range(group * size, min((group + 1) * size, arms))
