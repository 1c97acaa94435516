"""Names as people type them: suggestions for those that are not there, and one spelling with the others accepted."""

import inspect
import pickle
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hlmc
from hlmc import adversaries, delays, games, routines
from hlmc.adversaries import CATALOGUE as ADVERSARIES
from hlmc.arenas import CASES, FULL, POLICIES
from hlmc.cli import main
from hlmc.cli.expression import policy_of
from hlmc.errors import BadArgument, BadType, shown
from hlmc.plotting import LOOKS
from hlmc.policies import CATALOGUE
from hlmc.spelling import plain, spelled, suggesting


@pytest.mark.parametrize(
    ("module", "typed", "meant"),
    [
        (hlmc, "Exp3", "EXP3"),
        (hlmc, "Tsallis_INF", "TsallisINF"),
        (hlmc, "simulat", "simulate"),
        (adversaries, "Neddle", "Needle"),
        (routines, "Exp3S", "EXP3S"),
        (delays, "uniform", "Uniform"),
        (games, "Spectrm", "Spectrum"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_the_one_that_was_meant(
    module: ModuleType, typed: str, meant: str
) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(module, typed)
    assert str(error.value) == f"module {module.__name__!r} has no attribute {typed!r}; did you mean {meant!r}?"
    assert not hasattr(module, "__nothing__")
    with pytest.raises(AttributeError, match=r"has no attribute 'zzzzzz'$"):
        module.zzzzzz  # noqa: B018


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: hlmc.HLMC(arms=100, mem=20), "HLMC has no argument 'mem'; did you mean 'memory'?"),  # type: ignore[call-arg]
        (lambda: hlmc.UCB1(arm=100), "UCB1 has no argument 'arm'; did you mean 'arms'?"),  # type: ignore[call-arg]
        (lambda: adversaries.Needle(arms=9, god=0.9), "Needle has no argument 'god'; did you mean 'good'?"),  # type: ignore[call-arg]
        (lambda: routines.EXP3(gama=0.1), "EXP3 has no argument 'gama'; did you mean 'gamma'?"),  # type: ignore[call-arg]
        (lambda: delays.Uniform(lo=0, high=1), "Uniform has no argument 'lo'; did you mean 'low'?"),  # type: ignore[call-arg]
        (lambda: games.Routing(agents=2, link=3), "Routing has no argument 'link'; did you mean 'links'?"),  # type: ignore[call-arg]
        (lambda: hlmc.simulate(None, None, rums=3), "simulate has no argument 'rums'; did you mean 'runs'?"),  # type: ignore[arg-type, call-arg]
        (lambda: hlmc.play(None, None, horizn=3), "play has no argument 'horizn'; did you mean 'horizon'?"),  # type: ignore[arg-type, call-arg]
        (lambda: hlmc.arena(polices=3), "arena has no argument 'polices'; did you mean 'policies'?"),  # type: ignore[call-arg]
        (lambda: hlmc.estimate(None, None, zzz=3), "estimate has no argument 'zzz'; there are policies, adversary, "),  # type: ignore[arg-type, call-arg]
    ],
)
def test_an_argument_that_is_not_there_is_answered_with_the_one_that_was_meant(call: Any, text: str) -> None:
    with pytest.raises(BadType) as error:
        call()
    assert str(error.value).startswith(text)


def test_whoever_suggests_keeps_its_signature_and_its_documentation() -> None:
    for function in (hlmc.arena, hlmc.simulate, hlmc.play, hlmc.estimate):
        parameters = inspect.signature(function).parameters
        assert "runs" in parameters
        assert "seed" in parameters
        assert "Parameters" in (inspect.getdoc(function) or "")
    assert next(iter(inspect.signature(hlmc.arena).parameters)) == "policies"
    assert list(inspect.signature(hlmc.UCBM).parameters)[:3] == ["arms", "memory", "shuffle"]
    policy = hlmc.UCBM(arms=9, memory=3)
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert replace(policy, memory=4).memory == 4
    with pytest.raises(TypeError, match="arms"):
        hlmc.UCBM()  # type: ignore[call-arg]


def test_a_function_may_be_called_as_before() -> None:
    @suggesting
    def add(one: int, *, two: int = 2) -> int:
        return one + two

    assert add(1) == add(one=1) == add(1, two=2) == 3
    with pytest.raises(BadType, match="add has no argument 'tw'; did you mean 'two'"):
        add(1, tw=2)  # type: ignore[call-arg]


# --- One spelling, the others accepted --------------------------------------------------------------------------------


def test_class_name_and_label_of_an_algorithm_differ_in_marks_alone() -> None:
    labels = {plain(name) for name in LOOKS} | {plain(name) for name in (*FULL, "UCB-M", "EXP3-M", "Uniform")}
    variants = {plain(name) for name in ("HLMC.S", "HLMC.P", "UCB-M shuffled")}
    assert labels - variants <= {plain(name) for name in CATALOGUE}
    inner = {plain(cls.name) for cls in routines.CATALOGUE}
    assert inner - {"exp3counted"} <= {plain(cls.__name__) for cls in routines.CATALOGUE}
    assert len({plain(name) for name in CATALOGUE}) == len(CATALOGUE)
    assert len({plain(name) for name in POLICIES}) == len(POLICIES)
    assert len({plain(cls.__name__) for cls in ADVERSARIES}) == len(ADVERSARIES)


@pytest.mark.parametrize("name", ["EXP3.S", "exp3s", "EXP3S", "Exp3 S"])
def test_a_routine_by_any_of_its_names(name: str) -> None:
    policy = hlmc.HLMC(arms=9, levels=2, horizon=90, routines=(name, "EXP3"))
    assert policy.plan.routines == ("exp3s", "exp3")
    assert policy == hlmc.HLMC(arms=9, levels=2, horizon=90, routines=["exp3s", "exp3"])
    assert "routines=('exp3s', 'exp3')" in repr(policy)


def test_the_routines_that_the_arena_names() -> None:
    reduced, weighted = (
        hlmc.HLMC(9, levels=2, routines=name).routines_used[0] for name in ("tsallis-rv", "tsallis-iw")
    )
    assert reduced == routines.TsallisINF()
    assert weighted == routines.TsallisINF(estimator="importance-weighted")
    with pytest.raises(BadArgument, match=r"there is no routine 'tsalis'; did you mean 'tsallis-inf'\?"):
        routines.routine("tsalis")
    with pytest.raises(BadArgument, match="there is no routine 'zzz'; there are contest, epsilon-greedy, exp3, "):
        routines.routine("zzz")


def test_the_arena_takes_any_spelling() -> None:
    result = hlmc.arena(
        against=["tsallis-inf", "ucb m"], adversaries="needle", arms=16, horizons=100, runs=2, progress=False
    )
    assert set(result.data["policy"]) == {"HLMC", "UCB-M", "Tsallis-INF"}
    assert set(result.data["adversary"]) == {"Needle"}
    with pytest.raises(
        BadArgument, match=r"against: there is no policy 'Campion' in the arena; did you mean 'Champion'\?"
    ):
        hlmc.arena(against="Campion")
    with pytest.raises(BadArgument, match=r"adversaries: there is no 'Neddle' in this suite; did you mean 'Needle'\?"):
        hlmc.arena(adversaries=["Neddle"])
    assert spelled("LATE bloomer", CASES) == "LateBloomer"


def test_expressions_and_experiments_take_any_spelling(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert policy_of("EXP3.S(arms=9, horizon=90)") == hlmc.EXP3S(arms=9, horizon=90)
    assert policy_of("ucbm(9, memory=3)") == hlmc.UCBM(9, memory=3)
    with pytest.raises(BadArgument, match=r"there is no policy 'Exp'; did you mean 'EXP3'\?"):
        policy_of("Exp(arms=9)")
    with pytest.raises(BadArgument, match=r"^HLMC has no argument 'mem'; did you mean 'memory'\?$"):
        policy_of("HLMC(arms=9, mem=6)")
    file = tmp_path / "e.toml"
    file.write_text(
        'horizon = 50\nruns = 1\n[adversary]\nname = "block-trap"\narms = 9\nmemory = 3\n'
        '[policies."EXP3.S"]\nswitches = 2\n[policies.UCB-M]\nmemory = 3\n'
    )
    assert main(["simulate", str(file), "--quiet", "--json"]) == 0
    assert '"EXP3S(arms=9, horizon=50, switches=2)"' in capsys.readouterr().out


# --- Values in messages -----------------------------------------------------------------------------------------------


def test_arrays_and_long_lists_are_described() -> None:
    assert shown(np.zeros((100, 7))) == "an array of shape (100, 7) of float64"
    assert shown(np.arange(3)) == "array([0, 1, 2])"
    assert shown(np.float64(0.5)) == "np.float64(0.5)"
    assert shown(pd.DataFrame(np.zeros((100, 2)))) == "a DataFrame of shape (100, 2)"
    assert shown(tuple(range(10**6))) == "a tuple of 1000000: (0, 1, 2, ...)"
    assert shown([[0] * 100] * 100).startswith("a list of 100: [a list of 100: [0, 0, 0, ...], ")
    with pytest.raises(BadType, match=r"^arms must be .*, not an array of shape \(1000, 3\) of float64$"):
        hlmc.UCB1(np.zeros((1000, 3)))  # type: ignore[arg-type]
