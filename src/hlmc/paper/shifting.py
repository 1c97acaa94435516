"""Experiment 3 (Fig. 4): shifting regret when the arm that pays is in another group in each of ten phases."""

from __future__ import annotations

from hlmc import EXP3, EXP3S, HLMC, adversaries
from hlmc.paper.claims import Claim, all_of, at_most, fact, less, mean, spread
from hlmc.paper.drawing import regret_pictures
from hlmc.paper.experiment import Part, Picture, Results, Settings, final, time_points
from hlmc.paper.weak_1 import SMALL

NAME = "shifting"
TITLE = "Shifting regret"
SOURCE = "Fig. 4"
TEXT = """\
K = 16 arms, M = 8, V = 10 phases of equal length; in phase v arm 4v mod 16 pays 1 and the others 0. Regret is against
the best sequence of at most ten constant pieces. HLMC.S runs EXP3.S over the groups and EXP3 over the arms, and knows
V. HLMC runs EXP3 at both levels."""

K, M, V, N = 16, 8, 10, 4
FULL_HORIZON = 10**6


def parts(settings: Settings) -> list[Part]:
    """One experiment."""
    T = settings.scaled(FULL_HORIZON, least=1000)
    return [
        Part(
            "all",
            f"T = {T:,}, V = {V}",
            {
                "HLMC.S": HLMC(arms=K, levels=2, horizon=T, switches=V),
                "HLMC": HLMC(arms=K, levels=2, horizon=T),
                "EXP3": EXP3(arms=K, horizon=T),
                "EXP3.S": EXP3S(arms=K, horizon=T, switches=V),
            },
            adversaries.Shifting(arms=K, horizon=T, phases=V),
            T,
            settings.runs,
            time_points(T, *(T * v // V for v in range(1, V + 1))),
            kind="shifting",
            switches=V,
        )
    ]


def claims(results: Results, settings: Settings) -> list[Claim]:
    """The claims about Fig. 4."""
    result = results["all"]
    T = parts(settings)[0].horizon
    regret = {name: (name, final(result, name, "shifting", V)) for name in parts(settings)[0].policies}
    better = (
        "“HLMC.S designed for shifting regret minimization outperforms HLMC and EXP3 for weak regret minimization.”"
    )
    robust = "“The error bar verifies the robustness of the proposed policies.”"
    best = "“EXP3.S outperforms HLMC and HLMC.S.”"
    benchmark = float(result.benchmark("shifting", V).isel(time=-1))
    bound = HLMC(arms=K, levels=2, horizon=T, switches=V).bound()
    return [
        less("HLMC.S below HLMC", better, regret["HLMC.S"], regret["HLMC"]),
        less("HLMC.S below EXP3", better, regret["HLMC.S"], regret["EXP3"]),
        *(
            at_most(
                f"{name}'s error bars are small",
                robust,
                "standard deviation over mean",
                spread(regret[name][1]),
                ("at most", SMALL),
            )
            for name in ("HLMC.S", "HLMC")
        ),
        all_of("EXP3.S is best", best, [less("", "", regret["EXP3.S"], regret[other]) for other in ("HLMC", "HLMC.S")]),
        fact(
            "EXP3.S needs K words",
            "“It requires Θ(K) memory space.”",
            EXP3S(arms=K, horizon=T).words.statistics == K,
            f"EXP3.S keeps {EXP3S(arms=K, horizon=T).words.statistics} numbers, "
            f"HLMC.S {HLMC(arms=K, levels=2, horizon=T, switches=V).words.statistics}",
        ),
        fact(
            "The benchmark plays the best arm of every phase",
            "“The best benchmark policy with hardness V is to play the best arm within every phase.”",
            benchmark == T,
            f"the best sequence of {V} pieces earns {benchmark:,.0f} of {T:,} steps",
        ),
        *(
            [at_most("HLMC.S below Theorem 3", "Theorem 3.", "HLMC.S", mean(regret["HLMC.S"][1]), ("bound", bound))]
            if bound
            else []
        ),
    ]


def pictures(results: Results, settings: Settings) -> list[Picture]:
    """Regret against time."""
    (part,) = parts(settings)
    return list(regret_pictures(NAME, part, results[part.key], f"{part.title}."))
