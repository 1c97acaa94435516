"""The base class of games: payoffs that depend on the choices of all agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hlmc.engine.kernel import kernel
from hlmc.games.board import OBSERVE, PAY
from hlmc.targets import callback
from hlmc.values import Value

if TYPE_CHECKING:
    from hlmc.games.match import Match

Array = np.ndarray


@kernel
def no_observation(spec: Array, state: Array, t: int, counts: Array, payoffs: Array) -> None:
    """``observe`` of a game without state: does nothing."""


class Game(Value):
    """Many agents with the same arms, and payoffs that depend on the number of agents on each arm.

    A subclass is a dataclass (``frozen=True, repr=False``) with fields or attributes ``agents`` and
    ``arms``. It provides

    * :attr:`pay`, a kernel ``pay(spec, state, t, counts, arm)``: the payoff of each agent on ``arm`` in round t
      if ``counts[a]`` agents are on arm a; between 0 and :attr:`scale`;
    * :attr:`spec`, the words that the kernel reads (:func:`hlmc.adversaries.packed` makes them from numbers);

    and, if it has a state (such as a jammer),

    * :attr:`observe`, a kernel ``observe(spec, state, t, counts, payoffs)`` called before the choices of
      round t, with the counts and payoffs of round t - 1 (zeros at first), that may rewrite ``state``;
    * :meth:`start`, the state with which a run begins.

    Rounds, agents and arms count from 0. The rewards of learners are ``pay / scale``; results are in the
    units of ``pay``.

    Examples
    --------
    An arm pays 1 to an agent that is alone on it.

    >>> from dataclasses import dataclass
    >>> from functools import cached_property
    >>> import hlmc
    >>> from hlmc.adversaries import packed
    >>> from hlmc.engine.kernel import kernel
    >>> @kernel
    ... def alone(spec, state, t, counts, arm):
    ...     return spec[0] if counts[arm] == 1.0 else 0.0
    >>> @dataclass(frozen=True, repr=False)
    ... class Solitude(hlmc.games.Game):
    ...     agents: int
    ...     arms: int
    ...     prize: float = 1.0
    ...     pay = staticmethod(alone)
    ...
    ...     @cached_property
    ...     def spec(self):
    ...         return packed(self.prize)
    >>> Solitude(agents=3, arms=4).match().play([0, 0, 2]).tolist()
    [0.0, 0.0, 1.0]
    """

    agents: int
    arms: int
    pay: Callable[..., float]
    observe: Callable[..., None] = staticmethod(no_observation)
    facts: ClassVar[Mapping[str, Callable[..., float]]] = {}
    """Facts to count: by name, kernels with the arguments of ``pay`` that return whether (1 or 0) something is true of
    an arm in a round. Results then have the fraction of agents on such arms, and which arms these were."""
    marks: ClassVar[str | None] = None
    """The fact that :meth:`GameResult.plot_occupancy <hlmc.games.GameResult.plot_occupancy>` marks."""
    units: ClassVar[tuple[str, str]] = ("reward", "arm")
    """Names of payoffs and arms, for the axes of a plot."""

    @property
    def scale(self) -> float:
        """The largest payoff of an agent in a round."""
        return 1.0

    @cached_property
    def spec(self) -> Array:
        """The words that the kernels read."""
        return np.zeros(1)

    def start(self, key: np.uint64) -> Array:
        """The initial state of a run; random parts are drawn from the run's key."""
        return np.zeros(1)

    def match(self, seed: int = 0) -> Match:
        """One run of the game, to be played round by round.

        >>> import hlmc
        >>> match = hlmc.games.Spectrum(agents=3, channels=4).match()
        >>> match.play([0, 0, 1]).tolist(), match.play([1, 2, 2]).tolist(), match.time
        ([5.0, 5.0, 1.0], [1.0, 0.0, 0.0], 2)
        """
        from hlmc.games.match import Match

        return Match(self, seed)

    @cached_property
    def codes(self) -> dict[str, Any]:
        """The kernels as C functions: "pay", "observe", and the facts by their names."""
        return {
            "pay": callback(self.pay, PAY),
            "observe": callback(self.observe, OBSERVE),
            **{name: callback(fact, PAY) for name, fact in self.facts.items()},
        }
