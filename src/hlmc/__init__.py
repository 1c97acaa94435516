"""No-regret bandits in bounded memory.

Pick among K arms, a hundred or a billion, keeping M words. See https://arxiv.org/abs/2002.11804 for the paper.

>>> import hlmc
>>> learner = hlmc.HLMC(arms=100, memory=20, horizon=10**6).start(seed=0)
>>> arm = learner.select()
>>> learner.update(reward=1.0)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hlmc import (
        adversaries,
        advice,
        arenas,
        bandit,
        bounds,
        delays,
        errors,
        games,
        planning,
        plotting,
        routines,
        testing,
    )
    from hlmc.arenas import arena
    from hlmc.bandit import Bandit, Decision, open  # noqa: A004
    from hlmc.errors import BadTicket, UnknownDecision
    from hlmc.experts import Experts
    from hlmc.games import play
    from hlmc.guarantee import Guarantee
    from hlmc.learners import Arms, Fleet, Learner, Ticket, load, tickets
    from hlmc.logs import replay
    from hlmc.policies import (
        EXP3,
        EXP3IX,
        EXP3M,
        EXP3P,
        EXP3S,
        HLMC,
        UCB1,
        UCBM,
        Champion,
        EpsilonGreedy,
        EXP3Loss,
        Policy,
        Thompson,
        TsallisINF,
        Uniform,
        Words,
    )
    from hlmc.simulation import Moments, PythonPolicy, Result, Sweep, estimate, load_result, simulate, sweep, trace
    from hlmc.streams import derive_seed

__all__ = [
    "EXP3",
    "EXP3IX",
    "EXP3M",
    "EXP3P",
    "EXP3S",
    "HLMC",
    "UCB1",
    "UCBM",
    "Arms",
    "BadTicket",
    "Bandit",
    "Champion",
    "Decision",
    "EXP3Loss",
    "EpsilonGreedy",
    "Experts",
    "Fleet",
    "Guarantee",
    "Learner",
    "Moments",
    "Policy",
    "PythonPolicy",
    "Result",
    "Sweep",
    "Thompson",
    "Ticket",
    "TsallisINF",
    "Uniform",
    "UnknownDecision",
    "Words",
    "adversaries",
    "advice",
    "arena",
    "arenas",
    "bandit",
    "bounds",
    "delays",
    "derive_seed",
    "errors",
    "estimate",
    "games",
    "load",
    "load_result",
    "open",
    "planning",
    "play",
    "plotting",
    "replay",
    "routines",
    "serve",
    "simulate",
    "sweep",
    "testing",
    "tickets",
    "trace",
]

_HOMES = {
    "Arms": "hlmc.learners",
    "BadTicket": "hlmc.errors",
    "Bandit": "hlmc.bandit",
    "Decision": "hlmc.bandit",
    "Experts": "hlmc.experts",
    "Fleet": "hlmc.learners",
    "Guarantee": "hlmc.guarantee",
    "Learner": "hlmc.learners",
    "Moments": "hlmc.simulation",
    "PythonPolicy": "hlmc.simulation",
    "Result": "hlmc.simulation",
    "Sweep": "hlmc.simulation",
    "Ticket": "hlmc.learners",
    "UnknownDecision": "hlmc.errors",
    "arena": "hlmc.arenas",
    "derive_seed": "hlmc.streams",
    "estimate": "hlmc.simulation",
    "load": "hlmc.learners",
    "load_result": "hlmc.simulation",
    "open": "hlmc.bandit",
    "play": "hlmc.games",
    "replay": "hlmc.logs",
    "simulate": "hlmc.simulation",
    "sweep": "hlmc.simulation",
    "tickets": "hlmc.learners",
    "trace": "hlmc.simulation",
}
_MODULES = (
    "adversaries",
    "advice",
    "arenas",
    "bandit",
    "bounds",
    "delays",
    "errors",
    "games",
    "planning",
    "plotting",
    "routines",
    "serve",
    "testing",
)


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `hlmc plan` need not wait for the simulator."""
    if name == "__version__":
        from hlmc.versions import VERSION

        return VERSION
    if name in _MODULES:
        return importlib.import_module(f"hlmc.{name}")
    if name not in __all__:
        from hlmc.spelling import no_attribute

        raise no_attribute("hlmc", name, __all__)
    value = getattr(importlib.import_module(_HOMES.get(name, "hlmc.policies")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
