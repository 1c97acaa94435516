"""Theorems that the paper does not plot: orders in T and K, high probability, unknown V, unknown T, words."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hlmc import EXP3P, HLMC, Policy, adversaries, bounds, planning, plotting
from hlmc.adversaries import Adversary
from hlmc.evaluation import Interval, fitted_exponent, quantile_interval
from hlmc.paper.claims import Claim, Verdict, all_of, at_most, exponent, fact, less, mean
from hlmc.paper.drawing import draw_regret, draw_sizes
from hlmc.paper.experiment import Part, Picture, Results, Settings, Table, final, time_points
from hlmc.paper.tables import number, plus_minus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hlmc.simulation import Result

NAME = "theorems"
TITLE = "Theorems that the paper does not plot"
SOURCE = "Theorems 1 to 5"
TEXT = """\
Orders are measured over horizons and numbers of arms, with a policy constructed for each size. One arm pays 1 and the
others 0, so the regret is the cost of exploration. Unknown T (doubling) uses the same rewards; high probability
(Theorem 2) those of experiment 1, unknown V (Theorem 4) those of experiment 3."""

K = 100
DEPTHS = (1, 2, 3, 4)
DECADES = 3
ARMS = (16, 64, 256, 1024, 4096)
DELTAS = (0.2, 0.05, 0.01)
PROBABLE_HORIZON = 10**5
PROBABLE_RUNS = 20
"""Factor for the number of runs: a quantile needs more runs than a mean."""
V = 10


def horizons(settings: Settings) -> list[int]:
    """Horizons from a thousandth of the longest one to the longest, two per decade."""
    steps = settings.horizon / 10.0 ** (np.arange(2 * DECADES, -1, -1) / 2)
    return list(dict.fromkeys(max(100, int(t)) for t in np.rint(steps)))


def _one_arm(arms: int, horizon: int) -> adversaries.Shifting:
    """Arm 0 pays 1 and the others 0: experiment 3 with a single phase."""
    return adversaries.Shifting(arms=arms, horizon=horizon, phases=1)


def _depth(D: int) -> str:
    return f"D = {D}"


def _delta(delta: float) -> str:
    return f"HLMC, δ = {delta:g}"


def parts(settings: Settings) -> list[Part]:
    """Sizes in T and in K, then one experiment for each of the other statements."""
    runs, T = settings.runs, settings.scaled(10**6, least=1000)
    probable = settings.scaled(PROBABLE_HORIZON, least=1000)
    longest = settings.horizon

    def at(T: int, key: str, title: str, policies: dict[str, Policy], adversary: Adversary, **more: Any) -> Part:
        """An experiment of T steps that is looked at its end."""
        settled: dict[str, Any] = {"runs": runs, "points": (T,)} | more
        return Part(key, title, policies, adversary, T, **settled)

    def hlmc(T: int | None, arms: int = K, levels: int = 2, **more: Any) -> HLMC:
        return HLMC(arms=arms, levels=levels, horizon=T, **more)

    def depths(T: int) -> dict[str, Policy]:
        """HLMC with each number of levels."""
        return {_depth(D): hlmc(T, levels=D) for D in DEPTHS}

    def changing(T: int) -> dict[str, Policy]:
        """HLMC.S with V known and unknown."""
        return {"HLMC.S": hlmc(T, 16, switches=V), "HLMC.S, V unknown": hlmc(T, 16, switches="unknown")}

    def shifting(T: int, key: str, title: str, policies: dict[str, Policy]) -> Part:
        """An experiment in shifting regret."""
        adversary = adversaries.Shifting(arms=16, horizon=T, phases=V)
        return at(T, key, title, policies, adversary, kind="shifting", switches=V)

    return [
        *(
            at(
                t,
                f"horizon-{t}",
                f"T = {t:,}",
                {_depth(D): hlmc(t, levels=D) for D in DEPTHS},
                _one_arm(K, t),
                cost=30.0,
            )
            for t in horizons(settings)
        ),
        *(at(T, f"arms-{k}", f"K = {k:,}", {"D = 2": hlmc(T, k)}, _one_arm(k, T), cost=40.0) for k in ARMS),
        at(
            probable,
            "probable",
            f"Theorem 2, T = {probable:,}",
            {
                **{_delta(d): hlmc(probable, delta=d) for d in DELTAS},
                "EXP3.P, δ = 0.05": EXP3P(arms=K, horizon=probable, delta=0.05),
                "HLMC": hlmc(probable),
            },
            adversaries.BlockTrap(arms=K, memory=20),
            runs=runs * PROBABLE_RUNS,
            cost=200.0,
        ),
        shifting(T, "unknown-v", f"Theorem 4, T = {T:,}, V = {V}", changing(T) | {"HLMC": hlmc(T, 16)}),
        *(shifting(t, f"switching-{t}", f"V = {V}, T = {t:,}", changing(t)) for t in horizons(settings)[:-1]),
        at(
            longest,
            "doubling",
            f"Unknown T, until T = {longest:,}",
            {"HLMC": hlmc(longest), "HLMC, T unknown": hlmc(None)},
            _one_arm(K, longest),
            points=time_points(longest),
            cost=32.0,
        ),
    ]


def _over_horizons(results: Results, settings: Settings, policy: str, prefix: str) -> tuple[list[int], np.ndarray]:
    """Horizons, and final regrets [run, horizon]."""
    chosen = [t for t in horizons(settings) if f"{prefix}-{t}" in results]
    shifting = prefix == "switching"
    finals = [
        final(results[f"{prefix}-{t}"], policy, "shifting" if shifting else "weak", V if shifting else None)
        for t in chosen
    ]
    return chosen, np.stack(finals, axis=1)


def _over_arms(results: Results) -> np.ndarray:
    return np.stack([final(results[f"arms-{k}"], "D = 2") for k in ARMS], axis=1)


def _rate(results: Results, settings: Settings, D: int) -> Interval:
    times, finals = _over_horizons(results, settings, _depth(D), "horizon")
    return exponent(times, finals, (times[0], times[-1]))


def _unsaturated(results: Results, horizon: int) -> tuple[int, ...]:
    """The numbers of arms with a regret below three quarters of the horizon; at least three."""
    lost = _over_arms(results).mean(axis=0) / horizon
    return ARMS[: max(3, int((lost < 0.75).sum()))]


def _promised_in_arms(horizon: int, arms: tuple[int, ...]) -> float:
    """The exponent of K in Theorem 1's bound, its logarithm included, fitted over these numbers of arms."""
    return fitted_exponent(arms, [bounds.theorem_1(horizon, k) for k in arms], (arms[0], arms[-1])).exponent


def claims(results: Results, settings: Settings) -> list[Claim]:
    """The claims of the theorems that a simulation can contradict."""
    found = [_order(results, settings, D) for D in DEPTHS]
    found.append(_below_bounds(results, settings))
    T = settings.scaled(10**6, least=1000)
    fitted = _unsaturated(results, T)
    in_arms = at_most(
        "Exponent in K, D = 2",
        "Theorem 1: regret of the order of K^(1/4) (ln K)^(1/2).",
        "exponent",
        exponent(fitted, _over_arms(results)[:, : len(fitted)], (fitted[0], fitted[-1])),
        ("the bound's own over the same K", _promised_in_arms(T, fitted)),
    )
    reading = f"Fitted over K = {fitted[0]} to {fitted[-1]}; with more arms the regret is close to T = {T:,}."
    found.append(in_arms.read(reading))
    found += _probable(results)
    found += _unknown_v(results, settings)
    known, unknown = (final(results["doubling"], name) for name in ("HLMC", "HLMC, T unknown"))
    most = 1 / (1 - 2**-0.75)
    ratio = mean(unknown / known.mean())
    found.append(
        at_most(
            "Doubling keeps the order",
            "With unknown T and stages of 2^r steps “the same regret order still holds”.",
            "regret divided by that with T known",
            ratio,
            ("the factor for doubling at exponent 3/4", most),
        )
    )
    words = all(
        HLMC(arms=k, levels=D, horizon=10**6).words.statistics <= D * planning.ceil_root(k, D)
        for k in WORDS_ARMS
        for D in DEPTHS
    )
    found.append(
        fact(
            "Words against K",
            "D levels take no more than D ⌈K^(1/D)⌉ words.",
            words,
            ", ".join(f"D = {D}: {HLMC(arms=10**9, levels=D, horizon=10**6).words.statistics:,}" for D in DEPTHS[1:])
            + " words for a billion arms",
        )
    )
    return found


WORDS_ARMS = tuple(10**e for e in range(1, 10))


def _order(results: Results, settings: Settings, D: int) -> Claim:
    """The claim that the exponent is at most that of the bound.

    The order is visible only if the bound is below T; and the theorem proves the bound, not the slope.
    """
    fit = _rate(results, settings, D)
    promised = 1 - 1 / (2 * D)
    T = horizons(settings)[0]
    bound = HLMC(arms=K, levels=D, horizon=T).bound() or math.inf
    claim = at_most(
        f"Exponent in T, {_depth(D)}",
        f"Corollary 2: with D = {D}, regret of the order of T^{promised:.4g}, up to logarithms.",
        "exponent",
        fit,
        ("exponent of the bound", promised),
    )
    if claim.verdict is Verdict.HOLDS or bound < T:
        return claim
    why = f"At T = {T:,} the bound, {bound:,.0f}, is vacuous: larger than T. A larger exponent does not contradict it."
    return replace(claim, verdict=Verdict.UNDECIDED, reading=why)


def _below_bounds(results: Results, settings: Settings) -> Claim:
    """The claim that the mean regret is below the bound at every horizon and depth."""
    checks = []
    for D in DEPTHS:
        times, finals = _over_horizons(results, settings, _depth(D), "horizon")
        shares = [finals[:, i] / (HLMC(arms=K, levels=D, horizon=t).bound() or math.inf) for i, t in enumerate(times)]
        largest = max(map(mean, shares), key=lambda share: share.estimate)
        checks.append(at_most("", "", f"{_depth(D)}, largest fraction of the bound", largest, ("at most", 1.0)))
    return all_of(
        "Below the bounds at every horizon", "Lemma 3, Theorem 1, Theorem 5 and their pattern for D = 4.", checks
    )


def _probable(results: Results) -> list[Claim]:
    """The claims of Theorem 2 about HLMC, and of Lemma 4 about EXP3.P, whose bound is not vacuous."""
    result = results["probable"]
    T = int(result.data["time"][-1])
    # With too few runs the upper end of the quantile is infinite, but the regret is at most the reward of the best arm.
    most = float(result.data["best_fixed"].isel(time=-1))

    def below(claim: str, says: str, policy: str, delta: float, bound: float) -> Claim:
        regret = final(result, policy)
        quantile = quantile_interval(regret, 1 - delta)
        interval = Interval(quantile.estimate, quantile.low, min(quantile.high, most))
        what = f"{int((regret > bound).sum())} of {len(regret)} runs above; the {1 - delta:g} quantile is"
        return _vacuous(at_most(f"{claim} at δ = {delta:g}", says, what, interval, ("bound", bound)), bound, T)

    says = "With probability at least {:g} regret stays below 12.5 T^(3/4) K^(1/4) (ln(2KT/δ))^(1/2)."
    found = [below("Theorem 2", says.format(1 - d), _delta(d), d, bounds.theorem_2(T, K, d)) for d in DELTAS]
    says = "EXP3.P on all arms: with probability at least 0.95 regret stays below 5.15 (K T ln(K/δ))^(1/2)."
    return [*found, below("Lemma 4", says, "EXP3.P, δ = 0.05", 0.05, bounds.lemma_4(T, K, 0.05))]


def _vacuous(claim: Claim, bound: float, T: int) -> Claim:
    """The claim; with a remark if its bound is vacuous."""
    return claim.read("The bound is vacuous here (larger than T): no run can contradict it.") if bound > T else claim


def _unknown_v(results: Results, settings: Settings) -> list[Claim]:
    result = results["unknown-v"]
    T = int(result.data["time"][-1])
    known, unknown, weak = (final(result, name, "shifting", V) for name in ("HLMC.S", "HLMC.S, V unknown", "HLMC"))
    bound = bounds.theorem_4(T, 16, V)
    sublinear = []
    for name in ("HLMC.S", "HLMC.S, V unknown"):
        times, finals = _over_horizons(results, settings, name, "switching")
        fit = exponent(times, finals, (times[0], times[-1]))
        sublinear.append(at_most("", "", f"{name}: exponent in T", fit, ("below", 1.0)))
    says = "Regret with V unknown stays below √2 (V + 5) T^(3/4) K^(1/4) (ln KT)^(1/2)."
    return [
        _vacuous(at_most("Theorem 4", says, "regret", mean(unknown), ("bound", bound)), bound, T),
        less(
            "HLMC.S with unknown V below HLMC",
            "EXP3.S over the groups helps even if V is unknown.",
            ("V unknown", unknown),
            ("HLMC", weak),
        ),
        less("Known V below unknown V", "Theorem 3 against Theorem 4.", ("V known", known), ("V unknown", unknown)),
        all_of(
            "Shifting regret is sublinear", "“HLMC achieves a sublinear scaling of shifting regret in T.”", sublinear
        ),
    ]


def tables(results: Results, settings: Settings) -> list[Table]:
    """Tables: orders, high probability, unknown V and T."""
    times = horizons(settings)
    orders = []
    for D in DEPTHS:
        _, finals = _over_horizons(results, settings, _depth(D), "horizon")
        orders.append(
            (
                _depth(D),
                f"{HLMC(arms=K, levels=D, horizon=times[-1]).words.statistics}",
                plus_minus(mean(finals[:, -1])),
                plus_minus(_rate(results, settings, D), 3),
                f"{1 - 1 / (2 * D):.3f}",
                number(HLMC(arms=K, levels=D, horizon=times[-1]).bound() or math.nan),
                number(results[f"horizon-{times[-1]}"].nanoseconds.get(_depth(D), math.nan)),
            )
        )
    head = (
        "levels",
        "words",
        f"regret at T = {times[-1]:,}",
        "exponent in T",
        "promised",
        "theorem's bound",
        "ns per step",
    )
    result = results["probable"]
    T = int(result.data["time"][-1])
    probable = []
    for name in result.policies:
        regret = final(result, name)
        bound = float(result.data["bound"].sel(policy=name).isel(time=-1))
        cells = [number(float(q)) for q in np.quantile(regret, [0.5, 0.95, 0.99])]
        words = f"{result.provenance['words'][name]}"
        probable.append((name, words, plus_minus(mean(regret)), *cells, number(float(regret.max())), number(bound)))
    not_known = [
        (name, f"{results[key].provenance['words'][name]}", plus_minus(mean(final(results[key], name, kind, switches))))
        for key, kind, switches in (("unknown-v", "shifting", V), ("doubling", "weak", None))
        for name in results[key].policies
    ]
    rows = [
        (name if i < 3 else f"{name}, one good arm", words, value) for i, (name, words, value) in enumerate(not_known)
    ]
    return [
        Table(
            f"Orders, K = {K}, one good arm", head, tuple(orders), f"Exponents over T = {times[0]:,} to {times[-1]:,}."
        ),
        Table(
            f"Distribution of the regret over {result.data.sizes['run']} runs, experiment 1, T = {T:,}",
            ("policy", "words", "mean", "median", "0.95 quantile", "0.99 quantile", "largest", "theorem's bound"),
            tuple(probable),
        ),
        Table(
            "V or T unknown",
            ("policy", "words", "final regret"),
            tuple(rows),
            "The first three: shifting regret, experiment 3.",
        ),
    ]


def pictures(results: Results, settings: Settings) -> list[Picture]:
    """Regret against T, against K, its distribution, and words against K."""
    series = {_depth(D): _over_horizons(results, settings, _depth(D), "horizon") for D in DEPTHS}
    guides = {}
    for D, (times, finals) in zip(DEPTHS, series.values(), strict=True):
        last = finals[:, -1].mean()
        guides[f"{_depth(D)}, slope {1 - 1 / (2 * D):.3g}"] = (
            [times[0], times[-1]],
            [last * (times[0] / times[-1]) ** (1 - 1 / (2 * D)), last],
        )
    arms = {"D = 2": (ARMS, _over_arms(results))}
    doubling = next(part for part in parts(settings) if part.key == "doubling")
    return [
        Picture(
            f"{NAME}-horizon",
            "Regret against the horizon; each policy is constructed for its horizon. Dashed: the exponents of "
            "the bounds, through the last point.",
            partial(draw_sizes, series, ("horizon T", "weak regret at T"), "Regret against the horizon", guides),
        ),
        Picture(
            f"{NAME}-arms",
            "Regret of two levels against the number of arms. Dashed: the shape of Theorem 1's bound, through "
            "the first point.",
            partial(
                draw_sizes,
                arms,
                ("arms K", "weak regret at T"),
                "Regret against the number of arms",
                {"D = 2, bound's shape": _bound_shape(results, settings)},
            ),
        ),
        Picture(
            f"{NAME}-probable",
            "Fraction of runs whose regret exceeds a value, experiment 1.",
            partial(_draw_tails, results["probable"]),
        ),
        Picture(
            f"{NAME}-words",
            "Words of statistics against the number of arms.",
            partial(
                draw_sizes,
                {
                    _depth(D): (
                        WORDS_ARMS,
                        [[HLMC(arms=k, levels=D, horizon=10**6).words.statistics for k in WORDS_ARMS]],
                    )
                    for D in DEPTHS
                },
                ("arms K", "words"),
                "Words against the number of arms",
            ),
        ),
        Picture(
            f"{NAME}-doubling",
            "Regret against time with T known and unknown, one good arm.",
            partial(draw_regret, doubling, results["doubling"], log=False),
        ),
    ]


def _bound_shape(results: Results, settings: Settings) -> tuple[list[float], list[float]]:
    T = settings.scaled(10**6, least=1000)
    shape = np.array([bounds.theorem_1(T, k) for k in ARMS])
    return list(map(float, ARMS)), list(map(float, shape / shape[0] * _over_arms(results)[:, 0].mean()))


def _draw_tails(result: Result) -> Figure:
    names = result.policies
    looks = plotting.looks(names)
    with plotting.style():
        figure = plotting.figure(7.4, 4.0)
        ax = figure.subplots()
        for name in names:
            regret = np.sort(final(result, name))
            share = 1.0 - np.arange(1, len(regret) + 1) / len(regret)
            ax.step(regret, share, where="post", label=name, **looks[name].line())
        ax.set_xlabel("weak regret at T")
        ax.set_ylabel("fraction of runs above")
        ax.set_ylim(0.0, 1.0)
        plotting.short_ticks(ax.xaxis)
        plotting.legend(ax)
        plotting.title(ax, f"Tails of the regret in {result.reward.sizes['run']} runs")
    return figure
