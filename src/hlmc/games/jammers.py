"""Jammers: which channels of the spectrum game are clear, round by round.

The game's state begins with one word per channel, 1 if it is clear and 0 if it is jammed. The run's random key and
the jammer's own words follow. A jammer sees the last round and rewrites the words of the channels before the agents
choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hlmc.checks import between, whole
from hlmc.engine.kernel import kernel
from hlmc.engine.permutation import permuted
from hlmc.engine.primitives import bits, floor_log2
from hlmc.engine.stream import increment, number
from hlmc.errors import BadArgument, BadType, shown
from hlmc.values import Value

Array = np.ndarray

# The spectrum game's spec.
CHANNELS, CLEAR_REWARD, JAMMED_REWARD, COLLISION = range(4)
JAMMER = 4
"""The jammer's own numbers begin here in the spec; the last of them is how many channels it leaves clear."""

# The state, after the channels.
KEY = 0
AT = 1  # the jammer's own
SINCE = 2
OWN_WORDS = 3


@kernel
def clear_from(state: Array, channels: int, first: int, count: int) -> None:
    """Clear ``count`` channels starting at ``first``, cyclically, and jam the others."""
    for channel in range(channels):
        state[channel] = 1.0 if (channel + channels - first) % channels < count else 0.0


@kernel
def circulating(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Keep a window of channels clear that moves by one channel in each phase."""
    channels = int(spec[CHANNELS])
    length = int(spec[JAMMER])
    phase = t // length
    if spec[JAMMER + 1] > 0.0:
        phase = floor_log2(phase + 1)
    if t == 0 or state[channels + AT] != phase:
        state[channels + AT] = phase
        clear_from(state, channels, phase % channels, int(spec[JAMMER + 2]))


@kernel
def at_random(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Every ``period`` rounds, clear random channels and jam the others."""
    channels = int(spec[CHANNELS])
    if t % int(spec[JAMMER]) == 0:
        key = bits(state, channels + KEY)
        order = number(key, increment(key), t, 0)
        clear_from(state, channels, 0, 0)
        for place in range(int(spec[JAMMER + 1])):
            state[permuted(order, channels, place)] = 1.0


@kernel
def sweeping(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Jam a window of channels that moves by its width after every ``dwell`` rounds."""
    channels = int(spec[CHANNELS])
    dwell = int(spec[JAMMER])
    if t % dwell == 0:
        width = int(spec[JAMMER + 1])
        first = t // dwell * width % channels
        clear_from(state, channels, (first + width) % channels, channels - width)


@kernel
def reactive(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Move the clear channels after too many agents were on them for several rounds in a row."""
    channels = int(spec[CHANNELS])
    clear = int(spec[JAMMER + 2])
    first = int(state[channels + AT])
    heard = 0.0
    agents = 0.0
    for channel in range(channels):
        agents += counts[channel]
        heard += counts[channel] * state[channel]
    if t > 0 and heard > spec[JAMMER] * clear * agents / channels:
        state[channels + SINCE] += 1.0
    else:
        state[channels + SINCE] = 0.0
    if state[channels + SINCE] >= spec[JAMMER + 1]:
        first = (first + clear) % channels
        state[channels + AT] = first
        state[channels + SINCE] = 0.0
    clear_from(state, channels, first, clear)


@kernel
def crowd(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """Every ``period`` rounds, clear the channels that had the fewest agents."""
    channels = int(spec[CHANNELS])
    if t % int(spec[JAMMER]) == 0:
        clear_from(state, channels, 0, 0)
        for _ in range(int(spec[JAMMER + 1])):
            least = -1
            for channel in range(channels):
                if state[channel] == 0.0 and (least < 0 or counts[channel] < counts[least]):
                    least = channel
            state[least] = 1.0


@dataclass(frozen=True, repr=False)
class Jammer(Value):
    """The base class of jammers.

    Subclasses are dataclasses with a kernel ``rule``, called as a game's ``observe``, that reads its numbers
    from ``spec[JAMMER:]`` and writes 1 (clear) or 0 (jammed) into the first words of ``state``.
    """

    name: ClassVar[str]
    rule: ClassVar[Callable[..., None]]
    _shows_defaults: ClassVar[bool] = False

    def words(self, channels: int) -> tuple[float, ...]:
        """The jammer's numbers in the game's spec."""
        raise NotImplementedError

    def _clear(self, count: Any, channels: int | None = None) -> int:
        if channels is not None and count > channels:
            raise BadArgument(f"clear must be at most the number of channels, {channels}, not {count}")
        return whole("clear", count, 1)


@dataclass(frozen=True, repr=False)
class Circulating(Jammer):
    """The jammer of the paper: the clear channel moves by one at the start of every phase.

    Phase i = 0, 1, 2, ... takes h0 b0 2^i steps, as in experiment 1 with M = 10, and leaves channel i mod K
    clear. The paper does not give the phases' lengths; a fixed length is an option.

    Parameters
    ----------
    period
        Steps in a phase, all of them equal. Default: phases that double.
    subphases, sublength
        h0 and b0 of phases that double: the first takes h0 b0 steps.
    clear
        How many neighbouring channels are clear at a time.

    Examples
    --------
    >>> import hlmc
    >>> hlmc.games.Spectrum(jammer=Circulating(period=1000)).jammer
    Circulating(period=1000)
    """

    period: int | None = None
    subphases: int = 3
    sublength: int = 120
    clear: int = 1

    name: ClassVar[str] = "circulating"
    rule = staticmethod(circulating)

    def __post_init__(self) -> None:
        self._keep_given(whole, "period", least=1)
        self._keep(subphases=whole("subphases", self.subphases, 1))
        self._keep(sublength=whole("sublength", self.sublength, 1), clear=self._clear(self.clear))

    def words(self, channels: int) -> tuple[float, ...]:
        length = self.period or self.subphases * self.sublength
        return length, 0.0 if self.period else 1.0, self._clear(self.clear, channels)


class Periodic(Jammer):
    """A jammer that chooses anew every ``period`` steps."""

    period: int
    clear: int

    def __post_init__(self) -> None:
        self._keep(period=whole("period", self.period, 1), clear=self._clear(self.clear))

    def words(self, channels: int) -> tuple[float, ...]:
        return self.period, self._clear(self.clear, channels)


@dataclass(frozen=True, repr=False)
class Random(Periodic):
    """New random clear channels every ``period`` steps, different in every run.

    >>> Random(period=100, clear=2)
    Random(period=100, clear=2)
    """

    period: int = 1000
    clear: int = 1

    name: ClassVar[str] = "random"
    rule = staticmethod(at_random)


@dataclass(frozen=True, repr=False)
class Sweeping(Jammer):
    """A band of jammed channels sweeps over the spectrum: every ``dwell`` steps it moves by its width.

    Parameters
    ----------
    dwell
        Steps between two moves of the band.
    width
        Number of jammed channels. Default: half of the channels. If all but one are jammed, the clear channel
        moves backwards.

    Examples
    --------
    >>> import hlmc
    >>> match = hlmc.games.Spectrum(agents=1, channels=4, jammer=Sweeping(dwell=1, width=1)).match()
    >>> _ = match.play([0]), match.play([0])
    >>> match.fact("clear").tolist()
    [True, False, True, True]
    """

    dwell: int = 1
    width: int | None = None

    name: ClassVar[str] = "sweeping"
    rule = staticmethod(sweeping)

    def __post_init__(self) -> None:
        self._keep(dwell=whole("dwell", self.dwell, 1))
        self._keep_given(whole, "width", least=1)

    def words(self, channels: int) -> tuple[float, ...]:
        width = max(1, channels // 2) if self.width is None else self.width
        if width > channels:
            raise BadArgument(f"width must be at most the number of channels, {channels}, not {width}")
        return self.dwell, width


@dataclass(frozen=True, repr=False)
class Reactive(Jammer):
    """Jams the clear channel once it has been crowded for a while; the next one becomes clear.

    Parameters
    ----------
    crowd
        A channel is crowded with more than this many times the even share of the agents.
    delay
        Number of consecutive crowded steps before the jammer reacts.
    clear
        How many neighbouring channels are clear at a time.

    Examples
    --------
    >>> Reactive(delay=10)
    Reactive(delay=10)
    """

    crowd: float = 2.0
    delay: int = 100
    clear: int = 1

    name: ClassVar[str] = "reactive"
    rule = staticmethod(reactive)

    def __post_init__(self) -> None:
        self._keep(crowd=between("crowd", self.crowd, 0.0, float("inf"), "[0, inf)"))
        self._keep(delay=whole("delay", self.delay, 1), clear=self._clear(self.clear))

    def words(self, channels: int) -> tuple[float, ...]:
        return self.crowd, self.delay, self._clear(self.clear, channels)


@dataclass(frozen=True, repr=False)
class Crowd(Periodic):
    """Follows the crowd: jams the channels that were used most in the last round and clears the least used.

    Of equally used channels, the lower ones are cleared.

    Parameters
    ----------
    period
        Steps between two moves.
    clear
        How many channels are clear at a time.

    Examples
    --------
    >>> import hlmc
    >>> match = hlmc.games.Spectrum(agents=3, channels=3, jammer=Crowd()).match()
    >>> _ = match.play([0, 0, 1]), match.play([2, 2, 2])
    >>> match.fact("clear").tolist()
    [False, False, True]
    """

    period: int = 1
    clear: int = 1

    name: ClassVar[str] = "crowd"
    rule = staticmethod(crowd)


JAMMERS: dict[str, type[Jammer]] = {cls.name: cls for cls in (Circulating, Random, Sweeping, Reactive, Crowd)}
"""Every jammer by its name."""


def jammer(given: str | Jammer) -> Jammer:
    """A jammer by its name, or the jammer itself.

    >>> jammer("crowd")
    Crowd()
    >>> jammer("friendly")
    Traceback (most recent call last):
    hlmc.errors.BadArgument: there is no jammer 'friendly'; there are circulating, random, ...
    """
    if isinstance(given, Jammer):
        return given
    if not isinstance(given, str):
        raise BadType(f"jammer must be a name or one of hlmc.games.jammers, not {shown(given)}")
    if given not in JAMMERS:
        raise BadArgument(f"there is no jammer {shown(given)}; there are {', '.join(JAMMERS)}")
    return JAMMERS[given]()
