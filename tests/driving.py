"""Ways to drive a learner that several tests share."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np

import hlmc
from hlmc.engine.layout import CONTROL, FIELDS, KEY, SCALARS
from hlmc.learners.arms import NamedLearner
from hlmc.learners.learner import Learner, fresh_rows
from hlmc.streams import keys
from hlmc.targets import address_of, linked, loop, notes_for
from reference_losses import KEPT


class Reference(Protocol):
    """What the plain readings in :mod:`reference` have in common."""

    def probability(self, arm: int) -> float: ...

    def play(self, arm: int, reward: float) -> None: ...


def rewards(seed: int, kind: str = "mixed") -> Iterator[float]:
    """Rewards without end: anything in [0, 1], the ends and the very small included."""
    rng = np.random.default_rng(seed)
    extremes = [0.0, 1.0, 1e-300, 5e-324, 1.0 - 2.0**-53]
    while True:
        if kind == "ones":
            yield 1.0
        elif kind == "bits":
            yield float(rng.integers(2))
        else:
            yield float(rng.random()) if rng.random() < 0.7 else extremes[rng.integers(len(extremes))]


def kept(learner: Learner) -> list[float]:
    """The normalisers that a learner keeps (:data:`reference_losses.KEPT`)."""
    program = learner.policy.program.reshape(-1, FIELDS)
    controls = {int(control) for control in program[1:, CONTROL]}
    return [float(learner.state[control + SCALARS]) for control in sorted(controls)]


def follow(policy: hlmc.Policy, reference: Reference, steps: int, pay: Iterable[float], seed: int = 0) -> None:
    """Play, and at every step hold the learner's probability against the reference's."""
    learner = policy.start(seed=seed)
    for t, reward in zip(range(steps), pay, strict=False):
        arm = learner.select()
        KEPT[:] = kept(learner)
        expected = reference.probability(arm)
        assert math.isclose(learner.probability, expected, rel_tol=1e-9), (
            f"step {t} of {policy}: arm {arm} has probability {learner.probability!r}, the reference says {expected!r}"
        )
        learner.update(reward)
        reference.play(arm, reward)


def with_key(learner: Learner, key: int) -> Learner:
    """A copy of a learner that will draw other random numbers."""
    other = learner.copy()
    row = other.state.copy()
    row.view(np.uint64)[KEY] = key
    return Learner(learner.policy, row)


def next_choices(learner: Learner, tries: int) -> tuple[dict[int, float], dict[int, int]]:
    """What a learner may select next: the probability that it reports for each arm, and how often each came up."""
    chance: dict[int, float] = {}
    times: dict[int, int] = {}
    for key in keys(12345, 0, tries):
        other = with_key(learner, key)
        arm = other.select()
        assert chance.setdefault(arm, other.probability) == other.probability
        times[arm] = times.get(arm, 0) + 1
    return chance, times


def played(
    policy: hlmc.Policy, reward: Callable[[int, int], float], steps: int, seed: int = 0, stream: int = 0
) -> tuple[float, np.ndarray]:
    """What ``policy.start(seed, stream)`` earns in the compiled loop, and the row that it leaves behind."""
    adversary = hlmc.adversaries.Function(policy.arms, reward)
    row = fresh_rows(policy, keys(seed, stream, 1))[0]
    stops, sums = np.array([float(steps)]), np.zeros(2)
    program = linked(policy).address
    notes = notes_for(policy)
    learner, table, spec, until, earned = (address_of(x) for x in (row, notes, adversary.spec, stops, sums))
    who = (program, program, learner, learner, table, adversary.address, spec)
    assert loop(policy)(*who, until, earned, 1) == 0
    return float(sums[0]), row


def named(policy: hlmc.Policy, live: int, seed: int = 0) -> NamedLearner:
    """A learner with arms called 0, 1, ..., of which ``live`` are there."""
    arms = hlmc.Arms(policy.arms)
    arms.add(*range(live))
    learner = policy.start(seed, arms=arms)
    assert isinstance(learner, NamedLearner)
    return learner
