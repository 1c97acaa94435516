"""The catalogue of policies: values that describe how to learn."""

from __future__ import annotations

from hlmc.policies.base import Policy, Words
from hlmc.policies.champion import Champion
from hlmc.policies.flat import EXP3, EXP3IX, EXP3P, EXP3S, UCB1, EXP3Loss, TsallisINF, Uniform
from hlmc.policies.hierarchy import HLMC
from hlmc.policies.rounds import EXP3M, UCBM
from hlmc.policies.stochastic import EpsilonGreedy, Thompson
from hlmc.spelling import suggest_arguments

CATALOGUE: dict[str, type[Policy]] = {
    cls.__name__: cls
    for cls in (
        HLMC,
        Champion,
        EXP3,
        EXP3P,
        EXP3S,
        EXP3Loss,
        EXP3IX,
        TsallisINF,
        UCB1,
        UCBM,
        EXP3M,
        Thompson,
        EpsilonGreedy,
        Uniform,
    )
}
"""Every policy by its name."""
suggest_arguments(*CATALOGUE.values())

EXAMPLES: tuple[Policy, ...] = (
    HLMC(arms=100, memory=20, horizon=1000),
    HLMC(arms=17, groups=(4, 5), horizon=300, epochs=(10, 30)),
    HLMC(arms=23, levels=3, horizon=300, delta=0.1),
    HLMC(arms=23, levels=2, horizon=300, switches=3),
    HLMC(arms=23, levels=2, switches="unknown"),
    HLMC(arms=31, levels=5, horizon=200, routines=("exp3s", "ucb1", "exp3-loss", "tsallis-inf", "exp3p")),
    HLMC(arms=1, levels=1, horizon=10),
    HLMC(arms=10**9, memory=96, horizon=10**8),
    HLMC(arms=23, levels=3, horizon=300, pending=70),
    Champion(arms=30, memory=12, horizon=500),
    Champion(arms=29, memory=12, horizon=300, pending=8, missing=0.0),
    HLMC(arms=23, levels=2, horizon=60, pending=70, after="continue"),
    Champion(arms=23),
    Champion(arms=100, memory=14, horizon=400, switches=2),
    Champion(arms=5, memory=9, horizon=100),
    Champion(arms=29, memory=12, horizon=70, after="continue"),
    Champion(arms=30, memory=12, horizon=500, bits=10),
    Champion(arms=400, memory=7, bits=6),
    Champion(arms=20, memory=4, bits=12),
    EXP3(arms=10, horizon=100),
    EXP3(arms=600, horizon=100, gamma=0.5),
    EXP3(arms=10, horizon=None),
    EXP3(arms=10, horizon=40, after="continue"),
    EXP3P(arms=10, horizon=100, delta=0.01),
    EXP3S(arms=10, horizon=100, switches=2),
    EXP3S(arms=600, horizon=100, alpha=0.01),
    EXP3Loss(arms=10, horizon=100),
    EXP3Loss(arms=600, horizon=100),
    EXP3IX(arms=10, horizon=100),
    TsallisINF(arms=10),
    TsallisINF(arms=10, estimator="importance-weighted"),
    TsallisINF(arms=10, eta=1.5, horizon=400),
    TsallisINF(arms=10, horizon=40, after="continue"),
    TsallisINF(arms=10, bits=12),
    TsallisINF(arms=600, bits=7),
    TsallisINF(arms=3, estimator="importance-weighted", bits=32),
    EXP3(arms=10, horizon=100, bits=10),
    EXP3IX(arms=10, horizon=100, bits=10),
    HLMC(arms=31, levels=3, horizon=200, routines=("exp3", "exp3-loss", "tsallis-inf"), bits=(11, 64, 6)),
    UCB1(arms=10),
    UCBM(arms=17, memory=4),
    UCBM(arms=17, memory=4, shuffle=False, ties="first", fill="wrap"),
    EXP3M(arms=17, memory=4),
    Thompson(arms=10),
    HLMC(arms=17, levels=2, horizon=200, routines=("thompson", "epsilon-greedy")),
    EpsilonGreedy(arms=10),
    EpsilonGreedy(arms=10, decay=2.5),
    Uniform(arms=10),
)
"""Every policy at least once. The tests run :func:`hlmc.testing.check_policy` on each."""

__all__ = [
    "CATALOGUE",
    "EXAMPLES",
    "EXP3",
    "EXP3IX",
    "EXP3M",
    "EXP3P",
    "EXP3S",
    "HLMC",
    "UCB1",
    "UCBM",
    "Champion",
    "EXP3Loss",
    "EpsilonGreedy",
    "Policy",
    "Thompson",
    "TsallisINF",
    "Uniform",
    "Words",
]
