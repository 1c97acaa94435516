"""A run of a game in progress: the referee's board, the game's state and the round."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlmc.checks import choice
from hlmc.errors import BadArgument, BadReward, OutOfTurn, shown
from hlmc.games import board as layout
from hlmc.games.base import Game
from hlmc.games.referee import between
from hlmc.streams import derive_seed
from hlmc.targets import address_of, address_table, entry

Array = np.ndarray


class Board:
    """The referee's words, with a name for each section (see :mod:`hlmc.games.board`).

    ``codes`` are the addresses of the game's facts.
    """

    def __init__(self, game: Game, sizes: list[int], codes: list[int]) -> None:
        K, G, F = game.arms, len(sizes), len(game.facts)
        sections = {
            layout.COUNTS: (K,),
            layout.PAYOFFS: (K,),
            layout.SEEN: (K,),
            layout.ALONE: (K,),
            layout.TOGETHER: (K,),
            layout.SIZES: (G,),
            layout.EARNED: (G,),
            layout.MEMBERS: (G, K),
            layout.STAYED: (G, K),
            layout.OCCUPANCY: (G, K),
            layout.CODES: (F,),
            layout.CHOICES: (F, G),
            layout.TRUE_OF: (F, K),
            layout.TRUE_NOW: (F, K),
        }
        lengths = {place: int(np.prod(shape)) for place, shape in sections.items()}
        # One extra word, so that an empty section has an address too.
        self.words = np.zeros(layout.HEADER + sum(lengths.values()) + 1)
        self.words[: layout.SCALE + 1] = game.agents, K, G, F, game.scale
        self._section = {}
        at = layout.HEADER
        for place, shape in sections.items():
            self.words[place] = at
            self._section[place] = self.words[at : at + lengths[place]].reshape(shape)
            at += lengths[place]
        self[layout.SIZES][:] = sizes
        self[layout.CODES][:] = codes

    def __getitem__(self, place: int) -> Array:
        return self._section[place]


class Match:
    """One run of a game, played by hand: takes the choices of all agents, returns their payoffs.

    Made by :meth:`Game.match <hlmc.games.Game.match>`. The seed determines all randomness of the game.

    >>> import hlmc
    >>> match = hlmc.games.Routing(agents=2, links=2).match(seed=0)
    >>> match.play([0, 1]).shape
    (2,)
    >>> match.counts
    array([1, 1])
    """

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game = game
        self.time = 0
        self.board = Board(game, [game.agents], fact_codes(game))
        self.state = game.start(game_key(seed))
        self._chosen = np.zeros(game.arms)
        parts = [0] * layout.PART
        parts[layout.CHOSEN] = address_of(self._chosen)
        self._table, table_at = address_table(parts)
        arrays = (self.board.words, game.spec, self.state)
        codes = (game.codes["pay"].address, game.codes["observe"].address)
        self._arguments = (table_at, 1, *map(address_of, arrays), *codes)
        self._between = entry(between, *["int64"] * 10, release=True)
        self._open = False

    def open(self) -> None:
        """Let the game update its state for the next round; :meth:`play` does this if it was not called."""
        if not self._open:
            self._between(*self._arguments, self.time, 0)
            self._open = True

    def play(self, choices: Any) -> Array:
        """The payoffs of all agents if agent i chooses arm ``choices[i]``, in the units of ``game.pay``."""
        chosen = np.asarray(choices)
        game = self.game
        if chosen.shape != (game.agents,) or chosen.dtype.kind not in "iu":
            raise BadArgument(f"choices must be {game.agents} whole numbers, one per agent, not {shown(choices)}")
        if chosen.min() < 0 or chosen.max() >= game.arms:
            raise BadArgument(f"choices must be arms from 0 to {game.arms - 1}, not {shown(choices)}")
        self.open()
        self.board[layout.TRUE_OF][:] = 0.0
        self._chosen[:] = np.bincount(chosen, minlength=game.arms)
        status = self._between(*self._arguments, self.time, 1)
        if status < 0:
            raise bad_payoff(game, status)
        self.time += 1
        self._open = False
        return np.asarray(self.board[layout.PAYOFFS][chosen])

    @property
    def counts(self) -> Array:
        """The number of agents on each arm in the last round."""
        return self.board[layout.COUNTS].astype(np.int64)

    def fact(self, name: str) -> Array:
        """For each arm, whether a fact of the game was true in the last round.

        >>> import hlmc
        >>> match = hlmc.games.Spectrum(agents=3, channels=4).match()
        >>> _ = match.play([0, 1, 1])
        >>> match.fact("clear").tolist(), match.fact("collision").tolist()
        ([True, False, False, False], [False, True, False, False])
        """
        if self.time == 0:
            raise OutOfTurn("no round has been played yet")
        choice("name", name, *self.game.facts)
        return np.asarray(self.board[layout.TRUE_OF][list(self.game.facts).index(name)] > 0.0)


def fact_codes(game: Game) -> list[int]:
    """The addresses of the game's facts on the processor."""
    return [game.codes[name].address for name in game.facts]


def game_key(seed: int) -> np.uint64:
    """The random key of the game itself, which differs from those of the agents."""
    return np.uint64(derive_seed(seed, "game"))


def bad_payoff(game: Game, status: int) -> BadReward:
    """The error for a negative status of a round."""
    return BadReward(f"{game!r} paid something outside [0, {game.scale:g}] in round {-status - 1}")
