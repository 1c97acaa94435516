"""The conformance suite over the whole catalogue, compiled and interpreted; and that the suite can fail."""

import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hlmc
from hlmc.policies import CATALOGUE, EXAMPLES
from hlmc.routines import CATALOGUE as ROUTINES
from hlmc.routines import Custom, LevelContext
from hlmc.testing import check_policy

# --- The catalogue ------------------------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_every_policy_conforms(policy: hlmc.Policy) -> None:
    check_policy(policy)


def test_every_policy_has_an_example() -> None:
    assert {type(policy) for policy in EXAMPLES} == set(CATALOGUE.values())
    assert all(CATALOGUE[cls.__name__] is cls for cls in map(type, EXAMPLES))


@pytest.mark.parametrize("name", sorted({cls.name for cls in ROUTINES if cls is not Custom}))
def test_every_routine_can_stand_at_every_level(name: str) -> None:
    policy = hlmc.HLMC(arms=23, groups=(5, 5), horizon=120, epochs=(15, 8), routines=(name, name))
    check_policy(policy)


PLAYED = """
import hashlib, json
from hlmc.policies import EXAMPLES

found = []
for policy in EXAMPLES:
    learner = policy.start(seed=3)
    arms = []
    for t in range(min(policy.limit or 120, 120)):
        arms.append(learner.select())
        learner.update((7 * t + 3 * arms[-1]) % 11 / 10)
    found.append([repr(policy), arms, hashlib.sha256(learner.state.tobytes()).hexdigest()])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_interpreter_and_compiler_reach_the_same_state_bit_for_bit() -> None:
    found = []
    for jit in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", PLAYED],
            env={**os.environ, "HLMC_JIT": jit},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    for interpreted, compiled in zip(*found, strict=True):
        assert interpreted == compiled


# --- Routines of the user's own -----------------------------------------------------------------------------


def start(words, n, parameters):
    for j in range(n):
        words[j] = 1.0


def select(words, n, parameters, tau, u):
    total = 0.0
    for j in range(n):
        total += words[j]
    x = u * total
    for j in range(n - 1):
        x -= words[j]
        if x < 0.0:
            return j
    return n - 1


def chance(words, n, parameters, tau, slot):
    total = 0.0
    for j in range(n):
        total += words[j]
    return words[slot] / total


def update(words, n, parameters, tau, slot, chance, reward):
    words[slot] += parameters[0] * reward


def rate(context: LevelContext) -> dict[str, float]:
    return {"rate": 1.0 / context.children}


def with_own(**changes: object) -> hlmc.HLMC:
    own = Custom(
        **{"label": "urn", "start": start, "select": select, "chance": chance, "update": update, "values": rate}
        | changes  # type: ignore[arg-type]
    )
    return hlmc.HLMC(arms=17, groups=(4, 5), horizon=200, routines=(own, own))


@pytest.mark.interpreted
def test_a_routine_of_ones_own_conforms_at_every_level() -> None:
    policy = with_own()
    check_policy(policy)
    assert policy.words.statistics == 4 + 5
    assert policy.plan.routines == ("urn", "urn")
    assert policy.plan.parameters == ({"rate": 1 / 4}, {"rate": 1 / 5})


def test_routines_of_ones_own_learn_beside_others() -> None:
    policy = hlmc.HLMC(arms=17, groups=(4, 5), horizon=200, routines=("exp3", with_own().routines[0]))
    check_policy(policy)


CONSTANT = """
import os
import hlmc
from hlmc.routines import Custom

CHILD = int(os.environ["CHILD"])


def start(words, n, parameters):
    words[0] = 0.0


def select(words, n, parameters, tau, u):
    return CHILD


def chance(words, n, parameters, tau, slot):
    return 1.0


def update(words, n, parameters, tau, slot, chance, reward):
    words[0] += reward


own = Custom("own", start, select, chance, update)
learner = hlmc.HLMC(arms=9, groups=(3, 3), horizon=10, routines=("uniform", own)).start()
print(learner.select() % 3)
"""


@pytest.mark.slow
def test_stored_machine_code_is_never_that_of_another_routine(tmp_path: Path) -> None:
    """Routines share a name within the package; and what their global names mean can change from run to run."""
    env = {**os.environ, "HLMC_JIT": "1", "XDG_CACHE_HOME": str(tmp_path)}
    for file, child in (("one.py", "0"), ("one.py", "2")):
        path = tmp_path / file
        path.write_text(CONSTANT, encoding="utf-8")
        command = [sys.executable, str(path)]
        done = subprocess.run(command, env={**env, "CHILD": child}, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == child


def beyond(words, n, parameters, tau, slot, chance, reward):
    words[n] += reward


def out_of_range(words, n, parameters, tau, u):
    return n


def overstated(words, n, parameters, tau, slot):
    return 1.0


def writing_select(words, n, parameters, tau, u):
    words[0] += 1.0
    return min(int(u * n), n - 1)


def local_function() -> Callable[..., None]:
    def own(words, n, parameters):
        for j in range(n):
            words[j] = 1.0

    return own


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"update": beyond}, "writes beyond its 2 words"),
        ({"select": out_of_range}, "urn selects 2 of 2 children"),
        ({"chance": overstated}, "states 1.000"),
        ({"select": writing_select}, "must learn in update alone"),
        ({"start": local_function()}, "picklable"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_suite_finds_what_is_wrong_with_a_routine(changes: dict[str, object], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_policy(with_own(**changes))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"label": "no name"}, ValueError, "label"),
        ({"label": 3}, ValueError, "label"),
        ({"select": 3}, TypeError, "select must be a function written in Python, not 3"),
        ({"update": math.exp}, TypeError, "update must be a function written in Python"),
        ({"words_per_child": -1}, ValueError, "words_per_child must be a whole number of at least 0, not -1"),
        ({"words_extra": "x"}, TypeError, "words_extra must be"),
        ({"values": 3}, TypeError, "values must be"),
        ({"values": {f"x{i}": 0.0 for i in range(30)}}, ValueError, "parameters, not 30"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_routine_that_cannot_be_is_refused(arguments: dict[str, object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        _ = with_own(**arguments).program


# --- The suite finds what is wrong with a policy ------------------------------------------------------------


@dataclasses.dataclass(frozen=True, repr=False)
class Misprinting(hlmc.EXP3):
    def __repr__(self) -> str:
        return f"Misprinting({self.arms}, {self.horizon}, gamma=0.25)"


@dataclasses.dataclass(frozen=True, repr=False)
class Incomparable(hlmc.EXP3):
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = hlmc.EXP3.__hash__


@dataclasses.dataclass(frozen=True, repr=False)
class Endless(hlmc.EXP3):
    """Says that it ends, and starts learners that do not."""

    def start(self, seed: int = 0, stream: int = 0) -> hlmc.Learner:
        return hlmc.EXP3(self.arms, 10**6).start(seed, stream)


@dataclasses.dataclass(frozen=True, repr=False)
class Astray(hlmc.EXP3):
    """Its fleets do something else than its learners."""

    def fleet(self, size: int, seed: int = 0, file: str | Path | None = None) -> hlmc.Fleet:
        return super().fleet(size, seed + 1, file)


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (Misprinting(3, 20, gamma=0.5), "does not make an equal policy"),
        (Incomparable(3, 20), "must be equal"),
        (Endless(3, 20), "a learner must follow the policy that started it"),
        (Astray(3, 20), "must do what start"),
        ("EXP3", "is no Policy"),
    ],
)
def test_the_suite_finds_what_is_wrong_with_a_policy(
    policy: hlmc.Policy, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOGUE, type(policy).__name__, type(policy))  # so that it can be saved
    with pytest.raises(AssertionError, match=text):
        check_policy(policy)
