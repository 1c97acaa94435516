"""What every policy and every adversary must hold to, as functions that users can run on their own.

The library's own catalogue is tested with them.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields, replace
from itertools import islice
from pathlib import Path

import numpy as np

import hlmc
from hlmc._testing_adversary import _hold, check_adversary
from hlmc.engine.layout import KEY, SHUFFLE
from hlmc.errors import BadReward, BadType, OutOfTurn, shown
from hlmc.learners.learner import Learner
from hlmc.policies.base import Policy
from hlmc.policies.description import own_routines
from hlmc.routines.base import LevelContext
from hlmc.routines.custom import Custom, plain
from hlmc.streams import keys

__all__ = ["check_adversary", "check_policy"]

Array = np.ndarray

_SHORT = 20_000
"""Horizons up to this are played to their end."""
_DRAWS = 800
_GRID = 2000


def check_policy(policy: Policy, steps: int = 60, seed: int = 0) -> None:
    """Check that a policy satisfies the contract of policies; an AssertionError names what it violates.

    It is a value: frozen, hashable, comparable, picklable, and it prints as the call that makes it (unless that
    holds a ``<``, which says that it can't). Its learners are rows of as many words as it says; they select arms
    that exist, with the probabilities that they state; equal seeds give equal runs; a copy, pickled or saved and
    loaded too, goes on alike; what must be refused is refused and changes nothing; steps by hand, in a fleet and in
    the simulator are the same steps. Of a routine of the user's own, the functions themselves are looked at: that
    they keep to their words, and draw with the chances that they state.

    Parameters
    ----------
    policy
        The one to check. Classes and functions of your own must be ones that pickle can find: defined in a module.
    steps
        How many steps are played (fewer where the horizon is shorter).
    seed
        Of the learners and of the rewards.

    Examples
    --------
    >>> check_policy(hlmc.HLMC(arms=17, levels=2, horizon=50))
    """
    _check_value(policy)
    _check_words(policy)
    if policy.scaled:
        # Everything else is checked on rewards in [0, 1].
        told, policy = policy, replace(policy, rewards=(0.0, 1.0), losses=False)
        _check_scale(told, policy, min(steps, policy.limit or steps), seed)
    for level, routine in enumerate(getattr(policy, "routines_used", ())):
        if isinstance(routine, Custom):
            _check_custom(routine, policy.levels_at(policy.horizon or 1000)[level].context)  # type: ignore[attr-defined]
    steps = min(steps, policy.limit or steps)
    _check_steps(policy, steps, seed)
    _check_chances(policy, steps, seed)
    _check_copies(policy, steps, seed)
    _check_refusals(policy, steps, seed)
    _check_fleet(policy, steps, seed)
    _check_simulation(policy, steps, seed)
    if policy.limit is not None and policy.limit <= _SHORT:
        _check_end(policy, seed)


def _refused(call: Callable[[], object], errors: type[Exception], what: str) -> None:
    try:
        call()
    except errors:
        return
    raise AssertionError(f"{what} must be refused with {errors.__name__}")


def _rewards(seed: int) -> Iterator[float]:
    """Rewards without end, 0 and 1 among them."""
    random = np.random.default_rng(seed)
    while True:
        yield float(np.clip(random.random() * 2.0 - 0.5, 0.0, 1.0))


def _play(learner: Learner, steps: int, seed: int) -> list[int]:
    arms = []
    for reward in islice(_rewards(seed), steps):
        arms.append(learner.select())
        learner.update(reward)
    return arms


# --- Policies as values -------------------------------------------------------------------------------------


def _check_value(policy: Policy) -> None:
    _hold(isinstance(policy, Policy), f"{policy!r} is no Policy")
    _hold(type(policy.arms) is int and policy.arms >= 1, f"arms must be an int of at least 1, not {shown(policy.arms)}")
    name = fields(policy)[0].name
    try:
        setattr(policy, name, getattr(policy, name))
    except FrozenInstanceError:
        pass
    else:
        raise AssertionError("a policy must be frozen: declare it with @dataclass(frozen=True, repr=False)")
    try:
        pickled = pickle.dumps(policy)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"a policy must be picklable, its functions defined in a module: {error}") from error
    for other in (pickle.loads(pickled), copy.deepcopy(policy)):  # noqa: S301 (written here a moment ago)
        _hold(other == policy, "a pickled or copied policy must be equal")
        _hold(hash(other) == hash(policy), "a pickled or copied policy must have the same hash")
    _hold(policy != object(), "a policy must not equal something else")
    printed = repr(policy)
    if "<" not in printed:
        names = {**vars(hlmc), **{type(each).__name__: type(each) for each in (*policy.routines_used, policy)}}
        _hold(eval(printed, names) == policy, f"{printed} does not make an equal policy")


def _check_words(policy: Policy) -> None:
    words, state = policy.words, policy.start().state
    _hold(words.statistics >= 0 and words.control >= 0, f"words cannot be fewer than none: {words}")
    _hold(state.nbytes == 8 * words.total, f"a learner is {state.nbytes} bytes, and words.total says {words.total}")
    _hold(state.dtype == np.float64 and state.ndim == 1, "a state must be one row of float64")
    plan = policy.plan
    _hold(plan.statistics == words.statistics and plan.control == words.control, "plan and words disagree")
    _hold(sum(v.words for v in plan.levels) == words.statistics, "the words of a plan's levels must add up")
    _hold(repr(policy) in str(plan), "a plan must name its policy")
    json.dumps(plan.as_dict(), allow_nan=False)
    bound = policy.bound(policy.horizon or 1000)
    _hold(bound is None or 0.0 <= bound < math.inf, f"a bound must be None or a finite number, not {shown(bound)}")


def _check_scale(told: Policy, policy: Policy, steps: int, seed: int) -> None:
    """What is told in other units must be learned as its share of the range."""
    zero, one = told.scale
    learner, other = told.start(seed), policy.start(seed)
    for share in islice(_rewards(seed), steps):
        number = one if share == 1.0 else zero + share * (one - zero)
        _hold(learner.select() == other.select(), "the scale of rewards must not change what is played")
        learner.update(number)
        other.update((number - zero) / (one - zero))
    _hold(learner.state.tobytes() == other.state.tobytes(), "rewards must be learned as shares of their range")


# --- Learners -----------------------------------------------------------------------------------------------


def _check_steps(policy: Policy, steps: int, seed: int) -> None:
    learner, twin = policy.start(seed), policy.start(seed)
    _hold(learner.policy == policy, "a learner must follow the policy that started it")
    _hold(learner == twin, "equal seeds must give equal learners")
    _hold(learner.time == 0, "a fresh learner must have time 0")
    for t, reward in enumerate(islice(_rewards(seed), steps)):
        arm = learner.select()
        state = learner.state.tobytes()
        exists = type(arm) is int and 0 <= arm < policy.arms
        _hold(exists, f"select gave {arm!r}: there are arms 0 to {policy.arms - 1}")
        chance = learner.probability
        told = 0.0 < chance <= 1.0 + 1e-12 if policy.known_probability else math.isnan(chance)
        _hold(told, f"at step {t} the probability of arm {arm} is {chance!r}, not in (0, 1]")
        _hold(learner.select() == arm, "asked again before update, select must give the same arm")
        _hold(learner.state.tobytes() == state, "asked again before update, select must change nothing")
        _hold(twin.select() == arm, f"equal seeds must give equal runs; at step {t} they do not")
        learner.update(reward)
        twin.update(reward)
        _hold(learner.time == t + 1, f"after {t + 1} steps the time is {learner.time}")
        known = learner.state[KEY + 1 : policy.words.control]
        _hold(bool(np.isfinite(known).all()), f"after {t + 1} steps a word is not a finite number")
    _hold(learner == twin, "equal seeds must give equal runs")


def _check_chances(policy: Policy, steps: int, seed: int) -> None:
    """Learners that differ in nothing but the random numbers to come select as often as they say."""
    shuffled = policy.structure.random_order
    if shuffled is None:
        shuffled = policy.program[SHUFFLE] == 1.0
    if shuffled or not policy.known_probability:
        return  # where shuffled, the order of the arms hangs on the same key as the random numbers
    learner = policy.start(seed)
    _play(learner, steps // 2, seed)
    times: dict[tuple[int, float], int] = {}
    row = learner.state.copy()
    for key in keys(seed, 1, _DRAWS):
        row.view(np.uint64)[KEY] = key
        other = Learner(policy, row.copy())
        way = other.select(), other.probability
        times[way] = times.get(way, 0) + 1
    together = math.fsum(p for _, p in times)
    _hold(together <= 1.0 + 1e-9, f"probabilities add up to {together!r}, which is more than 1")
    for (arm, p), count in times.items():
        spread = 6.0 * math.sqrt(_DRAWS * p * max(1.0 - p, 0.0)) + 3.0
        _hold(
            abs(count - _DRAWS * p) <= spread,
            f"arm {arm} was selected {count} times in {_DRAWS}, and its probability is said to be {p!r}",
        )


def _check_copies(policy: Policy, steps: int, seed: int) -> None:
    learner = policy.start(seed)
    _play(learner, steps // 2, seed)
    learner.select()
    copies = {
        "copy()": learner.copy(),
        "a pickled learner": pickle.loads(pickle.dumps(learner)),  # noqa: S301 (written here a moment ago)
        "a saved and loaded learner": _reloaded(learner),
    }
    before = learner.state.tobytes()
    for what, other in copies.items():
        _hold(other == learner, f"{what} must be equal")
        _play(other, steps - steps // 2, seed + 1)
        _hold(learner.state.tobytes() == before, f"{what} must go on alone")
    _play(learner, steps - steps // 2, seed + 1)
    for what, other in copies.items():
        _hold(other == learner, f"{what} must go on alike")


def _reloaded(learner: Learner) -> Learner:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.hlmc"
        learner.save(path)
        loaded = hlmc.load(path, own_routines(learner.policy))
    assert isinstance(loaded, Learner)
    return loaded


def _check_refusals(policy: Policy, steps: int, seed: int) -> None:
    learner, twin = policy.start(seed), policy.start(seed)

    def refused(call: Callable[[], object], errors: type[Exception], what: str) -> None:
        state = learner.state.tobytes()
        _refused(call, errors, what)
        _hold(learner.state.tobytes() == state, f"{what}, once refused, must have changed nothing")

    refused(lambda: learner.update(0.5), OutOfTurn, "an update before select")
    for reward in islice(_rewards(seed), min(steps, 20)):
        arm = learner.select()
        for bad in (math.nan, math.inf, -0.001, 1.001, 10**400):
            refused(lambda bad=bad: learner.update(bad), BadReward, f"a reward of {bad!r:.12}")  # type: ignore[misc]
        refused(lambda: learner.update("1"), BadType, "a reward that is no number")  # type: ignore[arg-type]
        _hold(twin.select() == arm, "after a refusal a learner must go on as if nothing had happened")
        learner.update(reward)
        twin.update(reward)
        refused(lambda: learner.update(0.5), OutOfTurn, "a second update")
    _hold(learner == twin, "after a refusal a learner must go on as if nothing had happened")


def _check_end(policy: Policy, seed: int) -> None:
    assert policy.limit is not None
    learner = policy.start(seed)
    _play(learner, policy.limit, seed)
    _hold(learner.time == policy.limit, f"a horizon of {policy.limit} must allow as many steps")
    state = learner.state.tobytes()
    _refused(learner.select, OutOfTurn, "a step past the horizon")
    _refused(lambda: learner.update(0.5), OutOfTurn, "an update past the horizon")
    _hold(learner.state.tobytes() == state, "a step past the horizon, once refused, must have changed nothing")


# --- The same steps everywhere ------------------------------------------------------------------------------


def _check_fleet(policy: Policy, steps: int, seed: int) -> None:
    learners = [policy.start(seed, stream) for stream in range(3)]
    fleet = policy.fleet(size=3, seed=seed)
    random = np.random.default_rng(seed)
    for _ in range(min(steps, 20)):
        some = random.permutation(3)[: random.integers(1, 4)]
        paid = random.random(len(some))
        arms = fleet.select(some)
        _hold(
            arms.tolist() == [learners[i].select() for i in some],
            "learner i of a fleet must do what start(seed, i) does",
        )
        fleet.update(paid, some)
        for i, reward in zip(some, paid, strict=True):
            learners[i].update(float(reward))
    _hold(list(fleet) == learners, "learner i of a fleet must be what start(seed, i) is")


def _paid(t: int, arm: int) -> float:
    return ((7 * t + 3 * arm) % 11) / 10.0


def _check_simulation(policy: Policy, steps: int, seed: int) -> None:
    adversary = hlmc.adversaries.Function(policy.arms, _paid)
    arms, rewards = hlmc.trace(policy, adversary, steps, seed)
    learner = policy.start(seed)
    for t in range(steps):
        arm = learner.select()
        _hold(
            arm == arms[t] and _paid(t, arm) == rewards[t],
            f"the simulator plays arm {arms[t]} at step {t}, and a learner by hand {arm}",
        )
        learner.update(_paid(t, arm))


# --- Routines of the user's own -----------------------------------------------------------------------------


def _check_custom(routine: Custom, place: LevelContext) -> None:
    """The user's four functions, run by the interpreter over words with a fence behind them."""
    fence = np.full(16, -1.2345e-67)
    start, select, chance, update = (plain(f) for f in (routine.start, routine.select, routine.chance, routine.update))
    parameters = np.array(list(routine.parameters(place).values()), dtype=float)
    random = np.random.default_rng(0)
    for n in sorted({2, 3, place.children} - {1}):
        words = np.concatenate([np.full(routine.words(n), math.nan), fence])
        start(words, n, parameters)
        for tau in range(12):
            _check_custom_draws(routine, select, chance, words, n, parameters, tau)
            slot = int(select(words, n, parameters, tau, float(random.random())))
            stated = float(chance(words, n, parameters, tau, slot))
            update(words, n, parameters, tau, slot, stated, float(random.integers(2)))
            _hold(
                words[-len(fence) :].tobytes() == fence.tobytes(),
                f"with {n} children {routine.label} writes beyond its {routine.words(n)} words",
            )


def _check_custom_draws(
    routine: Custom,
    select: Callable[..., int],
    chance: Callable[..., float],
    words: Array,
    n: int,
    parameters: Array,
    tau: int,
) -> None:
    before = words.tobytes()
    grid = _GRID if n <= 16 and tau % 4 == 0 else 50
    drawn: dict[int, int] = {}
    for u in (np.arange(grid) + 0.5) / grid:
        slot = select(words, n, parameters, tau, float(u))
        _hold(int(slot) == slot and 0 <= slot < n, f"{routine.label} selects {slot!r} of {n} children")
        drawn[int(slot)] = drawn.get(int(slot), 0) + 1
    _hold(words.tobytes() == before, f"{routine.label} must learn in update alone: select has written")
    for slot, count in drawn.items():
        stated = chance(words, n, parameters, tau, slot)
        _hold(0.0 < stated <= 1.0 + 1e-12, f"{routine.label} states a chance of {stated!r} for what it selects")
        _hold(
            grid < _GRID or abs(count / grid - stated) <= 0.02,
            f"{routine.label} selects child {slot} for {count / grid:.3f} of all u, and states {stated:.3f}",
        )
    _hold(words.tobytes() == before, f"{routine.label} must learn in update alone: chance has written")
