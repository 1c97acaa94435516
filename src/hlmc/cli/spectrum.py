"""``hlmc spectrum``: radios with ten words of memory share channels under jamming, as in the paper."""

from __future__ import annotations

import argparse
import inspect
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlmc.cli.numbers import number, whole_number
from hlmc.cli.options import option, seed, switch
from hlmc.cli.output import Table, as_json, line, show, show_json
from hlmc.errors import BadArgument
from hlmc.spelling import plain

if TYPE_CHECKING:
    import pandas as pd

    from hlmc.games import GameResult
    from hlmc.policies.base import Policy

EXAMPLES = """\
examples:
  hlmc spectrum
  hlmc spectrum --agents 1000 --channels 20 --horizon 1e5 --runs 10 --out jamming.png
  hlmc spectrum --jammer reactive --policies hlmc,exp3,uniform
  hlmc spectrum --policies hlmc,hlmc+ucb-m --json
  hlmc spectrum --agents 1e6 --policies hlmc --runs 1 --device cuda

policies: hlmc, ucb-m, ucb-m-shuffled, exp3-m, exp3, ucb1, uniform and others
  Each policy has a population of its own; hlmc+ucb-m is one population, half of it hlmc and half ucb-m.
jammers: circulating, random, sweeping, reactive, crowd
"""

NAMES = {
    "UCBM": "UCB-M shuffled",
    "EXP3M": "EXP3-M",
    "EXP3P": "EXP3.P",
    "EXP3IX": "EXP3-IX",
    "TsallisINF": "Tsallis-INF",
}
"""Policies whose name differs from the name of their class."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog = EXAMPLES
    option(parser, "--agents", "N", "number of radios (default: 1000)", whole_number, 1000)
    option(parser, "--channels", "K", "number of channels (default: 20)", whole_number, 20)
    option(parser, "--horizon", "T", "number of steps (default: 20000)", whole_number, 20_000)
    option(parser, "--runs", "R", "independent runs (default: 5)", whole_number, 5)
    seed(parser)
    words = "memory per radio: words of statistics; for UCB-M, arms (default: 10)"
    option(parser, "--memory", "M", words, whole_number, 10)
    option(parser, "--jammer", "NAME", "the jammer (default: circulating)", default="circulating")
    moves = "steps between two moves of the jammer (circulating, random, crowd)"
    option(parser, "--period", "STEPS", moves, whole_number)
    option(parser, "--clear-reward", "X", "total payoff of a clear channel (default: 10)", number, 10.0)
    field = "policies to compare (default: the three of the paper)"
    option(parser, "--policies", "A,B,...", field, default="hlmc,ucb-m,ucb-m-shuffled")
    figure = "figure to write, .png, .svg or .pdf (default: spectrum.png; none with --json)"
    option(parser, "--out", "FILE", figure, Path)
    option(parser, "--device", "NAME", "cpu, or cuda for a GPU (default: cpu)", default="cpu")
    option(parser, "--precision", "NAME", "precision on a CUDA device: float32 or float64 (default: float32)")
    switch(parser, "--json", "print JSON")


def run(options: argparse.Namespace) -> int:
    """Run the game; print and draw the result."""
    from hlmc import games, plotting
    from hlmc.simulation import Interrupted

    out = options.out if options.out is not None or options.json else Path("spectrum.png")
    if out is not None:
        plotting.check_path(out)
    game = games.Spectrum(options.agents, options.channels, _jammer(options), clear_reward=options.clear_reward)
    populations = {}
    for text in options.policies.split(","):
        parts = [_policy(name, options) for name in text.split("+")]
        populations[" + ".join(name for name, _ in parts)] = {name: (policy, 1) for name, policy in parts}
    how = {"device": options.device, "precision": options.precision, "progress": False if options.json else None}
    results = {}
    for label, who in populations.items():
        try:
            results[label] = games.play(who, game, options.horizon, options.runs, options.seed, **how)
        except Interrupted as interrupt:
            kept = (
                "the table shows the finished runs; no file is written, and the same command starts from the beginning"
            )
            sys.stderr.write(f"hlmc spectrum: {interrupt} of {label}; {kept}\n")
            if interrupt.partial is not None:
                results[label] = interrupt.partial
            if results and not options.json:
                _show(results, game)
            return 130
    if out is not None:
        from hlmc.games.drawing import draw_all

        plotting.save(draw_all(results), out)
    if options.json:
        show_json(_as_dict(results, out))
        return 0
    _show(results, game)
    line()
    line(f"Drawn: {out}")
    return 0


def _jammer(options: argparse.Namespace) -> Any:
    from hlmc.games import jammers

    jammer = jammers.jammer(options.jammer)
    if options.period is None:
        return jammer
    if not hasattr(jammer, "period"):
        raise BadArgument(f"--period is for circulating, random and crowd, not for {options.jammer}")
    return type(jammer)(period=options.period)  # type: ignore[call-arg]


def _policies(options: argparse.Namespace) -> dict[str, Callable[[], Policy]]:
    """Constructors of the policies that need only arms, memory and steps, by their names in tables."""
    from hlmc.policies import CATALOGUE, UCBM

    given = {"arms": options.channels, "memory": options.memory, "horizon": options.horizon}
    known: dict[str, Callable[[], Policy]] = {}
    for name, cls in CATALOGUE.items():
        parameters = inspect.signature(cls).parameters.values()
        if all(p.name in given for p in parameters if p.default is p.empty):
            taken = {p.name: given[p.name] for p in parameters if p.name in given}
            known[NAMES.get(name, name)] = partial(cls, **taken)
    known["UCB-M"] = partial(UCBM, options.channels, options.memory, shuffle=False)
    return known


def _policy(text: str, options: argparse.Namespace) -> tuple[str, Policy]:
    """The policy for a name typed by the user, with its name in tables."""
    known = {plain(name): (name, make) for name, make in _policies(options).items()}
    if plain(text) not in known:
        names = ", ".join(_typed(name) for name, _ in known.values())
        raise BadArgument(f"--policies: there is no policy {text.strip()!r}; there are {names}")
    name, make = known[plain(text)]
    return name, make()


def _typed(name: str) -> str:
    return name.casefold().replace(" ", "-")


def _show(results: dict[str, GameResult], game: Any) -> None:
    first = next(iter(results.values()))
    facts = first.provenance["facts"]
    runs, steps = first.provenance["runs"], first.provenance["horizon"]
    line(f"{game!r}, {steps:,} steps, {runs} {'run' if runs == 1 else 'runs'}", style="bold")
    line()
    head = ("policy", "agents", "words", "bytes", "reward", "95 % interval", "fairness", *facts, "regret")
    table = Table(head, left=frozenset({0}))
    for label, result in results.items():
        mixed = len(result.policies) > 1
        for name, row in result.summary().iterrows():
            table.add(f"{label}: {name}" if mixed else label, *_cells(row, result, str(name), facts))
    show(table)
    line()
    if note := next(iter(results.values())).summary().note:
        line(note)
    line("reward and regret: per agent per step; fairness: Jain's index; clear and collision: fractions of all choices")


def _cells(row: pd.Series[Any], result: GameResult, name: str, facts: list[str]) -> list[str]:
    words = result.provenance["words_total"].get(name)
    return [
        f"{int(row['agents']):,}",
        "" if words is None else f"{int(row['words'])} + {words - int(row['words'])}",
        "" if words is None else f"{8 * words}",
        f"{row['reward']:.6f}",
        "" if math.isnan(row["low"]) else f"{row['low']:.6f} to {row['high']:.6f}",
        f"{row['fairness']:.3f}",
        *(f"{row[fact]:.4f}" for fact in facts),
        f"{row['regret']:.6f}",
    ]


def _as_dict(results: dict[str, GameResult], out: Path | None) -> dict[str, Any]:
    first = next(iter(results.values())).provenance
    played = []
    for label, result in results.items():
        rows = {str(name): as_json(row.to_dict()) for name, row in result.summary().iterrows()}
        reward = result.mean_reward()
        curves = {name: reward.sel(policy=name).mean("run").values.tolist() for name in result.policies}
        played.append(
            {"name": label, "policies": result.provenance["policies"], "summary": rows, "mean_reward": curves}
            | {"words_total": result.provenance["words_total"]}
        )
    return {
        **{key: first[key] for key in ("game", "horizon", "runs", "seed", "device", "precision", "versions")},
        "time": next(iter(results.values())).data["time"].values.tolist(),
        "populations": played,
        "picture": None if out is None else str(out),
    }
