"""Games: payoffs that depend on what all the agents do, and many small learners that play them."""

from __future__ import annotations

from typing import Any

from hlmc.games import jammers
from hlmc.games.base import Game
from hlmc.games.match import Match
from hlmc.games.population import Group
from hlmc.games.result import GameResult, load_result
from hlmc.games.routing import Routing
from hlmc.games.runner import play
from hlmc.games.spectrum import Spectrum
from hlmc.spelling import no_attribute, suggest_arguments

__all__ = ["Game", "GameResult", "Group", "Match", "Routing", "Spectrum", "jammers", "load_result", "play"]

suggest_arguments(Routing, Spectrum)


def __getattr__(name: str) -> Any:
    raise no_attribute(__name__, name, __all__)
