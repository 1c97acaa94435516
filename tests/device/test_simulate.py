"""Simulation on a device: on a real one, or on a host, where sizes are small."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
import pytest

import hlmc
from devices import HOST, interpreted
from hlmc import adversaries, routines
from hlmc.adversaries.base import packed
from hlmc.engine import linker, weights
from hlmc.engine.kernel import kernel
from hlmc.engine.layout import PROBABILITY
from hlmc.errors import BadArgument, BadReward
from hlmc.simulation import on_device
from hlmc.simulation.runs import Task
from hlmc.targets.cuda import loop
from hlmc.targets.cuda.shape import Shape

ARMS = 12
STEPS = 150 if HOST else 400
RUNS = 3 if HOST else 500


def staircase(t: int, arm: int) -> float:
    return ((3 * t + 5 * arm) % 7) / 6.0


def turning(t: int, arm: int) -> float:
    return 1.0 if t // 64 % 12 == arm else 0.05


def pythonic(t: int, arm: int) -> float:
    """What C says otherwise: remainders and quotients of negative numbers, powers, a loop that goes on."""
    total = 0.0
    for k in range(3):
        if (arm - t - k) % 5 == 0:
            continue
        total += ((arm - t) // 3 % 4) * 0.5**k
    return min(1.0, total / 6.0 + (0.5 * t - arm) % 0.7 / 10.0)


def start(words, n, parameters):
    for j in range(n):
        words[j] = parameters[0]


def select(words, n, parameters, tau, u):
    return min(int(u * n), n - 1)


def chance(words, n, parameters, tau, slot):
    return 1.0 / n


def update(words, n, parameters, tau, slot, chance, reward):
    words[slot] += reward


def halve(words, n, parameters):
    for j in range(n):
        words[j] *= 0.5


def follow(words, n, parameters, tau, u):
    best = 0
    for j in range(n):
        if words[j] > words[best]:
            best = j
    return best if u < 0.5 else min(int(2.0 * (u - 0.5) * n), n - 1)


def sure(words, n, parameters, tau, slot):
    return 1.0


POLICIES = {
    "HLMC": hlmc.HLMC(ARMS, memory=8, horizon=STEPS),
    "HLMC, three levels": hlmc.HLMC(ARMS, levels=3, horizon=STEPS),
    "HLMC, horizon unknown": hlmc.HLMC(ARMS, memory=8),
    "HLMC, goes on": hlmc.HLMC(ARMS, memory=8, horizon=STEPS // 4, after="continue"),
    "HLMC, mixed": hlmc.HLMC(ARMS, levels=2, horizon=STEPS, routines=("exp3p", "ucb1")),
    "HLMC, Tsallis": hlmc.HLMC(ARMS, memory=8, horizon=STEPS, routines="tsallis-inf"),
    "HLMC, EXP3.S": hlmc.HLMC(ARMS, memory=8, horizon=STEPS, switches=3),
    "HLMC, own": hlmc.HLMC(
        ARMS,
        levels=2,
        horizon=STEPS,
        routines=("exp3", routines.Custom("own", start, select, chance, update, values={"at first": 0.5})),
    ),
    "EXP3": hlmc.EXP3(ARMS, horizon=STEPS),
    "EXP3.P": hlmc.EXP3P(ARMS, horizon=STEPS),
    "EXP3.S": hlmc.EXP3S(ARMS, horizon=STEPS, switches=3),
    "EXP3, losses": hlmc.EXP3Loss(ARMS, horizon=STEPS),
    "EXP3-IX": hlmc.EXP3IX(ARMS, horizon=STEPS),
    "Tsallis-INF": hlmc.TsallisINF(ARMS),
    "UCB1": hlmc.UCB1(ARMS),
    "UCB-M": hlmc.UCBM(ARMS, memory=5),
    "UCB-M, shuffled": hlmc.UCBM(ARMS, memory=5, shuffle=True),
    "EXP3-M": hlmc.EXP3M(ARMS, memory=5),
    "Champion": hlmc.Champion(ARMS, memory=8, horizon=STEPS),
    "Champion, goes on": hlmc.Champion(ARMS, memory=8, horizon=STEPS // 4, after="continue"),
    "Uniform": hlmc.Uniform(ARMS),
}
FACED = [
    adversaries.BlockTrap(ARMS, memory=4),
    adversaries.Alternating(ARMS, memory=4),
    adversaries.Shifting(ARMS, horizon=STEPS, phases=4),
    adversaries.Bernoulli([0.3 + 0.05 * arm for arm in range(ARMS)], seed=3),
    adversaries.Beta([0.2 + 0.05 * arm for arm in range(ARMS)]),
    adversaries.UniformMeans(ARMS, seed=1),
    adversaries.OneGoodArm(ARMS),
    adversaries.RandomWalk(ARMS),
    adversaries.PiecewiseStationary(ARMS, segment=40),
    adversaries.Sawtooth(ARMS, period=50),
    adversaries.LateBloomer(ARMS, bloom=STEPS // 2),
    adversaries.Needle(ARMS),
    adversaries.Decoy(ARMS),
    adversaries.Trace(np.random.default_rng(0).random((STEPS, ARMS))),
    adversaries.Trace(np.random.default_rng(0).random((STEPS, ARMS)).astype(np.float32)),
    adversaries.Trace(np.random.default_rng(0).random((STEPS, ARMS)) < 0.5),
    adversaries.Function(ARMS, staircase),
    adversaries.Function(ARMS, pythonic),
]
FEW = {name: POLICIES[name] for name in ("HLMC", "EXP3", "UCB-M", "Champion")}


def rewards(policies, adversary, device="cuda", precision=None, count=RUNS, **options):
    options.setdefault("points", 5)
    steps = options.pop("horizon", STEPS)
    result = hlmc.simulate(
        policies, adversary, steps, count, seed=8, device=device, precision=precision, progress=False, **options
    )
    return result.data["reward"].values


def forget_compiled() -> None:
    """Copies of kernels keep the constants that their modules had when they were made."""
    on_device.compiled.cache_clear()
    linker._substituted.cache_clear()


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_plays_as_on_the_processor(name: str) -> None:
    """In double precision, for as long as the last digits of exponentials do not decide: most runs here."""
    some = {name: POLICIES[name]}
    device = rewards(some, FACED[3], precision="float64")
    processor = rewards(some, FACED[3], "cpu")
    assert device.shape == processor.shape
    alike = np.isclose(device, processor, rtol=1e-9).all(axis=2).mean()
    assert alike == 1.0 if HOST else alike > 0.9


@pytest.mark.parametrize("adversary", FACED, ids=lambda a: f"{type(a).__name__}-{FACED.index(a)}")
def test_every_adversary_pays_as_on_the_processor(adversary: adversaries.Adversary) -> None:
    policy = hlmc.HLMC(ARMS, memory=8, horizon=STEPS)
    device = rewards(policy, adversary, precision="float64")
    alike = np.isclose(device, rewards(policy, adversary, "cpu"), rtol=1e-9).all(axis=2).mean()
    assert alike == 1.0 if HOST else alike > 0.9


def bit_for_bit(policy, adversary, precision):
    """Rows, workspaces and rewards of a device are the interpreter's, whatever launches the run is cut into."""
    task = Task("one", policy, adversary, 8, range(RUNS))
    shape = Shape.of(policy)
    stops = [100, 128, STEPS]
    group = on_device.Group(shape, [task], shape.precision(precision))
    there = [noted.rewards for noted in group.play(np.array(stops), lambda name, steps: None)]
    rows, workspaces, rewards = interpreted(task, stops, precision)
    np.testing.assert_array_equal(np.array(there).T, rewards)
    words = group.rows.copy_to_host()[0].T[:RUNS]
    different = np.flatnonzero((words.view(np.uint64) != rows.view(np.uint64)).any(axis=0))
    # NumPy keeps the product of an exact 1.0 and a float32 in single precision.
    if set(different) == {PROBABILITY}:
        np.testing.assert_array_equal(words[:, PROBABILITY].astype(np.float32), rows[:, PROBABILITY].astype(np.float32))
    else:
        assert list(different) == []
    np.testing.assert_array_equal(group.workspaces.copy_to_host()[0].T[:RUNS], workspaces)


exactly = pytest.mark.skipif(not HOST, reason="a device's own functions differ in last digits")


@exactly
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_the_interpreter_s_bit_for_bit(name: str, precision: str) -> None:
    bit_for_bit(POLICIES[name], FACED[3], precision)


@exactly
@pytest.mark.parametrize("adversary", FACED, ids=lambda a: f"{type(a).__name__}-{FACED.index(a)}")
@pytest.mark.parametrize("name", ["HLMC", "Champion"])
def test_every_adversary_is_the_interpreter_s_bit_for_bit(name: str, adversary: adversaries.Adversary) -> None:
    bit_for_bit(POLICIES[name], adversary, "float32")


@pytest.mark.statistical
@pytest.mark.parametrize("name", POLICIES)
def test_means_agree_in_single_precision(name: str) -> None:
    """Welch's test with other streams on either side; false alarms are rarer than 1e-6 (|z| > 5)."""
    count, steps = (40, 100) if HOST else (20_000, STEPS)
    some = {name: POLICIES[name]}
    here = rewards(some, FACED[3], "cpu", count=40 if HOST else 2_000, horizon=steps, points=[steps])[0, :, -1]
    found = hlmc.estimate(some, FACED[3], steps, runs=count, seed=1234, points=[steps], device="cuda", progress=False)
    mean, variance = float(found.data["mean"].item()), float(found.data["variance"].item())
    error = math.sqrt(variance / count + here.var(ddof=1) / len(here))
    assert abs(mean - here.mean()) <= 5.0 * error + 1e-9
    assert found.provenance["precision"] == "float32"


def test_single_precision_is_told_from_double() -> None:
    single = hlmc.simulate(FEW, FACED[0], STEPS, 2, device="cuda", progress=False, points=1)
    double = hlmc.simulate(FEW, FACED[0], STEPS, 2, device="cuda", precision="float64", progress=False, points=1)
    assert (single.provenance["device"], single.provenance["precision"]) == ("cuda", "float32")
    assert (double.provenance["device"], double.provenance["precision"]) == ("cuda", "float64")


def test_cuts_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rewards(FEW, FACED[3])
    monkeypatch.setattr(on_device, "SHORTEST", 7)
    monkeypatch.setattr(on_device, "LONGEST", 7)
    assert (rewards(FEW, FACED[3]) == whole).all()


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "policy",
    [
        hlmc.EXP3(ARMS, horizon=10**6, gamma=0.3),
        hlmc.HLMC(ARMS, memory=8, horizon=10**7, routines=("exp3", routines.EXP3(gamma=0.5))),
        hlmc.EXP3M(ARMS, memory=5),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_cuts_leave_no_trace_in_what_is_known(
    policy: hlmc.Policy, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, with a range so narrow that weights are scaled and turned into logarithms again and again."""
    horizon = 400 if HOST else 4000
    task = Task("one", policy, adversaries.Function(ARMS, turning), 8, range(RUNS))
    narrow = {"_HIGH": 2.0**5, "_LOW": 2.0**-4, "TINY_LOG": -1.0, "_TINY": math.exp(-1.0)}
    for name, value in narrow.items():
        monkeypatch.setitem(weights.SINGLE, name, value)
        if precision == "float64":
            monkeypatch.setattr(weights, name, value)
    monkeypatch.setattr(loop, "CHECKED_EVERY", 16)
    found = []
    for longest in (4096, 16):
        forget_compiled()
        monkeypatch.setattr(on_device, "SHORTEST", longest)
        monkeypatch.setattr(on_device, "LONGEST", longest)
        group = on_device.Group(Shape.of(policy), [task], precision)
        (noted,) = group.play(np.array([horizon]), lambda name, steps: None)
        found.append([noted.rewards, group.rows.copy_to_host(), group.workspaces.copy_to_host()])
    forget_compiled()
    for whole, cut in zip(*found, strict=True):
        assert whole.tobytes() == cut.tobytes()
    kept = found[0][2]
    coded = ((kept > 0.0) & (kept < narrow["_TINY"])).any()  # a logarithm
    assert coded or isinstance(policy, hlmc.EXP3M)  # which restarts too often


def test_many_points_in_a_slice() -> None:
    everywhere = rewards(FEW, FACED[3], points=list(range(1, STEPS + 1)))
    assert (everywhere[:, :, [9, 99]] == rewards(FEW, FACED[3], points=[10, 100, STEPS])[:, :, :2]).all()
    assert (np.diff(everywhere, axis=2) >= 0.0).all()


def test_side_by_side_is_as_alone() -> None:
    """Policies of one shape share a launch; what they draw depends on their names alone."""
    gammas = {f"gamma {g}": hlmc.EXP3(ARMS, horizon=STEPS, gamma=g) for g in (0.05, 0.2, 0.9)}
    together = rewards(gammas, FACED[3])
    for i, (name, policy) in enumerate(gammas.items()):
        assert (together[i] == rewards({name: policy}, FACED[3])[0]).all()
    assert not (together[0] == together[1]).all()


def test_environments_are_as_alone() -> None:
    """Adversaries of one rule share a launch, each with its own numbers; others have launches of their own."""
    faced = [FACED[5], FACED[3], adversaries.UniformMeans(ARMS, seed=2), FACED[13], FACED[14]]
    together = rewards(FEW, faced, count=12)
    for e, adversary in enumerate(faced):
        assert (together[:, e::5] == rewards(FEW, adversary, count=12)[:, e::5]).all()
    assert (rewards(FEW, FACED[5], count=4, environments=2)[:, 1] != together[:, 1]).any()


@kernel
def jumping(spec, t, arm):
    return spec[1] if t == spec[0] else 0.5


@dataclass(frozen=True, repr=False)
class Jump(adversaries.Adversary):
    arms: int
    at: int
    to: float
    rule = staticmethod(jumping)

    @cached_property
    def spec(self):
        return packed(self.at, self.to)


def test_the_environment_that_pays_what_is_no_reward_is_named() -> None:
    faced = [Jump(ARMS, 9, 1.0), Jump(ARMS, 30, 2.0), Jump(ARMS, 7, 0.0)]
    with pytest.raises(BadReward, match=r"Jump\(arms=12, at=30, to=2\.0\) paid something .* at step 30"):
        rewards(FEW, faced)


def test_moments_are_those_of_the_runs() -> None:
    found = hlmc.estimate(FEW, FACED[3], STEPS, runs=9, seed=8, points=3, quantiles=[0.25, 0.5], progress=False)
    kept = rewards(FEW, FACED[3], count=9, points=3)
    np.testing.assert_allclose(found.data["mean"], kept.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.data["variance"], kept.var(axis=1, ddof=1), rtol=1e-9)
    quantiles = np.moveaxis(np.quantile(kept, [0.25, 0.5], axis=1), 0, 1)
    np.testing.assert_allclose(found.data["quantile"], quantiles, rtol=1e-12)


def test_what_is_done_with_rewards_does_not_count_as_time_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(on_device, "time", SimpleNamespace(perf_counter=lambda: now))
    task = Task("HLMC", POLICIES["HLMC"], FACED[3], 8, range(2))
    found = []
    for noted in on_device.play_on_device([task], np.array([10, STEPS]), "float64", lambda name, steps: None):
        now += 100.0
        found.append(noted.seconds)
    assert found == [0.0, 0.0]


def test_a_routine_of_ones_own_may_look_at_what_it_knew() -> None:
    """Its start is given the words as they were left."""
    policy = hlmc.HLMC(
        9, levels=2, horizon=300, routines=("exp3", routines.Custom("halving", halve, follow, sure, update))
    )
    faced = adversaries.Bernoulli([0.1 * arm for arm in range(9)], seed=3)
    there, here = (rewards({"own": policy}, faced, d, "float64", 4, horizon=300) for d in ("cuda", "cpu"))
    assert np.isclose(there, here, rtol=1e-9).all(axis=2).mean() >= (1.0 if HOST else 0.9)


def test_an_adversary_s_function_is_compiled_once() -> None:
    """Compiled code is found again by the adversary's rule, which is the same kernel for the same function."""
    forget_compiled()
    policy = {"EXP3": POLICIES["EXP3"]}
    for _ in range(2):
        rewards(policy, adversaries.Function(ARMS, staircase), count=1, horizon=3, points=1)
    assert on_device.compiled.cache_info().misses == 1


def test_a_function_outside_the_dialect_is_refused_with_its_line() -> None:
    def listed(t: int, arm: int) -> float:
        return [0.0, 1.0][arm % 2]

    with pytest.raises(BadArgument, match=r"test_simulate\.py, line \d+: .*\(kernel listed; see docs/dialect\.md\)"):
        rewards(FEW, adversaries.Function(ARMS, listed), count=1)


def test_a_bad_reward_ends_it() -> None:
    def bad(t: int, arm: int) -> float:
        return 2.0 if t == 30 else 0.5

    with pytest.raises(BadReward, match="at step 30"):
        rewards(FEW, adversaries.Function(ARMS, bad))


def test_a_store_goes_on_and_keeps_arithmetics_apart(tmp_path) -> None:
    first = rewards(FEW, FACED[3], count=2, store=tmp_path / "there")
    more = rewards(FEW, FACED[3], count=4, store=tmp_path / "there")
    assert (more[:, :2] == first).all()
    assert (more == rewards(FEW, FACED[3], count=4)).all()
    for device, precision in (("cpu", None), ("cuda", "float64")):
        with pytest.raises(BadArgument, match="another experiment"):
            rewards(FEW, FACED[3], device, precision, count=2, store=tmp_path / "there")


def test_large_groups() -> None:
    """Workspaces that do not fit into shared memory, and weights in a tree."""
    arms = 600
    faced = adversaries.UniformMeans(arms, seed=2)
    policies = {"EXP3": hlmc.EXP3(arms, horizon=60), "tree": hlmc.EXP3Loss(arms, horizon=60)}
    there = rewards(policies, faced, precision="float64", count=2, horizon=60)
    assert np.isclose(there, rewards(policies, faced, "cpu", count=2, horizon=60), rtol=1e-9).mean() > 0.9


def test_what_does_not_fit_is_refused() -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(BadArgument, match="executor must be left out"):
        rewards(FEW, FACED[0], executor=threads)
    with pytest.raises(BadArgument, match="precision must be"):
        rewards(FEW, FACED[0], precision="float16")
    with pytest.raises(BadArgument, match="device must be"):
        rewards(FEW, FACED[0], device="gpu")
    with pytest.raises(BadArgument, match="only device"):
        rewards(FEW, FACED[0], device="cpu", precision="float32")
    with pytest.raises(BadArgument, match="at least 2"):
        hlmc.estimate(FEW, FACED[0], STEPS, runs=1)
