"""When rewards come, in simulations: after how many more decisions, and whether at all.

>>> import hlmc
>>> policy = hlmc.HLMC(arms=100, memory=20, horizon=10_000, pending=400)
>>> adversary = hlmc.adversaries.BlockTrap(arms=100, memory=20)
>>> result = hlmc.simulate(policy, adversary, runs=2, delays=hlmc.delays.Uniform(0, 200), missing=0.3, progress=False)
>>> result.provenance["delays"]
'delays.Uniform(low=0, high=200)'

A delay of 0 means before the next decision. Delays are drawn from the stream of the learner, for purposes of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hlmc.checks import between, whole
from hlmc.engine.delayed import CLICKS, CONSTANT, GEOMETRIC, LISTED, PARETO, UNIFORM, VALUES
from hlmc.errors import BadArgument, BadFile, shown
from hlmc.files import disk
from hlmc.spelling import hint, no_attribute, spelled, suggest_arguments
from hlmc.values import Value

__all__ = ["CATALOGUE", "Clicks", "Constant", "Delays", "FromFile", "Geometric", "Pareto", "Uniform", "named"]

Array = np.ndarray

MOST = 2**30
"""The longest delay, in decisions."""


class Delays(Value):
    """The distribution of delays, as a value. Subclasses define it."""

    _module: ClassVar[str] = "delays."

    @property
    def longest(self) -> int:
        """The longest delay."""
        raise NotImplementedError

    @property
    def expected(self) -> float:
        """The mean delay, of the rewards that come."""
        raise NotImplementedError

    def numbers(self) -> tuple[float, ...]:
        """The kernel's parameters: the distribution, its two numbers, the longest delay, and when to stop waiting."""
        raise NotImplementedError

    @property
    def listed(self) -> Array:
        """The delays of a law that is a list of them."""
        return np.empty(0)

    def packed(self, never: float, default: float | None) -> Array:
        """The array of :func:`hlmc.engine.delayed.delay_of`.

        Parameters
        ----------
        never
            The share of decisions that no reward comes for.
        default
            The reward in [0, 1] that these count as; None: they do not count.
        """
        head = np.zeros(VALUES)
        head[:8] = [*self.numbers(), never, default is not None, default or 0.0]
        return np.concatenate([head, self.listed])


@dataclass(frozen=True, repr=False)
class Constant(Delays):
    """Every reward comes after ``steps`` more decisions.

    >>> Constant(100).expected
    100.0
    """

    steps: int

    def __post_init__(self) -> None:
        self._keep(steps=whole("steps", self.steps, 0, MOST))

    @property
    def longest(self) -> int:
        return self.steps

    @property
    def expected(self) -> float:
        return float(self.steps)

    def numbers(self) -> tuple[float, ...]:
        return CONSTANT, self.steps, 0.0, self.longest, self.longest


@dataclass(frozen=True, repr=False)
class Between(Delays):
    """A law whose delays are from ``low`` to ``high``, uniform in between."""

    low: int
    high: int

    def __post_init__(self) -> None:
        self._keep(low=whole("low", self.low, 0, MOST))
        self._keep(high=whole("high", self.high, self.low, MOST))

    @property
    def longest(self) -> int:
        return self.high

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2.0


@dataclass(frozen=True, repr=False)
class Uniform(Between):
    """Uniform over low, low + 1, ..., high.

    >>> Uniform(0, 200).expected
    100.0
    """

    def numbers(self) -> tuple[float, ...]:
        return UNIFORM, self.low, self.high, self.longest, self.longest


@dataclass(frozen=True, repr=False)
class Geometric(Delays):
    """k more decisions with probability p (1 - p)^k, p = 1 / (1 + mean); what is longer than ``most`` is cut to it.

    Parameters
    ----------
    mean
        The mean of the delay before the cut.
    most
        The longest delay. Default: 20 means, beyond which lie 2e-9 of all delays.

    Examples
    --------
    >>> Geometric(100).longest
    2000
    """

    mean: float
    most: int | None = None

    def __post_init__(self) -> None:
        self._keep(mean=between("mean", self.mean, 0.0, MOST / 20, f"(0, {MOST // 20}]"))
        self._keep_given(whole, "most", least=0, most=MOST)

    @property
    def longest(self) -> int:
        return math.ceil(20 * self.mean) if self.most is None else self.most

    @property
    def expected(self) -> float:
        return self.mean

    def numbers(self) -> tuple[float, ...]:
        return GEOMETRIC, math.log1p(-1.0 / (1.0 + self.mean)), 0.0, self.longest, self.longest


@dataclass(frozen=True, repr=False)
class Pareto(Delays):
    """Heavy-tailed: P(delay >= x) = (1 + x / scale)^(-shape) (the Lomax law), cut to ``most``.

    Parameters
    ----------
    shape
        The smaller, the heavier the tail. With at most 1 the mean would be infinite but for the cut.
    scale
        The mean is scale / (shape - 1) for a shape above 1, before the cut.
    most
        The longest delay.

    Examples
    --------
    >>> round(Pareto(shape=1.5, scale=50, most=100_000).expected)
    98
    """

    shape: float
    scale: float
    most: int = 100_000

    def __post_init__(self) -> None:
        self._keep(shape=between("shape", self.shape, 0.05, 100.0, "[0.05, 100]"))
        self._keep(scale=between("scale", self.scale, 0.0, MOST, f"(0, {MOST}]"))
        self._keep(most=whole("most", self.most, 0, MOST))

    @property
    def longest(self) -> int:
        return self.most

    @property
    def expected(self) -> float:
        # The integral of P(delay >= x) up to the cut.
        s, a = self.scale, 1.0 - self.shape
        top = 1.0 + self.most / s
        return s * math.log(top) if a == 0.0 else s * (top**a - 1.0) / a

    def numbers(self) -> tuple[float, ...]:
        return PARETO, self.shape, self.scale, self.longest, self.longest


@dataclass(frozen=True, repr=False)
class FromFile(Delays):
    """Drawn at random from measured delays: one whole number per line; -1 for a reward that never came.

    Parameters
    ----------
    path
        A text file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "delays.txt")
    ...     _ = path.write_text("3\\n10\\n-1\\n5\\n")
    ...     measured = FromFile(str(path))
    >>> measured.longest, measured.expected
    (10, 6.0)
    """

    path: str

    def __post_init__(self) -> None:
        self._keep(path=str(self.path))
        _ = self.listed

    @cached_property
    def listed(self) -> Array:
        """The delays of the file."""
        try:
            found = [int(line) for line in disk.contents(Path(self.path)).decode().split()]
        except ValueError as error:
            raise BadFile(f"{self.path} must be a list of whole numbers, one per line: {error}") from None
        if not found or min(found) < -1 or max(found) > MOST:
            raise BadFile(f"{self.path} must have at least one delay, all of them from -1 to {MOST}")
        return np.array(found, np.float64)

    @property
    def longest(self) -> int:
        return max(int(self.listed.max()), 0)

    @property
    def expected(self) -> float:
        came = self.listed[self.listed >= 0.0]
        return float(came.mean()) if came.size else 0.0

    def numbers(self) -> tuple[float, ...]:
        return LISTED, self.listed.size, 0.0, self.longest, self.longest


@dataclass(frozen=True, repr=False)
class Clicks(Between):
    """A reward above 0 comes after low to high decisions; a reward of 0 never comes.

    Parameters
    ----------
    low, high
        The delay of a reward above 0 is uniform between these.
    wait
        After how many decisions one without a reward is dropped. Default: ``high``.

    Examples
    --------
    >>> Clicks(0, 200).longest
    200
    """

    wait: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keep_given(whole, "wait", least=0, most=MOST)

    @property
    def longest(self) -> int:
        return max(self.high, self.wait or 0)

    def numbers(self) -> tuple[float, ...]:
        return CLICKS, self.low, self.high, self.longest, self.high if self.wait is None else self.wait


CATALOGUE: tuple[type[Delays], ...] = (Constant, Uniform, Geometric, Pareto, FromFile, Clicks)
"""Every law of delays."""
suggest_arguments(*CATALOGUE)


def named(name: Any, **arguments: Any) -> Delays:
    """The delays of a ``name`` with these ``arguments``, as a TOML file has them.

    >>> named("Uniform", low=0, high=20)
    delays.Uniform(low=0, high=20)
    """
    known = {cls.__name__: cls for cls in CATALOGUE}
    meant = spelled(name, known)
    if meant is None:
        raise BadArgument(f"there are no delays {shown(name)}; {hint(name, known)}")
    return known[meant](**arguments)


def __getattr__(name: str) -> Any:
    raise no_attribute(__name__, name, __all__)


def checked(delays: Any) -> Delays | None:
    """Delays or None; a whole number is a constant delay.

    >>> checked(10)
    delays.Constant(steps=10)
    """
    if delays is None or isinstance(delays, Delays):
        return delays
    if isinstance(delays, int) and not isinstance(delays, bool):
        return Constant(delays)
    raise BadArgument(f"delays must be one of hlmc.delays, such as delays.Uniform(0, 200), not {shown(delays)}")
