"""No-regret bandits in bounded memory.

Pick among K arms, a hundred or a billion, keeping M words. See https://arxiv.org/abs/2002.11804 for the paper.

>>> import hlmc
>>> learner = hlmc.HLMC(arms=100, memory=20, horizon=10**6).start(seed=0)
>>> arm = learner.select()
>>> learner.update(reward=1.0)
"""

from __future__ import annotations

from hlmc import adversaries, games
from hlmc.files import load
from hlmc.fleet import Fleet
from hlmc.games import play
from hlmc.learner import Learner
from hlmc.policies import EXP3, EXP3M, EXP3P, EXP3S, HLMC, UCB1, UCBM, Policy, Uniform, Words
from hlmc.simulation import Result, load_result, simulate, trace
from hlmc.streams import derive_seed

__all__ = [
    "EXP3",
    "EXP3M",
    "EXP3P",
    "EXP3S",
    "HLMC",
    "UCB1",
    "UCBM",
    "Fleet",
    "Learner",
    "Policy",
    "Result",
    "Uniform",
    "Words",
    "adversaries",
    "derive_seed",
    "games",
    "load",
    "load_result",
    "play",
    "simulate",
    "trace",
]
