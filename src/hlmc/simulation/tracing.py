"""Every arm and every reward of a run, for those who want to look at each step."""

from __future__ import annotations

import numpy as np

from hlmc.adversaries.base import Adversary
from hlmc.engine.kernel import kernel
from hlmc.engine.primitives import call_reward, offset
from hlmc.errors import BadType, shown
from hlmc.learner import fresh_rows
from hlmc.policies.base import Policy
from hlmc.simulation.experiment import Experiment
from hlmc.simulation.runs import prepared, walk
from hlmc.streams import keys

Array = np.ndarray

INNER, LENGTH, STEPS, OWN = range(4)


@kernel
def _recorded(spec: Array, t: int, arm: int) -> float:
    """Ask the adversary within, and write down who was played and what was paid."""
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
    policy: Policy, adversary: Adversary, horizon: int | None = None, seed: int = 0, stream: int = 0
) -> tuple[Array, Array]:
    """The arms and the rewards of ``policy.start(seed, stream)`` against an adversary, step by step, as simulated.

    >>> import hlmc
    >>> arms, rewards = hlmc.trace(hlmc.EXP3(arms=100, horizon=50), hlmc.adversaries.BlockTrap())
    >>> arms.shape, rewards.shape
    ((50,), (50,))
    """
    if not isinstance(policy, Policy):
        raise BadType(f"policy must be a policy, not {shown(policy)}")
    steps = Experiment.of(policy, adversary, horizon, 1, seed, 1).horizon
    row = fresh_rows(policy, keys(seed, stream, 1))[0]
    recorder = _Recorder(adversary, steps)
    walk(prepared(policy, recorder), policy, recorder, row, np.array([steps]), np.empty(1))
    kept = recorder.spec[-2 * steps :]
    return kept[:steps].astype(np.int64), kept[steps:].copy()
