"""Simulation under delay: the same as by hand, whoever does the work, and laws that are what they say."""

import math
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hlmc
from hlmc import delays
from hlmc.cli import main
from hlmc.engine.delayed import DELAY, MISSING, delay_of
from hlmc.engine.layout import KEY
from hlmc.engine.stream import uniform
from hlmc.errors import BadArgument, BadFile, BadType
from hlmc.simulation.file import read_experiment
from hlmc.targets import JIT

ADVERSARY = hlmc.adversaries.Bernoulli([0.2, 0.4, 0.6, 0.8, 0.5, 0.5, 0.3, 0.1, 0.9])
HLMC = hlmc.HLMC(arms=9, levels=2, horizon=600, pending=50)
T = 600


def by_hand(policy: hlmc.Policy, law: delays.Delays, missing: float, seed: int) -> float:
    """What a learner earns that is asked and told by hand, with the same random delays."""
    learner = policy.start(hlmc.derive_seed(seed, "x"), 0)
    key = learner.state.view(np.uint64)[KEY]
    due: dict[int, list[tuple[hlmc.Ticket, float | None]]] = defaultdict(list)
    earned = 0.0
    for t in range(T):
        ticket = learner.ask()
        reward = float(ADVERSARY.reward(t, ticket.arm))
        earned += reward
        with np.errstate(over="ignore"):
            steps, comes = delay_of(law.packed(missing, None), uniform(key, t, DELAY), reward)
            comes = comes and not (missing > 0.0 and uniform(key, t, MISSING) < missing)
        due[t + steps].append((ticket, reward if comes else None))
        for old, paid in due.pop(t, []):
            learner.drop(old) if paid is None else learner.tell(old, paid)
    return earned


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("policy", "law", "missing"),
    [
        (HLMC, delays.Uniform(0, 30), 0.0),
        (HLMC, delays.Constant(70), 0.0),
        (replace(HLMC, routines="tsallis-inf", missing=0.25), delays.Geometric(15.0), 0.3),
        (
            hlmc.HLMC(arms=9, groups=(3, 3), horizon=T, epochs=11, pending=64, routines=("exp3-loss", "exp3s")),
            delays.Pareto(1.2, 4.0),
            0.1,
        ),
        (hlmc.Champion(arms=9, memory=6, horizon=T, pending=200), delays.Uniform(5, 40), 0.2),
        # A learner whose arms come and go compares the ticket's arm with that of the slot.
        (hlmc.Champion(arms=9, memory=6, horizon=T, pending=64, dynamic=True), delays.Uniform(0, 20), 0.0),
        (hlmc.UCBM(arms=9, memory=3, pending=64), delays.Uniform(0, 40), 0.0),
        (hlmc.TsallisINF(arms=9, pending=64, missing=0.0), delays.Clicks(0, 20, wait=30), 0.0),
    ],
    ids=str,
)
def test_a_simulated_run_is_the_same_run_by_hand(policy: hlmc.Policy, law: delays.Delays, missing: float) -> None:
    result = hlmc.simulate({"x": policy}, ADVERSARY, T, runs=1, seed=4, delays=law, missing=missing, progress=False)
    assert float(result.data["reward"][0, 0, -1]) == by_hand(policy, law, missing, 4)


def test_told_at_once_a_simulation_is_the_one_without_delays() -> None:
    policies = {"HLMC": HLMC, "Champion": hlmc.Champion(arms=9, memory=6, horizon=T, pending=3)}
    plain = hlmc.simulate(policies, ADVERSARY, runs=3, progress=False)
    late = hlmc.simulate(policies, ADVERSARY, runs=3, progress=False, delays=0)
    assert plain.data["reward"].values.tolist() == late.data["reward"].values.tolist()


def test_the_result_does_not_depend_on_who_works(tmp_path: Path) -> None:
    arguments = {"runs": 6, "delays": delays.Uniform(0, 40), "missing": 0.2, "progress": False}
    with ThreadPoolExecutor(3) as pool:
        shared = hlmc.simulate({"x": HLMC}, ADVERSARY, executor=pool, **arguments)
    stored = hlmc.simulate({"x": HLMC}, ADVERSARY, store=tmp_path / "store", **arguments)
    again = hlmc.simulate({"x": HLMC}, ADVERSARY, store=tmp_path / "store", **arguments)
    values = [each.data["reward"].values.tobytes() for each in (shared, stored, again)]
    assert values[0] == values[1] == values[2]
    assert stored.provenance["delays"] == "delays.Uniform(low=0, high=40)"
    assert stored.provenance["missing"] == 0.2
    with pytest.raises(BadArgument, match="delays is "):
        hlmc.simulate({"x": HLMC}, ADVERSARY, store=tmp_path / "store", runs=6, progress=False)


def test_an_arena_with_delays() -> None:
    arguments = {"against": ["Champion"], "adversaries": ["Needle"], "arms": [16], "horizons": [2000], "runs": 2}
    plain = hlmc.arena(**arguments, progress=False)
    late = hlmc.arena(**arguments, progress=False, delays=delays.Uniform(0, 300), missing=0.1)
    assert plain.table().index.tolist() == late.table().index.tolist()
    assert plain.runs["reward"].tolist() != late.runs["reward"].tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delays": "long"}, "delays must be one of hlmc.delays"),
        ({"missing": 1.5}, r"missing must be a number in \[0, 1\]"),
        ({"delays": 3, "device": "cuda"}, 'delays and missing must be left out with device="cuda"'),
    ],
)
def test_refusals(arguments: dict[str, object], message: str) -> None:
    with pytest.raises((BadArgument, BadType), match=message):
        hlmc.simulate(HLMC, ADVERSARY, progress=False, **arguments)
    with pytest.raises(BadArgument, match="policy 'HLMC' needs pending=W"):
        hlmc.simulate({"HLMC": replace(HLMC, pending=0)}, ADVERSARY, progress=False, delays=3)


# The laws.

LAWS = (
    delays.Constant(7),
    delays.Uniform(3, 12),
    delays.Geometric(20.0),
    delays.Geometric(20.0, most=30),
    delays.Pareto(2.5, 30.0, most=4000),
    delays.Clicks(1, 5, wait=40),
)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_laws(law: delays.Delays) -> None:
    """On an even grid of u: within the range, and of the mean that it says."""
    packed = law.packed(0.0, None)
    drawn = [delay_of(packed, (i + 0.5) / 20_000, 1.0) for i in range(20_000)]
    steps = np.array([each[0] for each in drawn])
    assert all(comes for _, comes in drawn)
    assert steps.min() >= 0
    assert steps.max() <= law.longest
    if isinstance(law, delays.Geometric):
        p = 1.0 / 21.0
        assert np.mean(steps == 0) == pytest.approx(p, abs=1e-3)
        assert np.mean(steps >= 10) == pytest.approx((1.0 - p) ** 10, abs=1e-3)
    elif isinstance(law, delays.Pareto):
        assert np.mean(steps >= 60) == pytest.approx(3.0**-2.5, abs=1e-3)
        # Whole numbers: a delay is rounded down.
        assert steps.mean() == pytest.approx(law.expected - 0.5, abs=0.3)
    else:
        assert steps.mean() == pytest.approx(law.expected, abs=0.01)


def test_silence_is_the_answer() -> None:
    law = delays.Clicks(1, 5, wait=40)
    assert delay_of(law.packed(0.0, None), 0.5, 0.0) == (40, False)
    assert delay_of(law.packed(0.0, None), 0.5, 0.1) == (3, True)


def test_measured_delays(tmp_path: Path) -> None:
    path = tmp_path / "delays.txt"
    path.write_text("5\n0\n-1\n9\n")
    law = delays.FromFile(str(path))
    found = [delay_of(law.packed(0.0, None), u, 1.0) for u in (0.0, 0.3, 0.6, 0.99)]
    assert found == [(5, True), (0, True), (9, False), (9, True)]
    for text in ("", "a\n", "-2\n", "1.5\n"):
        path.write_text(text)
        with pytest.raises(BadFile):
            delays.FromFile(str(path))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: delays.Constant(-1), "steps must be a whole number of at least 0, not -1"),
        (lambda: delays.Clicks(0, 9, wait=-1), "wait must be a whole number of at least 0, not -1"),
        (lambda: delays.Uniform(5, 4), "high must be a whole number of at least 5, not 4"),
        (lambda: delays.Geometric(0), "mean must be a number in"),
        (lambda: delays.Pareto(math.nan, 1), "shape must be a number in"),
        *(
            (lambda scale=scale: delays.Pareto(2, scale), "scale must be a number in")
            for scale in (0, -1, math.nan, 2**31)
        ),
        (lambda: delays.named("Normal"), "there are no delays 'Normal'; there are Constant, Uniform"),
    ],
)
def test_laws_that_are_none(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadArgument, match=message):
        make()


# Files.

TOML = """
horizon = 600
runs = 2
missing = 0.1
[policies.HLMC]
levels = 2
pending = 64
[adversary]
name = "Bernoulli"
means = [0.2, 0.4, 0.6, 0.8, 0.5, 0.5, 0.3, 0.1, 0.9]
[delays]
name = "Uniform"
low = 0
high = 40
"""


def test_delays_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "late.toml"
    file.write_text(TOML)
    described = read_experiment(file)
    assert described.arguments["delays"] == delays.Uniform(0, 40)
    assert described.arguments["missing"] == 0.1
    assert read_experiment(file, {"delays": 7}).arguments["delays"] == delays.Constant(7)
    for setting, message in (
        ({"delays.name": "Normal"}, "delays: there are no delays 'Normal'"),
        ({"delays.hihg": 3}, "delays: there is no key 'hihg'; did you mean 'high'"),
        ({"policies.HLMC.pending": 0}, "policy 'HLMC' needs pending=W"),
    ):
        with pytest.raises(BadArgument, match=message):
            read_experiment(file, setting)
    assert main(["simulate", str(file), "--json"]) == 0
    assert "HLMC" in capsys.readouterr().out


@pytest.mark.skipif(not JIT, reason="the same kernels, compiled")
def test_the_plan_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["plan", "--arms", "100", "--memory", "20", "--horizon", "1e6", "--pending", "4096", "--delay", "1000"])
        == 0
    )
    said = capsys.readouterr().out
    assert "pending: up to 4096 decisions, in 79 of the control words" in said
    assert "delay of 1000 decisions: 9.95 % of the rewards come after their epoch" in said


# The planner and the bound.


def test_epochs_grow_with_the_delay() -> None:
    """Delta = sqrt(T (m + d) / L) for groups of m arms."""
    for d in (0, 10, 100, 1000):
        policy = hlmc.HLMC(arms=100, memory=20, horizon=10**6, pending=4096, delay=d)
        assert policy.plan.lengths[0] == math.ceil(math.sqrt(10**6 * (10 + d) / 10))
        assert policy.plan.late == d / policy.plan.lengths[0]
    # Champion's grow less, but none is shorter than two delays.
    champion = hlmc.Champion(arms=100, memory=20, horizon=10**6, pending=4096)
    assert replace(champion, delay=1000).plan.lengths[0] == round(1.2 * math.ceil(1000 * 101**0.25))
    assert replace(champion, delay=10**5).plan.lengths[0] >= 2 * 10**5
    assert "warning: the delay is near the epoch" in str(replace(policy, epochs=2000).plan)
    assert "warning: pending = 9 is too few for this delay" in str(replace(policy, pending=9).plan)


def test_the_bound_with_delay() -> None:
    """By its formula, step by step; and above what is measured."""
    policy = hlmc.HLMC(arms=100, memory=20, horizon=10**9, pending=4096, delay=50)
    top, arms = policy.plan.levels
    e, d = math.e, 50
    g1, g2, n = top.parameters["gamma"], arms.parameters["gamma"], 10
    run = n * math.log(n) / g1 + g1 * top.choices * (1 + (e - 2) * (1 + (e - 1) / n) + e * (e - 1) * d / top.length / n)
    c = (1 + (e - 1) * g2 / n) ** (2 * d)
    epoch = n * math.log(n) / g2 + g2 * arms.choices * (1 + (e - 2) * c + 2 * (e - 1) * d / n)
    assert policy.bound() == pytest.approx(1e9 / top.choices * run + 1e9 / arms.choices * epoch)
    assert policy.guarantee.source == "Theorem 1 of docs/research/feedback.md"
    assert replace(policy, delay=0).guarantee.source == "Theorem 1 of Xu and Zhao (2021)"
    assert hlmc.Champion(arms=100, horizon=10**6, pending=64, delay=9).bound() is None
    assert replace(policy, delay=10**6, epochs=1000).bound() is None
    flat = hlmc.EXP3(arms=9, horizon=20_000, pending=400, delay=20)
    late = hlmc.simulate(flat, hlmc.adversaries.Bernoulli([0.2] * 8 + [0.8]), runs=4, delays=20, progress=False)
    assert 0.0 < float(late.regret("weak")[0, :, -1].max()) < flat.bound()
