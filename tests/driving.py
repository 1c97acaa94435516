"""Ways to drive a learner that several tests share."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

import hlmc
from hlmc.kernels.build import compiled, kernel
from hlmc.kernels.layout import KEY
from hlmc.kernels.native import REWARD, address_of, callback
from hlmc.kernels.step import RUN
from hlmc.learner import Learner, fresh_rows
from hlmc.streams import keys


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


def follow(
    policy: hlmc.Policy, reference: Reference, steps: int, pay: Iterable[float], seed: int = 0
) -> None:
    """Play, and at every step hold the learner's probability against the reference's."""
    learner = policy.start(seed=seed)
    for t, reward in zip(range(steps), pay, strict=False):
        arm = learner.select()
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


def runs(
    policy: hlmc.Policy, rule: Callable[..., float], spec: Iterable[float], horizon: int, count: int
) -> Any:
    """Total rewards of ``count`` independent runs against ``rule(spec, t, arm)``, by the compiled loop; and the rows."""
    code = callback(kernel(rule), REWARD, False)
    loop = compiled(RUN[policy.last_kind])
    table = np.array(list(spec), dtype=float)
    rows = fresh_rows(policy, keys(7, 0, count))
    stops, sums = np.array([float(horizon)]), np.zeros(1)
    earned = np.zeros(count)
    for i, row in enumerate(rows):
        at = [address_of(x) for x in (policy.program, row)]
        status = loop(*at, code.address, *(address_of(x) for x in (table, stops, sums)), 0, 1, 0.0)
        assert status == 0
        earned[i] = sums[0]
    return earned, rows
