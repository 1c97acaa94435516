"""The routing game: drivers or packets choose among parallel links whose latency grows with their load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hlmc.adversaries.base import packed
from hlmc.checks import between, listed, whole
from hlmc.engine.kernel import kernel
from hlmc.errors import BadArgument, shown
from hlmc.games.base import Array, Game

LINKS, SLOWDOWN, POWER, WORST = range(4)
OWN = 4  # latency when empty, then capacity, one per link


@kernel
def latency(spec: Array, link: int, load: float) -> float:
    """The latency of a link under a load."""
    links = int(spec[LINKS])
    crowding = math.pow(load / spec[OWN + links + link], spec[POWER])
    return float(spec[OWN + link] * (1.0 + spec[SLOWDOWN] * crowding))


@kernel
def routing_pay(spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """1 minus the link's latency divided by the worst latency."""
    return float(max(0.0, 1.0 - latency(spec, arm, counts[arm]) / spec[WORST]))


@kernel
def is_overloaded(spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """1 if the link's load exceeds its capacity."""
    return 1.0 if counts[arm] > spec[OWN + int(spec[LINKS]) + arm] else 0.0


@dataclass(frozen=True, repr=False)
class Routing(Game):
    r"""Congestion on parallel links: the latency of a link grows with the number of agents on it.

    The latency of a link of capacity c, with latency f when empty, is

    .. math:: \ell(n) = f\,(1 + \alpha (n/c)^\beta)

    with n agents on it. It pays :math:`1 - \ell(n)/\ell_{max}`, which is in [0, 1].

    Parameters
    ----------
    agents, links
        The number of each.
    capacity
        One number for all links or one per link. Default: the agents' even share.
    empty
        Latency of an empty link, f: one number for all or one per link.
    slowdown, power
        α and β.
    worst
        The latency from which a link pays 0. Default: the longest latency, of the worst link with all agents on
        it.

    Facts
    -----
    ``"overloaded"``: there are more agents on the link than its capacity.

    Examples
    --------
    >>> game = Routing(agents=4, links=2, empty=(1, 2))
    >>> game.latency([3, 1]).tolist()
    [2.5, 3.0]
    >>> game.match().play([0, 0, 0, 1]).tolist() == [1 - 2.5 / 6] * 3 + [1 - 3 / 6]
    True
    """

    agents: int = 1000
    links: int = 4
    capacity: float | tuple[float, ...] | None = None
    empty: float | tuple[float, ...] = 1.0
    slowdown: float = 1.0
    power: float = 1.0
    worst: float | None = None

    pay = staticmethod(routing_pay)
    facts: ClassVar = {"overloaded": is_overloaded}
    units: ClassVar = ("reward", "link")

    def __post_init__(self) -> None:
        self._keep(agents=whole("agents", self.agents, 1), links=whole("links", self.links, 1))
        self._keep(empty=_listed("empty", self.empty, self.links))
        if self.capacity is not None:
            self._keep(capacity=_listed("capacity", self.capacity, self.links))
        self._keep_each(between, "slowdown", "power", low=0.0, high=float("inf"), text="[0, inf)")
        self._keep_given(between, "worst", low=0.0, high=float("inf"), text="(0, inf)")
        self._keep(arms=self.links)

    @cached_property
    def spec(self) -> Array:
        free, room = self._links
        full = free * (1.0 + self.slowdown * (self.agents / room) ** self.power)
        return packed(self.links, self.slowdown, self.power, self.worst or max(full), *free, *room)

    @property
    def _links(self) -> tuple[Array, Array]:
        """Latency when empty and capacity of each link."""
        capacity = self.agents / self.links if self.capacity is None else self.capacity
        return np.full(self.links, self.empty), np.full(self.links, capacity)

    def latency(self, counts: Any) -> Array:
        """The latency of each link with this many agents on it."""
        free, room = self._links
        loads = np.asarray(counts, dtype=np.float64)
        return np.asarray(free * (1.0 + self.slowdown * (loads / room) ** self.power))

    def equilibrium(self) -> Array:
        """The loads (not necessarily whole) at which all links in use have the same latency, and no other link less.

        >>> Routing(agents=4, links=2, empty=(1, 2)).equilibrium().round(3).tolist()
        [3.333, 0.667]
        """
        low, high = 0.0, float(self.latency(np.full(self.links, self.agents)).max())
        for _ in range(200):
            middle = (low + high) / 2
            if self._loads(middle).sum() < self.agents:
                low = middle
            else:
                high = middle
        loads = self._loads(high)
        return np.asarray(loads * (self.agents / loads.sum()))

    def _loads(self, time: float) -> Array:
        """The loads at which each link has this latency; 0 if its latency is longer when empty."""
        free, room = self._links
        if self.slowdown == 0.0 or self.power == 0.0:
            raise BadArgument("an equilibrium needs latency that grows: slowdown and power above 0")
        return np.asarray(room * (np.maximum(0.0, time / free - 1.0) / self.slowdown) ** (1.0 / self.power))


def _listed(name: str, value: Any, links: int) -> float | tuple[float, ...]:
    """One positive number for all links, or a tuple of one per link."""
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        found = listed(name, value)
        if len(found) != links:
            raise BadArgument(f"{name} must be one number or {links}, one per link, not {shown(value)}")
        return tuple(between(f"{name}[{link}]", v, 0.0, float("inf"), "(0, inf)") for link, v in enumerate(found))
    return between(name, value, 0.0, float("inf"), "(0, inf)")
