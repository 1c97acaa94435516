"""The spectrum game: radios share channels under jamming (the paper's last experiment)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hlmc.adversaries.base import packed
from hlmc.checks import between, whole
from hlmc.engine.kernel import kernel
from hlmc.games.base import Array, Game
from hlmc.games.jammers import CLEAR_REWARD, COLLISION, JAMMED_REWARD, KEY, OWN_WORDS, Jammer, jammer


@kernel
def spectrum_pay(spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """The payoff of each agent on a channel: if clear, an equal share; if jammed, less, and 0 in a collision."""
    if state[arm] > 0.0:
        return float(spec[CLEAR_REWARD] / counts[arm])
    return float(spec[JAMMED_REWARD]) if counts[arm] < spec[COLLISION] else 0.0


@kernel
def is_clear(spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """1 if the channel was clear, not jammed."""
    return float(state[arm])


@kernel
def is_collision(spec: Array, state: Array, t: int, counts: Array, arm: int) -> float:
    """1 if so many agents were on a jammed channel that they collided."""
    return 1.0 if state[arm] == 0.0 and counts[arm] >= spec[COLLISION] else 0.0


@dataclass(frozen=True, repr=False)
class Spectrum(Game):
    """Distributed dynamic spectrum access in the presence of jamming.

    A channel that is not jammed pays 10, shared evenly by the agents on it; a jammed one pays 1 to an agent
    that is alone there and 0 to several. The paper's "more than two agents" is read as two or more
    (``collision=3`` is the other reading). The rewards of learners are a tenth of the
    payoffs; results are in units of the payoffs.

    Parameters
    ----------
    agents, channels
        The number of each.
    jammer
        One of :mod:`hlmc.games.jammers`, or its name: ``"circulating"`` (the paper's), ``"random"``,
        ``"sweeping"``, ``"reactive"``, ``"crowd"``.
    clear_reward
        Total payoff of a clear channel.
    jammed_reward
        Payoff of each agent on a jammed channel with fewer than ``collision`` agents.
    collision
        The number of agents on a jammed channel from which all of them get 0.

    Facts
    -----
    ``"clear"``: the channel is not jammed. ``"collision"``: it is, and there are ``collision`` agents or
    more on it.

    Examples
    --------
    >>> game = Spectrum(agents=3, channels=4)
    >>> match = game.match()
    >>> match.play([0, 0, 3]).tolist()
    [5.0, 5.0, 1.0]

    References
    ----------
    The paper's section on distributed dynamic spectrum access (Fig. 6).
    """

    agents: int = 1000
    channels: int = 20
    jammer: str | Jammer = "circulating"
    clear_reward: float = 10.0
    jammed_reward: float = 1.0
    collision: int = 2

    pay = staticmethod(spectrum_pay)
    facts: ClassVar = {"clear": is_clear, "collision": is_collision}
    marks: ClassVar = "clear"
    units: ClassVar = ("reward", "channel")

    def __post_init__(self) -> None:
        self._keep(agents=whole("agents", self.agents, 1), channels=whole("channels", self.channels, 1))
        self._keep(jammer=jammer(self.jammer), collision=whole("collision", self.collision, 1))
        self._keep_each(between, "clear_reward", "jammed_reward", low=0.0, high=float("inf"), text="[0, inf)")
        self._keep(arms=self.channels)
        _ = self.spec

    @property
    def scale(self) -> float:
        return max(self.clear_reward, self.jammed_reward) or 1.0

    @property
    def observe(self) -> object:  # type: ignore[override]
        return self.jammer.rule  # type: ignore[union-attr]

    @cached_property
    def spec(self) -> Array:
        own = self.jammer.words(self.channels)  # type: ignore[union-attr]
        return packed(self.channels, self.clear_reward, self.jammed_reward, self.collision, *own)

    def start(self, key: np.uint64) -> Array:
        state = np.zeros(self.channels + OWN_WORDS)
        state.view(np.uint64)[self.channels + KEY] = key
        return state
