"""PettingZoo: the spectrum game, or any other game, as a parallel environment.

>>> env = parallel_env(agents=3, channels=4)
>>> observations, infos = env.reset(seed=0)
>>> observations, rewards, *_ = env.step({"radio_0": 0, "radio_1": 0, "radio_2": 2})
>>> rewards
{'radio_0': 5.0, 'radio_1': 5.0, 'radio_2': 1.0}
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np

from hlmc.checks import whole
from hlmc.errors import BadArgument, extra, shown
from hlmc.games import Game, Match, Spectrum

try:
    from gymnasium import spaces
    from pettingzoo.utils import parallel_to_aec, wrappers
    from pettingzoo.utils.env import ParallelEnv
except ImportError as error:  # pragma: no cover
    raise extra("pettingzoo", "gym") from error

Array = np.ndarray

__all__ = ["GameEnv", "env", "parallel_env", "raw_env"]


class GameEnv(ParallelEnv):  # type: ignore[misc]
    """A game of :mod:`hlmc.games` as a PettingZoo parallel environment.

    An action is an arm. The observation of an agent is a vector: its last payoff divided by the game's scale, then a
    one-hot encoding of its last arm, with one more entry for an agent that has not chosen yet. The reward is the
    payoff in the game's units. :meth:`state` is the fraction of agents on each arm and, as the last entry, of agents
    that have not chosen yet. All agents are truncated together after ``max_cycles`` steps.

    Parameters
    ----------
    game
        The game, with a small number of agents.
    max_cycles
        Steps per episode.
    render_mode
        ``"ansi"``: :meth:`render` returns a line of text; ``"human"``: it prints the line.
    name
        The name of an agent: "radio" gives radio_0, radio_1, ...

    Examples
    --------
    >>> import hlmc
    >>> env = GameEnv(hlmc.games.Routing(agents=2, links=2), name="driver")
    >>> env.possible_agents
    ['driver_0', 'driver_1']
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["human", "ansi"],
        "name": "hlmc_game_v0",
        "is_parallelizable": True,
    }

    def __init__(self, game: Game, max_cycles: int = 1000, render_mode: str | None = None, name: str = "agent") -> None:
        self.game = game
        self.max_cycles = whole("max_cycles", max_cycles, 1)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadArgument(f'render_mode must be "human", "ansi" or None, not {shown(render_mode)}')
        self.render_mode = render_mode
        self.possible_agents = [f"{name}_{i}" for i in range(game.agents)]
        self.agents: list[str] = []
        self.action_spaces = {agent: spaces.Discrete(game.arms) for agent in self.possible_agents}
        self.observation_spaces = {
            agent: spaces.Box(0.0, 1.0, (game.arms + 2,), np.float32) for agent in self.possible_agents
        }
        self.state_space = spaces.Box(0.0, 1.0, (game.arms + 1,), np.float32)
        self._random = np.random.default_rng()
        self._match: Match | None = None

    def action_space(self, agent: str) -> spaces.Discrete:
        """The arms."""
        return self.action_spaces[agent]

    def observation_space(self, agent: str) -> spaces.Box:
        """The last payoff of an agent, and its last arm."""
        return self.observation_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, Any], Any]:
        """Begin a run of the game; the seed determines its randomness."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self._match = self.game.match(int(self._random.integers(2**63)))
        self.agents = self.possible_agents[:]
        nowhere = self._observed(np.zeros(self.game.agents), np.full(self.game.agents, self.game.arms))
        return dict(zip(self.agents, nowhere, strict=True)), {agent: {} for agent in self.agents}

    def _observed(self, payoffs: Array, places: Array) -> Array:
        """The observations, one row per agent."""
        seen = np.zeros((self.game.agents, self.game.arms + 2), np.float32)
        seen[:, 0] = payoffs / self.game.scale
        seen[np.arange(self.game.agents), 1 + places] = 1.0
        return seen

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        """Take the choices of all agents; return their payoffs."""
        if not self.agents or self._match is None:
            self.agents = []
            return {}, {}, {}, {}, {}
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise BadArgument(f"actions must have an arm for every agent; {missing[0]} is missing")
        choices = np.array([int(actions[agent]) for agent in self.agents])
        payoffs = self._match.play(choices)
        over = self._match.time >= self.max_cycles
        playing = self.agents
        if over:
            self.agents = []
        return (
            dict(zip(playing, self._observed(payoffs, choices), strict=True)),
            {agent: float(payoffs[i]) for i, agent in enumerate(playing)},
            dict.fromkeys(playing, False),
            dict.fromkeys(playing, over),
            {agent: {} for agent in playing},
        )

    def state(self) -> Array:
        """The fraction of agents on each arm in the last step; the last entry is agents that have not chosen yet."""
        if self._match is None:
            raise BadArgument("the environment must be reset first: call reset()")
        nowhere = 0 if self._match.time else self.game.agents
        return (np.append(self._match.counts, nowhere) / self.game.agents).astype(np.float32)

    def render(self) -> str | None:
        """The number of agents on each arm in the last step; arms that the game marks are in brackets."""
        if self.render_mode is None or self._match is None:
            return None
        counts, marks = self._match.counts, np.zeros(self.game.arms, dtype=bool)
        if self.game.marks is not None and self._match.time:
            marks = self._match.fact(self.game.marks)
        cells = [f"[{n}]" if mark else f" {n} " for n, mark in zip(counts, marks, strict=True)]
        text = f"step {self._match.time}:" + "".join(cells)
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(text + "\n")
        return None

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


def parallel_env(
    agents: int = 10, channels: int = 5, max_cycles: int = 1000, render_mode: str | None = None, **arguments: Any
) -> GameEnv:
    """The spectrum game as a parallel environment; other arguments are those of :class:`hlmc.games.Spectrum`."""
    return GameEnv(Spectrum(agents, channels, **arguments), max_cycles, render_mode, name="radio")


def raw_env(**arguments: Any) -> Any:
    """The spectrum game as a turn-based (AEC) environment."""
    return parallel_to_aec(parallel_env(**arguments))


def env(**arguments: Any) -> Any:
    """The spectrum game as a turn-based (AEC) environment, in PettingZoo's usual wrapper."""
    return wrappers.OrderEnforcingWrapper(raw_env(**arguments))
