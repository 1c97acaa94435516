"""The catalogue of policies."""

from __future__ import annotations

from hlmc.policies.base import Policy, Words
from hlmc.policies.champion import Champion
from hlmc.policies.flat import EXP3, EXP3P, EXP3S, UCB1, Uniform
from hlmc.policies.hierarchy import HLMC
from hlmc.policies.rounds import EXP3M, UCBM

CATALOGUE: dict[str, type[Policy]] = {
    cls.__name__: cls for cls in (HLMC, Champion, EXP3, EXP3P, EXP3S, UCB1, UCBM, EXP3M, Uniform)
}
"""Every policy by its name."""

__all__ = [
    "CATALOGUE",
    "EXP3",
    "EXP3M",
    "EXP3P",
    "EXP3S",
    "HLMC",
    "UCB1",
    "UCBM",
    "Champion",
    "Policy",
    "Uniform",
    "Words",
]
