"""Bad calls: every public callable, each of its arguments in turn replaced by what it cannot be.

A bad value may be accepted where it means something. Otherwise the refusal must be an error of ``hlmc.errors``, in one
line of fewer than 500 characters, and whatever was called must be as it was before.
"""

from __future__ import annotations

import decimal
import fractions
import inspect
import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hlmc
from attack.harness import LONGEST, Harm, Trial, attack, attempt, redirected
from attack.material import compiled
from hlmc import adversaries, advice, bounds, errors, evaluation, games, planning, routines
from hlmc.cli import main as command_line


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


BAD: list[Any] = [
    *(-1, 0, 1.5, -0.5, 2**63, 2**64, -(2**63), 10**400, -(10**400), True, False),
    *(float("nan"), float("inf"), float("-inf"), 5e-324, 1e308, 1j),
    *(np.float64("nan"), np.int64(-1), np.array([]), np.array([[0.5]]), np.array([np.nan]), np.array(["x"])),
    *(np.ma.masked, np.ma.array([0.5, 0.5], mask=[True, False]), np.array([None]), np.array([10**400])),
    *(decimal.Decimal("NaN"), decimal.Decimal("1e400"), fractions.Fraction(10**400), fractions.Fraction(1, 3)),
    *(None, "", "3", "x" * 100_000, "a\0b", "\ud800", b"x", bytearray(3), "a\nb"),
    *([], [[]], [None], [10**400], ["x"] * 1000, list(range(100_000)), (), (1, 2, 3), {}, {"a": 1}, {1: 2}, set()),
    *(object(), object, len, lambda: 0, range(3), iter([]), slice(1), Ellipsis, NotImplemented),
    # Whose comparisons are no truth values, whose length or iteration is an error although they have the method.
    *(np.array(0.5), np.array("x"), np.ma.array(0.5, mask=True), np.array([1, 2]), np.array(["weak", "x"])),
    *(np.zeros((2, 0)), np.datetime64("NaT"), pd.NA, pd.Series([0.5, 0.5]), pd.DataFrame({"a": [1, 2]})),
    *(Unprintable(), [object()] * 1000),
]

# What an argument of this name can be; a call that is refused although all are good is a mistake here.
GOOD: dict[str, Any] = {
    "arms": 9,
    "horizon": 1000,
    "memory": 6,
    "delta": 0.1,
    "switches": 3,
    "epochs": 10,
    "groups": 3,
    "levels": 2,
    "gamma": 0.1,
    "depth": 2,
    "children": 5,
    "means": (0.1, 0.5, 0.9),
    "reward": lambda t, arm: 0.5,
    "table": np.full((5, 3), 0.5),
    "given": "exp3",
    "name": "Needle",
    "steps": 20,
}
SPECIAL: dict[str, dict[str, Any]] = {
    "hlmc.HLMC": {"arms": 9, "memory": 6, "horizon": 1000},
    "bounds.hierarchy": {"horizon": 1000, "groups": (3, 3)},
    "planning.epochs": {"groups": (3, 3), "horizon": 1000},
    "planning.lengths": {"epochs": (10, 5)},
    "planning.partition": {"arms": 9, "groups": (3, 3)},
    "planning.sizes": {"arms": 9, "groups": (3, 3)},
    "adversaries.named": {"name": "Needle", "arms": 9},
}
# Records that the library fills in and users read; the last two are attacked as crafted objects.
RECORDS = "Guarantee Moments Policy Result Words Level Game GameResult Group Place Routine Custom Advice "
RECORDS += "Candidate Measured Adversary NotCompiled Ticket BadTicket CodedRoutine Learner Fleet"
LISTED = "simulate estimate play trace load load_result derive_seed arena"
PATHS = ("path", "file", "store", "table", "report")


@dataclass
class Case:
    """A call and one of its arguments; ``state`` gives what a refusal must leave as it is."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    argument: str
    state: Callable[[], Any] = lambda: None


def functions() -> list[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """The public functions and classes with good arguments, but for those that :func:`cases` lists.

    Not those of ``hlmc.testing``: they report by ``AssertionError``, as tests do.
    """
    found = []
    for module in (hlmc, adversaries, bounds, games, games.jammers, planning, routines, advice):
        for name in getattr(module, "__all__", ()):
            call = getattr(module, name)
            if not callable(call) or name in LISTED.split() or name in RECORDS.split() or inspect.ismodule(call):
                continue
            full = f"{module.__name__.rpartition('.')[2]}.{name}"
            good = SPECIAL.get(full)
            if good is None:
                needed = [p for p in inspect.signature(call).parameters.values() if p.default is p.empty]
                if any(p.name not in GOOD or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in needed):
                    continue
                good = {p.name: GOOD[p.name] for p in needed}
            found.append((full, call, good))
    return found


@cache
def objects() -> dict[str, Any]:
    """What has methods to call."""
    compiled()
    learner = hlmc.EXP3(arms=4, horizon=100).start()
    fleet = hlmc.EXP3(arms=4, horizon=100).fleet(size=5)
    learner.select()
    fleet.select()
    bernoulli = adversaries.Bernoulli([0.1, 0.2, 0.3, 0.9])
    result = hlmc.simulate(hlmc.EXP3(arms=4, horizon=50), bernoulli, runs=2, points=5, progress=False)
    game = games.Spectrum(agents=3, channels=4)
    match = game.match()
    match.open()
    moments = hlmc.estimate(hlmc.EXP3(arms=4, horizon=50), bernoulli, runs=2, points=5, progress=False, device="cpu")
    played = hlmc.play(hlmc.UCB1(arms=4), game, horizon=20, runs=2, points=4, progress=False)
    arena = hlmc.arena(against=[], adversaries="Needle", arms=16, horizons=50, runs=2, progress=False)
    late = hlmc.EXP3(arms=4, horizon=100, pending=8)
    asked, group = late.start(), late.fleet(size=5)
    asked.ask()
    folder = Path(tempfile.mkdtemp(prefix="hlmc-attack-"))
    learner.save(folder / "learner")
    result.save(folder / "result")
    played.save(folder / "played")
    arena.save(folder / "arena.parquet")
    found = {"learner": learner, "fleet": fleet, "adversary": bernoulli, "result": result, "match": match, "at": folder}
    found |= {"asked": asked, "ticket": asked.ask(), "group": group, "tickets": group.ask()}
    return found | {"game": game, "moments": moments, "played": played, "arena": arena}


def judging(adversary: Any) -> list[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """The functions of ``hlmc.evaluation`` with good arguments."""
    against = {"adversary": adversary, "points": [2, 5]}
    how = {"threads": 1, "force": False}
    samples = {"samples": [[0.1, 0.2], [0.3, 0.5], [0.9, 0.7]], "axis": 0}
    level = {"level": 0.9}
    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (evaluation.benchmark, {**against, "kind": "weak", "switches": None, **how}),
        (evaluation.regret, {**against, "reward": [1.0, 2.0], "kind": "weak", "switches": None, **how}),
        (evaluation.best_fixed, {**against, **how}),
        (evaluation.dynamic, {**against, **how}),
        (evaluation.best_switching, {**against, "horizon": 5, "switches": 2, **how}),
        (evaluation.cumulative, {**against, "arm": 0}),
        (evaluation.t_interval, {**samples, **level}),
        (evaluation.mean_interval, {**samples, **level}),
        (evaluation.quantile_interval, {**samples, **level, "probability": 0.5}),
        (evaluation.quantiles, {**samples, "probabilities": (0.5, 0.9)}),
        (evaluation.paired_ratio_interval, {"a": [1.0, 2.0], "b": [3.0, 4.0], **level, "axis": 0, "paired": True}),
        (evaluation.t_quantile, {"probability": 0.9, "freedom": 3}),
        (evaluation.fitted_exponent, {"t": [1, 2, 4, 8], "regret": [1.0, 1.5, 2.0, 3.0], "window": (1, 8)}),
    ]
    return [(f"evaluation.{call.__name__}", call, good) for call, good in calls]


@cache
def cases() -> list[Case]:
    """Every call with every argument."""
    known = objects()
    learner, fleet, result, bernoulli, at = (known[key] for key in ("learner", "fleet", "result", "adversary", "at"))
    played, arena, asked, group = (known[key] for key in ("played", "arena", "asked", "group"))
    policy = learner.policy
    experiment = {"policies": policy, "adversary": bernoulli, "horizon": 20, "runs": 1, "points": 2, "progress": False}
    game = {"policies": policy, "game": games.Spectrum(agents=3, channels=4), "horizon": 20, "runs": 1, "points": 2}
    calls = [
        *functions(),
        ("HLMC with groups", hlmc.HLMC, {"arms": 9, "groups": (3, 3), "horizon": 1000}),
        ("HLMC with levels", hlmc.HLMC, {"arms": 9, "levels": 2, "horizon": 1000}),
        ("simulate", hlmc.simulate, {**experiment, "seed": 0, "device": "cpu", "executor": None, "store": None}),
        (
            "estimate",
            hlmc.estimate,
            {**experiment, "runs": 2, "seed": 0, "quantiles": (0.5,), "device": "cpu", "precision": None},
        ),
        ("play", hlmc.play, {**game, "progress": False, "seed": 0, "threads": 1, "occupancy": True, "device": "cpu"}),
        ("trace", hlmc.trace, {"policy": policy, "adversary": bernoulli, "horizon": 20, "seed": 0, "stream": 0}),
        ("load", hlmc.load, {"path": at / "learner", "routines": None, "mapped": True}),
        ("load_result", hlmc.load_result, {"path": at / "result"}),
        ("games.load_result", games.load_result, {"path": at / "played"}),
        ("derive_seed", hlmc.derive_seed, {"seed": 1}),
        (
            "arena",
            hlmc.arena,
            {"arms": 16, "horizons": 50, "runs": 2, "progress": False, "adversaries": "Needle", "against": "EXP3"},
        ),
        ("policy.start", policy.start, {"seed": 0, "stream": 0}),
        ("policy.fleet", policy.fleet, {"size": 3, "seed": 0, "file": None}),
        ("policy.bound", policy.bound, {"horizon": 100, "switches": 1}),
        ("result.regret", result.regret, {"kind": "weak", "switches": None}),
        ("result.benchmark", result.benchmark, {"kind": "weak", "switches": None}),
        ("result.bound", result.bound, {"kind": "weak", "switches": None}),
        ("result.summary", result.summary, {"kind": "weak", "switches": None, "level": 0.9}),
        ("result.save", result.save, {"path": at / "again"}),
        ("adversary.reward", bernoulli.reward, {"t": 0, "arm": 0}),
        ("adversary.rewards", bernoulli.rewards, {"first": 0, "last": 3, "low": 0, "high": 2}),
        ("match.play", known["match"].play, {"choices": [0, 1, 2]}),
        ("Ticket.from_bytes", hlmc.Ticket.from_bytes, {"data": bytes(known["ticket"])}),
        ("Ticket.from_str", hlmc.Ticket.from_str, {"text": str(known["ticket"])}),
        ("policy.to_c", policy.to_c, {"name": "hlmc"}),
        ("learner.save", learner.save, {"path": at / "again"}),
        ("fleet.save", fleet.save, {"path": at / "again"}),
        ("fleet[]", fleet.__getitem__, {"i": 0}),
        ("Learner", hlmc.Learner, {"policy": policy, "row": learner.state}),
        ("Fleet", hlmc.Fleet, {"policy": policy, "rows": fleet.state}),
        ("result.plot", result.plot, {"kind": "weak", "switches": None, "log": False}),
        ("moments.regret", known["moments"].regret, {"kind": "weak", "switches": None, "level": 0.9}),
        ("moments.summary", known["moments"].summary, {"kind": "weak", "switches": None, "level": 0.9}),
        ("game.match", known["game"].match, {"seed": 0}),
        ("match.fact", known["match"].fact, {"name": "clear"}),
        ("played.fairness", played.fairness, {"whole": True}),
        ("played.mean_reward", played.mean_reward, {"window": True}),
        ("played.share", played.share, {"fact": "clear", "window": False}),
        ("played.regret", played.regret, {"kind": "agent"}),
        ("played.summary", played.summary, {"level": 0.9}),
        ("played.plot", played.plot, {"window": False}),
        ("played.plot_occupancy", played.plot_occupancy, {"policy": "UCB1", "run": 0}),
        ("played.save", played.save, {"path": at / "again"}),
        ("arena.kind", arena.kind, {"kind": "weak", "arms": 16, "horizon": 50}),
        ("arena.table", arena.table, {"kind": "weak", "arms": 16, "horizon": 50}),
        ("arena.plot", arena.plot, {"kind": "weak", "arms": 16, "horizon": 50}),
        ("arena.save", arena.save, {"path": at / "again.csv"}),
        ("arena.load", arena.load, {"path": at / "arena.parquet"}),
        *judging(bernoulli),
    ]
    stateful = [
        ("learner.update", learner.update, {"reward": 0.5}, lambda: learner.state.tobytes()),
        ("fleet.select", fleet.select, {"ids": [0, 1]}, lambda: fleet.state.tobytes()),
        ("fleet.update", fleet.update, {"rewards": [0.5], "ids": [0]}, lambda: fleet.state.tobytes()),
        ("learner.tell", asked.tell, {"ticket": known["ticket"], "reward": 0.5}, lambda: asked.state.tobytes()),
        ("learner.drop", asked.drop, {"ticket": known["ticket"]}, lambda: asked.state.tobytes()),
        ("fleet.ask", group.ask, {"ids": [0, 1]}, lambda: group.state.tobytes()),
        ("fleet.tell", group.tell, {"tickets": known["tickets"], "rewards": [0.5] * 5}, lambda: group.state.tobytes()),
        ("fleet.drop", group.drop, {"tickets": known["tickets"]}, lambda: group.state.tobytes()),
    ]
    found = [
        Case(name, call, good, argument) for name, call, good in calls for argument in (*good, *optional(call, good))
    ]
    found += [Case(*call, argument, state) for *call, state in stateful for argument in call[2]]
    return found


def optional(call: Callable[..., Any], good: dict[str, Any]) -> list[str]:
    """The arguments that a call may be given besides."""
    known = inspect.signature(call).parameters.values()
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in known if p.name not in good and p.kind not in skipped]


@cache
def order() -> list[tuple[Case, Any]]:
    """All bad calls, in an order that mixes them. The good ones are made once, so that all is compiled."""
    stateful = {case.name for case in cases() if case.state is not Case.state}
    for case in {case.name: case for case in cases() if case.name not in stateful}.values():
        called(case, case.good)
    # An arena that is told nothing plays everything, which is a legal call and takes a night.
    pairs = [(case, value) for case in cases() for value in BAD if case.name != "arena" or value is not None]
    random.Random(1).shuffle(pairs)
    return pairs


def called(case: Case, arguments: dict[str, Any]) -> Any:
    """Make the call; an argument that can only be given by its place comes first."""
    known = inspect.signature(case.call).parameters
    first = [arguments[name] for name, p in known.items() if p.kind is p.POSITIONAL_ONLY and name in arguments]
    rest = {
        n: v for n, v in arguments.items() if n not in known or known[n].kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    found = case.call(*first, **rest)
    return list(found) if inspect.isgenerator(found) else found


def shown(value: Any) -> str:
    text = errors.shown(value)
    text = f"{type(value).__name__} {text}" if isinstance(value, np.ndarray) else text
    return text if len(text) < 40 else f"{text[:30]}... ({len(text)} characters)"


@attack(short=1200, long=20_000, prepare=order, limit=20.0)
def bad_arguments(trial: Trial) -> None:
    """Make a call with one bad argument. Harm: an error that is not ours, a long message, a changed state."""
    case, value = order()[trial.number % len(order())]
    os.chdir(trial.folder)
    before = case.state()
    try:
        # Python's own TypeError says of a path what it is and what it should be.
        allowed = (OSError, TypeError) if case.argument in PATHS else ()
        # An index behaves as one of a list does.
        allowed = (IndexError, TypeError) if case.name == "fleet[]" else allowed
        _, refusal = attempt(lambda: called(case, {**case.good, case.argument: value}), *allowed)
    except Harm as harm:
        raise Harm(f"{case.name}({case.argument}={shown(value)}): {harm}") from None
    except Exception as error:
        text = " ".join(str(error).split())[:100]
        raise Harm(f"{case.name}({case.argument}={shown(value)}): {type(error).__name__}: {text}") from None
    if refusal is not None and case.state() != before:
        raise Harm(f"{case.name}({case.argument}={shown(value)}) was refused and has changed the state")


WORDS = [
    "plan",
    "simulate",
    "reproduce",
    "arena",
    "spectrum",
    "export",
    "--arms",
    "--memory",
    "--horizon",
    "--set",
    "-1",
]
WORDS += [
    "--json",
    "--quiet",
    "--jobs",
    "--seed",
    "--runs",
    "1e999",
    "nan",
    "-0",
    "10**400",
    "",
    "a\0b",
    "x" * 5000,
    "=",
    "9",
]
WORDS += [
    "--adversary",
    "--kinds",
    "--out",
    "--csv",
    "/dev/null/x",
    "--list",
    "--help",
    "--version",
    "\ud800",
    "a\nb",
    "1e400",
]


@attack(short=60, long=3000, prepare=objects, limit=30.0)
def bad_commands(trial: Trial) -> None:
    """Give the command line words at random, none of which asks for work. Harm: no exit status, no single line."""
    dice = trial.random
    words = [dice.choice(WORDS[:6]), *dice.choices(WORDS[6:], k=dice.randrange(1, 4))]
    if words[0] in ("reproduce", "arena", "spectrum"):
        words.append("--no-such-option")
    os.chdir(trial.folder)
    try:
        with redirected(trial.folder / "said", 2) as said:
            status = command_line(words)
    except BaseException as error:
        raise Harm(f"hlmc {' '.join(map(shown, words))}: {type(error).__name__}") from None
    text = said.read_bytes()
    if status not in (0, 1, 2) or (status and (text.count(b"\n") != 1 or len(text) > LONGEST)):
        raise Harm(f"hlmc {' '.join(map(shown, words))}: status {status}, {len(text)} bytes: {text[:60]!r}")
