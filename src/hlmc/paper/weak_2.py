"""Experiment 2 (Fig. 3): weak regret when the good arm pays in every other sub-phase."""

from __future__ import annotations

from hlmc import EXP3M, HLMC, UCBM, adversaries
from hlmc.evaluation import Interval
from hlmc.paper.claims import Claim, at_most, difference, less, mean, spread
from hlmc.paper.drawing import plotted_curve, regret_pictures
from hlmc.paper.experiment import Part, Picture, Results, Settings, final, phase_ends, time_points
from hlmc.paper.weak_1 import B0, K, M, linear

NAME = "weak-2"
TITLE = "Weak regret, experiment 2"
SOURCE = "Fig. 3"
TEXT = """\
K = 100 arms, M = 20, phases as in experiment 1. The first arm pays u mod 2 in sub-phase u, the others 0.0001, so that a
learner of blocks drops the good arm just before it pays again. UCB-M and EXP3-M shuffle the arms at the start; both are
also run without the shuffle."""

UCB, EXP = "UCB-M shuffled", "EXP3-M"
PLAIN_UCB, PLAIN_EXP = "UCB-M", "EXP3-M unshuffled"
LITTLE = 0.10
"""An improvement of at most a tenth counts as little; the paper gives no number."""


def parts(settings: Settings) -> list[Part]:
    """The paper's three policies, and two of them without the shuffle."""
    T = settings.horizon
    return [
        Part(
            "all",
            f"T = {T:,}",
            {UCB: UCBM(arms=K, memory=M), EXP: EXP3M(arms=K, memory=M), "HLMC": HLMC(arms=K, memory=M, horizon=T)},
            adversaries.Alternating(arms=K, memory=M),
            T,
            settings.runs,
            time_points(T, *phase_ends(6, B0, T)),
            levels={"HLMC": 2},
            cost=140.0,
        ),
        Part(
            "unshuffled",
            f"T = {T:,}, without the shuffle",
            {PLAIN_UCB: UCBM(arms=K, memory=M, shuffle=False), PLAIN_EXP: EXP3M(arms=K, memory=M, shuffle=False)},
            adversaries.Alternating(arms=K, memory=M),
            T,
            settings.runs,
            time_points(T, *phase_ends(6, B0, T)),
            cost=200.0,
        ),
    ]


def claims(results: Results, settings: Settings) -> list[Claim]:
    """The claims about Fig. 3."""
    result = results["all"]
    regret = {name: final(results[part.key], name) for part in parts(settings) for name in part.policies}
    advantage = "“The simulation results again verify the advantage of HLMC against UCB-M and EXP3-M.”"
    variance = "“The random shuffle step in UCB-M and EXP3-M introduces high variance.”"
    little = "“… with little improvement on the expected weak regret.”"
    hlmc = ("HLMC", regret["HLMC"])
    found = [
        less("HLMC below UCB-M", advantage, hlmc, (UCB, regret[UCB])),
        less("HLMC below EXP3-M", advantage, hlmc, (EXP, regret[EXP])).read(
            "Our choice of EXP3-M's parameters (reading 10)."
        ),
        linear("UCB-M's exponent is 1", "“UCB-M suffers a linear regret order in T”, even shuffled.", result, UCB, 6),
        linear("EXP3-M's exponent is 1", "EXP3-M too “still suffers significant regret”.", result, EXP, 6),
    ]
    hlmc_spread = spread(regret["HLMC"])
    for name, label in ((UCB, "UCB-M"), (EXP, "EXP3-M")):
        own = spread(regret[name])
        gap = Interval(hlmc_spread.estimate - own.estimate, hlmc_spread.low - own.high, hlmc_spread.high - own.low)
        found.append(
            at_most(
                f"{label} varies more than HLMC",
                variance,
                f"deviation over mean: HLMC {hlmc_spread.estimate:.3f}, {label} {own.estimate:.3f}; difference",
                gap,
                ("at most", 0.0),
            )
        )
    for name, plain, label in ((UCB, PLAIN_UCB, "UCB-M"), (EXP, PLAIN_EXP, "EXP3-M")):
        without = float(regret[plain].mean())
        gain = difference(regret[plain], regret[name])
        share = Interval(*(end / without for end in gain))
        found.append(
            at_most(
                f"The shuffle gains {label} little",
                little,
                f"fraction of {label}'s unshuffled regret that the shuffle saves",
                share,
                ("at most", LITTLE),
            )
        )
    limit = float(plotted_curve(result, 2)[1][-1])
    theorem = HLMC(arms=K, memory=M, horizon=settings.horizon).bound() or 0.0
    verifies = (
        "“The comparison between the theoretical upper bounds and the simulated results also verifies Theorem 1.”"
    )
    found += [
        at_most(
            "HLMC below its plotted curve", verifies, "HLMC", mean(hlmc[1]), ("2 T'^(3/4) K^(1/4) (ln K)^(1/2)", limit)
        ),
        at_most("HLMC below Theorem 1", "Theorem 1.", "HLMC", mean(hlmc[1]), ("bound", theorem)),
    ]
    return found


def pictures(results: Results, settings: Settings) -> list[Picture]:
    """Regret against time."""
    part = parts(settings)[0]
    return list(regret_pictures(NAME, part, results[part.key], f"{part.title}."))
