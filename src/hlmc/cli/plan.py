"""``hlmc plan``: a hierarchy for given arms, words and steps, its bound, and other trade-offs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

from hlmc import bounds, planning
from hlmc.advice import Advice, advise
from hlmc.cli.numbers import BadNumber, number, whole_number, whole_numbers
from hlmc.cli.options import option, switch
from hlmc.cli.output import Table, as_json, heading, line, product, show, show_json
from hlmc.cli.segments import segmented, shown
from hlmc.errors import BadArgument
from hlmc.policies.base import CONTINUE, STOP
from hlmc.policies.hierarchy import HLMC, UNKNOWN
from hlmc.policies.tree import SHOWN_STAGE
from hlmc.routines.coded import AUTO

EXAMPLES = """\
examples:
  hlmc plan --arms 1e6 --memory 2048 --horizon 1e8
  hlmc plan --arms 100 --groups 5,5,4 --horizon 1e7 --plot curve.png
  hlmc plan --arms 16 --levels 2 --horizon 1e6 --switches 10 --json

Whole numbers may be written 1000000, 1_000_000, 1e6 or 10**6.
"""

SHOWN = 4
"""Number of operating points shown on either side of the chosen one."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    option(parser, "--arms", "K", "number of arms", whole_number, required=True)
    tree = parser.add_mutually_exclusive_group(required=True)
    option(tree, "--memory", "M", "at most M words of statistics", whole_number)
    option(tree, "--levels", "D", "D even levels", whole_number)
    option(tree, "--groups", "N,N,...", "number of children at each level, top first", whole_numbers)
    option(parser, "--horizon", "T", "number of steps; omit it if unknown", whole_number)
    option(
        parser,
        "--bits",
        "B",
        'bits of a statistic, 4 to 32, or "auto": what is best in --memory (default: 64)',
        _bits,
        64,
    )
    routines = parser.add_mutually_exclusive_group()
    option(routines, "--delta", "P", "EXP3.P at every level: a bound that holds with probability 1 - P", number)
    changing = 'EXP3.S at the top level, for a best arm that changes; V constant pieces, or "unknown"'
    option(routines, "--switches", "V", changing, _switches)
    option(routines, "--routines", "A,B,...", "routine of each level, top first; or one for all levels", _names)
    option(parser, "--after", (STOP, CONTINUE), "what a learner does at the horizon (default: stop)", default=STOP)
    option(parser, "--pending", "W", "decisions that may await a reward (default: 0)", whole_number, 0)
    option(parser, "--delay", "D", "expected delay of a reward, in decisions (default: 0)", whole_number, 0)
    option(parser, "--segments", "N", "what a learner for each of N segments costs instead of one", whole_number)
    switch(parser, "--all", "show all operating points, not only the nearest")
    switch(parser, "--json", "print JSON")
    option(parser, "--plot", "FILE", "draw the bound against memory to a .png, .svg or .pdf file", Path)


def _switches(text: str) -> int | str:
    if text == UNKNOWN:
        return UNKNOWN
    try:
        return whole_number(text)
    except BadNumber as error:
        raise BadNumber(f'{error}, or as "unknown"') from error


def _bits(text: str) -> int | str:
    return AUTO if text == AUTO else whole_number(text)


def _names(text: str) -> tuple[str, ...] | str:
    names = tuple(name.strip() for name in text.split(","))
    return names if len(names) > 1 else names[0]


@dataclass(frozen=True)
class Point:
    """A trade-off between memory and regret. ``bound`` is None if none is proved."""

    levels: int
    groups: tuple[int, ...]
    words: int
    bytes: int
    bound: float | None
    chosen: bool


def points(policy: HLMC, memory: int) -> list[Point]:
    """The policy, and the same policy with other groups, ordered by depth and words."""
    # Words that hold codes are more than their number says: then only the hierarchies of every depth are shown.
    told = memory if policy.bits_used == 64 else None
    splits = {policy.groups_used, *planning.neighbours(policy.arms, policy.horizon, told)}
    variants = {v.groups_used: v for v in (_regrouped(policy, groups) for groups in splits)}
    found = [
        Point(
            levels=len(groups),
            groups=groups,
            words=variant.words.statistics,
            bytes=8 * variant.words.total,
            bound=_bound(variant),
            chosen=groups == policy.groups_used,
        )
        for groups, variant in variants.items()
    ]
    return sorted(found, key=lambda point: (point.levels, point.words, point.groups))


def _regrouped(policy: HLMC, groups: tuple[int, ...]) -> HLMC:
    """The same policy with other groups. Additional levels repeat the last routine; missing ones drop it."""
    routines = policy.routines
    if isinstance(routines, tuple):
        routines = (routines + routines[-1:] * len(groups))[: len(groups)]
    bits = policy.bits_used
    if isinstance(bits, tuple):
        bits = (bits + bits[-1:] * len(groups))[: len(groups)]
    return replace(policy, memory=None, levels=None, groups=groups, routines=routines, bits=bits)


def _plain(policy: HLMC) -> bool:
    """Whether every level runs EXP3, so that one formula bounds every depth."""
    paper = policy.delta is None and policy.switches is None and policy.routines is None
    return paper and policy.bits_used == 64


def _steps(policy: HLMC) -> int:
    """The horizon of the bounds: that of the policy, or the stage that its plan shows."""
    return policy.horizon or 2**SHOWN_STAGE


def _bound(policy: HLMC) -> float | None:
    if policy.horizon is not None and _plain(policy):
        return bounds.hierarchy(policy.horizon, policy.groups_used)
    return policy.bound(_steps(policy))


def is_vacuous(bound: float | None, horizon: int) -> bool:
    """Whether a bound is vacuous: rewards are in [0, 1], so the regret is at most T anyway."""
    return bound is not None and bound >= horizon


def formulas(arms: int, memory: int) -> dict[str, tuple[int, ...] | str]:
    """The groups chosen by each rule for M words, or the reason why there are none."""
    rules: dict[str, Callable[[int, int], tuple[int, ...]]] = {
        "printed": lambda K, M: planning.even_groups(K, planning.printed_depth(K, M)),
        "tight": lambda K, M: planning.tight_depth(K, M)[1],
        "two_level": planning.two_level_split,
    }
    found: dict[str, tuple[int, ...] | str] = {}
    for name, rule in rules.items():
        try:
            found[name] = tuple(n for n in rule(arms, memory) if n > 1) or (1,)
        except BadArgument as error:
            found[name] = str(error)
    return found


def run(options: argparse.Namespace) -> None:
    """Print or draw the plan."""
    if options.plot is not None:
        _check_plot(options)
    theirs = signature(HLMC).parameters
    policy = HLMC(**{name: value for name, value in vars(options).items() if name in theirs})
    memory = options.memory or sum(policy.groups_used)
    advice = advise(policy.arms, memory, policy.horizon, policy.switches) if policy.arms > 1 and memory > 1 else None
    parts = None if options.segments is None else segmented(policy, options.segments, _steps(policy), _bound)
    near = points(policy, memory)
    rules = formulas(policy.arms, memory)
    if options.plot is not None:
        from hlmc.cli.curve import draw
        from hlmc.plotting import save

        save(draw(policy, near, options.memory), options.plot)
    if options.json:
        found = _as_dict(policy, memory, near, rules) | {"advice": _advice_as_dict(advice)}
        show_json(found | ({} if parts is None else {"segments": asdict(parts)}))
        return
    if advice is not None:
        _show_advice(policy, memory, advice)
    _show_plan(policy)
    if parts is not None:
        heading(f"A learner for each of {parts.segments:,} segments")
        for each in shown(parts, _shown):
            line(each)
    _show_rules(memory, rules)
    _show_points(policy, near, options.all)
    if advice is not None:
        _show_measurements(advice)
    if options.plot is not None:
        line()
        line(f"Drawn: {options.plot}")


def _check_plot(options: argparse.Namespace) -> None:
    from hlmc.plotting import check_path

    check_path(options.plot)
    if options.horizon is None:
        raise BadArgument("--plot needs a horizon, such as --horizon 1e8")


def _as_dict(
    policy: HLMC, memory: int, near: Sequence[Point], rules: dict[str, tuple[int, ...] | str]
) -> dict[str, Any]:
    return {
        "plan": policy.plan.as_dict() | {"bytes": 8 * policy.words.total},
        "memory": memory,
        "bounds_at": _steps(policy),
        "rules": {
            name: None if isinstance(groups, str) else {"levels": len(groups), "groups": groups, "words": sum(groups)}
            for name, groups in rules.items()
        },
        "points": [asdict(point) | {"vacuous": is_vacuous(point.bound, _steps(policy))} for point in near],
    }


def _show_plan(policy: HLMC) -> None:
    plan = policy.plan
    names = list(dict.fromkeys(name for level in plan.levels for name in level.parameters))
    head = ("level", "routine", "children", "arms each", "choices", "steps each", "words", *names)
    table = Table(head, left=frozenset({1}))
    for level in plan.levels:
        counts = (level.children, level.size, level.choices, level.length, level.words)
        values = (f"{level.parameters[name]:.4g}" if name in level.parameters else "" for name in names)
        table.add(str(level.level), level.routine, *(f"{count:,}" for count in counts), *values)
    line("The paper's policy in these words, top level first:")
    line(plan.policy, style="bold")
    line()
    show(table)
    line()
    if plan.note:
        line(plan.note)
    for about in plan.awaiting():
        line(about)
    total = plan.statistics + plan.control
    line(f"words: {plan.statistics:,} statistics + {plan.control} control = {total:,}, {8 * total:,} bytes")
    T = _steps(policy)
    empty = f" (vacuous: at least T = {T:,})" if is_vacuous(plan.bound, T) else ""
    line(f"bound on the regret: {_shown(plan.bound)}{empty}")
    if policy.memory is not None and plan.statistics > policy.memory:
        line(f"These routines keep more than one word per child: {plan.statistics} words, not {policy.memory}.")


RULES = {
    "printed": "even levels, printed D*(M)",
    "tight": "fewest levels that fit",
    "two_level": "two levels, adaptive split",
}


def _show_rules(memory: int, rules: dict[str, tuple[int, ...] | str]) -> None:
    heading(f"Hierarchies by rule for M = {memory:,} words")
    table = Table(("rule", "levels", "words", "groups"), left=frozenset({0, 3}), fold=frozenset({3}))
    for name, groups in rules.items():
        if isinstance(groups, str):
            table.add(RULES[name], "none", "", "")
        else:
            table.add(RULES[name], str(len(groups)), f"{sum(groups):,}", product(groups))
    show(table)
    for why in rules.values():
        if isinstance(why, str):
            line(f"none: {why}")


def _show_points(policy: HLMC, near: list[Point], everything: bool) -> None:
    T = _steps(policy)
    orders = policy.horizon is None and _plain(policy)
    heading("Operating points" if orders else f"Operating points, bounds at T = {T:,}")
    at = next(i for i, point in enumerate(near) if point.chosen)
    shown = near if everything else near[max(0, at - SHOWN) : at + SHOWN + 1]
    last = "order of the regret" if orders else "bound"
    table = Table(("levels", "words", "bytes", last, "", "groups"), left=frozenset({4, 5}), fold=frozenset({5}))
    for point in shown:
        empty = not orders and is_vacuous(point.bound, T)
        table.add(
            str(point.levels),
            f"{point.words:,}",
            f"{point.bytes:,}",
            _order(point.levels) if orders else _shown(point.bound),
            ", ".join(["chosen"] * point.chosen + ["vacuous"] * empty),
            product(point.groups),
            style="bold" if point.chosen else "dim" if empty else "",
        )
    show(table)
    line()
    if not orders and any(is_vacuous(point.bound, T) for point in shown):
        line("vacuous: the bound is at least T.")
    if not orders and _plain(policy) and policy.bound() != _bound(policy):
        line("These bounds use one formula for all depths; the theorem above rounds it up.")
    if len(shown) < len(near):
        least = min(point.words for point in near)
        line(f"--all shows {len(near) - len(shown)} more, down to {least:,} words.")


def _show_advice(policy: HLMC, memory: int, advice: Advice) -> None:
    """The best policies that fit, and whether the measurements are for something else."""
    T = "unknown T" if policy.horizon is None else f"T = {policy.horizon:,} steps"
    line(f"Advice for K = {policy.arms:,} arms, M = {memory:,} words, {T}", style="bold")
    found = advice.lowest.measured
    line("Lowest measured regret:")
    line(f"  {advice.lowest.policy!r}")
    if isinstance(advice.lowest.policy, HLMC) and found.policy == "HLMC":
        line("  the policy that all ratios refer to")
    else:
        changing = "" if math.isnan(found.changes) else f" {_percent(found.changes)} if it changes,"
        line(f"  {_percent(found.stays)} of HLMC's regret if the best arm is fixed,{changing}")
        line(f"  {_percent(found.worst)} on the worst adversary")
    if advice.proved is not None:
        empty = " (vacuous: at least T)" if is_vacuous(advice.proved.bound, _steps(policy)) else ""
        line(f"Smallest bound, {_shown(advice.proved.bound)}{empty}:")
        line(f"  {advice.proved.policy!r}")
    if advice.far:
        line(f"This is far from what was measured, K = {advice.size[0]:,} and T = {advice.size[1]:,}. You have")
        for difference in advice.differences:
            line(f"  {difference}")
        line("The policies may rank differently.")
    line()


def _show_measurements(advice: Advice) -> None:
    """The measurements of all policies that fit."""
    K, T = advice.size
    heading(f"Policies: regret divided by HLMC's, measured at K = {K:,}, T = {T:,}")
    table = Table(("policy", "words", "fixed best arm", "changing", "worst", "against"), left=frozenset({0, 5}))
    for candidate in advice.candidates:
        found = candidate.measured
        words = f"{candidate.policy.words.statistics:,}"
        ratios = ("-" if math.isnan(x) else f"{x:.2g}" for x in (found.stays, found.changes, found.worst))
        style = "bold" if candidate is advice.lowest else ""
        table.add(found.policy, words, *ratios, found.adversary, style=style)
    show(table)
    line()
    runs = min(candidate.measured.runs for candidate in advice.candidates)
    words = f"{sum(planning.even_groups(K, 2)):,}"
    line(f"Medians by hlmc arena --arms {K} --horizon {T}: {words} words, {runs} runs.")


def _advice_as_dict(advice: Advice | None) -> dict[str, Any] | None:
    if advice is None:
        return None
    measured = ("runs", "stays", "changes", "worst", "adversary")
    return {
        "measured_at": dict(zip(("arms", "horizon"), advice.size, strict=True))
        | {"far": advice.far, "differences": advice.differences},
        "candidates": [
            {"policy": repr(c.policy), "words": c.policy.words.statistics, "bound": c.bound}
            | as_json({name: getattr(c.measured, name) for name in measured})
            for c in advice.candidates
        ],
    }


def _order(levels: int) -> str:
    """T^(1 - 1/2D) as a fraction."""
    return f"T^({2 * levels - 1}/{2 * levels})"


def _percent(ratio: float) -> str:
    """A ratio with two digits.

    >>> _percent(0.032), _percent(1.07), _percent(12.34)
    ('3.2 %', '110 %', '1,200 %')
    """
    return f"{float(f'{100 * ratio:.2g}'):,.12g} %"


def _shown(bound: float | None) -> str:
    return "none proved" if bound is None else f"{bound:,.0f}"
