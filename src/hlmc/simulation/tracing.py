"""Every arm and every reward of a run, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.checks import whole
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import call_reward, offset
from hlmc.errors import BadType, shown
from hlmc.learners.learner import fresh_rows
from hlmc.simulation import own
from hlmc.simulation.experiment import Experiment
from hlmc.simulation.own import PythonPolicy
from hlmc.simulation.players import Player
from hlmc.simulation.runs import prepared, refusal, walk
from hlmc.streams import keys

Array = np.ndarray

INNER, LENGTH, STEPS, OWN = range(4)


@kernel
def _recorded(spec: Array, t: int, arm: int) -> float:
    """Ask the adversary within, and record the arm that was played and its reward."""
    length = int(spec[LENGTH])
    steps = int(spec[STEPS])
    reward = call_reward(int(spec[INNER]), offset(spec, OWN), t, arm)
    spec[OWN + length + t] = arm
    spec[OWN + length + steps + t] = reward
    return reward


class _Recorder(Adversary):
    """An adversary that asks another one and keeps the answers behind that one's words."""

    rule = staticmethod(_recorded)

    def __init__(self, inner: Adversary, steps: int) -> None:
        self.arms = inner.arms
        self.inner = inner
        head = [float(inner.address), float(len(inner.spec)), float(steps)]
        self.__dict__["spec"] = np.concatenate([head, inner.spec, np.zeros(2 * steps)])

    @property
    def failure(self) -> BaseException | None:
        return self.inner.failure

    def __repr__(self) -> str:
        return repr(self.inner)


def trace(
    policy: Any, adversary: Any, horizon: int | None = None, seed: int = 0, stream: int = 0
) -> tuple[Array, Array]:
    """The arms and the rewards of ``policy.start(seed, stream)`` against an adversary, step by step, as simulated.

    A policy in plain Python (:class:`hlmc.PythonPolicy`) has the seed ``(seed + stream) % 2**32``.

    >>> import hlmc
    >>> arms, rewards = hlmc.trace(hlmc.EXP3(arms=100, horizon=50), hlmc.adversaries.BlockTrap())
    >>> arms.shape, rewards.shape
    ((50,), (50,))
    """
    if isinstance(policy, (list, tuple, Mapping)):
        raise BadType(f"policy must be a policy, not {shown(policy)}")
    experiment = Experiment.of(policy, adversary, horizon, 1, seed, 1)
    steps, adversary = experiment.horizon, experiment.adversary
    (policy,) = experiment.policies.values()
    if isinstance(policy, PythonPolicy):
        return _python_trace(policy, adversary, steps, (experiment.seed + whole("stream", stream, 0)) % 2**32)
    row = fresh_rows(policy, keys(seed, stream, 1))[0]
    recorder = _Recorder(adversary, steps)
    walk(prepared(policy, recorder), policy, recorder, row, np.array([steps]), np.empty(1))
    kept = recorder.spec[-2 * steps :]
    return kept[:steps].astype(np.int64), kept[steps:].copy()


def _python_trace(policy: PythonPolicy, adversary: Adversary, steps: int, seed: int) -> tuple[Array, Array]:
    arms, rewards = np.empty(steps, np.int64), np.empty(steps)
    times = iter(range(steps))
    with own.alone(seed):
        select, update, _ = policy.player(adversary.arms, steps, seed)

        def noted(arm: int, reward: float) -> None:
            t = next(times)
            arms[t], rewards[t] = arm, reward
            update(arm, reward)

        points, sums = np.array([steps]), np.empty(1)
        own.walk(policy.label, Player(select, noted), adversary, points, sums, refusal, lambda taken: False)
    return arms, rewards
