"""Checks of arguments: whatever is given, one short line of ours says what is wrong."""

import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc import adversaries, bounds, checks, evaluation, games, planning, routines
from hlmc.errors import BadArgument, BadType, HLMCError, brief, shown
from hlmc.games import jammers
from hlmc.policies import CATALOGUE

MASKED = np.ma.masked_array([0.25, 0.5, 0.75], [0, 1, 0])


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


STRANGE = [
    10**400,
    -(10**400),
    10**5000,
    Fraction(10**400),
    float("nan"),
    float("inf"),
    "x" * 300_000,
    "\0",
    b"\0",
    1j,
    True,
    {},
    [10**400] * 3,
    MASKED,
    np.array([1.0, 2.0]),
    np.array(0.5),
    np.ma.masked,
    pd.NA,
    pd.Series([1.0, 2.0]),
    Unprintable(),
]
"""What a caller may give by mistake or out of malice."""

GIVEN: dict[str, Any] = {
    "arms": 10,
    "memory": 8,
    "horizon": 1000,
    "switches": 3,
    "means": (0.25, 0.5),
    "table": [[0.25, 0.5]],
    "delta": 0.05,
    "groups": 4,
    "levels": 2,
    "gamma": 0.1,
    "eta": 0.1,
    "children": 4,
    "steps": 100,
    "doubt": 0.1,
    "bits": 12,
    "delay": 5,
    "late": 0.1,
    "reward": lambda t, arm: 0.5,
}
OWN: dict[Any, dict[str, Any]] = {
    bounds.hierarchy: {"groups": (3, 4)},
    planning.epochs: {"groups": (3, 4)},
    planning.level_width: {"memory": 20},
    planning.partition: {"groups": (3, 4)},
    planning.sizes: {"groups": (3, 4)},
}


def sound(function: Callable[..., Any]) -> dict[str, Any]:
    """Arguments with which a call works: the defaults, and others where there are none or a tree needs its memory."""
    parameters = inspect.signature(function).parameters
    own = GIVEN | OWN.get(function, {})
    found = {name: own[name] if p.default is p.empty else p.default for name, p in parameters.items()}
    return found | ({"memory": 8, "horizon": 1000} if {"memory", "horizon"} <= set(found) else {})


def callables() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Everything that takes numbers from a user, by name, with arguments that it accepts."""
    values = [*CATALOGUE.values(), *adversaries.CATALOGUE, games.Spectrum, games.Routing, *jammers.JAMMERS.values()]
    values += [cls for cls in routines.CATALOGUE if cls is not routines.Custom]
    for cls in values:
        yield f"{cls.__module__}.{cls.__name__}", cls, sound(cls)
    planned = ("epochs", "partition", "sizes", "even_groups", "few_steps", "level_width")
    for module, names in ((bounds, bounds.__all__), (planning, planned)):
        for name in names:
            function = getattr(module, name)
            yield f"{module.__name__}.{name}", function, sound(function)
    exp3, needle = hlmc.EXP3(arms=3, horizon=100), adversaries.Needle(3)
    game = games.Spectrum(agents=5, channels=3)
    common = {"horizon": 10, "runs": 2, "seed": 0, "points": 2, "device": "cpu", "precision": None}
    quiet = {"progress": False, "executor": None}
    yield "simulate", lambda **k: hlmc.simulate(exp3, needle, **k), common | quiet | {"store": None}
    yield "estimate", lambda **k: hlmc.estimate(exp3, needle, **k), common | {"progress": False, "quantiles": (0.5,)}
    yield "play", lambda **k: hlmc.play(hlmc.UCB1(3), game, **k), common | quiet | {"threads": None, "occupancy": True}
    yield "start", exp3.start, {"seed": 0, "stream": 0}
    yield "bound", exp3.bound, {"horizon": 100}
    yield "derive_seed", hlmc.derive_seed, {"seed": 0}
    yield "reward", needle.reward, {"t": 0, "arm": 0}
    for one in (evaluation.t_interval, evaluation.mean_interval):
        yield one.__name__, one, {"samples": [1.0, 2.0], "level": 0.9, "axis": 0}
    yield "paired_ratio_interval", evaluation.paired_ratio_interval, {"a": [1.0, 2.0], "b": [3.0, 4.0], "level": 0.9}
    yield "t_quantile", evaluation.t_quantile, {"probability": 0.9, "freedom": 3}
    yield "best_fixed", lambda **k: evaluation.best_fixed(needle, **k), {"points": [5], "threads": None}
    yield "quantiles", evaluation.quantiles, {"samples": [1.0, 2.0], "probabilities": [0.5]}
    given = {"t": [1, 2, 4], "regret": [1.0, 2.0, 3.0], "window": (1, 4)}
    yield "fitted_exponent", evaluation.fitted_exponent, given
    judged = {"adversary": needle, "points": [5], "kind": "weak", "switches": None, "threads": 1, "force": False}
    yield "benchmark", evaluation.benchmark, judged
    yield "regret", evaluation.regret, judged | {"reward": [1.0]}
    yield "advise", hlmc.advice.advise, {"arms": 10, "memory": 8, "horizon": 1000, "switches": None}
    yield "game's regret", lambda **k: _played().regret(**k), {"kind": "agent"}
    yield "share", lambda **k: _played().share(**k), {"fact": "clear", "window": False}
    yield "plot_occupancy", lambda **k: _played().plot_occupancy(**k), {"ax": None, "policy": "UCB1", "run": 0}
    fleet = hlmc.EXP3(arms=3, horizon=100, pending=4).fleet(2)
    yield "tell", fleet.tell, {"tickets": fleet.ask(), "rewards": [0.5, 0.5]}
    yield "drop", fleet.drop, {"tickets": fleet.ask()}
    yield "trace", hlmc.trace, {"policy": exp3, "adversary": needle, "horizon": 10, "seed": 0, "stream": 0}
    yield "summary", lambda **k: _result().summary(**k), {"kind": "weak", "switches": None, "level": 0.95}


@cache
def _result() -> hlmc.Result:
    return hlmc.simulate(hlmc.EXP3(arms=3, horizon=100), adversaries.Needle(3), 10, runs=2, progress=False)


@cache
def _played() -> games.GameResult:
    return hlmc.play(hlmc.UCB1(3), games.Spectrum(agents=5, channels=3), 10, runs=2, points=2, progress=False)


def of_arena() -> tuple[Callable[..., Any], dict[str, Any]]:
    given = {"arms": [3], "horizons": [10], "memory": None, "kinds": "weak", "runs": 2, "seed": 0, "suite": "catalogue"}
    given |= {"store": None, "jobs": 1, "executor": None, "progress": False, "device": "cpu", "precision": None}
    given |= {"against": [], "adversaries": ["Needle"], "quick": False}
    return hlmc.arena, given


CALLS = {name: (function, given) for name, function, given in callables() if given} | {"arena": of_arena()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_given_gets_one_short_line_of_ours(name: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # a few of these are names of folders
    function, given = CALLS[name]
    function(**given)
    said = []
    for argument in given:
        for value in STRANGE:
            try:
                function(**{**given, argument: value})
            except (HLMCError, BadType) as error:
                said.append(str(error))
    assert said
    assert max(map(len, said)) < 500
    assert all(message.isprintable() for message in said)


def test_messages_are_cut_in_the_middle_and_have_one_line() -> None:
    message = brief("points must increase, not " + "1, " * 10**5 + "as they do")
    assert message.startswith("points must increase, not 1, 1, ")
    assert message.endswith("1, as they do")
    assert len(message) < 500
    assert len(brief("x" * 499)) == 499
    assert max(len(brief(mark * length)) for length in range(490, 510) for mark in ("x", "\x1b", "\ud800")) < 500
    assert str(BadArgument("two\n  lines")) == "two lines"
    assert str(BadType("x" * 10**6))[-5:] == "xxxxx"
    again = pickle.loads(pickle.dumps(BadArgument("y" * 10**6)))
    assert len(str(again)) < 500


def test_values_are_shown_short_whatever_their_repr_does() -> None:
    assert shown(10**400) == "a number of about 400 digits"
    assert shown(3) == "3"
    assert shown(Unprintable()) == "an object of type Unprintable"
    assert len(shown(list(range(10**5)))) < 250


@pytest.mark.parametrize(
    "call",
    [
        lambda: adversaries.Bernoulli(MASKED),
        lambda: adversaries.Trace(np.ma.masked_array([[0.25, 0.5]], [[0, 1]])),
        lambda: evaluation.t_interval(MASKED),
        lambda: evaluation.best_fixed(adversaries.Needle(3), np.ma.masked_array([1, 2], [0, 1])),
        lambda: hlmc.simulate(hlmc.UCB1(3), adversaries.Needle(3), 10, points=np.ma.masked_array([1, 2], [0, 1])),
    ],
)
def test_masked_arrays_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(BadType, match="must not be a masked array"):
        call()


def test_checks_take_what_they_should() -> None:
    assert checks.whole("arms", np.int64(3), 1) == 3
    assert checks.whole("arms", 1e6, 1) == 10**6
    assert checks.between("share", np.float64(0.5), 0.0, 1.0, "[0, 1]") == 0.5
    assert checks.between("share", Fraction(1, 2), 0.0, 1.0, "[0, 1]") == 0.5
    assert checks.seed(-5) == -5
    assert checks.wholes("groups", (n for n in (2, 3))) == (2, 3)
    assert checks.wholes("groups", []) == ()
    assert checks.listed("costs", (1, 2)) == [1, 2]


# --- Values -----------------------------------------------------------------------------------------------------------


def values() -> Iterator[Any]:
    for cls in (*CATALOGUE.values(), games.Spectrum, games.Routing, *jammers.JAMMERS.values(), *adversaries.CATALOGUE):
        if cls is not adversaries.Function:
            yield cls(**sound(cls))
    yield from (cls() for cls in routines.CATALOGUE if cls is not routines.Custom)


@pytest.mark.parametrize("value", list(values()), ids=repr)
def test_values_are_frozen_equal_to_their_pickle_and_print_as_the_call_that_makes_them(value: Any) -> None:
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert hash(again) == hash(value)
    assert repr(again) == repr(value)
    spaces = {**vars(adversaries), **vars(games), **vars(jammers), **vars(hlmc.policies), "routines": routines}
    assert eval(repr(value), spaces) == value
    with pytest.raises(AttributeError):
        setattr(value, fields(value)[0].name if fields(value) else "name", 3)


def test_a_forged_pickle_is_checked_like_a_call() -> None:
    for cls, state in ((hlmc.EXP3, {"arms": 0, "horizon": 10}), (games.Spectrum, {"agents": -1})):
        forged = cls.__new__(cls)
        with pytest.raises(BadArgument, match="must be a whole number of at least 1"):
            forged.__setstate__(state)


def test_the_first_of_many_that_is_no_policy_is_refused_at_once() -> None:
    """Nobody compares each of a long list with all others, or prints them, before it is known what they are."""

    class Counted:
        printed = 0

        def __repr__(self) -> str:
            Counted.printed += 1
            return "a thing"

    many = [hlmc.UCB1(3), *(Counted() for _ in range(1000))]
    with pytest.raises(BadType, match=r"policies must be a compiled policy .*, not a thing"):
        hlmc.simulate(many, adversaries.Needle(3), 10)
    with pytest.raises(BadType, match="policy must be a policy, not "):
        hlmc.trace(many, adversaries.Needle(3), 10)
    assert Counted.printed <= 1 + len(many)  # the list itself is printed once, where one policy was wanted


def test_tickets_can_come_from_an_iterator() -> None:
    fleet = hlmc.EXP3(arms=3, horizon=100, pending=4).fleet(2)
    tickets = [fleet[0].ask(), fleet[1].ask()]
    assert fleet.tell(iter(tickets), [1.0, 0.5]).tolist() == [0, 0]
    assert fleet.tell(tickets, [1.0, 0.5]).tolist() == [2, 2]
