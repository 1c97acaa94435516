"""Experiment 1 (Fig. 2): weak regret when the arm that pays is always in the block that UCB-M holds next."""

from __future__ import annotations

from hlmc import EXP3, HLMC, UCBM, adversaries
from hlmc.paper.claims import Claim, all_of, at_most, exponent, fact, less, mean, spread, within
from hlmc.paper.drawing import plotted_curve, regret_pictures
from hlmc.paper.experiment import (
    Part,
    Picture,
    Results,
    Settings,
    curves,
    final,
    phase_ends,
    share_of_best,
    time_points,
)
from hlmc.simulation import Result

NAME = "weak-1"
TITLE = "Weak regret, experiment 1"
SOURCE = "Fig. 2"
TEXT = """\
K = 100 arms, M = 20. In each sub-phase one arm pays 1, the first of the block after the one that UCB-M holds; the
others pay 0. The text gives two numbers of sub-phases: h0 = 6 by its formula, ceil((K - 1)/(M - 1)), and h0 = 5 by its
remark that the best arm earns T/5. Both are run, and h0 = 5 also to the end of a phase, where that remark is exact.
UCB-M observes only zeros here, so its choices depend only on how ties are broken."""

K, M = 100, 20
TIES = "Ties are broken at random (reading 4); h0 = 6 (reading 1)."
FIVE = "h0 = 5 (reading 1)."
B0 = M * (M + 2)
LEVELS = {"HLMC": 2, "EXP3": 1}
UCB, SHUFFLED, FIRST = "UCB-M", "UCB-M shuffled", "UCB-M, first of ties"
SMALL = 0.10
"""A standard deviation of at most a tenth of the mean counts as a small error bar; the paper gives no number."""
LINEAR = (0.95, 1.05)
"""An exponent in this range counts as 1."""


def parts(settings: Settings) -> list[Part]:
    """h0 = 6 and 5 at the horizon, and 5 at the end of the last whole phase.

    With ties to the first slot UCB-M is deterministic, so two runs suffice.
    """
    T = settings.horizon
    ends = {h0: phase_ends(h0, B0, T) for h0 in (6, 5)}
    whole = ends[5][-1] if ends[5] else T
    return [
        Part(
            "six",
            f"h0 = 6, T = {T:,}",
            {
                UCB: UCBM(arms=K, memory=M, shuffle=False),
                "HLMC": HLMC(arms=K, memory=M, horizon=T),
                "EXP3": EXP3(arms=K, horizon=T),
                SHUFFLED: UCBM(arms=K, memory=M),
            },
            adversaries.BlockTrap(arms=K, memory=M),
            T,
            settings.runs,
            time_points(T, *ends[6]),
            levels=LEVELS,
            cost=150.0,
        ),
        Part(
            "ties",
            f"h0 = 6, T = {T:,}, ties to the first slot",
            {FIRST: UCBM(arms=K, memory=M, shuffle=False, ties="first")},
            adversaries.BlockTrap(arms=K, memory=M),
            T,
            min(2, settings.runs),
            time_points(T, *ends[6]),
            cost=270.0,
        ),
        Part(
            "five",
            f"h0 = 5, T = {T:,}",
            {
                UCB: UCBM(arms=K, memory=M, shuffle=False, subphases=5),
                "HLMC": HLMC(arms=K, memory=M, horizon=T),
                "EXP3": EXP3(arms=K, horizon=T),
            },
            adversaries.BlockTrap(arms=K, memory=M, subphases=5),
            T,
            settings.runs,
            time_points(T, *ends[5]),
            levels=LEVELS,
            cost=80.0,
        ),
        Part(
            "five-whole",
            f"h0 = 5, T = {whole:,}, the end of a phase",
            {"HLMC": HLMC(arms=K, memory=M, horizon=whole), "EXP3": EXP3(arms=K, horizon=whole)},
            adversaries.BlockTrap(arms=K, memory=M, subphases=5),
            whole,
            settings.runs,
            time_points(whole, *ends[5]),
            levels=LEVELS,
            cost=35.0,
        ),
    ]


def claims(results: Results, settings: Settings) -> list[Claim]:
    """The claims about Fig. 2."""
    six, five, whole = (results[key] for key in ("six", "five", "five-whole"))
    hlmc = ("HLMC", final(six, "HLMC"))
    exp3 = ("EXP3", final(six, "EXP3"))
    beats = "“HLMC outperforms the UCB-M policy under the constructed adversarial environment.”"
    best = "“The EXP3 algorithm achieves the best performance.”"
    found = [
        less("HLMC below UCB-M", beats, hlmc, (UCB, final(six, UCB))).read(TIES),
        less("HLMC below UCB-M, h0 = 5", beats, ("HLMC", final(five, "HLMC")), (UCB, final(five, UCB))).read(
            FIVE, printed=False
        ),
        less("HLMC below UCB-M, first of ties", beats, hlmc, (FIRST, final(results["ties"], FIRST))).read(
            "Ties go to the lowest slot (reading 4): arm 0 is carried over and gets the reward, in every run.",
            printed=False,
        ),
        less("HLMC below UCB-M, shuffled", beats, hlmc, (SHUFFLED, final(six, SHUFFLED))).read(
            "UCB-M shuffles its arms (reading 5); the paper's does not in this experiment.", printed=False
        ),
        at_most(
            "UCB-M earns almost nothing",
            "“Arms selected by UCB-M offer 0 reward at almost all time steps.”",
            "fraction of steps that pay",
            mean(six.data["reward"].sel(policy=UCB).isel(time=-1).values / settings.horizon),
            ("at most", 0.01),
        ).read(TIES),
        linear("UCB-M's exponent is 1", "“The weak regret of UCB-M is clearly linear in T.”", six, UCB, 6).read(TIES),
        at_most(
            "HLMC's error bars are small",
            "“The error bar indicates that the proposed learning policy is robust with low variance.”",
            "standard deviation over mean",
            spread(hlmc[1]),
            ("at most", SMALL),
        ),
        all_of("EXP3 is best", best, [less("", "", exp3, hlmc), less("", "", exp3, (UCB, final(six, UCB)))]),
        fact(
            "EXP3 needs K words",
            "“It requires Θ(K) memory size.”",
            EXP3(arms=K, horizon=10).words.statistics == K and HLMC(arms=K, memory=M, horizon=10).words.statistics <= M,
            f"EXP3 keeps {EXP3(arms=K, horizon=10).words.statistics} numbers, "
            f"HLMC {HLMC(arms=K, memory=M, horizon=10).words.statistics}",
        ),
    ]
    earned = "“The cumulative reward of the best arm is T/5.”"
    for key, result, reading in (("six", six, "h0 = 6 (reading 1)."), ("five-whole", whole, f"{FIVE} T ends a phase.")):
        share = share_of_best(result)
        close = abs(share - 0.2) < 0.001
        label = "The best arm earns T/5" + ("" if key == "six" else ", h0 = 5, whole phases")
        found.append(fact(label, earned, close, f"it earns {share:.4f} T").read(reading, key == "six"))
    order = "The plotted curves “verify that the expected weak regret of HLMC has the same order” as Theorem 1's bound."
    for policy, name in (("HLMC", "2 T'^(3/4) K^(1/4) (ln K)^(1/2)"), ("EXP3", "2 (T' K ln K)^(1/2)")):
        for key, result, reading in (
            ("six", six, "h0 = 6; T' is what the best arm earned (readings 1, 6, 7)."),
            ("five-whole", whole, "h0 = 5, T ends a phase; T' = T/5 (readings 1, 6, 7)."),
        ):
            limit = float(plotted_curve(result, LEVELS[policy])[1][-1])
            label = f"{policy} below its plotted curve" + ("" if key == "six" else ", h0 = 5, whole phases")
            regret = mean(final(result, policy))
            found.append(at_most(label, order, policy, regret, (name, limit)).read(reading, key == "six"))
    theorem = HLMC(arms=K, memory=M, horizon=settings.horizon).bound() or 0.0
    bound = ("(4 + 2√2) T^(3/4) K^(1/4) (ln K)^(1/2)", theorem)
    found.append(at_most("HLMC below Theorem 1", "Theorem 1.", "HLMC", mean(hlmc[1]), bound))
    return found


def linear(name: str, says: str, result: Result, policy: str, h0: int) -> Claim:
    """The claim that the regret at the ends of phases grows in proportion to t."""
    times, values = curves(result, policy)
    ends = [i for i, t in enumerate(times) if int(t) in phase_ends(h0, B0, int(times[-1]))]
    window = (float(times[-1]) / 200, float(times[-1]))
    fit = exponent(times[ends], values[:, ends], window)
    return within(name, says, "exponent of t at the ends of phases", fit, LINEAR)


def pictures(results: Results, settings: Settings) -> list[Picture]:
    """Regret against time, for each number of sub-phases."""
    return [
        picture
        for part in parts(settings)
        if part.key != "ties"
        for picture in regret_pictures(f"{NAME}-{part.key}", part, results[part.key], f"{part.title}.")
    ]
